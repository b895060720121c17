"""Going back to a snapshot, a date or a revision, and forward to a newer file format: a new commit, never a reset.

Only entries come back: settings, signed records and rejections stay. A rule that is named comes back as a proposal.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ai_lessons.errors import (
    AiLessonsError,
    AmbiguousName,
    Conflict,
    InvalidEntry,
    NotFound,
    Refused,
    UnsavedEdits,
    UsageError,
)
from ai_lessons.knowledge import config, layout
from ai_lessons.knowledge.entries import Kind, handle
from ai_lessons.knowledge.frontmatter import read_entry
from ai_lessons.knowledge.texts import decode
from ai_lessons.library import secret_gate
from ai_lessons.library.import_bundle import propose_files
from ai_lessons.library.proposal_context import desk
from ai_lessons.repository import git, snapshots
from ai_lessons.repository.approval.rule_files import is_rule
from ai_lessons.repository.objects import opened
from ai_lessons.repository.snapshots import Snapshot
from ai_lessons.repository.store import Applied, Change, Job, blob_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ai_lessons.index.catalog_reading import Location
    from ai_lessons.knowledge.config import Migration
    from ai_lessons.knowledge.entries import Entry
    from ai_lessons.library.opened import Library
    from ai_lessons.library.rule_answers import Suggested
    from ai_lessons.library.session import RepositorySession
    from ai_lessons.repository.proposals import Repository
    from ai_lessons.repository.snapshots import Then

__all__ = ["Migrated", "Restored", "Snapshot", "migrate", "restore", "snapshot"]

_HANDLE = re.compile(r"(?:[LRDS]-)?([0-9A-HJKMNP-TV-Z]{4,26})", re.IGNORECASE)
_RELEVANT = 70_000
"""Bytes of a file in which its id is looked for: frontmatter is never longer."""


@dataclass(frozen=True, slots=True)
class Restored:
    """What came back from `source` (a commit, made at `when`), or would (`dry_run`).

    `written` and `removed` are files; `queued` are rules, which wait as proposals. `commit` is None where nothing
    changed, or while the change waits for one.
    """

    source: str
    when: str
    written: tuple[str, ...]
    removed: tuple[str, ...]
    queued: tuple[Suggested, ...]
    commit: str | None
    dry_run: bool = False
    notes: tuple[str, ...] = ()


def snapshot(library: Library, name: str | None = None) -> Snapshot:
    """Tag what is committed, with writes that waited; without a name by the time.

    Raises:
        UsageError: no name for a tag. Conflict: it is taken. NotFound: nothing committed yet.
        Refused: git has no name for the user.
    """
    parts = library.primary
    store = parts.store
    parts.refuse_other_formats()
    saved = store.save()
    head = store.head().commit
    if head is None:
        raise NotFound("commit in", str(store.root), hint="there is nothing to take a snapshot of yet")
    called = name or f"snapshot-{parts.options.now().astimezone():%Y-%m-%dT%H%M%S}"
    made = snapshots.take(store.worktree, called, head, f"Snapshot {called}")
    status = git.run(store.worktree, "status", "--porcelain", "-z", "-uall", "--", ".", cwd=store.root)
    unsaved = len([one for one in status.out.split(b"\0") if one])
    notes = [*saved.notes, *([f"not in it: a write that waits, because {saved.waiting}"] if saved.waiting else [])]
    notes += [f"not in it: edits of {unsaved} file{'s' * (unsaved != 1)} that are in no commit"] if unsaved else []
    return replace(made, notes=tuple(notes))


def _save(parts: RepositorySession) -> None:
    """Commit what waits.

    Raises:
        Refused: it still waits.
    """
    saved = parts.store.save()
    if saved.waiting:
        raise Refused(
            f"the last write is in no commit yet, because {saved.waiting}", hint="ai-lessons admin save, then repeat"
        )


# --- going back ---


def restore(library: Library, ref: str | None, to: str, *, every: bool = False, dry_run: bool = False) -> Restored:
    """Bring one entry, or all of them, back to what they were at `to`: a date, a tag or any revision.

    One new commit; edits that are in no commit yet get one first. A rule comes back as a proposal, and only where it
    is named. Settings and what decides about rules stay. `dry_run` only says what would be done.

    Raises:
        NotFound: no such commit, or no such entry in it. AmbiguousName: several. UsageError: neither one entry nor
        all. UnsavedEdits: edits are in the way where commits are the user's to make. Refused: a write waits.
    """
    parts = library.primary
    if (ref is None) is not every:
        raise UsageError("name one entry, or give --all", hint="ai-lessons admin restore L-8F3K2A --to 2026-11-20")
    parts.refuse_other_formats()
    _save(parts)
    worktree = parts.store.worktree
    source = snapshots.commit_at(worktree, to)
    parts.current()
    with opened(worktree) as repo:
        past = _Past(parts, repo, source)
        entry = None if ref is None else past.find(ref)
        changes = _changes(past, entry)
        rule = {entry.path: past.data(entry.path)} if entry and entry.kind is Kind.RULE else {}
        if not dry_run:
            secret_gate.refuse(parts, rule)
            parts.refuse_secrets(changes)
            _keep(parts, changes)
    applied = Applied(None)
    if changes and not dry_run:
        what, named = (f"{entry.kind}: {entry.title}", [("Entry", entry.id)]) if entry else ("all entries", [])
        applied = parts.write(f"Restore {what} (to {to})", changes, [*named, ("Restored-from", source)])
    parts.current()
    queued = _propose(parts, entry, rule, source, dry_run=dry_run) if entry and rule else ()
    written = tuple(one.path for one in changes if one.data is not None)
    removed = tuple(one.path for one in changes if one.data is None)
    when = snapshots.when(worktree, source)
    return Restored(source, when, written, removed, queued, applied.commit, dry_run, applied.told)


class _Past:
    """The entries' files of one commit, and what is there now."""

    def __init__(self, parts: RepositorySession, repo: Repository, commit: str) -> None:
        self.parts, self.repo, self.commit = parts, repo, commit
        every = snapshots.files_of(repo, parts.store, commit)
        self.then: Mapping[str, Then] = {path: one for path, one in every.items() if layout.place(path) is not None}

    def data(self, path: str) -> bytes:
        return snapshots.data_of(self.repo, self.then[path].blob)

    def entry(self, path: str) -> Entry | None:
        """The entry that a file was; None for a side file, and for what cannot be read."""
        side = layout.side_of(path)
        try:
            return read_entry(
                path, self.data(path), self.data(side) if side in self.then and _is_script(path) else None
            )
        except InvalidEntry:
            return None

    def find(self, ref: str) -> Entry:
        """The entry that a path, handle, id or end of an id named then; NotFound, AmbiguousName."""
        for path in (ref, self.parts.inside(ref)):
            if path is not None and path in self.then and (entry := self.entry(path)) is not None:
                return entry
        asked = _HANDLE.fullmatch(ref.strip())
        try:
            end = self.parts.resolve(ref).id  # it may have lain elsewhere then
        except (NotFound, InvalidEntry):
            end = asked[1].upper() if asked else ""
        found = {one.id: one for one in self._ending(end)} if end else {}
        if len(found) > 1:
            raise AmbiguousName(ref, [handle(one.kind, one.id, 10) for one in found.values()])
        if not found:
            raise NotFound(f"entry in {self.commit[:10]}", ref, hint="see when it was there: git log --all --stat")
        return next(iter(found.values()))

    def _ending(self, end: str) -> Iterable[Entry]:
        wanted = end.encode()
        for path in self.then:
            stated = wanted in self.data(path)[:_RELEVANT].upper()
            if (stated or layout.derived_id(path).endswith(end)) and not self._is_side(path):
                entry = self.entry(path)
                if entry is not None and entry.id.endswith(end):
                    yield entry

    def _is_side(self, path: str) -> bool:
        return _is_script(path) and layout.is_markdown(path) and path.removesuffix(layout.SIDE_SUFFIX) in self.then

    def is_rule(self, path: str) -> bool:
        """By its place, or by what it says it is: neither comes back into the working tree."""
        if is_rule(path) or _is_script(path) or not layout.is_markdown(path):
            return is_rule(path)
        entry = self.entry(path)
        return entry is not None and entry.kind is Kind.RULE


