"""Decision records into docs.

Which of them are here already, what of those changed, and what comes twice.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ai_lessons.app.repeated_docs import NAMED
from ai_lessons.app.trust import remember_sources
from ai_lessons.app.write_checks import Planned, checked, noting
from ai_lessons.connectors.manifests import Sources
from ai_lessons.errors import InvalidEntry, NotFound, Problem
from ai_lessons.features.transfer import decision_records, found_files
from ai_lessons.features.transfer.arriving import OTHER, Bundle
from ai_lessons.features.transfer.decision_records import Record, SourceFile
from ai_lessons.git import external_files
from ai_lessons.git.store import Change
from ai_lessons.model import layout, markdown
from ai_lessons.model.entries import NO_LONGER, Filter, Kind, handle
from ai_lessons.model.layout import blob_id, project_name
from ai_lessons.model.yaml_edit import REMOVE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ai_lessons.app.workspace import RepositorySession
    from ai_lessons.features.transfer.found_files import FoundFile
    from ai_lessons.model.entries import Entry


def read(
    repo: RepositorySession, places: Sequence[Path], project: str | None, *, rules: bool
) -> Bundle:
    """The records in files and folders as docs; with `rules` also the accepted ones as rules.

    Raises NotFound: nothing is there. InvalidEntry: there is no record in it. UsageError: no name
    of a project.
    """
    if project:
        project_name(project)
    for place in places:
        if not place.exists():
            raise NotFound("file", str(place), hint="name the file or folder to import")
    records: list[Record] = []
    damaged: list[tuple[str, str]] = []
    left: found_files.LeftOut = []
    sources = Sources()
    files = found_files.all_files(places, left)
    files = found_files.each_once(files, _is_read, left)
    for file in repo.options.each("reading", files):
        with noting(file.name, damaged):
            record = _record(file, sources)
            if isinstance(record, Record):
                records.append(record)
            else:
                left.append((file.name, OTHER, record))
    if not (records or damaged):
        fault = Problem(", ".join(map(str, places)), "no decision record in it")
        hint = f"looked at {len(files):,} files; a record states its status, or has a section on the decision"
        raise InvalidEntry([fault], hint=hint)
    ids, now = _ids(repo, records, project), repo.options.now()
    items = decision_records.docs(records, ids, project, now)
    if rules:
        replaced = frozenset(older.file.name for _, older in decision_records.superseding(records))
        items += decision_records.rules(records, replaced, ids, project, now)
    return Bundle(items, damaged, left=left)


def _is_read(path: Path) -> bool:
    """Whether a file is taken by its own name, so that a link to it brings nothing."""
    return layout.is_markdown(path.name)


def _record(file: FoundFile, sources: Sources) -> Record | str:
    """The record in a file, or why there is none."""
    if not file.named and file.hidden:
        return "hidden"
    if not file.named and not layout.is_markdown(file.name):
        return "not Markdown"
    data, _ = external_files.read(file.path)
    ref = sources.ref(file.path, data)
    source = SourceFile(file.name, data, _portable(file.path), ref)
    return decision_records.read(source, named=file.named) or "no decision record"


def _portable(path: Path) -> str:
    home, whole = Path.home(), path.absolute()
    if whole.is_relative_to(home):
        return f"~/{whole.relative_to(home).as_posix()}"
    return str(whole)


def _ids(repo: RepositorySession, records: Sequence[Record], project: str | None) -> dict[str, str]:
    """The id of each record by the name of its file.

    That of the doc which came from the same file, if one is here.
    """
    catalog = repo.current()
    sources = catalog.facts("intake")
    by_source = {}
    for doc in catalog.select(Filter(kinds=frozenset({Kind.DOC}), status=None)):
        source = sources.get(doc.id, {}).get("path")
        if source:
            by_source[source] = doc.id
    ids = {}
    for record in records:
        here = by_source.get(record.file.source_path or "")
        ids[record.file.name] = here or decision_records.id_of(record, project)
    return ids


def updates(repo: RepositorySession, arrived: Iterable[Entry]) -> list[Planned]:
    """What changed of docs that are here: their text, status, links and tags.

    Nothing else of theirs is touched.
    """
    planned = []
    for new_doc in arrived:
        entry, old = repo.load(new_doc.id)
        if entry.kind is not Kind.DOC:
            continue
        changes = _changes(entry, new_doc)
        body = None
        hashed = new_doc.fields.get("content_hash")
        if entry.fields.get("content_hash") != hashed:
            body = new_doc.body
            changes["content_hash"] = hashed
            changes["source_ref"] = new_doc.fields.get("source_ref") or REMOVE
        if changes:
            new = markdown.edit(old, changes, body).encode()
            change = Change(entry.path, new, expect=blob_id(old.encode()))
            planned.append(Planned(checked(entry.path, new, was=entry), (change,)))
    return planned


def _changes(entry: Entry, new_doc: Entry) -> dict[str, Any]:
    """What a record states now in the place of what the doc of it states."""
    changes: dict[str, Any] = {}
    status = new_doc.fields.get("status") or None
    if status != entry.fields.get("status"):
        changes["status"] = status or REMOVE
    # tags and links of people stay
    tags = sorted({*entry.tags, *new_doc.tags})
    if sorted(entry.fields.get("tags") or ()) != tags:
        changes["tags"] = tags
    stated = list(entry.fields.get("links") or ())
    links = list(stated)
    for link in new_doc.fields.get("links") or ():
        if link not in links:
            links.append(link)
    if links != stated:
        changes["links"] = links
    return changes


def settle(
    repo: RepositorySession, arrived: Sequence[Entry], updated: Sequence[Planned], *, dry_run: bool
) -> list[str]:
    """Let new docs be read again from where they came.

    What became of those that were here, in sentences.
    """
    places = []
    for entry in arrived:
        if entry.fields.get("source_path"):
            places.append((entry.id, str(entry.fields["source_path"])))
    if places and not dry_run:
        remember_sources(repo.store.state_dir, places)
    notes = []
    if updated:
        verb = "was"
        if dry_run:
            verb = "would be"
        docs = _some([plan.entry for plan in updated])
        notes.append(f"brought up to date, because it {verb} here: {docs}")
    gone = []
    for entry in arrived:
        if entry.status in NO_LONGER:
            gone.append(entry)
    if gone:
        notes.append(f"found by `search --all` only, because it does not hold: {_some(gone)}")
    return notes


def _some(entries: Sequence[Entry]) -> str:
    """The first entries by handle and title, and how many more there are."""
    named = []
    for entry in entries[:NAMED]:
        named.append(f"[{handle(entry.kind, entry.id)}] {entry.title}")
    listed = "; ".join(named)
    unnamed = len(entries) - len(named)
    if unnamed:
        return f"{listed}, and {unnamed} more"
    return listed
