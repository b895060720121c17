"""The page that people look at: its first page, and each keystroke of a search, with the helper.

`python -m bench.look [--work FOLDER] [--entries N] [--questions N] [--check]`. Embedding 10,000 entries takes minutes:
keep the work folder.
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from statistics import quantiles
from typing import TYPE_CHECKING
from urllib.parse import quote

from bench import corpora
from bench.harness import (
    Bar,
    Outcome,
    World,
    arguments,
    machine,
    percentiles,
    program,
    provide_model,
    table,
    world,
)
from bench.starting import ms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

ENTRIES, QUESTIONS, ROUNDS = 10_000, 20, 5
FIRST_BAR, KEY_BAR = 300.0, 60.0
PAGES = ("/", "/entry/{handle}", "/review", "/graph", "/sessions", "/health", "/learning", "/tiers")


@dataclass(frozen=True)
class Look:
    """A page that is served, by which process; `ready`: seconds until it printed its address."""

    address: str
    ready: float
    pid: int

    @property
    def base(self) -> str:
        """The address without the slash at its end."""
        return self.address.removesuffix("/")

    def get(self, path: str, **headers: str) -> tuple[str, float]:
        """A page, and the seconds that it took."""
        host, _, secret = self.base.removeprefix("http://").partition("/")
        begin = time.perf_counter()
        line = http.client.HTTPConnection(host, timeout=120)
        line.request("GET", f"/{secret}{path}", headers=headers)
        answer = line.getresponse()
        text = answer.read().decode()
        line.close()
        assert answer.status == 200, (path, text[-600:])
        return text, time.perf_counter() - begin


@contextmanager
def looking(home: World, repo: Path, env: Mapping[str, str] | None = None) -> Iterator[Look]:
    """The page of a repository, for as long as the block runs."""
    begin = time.perf_counter()
    command = [*program(), "--repo", str(repo), "look", "--no-browser"]
    child = subprocess.Popen(
        command, cwd=home.folder, env={**home.env, **(env or {})}, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout
    try:
        yield Look(child.stdout.readline().strip(), time.perf_counter() - begin, child.pid)
    finally:
        child.terminate()
        child.wait()
        child.stdout.close()


def keystrokes(look: Look, dice: Random, questions: int) -> list[float]:
    """How long the page takes to answer each letter of questions that are typed."""
    texts = [corpora.sentence(dice)[:40] for _ in range(questions)]
    typed = [quote(text[:end]) for text in texts for end in range(3, len(text) + 1)]
    return [look.get(f"/search?q={text}", **{"HX-Request": "true"})[1] for text in typed]


def cpu_of(*pids: int) -> float:
    """The seconds of CPU that these processes took so far."""
    stats = [
        Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        for pid in pids
    ]
    return sum(int(one[11]) + int(one[12]) for one in stats) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--entries", type=int, default=ENTRIES)
    parser.add_argument("--questions", type=int, default=QUESTIONS)
    given, outcome = parser.parse_args(), Outcome()
    print(machine())
    with world(given.work) as cold:
        home = replace(cold, env={**cold.env, "AI_LESSONS_WARM": "1"})
        provide_model(home)
        repo = corpora.repository(home, given.entries)
        home.ours(repo, "admin", "reindex")
        home.ours(repo, "recall", "search", "which tool copies a file")
        helper = int(json.loads(home.program("admin", "warm", "status", "--json").out)[0]["pid"])
        with looking(home, repo) as look:

            def measured(name: str, job: Callable[[], list[float]]) -> list[float]:
                before = cpu_of(look.pid, helper)
                walls = job()
                cpu = (cpu_of(look.pid, helper) - before) / len(walls)
                rows.append(
                    [
                        name,
                        ms(cpu),
                        *(percentiles(walls) if len(walls) > 1 else [ms(walls[0]), "-"]),
                    ]
                )
                return walls

            rows = [["until it listens", ms(cpu_of(look.pid)), ms(look.ready), "-"]]
            (first,) = measured("the first page, once it listens", lambda: [look.get("/")[1]])
            handle = look.get("/")[0].partition('href="./entry/')[2].partition('"')[0]
            for path in PAGES:
                place = path.format(handle=handle)
                measured(path, lambda: [look.get(place)[1] for _ in range(ROUNDS)])  # noqa: B023  # called at once
            walls = measured(
                "a keystroke of a search",
                lambda: keystrokes(look, Random(corpora.SEED), given.questions),
            )
        head = ["what", "CPU ms, with the helper", "wall p50 ms", "p95"]
        print(table(f"the page at {given.entries:,} entries, {len(walls)} keystrokes", head, rows))
        outcome.judge(Bar("first page", 1000 * first, FIRST_BAR, "ms"))
        outcome.judge(Bar("keystroke, p95", 1000 * quantiles(walls, n=20)[-1], KEY_BAR, "ms"))
        home.program("admin", "warm", "stop")
    outcome.finish(check=given.check)


if __name__ == "__main__":
    main()
