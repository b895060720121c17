"""`ai-lessons recall`, the part about how entries hang together and how they came to be."""

from __future__ import annotations

import sys

import click

from ai_lessons import library
from ai_lessons.doors import render
from ai_lessons.doors.cli.command_context import Call, pass_call
from ai_lessons.doors.cli.commands import Group, Tool
from ai_lessons.doors.cli.options import id_argument, offer
from ai_lessons.doors.terminal import is_terminal

part = Group("recall")  # These commands hang in the group of that name


@part.command(
    "related",
    examples=["ai-lessons recall related L-8F3K2A --depth 2"],
    tool=Tool("related", "id=ref depth", "related", "Entries that links lead to, either way.", reads=True),
)
@id_argument
@click.option("--depth", type=click.IntRange(1, 10), default=1, show_default=True, help="Steps over the graph.")
@pass_call
def related(call: Call, ref: str, depth: int) -> None:
    """Show what an entry is linked with, in both directions."""
    call.answer(library.browsing.related(call.library, ref, depth), render.related)


FORMATS = ("text", "dot", "mermaid")


@part.command(
    "graph",
    examples=["ai-lessons recall graph L-8F3K2A --depth 2", "ai-lessons recall graph --format mermaid"],
)
@click.argument("refs", metavar="[ID...]", nargs=-1, shell_complete=offer("id"))
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True, help="How to draw it.")
@click.option("--depth", type=click.IntRange(1, 10), default=1, show_default=True, help="Steps from these entries.")
@click.option("--limit", type=click.IntRange(1), default=200, show_default=True, help="Most entries.")
@pass_call
def graph(call: Call, refs: tuple[str, ...], form: str, depth: int, limit: int) -> None:
    """Draw what is linked: around these entries, or everything."""
    from ai_lessons.doors import render_graph

    drawn = library.relating.graph(call.library, refs, depth=depth, most=limit)
    call.answer(drawn, render_graph.FORMATS[form], paged=form == "text")


@part.command("log", examples=["ai-lessons recall log L-8F3K2A"])
@id_argument
@pass_call
def log(call: Call, ref: str) -> None:
    """Show the history of an entry, from git."""
    call.answer(library.browsing.log(call.library, ref), render.log, paged=True)


@part.command("diff", examples=["ai-lessons recall diff L-8F3K2A", "ai-lessons recall diff L-8F3K2A HEAD"])
@id_argument
@click.argument("rev", required=False)
@pass_call
def diff(call: Call, ref: str, rev: str | None) -> None:
    """Show how an entry differs from a commit (default: the last one)."""
    text = library.browsing.diff(call.library, ref, rev)
    if call.json or is_terminal(sys.stdout):
        call.answer(text, render.diff, lambda text: {"diff": text}, paged=True)
    else:
        call.exactly(text)


@part.command("why", examples=["ai-lessons recall why L-8F3K2A"])
@id_argument
@pass_call
def why(call: Call, ref: str) -> None:
    """Show where an entry comes from: who said it, from what, and who approved it."""
    from ai_lessons.doors import render_rules

    call.answer(library.provenance.why(call.library, ref), render_rules.why)


@part.command("why-told", examples=["ai-lessons recall why-told 00893aaf"])
@click.argument("session", metavar="SESSION")
@pass_call
def why_told(call: Call, session: str) -> None:
    """Show what hooks told an agent in a session, why, and what came of it."""
    call.answer(library.agent_hooks.why_told(call.options().state_dir, session), render.why_told)
