"""Sessions made up, in the form of Claude Code, and what is drafted of them."""

from __future__ import annotations

from typing import Any

from ai_lessons.features.harvest.calls import happened
from ai_lessons.features.harvest.drafts import HarvestedLesson, drafts
from ai_lessons.features.harvest.statements import statements_of
from ai_lessons.model.transcripts import Transcript

Row = dict[str, Any]


FATAL = "fatal: The current branch till has no upstream branch."


class Session:
    """A session, as it goes on."""

    def __init__(self, name: str = "s1", day: str = "2026-11-20") -> None:
        self.transcript, self._line = Transcript(name, "/home/ann/shop", f"{name}.jsonl"), 0
        self._at = f"{day}T10:00:00Z"

    def row(self, role: str, content: object, **more: object) -> Session:
        self._line += 1
        message: Row = {
            "message": {"role": role, "content": content},
            "type": role,
            "timestamp": self._at,
        }
        self.transcript.take(self._line, message | more)
        return self

    def call(self, tool: str, given: Row, output: str, *, failed: bool = False) -> Session:
        self.row(
            "assistant", [{"type": "tool_use", "id": str(self._line), "name": tool, "input": given}]
        )
        ended: Row = {
            "type": "tool_result",
            "tool_use_id": str(self._line - 1),
            "content": output,
            "is_error": failed,
        }
        return self.row("user", [ended])

    def runs(self, command: str, output: str = "") -> Session:
        return self.call("Bash", {"command": command}, output, failed=bool(output))

    def edits(self, file: str, new: str = "x = 1", *, failed: str = "") -> Session:
        given = {"file_path": f"/home/ann/shop/{file}", "new_string": new}
        return self.call("Edit", given, failed, failed=bool(failed))

    def says(self, text: str, **more: object) -> Session:
        return self.row("user", text, **more)


def thrice(failed: str, output: str, worked: str) -> list[Session]:
    """Three sessions in which a command failed, and another one then worked."""
    return [Session(f"s{n}").runs(failed, output).runs(worked) for n in range(3)]


def proposed(*of: Session | Transcript) -> list[HarvestedLesson]:
    every = [one.transcript if isinstance(one, Session) else one for one in of]
    ended = [
        row
        for one in every
        for row in happened(one.closed().steps, one.session, "shop", one.host, one.file)
    ]
    return drafts(
        ended, [row for one in every for row in statements_of(one, "shop")], lambda _: False
    )


STATED = "No, let's use tox instead of make here, because make hides which test failed"
