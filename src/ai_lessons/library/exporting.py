"""Knowledge on its way out: everything as one JSON document, or what agents of other tools read by themselves."""

from __future__ import annotations

import re
from collections import Counter
from fnmatch import fnmatchcase
from itertools import starmap
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.errors import InvalidEntry, NotFound, Refused, StorageFailed, UsageError
from ai_lessons.index.catalog_reading import Filter
from ai_lessons.knowledge import agent_rules, bundle, frontmatter
from ai_lessons.knowledge.bundle import Item, noting
from ai_lessons.knowledge.entries import GLOBAL_PROJECT, Entry, Kind, Light, Status
from ai_lessons.knowledge.json_fields import json_fields
from ai_lessons.knowledge.origins import USER
from ai_lessons.library.agent_sources import LIMIT
from ai_lessons.library.browsing import show
from ai_lessons.library.lessons import is_firm
from ai_lessons.library.relating import superseded
from ai_lessons.library.reports import Skipped
from ai_lessons.library.usage import all_events
from ai_lessons.repository import agent_files, outside
from ai_lessons.repository.files import Staging, read_file, remove_file, status_of, translated, write_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from ai_lessons.knowledge.agent_rules import Told
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


@json_fields(hidden=("document",))
class Exported(NamedTuple):
    """What was exported: `files`, else the `document`, and what was `skipped`."""

    form: str
    files: tuple[ExportedFile, ...]
    lessons: int = 0
    rules: int = 0
    docs: int = 0
    scripts: int = 0
    events: int = 0
    skipped: tuple[Skipped, ...] = ()
    document: dict[str, Any] | None = None
    notes: tuple[str, ...] = ()


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
    told, left_out = _chosen(repo, project, globs, most)
    with translated(str(file), writing=True):
        if form == AGENTS or (form != SKILLS and not file.is_dir() and file.name.endswith(_ONE_FILE)):
            job, text = ("install", agent_rules.whole(told)) if told else ("uninstall", "")
            done = [(str(file), agent_files.carry_out(file, job, text, agent_files.marks(agent_rules.NAME)))]
        else:
            done = _folder(file, form, told, replace=replace)
    rules = sum(entry.kind is Kind.RULE for _, entry in told)
    return Exported(
        form,
        tuple(starmap(ExportedFile, done)),
        len(told) - rules,
        rules,
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
        before = _site_before(folder)
        if any(folder.iterdir()) and not before and not replace:
            raise Refused(f"{folder} has files that are not ours", hint=f"name a new or an empty folder, or {REPLACE}")
    wanted = repo.current().select(Filter(project=project, without=superseded(repo)))
    wanted = [one for one in wanted if not str(one.details.get("scope", "")).startswith(f"{USER}:")]
    shown: list[Shown] = []
    skipped: list[tuple[str, str]] = []
    for one in repo.options.each("reading", wanted):
        with noting(one.path, skipped):
            shown.append(show(library, one.id))
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
    found = Counter(one.entry.kind for one in shown)
    return Exported(
        SITE, (ExportedFile(str(folder), f"{len(done)} files"),), found[Kind.LESSON], found[Kind.RULE], found[Kind.DOC],
        found[Kind.SCRIPT], skipped=tuple(starmap(Skipped, skipped)), notes=tuple(repo.notes()),
    )  # fmt: skip


def _site_before(folder: Path) -> frozenset[str]:
    try:
        return frozenset(read_file(folder, SITE_FILES)[0].decode("utf-8", "replace").splitlines())
    except NotFound:
        return frozenset()


# --- rules in force and firm lessons, for the agents of other tools ---


def _chosen(
    repo: RepositorySession, project: str | None, globs: Sequence[str], most: int
) -> tuple[list[Told], list[tuple[str, str]]]:
    """What is told, the global first and each project by its titles, and what there was no room for."""
    kinds = frozenset({Kind.RULE, Kind.LESSON})
    wanted = [
        one
        for one in repo.current().select(Filter(kinds=kinds, status=None))
        if (one.kind is Kind.RULE or _is_for_others(one))
        and (project is None or one.project in {project, GLOBAL_PROJECT})
        and (not globs or any(fnmatchcase(name, glob) for glob in globs for name in (one.path, one.title)))
    ]
    usages = repo.usages.several([one for one in wanted if one.kind is Kind.LESSON])

    def worth(one: Light) -> tuple[bool, bool, bool, float, str]:
        proven = usages[one.id].confidence if one.id in usages else 1.0
        everywhere = one.project == GLOBAL_PROJECT
        return one.kind is not Kind.RULE, everywhere, not one.details.get("applies_to"), -proven, one.id

    wanted.sort(key=worth)
    repo.expect([one.id for one in wanted])
    room, told, left_out = max(most - agent_rules.FRAME, 0), [], []
    for one in wanted:
        try:
            entry = repo.load(one.id)[0]
        except NotFound as error:  # removed meanwhile, or the text in force is missing in git
            left_out.append((one.path, error.message))
            continue
        size = len(agent_rules.section(one.handle, entry, 3)) + 2
        if size > room:
            left_out.append((one.path, f"{size:,} characters, and {room:,} of {most:,} are left (--max-chars)"))
            continue
        room -= size
        told.append((one.handle, entry))
    told.sort(key=lambda one: (one[1].project != GLOBAL_PROJECT, one[1].project, one[1].title.casefold(), one[1].id))
    return told, left_out


def _is_for_others(lesson: Light) -> bool:
    """Whether a person stated it, and for more than one person."""
    said = lesson.details
    return (
        said.get("status") != Status.WRONG and is_firm(lesson) and not str(said.get("scope", "")).startswith(f"{USER}:")
    )


def _folder(folder: Path, form: str, told: Sequence[Told], *, replace: bool) -> list[tuple[str, str]]:
    """One file each, or one skill a project; files of ours that say what is no longer in force go."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise StorageFailed(f"{folder} is no folder", hint="name a folder such as .claude/rules")
    if form == SKILLS:
        projects = dict.fromkeys(entry.project for _, entry in told)
        wanted = dict(agent_rules.skill(one, [each for each in told if each[1].project == one]) for one in projects)
        pattern = f"{agent_rules.PREFIX}*/SKILL.md"
    else:
        suffix = agent_rules.RULE_FILES[form].suffix
        wanted = {agent_rules.file_name(one, suffix): agent_rules.rule_file(form, handle, one) for handle, one in told}
        pattern = f"{agent_rules.PREFIX}*{suffix}"
    there = {one.relative_to(folder).as_posix() for one in outside.matches(folder, pattern.split("/"))}
    names = [*wanted, *sorted(there - wanted.keys())]
    return [(str(folder / name), _file(folder, name, wanted.get(name), replace=replace)) for name in names]


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
    found, skipped = _entries(repo, project)
    document = _document(repo, found)
    counts = {f"{kind.value}s": sum(entry.kind is kind for entry, _ in found) for kind in Kind}
    done: tuple[ExportedFile, ...] = ()
    if file is not None:
        if file.is_symlink() or (file.exists() and not file.is_file()):
            raise StorageFailed(f"{file} is no plain file", hint="name another file")
        there = file.exists()
        if there and not replace and not _is_export(file):
            hint = f"name another file, or {REPLACE}; for agents see --to"
            raise Refused(f"{file} is not an export of ours, and stays", hint=hint)
        outside.write(file, bundle.dump(document))
        done = (ExportedFile(str(file), "replaced" if there else "written"),)
    return Exported(
        GROOVE, done, **counts, events=len(document["events"]), skipped=tuple(starmap(Skipped, skipped)),
        document=document if file is None else None, notes=tuple(repo.notes()),
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
    found, skipped = [], list[tuple[str, str]]()
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
            found.append((entry, file))
    return found, skipped


def _document(repo: RepositorySession, found: Sequence[tuple[Entry, Item]]) -> dict[str, Any]:
    lessons = [(entry, file) for entry, file in found if entry.kind is Kind.LESSON]
    usages = repo.usages.several(list(repo.catalog.many([entry.id for entry, _ in lessons]).values()))
    others = ((entry, file) for entry, file in found if entry.kind is not Kind.LESSON)
    return {
        "version": bundle.VERSION,
        "exported_at": frontmatter.stamp(repo.options.now()),
        "learnings": [bundle.learning(entry, file, usages[entry.id]) for entry, file in lessons],
        "params": [],  # the events say how they were moved
        "relations": bundle.relations([entry for entry, _ in found], [entry.id for entry, _ in lessons]),
        "files": [{"kind": entry.kind.value, **bundle.kept(file)} for entry, file in others],
        "events": all_events(repo, {entry.id for entry, _ in found}),
    }
