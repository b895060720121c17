"""`ai-lessons recall`: find, read and run what is known; how entries hang together, and how they came to be."""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ai_lessons import library
from ai_lessons.doors import encode, render, render_lessons, render_rules
from ai_lessons.doors.cli import asking, options
from ai_lessons.doors.cli.commands import Argument, Command, Group, Tool
from ai_lessons.doors.mcp import framing
from ai_lessons.doors.terminal import clean, is_terminal
from ai_lessons.knowledge.entries import Kind
from ai_lessons.library.answers import Answer, Context, ContextQuery, Query, Shown

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from typing import Any

    from ai_lessons.doors.cli.command_context import Call
    from ai_lessons.library.answers import Count

DRAWN = click.Choice(list(render.FORMATS))
SORTS = ("newest", "title", "path", "created")
LISTED = 100  # entries that a list shows unless told otherwise: neither a person nor an agent reads ten thousand


@click.group("recall", cls=Group)
def recall() -> None:
    """Find, read and run what is known."""


query_argument = click.argument("words", metavar="QUERY...", nargs=-1, required=True)
search_options = options.stack(
    options.asked_version_option,
    options.project_option,
    options.tags_option,
    options.context_tags_option,
    options.limit_option,
    options.explain_option,
)


@recall.command(
    "search",
    examples=[
        '"workflow transitions"',
        '"workflow" --type script --version v3 --limit 5',
        '"workflow" --context-tags "reviewer,jira-api=1.5" --explain',
        "'transitions \"plain notes\" kind:doc version:3.x'",
    ],
    tool=Tool(
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
        "Search rules, scripts, lessons and docs by meaning and words. Call before a task; with `$ command` and output "
        "of what failed as query, it answers what helps.",
        notice=framing.NOTICE,
        reads=True,
    ),
)
@query_argument
@options.type_option
@search_options
@click.option("--all", "every", is_flag=True, help="Also what something newer supersedes, with less score.")
def search(call: Call, /, words: tuple[str, ...], **given: Any) -> None:
    """Search everything by meaning and by words.

    In the query, "quotes" ask for a phrase, and tag:T, project:P, kind:K and version:V filter.
    """
    query = Query(text=" ".join(words), approvals=call.by_agent, **given)
    found = library.contexts.helping_or_found(call.library, query, call.ask) if call.tool else call.ask("search", query)
    text: Any = render_rules.context if isinstance(found, Context) else render.answer
    call.answer(found, text)


@recall.command(
    "search-resources",
    examples=['"workflow transitions"', '"workflow" --type doc --version v2 --version v3'],
    tool=Tool(
        "search_resources",
        [
            Argument("query", "words", single=True),
            Argument("type", "kinds", single=True),
            "versions",
            "limit",
        ],
        lambda: Answer,
        "Search docs and scripts only.",
        kinds=(Kind.SCRIPT, Kind.DOC),
        notice=framing.NOTICE,
        reads=True,
    ),
)
@query_argument
@options.resource_type_option
@search_options
def search_resources(call: Call, /, words: tuple[str, ...], **given: Any) -> None:
    """Search docs and scripts only."""
    found = call.ask("search", Query(text=" ".join(words), approvals=call.by_agent, **given))
    call.answer(found, render.answer)


read_options = options.stack(
    options.id_argument,
    click.option("--section", type=click.IntRange(1), metavar="N", help="Only this section of a long text."),
    click.option("--heading", metavar="H", help="Only the section with this heading."),
    click.option("--raw", is_flag=True, help="The file as it stands."),
)


def read(call: Call, ref: str, section: int | None, heading: str | None, raw: bool, command: str = "show") -> None:
    """Show one entry; raw text goes to a pipe byte for byte, to a terminal made harmless."""
    how = framing.SECTION_CALL if call.tool else f"ai-lessons recall {command} {{}} --section "
    shown = library.browsing.show(call.library, ref, section=section, heading=heading)
    if not raw or call.json:
        draw = framing.shown if call.by_agent else render.shown
        call.answer(shown, partial(draw, call=how), paged=True)
    elif is_terminal(sys.stdout):
        call.say(clean(shown.raw).rstrip("\n"), paged=True)
    else:
        call.exactly(shown.raw)


@recall.command(
    "show",
    examples=["L-8F3K2A", "D-4T7QZM --section 2"],
    tool=Tool(
        "get",
        [Argument("id", "ref"), "section", "heading"],
        lambda: Shown,
        "Read an entry, or a section by number or heading.",
        notice=framing.NOTICE,
        reads=True,
    ),
)
@read_options
def show(call: Call, /, **given: Any) -> None:
    """Show one entry in full, with what is related to it."""
    read(call, **given)


