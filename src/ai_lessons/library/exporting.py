"""Giving knowledge away: as one JSON document, or as rules in files that agents read without any program of ours."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.errors import AiLessonsError, StorageFailed, UsageError
from ai_lessons.index.catalog_reading import Filter
from ai_lessons.knowledge import agent_rules, bundle, frontmatter
from ai_lessons.knowledge.bundle import Item
from ai_lessons.knowledge.entries import GLOBAL_PROJECT, Kind
from ai_lessons.learning import events
from ai_lessons.library.gate import project_name
from ai_lessons.repository import agent_files
from ai_lessons.repository.events import EventLog
from ai_lessons.repository.files import replace_file, translated

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ai_lessons.knowledge.entries import Entry
    from ai_lessons.learning.events import Event
    from ai_lessons.library.opened import Library
    from ai_lessons.library.session import RepositorySession

GROOVE, AGENTS, CLAUDE = "groove", "agents-md", "claude-rules"
FORMS = (GROOVE, AGENTS, CLAUDE)


class Exported(NamedTuple):
    """What was given away: `files` (path, what was done), else the `document`, and `skipped` (path, reason)."""

    form: str
    files: tuple[tuple[str, str], ...]
    lessons: int = 0
    rules: int = 0
    docs: int = 0
    scripts: int = 0
    events: int = 0
    skipped: tuple[tuple[str, str], ...] = ()
    document: dict[str, Any] | None = None
    notes: tuple[str, ...] = ()


def export_file(library: Library, file: Path | None, form: str = "groove", *, project: str | None = None) -> Exported:
    """Write `groove`, one JSON document (None: hand it back), or the rules in force: `agents-md`, `claude-rules`.

    Raises UsageError: no such form. StorageFailed: the place cannot be written, or is no plain file or folder.
    """
    parts = library.primary
    if project:
        project_name(project)
    if form == GROOVE:
        return _export_all(parts, file, project)
    if form not in FORMS:
        raise UsageError(f"no form {form!r}", hint="one of: " + ", ".join(FORMS))
    if file is None:
        raise UsageError(f"{form} is written into files of yours", hint="name the file or folder in place of -")
    lights = parts.current().select(Filter(kinds=frozenset({Kind.RULE}), status=None))
    wanted = [one for one in lights if project is None or one.project in {project, GLOBAL_PROJECT}]
    wanted.sort(key=lambda one: (one.project != GLOBAL_PROJECT, one.project, one.title.casefold(), one.id))
    parts.expect([one.id for one in wanted])
    rules = [(one.handle, parts.load(one.id)[0]) for one in wanted]
    with translated(str(file), writing=True):
        if form == CLAUDE:
            done = _claude_rules(file, rules)
        else:
            job, text = ("install", agent_rules.agents_md(rules)) if rules else ("uninstall", "")
            done = ((str(file), agent_files.carry_out(file, job, text, agent_files.marks(agent_rules.NAME))),)
    return Exported(form, done, rules=len(rules), notes=tuple(parts.notes()))


def _export_all(parts: RepositorySession, file: Path | None, project: str | None) -> Exported:
    found, skipped = _entries(parts, project)
    document = _document(parts, found)
    counts = {f"{kind.value}s": sum(entry.kind is kind for entry, _ in found) for kind in Kind}
    done: tuple[tuple[str, str], ...] = ()
    if file is not None:
        if file.is_symlink() or (file.exists() and not file.is_file()):
            raise StorageFailed(f"{file} is no plain file", hint="name another file")
        with translated(str(file), writing=True):
            there = file.exists()
            replace_file(file, bundle.dump(document))
        done = ((str(file), "replaced" if there else "written"),)
    return Exported(
        GROOVE, done, **counts, events=len(document["events"]), skipped=tuple(skipped),
        document=document if file is None else None, notes=tuple(parts.notes()),
    )  # fmt: skip


def _entries(parts: RepositorySession, project: str | None) -> tuple[list[tuple[Entry, Item]], list[tuple[str, str]]]:
    """Every entry with its file by their ids, and those that cannot be read with the reason."""
    lights = sorted(parts.current().select(Filter(project=project, status=None)), key=lambda light: light.id)
    parts.expect([light.id for light in lights])
    found, skipped = [], []
    for light in parts.options.each("reading", lights):
        try:
            entry, text = parts.load(light.id)
            place = parts.catalog.locate(light.id)
            if entry.kind is Kind.RULE:  # as it is in force
                file = Item("", entry.path, text.encode())
            elif place.hash is None and place.side_path:  # the script itself lies elsewhere
                file = Item("", place.side_path, parts.store.read(place.side_path))
            else:
                side, data = text.encode() if place.side_path else None, parts.store.read(entry.path)
                file = Item("", entry.path, data, side, parts.executable(entry.path))
            found.append((entry, file))
        except AiLessonsError as error:
            skipped.append((light.path, error.message))
    return found, skipped


def _document(parts: RepositorySession, found: Sequence[tuple[Entry, Item]]) -> dict[str, Any]:
    lessons = [(entry, file) for entry, file in found if entry.kind is Kind.LESSON]
    usages = parts.usages.several(list(parts.catalog.many([entry.id for entry, _ in lessons]).values()))
    others = ((entry, file) for entry, file in found if entry.kind is not Kind.LESSON)
    return {
        "version": bundle.VERSION,
        "exported_at": frontmatter.stamp(parts.options.now()),
        "learnings": [bundle.learning(entry, file, usages[entry.id]) for entry, file in lessons],
        "params": [],  # the events say how they were moved
        "relations": bundle.relations([entry for entry, _ in found], [entry.id for entry, _ in lessons]),
        "files": [{"kind": entry.kind.value, **bundle.kept(file)} for entry, file in others],
        "events": _events(parts, {entry.id for entry, _ in found}),
    }


def _events(parts: RepositorySession, entries: set[str]) -> list[dict[str, Any]]:
    """Every event about these entries and parameters, by id; ids that say different things are left out."""
    found: dict[str, Event] = {}
    void: set[str] = set()
    for file in EventLog(parts.store.root, parts.store.state_dir).files():
        for line in file.read().decode("utf-8", "replace").split("\n"):
            one = events.read_line(line) if line else None
            wanted = one and (one.entry in entries or one.event in events.TURNS)
            if one and wanted and found.setdefault(one.id, one) != one:
                void.add(one.id)
    return [json.loads(events.line_of(found[name])) for name in sorted(found.keys() - void)]


def _claude_rules(folder: Path, rules: Sequence[tuple[str, Entry]]) -> tuple[tuple[str, str], ...]:
    """One file a rule, because each says for which files it is loaded; those of rules no longer in force go."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise StorageFailed(f"{folder} is no folder", hint="name a folder such as .claude/rules")
    wanted = {agent_rules.claude_name(rule): agent_rules.claude_rule(handle, rule) for handle, rule in rules}
    there = {one.name for one in folder.glob(f"{agent_rules.PREFIX}*.md")} if folder.exists() else set()
    done = [_claude_file(folder / name, wanted.get(name)) for name in [*wanted, *sorted(there - wanted.keys())]]
    return tuple(one for one in done if one)


def _claude_file(file: Path, text: str | None) -> tuple[str, str] | None:
    """One file as it shall be (None: gone), and what was done. A file that is not ours as a whole is left alone."""
    if file.is_symlink():
        return str(file), "left alone, it is a link"
    old = file.read_bytes() if file.exists() else None
    if old is not None and not agent_rules.is_ours(old):
        return str(file), "left alone, it is not ours"
    if text is None:
        file.unlink()
        return str(file), "removed"
    if old == text.encode():
        return str(file), "already there"
    replace_file(file, text.encode())
    return str(file), "written" if old is None else "brought up to date"
