"""The layers of docs/architecture.md and the rules of CONTRIBUTING.md, checked in the source: one test a rule."""

from __future__ import annotations

import ast
import functools
import gc
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ai_lessons import extensions
from ai_lessons.app import daemon_client
from ai_lessons.features import ROWS

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = "ai_lessons"
SOURCE = Path(__file__).parents[1] / "src" / PACKAGE

MAY_IMPORT = {
    "__init__": set[str](), "__main__": {"interfaces"}, "errors": set[str](), "extensions": set[str](),
    "settings": {"errors", "extensions", "model"},
    "model": {"errors", "extensions"}, "git": {"errors", "model"}, "search": {"errors", "extensions", "model"},
    "approval": {"errors", "model", "git"}, "connectors": {"errors", "model", "git"},
    "app": {"errors", "extensions", "model", "git", "search", "approval", "connectors"},
    "telling": {"errors", "extensions", "model", "git", "search", "approval", "app"},
    "interfaces": {"errors", "extensions", "model", "app", "telling", "settings"},
    "features": {
        "errors", "extensions", "model", "git", "search", "approval", "connectors", "app", "telling",
        "interfaces", "settings",
    },
}  # fmt: skip
"""Layer: the layers that it may import, besides itself."""

SERVER = {
    f"interfaces/mcp/{name}.py"
    for name in (
        "clients",
        "guidance",
        "over_http",
        "over_stdio",
        "server",
        "sessions",
        "skills",
        "tools",
    )
}
"""All that is loaded only by the server over MCP."""

HOMES = {
    "lancedb": {"search/connections.py", "search/table.py"}, "pyarrow": {"search/table.py"}, "fastembed": {"search/embedding.py"},
    "onnxruntime": {"search/embedding.py"}, "tokenizers": set[str](),
    "numpy": {"search/embedding.py", "search/index_query.py", "search/shared_vectors.py", "search/vector_packs.py"},
    "huggingface_hub": set[str](),
    "markdown_it": {"model/chunks.py", "features/look/drawing.py"}, "detect_secrets": {"app/secrets.py"},
    "griffe": {"features/packages/installed.py"}, "mcp": SERVER, "anyio": SERVER,
    "starlette": {"interfaces/mcp/over_http.py", "features/look/server.py"},
    "uvicorn": {"interfaces/mcp/over_http.py", "features/look/server.py"}, "jinja2": {"features/look/drawing.py"},
    "markupsafe": {"features/look/drawing.py"}, "nh3": {"features/look/drawing.py", "features/look/review_pages.py"},
    "packaging": {"connectors/manifests.py", "features/packages/installed.py"},
}  # fmt: skip
"""Slow package: the modules that may import it at their top."""

LAYERS = {
    "dulwich": {"git", "approval"}, "detect_secrets": {"app"}, "lancedb": {"search"}, "fastembed": {"search"},
    "click": {"interfaces", "features"}, "mcp": {"interfaces"},
}  # fmt: skip
"""Package: the only layers that may import it, at whatever place."""

PURE = {"model", "errors"}
WORLD = {
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
"""Files, processes, clock, environment and network: what a pure layer does not import."""

VAGUE = {
    *(
        "one",
        "said",
        "told",
        "known",
        "found",
        "wanted",
        "given",
        "others",
        "there",
        "mine",
        "more",
        "these",
        "both",
    ),
    *("rest", "some", "own"),
}
VAGUE_MODULES = {"utils", "helpers", "common", "base", "models", "misc"}

# what can be taken out is not counted
MODULES, MODULE_LINES, FUNCTION_LINES = 280, 700, 60

STARTS = {
    *(
        f"subprocess.{name}"
        for name in ("Popen", "run", "call", "check_call", "check_output", "getoutput")
    ),
    *(f"processes.{name}" for name in ("run", "run_captured", "start", "leave_running")),
    *("os.system", "os.popen", "os.fork"),
}
"""What starts a program, besides `os.exec…` and the like."""

FILES = {file.relative_to(SOURCE).as_posix(): file for file in sorted(SOURCE.rglob("*.py"))}
PACKAGES = {
    f"{PACKAGE}.{name.removesuffix('/__init__.py').replace('/', '.')}"
    for name in FILES
    if name.endswith("/__init__.py")
}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
WITH_STATEMENTS = (ast.stmt, ast.ExceptHandler, ast.match_case)
"""What may be, or hold, an import: no expression does."""


@functools.cache
def walked(name: str) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(parsed(name)))


@functools.cache
def trees() -> dict[str, ast.Module]:
    # looking for garbage among them takes three times as long as reading them
    gc.disable()
    try:
        return {
            name: ast.parse(file.read_text(encoding="utf-8"), name) for name, file in FILES.items()
        }
    finally:
        gc.freeze()
        gc.enable()


def parsed(name: str) -> ast.Module:
    return trees()[name]


def layer(name: str) -> str:
    return name.split("/", maxsplit=1)[0].removesuffix(".py")


