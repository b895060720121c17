"""The commands `contribute harvest` and `recall replay`."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ai_lessons import settings
from ai_lessons.errors import Refused, UsageError
from ai_lessons.features.harvest import jobs, texts
from ai_lessons.interfaces import text_jobs, text_proposals
from ai_lessons.interfaces.cli import options
from ai_lessons.interfaces.cli.command import Command
from ai_lessons.interfaces.cli.key_choices import choose, decide_each, person_reviews

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from ai_lessons.app.written import Written
    from ai_lessons.features.harvest.drafts import HarvestedLesson
    from ai_lessons.interfaces.cli import text_input
    from ai_lessons.interfaces.cli.call import Call
    from ai_lessons.interfaces.cli.key_choices import Choices
    from ai_lessons.interfaces.output import View

CHOICES: Choices = {
    "k": ("keep", "open the draft in your editor, and add what comes back"),
    "n": ("never", "do not propose it again"),
}
PAST = {"keep": "kept", "skip": "skipped", "never": "never again"}


class _Shown(NamedTuple):
    """What was harvested, what prints all of it, and what only how much was read."""

    harvested: jobs.Harvested
    whole: Callable[[Any, View], str]
    head: Callable[[Any], str]


@click.command(
    "harvest",
    cls=Command,
    examples=[
        "",
        "--since 2026-11-01 --project shop --json",
        ". --keep all --yes",
        "--from ~/code/shop --propose all",
        "--from-reviews --from you/shop --propose all",
    ],
)
@click.argument("paths", metavar="[FOLDER|FILE...]", nargs=-1, type=options.FILE_NAME)
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
    "--from-reviews",
    is_flag=True,
    help="Read what reviewers said in merged pull requests, through gh or glab.",
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
    call: Call,
    paths: tuple[str, ...],
    keep: tuple[str, ...],
    yes: bool,
    propose: tuple[str, ...],
    for_agent: bool,
    **source: Any,
) -> None:
    """Propose lessons from what happened in the sessions of your agents.

    Nothing is stored without your yes.

    What is listed is sure: what you corrected, or said in two sessions; what worked in place of a
    command that failed.
    FOLDER: transcripts from elsewhere. Without it, those that Claude Code, Codex, Gemini CLI,
    opencode and Cursor keep.

    --from-reviews: what reviewers said in several pull requests of --from (a folder, or you/shop).
    FILE: what gh or glab printed, in place of asking them.
    """
    # an id names a draft that is not sure, too
    every = for_agent or bool(propose or keep)
    harvested, whole, head = _harvested(call, paths, every=every, **source)
    if propose:
        call.answer(jobs.propose(call.library, harvested, propose), text_proposals.proposed)
        call.note(harvested.notes)
    elif keep:
        _keep(call, harvested, keep, yes=yes)
    elif for_agent:
        call.answer(harvested, texts.for_agent, _candidates)
    elif harvested.candidates and person_reviews(call):
        click.echo(head(harvested))
        counts = decide_each(harvested.candidates, partial(_decide_on, call), PAST)
        click.echo(f"\n{counts}")
        call.note(harvested.notes)
    else:
        call.answer(harvested, whole, _candidates)


def _harvested(
    call: Call,
    paths: tuple[str, ...],
    *,
    every: bool,
    since: datetime | None,
    project: str | None,
    team: str | None,
    ref: str,
    from_reviews: bool,
) -> _Shown:
    """What was harvested, as it is shown. Raises UsageError."""
    if from_reviews and (ref or (team and paths)):
        raise UsageError(
            "reviews are read from a forge or from files",
            hint="--from-reviews --from REPO, or FILE",
        )
    if not from_reviews and (len(paths) > 1 or (team and paths)):
        raise UsageError(
            "transcripts are read from a folder or from git, not both",
            hint="--from REPO without FOLDER",
        )
    if from_reviews:
        # sessions are harvested without a forge
        from ai_lessons.features.harvest import from_reviews as reviews

        source = reviews.ReviewSource(paths, team or "", since)
        harvested = reviews.harvest(call.library, source, project=project or "", every=every)
        return _Shown(harvested, texts.reviewed, texts.read)
    where = settings.where(os.environ, call.settings.cwd)
    folder = paths[0] if paths else ""
    sessions = jobs.harvest(
        call.library,
        where,
        jobs.Source(folder, team or "", ref, since),
        project=project or "",
        every=every,
    )
    return _Shown(sessions, texts.harvested, texts.held)


def _candidates(harvested: jobs.Harvested) -> tuple[HarvestedLesson, ...]:
    """What `--json` prints."""
    return harvested.candidates


def _keep(call: Call, harvested: jobs.Harvested, names: tuple[str, ...], *, yes: bool) -> None:
    """Add the drafts of these names, after a question unless `yes`. Raises Refused."""
    if not yes:
        agreed = call.can_ask and click.confirm(f"Add {', '.join(names)}?", err=True)
        if not agreed:
            hint = "ask on a terminal, or say --yes"
            raise Refused("drafts are added only after a yes", hint=hint)
    written = jobs.keep_these(call.library, harvested, names, call.caller)
    call.answer(written, text_jobs.writes)
    call.note(harvested.notes)


def _decide_on(call: Call, candidate: HarvestedLesson) -> str:
    """Show a candidate, ask, and do what was chosen; return the choice."""

    def keep(edit: text_input.Edits) -> Written | None:
        return jobs.keep(call.library, candidate, call.caller, edit)

    def act(choice: str) -> bool:
        if choice == "never":
            jobs.decide(call.library, candidate, "never")
            return True
        written = call.edit_until_valid(keep, "nothing was added")
        if written is None:
            return False
        click.echo(text_jobs.writes((written,), call.view), color=call.view.colour)
        call.note(written.notes)
        return True

    click.echo(texts.candidate(candidate, call.view))
    return choose(CHOICES, act)


@click.command("replay", cls=Command, examples=["", "--since 2026-11-01", ". --json"])
@click.argument("folder", required=False, default="")
@click.option(
    "--since",
    metavar="D",
    type=click.DateTime(["%Y-%m-%d"]),
    help="Only sessions from this day on.",
)
def replay(call: Call, folder: str, since: datetime | None) -> None:
    """Show what the stored entries would have changed in past sessions of your agents.

    Warned, helped, not helped.

    FOLDER: transcripts from elsewhere. Without it, those that your agent hosts keep. Nothing is
    written.
    """
    # a harvest plays nothing again
    from ai_lessons.features.harvest import replay as played

    where = settings.where(os.environ, call.settings.cwd)
    call.answer(played.replay(call.library, where, folder, since=since), texts.replayed)
