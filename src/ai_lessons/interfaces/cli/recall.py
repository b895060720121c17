"""`ai-lessons recall`: find, read and run entries; show their links and their history."""

from __future__ import annotations

import sys
from datetime import UTC
from functools import partial
from typing import TYPE_CHECKING

import click

from ai_lessons import app, interfaces, telling
from ai_lessons.app.answers import Answer, Context, ContextQuery, Query, Shown
from ai_lessons.interfaces import agent_text, output
from ai_lessons.interfaces import text as interfaces_text
from ai_lessons.interfaces.cli import options, text_input
from ai_lessons.interfaces.cli.aliases import ALIASES
from ai_lessons.interfaces.cli.command import Argument, Group, Tool
from ai_lessons.interfaces.output import clean, is_terminal
from ai_lessons.model.entries import Filter

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ai_lessons.app.answers import Count
    from ai_lessons.interfaces.cli.call import Call

DRAWN = click.Choice(["text", "dot", "mermaid"])
SORTS = ("newest", "title", "path", "created")

reading_tool = partial(Tool, notice=agent_text.NOTICE, reads=True)


SECTIONS = {"Commands": "search show list context related log diff why why-told"}


@click.group("recall", cls=Group, sections=SECTIONS)
def recall() -> None:
    """Find, read and run what is stored."""


@recall.command(
    "search",
    measured="search",
    examples=[
        '"workflow transitions"',
        '"workflow" --type script --version v3 --limit 5',
        '"workflow" --context-tags "reviewer,jira-api=1.5" --explain',
        "'transitions \"plain notes\" kind:doc version:3.x'",
    ],
    tool=reading_tool(
        "search",
        [
            Argument("query", "words", single=True),
            Argument("context_tags", note="tag: weight"),
            Argument("type", "kinds", single=True),
            "versions",
            "project",
            "limit",
        ],
        lambda: Answer,
        "Search all by meaning, before work; with `$ command` and output: what helps.",
    ),
)
@click.argument("words", metavar="QUERY...", nargs=-1, required=True)
@options.type_option
@options.asked_version_option
@options.project_option
@options.tags_option
@options.context_tags_option
@options.limit_option
@click.option(
    "--since",
    metavar="D",
    type=click.DateTime(["%Y-%m-%d"]),
    # a day begins where the person is, and `created` is written in UTC
    callback=lambda _ctx, _option, day: day and day.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    help="Only what was added from this day on.",
)
@options.explain_option
@click.option(
    "--all", "every", is_flag=True, help="Also what is superseded, and what is below the bar."
)
def search(
    call: Call,
    /,
    words: tuple[str, ...],
    context_tags: Any,
    limit: int,
    explain: bool,
    every: bool,
    **filters: Any,
) -> None:
    """Search everything by meaning and by words.

    In the query, "quotes" ask for a phrase, and tag:T, project:P, kind:K and version:V filter.
    """
    query = Query(
        " ".join(words),
        Filter(**filters),
        context_tags,
        limit,
        explain,
        call.by_agent,
        every=every,
        connection=call.connection,
    )
    if call.tool:
        answer = telling.context.helping_or_found(call.library, query, call.ask)
    else:
        answer = call.ask("search", query)
    if isinstance(answer, Context):
        text: Any = interfaces.text_jobs.context
        call.figures["results"] = len(answer.entries)
    else:
        text = interfaces_text.answer
        call.figures["results"] = len(answer.hits)
    call.answer(answer, text)


