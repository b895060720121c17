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
from ai_lessons.repository.worktree import checked_out_at, read_head, read_ref, read_settings
from ai_lessons.repository.worktree_status import Here, checked_out, here

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from dulwich.repo import Repo

    from ai_lessons.repository.store import Store
    from ai_lessons.repository.worktree import Head, Worktree

SECONDS: Final = 5.0  # How long to try against a user who works with git meanwhile
PATIENCE = 30.0  # Seconds to wait for another process of ours that is committing
_NOTE: Final = "checkout"

_Done = TypeVar("_Done")


class Taken(Conflict):
    """Another process holds a lock of git's; nothing was changed."""

    def __init__(self, lock: Path) -> None:
        super().__init__(f"git holds {lock}; if no git command is running, remove that file")


class ReflogLine(NamedTuple):
    """A line of the reflog: who (`Name <email>`), when (seconds and zone as git writes them), what."""

    who: str
    when: str
    message: str


def lock_of(target: Path) -> Path:
    """The lock file of a file of git's."""
    return target.with_name(target.name + ".lock")


def lock_folder(worktree: Worktree) -> Path:
    """Where files are made that become locks. A process that gets our commit lock may empty it."""
    return worktree.state_dir / "locks"


@contextmanager
def _locked(
    worktree: Worktree, target: Path, content: bytes, *, durable: bool = False, tip: str = ""
) -> Iterator[Path]:
    """Hold git's lock on `target`, with `content` ready to be renamed over it. Yields the lock file."""
    proof, lock = lock_folder(worktree) / f"{tip}-{secrets.token_hex(8)}", lock_of(target)
    with held_back():
        with translated(str(target), writing=True):
            proof.parent.mkdir(parents=True, exist_ok=True)
            try:
                write_new(proof, content, durable=durable)
                _link(proof, lock, content)
            except BaseException:
                proof.unlink(missing_ok=True)
                raise
        mine = _identity(lock)
        try:
            yield lock
        finally:
            if _identity(lock) == mine:  # else it was renamed, and the next one may be another process's
                lock.unlink(missing_ok=True)
            proof.unlink(missing_ok=True)


def _link(proof: Path, lock: Path, content: bytes) -> None:
    lock.parent.mkdir(parents=True, exist_ok=True)
    try:
        try:
            os.link(proof, lock)
        except FileExistsError:
            raise
        except OSError:
            # a file system without hard links: as good a lock, but after a crash nothing proves that it is ours
            write_new(lock, content, durable=False)
    except FileExistsError:
        raise Taken(lock) from None


def _put(lock: Path, target: Path) -> None:
    """Rename a lock over what it locks, which frees it."""
    os.rename(lock, target)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def move_branch(worktree: Worktree, ref: str, old: str | None, new: str, log: ReflogLine) -> bool:
    """Make a branch that is not checked out point to `new`; False if it is not at `old`. Raises Taken: git holds it."""
    with _locked(worktree, worktree.common_dir / ref, f"{new}\n".encode(), durable=True) as lock:
        if read_ref(worktree, ref) != old:
            return False
        _put(lock, worktree.common_dir / ref)
        _note_move(worktree, ref, old, new, log)
        return True


def point(worktree: Worktree, ref: str, old: str | None, new: str, log: ReflogLine) -> None:
    """`move_branch`, for callers that give up. Raises Conflict: it was moved meanwhile, or git holds its lock."""
    if not move_branch(worktree, ref, old, new, log):
        name = ref.removeprefix("refs/heads/")
        raise Conflict(f"{name} was moved meanwhile; nothing was changed", hint="try again")


def install(worktree: Worktree, head: Head, tip: str | None, index: tuple[bytes, str], log: ReflogLine) -> bool:
    """Move `head`'s branch and the index; False if one was changed or a merge began. Raises Taken: git holds a lock."""
    content, mark = index
    target, ref = worktree.git_dir / "index", head.ref if tip not in {None, head.commit} else None
    with ExitStack() as branch:
        if ref:  # the branch first: its lock is brought to the disk, which takes a while, and git waits for it
            place = worktree.common_dir / ref
            branch_lock = branch.enter_context(_locked(worktree, place, f"{tip}\n".encode(), durable=True))
        with _locked(worktree, target, content, tip=tip or "") as lock:
            now = worktree_status.index_mark(worktree)
            if worktree_status.busy(worktree) or read_head(worktree) != head or now != mark:
                return False
            if ref:
                _put(branch_lock, worktree.common_dir / ref)
            # once the branch has moved, an index that has not would delete the files
            _put(lock, target)
        if ref:
            _note_move(worktree, ref, head.commit, tip or "", log)
    return True


