"""Forward to a newer file format: one commit, after a tag of what was before."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ai_lessons.errors import AiLessonsError, Refused, StorageFailed, UnsavedEdits
from ai_lessons.knowledge import config, layout
from ai_lessons.knowledge.texts import decode
from ai_lessons.library import secret_gate
from ai_lessons.repository import git
from ai_lessons.repository.approval.rule_files import is_rule
from ai_lessons.repository.store import Change, Job, blob_id

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ai_lessons.knowledge.config import Migration
    from ai_lessons.library.opened import Library
    from ai_lessons.library.session import RepositorySession


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
    """Bring the repository's files, but for approved rules, to the format of this program in one commit.

    Raises UnsupportedRepository: it is of a newer program. UnsavedEdits: a file that changes has edits in no commit.
    Refused: an earlier write waits for its commit. StorageFailed: git makes no tag.
    """
    parts = library.primary
    old, new = parts.config.format, config.FORMAT
    if old == new:
        return Migrated(old, new, dry_run=dry_run)
    waiting = parts.store.save().waiting
    if waiting:
        raise Refused(
            f"the last write is in no commit yet, because {waiting}", hint="ai-lessons admin save, then repeat"
        )
    now = _files(parts)
    changes = [
        Change(path, data, expect=blob_id(now[path]) if path in now else None)
        for path, data in sorted(config.migrated_files(now, old, new, steps).items())
    ]
    paths = (*(one.path for one in changes), layout.CONFIG_PATH)
    edited = [path for path in paths if parts.store.exists(path) and parts.history.dirty(path)]
    if edited:
        raise UnsavedEdits(
            f"{', '.join(edited[:3])} has edits that are in no commit", hint="commit them first: git commit"
        )
    done = Migrated(old, new, tuple(steps[version].says for version in range(old, new)), None, paths, None, dry_run)
    if dry_run:
        return done
    tag = f"before-format-{new}-{parts.options.now().astimezone():%Y-%m-%dT%H%M%S}"
    _tag(parts, tag, f"Before format {new}")
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


def _tag(parts: RepositorySession, name: str, message: str) -> None:
    head = parts.store.head().commit or ""
    # a signature would ask for a passphrase, and the tag proves nothing
    done = git.run(parts.store.worktree, "tag", "--annotate", "--no-sign", "--message", message, "--", name, head)
    if done.code:
        raise StorageFailed(f"git made no tag: {done.err}")


def _stated(parts: RepositorySession, version: int) -> Change:
    """The settings with the new version in them, everything else as it was."""
    there = parts.store.exists(layout.CONFIG_PATH)
    data = parts.store.read(layout.CONFIG_PATH) if there else b""
    text = config.set_value(decode(data, layout.CONFIG_PATH), "format", version)
    return Change(layout.CONFIG_PATH, text.encode(), expect=blob_id(data) if there else None)