@recall.command(
    "show-resource",
    examples=["S-9XW2RB", "D-4T7QZM --heading Limits"],
    tool=Tool(
        "get_resource",
        [Argument("resource_id", "ref"), "section", "heading"],
        lambda: Shown,
        "Read a search result of any kind, or a section of it by number or heading.",
        notice=framing.NOTICE,
        reads=True,
    ),
)
@read_options
def show_resource(call: Call, /, **given: Any) -> None:
    """Show a doc or a script in full, with its sections."""
    read(call, **given, command="show-resource")


@recall.command(
    "run-resource",
    examples=["S-9XW2RB -- --dry-run v3", "S-9XW2RB --timeout 30"],
    tool=Tool(
        "run_script",
        [Argument("resource_id", "ref"), "args", Argument("timeout", note="seconds", default=120.0)],
        lambda: library.running.Ran,
        "Run a script that this machine trusts.",
        destroys=True,
        alone=True,
    ),
)
@options.id_argument
@click.option("--cwd", metavar="D", type=click.Path(), help="Run it in this folder.")
@click.option("--timeout", metavar="S", type=click.FloatRange(0, min_open=True), help="Stop it after so many seconds.")
@click.argument("args", metavar="[-- ARGS...]", nargs=-1, type=click.UNPROCESSED)
def run_resource(call: Call, ref: str, cwd: str | None, timeout: float | None, args: tuple[str, ...]) -> int:
    """Run a script; its exit code is ours.

    A script that this machine has not run before is shown first, on a terminal, and asked about.
    """
    if call.tool:
        done = library.running.run_captured(call.library, ref, args, timeout=timeout, interrupted=call.interrupted)
        call.answer(done, framing.ran)
        return 0
    folder = Path(call.settings.cwd, cwd).resolve() if cwd else None
    return library.running.run(call.library, ref, args, cwd=folder, timeout=timeout)


@recall.command("list", examples=["--type lesson", "--project jira-api --sort title --json"])
@options.type_option
@options.project_option
@click.option("--tag", metavar="T", help="Only entries with this tag.", shell_complete=options.offer("tag"))
@click.option("--category", type=options.CATEGORY, help="Only lessons of this sort.")
@click.option("--status", type=options.STATUS, default="active", show_default=True, help="Lessons that stand so.")
@click.option("--all", "every", is_flag=True, help="Whatever its status, and also what something newer supersedes.")
@click.option("--silent", is_flag=True, help="Only what is told to nobody who does not ask, each with the reason.")
@options.version_option
@click.option("--sort", type=click.Choice(SORTS), default="newest", show_default=True, help="Order.")
@click.option("--limit", type=click.IntRange(0), default=LISTED, show_default=True, help="At most so many; 0 for all.")
def list_(call: Call, /, every: bool, **given: Any) -> None:
    """List entries, the newest first, without what was superseded. A big repository is not poured out: see --limit."""
    given |= {"status": None if every else given["status"], "limit": given["limit"] or None}
    call.answer(library.browsing.list_entries(call.library, **given), render.listing, paged=True)


@recall.command(
    "context",
    examples=["--project jira-api --explain", "--path src/app.py --context-tags reviewer", "--error failed.txt"],
    tool=Tool(
        "context",
        [
            "project",
            Argument("context_tags", note="tag: weight"),
            Argument("paths", note="files about to be edited"),
            "query",
            "budget",
            Argument("error", note="`$ command` that failed, output"),
        ],
        lambda: Context,
        "Rules and lessons for what you are about to do or edit; with error only what helps with that failure.",
        notice=framing.NOTICE,
        reads=True,
    ),
)
@options.project_option
@options.context_tags_option
@options.several("--path", "paths", metavar="FILE", type=options.FILE_NAME, text="File about to be edited;")
@click.option("--query", metavar="Q", default="", help="What is to be done, in words.")
@click.option(
    "--budget", metavar="N", type=click.IntRange(1, 100), help="Most entries; without it, as many as proved best."
)
@click.option("--error", metavar="FILE", help="What helps with this failure: command (`$ …`) and output; - reads it.")
@click.option("--explain", is_flag=True, help="Name the lessons that were left out, each with the reason.")
def context(call: Call, /, explain: bool, error: str | None, **given: Any) -> None:
    """Show the rules and lessons for what one is about to do, or what helps with a failure."""
    given["error"] = (error if call.tool or not error else asking.read_text(error)) or ""
    found = library.contexts.context(call.library, ContextQuery(**given, approvals=call.by_agent), call.ask)
    found = found if explain else found._replace(left_out=())
    call.answer(found, render_rules.context)


def counting(name: str) -> None:
    """Define one of the three commands that count entries by something."""
    text = f"{name.capitalize()}, with the number of entries of each kind."

    @recall.command(name, help=text)
    def command(call: Call) -> None:
        call.answer(getattr(library.browsing, name)(call.library), partial(render.counts, what=name[:-1]))


