"""started_and_read.md lists every call of git, every program that is started, and every module that reads files itself.

Held against the source with nothing but `ast`: a call or a reader that has no row there, and so no stated protection,
fails, and so does a row without one.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src/ai_lessons"
PAGE = Path(__file__).with_name("started_and_read.md")
RUNNERS = {"run", "run_outside", "leave_running", "_run", "_git", "_demand"}
STARTS = {
    *(f"subprocess.{name}" for name in ("Popen", "run", "call", "check_call", "check_output", "getoutput")),
    *(f"programs.{name}" for name in ("run", "run_captured", "start", "leave_running")),
    *("os.system", "os.popen", "os.fork"),
}
READS = {"open", "os.open", "os.walk", "os.scandir", "os.readlink", "shutil.copyfile"}


@functools.cache
def modules() -> tuple[tuple[str, ast.Module], ...]:
    files = sorted(SOURCE.rglob("*.py"))
    return tuple((one.relative_to(SOURCE).as_posix().removesuffix(".py"), ast.parse(one.read_bytes())) for one in files)


def calls(tree: ast.Module) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def speaks_git(name: str, tree: ast.Module) -> bool:
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    return name == "repository/git" or any(
        node.module == "ai_lessons.git" and any(one.name == "git" for one in node.names) for node in imports
    )


def words(tree: ast.Module, argument: ast.expr) -> list[str]:
    """The constants in an argument; of a starred name, those that are assigned to it anywhere in the module."""
    if isinstance(argument, ast.Starred) and isinstance(argument.value, ast.Name):
        wanted = argument.value.id
        assigned = (node for node in ast.walk(tree) if isinstance(node, ast.Assign | ast.AnnAssign))
        return [
            word
            for node in assigned
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            if getattr(target, "id", None) == wanted and node.value is not None
            for word in words(tree, node.value)
        ]
    if isinstance(argument, ast.Starred):
        return words(tree, argument.value)
    if isinstance(argument, ast.Tuple):
        return [word for one in argument.elts for word in words(tree, one)]
    return [argument.value] if isinstance(argument, ast.Constant) and isinstance(argument.value, str) else []


def command_of(tree: ast.Module, call: ast.Call) -> str | None:
    rest = iter([word for one in call.args for word in words(tree, one)])
    for word in rest:
        if word == "-c":
            next(rest)
        elif re.fullmatch("[a-z][a-z-]+", word):
            return word
    return None


def called() -> set[tuple[str, str]]:
    found = set()
    for name, tree in modules():
        if speaks_git(name, tree):
            for call in calls(tree):
                if ast.unparse(call.func).rpartition(".")[2] in RUNNERS and (command := command_of(tree, call)):
                    found.add((command, name))
    return found


def readers() -> set[str]:
    return {name for name, tree in modules() if any(map(is_read, calls(tree)))}


def is_read(call: ast.Call) -> bool:
    said = ast.unparse(call.func)
    last = said.rpartition(".")[2]
    mode = call.args[0] if call.args else None
    opens = last == "open" and isinstance(mode, ast.Constant) and set(str(mode.value)) <= set("rwab+t")
    return said in READS or last in {"read_bytes", "read_text"} or opens


def starters() -> set[str]:
    return {name for name, tree in modules() if any(map(is_start, calls(tree)))}


def is_start(call: ast.Call) -> bool:
    said = ast.unparse(call.func)
    return said in STARTS or said.startswith(("os.exec", "os.spawn", "os.posix_spawn", "asyncio.create_subprocess"))


def rows(heading: str) -> list[list[str]]:
    """The cells of the table below a heading. A module is named, or its package with a slash behind it."""
    part = PAGE.read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2].partition("\n#")[0]
    lines = [line for line in part.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def names(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def place(module: str, told: set[str]) -> str:
    """As the table names a module: itself, or its package."""
    package = module.rpartition("/")[0] + "/"
    return package if package in told else module


def test_every_call_of_git_has_a_row_that_says_what_protects_it() -> None:
    calls_of = [one.partition(" in ") for first, _ in rows("Calls of git") for one in first.split("; ")]
    told = {command: set(names(where)) for first, _, where in calls_of for command in names(first)}
    found: dict[str, set[str]] = {}
    for command, module in called():
        found.setdefault(command, set()).add(place(module, told.get(command, set())))
    assert told == found


def test_every_program_that_is_started_has_a_row() -> None:
    assert {module for where, *_ in rows("Programs that are started") for module in names(where)} == starters()


def test_every_start_of_a_program_says_in_which_folder() -> None:
    starts = [(name, one) for name, tree in modules() for one in calls(tree) if is_start(one)]
    silent = {name for name, one in starts if all(given.arg != "cwd" for given in one.keywords)}
    assert not silent


def test_every_python_that_we_start_takes_no_module_from_where_it_stands() -> None:
    """The only other one is a trusted script: its shebang, or what its name ends with, says how to run it."""
    sequences = [n for _, tree in modules() for n in ast.walk(tree) if isinstance(n, ast.List | ast.Tuple)]
    commands = [[ast.unparse(word) for word in one.elts] for one in sequences]
    started = [words for words in commands if "sys.executable" in words]
    assert started
    assert {tuple(words[:2]) for words in started} == {("sys.executable", "'-P'")}
    named = {name for name, tree in modules() for n in ast.walk(tree) if isinstance(n, ast.Constant) and is_python(n)}
    assert named == {"repository/scripts"}


def is_python(node: ast.Constant) -> bool:
    return isinstance(node.value, str) and re.fullmatch(r"(\S*/)?python3( .*)?", node.value) is not None


def test_every_module_that_reads_files_itself_has_a_row() -> None:
    told = {module for where, *_ in rows("Files that are read") for module in names(where)}
    assert told == {place(module, told) for module in readers()}


@pytest.mark.parametrize("heading", ["Calls of git", "Programs that are started", "Files that are read"])
def test_every_row_says_what_protects(heading: str) -> None:
    assert rows(heading)
    assert all(cells[-1] for cells in rows(heading))


def test_dulwich_opens_the_accepted_repository_alone() -> None:
    found = {name for name, tree in modules() if calls_any(tree, "Repo", "Repo.discover")}
    assert found == {"repository/objects"}


def calls_any(tree: ast.Module, *functions: str) -> bool:
    return any(ast.unparse(one.func) in functions for one in calls(tree))
