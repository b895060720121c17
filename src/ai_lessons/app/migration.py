"""Brings the files of a repository to the newest format."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.app import write_checks
from ai_lessons.app.repository_settings import setting_change
from ai_lessons.errors import AiLessonsError, StorageFailed, UnsavedEdits
from ai_lessons.git import plumbing
from ai_lessons.git.store import Change, Job
from ai_lessons.git.worktree import walk
from ai_lessons.model import config, layout
from ai_lessons.model.approval import is_rule
from ai_lessons.model.layout import CONFIG_PATH, blob_id

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ai_lessons.app.workspace import Library, RepositorySession
    from ai_lessons.model.config import Migration


class Migrated(NamedTuple):
    """From which version of the format to which, by which steps.

    Nothing was done where they are the same.

    `snapshot` is the tag of what was before, `changed` are files.
    """

    old: int
    new: int
    steps: tuple[str, ...] = ()
    snapshot: str | None = None
    changed: tuple[str, ...] = ()
    commit: str | None = None
    notes: tuple[str, ...] = ()


def migrate(library: Library, *, steps: Mapping[int, Migration] = config.STEPS) -> Migrated:
    """Bring the repository's files, but for approved rules, to the format of this program in one commit.

    Raises UnsupportedRepository: it is of a newer program. UnsavedEdits: a file that changes has edits in no commit.
    Refused: an earlier write waits for its commit. StorageFailed: git makes no tag.
    """
    repo = library.primary
    old, new = repo.config.format, config.FORMAT
    if old == new:
        return Migrated(old, new)
    repo.save_first()
    now = _files(repo)
    changes: list[Change] = []
    for path, data in sorted(config.migrated_files(now, old, new, steps).items()):
        expect = None
        if path in now:
            expect = blob_id(now[path])
        changes.append(Change(path, data, expect=expect))
    paths = (*(change.path for change in changes), CONFIG_PATH)
    edited = [path for path in paths if repo.store.exists(path) and repo.history.dirty(path)]
    if edited:
        raise UnsavedEdits(
            f"{', '.join(edited[:3])} has edits that are in no commit",
            hint="commit them first: git commit",
        )
    tag = f"before-format-{new}-{repo.options.now().astimezone():%Y-%m-%dT%H%M%S}"
    head, message = repo.store.head().commit or "", f"Before format {new}"
    # a signature would ask for a passphrase, and the tag proves nothing
    made = plumbing.run(
        repo.store.worktree, "tag", "--annotate", "--no-sign", "--message", message, "--", tag, head
    )
    if made.code:
        raise StorageFailed(f"git made no tag: {made.err}")
    format_change = setting_change(repo, "format", new)
    if format_change:
        changes.append(format_change)
    repo.refuse_secrets(changes)
    repo.store.autocommit = repo.store.commits(repo.config.autocommit)
    job = Job(
        f"Migrate from format {old} to {new}",
        changes,
        [("Snapshot", tag)],
        write_checks.actor(repo),
    )
    applied = repo.store.apply(job)
    repo.current()
    says = tuple(steps[version].says for version in range(old, new))
    return Migrated(old, new, says, tag, paths, applied.commit, applied.messages)


def _files(repo: RepositorySession) -> dict[str, bytes]:
    """The files of entries but for rules."""
    contents: dict[str, bytes] = {}
    for folder, rows in walk(repo.store.root):
        for row in rows:
            path = row[0]
            if folder:
                path = f"{folder}/{path}"
            # rules change by proposals alone
            if layout.place(path) is not None and not is_rule(path):
                with suppress(AiLessonsError):
                    # `validate` names it; what cannot be read cannot be changed
                    contents[path] = repo.store.read(path)
    return contents
