"""An agent host that is played: recorded events (`agent_events/`), some into a process of their own."""

import json
import subprocess
from contextlib import suppress
from pathlib import Path

from interfaces.world import environment, run_inside
from real_world import put_file

EVENTS = Path(__file__).parent / "agent_events"
COMMAND = "ai-lessons admin agent-hook"

LESSON = """---
id: {id}
kind: lesson
title: {title}
confidence: high
source: tested
status: active
created: 2026-11-21T20:14:00Z
{more}---
{body}
"""


class Host:
    """Plays the agent host: a code repository, and a program `ai-lessons` on its path."""

    def __init__(self, code: Path, programs: Path) -> None:
        self.code, self.programs = code, programs

    def event(self, name: str, **changes: object) -> str:
        text = (
            (EVENTS / f"{name}.json")
            .read_text()
            .replace("CODE", str(self.code))
            .replace("HOME", str(self.code))
        )
        return json.dumps(json.loads(text) | changes)

    def start(
        self, event: str | bytes, command: str = COMMAND, **env: str
    ) -> subprocess.Popen[bytes]:
        path = f"{self.programs}:/usr/bin:/bin"
        child = subprocess.Popen(
            ["sh", "-c", command], cwd=self.code, env=environment(PATH=path, **env),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert child.stdin
        with suppress(BrokenPipeError):  # a program that does not read may be gone already
            child.stdin.write(event if isinstance(event, bytes) else event.encode())
            child.stdin.close()
        child.stdin = None
        return child

    def end(self, child: subprocess.Popen[bytes]) -> str:
        out, err = child.communicate(timeout=120)
        assert (child.returncode, err) == (0, b"")
        return out.decode()

    def hear(self, name: str, **changes: object) -> str:
        """The context that the agent is given at this event, or nothing; asked in this process."""
        done = run_inside(["admin", "agent-hook"], self.code, self.event(name, **changes))
        assert (done.code, done.err) == (0, "")
        return context(done.out)


def context(out: str) -> str:
    if not out:
        return ""
    answer = json.loads(out)
    assert set(answer) == {"hookSpecificOutput"}
    assert set(answer["hookSpecificOutput"]) == {"hookEventName", "additionalContext"}
    text: str = answer["hookSpecificOutput"]["additionalContext"]
    return text


def add(
    knowledge: Path, path: str, tail: str, title: str, more: str = "", body: str = "Seen."
) -> None:
    text = LESSON.format(id=f"01JD3Z8QK5W7M2X9V4T6{tail}", title=title, more=more, body=body)
    put_file(knowledge / path, text)
