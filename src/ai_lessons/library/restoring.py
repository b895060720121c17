"""Going back: one entry, or all, as they were at a date, a tag or a revision. A new commit, never a reset.

Only entries come back: settings, signed records and rejections stay. A rule comes back as a proposal.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
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
from ai_lessons.knowledge import layout
from ai_lessons.knowledge.entries import Kind, handle
from ai_lessons.knowledge.reading import read_entry
from ai_lessons.library.importing import told_of
from ai_lessons.library.porting.porting_rules import propose_files
from ai_lessons.library.rules.rule_desk import desk
from ai_lessons.library.secrets import secret_gate
from ai_lessons.repository import snapshots
from ai_lessons.repository.approval.rule_files import is_rule
from ai_lessons.repository.objects import opened
from ai_lessons.repository.snapshots import Snapshot
from ai_lessons.repository.store import Applied, Change, blob_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ai_lessons.index.catalog_reading import Location
    from ai_lessons.knowledge.entries import Entry
    from ai_lessons.library.opened import Library
    from ai_lessons.library.rules.rule_answers import Suggested
    from ai_lessons.library.session import Parts
    from ai_lessons.repository.proposal.proposals import Repository
    from ai_lessons.repository.snapshots import Then

__all__ = ["Restored", "Snapshot", "Taken", "list_snapshots", "restore", "snapshot"]

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


@dataclass(frozen=True, slots=True)
class Taken:
    """A snapshot that was made: the tag, the commit that it names, and when (ISO 8601)."""

    name: str
    commit: str
    when: str
    notes: tuple[str, ...] = ()


def snapshot(library: Library, name: str | None = None) -> Taken:
    """Tag what is committed, with writes that waited; without a name by the time.

    Raises:
        UsageError: no name for a tag. Conflict: it is taken. NotFound: nothing committed yet.
        Refused: git has no name for the user.
    """
    parts = library.primary
    parts.refuse_other_formats()
    saved = parts.store.save()
    head = parts.store.head().commit
    if head is None:
        raise NotFound("commit in", str(parts.store.root), hint="there is nothing to take a snapshot of yet")
    called = name or f"snapshot-{parts.options.now().astimezone():%Y-%m-%dT%H%M%S}"
    made = snapshots.take(parts.store.worktree, called, head, f"Snapshot {called}")
    unsaved = _unsaved(parts)
    notes = [*saved.notes, *([f"not in it: a write that waits, because {saved.waiting}"] if saved.waiting else [])]
    notes += [f"not in it: edits of {unsaved} file{'s' * (unsaved != 1)} that are in no commit"] if unsaved else []
    return Taken(made.name, made.commit, made.when, tuple(notes))


def list_snapshots(library: Library) -> tuple[Snapshot, ...]:
    """Every snapshot (annotated tag), newest first."""
    parts = library.primary
    return snapshots.listed(parts.store.worktree)


def _unsaved(parts: Parts) -> int:
    from ai_lessons.repository import git

    done = git.run(parts.store.worktree, "status", "--porcelain", "-z", "-uall", "--", ".", cwd=parts.store.root)
    return len([one for one in done.out.split(b"\0") if one])


class _Past:
    """The entries' files of one commit, and what is there now."""

    def __init__(self, parts: Parts, repo: Repository, commit: str) -> None:
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

    def files(self, entry: Entry) -> tuple[str, ...]:
        """The files that an entry had then."""
        return tuple(path for path in (entry.path, entry.side_path) if path is not None and path in self.then)

    def find(self, ref: str) -> Entry:
        """The entry that a path, handle, id or end of an id named then.

        Raises:
            NotFound, AmbiguousName.
        """
        inside = self.parts.inside(ref)
        for path in (ref, inside):
            if path is not None and path in self.then and (entry := self.entry(path)) is not None:
                return entry
        asked = _HANDLE.fullmatch(ref.strip())
        known = self._known(ref)
        end = known or (asked[1].upper() if asked else "")
        found = {one.id: one for one in self._ending(end)} if end else {}
        if len(found) > 1:
            raise AmbiguousName(ref, [handle(one.kind, one.id, 10) for one in found.values()])
        if not found:
            raise NotFound(f"entry in {self.commit[:10]}", ref, hint="see when it was there: git log --all --stat")
        return next(iter(found.values()))

    def _known(self, ref: str) -> str:
        """The full id of an entry that is there now: it may have lain elsewhere then."""
        try:
            return self.parts.resolve(ref).id
        except (NotFound, InvalidEntry):
            return ""

    def _ending(self, end: str) -> Iterable[Entry]:
        wanted = end.encode()
        for path in self.then:
            stated = wanted in self.data(path)[:_RELEVANT].upper()
            if (stated or layout.derived_id(path).endswith(end)) and not _is_side(path, self.then):
                entry = self.entry(path)
                if entry is not None and entry.id.endswith(end):
                    yield entry


