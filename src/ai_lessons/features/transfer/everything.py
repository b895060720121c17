"""Export everything of a repository as one JSON document, see `groove`; or name a form for agents, see `exports`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.app import counted_elsewhere, secrets
from ai_lessons.app.link_effects import weakest_origin
from ai_lessons.app.write_checks import noting
from ai_lessons.app.written import Skipped
from ai_lessons.errors import InvalidEntry, Refused, StorageFailed, UsageError
from ai_lessons.features.transfer import counted, groove
from ai_lessons.features.transfer.arriving import Item
from ai_lessons.features.transfer.exports import (
    MOST,
    REPLACE,
    Exported,
    ExportedFile,
    export_rules,
)
from ai_lessons.features.transfer.folders import GROOVE
from ai_lessons.features.transfer.predecessor import LIMIT
from ai_lessons.git import external_files
from ai_lessons.model import frontmatter, markdown
from ai_lessons.model.entries import Entry, Filter, Kind
from ai_lessons.model.lessons import weakened

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from ai_lessons.app.workspace import Library, Reading, RepositorySession
    from ai_lessons.model.entries import EntrySummary
    from ai_lessons.search.catalog import Location


class StoredEntry(NamedTuple):
    """An entry with its file as it goes out."""

    entry: Entry
    item: Item


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
    """Write `groove`, one JSON document (None: hand it back), or rules and lessons in another form.

    Raises UsageError: what is asked for does not go together. StorageFailed: the place cannot be
    written, or is no plain file or folder. Refused: a file is there that was not written here
    (unless `replace`), or a link leads out.
    """
    if form != GROOVE:
        return export_rules(
            library, file, form, project=project, globs=globs, most=most, replace=replace
        )
    if globs:
        raise UsageError(
            "groove is everything of a project",
            hint="leave the globs out, or name a form with --to",
        )
    if file is not None:
        file = external_files.typed(file, library.options.cwd)
    with library.alone() as lone:
        return _export_all(lone.primary, library.reading, file, project, replace=replace)


def _export_all(
    repo: RepositorySession,
    reading: Reading,
    file: Path | None,
    project: str | None,
    *,
    replace: bool,
) -> Exported:
    stored, skipped = _stored(repo, reading, project)
    document = _document(repo, stored)
    done: tuple[ExportedFile, ...] = ()
    if file is not None:
        done = (_write(file, document, replace=replace),)
    counts = Counter(entry.kind for entry, _ in stored)
    exported = Exported(GROOVE, done, counts, len(document["events"]), notes=tuple(repo.notes()))
    exported = exported._replace(skipped=tuple(skipped))
    if file is None:
        return exported._replace(document=document)
    return exported


def _document(repo: RepositorySession, stored: Sequence[StoredEntry]) -> dict[str, Any]:
    """The document with these entries, with what happened to them, and with the parameters."""
    lessons, files = [], []
    for entry, item in stored:
        if entry.kind is Kind.LESSON:
            lessons.append((entry, item))
        else:
            files.append({"kind": entry.kind.value, **groove.kept(item)})
    ids = [entry.id for entry, _ in lessons]
    entries = [entry for entry, _ in stored]
    states = repo.learned.parameters()
    return {
        "version": groove.VERSION,
        "exported_at": frontmatter.stamp(repo.options.now()),
        "learnings": _learnings(repo, lessons),
        "params": counted.parameter_rows(repo.events, states),
        "relations": groove.relations(entries, ids),
        "files": files,
        "events": repo.events.all_events({entry.id for entry in entries}),
    }


def _learnings(
    repo: RepositorySession, lessons: Sequence[tuple[Entry, Item]]
) -> list[dict[str, Any]]:
    """Lessons, each with its statistics: of here, and of another tool."""
    summaries = repo.catalog.many([entry.id for entry, _ in lessons])
    usages = repo.learned.several(list(summaries.values()), as_claimed=True)
    elsewhere = counted_elsewhere.of_entries(repo.events)
    learnings = []
    for entry, item in lessons:
        usage = usages[entry.id]
        stats = counted.usage_stats(repo.learned, usage, elsewhere.get(entry.id))
        learnings.append(groove.learning(entry, item, usage.confidence, stats))
    return learnings


def _write(file: Path, document: Mapping[str, Any], *, replace: bool) -> ExportedFile:
    """Write the document. Raises as `export_file`."""
    if file.is_symlink() or (file.exists() and not file.is_file()):
        raise StorageFailed(f"{file} is no plain file", hint="name another file")
    exists = file.exists()
    if exists and not replace and not _may_be_replaced(file):
        hint = f"name another file, or {REPLACE}; for agents see --to"
        raise Refused(f"{file} is not an export of ours, and stays", hint=hint)
    external_files.write(file, groove.dump(document))
    if exists:
        return ExportedFile(str(file), "replaced")
    return ExportedFile(str(file), "written")


def _may_be_replaced(file: Path) -> bool:
    """Whether a file is an export of ours, or nothing."""
    try:
        data, _ = external_files.read(file, LIMIT)
    except InvalidEntry:
        # it is larger than what we read
        return False
    return not data.strip() or groove.is_export(data)


# --- entries with their files ---


def _stored(
    repo: RepositorySession, reading: Reading, project: str | None
) -> tuple[list[StoredEntry], list[Skipped]]:
    """Every entry with its file by their ids, and those that cannot be read with the reason.

    A lesson is no surer than the weakest of its origins in all that is read, where that one does
    not come along.
    """
    summaries = list(repo.current().select(Filter(project=project, status=None)))
    summaries.sort(key=lambda summary: summary.id)
    ids = {summary.id for summary in summaries}
    repo.expect([summary.id for summary in summaries])
    stored: list[StoredEntry] = []
    damaged: list[tuple[str, str]] = []
    for summary in repo.options.each("reading", summaries):
        with noting(summary.path, damaged):
            entry, text = repo.load(summary.id)
            item = _item(repo, repo.catalog.locate(summary.id), entry, text)
            if summary.kind is Kind.LESSON:
                weakest = weakest_origin(reading, summary)
                if weakest and weakest.id not in ids:
                    item = _as_weak(item, entry, text, weakest)
            stored.append(StoredEntry(entry, item))
    return stored, [Skipped(path, reason) for path, reason in damaged]


def _as_weak(item: Item, entry: Entry, text: str, weakest: EntrySummary) -> Item:
    """A lesson that says no more than an origin of it which stays behind."""
    weak = markdown.edit(text, weakened(entry.fields, weakest))
    return item._replace(data=weak.encode())


def _item(repo: RepositorySession, place: Location, entry: Entry, text: str) -> Item:
    """The file of an entry at its place; `text` is that with its frontmatter."""
    if entry.kind is Kind.RULE:
        # as it is in force
        item = Item("", entry.path, text.encode())
    elif place.hash is None and place.side_path:
        # the script itself lies elsewhere
        item = Item("", place.side_path, repo.store.read(place.side_path))
    else:
        side = None
        if place.side_path:
            side = text.encode()
        data = repo.store.read(entry.path)
        item = Item("", entry.path, data, side, repo.executable(entry.path))
    if not entry.hidden:
        return item
    # what looks like a secret, and nobody allowed
    if item.side is not None:
        item = item._replace(side=_masked(item.side, entry))
    return item._replace(data=_masked(item.data, entry))


def _masked(data: bytes, entry: Entry) -> bytes:
    return secrets.masked_file(data.decode("utf-8", "replace"), entry.fields).encode()
