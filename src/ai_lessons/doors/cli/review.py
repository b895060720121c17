"""Reviews at a terminal: proposals, stale content, candidates for lessons. What is approved is the commit shown."""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import suppress
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING

import click

from ai_lessons import library
from ai_lessons.doors import render, render_jobs, render_lessons, render_rules
from ai_lessons.doors.cli import asking, options
from ai_lessons.doors.cli.commands import Command
from ai_lessons.doors.terminal import is_terminal, line
from ai_lessons.errors import AiLessonsError, Conflict, NotFound, Refused, UsageError
from ai_lessons.knowledge.entries import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

    from ai_lessons.doors.cli.command_context import Call
    from ai_lessons.knowledge.lesson_drafts import Candidate
    from ai_lessons.library.reports import Outdated, Pending, Written
    from ai_lessons.library.review import Batch

CHOICES: asking.Choices = {
    "a": ("approve", "merge it as it was shown: it is in force"),
    "e": ("edit", "open it in your editor; you are asked about the result"),
    "r": ("reject", "turn it down with a reason, which is shown when it is suggested again"),
    "v": ("view", "show all of it, and how it differs from what it resembles"),
    "b": ("batch", "approve this and all that wait of the same import, with one merge, after a question"),
}
PAST = {"approve": "approved", "reject": "rejected", "skip": "skipped"}
UNSIGNED = "unsigned"
AT_ONCE = 60  # Lines of a proposal that are shown at once, also where the terminal has fewer and scrolls
NO_TERMINAL = "use pending-rules, then approve-rule ID --yes or reject-rule ID"


def refuse_agents(call: Call) -> None:
    """Refuse an agent before anything is shown; the library refuses, too. Raises Refused."""
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
    summary = asking.decide_each(waiting, Review(call, waiting, sign=sign).decide, PAST)
    click.echo("\n".join(["", summary, *render_rules.left_out(waiting)]))


class Review:
    """A review at a terminal of the proposals that were `waiting` when it began."""

    def __init__(self, call: Call, waiting: Sequence[Pending], *, sign: bool) -> None:
        self.call, self.waiting, self.sign = call, waiting, sign
        self.in_batch: set[str] = set()  # branches that were approved together with another one

    def decide(self, proposal: Pending) -> str:
        """Show a proposal, ask, and do what was chosen; return the choice."""
        if proposal.branch in self.in_batch:
            return "approve"
        call, cut = self.call, False

        def show() -> None:
            nonlocal cut
            cut = _card(call, _whole(call, self.waiting, proposal), AT_ONCE)

        def act(choice: str) -> bool:
            nonlocal proposal, cut
            if choice == "view" or (choice == "approve" and cut):
                call.say(_whole(call, self.waiting, proposal), paged=True)
                if choice == "approve":
                    click.echo("Not approved yet: you had not seen all of it. Press a again.", err=True)
                cut = False
                return False
            if choice != "approve" and proposal.change == UNSIGNED:
                raise UsageError(
                    f"{proposal.handle} is on the approval branch already; without a good signature it is not in force",
                    hint=f"skip it, or propose a change: ai-lessons contribute edit {proposal.handle}",
                )
            if choice == "edit":
                edited = call.edit_until_valid(partial(library.review.edit_proposal, call.library, proposal.branch))
                proposal = _reread(call, proposal, edited.branch if edited else proposal.branch)
                show()
                return False
            if choice == "batch":
                commits = many_confirmed(
                    call, library.review.Batch(batch=proposal.batch, of=proposal.branch), yes=False
                )
                title = f"rules of import {proposal.batch}"
                merged = library.review.approve_rules(call.library, commits, title, sign=self.sign)
                call.say(render_rules.approved(merged, call.view))
                self.in_batch.update(commits)
                return True
            try:
                self._carry_out(proposal, choice)
            except Conflict as error:
                proposal = _reread(call, proposal, proposal.branch)
                asking.show_error(error)
                show()
                return False
            return True

        show()
        choices = {key: choice for key, choice in CHOICES.items() if key != "b" or proposal.batch}
        choice = asking.choose(choices, act)
        return "approve" if choice == "batch" else choice

    def _carry_out(self, proposal: Pending, choice: str) -> None:
        """Approve or reject what was shown. Raises Conflict: it was changed meanwhile."""
        call = self.call
        if choice == "approve":
            ref = proposal.id if proposal.change == UNSIGNED else proposal.branch
            decided = library.review.approve_rule(call.library, ref, sign=self.sign, expect=proposal.commit)
        else:
            question = "Reason (shown when it is suggested again)"
            reason = click.prompt(question, default="", show_default=False, err=True)
            decided = library.review.reject_rule(call.library, proposal.branch, reason=reason, expect=proposal.commit)
        word = "Approved" if choice == "approve" else "Rejected"
        click.echo(render_rules.decided(word, decided, call.view), color=call.view.colour)
        call.note(decided.notes)


