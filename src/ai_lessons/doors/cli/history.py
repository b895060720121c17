"""`ai-lessons recall`, the part about how entries hang together and how they came to be."""

from __future__ import annotations

import sys

import click

from ai_lessons.doors import as_json, render
from ai_lessons.doors.cli.call import Call, pass_call
from ai_lessons.doors.cli.commands import Command
from ai_lessons.doors.cli.options import id_argument
from ai_lessons.doors.terminal import is_terminal


def register(group: click.Group) -> None:
    """Hang these commands into the group `recall`."""
    for command in (related, log, diff, why):
        group.add_command(command)


@click.command("related", cls=Command, examples=["ai-lessons recall related L-8F3K2A --depth 2"])
@id_argument
@click.option("--depth", type=click.IntRange(1, 10), default=1, show_default=True, help="Steps over the graph.")
@pass_call
def related(call: Call, ref: str, depth: int) -> None:
    """Show what an entry is linked with, in both directions."""
    call.answer(call.library.recall.related(ref, depth), render.related, as_json.related)


@click.command("log", cls=Command, examples=["ai-lessons recall log L-8F3K2A"])
@id_argument
@pass_call
def log(call: Call, ref: str) -> None:
    """Show the history of an entry, from git."""
    call.answer(call.library.recall.log(ref), render.log, as_json.revisions, paged=True)


@click.command(
    "diff", cls=Command, examples=["ai-lessons recall diff L-8F3K2A", "ai-lessons recall diff L-8F3K2A HEAD"]
)
@id_argument
@click.argument("rev", required=False)
@pass_call
def diff(call: Call, ref: str, rev: str | None) -> None:
    """Show how an entry differs from a commit (default: the last one)."""
    text = call.library.recall.diff(ref, rev)
    if call.json or is_terminal(sys.stdout):
        call.answer(text, render.diff, as_json.diff, paged=True)
    else:
        call.exactly(text)


@click.command("why", cls=Command, examples=["ai-lessons recall why L-8F3K2A"])
@id_argument
@pass_call
def why(call: Call, ref: str) -> None:
    """Show where an entry comes from: who said it, from what, and who approved it."""
    from ai_lessons.doors import render_rules, rules_json

    call.answer(call.library.recall.why(ref), render_rules.why, rules_json.why)
