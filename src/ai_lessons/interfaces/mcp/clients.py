"""The client that calls: its name, the person behind it, and the progress that it is shown."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio.to_thread
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp.types import ClientCapabilities, ElicitationCapability
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from ai_lessons.interfaces.mcp.sessions import PAUSE
from ai_lessons.interfaces.output import clean, line

if TYPE_CHECKING:
    from mcp.server.mcpserver import Context

    from ai_lessons.errors import AmbiguousName, Conflict

    Data = dict[str, Any]

# Characters of a script, and entries, that a person can judge in a form
READABLE, CHOICES = 8_000, 20

# The work of this name is the commit: a call cancelled before it leaves nothing
LAST_CHANCE = "writing"


def client_name(ctx: Context[Any, Any] | None) -> str:
    """The name that the client gave itself, or `mcp`."""
    if ctx and ctx.session.client_params:
        return ctx.session.client_params.client_info.name.strip() or "mcp"
    return "mcp"


def connection_of(ctx: Context[Any, Any] | None) -> str:
    """The name of the session of a client over HTTP; empty where each request stands alone.

    Where there are sessions the transport lets only an id through that it gave itself.
    """
    if ctx is None or ctx.session.protocol_version in MODERN_PROTOCOL_VERSIONS:
        return ""
    name = (ctx.headers or {}).get(MCP_SESSION_ID_HEADER, "")
    if not name:
        return ""
    return f"mcp-{name}"


class Person:
    """The person at the client, who is asked in a form where the client has one.

    Never about an approval.
    """

    def __init__(self, ctx: Context[Any, Any] | None) -> None:
        self._ctx = ctx

    def trusts(self, path: str, text: str) -> bool:
        """Whether a script with this text may run.

        False where it is too long to be read in a form.
        """
        if len(text) > READABLE:
            return False
        fields = {"run": {"type": "boolean", "title": "Run it, and trust this text from now on"}}
        question = f"Run {line(path)}? This machine has not run it before.\n\n{clean(text)}"
        return self._answer(question, fields) is True

    def choice(self, error: AmbiguousName) -> str | None:
        """Which entry a name that several have stands for; None: no answer."""
        if not 1 < len(error.suggestions) <= CHOICES:
            return None
        fields = {"entry": {"type": "string", "title": "Entry", "enum": list(error.suggestions)}}
        answer = self._answer(f"Which entry is {line(error.name)}?", fields)
        if answer not in error.suggestions:
            return None
        # a suggestion is a handle, an id or a branch, and its title in brackets
        name, _, _ = str(answer).partition(" (")
        return name

    def keeps(self, error: Conflict) -> bool:
        """Whether to keep what was refused because the same is there."""
        fields = {"keep": {"type": "boolean", "title": "Keep it beside the other one"}}
        return self._answer(f"{line(error.message)}. Keep the new one, too?", fields) is True

    def _answer(self, question: str, fields: Data) -> Any:
        """The value of the only field of a form.

        None where it was declined, or the client has none.
        """
        asks = ClientCapabilities(elicitation=ElicitationCapability())
        # from 2026-07-28 on a server asks nothing while a call runs
        if self._ctx is None or self._ctx.session.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return None
        if not self._ctx.session.check_client_capability(asks):
            return None
        schema = {"type": "object", "properties": fields, "required": list(fields)}
        ask = partial(self._ctx.session.elicit_form, question, schema, self._ctx.request_id)
        done = anyio.from_thread.run(ask)
        if done.action == "accept":
            return (done.content or {}).get(*fields)
        return None


class Reported:
    """Progress of the library's as notes to the client.

    One bar for all phases of a job, which never goes back.
    """

    def __init__(self, ctx: Context[Any, Any] | None) -> None:
        self._ctx = ctx
        self._phase, self._before, self._done, self._last = ("", 0), 0, 0, 0.0
        self._committing = False

    def show(self, what: str, done: int, total: int) -> None:
        """`done` of `total` steps of `what`.

        Raises if the call was cancelled, and nothing is written yet.
        """
        if self._committing or self._ctx is None:
            return
        anyio.from_thread.check_cancelled()
        self._committing = what == LAST_CHANCE
        if (what, total) != self._phase:
            self._phase, self._before = (what, total), self._before + self._done
        self._done = done
        if total and (done == total or time.monotonic() - self._last >= PAUSE):
            self._last = time.monotonic()
            so_far, whole = self._before + done, self._before + total
            anyio.from_thread.run(
                self._ctx.report_progress, so_far, whole, f"{what} {done}/{total}"
            )
