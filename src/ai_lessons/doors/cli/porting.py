"""`ai-lessons admin`, the part about other tools: taking over what they kept."""

from __future__ import annotations

from pathlib import Path

import click

from ai_lessons.doors import as_json, render_jobs
from ai_lessons.doors.cli.call import Call, pass_call
from ai_lessons.doors.cli.commands import Command

FORMATS = ("lessons-jsonl",)


def register(group: click.Group) -> None:
    """Hang these commands into the group `admin`."""
    group.add_command(import_file)


@click.command("import", cls=Command, examples=["ai-lessons admin import lessons.jsonl --from lessons-jsonl"])
@click.argument("file", type=click.Path())
@click.option("--from", "form", type=click.Choice(FORMATS), required=True, help="What wrote the file.")
@pass_call
def import_file(call: Call, file: str, form: str) -> None:  # noqa: ARG001  # there is one form so far
    """Take over what another tool kept. Twice adds nothing."""
    take_over_lessons(call, file)


def take_over_lessons(call: Call, file: str | None) -> None:
    """Import a log of lessons; None: the one in its usual place."""
    place = call.settings.cwd / Path(file).expanduser() if file else call.settings.lesson_log
    call.answer(call.library.lessons.import_log(place), render_jobs.imported, as_json.imported)
