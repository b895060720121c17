import difflib
from pathlib import Path
from typing import Any

import frontmatter
import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ai_lessons.errors import InvalidEntry
from ai_lessons.model import texts, yaml_edit
from ai_lessons.model.markdown import EntryHandler, edit, parse, render
from ai_lessons.model.texts import as_utf8, codec_of, decode, is_utf8, split
from ai_lessons.model.yaml_edit import REMOVE

LESSON = """\
---
# who reads this comment keeps it
id: 01JD3Z8QK5W7M2X9V4T68F3K2A
kind: lesson
title: 'PUT /workflows replaces the entire resource'   # quoted by hand
tags:
  # the API first
  - jira-api
  - workflows     # the noun
confidence: high
x_custom:   keep   # unknown key, odd spacing
versions: [ "1.10", 2 ]
created: 2026-11-21T20:14:00Z
pattern:
  when: updating a Jira workflow
  do: GET it first and send every status back      # or dont
  because: >-
    PUT deletes
    the statuses
links:
- has_script: 01JD3Z8QK5W7M2X9V4T68F3K2B
- related_to: 01JD3Z8QK5W7M2X9V4T68F3K2C
  weight: 0.5

# the end
---

Free text.
  trailing spaces  

no final newline"""  # noqa: W291


def problems(text: str) -> list[tuple[int, str]]:
    with pytest.raises(InvalidEntry) as caught:
        parse(text, "a.md")
    assert all(problem.path == "a.md" for problem in caught.value.problems)
    return [(problem.line, problem.message) for problem in caught.value.problems]


# reading


TEMPLATE = Path(__file__).parents[2] / "template-repo"
ENTRIES = sorted(TEMPLATE.glob("*/*/*/*.md"))


def test_a_plain_file_goes_through_load_and_dumps_of_python_frontmatter_unchanged() -> None:
    assert len(ENTRIES) > 20
    handler = EntryHandler()
    for file in ENTRIES:
        post = frontmatter.load(str(file), handler=handler)
        assert post.metadata == parse(file.read_text()).fields
        # the package takes the last line end for a blank
        assert frontmatter.dumps(post, handler=handler) + "\n" == file.read_text(), file.name


def test_what_is_no_entry_is_the_same_to_python_frontmatter() -> None:
    post = frontmatter.loads("# Title\n\nText.", handler=EntryHandler())
    assert (post.metadata, post.content) == ({}, "# Title\n\nText.")
    with pytest.raises(InvalidEntry):
        frontmatter.loads("---\na: &x [1]\nb: *x\n---\n", handler=EntryHandler())


def test_a_document_is_fields_and_the_exact_body() -> None:
    document = parse(LESSON)
    assert document.body == "\nFree text.\n  trailing spaces  \n\nno final newline"
    assert document.fields["title"] == "PUT /workflows replaces the entire resource"
    assert document.fields["tags"] == ["jira-api", "workflows"]
    assert document.fields["pattern"]["because"] == "PUT deletes the statuses"
    assert document.fields["links"][1] == {
        "related_to": "01JD3Z8QK5W7M2X9V4T68F3K2C",
        "weight": 0.5,
    }