def _is_script(path: str) -> bool:
    where = layout.place(path)
    return where is not None and where.kind is Kind.SCRIPT


def _changes(past: _Past, entry: Entry | None) -> list[Change]:
    """What brings the files back that are no rules'."""
    parts = past.parts
    if entry is not None:
        if entry.kind is Kind.RULE:
            return []
        then = {path for path in (entry.path, entry.side_path) if path is not None and path in past.then}
        places = (one for one in parts.catalog.locations([entry.id]) if not one.approved)
        now = {path for one in places for path in _paths(one)}
        _refuse_others(parts, entry, then - now)
    else:
        then = {path for path in past.then if not past.is_rule(path)}
        now = {path for one in parts.catalog.locations() if not one.approved for path in _paths(one)}
        now = {path for path in now if not is_rule(path)}
    made = [change for path in sorted(then) if (change := _back(past, path)) is not None]
    gone = [path for path in sorted(now - then) if parts.store.exists(path)]
    return made + [Change(path, None, expect=blob_id(parts.store.read(path))) for path in gone]


def _refuse_others(parts: RepositorySession, entry: Entry, paths: set[str]) -> None:
    """What lies where an entry was may be another one by now.

    Raises:
        Conflict: it is.
    """
    for one in parts.catalog.locations():
        taken = paths.intersection(_paths(one))
        if taken and one.id != entry.id:
            raise Conflict(
                f"{min(taken)} is another entry by now, {parts.catalog.get(one.id).handle}; nothing was changed",
                hint="move that one first: ai-lessons contribute update ID --project …",
            )


def _paths(place: Location) -> tuple[str, ...]:
    return tuple(one for one in (place.path if place.hash else None, place.side_path) if one)


