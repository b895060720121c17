"""What an install takes: its size by package, and the time from nothing to the first answer, the model included.

    python -m bench.install

Needs the package index that pip is set up for. The time is that of a network and a machine; the size is not.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from importlib.metadata import Distribution, distributions
from pathlib import Path

from bench.harness import GIT_CONFIG, ROOT, machine, number, table

LARGEST = 10
QUESTION = "my merge commits are gone after a pull"


def megabytes(one: Distribution) -> float:
    """What the files of a package take, without what Python compiles by itself."""
    files = [
        Path(str(one.locate_file(file)))
        for file in one.files or ()
        if "__pycache__" not in str(file)
    ]
    return sum(file.stat().st_size for file in files if file.exists()) / 1e6


def main() -> None:
    """Build the wheel, install it into an empty environment, and ask it something."""
    print(machine())
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        environ = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("AI_LESSONS", "XDG_"))
        }
        (place / ".gitconfig").write_text(GIT_CONFIG, encoding="utf-8")
        environ |= {
            "HOME": folder,
            "PIP_CACHE_DIR": f"{folder}/pip",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        seconds: dict[str, float] = {}

        def step(name: str, *command: str) -> None:
            begun = time.perf_counter()
            subprocess.run(command, cwd=folder, env=environ, check=True, stdout=subprocess.DEVNULL)
            seconds[name] = time.perf_counter() - begun

        build = [
            sys.executable,
            "-m",
            "build",
            "--wheel",
            "--no-isolation",
            "--outdir",
            folder,
            str(ROOT),
        ]
        subprocess.run(build, check=True, stdout=subprocess.DEVNULL)
        (wheel,) = place.glob("*.whl")
        own = str(place / "venv/bin/ai-lessons")
        step("an empty environment", sys.executable, "-m", "venv", f"{folder}/venv")
        pip = (
            f"{folder}/venv/bin/python",
            "-m",
            "pip",
            "--quiet",
            "--disable-pip-version-check",
            "install",
        )
        step("install, with an empty cache of pip", *pip, "--no-compile", str(wheel))
        step("admin init --starters", own, "admin", "init", "--starters")
        step("the first search: model and index", own, "recall", "search", QUESTION)
        step("the next search", own, "recall", "search", QUESTION)

        site = next(place.glob("venv/lib/*/site-packages"))
        sizes = {one.name: megabytes(one) for one in distributions(path=[str(site)])}
        sizes = {name: size for name, size in sizes.items() if name not in {"pip", "setuptools"}}
        largest = sorted(sizes, key=lambda name: -sizes[name])[:LARGEST]
        rest = sum(size for name, size in sizes.items() if name not in largest)
        rows = [
            *([name, number(sizes[name])] for name in largest),
            [f"{len(sizes) - LARGEST} others", number(rest)],
        ]
        rows += [
            [f"all {len(sizes)}", number(sum(sizes.values()))],
            ["the wheel", number(wheel.stat().st_size / 1e6)],
        ]
        print(table("size", ["package", "MB"], rows))
        *times, again = ([name, number(value)] for name, value in seconds.items())
        answer = sum(list(seconds.values())[:-1])
        print(
            table(
                "from nothing to the first answer",
                ["step", "s"],
                [*times, ["together", number(answer)], again],
            )
        )


if __name__ == "__main__":
    main()
