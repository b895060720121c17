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
    files = [(place.name, place, True) for place in places if not place.is_dir()]
    files += [(name, path, False) for place in places if place.is_dir() for name, path in _below(place)]
    if form == MEM0:
        return _memories(places, project, options)
    if form in {MARKDOWN, BASIC_MEMORY}:
        bundle = _notes(files, form, project, options)
    elif form == SKILLS:
        bundle = _skills(files, places, project, options)
    else:
        bundle = _instructions(files, form, project, options, split_up=split_up)
    if not (bundle.items or bundle.damaged or any(fate != OTHER for _, fate, _ in bundle.left)):
        what = {MARKDOWN: "Markdown", BASIC_MEMORY: "Markdown", SKILLS: "skill"}.get(form, "instructions for agents")
        hint = f"looked at {len(bundle.left):,} files; name files or a quoted glob to take them as they are"
        raise InvalidEntry([Problem(", ".join(map(str, places)), f"no {what} in it")], hint=hint)
    return bundle


def _below(folder: Path) -> Iterator[tuple[str, Path]]:
    """Every file below a folder, hidden ones too, by its path there; links and what is installed are left out."""
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _NEVER_ENTERED)
        for path in (Path(place, name) for name in sorted(names)):
            if path.is_file() and not path.is_symlink():
                yield path.relative_to(folder).as_posix(), path


_Found = tuple[str, Path, bool]
"""A file by the name to show; whether the caller named it."""


def _memories(places: Sequence[Path], project: str | None, options: Options) -> Bundle:
    texts = ((place.name, outside.read(place, LIMIT)[0].decode("utf-8", "replace")) for place in places)
    parts = [notes.memories(text.removeprefix("\ufeff"), name, project, options.now()) for name, text in texts]
    return Bundle([item for part in parts for item in part.items], [bad for part in parts for bad in part.damaged])


def _notes(files: Sequence[_Found], form: str, project: str | None, options: Options) -> Bundle:
    items: list[Item] = []
    damaged, left = list[tuple[str, str]](), list[tuple[str, str, str]]()
    for name, path, named in options.each("reading", files):
        if any(part.startswith(".") for part in name.split("/")) and not named:
            continue
        if not layout.is_markdown(name) and not named:
            left.append((name, OTHER, "not Markdown"))
            continue
        with noting(name, damaged):
            items.append(notes.note(name, outside.read(path)[0], project, options.now()))
    return Bundle(notes.linked(items) if form == BASIC_MEMORY else items, damaged, left=left)


def _instructions(
    files: Sequence[_Found], form: str, project: str | None, options: Options, *, split_up: bool
) -> Bundle:
    items: list[Item] = []
    rules: list[agent_rules.Instruction] = []
    damaged, left = list[tuple[str, str]](), list[tuple[str, str, str]]()
    homes = {path.parent for _, path, _ in files if path.name == notes.MEMORY}
    for below, path, named in options.each("reading", files):
        is_memory = path.parent in homes and layout.is_markdown(path.name)
        host_file = ("claude", below) if is_memory else agent_rules.host_of(path.absolute().as_posix())
        if not named and (host_file is None or form not in {host_file[0], AGENTS}):
            left.append((below, OTHER, f"--from {host_file[0]} reads it" if host_file else ""))
            continue
        # a folder such as .claude/rules may itself be what was named
        name = host_file[1] if host_file and not agent_rules.host_of(below) else below
        with noting(name, damaged):
            data = outside.read(path)[0]
            lessons = notes.memory(name, data, project, options.now()) if is_memory else []
            stated = [] if is_memory else agent_rules.instructions(name, data, split_up=split_up)
            items += lessons
            rules += stated
            if not (lessons or stated):
                left.append((name, SKIPPED, "it says nothing of its own"))
    kept, like = agent_rules.joined(rules)
    left += [(where, JOINED, other) for where, other in like]
    return Bundle(
        [*items, *(agent_rules.rule(instruction, project, options.now()) for instruction in kept)], damaged, left=left
    )


def _skills(files: Sequence[_Found], places: Sequence[Path], project: str | None, options: Options) -> Bundle:
    items: list[Item] = []
    damaged, left = list[tuple[str, str]](), list[tuple[str, str, str]]()
    homes = {path.parent: path.parent.name for _, path, _ in files if path.name == notes.SKILL}
    for place in places:
        if place.parent in homes and not place.is_dir():  # the file was named: all of the skill
            files = [*files, *((name, path, False) for name, path in _below(place.parent) if path != place)]
    contents: dict[Path, dict[str, tuple[bytes, bool]]] = {home: {} for home in homes}
    for name, path, _ in options.each("reading", files):
        home = next((folder for folder in path.parents if folder in homes), None)
        if home is None:
            left.append((name, OTHER, f"in no folder with a {notes.SKILL}"))
            continue
        with noting(name, damaged):
            contents[home][path.relative_to(home).as_posix()] = outside.read(path)
    for home, of_skill in contents.items():
        try:
            made, ignored = notes.skill(homes[home], of_skill, project, options.now())
            items += made
            left += [(path, OTHER, "neither Markdown nor a script") for path in ignored]
        except AiLessonsError as error:
            damaged += [(f"{homes[home]}/{path}", error.message) for path in of_skill]
    return Bundle(items, damaged, left=left)
