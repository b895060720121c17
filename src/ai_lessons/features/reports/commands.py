"""The command `admin report`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ai_lessons.interfaces.cli import options
from ai_lessons.interfaces.cli.command import Command

if TYPE_CHECKING:
    from ai_lessons.interfaces.cli.call import Call


@click.command(
    "report", cls=Command, examples=["", "'reports/*.json' --json", "*.sarif --html rules.html"]
)
@click.argument("files", metavar="[FILE]...", nargs=-1, type=options.FILE_NAME)
@click.option("--html", metavar="FILE", default="", help="Also write it as a page of its own.")
def report(call: Call, files: tuple[str, ...], html: str) -> None:
    """Add up what rules did, by month: in scope, broken, stopped, allowed.

    From the events of the repositories read here, and from files that `check --format json` or
    `sarif` wrote in CI of many repositories.

    A number counts runs and sessions. Would stop: broken, and nothing stopped it.
    """
    # help and completion do without
    from ai_lessons.features.reports import jobs, texts

    call.answer(jobs.report(call.library, files, html), texts.as_table)
