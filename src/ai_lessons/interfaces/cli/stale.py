"""The command `admin review`: entries that may have gone stale."""

from __future__ import annotations

from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING

import click

from ai_lessons import app
from ai_lessons.errors import Refused
from ai_lessons.interfaces import text as interfaces_text
from ai_lessons.interfaces import text_jobs
from ai_lessons.interfaces.cli import options
from ai_lessons.interfaces.cli.command import Command
from ai_lessons.interfaces.cli.key_choices import choose, decide_each, person_reviews, show_card
from ai_lessons.interfaces.output import line
from ai_lessons.model.entries import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_lessons.app.outdated import Outdated
    from ai_lessons.app.written import Written
    from ai_lessons.interfaces.cli.call import Call
    from ai_lessons.interfaces.cli.key_choices import Choices

STALE_CHOICES: Choices = {
    "k": ("keep", "it holds: you are asked again in half a year"),
    "e": ("edit", "open it in your editor"),
    "n": ("supersede", "name what takes its place"),
    "w": ("wrong", "it does not hold: it leaves all results, and its file stays"),
    "v": ("view", "show all of it"),
}
STALE_PAST = {
    "keep": "kept",
    "edit": "edited",
    "supersede": "superseded",
    "wrong": "marked wrong",
    "skip": "skipped",
}


@click.command("review", cls=Command, examples=["", "--list", "--keep L-8F3K2A"])
@click.option("--list", "only_list", is_flag=True, help="List it; on a terminal, too.")
@click.option(
    "--keep",
    "ref",
    metavar="ID",
    help="This one holds: ask again in half a year.",
    shell_complete=options.offer("id"),
)
@click.option(
    "--stale",
    is_flag=True,
    help="Only list entries whose code or source changed, and packages with a newer version.",
)
def stale(call: Call, only_list: bool, ref: str | None, stale: bool) -> None:
    """Go through what may have gone stale, at a terminal with one key each; elsewhere list it."""
    if stale:
        call.answer(tuple(app.outdated.moved_on(call.library.primary)), text_jobs.stale)
        return
    if ref:
        call.answer((app.editing.keep(call.library, ref, call.sure),), text_jobs.writes)
        return
    outdated = app.outdated.review(call.library)
    if only_list or not outdated or not person_reviews(call):
        call.answer(outdated, text_jobs.outdated, paged=True)
        return
    entries: list[list[Outdated]] = []
    for _, reasons in groupby(outdated, key=lambda reason: reason.entry.id):
        entries.append(list(reasons))
    click.echo("\n" + decide_each(entries, partial(_decide_about, call), STALE_PAST))


def _decide_about(call: Call, reasons: Sequence[Outdated]) -> str:
    """Show an entry and why it may be stale, ask, and do what was chosen; return the choice."""
    entry = reasons[0].entry
    warnings = [call.view.paint(f"! {line(reason.detail)}", "warn") for reason in reasons]
    text = interfaces_text.shown(app.entries.show(call.library, entry.id), call.view)
    for reason in dict.fromkeys(reason.reason for reason in reasons):
        changed = app.additions.evidence(call.library.primary, entry, reason)
        if changed:
            text += f"\n\nThe code it speaks of:\n{interfaces_text.diff(changed, call.view)}"
    show_card(call, "\n".join([*warnings, "", text]))
    choices = dict(STALE_CHOICES)
    if entry.kind is not Kind.LESSON:
        del choices["w"]
    if entry.kind is Kind.RULE:
        # a rule is superseded only by a proposal
        del choices["n"]

    def act(choice: str) -> bool:
        written: Written | None
        if choice == "view":
            call.say(call.view.fit(text), paged=True)
            return False
        if choice == "edit":
            written = call.edit_until_valid(partial(app.editing.edit, call.library, entry.id))
        elif choice == "keep":
            try:
                written = app.editing.keep(call.library, entry.id, call.sure)
            except Refused:
                # at the question: another choice may fit
                written = None
        elif choice == "wrong":
            reason = click.prompt("Why is it wrong", default="", show_default=False, err=True)
            written = app.lessons.wrong(call.library, entry.id, reason, by=call.caller)
        else:
            newer = click.prompt("ID of what takes its place", err=True)
            newer = app.entries.show(call.library, newer).entry.id
            written = app.linking.link(call.library, newer, entry.id, "supersedes")
        if written is None:
            return False
        call.note(written.notes)
        return True

    return choose(choices, act)
