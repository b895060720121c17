"""Puts a commit on the approval branch, whether it is checked out or not, under the rules that commits of ours follow.

Where the branch is checked out, the files of the commit and their entries in git's index come along; whatever the
user has staged or left unstaged stays as it is, also in those very files. Files are put in place first: a crash in
between leaves edits that nobody approved, which change nothing, never a branch whose files look removed.
"""

from __future__ import annotations

import os
import random
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from dulwich.objects import ObjectID

from ai_lessons.errors import Conflict, NotFound, StorageFailed
from ai_lessons.repository import activity, files, git, git_index, git_locks, half_landed, moves
from ai_lessons.repository.files import Staging
from ai_lessons.repository.git_index import Tracked
from ai_lessons.repository.locks import held
from ai_lessons.repository.objects import EXECUTABLE, PLAIN, Draft
from ai_lessons.repository.on_disk import Here, here
from ai_lessons.repository.proposal.proposing import checked_out_at, committing
from ai_lessons.repository.worktree import read_head, read_ref

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dulwich.repo import Repo

    from ai_lessons.repository.proposal.proposing import Signature
    from ai_lessons.repository.store import Store
    from ai_lessons.repository.worktree import Head, Worktree

SECONDS: Final = 5.0
"""How long to try against somebody who works with git meanwhile."""

WRITE_PATIENCE: Final = 60.0


@dataclass(frozen=True, slots=True)
class Landing:
    """A commit whose objects are on the disk, made for the branch as it was at `tip`.

    `files` are the paths (relative to the root) that it changes there: blob ids before and after, None for no file.
    `programs` says of a path whether the commit makes it executable; of others the bit stays as it is.
    """

    tip: str
    commit: str
    files: Mapping[str, tuple[str | None, str | None]]
    who: Signature
    message: str
    programs: Mapping[str, bool] = field(default_factory=dict)


def land(store: Store, repo: Repo, ref: str, build: Callable[[Draft, str], Landing]) -> tuple[Landing, tuple[str, ...]]:
    """Make the branch `ref` point to what `build(draft, tip)` makes, and say what the user should know.

    `build` is asked again whenever the branch moved meanwhile, and raises if its commit makes no sense there any more.

    Raises:
        Conflict: somebody is in the middle of git, the branch is checked out elsewhere, or it keeps moving.
        StorageFailed: the disk said no. And whatever `build` raises. Nothing has changed then.
    """
    with committing(store):
        deadline = time.monotonic() + SECONDS
        while True:
            _refuse_busy(store.worktree, ref)
            tip = read_ref(store.worktree, ref)
            if tip is None:
                raise NotFound("branch", ref.removeprefix("refs/heads/"))
            landing = build(Draft(repo), tip)
            try:
                notes = _install(store, repo, ref, landing)
            except git_locks.Taken as taken:
                _wait(taken, deadline)
                continue
            if notes is not None:
                return landing, notes
            if time.monotonic() > deadline:
                raise Conflict("git is busy in this repository, nothing was changed", hint="try again")
            time.sleep(0.02 * random.random())  # noqa: S311 - only spreads the tries out


def put_back(store: Store, repo: Repo, paths: Mapping[str, tuple[str | None, str | None]]) -> tuple[str, ...]:
    """Bring files and their index entries from what is there to what is checked out; what the user should know.

    `paths` gives the blobs of both, None for no file. A file that is not what it is said to be any more stays.

    Raises:
        Conflict: somebody is in the middle of git. StorageFailed: the disk said no.
    """
    worktree = store.worktree
    with committing(store):
        deadline = time.monotonic() + SECONDS
        while True:
            reason = activity.busy(worktree)
            if reason:
                raise Conflict(reason)
            head, mark = read_head(worktree), activity.index_mark(worktree)
            before = {path: replace(one, staged=one.old) for path, one in here(worktree, repo, paths).items()}
            after = {path: wanted for path, (_, wanted) in paths.items()}
            try:
                notes = _bring(store, repo, before, after, head, _Move(head.commit, moves.Log("", "", "")), mark)
            except git_locks.Taken as taken:
                _wait(taken, deadline)
                continue
            if notes is not None:
                return notes
            if time.monotonic() > deadline:
                raise Conflict("git is busy in this repository, nothing was put back", hint="try again")


def _wait(taken: git_locks.Taken, deadline: float) -> None:
    try:
        moves.wait_for(taken.lock, deadline)
    except moves.Later as later:
        raise Conflict(str(later)) from later


def _refuse_busy(worktree: Worktree, ref: str) -> None:
    reason = activity.busy(worktree)
    if reason:
        raise Conflict(reason)
    place = checked_out_at(worktree, ref)
    if place and read_head(worktree).ref != ref:
        name = ref.removeprefix("refs/heads/")
        raise Conflict(f"{name} is checked out at {place}", hint=f"do it there: ai-lessons --repo {place} …")