@pytest.mark.parametrize(
    ("text", "matter", "body"),
    [
        ("", None, ""), ("# Title\n", None, "# Title\n"), ("\ufeff# Title\n", None, "# Title\n"),
        ("---\na: 1\n---\nx", "a: 1\n", "x"), ("\ufeff---\r\na: 1\r\n---\r\nx\r\n", "a: 1\r\n", "x\r\n"),
        ("---  \na: 1\n---\t\nx", "a: 1\n", "x"), ("---\na: 1\n---", "a: 1\n", ""), ("---\n---\n", "", ""),
        ("---\n\ntitle: x\n\n---\n", "\ntitle: x\n\n", ""), ("---\nnever closed\n", None, "---\nnever closed\n"),
        ("----\na: 1\n----\n", None, "----\na: 1\n----\n"), ("\n---\n\na: 1\n---\n", None, "\n---\n\na: 1\n---\n"),
        ("\n \r\n---\na: 1\n---\nx", "a: 1\n", "x"), ("\n---\nA line.\n---\n", None, "\n---\nA line.\n---\n"),
        ("---\na: |\n  ---\n---\n", "a: |\n  ---\n", ""),
    ],
)  # fmt: skip
def test_frontmatter_is_what_stands_between_two_rules_at_the_very_start(
    text: str, matter: str | None, body: str
) -> None:
    assert split(text) == (matter, body)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("1.10", "1.10"), ("2026-11-21", "2026-11-21"), ("2026-11-21T20:14:00Z", "2026-11-21T20:14:00Z"),
        ("no", "no"), ("on", "on"), ("1:20", "1:20"), ("010", "010"), ("0x10", "0x10"), ("1_000", "1_000"),
        ("1e3", "1e3"), (".inf", ".inf"), ("<<", "<<"), ("9" * 40, "9" * 40), ("'7'", "7"), ("7", 7), ("-7", -7),
        ("true", True), ("False", False), ("null", None), ("~", None), ("", None),
    ],
)  # fmt: skip
def test_scalars_stay_text_unless_they_can_mean_nothing_else(written: str, value: Any) -> None:
    found = parse(f"---\nkey: {written}\n---\n").fields["key"]
    assert (type(found), found) == (type(value), value)


def test_only_a_weight_is_a_fraction() -> None:
    assert parse("---\na: {weight: 0.5, other: 0.5}\n---\n").fields["a"] == {
        "weight": 0.5,
        "other": "0.5",
    }


@pytest.mark.parametrize("weight", [0.5, 1.0, 2.25, 1e-7, 12345.678, -1.5])
def test_a_weight_is_written_so_that_it_reads_back(weight: float) -> None:
    assert (
        parse(render({"links": [{"proves": "x", "weight": weight}]}, "")).fields["links"][0][
            "weight"
        ]
        == weight
    )


def test_keys_are_words_whatever_yaml_makes_of_them() -> None:
    assert parse("---\nno: 1\non: 2\n1.10: 3\n---\n").fields == {"no": 1, "on": 2, "1.10": 3}


def test_a_key_that_stands_twice_is_refused_at_every_level_with_line_and_name() -> None:
    twice = problems("---\na: 1\nb:\n  c: 1\n  c: 2\na: 3\n---\n")
    assert twice == [(5, "key 'c' appears twice"), (6, "key 'a' appears twice")]


@pytest.mark.parametrize(
    ("matter", "line", "words"),
    [
        ("title: a: b\n", 2, "not valid YAML at key 'title'"), ("a: 1\nb: [1, 2\n", 4, "not valid YAML"),
        ("a: 1\nb: &x 1\n", 3, "anchors"), ("a: 1\nb: *x\n", 3, "aliases"),
        ("a: !!python/object/apply:os.system [ls]\n", 2, "tags"), ("a: ! x\n", 2, "tags"),
        ("- a\n- b\n", 2, "not `key: value`"), ("just words\n", 2, "not `key: value`"),
        ("a: 1\n--- b: 2\n", 3, "more than one YAML document"), ("a: 1\nb: \x07\n", 3, "control character"),
        ("[a]: 1\n", 2, "a key is not a word"), ("a: 1\nb:\n\t- x\n", 4, "not valid YAML at key 'b'"),
    ],
)  # fmt: skip
def test_what_we_do_not_read_is_refused_with_its_line(matter: str, line: int, words: str) -> None:
    found = problems(f"---\n{matter}---\n")
    assert found[0][0] == line
    assert words in found[0][1]


@pytest.mark.parametrize(
    "matter",
    [
        "a: " + "[" * 30_000, "a: " + "[" * 30_000 + "]" * 30_000, "- " * 30_000 + "x", "? " * 30_000 + "x",
        "a: " + "{a: " * 15_000, "a:\n" + "".join(" " * n + "- b:\n" for n in range(1, 200)),
        "a: [" + "1," * 6_000 + "]", "a: " + "x" * 70_000, "a: " + "é" * 40_000, "a: &a [x,x]\nb: [*a,*a]",
        "".join(f"k{n}: 1\n" for n in range(6_000)),
    ],
    ids=lambda matter: matter[:12],
)  # fmt: skip
def test_bombs_are_refused_before_they_go_off(matter: str) -> None:
    assert problems(f"---\n{matter}\n---\n")


