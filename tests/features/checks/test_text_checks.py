"""The check of a rule: what is refused, where it fires, and that no pattern can take for ever."""

import re
import sys
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.features.checks import fixes
from ai_lessons.features.checks.forms import checks_of, faults, of_texts
from ai_lessons.features.checks.regexes import InvalidPattern, LineRegex, Prefilter, TooSlow
from ai_lessons.features.checks.text_checks import TextCheck, matches, runs
from ai_lessons.model.checks import check_entry
from ai_lessons.model.frontmatter import read_entry
from ai_lessons.model.markdown import render
from ai_lessons.model.merge import merge_file

SAMPLES = {"bad": "requests.get(url)", "good": "requests.get(url, timeout=5)"}
REGEX = {"files": "src/**/*.py", "regex": r"requests\.(get|post)\(", "unless": "timeout="} | SAMPLES
PATTERN = {"files": "src/**/*.py", "pattern": "requests.get($$$)", "unless": "timeout="} | SAMPLES


def rule(check: object, **fields: Any) -> str:
    fields = {
        "id": "01JD3Z8QK5W7M2X9V4T68F3K2A",
        "kind": "rule",
        "title": "Give a timeout",
        "rationale": "R",
    } | fields
    return render(fields | {"check": check}, "")


def check_of(fields: dict[str, Any]) -> TextCheck | None:
    """The first check of a text."""
    return next(iter(of_texts(checks_of(fields))), None)


def complaints(check: object) -> list[str]:
    text = rule(check)
    return [
        f"{x.path}:{x.line}: {x.message}"
        for x in check_entry(read_entry("p/rules/x.md", text.encode()), text)
    ]


def fires(check: dict[str, Any], text: str, lines: frozenset[float] | None = None) -> list[int]:
    parsed = check_of({"check": check})
    assert parsed
    return [match.line for match in matches(parsed, text, "src/a.py", lines)]


def test_a_check_that_fires_on_bad_and_not_on_good_is_proven() -> None:
    assert complaints(REGEX) == []
    assert (
        complaints(REGEX | {"bad": ["requests.get(1)", "requests.post(2)"], "enforce": "ask"}) == []
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"bad": "requests.head(url)"}, "does not fire on check.bad"),
        ({"bad": ["requests.get(1)", "x"]}, "does not fire on check.bad (number 2)"),
        ({"good": "requests.get(url)"}, "fires on check.good"),
        ({"good": None}, "needs bad, a text that breaks the rule, and good"), ({"regex": "("}, "is none: missing )"),
        ({"unless": "["}, "is none: missing ]"), ({"regex": None}, "neither pattern nor regex"),
        ({"pattern": "f($A)"}, "both pattern and regex"), ({"regex": "(?L)x"}, "is none: "),
        ({"files": ["/etc/*"]}, "check.files '/etc/*' is no glob: it must be relative"),
        ({"files": "src/{a,b"}, "a `{` is never closed"), ({"regex": 7}, "check.regex is not text"),
        ({"regex": ["a"]}, "check.regex is not text"),
        ({"enforce": "shout"}, "check.enforce 'shout' is none of tell, ask, deny"),
        ({"when": "x"}, "unknown key 'when'"), ({"regex": "x" * 501}, "longer than 500 characters"),
        ({"bad": "x" * 5_000}, "more than 20 texts, or than 4000 characters"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_check_is_said_at_its_line(change: dict[str, Any], words: str) -> None:
    check = {key: value for key, value in (REGEX | change).items() if value is not None}
    said = complaints(check)
    assert any(words in line and line.startswith("p/rules/x.md:6: ") for line in said), said


def test_a_check_that_is_no_table_is_refused() -> None:
    assert "check is not `files:`" in complaints("requests.get")[0]
    assert check_of({"check": "requests.get"}) is None


def test_a_check_looks_at_the_files_of_applies_to_unless_it_names_others() -> None:
    check = {"regex": "x"} | SAMPLES
    named = check_of({"check": check, "applies_to": ["*.py"]})
    every = check_of({"check": check})
    assert named
    assert every
    assert named.concerns("a/b.py")
    assert not named.concerns("a/b.js")
    assert every.concerns("a/b.js")


def test_a_regex_is_looked_for_on_each_line() -> None:
    text = "import requests\r\nrequests.get(a)\r\nrequests.post(b, timeout=1)\n\nx = requests.post(c)\n"
    assert fires(REGEX, text) == [2, 5]
    assert fires(REGEX, text, frozenset({1, 5})) == [5]
    assert fires(REGEX | {"regex": r"^$"}, "a\n\nb\n") == [2]
    assert fires(REGEX | {"regex": r"\)$"}, text) == [2, 5]


CALL = REGEX | {"regex": r"requests\.get\(", "unless": "timeout="}


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("requests.get(url)  # timeout=\n", [1]),
        ("requests.get(url, timeout=3)  # slow\n", []),
        ("requests.get(\n    url,\n    timeout=3,\n)\n", []),
        ("requests.get(\n    url,  # timeout=3\n    params=[1],\n)\ntimeout=3\n", [1]),
        ("requests.get(\n    f(')'),\n    # )\n    timeout=3,\n)\n", []),
        ("requests.get(\r\n    url,\r\n    timeout=3,\r\n)\r\n", []),
        ("requests.get(\n" + "    1,\n" * 200 + "    timeout=3)\n", [1]),
        ("requests.get(\nx\n", [1]),
        ("x = [\n  requests.get(a),\n  requests.get(b, timeout=3),\n]\n", [2]),
    ],
)
def test_a_statement_over_several_lines_is_one_match(text: str, lines: list[int]) -> None:
    assert fires(CALL, text) == lines


