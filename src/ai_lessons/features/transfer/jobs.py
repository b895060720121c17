"""Export and import: everything as one JSON document, and what other tools or repositories kept."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import partial
from itertools import starmap
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.app import counted_elsewhere, meaning, secrets
from ai_lessons.app.answers import Imported, Skipped, Suggested, Written
from ai_lessons.app.entries import show
from ai_lessons.app.lessons import is_firm
from ai_lessons.app.link_effects import superseded, weakest_origin
from ai_lessons.app.proposal_context import open_proposals
from ai_lessons.app.proposals import make
from ai_lessons.app.repeated_docs import notes_on_repeated
from ai_lessons.app.write_checks import Planned, checked, new_files, noting
from ai_lessons.errors import InvalidEntry, NotFound, Problem, Refused, StorageFailed, UsageError
from ai_lessons.features.transfer import (
    counted,
    decision_docs,
    decision_records,
    exporters,
    instruction_files,
)
from ai_lessons.features.transfer.exporters import (
    ADDED,
    KNOWN,
    QUEUED,
    SKIPPED,
    Bundle,
    Item,
)
from ai_lessons.features.transfer.importers import LIMIT, read_source
from ai_lessons.git import external_files, hooks
from ai_lessons.git import files as git_files
from ai_lessons.git.files import Staging, read_file, remove_file, status_of, translated, write_file
from ai_lessons.git.identity import address_of
from ai_lessons.model import expression, frontmatter, layout, markdown
from ai_lessons.model.approval import BATCH
from ai_lessons.model.entries import (
    GLOBAL_PROJECT,
    HANDLE_LENGTH,
    Entry,
    EntrySummary,
    Filter,
    Kind,
    Status,
    handle,
    stated_id,
)
from ai_lessons.model.frontmatter import read_entry
from ai_lessons.model.lessons import USER, weakened
from ai_lessons.model.links import wrong_kinds
from ai_lessons.model.texts import first_of, one_line, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from ai_lessons.app.answers import Shown
    from ai_lessons.app.workspace import Library, Reading, RepositorySession
    from ai_lessons.features.transfer.exporters import ExportedEntry
    from ai_lessons.learning.statistics import Counted, UsageTally

GROOVE, AGENTS, SKILLS = "groove", "agents-md", "skills"
# characters of all that is told, unless the caller says otherwise
MOST = 20_000
_ONE_FILE = (".md", ".windsurfrules", ".cursorrules")
"""How a name ends that is one file, where a form could be a folder of rules, too."""


class ExportedFile(NamedTuple):
    """A file of an export, and what was done to it, in words."""

    path: str
    done: str


class Exported(NamedTuple):
    """What was exported: `files`, else the `document`.

    How many entries of each kind, and what was `skipped`.
    """

    form: str
    files: tuple[ExportedFile, ...]
    entries: Mapping[Kind, int] = MappingProxyType({})
    events: int = 0
    skipped: tuple[Skipped, ...] = ()
    document: dict[str, Any] | None = None
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The document itself where no file was written.

        Else the number of entries under the folder of each kind.
        """
        if self.document is not None:
            return self.document
        counts = {}
        for kind in Kind:
            counts[kind.folder] = self.entries.get(kind, 0)
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
    """Write `groove`, one JSON document (None.

    Hand it back), or rules in force and firm lessons in another form.

    Of those the entries of a project and the global ones whose path or title a glob names, up to
    `most` characters, the most specific and best proven first. Raises UsageError: what is given
    does not go together. StorageFailed: the place cannot be written, or is no plain file or folder.
    Refused: a file is there that was not written here (unless `replace`), or a link leads out.
    """
    file = file and external_files.typed(file, library.options.cwd)
    if form == GROOVE:
        if globs:
            raise UsageError(
                "groove is everything of a project",
                hint="leave the globs out, or name a form with --to",
            )
        with library.alone() as lone:
            return _export_all(lone.primary, library.reading, file, project, replace=replace)
    if file is None:
        raise UsageError(
            f"{form} is written into files of yours", hint="name the file or folder in place of -"
        )
    with library.alone() as lone:
        entries, left_out = _chosen(lone.primary, project, globs, most)
        notes = tuple(lone.primary.notes())
    with translated(str(file), writing=True):
        entries, repeated = _without_said(entries, _texts_of_people(file, form))
        if form == AGENTS or (
            form != SKILLS and not file.is_dir() and file.name.endswith(_ONE_FILE)
        ):
            job, text = ("install", exporters.whole(entries)) if entries else ("uninstall", "")
            done = [
                (str(file), hooks.change_marked_part(file, job, text, hooks.marks(exporters.NAME)))
            ]
        else:
            done = _folder(file, form, entries, replace=replace)
    counts, skipped = (
        Counter(entry.kind for _, entry in entries),
        tuple(starmap(Skipped, [*left_out, *repeated])),
    )
    return Exported(form, tuple(starmap(ExportedFile, done)), counts, skipped=skipped, notes=notes)