def test_the_reader_without_libyaml_reads_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    fast = parse(LESSON)
    edited = edit(LESSON, {"pattern.because": "x", "tags": ["a"], "links": []})
    monkeypatch.setattr(yaml_edit, "EventParser", yaml.SafeLoader)
    assert parse(LESSON) == fast
    assert edit(LESSON, {"pattern.because": "x", "tags": ["a"], "links": []}) == edited
    assert problems("---\na: " + "[" * 1000 + "\n---\n")


@pytest.mark.parametrize(
    ("data", "line", "words"),
    [
        (b"a\n\xff", 2, "0xff"),
        (b"\xff\xfea\0", 1, "UTF-8"),
        (b"a\n\nb\0c", 3, "NUL"),
        (b"\xed\xa0\x80", 1, "UTF-8"),
    ],
)
def test_bytes_that_are_no_text_are_refused(data: bytes, line: int, words: str) -> None:
    with pytest.raises(InvalidEntry, match=words) as caught:
        decode(data, "x.md")
    assert caught.value.problems[0].line == line


FORMS = ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")


@given(
    st.text(
        alphabet=st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=50
    ),
    st.sampled_from(FORMS),
    st.sampled_from(["\ufeff", ""]),
)
def test_frontmatter_in_any_form_of_utf_16_and_32_is_read(text: str, form: str, mark: str) -> None:
    assert decode(f"{mark}---{text}".encode(form), "a.md") == f"---{text}"


@given(
    st.binary(max_size=100),
    st.sampled_from(["", "UTF-32", "UTF-16LE-BOM", "IBM037", "SHIFT_JIS", "UTF-7"]),
)
def test_bytes_become_utf_8_or_stay_as_they_are(data: bytes, encoding: str) -> None:
    text = as_utf8(data, encoding)
    assert text == data or (not is_utf8(data) and text.decode() is not None)


@pytest.mark.parametrize(
    "encoding",
    ["UTF-7", "HZ", "ISO-2022-JP", "base64", "rot13", "unicode_escape", "punycode", "idna", "zlib", "undefined",
     "charmap", "no-such", "", "../os", "a" * 50, "\udc80", "utf-8\0", "mbcs"],
)  # fmt: skip
def test_a_codec_that_is_no_plain_encoding_of_text_is_not_used(encoding: str) -> None:
    assert codec_of(encoding) == ""
    assert as_utf8(b"+AGE- \xff", encoding) == b"+AGE- \xff"


@given(st.text(alphabet=st.characters(blacklist_categories=["Cs"]), max_size=200))
def test_any_text_is_read_or_refused_but_never_breaks_the_reader(text: str) -> None:
    for candidate in (text, f"---\n{text}\n---\n", f"---\na: {text}\n---\nbody"):
        try:
            parse(candidate)
        except InvalidEntry as error:
            assert error.problems  # noqa: PT017


@given(st.text(alphabet="ab:-?[]{},#&*!|>'\"% \n\t01~", max_size=60))
def test_any_yaml_like_text_is_read_or_refused(matter: str) -> None:
    try:
        document = parse(f"---\n{matter}\n---\n")
    except InvalidEntry as error:
        assert error.problems  # noqa: PT017
        return
    assert edit(f"---\n{matter}\n---\n", document.fields) == f"---\n{matter}\n---\n"


# writing

