"""What the tests of the MCP server share: the official client, called without `await`, on a server of either kind."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.types import CallToolResult

from ai_lessons import extensions, settings
from ai_lessons.interfaces.mcp.server import build
from ai_lessons.interfaces.mcp.sessions import SessionPool
from interfaces.world import environment

PROGRAM = (sys.executable, "-c", "from ai_lessons.interfaces.mcp import main; main()")


class Agent:
    """A client of the server, as an agent host has one."""

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self._portal, self.client = portal, client

    def ask(self, job: Callable[..., Any], *args: Any, **named: Any) -> Any:
        """One request of the client's."""
        return self._portal.call(partial(job, *args, **named))

    def result(self, tool: str, **arguments: Any) -> CallToolResult:
        """What a tool answers, errors too."""
        done: CallToolResult = self.ask(self.client.call_tool, tool, arguments)
        return done

    def call(self, tool: str, **arguments: Any) -> Any:
        """The data that a tool answers."""
        done = self.result(tool, **arguments)
        assert not done.is_error, text(done)
        return done.structured_content

    def reads(self, tool: str, **arguments: Any) -> str:
        """The text that a tool answers."""
        done = self.result(tool, **arguments)
        assert not done.is_error, text(done)
        return text(done)

    def fails(self, tool: str, **arguments: Any) -> str:
        """The text of the error that a tool answers."""
        done = self.result(tool, **arguments)
        assert done.is_error, text(done)
        return text(done)

    def tools(self) -> dict[str, Any]:
        """The tools that are offered, by name."""
        return {tool.name: tool for tool in self.ask(self.client.list_tools).tools}


def text(done: CallToolResult) -> str:
    """All the text of an answer."""
    return "\n".join(block.text for block in done.content if block.type == "text")


@contextmanager
def connected(to: Any, **options: Any) -> Iterator[Agent]:
    """A client on a server object, a transport or an address."""
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Client(to, **options)) as client,
    ):
        yield Agent(portal, client)


@contextmanager
def inside(log: Path, chosen: str = "all", **options: Any) -> Iterator[Agent]:
    """A client on a server in this process, which serves what the environment says."""
    desk = SessionPool(lambda: settings.load(os.environ))
    try:
        with connected(build(desk, log, chosen), **options) as agent:
            yield agent
    finally:
        desk.close()


@contextmanager
def talking(log: Path, session: str | None = "s", **options: Any) -> Iterator[Agent]:
    """A client of a protocol in which a server may ask, on a server of one session in this process."""
    desk = SessionPool(lambda: settings.load(os.environ), session=session)
    try:
        with connected(build(desk, log, "default"), mode="legacy", **options) as agent:
            yield agent
    finally:
        desk.close()


@contextmanager
def over_stdio(*args: str, **environ: str) -> Iterator[Agent]:
    """A client on the program, started as hosts start it."""
    with open("/dev/null", "w") as nobody:  # the client wants a file
        named = StdioServerParameters(
            command=PROGRAM[0], args=[*PROGRAM[1:], *args], env=environment(**environ)
        )
        with connected(stdio_client(named, errlog=nobody)) as agent:
            yield agent


TOOLS_OF_FEATURES = {
    "add_resource": "intake",
    "record_outcome": "learning",
    "load_lessons": "lesson_program",
    "mark_wrong": "lesson_program",
    "promote": "tiers",
    "refresh_resource": "intake",
    "run_script": "scripts",
}


def of_features_here(tools: Iterable[str]) -> list[str]:
    """The tools without those of features that were taken out (`bench.delete_features`)."""
    here = {feature.name for feature in extensions.rows()}
    return [tool for tool in tools if TOOLS_OF_FEATURES.get(tool) in {None, *here}]