_OF_HOSTS = frozenset((".claude", ".cursor", ".github", ".qwen", ".windsurf"))
_BESIDE = ("*", ".*/*.md", ".*/rules/**/*.md*", ".*/instructions/**/*.md", ".*/team-memory/**/*.md")


def _texts_of_people(place: Path, form: str) -> dict[str, str]:
    """What people wrote there, a file or the Markdown in a folder, and beside it for the same tool.

    By name.
    """
    if place.is_dir():
        files = sorted(place.glob("**/*.md*"))
    else:
        files = [place]
    host = (instruction_files.host_of(place.as_posix()) or (form.removesuffix("-rules"), ""))[0]
    root = next(
        (path.parent for path in (place, *place.parents) if path.name in _OF_HOSTS), place.parent
    )
    beside = (path for pattern in _BESIDE for path in sorted(root.glob(pattern)))
    files += [
        path
        for path in beside
        if (instruction_files.host_of(path.as_posix()) or ("", ""))[0] == host
    ]
    texts = {}
    for file in dict.fromkeys(files):
        if file.is_file() and file.stat().st_size <= git_files.READ_LIMIT:
            data = file.read_bytes()
            if not exporters.is_exported_rule(data):
                text = text_of(data) or ""
                texts[file.relative_to(root).as_posix()] = text.replace("\r\n", "\n")
    return texts


def _without_said(
    entries: Sequence[ExportedEntry], texts: Mapping[str, str]
) -> tuple[list[ExportedEntry], list[tuple[str, str]]]:
    """The entries that none of these texts has.

    What was taken in from a file is not written beside itself.
    """
    says = {}
    for _, x in entries:
        says[x.id] = next(
            (name for name in texts if instruction_files.stands_in(x, texts[name])), ""
        )
    left_out = []
    for _, entry in entries:
        if says[entry.id]:
            left_out.append((entry.path, f"{says[entry.id]} says it already"))
    return [pair for pair in entries if not says[pair[1].id]], left_out


# --- a site of files ---

# names the files of the last time
SITE_FILES = ".ai-lessons-site"
"""The forms, and the file that names the files of ours in their folder."""
_ENTRY_PAGE = expression(
    r"(?:entry/[0-9A-Z]{26}\.html|(?:rules|lessons|docs|scripts)/[0-9A-Z]{26}\.md)"
)
REPLACE = "give --replace"


def export_site(
    library: Library,
    folder: Path,
    draw: Callable[[Sequence[Shown]], Iterable[tuple[str, bytes]]],
    project: str | None,
    *,
    form: str,
    replace: bool = False,
) -> Exported:
    """Write what stands as files that `draw` makes (names and contents).

    Those of the last time that are left over go.

    Lessons of one person are left out. Raises Refused: the folder has files, and none of ours, or
    other files are in the place of ours (unless `replace`); a link is in the way. StorageFailed.
    """
    folder = external_files.typed(folder, library.options.cwd)
    before = _names_of_last_time(folder, replace=replace)
    with library.alone() as lone:
        shown, skipped = _pages(lone, project)
        notes = tuple(lone.primary.notes())
    done: list[str] = []
    with Staging(folder, durable=False) as staging:
        for name, data in draw(shown):
            if not replace and name not in before and status_of(folder, name):
                raise Refused(
                    f"{folder / name} is not ours", hint=f"name another folder, or {REPLACE}"
                )
            staging.add(name, data)
            done.append(name)
        staging.add(SITE_FILES, "\n".join(done).encode())
        staging.publish()
    # the list may have been pulled, and name any file: only pages of entries are removed
    for name in filter(_ENTRY_PAGE.fullmatch, before.difference(done)):
        remove_file(folder, name)
    counts = Counter(page.entry.kind for page in shown)
    files = (ExportedFile(str(folder), f"{len(done)} files"),)
    return Exported(form, files, counts, skipped=tuple(starmap(Skipped, skipped)), notes=notes)