NASTY = [
    "", " ", "a: b", "a:", "# x", "a # b", "a#b", "- x", "-", "--", "---", "...", "no", "Yes", "on", "y", "null", "~",
    "1", "1.10", "1e3", "0x1f", "0o7", "1:20", "2026-11-21", "2026-11-21T20:14:00Z", "<<", "=", ".", ".nan", "+1", "_",
    "'", '"', "'a'", '"a"', "\\", "a\\nb", "a\nb", "a\n", "\na", "a\n\nb\n", "a\n\n", " a\nb", "a \nb ", "a\n \nb",
    "\t", "a\tb", "a\tb\nc\td", "\r", "a\r\nb", "é", "日本語", "🎉", "\u00a0", "\u2028", "\u0085", "\ufeff",
    "\x00", "\x07", "\x7f",
    "[a]", "{a}", "a, b", "a]", "&a", "*a", "!a", "%a", "@a", "`a", "|", ">", "|a", "? a", "a ", " a", "a:b",
    "http://x/y?z#w", "true", "x" * 3000,
    "a\n---\nb", "a\n# b\n- c", "WHEN a -> DO b", "src/**/*.py", "**/*.py", "C:\\x", "a\x0bb", "\uffff",
]  # fmt: skip
nasty = st.one_of(
    st.sampled_from(NASTY),
    st.text(alphabet=st.characters(blacklist_categories=["Cs"]), max_size=30),
    st.text(alphabet="ab1.0:#-'\" \n\t,[]{}&*!|>%@`?", max_size=12),
)
values: st.SearchStrategy[Any] = st.recursive(
    nasty | st.booleans() | st.integers(-(10**15), 10**15) | st.none(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(nasty.filter(lambda k: 0 < len(k) < 100), inner, max_size=3)
    ),
    max_leaves=6,
)
keys = st.sampled_from(
    ["id", "title", "x_custom", "confidence", "from", "created", "other", "applies_to", "links"]
)


@given(
    st.dictionaries(keys, values, max_size=5),
    st.text(alphabet=st.characters(blacklist_categories=["Cs"])),
)
def test_what_is_rendered_reads_back(fields: dict[str, Any], body: str) -> None:
    document = parse(render(fields, body))
    assert document.fields == fields
    assert document.body == body


@pytest.mark.parametrize("value", NASTY, ids=ascii)
def test_nasty_strings_survive_in_every_position(value: str) -> None:
    fields = {
        "title": value,
        "links": [value, {"a": value}, [value]],
        "pattern": {"do": value},
        "created": value,
    }
    assert parse(render(fields, "b")).fields == fields
    assert parse(edit("---\nlinks: [a]\npattern: {do: x}\n---\n", fields)).fields == fields


@pytest.mark.parametrize(
    "value", [v for v in NASTY if "\x00" not in v and v != "\uffff"], ids=ascii
)
def test_other_yaml_readers_see_the_same_strings(value: str) -> None:
    matter, _ = split(render({"title": value, "tags": [value]}, ""))
    assert yaml.safe_load(matter or "") == {"title": value, "tags": [value]}


def test_new_files_are_written_in_the_house_style() -> None:
    fields = {
        "links": [{"has_script": "01JD3Z", "weight": 0.5}, {"related_to": "01JD3Y"}], "zebra": 1, "tags": ["b", "a"],
        "applies_to": ["src/**/*.py", "*.md"], "versions": ["1.10", "1.9"], "created": "2026-11-21T20:14:00Z",
        "title": "PUT: replaces", "kind": "lesson",
        "pattern": {"when": "x", "do": "first\nsecond", "because": "it is so"}, "id": "01JD3Z8QK5W7M2X9V4T68F3K2A",
    }  # fmt: skip
    assert render(fields, "Body.\n") == (
        "---\n"
        "id: 01JD3Z8QK5W7M2X9V4T68F3K2A\n"
        "kind: lesson\n"
        'title: "PUT: replaces"\n'
        "versions:\n"
        '  - "1.10"\n'
        '  - "1.9"\n'
        "tags:\n"
        "  - a\n"
        "  - b\n"
        "created: 2026-11-21T20:14:00Z\n"
        "applies_to:\n"
        "  - src/**/*.py\n"
        '  - "*.md"\n'
        "pattern:\n"
        "  when: x\n"
        "  do: |-\n"
        "    first\n"
        "    second\n"
        "  because: it is so\n"
        "links:\n"
        "  - has_script: 01JD3Z\n"
        "    weight: 0.5\n"
        "  - related_to: 01JD3Y\n"
        "zebra: 1\n"
        "---\n"
        "Body.\n"
    )


