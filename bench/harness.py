"""How every bench measures: child processes by their CPU seconds, contestants in turn, medians of several rounds.

Absolute times belong to one machine on one day; what is compared here is compared inside one run. Nothing of
ours and no slow package is imported here, so that the measuring process stays small: Linux hands the peak
memory of a parent on to its children.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("click", "dulwich", "fastembed", "lancedb", "numpy", "onnxruntime", "pyarrow")

GIT_CONFIG = """\
[user]
\tname = Bench
\temail = bench@example.com
[init]
\tdefaultBranch = main
[gc]
\tauto = 0
[maintenance]
\tauto = false
"""


class ChildFailed(Exception):
    """A measured program left with another exit code than expected; carries what it printed."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One run of a child: seconds of wall, seconds of CPU (user and system, its own children included), peak MB."""

    wall: float
    cpu: float
    peak: float
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Bar:
    """A figure that must not be exceeded, or with `at_least` not be undercut; `measured` None where nothing was."""

    name: str
    measured: float | None
    limit: float
    unit: str
    at_least: bool = False

    @property
    def held(self) -> bool:
        """False also for what could not be measured: a bar nobody looked at is not held."""
        if self.measured is None:
            return False
        return self.measured >= self.limit if self.at_least else self.measured <= self.limit


@dataclass(slots=True)
class Outcome:
    """What a bench collects: tables to print at once, bars to judge at the end."""

    bars: list[Bar] = field(default_factory=list)

    def judge(self, bar: Bar) -> None:
        """Keep a bar for the verdict."""
        self.bars.append(bar)

    def finish(self, *, check: bool) -> NoReturn:
        """Print the verdict and leave: 1 with `check` when a bar is missed, otherwise 0."""
        rows = [
            [
                b.name,
                number(b.measured),
                (">= " if b.at_least else "<= ") + number(b.limit),
                b.unit,
                verdict(b),
            ]
            for b in self.bars
        ]
        print(table("bars", ["what", "measured", "bar", "unit", ""], rows))
        missed = [b.name for b in self.bars if not b.held]
        print(f"{len(self.bars) - len(missed)} of {len(self.bars)} bars held")
        sys.exit(1 if check and missed else 0)


def verdict(bar: Bar) -> str:
    if bar.measured is None:
        return "NOT MEASURED"
    return "ok" if bar.held else "MISSED"


