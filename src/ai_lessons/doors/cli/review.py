"""What a person goes through at a terminal, one after the other: proposals, stale content, candidates for lessons.

Of a proposal, what is approved is what was shown, to the commit.
"""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import suppress
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import click

from ai_lessons import library
from ai_lessons.doors import render, render_jobs, render_lessons, render_rules
from ai_lessons.doors.cli import asking, options
from ai_lessons.doors.cli.commands import Command
from ai_lessons.doors.terminal import is_terminal, line
from ai_lessons.errors import AiLessonsError, Conflict, NotFound, Refused, UsageError
from ai_lessons.knowledge.entries import Kind

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from datetime import datetime

    from ai_lessons.doors.cli.command_context import Call
    from ai_lessons.knowledge.lesson_drafts import Candidate
    from ai_lessons.library.reports import Outdated, Pending, Written
    from ai_lessons.library.review import Batch

CHOICES: asking.Choices = {
    "a": ("approve", "merge it as it was shown: it is in force"),
    "e": ("edit", "open it in your editor; you are asked about the result"),
    "r": ("reject", "turn it down with a reason, which is told to whoever suggests it again"),
    "v": ("view", "show all of it, and how it differs from what it resembles"),
    "b": ("batch", "approve this and all that wait of the same import, with one merge, after a question"),
}
TOLD = {"approve": "approved", "reject": "rejected", "skip": "skipped"}
UNSIGNED = "unsigned"
AT_ONCE = 60  # Lines of a proposal that are shown at once, also where the terminal has fewer and scrolls
NO_TERMINAL = "use pending-rules, then approve-rule ID --yes or reject-rule ID"


def refuse_agents(call: Call) -> None:
    """The library refuses too; here it is said before a person is asked anything. Raises Refused."""
    call.options().refuse_agents("decide about proposals", render_rules.REVIEW)


def run(call: Call, *, sign: bool) -> None:
    """Show all that waits for a decision or a signature and ask, until none is left or the reviewer quits."""
    refuse_agents(call)
    waiting = library.review.pending_rules(call.library, unsigned=True)
    call.note(call.library.primary.notes())
    if not waiting:
        click.echo(render_rules.NOTHING_PENDING)
        return
    if not (call.can_ask and is_terminal(sys.stdout)):
        raise UsageError("a review needs a terminal", hint=NO_TERMINAL)
    done = asking.one_by_one(waiting, partial(_decide, call, InReview(waiting, {}, set()), sign=sign), TOLD)
    click.echo("\n".join(["", done, *render_rules.left_out(waiting)]))


class InReview(NamedTuple):
    """What a review knows: all that was `waiting`, and by branch what became of it `now` (None: approved in a batch).

    `decided` are branches that no batch takes, because something was chosen for each.
    """

    waiting: Sequence[Pending]
    now: dict[str, Pending | None]
    decided: set[str]


def _decide(call: Call, known: InReview, one: Pending, *, sign: bool) -> asking.Decision:
    """Show a proposal and ask."""
    start, now, decided = one.branch, known.now, known.decided
    one = now.get(start, one) or one
    decided.discard(one.branch)
    unseen = False
    if start in now and now[start] is None:
        return asking.Decision("approve")

    def act(chosen: str, reason: str = "") -> None:
        try:
            _carry_out(call, one, chosen, reason, sign=sign)
        except Conflict:
            now[start] = _again(call, one, one.branch)
            raise

    def decision(chosen: str) -> asking.Decision | None:
        nonlocal one, unseen
        if chosen == "view" or (chosen == "approve" and unseen):
            call.say(_whole(call, known.waiting, one), paged=True)
            if chosen == "approve":
                click.echo("Not approved yet: you had not seen all of it. Press a again.", err=True)
            unseen = False
            return None
        if chosen != "approve" and one.change == UNSIGNED:
            raise UsageError(
                f"{one.handle} is on the approval branch already; without a good signature it is not in force",
                hint=f"skip it, or propose a change: ai-lessons contribute edit {one.handle}",
            )
        if chosen == "edit":
            changed = asking.until_valid(call, partial(library.review.edit_proposal, call.library, one.branch))
            one = now[start] = _again(call, one, changed.branch if changed else one.branch)
            unseen = _card(call, _whole(call, known.waiting, one), AT_ONCE)
            return None
        if chosen == "batch":
            batch = library.review.Batch(batch=one.batch, of=one.branch)
            shown = many_confirmed(call, batch, yes=False, without=decided)
            title = f"rules of import {one.batch}"
            done = library.review.approve_rules(call.library, shown, title, sign=sign)
            call.say(render_rules.approved(done, call.view))
            now.update(dict.fromkeys(shown))
            return asking.Decision("approve")
        asked = "Reason (whoever suggests it again is told)"
        reason = click.prompt(asked, default="", show_default=False, err=True) if chosen == "reject" else ""
        decided.add(one.branch)
        return asking.Decision(chosen, partial(act, chosen, reason))

    unseen = _card(call, _whole(call, known.waiting, one), AT_ONCE)
    return asking.decided({key: choice for key, choice in CHOICES.items() if key != "b" or one.batch}, decision)


