"""The worked examples of CONTRIBUTING are true: added to a copy of the sources, they work and keep to the rules."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

TOP = Path(__file__).parents[1]
COPIED = (
    "src", "tests", ".ci", "bench", "docs", "template-repo", "hooks", "pyproject.toml", "changelog.d", "README.md",
)  # fmt: skip
STEP = re.compile(
    r"^\d\. `(?P<file>[^`]+)`, (?:below `(?P<line>[^`]+)`|a new file):[^\n]*\n\n   ```python\n(?P<code>.*?)^   ```$",
    re.MULTILINE | re.DOTALL,
)
FUTURE = "from __future__ import annotations\n"


def section(heading: str) -> str:
    return (
        (TOP / "CONTRIBUTING.md")
        .read_text("utf-8")
        .partition(f"## {heading}\n")[2]
        .partition("\n## ")[0]
    )


def add(file: Path, code: str) -> None:
    """Put the code where a person would: imports at the top, news below their heading, everything else at the end."""
    if not file.exists():
        file.write_text(code, encoding="utf-8")
        return
    text = file.read_text(encoding="utf-8")
    imports, _, body = (
        code.rpartition("\n\n\n") if code.startswith(("from ", "import ")) else ("", "", code)
    )
    file.write_text(
        text.replace(FUTURE, f"{FUTURE}\n{imports}\n", 1) + "\n\n" + body, encoding="utf-8"
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The sources once more, with what is compiled, but not what another process is just writing."""
    for name in COPIED:
        if (TOP / name).is_dir():
            shutil.copytree(TOP / name, tmp_path / name, ignore=shutil.ignore_patterns("*.pyc.*"))
        else:
            shutil.copy(TOP / name, tmp_path / name)
    return tmp_path


def run(copy: Path, *words: str) -> None:
    environ = os.environ | {
        "PYTHONPATH": os.pathsep.join(map(str, (copy / "src", copy / "tests", copy)))
    }
    done = subprocess.run(
        [sys.executable, *words], cwd=copy, env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def run_tests(copy: Path, which: str, *files: str) -> None:
    run(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files, "-k", which)


def test_the_command_of_the_example_works_and_keeps_to_the_rules(copy: Path) -> None:
    told = section("How to add a command")
    files = dict(re.findall(r"In `([^`]+)`:\n\n```\w+\n(.*?)^```", told, re.MULTILINE | re.DOTALL))
    assert 3 < len(files) <= 5
    for name, code in files.items():
        add(copy / name, code)
    python = [name for name in files if name.endswith(".py")]
    run(copy, "-m", "ruff", "check", "--fix", "--quiet", *python)
    run(copy, "-m", "ruff", "format", "--quiet", *python)
    run(copy, ".ci/reference.py")
    tests = (
        "tests/interfaces/test_random.py",
        "tests/interfaces/test_help.py",
        "tests/test_docs.py",
    )
    run_tests(copy, "random or current", *tests)


def follow(copy: Path, steps: Sequence[re.Match[str]]) -> None:
    """Put the code of each step where it says."""
    for step in steps:
        file = copy / step["file"]
        new = "".join(f"{line[3:]}\n" for line in step["code"].splitlines())
        if not step["line"]:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(new)
            continue
        text, line = file.read_text(), f"{step['line']}\n"
        assert text.count(line) == 1, line
        file.write_text(text.replace(line, line + new))


def test_the_feature_and_the_host_of_the_examples_work_and_keep_to_the_rules(copy: Path) -> None:
    feature = list(STEP.finditer(section("How to add a feature")))
    assert len(feature) == 6
    host = list(STEP.finditer(section("How to add an agent host")))
    # one file, one row and its test
    assert [bool(step["line"]) for step in host] == [True, False, False]
    follow(copy, feature + host)
    hosts = ["src/ai_lessons/features/hosts", "tests/features/hosts/test_pelican.py"]
    files = ["src/ai_lessons/features/deadlines", "tests/features/deadlines", *hosts]
    run(copy, "-m", "ruff", "check", "--quiet", *files)
    run(copy, "-m", "ruff", "format", "--check", "--quiet", *files)
    tests = ("tests/features/deadlines", hosts[-1], "tests/test_architecture.py")
    run_tests(copy, "due or host or feature or place or name", *tests)


def test_the_kind_of_the_example_works_and_touches_at_most_eight_files(copy: Path) -> None:
    told = section("How to add a kind of entry")
    named = re.findall(
        r"`([a-z.-]+/[^`]*)`", told.partition("1. ")[2].replace("tests/test_template.py", "")
    )
    assert 5 < len(set(named)) <= 8
    steps = list(STEP.finditer(told))
    assert len(steps) == 5
    follow(copy, steps)
    tests = (
        "tests/app/test_decisions.py",
        "tests/model/test_layout.py",
        "tests/interfaces/test_every_kind.py",
    )
    # of the kinds that were there before, the other tests are enough
    run_tests(copy, "decision or letters", *tests)
