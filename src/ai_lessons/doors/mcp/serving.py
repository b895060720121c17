"""The server: tools, resources and prompts together, over standard input and output or over HTTP."""

from __future__ import annotations

import logging
import os
import signal
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
from mcp.server.stdio import stdio_server

from ai_lessons import library
from ai_lessons.doors.mcp import calls, framing, protocol
from ai_lessons.doors.mcp.errors import bug, in_words
from ai_lessons.doors.mcp.toolset import tools
from ai_lessons.doors.mcp.wire import claimed
from ai_lessons.doors.opening import version
from ai_lessons.errors import AiLessonsError, NotFound
from ai_lessons.library.answers import ContextQuery

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from ai_lessons.doors.mcp.desk import SessionPool
    from ai_lessons.library.opened import Library

LOG = logging.getLogger(__name__)

NAME = "ai-lessons"
PATIENCE = 5.0
"""Seconds that what is being written gets when the server is told to end."""


def build(desk: SessionPool, log: Path, chosen: str = "default", *, read_only: bool = False) -> MCPServer[Any]:
    """A server with the tools of a set, or with those of them that only read.

    Opens nothing: a repository that is broken is told of when it is asked for.
    """
    server: MCPServer[Any] = MCPServer(
        NAME,
        title="AI Lessons",
        instructions=protocol.INSTRUCTIONS,
        version=version(),
        tools=list(tools(desk, log, chosen, read_only=read_only)),
        subscriptions=False,
    )
    _offer_resources(server, desk, log)
    for prompt in (protocol.before_task, protocol.after_task):
        server.prompt()(prompt)
    return server


def _offer_resources(server: MCPServer[Any], desk: SessionPool, log: Path) -> None:
    def told(job: Callable[[Library], str]) -> str:
        try:
            return desk.read(job, calls.wanted)
        except NotFound as error:
            raise ResourceNotFoundError(in_words(error)) from error
        except AiLessonsError as error:
            raise ResourceError(in_words(error)) from error
        except Exception as error:
            LOG.exception("a resource")
            raise ResourceError(bug(error, log)) from error

    @server.resource("lessons://entry/{id}", name="entry", description="One entry in full, by handle or id.")
    def entry(id: str) -> str:  # noqa: A002  # the name in the address
        return told(lambda opened: framing.shown(library.browsing.show(opened, id), str(desk.settings.repo)))

    @server.resource("lessons://context/{project}", name="context", description="Rules and lessons of one project.")
    def context(project: str) -> str:
        query = ContextQuery(project=project, approvals=True)
        return told(lambda opened: framing.context(library.contexts.context(opened, query), str(desk.settings.repo)))


def stdio(server: MCPServer[Any], desk: SessionPool) -> None:
    """Serve one client on standard input and output until it closes them."""
    with claimed() as wire:
        anyio.run(partial(_over_wire, server, desk, anyio.wrap_file(wire.read), anyio.wrap_file(wire.write)))


async def _over_wire(
    server: MCPServer[Any], desk: SessionPool, read: anyio.AsyncFile[str], write: anyio.AsyncFile[str]
) -> None:
    inner = server._lowlevel_server  # noqa: SLF001  # the SDK's own `run_stdio_async` takes no streams

    async def serve() -> None:
        try:
            async with stdio_server(read, write) as (incoming, outgoing):
                await inner.run(incoming, outgoing, inner.create_initialization_options())
        except* (BrokenPipeError, anyio.BrokenResourceError):
            LOG.info("the client is gone")

    await until_told(serve, desk)


async def until_told(serve: Callable[[], Awaitable[None]], desk: SessionPool) -> None:
    """Serve; on a signal let what is being written end, stop what runs, and leave.

    Leaves without waiting for the thread that reads standard input: nothing can wake it.
    """
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as signals:
        async with anyio.create_task_group() as tasks:

            async def watch() -> None:
                async for number in signals:
                    LOG.info("ended by %s", number.name)
                    await anyio.to_thread.run_sync(desk.stop, PATIENCE)
                    logging.shutdown()
                    os._exit(128 + number)

            tasks.start_soon(watch)
            await serve()
            tasks.cancel_scope.cancel()
    desk.close()
