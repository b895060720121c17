from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wcmatch import glob as well_kept

from ai_lessons.errors import InvalidEntry, UsageError
from ai_lessons.model.config import (
    KEYS,
    Chunking,
    RepositoryConfig,
    keys,
    parse_config,
    set_value,
    unknown_keys,
    values_of,
)
from ai_lessons.model.layout import PATH_LIMITS, any_match, matches

FILE = """\
# Shared with everybody.
format: 1

git:
  # why
  autocommit: auto

approval:
  branch: main   # the trunk
  require: merge
search:
  model: bge-small-en-v1.5
  chunking:
    target: 256
    # never longer
    limit: 400
  index: ""
tag_aliases: {}
"""


def test_an_empty_file_is_all_defaults() -> None:
    assert (
        parse_config("") == RepositoryConfig() == parse_config(FILE) == parse_config("# nothing\n")
    )
    assert RepositoryConfig().chunking == Chunking(256, 400, 128)


def test_every_setting_is_read_listed_and_named() -> None:
    config = parse_config(
        "git: {autocommit: false}\nevents: false\n"
        "approval: {branch: trunk, require: signed, distinct: true}\n"
        "search:\n  model: other/model\n  chunking: {target: 100, limit: 200, minimum: 50}\n"
        "  index: s3://bucket/path\ntag_aliases: {k8s: kube, kube: kubernetes}\n"
    )
    assert config == RepositoryConfig(
        autocommit=False, approval_branch="trunk", approval_require="signed", approval_distinct=True,
        events=False, model="other/model",
        chunking=Chunking(100, 200, 50), index_uri="s3://bucket/path",
        tag_aliases={"k8s": "kubernetes", "kube": "kubernetes"},
    )  # fmt: skip
    listed = values_of(config)
    assert list(listed) == list(keys())
    assert list(listed)[: len(KEYS)] == list(KEYS)
    assert (listed["git.autocommit"], listed["search.chunking.limit"]) == (False, 200)
    assert values_of(RepositoryConfig())["git.autocommit"] == "auto"
    # chunking has keys of its own, and features bring theirs
    assert len(KEYS) == len(fields(RepositoryConfig)) - 2 + len(fields(Chunking))


@pytest.mark.parametrize("lead", ["---\n", "\ufeff", "# first\n---\n", "\ufeff---\r\n"])
def test_a_document_mark_in_front_is_no_fault(lead: str) -> None:
    text = lead + "events: false\n"
    assert not parse_config(text).events
    assert set_value(text, "events", "true") == lead + "events: true\n"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("events: maybe\n", 1, "events must be true or false, not 'maybe'"),
        ("format: one\n", 1, "format must be a number"),
        ("approval:\n  require: trust\n", 2, "approval.require must be merge, forge or signed"),
        ("approval:\n  branch: -x\n", 2, "approval.branch must be the name of a branch"),
        ("approval:\n  branch: refs/heads/x\n", 2, "approval.branch"),
        ("approval:\n  branch: a..b\n", 2, "approval.branch"),
        ("approval: strict\n", 1, "approval.branch must be the name of a branch, not 'strict'"),
        ("git:\n  autocommit: sometimes\n", 2, "git.autocommit must be auto, true or false"),
        (
            "search:\n  chunking:\n    limit: -3\n",
            3,
            "search.chunking.limit must be a number of tokens",
        ),
        (
            "search:\n  chunking:\n    target: 500\n",
            2,
            "minimum <= target <= limit, not 128, 500, 400",
        ),
        ("search:\n  index: /etc/x\n", 2, "search.index must be empty, or an address"),
        ("search:\n  model: ../../x\n", 2, "search.model"),
        ("tag_aliases: [a]\n", 1, "tag_aliases must be lines of `alias: tag`"),
        ("tag_aliases:\n  a: b\n  b: a\n", 1, "circle"),
        ("events: [\n", 2, "not valid YAML"),
        ("events: true\nevents: true\n", 2, "twice"),
    ],
)
def test_nonsense_is_named_with_its_line(text: str, line: int, words: str) -> None:
    with pytest.raises(InvalidEntry) as caught:
        parse_config(text)
    (problem, *_) = caught.value.problems
    assert problem.path == ".ai-lessons/config.yaml"
    assert (problem.line, words in problem.message) == (line, True), problem