def _is_script(path: str) -> bool:
    where = layout.place(path)
    return where is not None and where.kind is Kind.SCRIPT


def _is_side(path: str, files: Mapping[str, Then]) -> bool:
    return _is_script(path) and layout.is_markdown(path) and path.removesuffix(layout.SIDE_SUFFIX) in files


def restore(library: Library, ref: str | None, to: str, *, every: bool = False, dry_run: bool = False) -> Restored:
    """Bring one entry, or all of them, back to what they were at `to`: a date, a tag or any revision.

    One new commit; edits that are in no commit yet get one first. A rule comes back as a proposal. Settings and
    what decides about rules stay. `dry_run` only says what would be done.

    Raises:
        NotFound: no such commit, or no such entry in it. AmbiguousName: several. UsageError: neither one entry nor
        all. UnsavedEdits: edits are in the way where commits are the user's to make. Refused: a write waits.
    """
    parts = library.primary
    if (ref is None) is not every:
        raise UsageError("name one entry, or give --all", hint="ai-lessons admin restore L-8F3K2A --to 2026-11-20")
    parts.refuse_other_formats()
    saved = parts.store.save()
    if saved.waiting:
        raise Refused(
            f"the last write is in no commit yet, because {saved.waiting}", hint="ai-lessons admin save, then repeat"
        )
    source = snapshots.commit_at(parts.store.worktree, to)
    parts.current()
    with opened(parts.store.worktree) as repo:
        past = _Past(parts, repo, source)
        entry = None if ref is None else past.find(ref)
        changes = _changes(past, entry)
        rules = _rules_of(past, entry)
        if not dry_run:
            secret_gate.refuse(parts, {path: data for then in rules.values() for path, data in then.items()})
            parts.refuse_secrets(changes)
            _keep(parts, changes)
        applied = Applied(None) if dry_run or not changes else parts.write(*_told(entry, to, source, changes))
    parts.current()
    queued = _propose(parts, rules, source, dry_run=dry_run) if rules else ()
    return Restored(
        source,
        snapshots.when(parts.store.worktree, source),
        tuple(one.path for one in changes if one.data is not None),
        tuple(one.path for one in changes if one.data is None),
        queued,
        applied.commit,
        dry_run,
        told_of(applied),
    )


def _told(
    entry: Entry | None, to: str, source: str, changes: list[Change]
) -> tuple[str, list[Change], list[tuple[str, str]]]:
    what = f"{entry.kind}: {entry.title}" if entry else "all entries"
    named = [("Entry", entry.id)] if entry else []
    return f"Restore {what} (to {to})", changes, [*named, ("Restored-from", source)]


def _changes(past: _Past, entry: Entry | None) -> list[Change]:
    """What brings the files back that are no rules'."""
    parts = past.parts
    if entry is not None:
        if entry.kind is Kind.RULE:
            return []
        then, now = set(past.files(entry)), _now(parts, entry.id)
        _refuse_others(parts, entry, then - now)
    else:
        then = {path for path in past.then if not _is_a_rule(past, path)}
        now = {path for one in parts.catalog.locations() if not one.approved for path in _paths(one)}
        now = {path for path in now if not is_rule(path)}
    made = [change for path in sorted(then) if (change := _back(past, path)) is not None]
    gone = [path for path in sorted(now - then) if parts.store.exists(path)]
    return made + [Change(path, None, expect=blob_id(parts.store.read(path))) for path in gone]


