"""One call of a client, seen from the thread that does its work: who asks, whether it is still wanted, its progress."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import anyio.from_thread

if TYPE_CHECKING:
    from mcp.server.mcpserver import Context

UNNAMED = "mcp"
"""The agent's name for a client that gives none."""

EVERY = 0.1
"""Seconds between two notes of progress: a client draws a bar, it does not read them."""

LAST_CHANCE = "writing"
"""The work of this name is the commit: a call that was cancelled before it leaves nothing, after it everything."""


def wanted() -> None:
    """Raise if the client has cancelled the call that this thread works for."""
    anyio.from_thread.check_cancelled()


def agent(ctx: Context[Any, Any]) -> str:
    """The name that the client gave itself."""
    params = ctx.session.client_params
    return (params.client_info.name.strip() if params else "") or UNNAMED


class Reported:
    """Progress of the library's as notes to the client. One bar for all phases of a job, which never goes back."""

    def __init__(self, ctx: Context[Any, Any]) -> None:
        self._ctx = ctx
        self._phase, self._before, self._done = ("", 0), 0, 0
        self._last = 0.0
        self._committing = False

    def show(self, what: str, done: int, total: int) -> None:
        """`done` of `total` steps of `what`. Raises if the call was cancelled, and nothing is written yet."""
        if self._committing:
            return
        wanted()
        self._committing = what == LAST_CHANCE
        if (what, total) != self._phase:
            self._phase, self._before = (what, total), self._before + self._done
        self._done = done
        if total and (done == total or time.monotonic() - self._last >= EVERY):
            self._last = time.monotonic()
            so_far, whole = self._before + done, self._before + total
            anyio.from_thread.run(self._ctx.report_progress, so_far, whole, f"{what} {done}/{total}")