# surgery


DO = "-  do: GET it first and send every status back      # or dont"
BECAUSE = ["-  because: >-", "-    PUT deletes", "-    the statuses"]
LINKS = parse(LESSON).fields["links"]


@pytest.mark.parametrize(
    ("changes", "lines"),
    [
        ({"title": "New: title"}, ["-title: 'PUT /workflows replaces the entire resource'   # quoted by hand",
                                   '+title: "New: title"   # quoted by hand']),
        ({"x_custom": "other"}, ["-x_custom:   keep   # unknown key, odd spacing",
                                 "+x_custom:   other   # unknown key, odd spacing"]),
        ({"pattern.do": "look"}, [DO, "+  do: look      # or dont"]),
        ({"pattern.because": "x"}, [*BECAUSE, "+  because: x"]),
        # a mapping replaces a mapping key by key
        ({"pattern": {"when": "updating a Jira workflow", "dont": "PUT", "because": "PUT deletes the statuses"}},
         [DO, "+  dont: PUT"]),
        # items come and go in their sorted place
        ({"tags": ["workflows", "jira-api", "rest"]}, ["+  - rest"]),
        ({"tags": ["workflows", "jira-api", "zz"]}, ["+  - zz"]),
        ({"tags": ["workflows", "jira-api", "a"]}, ["+  - a"]),
        ({"tags": ["jira-api"]}, ["-  - workflows     # the noun"]),
        ({"tags": ["workflows"]}, ["-  - jira-api"]),
        # links keep their order and indentation
        ({"links": [*LINKS, {"proves": "01JD3Z", "weight": 2.5}]}, ["+- proves: 01JD3Z", "+  weight: 2.5"]),
        ({"links": LINKS[:1]}, ["-- related_to: 01JD3Z8QK5W7M2X9V4T68F3K2C", "-  weight: 0.5"]),
        # a list on one line stays on it
        ({"versions": ["1.10", 2, "3.0"]}, ['-versions: [ "1.10", 2 ]', '+versions: ["1.10", 2, "3.0"]']),
        ({"versions": [2]}, ['-versions: [ "1.10", 2 ]', "+versions: [2]"]),
        ({"versions": []}, ['-versions: [ "1.10", 2 ]', "+versions: []"]),
        ({"tags": REMOVE}, ["-tags:", "-  # the API first", "-  - jira-api", "-  - workflows     # the noun"]),
        ({"pattern.because": REMOVE}, BECAUSE),
        ({"nothing": REMOVE, "pattern.nothing": REMOVE}, []),
    ],
)  # fmt: skip
def test_a_change_touches_only_its_lines_and_comments_stay(
    changes: dict[str, Any], lines: list[str]
) -> None:
    diff = difflib.unified_diff(
        LESSON.splitlines(), edit(LESSON, changes).splitlines(), lineterm="", n=0
    )
    assert [line for line in diff if line[:3] not in {"---", "+++"} and line[0] in "+-"] == lines


def test_a_new_key_goes_to_its_place_in_the_fixed_order() -> None:
    assert "created: 2026-11-21T20:14:00Z\ncategory: solution\npattern:" in edit(
        LESSON, {"category": "solution"}
    )
    assert "confidence: high\nsource: tested\nx_custom" in edit(LESSON, {"source": "tested"})
    assert "  weight: 0.5\nzebra: 1\n\n# the end\n---\n" in edit(LESSON, {"zebra": 1})
    assert edit("---\ntitle: x\n---\n", {"id": "A"}) == "---\nid: A\ntitle: x\n---\n"
    assert (
        edit("---\n# only this\n---\nb", {"kind": "doc"}) == "---\n# only this\nkind: doc\n---\nb"
    )
    assert edit("---\n---\nb", {"kind": "doc"}) == "---\nkind: doc\n---\nb"


