"""`ai-lessons look`: the command. The server is loaded only when it is called."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

import click

from ai_lessons import settings
from ai_lessons.doors.cli.commands import Command

if TYPE_CHECKING:
    from ai_lessons.doors.cli.command_context import Call


@click.command("look", cls=Command, examples=["ai-lessons look", "ai-lessons look --port 8766 --no-browser"])
@click.option("--port", metavar="N", type=click.IntRange(0, 65_535), default=0, help="Where to listen; else any.")
@click.option("--no-browser", is_flag=True, help="Only print the address.")
def look(call: Call, port: int, no_browser: bool) -> None:
    """Search, read, review and understand what is kept, in a browser on this machine; ends with Ctrl-C.

    The first line is the address, with a token that holds until then: who has it may do what you may. Only this
    machine is listened to.
    """
    from ai_lessons.doors.look import server

    load = partial(settings.load, os.environ, repo=call.repo, tier=call.tier)
    server.serve(load, port, browser=not no_browser and call.can_ask)
