"""Files that travel with git below a ref of their own.

On no branch, and without a history of what they were.

The ref names a commit without parents, whose tree holds the files. It is replaced as a whole, by
compare-and-swap.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from dulwich.object_store import iter_tree_contents
from dulwich.objects import ObjectID, Tree

from ai_lessons.git import plumbing
from ai_lessons.git.objects import DAMAGED, PLAIN, Draft, opened
from ai_lessons.git.worktree import has_refs, read_ref

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ai_lessons.git.worktree import Worktree

_THERE: Final = "refs/ai-lessons/vectors"
_HERE: Final = "refs/ai-lessons/remotes"
_NAME: Final = "packs"
# The same files are the same commit, whoever shares them: nothing is told of the person.
_AUTHOR: Final = ("ai-lessons <ai-lessons@localhost>", 0, 0)

# Of a list of files that is read: some thousand
TREE_BYTES: Final = 64 << 10


class SideFile(NamedTuple):
    """A file: the id of its blob, and its size in bytes.

    The size is -1 where it is not here, as in a partial clone.
    """

    name: str
    blob: str
    size: int


class SideFiles(NamedTuple):
    """What lies there. `commit` None: nothing. `fault` says why it cannot be read."""

    commit: str | None = None
    files: tuple[SideFile, ...] = ()
    fault: str = ""


def remote_ref(family: str) -> str:
    """The ref of these files on a remote."""
    return f"{_THERE}/{family}/{_NAME}"


def local_ref(remote: str, family: str) -> str:
    """The ref of the files of a remote as of the last fetch."""
    return f"{_HERE}/{remote}/{family}/{_NAME}"


def refspec(remote: str, family: str) -> str:
    """What to fetch beside the branches. A pattern: where the remote has none, git says nothing."""
    return f"+{_THERE}/{family}/*:{_HERE}/{remote}/{family}/*"


def tips(worktree: Worktree, family: str) -> dict[str, str]:
    """The commits as of the last fetch, by remote. Starts no process.

    Raises UnsupportedRepository: a damaged ref.
    """
    if not has_refs(worktree, f"{_HERE}/"):
        return {}
    end = f"/{family}/{_NAME}"
    common = worktree.common_dir
    names = set()
    for file in (common / _HERE).glob(f"**{end}"):
        names.add(file.relative_to(common).as_posix())
    with suppress(FileNotFoundError):
        lines = (common / "packed-refs").read_text(errors="surrogateescape").splitlines()
        names |= {
            line[41:] for line in lines if line[41:].startswith(f"{_HERE}/") and line.endswith(end)
        }
    refs = {}
    for name in sorted(names):
        refs[name.removeprefix(f"{_HERE}/").removesuffix(end)] = read_ref(worktree, name)
    tips: dict[str, str] = {}
    for remote, commit in refs.items():
        if commit:
            tips[remote] = commit
    return tips


def listed(worktree: Worktree, remote: str, family: str) -> SideFiles:
    """The files of a remote as of the last fetch. Raises UnsupportedRepository: git ended."""
    commit = read_ref(worktree, local_ref(remote, family))
    if commit is None:
        return SideFiles()
    (row, _), *_ = plumbing.objects(worktree, [f"{commit}^{{tree}}"], contents=False)
    if len(row) != 3 or row[1] != b"tree" or int(row[2]) > TREE_BYTES:
        return SideFiles(commit, fault=f"{local_ref(remote, family)} is no list of files")
    (_, data), *_ = plumbing.objects(worktree, [row[0].decode()], contents=True)
    try:
        rows = list(Tree.from_string(data).iteritems())
    except DAMAGED:
        return SideFiles(commit, fault=f"{local_ref(remote, family)} is a damaged list of files")
    names = []
    for entry in rows:
        if entry.mode == PLAIN and entry.path.isascii():
            names.append((entry.path, entry.sha.decode()))
    sizes = plumbing.objects(worktree, [blob for _, blob in names], contents=False)
    files = (
        SideFile(path.decode(), blob, int(size[2]) if len(size) == 3 and size[1] == b"blob" else -1)
        for (path, blob), (size, _) in zip(names, sizes, strict=True)
    )
    return SideFiles(commit, tuple(files))


def contents(worktree: Worktree, blobs: Sequence[str]) -> Iterator[bytes]:
    """The bytes of blobs, read one after the other.

    Raises UnsupportedRepository: one is missing or damaged.
    """
    for blob in blobs:
        (_, data), *_ = plumbing.objects(worktree, [blob], contents=True)
        yield data


def files_at(worktree: Worktree, commit: str) -> dict[str, str]:
    """The blobs of all files of a commit, by path from the top. Starts no process.

    Raises UnsupportedRepository.
    """
    with opened(worktree) as repo:
        tree = Draft(repo).tree_of(commit)
        entries = list(iter_tree_contents(repo.object_store, tree))
    blobs: dict[str, str] = {}
    for entry in entries:
        if entry.path and entry.sha:
            blobs[os.fsdecode(entry.path)] = entry.sha.decode()
    return blobs


def commit_of(
    worktree: Worktree, kept: Mapping[str, str], new: Mapping[str, bytes], message: str
) -> str:
    """A commit of these files, by name with the blob of each, and of new ones; its id.

    Raises StorageFailed.
    """
    with opened(worktree) as repo:
        draft = Draft(repo)
        blobs = {}
        for name, blob in kept.items():
            blobs[name.encode()] = (PLAIN, ObjectID(blob.encode()))
        blobs |= {name.encode(): (PLAIN, draft.blob(data)) for name, data in new.items()}
        tree = draft.edit(None, blobs)
        commit = draft.commit(tree, (), message, author=_AUTHOR, committer=_AUTHOR)
        draft.save()
    return commit.decode()
