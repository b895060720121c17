from difflib import SequenceMatcher
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.model.markdown import parse
from ai_lessons.model.merge import LineMatcher, lines_of, merge_entry, merge_file, merge_lines

BASE = """---
# kept by hand
id: 01JD3Z8QK5W7M2X9V4T68F3K2A
kind: lesson
title: PUT replaces all
tags:
  - a
  - m
  - z
confidence: high   # we saw it twice
owner: x
pattern:
  when: updating
  do: GET first
  because: PUT deletes
links:
  - has_script: 01AAAAAAAAAAAAAAAAAAAAAAAA
    weight: 1
  - has_doc: 01BBBBBBBBBBBBBBBBBBBBBBBB
---
One.
Two.
Three.
Four.
Five.
"""


def changed(*pairs: tuple[str, str]) -> str:
    text = BASE
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return text


def merged(ours: str, theirs: str, base: str = BASE) -> str:
    text, conflicts = merge_entry(base, ours, theirs)
    assert conflicts == ()
    return text


def fields(text: str) -> dict[str, Any]:
    return parse(text).fields


def test_neighbouring_keys_are_merged_and_every_other_byte_stays() -> None:
    ours, theirs = (
        changed(("confidence: high", "confidence: low")),
        changed(("owner: x", "owner: y")),
    )
    assert merged(ours, theirs) == changed(
        ("confidence: high", "confidence: low"), ("owner: x", "owner: y")
    )


def test_a_list_on_one_line_stays_on_one_line() -> None:
    base = "---\nid: 01A\ntags: [a, m, z]\n---\nx\n"
    text = merged(base.replace("[a,", "[a, b,"), base.replace("z]", "z, zz]"), base)
    assert text == "---\nid: 01A\ntags: [a, b, m, z, zz]\n---\nx\n"


def test_the_same_tag_or_key_added_by_both_at_different_places_is_there_once() -> None:
    ours, theirs = (
        changed(("  - a\n", "  - a\n  - new\n")),
        changed(("  - z\n", "  - z\n  - new\n")),
    )
    assert fields(merged(ours, theirs))["tags"] == ["a", "new", "m", "z"]
    ours, theirs = (
        changed(("owner: x\n", "owner: x\ncategory: c\n")),
        changed(("title:", "category: c\ntitle:")),
    )
    assert merged(ours, theirs).count("category: c\n") == 1


def test_all_items_taken_out_by_halves_leave_no_list() -> None:
    base = "---\nid: 01A\ntags:\n  - a\n  - b\n---\nx\n"
    assert fields(merged(base.replace("  - a\n", ""), base.replace("  - b\n", ""), base)) == {
        "id": "01A"
    }


def test_links_are_known_by_relation_and_target() -> None:
    ours = changed(("    weight: 1\n", "    weight: 2\n"))
    theirs = changed(
        (
            "has_doc: 01BBBBBBBBBBBBBBBBBBBBBBBB\n",
            "proves: 01BBBBBBBBBBBBBBBBBBBBBBBB\n    weight: 0.5\n",
        )
    )
    assert fields(merged(ours, theirs))["links"] == [
        {"has_script": "01AAAAAAAAAAAAAAAAAAAAAAAA", "weight": 2},
        {"proves": "01BBBBBBBBBBBBBBBBBBBBBBBB", "weight": 0.5},
    ]


def test_a_pattern_is_merged_part_by_part() -> None:
    ours = changed(("  when: updating", "  when: writing"))
    theirs = changed(
        ("  do: GET first", "  do: GET it first"),
        ("  because: PUT deletes", "  because: it is deleted"),
    )
    pattern = fields(merged(ours, theirs))["pattern"]
    assert pattern == {"when": "writing", "do": "GET it first", "because": "it is deleted"}


def test_of_two_reviews_the_later_one_counts() -> None:
    older, newer = (
        changed(("title: ", f"reviewed: {day}\ntitle: ")) for day in ("2026-09-30", "2026-11-21")
    )
    for ours, theirs, base in (
        (older, newer, BASE),
        (newer, older, BASE),
        (older, newer, older.replace("09-30", "01-01")),
    ):
        assert fields(merged(ours, theirs, base))["reviewed"] == "2026-11-21"