def test_unknown_settings_are_left_alone_but_can_be_named() -> None:
    text = "evnts: true\nsearch:\n  chunking:\n    xyz: 3\nnew: {a: 1}\n"
    assert parse_config(text) == RepositoryConfig()
    assert [(p.line, p.message) for p in unknown_keys(text)] == [
        (1, "unknown setting 'evnts' (did you mean 'events'?)"),
        (4, "unknown setting 'search.chunking.xyz'"),
        (5, "unknown setting 'new'"),
    ]
    assert unknown_keys(FILE) == []


@pytest.mark.parametrize(
    ("key", "value", "before", "after"),
    [
        (
            "approval.branch",
            "trunk",
            "  branch: main   # the trunk\n",
            "  branch: trunk   # the trunk\n",
        ),
        ("search.chunking.limit", "300", "    limit: 400\n", "    limit: 300\n"),
        ("git.autocommit", "no", "  autocommit: auto\n", "  autocommit: false\n"),
        ("search.index", "s3://b/x", '  index: ""\n', "  index: s3://b/x\n"),
        ("search.index", "db://name", '  index: ""\n', "  index: db://name\n"),
        ("tag_aliases.k8s", "kubernetes", "tag_aliases: {}\n", "tag_aliases: {k8s: kubernetes}\n"),
        ("approval.require", "", "  require: merge\n", ""),
        ("events", "off", "tag_aliases: {}\n", "tag_aliases: {}\nevents: false\n"),
        ("approval.distinct", True, "  require: merge\n", "  require: merge\n  distinct: true\n"),
        ("search.chunking.minimum", 64, "    limit: 400\n", "    limit: 400\n    minimum: 64\n"),
        ("format", "1", "", ""),
    ],
)
def test_a_setting_is_changed_where_it_stands(
    key: str, value: Any, before: str, after: str
) -> None:
    assert set_value(FILE, key, value) == FILE.replace(before, after, 1)


def test_a_setting_is_added_to_an_empty_file_and_a_missing_line_end_stays_missing() -> None:
    assert (
        set_value("", "search.chunking.target", "200") == "search:\n  chunking:\n    target: 200\n"
    )
    assert set_value("events: true", "events", "false") == "events: false"
    assert (
        set_value("events: true", "git.autocommit", "true")
        == "events: true\ngit:\n  autocommit: true"
    )
    assert set_value("events: true\r\n", "format", 1) == "events: true\r\nformat: 1\r\n"


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("approval.requires", "merge", "did you mean"), ("nothing", "1", "no setting"),
        ("events", "perhaps", "must be true or false"),
        ("search.chunking.target", "9000", "minimum <= target <= limit"), ("tag_aliases", "x", "alias"),
    ],
)  # fmt: skip
def test_a_setting_that_means_nothing_is_refused(key: str, value: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        set_value(FILE, key, value)
    assert words in caught.value.message + caught.value.hint


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
def test_a_pattern_names_these_files_and_not_those(
    pattern: str, named: list[str], not_named: list[str]
) -> None:
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
    assert not matches("*" * (PATH_LIMITS.longest_glob + 1), "a")
    assert not matches("{" * 400, "a")


PIECES = st.sampled_from(
    [
        "a",
        "b",
        "ab",
        ".b",
        "-",
        "*",
        "?",
        "[ab]",
        "[!a]",
        "[^b]",
        "[a-c]",
        "[.]",
        "{a,b}",
        "{a,*.b}",
        "a{,c}",
    ]
)
SEGMENTS = st.one_of(st.just("**"), st.lists(PIECES, min_size=1, max_size=4).map("".join))
PATTERNS = (
    st.lists(SEGMENTS, min_size=1, max_size=5)
    .map("/".join)
    .filter(lambda text: text.count("{") <= 4)
)
NAMES = st.text("ab.-c", min_size=1, max_size=4).filter(lambda name: name.strip("."))
PATHS = st.lists(NAMES, min_size=1, max_size=5).map("/".join)


@given(PATTERNS, PATHS)
def test_it_means_what_a_well_kept_library_means(pattern: str, path: str) -> None:
    assert matches(pattern, path) == well_kept.globmatch(path, pattern, flags=FLAGS)


@given(st.text("ab*?[]!^-\\{},/.", max_size=30), PATHS)
def test_no_pattern_is_an_error(pattern: str, path: str) -> None:
    assert matches(pattern, path) in {True, False}
