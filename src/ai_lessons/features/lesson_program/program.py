"""The commands of the program `lesson`."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from ai_lessons import app
from ai_lessons.app.answers import Query
from ai_lessons.errors import UsageError
from ai_lessons.features.lesson_program import jobs, targets, texts
from ai_lessons.interfaces import agent_text, cli
from ai_lessons.interfaces.cli.command import Argument, Group, Tool, global_options, show_version
from ai_lessons.interfaces.cli.options import (
    ORIGINS,
    id_argument,
    limit_option,
    offer,
    origin_option,
)
from ai_lessons.interfaces.cli.text_input import read_input
from ai_lessons.model import lessons
from ai_lessons.model.entries import LESSONS, Filter
from ai_lessons.model.lessons import ScopePlace, place_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from ai_lessons.app.answers import Answer
    from ai_lessons.interfaces.cli.call import Call
    from ai_lessons.model.entries import Pattern


def scope_option(text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`--scope`: a project, or `user:NAME` and `project:PATH` as groove writes them."""
    return click.option("-s", "--scope", metavar="S", help=text, shell_complete=offer("project"))


ABOUT = "Behavioural lessons of agents and people: WHEN … -> DO … -> BECAUSE …, kept as Markdown files in git."
lesson = show_version(Group("lesson", help=ABOUT, params=global_options()))


@lesson.command(
    "add",
    examples=[
        '"WHEN editing config files -> DO read first -> BECAUSE understand existing structure"',
        '--scope=tmux "WHEN editing -> DO read first -> BECAUSE avoid wrong assumptions"',
        '-w "user is debugging" --dont "suggest refactors" -b "breaks focus"',
        '--firm "WHEN multiple approaches -> DO pick minimal -> BECAUSE user preference"',
    ],
)
@click.argument("words", metavar="[PATTERN]", nargs=-1)
@click.option("-w", "--when", metavar="W", help="In place of a pattern: in which situation,")
@click.option("-d", "--do", metavar="D", help="what to do,")
@click.option("--dont", metavar="D", help="or what not to do,")
@click.option("-b", "--because", metavar="B", help="and why.")
@scope_option("Tool, skill or project that it is about (default: global).")
@click.option("--firm", is_flag=True, help="The user stated it; agents cannot mark it wrong.")
@origin_option
def add(
    call: Call,
    /,
    words: tuple[str, ...],
    scope: str | None,
    firm: bool,
    origin: str | None,
    **parts: str | None,
) -> None:
    """Add a lesson: WHEN … -> DO … -> BECAUSE …, with DO NOT for what to avoid."""
    if firm and origin == "ai":
        raise UsageError("a firm lesson is from the user", hint="leave --firm or --from out")
    by = origin or ("user" if firm else call.caller)
    done = app.lessons.add(call.library, pattern_of(words, parts), scope=scope or "", by=by)
    call.answer(done, texts.added)


def pattern_of(words: tuple[str, ...], parts: dict[str, str | None]) -> Pattern:
    """The pattern that was given as one text, through standard input for `-`, or in parts.

    UsageError for any other.
    """
    if len(words) > 1:
        hint = 'put it in quotes, the shell takes > for itself: lesson add "WHEN … -> DO … -> BECAUSE …"'
        raise UsageError(f"the pattern is {len(words)} words instead of one text", hint=hint)
    if any(part is not None for part in parts.values()):
        if words:
            raise UsageError(
                "the pattern is given twice", hint="give the whole text, or its parts with options"
            )
        return lessons.build(parts["when"], parts["do"], parts["dont"], parts["because"])
    if not words:
        raise UsageError("there is no pattern", hint='lesson add "WHEN … -> DO … -> BECAUSE …"')
    return lessons.parse(read_input() if words == ("-",) else words[0])


