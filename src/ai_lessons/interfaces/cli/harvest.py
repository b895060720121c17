"""The command `contribute harvest`: lessons that transcripts of agents suggest."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

import click

from ai_lessons import app, settings
from ai_lessons.errors import Refused, UsageError
from ai_lessons.interfaces import text as interfaces_text
from ai_lessons.interfaces import text_jobs
from ai_lessons.interfaces.cli import options
from ai_lessons.interfaces.cli.command import Command
from ai_lessons.interfaces.cli.key_choices import choose, decide_each, person_reviews

if TYPE_CHECKING:
    from datetime import datetime

    from ai_lessons.app.answers import Written
    from ai_lessons.app.harvest_drafts import HarvestedLesson
    from ai_lessons.interfaces.cli import text_input
    from ai_lessons.interfaces.cli.call import Call
    from ai_lessons.interfaces.cli.key_choices import Choices

HARVEST_CHOICES: Choices = {
    "k": ("keep", "open the draft in your editor, and add what comes back"),
    "n": ("never", "do not propose it again"),
}
HARVEST_PAST = {"keep": "kept", "skip": "skipped", "never": "never again"}


@click.command(
    "harvest",
    cls=Command,
    examples=[
        "",
        "--since 2026-11-01 --project shop --json",
        ". --keep all --yes",
        "--from ~/code/shop --propose all",
    ],
)
@click.argument("folder", required=False, default="")
@click.option(
    "--since",
    metavar="D",
    type=click.DateTime(["%Y-%m-%d"]),
    help="Only what happened from this day on.",
)
@options.project_option
@options.several(
    "--keep", "keep", metavar="all|ID", text="Add these drafts as they are; for people only;"
)
@click.option("--yes", is_flag=True, help="Do not ask; needed where there is no terminal.")
@click.option(
    "--from",
    "team",
    metavar="REPO",
    help="Read the sessions that a team keeps in the git of its code.",
)
@click.option(
    "--ref",
    default="",
    help="Where in it: a branch, a ref, or all below a name; else where Entire does.",
)
@options.several(
    "--propose",
    "propose",
    metavar="all|ID",
    text="Propose these statements as rules; all: said twice;",
)
@click.option(
    "--for-agent", is_flag=True, help="All that may hold, the sure marked, for an agent to judge."
)
def harvest(
    call: Call, folder: str, since: datetime | None, project: str | None, keep: tuple[str, ...], yes: bool,
    team: str | None, ref: str, propose: tuple[str, ...], for_agent: bool,
) -> None:  # fmt: skip
    """Propose lessons from what happened in the sessions of your agents.

    Nothing is stored without your yes.

    What is listed is sure: what you corrected, or said in two sessions; what worked in place of a
    command that failed.
    FOLDER: transcripts from elsewhere. Without it, those that Claude Code, Codex, Gemini CLI,
    opencode and Cursor keep.
    """
    if team and folder:
        raise UsageError(
            "transcripts are read from a folder or from git, not both",
            hint="--from REPO without FOLDER",
        )
    where, only = settings.where(os.environ, call.settings.cwd), project or ""
    # an id names a draft that is not sure, too
    every = for_agent or bool(propose or keep)
    harvested = app.harvest.harvest(
        call.library,
        where,
        folder,
        since=since,
        project=only,
        team=team or "",
        ref=ref,
        every=every,
    )
    if propose:
        call.answer(app.harvest.propose(call.library, harvested, propose), text_jobs.proposed)
        call.note(harvested.notes)
    elif keep:
        if not yes and not (call.can_ask and click.confirm(f"Add {', '.join(keep)}?", err=True)):
            raise Refused(
                "drafts are added only after a yes", hint="ask on a terminal, or say --yes"
            )
        call.answer(
            app.harvest.keep_these(call.library, harvested, keep, call.caller), text_jobs.writes
        )
        call.note(harvested.notes)
    elif harvested.candidates and not for_agent and person_reviews(call):
        click.echo(interfaces_text.held(harvested))
        click.echo(
            "\n" + decide_each(harvested.candidates, partial(_decide_on, call), HARVEST_PAST)
        )
        call.note(harvested.notes)
    else:
        if for_agent:
            text = interfaces_text.for_agent
        else:
            text = interfaces_text.harvested
        call.answer(harvested, text, lambda value: value.candidates)


def _decide_on(call: Call, candidate: HarvestedLesson) -> str:
    """Show a candidate, ask, and do what was chosen; return the choice."""

    def act(choice: str) -> bool:
        if choice == "never":
            app.harvest.decide(call.library, candidate, "never")
            return True

        def job(edit: text_input.Edits) -> Written | None:
            return app.harvest.keep(call.library, candidate, call.caller, edit)

        if written := call.edit_until_valid(job, "nothing was added"):
            click.echo(text_jobs.writes((written,), call.view), color=call.view.colour)
            call.note(written.notes)
        return written is not None

    click.echo(interfaces_text.candidate(candidate, call.view))
    return choose(HARVEST_CHOICES, act)
