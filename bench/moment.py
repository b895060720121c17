"""What hooks tell at the right moment, and how long that takes: `python -m bench.moment [--data FOLDER] [--check]`.

Failures: later failures of commands (`events.jsonl`), some of which a lesson of a first failure (`lessons.jsonl`) helps
with: share of what is told that is right, of what can be helped that is, and silence where nothing is stored. Latency:
every event of a session at 10,000 lessons, wall time of the whole process, with the helper that stays in memory and
without it.
"""

from __future__ import annotations

import json
import re
import time
from dataclasses import replace
from functools import partial
from statistics import median, quantiles
from typing import TYPE_CHECKING

from bench import hooking
from bench.harness import (
    Bar,
    Outcome,
    World,
    arguments,
    helper_state,
    machine,
    number,
    percentiles,
    provide_model,
    table,
    world,
)

if TYPE_CHECKING:
    from pathlib import Path

RIGHT_BAR, HELPED_BAR, WARM_BAR, COLD_BAR = 0.75, 0.65, 150.0, 400.0
TIMES = 20
FENCE = "```"
SAID = "Exit code 1\nfatal: A branch named 'topic' already exists."
EVENTS: dict[str, dict[str, object]] = {
    **hooking.EVENTS,
    "edit, with its text": {
        "tool_name": "Edit", "tool_input": {"file_path": "src/app.py", "new_string": "copy the file"}
    },
    "command failed": {
        "hook_event_name": "PostToolUseFailure", "tool_name": "Bash", "tool_input": {"command": "git branch topic"},
        "error": SAID,
    },
    "prompt": {"hook_event_name": "UserPromptSubmit", "prompt": "which tool copies a file over the network?"},
}  # fmt: skip


def rows(file: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def write_lessons(folder: Path, lessons: list[dict[str, str]]) -> None:
    """As somebody keeps them after the first time: what helps, and below it what failed and how."""
    folder.mkdir(parents=True)
    for one in lessons:
        title = json.dumps(f"{one['_id']}: {one['text'].replace('`', '')}"[:150])
        text = f"{one['text']}\n\n{FENCE}\n$ {one['command']}\n{one['output']}\n{FENCE}\n"
        (folder / f"{one['_id']}.md").write_text(
            f"---\nkind: lesson\ntitle: {title}\n---\n{text}", encoding="utf-8"
        )


def warm_up(home: World, repo: Path) -> None:
    """Let the helper start and answer once: its first question is one that nobody waits for."""
    home.ours(repo, "recall", "search", "a failure", "--type", "lesson")
    while not any(one["requests"] for one in helper_state(home)):
        time.sleep(0.1)
    home.ours(repo, "recall", "search", "another failure", "--type", "lesson")


def failures(home: World, data: Path, outcome: Outcome) -> None:
    """Who is helped, and who is told what does not help."""
    lessons, events = (
        rows(data / "failures" / "lessons.jsonl"),
        rows(data / "failures" / "events.jsonl"),
    )
    repo = home.folder / "failures"
    home.program("admin", "init", str(repo))
    write_lessons(repo / "global/lessons/2026-01", lessons)
    home.ours(repo, "admin", "reindex")
    found = []
    for name, place in (
        ("with the helper", home),
        ("without", replace(home, env={**home.env, "AI_LESSONS_WARM": "0"})),
    ):
        if place is home:
            warm_up(home, repo)
        told = right = helped = silent = 0
        for n, one in enumerate(events):
            failed: dict[str, object] = {
                "hook_event_name": "PostToolUseFailure",
                "tool_name": "Bash",
                "session_id": f"{name}-{n}",
            }
            about: dict[str, object] = {
                "tool_input": {"command": one["command"]},
                "error": f"Exit code 1\n{one['output']}",
            }
            text = hooking.hear(place, repo, failed | about)
            ids = [
                each["_id"] for each in lessons if re.search(rf"\b{re.escape(each['_id'])}: ", text)
            ]
            told += len(ids)
            right += one["lesson"] in ids
            helped += bool(one["lesson"]) and one["lesson"] in ids
            silent += not one["lesson"] and not ids
        known = sum(bool(one["lesson"]) for one in events)
        shares = [right / max(told, 1), helped / known, silent / (len(events) - known)]
        found.append([name, *map(number, shares)])
        outcome.judge(
            Bar(
                f"told at a failure that is right, {name}",
                shares[0],
                RIGHT_BAR,
                "share",
                at_least=True,
            )
        )
        outcome.judge(
            Bar(
                f"failures with a lesson that are helped, {name}",
                shares[1],
                HELPED_BAR,
                "share",
                at_least=True,
            )
        )
    print(
        table(
            f"{len(events)} failures, {len(lessons)} lessons",
            ["", "told right", "helped", "silent"],
            found,
        )
    )
    home.program("admin", "warm", "stop")


def latency(home: World, outcome: Outcome) -> None:
    """Every event, in sessions of their own."""
    repo = hooking.repository(home)
    home.ours(repo, "admin", "reindex")
    warm_up(home, repo)
    alone = replace(home, env={**home.env, "AI_LESSONS_WARM": "0"})
    click = [home.python("-c", "import click").wall for _ in range(TIMES)]
    found = [['python -c "import click"', *percentiles(click), *percentiles(click)]]
    for name, event in EVENTS.items():
        warm, cold = (
            [one.wall for one in map(partial(hooking.hook, place, repo), [event] * TIMES)]
            for place in (home, alone)
        )
        found.append([name, *percentiles(warm), *percentiles(cold)])
        outcome.judge(
            Bar(f"{name}, warm, wall p95", 1000 * quantiles(warm, n=20)[-1], WARM_BAR, "ms")
        )
        outcome.judge(
            Bar(f"{name}, without the helper, wall p50", 1000 * median(cold), COLD_BAR, "ms")
        )
    print(
        table(
            f"hooks, {hooking.ENTRIES:,} entries",
            ["event", "warm p50", "p95 ms", "alone p50", "p95 ms"],
            found,
        )
    )
    home.program("admin", "warm", "stop")


def main() -> None:
    parser = arguments(__doc__ or "")
    given, outcome = parser.parse_args(), Outcome()
    print(machine())
    with world(given.work) as cold:
        home = replace(cold, env={**cold.env, "AI_LESSONS_WARM": "1"})
        provide_model(home)
        if given.data:
            failures(home, given.data, outcome)
        latency(home, outcome)
    outcome.finish(check=given.check)


if __name__ == "__main__":
    main()