def test_comments_below_the_last_key_are_kept() -> None:
    ours, theirs = (BASE.replace("---\nOne", f"# {name}\n---\nOne") for name in ("left", "right"))
    assert "# left\n# right\n---\n" in merged(ours, theirs)


@pytest.mark.parametrize(
    ("ours", "theirs", "conflict"),
    [
        (("owner: x", "owner: y"), ("owner: x", "owner: z"), "owner"),
        (("owner: x\n", ""), ("owner: x", "owner: z"), "owner"),
        (("One.", "1."), ("One.", "I."), "the text"),
        (("One.", "1."), ("Two.", "2."), "the text"),
        (("  do: GET first", "  do: GET"), ("  do: GET first", "  dont: PUT"), "pattern"),
        (("kind: lesson", "kind: [lesson"), ("owner: x", "owner: z"), "the frontmatter"),
        (("weight: 1", "weight: 2"), ("weight: 1", "weight: 3"), "links"),
        (
            ("  - has_script: 01AAAAAAAAAAAAAAAAAAAAAAAA\n    weight: 1\n", ""),
            ("weight: 1", "weight: 3"),
            "links",
        ),
    ],
)
def test_what_both_changed_differently_is_named(
    ours: tuple[str, str], theirs: tuple[str, str], conflict: str
) -> None:
    assert merge_entry(BASE, changed(ours), changed(theirs))[1] == (conflict,)
    assert merge_entry(BASE, changed(theirs), changed(ours))[1] == (conflict,)


def test_every_conflict_is_named_at_once() -> None:
    ours = changed(
        ("owner: x", "owner: y"), ("One.", "1."), ("title: PUT replaces all", "title: 1")
    )
    theirs = changed(
        ("owner: x", "owner: z"), ("One.", "I."), ("title: PUT replaces all", "title: 2")
    )
    assert merge_entry(BASE, ours, theirs)[1] == ("title", "owner", "the text")


def test_an_entry_that_took_the_place_of_another_is_never_mixed_with_an_edit_of_that() -> None:
    other = "---\nid: 01B\ntags: [a]\n---\nx\n"
    base, edited = other.replace("01B", "01A"), "---\nid: 01A\ntags: [a, b]\n---\nx\n"
    for sides in ((other, edited), (edited, other)):
        assert merge_entry(base, *sides)[1] == ("id",)


def test_frontmatter_that_only_one_side_wrote_down_comes_with_the_others_text() -> None:
    plain = "# Notes\n\nOne.\n\nTwo.\n"
    adopted = f"---\nid: 01A\n---\n{plain}"
    assert merged(adopted, plain.replace("Two", "2"), plain) == adopted.replace("Two", "2")
    assert merged(plain.replace("Two", "2"), adopted, plain) == adopted.replace("Two", "2")


def test_windows_line_ends_stay() -> None:
    base = BASE.replace("\n", "\r\n")
    ours, theirs = (
        base.replace("  - a\r\n", "  - a\r\n  - b\r\n"),
        base.replace("  - a\r\n", "  - a\r\n  - c\r\n"),
    )
    text = merged(ours, theirs, base)
    assert text.count("\r\n") == text.count("\n")
    assert fields(text)["tags"] == ["a", "b", "c", "m", "z"]


def test_two_edits_of_a_rule_are_never_merged() -> None:
    path = "p/rules/x-8f3k2a.md"
    rule = b"---\nkind: rule\ntitle: T\nrationale: R\n---\n1\n2\n3\n4\n"
    ours, theirs = rule.replace(b"1", b"one"), rule.replace(b"4", b"four")
    assert merge_file(path, rule, ours, theirs) == (None, ("a rule, which is never merged",))
    assert merge_file("notes/x.md", rule, ours, theirs) == (
        None,
        ("a rule, which is never merged",),
    )
    assert merge_file(path, rule, ours, ours).data == ours
    assert merge_file(path, rule, rule, theirs).data == theirs


