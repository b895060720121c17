"""Puts a commit on the approval branch, whether it is checked out or not, under the rules that commits of ours follow.

Where the branch is checked out, the files of the commit and their entries in git's index come along; what the user has
staged or left unstaged stays as it is, also in those very files.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, TypeVar

from dulwich.objects import ObjectID

from ai_lessons.errors import AiLessonsError, Conflict, NotFound, StorageFailed
from ai_lessons.repository import files, ref_update, worktree_status
from ai_lessons.repository.files import translated
from ai_lessons.repository.locks import held
from ai_lessons.repository.objects import EXECUTABLE, PLAIN, Draft, contains, opened
from ai_lessons.repository.worktree import checked_out_at, read_head, read_ref
from ai_lessons.repository.worktree_status import Here, checked_out, here

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from dulwich.repo import Repo

    from ai_lessons.repository.ref_update import ReflogLine
    from ai_lessons.repository.store import Store
    from ai_lessons.repository.worktree import Head, Worktree

SECONDS: Final = 5.0
"""How long to try against a user who works with git meanwhile."""

PATIENCE = 30.0
"""Seconds to wait for another process of ours that is committing."""

_NOTE: Final = "checkout"

_Done = TypeVar("_Done")


@dataclass(frozen=True, slots=True)
class Landing:
    """A commit whose objects are on the disk, made for the branch as it was at `tip`.

    `files` are the paths (relative to the root) that it changes there: blob ids before and after, None for no file.
    `programs` says of a path whether the commit makes it executable; of others the bit stays as it is.
    """

    tip: str
    commit: str
    files: Mapping[str, tuple[str | None, str | None]]
    log: ReflogLine
    programs: Mapping[str, bool] = field(default_factory=dict)


@contextmanager
def committing(store: Store) -> Iterator[None]:
    """Hold our commit lock, with what a dead process left cleared away.

    Raises StorageFailed: another process keeps it.
    """
    with (
        translated(str(store.git_dir), writing=True),
        held(store.state_dir / "commit.lock", patience=PATIENCE) as mine,
    ):
        if not mine:
            raise StorageFailed(f"another process has been committing to {store.root} for {PATIENCE:.0f} seconds")
        recover(store.worktree)
        yield


def recover(worktree: Worktree) -> None:
    """Finish or undo what a dead process of ours left. Under our commit lock.

    Files follow the branch if it has moved.
    """
    ref_update.recover(worktree)
    try:
        told = json.loads((worktree.state_dir / _NOTE).read_bytes())
        tip, rows = told["tip"], {str(path): (old, new, bit) for path, (old, new, bit) in told["files"].items()}
    except FileNotFoundError:
        return
    except (ValueError, KeyError, TypeError):
        _forget(worktree)  # lost with the power: then the branch never moved
        return
    with held(worktree.state_dir / "write.lock", patience=0) as mine, opened(worktree) as repo:
        if not mine:
            return
        head = read_head(worktree).commit
        moved = head is not None and (tip == head or contains(worktree, repo, head, tip))
        for path in rows:
            files.sweep(worktree.root, path)
        now = here(worktree, repo, {path: (old, old) for path, (old, _, _) in rows.items()}) if moved else {}
        for path, one in now.items():
            old, new, bit = rows[path]
            if one.has(old):
                with suppress(AiLessonsError):  # it shows as an edit then, which the user can take back
                    if new is None:
                        files.remove_file(worktree.root, path)
                    else:
                        files.write_file(worktree.root, path, checked_out(worktree, repo, path, new), executable=bit)
        _forget(worktree)


def _forget(worktree: Worktree) -> None:
    (worktree.state_dir / _NOTE).unlink(missing_ok=True)


def land(store: Store, repo: Repo, ref: str, build: Callable[[Draft, str], Landing]) -> tuple[Landing, tuple[str, ...]]:
    """Make the branch `ref` point to what `build(draft, tip)` makes, and say what the user should know.

    `build` is asked again whenever the branch moved meanwhile, and raises if its commit makes no sense there any more.
    Raises Conflict: a merge or the like is under way, the branch is checked out elsewhere, or it keeps moving.
    StorageFailed: the disk said no. And whatever `build` raises. Nothing has changed then.
    """

    def attempt() -> tuple[Landing, tuple[str, ...]] | None:
        name, place = ref.removeprefix("refs/heads/"), checked_out_at(store.worktree, ref)
        if place and read_head(store.worktree).ref != ref:
            raise Conflict(f"{name} is checked out at {place}", hint=f"do it there: ai-lessons --repo {place} …")
        tip = read_ref(store.worktree, ref)
        if tip is None:
            raise NotFound("branch", name)
        landing, head = build(Draft(repo), tip), read_head(store.worktree)
        if head.ref != ref:
            moved = ref_update.move_branch(store.worktree, ref, landing.tip, landing.commit, landing.log)
            return (landing, ()) if moved else None
        if head.commit != landing.tip:
            return None
        mark = worktree_status.index_mark(store.worktree)
        notes = _Checkout(store, here(store.worktree, repo, landing.files), landing).run(repo, head, mark)
        return None if notes is None else (landing, notes)

    return _until_done(store, attempt)


def put_back(store: Store, repo: Repo, paths: Mapping[str, tuple[str | None, str | None]]) -> tuple[str, ...]:
    """Bring files and their index entries from what is there to what is checked out; what the user should know.

    `paths` gives the blobs of both, None for no file. A file that is not what it is said to be any more stays.
    Raises Conflict: a merge or the like is under way. StorageFailed: the disk said no.
    """

    def attempt() -> tuple[str, ...] | None:
        head, mark = read_head(store.worktree), worktree_status.index_mark(store.worktree)
        before = {path: replace(one, staged=one.old) for path, one in here(store.worktree, repo, paths).items()}
        same = Landing(head.commit or "", head.commit or "", paths, ref_update.ReflogLine("", "", ""))
        return _Checkout(store, before, same).run(repo, head, mark)

    return _until_done(store, attempt)


def _until_done(store: Store, attempt: Callable[[], _Done | None]) -> _Done:
    """Try until git's index and the branch hold still; an attempt that gives None has changed nothing."""
    with committing(store):
        deadline = time.monotonic() + SECONDS
        while True:
            if reason := worktree_status.busy(store.worktree):
                raise Conflict(reason)
            reason, hint = "git is busy in this repository, nothing was changed", "try again"
            try:
                if (done := attempt()) is not None:
                    return done
            except ref_update.Taken as taken:
                reason, hint = taken.message, taken.hint
            if time.monotonic() > deadline:
                raise Conflict(reason, hint=hint)
            time.sleep(0.02)


