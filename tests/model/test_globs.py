import pytest
from hypothesis import given
from hypothesis import strategies as st
from wcmatch import glob as well_kept

from ai_lessons.model.layout import LONGEST_GLOB, any_match, matches

_WAY = well_kept.BRACE | well_kept.MATCHBASE | well_kept.FORCEUNIX | well_kept.CASE
FLAGS = _WAY | well_kept.GLOBSTAR | well_kept.DOTGLOB
"""The same meaning in the words of wcmatch, whose tests are those of bash."""


@pytest.mark.parametrize(
    ("pattern", "named", "not_named"),
    [
        ("*.py", ["a.py", "src/deep/a.py", ".hidden.py"], ["a.pyc", "a.PY", "py"]),
        ("src/*.py", ["src/a.py"], ["src/deep/a.py", "other/src/a.py"]),
        ("/src/*.py", ["src/a.py"], ["x/src/a.py"]), ("./src/*.py", ["src/a.py"], ["x/src/a.py"]),
        ("/*.py", ["a.py"], ["src/a.py"]), ("**/test_*", ["test_a", "x/y/test_a.py"], ["x/test_a/y"]),
        ("**", ["a", "a/b/c"], []), ("src/**", ["src/a", "src/a/b"], ["src", "a/src/b"]),
        ("docs/", ["docs/a.md", "docs/x/y"], ["docs", "x/docs/a"]),
        ("*.{ts,tsx}", ["x/a.ts", "a.tsx"], ["a.tsxx", "a.{ts,tsx}"]),
        ("{a}.py", ["{a}.py"], ["a.py"]), ("[a-c]?.md", ["b1.md", "x/aa.md"], ["d1.md", "b.md"]),
        (r"\*.py", ["*.py"], ["a.py"]), (r"\{a,b\}", ["{a,b}"], ["a"]),
        ("Makefile", ["Makefile", "x/Makefile"], ["makefile", "Makefile.am"]), ("", [], ["", "a"]),
        ("../secret", [], ["secret", "../secret"]),
    ],
)  # fmt: skip
def test_a_pattern_names_these_files_and_not_those(pattern: str, named: list[str], not_named: list[str]) -> None:
    assert [path for path in named if not matches(pattern, path)] == []
    assert [path for path in not_named if matches(pattern, path)] == []


def test_one_pattern_and_one_path_are_enough() -> None:
    assert any_match(["x", "src/*.py"], ["README.md", "./src//a.py"])
    assert not any_match(["x"], [])
    assert not any_match([], ["x"])


def test_patterns_that_would_take_forever_do_not() -> None:
    assert not matches("/".join(["**", "*a*a*a*a*b"] * 20), "/".join(["a" * 200] * 60))
    assert not matches("a*" * 200 + "b", "a" * 4000)
    assert not matches("{a,b}" * 40, "a" * 40)
    assert not matches("*" * (LONGEST_GLOB + 1), "a")
    assert not matches("{" * 400, "a")


PIECES = st.sampled_from(
    ["a", "b", "ab", ".b", "-", "*", "?", "[ab]", "[!a]", "[^b]", "[a-c]", "[.]", "{a,b}", "{a,*.b}", "a{,c}"]
)
SEGMENTS = st.one_of(st.just("**"), st.lists(PIECES, min_size=1, max_size=4).map("".join))
PATTERNS = st.lists(SEGMENTS, min_size=1, max_size=5).map("/".join).filter(lambda text: text.count("{") <= 4)
NAMES = st.text("ab.-c", min_size=1, max_size=4).filter(lambda name: name.strip("."))
PATHS = st.lists(NAMES, min_size=1, max_size=5).map("/".join)


@given(PATTERNS, PATHS)
def test_it_means_what_a_well_kept_library_means(pattern: str, path: str) -> None:
    assert matches(pattern, path) == well_kept.globmatch(path, pattern, flags=FLAGS)


@given(st.text("ab*?[]!^-\\{},/.", max_size=30), PATHS)
def test_no_pattern_is_an_error(pattern: str, path: str) -> None:
    assert matches(pattern, path) in {True, False}