def imports(tree: ast.AST, *, at_run_time: bool = False, at_import: bool = False) -> set[str]:
    """Dotted names that are imported. `at_run_time` leaves typing-only imports out, `at_import` those in functions."""
    names: set[str] = set()
    for node in ast.iter_child_nodes(tree):
        if not isinstance(node, WITH_STATEMENTS):
            continue
        typing_only = (
            isinstance(node, ast.If)
            and isinstance(node.test, ast.Name)
            and node.test.id == "TYPE_CHECKING"
        )
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif not ((at_run_time and typing_only) or (at_import and isinstance(node, FUNCTIONS))):
            names |= imports(node, at_run_time=at_run_time, at_import=at_import)
    return names


def lazy_uses(name: str) -> set[str]:
    """What is used as `app.search` of a package that loads a module when it is named: an import that none shows."""
    loading = {used.rpartition(".")[2]: used for used in imports(parsed(name)) if used in PACKAGES}
    uses = set()
    for node in walked(name):
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id in loading
        ):
            uses.add(f"{loading[node.value.id]}.{node.attr}")
    return uses


def packages(names: set[str]) -> set[str]:
    return {name.split(".")[0] for name in names}


def nodes(kind: type[ast.AST]) -> Iterator[tuple[str, ast.AST]]:
    return ((name, node) for name in FILES for node in walked(name) if isinstance(node, kind))


