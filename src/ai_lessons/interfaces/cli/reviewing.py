"""Proposals as a person sees them at a terminal, and what they answer: one by one, or many at once."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import click

from ai_lessons import app, settings
from ai_lessons.errors import AiLessonsError, Conflict, NotFound, Refused, UsageError
from ai_lessons.interfaces import text as interfaces_text
from ai_lessons.interfaces import text_proposals
from ai_lessons.interfaces.cli import prompts
from ai_lessons.interfaces.cli.key_choices import choose, decide_each, show_card, show_error
from ai_lessons.interfaces.output import is_terminal, line
from ai_lessons.model.entries import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ai_lessons.app.pending_rules import Batch
    from ai_lessons.app.written import Pending
    from ai_lessons.interfaces.cli.call import Call
    from ai_lessons.interfaces.cli.key_choices import Choices

CHOICES: Choices = {
    "a": ("approve", "merge it as it was shown: it is in force"),
    "e": ("edit", "open it in your editor; you are asked about the result"),
    "r": ("reject", "turn it down with a reason, which is shown when it is suggested again"),
    "v": ("view", "show all of it, and how it differs from what it resembles"),
    "b": (
        "batch",
        "approve this and all that wait of the same import, with one merge, after a question",
    ),
}
PAST = {"approve": "approved", "reject": "rejected", "skip": "skipped"}
STANDING = "standing"
REASON = "Reason (shown when it is suggested again)"
WHY = "It states no reason. Why is it so (Enter: approve it without)"
BY_A_PERSON = "a proposal is approved by a person, who is asked on a terminal"
NOT_APPROVED = "not approved; nothing was changed"
NO_TERMINAL = "see review-rules --list, then approve-rule ID --yes or reject-rule ID"


def refuse_agents(call: Call) -> None:
    """Refuse an agent before anything is shown; the library refuses, too. Raises Refused."""
    call.options().refuse_agents("decide about proposals", text_proposals.REVIEW)


def run(call: Call, *, sign: bool) -> None:
    """Show all that waits for a decision or a signature and ask, until none is left or the reviewer quits."""
    refuse_agents(call)
    waiting = app.pending_rules.pending_rules(call.library)
    call.note(call.library.primary.notes())
    if not waiting:
        click.echo(text_proposals.NOTHING_PENDING)
        return
    if not (call.can_ask and is_terminal(sys.stdout)):
        raise UsageError("a review needs a terminal", hint=NO_TERMINAL)
    summary = decide_each(waiting, Review(call, waiting, sign=sign).decide, PAST)
    click.echo("\n" + summary)


class Review:
    """A review at a terminal of the proposals that were `waiting` when it began."""

    def __init__(self, call: Call, waiting: Sequence[Pending], *, sign: bool) -> None:
        self.call, self.waiting, self.sign = call, waiting, sign
        # branches that were approved together with another one
        self.in_batch: set[str] = set()

    def decide(self, proposal: Pending) -> str:
        """Show a proposal, ask, and do what was chosen; return the choice."""
        if proposal.branch in self.in_batch:
            return "approve"
        call, cut = self.call, False

        def show() -> None:
            nonlocal cut
            # a proposal of up to 60 lines is shown whole, also where the terminal has fewer and
            # scrolls
            cut = show_card(call, _whole(call, self.waiting, proposal), 60)

        def act(choice: str) -> bool:
            nonlocal proposal, cut
            if choice == "view" or (choice == "approve" and cut):
                call.say(_whole(call, self.waiting, proposal), paged=True)
                if choice == "approve":
                    click.echo(
                        "Not approved yet: you had not seen all of it. Press a again.", err=True
                    )
                cut = False
                return False
            _refuse_standing(proposal, choice)
            if choice == "edit":
                branch = proposal.branch
                edited = call.edit_until_valid(
                    partial(app.review.edit_proposal, call.library, branch)
                )
                if edited:
                    # a proposal of a remote is edited on a branch of this clone
                    branch = edited.branch
                proposal = _reread(call, proposal, branch)
                show()
                return False
            if choice == "batch":
                self._approve_batch(proposal)
                return True
            try:
                self._carry_out(proposal, choice)
            except Conflict as error:
                proposal = _reread(call, proposal, proposal.branch)
                show_error(error)
                show()
                return False
            return True

        show()
        choices = dict(CHOICES)
        if not proposal.batch:
            del choices["b"]
        choice = choose(choices, act)
        if choice == "batch":
            return "approve"
        return choice

    def _approve_batch(self, proposal: Pending) -> None:
        """Approve all of the same import, after a question."""
        call = self.call
        commits = many_confirmed(
            call, app.pending_rules.Batch(batch=proposal.batch, of=proposal.branch), yes=False
        )
        title = f"rules of import {proposal.batch}"
        merged = app.review.approve_rules(call.library, commits, title, sign=self.sign)
        call.say(text_proposals.approved(merged, call.view))
        self.in_batch.update(commits)

    def _carry_out(self, proposal: Pending, choice: str) -> None:
        """Approve or reject what was shown. Raises Conflict: it was changed meanwhile."""
        call = self.call
        if choice == "approve":
            proposal = _with_reason(call, proposal)
            decided = app.review.approve_rule(
                call.library, approved_by(proposal), sign=self.sign, expect=proposal.commit
            )
            word = "Approved"
        else:
            reason = click.prompt(REASON, default="", show_default=False, err=True)
            decided = app.review.reject_rule(
                call.library, proposal.branch, reason=reason, expect=proposal.commit
            )
            word = "Rejected"
        click.echo(text_proposals.decided(word, decided, call.view), color=call.view.colour)
        call.note(decided.notes)


def _refuse_standing(proposal: Pending, choice: str) -> None:
    """Refuse for a rule on the approval branch what is done only to a proposal.

    Raises UsageError.
    """
    if proposal.change == STANDING and choice != "approve":
        raise UsageError(
            (
                f"{proposal.handle} is on the approval branch already; it is not in force "
                "until it is approved"
            ),
            hint=f"skip it, or propose a change: ai-lessons contribute edit {proposal.handle}",
        )


def _reread(call: Call, proposal: Pending, branch: str) -> Pending:
    """The proposal as it is now, on a local `branch` if it was a remote's and was edited.

    Raises NotFound.
    """
    for waiting in app.pending_rules.pending_rules(call.library):
        if waiting.branch == branch and (waiting.id == proposal.id or waiting.change != STANDING):
            return waiting
    raise NotFound("open proposal", branch, hint="it was decided or withdrawn meanwhile: skip it")


def past_sessions(call: Call, proposal: Pending) -> app.written.PastSessions | None:
    """What the sessions of this user say of a proposal.

    Over HTTP nobody is told of those of who serves.
    """
    if call.tool and call.library.options.session is None:
        return None
    return app.pending_rules.past_sessions(
        call.library, settings.where(os.environ, call.settings.cwd), proposal
    )


def with_lines_broken(call: Call, proposals: Sequence[Pending]) -> tuple[Pending, ...]:
    """The proposals with what breaks their checks in the code around, for a person.

    An agent decides about none.
    """
    if call.tool:
        return tuple(proposals)
    return app.effects.in_code(call.library, proposals)


def _whole(call: Call, waiting: Sequence[Pending], proposal: Pending) -> str:
    """A proposal in full, and how its text differs from the entries that it resembles."""
    (proposal,) = with_lines_broken(call, [proposal])
    blocks = [text_proposals.proposal(proposal, call.view, past_sessions(call, proposal))]
    for similar in proposal.similar:
        name, _, _ = similar.partition(" ")
        bodies = []
        for other in waiting:
            if other.handle == name:
                bodies.append(other.body)
        with suppress(AiLessonsError):
            # another proposal, or deleted meanwhile
            bodies = [app.entries.show(call.library, name).body]
        for body in bodies:
            difference = app.entries.difference(proposal.path, body, proposal.body)
            blocks.append(f"Against {line(name)}:\n{interfaces_text.diff(difference, call.view)}")
    return "\n\n".join(blocks)


def shown_and_confirmed(
    call: Call, refs: Sequence[str], *, yes: bool, refused: str = NOT_APPROVED
) -> Iterator[tuple[str, str]]:
    """Show these proposals and standing rules, ask once unless `yes`.

    Names and the commits that were shown.

    Raises Refused, NotFound.
    """
    need_terminal(call, BY_A_PERSON, yes=yes)
    read = partial(app.pending_rules.pending_rule, call.library)
    if yes:
        # one after the other, so that those before one that is not there are approved
        for proposal in map(read, refs):
            present(call, [proposal], "", yes=True)
            yield approved_by(proposal), proposal.commit
        return
    proposals = list(map(read, refs))
    handles = ", ".join(proposal.handle for proposal in proposals)
    present(call, proposals, f"Approve {handles}?", refused=refused)
    for proposal in proposals:
        reasoned = _with_reason(call, proposal)
        yield approved_by(reasoned), reasoned.commit


def approved_by(proposal: Pending) -> str:
    """The name by which it is approved: a rule that stands on the approval branch has no branch of its own."""
    if proposal.change == STANDING:
        return proposal.id
    return proposal.branch


def _with_reason(call: Call, proposal: Pending) -> Pending:
    """A new rule with the reason that it lacks, which the person who approves it is asked for."""
    is_new_rule = proposal.kind == Kind.RULE and proposal.change == "new"
    if not is_new_rule or proposal.rationale or not call.can_ask:
        return proposal
    reason = click.prompt(WHY, default="", show_default=False, err=True)
    if not reason.strip():
        return proposal
    stated = app.review.state_reason(call.library, proposal.branch, reason, proposal.commit)
    if not stated:
        return proposal
    return proposal._replace(branch=stated.branch, commit=stated.commit)


def many_confirmed(call: Call, batch: Batch, *, yes: bool) -> dict[str, str]:
    """Show a batch of proposals, below a table of them, and ask once unless `yes`.

    The commits shown, by branch.

    Raises Refused: no terminal, or not approved. NotFound: nothing of the batch waits.
    """
    need_terminal(call, "proposals are approved by a person, who is asked on a terminal", yes=yes)
    waiting = app.pending_rules.pending_rules(call.library, batch)
    if not waiting:
        name = batch.project or batch.batch or " ".join(batch.globs)
        raise NotFound(
            "open proposal of a rule",
            name,
            hint="see what waits: ai-lessons admin review-rules --list",
        )
    present(call, waiting, f"Approve all {len(waiting)} with one merge?", yes=yes)
    by_key: dict[str, str] = {}
    for proposal in waiting:
        by_key[proposal.branch] = proposal.commit
    return by_key


def need_terminal(call: Call, message: str, *, yes: bool) -> None:
    """Raises Refused: there is no terminal to ask on, and no `yes` instead."""
    if not yes and not (call.can_ask and is_terminal(sys.stdout)):
        raise Refused(message, hint=NO_TERMINAL)


def present(
    call: Call,
    proposals: Sequence[Pending],
    question: str,
    *,
    yes: bool = False,
    refused: str = NOT_APPROVED,
) -> None:
    """Show proposals in full, several below a table, with `--json` on stderr.

    Ask once unless `yes`. Raises Refused.
    """
    proposals = with_lines_broken(call, proposals)
    blocks: list[str] = []
    if len(proposals) > 1:
        blocks.append(text_proposals.pending(proposals, call.view))
    for proposal in proposals:
        past = past_sessions(call, proposal)
        blocks.append(text_proposals.proposal(proposal, call.view, past))
    text = "\n\n".join(blocks)
    if call.json:
        # stdout is for the data of the answer
        click.echo(text, err=True)
    elif yes:
        call.say(call.view.fit(text) + "\n")
    else:
        call.say(call.view.fit(text), paged=len(proposals) > 1)
    if not yes and not prompts.confirm(f"\n{question}"):
        raise Refused(refused, hint=f"it waits: {text_proposals.REVIEW}")
