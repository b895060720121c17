"""Which jobs of ours (commits of this clone's journal, or of the same person with our trailers) can be taken back."""

from __future__ import annotations

import os
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from dulwich.diff_tree import tree_changes
from dulwich.objects import Blob, ObjectID

from ai_lessons.errors import Conflict, NotFound, Refused, UnsavedEdits
from ai_lessons.knowledge.layout import CONFIG_PATH
from ai_lessons.knowledge.merging import merge_file
from ai_lessons.repository.approval.rule_files import PROPOSAL_TRAILER, is_rule, is_watched, trailers
from ai_lessons.repository.approval.rule_history import commits
from ai_lessons.repository.commit import People
from ai_lessons.repository.events import FOLDER
from ai_lessons.repository.objects import EXECUTABLE, Draft, StoredCommit, opened, read_commit
from ai_lessons.repository.store import Change, blob_id
from ai_lessons.repository.worktree_status import here

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dulwich.repo import Repo

    from ai_lessons.repository.store import Store

TRAILER: Final = "Undoes"
LOOKED_AT: Final = 10_000  # Commits, newest first, among which the last jobs are looked for
_OURS: Final = frozenset({"Entry", "Agent", "Session"})


class Step(NamedTuple):
    """One job that is taken back."""

    commit: str
    subject: str
    files: tuple[Change, ...]


def plan(store: Store, count: int) -> tuple[Step, ...]:
    """The last `count` jobs, newest first, with the files undone. Raises NotFound, Refused, Conflict, UnsavedEdits."""
    with opened(store.worktree) as repo:
        draft, files = Draft(repo), dict[str, _Now]()
        steps = (_step(store, repo, draft, commit, files) for commit in _jobs(store, repo))
        found = tuple(islice((step for step in steps if step.files), count))
    if len(found) < count:
        many = f"only {len(found)}" if found else "none"
        raise NotFound("job to undo", str(count), hint=f"of your jobs there is {many} that can be taken back: git log")
    return found


class _Now(NamedTuple):
    """A file as it is, with what was planned before: what git has of it, the bytes on disk, and its mode."""

    stored: bytes | None
    disk: bytes | None
    mode: int | None


def _jobs(store: Store, repo: Repo) -> Iterator[StoredCommit]:
    """Commits of ours that can be taken back, newest first."""
    head = store.head().commit
    if head is None:
        return
    remembered = {commit for record in store.journal.records() for commit in record.jobs.values() if commit}
    me = (People(store.worktree).committer() or "").rpartition("<")[2].rstrip(">")
    undone: set[str] = set()
    for commit in reversed(commits(store.worktree, [head], newest=LOOKED_AT)):
        said = trailers(commit.said.message)
        undone |= {value for key, value in said if key == TRAILER}
        name, mine = commit.id, commit.said.committer.email == me and not commit.said.odd
        keys = {key for key, _ in said}
        if mine and PROPOSAL_TRAILER in keys:
            subject = commit.said.message.partition("\n")[0]
            raise Refused(
                f"the last thing you did is a decision ({subject}), and decisions are not undone",
                hint="what was approved can be removed again, a rule by a proposal: ai-lessons contribute delete ID",
            )
        if name in undone or TRAILER in keys or len(commit.parents) > 1:
            continue
        if name in remembered or (mine and keys & _OURS):
            yield read_commit(repo.object_store, ObjectID(name.encode()))


class _Did(NamedTuple):
    """What a job did to one file: its content and mode before and after, None for no file."""

    before: bytes | None
    after: bytes | None
    mode: int | None


def _step(store: Store, repo: Repo, draft: Draft, commit: StoredCommit, files: dict[str, _Now]) -> Step:
    """One job taken back. `files` is what they are after the steps before this one, and is brought on."""
    subject = commit.message.decode(errors="replace").partition("\n")[0]
    changes = _changes(store, repo, draft, commit)
    rules = [path for path in changes if is_rule(path) or (is_watched(path) and path != CONFIG_PATH)]
    if rules:
        raise Refused(
            f"“{subject}” changed {rules[0]}, and what decides about rules is not changed by an undo",
            hint="propose the change: ai-lessons contribute edit R-…, or contribute delete R-…",
        )
    files |= _look(store, repo, draft, [path for path in changes if path not in files])
    made = []
    for path, change in changes.items():
        now = files[path]
        data = _back(path, subject, change, now.stored)
        if data != now.stored or (data is not None and now.mode != change.mode and now.stored == change.after):
            mode = change.mode if data is not None else None
            expect = None if now.disk is None else blob_id(now.disk)
            made.append(Change(path, data, None if mode is None else mode == EXECUTABLE, expect))
            files[path] = _Now(data, data, mode)
    return Step(commit.id, subject, tuple(made))


def _changes(store: Store, repo: Repo, draft: Draft, commit: StoredCommit) -> dict[str, _Did]:
    prefix = os.fsencode(store.prefix)
    before = draft.tree_of(commit.parents[0]) if commit.parents else None
    found = {}
    for change in tree_changes(repo.object_store, before, commit.tree, change_type_same=True):
        sides = [side if side is not None and side.path is not None else None for side in (change.old, change.new)]
        path = next(side.path for side in sides if side is not None and side.path is not None)
        # events only say what happened, and nothing of that is taken back: a commit of them alone is no job
        if path.startswith(prefix) and not path.startswith(prefix + os.fsencode(f"{FOLDER}/")):
            old, new = (_data(repo, side.sha) if side is not None else None for side in sides)
            mode = sides[0].mode if sides[0] is not None else None
            found[os.fsdecode(path.removeprefix(prefix))] = _Did(old, new, mode)
    return found


def _data(repo: Repo, name: bytes | None) -> bytes | None:
    found = repo.object_store[ObjectID(name)] if name else None
    return found.data if isinstance(found, Blob) else None


def _look(store: Store, repo: Repo, draft: Draft, paths: Sequence[str]) -> dict[str, _Now]:
    """The files as they are. Raises UnsavedEdits: one has edits that are in no commit."""
    head = store.head().commit
    tree = draft.tree_of(ObjectID(head.encode())) if head else None
    there = {path: draft.lookup(tree, os.fsencode(store.prefix + path)) for path in paths}
    blobs = {path: found[1].decode() if found else None for path, found in there.items()}
    found = here(store.worktree, repo, {path: (blob, blob) for path, blob in blobs.items()})
    edited = sorted(path for path, one in found.items() if not one.untouched)
    if edited:
        raise UnsavedEdits(
            f"{', '.join(edited[:3])} has edits that are in no commit", hint="commit them first: git commit"
        )
    return {
        path: _Now(
            _data(repo, blob.encode()) if (blob := blobs[path]) else None,
            found[path].data,
            entry[0] if entry else None,
        )
        for path, entry in there.items()
    }


def _back(path: str, subject: str, change: _Did, now: bytes | None) -> bytes | None:
    """The file without the job's change. Raises Conflict: it was changed later, at the same places."""
    if now == change.after:
        return change.before
    if now == change.before or change.before == change.after:
        return now
    if now is not None and change.before is not None and change.after is not None:
        merged = merge_file(path, change.after, now, change.before)
        if merged.data is not None:
            return merged.data
    raise Conflict(
        f"{path} was changed again after “{subject}”; nothing was undone",
        hint=f"look at it: ai-lessons recall log {path}",
    )