def number(value: float | None) -> str:
    """Three significant digits, no exponent."""
    if value is None:
        return "-"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.3f}"


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """An aligned Markdown table: readable in a terminal, and ready to be pasted into docs/benchmarks.md."""
    columns = list(zip(head, *rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    words = [
        n == 0 or any(cell[:1].isalpha() for cell in column[1:]) for n, column in enumerate(columns)
    ]

    def line(cells: Sequence[str]) -> str:
        placed = [
            c.ljust(w) if word else c.rjust(w)
            for c, w, word in zip(cells, widths, words, strict=True)
        ]
        return "| " + " | ".join(placed) + " |"

    rule = "| " + " | ".join(
        "-" * w if word else "-" * (w - 1) + ":" for w, word in zip(widths, words, strict=True)
    )
    return "\n".join(["", f"### {title}", "", line(head), rule + " |", *map(line, rows), ""])


def machine() -> str:
    """The machine and the versions that the figures belong to, in two lines."""
    lines = [f"{cpu_model()}, {os.cpu_count()} cores, {platform.system()} {platform.release()}"]
    lines.append(
        f"Python {platform.python_version()}, {git_version()}, "
        + ", ".join(map(package_version, PACKAGES))
    )
    lines.append(f"load at the start: {os.getloadavg()[0]:.1f}")
    return "\n".join(lines)


def cpu_model() -> str:
    """The name that the kernel gives to the processor, where it says one."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def git_version() -> str:
    return subprocess.run(
        ["git", "--version"], capture_output=True, text=True, check=True
    ).stdout.strip()


def package_version(name: str) -> str:
    try:
        return f"{name} {version(name)}"
    except PackageNotFoundError:
        return f"{name} missing"


class Running:
    """A program that was started. Its output goes to files, so no pipe of ours makes it wait.

    A thread waits for its end, so that the time of it is right whatever the caller does meanwhile.
    """

    def __init__(self, argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> None:
        self.argv = list(argv)
        self._out, self._err = (tempfile.TemporaryFile() for _ in range(2))  # noqa: SIM115 - closed when it ends
        self._start = time.perf_counter()
        self._child = subprocess.Popen(
            self.argv,
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=self._out,
            stderr=self._err,
        )
        self._ended: Sample | None = None
        self._waiting = threading.Thread(target=self._reap, daemon=True)
        self._waiting.start()

    @property
    def age(self) -> float:
        """Seconds since it was started."""
        return time.perf_counter() - self._start

    def wait(self, expect: int | None = 0) -> Sample:
        """Wait for its end. Raises ChildFailed for an exit code other than `expect` (None: any will do)."""
        self._waiting.join()
        assert self._ended is not None
        code = self._child.returncode
        if expect is not None and code != expect:
            raise ChildFailed(
                f"{' '.join(self.argv)} -> {code}\n{self._ended.out[-2000:]}{self._ended.err[-4000:]}"
            )
        return self._ended

    def _reap(self) -> None:
        _, status, usage = os.wait4(self._child.pid, 0)
        wall = self.age
        self._child.returncode = os.waitstatus_to_exitcode(status)
        printed = []
        for file in (self._out, self._err):
            file.seek(0)
            printed.append(file.read().decode(errors="replace"))
            file.close()
        self._ended = Sample(
            wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, *printed
        )


def run(
    argv: Sequence[str], cwd: Path, env: Mapping[str, str], *, expect: int | None = 0
) -> Sample:
    """Run one program to its end. Raises ChildFailed for an exit code other than `expect` (None: any will do)."""
    return Running(argv, cwd, env).wait(expect)


def paired(contestants: Mapping[str, Callable[[], Sample]], rounds: int) -> dict[str, list[Sample]]:
    """Every contestant once a round, in turn, after one unmeasured round that warms the caches of the machine."""
    for contestant in contestants.values():
        contestant()
    samples: dict[str, list[Sample]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, contestant in contestants.items():
            samples[name].append(contestant())
    return samples


def cpu(samples: Sequence[Sample]) -> float:
    """Median CPU seconds."""
    return median(s.cpu for s in samples)


def wall(samples: Sequence[Sample]) -> float:
    """Median wall seconds."""
    return median(s.wall for s in samples)


def peak(samples: Sequence[Sample]) -> float:
    """Largest resident memory of any run, MB."""
    return max(s.peak for s in samples)


def ratio(ones: Sequence[float], others: Sequence[float]) -> float:
    """Median of the ratios of one round each: what the machine did meanwhile hit both alike."""
    return median(a / b for a, b in zip(ones, others, strict=True))


@dataclass(frozen=True, slots=True)
class World:
    """A home of its own for the programs that are measured; only the embedding model is the user's."""

    folder: Path
    env: Mapping[str, str]

    def python(self, *args: str, cwd: Path | None = None, expect: int | None = 0) -> Sample:
        """Run this Python."""
        return run([sys.executable, *args], cwd or self.folder, self.env, expect=expect)

    def git(self, cwd: Path, *args: str) -> Sample:
        """Run git."""
        return run(["git", *args], cwd, self.env)

    def program(self, *args: str, expect: int | None = 0) -> Sample:
        """Run `ai-lessons` as the installed program does."""
        return run([*program(), *args], self.folder, self.env, expect=expect)

    def lesson(self, repo: Path, *args: str) -> Sample:
        """Run `lesson --repo REPO …` as the installed program does."""
        return run(
            [*program("lesson", "features.lesson_program.program"), "--repo", str(repo), *args],
            self.folder,
            self.env,
        )

    def start(self, *args: str) -> Running:
        """Start `ai-lessons` and do not wait."""
        return Running([*program(), *args], self.folder, self.env)

    def ours(self, repo: Path, *args: str, expect: int | None = 0) -> Sample:
        """Run `ai-lessons --repo REPO …`."""
        return self.program("--repo", str(repo), *args, expect=expect)


def provide_model(home: World) -> Path:
    """The embedding model in the cache of this world, from the user's cache or, the first time, from its source."""
    from ai_lessons.settings import folders

    cache = str(folders(os.environ).cache)
    return Path(home.python("-m", "bench.inside", "model", cache).out.splitlines()[-1])


def forget_vectors(home: World) -> None:
    """Empty the embedding cache of this world, so that what was embedded in an earlier round is embedded again."""
    from ai_lessons.settings import folders

    for file in folders(home.env).cache.glob("vectors.sqlite*"):
        file.unlink()


def program(name: str = "ai-lessons", module: str = "__main__") -> list[str]:
    """The installed script beside this Python, or the same call from the source tree."""
    script = Path(sys.executable).with_name(name)
    if script.exists():
        return [str(script)]
    return [
        sys.executable,
        "-c",
        f"import sys; from ai_lessons.{module} import main; sys.exit(main())",
    ]


@contextmanager
def world(keep: Path | None = None) -> Iterator[World]:
    """A fresh world in a temporary folder, or one in `keep` that later runs may use again."""
    folder = Path(tempfile.mkdtemp(prefix="ai-lessons-bench-")) if keep is None else keep.resolve()
    home = folder / "home"
    home.mkdir(parents=True, exist_ok=True)
    (home / ".gitconfig").write_text(GIT_CONFIG, encoding="utf-8")
    env = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith(("GIT_", "AI_LESSONS_", "XDG_", "PYTHON"))
    }
    env |= {"AI_LESSONS_WARM": "0"}  # every command pays for itself
    env |= {
        "HOME": str(home),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "NO_COLOR": "1",
    }
    env |= {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    try:
        yield World(folder, env)
    finally:
        if keep is None:
            shutil.rmtree(folder, ignore_errors=True)


def arguments(description: str) -> argparse.ArgumentParser:
    """The options that all benches share."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "--data",
        type=lambda said: Path(said).resolve(),
        help="folder with the data sets (docs/benchmarks.md); else made up",
    )
    parser.add_argument(
        "--work", type=Path, help="keep repositories and caches here and use them again"
    )
    parser.add_argument("--check", action="store_true", help="exit 1 when a bar is missed")
    return parser


def helper_state(home: World) -> list[dict[str, object]]:
    """What the helper says of itself."""
    return list(json.loads(home.program("admin", "warm", "status", "--json").out))


def percentiles(walls: list[float]) -> list[str]:
    """Median and 95th percentile of seconds, in milliseconds."""
    return [f"{1000 * seconds:.1f}" for seconds in (median(walls), quantiles(walls, n=20)[-1])]