for counted in ("tags", "projects"):
    counting(counted)


@recall.command(
    "versions",
    examples=["", "--project jira-api"],
    tool=Tool(
        "versions",
        ["project"],
        "versions",
        "Versions of docs and scripts, the newest first.",
        notice=framing.NOTICE,
        reads=True,
    ),
)
@options.project_option
def versions(call: Call, project: str | None) -> None:
    """Versions, the newest first, with the number of entries of each kind."""
    found = library.browsing.versions(call.library, project)
    text = partial(render.counts, what="version")

    def data(value: Sequence[Count]) -> object:
        return [encode.encode(one) | ({"newest": True} if place == 0 else {}) for place, one in enumerate(value)]

    call.answer(found, text, data)


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
@click.option("--depth", type=click.IntRange(1, 10), default=1, show_default=True, help="Steps over the graph.")
def related(call: Call, ref: str, depth: int) -> None:
    """Show what an entry is linked with, in both directions."""
    call.answer(library.browsing.related(call.library, ref, depth), render.related)


@recall.command("graph", examples=["L-8F3K2A --depth 2", "--format mermaid"])
@click.argument("refs", metavar="[ID...]", nargs=-1, shell_complete=options.offer("id"))
@click.option("--format", "form", type=DRAWN, default="text", show_default=True, help="How to draw it.")
@click.option("--depth", type=click.IntRange(1, 10), default=1, show_default=True, help="Steps from these entries.")
@click.option("--limit", type=click.IntRange(1), default=200, show_default=True, help="Most entries.")
def graph(call: Call, refs: tuple[str, ...], form: str, depth: int, limit: int) -> None:
    """Draw what is linked: around these entries, or everything."""
    drawn = library.relating.graph(call.library, refs, depth=depth, most=limit)
    call.answer(drawn, render.FORMATS[form], paged=form == "text")


@recall.command("log", examples=["L-8F3K2A"])
@options.id_argument
def log(call: Call, ref: str) -> None:
    """Show the history of an entry, from git."""
    call.answer(library.browsing.log(call.library, ref), render.log, paged=True)


@recall.command("diff", examples=["L-8F3K2A", "L-8F3K2A HEAD"])
@options.id_argument
@click.argument("rev", required=False)
def diff(call: Call, ref: str, rev: str | None) -> None:
    """Show how an entry differs from a commit (default: the last one)."""
    call.answer(library.browsing.diff(call.library, ref, rev), render.diff, lambda text: {"diff": text}, paged=True)


@recall.command("why", examples=["L-8F3K2A"])
@options.id_argument
def why(call: Call, ref: str) -> None:
    """Show where an entry comes from: who said it, from what, and who approved it."""
    call.answer(library.provenance.why(call.library, ref), render_rules.why)


@recall.command("sessions")
def sessions(call: Call) -> None:
    """List the sessions of agents that hooks remember: host, folder, what was told, and what came of it."""
    call.answer(library.agent_hooks.lately(call.options().state_dir)[0], render.sessions, paged=True)


@recall.command("why-told", examples=["", "00893aaf"])
@click.argument("session", metavar="[SESSION]", required=False)
def why_told(call: Call, session: str | None) -> None:
    """Show what hooks told an agent in a session, or in the last one: why, and what came of it."""
    call.answer(library.agent_hooks.why_told(call.library, session), render.why_told)


@recall.command("replay", examples=["", "--since 2026-11-01", ". --json"])
@click.argument("folder", required=False, default="")
@click.option("--since", metavar="D", type=click.DateTime(["%Y-%m-%d"]), help="Only sessions from this day on.")
def replay(call: Call, folder: str, since: datetime | None) -> None:
    """Show what the stored entries would have changed in past sessions of your agents: warned, helped, not helped.

    FOLDER: transcripts from elsewhere. Without it, those that your agent hosts keep. Nothing is written down.
    """
    where = library.setup.where(os.environ, call.settings.cwd)
    call.answer(library.replay.replay(call.library, where, folder, since=since), render_lessons.replayed)


@click.command("look", cls=Command, examples=["", "--port 8766 --no-browser"])
@click.option("--port", metavar="N", type=click.IntRange(0, 65_535), default=0, help="Where to listen; else any.")
@click.option("--no-browser", is_flag=True, help="Only print the address.")
def look(call: Call, port: int, no_browser: bool) -> None:
    """Search, read, review and understand what is kept, in a browser on this machine; ends with Ctrl-C.

    The first line is the address, with a token that holds until then: who has it may do what you may. Only this
    machine is listened to.
    """
    from ai_lessons.doors.look import server

    server.serve(lambda: call.settings, port, browser=not no_browser and call.can_ask)