def _pages(library: Library, project: str | None) -> tuple[list[Shown], list[tuple[str, str]]]:
    """What stands and is no one person's, and what cannot be read, with the reason."""
    repo = library.primary
    summaries = repo.current().select(Filter(project=project, without=superseded(repo)))
    summaries = [summary for summary in summaries if not _is_personal(summary)]
    shown: list[Shown] = []
    skipped: list[tuple[str, str]] = []
    for summary in repo.options.each("reading", summaries):
        with noting(summary.path, skipped):
            shown.append(show(library, summary.id))
    return shown, skipped


def _names_of_last_time(folder: Path, *, replace: bool) -> set[str]:
    """The files that the last export wrote into a folder, which is made.

    Raises Refused: others are there.
    """
    with translated(str(folder), writing=True):
        folder.mkdir(parents=True, exist_ok=True)
        names: set[str] = set()
        with suppress(NotFound):
            names |= {*read_file(folder, SITE_FILES)[0].decode("utf-8", "replace").splitlines()}
        if any(folder.iterdir()) and not names and not replace:
            raise Refused(
                f"{folder} has files that are not ours",
                hint=f"name a new or an empty folder, or {REPLACE}",
            )
    return names


def bundle(pages: Sequence[Shown]) -> Iterable[tuple[str, bytes]]:
    """The files of a bundle of the Open Knowledge Format 0.2.

    A concept for each entry, and an index of them.

    An entry keeps its own keys; who approved a rule, and when, is who verified it.
    """
    listed: dict[Kind, list[str]] = {kind: [] for kind in Kind}
    for page in pages:
        entry, approval = page.entry, page.approval
        described = one_line(
            str(page.frontmatter.get("description") or "") or entry.rationale or entry.pattern
        )
        keys: dict[str, Any] = {"type": entry.kind.value.capitalize(), "title": entry.title}
        if entry.project != GLOBAL_PROJECT:
            keys |= {"project": entry.project}
        if described:
            keys |= {"description": described}
        if "status" in page.frontmatter:
            keys |= {"status": "stable"}
        if entry.review_by:
            keys |= {"stale_after": f"{entry.review_by}T00:00:00Z"}
        if approval:
            address = address_of(approval.approved_by)
            keys["verified"] = [{"by": f"human:{address}", "at": approval.approved_at}]
        if entry.kind is Kind.SCRIPT:
            computed = f"{page.body}\n\n# Computation\n\n~~~~\n{page.code}\n~~~~\n"
            # elsewhere it is a doc: nothing that is imported is run
            stated = {}
            for key, value in page.frontmatter.items():
                if key not in {"id", "kind", "path"}:
                    stated[key] = value
            text = markdown.edit(computed, stated | keys)
        else:
            text = markdown.edit(page.raw, keys)
        name = f"{entry.kind.folder}/{entry.id}.md"
        title = re.sub(r"([\[\]\\])", r"\\\1", one_line(entry.title))
        listed[entry.kind].append(f"* [{title}]({name})" + (f" - {described}" if described else ""))
        yield name, text.encode()
    parts = []
    for kind, rows in listed.items():
        if rows:
            parts.append(f"# {kind.folder.capitalize()}\n\n" + "\n".join(rows))
    yield "index.md", "\n\n".join(['---\nokf_version: "0.2"\n---', *parts, ""]).encode()


# --- rules in force and firm lessons, for the agents of other tools ---

MOST_OF_SKILLS, MOST_FILES = 10_000_000, 512
"""Characters of all skills that are served, and files of one.

What every host takes has 16 MiB and so many files.
"""


