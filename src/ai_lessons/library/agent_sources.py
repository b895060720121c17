"""What other tools keep for their agents, found on the disk: instructions, skills, memories, notes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ai_lessons.errors import AiLessonsError, InvalidEntry, Problem
from ai_lessons.knowledge import agent_rules, layout, notes
from ai_lessons.knowledge.bundle import JOINED, OTHER, SKIPPED, Bundle, Item, noting
from ai_lessons.repository import outside

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ai_lessons.library.options import Options

MARKDOWN, BASIC_MEMORY, MEM0, SKILLS, AGENTS = "markdown", "basic-memory", "mem0", "skills", "agents-md"
FORMS = (*agent_rules.HOSTS, SKILLS, MARKDOWN, BASIC_MEMORY, MEM0)
LIMIT = 512 * 1024 * 1024  # Bytes of an export that we read
_NEVER_ENTERED = frozenset((".git", ".hg", "node_modules", "__pycache__", ".venv"))


def read_files(places: Sequence[Path], form: str, project: str | None, options: Options, *, split_up: bool) -> Bundle:
    """What the files hold, and all files below the folders; a file that is named is taken for what `form` says.

    Raises InvalidEntry: there is nothing of that form in them.
    """
    found = [(place.name, place, True) for place in places if not place.is_dir()]
    found += [(name, path, False) for place in places if place.is_dir() for name, path in _below(place)]
    if form == MEM0:
        return _memories(places, project, options)
    if form in {MARKDOWN, BASIC_MEMORY}:
        bundle = _notes(found, form, project, options)
    elif form == SKILLS:
        bundle = _skills(found, places, project, options)
    else:
        bundle = _instructions(found, form, project, options, split_up=split_up)
    if not (bundle.items or bundle.damaged or any(fate != OTHER for _, fate, _ in bundle.left)):
        what = {MARKDOWN: "Markdown", BASIC_MEMORY: "Markdown", SKILLS: "skill"}.get(form, "instructions for agents")
        hint = f"looked at {len(bundle.left):,} files; name files or a quoted glob to take them as they are"
        raise InvalidEntry([Problem(", ".join(map(str, places)), f"no {what} in it")], hint=hint)
    return bundle


def _below(folder: Path) -> Iterator[tuple[str, Path]]:
    """Every file below a folder, hidden ones too, by its path there; links and what is installed are left out."""
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(one for one in folders if one not in _NEVER_ENTERED)
        for name in sorted(names):
            path = Path(place, name)
            if path.is_file() and not path.is_symlink():
                yield path.relative_to(folder).as_posix(), path


_Found = tuple[str, Path, bool]
"""A file by the name to show; whether the caller named it."""


def _memories(places: Sequence[Path], project: str | None, options: Options) -> Bundle:
    texts = ((one.name, outside.read(one, LIMIT)[0].decode("utf-8", "replace")) for one in places)
    parts = [notes.memories(text.removeprefix("\ufeff"), name, project, options.now()) for name, text in texts]
    return Bundle([item for one in parts for item in one.items], [bad for one in parts for bad in one.damaged])


def _notes(found: Sequence[_Found], form: str, project: str | None, options: Options) -> Bundle:
    items: list[Item] = []
    damaged, left = list[tuple[str, str]](), list[tuple[str, str, str]]()
    for name, path, named in options.each("reading", found):
        if any(part.startswith(".") for part in name.split("/")) and not named:
            continue
        if not layout.is_markdown(name) and not named:
            left.append((name, OTHER, "not Markdown"))
            continue
        with noting(name, damaged):
            items.append(notes.note(name, outside.read(path)[0], project, options.now()))
    return Bundle(notes.linked(items) if form == BASIC_MEMORY else items, damaged, left=left)


def _instructions(
    found: Sequence[_Found], form: str, project: str | None, options: Options, *, split_up: bool
) -> Bundle:
    items: list[Item] = []
    rules: list[agent_rules.Instruction] = []
    damaged, left = list[tuple[str, str]](), list[tuple[str, str, str]]()
    homes = {path.parent for _, path, _ in found if path.name == notes.MEMORY}
    for below, path, named in options.each("reading", found):
        memory = path.parent in homes and layout.is_markdown(path.name)
        known = ("claude", below) if memory else agent_rules.host_of(path.absolute().as_posix())
        if not named and (known is None or form not in {known[0], AGENTS}):
            left.append((below, OTHER, f"--from {known[0]} reads it" if known else ""))
            continue
        # a folder such as .claude/rules may itself be what was named
        name = known[1] if known and not agent_rules.host_of(below) else below
        with noting(name, damaged):
            data = outside.read(path)[0]
            lessons = notes.memory(name, data, project, options.now()) if memory else []
            stated = [] if memory else agent_rules.instructions(name, data, split_up=split_up)
            items += lessons
            rules += stated
            if not (lessons or stated):
                left.append((name, SKIPPED, "it says nothing of its own"))
    kept, like = agent_rules.joined(rules)
    left += [(where, JOINED, other) for where, other in like]
    return Bundle([*items, *(agent_rules.rule(one, project, options.now()) for one in kept)], damaged, left=left)


def _skills(found: Sequence[_Found], places: Sequence[Path], project: str | None, options: Options) -> Bundle:
    items: list[Item] = []
    damaged, left = list[tuple[str, str]](), list[tuple[str, str, str]]()
    homes = {path.parent: path.parent.name for _, path, _ in found if path.name == notes.SKILL}
    for place in [one for one in places if not one.is_dir() and one.parent in homes]:  # the file was named: all of it
        found = [*found, *((name, path, False) for name, path in _below(place.parent) if path != place)]
    files: dict[Path, dict[str, tuple[bytes, bool]]] = {home: {} for home in homes}
    for name, path, _ in options.each("reading", found):
        inside = [one for one in path.parents if one in homes]
        if not inside:
            left.append((name, OTHER, f"in no folder with a {notes.SKILL}"))
            continue
        with noting(name, damaged):
            files[inside[0]][path.relative_to(inside[0]).as_posix()] = outside.read(path)
    for home, of_skill in files.items():
        try:
            made, others = notes.skill(homes[home], of_skill, project, options.now())
            items += made
            left += [(one, OTHER, "neither Markdown nor a script") for one in others]
        except AiLessonsError as error:
            damaged += [(f"{homes[home]}/{one}", error.message) for one in of_skill]
    return Bundle(items, damaged, left=left)
