"""Moves branches under git's own locks (`X.lock`, renamed over X), with index and files; mends after a death."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import time
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from dulwich.objects import ObjectID

from ai_lessons.errors import AiLessonsError, Conflict, NotFound, StorageFailed
from ai_lessons.repository import files, git, worktree_status
from ai_lessons.repository.files import held_back, translated, write_new
from ai_lessons.repository.journal import held
from ai_lessons.repository.objects import EXECUTABLE, PLAIN, Draft, opened
from ai_lessons.repository.worktree import Head, checked_out_at, read_head, read_ref, read_settings
from ai_lessons.repository.worktree_status import Taken, checked_out, here

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from dulwich.repo import Repo

    from ai_lessons.repository.store import Store
    from ai_lessons.repository.worktree import Worktree

SECONDS: Final = 5.0  # How long to try against a user who works with git meanwhile
PATIENCE = 30.0  # Seconds to wait for another process of ours that is committing
_NOTE: Final = "checkout"

_Done = TypeVar("_Done")


def _lock_of(target: Path) -> Path:
    """The lock file of a file of git's."""
    return target.with_name(target.name + ".lock")


def _locked_by_git(lock: Path) -> Taken:
    return Taken(f"git holds {lock}; if no git command is running, remove that file")


def refuse_locked(worktree: Worktree, done: git.Done) -> None:
    """Raises Taken: a git command failed because another one holds the index."""
    if done.code and "index.lock" in done.err:
        raise _locked_by_git(_lock_of(worktree.git_dir / "index"))


def _proof(worktree: Worktree, tip: str = "") -> Path:
    """A name for a file that becomes a lock and proves it ours. Who gets our commit lock may empty the folder."""
    return worktree.state_dir / "locks" / f"{tip}-{secrets.token_hex(8)}"


@contextmanager
def _locked(target: Path, proof: Path, content: bytes | None = None) -> Iterator[Path]:
    """Hold git's lock on `target`; what becomes of it is in `proof`, or will be (`content`). Yields the lock file."""
    lock = _lock_of(target)
    with held_back():
        try:
            with translated(str(target), writing=True):
                proof.parent.mkdir(parents=True, exist_ok=True)
                if content is not None:
                    write_new(proof, content, durable=True)
                _link(proof, lock)
            mine = _identity(lock)
            try:
                yield lock
            finally:
                if _identity(lock) == mine:  # else it was renamed, and the next one may be another process's
                    lock.unlink(missing_ok=True)
        finally:
            proof.unlink(missing_ok=True)


def _link(proof: Path, lock: Path) -> None:
    lock.parent.mkdir(parents=True, exist_ok=True)
    try:
        try:
            os.link(proof, lock)
        except FileExistsError:
            raise
        except OSError:
            # a file system without hard links: as good a lock, but after a crash nothing proves that it is ours
            write_new(lock, proof.read_bytes(), durable=False)
    except FileExistsError:
        raise _locked_by_git(lock) from None


def _put(lock: Path, target: Path) -> None:
    """Rename a lock over what it locks, which frees it."""
    os.rename(lock, target)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def point(worktree: Worktree, ref: str, old: str | None, new: str, log: str) -> None:
    """Make a branch that is not checked out point to `new`. Raises Taken: it is not at `old`, or git holds its lock."""
    target = worktree.common_dir / ref
    with _locked(target, _proof(worktree), f"{new}\n".encode()) as lock:
        if read_ref(worktree, ref) != old:
            name = ref.removeprefix("refs/heads/")
            raise Taken(f"{name} was moved meanwhile; nothing was changed", hint="try again")
        _put(lock, target)
        _note_move(worktree, ref, old, new, log)


def install(worktree: Worktree, head: Head, tip: str | None, index: tuple[Path, str], log: str) -> None:
    """Move `head`'s branch and the index. Raises Taken: one was changed, a merge began, or git holds a lock."""
    made, mark = index
    target, ref = worktree.git_dir / "index", head.ref if tip not in {None, head.commit} else None
    with ExitStack() as branch:
        if ref:  # the branch first: its lock is brought to the disk, which takes a while, and git waits for it
            place = worktree.common_dir / ref
            branch_lock = branch.enter_context(_locked(place, _proof(worktree), f"{tip}\n".encode()))
        with _locked(target, made) as lock:
            now = worktree_status.index_mark(worktree)
            if worktree_status.busy(worktree) or read_head(worktree) != head or now != mark:
                raise Taken("git is busy in this repository, nothing was changed", hint="try again")
            if ref:
                _put(branch_lock, worktree.common_dir / ref)
            # once the branch has moved, an index that has not would delete the files
            _put(lock, target)
        if ref:
            _note_move(worktree, ref, head.commit, tip or "", log)


