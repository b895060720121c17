"""Exports: everything as one JSON document, a site, or files that agents of other tools read."""

from __future__ import annotations

import re
from collections import Counter
from contextlib import suppress
from fnmatch import fnmatchcase
from itertools import starmap
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.errors import InvalidEntry, NotFound, Refused, StorageFailed, UsageError
from ai_lessons.index.catalog_reading import Filter
from ai_lessons.knowledge import agent_rules, bundle, frontmatter
from ai_lessons.knowledge.bundle import Item, noting
from ai_lessons.knowledge.entries import GLOBAL_PROJECT, Entry, Kind, Light, Status
from ai_lessons.knowledge.origins import USER
from ai_lessons.library.agent_sources import LIMIT
from ai_lessons.library.browsing import show
from ai_lessons.library.lessons import is_firm
from ai_lessons.library.relating import superseded
from ai_lessons.library.reports import Skipped
from ai_lessons.repository import agent_files, outside
from ai_lessons.repository.files import Staging, read_file, remove_file, status_of, translated, write_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from ai_lessons.knowledge.agent_rules import ExportedEntry
    from ai_lessons.library.answers import Shown
    from ai_lessons.library.opened import Library
    from ai_lessons.library.session import RepositorySession

GROOVE, AGENTS, SKILLS = "groove", "agents-md", "skills"
MOST = 20_000  # characters of all that is told, unless the caller says otherwise
_ONE_FILE = (".md", ".windsurfrules", ".cursorrules")
"""How a name ends that is one file, where a form could be a folder of rules, too."""


class ExportedFile(NamedTuple):
    """A file of an export, and what was done to it, in words."""

    path: str
    done: str


