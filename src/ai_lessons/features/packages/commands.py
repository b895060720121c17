"""The command `contribute add-package`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ai_lessons.app.written import Imported
from ai_lessons.interfaces import text_jobs
from ai_lessons.interfaces.cli.command import Command

if TYPE_CHECKING:
    from ai_lessons.interfaces.cli.call import Call


ANSWER = Imported


@click.command("add-package", cls=Command, examples=["click", "--locked"])
@click.argument("names", metavar="[NAME[==V]]...", nargs=-1)
@click.option(
    "--locked",
    is_flag=False,
    flag_value="",
    metavar="[LOCKFILE]",
    help="The packages of the project's lockfile.",
)
def add_package(call: Call, names: tuple[str, ...], locked: str | None) -> None:
    """Add docs of installed packages at their version.

    README, docs, public API. npm:NAME for `node_modules`.
    """
    # what reads packages takes half a second to load
    from ai_lessons.features.packages import jobs

    imported = jobs.add(call.library, names, lock=locked)
    call.answer(imported, text_jobs.imported)
