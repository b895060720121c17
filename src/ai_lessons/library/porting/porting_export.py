"""Giving knowledge away: as one JSON document, or as rules in files that agents read without any program of ours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ai_lessons.errors import AiLessonsError, StorageFailed, UsageError
from ai_lessons.index.catalog_reading import Filter
from ai_lessons.knowledge import drafts
from ai_lessons.knowledge.entries import Kind
from ai_lessons.knowledge.portable import portable_groove, portable_rules
from ai_lessons.knowledge.portable.bundle import EPOCH
from ai_lessons.knowledge.portable.portable_groove import ExportedFile
from ai_lessons.learning.fold import DEFINITIONS
from ai_lessons.library.checking import project_name
from ai_lessons.library.porting.porting_events import as_data, gather
from ai_lessons.repository.agents import agent_files
from ai_lessons.repository.files import translated

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ai_lessons.knowledge.entries import Entry, Light
    from ai_lessons.learning.fold import ParameterState
    from ai_lessons.library.opened import Library
    from ai_lessons.library.session import Parts

GROOVE, AGENTS, CLAUDE = "groove", "agents-md", "claude-rules"
FORMS = (GROOVE, AGENTS, CLAUDE)


@dataclass(frozen=True, slots=True)
class Exported:
    """What was given away. `files` are (path, what was done); `document` is the export itself where no file was named.

    `skipped` names entries that cannot be read, with the reason.
    """

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
    """Write `groove`: one JSON document with every entry (None: hand it back), all or of one project.

    `agents-md`: the rules in force into a part of a file of instructions. `claude-rules`: one file for each below a
    folder. What stands around our part stays as it is, byte for byte; doing it again changes nothing.

    Raises:
        UsageError: no such form. StorageFailed: the place cannot be written, or is no plain file or folder.
    """
    parts = library.primary
    if project:
        project_name(project)
    if form == GROOVE:
        return _document(parts, file, project)
    if form not in FORMS:
        raise UsageError(f"no form {form!r}", hint="one of: " + ", ".join(FORMS))
    if file is None:
        raise UsageError(f"{form} is written into files of yours", hint="name the file or folder in place of -")
    rules = _rules(parts, project)
    with translated(str(file), writing=True):
        done = _agents_md(file, rules) if form == AGENTS else _claude_rules(file, rules)
    return Exported(form, done, rules=len(rules), notes=tuple(parts.notes()))


# --- the whole repository ---


def _document(parts: Parts, file: Path | None, project: str | None) -> Exported:
    writing = _Writing(parts, project)
    document = writing.document()
    counts = {f"{kind.value}s": writing.counts.get(kind, 0) for kind in Kind}
    done: tuple[tuple[str, str], ...] = ()
    if file is not None:
        if file.is_symlink() or (file.exists() and not file.is_file()):
            raise StorageFailed(f"{file} is no plain file", hint="name another file")
        with translated(str(file), writing=True):
            there = file.exists()
            agent_files.replace(file, portable_groove.dump(document))
        done = ((str(file), "replaced" if there else "written"),)
    return Exported(
        GROOVE, done, **counts, events=len(document["events"]), skipped=tuple(writing.skipped),
        document=document if file is None else None, notes=tuple(parts.notes()),
    )  # fmt: skip


class _Writing:
    """One export in the making."""

    def __init__(self, parts: Parts, project: str | None) -> None:
        self._parts = parts
        found = parts.current().select(Filter(project=project, status=None, sort="path"))
        self._lights = sorted(found, key=lambda light: light.id)
        self.counts: dict[Kind, int] = {}
        self.skipped: list[tuple[str, str]] = []

    def document(self) -> dict[str, Any]:
        parts = self._parts
        usages = parts.usages.several([one for one in self._lights if one.kind is Kind.LESSON])
        learnings, files, entries, lessons = [], [], [], []
        parts.expect([light.id for light in self._lights])
        for number, light in enumerate(self._lights):
            parts.options.progress("reading", number, len(self._lights))
            try:
                entry, kept, side = self._load(light)
            except AiLessonsError as error:
                self.skipped.append((light.path, error.message))
                continue
            self.counts[entry.kind] = self.counts.get(entry.kind, 0) + 1
            entries.append(entry)
            if entry.kind is Kind.LESSON:
                lessons.append(entry.id)
                learnings.append(portable_groove.learning(entry, kept, _usage(usages[entry.id])))
            else:
                said = {"kind": entry.kind.value, **portable_groove.kept(kept)}
                files.append(said | ({"side": side} if side is not None else {}))
        parts.options.progress("reading", len(self._lights), len(self._lights))
        happened = gather(parts, frozenset(one.id for one in entries))
        return {
            "version": portable_groove.VERSION,
            "exported_at": drafts.stamp(parts.options.now()),
            "learnings": learnings,
            "params": [_param(one) for one in parts.usages.parameters().values()],
            "relations": portable_groove.relations(entries, lessons),
            "files": files,
            "events": [as_data(one) for one in happened],
        }

    def _load(self, light: Light) -> tuple[Entry, ExportedFile, str | None]:
        """An entry with its file, and the text of a script's side file. Of a rule what is in force."""
        parts = self._parts
        entry, text = parts.load(light.id)
        if entry.kind is Kind.RULE:
            return entry, ExportedFile(entry.path, text.encode()), None
        place = parts.catalog.locate(light.id)
        if place.hash is None and place.side_path:  # the script itself lies elsewhere
            return entry, ExportedFile(place.side_path, parts.store.read(place.side_path)), None
        kept = ExportedFile(entry.path, parts.store.read(entry.path), parts.executable(entry.path))
        return entry, kept, text if place.side_path else None


