"""The worked example of CONTRIBUTING, "How to add a kind of entry", holds: it is applied to a copy and tested there."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
STEP = re.compile(
    r"^\d\. `(?P<file>[^`]+)`, (?:below `(?P<line>[^`]+)`|a new file):[^\n]*\n\n   ```python\n(?P<code>.*?)^   ```$",
    re.MULTILINE | re.DOTALL,
)
MOST_FILES = 8
"""Files that a new kind may touch, those named in words included."""


def section() -> str:
    return (ROOT / "CONTRIBUTING.md").read_text().partition("## How to add a kind of entry\n")[2].partition("\n## ")[0]


def test_the_example_of_a_new_kind_works_in_a_copy_of_the_source(tmp_path: Path) -> None:
    for name in ("src", "tests", "template-repo", "hooks"):
        # with what is compiled, which is half of the time, but not what another process is just writing
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("*.pyc.*"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    steps = list(STEP.finditer(section()))
    assert len(steps) == 5
    for step in steps:
        file = tmp_path / step["file"]
        new = "".join(f"{line[3:]}\n" for line in step["code"].splitlines())
        if not step["line"]:
            file.write_text(new)
            continue
        text, line = file.read_text(), f"{step['line']}\n"
        assert text.count(line) == 1, line
        file.write_text(text.replace(line, line + new))
    tests = ["tests/app/test_decisions.py", "tests/model/test_layout.py", "tests/interfaces/test_every_kind.py"]
    environ = os.environ | {"PYTHONPATH": str(tmp_path / "src")}
    # of the kinds that were there before, the other tests are enough
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests, "-k", "decision or letters"]
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_new_kind_touches_at_most_eight_files() -> None:
    named = re.findall(r"`([a-z.-]+/[^`]*)`", section().partition("1. ")[2].replace("tests/test_template.py", ""))
    assert 5 < len(set(named)) <= MOST_FILES
