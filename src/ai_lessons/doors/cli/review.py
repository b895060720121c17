"""What a person goes through at a terminal, one after the other: proposals, stale content, candidates for lessons.

Of a proposal, what is approved is what was shown, to the commit.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING

import click

from ai_lessons import library
from ai_lessons.doors import render, render_jobs, render_lessons, render_rules
from ai_lessons.doors.cli import asking, options
from ai_lessons.doors.cli.commands import Command
from ai_lessons.doors.terminal import is_terminal, line
from ai_lessons.errors import Conflict, NotFound, Refused, UsageError
from ai_lessons.knowledge.entries import Kind, id_end
from ai_lessons.library.reports import LessonDraft

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from ai_lessons.doors.cli.command_context import Call
    from ai_lessons.knowledge.episodes import Candidate
    from ai_lessons.library.reports import Outdated, Pending
    from ai_lessons.library.review import Batch

CHOICES = {"a": "approve", "e": "edit", "r": "reject", "s": "skip", "q": "quit"}
QUESTION = ", ".join(f"[{key}]{word[1:]}" for key, word in CHOICES.items())
TOLD = {"approve": "approved", "reject": "rejected", "skip": "skipped"}
UNSIGNED = "unsigned"
NO_TERMINAL = "use pending-rules, then approve-rule ID --yes or reject-rule ID"


def refuse_agents(call: Call) -> None:
    """The library refuses too; here it is said before a person is asked anything. Raises Refused."""
    call.options().refuse_agents("decide about proposals", render_rules.REVIEW)


def run(call: Call, *, sign: bool) -> None:
    """Show all that waits for a decision or a signature and ask, until none is left or the reviewer quits."""
    refuse_agents(call)
    waiting = library.review.pending_rules(call.library, unsigned=True)
    if not waiting:
        click.echo(render_rules.NOTHING_PENDING)
        return
    if not (call.can_ask and is_terminal(sys.stdout)):
        raise UsageError("a review needs a terminal", hint=NO_TERMINAL)
    done = asking.one_by_one(waiting, partial(_decide, call, sign=sign), TOLD)
    click.echo("\n".join(["", done, *render_rules.left_out(waiting)]))


def _decide(call: Call, one: Pending, *, sign: bool) -> str:
    """Show a proposal and ask until it is decided or passed over; what was chosen."""

    def carried_out(choice: str) -> bool:
        nonlocal one
        name = one.branch
        if choice != "approve" and one.change == UNSIGNED:
            raise UsageError(
                f"{one.handle} is on the approval branch already; without signatures it is not in force",
                hint=f"skip it, or propose a change: ai-lessons contribute edit {one.handle}",
            )
        if choice == "edit":
            changed = asking.until_valid(call, partial(library.review.edit_proposal, call.library, one.branch))
            name = changed.branch if changed else name  # on a branch here, if the proposal was a remote's
        else:
            try:
                _carry_out(call, one, choice, sign=sign)
            except Conflict as conflict:
                asking.show_error(conflict)
            else:
                return True
        now = [other for other in library.review.pending_rules(call.library, unsigned=True) if other.branch == name]
        now = [other for other in now if other.id == one.id or other.change != UNSIGNED]
        if not now:
            raise NotFound("open proposal", name, hint="it was decided or taken back meanwhile: skip it")
        one = now[0]
        _show(call, one)
        return False

    _show(call, one)
    return asking.until_decided(lambda: CHOICES[asking.choice(QUESTION, CHOICES)], carried_out)


def _show(call: Call, one: Pending) -> None:
    click.echo("\n" + render_rules.proposal(one, call.view), color=call.view.colour)


def _carry_out(call: Call, one: Pending, choice: str, *, sign: bool) -> None:
    if choice == "approve":
        standing = one.change == UNSIGNED
        ref, sign = one.id if standing else one.branch, sign or standing
        done = library.review.approve_rule(call.library, ref, sign=sign, expect=one.commit)
    else:
        reason = click.prompt("Reason (whoever suggests it again is told)", default="", show_default=False, err=True)
        done = library.review.reject_rule(call.library, one.branch, reason=reason, expect=one.commit)
    word = "Approved" if choice == "approve" else "Rejected"
    click.echo(render_rules.decided(word, done, call.view), color=call.view.colour)
    call.note(done.notes)


def shown_and_confirmed(call: Call, refs: Sequence[str], *, sign: bool = False) -> tuple[tuple[str, str], ...]:
    """Show these proposals (`sign`: unsigned rules, too), ask once; names and commits. Raises Refused, NotFound."""
    if not (call.can_ask and is_terminal(sys.stdout)):
        raise Refused("a proposal is approved by a person, who is asked on a terminal", hint=NO_TERMINAL)
    waiting = library.review.pending_rules(call.library, unsigned=sign)
    chosen = []
    for ref in refs:
        end = id_end(ref)
        found = [one for one in waiting if ref in {one.branch, one.path}]
        found = found or [one for one in waiting if len(end) >= 4 and one.id.endswith(end)]
        if len(found) != 1:
            known = [one.branch for one in found or waiting]
            raise NotFound("single open proposal", ref, suggestions=known[:5])
        chosen += found
    for one in chosen:
        _show(call, one)
    if not asking.confirm(f"\nApprove {', '.join(one.handle for one in chosen)}?"):
        raise Refused("not approved; nothing was changed")
    return tuple((one.id if one.change == UNSIGNED else one.branch, one.commit) for one in chosen)


def many_confirmed(call: Call, batch: Batch, *, yes: bool) -> dict[str, str]:
    """The commits of a batch by branch; unless `yes`, a table and each of them was shown, and one question asked.

    Raises Refused: no terminal, or not approved. NotFound: nothing of the batch waits.
    """
    if not yes and not (call.can_ask and is_terminal(sys.stdout)):
        raise Refused("proposals are approved by a person, who is asked on a terminal", hint=NO_TERMINAL)
    waiting = library.review.pending_rules(call.library, batch)
    if not waiting:
        asked = batch.project or batch.batch or " ".join(batch.globs)
        raise NotFound("open proposal of a rule", asked, hint="see what waits: ai-lessons admin pending-rules")
    if not yes:
        cards = [render_rules.proposal(one, call.view) for one in waiting]
        call.say("\n\n".join([render_rules.pending(waiting, call.view), *cards]), paged=True)
        if not asking.confirm(f"\nApprove all {len(waiting)} with one merge?"):
            raise Refused("not approved; nothing was changed")
    return {one.branch: one.commit for one in waiting}


# --- content that may have gone stale ---

STALE_CHOICES = {
    "k": "keep", "e": "edit", "u": "supersede", "w": "wrong", "r": "refresh", "s": "skip", "q": "quit",
}  # fmt: skip
STALE_TOLD = {
    "keep": "kept", "edit": "edited", "supersede": "superseded", "wrong": "marked wrong", "refresh": "refreshed",
    "skip": "skipped",
}  # fmt: skip
NOW_WRITE = "What holds now. It takes the place of the old one; save nothing to leave that as it is."


@click.command(
    "review",
    cls=Command,
    examples=[
        "ai-lessons admin review",
        "ai-lessons admin review --list --injections 25",
        "ai-lessons admin review --keep L-8F3K2A",
    ],
)
@click.option("--list", "only_list", is_flag=True, help="List it; on a terminal, too.")
@click.option(
    "--keep", "kept", metavar="ID", help="This one holds: ask again in half a year.", shell_complete=options.offer("id")
)
@click.option(
    "--injections", metavar="N", type=click.IntRange(1), default=10, show_default=True,
    help="Ask about lessons that were shown so often and never helped.",
)  # fmt: skip
def stale(call: Call, only_list: bool, kept: str | None, injections: int) -> None:
    """Go through what may have gone stale, at a terminal with one key each; elsewhere list it."""
    if kept:
        call.answer((library.editing.keep(call.library, kept),), render_jobs.writes)
        return
    found = library.validating.review(call.library, injections)
    asked = call.can_ask and is_terminal(sys.stdout) and not call.settings.agent
    if only_list or not asked or not found:
        call.answer(found, render_jobs.outdated, paged=True)
        return
    entries = [list(several) for _, several in groupby(found, key=lambda one: one.entry.id)]
    click.echo("\n" + asking.one_by_one(entries, partial(_decide_about, call), STALE_TOLD))


def _decide_about(call: Call, several: Sequence[Outdated]) -> str:
    """Ask until one entry is decided or passed over; what was chosen."""
    entry = several[0].entry
    click.echo(render.shown(library.browsing.show(call.library, entry.id), call.view), color=call.view.colour)
    for one in several:
        click.echo(call.view.paint(f"! {line(one.detail)}", "warn"), color=call.view.colour)
    missing = set() if entry.kind is Kind.LESSON else {"wrong"}
    missing |= {"supersede"} if entry.kind is Kind.RULE else set()  # a rule gives way by a proposal alone
    if entry.kind is not Kind.DOC or not any(one.reason == "source" for one in several):
        missing.add("refresh")
    offered = {key: word for key, word in STALE_CHOICES.items() if word not in missing}
    question = ", ".join(f"[{key}] {word}" for key, word in offered.items())
    return asking.until_decided(
        lambda: offered[asking.choice(question, offered)], lambda choice: _settled(call, several[0], choice)
    )


def _settled(call: Call, one: Outdated, choice: str) -> bool:
    """Do it; whether something was done."""
    entry = one.entry
    if choice == "keep":
        done = library.editing.keep(call.library, entry.id)
    elif choice == "edit":
        edited = asking.until_valid(call, partial(library.editing.edit, call.library, entry.id))
        if edited is None:
            return False
        done = edited
    elif choice == "wrong":
        reason = click.prompt("Why is it wrong", default="", show_default=False, err=True)
        library.lesson_writing.wrong(call.library, entry.id, reason, by=call.caller)
        return True
    elif choice == "refresh":
        for note in (again.warning for again in library.refreshing.refresh(call.library, [entry.id]) if again.warning):
            call.note([note])
        return True
    else:
        return _supersede(call, one)
    call.note(done.notes)
    return True


def _supersede(call: Call, one: Outdated) -> bool:
    """Link what takes its place, or write it now."""
    entry = one.entry
    lesson = entry.kind is Kind.LESSON
    question = "ID of what takes its place" + (" (nothing: write it now)" if lesson else "")
    newer = click.prompt(question, default="" if lesson else None, show_default=False, err=True)
    if newer:
        call.note(library.editing.link(call.library, newer, entry.id, "supersedes").notes)
        return True
    title = click.prompt("Title", err=True)
    content = asking.write_new(NOW_WRITE)
    if not content:
        raise UsageError("nothing was written", hint="the old one stands")
    draft = LessonDraft(title, content, entry.tags, entry.project, links=[("supersedes", entry.id)])
    done = library.editing.add_lesson(call.library, draft)
    click.echo(render_jobs.writes((done,), call.view), color=call.view.colour)
    call.note(done.notes)
    return True


# --- lessons that transcripts of agents suggest ---

KEYS = {"k": "keep", "s": "skip", "n": "never", "q": "quit"}
HARVEST_TOLD = {"keep": "kept", "skip": "skipped", "never": "never again"}


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
def harvest(call: Call, folder: str, since: datetime | None, project: str | None) -> None:
    """Propose lessons from what happened in the sessions of your agents. Nothing is stored without your yes.

    FOLDER: transcripts from elsewhere. Without it, those that Claude Code, Codex, Gemini CLI, opencode and Cursor keep.
    """
    where = library.setup.where(os.environ, call.settings.cwd)
    found = library.harvest.harvest(call.library, where, folder, since=since, project=project or "")
    asked = call.can_ask and is_terminal(sys.stdout) and not call.settings.agent
    if asked and found.candidates:
        click.echo(render_lessons.searched(found))
        click.echo("\n" + asking.one_by_one(found.candidates, partial(_decide_on, call), HARVEST_TOLD))
        call.note(found.notes)
    else:
        call.answer(found, render_lessons.harvested, lambda value: value.candidates)


def _decide_on(call: Call, one: Candidate) -> str:
    """Show one candidate and ask until it is decided or passed over; what was chosen."""
    click.echo(render_lessons.candidate(one, call.view))
    question = ", ".join(f"[{key}] {word}" for key, word in KEYS.items())

    def carried_out(choice: str) -> bool:
        if choice == "never":
            library.harvest.decide(call.library, one, "never")
        return choice == "never" or _keep(call, one)

    return asking.until_decided(lambda: KEYS[asking.key(question, KEYS)], carried_out)


def _keep(call: Call, one: Candidate) -> bool:
    """Open the draft in the editor and add what comes back; whether something did."""
    job = partial(library.harvest.keep, call.library, one, origin=call.caller)
    done = asking.until_valid(call, job, "nothing was added")
    if done is None:
        return False
    click.echo(render_jobs.writes((done,), call.view), color=call.view.colour)
    call.note(done.notes)
    return True
