"""The program `ai-lessons-mcp`: the same library for agents, over MCP. Cheap to import; the server is in `mcp`."""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.doors.terminal import is_terminal
from ai_lessons.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ai_lessons.settings import Settings

PROGRAM = "ai-lessons-mcp"


class Asked(NamedTuple):
    """How to serve, and what: as the command line says it."""

    repo: str | None = None
    tier: str | None = None
    http: str | None = None
    token_file: Path | None = None
    names: tuple[str, ...] = ()
    tools: str = "default"
    root: Path | None = None
    read_only: bool = False


def main() -> None:
    """Run the program and leave with its exit code."""
    sys.exit(run(sys.argv[1:]))


def run(args: list[str]) -> int:
    """Run the program on these arguments and return its exit code."""
    from ai_lessons.doors.cli import ending
    from ai_lessons.doors.cli.call import Call
    from ai_lessons.doors.cli.mcp import mcp
    from ai_lessons.doors.opening import version

    if "--version" in args:
        print(f"{PROGRAM} {version()}")
        return 0
    return ending.run(lambda: mcp.main(args, PROGRAM, standalone_mode=False, obj=Call()), args)


def serve(asked: Asked) -> None:
    """Serve until the client closes its end, or a signal comes.

    Raises:
        UsageError: an option that makes no sense. Refused, StorageFailed: the token cannot be used.
    """
    from ai_lessons import settings
    from ai_lessons.doors.mcp.desk import Desk
    from ai_lessons.doors.mcp.wire import LOG_NAME, logging_to
    from ai_lessons.library.options import Limits

    if asked.http is None and (asked.token_file or asked.names):
        raise UsageError("--token-file and --allow-host are for --http", hint="--http :8765")
    log = settings.folders(os.environ).state / LOG_NAME
    if asked.root is not None and not asked.root.is_dir():
        raise UsageError(f"--root {asked.root}: there is no such folder", hint="name the folder that callers may read")
    load = partial(settings.load, os.environ, repo=asked.repo, tier=asked.tier)
    with logging_to(log):
        if asked.http is not None:
            _over_http(asked, load, log)
            return
        from ai_lessons.doors.mcp import serving

        # over standard streams a process is one session of one agent; over HTTP many share it
        desk = Desk(load, session=f"mcp-{os.urandom(4).hex()}", limits=Limits(asked.root))
        if is_terminal(sys.stdin):
            print(f"waiting for an MCP client on standard input; {PROGRAM} --help says more", file=sys.stderr)
        serving.stdio(serving.build(desk, log, asked.tools, read_only=asked.read_only), desk)


def _over_http(asked: Asked, load: Callable[[], Settings], log: Path) -> None:
    from ai_lessons.doors.mcp import http, serving
    from ai_lessons.doors.mcp.desk import Desk

    where = http.place(asked.http or "")
    token = http.token_of(asked.token_file, where)
    desk = Desk(load, limits=http.limits(asked.root, asked.token_file, token))
    if asked.token_file is not None:
        http.refuse_shared(asked.token_file, desk)
    server = serving.build(desk, log, asked.tools, read_only=asked.read_only)
    http.serve(server, desk, where, token=token, names=asked.names)
