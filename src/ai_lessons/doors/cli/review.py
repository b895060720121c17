"""A person decides about proposals at the terminal. What is approved is what was shown, to the commit."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING

import click

from ai_lessons import library
from ai_lessons.doors import render_rules
from ai_lessons.doors.cli import asking
from ai_lessons.doors.terminal import is_terminal
from ai_lessons.errors import AiLessonsError, Conflict, NotFound, Refused, UsageError
from ai_lessons.knowledge.entries import id_end

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_lessons.doors.cli.command_context import Call
    from ai_lessons.library.review import Batch
    from ai_lessons.library.rule_answers import Pending

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
    waiting = _what_waits(call, sign=True)
    if not waiting:
        click.echo(render_rules.NOTHING_PENDING)
        return
    if not (call.can_ask and is_terminal(sys.stdout)):
        raise UsageError("a review needs a terminal", hint=NO_TERMINAL)
    done = asking.one_by_one(waiting, partial(_decide, call, sign=sign), TOLD)
    click.echo("\n".join(["", done, *render_rules.left_out(waiting)]))


def _decide(call: Call, one: Pending, *, sign: bool) -> str:
    """Show a proposal and ask until it is decided or passed over; what was chosen."""
    _show(call, one)
    while True:
        key = click.prompt(f"\n{QUESTION}", type=click.Choice(list(CHOICES)), show_choices=False, err=True)
        choice = CHOICES[key]
        if choice in {"skip", "quit"}:
            return choice
        try:
            name = one.branch
            if choice != "approve" and one.change == UNSIGNED:
                raise UsageError(
                    f"{one.handle} is on the approval branch already; without signatures it is not in force",
                    hint=f"skip it, or propose a change: ai-lessons contribute edit {one.handle}",
                )
            if choice == "edit":
                changed = asking.until_valid(call, partial(library.review.edit_proposal, call.library, one.branch))
                if changed is None:
                    call.note(["nothing was changed"])
                else:  # on a branch here, if the proposal was a remote's
                    name = changed.branch
            else:
                try:
                    _carry_out(call, one, choice, sign=sign)
                except Conflict as conflict:
                    asking.show_error(conflict)
                else:
                    return choice
            now = [other for other in _what_waits(call, sign=True) if other.branch == name]
            now = [other for other in now if other.id == one.id or other.change != UNSIGNED]
            if not now:
                raise NotFound("open proposal", name, hint="it was decided or taken back meanwhile: skip it")
            one = now[0]
            _show(call, one)
        except AiLessonsError as error:  # the reviewer decides what to do about it
            asking.show_error(error)


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
    waiting = _what_waits(call, sign=sign)
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


def _what_waits(call: Call, *, sign: bool) -> tuple[Pending, ...]:
    """Proposals; with `sign` also what is on the approval branch of rules that nobody proposes anything for."""
    waiting = library.review.pending_rules(call.library)
    proposed = {one.id for one in waiting}
    unsigned = library.signing.unsigned_rules(call.library) if sign else ()
    return (*waiting, *(one for one in unsigned if one.id not in proposed))
