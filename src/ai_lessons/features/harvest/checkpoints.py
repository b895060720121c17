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
# Where Entire keeps checkpoints.
# On this branch, since its version 0.10 at a ref for each one below this folder.
REFS: Final = "refs/entire/checkpoints"

# What to fetch to have them all.
# A clone brings neither; one that the remote has not is no error.
FETCHED: Final = (
    "+refs/heads/entire/checkpoints/*:refs/heads/entire/checkpoints/*",
    f"+{REFS}/*:{REFS}/*",
)

# Bytes of a transcript that is read
_LONGEST: Final = 64 << 20
# of all checkpoints: a few kilobytes of trees can name billions
_MOST_FILES: Final = 2_000_000
_METADATA: Final = "metadata.json"
# beside it others hold the same session in short
_FULL: Final = "full.jsonl"


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
    refs = [ref] if ref else [BRANCH, REFS]
    trees = _trees(worktree, refs)
    if not trees:
        refspecs = " ".join(f"'{spec}'" for spec in FETCHED)
        raise NotFound("ref", ref or BRANCH, hint=f"git -C {folder} fetch origin {refspecs}")
    with objects.opened(worktree) as repo:
        files = _sized(worktree, _files(repo, trees))
        for name, file in sorted(_longest(repo, files).items()):
            yield name, f"{file.ref}:{file.path}", objects.data_of(repo, file.blob)


def _trees(worktree: Worktree, refs: Sequence[str]) -> list[tuple[str, str]]:
    """The refs of these names, and the id of the tree of each."""
    commits: list[tuple[str, str]] = []
    for ref in refs:
        commits += _commits(worktree, ref)
    answers = plumbing.objects(
        worktree, [f"{commit}^{{tree}}" for _, commit in commits], contents=False
    )
    trees = []
    for (name, _), (row, _) in zip(commits, answers, strict=True):
        if row[1:2] == [b"tree"]:
            trees.append((name, row[0].decode()))
    return trees


def _commits(worktree: Worktree, ref: str) -> list[tuple[str, str]]:
    """The refs of this name or below it, each with its commit; else the commit that it names.

    Its own branch comes before the remote's.
    """
    for pattern in (f"refs/heads/{ref}", f"refs/remotes/origin/{ref}", ref):
        listed = plumbing.output(
            worktree, "for-each-ref", "--format=%(refname) %(objectname)", pattern
        )
        commits = []
        for row in listed.decode("utf-8", "replace").splitlines():
            name, _, commit = row.partition(" ")
            short = name.removeprefix("refs/heads/").removeprefix("refs/remotes/origin/")
            commits.append((short, commit))
        if commits:
            return commits
    parsed = plumbing.run(worktree, "rev-parse", "--verify", "-q", f"{ref}^{{commit}}")
    if parsed.code:
        return []
    return [(ref, parsed.text)]


def _files(repo: Repo, trees: Iterable[tuple[str, str]]) -> list[_File]:
    """The transcripts, and what may name their sessions."""
    files: list[_File] = []
    # trees count, too: those of a bomb may hold no file
    for file in islice(_everything(repo, trees), _MOST_FILES):
        if file.path.endswith((".jsonl", _METADATA)):
            files.append(file)
    return files


def _everything(repo: Repo, trees: Iterable[tuple[str, str]]) -> Iterator[_File]:
    for ref, tree in trees:
        for path, name in objects.below(repo, tree):
            yield _File(ref, path, name)


def _sized(worktree: Worktree, files: Sequence[_File]) -> list[_File]:
    """The files with their sizes: a clone without all files does not say how long those are."""
    answers = plumbing.objects(worktree, [file.blob for file in files], contents=False)
    sized = []
    for file, (row, _) in zip(files, answers, strict=True):
        if row[1:2] == [b"blob"] and int(row[2]) <= _LONGEST:
            sized.append(file._replace(size=int(row[2])))
        else:
            sized.append(file)
    return sized


def _longest(repo: Repo, files: Sequence[_File]) -> dict[str, _File]:
    """The longest file of each session, by its name."""
    metadata = {}
    with_all = set()
    for file in files:
        if file.size >= 0 and file.name == _METADATA:
            metadata[file.folder] = file
        if file.size >= 0 and file.name == _FULL:
            with_all.add(file.folder)
    longest: dict[str, _File] = {}
    for file in files:
        in_short = file.folder in with_all and file.name != _FULL
        if file.size < 0 or in_short or not file.path.endswith(".jsonl"):
            continue
        name = _session_of(repo, file, metadata.get(file.folder))
        if name not in longest or file.size > longest[name].size:
            longest[name] = file
    return longest


def _session_of(repo: Repo, file: _File, metadata: _File | None) -> str:
    """The session of a file, as the metadata beside it say, else as its place."""
    if metadata:
        # they may be anybody's
        with suppress(ValueError, RecursionError, KeyError, TypeError):
            return str(json.loads(objects.data_of(repo, metadata.blob))["session_id"])
    return f"{file.ref}:{file.path}".removesuffix(".jsonl")
