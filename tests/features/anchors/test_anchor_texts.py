"""Anchors: how they are written, what of a file they mean, and when that has changed."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.features.anchors import anchors, definitions, fingerprints, parts, pins
from ai_lessons.features.anchors.anchors import parse
from ai_lessons.features.anchors.fingerprints import CodeVerdict

PYTHON = """
import os

LIMIT = 30  # seconds


class Cart:
    @property
    def empty(self):
        return not self.lines

    def total(self, lines):
        # the sum
        if lines:
            return sum(lines)
        return 0


try:
    import fast
except ImportError:
    def load(path):
        return open(path)
"""
TYPESCRIPT = """
// total(lines) { in a comment
export class Cart extends Base {
  total(lines: number[]) {
    const mark = "}";
    return lines.map((x) => x * 2);
  }
}
export const LIMIT = 30;
type Line = {
  price: number;
};
const load = async (path) => {
  return read(path); // Cart
};
"""
GO = """package shop

type Cart struct {
	lines []int
}

func (c *Cart) Total(a int) int {
	return a
}
func Load() {}
"""
RUST = """pub struct Cart<'a> { x: &'a str }
impl<'a> Cart<'a> {
    pub fn total(&self, c: char) -> i32 {
        let q = '{';
        1
    }
}
"""
RUBY = "class Cart\n  def total(lines)\n    lines.sum\n  end\nend\n"
C = "#include <x.h>\nstatic int total(int a,\n  int b)\n{\n  return other(a);\n}\nint x = total(1, 2);\n"
TOML = '[project]\nname = "shop"\nrequires-python = ">=3.11"\n\n[tool.ruff]\nline-length = 120\n'
YAML = "on: push\njobs:\n  test:\n    runs-on: ubuntu-latest  # fast\n"


@pytest.mark.parametrize(
    "text",
    [
        "src/cart.py", "src/shop/", "src/cart.py::Cart.total", 'pyproject.toml::requires-python=">=3.11"',
        "src/cart.py::LIMIT=30", "pypi/click<8.2", "npm/@scope/name>=2,<3",
    ],
)  # fmt: skip
def test_an_anchor_is_written_as_it_is_read_and_its_keys_give_it_back(text: str) -> None:
    anchor = parse(text)
    assert str(anchor) == text
    (again,) = anchors.anchors_of([anchor._replace(seen="3f9a1c2d", repository="shop").fields])
    assert (str(again), again.seen, again.repository) == (text, "3f9a1c2d", "shop")


@pytest.mark.parametrize(
    "text", ["", "../x.py", "/etc/passwd", "a\\b", "a.py::", "a.py::b c", "~/x", "a" * 301, "a//b"]
)
def test_what_leads_out_of_the_repository_or_names_nothing_is_no_anchor(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse(text)


@pytest.mark.parametrize(
    "about",
    [
        "src/x.py", ["src/x.py"], [{"code": "../x"}], [{"code": "pypi/click<8"}], [{"package": "src/x.py"}],
        [{"code": "a", "package": "pypi/b<1"}], [{"code": "a", "sine": "x"}], [{"code": 3}],
        [{"code": "a", "seen": 12345678}], [{"code": f"{n}.py"} for n in range(6)], [{1: 2}], [None],
        [{"command": "--force"}], [{"command": "a\nb"}], [{"command": "a", "code": "b"}],
    ],
)  # fmt: skip
def test_what_is_no_list_of_anchors_is_named_and_left_out(about: object) -> None:
    assert list(anchors.faults(about))
    assert len(anchors.anchors_of(about)) in {0, anchors.MOST}


ITEMS = st.dictionaries(
    st.sampled_from(["code", "package", "seen", "in", "x"]), st.none() | st.text(max_size=30)
)


@given(st.lists(ITEMS, max_size=7))
def test_whatever_stands_in_about_is_read(about: list[dict[str, str | None]]) -> None:
    stated = anchors.anchors_of(about)
    assert len(stated) == len(about) or list(anchors.faults(about))


@pytest.mark.parametrize(
    ("path", "text", "name", "lines", "value"),
    [
        ("a.py", PYTHON, "Cart.total", [(12, 16)], None), ("a.py", PYTHON, "Cart.empty", [(8, 10)], None),
        ("a.py", PYTHON, "LIMIT", [(4, 4)], "30"), ("a.py", PYTHON, "load", [(22, 23)], None),
        ("a.ts", TYPESCRIPT, "Cart.total", [(4, 7)], None), ("a.ts", TYPESCRIPT, "LIMIT", [(9, 9)], "30"),
        ("a.ts", TYPESCRIPT, "Line", [(10, 12)], None), ("a.ts", TYPESCRIPT, "load", [(13, 15)], None),
        ("a.go", GO, "Cart.Total", [(7, 9)], None), ("a.go", GO, "Load", [(10, 10)], None),
        ("a.rs", RUST, "Cart.total", [(3, 6)], None), ("a.rb", RUBY, "Cart.total", [(2, 4)], None),
        ("a.c", C, "total", [(2, 6)], None), ("p.toml", TOML, "requires-python", [(3, 3)], ">=3.11"),
        ("p.toml", TOML, "tool.ruff.line-length", [(6, 6)], "120"),
        ("p.json", json.dumps({"engines": {"node": ">=18"}}), "engines.node", [(1, 1)], ">=18"),
        ("ci.yml", YAML, "jobs.test.runs-on", [(4, 4)], "ubuntu-latest"),
    ],
)  # fmt: skip
def test_a_name_or_a_key_is_found_with_its_lines(
    path: str, text: str, name: str, lines: list[tuple[int, int]], value: str | None
) -> None:
    entry = definitions.definition(path, text, name)
    assert entry is not None
    assert (list(entry.lines), entry.value) == (lines, value)


@pytest.mark.parametrize(
    ("path", "text", "name"),
    [("a.py", PYTHON, "total"), ("a.py", PYTHON, "Cart.lines"), ("a.ts", TYPESCRIPT, "map"), ("a.c", C, "other"),
     ("p.toml", "[a]\nx = 1\n[b]\nx = 2\n", "x"), ("p.json", "{", "x"), ("a.py", "x" * (definitions.LARGEST + 1), "x")],
)  # fmt: skip
def test_what_is_only_used_or_is_there_twice_is_not_found(path: str, text: str, name: str) -> None:
    assert definitions.definition(path, text, name) is None


@pytest.mark.parametrize(
    ("path", "before", "after", "same"),
    [
        ("a.py", "def f(a):\n    if a:\n        b()\n", "def f( a ):\n  # why\n\n  if a:  # so\n    b()\n", True),
        ("a.py", "def f(a):\n    return 'x', a\n", 'def f(\n  a,\n):\n  return (\n    "x",\n    a,\n  )\n', True),
        ("a.py", "def f():\n if a:\n  b()\n  c()\n", "def f():\n if a:\n  b()\n c()\n", False),
        ("a.py", "f = '# no comment'\n", "f = '# other'\n", False),
        ("a.py", 'def f():\n    """Old."""\n    return 1\n', 'def f():\n    """New."""\n    return 1\n', True),
        ("a.ts", "function f() { return 1 }", "function f() {\n  // why\n  return 1\n}", True),
        ("a.ts", 'const f = "http://x"', 'const f = "http://y"', False),
        ("a.sql", "create table f (a int) -- x", "create table f (a int)", True),
    ],
)  # fmt: skip
def test_comments_and_blanks_change_no_fingerprint_and_code_does(
    path: str, before: str, after: str, same: bool
) -> None:
    old, new = (fingerprints.state(path, text, "f") for text in (before, after))
    assert old
    assert new
    assert (old[:2] == new[:2]) is same


def test_an_anchor_may_be_a_docstring_and_one_of_before_still_holds() -> None:
    old, new = (f'class A:\n    def f(self):\n        """{word}."""\n' for word in ("Old", "New"))
    doc = fingerprints.state("a.py", old, "A.f.__doc__")
    assert doc
    assert doc != fingerprints.state("a.py", new, "A.f.__doc__")
    whole = fingerprints.state("a.py", old, "A.f")
    assert whole
    stated = anchors.Anchor("a.py", "A.f", seen=whole.documented)  # as version 0.1 wrote it
    assert fingerprints.verdict_on(stated, whole) is CodeVerdict.HOLDS


@pytest.mark.parametrize(
    ("text", "old", "new", "value", "stated"),
    [
        ("The rate is 0.19.", "0.19", "0.21", True, ["0.19"]),
        ("It takes 1,000 rows.", "1000", "2000", True, ["1000"]),
        ("Needs Python 3.11.", ">=3.11", ">=3.12", True, ["3.11"]),
        ("It was 0.19, and is 0.21 now.", "0.19", "0.21", True, []),
        ("Read it from there.", "0.21", "0.2", True, []),
        ("Sessions are kept in postgres.", "postgres", "mysql", True, ["postgres"]),
        ("Round with `round`, not each item.", "round(item, 2)", "ceil(line, 2)", False, ["round"]),
    ],
)
def test_a_text_that_states_the_old_code_is_seen(
    text: str, old: str, new: str, value: bool, stated: list[str]
) -> None:
    assert fingerprints.still_stated(text, old, new, value=value) == stated


def test_a_method_has_the_same_fingerprint_at_any_depth() -> None:
    method, function = (
        "class A:\n    def f(self):\n        return 1\n",
        "def f(self):\n  return 1\n",
    )
    assert fingerprints.state("a.py", method, "A.f") == fingerprints.state("a.py", function, "f")


def test_a_value_is_compared_as_people_write_it() -> None:
    for stated, held in (
        ('">=3.11"', '">=3.11"'),
        ("'30'", "30"),
        ("true", "True"),
        ("[1,2]", "[1, 2]"),
    ):
        now = fingerprints.State("", parts.plain(held))
        assert fingerprints.verdict_on(parse(f"a.py::X={stated}"), now) is CodeVerdict.HOLDS
    assert (
        fingerprints.verdict_on(parse("a.py::X=30"), fingerprints.State("", "31"))
        is CodeVerdict.CHANGED
    )


@pytest.mark.parametrize(
    ("versions", "used", "within"),
    [("<8.2", "@8.1.7", True), ("<8.2", "@8.2.0", False), (">=2,<3", "@2.9", True), ("^8.1", "@9.0", False),
     ("<8.2", ">=8 <9", True), ("<8.2", ">=8.3", False), ("<8.2", "workspace", True)],
)  # fmt: skip
def test_a_version_in_use_is_in_the_range_or_not(versions: str, used: str, within: bool) -> None:
    assert pins.in_range(versions, used) is within