def test_a_change_anywhere_in_a_statement_counts() -> None:
    text = "requests.get(\n    url,\n)\nx\n"
    assert [fires(CALL, text, frozenset([line])) for line in (1, 2, 3, 4, 2.5, 3.5)] == [
        [1],
        [1],
        [1],
        [],
        [1],
        [],
    ]


@pytest.mark.parametrize(
    ("path", "unless", "row", "kept"),
    [
        ("a.py", "# noqa", "f(1)  # noqa", True), ("a.py", r"\bnoqa", "f(1)  # noqa", False),
        ("a.py", r"^\s*#", "  # f(1)", True), ("a.js", "nosec", "f(1) // nosec", False),
        ("a.js", "// nosec", "f(1) // nosec", True), ("a.js", "nosec", "f('//', nosec)", True),
        ("a.css", "x", "f(//x)", True), ("a.css", "x", "f() /* x */", False), ("a.sql", "x", "f() -- x", False),
        ("a.sh", "--wait", "f( ${a#b} --wait", True), ("a.sh", "--wait", "f( # --wait", False),
        ("a.md", "x", "f( // x", True), ("a.html", "x", "f( <!-- x -->", False), ("notes.txt", "x", "f( # x", True),
        ("Makefile", "x", "f( # x", False), ("a.yml", "x", "f( a#x", True), ("a.rs", "x", "f( // x", False),
    ],
)  # fmt: skip
def test_a_comment_excuses_only_where_the_check_looks_for_one(
    path: str, unless: str, row: str, kept: bool
) -> None:
    check = TextCheck(regex=r"f\(", unless=unless)
    assert [match.line for match in matches(check, f"{row}\n", path)] == ([] if kept else [1])
    assert [match.line for match in matches(check, f"f()\n{row}\n", path)] == (
        [1] if kept else [1, 2]
    )


def test_a_comment_inside_of_a_call_does_not_excuse_a_pattern() -> None:
    check = {
        "files": "*.py",
        "pattern": "requests.get($$$)",
        "unless": "timeout=",
        "bad": "x",
        "good": "y",
    }
    assert fires(check, "requests.get(\n    url,  # timeout=\n)\n") == [1]
    assert fires(check, "requests.get(\n    url,\n    timeout=3)\n") == []


def test_a_pattern_is_looked_for_in_the_syntax() -> None:
    pytest.importorskip("ast_grep_py")
    text = "# requests.get(a)\nrequests.get(\n    a,\n)\nrequests.get(b,\n    timeout=1)\n"
    assert complaints(PATTERN) == []
    assert fires(PATTERN, text) == [2]
    assert fires(PATTERN, text, frozenset({3})) == [2]
    assert fires(PATTERN, text, frozenset({5})) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"pattern": "$$$"}, "is no pattern of ast-grep: Standalone multi meta variable"),
        ({"pattern": "a; b c"}, "is no pattern of ast-grep: Multiple AST nodes"),
        ({"files": "docs/*"}, "names no language for the pattern"),
        ({"pattern": "requests.head($$$)"}, "does not fire on check.bad"),
    ],
)
def test_what_is_no_pattern_is_refused(change: dict[str, Any], words: str) -> None:
    pytest.importorskip("ast_grep_py")
    said = complaints(PATTERN | change)
    assert any(words in line for line in said), said
    assert not any("\n" in line or "Stack" in line for line in said)


def test_without_ast_grep_a_pattern_is_not_run_and_nothing_is_claimed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "ast_grep_py", None)
    check = check_of({"check": PATTERN})
    assert check
    assert not runs(check)
    assert list(faults({"check": PATTERN})) == []


REFUSED = [
    (r"requests\.get\((?!.*timeout)", r"no lookaheads .* use `unless`"), (r"(?<=a)b", "no lookaheads"),
    (r"(\d+)\1", "no references back"), (r"(?P<n>a)(?P=n)", "no references back"), ("(x{1,99}){1,99}", "repetition"),
    (r"\S{900}", "can take too long"), ("(?:[ab]{900}|x)" * 20, "can take too long|too large"), ("a**", "repetition"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "words"), REFUSED)
