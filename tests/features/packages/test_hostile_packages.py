"""Sources of packages that took time with the square of their length, or worse; see `test_growth`."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

SECONDS = 30


def read_hostile_sources() -> None:
    from ai_lessons.features.packages.installed import pages

    hostile = (
        f"x = {'(' * 200_000}", f"x = {'-' * 100_000}1", f"x: a{'.a' * 100_000} = 1", f"x = {'lambda: ' * 100_000}1",
        f"def f(a=1{'+1' * 100_000}): 'd'", "if a: pass\n" + "elif b: pass\n" * 50_000, "x = 1\n'd'\n" * 50_000,
        "0," * 3_000_000,
    )  # fmt: skip
    for text in hostile:
        with tempfile.TemporaryDirectory() as folder:
            site = Path(folder)
            for name, code in (("bad", text), ("good", "'''Good.'''\n")):
                (site / name).mkdir()
                (site / name / "__init__.py").write_text(code)
            files = [Path("bad/__init__.py"), Path("good/__init__.py")]
            assert list(pages(site, files)) == [("good", "# good\n\nGood.\n")]


def test_hostile_sources_are_read_in_time_with_their_length() -> None:
    done = subprocess.run([sys.executable, __file__], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    read_hostile_sources()
