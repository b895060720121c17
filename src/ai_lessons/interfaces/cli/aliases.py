"""Every name of a command, for `admin help --all`: also the older ones, of the specification.

An older name does what one command does, for docs and scripts alone or in one way. Those of features are
commands of theirs, without a line of help.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.app.answers import Answer, Shown
from ai_lessons.interfaces import agent_text
from ai_lessons.interfaces.cli import options
from ai_lessons.interfaces.cli.command import Alias, Argument, Tool, walk
from ai_lessons.model.entries import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ai_lessons.interfaces.cli.command import LazyGroup
    from ai_lessons.interfaces.output import View

RESOURCES_ONLY = {"kinds": options.RESOURCES.choices}

_reading = partial(Tool, notice=agent_text.NOTICE, reads=True)

SEARCH_RESOURCES = _reading(
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
)
GET_RESOURCE = _reading(
    "get_resource",
    [Argument("resource_id", "ref"), "section", "heading"],
    lambda: Shown,
    "Read a search result, or a section of it by number or heading.",
)
LIST_PENDING = Tool(
    "list_pending",
    [],
    "pending",
    "Proposals that wait for a person: rules and other entries. None of them counts yet.",
    notice=agent_text.PROPOSED,
    reads=True,
)

ALIASES: Mapping[str, Sequence[Alias]] = {
    "contribute": (
        Alias(
            "update-resource",
            "update",
            "Change what a doc or a script states: title, tags, versions.",
            ['D-4T7QZM --title "New title" --tags jira-api,v3'],
            {"only_resources": True},
        ),
        Alias(
            "delete-resource",
            "delete",
            "Delete docs and scripts. Git keeps their history.",
            ["D-4T7QZM --yes"],
            {"only_resources": True},
        ),
    ),
    "recall": (
        Alias(
            "search-resources",
            "search",
            (
                "Search docs and scripts by meaning and by words.\n\n"
                'In the query, "quotes" ask for a phrase, and tag:T, project:P and version:V filter.'
            ),
            ['"workflow transitions"', '"workflow" --type script --version v3 --limit 5'],
            RESOURCES_ONLY,
            tool=SEARCH_RESOURCES,
        ),
        Alias(
            "show-resource",
            "show",
            "Show a doc or a script in full, or a section of it.",
            ["D-4T7QZM", "D-4T7QZM --section 2"],
            tool=GET_RESOURCE,
        ),
    ),
    "admin": (
        Alias(
            "reindex-resources",
            "reindex",
            "Bring what the index holds of docs and scripts up to date now.",
            ["", "--full"],
            RESOURCES_ONLY,
        ),
        Alias(
            "reindex-resource",
            "reindex",
            "Read entries again, with what a script is outside the repository.",
            ["S-9XW2RB"],
            hides=("kinds", "full"),
        ),
        Alias(
            "list-stale",
            "review",
            "List entries whose code or source changed, and packages with a newer version.",
            ["", "--json"],
            {"stale": True},
            hides=("only_list", "ref"),
        ),
        Alias(
            "pending-rules",
            "review-rules",
            "List the proposals that wait, of local and remote branches.",
            ["", "--count"],
            {"only_list": True},
            hides=("sign",),
            tool=LIST_PENDING,
        ),
    ),
}


class ListedCommand(NamedTuple):
    """A command as it is called, its line of help, and of an older or short name the command itself."""

    command: str
    help: str
    of: str = ""


def every_command(program: LazyGroup) -> tuple[ListedCommand, ...]:
    """Every command in the order of the help, then the older names, then the short ones."""
    rows, older = [], []
    for path, command in walk(program):
        words, text = " ".join(path), command.get_short_help_str()
        same = getattr(command, "alias_of", None)
        if same:
            older.append(ListedCommand(words, text, " ".join((*path[:-1], same))))
        elif not command.hidden:
            rows.append(ListedCommand(words, text))
    short = []
    for name, (place, command_name) in program.short.items():
        group = place.rpartition(":")[2]
        short.append(ListedCommand(name, "", f"{group} {command_name}"))
    return (*rows, *older, *short)


def command_lines(commands: Sequence[ListedCommand], view: View) -> str:
    """A line for each command, the older names and the short ones below headings of their own."""
    del view
    width = max(len(row.command) for row in commands)
    lines = [f"{row.command:{width}}  {row.help}" for row in commands if not row.of]
    lines += ["", "Older names:"]
    for row in commands:
        if row.of and row.help:
            lines.append(f"{row.command:{width}}  {row.of}: {row.help}")
    lines += ["", "Short forms:"]
    for row in commands:
        if not row.help:
            lines.append(f"{row.command:{width}}  {row.of}")
    return "\n".join(lines)
