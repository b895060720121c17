"""Transcripts of agent hosts as steps: what a session ran, edited and was told, in one form for all hosts."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ai_lessons import extensions
from ai_lessons.model import expression
from ai_lessons.model.edits import GONE, Edit
from ai_lessons.model.failures import OUTPUT_END, did_not_end, looks_failed
from ai_lessons.model.plain import is_ours
from ai_lessons.model.texts import printable
from ai_lessons.model.tool_calls import call_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    Json = Mapping[str, Any]


# as Claude Code writes it in the user's name
_INTERRUPTED = "[Request interrupted"
_NOT_SAID = (
    "<", _INTERRUPTED, "Caveat:", "# AGENTS.md", "Stop hook feedback",
    "This session is being continued from a previous", "Another language model started to solve this problem",
    "[Previous conversation summary]", "Operation stopped by hook",
)  # fmt: skip
_STAMP = expression(r"\d{4}-\d\d-\d\d(?:[T ][\d:.,Zz+-]{1,30})?", re.ASCII)
# What reading a record of a known form raises where it holds values of another.
_OTHER_VALUES = (
    TypeError,
    ValueError,
    AttributeError,
    LookupError,
    ArithmeticError,
    OSError,
    RecursionError,
)
_TAGS = expression(r"\A\s*<timestamp>.*?</timestamp>\s*|</?user_query>")


def _is_path(text: str) -> bool:
    # Characters
    return 0 < len(text) <= 4096 and text.isprintable()


class Step(NamedTuple):
    """What happened in a session.

    `said` by the user, a `command` that ended, or an `edit` of a file.

    `text` is what was said, the command line, or the file; `output` that of the command, or what
    the edit wrote. `failed` is None where nothing more is known of a call; `at` is in ISO 8601,
    `line` that of the transcript, `cwd` the folder that it was called in. A call that the user
    refused or interrupted is `stopped`, and a turn (no text).
    """

    sort: str
    text: str
    output: str = ""
    failed: bool | None = None
    line: int = 0
    at: str = ""
    cwd: str = ""


class Transcript:
    """One session as it is read, begun in `first_cwd`.

    `known` and `unknown` count records: forms change.
    """

    def __init__(self, session: str = "", cwd: str = "", file: str = "") -> None:
        """As the name and the place of its file say, until a record says more."""
        self.host, self.session, self.cwd, self.file = "", session, cwd, file
        self.first_cwd = cwd
        self.steps: list[Step] = []
        self._calls: dict[str, list[Step]] = {}
        # the host says of every tool that a script called what it did
        self.itemized = False
        self._line, self._at = 0, ""
        self.known = self.unknown = 0

    def take(self, line: int, record: object) -> None:
        """One record of the file, at this line; what is not known is counted and left."""
        self._line, is_known = line, False
        with suppress(*_OTHER_VALUES):
            is_known = isinstance(record, dict) and self._read(record)
        self.known += is_known
        self.unknown += not is_known

    def _read(self, record: Json) -> bool:
        for host in _hosts():
            if host.wrote(record):
                self.host = self.host or host.id
                self._happens(record.get("timestamp") or record.get("at"))
                return host.read(self, record)
        return False

    def _happens(self, stamp: Any) -> None:
        """Note the time of a record, if it is one."""
        if isinstance(stamp, int) and 0 < stamp < 1e13:
            # Milliseconds since 1970 that a year of four digits has
            stamp = datetime.fromtimestamp(stamp / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        if isinstance(stamp, str) and _STAMP.fullmatch(stamp):
            self._at = stamp

    def begins(self, session: Any, cwd: Any) -> None:
        """What a record says of the session that it belongs to."""
        if isinstance(session, str) and session:
            self.session = session
        if isinstance(cwd, str) and _is_path(cwd):
            self.cwd = cwd
        self.first_cwd = self.first_cwd or self.cwd

    def add_remark(self, text: str) -> None:
        """The user said something.

        What the host wraps in a tag, or writes in the user's name, is not the user's.
        """
        words = _TAGS.sub("", printable(text[:OUTPUT_END])).strip()
        if words.startswith(_INTERRUPTED):
            self.steps.append(Step("stopped", "", line=self._line, at=self._at))
        if words and not words.startswith(_NOT_SAID) and not is_ours(words):
            # A new turn: what the last one left open will not end any more
            self.closed()
            self.steps.append(Step("said", words, line=self._line, at=self._at))

    def add_call(self, call: Any, tool: Any, arguments: Any) -> None:
        """A tool was called; it is a step once it is known how it ended."""
        if isinstance(arguments, str):
            if arguments.lstrip().startswith("{"):
                arguments = json.loads(arguments)
            else:
                # Codex gives `apply_patch` the bare text
                arguments = {"patch": arguments}
        called = call_of(str(tool), arguments)
        step = Step(
            "command",
            printable(called.command[:OUTPUT_END]),
            line=self._line,
            at=self._at,
            cwd=self.cwd,
        )
        steps = self._edit_steps(step, called.edits)
        if called.command:
            # of a patch that a command line makes the host says the files, too
            steps = [step]
        if steps:
            self._calls[str(call)] = steps

    def _edit_steps(self, step: Step, edits: Iterable[Edit]) -> list[Step]:
        steps = []
        for edit in edits:
            if edit.how == GONE:
                # nothing was written that a rule could be about
                continue
            for path in dict.fromkeys((edit.was, edit.path)):
                if _is_path(path):
                    steps.append(step._replace(sort="edit", text=path, output=edit.new[:_KEPT]))
        return steps

    def end_call(
        self, call: Any, output: str, failed: bool | None, *, stopped: bool = False
    ) -> None:
        """A call ended so.

        An edit that failed changed nothing, and an output matters only where a command failed.

        `stopped`: its record says that the user refused or interrupted it; the output may say so,
        too.
        """
        stopped = stopped or (failed is not False and did_not_end(output))
        for step in self._calls.pop(str(call), ()):
            if stopped:
                self.steps.append(step._replace(sort="stopped", output=""))
                continue
            if step.sort == "edit" and failed:
                continue
            # the exit code of a pipe is that of its last command
            if failed is None or (not failed and "|" in step.text):
                failed = looks_failed(output)
            if step.sort == "edit" or failed is False:
                kept = ""
            else:
                kept = output[:_KEPT] + output[_KEPT:][-_KEPT:]
            self.steps.append(step._replace(output=step.output or kept, failed=failed))

    def closed(self) -> Transcript:
        """With the calls of which nothing more is said.

        They did happen, and how they ended is not known.
        """
        self.steps += [step for steps in self._calls.values() for step in steps]
        self._calls.clear()
        return self


# Characters from the beginning and from the end of an output
_KEPT = 4000


class _Host(Protocol):
    """What of a host (`model.agent_hosts.AgentHost`) reads its transcripts."""

    id: str

    def wrote(self, record: Json, /) -> bool: ...

    def read(self, session: Transcript, record: Json, /) -> bool: ...


@cache
def _hosts() -> tuple[_Host, ...]:
    """All hosts: a folder of transcripts does not say of which they are."""
    return tuple(extensions.load(row.place) for row in extensions.hosts())