def _again(call: Call, one: Pending, name: str) -> Pending:
    """The proposal as it is now; on a branch `name` here, if it was a remote's and was edited. Raises NotFound."""
    now = [other for other in library.review.pending_rules(call.library, unsigned=True) if other.branch == name]
    now = [other for other in now if other.id == one.id or other.change != UNSIGNED]
    if not now:
        raise NotFound("open proposal", name, hint="it was decided or taken back meanwhile: skip it")
    return now[0]


def _card(call: Call, text: str, least: int = 10) -> bool:
    """A text, cut to the height of the terminal, or `least` lines: `view` has the rest. True if it was cut."""
    rows = call.view.fit(text).split("\n")
    room = max(shutil.get_terminal_size().lines - 4, least)
    cut = len(rows) > room
    if cut:
        rows = [*rows[: room - 1], f"… {len(rows) - room + 1} more lines: v shows them"]
    click.echo("\n".join(["", *rows]), color=call.view.colour)
    return cut


def _whole(call: Call, waiting: Sequence[Pending], one: Pending) -> str:
    """All of the card, and how the text differs from what it is much like."""
    blocks = [render_rules.proposal(one, call.view)]
    for name in (like.partition(" ")[0] for like in one.similar):
        bodies = [other.body for other in waiting if other.handle == name]
        with suppress(AiLessonsError):  # another proposal, or gone meanwhile
            bodies = [library.browsing.show(call.library, name).body]
        for body in bodies:
            differs = library.browsing.difference(one.path, body, one.body)
            blocks.append(f"Against {line(name)}:\n{render.diff(differs, call.view)}")
    return "\n\n".join(blocks)


def _carry_out(call: Call, one: Pending, choice: str, reason: str, *, sign: bool) -> None:
    if choice == "approve":
        ref = one.id if one.change == UNSIGNED else one.branch
        done = library.review.approve_rule(call.library, ref, sign=sign, expect=one.commit)
    else:
        done = library.review.reject_rule(call.library, one.branch, reason=reason, expect=one.commit)
    word = "Approved" if choice == "approve" else "Rejected"
    click.echo(render_rules.decided(word, done, call.view), color=call.view.colour)
    call.note(done.notes)


def shown_and_confirmed(call: Call, refs: Sequence[str], *, yes: bool) -> Iterator[tuple[str, str]]:
    """Show these proposals and unsigned rules, ask once unless `yes`; names and the commits that were shown.

    Raises Refused, NotFound.
    """
    if not yes and not (call.can_ask and is_terminal(sys.stdout)):
        raise Refused("a proposal is approved by a person, who is asked on a terminal", hint=NO_TERMINAL)
    chosen = (library.review.pending_rule(call.library, ref, unsigned=True) for ref in refs)
    if not yes:
        every = list(chosen)
        _agree(call, [], every, f"Approve {', '.join(one.handle for one in every)}?")
        chosen = (one for one in every)
    for one in chosen:
        if yes:
            _show(call, [one])
        yield one.id if one.change == UNSIGNED else one.branch, one.commit


