"""What the hooks of an agent host ask of a library. It only reads, so that a helper can do it; see `agent_hooks`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ai_lessons import library
from ai_lessons.errors import AiLessonsError
from ai_lessons.library.answers import ContextQuery
from ai_lessons.repository import outside

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ai_lessons.knowledge.entries import Light
    from ai_lessons.library.answers import Context
    from ai_lessons.library.opened import Library, Reading

AT_THE_START = 12
"""Rules and lessons told when a session begins."""

_LOOKED_AT = 100


class Start(NamedTuple):
    """For the start of a session: the project of the folder, what holds there, and how many proposals wait."""

    project: str | None
    found: Context
    pending: int
    notes: tuple[str, ...]


def at_the_start(opened: Library, cwd: Path, project: str | None) -> Start:
    """What to know in this folder. `project` overrules its name."""
    parts = opened.reading
    parts.current()
    chosen = project or _project(parts, cwd)
    found = library.contexts.context_of(parts, ContextQuery(project=chosen, budget=AT_THE_START))
    notes = list(found.notes)
    try:
        pending = sum(map(library.pending_count.number_pending, parts.every))
    except AiLessonsError as error:
        pending = 0
        notes.append(f"the proposals cannot be counted: {error.message}")
    return Start(chosen, found, pending, tuple(notes))


def _project(parts: Reading, cwd: Path) -> str | None:
    """The project that is named as the code repository around `cwd` is; None if there is none."""
    name = outside.name_of(cwd)
    known = [tally.name for tally in parts.catalog.projects()]
    if name in known:
        return name
    return next((one for one in known if outside.same_name(one, name)), None)


def before_a_tool(opened: Library, paths: Sequence[str], scopes: Sequence[str]) -> list[Light]:
    """Rules, then lessons: those that name one of the files, then those of the projects called as a scope is."""
    parts = opened.reading
    catalog = parts.current()
    names = {one.name for one in catalog.projects()} if scopes else set()
    known = [scope for scope in scopes if scope in names]
    queries = [ContextQuery(paths=paths, budget=_LOOKED_AT)] if paths else []
    queries += [ContextQuery(project=scope, budget=_LOOKED_AT) for scope in known]
    answers = [library.contexts.context_of(parts, query) for query in queries]
    # global rules come with every project; here they would only repeat what the session began with
    told = [light for one in answers for light in one.rules if paths or light.project in known]
    return told + [light for one in answers for light in one.lessons]