def _chosen(
    repo: RepositorySession, project: str | None, globs: Sequence[str], most: int
) -> tuple[list[ExportedEntry], list[tuple[str, str]]]:
    """Handles and entries to write, the global first and each project by its titles, and what has no room."""
    kinds = frozenset({Kind.RULE, Kind.LESSON})
    summaries = []
    for summary in repo.current().select(Filter(kinds=kinds, status=None)):
        of_project = project is None or summary.project in {project, GLOBAL_PROJECT}
        if of_project and _is_exported(summary, globs):
            summaries.append(summary)
    usages = repo.usages.several([summary for summary in summaries if summary.kind is Kind.LESSON])

    def worth(summary: EntrySummary) -> tuple[bool, bool, bool, float, str]:
        if summary.id in usages:
            proven = usages[summary.id].confidence
        else:
            proven = 1.0
        everywhere = summary.project == GLOBAL_PROJECT
        return (
            summary.kind is not Kind.RULE,
            everywhere,
            not summary.applies_to,
            -proven,
            summary.id,
        )

    summaries.sort(key=worth)
    repo.expect([summary.id for summary in summaries])
    room, chosen, left_out = max(most - exporters.FRAME, 0), [], []
    for summary in summaries:
        try:
            entry = repo.load(summary.id)[0]
        except NotFound as error:
            # removed meanwhile, or the text in force is missing in git
            left_out.append((summary.path, error.message))
            continue
        size = len(exporters.section(summary.handle, entry, 3)) + 2
        if size > room:
            left_out.append(
                (
                    summary.path,
                    f"{size:,} characters, and {room:,} of {most:,} are left (--max-chars)",
                )
            )
            continue
        room -= size
        chosen.append((summary.handle, entry))
    chosen.sort(
        key=lambda pair: (
            pair[1].project != GLOBAL_PROJECT,
            pair[1].project,
            pair[1].title.casefold(),
            pair[1].id,
        )
    )
    return chosen, left_out


def _is_exported(summary: EntrySummary, globs: Sequence[str]) -> bool:
    """Whether an entry goes to the agents of other tools.

    Its path or title fits one of the globs, where there are any.
    """
    if summary.kind is not Kind.RULE and not _is_for_all(summary):
        return False
    if not globs:
        return True
    for glob in globs:
        if fnmatchcase(summary.path, glob) or fnmatchcase(summary.title, glob):
            return True
    return False


def skills(library: Library) -> dict[str, dict[str, bytes]]:
    """For each project with rules in force or firm lessons the files of a skill, by name, SKILL.md first."""
    with library.alone() as lone:
        return _skills(lone.primary)


def _skills(repo: RepositorySession) -> dict[str, dict[str, bytes]]:
    entries, _ = _chosen(repo, None, (), MOST_OF_SKILLS)
    projects = dict.fromkeys(entry.project for _, entry in entries)
    made: dict[str, dict[str, bytes]] = {}
    for project in projects:
        group = []
        for pair in entries:
            if pair[1].project == project:
                group.append(pair)
        path, text = exporters.skill(project, group, projects)
        name, file = path.split("/")
        made[name] = {file: text.encode()}
        # hosts take no more than 512 files of a skill
        for label, rule in [pair for pair in group if pair[1].kind is Kind.RULE][: MOST_FILES - 1]:
            data, _ = repo.files_of(repo.catalog.locate(rule.id))
            # The file has to hold the bytes that were approved. A resource is text: other bytes
            # cannot be served.
            with suppress(UnicodeDecodeError):
                made[name] |= {f"rules/{label}.md": data.decode().encode()}
    return made


def _is_personal(lesson: EntrySummary) -> bool:
    return lesson.scope.startswith(f"{USER}:")


def _is_for_all(lesson: EntrySummary) -> bool:
    return lesson.status != Status.WRONG and is_firm(lesson) and not _is_personal(lesson)


def _folder(
    folder: Path, form: str, entries: Sequence[ExportedEntry], *, replace: bool
) -> list[tuple[str, str]]:
    """Write a file for each entry, or a skill for each project.

    Remove files of ours for what is no longer in force.
    """
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise StorageFailed(f"{folder} is no folder", hint="name a folder such as .claude/rules")
    if form == SKILLS:
        projects = dict.fromkeys(entry.project for _, entry in entries)
        groups = {}
        for name in projects:
            groups[name] = [pair for pair in entries if pair[1].project == name]
        texts = dict(exporters.skill(name, group, projects) for name, group in groups.items())
        pattern = f"{exporters.PREFIX}*/SKILL.md"
    else:
        texts = {}
        for handle, x in entries:
            texts[exporters.file_name(form, x)] = exporters.rule_file(form, handle, x)
        pattern = exporters.file_pattern(form)
    present = set()
    for path in external_files.matches(folder, pattern.split("/")):
        present.add(path.relative_to(folder).as_posix())
    names = [*texts, *sorted(present - texts.keys())]
    return [
        (str(folder / name), _file(folder, name, texts.get(name), replace=replace))
        for name in names
    ]


