"""The words of a telling: which of three steps a start takes, and what fits."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.app.answers import Context
from ai_lessons.interfaces.cli.contribute import add_lesson
from ai_lessons.interfaces.cli.review import suggest_rule
from ai_lessons.model.entries import EntrySummary, Kind
from ai_lessons.telling import words

LONG = "The first part is read before the second part, which is written last. " * 6


def entry(number: int, title: str, kind: Kind = Kind.RULE, **more: Any) -> EntrySummary:
    handle = f"{kind.value[0].upper()}-{number:06}"
    return EntrySummary(f"id{number}", handle, kind, title, "shop", (), (), "", tier="user", **more)


def offered(titles: list[str], texts: list[str], kind: Kind = Kind.RULE) -> Context:
    entries = tuple(entry(number, title, kind) for number, title in enumerate(titles))
    stored = {each.id: text for each, text in zip(entries, texts, strict=True)}
    return Context(entries, dict.fromkeys(stored, "holds here"), stored, project="shop")


def test_what_asks_to_keep_a_statement_names_only_options_that_are_there() -> None:
    asked = str(words.statement("Use tox instead", ["tox.ini", "a b.py"]))
    there = {
        option
        for command in (add_lesson, suggest_rule)
        for parameter in command.params
        for option in parameter.opts
    }
    named = set(re.findall(r"--[a-z-]+", asked))
    assert {"--title", "--content"} <= named <= there


@pytest.mark.plays("anchors")
@pytest.mark.plays("checks")
def test_what_asks_to_keep_a_statement_names_the_files_and_a_check() -> None:
    asked = str(words.statement("Use tox instead", ["tox.ini", "a b.py", "c.py"]))
    assert "--about tox.ini --about 'a b.py'" in asked
    assert "c.py" not in asked
    assert "suggest-rule with --check" in asked


def test_all_that_fits_is_told_in_its_own_words_without_the_reason() -> None:
    value = offered(["Use uv", "Guide"], ["Never pip.\n\n- Pin every version", "All of it."])
    told = words.start(value, "/kb", 6_000)
    assert (
        "- [R-000000] Use uv\n  Never pip.\n  - Pin every version\n- [R-000001] Guide\n  All of it."
        in told.text
    )
    assert set(told.sizes) == {"id0", "id1"}


def test_a_title_that_stands_in_the_text_is_not_told_twice() -> None:
    value = offered(["ONLY use uv, NEVER pip"], ["- ONLY use uv, NEVER pip\n- Pin every version"])
    assert words.start(value, "/kb", 6_000).text.count("NEVER pip") == 1


def test_a_title_that_is_cut_linked_or_made_of_a_list_is_not_told_beside_the_text_that_holds_it() -> (
    None
):
    listed = "Catch **what you mean**:\n- files: `OSError`\n- JSON: `ValueError`"
    for title, text in (
        ("Read the guide what you mean…", "- Read [the guide](docs/a.md) what you mean to edit."),
        ("Catch what you mean: files: `OSError`; JSON: `ValueError`", listed),
    ):
        assert words.start(offered([title], [text]), "/kb", 6_000).text.count("what you mean") == 1


def test_a_heading_never_stands_on_a_line_of_its_own() -> None:
    value = offered(
        ["Never call it twice"], ["# Errors\n\n## Calls\n\n- Never call it twice\n- Nor once"]
    )
    assert (
        "- [R-000000] Errors: Calls: Never call it twice\n  - Nor once"
        in words.start(value, "/kb", 6_000).text
    )


def test_what_the_text_of_another_one_holds_is_told_with_that_and_only_by_the_same_person() -> None:
    paragraph = "Avoid pragmas. Audit before\npushing: `git diff`."
    value = offered(
        ["Avoid pragmas", "Audit before pushing: `git diff`"],
        [paragraph, "Audit before pushing: `git diff`."],
    )
    told = words.start(value, "/kb", 6_000)
    assert (told.text.count("Audit"), set(told.sizes)) == (1, {"id0", "id1"})
    lesson = value._replace(entries=(value.entries[0]._replace(kind=Kind.LESSON), value.entries[1]))
    assert words.start(lesson, "/kb", 6_000).text.count("Audit") == 2, (
        "a rule is more than a part of a lesson"
    )
    crowded = offered(
        ["Avoid pragmas", "Audit before pushing: `git diff`", "Long"],
        [*value.texts.values(), LONG * 40],
    )
    assert words.start(crowded, "/kb", 2_000).text.count("Audit") == 1


def test_no_sentence_is_cut_to_tell_more_of_an_earlier_one() -> None:
    titles = [
        f"Write thing {n} of the house before thing {n + 1} of it, and after what was asked for"
        for n in range(9)
    ]
    told = words.start(offered(titles, [LONG] * 9), "/kb", 2_500).text
    assert all(title in told for title in titles)
    assert LONG.strip() in told


def test_what_only_describes_and_does_not_fit_is_told_by_where_it_stands() -> None:
    value = offered(
        ["Use uv", "AGENTS.md of shop"], [LONG * 6, "The shop has three parts.\n" * 400]
    )
    told = words.start(value, "/kb", 3_200).text
    assert (
        "- [R-000001] AGENTS.md of shop: 10,400 characters: ai-lessons recall show R-000001" in told
    )


def test_where_not_all_fits_each_has_a_line_and_the_first_have_their_own_words() -> None:
    value = offered([f"Write thing {n} before thing {n + 1}" for n in range(40)], [LONG] * 40)
    told = words.start(value, "/kb", 6_000)
    assert len(told.sizes) == 40
    assert len(told.text) <= 6_000
    assert 0 < told.text.count(LONG.strip()) < 40
    assert told.text.index(LONG.strip()) < told.text.index("Write thing 20")


def test_where_not_all_lines_fit_it_is_said_how_many_more_there_are() -> None:
    value = offered(
        [f"Write the thing number {n} before the next thing of its kind" for n in range(200)],
        [""] * 200,
    )
    told = words.start(value, "/kb", 6_000)
    assert 40 < len(told.sizes) < 120
    assert len(told.text) <= 6_000
    assert f"… and {200 - len(told.sizes)} more: ai-lessons recall search" in told.text
    assert "Write the thing number 0 " in told.text, "the first ones come"


def test_the_line_of_a_heading_says_what_to_do() -> None:
    value = offered(
        ["Code Quality", *["x " * 30] * 60],
        ["Type hints are required.\n" + LONG * 20, *[LONG] * 60],
    )
    value = value._replace(entries=value.entries[::-1])
    assert (
        "- [R-000000] Code Quality: Type hints are required."
        in words.start(value, "/kb", 6_000).text
    )


def test_a_text_that_is_longer_than_the_budget_is_told_as_far_as_it_goes() -> None:
    rows = "\n".join(f"- Rule {n} of the house says one more thing" for n in range(400))
    told = words.start(offered(["Guide"], [rows]), "/kb", 6_000)
    assert "Rule 0 of the house" in told.text
    assert "… goes on: ai-lessons recall show R-000000" in told.text
    assert 5_000 < len(told.text) <= 6_000


def test_whose_word_it_is_stands_once_over_its_entries() -> None:
    entries = entry(0, "Use uv"), entry(1, "Pin it", Kind.LESSON), entry(2, "Run it")
    value = Context(entries, project="shop")
    text = words.start(value, "/kb", 6_000).text
    assert "rule, approved:\n- [R-000000] Use uv\n- [R-000002] Run it" in text
    assert "lesson, not approved:\n- [L-000001] Pin it" in text


def test_a_moment_says_why_an_entry_comes_and_leaves_out_what_does_not_fit_whole() -> None:
    value = offered(["Use uv", "History"], ["Never pip.", "z" * 2_000])
    value = value._replace(why={"id0": "names this command", "id1": "names this file"})
    told = words.moment(value, 900)
    assert "- [R-000000] Use uv | Never pip. (rule, approved; names this command)" in told.text
    assert "id1" not in told.sizes
    assert words.moment(Context(), 900).text == ""


@given(
    st.lists(st.tuples(st.text(max_size=120), st.text(max_size=700)), max_size=30),
    st.integers(min_value=800, max_value=4_000),
)
def test_a_start_never_takes_more_than_its_budget(
    entries: list[tuple[str, str]], most: int
) -> None:
    value = offered([title for title, _ in entries], [text for _, text in entries])
    told = words.start(value, "/kb", most)
    assert len(told.text) <= most
    assert set(told.sizes) <= {each.id for each in value.entries}


@pytest.mark.parametrize("most", [0, 200, 400])
def test_a_start_without_room_says_only_that_one_can_ask(most: int) -> None:
    told = words.start(offered(["Use uv"], [""]), "/kb", most)
    assert told.sizes == {}
    assert "ai-lessons recall search" in told.text
