"""The worked example of CONTRIBUTING is true: added to a copy of the sources, it works and keeps to the rules."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[1]
COPIED = (
    "src", "tests", ".ci", "bench", "docs", "template-repo", "hooks", "pyproject.toml", "changelog.d", "README.md",
)  # fmt: skip
MOST_FILES = 5
FUTURE = "from __future__ import annotations\n"


def example(heading: str) -> dict[str, str]:
    """By file, the code that a section of CONTRIBUTING tells to add."""
    text = (TOP / "CONTRIBUTING.md").read_text(encoding="utf-8").partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return dict(re.findall(r"In `([^`]+)`:\n\n```\w+\n(.*?)^```", text, re.MULTILINE | re.DOTALL))


def add(file: Path, code: str) -> None:
    """Put the code where a person would: imports at the top, news below their heading, everything else at the end."""
    if not file.exists():
        file.write_text(code, encoding="utf-8")
        return
    text = file.read_text(encoding="utf-8")
    imports, _, body = code.rpartition("\n\n\n") if code.startswith(("from ", "import ")) else ("", "", code)
    file.write_text(text.replace(FUTURE, f"{FUTURE}\n{imports}\n", 1) + "\n\n" + body, encoding="utf-8")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The sources once more, with the example."""
    for name in COPIED:
        if (TOP / name).is_dir():
            # with what is compiled, which is half of the time, but not what another process is just writing
            shutil.copytree(TOP / name, tmp_path / name, ignore=shutil.ignore_patterns("*.pyc.*"))
        else:
            shutil.copy(TOP / name, tmp_path / name)
    files = example("How to add a command")
    assert 3 < len(files) <= MOST_FILES
    for name, code in files.items():
        add(tmp_path / name, code)
    return tmp_path


def test_the_command_of_the_example_works_and_keeps_to_the_rules(copy: Path) -> None:
    def does(*words: str) -> None:
        environ = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (copy / "src", copy / "tests", copy)))}
        done = subprocess.run(
            [sys.executable, *words], cwd=copy, env=environ, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr

    python = [name for name in example("How to add a command") if name.endswith(".py")]
    does("-m", "ruff", "check", "--fix", "--quiet", *python)
    does("-m", "ruff", "format", "--quiet", *python)
    does(".ci/reference.py")
    files = ("tests/interfaces/test_random.py", "tests/interfaces/test_help.py", "tests/test_docs.py")
    does("-m", "pytest", "-q", "-p", "no:cacheprovider", *files, "-k", "random or current")