def _show(call: Call, chosen: Sequence[Pending]) -> None:
    """Show what is about to be approved; with `--json` on stderr."""
    text = "\n\n".join(render_rules.proposal(one, call.view) for one in chosen)
    if call.json:
        click.echo(text, err=True)
    else:
        call.say(call.view.fit(text) + "\n")


def many_confirmed(call: Call, batch: Batch, *, yes: bool, without: Collection[str] = ()) -> dict[str, str]:
    """The commits of a batch by branch: each was shown and, unless `yes`, a table before, and one question asked.

    `without`: branches that are left out.

    Raises Refused: no terminal, or not approved. NotFound: nothing of the batch waits.
    """
    if not yes and not (call.can_ask and is_terminal(sys.stdout)):
        raise Refused("proposals are approved by a person, who is asked on a terminal", hint=NO_TERMINAL)
    waiting = [one for one in library.review.pending_rules(call.library, batch) if one.branch not in without]
    if not waiting:
        asked = batch.project or batch.batch or " ".join(batch.globs)
        raise NotFound("open proposal of a rule", asked, hint="see what waits: ai-lessons admin pending-rules")
    if yes:
        _show(call, waiting)
    else:
        _agree(call, [render_rules.pending(waiting, call.view)], waiting, f"Approve all {len(waiting)} with one merge?")
    return {one.branch: one.commit for one in waiting}


def _agree(call: Call, first: list[str], chosen: Sequence[Pending], question: str) -> None:
    """Show proposals whole, many of them below a table that comes `first`, and ask once. Raises Refused."""
    call.say("\n\n".join([*first, *(render_rules.proposal(one, call.view) for one in chosen)]), paged=bool(first))
    if not asking.confirm(f"\n{question}"):
        raise Refused("not approved; nothing was changed")


# --- content that may have gone stale ---

STALE_CHOICES: asking.Choices = {
    "k": ("keep", "it holds: you are asked again in half a year"),
    "e": ("edit", "open it in your editor"),
    "n": ("supersede", "name what takes its place"),
    "w": ("wrong", "it does not hold: it leaves all results, and its file stays"),
    "v": ("view", "show all of it"),
}
STALE_TOLD = {"keep": "kept", "edit": "edited", "supersede": "superseded", "wrong": "marked wrong", "skip": "skipped"}


@click.command("review", cls=Command, examples=["", "--list", "--keep L-8F3K2A"])
@click.option("--list", "only_list", is_flag=True, help="List it; on a terminal, too.")
@click.option(
    "--keep", "kept", metavar="ID", help="This one holds: ask again in half a year.", shell_complete=options.offer("id")
)
def stale(call: Call, only_list: bool, kept: str | None) -> None:
    """Go through what may have gone stale, at a terminal with one key each; elsewhere list it."""
    if kept:
        call.answer((library.editing.keep(call.library, kept),), render_jobs.writes)
        return
    found = library.validating.review(call.library)
    asked = call.can_ask and is_terminal(sys.stdout) and not call.settings.agent
    if only_list or not asked or not found:
        call.answer(found, render_jobs.outdated, paged=True)
        return
    entries = [list(several) for _, several in groupby(found, key=lambda one: one.entry.id)]
    click.echo("\n" + asking.one_by_one(entries, partial(_decide_about, call), STALE_TOLD))


def _decide_about(call: Call, several: Sequence[Outdated]) -> asking.Decision:
    """Show one entry and ask."""
    entry = several[0].entry
    why = [call.view.paint(f"! {line(one.detail)}", "warn") for one in several]
    whole = render.shown(library.browsing.show(call.library, entry.id), call.view)
    _card(call, "\n".join([*why, "", whole]))
    missing = set() if entry.kind is Kind.LESSON else {"wrong"}
    missing |= {"supersede"} if entry.kind is Kind.RULE else set()  # a rule gives way by a proposal alone
    offered = {key: choice for key, choice in STALE_CHOICES.items() if choice[0] not in missing}
    return asking.decided(offered, partial(_settled, call, several[0], whole))