def _note_move(worktree: Worktree, ref: str, old: str | None, new: str, log: ReflogLine) -> None:
    """Write the reflog of a branch that has moved, and of HEAD if that is where it stands."""
    if read_settings(worktree.common_dir / "config").get("core.logallrefupdates", "true") == "false":
        return
    line = f"{old or '0' * 40} {new} {log.who} {log.when}\t{log.message}\n"
    logs = [worktree.common_dir / "logs" / ref]
    if read_head(worktree).ref == ref:
        logs.append(worktree.git_dir / "logs" / "HEAD")
    for place in logs:
        # a reflog is a convenience: the branch has moved, and a log that cannot be written changes nothing about that
        with suppress(OSError):
            place.parent.mkdir(parents=True, exist_ok=True)
            with place.open("a", encoding="utf-8", errors="surrogateescape") as file:
                file.write(line)


def _clear_locks(worktree: Worktree) -> None:
    """Finish or undo a move that a dead process of ours began, and clear its git locks. Under our commit lock."""
    proofs = list(lock_folder(worktree).iterdir()) if lock_folder(worktree).exists() else []
    if not proofs:
        return
    ours = {_identity(proof): proof.name for proof in proofs}
    target, head = worktree.git_dir / "index", read_head(worktree)
    tip = ours.get(_identity(lock_of(target)), "").partition("-")[0]
    # with the branch moved and not the index, the next `git commit` would delete the files
    if tip and tip == head.commit:
        _put(lock_of(target), target)  # the index cannot have changed since: the lock was there
    # the proofs go in any case, so whatever they prove has to be found now
    for lock in (lock_of(target), *worktree.common_dir.glob("refs/heads/**/*.lock")):
        if (found := _identity(lock)) is not None and found in ours:
            lock.unlink(missing_ok=True)
    for proof in proofs:
        proof.unlink(missing_ok=True)


def changed(worktree: Worktree, entries: Mapping[bytes, tuple[int, ObjectID] | None]) -> bytes:
    """The index with these entries (mode, blob; None: dropped) by path from the top, as bytes. Raises StorageFailed."""
    copy, original = lock_folder(worktree) / f"-index-{secrets.token_hex(8)}", worktree.git_dir / "index"
    gone = [b"0 %s\t%s\0" % (b"0" * 40, path) for path, entry in entries.items() if entry is None]
    here = [b"%o %s\t%s\0" % (*entry, path) for path, entry in entries.items() if entry is not None]
    with translated(str(copy), writing=True):
        copy.parent.mkdir(parents=True, exist_ok=True)
        try:
            if original.exists():
                shutil.copyfile(original, copy)
                shutil.copystat(original, copy)  # git judges by its time which entries it must look at again
            flags = ("--add", "--replace", "-z", "--index-info")
            rows = b"".join(gone + here)
            done = git.run(worktree, "update-index", *flags, stdin=rows, extra={"GIT_INDEX_FILE": str(copy)})
            if done.code:
                raise StorageFailed(f"git could not update its index: {done.err}")
            return copy.read_bytes()
        finally:
            copy.unlink(missing_ok=True)


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
    _clear_locks(worktree)
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
        moved = head is not None and (tip == head or git.is_ancestor(worktree, tip, head))
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
            moved = move_branch(store.worktree, ref, landing.tip, landing.commit, landing.log)
            return (landing, ()) if moved else None
        if head.commit != landing.tip:
            return None
        mark = worktree_status.index_mark(store.worktree)
        notes = _check_out(store, repo, here(store.worktree, repo, landing.files), landing, head, mark)
        return None if notes is None else (landing, notes)

    with committing(store):
        return until_done(store.worktree, attempt)


def put_back(store: Store, repo: Repo, paths: Mapping[str, tuple[str | None, str | None]]) -> tuple[str, ...]:
    """Bring unedited files and index entries from blob to blob (None: no file). Raises Conflict, StorageFailed."""

    def attempt() -> tuple[str, ...] | None:
        head, mark = read_head(store.worktree), worktree_status.index_mark(store.worktree)
        before = {path: one._replace(staged=one.old) for path, one in here(store.worktree, repo, paths).items()}
        same = Landing(head.commit or "", head.commit or "", paths, ReflogLine("", "", ""))
        return _check_out(store, repo, before, same, head, mark)

    with committing(store):
        return until_done(store.worktree, attempt)


def until_done(worktree: Worktree, attempt: Callable[[], _Done | None], seconds: float = SECONDS) -> _Done:
    """Try, under our lock, until git's index and the branch hold still; an attempt that gives None has changed nothing.

    Raises Conflict: they do not, or the user is in the middle of a merge or the like.
    """
    deadline = time.monotonic() + seconds
    while True:
        if reason := worktree_status.busy(worktree):
            raise Conflict(reason)
        fault = Conflict("git is busy in this repository, nothing was changed", hint="try again")
        try:
            if (done := attempt()) is not None:
                return done
        except Taken as taken:
            fault = taken
        if time.monotonic() > deadline:
            raise fault
        time.sleep(0.01)


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
            index = changed(worktree, entries), mark
            done = install(worktree, head, landing.commit or None, index, landing.log)
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