def _usage(usage: Any) -> dict[str, Any]:
    names = ("times_injected", "times_helpful", "times_ignored", "times_contradicted", "last_used", "alpha", "beta")
    return {name: getattr(usage, name) for name in (*names, "confidence")}


def _param(one: ParameterState) -> dict[str, Any]:
    """A parameter as a distribution over its range; the range and the setting in its own unit beside it."""
    about = DEFINITIONS[one.name]
    return {
        "name": one.name,
        "param": {
            "value": round(one.position, 9),
            "uncertainty": round(one.uncertainty, 9),
            "observations": one.observations,
            "prior_alpha": round(one.alpha, 9),
            "prior_beta": round(one.beta, 9),
        },
        "updated_at": one.updated_at or EPOCH,
        "setting": round(one.value, 9),
        "range": [about.low, about.high],
        "bounds": [one.low, one.high],
    }


# --- rules in force, for agents that have no program of ours ---


def _rules(parts: Parts, project: str | None) -> list[tuple[str, Entry]]:
    """(handle, rule) of every rule in force: those that hold everywhere first, then by project and title."""
    catalog = parts.current()
    lights = catalog.select(Filter(kinds=frozenset({Kind.RULE}), status=None))
    wanted = [one for one in lights if project is None or one.project in {project, portable_rules.EVERYWHERE}]
    wanted.sort(key=lambda one: (one.project != portable_rules.EVERYWHERE, one.project, one.title.casefold(), one.id))
    parts.expect([one.id for one in wanted])
    return [(one.handle, parts.load(one.id)[0]) for one in wanted]


def _agents_md(file: Path, rules: Sequence[tuple[str, Entry]]) -> tuple[tuple[str, str], ...]:
    job, text = ("install", portable_rules.agents_md(rules)) if rules else ("uninstall", "")
    return ((str(file), agent_files.carry_out(file, job, text, agent_files.marks(portable_rules.NAME))),)


def _claude_rules(folder: Path, rules: Sequence[tuple[str, Entry]]) -> tuple[tuple[str, str], ...]:
    """One file a rule, because each says for which files it is loaded; those of rules no longer in force go."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise StorageFailed(f"{folder} is no folder", hint="name a folder such as .claude/rules")
    wanted = {portable_rules.claude_name(rule): portable_rules.claude_rule(handle, rule) for handle, rule in rules}
    there = sorted(one.name for one in folder.glob(f"{portable_rules.PREFIX}*.md")) if folder.exists() else []
    done = []
    for name in [*wanted, *(name for name in there if name not in wanted)]:
        file = folder / name
        if file.is_symlink():
            done.append((str(file), "left alone, it is a link"))
            continue
        old = file.read_bytes() if file.exists() else None
        if old is not None and not portable_rules.is_ours(old):
            done.append((str(file), "left alone, it is not ours"))
            continue
        new = portable_rules.refreshed(old, wanted.get(name))
        if new == old:
            if name in wanted:
                done.append((str(file), "already there"))
            continue
        if new is None:
            file.unlink()
        else:
            agent_files.replace(file, new)
        done.append((str(file), "removed" if new is None else "written" if old is None else "brought up to date"))
    return tuple(done)