def test_a_regex_that_re2_lacks_or_that_is_too_large_is_refused(source: str, words: str) -> None:
    with pytest.raises(InvalidPattern, match=words):
        LineRegex(source)


USEFUL = [
    (r"(a+)+$", "aaa", "aab"),
    (r"(?i)password\s*=\s*['\"]\w+", "PASSWORD = 'x'", "password = x"),
    (r"\bTODO\b [^(]", "# TODO fix", "# TODO (ada) fix"),
    (r"\.\w{1,3}\(", "x.abc(", "x.abcd("),
]


@pytest.mark.parametrize(("source", "bad", "good"), USEFUL)
def test_what_people_write_is_taken(source: str, bad: str, good: str) -> None:
    assert LineRegex(source).fits(bad)
    assert not LineRegex(source).fits(good)


@pytest.mark.parametrize(
    "source", [".*a.*b.*c", "(a|aa)*b", r"(\w+\s?)*$", "a.{12}b.{12}c", ".*" * 200, "a?" * 249]
)
@pytest.mark.parametrize("unit", ["a", "ab", "a b", "\u2003 ", "é9"])
def test_no_line_keeps_a_regex_busy(source: str, unit: str) -> None:
    before = time.thread_time()
    LineRegex(source).fits(unit * 5_000 + "!")
    assert (
        time.thread_time() - before < 5
    )  # CPU time, of which it takes a hundredth: it would be hours


ATOMS = st.sampled_from(["a", "b", "[ab]", ".", "[^a]", "(?:a|b)", "(?:ab|cd)", "^", "$", r"\b"])
PARTS = st.tuples(ATOMS, st.sampled_from(["", "*", "+", "?", "*?", "{2,5}", "{3}"])).map("".join)


@given(
    st.lists(PARTS, min_size=1, max_size=6).map("".join),
    st.lists(st.text("ab c", max_size=9), min_size=1),
)
def test_the_lines_are_those_that_python_finds(source: str, lines: list[str]) -> None:
    try:
        regex, expected = LineRegex(source), re.compile(source)
    except (InvalidPattern, re.error):
        return
    lines[-1] += "."  # the end of a text adds no line
    numbers = [number for number, line in enumerate(lines, 1) if expected.search(line)]
    for end in ("\n", "\r\n"):
        assert [number for number, _ in regex.lines(end.join(lines))] == numbers
    assert not numbers or Prefilter({"check": source}).possible("\n".join(lines))


def test_a_short_match_is_seen_wherever_it_stands_in_a_long_line() -> None:
    regex = LineRegex(r"import.{0,90}from.{0,90}lodash$")
    text = "import x from 'lodash"
    for before in range(0, 20_000, 997):
        assert regex.fits("é" * before + " " + text)
        assert not regex.fits("y" * before + " " + text + "!" + "z" * 20_000), (
            "the end of a window is no end of a line"
        )


def test_a_check_stops_when_the_time_is_over() -> None:
    check = check_of({"check": REGEX})
    assert check
    with pytest.raises(TooSlow):
        list(matches(check, "requests.get(1)\n", hurry=lambda: True))


def test_two_edits_of_a_rule_keep_its_check() -> None:
    base, ours = rule(REGEX), rule(REGEX, tags=["a"])
    theirs = rule(REGEX | {"enforce": "ask"})
    merged = merge_file(
        "p/lessons/x.md",
        *(text.replace("kind: rule", "kind: lesson").encode() for text in (base, ours, theirs)),
    )
    assert merged.data
    assert b"enforce: ask" in merged.data
    assert b"- a" in merged.data


def test_of_many_checks_those_are_run_that_can_fire() -> None:
    regexes = {f"{n}": f"name{n}\\.get\\(" for n in range(2_000)}
    regexes |= {"any": r"\w+\d$", "folded": "(?i)straße", "wrong": "("}
    checks = Prefilter(regexes)
    assert checks.possible("x\nname7.get(1)\n") == {"7", "any", "wrong"}
    assert checks.possible("STRAßE") == {"folded", "any", "wrong"}
    assert Prefilter({}).possible("x") == set()
    assert Prefilter({"pattern": ""}).possible("x") == {"pattern"}


@pytest.mark.parametrize(
    "line", ["get(url, verify=False)", r"x = re.sub('\b\s*', '\\b', text)  # été", "a  b", "((("]
)
def test_the_telling_word_of_a_draft_stands_on_the_line_that_it_was_drafted_from(line: str) -> None:
    checks = list(fixes.drafts("a.py", [line], ["get(url)"], []))
    assert [check.regex for check in checks if fixes.telling_word(check.regex) not in line] == []
    assert bool(checks) is (line != "(((")
