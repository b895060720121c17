"""The jobs that can be undone: commits of this clone's journal, or of the same person with our trailers."""

from __future__ import annotations

import os
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from dulwich.objects import ObjectID

from ai_lessons.errors import Conflict, NotFound, Refused, UnsavedEdits
from ai_lessons.knowledge.layout import CONFIG_PATH
from ai_lessons.repository.approval.rule_files import PROPOSAL_TRAILER, is_rule, is_watched, trailers
from ai_lessons.repository.approval.rule_history import RawCommit, commits
from ai_lessons.repository.commit import People
from ai_lessons.repository.events import FOLDER
from ai_lessons.repository.filters import text_of
from ai_lessons.repository.objects import EXECUTABLE, Draft, TreeEntry, opened
from ai_lessons.repository.store import Change, Store, blob_id
from ai_lessons.repository.sync_merge import changed, plan
from ai_lessons.repository.worktree_status import here

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dulwich.repo import Repo


TRAILER: Final = "Undoes"
LOOKED_AT: Final = 10_000  # The most commits, newest first, that are searched for jobs
_OURS: Final = frozenset({"Entry", "Agent", "Session"})


class Step(NamedTuple):
    """An undone job: the commit, its subject, and the changes that undo it."""

    commit: str
    subject: str
    files: tuple[Change, ...]


def last(store: Store, count: int) -> tuple[Step, ...]:
    """The last `count` jobs, newest first, with the files undone. Raises NotFound, Refused, Conflict, UnsavedEdits."""
    with opened(store.worktree) as repo:
        steps = tuple(islice(_steps(store, repo), count))
    if len(steps) < count:
        many = f"only {len(steps)}" if steps else "none"
        raise NotFound("job to undo", str(count), hint=f"of your jobs there is {many} that can be taken back: git log")
    return steps


def _steps(store: Store, repo: Repo) -> Iterator[Step]:
    """Undo each job, newest first, by a merge of the reverse of its commit into the current tree."""
    tip, draft, disk = store.head().commit, Draft(repo), dict[str, str | None]()
    if tip is None:
        return
    head = now = draft.tree_of(ObjectID(tip.encode()))
    # events are a log, which stays as it is
    prefix, events = os.fsencode(store.prefix), os.fsencode(f"{store.prefix}{FOLDER}/")
    for commit in _jobs(store, tip):
        subject, after = commit.info.message.partition("\n")[0], ObjectID(commit.tree.encode())
        before = draft.tree_of(ObjectID(commit.parents[0].encode())) if commit.parents else None
        changes = changed(store.worktree, after, before or draft.edit(None, {}))
        reverse = {p: was for p, (_, was) in changes.items() if p.startswith(prefix) and not p.startswith(events)}
        for path in (os.fsdecode(path.removeprefix(prefix)) for path in reverse):
            if is_rule(path) or (is_watched(path) and path != CONFIG_PATH):
                raise Refused(
                    f"“{subject}” changed {path}, and what decides about rules is not changed by an undo",
                    hint="propose the change: ai-lessons contribute edit R-…, or contribute delete R-…",
                )
        merged = plan(store.worktree, repo, draft, (after, now, draft.edit(after, reverse)))
        if merged.tree is None:
            path = merged.torn[0].path.removeprefix(store.prefix)
            hint = f"look at it: ai-lessons recall log {path}"
            raise Conflict(f"{path} was changed again after “{subject}”; nothing was undone", hint=hint)
        draft.save()
        differences = changed(store.worktree, now, merged.tree)
        versions = {os.fsdecode(path.removeprefix(prefix)): new for path, (_, new) in differences.items()}
        now = merged.tree
        if versions:
            _read(store, repo, {path: draft.lookup(head, prefix + os.fsencode(path)) for path in versions}, disk)
            yield Step(commit.id, subject, tuple(_changes(store, repo, versions, disk)))


def _jobs(store: Store, head: str) -> Iterator[RawCommit]:
    """Commits of ours that can be undone, newest first."""
    journalled = {commit for record in store.journal.records() for commit in record.jobs.values() if commit}
    email = (People(store.worktree).committer() or "").rpartition("<")[2].rstrip(">")
    undone: set[str] = set()
    for commit in reversed(commits(store.worktree, [head], newest=LOOKED_AT)):
        pairs = trailers(commit.info.message)
        undone |= {value for key, value in pairs if key == TRAILER}
        by_user = commit.info.committer.email == email and not commit.info.odd
        keys = {key for key, _ in pairs}
        if by_user and PROPOSAL_TRAILER in keys:
            subject = commit.info.message.partition("\n")[0]
            raise Refused(
                f"the last thing you did is a decision ({subject}), and decisions are not undone",
                hint="what was approved can be removed again, a rule by a proposal: ai-lessons contribute delete ID",
            )
        if commit.id in undone or TRAILER in keys or len(commit.parents) > 1:
            continue
        if commit.id in journalled or (by_user and keys & _OURS):
            yield commit


def _read(store: Store, repo: Repo, versions: Mapping[str, TreeEntry | None], disk: dict[str, str | None]) -> None:
    """Note in `disk` the blobs of files that are as in HEAD. Raises UnsavedEdits: a file has uncommitted edits."""
    blobs = {path: entry[1].decode() if entry else None for path, entry in versions.items() if path not in disk}
    states = here(store.worktree, repo, {path: (blob, blob) for path, blob in blobs.items()})
    edited = sorted(path for path, state in states.items() if not state.untouched)
    if edited:
        raise UnsavedEdits(
            f"{', '.join(edited[:3])} has edits that are in no commit", hint="commit them first: git commit"
        )
    disk |= {path: None if state.data is None else blob_id(state.data) for path, state in states.items()}


def _changes(
    store: Store, repo: Repo, versions: Mapping[str, TreeEntry | None], disk: dict[str, str | None]
) -> Iterator[Change]:
    """The changes that give files these versions; `disk` is updated."""
    for path, entry in versions.items():
        data = text_of(store.worktree, repo, path, entry[1].decode()) if entry else None
        yield Change(path, data, entry[0] == EXECUTABLE if entry else None, disk[path])
        disk[path] = None if data is None else blob_id(data)