def _reread(call: Call, proposal: Pending, branch: str) -> Pending:
    """The proposal as it is now, on a local `branch` if it was a remote's and was edited. Raises NotFound."""
    for waiting in library.review.pending_rules(call.library, unsigned=True):
        if waiting.branch == branch and (waiting.id == proposal.id or waiting.change != UNSIGNED):
            return waiting
    raise NotFound("open proposal", branch, hint="it was decided or withdrawn meanwhile: skip it")


def _card(call: Call, text: str, least: int = 10) -> bool:
    """Print a text, cut to the height of the terminal, at least `least` lines. True if it was cut."""
    rows = call.view.fit(text).split("\n")
    room = max(shutil.get_terminal_size().lines - 4, least)
    cut = len(rows) > room
    if cut:
        rows = [*rows[: room - 1], f"… {len(rows) - room + 1} more lines: v shows them"]
    click.echo("\n".join(["", *rows]), color=call.view.colour)
    return cut


def _whole(call: Call, waiting: Sequence[Pending], proposal: Pending) -> str:
    """A proposal in full, and how its text differs from the entries that it resembles."""
    blocks = [render_rules.proposal(proposal, call.view)]
    for name in (similar.partition(" ")[0] for similar in proposal.similar):
        bodies = [other.body for other in waiting if other.handle == name]
        with suppress(AiLessonsError):  # another proposal, or deleted meanwhile
            bodies = [library.browsing.show(call.library, name).body]
        for body in bodies:
            difference = library.browsing.difference(proposal.path, body, proposal.body)
            blocks.append(f"Against {line(name)}:\n{render.diff(difference, call.view)}")
    return "\n\n".join(blocks)


def shown_and_confirmed(call: Call, refs: Sequence[str], *, yes: bool) -> Iterator[tuple[str, str]]:
    """Show these proposals and unsigned rules, ask once unless `yes`; names and the commits that were shown.

    Raises Refused, NotFound.
    """
    _need_terminal(call, "a proposal is approved by a person, who is asked on a terminal", yes=yes)
    proposals: Iterable[Pending] = (library.review.pending_rule(call.library, ref, unsigned=True) for ref in refs)
    if not yes:
        proposals = every = list(proposals)
        _agree(call, [], every, f"Approve {', '.join(proposal.handle for proposal in every)}?")
    for proposal in proposals:
        if yes:
            _show(call, [proposal])
        yield proposal.id if proposal.change == UNSIGNED else proposal.branch, proposal.commit


def many_confirmed(call: Call, batch: Batch, *, yes: bool) -> dict[str, str]:
    """Show a batch of proposals, below a table of them, and ask once unless `yes`; the commits shown, by branch.

    Raises Refused: no terminal, or not approved. NotFound: nothing of the batch waits.
    """
    _need_terminal(call, "proposals are approved by a person, who is asked on a terminal", yes=yes)
    waiting = library.review.pending_rules(call.library, batch)
    if not waiting:
        name = batch.project or batch.batch or " ".join(batch.globs)
        raise NotFound("open proposal of a rule", name, hint="see what waits: ai-lessons admin pending-rules")
    if yes:
        _show(call, waiting)
    else:
        _agree(call, [render_rules.pending(waiting, call.view)], waiting, f"Approve all {len(waiting)} with one merge?")
    return {proposal.branch: proposal.commit for proposal in waiting}


def _need_terminal(call: Call, message: str, *, yes: bool) -> None:
    if not yes and not (call.can_ask and is_terminal(sys.stdout)):
        raise Refused(message, hint=NO_TERMINAL)


def _show(call: Call, proposals: Sequence[Pending]) -> None:
    """Show what is about to be approved; with `--json` on stderr."""
    text = "\n\n".join(render_rules.proposal(proposal, call.view) for proposal in proposals)
    if call.json:
        click.echo(text, err=True)
    else:
        call.say(call.view.fit(text) + "\n")


def _agree(call: Call, head: list[str], proposals: Sequence[Pending], question: str) -> None:
    """Show proposals in full below a `head`, and ask once. Raises Refused."""
    cards = [render_rules.proposal(proposal, call.view) for proposal in proposals]
    call.say("\n\n".join([*head, *cards]), paged=bool(head))
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
STALE_PAST = {"keep": "kept", "edit": "edited", "supersede": "superseded", "wrong": "marked wrong", "skip": "skipped"}


