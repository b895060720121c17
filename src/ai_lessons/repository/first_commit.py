"""The commit with which a folder becomes a knowledge repository: all that lies in it, but for what must not be in git.

Nobody else uses the repository yet, so it is an ordinary commit of git's, with the user's hooks and signature.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ai_lessons.errors import AiLessonsError, StorageFailed
from ai_lessons.repository import git
from ai_lessons.repository.files import read_file
from ai_lessons.repository.worktree import locate, read_head

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    Unwanted = Callable[[Path, str, bytes], str]
    """Why a file, given by folder, path in it and content, must not come into git; empty if it may."""

SUBJECT = "Start the knowledge repository"
BRANCH = "main"
_AGAIN = "ai-lessons admin init"

_AS_THEY_ARE = ("--literal-pathspecs", "-c", "core.autocrlf=false", "-c", "core.safecrlf=false")
TEXT_SAMPLE = 8000
"""Git takes a file for binary if a NUL is among so many first bytes."""


@dataclass(frozen=True, slots=True)
class FirstCommit:
    """What is in git's index now, the commit (None where it waits), and what to tell about it."""

    staged: frozenset[str]
    commit: str | None
    notes: tuple[str, ...]


def make_repository(root: Path) -> None:
    """Make a git repository of a folder, on the branch `BRANCH`.

    Raises:
        StorageFailed: git could not.
    """
    _demand(git.run_outside("init", "--quiet", "--", os.path.abspath(root)), f"made no repository at {root}")
    _demand(git.run(locate(root), "symbolic-ref", "HEAD", f"refs/heads/{BRANCH}"), f"made no branch at {root}")


def take(root: Path, names: Iterable[str], *, only: Sequence[str] | None, unwanted: Unwanted | None) -> FirstCommit:
    """Commit these files that git does not ignore: `only` those, or with all that the user has staged.

    A text file of which `unwanted` says why stays as it is, outside of git.

    Raises:
        StorageFailed: git took them not.
    """
    wanted = _not_ignored(root, names)
    left = _left_out(root, wanted, unwanted) if unwanted else {}
    staged = _stage(root, [name for name in wanted if name not in left])
    told = [f"left out of git: {why}" for why in left.values()]
    if known := sorted(staged & set(left)):
        undo = f"git -C {root} rm --cached -- {' '.join(known)}"
        return FirstCommit(staged, None, (*told, f"not committed, because you have staged it: {undo}, then: {_AGAIN}"))
    commit, why = _commit(root, only)
    if left:
        told.append(f"when that is mended: git -C {root} add -A && git -C {root} commit")
    return FirstCommit(staged, commit, (*told, *why))


def _left_out(root: Path, names: Iterable[str], unwanted: Unwanted) -> dict[str, str]:
    """The text files that shall not come into git, and why. No look at links and at what is too large for an entry."""
    found = {}
    for name in names:
        with suppress(AiLessonsError):
            data = read_file(root, name)[0]
            found[name] = "" if is_binary(data) else unwanted(root, name, data)
    return {name: why for name, why in found.items() if why}


def is_binary(data: bytes) -> bool:
    """What git takes for binary: a NUL is among its first bytes."""
    return b"\0" in data[:TEXT_SAMPLE]


def _demand(done: git.Done, otherwise: str) -> None:
    if done.code:
        raise StorageFailed(f"git {otherwise}: {last_line(done.err)}")


def _not_ignored(root: Path, names: Iterable[str]) -> list[str]:
    every = list(names)
    ignored = git.ignored(locate(root), every)
    return [name for name in every if name not in ignored]


def _stage(root: Path, names: Sequence[str]) -> frozenset[str]:
    """Put these files into git's index; the paths that are staged now."""
    if names:
        given = git.listed(names)
        done = git.run(locate(root), *_AS_THEY_ARE, "add", "--pathspec-from-file=-", "--pathspec-file-nul", stdin=given)
        _demand(done, f"took not every file of {root}")
    done = git.run(locate(root), "ls-files", "-z")
    return frozenset(os.fsdecode(name) for name in done.out.split(b"\0") if name)


def _commit(root: Path, only: Sequence[str] | None) -> tuple[str | None, tuple[str, ...]]:
    """Commit what is staged, or of it only these paths; (commit, nothing) or (None, why it waits and what to do)."""
    command = f'git -C {root} commit -m "{SUBJECT}"' + (f" -- {' '.join(only)}" if only else "")
    if read_head(locate(root)).ref is None:
        return None, (f"not committed, because no branch is checked out; switch to one, then: {command}",)
    if git.identity(locate(root)) is None:
        tell = 'git config --global user.name "…" and git config --global user.email "…"'
        return None, (f"not committed yet, because git does not know who you are: {tell}, then: {command}",)
    these = ("--pathspec-from-file=-", "--pathspec-file-nul") if only else ()
    done = git.run(locate(root), *_AS_THEY_ARE, "commit", "-q", "-m", SUBJECT, *these, stdin=git.listed(only or ()))
    if done.code:
        why = last_line(done.err or done.text)
        return None, (f"not committed yet, because git refused: {why}; when that is mended: {command}",)
    return read_head(locate(root)).commit, ()


def last_line(text: str) -> str:
    """What a program said in the end, which is why it failed."""
    return (text.strip().splitlines() or ["no reason given"])[-1]
