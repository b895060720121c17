"""Puts a commit on the approval branch. Where it is checked out, files and index come along; the user's edits stay."""

from __future__ import annotations

import json
import os
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

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

SECONDS: Final = 5.0  # How long to try against a user who works with git meanwhile
PATIENCE = 30.0  # Seconds to wait for another process of ours that is committing
_NOTE: Final = "checkout"

_Done = TypeVar("_Done")


class Landing(NamedTuple):
    """A commit that is on the disk, for the branch at `tip`; `files`: blobs before and after by path, None for none."""

    tip: str
    commit: str
    files: Mapping[str, tuple[str | None, str | None]]
    log: ReflogLine
    programs: Mapping[str, bool] = {}  # by path, whether it becomes executable; of others the bit stays


@contextmanager
def committing(store: Store) -> Iterator[None]:
    """Hold our commit lock, what a dead process left cleared away. Raises StorageFailed: another process keeps it."""
    with (
        translated(str(store.git_dir), writing=True),
        held(store.state_dir / "commit.lock", patience=PATIENCE) as mine,
    ):
        if not mine:
            raise StorageFailed(f"another process has been committing to {store.root} for {PATIENCE:.0f} seconds")
        recover(store.worktree)
        yield


def recover(worktree: Worktree) -> None:
    """Finish or undo what a dead process of ours left: files follow a branch that has moved. Under our commit lock."""
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
    """Make `ref` point to what `build(draft, tip)` makes, asked again if it moved. Raises Conflict, StorageFailed."""

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
        notes = _check_out(store, repo, here(store.worktree, repo, landing.files), landing, head, mark)
        return None if notes is None else (landing, notes)

    return _until_done(store, attempt)


def put_back(store: Store, repo: Repo, paths: Mapping[str, tuple[str | None, str | None]]) -> tuple[str, ...]:
    """Bring unedited files and index entries from blob to blob (None: no file). Raises Conflict, StorageFailed."""

    def attempt() -> tuple[str, ...] | None:
        head, mark = read_head(store.worktree), worktree_status.index_mark(store.worktree)
        before = {path: one._replace(staged=one.old) for path, one in here(store.worktree, repo, paths).items()}
        same = Landing(head.commit or "", head.commit or "", paths, ref_update.ReflogLine("", "", ""))
        return _check_out(store, repo, before, same, head, mark)

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


def _check_out(
    store: Store, repo: Repo, before: Mapping[str, Here], landing: Landing, head: Head, mark: str
) -> tuple[str, ...] | None:
    """Bring branch, index and files to what a commit holds, over nothing of the user's; None: one moved meanwhile."""
    worktree, after = store.worktree, {path: new for path, (_, new) in landing.files.items()}
    written = [path for path, blob in after.items() if before[path].untouched and not before[path].has(blob)]
    entries: dict[bytes, tuple[int, ObjectID] | None] = {}
    for path, blob in after.items():
        if not before[path].staged_something:
            mode = {None: before[path].mode or PLAIN, True: EXECUTABLE, False: PLAIN}[landing.programs.get(path)]
            entries[os.fsencode(worktree.prefix + path)] = (mode, ObjectID(blob.encode())) if blob else None
    done = False
    with store.writing(), files.Staging(store.root) as staging:
        _note(store, landing, written)  # before the first file, whose temporary name only the note tells
        try:
            for path in written:
                if (blob := after[path]) is not None:
                    data = checked_out(worktree, repo, path, blob)
                    staging.add(path, data, executable=landing.programs.get(path))
            index = ref_update.changed(worktree, entries), mark
            done = ref_update.install(worktree, head, landing.commit or None, index, landing.log)
        finally:
            # Ctrl-C may come right after the move, before `install` has said so
            if done or landing.tip != landing.commit == read_head(worktree).commit:
                staging.publish()
                staging.settle()
                for path in written:
                    if after[path] is None:
                        files.remove_file(worktree.root, path)
            staging.abandon()
            _forget(worktree)
    if not done:
        return None
    left = [path for path in after if path not in written]
    return tuple(
        f"your own edit of {path} stays as it is; it is not approved"
        for path in left
        if before[path].staged_something or not before[path].has(after[path])
    )


def _note(store: Store, landing: Landing, written: list[str]) -> None:
    rows = {path: (*landing.files[path], landing.programs.get(path)) for path in written}
    files.write_file(store.state_dir, _NOTE, json.dumps({"tip": landing.commit, "files": rows}).encode())
