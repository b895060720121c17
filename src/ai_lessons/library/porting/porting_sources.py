"""The sources that can be imported: which file or folder is read how. Nothing is followed, nothing is written."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from ai_lessons.errors import AiLessonsError, InvalidEntry, NotFound, Problem, UsageError
from ai_lessons.knowledge.layout import MARKDOWN_SUFFIXES
from ai_lessons.knowledge.portable import portable_groove, portable_markdown
from ai_lessons.knowledge.portable.bundle import Bundle
from ai_lessons.knowledge.texts import decode
from ai_lessons.library.checking import project_name
from ai_lessons.repository import outside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime
    from pathlib import Path

    from ai_lessons.knowledge.portable.bundle import Item
    from ai_lessons.library.answers import Progress

GROOVE, SQLITE, MARKDOWN, AGENTS = "groove", "ai-lessons-sqlite", "markdown", "agents-md"
FORMS = (GROOVE, SQLITE, MARKDOWN, AGENTS)

LIMIT = 512 * 1024 * 1024
"""Bytes of an export that we read."""

_INSTRUCTIONS = ("AGENTS.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md", ".cursorrules", ".windsurfrules")
_RULE_FOLDERS = (".cursor/rules", ".claude/rules")
_RULE_SUFFIXES = (".mdc", *MARKDOWN_SUFFIXES)
_NEVER_ENTERED = frozenset(("node_modules", "__pycache__"))


def read_source(file: Path, form: str, project: str | None, now: datetime, progress: Progress) -> Bundle:
    """What a file or folder holds, each part of it as far as it can be read.

    Raises:
        NotFound: nothing there. InvalidEntry: not of that form. UsageError: no such form or project, or one that the
        form does not take. UnsupportedRepository: of a newer version.
    """
    if project:
        project_name(project)
    if not file.exists():
        raise NotFound("file", str(file), hint="name the file or folder to import")
    if form == GROOVE:
        _no_project(project, form)
        return portable_groove.read(decode(outside.read(file, LIMIT)[0], str(file)), str(file))
    if form == SQLITE:
        _no_project(project, form)
        from ai_lessons.library.porting.porting_sqlite import read_database

        return read_database(file, now)
    if form == MARKDOWN:
        return _each(_notes(file), lambda name, data: [portable_markdown.note(name, data, project, now)], progress)
    if form == AGENTS:
        return _each(
            _instructions(file), lambda name, data: portable_markdown.instructions(name, data, project, now), progress
        )
    raise UsageError(f"no form {form!r}", hint="one of: " + ", ".join(FORMS))


def _no_project(project: str | None, form: str) -> None:
    if project:
        raise UsageError(f"{form} says itself which project an entry belongs to", hint="leave --project out")


def _each(found: list[tuple[str, Path]], read: Callable[[str, bytes], list[Item]], progress: Progress) -> Bundle:
    items: list[Item] = []
    damaged = []
    for number, (name, path) in enumerate(found):
        progress("reading", number, len(found))
        try:
            items += read(name, outside.read(path)[0])
        except AiLessonsError as error:
            damaged.append((name, error.message))
    progress("reading", len(found), len(found))
    return Bundle(items, damaged)


def _notes(place: Path) -> list[tuple[str, Path]]:
    """Markdown below a folder, hidden files and links left out; or one file."""
    if not place.is_dir():
        return [(place.name, place)]
    found = [(one.name, one.path) for one in outside.expand([str(place)], place, recursive=True)]
    notes = [(name, path) for name, path in found if name.lower().endswith(MARKDOWN_SUFFIXES)]
    if not notes:
        raise InvalidEntry([Problem(str(place), "no Markdown in this folder")])
    return notes


def _instructions(place: Path) -> list[tuple[str, Path]]:
    """One file, a folder of rules, or what agents read in a code repository."""
    if not place.is_dir():
        shown = next((f"{folder}/{place.name}" for folder in _RULE_FOLDERS if str(place.parent).endswith(folder)), "")
        return [(shown or place.name, place)]
    folder = next((one for one in _RULE_FOLDERS if str(place).endswith(f"/{one}")), None)
    if folder:
        found = [(f"{folder}/{name}", path) for name, path in _rule_files(place)]
    else:
        found = [(name, place / name) for name in _INSTRUCTIONS if _is_file(place / name)]
        found += [(f"{one}/{name}", path) for one in _RULE_FOLDERS for name, path in _rule_files(place / one)]
    if not found:
        hint = "looked for: " + ", ".join((*_INSTRUCTIONS, *_RULE_FOLDERS))
        raise InvalidEntry([Problem(str(place), "no instructions for agents in this folder")], hint=hint)
    return found


def _rule_files(folder: Path) -> Iterator[tuple[str, Path]]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(one for one in folders if one not in _NEVER_ENTERED)
        for name in sorted(names):
            path = folder.__class__(place, name)
            if name.lower().endswith(_RULE_SUFFIXES) and _is_file(path):
                yield path.relative_to(folder).as_posix(), path


def _is_file(path: Path) -> bool:
    """A file itself: instructions that are links to each other are read once."""
    return path.exists() and stat.S_ISREG(path.lstat().st_mode)
