import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ai_lessons.model.chunks import (
    TextSection,
    code_blocks,
    estimate_tokens,
    lines_of,
    sections,
    split,
)
from ai_lessons.model.config import Chunking
from ai_lessons.model.entries import Entry, Kind
from ai_lessons.model.frontmatter import read_entry

SMALL = Chunking(target=20, limit=30, minimum=8)
WORDS = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon"


def entry(
    body: str = "", kind: Kind = Kind.DOC, title: str = "Title", code: str = "", **fields: Any
) -> Entry:
    path = "p/scripts/1.0/run.sh" if kind is Kind.SCRIPT else "p/docs/x.md"
    return Entry("0" * 26, kind, title, path, "p", body=body, code=code, fields=fields)


def cut(body: str, chunking: Chunking = SMALL, title: str = "Title") -> list[tuple[str, str]]:
    return [
        (passage.heading, passage.text) for passage in split(entry(body, title=title), chunking)
    ]


def words(count: int) -> str:
    return " ".join((WORDS.split() * count)[:count])


# short texts


def test_a_text_that_fits_is_one_passage() -> None:
    short = "# Title\n\nshort\n\n## Section\n\ntext"
    assert cut(f"{short}\n", Chunking()) == [("", short)]
    assert cut("") == cut(" \n\n") == []
    assert sections("no heading\n#hashtag\n") == ()


def test_a_lesson_begins_with_its_pattern_and_a_rule_with_its_rationale() -> None:
    pattern = {"when": "it rains", "dont": "go out", "because": "wet"}
    for kept, shown in (
        (
            entry("Body.\n", Kind.LESSON, pattern=pattern),
            "WHEN it rains -> DO NOT go out -> BECAUSE wet\n\nBody.",
        ),
        (entry("", Kind.RULE, rationale="It is so.\n"), "It is so."),
        (entry("How to.", Kind.LESSON, pattern={"when": "half"}), "How to."),
    ):
        assert [p.text for p in split(kept, Chunking())] == [shown]


def test_a_long_lesson_has_its_pattern_in_the_first_passage() -> None:
    pattern = {"when": "w", "do": "d", "because": "b"}
    found = split(entry(f"{words(15)}\n\n{words(18)}\n", Kind.LESSON, pattern=pattern), SMALL)
    assert found[0].text.startswith("WHEN w -> DO d -> BECAUSE b\n\nalpha")
    assert len(found) == 2
    long_pattern = {"when": words(25), "do": words(25), "because": "b"}
    found = split(entry(words(18), Kind.LESSON, pattern=long_pattern), SMALL)
    assert found[0].text.startswith("WHEN alpha")
    assert (found[0].start, found[0].end) == (0, 0)
    assert found[-1].text == words(18)


# Markdown


def test_sections_are_passages_with_the_path_of_their_headings() -> None:
    body = (
        f"# Title\n\n{words(10)}\n\n## One\n\n{words(15)}\n\n### Deep *er* `x`\n\n{words(16)}\n\n"
    )
    body += f"## Two\n\n{words(17)}\n"
    assert cut(body) == [
        ("", words(10)),
        ("One", words(15)),
        ("One > Deep er x", words(16)),
        ("Two", words(17)),
    ]
    assert [heading for heading, _ in cut(body, title="Other")][1] == "Title > One"


def test_small_sections_go_together_under_the_path_they_share() -> None:
    body = f"# Title\n\n## A\n\n### B\n\none two\n\n### C\n\nthree four\n\n## D\n\n{words(19)}\n"
    assert cut(body) == [
        ("A", "# Title\n\n## A\n\n### B\n\none two\n\n### C\n\nthree four"),
        ("D", words(19)),
    ]


def test_passages_say_their_lines() -> None:
    body = f"intro {words(10)}\n\n## One\n\n{words(15)}\n\n## Two\n\n{words(9)}\n{words(9)}\n"
    found = split(entry(body), SMALL)
    assert [(p.ordinal, p.start, p.end) for p in found] == [(0, 1, 1), (1, 5, 5), (2, 9, 10)]
    for passage in found:
        assert "".join(lines_of(body)[passage.start - 1 : passage.end]).strip() == passage.text