def _back(past: _Past, path: str) -> Change | None:
    """The change that brings one file back; None where it is as it was."""
    store, then = past.parts.store, past.then[path]
    data = past.data(path)
    if not store.exists(path):
        return Change(path, data, executable=then.executable or None, expect=None)
    now = store.read(path)
    if now == data and past.parts.executable(path) == then.executable:
        return None
    return Change(path, data, executable=then.executable, expect=blob_id(now))


def _keep(parts: RepositorySession, changes: list[Change]) -> None:
    """Commit edits that the restore would replace; where we do not commit, they are in its way.

    Raises:
        UnsavedEdits: a file has edits in no commit, and commits are the user's to make.
    """
    paths = [one.path for one in changes if parts.store.exists(one.path)]
    parts.keep_edits(paths)
    if not parts.store.commits(parts.config.autocommit):
        _refuse_edits(parts, paths)


def _refuse_edits(parts: RepositorySession, paths: Iterable[str]) -> None:
    edited = [path for path in paths if parts.store.exists(path) and parts.history.dirty(path)]
    if edited:
        raise UnsavedEdits(
            f"{', '.join(edited[:3])} has edits that are in no commit", hint="commit them first: git commit"
        )


def _propose(
    parts: RepositorySession, rule: Entry, then: Mapping[str, bytes], source: str, *, dry_run: bool
) -> tuple[Suggested, ...]:
    """A proposal for the rule, if its files on the approval branch are not what they were then."""
    with desk(parts) as at:
        now = {path: blob for path, blob in at.trunk.view.files.items() if path in at.trunk.places(rule.id)}
        if now == {path: blob_id(data) for path, data in then.items()}:
            return ()
        files: dict[str, bytes | None] = {**dict.fromkeys(sorted(now)), **then}
        subject = f"Propose {'edit' if now else 'rule'}: {rule.title}"
        return (propose_files(at, rule, files, subject, f"commit {source[:10]}", dry_run=dry_run),)


# --- going to a newer file format ---


@dataclass(frozen=True, slots=True)
class Migrated:
    """From which version of the format to which, by which steps; nothing was done where they are the same.

    `snapshot` is the tag of what was before, `changed` are files.
    """

    old: int
    new: int
    steps: tuple[str, ...] = ()
    snapshot: str | None = None
    changed: tuple[str, ...] = ()
    commit: str | None = None
    dry_run: bool = False
    notes: tuple[str, ...] = ()


def migrate(library: Library, *, dry_run: bool = False, steps: Mapping[int, Migration] = config.STEPS) -> Migrated:
    """Bring the repository's files to the format of this program, in one commit, after a snapshot.

    Rules stay as they were approved. `steps` are those of this program.

    Raises:
        UnsupportedRepository: it is of a newer program. UnsavedEdits: a file that changes has edits in no commit.
        Refused: an earlier write waits for its commit.
    """
    parts = library.primary
    old, new = parts.config.format, config.FORMAT
    if old == new:
        return Migrated(old, new, dry_run=dry_run)
    _save(parts)
    now = _files(parts)
    changes = [
        Change(path, data, expect=blob_id(now[path]) if path in now else None)
        for path, data in sorted(config.migrated_files(now, old, new, steps).items())
    ]
    paths = (*(one.path for one in changes), layout.CONFIG_PATH)
    _refuse_edits(parts, (path for path in paths if path in {*now, layout.CONFIG_PATH}))
    done = Migrated(old, new, tuple(steps[version].says for version in range(old, new)), None, paths, None, dry_run)
    if dry_run:
        return done
    tag = f"before-format-{new}-{parts.options.now().astimezone():%Y-%m-%dT%H%M%S}"
    snapshots.take(parts.store.worktree, tag, parts.store.head().commit or "", f"Before format {new}")
    changes.append(_stated(parts, new))
    parts.refuse_secrets(changes)
    parts.store.autocommit = parts.store.commits(parts.config.autocommit)
    job = Job(f"Migrate from format {old} to {new}", changes, [("Snapshot", tag)], secret_gate.actor(parts))
    applied = parts.store.apply(job)
    parts.current()
    return replace(done, snapshot=tag, commit=applied.commit, notes=applied.told)


def _files(parts: RepositorySession) -> dict[str, bytes]:
    """The files of entries but for rules."""
    found: dict[str, bytes] = {}
    for folder, rows in parts.store.scan():
        for row in rows:
            path = f"{folder}/{row[0]}" if folder else row[0]
            if layout.place(path) is not None and not is_rule(path):
                with suppress(AiLessonsError):  # `validate` names it; what cannot be read cannot be changed
                    found[path] = parts.store.read(path)
    return found


def _stated(parts: RepositorySession, version: int) -> Change:
    """The settings with the new version in them, everything else as it was."""
    there = parts.store.exists(layout.CONFIG_PATH)
    data = parts.store.read(layout.CONFIG_PATH) if there else b""
    text = config.set_value(decode(data, layout.CONFIG_PATH), "format", version)
    return Change(layout.CONFIG_PATH, text.encode(), expect=blob_id(data) if there else None)
