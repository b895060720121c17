"""Moments of a repository to go back to: annotated tags, made and read by the git program; and what files were then."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from datetime import datetime, time
from typing import TYPE_CHECKING, NamedTuple

from dulwich.objects import Blob, ObjectID, Tree

from ai_lessons.errors import Conflict, NotFound, Refused, StorageFailed, UsageError
from ai_lessons.repository import git
from ai_lessons.repository.commit_builder import NO_IDENTITY
from ai_lessons.repository.history import History
from ai_lessons.repository.objects import EXECUTABLE, Draft

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dulwich.repo import Repo

    from ai_lessons.repository.store import Store
    from ai_lessons.repository.worktree import Worktree

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?(?:Z|[+-]\d{2}:?\d{2})?)?")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A tag, the commit that it names, when it was made (ISO 8601), and what it says. `notes`: of what is not in it."""

    name: str
    commit: str
    when: str
    message: str
    notes: tuple[str, ...] = ()


class Then(NamedTuple):
    """A file of a commit: its blob and whether it may be executed."""

    blob: str
    executable: bool


def take(worktree: Worktree, name: str, commit: str, message: str) -> Snapshot:
    """Tag a commit.

    Raises:
        UsageError: a tag cannot have that name. Conflict: another one has it. Refused: git
        has no name for the user. StorageFailed: git says no.
    """
    if name.startswith("-") or git.run(worktree, "check-ref-format", f"refs/tags/{name}").code:
        raise UsageError(f"a tag cannot be called {name!r}", hint="letters, digits, - and / will do: before-cleanup")
    if not git.run(worktree, "rev-parse", "--verify", "--quiet", f"refs/tags/{name}").code:
        raise Conflict(f"there is a tag {name} already", hint="choose another name, or see: git tag -n")
    if git.identity(worktree) is None:
        words, _, hint = NO_IDENTITY.partition("; ")
        raise Refused(words, hint=hint)
    # a signature would ask for a passphrase, and a snapshot proves nothing
    done = git.run(worktree, "tag", "--annotate", "--no-sign", "--message", message, "--", name, commit)
    if done.code:
        raise StorageFailed(f"git made no tag: {done.err}")
    made = git.run(worktree, "for-each-ref", "--format=%(creatordate:iso-strict)", f"refs/tags/{name}").text
    return Snapshot(name, commit, made, message)


def commit_at(worktree: Worktree, said: str) -> str:
    """The commit that a tag, revision or date names; a date alone means the end of that day where we are.

    Of a date it is the last commit of the checked-out branch's own line that had been made by then.

    Raises:
        NotFound: there is none. UsageError: it is nothing of the three.
    """
    history = History(worktree)
    try:
        return history.resolve(said)
    except NotFound:
        if not _DATE.fullmatch(said):
            raise
    try:
        found = datetime.fromisoformat(said)
    except ValueError as error:
        raise UsageError(f"{said!r} is no date", hint="such as 2026-11-21 or 2026-11-21T20:14") from error
    moment = datetime.combine(found, time.max) if len(said) == len("2026-11-21") else found
    before = f"--before={int(moment.astimezone().timestamp())}"
    done = git.run(worktree, "rev-list", "--max-count=1", "--first-parent", before, "HEAD")
    if done.code or not done.text:
        raise NotFound("commit made by", said, hint="the first ones: git log --reverse")
    return done.text


def when(worktree: Worktree, commit: str) -> str:
    """The time of a commit, ISO 8601."""
    return git.run(worktree, "show", "--no-patch", "--format=%cI", commit).text


def files_of(repo: Repo, store: Store, commit: str) -> dict[str, Then]:
    """Every plain file of the knowledge repository in a commit, by its path below the root."""
    draft = Draft(repo)
    tree = draft.tree_of(ObjectID(commit.encode()))
    if store.prefix:
        found = draft.lookup(tree, os.fsencode(store.prefix.rstrip("/")))
        if found is None:
            return {}
        tree = found[1]
    return dict(_walk(repo, tree, b""))


def _walk(repo: Repo, tree: ObjectID, prefix: bytes) -> Iterator[tuple[str, Then]]:
    found = repo.object_store[tree]
    if not isinstance(found, Tree):
        return
    for name, mode, sha in found.iteritems():
        path = prefix + name
        if mode == 0o040000:
            yield from _walk(repo, sha, path + b"/")
        elif mode & 0o170000 == 0o100000:
            yield os.fsdecode(path), Then(sha.decode(), mode == EXECUTABLE)


def data_of(repo: Repo, blob: str) -> bytes:
    """The bytes of a blob."""
    found = repo.object_store[ObjectID(blob.encode())]
    return found.data if isinstance(found, Blob) else b""