def _file(folder: Path, name: str, text: str | None, *, replace: bool) -> str:
    """One file as it shall be (None: gone); what was done.

    One that is not ours as a whole is left alone.
    """
    try:
        old = read_file(folder, name)[0]
    except NotFound:
        old = None
    except Refused:
        return "left alone, it is a link"
    if old is not None and not exporters.is_exported_rule(old) and not (replace and text):
        return "left alone, it is not ours"
    if text is None:
        remove_file(folder, name)
        return "removed"
    if old == text.encode():
        return "already there"
    folder.mkdir(parents=True, exist_ok=True)
    write_file(folder, name, text.encode(), durable=False)
    if old is None:
        return "written"
    return "brought up to date"


# --- everything ---


def _export_all(
    repo: RepositorySession,
    reading: Reading,
    file: Path | None,
    project: str | None,
    *,
    replace: bool,
) -> Exported:
    entries, skipped = _entries(repo, reading, project)
    lessons = []
    for entry, item in entries:
        if entry.kind is Kind.LESSON:
            lessons.append((entry, item))
    summaries = list(repo.catalog.many([entry.id for entry, _ in lessons]).values())
    usages = repo.usages.several(summaries, as_claimed=True)
    elsewhere = counted_elsewhere.of_entries(repo.usages)
    document = {
        "version": exporters.VERSION,
        "exported_at": frontmatter.stamp(repo.options.now()),
        "learnings": [
            _learning(entry, item, usages[entry.id], elsewhere.get(entry.id))
            for entry, item in lessons
        ],
        "params": counted.parameter_rows(repo.usages, repo.usages.parameters().values()),
        "relations": exporters.relations(
            [entry for entry, _ in entries], [entry.id for entry, _ in lessons]
        ),
        "files": [
            {"kind": e.kind.value, **exporters.kept(item)}
            for e, item in entries
            if e.kind is not Kind.LESSON
        ],
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
        external_files.write(file, exporters.dump(document))
        done = (ExportedFile(str(file), "replaced" if exists else "written"),)
    return Exported(
        GROOVE, done, Counter(entry.kind for entry, _ in entries), len(events), tuple(starmap(Skipped, skipped)),
        document if file is None else None, tuple(repo.notes()),
    )  # fmt: skip


def _learning(
    entry: Entry, item: Item, usage: UsageTally, elsewhere: Counted | None
) -> dict[str, Any]:
    stats = counted.usage_stats(usage, elsewhere)
    return exporters.learning(entry, item, usage.confidence, stats)


def _is_export(file: Path) -> bool:
    """Whether a file is an export of ours, or nothing."""
    try:
        data = external_files.read(file, LIMIT)[0]
    except InvalidEntry:
        # it is larger than what we read
        return False
    return not data.strip() or exporters.is_ours(data)


def _entries(
    repo: RepositorySession, reading: Reading, project: str | None
) -> tuple[list[tuple[Entry, Item]], list[tuple[str, str]]]:
    """Every entry with its file by their ids, and those that cannot be read with the reason.

    A lesson is no surer than the weakest of its origins in all that is read, where that one does
    not come along.
    """
    summaries = sorted(
        repo.current().select(Filter(project=project, status=None)), key=lambda summary: summary.id
    )
    repo.expect([summary.id for summary in summaries])
    entries, skipped = [], list[tuple[str, str]]()
    ids = {summary.id for summary in summaries}
    for summary in repo.options.each("reading", summaries):
        with noting(summary.path, skipped):
            entry, text = repo.load(summary.id)
            place = repo.catalog.locate(summary.id)
            if entry.kind is Kind.RULE:
                # as it is in force
                file = Item("", entry.path, text.encode())
            elif place.hash is None and place.side_path:
                # the script itself lies elsewhere
                file = Item("", place.side_path, repo.store.read(place.side_path))
            else:
                side, data = text.encode() if place.side_path else None, repo.store.read(entry.path)
                file = Item("", entry.path, data, side, repo.executable(entry.path))
            if entry.hidden:
                file = _without_secrets(file, entry)
            weakest = None
            if summary.kind is Kind.LESSON:
                weakest = weakest_origin(reading, summary)
            if weakest and weakest.id not in ids:
                file = file._replace(
                    data=markdown.edit(text, weakened(entry.fields, weakest)).encode()
                )
            entries.append((entry, file))
    return entries, skipped


def _without_secrets(file: Item, entry: Entry) -> Item:
    data, side = (
        secrets.masked_file(part.decode("utf-8", "replace"), entry.fields).encode()
        if part is not None
        else None
        for part in (file.data, file.side)
    )
    return file._replace(data=data or b"", side=side)


class Seen(NamedTuple):
    """A part of a source, and what became of it: one of `FATES`.

    `about`: its handle, its like or the reason.
    """

    where: str
    became: str
    about: str = ""


class OldFile(NamedTuple):
    """A file of instructions that was taken in, and the command that writes it from here once its rules are approved.

    It may stay as it is: what an agent reads there word by word is not told again.
    """

    path: str
    command: str


class Ported(NamedTuple):
    """What an import of another tool's file did, or would do (`dry_run`).

    `relations`, `params` and `events` count what came along; `queued` are rules, which wait as
    proposals; `batch` names several of them together; `seen` says of each part, or file that holds
    none, what became of it. `old_files` are the files of instructions that rules came from.
    """

    written: tuple[Written, ...]
    unchanged: int
    skipped: tuple[Skipped, ...]
    commit: str | None
    notes: tuple[str, ...] = ()
    relations: int = 0
    params: int = 0
    events: int = 0
    queued: tuple[Suggested, ...] = ()
    batch: str = ""
    seen: tuple[Seen, ...] = ()
    old_files: tuple[OldFile, ...] = ()
    dry_run: bool = False


class Arrival(NamedTuple):
    """An item that was found to be this entry."""

    item: Item
    entry: Entry


def source_files(paths: Sequence[str], cwd: Path) -> list[Path]:
    """The files and folders that paths and globs name, each once.

    Raises NotFound: one of them names nothing.
    """
    return list(dict.fromkeys(place for path in paths for place in external_files.named(path, cwd)))


def import_files(
    library: Library,
    files: Sequence[Path],
    form: str,
    *,
    project: str | None = None,
    split_up: bool = False,
    rules: bool = False,
    dry_run: bool = False,
) -> Ported:
    """Take over what files or folders of another tool hold.

    Entries in one commit, rules as proposals.

    `form` is one that `importers` reads, or `adr`; `split_up` makes a rule of each statement,
    `rules` one of each accepted decision. What is here already stays as it is, but for the state of
    a decision; damaged parts are left out and named. Raises as `importers.read_source`;
    InvalidEntry also if all is damaged.
    """
    repo = library.primary
    repo.refuse_other_formats()
    bundle = _bundle(repo, files, form, project, split_up=split_up, rules=rules)
    name = first_of([file.name for file in files], 1)
    sorting = _sorted(repo, bundle, name)
    arrived = {entry.id for _, entry in (*sorting.fresh, *sorting.rules)}
    events, turned, notes = repo.usages.take_over(bundle.events, arrived, dry_run=dry_run)
    here = arrived | {entry.id for _, entry in sorting.known}
    counts = counted.take(repo, bundle.counted, bundle.params, here, dry_run=dry_run)
    fresh = [entry for _, entry in sorting.fresh]
    if form == decision_records.FORM:
        updated = decision_docs.updates(repo, sorting.known)
    else:
        updated = []
    notes = (*notes, *notes_on_repeated(repo, fresh))
    done = _write(repo, sorting.fresh, name, updated, dry_run=dry_run)
    if form == decision_records.FORM:
        notes = (*notes, *decision_docs.settle(repo, fresh, updated, dry_run=dry_run))
    batch = frontmatter.new_id(repo.options.now())[-HANDLE_LENGTH:]
    queued = _propose_rules(
        repo, sorting, [("Imported-from", secrets.masked(name)), (BATCH, batch)], dry_run=dry_run
    )
    seen = _seen(sorting, bundle, [*done.written, *queued])
    old_files = _old_files(bundle.stating, project, repo.options.cwd) if queued else ()
    return Ported(
        written=done.written,
        unchanged=sum(item.became == KNOWN for item in seen),
        skipped=tuple(starmap(Skipped, sorting.skipped)),
        relations=sum(len(entry.links) for _, entry in sorting.fresh),
        params=turned + len(bundle.params),
        events=events,
        queued=tuple(queued),
        batch=batch if len(queued) > 1 else "",
        seen=seen,
        old_files=tuple(old_files),
        commit=done.commit,
        dry_run=dry_run,
        notes=(*bundle.notes, *counts, *notes, *done.notes),
    )


def _bundle(
    repo: RepositorySession,
    files: Sequence[Path],
    form: str,
    project: str | None,
    *,
    split_up: bool,
    rules: bool,
) -> Bundle:
    """What the files hold. Raises as `import_files`."""
    if form == decision_records.FORM:
        return decision_docs.read(repo, files, project, rules=rules)
    reading = partial(repo.options.each, "reading")
    now = repo.options.now()
    return read_source(files, form, project, now, reading, split_up=split_up, here=_here(repo))


def _old_files(stating: Iterable[Path], project: str | None, cwd: Path) -> Iterable[OldFile]:
    """The files that rules came from, with the commands that write them from here.

    Paths as seen from `cwd`.
    """
    for path in stating:
        target = instruction_files.export_place(path.as_posix())
        if not target:
            continue
        file, place = (shlex.quote(_from(cwd, name)) for name in (path.as_posix(), target))
        if project:
            of_project = f" --project {shlex.quote(project)}"
        else:
            of_project = ""
        yield OldFile(str(path), f"rm {file} && ai-lessons admin export {place}{of_project}")


def _from(cwd: Path, path: str) -> str:
    below = f"{cwd.as_posix()}/"
    return path.removeprefix(below)


def _here(repo: RepositorySession) -> set[str]:
    """The ids of all entries, and of those that are proposed."""
    ids = set()
    for place in repo.current().locations():
        ids.add(place.id)
    if repo.rules.ref() is not None:
        with open_proposals(repo) as at:
            ids |= {proposal.entry for proposal in at.every.proposals}
    return ids


def _seen(
    sorting: _Sorting, bundle: Bundle, reported: Sequence[Written | Suggested]
) -> tuple[Seen, ...]:
    """Every part of the source once, in its order."""
    left_out, ids = {where for where, _ in sorting.skipped}, {report.id for report in reported}
    rows = [Seen(*part) for part in bundle.left] + [
        Seen(where, SKIPPED, about) for where, about in sorting.skipped
    ]
    for item, entry in (*sorting.fresh, *sorting.rules, *sorting.known):
        if entry.id in ids:
            fate = QUEUED if entry.kind is Kind.RULE else ADDED
        else:
            fate = KNOWN
        if fate != KNOWN or item.where not in left_out:
            rows.append(Seen(item.where, fate, handle(entry.kind, entry.id)))
    return tuple(sorted(rows))


# --- entries ---


class _Sorting:
    """Sorts the items of an import.

    New entries, rules to propose, entries that are known, and parts to skip.

    Rules never reach the working tree from here.
    """

    def __init__(self, repo: RepositorySession, damaged: Iterable[tuple[str, str]]) -> None:
        self._repo = repo
        self._here = {place.id for place in repo.current().locations()}
        self._taken: set[str] = set()
        self._seen: set[str] = set()
        self.fresh: list[Arrival] = []
        self.rules: list[Arrival] = []
        self.skipped = [*damaged]
        self.known: list[Arrival] = []

    def skip_wrong_links(self) -> None:
        """Skip every entry with a link between kinds that its relation does not join, once all kinds are known."""
        arrived = [*self.fresh, *self.rules]
        targets = {link.target for arrival in arrived for link in arrival.entry.links}
        kinds = {}
        for summary in self._repo.catalog.many(targets).values():
            kinds[summary.id] = summary.kind
        kinds |= {arrival.entry.id: arrival.entry.kind for arrival in arrived}
        for arrival in arrived:
            links = []
            for link in arrival.entry.links:
                if link.target in kinds:
                    links.append(link)
            wrong = [
                wrong_kinds(link.relation, arrival.entry.kind, kinds[link.target]) for link in links
            ]
            if any(wrong):
                (self.rules if arrival.entry.kind is Kind.RULE else self.fresh).remove(arrival)
                self.skipped.append((arrival.item.where, next(filter(None, wrong))))

    def take(self, item: Item) -> None:
        with noting(item.where, self.skipped):
            layout.check_path(item.path)
            item = _without_standing(item)
            entry = checked(item.path, item.data, item.side)
            if entry.id in self._seen:
                raise UsageError("it has the id of another one in the same file")
            self._seen.add(entry.id)
            if entry.kind is Kind.RULE:
                self.rules.append(_with_id(item, entry))
            elif entry.id in self._here:
                self.known.append(Arrival(item, entry))
            else:
                self.fresh.append(self._placed(item, entry))

    def _placed(self, item: Item, entry: Entry) -> Arrival:
        if self._free(item):
            return Arrival(item, entry)
        moved = item._replace(path=layout.beside(item.path, entry.id))
        if entry.derived or not self._free(moved):
            raise UsageError("another file is in its place")
        return Arrival(moved, checked(moved.path, moved.data, moved.side))

    def _free(self, item: Item) -> bool:
        if item.side is not None:
            paths = {item.path, layout.side_of(item.path)}
        else:
            paths = {item.path}
        folded = set()
        for path in paths:
            folded.add(path.casefold())
        if folded & self._taken or any(map(self._repo.store.exists, paths)):
            return False
        self._taken |= folded
        return True


def _without_standing(item: Item) -> Item:
    """The item with what its author said of its standing kept apart, because it holds where it was said."""
    if item.side is None:
        text = item.data
    else:
        text = item.side
    changes = exporters.as_imported(read_entry(item.path, item.data, item.side).fields)
    if not changes:
        return item
    edited = markdown.edit(text.decode(), changes).encode()
    if item.side is None:
        return item._replace(data=edited)
    return item._replace(side=edited)


def _sorted(repo: RepositorySession, bundle: Bundle, name: str) -> _Sorting:
    """Sort what a source called `name` holds. Raises InvalidEntry: nothing of it can be read."""
    sorting = _Sorting(repo, bundle.damaged)
    for item in repo.options.each("reading", bundle.items):
        sorting.take(item)
    sorting.skip_wrong_links()
    if sorting.skipped and not bundle.items:
        raise InvalidEntry(
            [Problem(name, f"{where}: {reason}") for where, reason in sorting.skipped[:20]]
        )
    return sorting


def _with_id(item: Item, entry: Entry) -> Arrival:
    """A rule that says its id: a proposal is about an id, not about a place."""
    if not entry.derived and stated_id(entry.fields.get("id")):
        return Arrival(item, entry)
    data = markdown.edit(item.data.decode(), frontmatter.identity(entry)).encode()
    return Arrival(item._replace(data=data), checked(item.path, data))


def _write(
    repo: RepositorySession,
    fresh: Sequence[Arrival],
    name: str,
    updated: Sequence[Planned],
    *,
    dry_run: bool,
) -> Imported:
    """Write what is new, and what changed of what is here, which is not reported as new."""
    if dry_run:
        would_be = (
            Written(e.id, handle(e.kind, e.id), e.kind, e.title, item.path, None)
            for item, e in fresh
        )
        return Imported(tuple(would_be), 0, (), None)
    planned = []
    for item, entry in fresh:
        planned.append(
            Planned(entry, new_files(item.path, item.data, item.side, runs=item.executable or None))
        )
    done = repo.bring([*planned, *updated], f"Import {len(fresh)} entries from {name}")
    old = {plan.entry.id for plan in updated}
    new = tuple(written for written in done.written if written.id not in old)
    return meaning.after_import(repo, done._replace(written=new))


# --- rules ---


def _propose_rules(
    repo: RepositorySession, sorting: _Sorting, origin: Sequence[tuple[str, str]], *, dry_run: bool
) -> list[Suggested]:
    """Proposals for rules that are neither approved, proposed nor turned down.

    What failed is skipped, with why.
    """
    if not sorting.rules:
        return []
    # commits of the same second are listed by the names of their branches, which end in this part
    # of the id
    rules = sorted(sorting.rules, key=lambda arrival: arrival.entry.id[-HANDLE_LENGTH:])
    if repo.rules.ref() is None:
        if dry_run:
            results: list[Suggested] = []
            for _, e in rules:
                results.append(Suggested(e.id, handle(Kind.RULE, e.id), e.title, e.path, "", ""))
            return results
        reason = "there is no approval branch yet: commit something, then import again"
        sorting.skipped += [(arrival.item.where, reason) for arrival in rules]
        return []
    made: list[Suggested] = []
    with open_proposals(repo) as at:
        rejected = set()
        for rejection in at.rejections:
            rejected.add(rejection.entry)
        unknown = [
            arrival
            for arrival in rules
            if arrival.entry.id not in rejected and not at.trunk.places(arrival.entry.id)
        ]
        new = [arrival for arrival in unknown if not at.about(arrival.entry.id)]
        for arrival in repo.options.each("proposing", new):
            subject, files = (
                f"Propose rule: {arrival.entry.title}",
                {arrival.item.path: arrival.item.data},
            )
            with noting(arrival.item.where, sorting.skipped):
                made.append(
                    make(at, arrival.entry, files, subject, trailers=origin, dry_run=dry_run)
                )
    return made
