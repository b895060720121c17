"""Several MCP servers on one repository, each with an agent that writes and searches at the same time as the others.

`python -m bench.mcp_swarm [--servers N] [--rounds N] [--work FOLDER] [--check]`. In every round an agent records a
lesson with a word that nobody else uses, and searches for that word and for one it wrote earlier. A write is *lost* if
it is not in HEAD after `admin save`, a search is *blind* if it misses a lesson of its own agent, and *late* if it
misses one that another agent was told of before the search began. Reads /proc, so Linux only.
"""

from __future__ import annotations

import os
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bench import corpora
from bench.harness import Bar, Outcome, World, arguments, machine, number, provide_model, table, world
from bench.mcp import Agent, served

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

PATIENCE = 120.0
"""Seconds that the journal may take to empty after the last write."""


@dataclass(slots=True)
class Diary:
    """What one agent did; seconds."""

    paths: list[str] = field(default_factory=list)
    writes: list[float] = field(default_factory=list)
    searches: list[float] = field(default_factory=list)
    blind: list[str] = field(default_factory=list)
    late: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


class Told:
    """The words of all agents that were told their lesson is kept."""

    def __init__(self) -> None:
        self._words: list[tuple[str, str]] = []
        self._lock = threading.Lock()

    def add(self, word: str, title: str) -> None:
        """A lesson that an agent has been told is kept."""
        with self._lock:
            self._words.append((word, title))

    def any(self, dice: random.Random) -> tuple[str, str]:
        """Word and title of one of them."""
        with self._lock:
            return dice.choice(self._words)


def word(agent: int, n: int) -> str:
    """A word of letters that is in one lesson only."""
    return "zq" + "".join(chr(ord("a") + int(digit)) for digit in f"{agent:02}{n:04}") + "x"


def work(me: int, agent: Agent, rounds: int, told: Told) -> Diary:
    """One agent's rounds."""
    diary, dice = Diary(), random.Random(me)
    own: list[tuple[str, str]] = []
    for n in range(rounds):
        mark = word(me, n)
        title = f"{corpora.sentence(dice)} {mark}"
        begin = time.perf_counter()
        try:
            made = agent.call("add_lesson", title=title, content=corpora.sentence(dice), project=f"p{me}")
        except AssertionError as refused:
            diary.failed.append(str(refused)[:200])
            continue
        diary.writes.append(time.perf_counter() - begin)
        diary.paths.append(made["path"])
        own.append((mark, title))
        told.add(mark, title)
        for wanted, misses in ((own[-1], diary.blind), (dice.choice(own), diary.blind), (told.any(dice), diary.late)):
            begin = time.perf_counter()
            found = agent.call("search", query=wanted[0])
            diary.searches.append(time.perf_counter() - begin)
            if wanted[1] not in {lesson["title"] for lesson in found["lessons"]}:
                misses.append(wanted[1])
    return diary


def settle(home: World, repo: Path) -> tuple[set[str], list[str], float]:
    """`admin save` until nothing waits; what HEAD holds then, what git says of it, and how long it took."""
    begin = time.monotonic()
    while True:
        home.ours(repo, "admin", "save", expect=None)
        waiting = home.git(repo, "status", "--porcelain", "--untracked-files=all").out.strip()
        if not waiting or time.monotonic() - begin > PATIENCE:
            break
        time.sleep(0.2)
    kept = set(home.git(repo, "ls-tree", "-r", "--name-only", "HEAD").out.splitlines())
    said = home.git(repo, "fsck", "--strict", "--no-dangling")
    return kept, [one for one in (said.out + said.err).splitlines() if one], time.monotonic() - begin


def rank(values: Sequence[float], share: float) -> float | None:
    """The value below which this share of them lies, milliseconds."""
    ordered = sorted(values)
    return 1000 * ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else None


def main() -> None:
    """Run it, print the figures and judge the bars."""
    parser = arguments("Agents with an MCP server each, all at work on one repository.")
    parser.add_argument("--servers", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=25, help="lessons of each agent; three searches go with each")
    parser.add_argument("--entries", type=int, default=1000, help="lessons that are there before")
    asked = parser.parse_args()
    outcome = Outcome()
    print(machine())
    with world(asked.work) as home:
        provide_model(home)
        repo = corpora.repository(home, asked.entries)
        home.ours(repo, "admin", "reindex")
        told = Told()
        with ExitStack() as running:
            agents = [running.enter_context(served(home, repo)) for _ in range(asked.servers)]
            for agent in agents:
                agent.greet()
            begin = time.perf_counter()
            with ThreadPoolExecutor(asked.servers) as threads:
                jobs = [threads.submit(work, n, agent, asked.rounds, told) for n, agent in enumerate(agents)]
                diaries = [job.result() for job in jobs]
            took = time.perf_counter() - begin
            memory = [agent.memory for agent in agents]
        kept, said, settled = settle(home, repo)
    paths = [path for diary in diaries for path in diary.paths]
    lost = sorted(set(paths) - kept)
    blind, late, failed = ([one for d in diaries for one in getattr(d, what)] for what in ("blind", "late", "failed"))
    writes, searches = ([s for d in diaries for s in getattr(d, what)] for what in ("writes", "searches"))
    rows = [
        ["writes", f"{len(paths):,}"],
        ["of them lost", str(len(lost))],
        ["refused", str(len(failed))],
        ["searches", f"{len(searches):,}"],
        ["of them blind to a lesson of their own agent", str(len(blind))],
        ["of them blind to one that another agent was told of", str(len(late))],
        ["a write, ms: p50", number(rank(writes, 0.5))],
        ["a write, ms: p99", number(rank(writes, 0.99))],
        ["a search, ms: p50", number(rank(searches, 0.5))],
        ["a search, ms: p99", number(rank(searches, 0.99))],
        ["memory of a server at the end, MB: largest", number(max(memory))],
        ["all rounds, s", number(took)],
        ["until all is committed, s", number(settled)],
        ["git fsck --strict, lines", str(len(said))],
    ]
    print(table(f"{asked.servers} MCP servers, {asked.rounds} rounds each", ["what", ""], rows))
    for kind, lines in (("lost", lost), ("blind", blind), ("late", late), ("refused", failed), ("fsck", said)):
        for one in lines[:10]:
            print(f"{kind}: {one}")
    outcome.judge(Bar("writes that are lost or refused", len(lost) + len(failed), 0, ""))
    outcome.judge(Bar("searches that miss what was written before", len(blind) + len(late), 0, ""))
    outcome.judge(Bar("git fsck --strict, lines", len(said), 0, ""))
    print(f"load at the end: {os.getloadavg()[0]:.1f}")
    outcome.finish(check=asked.check)


if __name__ == "__main__":
    main()
