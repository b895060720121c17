"""What the hooks of an agent host cost, called as the host does: through a shell, a new session each time."""

from __future__ import annotations

import json
import shlex
import subprocess
from functools import partial
from random import Random
from typing import TYPE_CHECKING

from bench import corpora
from bench.harness import Outcome, Sample, World, paired, program, run
from bench.starting import READ_BAR, compared, judge

if TYPE_CHECKING:
    from pathlib import Path

ENTRIES, WITH_GLOBS = 10_000, 500
PROGRAM = "tool-with-lessons"
EVENTS: dict[str, dict[str, object]] = {
    "session begins": {"hook_event_name": "SessionStart", "source": "startup"},
    "edit, nothing applies": {
        "tool_name": "Edit",
        "tool_input": {"file_path": "src/elsewhere.txt"},
    },
    "edit, entries apply": {"tool_name": "Edit", "tool_input": {"file_path": "src/app.py"}},
    "command, nothing known": {"tool_name": "Bash", "tool_input": {"command": "make all"}},
    "command, lessons known": {"tool_name": "Bash", "tool_input": {"command": f"{PROGRAM} --all"}},
    "command succeeded": {
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "make"},
    },
    "end of a turn": {"hook_event_name": "Stop"},
}


def hooking(home: World, outcome: Outcome, rounds: int) -> None:
    """Every event of a session; the bar is for what runs before a tool."""
    repo = repository(home)
    home.ours(repo, "recall", "list", "--limit", "1")
    contestants = {name: partial(hook, home, repo, event) for name, event in EVENTS.items()}
    contestants['python -c "import click"'] = partial(home.python, "-c", "import click")
    samples = paired(contestants, rounds)
    assert "additionalContext" in samples["edit, entries apply"][-1].out
    assert "additionalContext" in samples["command, lessons known"][-1].out
    shares = compared(f"hooks at {ENTRIES:,} entries", samples)
    judge(outcome, shares, dict.fromkeys(list(EVENTS)[1:5], READ_BAR))


def hook(home: World, repo: Path, event: dict[str, object]) -> Sample:
    """One call. `$$` is the shell's own number, so that every call is a session of its own."""
    cwd = str(home.folder / PROGRAM)  # the project of the lessons that name the command
    given = {"hook_event_name": "PreToolUse", "session_id": "$$", "cwd": cwd} | event
    text = json.dumps(given).replace("\\", "\\\\").replace('"', '\\"')
    ours = shlex.join([*program(), "admin", "agent-hook"])
    command = f"printf '%s' \"{text}\" | {ours} 2>/dev/null || true"
    return run(["sh", "-c", command], home.folder, {**home.env, "AI_LESSONS_REPO": str(repo)})


def hear(home: World, repo: Path, event: dict[str, object]) -> str:
    """What the agent is told at this event."""
    given = json.dumps({"cwd": str(home.folder)} | event)
    env = {**home.env, "AI_LESSONS_REPO": str(repo)}
    done = subprocess.run(
        [*program(), "admin", "agent-hook"],
        input=given,
        capture_output=True,
        text=True,
        env=env,
        check=True,
    )
    return (
        str(json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"])
        if done.stdout
        else ""
    )


def repository(home: World) -> Path:
    """10,000 lessons, of which 500 say what files they are about and 100 are about one program, and a rule in force."""
    root = home.folder / f"hooks-{ENTRIES}"
    if (root / ".git" / "index").exists():
        return root
    root.mkdir(parents=True, exist_ok=True)
    corpora.write_lessons(root, ENTRIES - WITH_GLOBS)
    dice = Random(corpora.SEED + 1)
    for n in range(WITH_GLOBS):
        path, text = corpora.lesson(dice)
        if n < 100:
            path = f"{PROGRAM}/{path.partition('/')[2]}"
        about = "src/*.py" if n % 50 == 0 else f"src/part-{n:03}/**/*.py"
        command = f"about:\n  - command: {PROGRAM}\n" if n < 100 else ""
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(
            text.replace(
                "from: ai\n", f"from: ai\n{command}applies_to:\n  - {json.dumps(about)}\n"
            ),
            encoding="utf-8",
        )
    (root / ".ai-lessons").mkdir()
    home.git(root, "init", "-q")
    home.git(root, "add", "-A")
    home.git(root, "commit", "-qm", "Lessons for a bench")
    rule = ["--title", "Read first", "--rationale", "It helps", "--applies-to", "src/*.py"]
    handle = json.loads(home.ours(root, "--json", "contribute", "suggest-rule", *rule).out)[
        "handle"
    ]
    home.ours(root, "admin", "approve-rule", handle, "--yes")
    return root