def test_a_file_without_frontmatter_gets_one_in_front() -> None:
    assert edit("# Hi\n", {"kind": "doc", "id": "A"}) == "---\nid: A\nkind: doc\n---\n# Hi\n"
    assert edit("\ufeff# Hi\r\n", {"kind": "doc"}) == "\ufeff---\r\nkind: doc\r\n---\r\n# Hi\r\n"
    assert edit("# Hi\n", {}) == "# Hi\n"
    assert edit("# Hi\n", {"kind": REMOVE}) == "# Hi\n"
    assert edit("# Hi\n", {"pattern.do": "x"}) == "---\npattern:\n  do: x\n---\n# Hi\n"


def test_the_body_is_replaced_exactly_as_given() -> None:
    assert parse(edit(LESSON, {}, body="new")).body == "new"
    assert edit("---\na: 1\n---", {}, body="new") == "---\na: 1\n---\nnew"
    assert edit("old", {}, body="") == ""


def test_windows_line_ends_and_byte_order_mark_stay() -> None:
    windows = "\ufeff" + LESSON.replace("\n", "\r\n")
    changes = {
        "title": "New",
        "tags": ["jira-api", "new"],
        "zebra": ["a"],
        "rationale": "one\ntwo",
        "versions": REMOVE,
    }
    after = edit(windows, changes)
    assert "\n" not in after.replace("\r\n", "")
    assert after.removeprefix("\ufeff").replace("\r\n", "\n") == edit(LESSON, changes)


@pytest.mark.parametrize(
    ("before", "changes", "after"),
    [
        ("a: 1 # c\n", {"a": "x\nw"}, "a: |-\n  x\n  w\n"),
        ("a: 1 # c\n", {"a": ["x", "w"]}, "a:\n  - x\n  - w\n"),
        ("a: | # c\n  x\n\nb: 1\n", {"a": "w"}, "a: w\n\nb: 1\n"),
        ("a: |\n  x\n\n\nb: 1\n", {"a": "w\nz\n"}, "a: |\n  w\n  z\n\n\nb: 1\n"),
        ("a: |+\n  x\n\nb: 1\n", {"a": "w"}, "a: w\nb: 1\n"),
        ("a:   # none yet\nb: 1\n", {"a": ["x"]}, "a:\n  - x\nb: 1\n"),
        ("a:\nb: 1\n", {"a": "x"}, "a: x\nb: 1\n"),
        ("a: # c\n  - x # d\n# e\nb: 1\n", {"a": "w"}, "a: w\n# e\nb: 1\n"),
        ("a: # c\n  - x # d\n# e\nb: 1\n", {"a": REMOVE}, "# e\nb: 1\n"),
        ("a: [x, y, z]\n", {"a": ["x"]}, "a: [x]\n"),
        ("a: [x, w, z]\n", {"a": ["w", "z"]}, "a: [w, z]\n"),
        ("a: []\n", {"a": ["x", "y: z"]}, 'a: [x, "y: z"]\n'),
        ("a: {b: 1, c: 2}\n", {"a.b": 3}, "a: {b: 3, c: 2}\n"),
        ("a: {b: 1, c: 2}\n", {"a.c": REMOVE}, "a: {b: 1}\n"),
        ("a: {b: 1, c: 2}\n", {"a.b": REMOVE}, "a: {c: 2}\n"),
        ("a: {b: 1}\n", {"a.c": "x"}, "a: {b: 1, c: x}\n"),
        ("a: {}\n", {"a.c": "x"}, "a: {c: x}\n"),
        ("{a: 1, b: 2}\n", {"a": "x", "c": [1]}, "{a: x, b: 2, c: [1]}\n"),
        ("a: 1\n", {"a.b": 2}, "a:\n  b: 2\n"),
        ("a.b: 1\n", {"a.b": 2}, "a.b: 2\n"),
        ("'on': 1\n", {"on": 2}, "'on': 2\n"),
        ("a:\n  long\n  text # c\nb: 1\n", {"a": "x"}, "a:\n  x # c\nb: 1\n"),
        ("a:\n- - x\n  - y\n- z\n", {"a": [["x"], "z"]}, "a:\n- [x]\n- z\n"),
        ("a:\n  -\n    x\n  - y\n", {"a": ["y"]}, "a:\n  - y\n"),
        (
            "a:\n  - x\n\n  # about y\n  - y\n",
            {"a": ["x", "m", "y"]},
            "a:\n  - x\n  - m\n\n  # about y\n  - y\n",
        ),
        ("  a: 1\n  c: 2\n", {"b": 3}, "  a: 1\n  c: 2\n  b: 3\n"),
        ("a: 'it''s' # c\n", {"a": "x"}, "a: x # c\n"),
        ('? "a b"\n: 1\nc: 2\n', {"a b": 3}, '? "a b"\n: 3\nc: 2\n'),
        ("tags:\n  - b\n  - a\n", {"tags": ["a", "b"]}, "tags:\n  - b\n  - a\n"),
        ("tags: [b, a]\n", {"tags": ("a", "c", "b", "c")}, "tags: [b, a, c]\n"),
        ("kind: doc\npattern:\n  do: x\n", {"pattern.do": REMOVE}, "kind: doc\n"),
    ],
)
def test_an_edit_of_one_key_leaves_all_other_bytes(
    before: str, changes: dict[str, Any], after: str
) -> None:
    assert edit(f"---\n{before}---\nbody", changes) == f"---\n{after}---\nbody"