@click.command("review", cls=Command, examples=["", "--list", "--keep L-8F3K2A"])
@click.option("--list", "only_list", is_flag=True, help="List it; on a terminal, too.")
@click.option(
    "--keep", "ref", metavar="ID", help="This one holds: ask again in half a year.", shell_complete=options.offer("id")
)
def stale(call: Call, only_list: bool, ref: str | None) -> None:
    """Go through what may have gone stale, at a terminal with one key each; elsewhere list it."""
    if ref:
        call.answer((library.editing.keep(call.library, ref),), render_jobs.writes)
        return
    outdated = library.validating.review(call.library)
    if only_list or not outdated or not _person_reviews(call):
        call.answer(outdated, render_jobs.outdated, paged=True)
        return
    entries = [list(reasons) for _, reasons in groupby(outdated, key=lambda reason: reason.entry.id)]
    click.echo("\n" + asking.decide_each(entries, partial(_decide_about, call), STALE_PAST))


def _person_reviews(call: Call) -> bool:
    return call.can_ask and is_terminal(sys.stdout) and not call.settings.agent


def _decide_about(call: Call, reasons: Sequence[Outdated]) -> str:
    """Show an entry and why it may be stale, ask, and do what was chosen; return the choice."""
    entry = reasons[0].entry
    warnings = [call.view.paint(f"! {line(reason.detail)}", "warn") for reason in reasons]
    text = render.shown(library.browsing.show(call.library, entry.id), call.view)
    _card(call, "\n".join([*warnings, "", text]))
    choices = dict(STALE_CHOICES)
    if entry.kind is not Kind.LESSON:
        del choices["w"]
    if entry.kind is Kind.RULE:
        del choices["n"]  # a rule is superseded only by a proposal

    def act(choice: str) -> bool:
        written: Written | None
        if choice == "view":
            call.say(call.view.fit(text), paged=True)
            return False
        if choice == "edit":
            written = call.edit_until_valid(partial(library.editing.edit, call.library, entry.id))
        elif choice == "keep":
            written = library.editing.keep(call.library, entry.id)
        elif choice == "wrong":
            reason = click.prompt("Why is it wrong", default="", show_default=False, err=True)
            written = library.lessons.wrong(call.library, entry.id, reason, by=call.caller)
        else:
            newer = click.prompt("ID of what takes its place", err=True)
            newer = library.browsing.show(call.library, newer).entry.id
            written = library.editing.link(call.library, newer, entry.id, "supersedes")
        call.note(written.notes if written else ())
        return written is not None

    return asking.choose(choices, act)


# --- lessons that transcripts of agents suggest ---

HARVEST_CHOICES: asking.Choices = {
    "k": ("keep", "open the draft in your editor, and add what comes back"),
    "n": ("never", "do not propose it again"),
}
HARVEST_PAST = {"keep": "kept", "skip": "skipped", "never": "never again"}


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
    harvested = library.harvest.harvest(call.library, where, folder, since=since, project=project or "")
    if keep:
        if not yes and not (call.can_ask and click.confirm(f"Add {', '.join(keep)}?", err=True)):
            raise Refused("drafts are added only after a yes", hint="ask on a terminal, or say --yes")
        call.answer(library.harvest.keep_these(call.library, harvested, keep, call.caller), render_jobs.writes)
        call.note(harvested.notes)
    elif harvested.candidates and _person_reviews(call):
        click.echo(render_lessons.held(harvested))
        click.echo("\n" + asking.decide_each(harvested.candidates, partial(_decide_on, call), HARVEST_PAST))
        call.note(harvested.notes)
    else:
        call.answer(harvested, render_lessons.harvested, lambda value: value.candidates)


def _decide_on(call: Call, candidate: Candidate) -> str:
    """Show a candidate, ask, and do what was chosen; return the choice."""

    def act(choice: str) -> bool:
        if choice == "never":
            library.harvest.decide(call.library, candidate, "never")
            return True

        def job(edit: asking.Edits) -> Written | None:
            return library.harvest.keep(call.library, candidate, call.caller, edit)

        if written := call.edit_until_valid(job, "nothing was added"):
            click.echo(render_jobs.writes((written,), call.view), color=call.view.colour)
            call.note(written.notes)
        return written is not None

    click.echo(render_lessons.candidate(candidate, call.view))
    return asking.choose(HARVEST_CHOICES, act)
