"""How the source starts programs: in a stated folder, Python without the modules that lie there, git in one place."""

import ast
import functools
import re
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src/ai_lessons"
STARTS = {
    *(f"subprocess.{name}" for name in ("Popen", "run", "call", "check_call", "check_output", "getoutput")),
    *(f"programs.{name}" for name in ("run", "run_captured", "start", "leave_running")),
    *("os.system", "os.popen", "os.fork"),
}


@functools.cache
def modules() -> dict[str, ast.Module]:
    return {str(file.relative_to(SOURCE)): ast.parse(file.read_bytes()) for file in sorted(SOURCE.rglob("*.py"))}


def dotted(node: ast.expr) -> str:
    """As `ast.unparse` has it, which takes ten times as long for a name."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ast.unparse(node)


@functools.cache
def calls() -> list[tuple[str, str, ast.Call]]:
    """Modules, functions that they call, and the calls."""
    nodes = ((name, node) for name, tree in modules().items() for node in ast.walk(tree) if isinstance(node, ast.Call))
    return [(name, dotted(node.func), node) for name, node in nodes]


def is_start(function: str) -> bool:
    return function in STARTS or function.startswith(
        ("os.exec", "os.spawn", "os.posix_spawn", "asyncio.create_subprocess")
    )


def test_every_start_of_a_program_says_in_which_folder() -> None:
    starts = [(name, call) for name, function, call in calls() if is_start(function)]
    assert starts
    assert {name for name, call in starts if all(given.arg != "cwd" for given in call.keywords)} == set()


def test_every_python_that_we_start_takes_no_module_from_where_it_stands() -> None:
    sequences = [
        node for tree in modules().values() for node in ast.walk(tree) if isinstance(node, ast.List | ast.Tuple)
    ]
    commands = [[ast.unparse(word) for word in one.elts] for one in sequences]
    started = [words for words in commands if "sys.executable" in words]
    assert started
    assert {tuple(words[:2]) for words in started} == {("sys.executable", "'-P'")}


def test_git_is_started_and_its_repositories_are_opened_in_the_package_for_it() -> None:
    """Which protects every call in the same way; only where git's own answer is what protects is it asked directly."""
    named = {
        name
        for name, function, call in calls()
        if is_start(function) and any(isinstance(one, ast.Constant) and one.value == "git" for one in ast.walk(call))
    }
    opened = {name for name, function, _ in calls() if function.startswith("Repo")}
    assert all(re.match(r"git/", name) for name in named | {name for name in opened if "dulwich" in texts(name)})


def texts(name: str) -> str:
    return (SOURCE / name).read_text(encoding="utf-8")