@pytest.mark.parametrize("path", [".ai-lessons/approvals/R/1.json", ".ai-lessons/allowed_signers"])
def test_decisions_and_signers_are_never_merged(path: str) -> None:
    assert merge_file(path, b"1\n2\n3\n", b"one\n2\n3\n", b"1\n2\nthree\n").data is None


def test_settings_are_merged_key_by_key() -> None:
    path, base = (
        ".ai-lessons/config.yaml",
        b"version: 1\nsearch:\n  model: a\ngit:\n  autocommit: true\n",
    )
    done = merge_file(
        path, base, base.replace(b"model: a", b"model: b"), base.replace(b"true", b"false")
    )
    assert done.data == base.replace(b"model: a", b"model: b").replace(b"true", b"false")


def test_other_texts_are_merged_by_lines_and_other_bytes_not_at_all() -> None:
    base = b"#!/bin/sh\na\nb\nc\nd\n"
    assert merge_file(
        "p/scripts/1/x.sh", base, base.replace(b"a", b"A"), base.replace(b"d", b"D")
    ).data == (b"#!/bin/sh\nA\nb\nc\nD\n")
    assert merge_file("p/docs/1/x.png", b"\0", b"\0a", b"\0b") == (None, ("the file",))


def test_two_that_were_added_under_one_name_merge_only_if_they_say_the_same() -> None:
    done = merge_file(
        "p/docs/1/x.md",
        None,
        b"---\nid: 01A\ntags: [a]\n---\nx\n",
        b"---\nid: 01A\ntags: [b]\n---\nx\n",
    )
    assert done.data == b"---\nid: 01A\ntags: [a, b]\n---\nx\n"
    assert merge_file(
        "p/docs/1/x.md", None, b"---\nid: 01A\n---\nx\n", b"---\nid: 01B\n---\nx\n"
    ) == (None, ("id",))


def test_event_logs_are_the_union_of_their_lines() -> None:
    ours, theirs = b'{"id":"1"}\n{"id":"2"}\n', b'{"id":"1"}\n{"id":"3"}'
    for path, base in (("one.jsonl", b""), ("c/2026-11.jsonl", b'{"id":"1"}\n')):
        both = merge_file(f".ai-lessons/events/{path}", base, ours, theirs).data
        assert both == b'{"id":"1"}\n{"id":"2"}\n{"id":"3"}\n'


TAGS = st.lists(st.sampled_from(["a", "b", "c", "d", "1.10", "x y"]), unique=True, max_size=5)
WORDS = st.sampled_from(["one", "two", "# no comment", "yes", "1", "é: x"])
KEYS = st.sampled_from(["title", "owner", "status", "my key"])
COMMENTS = st.sampled_from(["", "  # why", "  # because"])


@st.composite
def texts(draw: st.DrawFn) -> str:
    """An entry as people and programs write them: with comments, lists in both styles, keys we do not know."""
    rows = ["---"]
    for key, value in draw(st.dictionaries(KEYS, WORDS, max_size=4)).items():
        rows.append(f"{key}: {value!r}{draw(COMMENTS)}")
    tags: list[str] = draw(TAGS)
    in_block: bool = draw(st.booleans())
    if tags and in_block:
        rows += ["tags:", *(f"  - {tag!r}{draw(COMMENTS)}" for tag in tags)]
    elif tags:
        rows.append(f"tags: [{', '.join(map(repr, tags))}]")
    body = draw(st.lists(st.sampled_from(["A.", "B.", "C.", "D.", ""]), max_size=6))
    return "\n".join([*rows, "---", *body]) + draw(st.sampled_from(["", "\n"]))


@given(texts(), texts())
def test_with_nothing_changed_on_one_side_the_merge_is_the_other_byte_for_byte(
    base: str, new: str
) -> None:
    assert merge_entry(base, new, base) == (new, ())
    assert merge_entry(base, base, new) == (new, ())
    assert merge_entry(base, new, new) == (new, ())