def _settled(call: Call, one: Outdated, whole: str, chosen: str) -> asking.Decision | None:
    """What was chosen, with all that is to be asked about it; an edit is done at once."""
    entry = one.entry
    if chosen == "view":
        call.say(call.view.fit(whole), paged=True)
        return None
    if chosen == "edit":
        edited = asking.until_valid(call, partial(library.editing.edit, call.library, entry.id))
        call.note(edited.notes if edited else ())
        return asking.Decision(chosen) if edited else None
    if chosen == "keep":
        act = partial(library.editing.keep, call.library, entry.id)
    elif chosen == "wrong":
        reason = click.prompt("Why is it wrong", default="", show_default=False, err=True)
        act = partial(library.lessons.wrong, call.library, entry.id, reason, by=call.caller)
    else:
        newer = click.prompt("ID of what takes its place", err=True)
        newer = library.browsing.show(call.library, newer).entry.id  # what is unknown is told of now
        act = partial(library.editing.link, call.library, newer, entry.id, "supersedes")
    return asking.Decision(chosen, lambda: call.note(act().notes))


# --- lessons that transcripts of agents suggest ---

HARVEST_CHOICES: asking.Choices = {
    "k": ("keep", "open the draft in your editor, and add what comes back"),
    "n": ("never", "do not propose it again"),
}
HARVEST_TOLD = {"keep": "kept", "skip": "skipped", "never": "never again"}


@click.command("harvest", cls=Command, examples=["", "--since 2026-11-01 --project shop --json", ". --keep all --yes"])
@click.argument("folder", required=False, default="")
@click.option("--since", metavar="D", type=click.DateTime(["%Y-%m-%d"]), help="Only what happened from this day on.")
@options.project_option
@options.several("--keep", "keep", metavar="all|ID", text="Add these drafts as they are; for people only;")
@click.option("--yes", is_flag=True, help="Do not ask; needed where there is no terminal.")
def harvest(
    call: Call, folder: str, since: datetime | None, project: str | None, keep: tuple[str, ...], yes: bool
) -> None:
    """Propose lessons from what happened in the sessions of your agents. Nothing is stored without your yes.

    FOLDER: transcripts from elsewhere. Without it, those that Claude Code, Codex, Gemini CLI, opencode and Cursor keep.
    """
    where = library.setup.where(os.environ, call.settings.cwd)
    found = library.harvest.harvest(call.library, where, folder, since=since, project=project or "")
    if keep:
        if not yes and not (call.can_ask and click.confirm(f"Add {', '.join(keep)}?", err=True)):
            raise Refused("drafts are added only after a yes", hint="ask on a terminal, or say --yes")
        call.answer(library.harvest.keep_these(call.library, found, keep, call.caller), render_jobs.writes)
        call.note(found.notes)
        return
    asked = call.can_ask and is_terminal(sys.stdout) and not call.settings.agent
    if asked and found.candidates:
        click.echo(render_lessons.held(found))
        click.echo("\n" + asking.one_by_one(found.candidates, partial(_decide_on, call), HARVEST_TOLD))
        call.note(found.notes)
    else:
        call.answer(found, render_lessons.harvested, lambda value: value.candidates)


def _decide_on(call: Call, one: Candidate) -> asking.Decision:
    """Show one candidate and ask."""

    def decision(chosen: str) -> asking.Decision | None:
        if chosen == "never":
            return asking.Decision(chosen, partial(library.harvest.decide, call.library, one, "never"))

        def job(edit: asking.Edits) -> Written | None:
            return library.harvest.keep(call.library, one, call.caller, edit)

        if done := asking.until_valid(call, job, "nothing was added"):
            click.echo(render_jobs.writes((done,), call.view), color=call.view.colour)
            call.note(done.notes)
        return asking.Decision(chosen) if done else None

    click.echo(render_lessons.candidate(one, call.view))
    return asking.decided(HARVEST_CHOICES, decision)