@lesson.command("list", examples=["", "--scope=tmux --from=ai", "--all"])
@scope_option("Only this scope; global: lessons that hold everywhere.")
@click.option(
    "--from", "origin", type=ORIGINS, help="Only what agents drafted, or what the user stated."
)
@click.option("--all", "every", is_flag=True, help="Also wrong and promoted ones.")
def list_lessons(call: Call, scope: str | None, origin: str | None, every: bool) -> None:
    """List lessons, oldest first."""
    status = None
    if not every:
        status = "active"
    listing = app.entries.list_entries(
        call.library,
        kinds=LESSONS,
        scope=scope,
        origin=origin,
        status=status,
        every=True,
        sort="created",
    )
    call.answer(
        listing,
        lambda value, view: texts.rows(value.entries, view, every=every),
        lambda value: [jobs.lesson_json(entry) for entry in value.entries],
        paged=True,
    )


@lesson.command("show", examples=["L-8F3K2A"])
@id_argument
def show(call: Call, ref: str) -> None:
    """Show a lesson in full, as YAML."""
    call.answer(jobs.show(call.library, ref), texts.lesson_shown, jobs.shown_json, paged=True)


@lesson.command(
    "wrong",
    examples=["L-8F3K2A", 'L-8F3K2A --reason "too specific"'],
    tool=Tool(
        "mark_wrong",
        [Argument("id", "ref"), "reason"],
        lambda: app.written.Written,
        "Take a lesson that is wrong out of all results; its file and history stay.",
        repeatable=True,
    ),
)
@id_argument
@click.option("--reason", metavar="R", default="", help="Why it is wrong; kept with it.")
@click.option("--from", "origin", type=ORIGINS, help="Who marks it (default: the caller).")
def wrong(call: Call, ref: str, reason: str, origin: str | None) -> None:
    """Mark a lesson as wrong: no result shows it, git keeps it.

    Only the user can do so with what the user stated.
    """
    call.answer(
        app.lessons.wrong(call.library, ref, reason, by=origin or call.caller), texts.marked_wrong
    )


@lesson.command("promote", examples=["L-8F3K2A --to=skill/config-edit", "L-8F3K2A --to=tool/tmux"])
@id_argument
@click.option("--to", required=True, metavar="TARGET", help="skill/NAME or tool/NAME.")
def promote(call: Call, ref: str, to: str) -> None:
    """Append a proven lesson to one of your skills or tools, once, and mark it promoted."""
    folders = targets.targets_of(call.settings, os.environ)
    call.answer(targets.promote(call.library, ref, to, folders), texts.promoted)


@lesson.command("search", examples=['"tmux"', '"config" --scope=global'])
@click.argument("words", metavar="QUERY...", nargs=-1, required=True)
@scope_option("Only this scope.")
@limit_option
def search(call: Call, words: tuple[str, ...], scope: str | None, limit: int) -> None:
    """Search lessons by meaning and by words, best first."""
    if scope:
        at = place_of(scope)
    else:
        at = ScopePlace("")
    filters = Filter(LESSONS, at.project or None, scopes=at.scopes)
    query = Query(" ".join(words), filters, limit=limit)
    result = call.ask("search", query)
    call.answer(result, texts.search_results, _found_json)


def _found_json(answer: Answer) -> dict[str, Any]:
    lessons = []
    for hit in answer.lessons:
        lessons.append(jobs.lesson_json(hit.entry, scored=True))
    return {
        "query": answer.query,
        "lessons": lessons,
        "notes": answer.notes,
        "coverage": answer.coverage,
    }


@lesson.command(
    "load",
    examples=["", "--scope=tmux"],
    tool=Tool(
        "load_lessons",
        ["scope", Argument("limit", default=100)],
        lambda: jobs.Loaded,
        (
            "The lessons that hold everywhere and those of one scope (a project), for the "
            "start of a session."
        ),
        notice=agent_text.NOTICE,
        reads=True,
    ),
)
@scope_option("The lessons of this scope, too.")
@click.option(
    "--limit",
    type=click.IntRange(0),
    default=200,
    show_default=True,
    help="Most lessons; 0 for all.",
)
def load(call: Call, scope: str | None, limit: int) -> None:
    """Print the lessons for the start of a session, as Markdown.

    The global ones, then those of the scope.
    """
    loaded = jobs.load(call.library, scope, limit=limit or None)
    call.answer(loaded, texts.loaded)


main, run = partial(cli.main, lesson), partial(cli.run, group=lesson)
