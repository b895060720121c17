"""How fast events are folded, and whether what is learned is right: `python -m bench.learning [--plots FOLDER]`.

Speed is CPU time of this process, in one repository with the logs of ten clones. The simulation is of
`bench.synthetic_user`; plots need the dependency group `bench`.
"""

from __future__ import annotations

import random
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from ai_lessons.app import editing
from ai_lessons.app import entries as app_entries
from ai_lessons.app.answers import LessonDraft
from ai_lessons.app.workspace import Library
from ai_lessons.git.store import FOLDER, PART_BYTES
from ai_lessons.interfaces.cli.command import options
from ai_lessons.learning.statistics import Event, line_of
from ai_lessons.model.entries import ulid
from ai_lessons.settings import load
from bench import synthetic_user
from bench.harness import Bar, Outcome, arguments, machine, number, table, world

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bench.harness import World

CLONES = 10
ENTRIES = 5000
WORDS = ("injected", "injected", "injected", "injected", "helpful", "ignored", "contradicted", "script_ok")
START = 1_790_000_000_000
"""Milliseconds since 1970 of the first event."""

MONTH = slice(41, 48)
"""Where in a line of ours the month of its time stands."""

SESSIONS, RUNS = 1000, 10


def lines(count: int, clone: int, entries: Sequence[str]) -> list[bytes]:
    """The events of one clone, four a minute."""
    dice = random.Random(clone)
    found = []
    for n in range(count):
        now = START + 15_000 * n + dice.randrange(10_000)
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now / 1000))
        one = Event(ulid(now, dice.randbytes(10)), at, dice.choice(WORDS), dice.choice(entries), f"s{clone}-{n // 40}")
        found.append(line_of(one))
    return found


def write_logs(repo: Path, count: int, entries: Sequence[str]) -> int:
    """Logs of several clones with so many events in all; the number of bytes."""
    size = 0
    for clone in range(CLONES):
        folder = repo / FOLDER / f"clone{clone:04d}"
        folder.mkdir(parents=True)
        months: dict[str, list[bytes]] = {}
        for line in lines(count // CLONES, clone, entries):
            months.setdefault(line[MONTH].decode(), []).append(line)
        for month, several in months.items():
            each = PART_BYTES // len(several[0])
            for part in range(0, len(several), each):
                name = f"{month}.jsonl" if part == 0 else f"{month}.{part // each + 1}.jsonl"
                size += (folder / name).write_bytes(b"".join(several[part : part + each]))
    return size


def cpu(job: Callable[[], object]) -> float:
    """CPU seconds of one call."""
    start = time.process_time()
    job()
    return time.process_time() - start


def often(job: Callable[[], object], rounds: int) -> float:
    """Median CPU seconds."""
    return median(cpu(job) for _ in range(rounds))


def speed(home: World, outcome: Outcome, count: int, rounds: int) -> None:
    """Fold many events, then few more, and read with nothing new."""
    repo = home.folder / "events"
    home.ours(repo, "admin", "init", "--no-hooks")
    with Library(repo, options(load(home.env, repo=str(repo)))) as library:
        lesson = editing.add_lesson(library, LessonDraft("PUT replaces the whole resource", "Seen twice.")).id
        app_entries.show(library, lesson)
        without = often(lambda: app_entries.show(library, lesson), 5 * rounds)
    program_without = median(home.ours(repo, "recall", "show", lesson).cpu for _ in range(rounds))
    entries = [lesson, *(ulid(START - n, b"entry%05d" % n) for n in range(1, ENTRIES))]
    size = write_logs(repo, count, entries)
    with Library(repo, options(load(home.env, repo=str(repo)))) as library:
        rows, nothing_new = folding(library, lesson, rounds)
    program_with = median(home.ours(repo, "recall", "show", lesson).cpu for _ in range(rounds))
    rows += [
        ["show a lesson, no events (ms)", number(1000 * without)],
        ["show a lesson, nothing new (ms)", number(1000 * nothing_new)],
        ["program `recall show`, no events (ms)", number(1000 * program_without)],
        ["program `recall show`, nothing new (ms)", number(1000 * program_with)],
    ]
    cache = sum(file.stat().st_size for file in (repo / ".git/ai-lessons").glob("usage.sqlite*"))
    title = f"folding {count:,} events of {CLONES} clones ({size / 1e6:.0f} MB, cache {cache / 1e6:.0f} MB), CPU"
    print(table(title, ["what", "measured"], rows))
    first = float(rows[0][1])
    outcome.judge(Bar("first fold of 1,000,000 events", first * 1_000_000 / count, 5, "s CPU"))
    outcome.judge(Bar("nothing new, in an open library", 1000 * (nothing_new - without), 5, "ms more"))


def folding(library: Library, lesson: str, rounds: int) -> tuple[list[list[str]], float]:
    """First fold, one more event, nothing new."""
    app_entries.list_entries(library, limit=1)
    first = cpu(lambda: app_entries.show(library, lesson))
    usage = app_entries.show(library, lesson).usage
    assert usage is not None
    assert usage.tallies.injected  # capped: see `usage.OF_OTHERS`
    one_more = often(lambda: editing.feedback(library, lesson, "helpful"), rounds)
    nothing = often(lambda: app_entries.show(library, lesson), 5 * rounds)
    return [
        ["first fold (s)", number(first)],
        ["one more event, written and folded (ms)", number(1000 * one_more)],
    ], nothing


def simulation(outcome: Outcome, plots: Path | None) -> None:
    """Every made-up user, learning against the best fixed setting."""
    verdicts = [synthetic_user.judge(user, SESSIONS, RUNS) for user in synthetic_user.USERS]
    rows = []
    for one in verdicts:
        settings = [f"{one.values[name]:.3g} ({one.best[name]:.3g})" for name in synthetic_user.NAMES]
        worth = [f"{value:.2f}" for value in (one.best_worth, one.late_worth, one.shipped_worth)]
        rows.append([one.user.name, *settings, *worth, f"{one.regret:.1%}"])
        outcome.judge(Bar(f"regret, {one.user.name}", 100 * one.regret, 5, "%"))
    head = ["user", "budget (best)", "confidence (best)", "similarity (best)", "best", "learned", "shipped", "regret"]
    print(table(f"worth of a session, last third of {SESSIONS}, mean of {RUNS} runs", head, rows))
    if plots:
        print("drawn:", *synthetic_user.plot(verdicts, plots))


def main() -> None:
    """Run the parts that were asked for and judge their bars."""
    parser = arguments("How fast events are folded, and whether what is learned is right.")
    parser.add_argument("--only", choices=("speed", "simulation"), action="append", help="run this part")
    parser.add_argument("--events", type=int, default=1_000_000, help="how many events")
    parser.add_argument("--rounds", type=int, default=7, help="rounds of everything that takes less than a second")
    parser.add_argument("--plots", type=Path, metavar="FOLDER", help="draw the simulation into this folder")
    asked = parser.parse_args()
    outcome = Outcome()
    print(machine())
    parts = asked.only or ("speed", "simulation")
    if "speed" in parts:
        with world(asked.work) as home:
            speed(home, outcome, asked.events, asked.rounds)
    if "simulation" in parts:
        simulation(outcome, asked.plots)
    outcome.finish(check=asked.check)


if __name__ == "__main__":
    main()