@recall.command(
    "show",
    examples=["L-8F3K2A", "D-4T7QZM --section 2"],
    tool=reading_tool(
        "get",
        [Argument("id", "ref"), "section", "heading"],
        lambda: Shown,
        "Read an entry, or a section by number or heading.",
    ),
)
@options.id_argument
@click.option("--section", type=click.IntRange(1), metavar="N", help="Only this section.")
@click.option("--heading", metavar="H", help="Only the section with this heading.")
@click.option("--raw", is_flag=True, help="The file as it is.")
def show(call: Call, ref: str, section: int | None, heading: str | None, raw: bool) -> None:
    """Show one entry in full, with the entries that it is linked with."""
    if call.tool:
        how = agent_text.SECTION_CALL
    else:
        how = interfaces_text.SECTION_CALL
    shown = app.entries.show(call.library, ref, section=section, heading=heading)
    if not raw or call.json:
        if call.by_agent:
            draw = agent_text.shown
        else:
            draw = interfaces_text.shown
        call.answer(shown, partial(draw, call=how), paged=True)
    elif is_terminal(sys.stdout):
        # raw text is escaped for a terminal, and goes to a pipe byte for byte
        call.say(clean(shown.raw).rstrip("\n"), paged=True)
    else:
        call.exactly(shown.raw)


@recall.command("list", examples=["--type lesson", "--project jira-api --sort title --json"])
@options.type_option
@options.project_option
@click.option(
    "--tag", metavar="T", help="Only entries with this tag.", shell_complete=options.offer("tag")
)
@click.option("--category", type=options.CATEGORY, help="Only lessons of this category.")
@click.option(
    "--status",
    type=options.ANY_STATUS,
    default="active",
    show_default=True,
    help="Only entries with this status.",
)
@click.option("--all", "every", is_flag=True, help="Entries of any status, and superseded ones.")
@click.option(
    "--silent",
    is_flag=True,
    help="Only entries that hooks never give to agents, each with the reason.",
)
@options.version_option
@click.option(
    "--sort", type=click.Choice(SORTS), default="newest", show_default=True, help="Order."
)
@click.option(
    "--limit",
    type=click.IntRange(0),
    default=100,
    show_default=True,
    help="Most entries; 0 for all.",
)
def list_(call: Call, /, every: bool, **filters: Any) -> None:
    """List entries, the newest first, without superseded ones; at most --limit."""
    filters |= {"status": None if every else filters["status"], "limit": filters["limit"] or None}
    call.answer(
        app.entries.list_entries(call.library, **filters), interfaces_text.listing, paged=True
    )


@recall.command(
    "context",
    examples=[
        "--project jira-api --explain",
        "--path src/app.py --context-tags reviewer",
        "--error failed.txt",
    ],
    tool=reading_tool(
        "context",
        [
            "project",
            Argument("context_tags", note="tag: weight"),
            Argument("paths", note="about to be edited"),
            "query",
            "budget",
            Argument("error", note="`$ command` that failed, output"),
        ],
        lambda: Context,
        (
            "Rules and lessons for what you are about to do or edit; with error what helps "
            "with that failure."
        ),
    ),
)
@options.project_option
@options.context_tags_option
@options.several(
    "--path", "paths", metavar="FILE", type=options.FILE_NAME, text="File about to be edited;"
)
@click.option("--query", metavar="Q", default="", help="What you are about to do, in words.")
@click.option(
    "--budget",
    metavar="N",
    type=click.IntRange(1, 100),
    help="Most entries; default: learned from outcomes.",
)
@click.option(
    "--error",
    metavar="FILE",
    help="File with a failure, `$ command` and its output; - reads standard input.",
)
@click.option(
    "--explain",
    is_flag=True,
    help="Also list the lessons that were left out, each with the reason.",
)
def context(call: Call, /, explain: bool, error: str | None, **situation: Any) -> None:
    """Show the rules and lessons for what you are about to do, or what helps with a failure."""
    if error and not call.tool:
        error = text_input.read_text(error)
    query = ContextQuery(**situation, error=error or "", approvals=call.by_agent)
    answer = telling.context.context(call.library, query, call.ask)
    if not explain:
        answer = answer._replace(left_out=())
    call.answer(answer, interfaces.text_jobs.context)


@recall.command("tags")
def tags(call: Call) -> None:
    """Tags, with the number of entries of each kind."""
    call.answer(app.entries.tags(call.library), partial(interfaces_text.counts, what="tag"))


