"""Take each feature out of a copy of the tree: its folder, its tests and its row; what is left must pass.

`python -m bench.delete_features [NAME]… [--all] [--tests PATH]…` copies what git knows, deletes a feature (`--all`:
all of them from one copy), and runs `ai-lessons --help`, mypy and tests of the core (all of them, unless `--tests`
names some). Tests that describe the program as a whole (its pages, its wheel) are left out: they would have to be
written again, as would the pages.
"""

from __future__ import annotations

import argparse
import ast
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from ai_lessons import extensions

ROOT = Path(__file__).resolve().parents[1]
ROWS = Path("src/ai_lessons/features/__init__.py")
OF_THE_WHOLE = (
    "tests/features",
    "tests/test_contributing.py",
    "tests/test_docs.py",
    "tests/test_first_hour.py",
    "tests/test_manifests.py",
    "tests/test_packaging.py",
    "tests/test_release.py",
)
"""Tests of features, and tests of pages and packages that speak of every feature."""


class Outcome(NamedTuple):
    """What was taken away, and what became of the rest: an empty string where it passed, else why not."""

    feature: str
    files: int
    lines: int
    help: str
    types: str
    tests: str
    passed: str


def copied(target: Path) -> None:
    """What git knows and what is new beside it, as it stands in the work tree."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        source = ROOT / name
        if source.is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target / name)


def take_out(tree: Path, feature: str) -> tuple[int, int]:
    """Delete the folder, the tests, what measures it, the row, and lines of `pyproject.toml` that name it.

    So with every feature that needs it. Returns how many files and lines.
    """
    files = lines = 0
    for row in extensions.rows():
        if feature in row.needs and (tree / "src/ai_lessons/features" / row.name).exists():
            more_files, more_lines = take_out(tree, row.name)
            files, lines = files + more_files, lines + more_lines
    for folder in (tree / "src/ai_lessons/features" / feature, tree / "tests/features" / feature):
        for file in folder.rglob("*"):
            if file.is_file():
                files += 1
                lines += file.read_bytes().count(b"\n")
        shutil.rmtree(folder)
    for file in (tree / "bench").glob("*.py"):
        if f"ai_lessons.features.{feature}" in file.read_text():
            files += 1
            lines += file.read_bytes().count(b"\n")
            file.unlink()
    lines += without_row(tree / ROWS, feature)
    project = tree / "pyproject.toml"
    rows = project.read_text().splitlines(keepends=True)
    kept = [
        row
        for row in rows
        if f"features.{feature}." not in row and f"features/{feature}/" not in row
    ]
    project.write_text("".join(kept))
    return files, lines + len(rows) - len(kept)


def without_row(table: Path, feature: str) -> int:
    """Delete a row of the table; how many lines it had."""
    text = table.read_text()
    for call in ast.walk(ast.parse(text)):
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Name)
            and call.func.id == "Feature"
        ):
            name = call.args[0]
            if isinstance(name, ast.Constant) and name.value == feature:
                rows = text.splitlines(keepends=True)
                end = call.end_lineno or call.lineno
                del rows[call.lineno - 1 : end]
                table.write_text("".join(rows))
                return end - call.lineno + 1
    raise SystemExit(f"no row of {feature}")


def run(tree: Path, *words: str) -> tuple[str, str]:
    """Why a command failed, as the end of what it printed (empty: it did not), and its last line."""
    path = os.pathsep.join(map(str, (tree / "src", tree / "tests", tree)))
    environ = os.environ | {"PYTHONPATH": path, "MYPYPATH": ""}
    command = [sys.executable, *words]
    done = subprocess.run(
        command, cwd=tree, env=environ, capture_output=True, text=True, check=False
    )
    printed = (done.stdout + done.stderr).strip().splitlines() or [""]
    return ("\n".join(printed[-30:]) if done.returncode else ""), printed[-1]


def look(name: str, features: list[str], tests: list[str]) -> Outcome:
    """Take features out of a copy, and see whether the rest stands; `name` is how they are called."""
    with tempfile.TemporaryDirectory(prefix=f"without-{name}-") as folder:
        tree = Path(folder)
        copied(tree)
        files = lines = 0
        for feature in features:
            if (tree / "src/ai_lessons/features" / feature).exists():
                more_files, more_lines = take_out(tree, feature)
                files, lines = files + more_files, lines + more_lines
        left_out = [f"--ignore={path}" for path in OF_THE_WHOLE]
        help_failed, _ = run(tree, "-m", "ai_lessons", "--help")
        types_failed, _ = run(tree, "-m", "mypy")
        tests_failed, last = run(
            tree, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", *left_out, *tests
        )
        return Outcome(name, files, lines, help_failed, types_failed, tests_failed, last)


def main() -> int:
    """Print the table; 1 where something did not pass."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="features; each of all if none is named")
    parser.add_argument("--all", action="store_true", help="take all out of one copy")
    parser.add_argument(
        "--tests", action="append", help="tests of the core to run; all if none are named"
    )
    given = parser.parse_args()
    failed = False
    print(f"{'feature':16} {'files':>5} {'lines':>6}  help   types  tests")
    names = given.names or [row.name for row in extensions.rows()]
    copies = {"all": names} if given.all else {name: [name] for name in names}
    for name, features in copies.items():
        outcome = look(name, features, given.tests or ["tests"])
        verdicts = ""
        for why in (outcome.help, outcome.types, outcome.tests):
            verdicts += f"{'fails' if why else 'ok':7}"
        print(f"{name:16} {outcome.files:5} {outcome.lines:6}  {verdicts}{outcome.passed}")
        for why in (outcome.help, outcome.types, outcome.tests):
            if why:
                print(why)
                failed = True
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
