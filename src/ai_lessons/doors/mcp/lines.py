"""Connections to the HTTP door: who opens them and says nothing, or very little at a time, keeps nobody out.

uvicorn waits for ever for the first request of a connection, and answers 503 to everybody as soon as so many are open.
Here a request has to be there whole within some seconds, and where all lines are taken, the newcomer gets one on which
no request is there whole: one that never brought any before one that did, and of the caller who holds most of them.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from ai_lessons.doors.mcp.pace import caller

if TYPE_CHECKING:
    import asyncio

PATIENCE = 20.0
"""Seconds in which a request has to be there whole: from the opening of a line, or from the end of an answer."""

BACKLOG = 128
"""Lines that are taken in one go, and may wait to be taken: each is an open file before any can be given up."""


class HttpConnection(H11Protocol):
    """One connection."""

    def __init__(self, *args: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        self.caller = ""
        self.since = 0.0
        self._due: asyncio.TimerHandle | None = None

    @property
    def answered(self) -> bool:
        """Whether its last request was answered, so that there may be another one."""
        return self.cycle is not None and self.cycle.response_complete

    @property
    def waits(self) -> bool:
        """Whether there is no whole request on it that is being answered."""
        return self.cycle is None or self.cycle.response_complete or self.cycle.more_body

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Make room, and begin to wait."""
        super().connection_made(transport)
        self.caller = caller({"client": self.client})
        self._wait()
        while self.limit_concurrency is not None and len(self.connections) >= self.limit_concurrency:
            if not self._make_room():
                break  # every line is busy: uvicorn answers 503

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._stop_waiting()
        super().connection_lost(exc)

    def give_up(self) -> None:
        """Close it at once; what was not read of the last answer is lost."""
        self._stop_waiting()
        self.connections.discard(self)
        self.transport.abort()

    def _make_room(self) -> bool:
        waiting = [one for one in self.connections if isinstance(one, HttpConnection) and one.waits and one is not self]
        if not waiting:
            return False
        many = Counter(one.caller for one in waiting)
        max(waiting, key=lambda one: (not one.answered, many[one.caller], -one.since)).give_up()
        return True

    def _wait(self) -> None:
        self._stop_waiting()
        self.since = self.loop.time()
        self._due = self.loop.call_later(PATIENCE, self._overdue)

    def _stop_waiting(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None

    def _overdue(self) -> None:
        """A request that is there whole may take its time; the end of its answer is waited from anew."""
        if self.waits:
            self.give_up()