class Exported(NamedTuple):
    """What was exported: `files`, else the `document`; how many entries of each kind, and what was `skipped`."""

    form: str
    files: tuple[ExportedFile, ...]
    entries: Mapping[Kind, int] = MappingProxyType({})
    events: int = 0
    skipped: tuple[Skipped, ...] = ()
    document: dict[str, Any] | None = None
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The document itself where no file was written; else the number of entries under the folder of each kind."""
        if self.document is not None:
            return self.document
        counts = {kind.folder: self.entries.get(kind, 0) for kind in Kind}
        data = {"form": self.form, "files": self.files, **counts, "events": self.events}
        return data | {"skipped": self.skipped, "notes": self.notes}


def export_file(
    library: Library,
    file: Path | None,
    form: str = GROOVE,
    *,
    project: str | None = None,
    globs: Sequence[str] = (),
    most: int = MOST,
    replace: bool = False,
) -> Exported:
    """Write `groove`, one JSON document (None: hand it back), or rules in force and firm lessons in another form.

    Of those the entries of a project and the global ones whose path or title a glob names, up to `most` characters,
    the most specific and best proven first. Raises UsageError: what is given does not go together. StorageFailed: the
    place cannot be written, or is no plain file or folder. Refused: a file is there that was not written here (unless
    `replace`), or a link leads out.
    """
    repo = library.primary
    file = file and outside.typed(file, repo.options.cwd)
    if form == GROOVE:
        if globs:
            raise UsageError("groove is everything of a project", hint="leave the globs out, or name a form with --to")
        return _export_all(repo, file, project, replace=replace)
    if file is None:
        raise UsageError(f"{form} is written into files of yours", hint="name the file or folder in place of -")
    entries, left_out = _chosen(repo, project, globs, most)
    with translated(str(file), writing=True):
        if form == AGENTS or (form != SKILLS and not file.is_dir() and file.name.endswith(_ONE_FILE)):
            job, text = ("install", agent_rules.whole(entries)) if entries else ("uninstall", "")
            done = [(str(file), agent_files.carry_out(file, job, text, agent_files.marks(agent_rules.NAME)))]
        else:
            done = _folder(file, form, entries, replace=replace)
    counts = Counter(entry.kind for _, entry in entries)
    return Exported(
        form,
        tuple(starmap(ExportedFile, done)),
        counts,
        skipped=tuple(starmap(Skipped, left_out)),
        notes=tuple(repo.notes()),
    )


# --- a site of files ---

SITE, SITE_FILES = "site", ".ai-lessons-site"
"""The form, and the file that names the files of ours in its folder."""
_ENTRY_PAGE = re.compile(r"entry/[0-9A-Z]{26}\.html")
REPLACE = "give --replace"


def export_site(
    library: Library,
    folder: Path,
    draw: Callable[[Sequence[Shown]], Iterable[tuple[str, bytes]]],
    project: str | None,
    *,
    replace: bool = False,
) -> Exported:
    """Write what stands as files that `draw` makes (names and contents); those of the last time that are left over go.

    Lessons of one person are left out. Raises Refused: the folder has files, and none of ours, or other files are in
    the place of ours (unless `replace`); a link is in the way. StorageFailed.
    """
    repo = library.primary
    folder = outside.typed(folder, repo.options.cwd)
    with translated(str(folder), writing=True):
        folder.mkdir(parents=True, exist_ok=True)
        before: set[str] = set()
        with suppress(NotFound):
            before |= {*read_file(folder, SITE_FILES)[0].decode("utf-8", "replace").splitlines()}
        if any(folder.iterdir()) and not before and not replace:
            raise Refused(f"{folder} has files that are not ours", hint=f"name a new or an empty folder, or {REPLACE}")
    lights = repo.current().select(Filter(project=project, without=superseded(repo)))
    lights = [light for light in lights if not _is_personal(light)]
    shown: list[Shown] = []
    skipped: list[tuple[str, str]] = []
    for light in repo.options.each("reading", lights):
        with noting(light.path, skipped):
            shown.append(show(library, light.id))
    done: list[str] = []
    with Staging(folder, durable=False) as staging:
        for name, data in draw(shown):
            if not replace and name not in before and status_of(folder, name):
                raise Refused(f"{folder / name} is not ours", hint=f"name another folder, or {REPLACE}")
            staging.add(name, data)
            done.append(name)
        staging.add(SITE_FILES, "\n".join(done).encode())
        staging.publish()
    # the list may have been pulled: of what it names only pages of entries go
    for name in filter(_ENTRY_PAGE.fullmatch, before.difference(done)):
        remove_file(folder, name)
    counts = Counter(page.entry.kind for page in shown)
    files = (ExportedFile(str(folder), f"{len(done)} files"),)
    return Exported(SITE, files, counts, skipped=tuple(starmap(Skipped, skipped)), notes=tuple(repo.notes()))


# --- rules in force and firm lessons, for the agents of other tools ---


def _chosen(
    repo: RepositorySession, project: str | None, globs: Sequence[str], most: int
) -> tuple[list[ExportedEntry], list[tuple[str, str]]]:
    """Handles and entries to write, the global first and each project by its titles, and what has no room."""
    kinds = frozenset({Kind.RULE, Kind.LESSON})
    lights = [
        light
        for light in repo.current().select(Filter(kinds=kinds, status=None))
        if (light.kind is Kind.RULE or _is_for_all(light))
        and (project is None or light.project in {project, GLOBAL_PROJECT})
        and (not globs or any(fnmatchcase(name, glob) for glob in globs for name in (light.path, light.title)))
    ]
    usages = repo.usages.several([light for light in lights if light.kind is Kind.LESSON])

    def worth(light: Light) -> tuple[bool, bool, bool, float, str]:
        proven = usages[light.id].confidence if light.id in usages else 1.0
        everywhere = light.project == GLOBAL_PROJECT
        return light.kind is not Kind.RULE, everywhere, not light.details.get("applies_to"), -proven, light.id

    lights.sort(key=worth)
    repo.expect([light.id for light in lights])
    room, chosen, left_out = max(most - agent_rules.FRAME, 0), [], []
    for light in lights:
        try:
            entry = repo.load(light.id)[0]
        except NotFound as error:  # removed meanwhile, or the text in force is missing in git
            left_out.append((light.path, error.message))
            continue
        size = len(agent_rules.section(light.handle, entry, 3)) + 2
        if size > room:
            left_out.append((light.path, f"{size:,} characters, and {room:,} of {most:,} are left (--max-chars)"))
            continue
        room -= size
        chosen.append((light.handle, entry))
    chosen.sort(
        key=lambda pair: (pair[1].project != GLOBAL_PROJECT, pair[1].project, pair[1].title.casefold(), pair[1].id)
    )
    return chosen, left_out


def _is_personal(lesson: Light) -> bool:
    return str(lesson.details.get("scope", "")).startswith(f"{USER}:")


def _is_for_all(lesson: Light) -> bool:
    return lesson.details.get("status") != Status.WRONG and is_firm(lesson) and not _is_personal(lesson)


def _folder(folder: Path, form: str, entries: Sequence[ExportedEntry], *, replace: bool) -> list[tuple[str, str]]:
    """One file each, or one skill a project; files of ours that say what is no longer in force go."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise StorageFailed(f"{folder} is no folder", hint="name a folder such as .claude/rules")
    if form == SKILLS:
        projects = dict.fromkeys(entry.project for _, entry in entries)
        groups = {name: [pair for pair in entries if pair[1].project == name] for name in projects}
        texts = dict(agent_rules.skill(name, group) for name, group in groups.items())
        pattern = f"{agent_rules.PREFIX}*/SKILL.md"
    else:
        suffix = agent_rules.RULE_FILES[form].suffix
        texts = {agent_rules.file_name(x, suffix): agent_rules.rule_file(form, handle, x) for handle, x in entries}
        pattern = f"{agent_rules.PREFIX}*{suffix}"
    present = {path.relative_to(folder).as_posix() for path in outside.matches(folder, pattern.split("/"))}
    names = [*texts, *sorted(present - texts.keys())]
    return [(str(folder / name), _file(folder, name, texts.get(name), replace=replace)) for name in names]