def test_code_and_tables_stay_whole_up_to_the_limit_and_are_cut_beyond_it() -> None:
    code = "```sh\n" + "\n\n".join(words(5) for _ in range(4)) + "\n```"
    assert estimate_tokens(code) > SMALL.target
    assert ("", code) in cut(f"{words(15)}\n\n{code}\n\n{words(15)}\n")
    table = "| a | b |\n| - | - |\n| one | two |"
    assert ("", table) in cut(f"{words(18)}\n\n{table}\n\n{words(18)}\n", Chunking(20, 30, 1))
    long = "```\n" + "\n".join(words(6) for _ in range(20)) + "\n```"
    found = cut(f"{words(15)}\n\n{long}\n")
    assert len(found) > 5
    assert all(estimate_tokens(text) <= SMALL.limit for _, text in found)
    assert (
        "# not a heading" in cut(f"{words(15)}\n\n```\n# not a heading\n```\n\n{words(12)}\n")[1][1]
    )


def test_a_long_list_is_cut_between_its_items_and_a_long_line_between_sentences() -> None:
    items = [f"- {words(8)}" for _ in range(6)]
    assert cut("\n".join(items)) == [("", "\n".join(items[n : n + 2])) for n in (0, 2, 4)]
    sentences = [f"{words(12).capitalize()}." for _ in range(5)]
    assert cut(" ".join(sentences)) == [("", sentence) for sentence in sentences]
    assert all(estimate_tokens(text) <= SMALL.limit for _, text in cut("x" * 5000))
    assert all(estimate_tokens(text) <= SMALL.limit for _, text in cut("日本語の文章です。" * 50))


def test_windows_line_ends_cut_the_same() -> None:
    body = f"# Title\n\n{words(10)}\n\n## One\n\n{words(15)}\n\n```\n{words(9)}\n{words(9)}\n```\n"
    assert [(h, t.replace("\r\n", "\n")) for h, t in cut(body.replace("\n", "\r\n"))] == cut(body)


markdown_lines = st.sampled_from(
    [
        "", "", words(3), words(12), words(40), "# H1", "## H2", "### H3", "Under", "=====", "-----", "```", "~~~",
        "- item", "  more", "1. one", "> quote", "| a | b |", "|---|---|", "    code", "[ref]: http://x/y", "<div>",
        "</div>", "<!-- c -->", "***", "\t", "#", "\x0c", "\u2028", "a\x85b", "\rlone",
    ]
)  # fmt: skip


@settings(max_examples=80)
@given(st.lists(markdown_lines, max_size=40), st.sampled_from(["\n", "\r\n"]))
def test_nothing_is_lost_nothing_is_doubled_and_nothing_is_too_big(
    lines: list[str], newline: str
) -> None:
    body = newline.join(lines)
    found = split(entry(body), SMALL)
    assert [p.ordinal for p in found] == list(range(len(found)))
    for passage in found:
        assert estimate_tokens(passage.text) <= SMALL.limit
        assert passage.text in body
        assert passage.text.strip()
    text = " ".join(f"{p.heading} {p.text}" for p in found)
    assert set(re.findall(r"[a-z]+", body)) <= set(re.findall(r"[a-z]+", text))
    position = 0
    for passage in found:
        position = body.index(passage.text, position) + len(passage.text)


@given(st.text(alphabet="a#`~->|*_[]()<> \n\t1.", max_size=300))
def test_any_markdown_is_cut(body: str) -> None:
    assert all(estimate_tokens(p.text) <= SMALL.limit for p in split(entry(body), SMALL))
    for section in sections(body):
        assert 1 <= section.start <= section.end <= len(lines_of(body))


# scripts

SCRIPT = f"""\
#!/usr/bin/env bash
# vim: ts=4
# Deploys the thing to a host

set -eu
{words(12)}

# stops it
stop() {{
    {words(8)}

    {words(4)}
}}

start() {{
    {words(14)}
}}
"""


def test_a_short_script_is_its_description_and_its_code() -> None:
    found = split(entry("How to call it.\n", Kind.SCRIPT, code="#!/bin/sh\nrun\n"), Chunking())
    assert [p.text for p in found] == ["How to call it.\n#!/bin/sh\nrun"]


