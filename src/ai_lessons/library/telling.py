"""What fits a moment of an agent's session: a start, a prompt, a tool about to run, a failure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ai_lessons import library
from ai_lessons.errors import AiLessonsError
from ai_lessons.index.catalog_reading import Filter
from ai_lessons.knowledge.entries import GLOBAL_PROJECT, Kind, Light
from ai_lessons.knowledge.globs import ANYTHING, BELOW, BY_KIND, BY_NAME, EXACT
from ai_lessons.library.answers import Context, ContextQuery, Offered, Query, Start, Touch
from ai_lessons.repository import outside

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from pathlib import Path

    from ai_lessons.library.opened import Library, Reading

AT_THE_START = 12  # Rules and lessons told when a session begins
SURE = 0.5  # Chance of an answer from which something is told at a prompt, or where a pattern names every file
STARTER = "starter"  # Tag of what the starter set brought

_LOOKED_AT = 100
_TOLD = frozenset({Kind.RULE, Kind.LESSON})
_NAMES = {
    EXACT: "names this file", BELOW: "names its folder", BY_NAME: "names files called like it",
    BY_KIND: "about files of its kind, and about this edit", ANYTHING: "about this edit",
}  # fmt: skip


def at_the_start(opened: Library, cwd: Path, project: str | None) -> Start:
    """What to know in this folder. `project` overrules its name."""
    parts = opened.reading
    parts.current()
    project = project or _project(parts, cwd)
    found = library.contexts.context_of(parts, ContextQuery(project=project, budget=AT_THE_START, approvals=True))
    found = found._replace(rules=_own(found.rules), lessons=_own(found.lessons))
    notes = list(found.notes)
    try:
        pending = sum(map(library.rules_in_force.number_pending, parts.every))
    except AiLessonsError as error:
        pending = 0
        notes.append(f"the proposals cannot be counted: {error.message}")
    return Start(project, found, pending, tuple(notes))


def at_a_prompt(opened: Library, text: str, project: str | None, told: Collection[str]) -> Offered:
    """Lessons and rules that are about what a person asks for."""
    parts = opened.reading
    parts.current()
    likely = _likely(parts, text)
    project = project or _project(parts, parts.options.cwd)
    here = {project, GLOBAL_PROJECT}
    near = [one for one in likely.values() if one.kind is not Kind.RULE or one.project in here]
    return _offered(parts, near, {one.id: f"about the prompt ({one.score:.2f})" for one in near}, told)


def before_a_tool(opened: Library, touch: Touch, told: Collection[str]) -> Offered:
    """Rules and lessons that name one of the files, or are about the program: the most specific first, then one's own.

    What names every file, or every one of its kind, comes only if it is about the text that is written.
    """
    parts = opened.reading
    catalog = parts.current()
    fits, why = dict[str, Light](), dict[str, str]()
    likely: dict[str, Light] | None = None
    for one in library.contexts.naming(parts, touch.paths) if touch.paths else ():
        level = int(one.score or 0)
        if level <= BY_KIND:
            likely = likely if likely is not None else _likely(parts, touch.text)
            if one.id not in likely:
                continue
        fits[one.id], why[one.id] = one, _NAMES[level]
    known = {tally.name for tally in catalog.projects()} if touch.scopes else set()
    for scope in known.intersection(touch.scopes):
        for one in catalog.select(Filter(kinds=_TOLD, project=scope, limit=_LOOKED_AT)):
            near = _about(one, scope, touch.attempts)
            if near is not None and one.id not in fits:
                fits[one.id] = one._replace(score=float(near))
                why[one.id] = f"about {scope}" if near < EXACT else "about this command"
    project = _project(parts, parts.options.cwd) if fits else None
    ordered = [one._replace(score=(one.score or 0) + _nearness(one, project)) for one in fits.values()]
    return _offered(parts, sorted(ordered, key=lambda one: -(one.score or 0)), why, told)


def at_a_failure(opened: Library, error: str, *, words: bool = False) -> Offered:
    """Entries that keep a failure like this one, else what ran next in transcripts; `words`: without the index."""
    parts = opened.reading
    parts.current()
    found = library.contexts.helping(parts, error, words=words)
    found = found._replace(rules=_own(found.rules), lessons=_own(found.lessons))
    every = (*found.rules, *found.lessons)
    why = {one.id: f"keeps a failure like this one ({one.score:.2f})" for one in every}
    ran_next = "" if every else library.harvest.ran_next(parts.options.state_dir, error)
    return _with_texts(parts, found, why)._replace(ran_next=ran_next)


def _project(parts: Reading, cwd: Path) -> str | None:
    """The known project that the folder is: as its remote, its package or itself is called, in this order."""
    known = [tally.name for tally in parts.catalog.projects()]
    names = outside.names_of(cwd)
    same = (one for name in names for one in known if outside.same_name(one, name))
    return next((name for name in names if name in known), None) or next(same, None)


def _own(lights: Iterable[Light]) -> tuple[Light, ...]:
    """Without what the starter set brought, which is told only to those who ask."""
    return tuple(one for one in lights if STARTER not in one.tags)


def _nearness(light: Light, project: str | None) -> float:
    """Below 1: more for what is of this project, or of nobody's enterprise."""
    return 0.5 * (light.project == project) + 0.25 * (light.tier in {"user", "project"})


def _about(light: Light, program: str, attempts: Collection[str]) -> int | None:
    """How closely an entry of a program's project is about these attempts; None: it is about other subcommands."""
    text = f"{light.title} {light.details.get('pattern') or ''} {light.snippet}".lower()
    named = set(re.findall(rf"\b{re.escape(program.lower())} [a-z][\w-]+", text))
    mine = [one.lower() for one in attempts if one.lower().split(" ")[0] == program.lower()]
    if any(re.search(rf"\b{re.escape(one)}(?![\w-])", text) for one in mine if " " in one):
        return EXACT
    return None if named and mine else BY_NAME


def _likely(parts: Reading, text: str) -> dict[str, Light]:
    """Lessons and rules that are probably about the text, likeliest first."""
    if not text.strip():
        return {}
    asked = Query(text, kinds=_TOLD, plain=True)
    lights = (hit.entry for hit in library.searching.find(parts, asked).hits)
    return {light.id: light for light in lights if (light.score or 0) >= SURE}


def _offered(parts: Reading, near: Iterable[Light], why: Mapping[str, str], told: Collection[str]) -> Offered:
    fresh = [one for one in _own(near) if one.id not in told]
    return _with_texts(parts, library.contexts.pick(parts, fresh), why)


def _with_texts(parts: Reading, found: Context, why: Mapping[str, str]) -> Offered:
    return Offered(found, why, parts.catalog.openings(one.id for one in (*found.rules, *found.lessons)))