def _file(folder: Path, name: str, text: str | None, *, replace: bool) -> str:
    """One file as it shall be (None: gone); what was done. One that is not ours as a whole is left alone."""
    try:
        old = read_file(folder, name)[0]
    except NotFound:
        old = None
    except Refused:
        return "left alone, it is a link"
    if old is not None and not agent_rules.is_ours(old) and not (replace and text):
        return "left alone, it is not ours"
    if text is None:
        remove_file(folder, name)
        return "removed"
    if old == text.encode():
        return "already there"
    folder.mkdir(parents=True, exist_ok=True)
    write_file(folder, name, text.encode(), durable=False)
    return "written" if old is None else "brought up to date"


# --- everything ---


def _export_all(repo: RepositorySession, file: Path | None, project: str | None, *, replace: bool) -> Exported:
    entries, skipped = _entries(repo, project)
    lessons = [(entry, item) for entry, item in entries if entry.kind is Kind.LESSON]
    usages = repo.usages.several(list(repo.catalog.many([entry.id for entry, _ in lessons]).values()))
    document = {
        "version": bundle.VERSION,
        "exported_at": frontmatter.stamp(repo.options.now()),
        "learnings": [bundle.learning(entry, item, usages[entry.id]) for entry, item in lessons],
        "params": [],  # the events say how they were moved
        "relations": bundle.relations([entry for entry, _ in entries], [entry.id for entry, _ in lessons]),
        "files": [{"kind": e.kind.value, **bundle.kept(item)} for e, item in entries if e.kind is not Kind.LESSON],
        "events": (events := repo.usages.all_events({entry.id for entry, _ in entries})),
    }
    done: tuple[ExportedFile, ...] = ()
    if file is not None:
        if file.is_symlink() or (file.exists() and not file.is_file()):
            raise StorageFailed(f"{file} is no plain file", hint="name another file")
        exists = file.exists()
        if exists and not replace and not _is_export(file):
            hint = f"name another file, or {REPLACE}; for agents see --to"
            raise Refused(f"{file} is not an export of ours, and stays", hint=hint)
        outside.write(file, bundle.dump(document))
        done = (ExportedFile(str(file), "replaced" if exists else "written"),)
    return Exported(
        GROOVE, done, Counter(entry.kind for entry, _ in entries), len(events), tuple(starmap(Skipped, skipped)),
        document if file is None else None, tuple(repo.notes()),
    )  # fmt: skip


def _is_export(file: Path) -> bool:
    """Whether a file is an export of ours, or nothing."""
    try:
        data = outside.read(file, LIMIT)[0]
    except InvalidEntry:  # it is larger than what we read
        return False
    return not data.strip() or bundle.is_ours(data)


def _entries(repo: RepositorySession, project: str | None) -> tuple[list[tuple[Entry, Item]], list[tuple[str, str]]]:
    """Every entry with its file by their ids, and those that cannot be read with the reason."""
    lights = sorted(repo.current().select(Filter(project=project, status=None)), key=lambda light: light.id)
    repo.expect([light.id for light in lights])
    entries, skipped = [], list[tuple[str, str]]()
    for light in repo.options.each("reading", lights):
        with noting(light.path, skipped):
            entry, text = repo.load(light.id)
            place = repo.catalog.locate(light.id)
            if entry.kind is Kind.RULE:  # as it is in force
                file = Item("", entry.path, text.encode())
            elif place.hash is None and place.side_path:  # the script itself lies elsewhere
                file = Item("", place.side_path, repo.store.read(place.side_path))
            else:
                side, data = text.encode() if place.side_path else None, repo.store.read(entry.path)
                file = Item("", entry.path, data, side, repo.executable(entry.path))
            entries.append((entry, file))
    return entries, skipped
