"""`ai-lessons admin mcp`, and the program `ai-lessons-mcp`: the MCP server for agents."""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from ai_lessons.doors.cli.call import Call, pass_call
from ai_lessons.doors.cli.commands import Command
from ai_lessons.doors.terminal import is_terminal
from ai_lessons.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ai_lessons.settings import Settings

PROGRAM = "ai-lessons-mcp"
SETS = ("default", "all")


class ServeRequest(NamedTuple):
    """How to serve, and what: as the command line says it."""

    repo: str | None = None
    tier: str | None = None
    http: str | None = None
    token_file: Path | None = None
    names: tuple[str, ...] = ()
    tools: str = "default"
    root: Path | None = None
    read_only: bool = False


def register(group: click.Group) -> None:
    """Hang this command into the group `admin`."""
    group.add_command(mcp)


@click.command("mcp", cls=Command, examples=["ai-lessons admin mcp", "ai-lessons admin mcp --tools all"])
@click.option("--http", metavar="HOST:PORT", help="Serve over HTTP there; port 0 takes any. Default: standard streams.")
@click.option("--token-file", metavar="F", type=click.Path(), help="Callers over HTTP need the token in this file.")
@click.option("--allow-host", metavar="NAME", multiple=True, help="Another name of this server; may be given again.")
@click.option("--tools", type=click.Choice(SETS), default=SETS[0], show_default=True, help="Which tools are offered.")
@click.option("--root", metavar="DIR", type=click.Path(), help="Callers may add files from below this folder only.")
@click.option("--read-only", is_flag=True, help="Offer only tools that read.")
@pass_call
def mcp(
    call: Call,
    http: str | None,
    token_file: str | None,
    allow_host: tuple[str, ...],
    tools: str,
    root: str | None,
    read_only: bool,
) -> None:
    """Serve agents over MCP (also: the program ai-lessons-mcp). What happens is logged to a file."""
    token, folder = (Path(name) if name else None for name in (token_file, root))
    serve(ServeRequest(call.repo, call.tier, http, token, allow_host, tools, folder, read_only))


def serve(asked: ServeRequest) -> None:
    """Serve until the client closes its end, or a signal comes.

    Raises:
        UsageError: an option that makes no sense. Refused, StorageFailed: the token cannot be used.
    """
    from ai_lessons import settings
    from ai_lessons.doors.mcp.desk import SessionPool
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
        desk = SessionPool(load, session=f"mcp-{os.urandom(4).hex()}", limits=Limits(asked.root))
        if is_terminal(sys.stdin):
            print(f"waiting for an MCP client on standard input; {PROGRAM} --help says more", file=sys.stderr)
        serving.stdio(serving.build(desk, log, asked.tools, read_only=asked.read_only), desk)


def _over_http(asked: ServeRequest, load: Callable[[], Settings], log: Path) -> None:
    from ai_lessons.doors.mcp import http, serving
    from ai_lessons.doors.mcp.desk import SessionPool

    where = http.place(asked.http or "")
    token = http.token_of(asked.token_file, where)
    desk = SessionPool(load, limits=http.limits(asked.root, asked.token_file, token))
    if asked.token_file is not None:
        http.refuse_shared(asked.token_file, desk)
    server = serving.build(desk, log, asked.tools, read_only=asked.read_only)
    http.serve(server, desk, where, token=token, names=asked.names)
