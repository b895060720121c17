"""Moves branch, index and files to a commit (such as an approval), but for files that the user has edited."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from ai_lessons.errors import AiLessonsError, Conflict, NotFound, StorageFailed
from ai_lessons.repository import branch_update, files, git, worktree_status
from ai_lessons.repository.files import translated
from ai_lessons.repository.journal import held
from ai_lessons.repository.objects import Draft, TreeEntry, opened
from ai_lessons.repository.worktree import Head, Worktree, checked_out_at, read_head, read_ref
from ai_lessons.repository.worktree_status import here

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from dulwich.repo import Repo

    from ai_lessons.repository.store import Store

PATIENCE = 30.0  # Seconds to wait for another process of ours that is committing
_NOTE: Final = "checkout"


class Landing(NamedTuple):
    """A commit that is on the disk; `files`: by path the blob before, and mode and blob after, None for none.

    `by` (person and time) and `message` are for git's reflog.
    """

    commit: str
    files: Mapping[str, tuple[str | None, TreeEntry | None]]
    by: str
    message: str


@contextmanager
def committing(store: Store, patience: float = PATIENCE, give_up: Callable[[], bool] | None = None) -> Iterator[None]:
    """Hold our commit lock, after recovery from a process that died.

    Raises StorageFailed: another process kept it for `patience` seconds, or until `give_up` returned True.
    """
    with (
        translated(str(store.git_dir), writing=True),
        held(store.state_dir / "commit.lock", patience=patience, give_up=give_up) as locked,
    ):
        if not locked:
            raise StorageFailed(f"another process is committing to {store.root}; wait for it, then: admin save")
        recover(store.worktree)
        yield


def recover(worktree: Worktree) -> None:
    """Finish or undo what a process of ours that died left. Under our commit lock."""
    branch_update.clear_locks(worktree)
    if (worktree.state_dir / _NOTE).exists():
        with held(worktree.state_dir / "write.lock", patience=0) as locked, opened(worktree) as repo:
            if locked:
                _follow(worktree, repo)


def _follow(worktree: Worktree, repo: Repo) -> list[str]:
    """Where the branch has moved, update the noted files that the user did not edit; why that failed.

    Under our locks. The note is removed: a file that failed shows as an edit, which the user can undo.
    """
    place, rows, fault = worktree.state_dir / _NOTE, dict[str, tuple[str | None, str | None]](), ""
    with suppress(ValueError, KeyError, TypeError):  # lost with the power: then the branch never moved
        note, head = json.loads(place.read_bytes()), read_head(worktree).commit
        if head is not None and (note["tip"] == head or git.is_ancestor(worktree, note["tip"], head)):
            rows = {str(path): (old, new) for path, (old, new) in note["files"].items()}
    states = here(worktree, repo, {path: (old, old) for path, (old, _) in rows.items()})
    behind = [path for path, state in states.items() if state.has(rows[path][0]) or state.has(None)]
    with files.held_back():
        try:
            for path in behind:
                files.remove_file(worktree.root, path)
            if names := git.listed(path for path in behind if rows[path][1]):
                done = git.run(worktree, "checkout-index", "-q", "-z", "--stdin", cwd=worktree.root, stdin=names)
                fault = done.err if done.code else ""
        except AiLessonsError as error:
            fault = error.message
        place.unlink(missing_ok=True)
    return [f"not every file was brought up to date ({fault}); mend that, then: git checkout FILE"] if fault else []


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
        branch_update.point(store.worktree, ref, tip, landing.commit, landing.message)
        return landing, ()

    with committing(store):
        return branch_update.until_done(store.worktree, attempt)


def _check_out(store: Store, repo: Repo, landing: Landing, head: Head, mark: str) -> tuple[str, ...]:
    """Move branch, index and unedited files to a commit. Raises Taken: branch or index moved."""
    worktree, notes = store.worktree, []
    after = {path: new[1].decode() if new else None for path, (_, new) in landing.files.items()}
    before = here(worktree, repo, {path: (old, after[path]) for path, (old, _) in landing.files.items()})
    rows: dict[str, tuple[str | None, str | None]] = {}
    entries: dict[bytes, TreeEntry | None] = {}
    for path, state in before.items():
        if not state.staged:
            entries[os.fsencode(worktree.prefix + path)] = landing.files[path][1]
        if state.untouched and not state.has(after[path]):
            rows[path] = state.old, after[path]
        elif state.staged or not state.has(after[path]):
            notes.append(f"your own edit of {path} stays as it is; it is not approved")
    with store.writing():
        files.write_file(store.state_dir, _NOTE, json.dumps({"tip": landing.commit, "files": rows}).encode())
        try:
            with branch_update.changed(worktree, landing.commit, entries) as index:
                branch_update.install(worktree, head, landing.commit, (index, mark), f"{landing.by}\t{landing.message}")
        finally:
            notes += _follow(worktree, repo)  # Ctrl-C may come right after the move
    return tuple(notes)
