"""`ai-lessons admin mcp`, and the program `ai-lessons-mcp`: the MCP server for agents."""

from __future__ import annotations

from pathlib import Path

import click

from ai_lessons.doors.cli.call import Call, pass_call
from ai_lessons.doors.cli.commands import Command

SETS = ("default", "all")


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
    from ai_lessons.doors.mcp_server import Asked, serve

    token, folder = (Path(name) if name else None for name in (token_file, root))
    serve(Asked(call.repo, call.tier, http, token, allow_host, tools, folder, read_only))
