"""What a command costs before it reads and while it reads: `--help` and MCP against click, reading 10,000 entries."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from bench import corpora
from bench.harness import (
    Bar,
    Outcome,
    World,
    cpu,
    number,
    paired,
    peak,
    program,
    ratio,
    run,
    table,
    wall,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from bench.harness import Sample

HELP_BAR, SEARCH_BAR, HOOK_BAR, LIST_BAR, TOOLS_BAR = 1.3, 1.8, 1.8, 2.0, 12.0
READ_BAR = 6.0  # 150 ms where a bare click takes 25
ENTRIES = 10_000


def compared(title: str, samples: Mapping[str, list[Sample]]) -> dict[str, float]:
    """Print what each command cost; how many times the CPU of a bare click."""
    base = [s.cpu for s in samples['python -c "import click"']]
    shares = {name: ratio([s.cpu for s in runs], base) for name, runs in samples.items()}
    rows = [
        [name, ms(cpu(r)), ms(wall(r)), number(shares[name]), number(peak(r))]
        for name, r in samples.items()
    ]
    print(table(title, ["command", "CPU ms", "wall ms", "x click", "peak MB"], rows))
    return shares


def judge(outcome: Outcome, shares: Mapping[str, float], bars: Mapping[str, float]) -> None:
    """Judge these commands by their cost against a bare click."""
    for name, bar in bars.items():
        outcome.judge(Bar(f"{name} against a bare click, CPU", shares[name], bar, "x"))


def starting(home: World, outcome: Outcome, rounds: int) -> None:
    """`ai-lessons --help`, the MCP server until it has listed its tools, and the bare interpreter, against click."""
    client = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    }
    messages = (
        {"id": 1, "method": "initialize", "params": client},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
    )
    file = home.folder / "tools-list.jsonl"
    file.write_text(
        "".join(json.dumps({"jsonrpc": "2.0"} | message) + "\n" for message in messages)
    )
    server = [
        "sh",
        "-c",
        'exec "$@" < "$0"',
        str(file),
        *program("ai-lessons-mcp", "interfaces.mcp"),
    ]
    samples = paired(
        {
            'python -c "import click"': lambda: home.python("-c", "import click"),
            "ai-lessons --version": lambda: home.program("--version"),
            "ai-lessons --help": lambda: home.program("--help"),
            "ai-lessons-mcp to tools/list": lambda: run(server, home.folder, home.env),
        },
        rounds,
    )
    judge(outcome, compared("starting", samples), {
        "ai-lessons --version": HELP_BAR, "ai-lessons --help": HELP_BAR, "ai-lessons-mcp to tools/list": TOOLS_BAR,
    })  # fmt: skip


def warm(cold: World, outcome: Outcome, rounds: int) -> None:
    """A search and a hook that the helper answers, and a list, among a hundred entries, against a bare click."""
    home = replace(cold, env={**cold.env, "AI_LESSONS_WARM": "1"})
    repo = corpora.repository(home, 100)
    event = home.folder / "event.json"
    shown = {
        "hook_event_name": "PreToolUse",
        "session_id": "warm",
        "tool_name": "Bash",
        "cwd": str(home.folder),
    }
    event.write_text(json.dumps(shown | {"tool_input": {"command": "git status"}}))
    hook = ["sh", "-c", 'exec "$@" < "$0"', str(event), *program(), "admin", "agent-hook"]
    search = partial(home.ours, repo, "recall", "search", "a merge that went wrong")
    home.ours(repo, "admin", "reindex")
    search()
    while '"warm"' not in home.program("admin", "warm", "status", "--json").out:
        search()
    contestants: dict[str, Callable[[], Sample]] = {
        'python -c "import click"': partial(home.python, "-c", "import click"),
        "recall search": search,
        "admin agent-hook": lambda: run(
            hook, home.folder, {**home.env, "AI_LESSONS_REPO": str(repo)}
        ),
        "recall list": partial(home.ours, repo, "recall", "list"),
    }
    bars = {"recall search": SEARCH_BAR, "admin agent-hook": HOOK_BAR, "recall list": LIST_BAR}
    judge(outcome, compared("with the helper, 100 entries", paired(contestants, rounds)), bars)
    home.program("admin", "warm", "stop")


def reading(home: World, outcome: Outcome, rounds: int) -> None:
    """`recall list` and `recall show` as whole processes on 10,000 lessons, nothing changed since the last command."""
    repo = corpora.repository(home, ENTRIES)
    commands = {
        "recall list --limit 0": ["recall", "list", "--limit", "0"],
        "recall list": ["recall", "list"],
        "recall show ID": ["recall", "show", one_handle(home, repo)],
    }
    contestants = {name: partial(home.ours, repo, *argv) for name, argv in commands.items()}
    contestants['python -c "import click"'] = partial(home.python, "-c", "import click")
    shares = compared(f"reading at {ENTRIES:,} entries", paired(contestants, rounds))
    judge(outcome, shares, dict.fromkeys(commands, READ_BAR))


def sessions(home: World, outcome: Outcome, rounds: int) -> None:
    """`lesson load` and its kin as whole processes on 10,000 lessons with a pattern: every session begins with it."""
    repo = corpora.repository(home, ENTRIES, patterns=True)
    home.lesson(repo, "load")
    commands = {
        "lesson load": ["load"],
        "lesson load --scope S": ["load", "--scope", corpora.SCOPE],
        "lesson load --scope S --limit 0": ["load", "--scope", corpora.SCOPE, "--limit", "0"],
    }
    contestants = {name: partial(home.lesson, repo, *argv) for name, argv in commands.items()}
    contestants['python -c "import click"'] = partial(home.python, "-c", "import click")
    shares = compared(f"sessions at {ENTRIES:,} lessons", paired(contestants, rounds))
    judge(outcome, shares, dict.fromkeys(commands, READ_BAR))


def one_handle(home: World, repo: Path) -> str:
    """The handle of some entry, as the program itself gives it."""
    return str(
        json.loads(home.ours(repo, "--json", "recall", "list", "--limit", "1").out)[0]["handle"]
    )


def ms(seconds: float) -> str:
    return number(seconds * 1000)