class _Checkout:
    """Files and index brought to what a commit holds, as far as that overwrites nothing of the user's."""

    def __init__(self, store: Store, before: Mapping[str, Here], landing: Landing) -> None:
        self._store, self._before, self._landing = store, before, landing
        self._after = {path: new for path, (_, new) in landing.files.items()}
        self._written = [p for p, blob in self._after.items() if before[p].untouched and not before[p].has(blob)]

    def run(self, repo: Repo, head: Head, mark: str) -> tuple[str, ...] | None:
        """Branch and index, then the files; None, and nothing has changed, if either moved meanwhile."""
        store, worktree = self._store, self._store.worktree
        with store.writing(), files.Staging(store.root) as staging:
            self._note()  # before the first file, whose temporary name only the note tells
            done = False
            try:
                for path in self._written:
                    if (blob := self._after[path]) is not None:
                        data = checked_out(worktree, repo, path, blob)
                        staging.add(path, data, executable=self._landing.programs.get(path))
                index = ref_update.changed(worktree, self._entries()), mark
                done = ref_update.install(worktree, head, self._landing.commit or None, index, self._landing.log)
            finally:
                # Ctrl-C may come right after the move, before `install` has said so
                if done or self._landing.tip != self._landing.commit == read_head(worktree).commit:
                    staging.publish()
                    staging.settle()
                    for path in self._written:
                        if self._after[path] is None:
                            files.remove_file(worktree.root, path)
                staging.abandon()
                _forget(worktree)
        return self._notes() if done else None

    def _note(self) -> None:
        programs = self._landing.programs
        rows = {path: (*self._landing.files[path], programs.get(path)) for path in self._written}
        told = json.dumps({"tip": self._landing.commit, "files": rows}).encode()
        files.write_file(self._store.state_dir, _NOTE, told)

    def _entries(self) -> dict[bytes, tuple[int, ObjectID] | None]:
        """What git's index shall say, by path below the worktree's top; what the user staged is left out."""
        worktree = self._store.worktree
        found: dict[bytes, tuple[int, ObjectID] | None] = {}
        for path, blob in self._after.items():
            if not self._before[path].staged_something:
                mode = {None: self._before[path].mode or PLAIN, True: EXECUTABLE, False: PLAIN}
                entry = (mode[self._landing.programs.get(path)], ObjectID(blob.encode())) if blob else None
                found[os.fsencode(worktree.prefix + path)] = entry
        return found

    def _notes(self) -> tuple[str, ...]:
        return tuple(
            f"your own edit of {path} stays as it is; it is not approved"
            for path, blob in self._after.items()
            if path not in self._written and (self._before[path].staged_something or not self._before[path].has(blob))
        )
