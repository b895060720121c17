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
from ai_lessons.app.open_repository import Limits
from ai_lessons.errors import UsageError
from ai_lessons.interfaces.cli import command
from ai_lessons.interfaces.cli.command import Call, Command, show_version
from ai_lessons.interfaces.mcp import FirstAnswers
from ai_lessons.interfaces.output import is_terminal

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
    if http is None and (token_file or allow_host):
        raise UsageError("--token-file and --allow-host are for --http", hint="--http :8765")
    if root is not None and not Path(root).is_dir():
        raise UsageError(f"--root {root}: there is no such folder", hint="name the folder that callers may read")
    folders = settings.folders(os.environ)
    if http is None:
        if is_terminal(sys.stdin):
            print(f"waiting for an MCP client on standard input; {PROGRAM} --help says more", file=sys.stderr)
        first = FirstAnswers(folders.cache / f"mcp-{which['chosen']}{'-read-only' * which['read_only']}.json")
        if first.answer():
            return
    from ai_lessons.interfaces.mcp import server, tools

    log = folders.state / server.LOG_NAME
    below, cwd = Path(root) if root else None, settings.current_folder()
    # the folder as it was at the start: it may be removed while we serve
    load = partial(settings.load, os.environ, cwd, repo=call.repo, tier=call.tier)
    if http is not None:
        where, file = server.place(http), Path(token_file) if token_file else None
        token = server.token_of(file, where)
        pool = tools.SessionPool(load, limits=server.limits(below, file, token))
        if file is not None:
            server.refuse_shared(file, pool)
        serve = partial(server.serve, where=where, token=token, names=allow_host)
    else:
        # over standard streams a process is one session of one agent; over HTTP many share it
        name = f"mcp-{os.urandom(4).hex()}"
        pool = tools.SessionPool(load, session=name, limits=Limits(below))
        serve = partial(server.stdio, first=first)
    with closing(server.log_to(log)):
        serve(server.build(pool, log, **which), pool)


def main() -> None:
    """Run the program and leave with its exit code."""
    sys.exit(run(sys.argv[1:]))


def run(args: list[str]) -> int:
    """Run the program on these arguments and return its exit code."""
    return command.run(lambda: mcp.main(args, PROGRAM, standalone_mode=False, obj=Call()), args)
