"""`ai-lessons contribute harvest`: lessons that transcripts of agents suggest, as a list, or one key each."""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import TYPE_CHECKING

import click

from ai_lessons import library
from ai_lessons.doors import render_jobs, render_lessons
from ai_lessons.doors.cli import asking, options
from ai_lessons.doors.cli.command_context import Call, pass_call
from ai_lessons.doors.cli.commands import Command
from ai_lessons.doors.terminal import is_terminal
from ai_lessons.errors import AiLessonsError

if TYPE_CHECKING:
    from datetime import datetime

    from ai_lessons.knowledge.episodes import Candidate

KEYS = {"k": "keep", "s": "skip", "n": "never", "q": "quit"}
TOLD = {"keep": "kept", "skip": "skipped", "never": "never again"}


@click.command(
    "harvest",
    cls=Command,
    examples=[
        "ai-lessons contribute harvest",
        "ai-lessons contribute harvest --since 2026-11-01 --project shop --json",
        "ai-lessons contribute harvest . --json",
    ],
)
@click.argument("folder", required=False, default="")
@click.option("--since", metavar="D", type=click.DateTime(["%Y-%m-%d"]), help="Only what happened from this day on.")
@options.project_option
@pass_call
def harvest(call: Call, folder: str, since: datetime | None, project: str | None) -> None:
    """Propose lessons from what happened in the sessions of your agents. Nothing is stored without your yes.

    FOLDER: transcripts from elsewhere. Without it, those that Claude Code, Codex, Gemini CLI, opencode and Cursor keep.
    """
    where = library.setup.where(os.environ, call.settings.cwd)
    found = library.harvest.harvest(call.library, where, folder, since=since, project=project or "")
    asked = call.can_ask and is_terminal(sys.stdout) and not call.settings.agent
    if asked and found.candidates:
        click.echo(render_lessons.searched(found))
        click.echo("\n" + asking.one_by_one(found.candidates, partial(_decide, call), TOLD))
        call.note(found.notes)
    else:
        call.answer(found, render_lessons.harvested, lambda value: value.candidates)


def _decide(call: Call, one: Candidate) -> str:
    """Show one candidate and ask until it is decided or passed over; what was chosen."""
    click.echo(render_lessons.candidate(one, call.view))
    while True:
        choice = KEYS[asking.key(", ".join(f"[{key}] {word}" for key, word in KEYS.items()), KEYS)]
        try:
            if choice == "never":
                library.harvest.decide(call.library, one, "never")
            if choice != "keep" or _keep(call, one):
                return choice
        except AiLessonsError as error:  # the person decides what to do about it
            asking.show_error(error)


def _keep(call: Call, one: Candidate) -> bool:
    """Open the draft in the editor and add what comes back; whether something did."""
    job = partial(library.harvest.keep, call.library, one, origin=call.caller)
    done = asking.until_valid(call, job)
    if done is None:
        call.note(["nothing was added"])
        return False
    click.echo(render_jobs.writes((done,), call.view), color=call.view.colour)
    call.note(done.notes)
    return True
