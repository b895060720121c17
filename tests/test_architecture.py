"""The plan of the house, held against the source with nothing but `ast`: see docs/architecture.md."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

import pytest

from ai_lessons import app

PACKAGE = "ai_lessons"
LAZY = f"{PACKAGE}.library"
"""The package whose modules are loaded when they are first named as its attributes."""

SOURCE = Path(__file__).parents[1] / "src" / PACKAGE

MAY_IMPORT = {
    "__init__": set(),
    "__main__": {"doors"},
    "errors": set(),
    "settings": {"errors", "knowledge"},
    "knowledge": {"errors"},
    "repository": {"errors", "knowledge"},
    "index": {"errors", "knowledge"},
    "learning": {"errors", "knowledge"},
    "library": {"errors", "knowledge", "repository", "index", "learning"},
    "doors": {"errors", "knowledge", "library", "settings"},
}
"""Room: the rooms that it may import, besides itself."""

HOMES = {
    "lancedb": {"index/table.py"},
    "pyarrow": {"index/table.py"},
    "fastembed": {"index/embedding.py"},
    "onnxruntime": {"index/embedding.py"},
    "tokenizers": set(),
    "numpy": {"index/embedding.py", "index/query.py"},
    "huggingface_hub": {"index/model_files.py", "index/model_sources.py"},
    "markdown_it": {"knowledge/passages.py", "doors/look/pages.py"},
    "detect_secrets": {"library/secret_detectors.py"},
    "mcp": {f"doors/mcp/{name}.py" for name in ("http", "server", "tools")},
    "anyio": {f"doors/mcp/{name}.py" for name in ("http", "server", "session_pool", "tools")},
    "starlette": {"doors/mcp/http.py", "doors/look/server.py"},
    "uvicorn": {"doors/mcp/http.py", "doors/listening.py", "doors/look/server.py"},
    "jinja2": {"doors/look/pages.py"},
    "markupsafe": {"doors/look/pages.py"},
    "nh3": {"doors/look/pages.py"},
    "packaging": {"knowledge/manifests.py", "knowledge/versions.py"},
}
"""Slow package: the modules that may import it at their top. `type: ignore`d or typing-only imports count too."""

ROOMS_OF = {"dulwich": "repository", "click": "doors", "mcp": "doors", "lancedb": "index", "fastembed": "index"}
"""Package: the only room that may import it, at whatever place."""

NO_WORLD = {
    "os",
    "subprocess",
    "socket",
    "time",
    "pathlib",
    "shutil",
    "tempfile",
    "random",
    "sqlite3",
    "urllib",
    "http",
}
"""What the pure room does not import: files, processes, clock, environment, network."""

MODULE_LINES, FUNCTION_LINES = 900, 60

MODULES = sorted(SOURCE.rglob("*.py"))


def name_of(file: Path) -> str:
    return file.relative_to(SOURCE).as_posix()


def room(file: Path) -> str:
    return file.relative_to(SOURCE).parts[0].removesuffix(".py")


@functools.cache
def parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"), str(file))


def is_typing_only(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def is_function(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def imports(tree: ast.AST, *, at_run_time: bool = False, at_import: bool = False) -> set[str]:
    """Dotted names that are imported. `at_run_time` leaves typing-only ones out, `at_import` those in functions too."""
    found: set[str] = set()
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif not ((at_run_time and is_typing_only(node)) or (at_import and is_function(node))):
            found |= imports(node, at_run_time=at_run_time, at_import=at_import)
    return found


def lazily(tree: ast.AST) -> set[str]:
    """Dotted names of the modules of the library that are named as its attributes, and loaded by that."""
    if LAZY not in imports(tree):
        return set()
    found = {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and ast.unparse(n.value) == "library"}
    return {f"{LAZY}.{name}" for name in found}


def rooms(names: set[str]) -> set[str]:
    return {name.split(".")[1] for name in names if name.startswith(PACKAGE + ".")}


def packages(names: set[str]) -> set[str]:
    return {name.split(".")[0] for name in names}


@pytest.mark.parametrize("file", MODULES, ids=name_of)
class TestEveryModule:
    def test_imports_only_the_rooms_below_it(self, file: Path) -> None:
        assert room(file) in MAY_IMPORT, f"{room(file)} is no room of the plan"
        assert rooms(imports(parsed(file))) <= MAY_IMPORT[room(file)] | {room(file)}

    def test_leaves_slow_packages_to_their_home(self, file: Path) -> None:
        taken = packages(imports(parsed(file), at_run_time=True, at_import=True))
        assert not {package for package in taken & set(HOMES) if name_of(file) not in HOMES[package]}

    def test_leaves_packages_to_their_room(self, file: Path) -> None:
        taken = packages(imports(parsed(file)))
        assert not {package for package in taken & set(ROOMS_OF) if room(file) != ROOMS_OF[package]}

    def test_touches_no_world_if_it_is_pure(self, file: Path) -> None:
        if room(file) in {"knowledge", "learning", "errors"}:
            assert not packages(imports(parsed(file), at_run_time=True)) & NO_WORLD

    def test_reads_the_environment_only_where_settings_are_made(self, file: Path) -> None:
        if room(file) in {"knowledge", "learning", "library"}:
            reads = [
                n for n in ast.walk(parsed(file)) if isinstance(n, ast.Attribute) and n.attr in {"environ", "getenv"}
            ]
            assert reads == []

    def test_catches_everything_only_at_a_door(self, file: Path) -> None:
        broad = {"Exception", "BaseException"}
        handlers = [node for node in ast.walk(parsed(file)) if isinstance(node, ast.ExceptHandler)]
        # tidying up and raising again hides nothing
        caught = [h for h in handlers if not (isinstance(h.body[-1], ast.Raise) and h.body[-1].exc is None)]
        types = [h.type.elts if isinstance(h.type, ast.Tuple) else [h.type] for h in caught]
        everything = [t for group in types for t in group if t is None or (isinstance(t, ast.Name) and t.id in broad)]
        assert room(file) == "doors" or everything == []

    def test_is_short_and_so_are_its_functions(self, file: Path) -> None:
        lines = len(file.read_text(encoding="utf-8").splitlines())
        functions = [n for n in ast.walk(parsed(file)) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
        long = [f.name for f in functions if (f.end_lineno or 0) - f.lineno + 1 > FUNCTION_LINES]
        assert lines <= MODULE_LINES
        assert long == []

    def test_says_what_it_is(self, file: Path) -> None:
        assert file.name == "__init__.py" or ast.get_docstring(parsed(file))
        assert file.stem not in {"utils", "helpers", "common", "base", "models", "misc"}

    def test_keeps_no_state_of_its_own(self, file: Path) -> None:
        assert not [node for node in ast.walk(parsed(file)) if isinstance(node, ast.Global)]


def module(dotted: str, known: set[str]) -> str | None:
    """The module of ours that a dotted import names, itself or by something in it."""
    parts = dotted.split(".")
    return next((".".join(parts[:n]) for n in range(len(parts), 0, -1) if ".".join(parts[:n]) in known), None)


def graph() -> dict[str, set[str]]:
    """Which module imports which, be it when it is loaded or later, inside a function."""
    dotted = {
        ".".join((PACKAGE, *f.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__"): f for f in MODULES
    }
    return {
        name: {
            found
            for i in imports(parsed(file), at_run_time=True) | lazily(parsed(file))
            if (found := module(i, set(dotted)))
        }
        - {name}
        for name, file in dotted.items()
    }


def a_circle(edges: dict[str, set[str]]) -> list[str]:
    """The modules that remain when those that import nothing that remains are taken away, again and again."""
    left = {name: set(targets) for name, targets in edges.items()}
    while free := [name for name, targets in left.items() if not targets & left.keys()]:
        for name in free:
            del left[name]
    return sorted(left)


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert a_circle(graph()) == []


def test_every_module_in_the_table_of_the_library_is_there_and_named_somewhere() -> None:
    listed = {name for name in imports(parsed(SOURCE / "library/__init__.py")) if name.startswith(LAZY)}
    assert listed == set().union(*(lazily(parsed(file)) for file in MODULES))
    assert all(getattr(app, name.rpartition(".")[2]).__name__ == name for name in listed)


def test_the_library_has_no_circle_even_with_imports_for_types() -> None:
    files = {f"{LAZY}.{file.stem}": file for file in (SOURCE / "library").glob("*.py") if file.stem != "__init__"}
    edges = {
        name: {found for i in imports(parsed(file)) if (found := module(i, set(files)))} - {name}
        for name, file in files.items()
    }
    assert a_circle(edges) == []


def test_the_search_for_circles_finds_one() -> None:
    assert a_circle({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}) == ["a", "b", "c"]


def test_every_room_of_the_plan_exists() -> None:
    assert {room(file) for file in MODULES} == set(MAY_IMPORT)