def _note_move(worktree: Worktree, ref: str, old: str | None, new: str, log: str) -> None:
    """Write the reflog of a branch that has moved, and of HEAD if that is where it stands."""
    if read_settings(worktree.common_dir / "config").get("core.logallrefupdates", "true") == "false":
        return
    logs = [worktree.common_dir / "logs" / ref]
    if read_head(worktree).ref == ref:
        logs.append(worktree.git_dir / "logs" / "HEAD")
    for place in logs:
        # a reflog is a convenience: the branch has moved, and a log that cannot be written changes nothing about that
        with suppress(OSError):
            place.parent.mkdir(parents=True, exist_ok=True)
            with place.open("a", encoding="utf-8", errors="surrogateescape") as file:
                file.write(f"{old or '0' * 40} {new} {log}\n")


def _clear_locks(worktree: Worktree) -> None:
    """Finish or undo a move that a dead process of ours began, and clear its git locks. Under our commit lock."""
    folder = _proof(worktree).parent
    ours = {_identity(proof): proof for proof in folder.iterdir()} if folder.exists() else {}
    if not ours:
        return
    lock = _lock_of(worktree.git_dir / "index")
    tip = ours[_identity(lock)].name.partition("-")[0] if _identity(lock) in ours else ""
    # with the branch moved and not the index, the next `git commit` would delete the files
    if tip and tip == read_head(worktree).commit:
        _put(lock, worktree.git_dir / "index")  # the index cannot have changed since: the lock was there
    # the proofs go in any case, so whatever they prove has to be found now
    for found in (lock, *worktree.common_dir.glob("refs/heads/**/*.lock")):
        if found.exists() and _identity(found) in ours:
            found.unlink(missing_ok=True)
    for proof in ours.values():
        proof.unlink(missing_ok=True)


@contextmanager
def changed(
    worktree: Worktree, tip: str | None, entries: Mapping[bytes, tuple[int, ObjectID] | None]
) -> Iterator[Path]:
    """A new index with these entries (mode, blob; None: dropped) by path from the top, for `install` with this tip.

    Raises StorageFailed.
    """
    made, original = _proof(worktree, tip or ""), worktree.git_dir / "index"
    gone = [b"0 %s\t%s\0" % (b"0" * 40, path) for path, entry in entries.items() if entry is None]
    there = [b"%o %s\t%s\0" % (*entry, path) for path, entry in entries.items() if entry is not None]
    try:
        with translated(str(made), writing=True):
            made.parent.mkdir(parents=True, exist_ok=True)
            if original.exists():
                shutil.copyfile(original, made)
                shutil.copystat(original, made)  # git judges by its time which entries it must look at again
        flags = ("--add", "--replace", "-z", "--index-info")
        rows = b"".join(gone + there)
        done = git.run(worktree, "update-index", *flags, stdin=rows, extra={"GIT_INDEX_FILE": str(made)})
        if done.code:
            raise StorageFailed(f"git could not update its index: {done.err}")
        yield made
    finally:
        made.unlink(missing_ok=True)


class Landing(NamedTuple):
    """A commit that is on the disk; `files`: blobs before and after by path, None for none.

    `log`: who, when and what, as git's reflog has it. `programs`: by path, whether it becomes executable; of others
    the bit stays.
    """

    commit: str
    files: Mapping[str, tuple[str | None, str | None]]
    log: str
    programs: Mapping[str, bool] = {}


@contextmanager
def committing(store: Store, patience: float = PATIENCE, give_up: Callable[[], bool] | None = None) -> Iterator[None]:
    """Hold our commit lock, what a dead process left cleared away.

    Raises StorageFailed: another process kept it for `patience` seconds, or until `give_up` said so.
    """
    with (
        translated(str(store.git_dir), writing=True),
        held(store.state_dir / "commit.lock", patience=patience, give_up=give_up) as mine,
    ):
        if not mine:
            raise StorageFailed(f"another process is committing to {store.root}; wait for it, then: admin save")
        recover(store.worktree)
        yield


def recover(worktree: Worktree) -> None:
    """Finish or undo what a dead process of ours left. Under our commit lock."""
    _clear_locks(worktree)
    if (worktree.state_dir / _NOTE).exists():
        with held(worktree.state_dir / "write.lock", patience=0) as mine, opened(worktree) as repo:
            if mine:
                _follow(worktree, repo)


