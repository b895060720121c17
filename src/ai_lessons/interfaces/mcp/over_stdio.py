"""Serves one client on standard input and output, beginning with what was answered before the SDK was loaded."""

from __future__ import annotations

import json
import logging
import os
import select
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any, Protocol

import anyio.to_thread
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import ErrorData, JSONRPCError, JSONRPCNotification, jsonrpc_message_adapter

from ai_lessons.interfaces.mcp.guidance import add_prompts
from ai_lessons.interfaces.mcp.server import until_told
from ai_lessons.model import expression

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from typing import IO

    from mcp.server.mcpserver import MCPServer

    from ai_lessons.interfaces.mcp.sessions import SessionPool

# Codes of JSON-RPC
_PARSE_ERROR, _INVALID_REQUEST, _CLOSED = -32700, -32600, -32000
LOG = logging.getLogger(__name__)
_SURROGATE = expression("[\ud800-\udfff]")


class AnsweredBefore(Protocol):
    """What a client was sent and answered before the SDK was loaded."""

    rows: list[bytes]
    rest: bytes

    def hear(self, row: str) -> None:
        """Note a message that the SDK gets."""

    def passes(self, row: str) -> bool:
        """Whether the client is to get this message of the SDK."""


class _Lines:
    """The messages on standard input, for the SDK, which neither answers nor logs a line that it cannot read."""

    answer: Callable[[SessionMessage], Awaitable[None]]

    def __init__(self, first: AnsweredBefore, answers: _Answers) -> None:
        self._first, self._answers = first, answers

    async def __aiter__(self) -> AsyncIterator[str]:
        wire = os.fdopen(os.dup(0), "rb", closefd=False)
        with open(os.devnull, "rb") as nothing:
            # programs that tools start must not read what the client sends
            os.dup2(nothing.fileno(), 0)
        async for row in self._rows(wire):
            message = mended(row.decode("utf-8", "replace"))
            if isinstance(message, str):
                self._first.hear(message)
                self._answers.expect(message)
                yield message
            else:
                LOG.warning("a message that cannot be read: %s", message.error.message)
                await self.answer(SessionMessage(message))
        # the SDK drops what it has not answered when its input ends
        while self._answers.owed and self._answers.is_read():
            while self._answers.asked:
                gone = ErrorData(code=_CLOSED, message="the client has closed its side")
                yield JSONRPCError(
                    jsonrpc="2.0", id=self._answers.asked.pop(), error=gone
                ).model_dump_json()
            # look again soon whether all is answered
            await anyio.sleep(0.02)

    async def _rows(self, wire: IO[bytes]) -> AsyncIterator[bytes]:
        """What was read before the SDK was loaded, then the rest."""
        for row in self._first.rows:
            yield row
        *rows, begun = self._first.rest.split(b"\n")
        for row in rows:
            yield row
        async for row in anyio.wrap_file(wire):
            yield begun + row
            begun = b""
        if begun:
            yield begun


class _Answers(anyio.AsyncFile[str]):
    """Standard output for the SDK, without what the client has been answered before it was loaded.

    `owed` are the client's requests without an answer, `asked` those of ours.
    """

    def __init__(self, first: AnsweredBefore) -> None:
        self._first = first
        self.owed, self.asked = set[str | int](), set[str | int]()
        super().__init__(os.fdopen(os.dup(1), "w", encoding="utf-8"))
        # what is printed meanwhile must not reach the client
        os.dup2(2, 1)
        self._poll = select.poll()
        self._poll.register(self.wrapped.fileno(), 0)

    def expect(self, text: str) -> None:
        """Note a message of the client.

        A request is owed an answer, and one that it cancels is not.
        """
        if not text.strip():
            return
        message = json.loads(text)
        number = message.get("id")
        if message.get("method") == "notifications/cancelled":
            cancelled = (message.get("params") or {}).get("requestId")
            self.owed = {number for number in self.owed if number != cancelled}
        elif number is None:
            # a notification, which nobody answers
            return
        elif "method" in message:
            self.owed.add(number)
        else:
            self.asked.discard(number)

    def is_read(self) -> bool:
        """Whether there is still a reader."""
        return not self._poll.poll(0)

    async def write(self, text: str) -> int:
        """Send a message, unless the client has it."""
        length = 0
        if self._first.passes(text):
            length = await super().write(text)
        message = json.loads(text)
        number = message.get("id")
        if number is None:
            return length
        if "method" in message:
            self.asked.add(number)
        else:
            self.owed.discard(number)
        return length


def mended(line: str) -> str | JSONRPCError:
    """The line with U+FFFD for half a surrogate pair (a host cut a text within an emoji), or the error to answer."""
    text, number, code = line.removeprefix("\ufeff"), None, _PARSE_ERROR
    if not text.strip():
        return text
    with suppress(ValueError, RecursionError):
        raw = json.loads(text)
        code = _INVALID_REQUEST
        if isinstance(raw, dict):
            number = raw.get("id")
        text = _SURROGATE.sub("\ufffd", json.dumps(raw, ensure_ascii=False))
        message = jsonrpc_message_adapter.validate_json(text, by_name=False)
        # with an id that is neither text nor a number it would pass for a notification, which
        # nobody answers
        if not (isinstance(message, JSONRPCNotification) and "id" in raw):
            return text
    if isinstance(number, bool) or not isinstance(number, str | int):
        number = None
    fault = "no JSON-RPC message"
    if code == _PARSE_ERROR:
        fault = "not valid JSON"
    return JSONRPCError(jsonrpc="2.0", id=number, error=ErrorData(code=code, message=fault))


def stdio(server: MCPServer[Any], pool: SessionPool, first: AnsweredBefore) -> None:
    """Serve one client on standard input and output; what is printed meanwhile goes to stderr.

    When the input ends all that was asked is answered, unless nobody reads it.
    """
    add_prompts(server, pool)

    async def serve() -> None:
        answers = _Answers(first)
        lines = _Lines(first, answers)
        try:
            async with (
                aclosing(answers),
                stdio_server(lines, answers) as (read, write),  # type: ignore[arg-type]  # as it uses them
            ):
                lines.answer = write.send
                served_there = server._lowlevel_server  # noqa: SLF001  # `run_stdio_async` takes no streams
                await served_there.run(read, write, served_there.create_initialization_options())
        except* (BrokenPipeError, anyio.BrokenResourceError):
            LOG.info("the client is gone")

    anyio.run(until_told, serve, pool)
