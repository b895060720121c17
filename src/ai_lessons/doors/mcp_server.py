"""The program `ai-lessons-mcp`: the same library for agents, over MCP. Cheap to import; the server is in `mcp`."""

from __future__ import annotations

import os
import sys
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import click

from ai_lessons import settings
from ai_lessons.doors.cli import error_handler
from ai_lessons.doors.cli.command_context import Call
from ai_lessons.doors.cli.commands import Command, show_version
from ai_lessons.doors.terminal import is_terminal
from ai_lessons.errors import UsageError
from ai_lessons.library.options import Limits

PROGRAM = "ai-lessons-mcp"
SETS = ("default", "all")


@click.command("mcp", cls=Command, examples=["", "--tools all"])
@show_version
@click.option("--http", metavar="HOST:PORT", help="Serve over HTTP there; port 0 takes any. Default: standard streams.")
@click.option("--token-file", metavar="F", type=click.Path(), help="Callers over HTTP need the token in this file.")
@click.option("--allow-host", metavar="NAME", multiple=True, help="Another name of this server; may be given again.")
@click.option(
    "--tools", "chosen", type=click.Choice(SETS), default=SETS[0], show_default=True, help="Which tools are offered."
)
@click.option("--root", metavar="DIR", type=click.Path(), help="Callers may add files from below this folder only.")
@click.option("--read-only", is_flag=True, help="Offer only tools that read.")
def mcp(
    call: Call, /, http: str | None, token_file: str | None, allow_host: tuple[str, ...], root: str | None, **which: Any
) -> None:
    """Serve agents over MCP (also: the program ai-lessons-mcp). What happens is logged to a file."""
    from ai_lessons.doors.mcp import server, session_pool

    if http is None and (token_file or allow_host):
        raise UsageError("--token-file and --allow-host are for --http", hint="--http :8765")
    if root is not None and not Path(root).is_dir():
        raise UsageError(f"--root {root}: there is no such folder", hint="name the folder that callers may read")
    log = settings.folders(os.environ).state / server.LOG_NAME
    below = Path(root) if root else None
    if http is not None:
        from ai_lessons.doors.mcp import http as door

        where, file = door.place(http), Path(token_file) if token_file else None
        token = door.token_of(file, where)
        pool = session_pool.SessionPool(lambda: call.settings, limits=door.limits(below, file, token))
        if file is not None:
            door.refuse_shared(file, pool)
        serve = partial(door.serve, where=where, token=token, names=allow_host)
    else:
        # over standard streams a process is one session of one agent; over HTTP many share it
        name = f"mcp-{os.urandom(4).hex()}"
        pool = session_pool.SessionPool(lambda: call.settings, session=name, limits=Limits(below))
        if is_terminal(sys.stdin):
            print(f"waiting for an MCP client on standard input; {PROGRAM} --help says more", file=sys.stderr)
        serve = partial(server.stdio)
    with closing(server.log_to(log)):
        serve(server.build(pool, log, **which), pool)


def main() -> None:
    """Run the program and leave with its exit code."""
    sys.exit(run(sys.argv[1:]))


def run(args: list[str]) -> int:
    """Run the program on these arguments and return its exit code."""
    return error_handler.run(lambda: mcp.main(args, PROGRAM, standalone_mode=False, obj=Call()), args)
