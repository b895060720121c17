"""What other tools keep for their agents, found on the disk: instructions, skills, memories, notes."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ai_lessons.errors import AiLessonsError, InvalidEntry, Problem
from ai_lessons.knowledge import agent_rules, layout, notes
from ai_lessons.knowledge.bundle import JOINED, OTHER, SKIPPED, Bundle, Item
from ai_lessons.repository import outside

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ai_lessons.library.options import Options

MARKDOWN, BASIC_MEMORY, MEM0, SKILLS, AGENTS = "markdown", "basic-memory", "mem0", "skills", "agents-md"
FORMS = (*agent_rules.HOSTS, SKILLS, MARKDOWN, BASIC_MEMORY, MEM0)
LIMIT = 512 * 1024 * 1024  # Bytes of an export that we read
_NEVER_ENTERED = frozenset((".git", ".hg", "node_modules", "__pycache__", ".venv"))


@dataclass(slots=True)
class _Reading:
    """Files on their way in, and what became of each that brings nothing."""

    options: Options
    project: str | None
    items: list[Item] = field(default_factory=list)
    damaged: list[tuple[str, str]] = field(default_factory=list)
    left: list[tuple[str, str, str]] = field(default_factory=list)

    def read(self, path: Path, name: str) -> bytes | None:
        """The bytes of a file; None where it cannot be read, which is noted."""
        try:
            return outside.read(path)[0]
        except AiLessonsError as error:
            self.damaged.append((name, error.message))
            return None

    def add(self, found: Bundle) -> None:
        self.items += found.items
        self.damaged += found.damaged

    def bundle(self) -> Bundle:
        return Bundle(self.items, self.damaged, left=self.left)


def read_files(places: Sequence[Path], form: str, project: str | None, options: Options, *, split_up: bool) -> Bundle:
    """What the files hold, and all files below the folders; a file that is named is taken for what `form` says.

    Raises InvalidEntry: there is nothing of that form in them.
    """
    reading = _Reading(options, project)
    if form == MEM0:
        for place in places:
            text = outside.read(place, LIMIT)[0].decode("utf-8", "replace").removeprefix("\ufeff")
            reading.add(notes.memories(text, place.name, project, options.now()))
        return reading.bundle()
    found = [(place.name, place, True) for place in places if not place.is_dir()]
    found += [(name, path, False) for place in places if place.is_dir() for name, path in _below(place)]
    if form in {MARKDOWN, BASIC_MEMORY}:
        _take_notes(reading, found, form)
    elif form == SKILLS:
        _take_skills(reading, found, places)
    else:
        _take_instructions(reading, found, form, split_up=split_up)
    if not (reading.items or reading.damaged or any(fate != OTHER for _, fate, _ in reading.left)):
        what = {MARKDOWN: "Markdown", BASIC_MEMORY: "Markdown", SKILLS: "skill"}.get(form, "instructions for agents")
        hint = f"looked at {len(reading.left):,} files; name files or a quoted glob to take them as they are"
        raise InvalidEntry([Problem(", ".join(map(str, places)), f"no {what} in it")], hint=hint)
    return reading.bundle()


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


def _take_notes(reading: _Reading, found: Sequence[_Found], form: str) -> None:
    texts = {}
    for name, path, named in reading.options.each("reading", found):
        if any(part.startswith(".") for part in name.split("/")) and not named:
            continue
        if not layout.is_markdown(name) and not named:
            reading.left.append((name, OTHER, "not Markdown"))
        elif (data := reading.read(path, name)) is not None:
            texts[name] = data
    now = reading.options.now()
    if form == BASIC_MEMORY:
        reading.add(notes.linked_notes(texts, reading.project, now))
        return
    for name, data in texts.items():
        try:
            reading.items.append(notes.note(name, data, reading.project, now))
        except AiLessonsError as error:
            reading.damaged.append((name, error.message))


def _take_instructions(reading: _Reading, found: Sequence[_Found], form: str, *, split_up: bool) -> None:
    rules: list[agent_rules.Instruction] = []
    homes = {path.parent for _, path, _ in found if path.name == notes.MEMORY}
    for below, path, named in reading.options.each("reading", found):
        whole = path.absolute().as_posix()
        memory = path.parent in homes and layout.is_markdown(path.name)
        known = ("claude", below) if memory else agent_rules.host_of(whole)
        if not named and (known is None or form not in {known[0], AGENTS}):
            reading.left.append((below, OTHER, f"--from {known[0]} reads it" if known else ""))
            continue
        # a folder such as .claude/rules may itself be what was named
        name = known[1] if known and not agent_rules.host_of(below) else below
        data = reading.read(path, name)
        if data is None:
            continue
        try:
            if memory:
                item = notes.memory(name, data, reading.project, reading.options.now())
                reading.items += [item] if item else []
                silent = item is None
            else:
                made = agent_rules.instructions(name, data, split_up=split_up)
                rules += made
                silent = not made
        except AiLessonsError as error:
            reading.damaged.append((name, error.message))
            continue
        if silent:
            reading.left.append((name, SKIPPED, "it says nothing of its own"))
    kept, like = agent_rules.joined(rules)
    reading.left += [(where, JOINED, other) for where, other in like]
    reading.items += [agent_rules.rule(one, reading.project, reading.options.now()) for one in kept]


def _take_skills(reading: _Reading, found: Sequence[_Found], places: Sequence[Path]) -> None:
    homes = {path.parent: path.parent.name for _, path, _ in found if path.name == notes.SKILL}
    for place in [one for one in places if not one.is_dir() and one.parent in homes]:  # the file was named: all of it
        found = [*found, *((name, path, False) for name, path in _below(place.parent) if path != place)]
    files: dict[Path, dict[str, tuple[bytes, bool]]] = {home: {} for home in homes}
    for name, path, _ in reading.options.each("reading", found):
        inside = [one for one in path.parents if one in homes]
        if not inside:
            reading.left.append((name, OTHER, f"in no folder with a {notes.SKILL}"))
        else:
            try:
                files[inside[0]][path.relative_to(inside[0]).as_posix()] = outside.read(path)
            except AiLessonsError as error:
                reading.damaged.append((name, error.message))
    for home, of_skill in files.items():
        try:
            items, others = notes.skill(homes[home], of_skill, reading.project, reading.options.now())
            reading.items += items
            reading.left += [(one, OTHER, "neither Markdown nor a script") for one in others]
        except AiLessonsError as error:
            reading.damaged += [(f"{homes[home]}/{one}", error.message) for one in of_skill]
