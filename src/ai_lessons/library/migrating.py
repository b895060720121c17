"""Bringing a repository to the file format of this program: a snapshot, then one commit, which `undo` takes back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ai_lessons.errors import AiLessonsError, Refused, UnsavedEdits
from ai_lessons.knowledge import config
from ai_lessons.knowledge.layout import CONFIG_PATH, place
from ai_lessons.knowledge.reading import read_entry
from ai_lessons.knowledge.texts import decode
from ai_lessons.library.importing import told_of
from ai_lessons.library.porting.porting_rules import propose_files
from ai_lessons.library.rules.rule_desk import desk
from ai_lessons.library.secrets import secret_gate
from ai_lessons.repository import snapshots
from ai_lessons.repository.approval.rule_files import is_rule
from ai_lessons.repository.proposal.proposals import text_of
from ai_lessons.repository.store import Change, Job, blob_id

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ai_lessons.knowledge.config import Migration
    from ai_lessons.library.opened import Library
    from ai_lessons.library.rules.rule_answers import Suggested
    from ai_lessons.library.session import Parts


@dataclass(frozen=True, slots=True)
class Migrated:
    """From which version of the format to which, by which steps; nothing was done where they are the same.

    `snapshot` is the tag of what was before. `changed` are files; `queued` are rules, which wait as proposals.
    """

    old: int
    new: int
    steps: tuple[str, ...]
    snapshot: str | None
    changed: tuple[str, ...]
    queued: tuple[Suggested, ...]
    commit: str | None
    dry_run: bool = False
    notes: tuple[str, ...] = ()


def migrate(library: Library, *, dry_run: bool = False, steps: Mapping[int, Migration] = config.STEPS) -> Migrated:
    """Bring the repository's files to the format of this program, in one commit, after a snapshot.

    `steps` are those of this program.

    Raises:
        UnsupportedRepository: it is of a newer program. UnsavedEdits: a file that changes has edits in no commit.
        Refused: an earlier write waits for its commit.
    """
    parts = library.primary
    old, new = parts.config.format, config.FORMAT
    if old == new:
        return Migrated(old, new, (), None, (), (), None, dry_run)
    said = tuple(steps[version].says for version in range(old, new))
    saved = parts.store.save()
    if saved.waiting:
        raise Refused(
            f"the last write is in no commit yet, because {saved.waiting}", hint="ai-lessons admin save, then repeat"
        )
    now = _files(parts)
    wanted = config.migrated_files(now, old, new, steps)
    edited = [path for path in (*wanted, CONFIG_PATH) if path in {*now, CONFIG_PATH} and _dirty(parts, path)]
    if edited:
        raise UnsavedEdits(
            f"{', '.join(edited[:3])} has edits that are in no commit", hint="commit them first: git commit"
        )
    changes = [Change(p, data, expect=blob_id(now[p]) if p in now else None) for p, data in sorted(wanted.items())]
    paths = tuple(one.path for one in changes)
    if dry_run:
        return Migrated(
            old, new, said, None, (*paths, CONFIG_PATH), _rules(parts, old, new, steps, dry_run=True), None, dry_run
        )
    head = parts.store.head().commit or ""
    tag = f"before-format-{new}-{parts.options.now().astimezone():%Y-%m-%dT%H%M%S}"
    snapshots.take(parts.store.worktree, tag, head, f"Before the migration from format {old} to {new}")
    actor = secret_gate.actor(parts)
    parts.store.autocommit = parts.store.commits(parts.config.autocommit)
    job = Job(f"Migrate from format {old} to {new}", [*changes, _stated(parts, new)], [("Snapshot", tag)], actor)
    parts.refuse_secrets(job.changes)
    applied = parts.store.apply(job)
    parts.current()
    queued = _rules(parts, old, new, steps, dry_run=False)
    return Migrated(old, new, said, tag, (*paths, CONFIG_PATH), queued, applied.commit, dry_run, told_of(applied))


def _dirty(parts: Parts, path: str) -> bool:
    return parts.store.exists(path) and parts.history.dirty(path)


def _files(parts: Parts) -> dict[str, bytes]:
    """The files of entries but for rules, which are taken from the approval branch."""
    found: dict[str, bytes] = {}
    for folder, rows in parts.store.scan():
        for row in rows:
            path = f"{folder}/{row[0]}" if folder else row[0]
            if place(path) is not None and not is_rule(path):
                try:
                    found[path] = parts.store.read(path)
                except AiLessonsError:
                    continue  # `validate` names it; what cannot be read cannot be changed
    return found


def _stated(parts: Parts, version: int) -> Change:
    """The settings with the new version in them, everything else as it was."""
    there = parts.store.exists(CONFIG_PATH)
    data = parts.store.read(CONFIG_PATH) if there else b""
    text = config.set_value(decode(data, CONFIG_PATH), "format", version)
    return Change(CONFIG_PATH, text.encode(), expect=blob_id(data) if there else None)


def _rules(parts: Parts, old: int, new: int, steps: Mapping[int, Migration], *, dry_run: bool) -> tuple[Suggested, ...]:
    """Proposals of the texts that rules on the approval branch would have."""
    made = []
    with desk(parts) as at:
        texts = {path: text_of(at.repo, blob) for path, blob in at.trunk.view.files.items() if is_rule(path)}
        for path, data in sorted(config.migrated_files(texts, old, new, steps).items()):
            entry = read_entry(path, texts[path] if data is None else data)
            subject = f"Propose edit: {entry.title}"
            made.append(propose_files(at, entry, {path: data}, subject, f"format {new}", dry_run=dry_run))
    return tuple(made)