@given(texts(), texts(), texts())
def test_a_merge_says_the_same_from_both_sides_and_loses_nothing(
    base: str, ours: str, theirs: str
) -> None:
    text, conflicts = merge_entry(base, ours, theirs)
    mirrored, again = merge_entry(base, theirs, ours)
    assert sorted(conflicts) == sorted(again)
    if conflicts:
        return
    before, mine, other, new = (fields(one) for one in (base, ours, theirs, text))
    assert plain(new) == plain(fields(mirrored))
    assert parse(text).body == parse(mirrored).body
    for side in (mine, other):
        for key, value in side.items():
            if key == "tags":
                assert set(value) - set(before.get(key, [])) <= set(new.get(key, []))
            elif value != before.get(key):
                assert new[key] == value
    for key in before:
        if key not in mine and other.get(key) == before[key]:
            assert key not in new
    assert set(new.get("tags", [])) <= {*mine.get("tags", []), *other.get("tags", [])}
    assert_kept(parse(base).body, parse(ours).body, parse(theirs).body, parse(text).body)
    for comment in ("# why", "# because"):
        if comment in ours + theirs and comment not in base:
            assert comment in text


def plain(values: dict[str, Any]) -> dict[str, Any]:
    return {
        key: sorted(value) if isinstance(value, list) else value for key, value in values.items()
    }


def assert_kept(base: str, ours: str, theirs: str, new: str) -> None:
    """Every line that is more often on one side than in the base is at least once in the result."""
    for side in (ours, theirs):
        for line in set(lines_of(side)):
            if lines_of(side).count(line) > lines_of(base).count(line):
                assert line in lines_of(new)


LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "d\n", "\n"]), max_size=8).map("".join)


@given(LINES, LINES, LINES)
def test_lines_merge_the_same_from_both_sides_and_without_markers(
    base: str, ours: str, theirs: str
) -> None:
    new = merge_lines(base, ours, theirs)
    assert new == merge_lines(base, theirs, ours)
    if new is not None:
        assert_kept(base, ours, theirs, new)
        assert "<<<" not in new


@given(st.lists(st.integers(0, 9), max_size=12), st.data())
def test_changes_with_a_line_between_them_always_merge(
    numbers: list[int], data: st.DataObject
) -> None:
    lines = [f"{number} {place}\n" for place, number in enumerate(numbers)]
    at = data.draw(st.integers(0, len(lines)))
    ours = lines[: max(at - 1, 0)] + (["ours\n"] if at else []) + lines[at:]
    theirs = [*lines[: at + 1], "theirs\n", *lines[at + 2 :]]
    expected = ours[: at + 1] + theirs[at + 1 :] if at < len(lines) else None
    new = merge_lines("".join(lines), "".join(ours), "".join(theirs))
    assert (
        new == "".join(expected)
        if expected
        else new is None or new in {"".join(ours), "".join(theirs)}
    )


TEXTS = st.lists(st.sampled_from([*"abcdefgh", *map(str, range(30))]), max_size=40)


@given(TEXTS, TEXTS)
def test_short_texts_are_matched_as_difflib_has_it(before: list[str], after: list[str]) -> None:
    assert (
        LineMatcher(before, after).get_opcodes()
        == SequenceMatcher(None, before, after).get_opcodes()
    )


@given(TEXTS, TEXTS, st.integers(0, 300))
def test_with_few_steps_what_is_matched_is_the_same_in_order_and_all_is_there(
    before: list[str], after: list[str], steps: int
) -> None:
    blocks = LineMatcher(before, after, steps).get_matching_blocks()
    assert all(
        before[one.a : one.a + one.size] == after[one.b : one.b + one.size] for one in blocks
    )
    assert all(
        one.a + one.size <= next_.a and one.b + one.size <= next_.b
        for one, next_ in pairwise(blocks)
    )
    assert blocks[-1] == (len(before), len(after), 0)
    assert all(one.size for one in blocks[:-1])


def test_lines_that_both_have_once_are_matched_without_a_step() -> None:
    kept = LineMatcher(["a", "x", "b", "y", "c"], ["new", "a", "b", "z", "c"], -1).get_opcodes()
    assert [tag for tag, *_ in kept] == ["insert", "equal", "delete", "equal", "replace", "equal"]