@pytest.mark.parametrize(
    "text", [LESSON, LESSON.replace("\n", "\r\n"), "\ufeff" + LESSON, "# plain\n", "---\n---"]
)
def test_changing_nothing_is_byte_identical(text: str) -> None:
    document = parse(text)
    assert edit(text, {}) == text
    assert edit(text, {}, body=document.body) == text
    assert edit(text, document.fields) == text


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Frontmatter as a person might write it: our values in mixed styles, comments and blank lines between."""
    lines = ["---"]
    names = draw(st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=5))
    scalars = st.sampled_from(
        ["x", "'it''s'", '"q: r"', "5", "", "~", "some words", "a#b", "http://x", "'#'"]
    )
    comments = st.sampled_from(["", "", " # note", "   # a: b"])
    for name in names:
        lines += draw(st.sampled_from([[], [], ["# above"], [""]]))
        shape = draw(st.integers(0, 6))
        comment = draw(comments)
        if shape == 0:
            lines.append(f"{name}: {draw(scalars)}{comment}")
        elif shape == 1:
            items = draw(st.lists(st.sampled_from(["x", "y", "1", "z z"]), max_size=3))
            lines.append(f"{name}: [{', '.join(items)}]{comment}")
        elif shape == 2:
            pad = draw(st.sampled_from(["", "  ", "    "]))
            lines.append(f"{name}:{comment}")
            lines += [
                f"{pad}- {item}{draw(comments)}"
                for item in draw(st.lists(scalars, min_size=1, max_size=3))
            ]
        elif shape == 3:
            lines.append(f"{name}:{comment}")
            lines += [
                f"  {key}: {draw(scalars)}{draw(comments)}"
                for key in draw(st.sampled_from(["m", "mn", "mno"]))
            ]
        elif shape == 4:
            mark = draw(st.sampled_from(["|", "|-", ">", "|+", ">-"]))
            lines += [f"{name}: {mark}{comment}", "  one", "", "  two: x"]
        elif shape == 5:
            lines += [f"{name}: {{m: 1, n: [x, y]}}{comment}"]
        else:
            lines += [f"{name}:", "  - m: 1", "    n: 2", "  - m: 3" + comment]
    lines += draw(st.sampled_from([[], ["# end"], [""]]))
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    return draw(st.sampled_from(["", "\ufeff"])) + newline.join([*lines, "---", "body ", " end"])


names = st.sampled_from([*"abcdefgh", "id", "tags", "a.m", "b.n", "c.zz"])


@settings(max_examples=100)
@given(documents())
def test_setting_every_key_to_its_own_value_is_byte_identical(text: str) -> None:
    assert edit(text, parse(text).fields) == text


@settings(max_examples=100)
@given(documents(), names, values)
@example("---\na: |\n  one\n\n  two: x\n# end\n---\nbody", "a", "\n")
def test_an_edit_reads_back_and_changes_no_line_of_another_key(
    text: str, name: str, value: Any
) -> None:
    before = parse(text)
    after = edit(text, {name: value})
    top, _, nested = name.partition(".")
    read = parse(after)
    found = read.fields[top][nested] if nested else read.fields[top]
    if name == "tags" and isinstance(value, list):
        assert {repr(v) for v in found} == {repr(v) for v in value}
    else:
        assert found == value
    assert read.body == before.body
    assert {k: v for k, v in read.fields.items() if k != top} == {
        k: v for k, v in before.fields.items() if k != top
    }
    assert lines_of_others(before.fields, text, top) == lines_of_others(read.fields, after, top)


@settings(max_examples=100)
@given(documents(), names)
def test_removing_a_key_changes_no_line_of_another(text: str, name: str) -> None:
    after = edit(text, {name: REMOVE})
    top = name.partition(".")[0]
    assert parse(after).fields.keys() | {top} == parse(text).fields.keys() | {top}
    assert lines_of_others(parse(text).fields, text, top) == lines_of_others(
        parse(after).fields, after, top
    )


def lines_of_others(fields: dict[str, Any], text: str, top: str) -> list[str]:
    """All lines but those from the key to the next key or the comment above it, and blank ones."""
    kept, inside = [], False
    for line in text.splitlines():
        if line[:1].strip() and not line.startswith("- "):
            inside = line.split(":")[0] == top and not line.startswith("#")
        if not inside and line.strip():
            kept.append(line)
    return kept


@given(documents(), st.lists(st.sampled_from(["a", "b", "c d", "1.0"]), max_size=4))
def test_sets_are_the_same_set_afterwards_and_stay_sorted(text: str, tags: list[str]) -> None:
    once = edit(text, {"tags": tags})
    again = edit(once, {"tags": [*tags, "bb"]})
    assert parse(again).fields["tags"] == sorted({*tags, "bb"})
    assert edit(again, {"tags": tags}) == once or not tags


def test_what_cannot_be_cut_out_alone_is_refused_with_its_line_and_invalid_frontmatter_is_never_edited() -> (
    None
):
    with pytest.raises(InvalidEntry, match="cannot be changed alone") as caught:
        edit("---\nx: 1\na: [x, # c\n  y]\n---\n", {"a": ["x"]})
    assert caught.value.problems[0].line == 3
    with pytest.raises(InvalidEntry):
        edit("---\na: [\n---\n", {"b": 1})


@pytest.mark.parametrize("own", ["id: intro", "kind: Deployment", "tags: a, b", "id: 20240101"])
def test_keys_of_another_program_stay_and_ours_go_below_a_key(own: str) -> None:
    text = f"---\n{own}\ntitle: T  # theirs\n---\nBody\n"
    new = edit(
        text, {"id": "01JD3Z8QK5W7M2X9V4T68F3K2A", "kind": "doc", "title": "T", "tags": ["x"]}
    )
    assert new == (
        f"---\n{own}\ntitle: T  # theirs\nai-lessons:\n  id: 01JD3Z8QK5W7M2X9V4T68F3K2A\n  kind: doc\n"
        "  tags:\n    - x\n---\nBody\n"
    )
    again = edit(new, {"tags": ["x", "y"], "title": "Other"})
    assert parse(again).fields["tags"] == ["x", "y"]
    assert f"{own}\ntitle: T  # theirs\n" in again


@pytest.mark.parametrize("text", ['+++\ntitle = "a"\n+++\nBody\n', '{\n  "title": "a"\n}\nBody\n'])
def test_nothing_is_written_above_toml_or_json(text: str) -> None:
    assert parse(text) == ({"title": "a"}, "Body\n")
    assert edit(text, {}) == text
    with pytest.raises(InvalidEntry, match="TOML or JSON"):
        edit(text, {"id": "x"})


@pytest.mark.parametrize("form", ["utf-16-le", "utf-16-be", "utf-32-le"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_text_keeps_its_form_of_unicode(form: str, mark: str) -> None:
    old = f"{mark}---\r\ntitle: A\r\n---\r\nText.".encode(form)
    assert texts.in_form_of(old, texts.as_utf8(old)) == old
    assert texts.in_form_of(b"---\n", b"a") == b"a"
