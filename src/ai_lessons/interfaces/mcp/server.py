"""The MCP server: tools, resources, skills, prompts. Home of the package `mcp` beside `tools`.

Begin with `build`; `http` and `stdio` serve what it makes.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from importlib.metadata import version
from logging.handlers import RotatingFileHandler
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import anyio.to_thread
from mcp.server.caching import CacheHint
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError, ToolError
from mcp_types import Completion, Icon, Resource

from ai_lessons import app
from ai_lessons.errors import AiLessonsError, NotFound
from ai_lessons.interfaces import output
from ai_lessons.interfaces.cli import ABOUT
from ai_lessons.interfaces.mcp.guidance import INSTRUCTIONS, after_task, before_task
from ai_lessons.interfaces.mcp.skills import Skills
from ai_lessons.interfaces.mcp.tools import ENTRY_URI, tools

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from io import TextIOWrapper
    from pathlib import Path

    from mcp_types.methods import CacheableMethod

    from ai_lessons.app.workspace import Library
    from ai_lessons.interfaces.mcp.sessions import SessionPool

LOG = logging.getLogger(__name__)
LOG_NAME = "mcp.log"


class _Private(RotatingFileHandler):
    """A log for the user's eyes only: it names files and titles."""

    def _open(self) -> TextIOWrapper:
        fd = os.open(self.baseFilename, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        # the handler closes it
        return open(fd, "a", encoding="utf-8", errors="backslashreplace")


def log_to(file: Path) -> logging.Handler:
    """Everything that is logged goes to the file, with the process it comes from.

    To stderr if it cannot be written.

    The handler is to be closed at the end.
    """
    handler: logging.Handler = logging.StreamHandler(sys.stderr)
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # a log is begun anew at this size; the one before it is kept
        handler = _Private(file, maxBytes=1_000_000, backupCount=1)
    except OSError as error:
        print(
            f"warning: {file} cannot be written ({error.strerror}): the log goes here",
            file=sys.stderr,
        )
    layout = "%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"
    logging.basicConfig(handlers=[handler], level=logging.INFO, format=layout)
    logging.captureWarnings(capture=True)
    return handler


_HOUR = CacheHint(3_600_000, "public")
# How long an answer holds: what the program declares an hour.
# A resource that is read not at all, as it is edited.
FRESH: Mapping[CacheableMethod, CacheHint] = {
    "tools/list": _HOUR, "prompts/list": _HOUR, "resources/templates/list": _HOUR, "resources/list": CacheHint(10_000),
}  # fmt: skip

ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 24 24'%3E"
    "%3Cpath d='M5 3h14v18l-7-4-7 4z' fill='%23246'/%3E%3C/svg%3E"
)
# entries and projects that are listed as resources
RECENT, PROJECTS = 20, 20
CONTEXT_URI, TEXT_TYPE = "lessons://context/{project}", "text/markdown"


class LessonServer(MCPServer[Any]):
    """The server whose resources are what the repository holds now."""

    pool: SessionPool

    async def list_resources(self) -> list[Resource]:
        """The largest projects, and the newest entries.

        None where the repository cannot be read.
        """
        try:
            return await anyio.to_thread.run_sync(self.pool.read, _resources)
        except AiLessonsError as error:
            LOG.info("no resources: %s", error.message)
            return []


def _resources(library: Library) -> list[Resource]:
    projects = app.entries.projects(library)[:PROJECTS]
    entries = app.entries.list_entries(library, limit=RECENT).entries
    listed = []
    for tally in projects:
        uri = CONTEXT_URI.format(project=quote(tally.name, safe=""))
        listed.append(_resource(uri, tally.name, f"Project {tally.name}", f"{tally.total} entries"))
    for entry in entries:
        uri = ENTRY_URI.format(id=entry.handle)
        listed.append(
            _resource(uri, entry.handle, entry.title, f"{entry.kind.value} of {entry.project}")
        )
    return listed


def _resource(uri: str, name: str, title: str, description: str) -> Resource:
    """A resource of a list, with the names that others gave on one line each."""
    return Resource(
        uri=uri,
        name=output.short_name(name),
        title=output.short_name(title),
        description=output.short_name(description),
        mime_type=TEXT_TYPE,
    )


SKILL_URI = "skill://{name}/{+path}"


def build(
    pool: SessionPool, log: Path, chosen: str = "default", *, read_only: bool = False
) -> MCPServer[Any]:
    """A server with the tools of a set, or with those of them that only read. Opens nothing."""
    server = LessonServer(
        "ai-lessons",
        title="AI Lessons",
        description=ABOUT,
        icons=[Icon(src=ICON, mime_type="image/svg+xml", sizes=["any"])],
        instructions=INSTRUCTIONS,
        version=version("ai-lessons"),
        tools=tools(pool, log, chosen, read_only=read_only),
        cache_hints=FRESH,
        subscriptions=False,
        extensions=[skills := Skills(pool)],
    )
    server.pool = pool
    _offer_resources(server, pool, log)

    @server.resource(SKILL_URI, name="skill", title="A file of a skill", mime_type=TEXT_TYPE)
    async def skill(name: str, path: str) -> str:
        files = (await skills.files()).get(name, {})
        if path not in files:
            raise ResourceNotFoundError(f"no such file of a skill: {name}/{path}")
        return files[path].decode()

    server.prompt()(before_task)
    server.prompt()(after_task)
    return server


def _offer_resources(server: MCPServer[Any], pool: SessionPool, log: Path) -> None:
    every = {tool.name: tool for tool in tools(pool, log, "all")}

    async def text_of(tool: str, **arguments: str) -> str:
        try:
            result = await every[tool].run(arguments, None)  # type: ignore[arg-type]  # without a client to ask
        except ToolError as error:
            if isinstance(error.__cause__, NotFound):
                raise ResourceNotFoundError(str(error)) from error
            raise ResourceError(str(error)) from error
        return str(result.content[0].text)

    @server.completion()  # type: ignore[no-untyped-call, untyped-decorator]  # the SDK's
    async def complete(_ref: Any, argument: Any, _context: Any) -> Completion:
        def values(library: Library) -> list[str]:
            offered = app.entries.complete(library, argument.value, argument.name)
            return [output.short_name(value) for value, _ in offered]

        return Completion(values=await anyio.to_thread.run_sync(pool.read, values))

    @server.resource(
        ENTRY_URI,
        name="entry",
        title="An entry",
        mime_type=TEXT_TYPE,
        description="One entry in full, by handle or id.",
    )
    async def entry(id: str) -> str:  # noqa: A002  # the name in the address
        return await text_of("get", id=id)

    @server.resource(
        CONTEXT_URI,
        name="context",
        title="A project",
        mime_type=TEXT_TYPE,
        description="Rules and lessons of one project.",
    )
    async def context(project: str) -> str:
        return await text_of("context", project=project)


async def until_told(serve: Callable[[], Awaitable[None]], pool: SessionPool) -> None:
    """Serve; on a signal let what is being written end, stop what runs, and leave, whatever waits for input."""
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as signals:
        async with anyio.create_task_group() as tasks:

            async def watch() -> None:
                async for number in signals:
                    LOG.info("ended by %s", number.name)
                    # a write may end in five seconds
                    await anyio.to_thread.run_sync(pool.stop, 5.0)
                    logging.shutdown()
                    os._exit(128 + number)

            tasks.start_soon(watch)
            await serve()
            tasks.cancel_scope.cancel()
    pool.close()