def _follow(worktree: Worktree, repo: Repo) -> list[str]:
    """Where the branch has moved, bring the noted files along that the user did not edit; why one could not be.

    Under our locks. The note goes: what is left then shows as an edit, which the user can take back.
    """
    place, rows, faults = worktree.state_dir / _NOTE, dict[str, tuple[str | None, str | None, bool | None]](), []
    with suppress(ValueError, KeyError, TypeError):  # lost with the power: then the branch never moved
        told, head = json.loads(place.read_bytes()), read_head(worktree).commit
        if head is not None and (told["tip"] == head or git.is_ancestor(worktree, told["tip"], head)):
            rows = {str(path): (old, new, bit) for path, (old, new, bit) in told["files"].items()}
    for path, one in here(worktree, repo, {path: (old, old) for path, (old, _, _) in rows.items()}).items():
        files.sweep(worktree.root, path)
        old, new, bit = rows[path]
        try:
            if one.has(old) and new is None:
                files.remove_file(worktree.root, path)
            elif one.has(old) and new is not None:
                files.write_file(worktree.root, path, checked_out(worktree, repo, path, new), executable=bit)
        except AiLessonsError as error:
            faults.append(f"{path} was not brought up to date ({error.message}); mend that, then: git checkout {path}")
    place.unlink(missing_ok=True)
    return faults


def land(store: Store, repo: Repo, ref: str, build: Callable[[Draft, str], Landing]) -> tuple[Landing, tuple[str, ...]]:
    """Make `ref` point to what `build(draft, tip)` makes, asked again if it moved. Raises Conflict, StorageFailed."""

    def attempt() -> tuple[Landing, tuple[str, ...]]:
        name, place = ref.removeprefix("refs/heads/"), checked_out_at(store.worktree, ref)
        if place and read_head(store.worktree).ref != ref:
            raise Conflict(f"{name} is checked out at {place}", hint=f"do it there: ai-lessons --repo {place} …")
        tip = read_ref(store.worktree, ref)
        if tip is None:
            raise NotFound("branch", name)
        landing, mark = build(Draft(repo), tip), worktree_status.index_mark(store.worktree)
        if read_head(store.worktree).ref == ref:
            return landing, _check_out(store, repo, landing, Head(ref, tip), mark)
        point(store.worktree, ref, tip, landing.commit, landing.log)
        return landing, ()

    with committing(store):
        return until_done(store.worktree, attempt)


def until_done(worktree: Worktree, attempt: Callable[[], _Done], seconds: float = SECONDS) -> _Done:
    """Try, under our lock, until git's index and the branch hold still: an attempt that is `Taken` has changed nothing.

    Raises Conflict: they do not, or the user is in the middle of a merge or the like.
    """
    deadline = time.monotonic() + seconds
    while True:
        if reason := worktree_status.busy(worktree):
            raise Conflict(reason)
        try:
            return attempt()
        except Taken:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.01)


def _check_out(store: Store, repo: Repo, landing: Landing, head: Head, mark: str) -> tuple[str, ...]:
    """Bring branch, index and files to what a commit holds, over nothing of the user's. Raises Taken: one moved."""
    worktree, programs = store.worktree, landing.programs
    before = here(worktree, repo, landing.files)
    rows: dict[str, tuple[str | None, str | None, bool | None]] = {}
    entries: dict[bytes, tuple[int, ObjectID] | None] = {}
    notes = []
    for path, (old, new) in landing.files.items():
        one, bit = before[path], programs.get(path)
        if not one.staged:
            mode = {None: one.mode or PLAIN, True: EXECUTABLE, False: PLAIN}[bit]
            entries[os.fsencode(worktree.prefix + path)] = (mode, ObjectID(new.encode())) if new else None
        if one.untouched and not one.has(new):
            rows[path] = (old, new, bit)
        elif one.staged or not one.has(new):
            notes.append(f"your own edit of {path} stays as it is; it is not approved")
    with store.writing():
        note = json.dumps({"tip": landing.commit, "files": rows}).encode()
        files.write_file(store.state_dir, _NOTE, note)
        try:
            with changed(worktree, landing.commit, entries) as index:
                install(worktree, head, landing.commit, (index, mark), landing.log)
        finally:
            notes += _follow(worktree, repo)  # Ctrl-C may come right after the move
    return tuple(notes)