@recall.command("projects")
def projects(call: Call) -> None:
    """Projects, with the number of entries of each kind."""
    call.answer(app.entries.projects(call.library), partial(interfaces_text.counts, what="project"))


@recall.command(
    "versions",
    examples=["", "--project jira-api"],
    tool=reading_tool(
        "versions", ["project"], "versions", "Versions of docs and scripts, the newest first."
    ),
)
@options.project_option
def versions(call: Call, project: str | None) -> None:
    """Versions, the newest first, with the number of entries of each kind."""

    def data(counts: Sequence[Count]) -> object:
        rows = []
        for count in counts:
            rows.append(output.encode(count))
        if rows:
            return [rows[0] | {"newest": True}, *rows[1:]]
        return []

    counts = app.entries.versions(call.library, project)
    call.answer(counts, partial(interfaces_text.counts, what="version"), data)


@recall.command(
    "related",
    examples=["L-8F3K2A --depth 2"],
    tool=Tool(
        "related",
        [Argument("id", "ref"), "depth"],
        "related",
        "Entries that links lead to, either way.",
        reads=True,
    ),
)
@options.id_argument
@click.option(
    "--depth", type=click.IntRange(1, 10), default=1, show_default=True, help="Steps along links."
)
def related(call: Call, ref: str, depth: int) -> None:
    """Show the entries that an entry is linked with, in both directions."""
    call.answer(app.entries.related(call.library, ref, depth), interfaces_text.related)


@recall.command("graph", examples=["L-8F3K2A --depth 2", "--format mermaid"])
@click.argument("refs", metavar="[ID...]", nargs=-1, shell_complete=options.offer("id"))
@click.option(
    "--format", "form", type=DRAWN, default="text", show_default=True, help="How to draw it."
)
@click.option(
    "--depth",
    type=click.IntRange(1, 10),
    default=1,
    show_default=True,
    help="Steps from these entries.",
)
@click.option(
    "--limit", type=click.IntRange(1), default=200, show_default=True, help="Most entries."
)
def graph(call: Call, refs: tuple[str, ...], form: str, depth: int, limit: int) -> None:
    """Draw the links around these entries, or all links."""
    drawn = app.link_effects.graph(call.library, refs, depth=depth, most=limit)
    call.answer(drawn, interfaces.text_graphs.FORMATS[form], paged=form == "text")


@recall.command("log", examples=["L-8F3K2A"])
@options.id_argument
def log(call: Call, ref: str) -> None:
    """Show the history of an entry, from git."""
    call.answer(app.history_of_entries.log(call.library, ref), interfaces_text.log, paged=True)


@recall.command("diff", examples=["L-8F3K2A", "L-8F3K2A HEAD"])
@options.id_argument
@click.argument("rev", required=False)
def diff(call: Call, ref: str, rev: str | None) -> None:
    """Show how an entry differs from a commit (default: the last one)."""
    call.answer(
        app.history_of_entries.diff(call.library, ref, rev),
        interfaces_text.diff,
        lambda text: {"diff": text},
        paged=True,
    )


@recall.command("why", examples=["L-8F3K2A"])
@options.id_argument
def why(call: Call, ref: str) -> None:
    """Show where an entry comes from: who stated it, from which source, and who approved it."""
    call.answer(app.history_of_entries.why(call.library, ref), interfaces.text_proposals.why)


@recall.command("sessions")
def sessions(call: Call) -> None:
    """List the sessions of agents that hooks recorded.

    Host, folder, entries given, and outcomes.
    """
    call.answer(
        app.agent_sessions.lately(call.options().state_dir)[0], interfaces_text.sessions, paged=True
    )


@recall.command("why-told", examples=["", "00893aaf"])
@click.argument("session", metavar="[SESSION]", required=False)
def why_told(call: Call, session: str | None) -> None:
    """Show what hooks gave an agent in a session, or in the last one.

    Why, and with what outcome.
    """
    call.answer(telling.pipeline.why_told(call.library, session), interfaces_text.why_told)


recall.add_aliases(*ALIASES["recall"])