def test_a_long_script_is_cut_between_functions_and_names_file_comment_and_function() -> None:
    found = split(entry("", Kind.SCRIPT, code=SCRIPT), SMALL)
    deploys = "run.sh > Deploys the thing to a host"
    assert [p.heading for p in found] == [
        "run.sh",
        deploys,
        f"{deploys} > stop",
        f"{deploys} > start",
    ]
    assert found[0].text.startswith("#!/usr/bin/env bash")
    assert found[2].text.startswith("# stops it\nstop() {")
    assert found[2].text.endswith("}")
    assert (found[2].start, found[3].end) == (8, len(SCRIPT.splitlines()))
    # the title of a script without description is not said twice
    found = split(entry("", Kind.SCRIPT, title="run.sh", code=SCRIPT), SMALL)
    assert [p.heading for p in found][:2] == ["", "Deploys the thing to a host"]


def test_description_and_code_are_passages_of_one_script() -> None:
    found = split(entry(f"# Use\n\n{words(18)}\n", Kind.SCRIPT, code=SCRIPT), SMALL)
    assert (found[0].heading, found[0].text) == ("Use", words(18))
    assert [p.ordinal for p in found] == [0, 1, 2, 3, 4]


@given(
    st.lists(
        st.sampled_from(["", "x = 1", "    y", "def f():", "}", "fi", "# c", words(40), "x" * 300]),
        max_size=40,
    )
)
def test_no_line_of_code_is_lost(lines: list[str]) -> None:
    code = "\n".join(lines)
    found = split(entry("", Kind.SCRIPT, code=code), SMALL)
    assert "".join("".join(p.text for p in found).split()) == "".join(code.split())
    assert all(estimate_tokens(p.text) <= SMALL.limit for p in found)


# sections


def test_sections_hold_their_subsections_but_a_title_does_not_hold_the_text() -> None:
    body = "# Title\nintro\n\n## A\na\n### A1\na1\n## B\n```\n# code\n```\nSet\n===\nlast\n"
    titled = sections("# Title\nintro\n\n## A\na\n### A1\na1\n## B\n```\n# code\n```\n")
    assert titled == (
        TextSection(1, "Title", 1, 1, 3),
        TextSection(2, "A", 2, 4, 7),
        TextSection(3, "A1", 3, 6, 7),
        TextSection(4, "B", 2, 8, 11),
    )
    assert [(s.heading, s.level, s.start, s.end) for s in sections(body)] == [
        ("Title", 1, 1, 11), ("A", 2, 4, 7), ("A1", 3, 6, 7), ("B", 2, 8, 11), ("Set", 1, 12, 14),
    ]  # fmt: skip


def test_lines_are_those_of_markdown() -> None:
    text = "a\r\nb\x0cc\u2028d\n\re\n\nf"
    assert lines_of(text) == ["a\r\n", "b\x0cc\u2028d\n", "\r", "e\n", "\n", "f"]
    assert "".join(lines_of(text)) == text


def test_the_estimate_is_near_what_a_wordpiece_tokenizer_makes_of_it() -> None:
    assert estimate_tokens("") == 0
    assert estimate_tokens("the quick brown fox") == 4
    assert estimate_tokens("kubectl --namespace=kube-system") in range(8, 12)
    assert estimate_tokens("日本語") == 3


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Plain, with `git push` inside.\n", ()), ("a\n\n    git push\n", ("git push",)),
        ("```sh\ngit push\n```\n", ("git push",)), ("~~~\ngit push\n", ("git push",)),
        ("- item\n\n  ```\n  git push\n  ```\n", ("git push",)), ("> - deep\n>\n>       git push\n", ("git push",)),
        ("-\n\n\tgit push\n", ("git push",)), ("text\n<PRE>git push</PRE>\n", ("<PRE>git push</PRE>",)),
        ("```\n```\n", ()), ("| a | b |\n| --- | --- |\n| 1 | 2 |\n", ()),
        ("para\n    lazy continuation is no code\n", ()), ("```\none\n```\n\nand\n\n```\ntwo\n```\n", ("one", "two")),
        ("", ()),
    ],
)  # fmt: skip
def test_blocks_of_code_are_found_wherever_they_are_nested(
    text: str, code: tuple[str, ...]
) -> None:
    assert code_blocks(text) == code


def test_an_id_behind_a_heading_is_no_part_of_it() -> None:
    text = (
        "# Otters {#otters}\n\n## Install {#install .wide}\n\nDo it.\n\n## Sets {a, b}\n\nText.\n"
    )
    assert [section.heading for section in sections(text)][1:] == ["Install", "Sets {a, b}"]
    entry = read_entry("x/docs/unversioned/a.md", text.encode())
    assert entry.title == "Otters"
