"""The command `ai-lessons look`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ai_lessons.interfaces.cli.command import Command

if TYPE_CHECKING:
    from ai_lessons.interfaces.cli.call import Call


@click.command("look", cls=Command, examples=["", "--port 8766 --no-browser"])
@click.option(
    "--port",
    metavar="N",
    type=click.IntRange(0, 65_535),
    default=0,
    help="Port to listen on; default: any free one.",
)
@click.option("--no-browser", is_flag=True, help="Only print the address.")
def look(call: Call, port: int, no_browser: bool) -> None:
    """Search, read and review entries in a browser on this machine; ends with Ctrl-C.

    The first line is the address. Keep it secret: whoever has it has full access. The page is
    served to this machine only. With --port the address stays the same if you start again within an
    hour.
    """
    # what serves takes half a second to load
    from ai_lessons.features.look import server

    server.serve(lambda: call.settings, port, browser=not no_browser and call.can_ask)