def _install(store: Store, repo: Repo, ref: str, landing: Landing) -> tuple[str, ...] | None:
    """What the user should know; None if the branch or git's index moved meanwhile."""
    worktree = store.worktree
    head = read_head(worktree)
    if head.ref != ref:
        who, when = landing.who.committer, landing.who.stamp
        moved = git_locks.move_branch(
            worktree, ref, landing.tip, landing.commit, who=who, when=when, message=landing.message
        )
        return () if moved else None
    if head.commit != landing.tip:
        return None
    mark = activity.index_mark(worktree)
    before = here(worktree, repo, landing.files)
    after = {path: new for path, (_, new) in landing.files.items()}
    log = moves.Log(landing.who.committer, landing.who.stamp, landing.message)
    return _bring(store, repo, before, after, head, _Move(landing.commit, log, landing.programs), mark)


class _Move(NamedTuple):
    """Where the checked-out branch shall point, and what the reflog says."""

    tip: str | None
    log: moves.Log
    programs: Mapping[str, bool] = MappingProxyType({})


def _bring(
    store: Store,
    repo: Repo,
    before: Mapping[str, Here],
    after: Mapping[str, str | None],
    head: Head,
    move: _Move,
    mark: str,
) -> tuple[str, ...] | None:
    """Files, then branch and index together; None, and nothing has changed, if either moved meanwhile."""
    done = False
    with held(store.state_dir / "write.lock", patience=WRITE_PATIENCE) as mine:
        if not mine:
            raise StorageFailed(f"another process has been writing to {store.root} for {WRITE_PATIENCE:.0f} seconds")
        placed = Placed(store, before, after, move.programs)
        try:
            placed.write(repo, move.tip)
            index = git_index.changed(store.worktree, placed.entries())
            done = moves.install(store.worktree, head, move.tip, (index, mark), move.log)
        finally:
            moved = move.tip != head.commit and read_head(store.worktree).commit == move.tip
            if not done and not moved:
                placed.undo()
            half_landed.forget(store.worktree)
    return tuple(placed.notes()) if done else None


class Placed:
    """Files brought to what a commit holds, as far as that overwrites nothing of the user's."""

    def __init__(
        self,
        store: Store,
        before: Mapping[str, Here],
        after: Mapping[str, str | None],
        programs: Mapping[str, bool] = MappingProxyType({}),
    ) -> None:
        self._store, self._before, self._after, self._programs = store, before, after, programs
        self._written: dict[str, bytes | None] = {}

    def write(self, repo: Repo, tip: str | None) -> None:
        """Put the files in place that nobody has touched, for the commit `tip`."""
        worktree = self._store.worktree
        for path, blob in self._after.items():
            if self._before[path].untouched and not self._before[path].has(blob):
                self._written[path] = None if blob is None else content(worktree, repo, path, blob)
        with Staging(worktree.root) as staging:
            changes = {path: (self._before[path].data, data) for path, data in self._written.items()}
            half_landed.note(worktree, tip, changes)  # before the first file, whose temporary name nobody else knows
            for path, data in self._written.items():
                if data is not None:
                    staging.add(path, data, executable=self._programs.get(path))
            staging.publish()
            staging.settle()
        for path, data in self._written.items():
            if data is None:
                files.remove_file(worktree.root, path)

    def undo(self) -> None:
        """Put back what was there before, unless somebody has changed it since."""
        for path, data in self._written.items():
            if _read(self._store.worktree, path) == data:
                old = self._before[path].data
                if old is None:
                    files.remove_file(self._store.worktree.root, path)
                else:
                    files.write_file(self._store.worktree.root, path, old)

    def entries(self) -> dict[bytes, Tracked | None]:
        """What git's index shall say, by path below the worktree's top; what the user staged is left out."""
        worktree = self._store.worktree
        found: dict[bytes, Tracked | None] = {}
        for path, blob in self._after.items():
            one = self._before[path]
            if one.staged_something:
                continue
            name = os.fsencode(worktree.prefix + path)
            current = path in self._written or one.has(blob)
            status = files.status_of(worktree.root, path) if current and blob else None
            found[name] = Tracked(self._mode(path), ObjectID(blob.encode()), status) if blob else None
        return found

    def _mode(self, path: str) -> int:
        """The commit's where it says so, else what the index had."""
        program = self._programs.get(path)
        return self._before[path].mode or PLAIN if program is None else EXECUTABLE if program else PLAIN

    def notes(self) -> list[str]:
        """Which files were left as the user has them."""
        kept = [path for path, blob in self._after.items() if path not in self._written]
        return [
            f"your own edit of {path} stays as it is; it is not approved"
            for path in kept
            if self._before[path].staged_something or not self._before[path].has(self._after[path])
        ]


def content(worktree: Worktree, repo: Repo, path: str, blob: str) -> bytes:
    """A blob as it shall be on disk: with the line ends and filters that git would apply."""
    if git.available():
        made = git.checked_out(worktree, worktree.prefix + path, blob)
        if made is not None:
            return made
    return bytes(repo.object_store[ObjectID(blob.encode())].as_raw_string())


def _read(worktree: Worktree, path: str) -> bytes | None:
    with suppress(NotFound):
        return files.read_file(worktree.root, path)[0]
    return None