def dotted(node: ast.expr) -> str:
    """As `ast.unparse` has it, which takes ten times as long for a name."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ast.unparse(node)


@functools.cache
def calls() -> list[tuple[str, str, ast.Call]]:
    """Modules, functions that they call, and the calls."""
    return [
        (name, dotted(node.func), node)
        for name, node in nodes(ast.Call)
        if isinstance(node, ast.Call)
    ]


def starts() -> list[tuple[str, ast.Call]]:
    ways = ("os.exec", "os.spawn", "os.posix_spawn", "asyncio.create_subprocess")
    return [
        (name, call)
        for name, function, call in calls()
        if function in STARTS or function.startswith(ways)
    ]


def circle(edges: dict[str, set[str]]) -> list[str]:
    """The modules that remain when those that import nothing that remains are taken away, again and again."""
    remaining = dict(edges)
    while free := [name for name, targets in remaining.items() if not targets & remaining.keys()]:
        for name in free:
            del remaining[name]
    return sorted(remaining)


def test_a_layer_imports_only_the_layers_below_it() -> None:
    assert {layer(name) for name in FILES} == set(MAY_IMPORT)
    for name in FILES:
        ours = {i.split(".")[1] for i in imports(parsed(name)) if i.startswith(PACKAGE + ".")} - {
            "submodules"
        }
        assert ours <= MAY_IMPORT[layer(name)] | {layer(name)}, name


def test_the_core_names_no_feature_and_a_feature_only_those_that_its_row_needs() -> None:
    """Their rows alone name them, in strings: what is not in a row can be taken out without a trace."""
    rows = {row.name: row for row in ROWS}
    folders = {
        name.split("/")[1] for name in FILES if name.startswith("features/") and name.count("/") > 1
    }
    assert set(rows) == folders
    for name in FILES:
        ours = {
            i
            for i in imports(parsed(name)) | lazy_uses(name)
            if i.startswith(f"{PACKAGE}.features")
        }
        own = name.split("/")[1] if layer(name) == "features" and name.count("/") > 1 else ""
        allowed = {own, *rows[own].needs} if own else set()
        assert {used.split(".")[2] for used in ours} <= allowed, name


def test_every_place_in_a_row_is_there() -> None:
    for row in ROWS:
        for place in places(row):
            assert extensions.load(row.place(place)) is not None, (row.name, place)


def test_every_job_that_the_helper_does_is_where_the_table_says() -> None:
    assert len(daemon_client.JOBS) > 5
    for name in daemon_client.JOBS:
        assert callable(daemon_client.job(name)), name


def places(row: extensions.Feature) -> set[str]:
    """The places that a row names."""
    texts = set()
    # what it asks is words
    for value in row._replace(asks={})[2:]:
        held = list(value.values()) if isinstance(value, Mapping) else [value]
        texts |= {text.removesuffix("[]") for text in held if isinstance(text, str) and ":" in text}
    of_rows = {added.place for added in row.commands} | {added.place for added in row.prompts}
    return texts | of_rows


def test_no_host_is_compared_by_name_but_in_its_own_module() -> None:
    """What differs between hosts is a field or a function of `model.agent_hosts.AgentHost`."""
    hosts = [(row.agent, extensions.load(row.place).id) for row in extensions.hosts()]
    names = {name for pair in hosts for name in pair}
    # that there are hosts is a test of theirs, because they can be taken out
    compared = set()
    for file, node in nodes(ast.Compare):
        if file.startswith("features/hosts/"):
            continue
        for part in ast.walk(node):
            if isinstance(part, ast.Constant) and part.value in names:
                compared.add((file, part.value))
    assert compared == set()


def test_no_modules_need_each_other_in_a_circle_not_for_types_nor_lazily() -> None:
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}) == ["a", "b", "c"]
    modules = {f"{PACKAGE}.{name.removesuffix('.py').replace('/', '.')}": name for name in FILES}
    edges: dict[str, set[str]] = {}
    for module, name in modules.items():
        names = imports(parsed(name)) | lazy_uses(name)
        edges[module] = ({*names, *(n.rpartition(".")[0] for n in names)} & modules.keys()) - {
            module
        }
    assert circle(edges) == []


def test_a_module_is_one_of_few_and_short() -> None:
    assert len([name for name in FILES if layer(name) != "features"]) <= MODULES
    for name, file in FILES.items():
        assert len(file.read_text(encoding="utf-8").splitlines()) <= MODULE_LINES, name


def test_a_function_is_short() -> None:
    for kind in FUNCTIONS:
        for name, node in nodes(kind):
            assert isinstance(node, FUNCTIONS)
            assert (node.end_lineno or 0) - node.lineno < FUNCTION_LINES, f"{name}: {node.name}"


def test_packages_are_imported_by_their_homes_alone() -> None:
    for name in FILES:
        at_import = packages(imports(parsed(name), at_run_time=True, at_import=True))
        assert not {p for p in at_import & HOMES.keys() if name not in HOMES[p]}, name
        at_run_time = packages(imports(parsed(name), at_run_time=True))
        assert not {p for p in at_run_time & LAYERS.keys() if layer(name) not in LAYERS[p]}, name
        assert not (layer(name) in PURE and at_run_time & WORLD), name


def test_no_module_keeps_state_or_reads_the_environment_for_a_job() -> None:
    assert [name for name, _ in nodes(ast.Global)] == []
    for name, node in nodes(ast.Attribute):
        if layer(name) == "app":
            assert isinstance(node, ast.Attribute)
            assert node.attr not in {"environ", "getenv"}, name


def test_a_name_says_what_it_names() -> None:
    """Keys of `--json`, which are fields of classes, are left out: they are public."""
    for name in FILES:
        assert Path(name).stem not in VAGUE_MODULES, name
        fields = {
            id(f.target)
            for c in walked(name)
            if isinstance(c, ast.ClassDef)
            for f in c.body
            if isinstance(f, ast.AnnAssign)
        }
        for node in walked(name):
            if (
                isinstance(node, ast.Name)
                and isinstance(node.ctx, ast.Store)
                and id(node) not in fields
            ):
                assert node.id not in VAGUE, f"{name}, line {node.lineno}"
            elif isinstance(node, ast.arg):
                assert node.arg not in VAGUE, f"{name}, line {node.lineno}"
            elif isinstance(node, (*FUNCTIONS, ast.ClassDef)):
                assert node.name not in VAGUE, f"{name}, line {node.lineno}"


def test_everything_is_caught_only_in_an_interface() -> None:
    for name, node in nodes(ast.ExceptHandler):
        assert isinstance(node, ast.ExceptHandler)
        last = node.body[-1]
        raises_again = (
            isinstance(last, ast.Raise) and last.exc is None
        )  # tidies up, and hides nothing
        types = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
        broad = {ast.unparse(t) if t else "" for t in types} & {"", "Exception", "BaseException"}
        is_interface = layer(name) == "interfaces" or "click" in packages(imports(parsed(name)))
        assert raises_again or not broad or is_interface, f"{name}, line {node.lineno}"


def test_every_module_and_package_has_a_docstring() -> None:
    assert {file.parent for file in FILES.values()} == {
        f.parent for n, f in FILES.items() if n.endswith("__init__.py")
    }
    for name in FILES:
        assert ast.get_docstring(parsed(name)), name


def test_a_module_compiles_an_expression_when_it_is_first_used() -> None:
    """A command does not pay for the expressions of others: `model.expression` stands in place of `re.compile`."""
    for name in FILES:
        assigned = (
            statement
            for statement in parsed(name).body
            if isinstance(statement, ast.Assign | ast.AnnAssign)
        )
        assert [row for row in map(ast.unparse, assigned) if "re.compile(" in row] == [], name


def test_every_start_of_a_program_says_in_which_folder() -> None:
    assert starts()
    assert {
        name for name, call in starts() if all(given.arg != "cwd" for given in call.keywords)
    } == set()


def test_every_python_that_we_start_takes_no_module_from_where_it_stands() -> None:
    sequences = [node.elts for _, node in nodes(ast.AST) if isinstance(node, ast.List | ast.Tuple)]
    started = [
        words
        for words in sequences
        if "sys.executable" in {dotted(w) for w in words if isinstance(w, ast.Attribute)}
    ]
    assert started
    assert {tuple(map(ast.unparse, words[:2])) for words in started} == {("sys.executable", "'-P'")}


def test_git_is_started_and_its_repositories_are_opened_in_the_package_for_it() -> None:
    """Which protects every call in the same way; only where git's own answer is what protects is it asked directly."""
    with_git = {
        name
        for name, call in starts()
        for one in ast.walk(call)
        if isinstance(one, ast.Constant) and one.value == "git"
    }
    opened = {
        name
        for name, function, _ in calls()
        if function.startswith("Repo") and "dulwich" in FILES[name].read_text()
    }
    assert {layer(name) for name in with_git | opened} == {"git"}
