"""Sessions that a team keeps in the git of its code, as Entire does.

On a branch, or at a ref for each.
"""

from __future__ import annotations

import json
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from ai_lessons.errors import NotFound
from ai_lessons.git import objects, plumbing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from dulwich.repo import Repo

    from ai_lessons.git.worktree import Worktree

BRANCH: Final = "entire/checkpoints/v1"
REFS: Final = "refs/entire/checkpoints"
"""Where Entire keeps checkpoints.

On this branch, since its version 0.10 at a ref for each one below this folder.
"""

FETCHED: Final = (
    "+refs/heads/entire/checkpoints/*:refs/heads/entire/checkpoints/*",
    f"+{REFS}/*:{REFS}/*",
)
"""What to fetch to have them all.

A clone brings neither; one that the remote has not is no error.
"""

_LONGEST: Final = 64 << 20
# of all checkpoints: a few kilobytes of trees can name billions
_MOST_FILES: Final = 2_000_000


class _File(NamedTuple):
    """A file of a checkpoint: its ref, its path there, its blob, and its size.

    The size is -1 where a partial clone does not have it.
    """

    ref: str
    path: str
    blob: str
    size: int = -1

    @property
    def folder(self) -> tuple[str, str]:
        return self.ref, self.path.rpartition("/")[0]

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


def transcripts(folder: Path, ref: str = "") -> Iterator[tuple[str, str, bytes]]:
    """The sessions at a ref, at all refs below it, or wherever Entire keeps them.

    Of each its name, `ref:path`, and what it holds. `metadata.json` beside a file names its
    session; of several files of one session the longest counts. Raises NotFound: no such ref.
    NoRepository and its like: see `worktree.locate`.
    """
    worktree = objects.repository(folder)
    trees = _trees(worktree, [ref] if ref else [BRANCH, REFS])
    if not trees:
        refspecs = " ".join(f"'{spec}'" for spec in FETCHED)
        raise NotFound("ref", ref or BRANCH, hint=f"git -C {folder} fetch origin {refspecs}")
    with objects.opened(worktree) as repo:
        files = _sized(worktree, _files(repo, trees))
        for name, file in sorted(_longest(repo, files).items()):
            yield name, f"{file.ref}:{file.path}", objects.data_of(repo, file.blob)


def _trees(worktree: Worktree, refs: Sequence[str]) -> list[tuple[str, str]]:
    """The refs of these names, and the id of the tree of each.

    Of each its own branch comes before the remote's.
    """
    named = list[tuple[str, str]]()
    for ref in refs:
        for pattern in (f"refs/heads/{ref}", f"refs/remotes/origin/{ref}", ref):
            listed = plumbing.output(
                worktree, "for-each-ref", "--format=%(refname) %(objectname)", pattern
            )
            rows = [row.partition(" ") for row in listed.decode("utf-8", "replace").splitlines()]
            if rows:
                named += [(_short(name), commit) for name, _, commit in rows]
                break
        else:
            done = plumbing.run(worktree, "rev-parse", "--verify", "-q", f"{ref}^{{commit}}")
            named += [] if done.code else [(ref, done.text)]
    answers = plumbing.objects(
        worktree, [f"{commit}^{{tree}}" for _, commit in named], contents=False
    )
    trees = list[tuple[str, str]]()
    for (name, _), (row, _) in zip(named, answers, strict=True):
        if row[1:2] == [b"tree"]:
            trees.append((name, row[0].decode()))
    return trees


def _short(ref: str) -> str:
    return ref.removeprefix("refs/heads/").removeprefix("refs/remotes/origin/")


def _files(repo: Repo, trees: Iterable[tuple[str, str]]) -> list[_File]:
    """The transcripts, and what may name their sessions."""
    named = (
        _File(ref, path, name)
        for ref, tree in trees
        # trees count, too: those of a bomb may hold no file
        for path, name in objects.below(repo, tree)
    )
    files: list[_File] = []
    for file in islice(named, _MOST_FILES):
        if file.path.endswith((".jsonl", "metadata.json")):
            files.append(file)
    return files


def _sized(worktree: Worktree, files: Sequence[_File]) -> list[_File]:
    """The files with their sizes: a clone without all files does not say how long those are."""
    sized = list[_File]()
    for file, (row, _) in zip(
        files, plumbing.objects(worktree, [f.blob for f in files], contents=False), strict=True
    ):
        is_here = row[1:2] == [b"blob"] and int(row[2]) <= _LONGEST
        sized.append(file._replace(size=int(row[2])) if is_here else file)
    return sized


def _longest(repo: Repo, files: Sequence[_File]) -> dict[str, _File]:
    """The longest file of each session.

    Beside `full.jsonl` others hold the same session in short.
    """
    beside = {
        file.folder: file for file in files if file.name == "metadata.json" and file.size >= 0
    }
    full = {file.folder for file in files if file.name == "full.jsonl" and file.size >= 0}
    longest = dict[str, _File]()
    for file in files:
        if (
            not file.path.endswith(".jsonl")
            or file.size < 0
            or (file.folder in full and file.name != "full.jsonl")
        ):
            continue
        name = f"{file.ref}:{file.path}".removesuffix(".jsonl")
        if metadata := beside.get(file.folder):
            with suppress(ValueError, RecursionError, KeyError, TypeError):
                name = str(json.loads(objects.data_of(repo, metadata.blob))["session_id"])
        if name not in longest or file.size > longest[name].size:
            longest[name] = file
    return longest