def _refuse_others(parts: Parts, entry: Entry, paths: set[str]) -> None:
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


def _is_a_rule(past: _Past, path: str) -> bool:
    """By its place, or by what it says it is: neither comes back into the working tree."""
    if is_rule(path) or _is_script(path) or not layout.is_markdown(path):
        return is_rule(path)
    entry = past.entry(path)
    return entry is not None and entry.kind is Kind.RULE


def _now(parts: Parts, entry_id: str) -> set[str]:
    found = (one for one in parts.catalog.locations([entry_id]) if not one.approved)
    return {path for one in found for path in _paths(one)}


def _paths(place: Location) -> tuple[str, ...]:
    return tuple(one for one in (place.path if place.hash else None, place.side_path) if one)


def _back(past: _Past, path: str) -> Change | None:
    """The change that brings one file back; None where it is as it was."""
    store, then = past.parts.store, past.then[path]
    if not store.exists(path):
        return Change(path, past.data(path), executable=then.executable or None, expect=None)
    now = store.read(path)
    data = past.data(path)
    if now == data and past.parts.executable(path) == then.executable:
        return None
    return Change(path, data, executable=then.executable, expect=blob_id(now))


def _keep(parts: Parts, changes: list[Change]) -> None:
    """Commit edits that the restore would replace; where we do not commit, they are in its way.

    Raises:
        UnsavedEdits: a file has edits in no commit, and commits are the user's to make.
    """
    paths = [one.path for one in changes if parts.store.exists(one.path)]
    parts.keep_edits(paths)
    edited = (
        [] if parts.store.commits(parts.config.autocommit) else [path for path in paths if parts.history.dirty(path)]
    )
    if edited:
        raise UnsavedEdits(f"{', '.join(edited[:3])} has edits that are in no commit", hint="commit them first")


# --- rules ---


def _rules_of(past: _Past, entry: Entry | None) -> dict[str, Mapping[str, bytes | None]]:
    """Of each rule (or the one) the files that it had then, by its id."""
    if entry is not None:
        return {entry.id: {entry.path: past.data(entry.path)}} if entry.kind is Kind.RULE else {}
    found: dict[str, dict[str, bytes | None]] = {}
    for path in past.then:
        old = past.entry(path) if is_rule(path) else None
        if old is not None and not old.derived:
            found.setdefault(old.id, {})[path] = past.data(path)
    lights = past.parts.catalog.rules_in_force()
    return {**{rule: {} for rule in lights}, **found}


def _propose(
    parts: Parts, rules: Mapping[str, Mapping[str, bytes | None]], source: str, *, dry_run: bool
) -> tuple[Suggested, ...]:
    """A proposal for each rule whose files on the approval branch are not what they were then."""
    made = []
    with desk(parts) as at:
        for rule, then in sorted(rules.items()):
            now = {path: blob for path, blob in at.trunk.view.files.items() if path in at.trunk.places(rule)}
            if now == {path: blob_id(data) for path, data in then.items() if data is not None}:
                continue
            files = {**dict.fromkeys(sorted(now)), **then}
            path, data = next((pair for pair in then.items()), (next(iter(now), ""), None))
            text = data if data is not None else snapshots.data_of(at.repo, now[path])
            try:
                entry = read_entry(path, text)
            except AiLessonsError:
                continue  # what cannot be read was never in force, and no person could judge it
            what = "removal" if not then else "edit" if now else "rule"
            subject = f"Propose {what}: {entry.title}"
            made.append(propose_files(at, entry, files, subject, f"commit {source[:10]}", dry_run=dry_run))
    return tuple(made)
