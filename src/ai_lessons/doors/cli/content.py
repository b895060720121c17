"""`ai-lessons admin review`: content that may have gone stale, as a list, or one after the other at a terminal."""

from __future__ import annotations

import sys
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING

import click

from ai_lessons import library
from ai_lessons.doors import render, render_jobs
from ai_lessons.doors.cli import asking
from ai_lessons.doors.cli.command_context import Call, pass_call
from ai_lessons.doors.cli.commands import Command
from ai_lessons.doors.cli.options import offer
from ai_lessons.doors.terminal import is_terminal, line
from ai_lessons.errors import AiLessonsError, UsageError
from ai_lessons.knowledge.entries import Kind
from ai_lessons.library.reports import LessonDraft

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_lessons.library.reports import Outdated

CHOICES = {
    "k": "keep", "e": "edit", "u": "supersede", "w": "wrong", "r": "refresh", "s": "skip", "q": "quit",
}  # fmt: skip
TOLD = {
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
    "--keep", "kept", metavar="ID", help="This one holds: ask again in half a year.", shell_complete=offer("id")
)
@click.option(
    "--injections", metavar="N", type=click.IntRange(1), default=10, show_default=True,
    help="Ask about lessons that were shown so often and never helped.",
)  # fmt: skip
@pass_call
def review(call: Call, only_list: bool, kept: str | None, injections: int) -> None:
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
    click.echo("\n" + asking.one_by_one(entries, partial(_decide, call), TOLD))


def _decide(call: Call, several: Sequence[Outdated]) -> str:
    """Ask until one entry is decided or passed over; what was chosen."""
    entry = several[0].entry
    click.echo(render.shown(library.browsing.show(call.library, entry.id), call.view), color=call.view.colour)
    for one in several:
        click.echo(call.view.paint(f"! {line(one.detail)}", "warn"), color=call.view.colour)
    missing = set() if entry.kind is Kind.LESSON else {"wrong"}
    missing |= {"supersede"} if entry.kind is Kind.RULE else set()  # a rule gives way by a proposal alone
    if entry.kind is not Kind.DOC or not any(one.reason == "source" for one in several):
        missing.add("refresh")
    offered = {key: word for key, word in CHOICES.items() if word not in missing}
    question = ", ".join(f"[{key}] {word}" for key, word in offered.items())
    while True:
        key = click.prompt(f"\n{question}", type=click.Choice(list(offered)), show_choices=False, err=True)
        choice = offered[key]
        if choice in {"skip", "quit"}:
            return choice
        try:
            if _carry_out(call, several[0], choice):
                return choice
        except AiLessonsError as error:  # the reviewer decides what to do about it
            asking.show_error(error)


def _carry_out(call: Call, one: Outdated, choice: str) -> bool:
    """Do it; whether something was done."""
    entry = one.entry
    if choice == "keep":
        done = library.editing.keep(call.library, entry.id)
    elif choice == "edit":
        edited = asking.until_valid(call, partial(library.editing.edit, call.library, entry.id))
        if edited is None:
            call.note(["nothing was changed"])
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
