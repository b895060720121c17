"""What git holds of a text: every object that is here, whichever branch, stash or reflog leads to it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, NamedTuple

from ai_lessons.errors import UnsupportedRepository
from ai_lessons.git import plumbing

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from ai_lessons.git.worktree import Worktree

# Seconds for a question about all of history
PATIENCE: Final = 3_600.0
# Bytes of an object that is looked into, and of those that are read together
LARGEST, TOGETHER = 64 << 20, 16 << 20
# What people name; other refs are named by programs
_NAMED: Final = ("refs/heads", "refs/remotes", "refs/tags")
# Names of objects on one command line
_NAMES: Final = 300


class GitObject(NamedTuple):
    """An object that is here; `size` in bytes."""

    id: str
    kind: str
    size: int


class History(NamedTuple):
    """Where objects of a repository stand.

    `paths`: from the top, of each blob that a ref leads to. `messages`: commits and tags whose
    words hold it. `refs` lead to any of these. `loose`: objects that only a reflog, the index or
    nothing leads to. `too_large`: objects that were not looked into.
    """

    paths: Mapping[str, tuple[str, ...]]
    messages: int = 0
    refs: tuple[str, ...] = ()
    loose: int = 0
    too_large: int = 0

    @property
    def files(self) -> tuple[str, ...]:
        """The paths, each once."""
        every: dict[str, None] = {}
        for paths in self.paths.values():
            every.update(dict.fromkeys(paths))
        return tuple(sorted(every))

    def without(self, files: Collection[str]) -> History:
        """The same but for what stood in these files alone."""
        paths = {}
        for blob, names in self.paths.items():
            left = tuple(name for name in names if name not in files)
            if left:
                paths[blob] = left
        return self._replace(paths=paths)

    @property
    def versions(self) -> int:
        """How many versions of files and messages refs lead to."""
        return len(self.paths) + self.messages


def objects_holding(
    worktree: Worktree, is_in: Callable[[bytes], bool], progress: Callable[[str, int, int], None]
) -> tuple[list[GitObject], int]:
    """The blobs, commits and tags that hold it, and how many were too large to be looked into.

    Raises UnsupportedRepository: an object is damaged.
    """
    every = _objects(worktree)
    fitting = [item for item in every if item.size <= LARGEST]
    holding, done = [], 0
    with plumbing.once():
        for part in _together(fitting):
            progress("Looking through history", done, len(fitting))
            names = [item.id for item in part]
            answers = plumbing.objects(worktree, names, contents=True)
            for item, (_, data) in zip(part, answers, strict=True):
                if is_in(data):
                    holding.append(item)
            done += len(part)
    progress("Looking through history", len(fitting), len(fitting))
    return holding, len(every) - len(fitting)


def _objects(worktree: Worktree) -> list[GitObject]:
    """All that git has here but lists of files, in the order of its packs."""
    rows = _asked(
        worktree,
        *("--no-replace-objects", "cat-file", "--batch-all-objects", "--unordered"),
        "--batch-check=%(objectname) %(objecttype) %(objectsize)",
    )
    objects = []
    for row in rows.splitlines():
        fields = row.decode("ascii").split()
        if len(fields) != 3:
            message = f"the history of {worktree.top} cannot be read: {row.decode('ascii')}"
            raise UnsupportedRepository(message, hint=plumbing.missing_hint(worktree))
        name, kind, size = fields
        if kind != "tree":
            objects.append(GitObject(name, kind, int(size)))
    return objects


def _together(objects: Sequence[GitObject]) -> Iterator[list[GitObject]]:
    """The objects in parts of a size that fits into memory."""
    part: list[GitObject] = []
    size = 0
    for item in objects:
        if part and size + item.size > TOGETHER:
            yield part
            part, size = [], 0
        part.append(item)
        size += item.size
    if part:
        yield part


def history_of(worktree: Worktree, objects: Sequence[GitObject], too_large: int = 0) -> History:
    """Where these objects stand. Raises UnsupportedRepository."""
    blobs = {item.id for item in objects if item.kind == "blob"}
    tags = {item.id for item in objects if item.kind == "tag"}
    commits = {item.id for item in objects if item.kind == "commit"}
    if commits:
        # those that a ref leads to
        commits &= set(_asked(worktree, "rev-list", "--all").decode("ascii").split())
    stands, brought = _stands(worktree, blobs)
    refs = dict.fromkeys(_leading_to(worktree, sorted(commits)))
    messages = len(commits)
    refs.update(dict.fromkeys(_leading_to(worktree, brought)))
    named = _named(worktree)
    for ref, name in named.items():
        if name in tags:
            refs[ref] = None
            messages += 1
    loose = len(objects) - len(stands) - messages
    return History(stands, messages, tuple(sorted(refs)), loose, too_large)


def _stands(
    worktree: Worktree, blobs: set[str]
) -> tuple[dict[str, tuple[str, ...]], tuple[str, ...]]:
    """The paths of the blobs that a ref leads to, and the commits that brought these."""
    paths: dict[str, dict[str, None]] = {}
    brought: dict[str, None] = {}
    for names in _parts(sorted(blobs)):
        log = _asked(
            worktree,
            *("log", "--all", "-m", "--raw", "--no-abbrev", "--no-renames", "-z", "--format=%H"),
            *(f"--find-object={name}" for name in names),
        )
        for commit, blob, path in _brought(log):
            if blob in blobs:
                paths.setdefault(blob, {})[path] = None
                brought[commit] = None
    return {blob: tuple(names) for blob, names in paths.items()}, tuple(brought)


def _brought(log: bytes) -> Iterator[tuple[str, str, str]]:
    """Commit, new blob and path of each change in a raw log whose fields end in a zero byte."""
    commit, blob = "", ""
    for field in log.split(b"\0"):
        text = field.lstrip(b"\n")
        if blob:
            yield commit, blob, os.fsdecode(text)
            blob = ""
        elif text.startswith(b":"):
            # of a removal the new blob is zero, so that it is none of those that are looked for
            blob = text.split(b" ")[3].decode("ascii")
        elif text:
            commit = text.decode("ascii")


def _leading_to(worktree: Worktree, commits: Sequence[str]) -> tuple[str, ...]:
    """The refs whose history has any of these commits."""
    refs: dict[str, None] = {}
    for names in _parts(commits):
        out = _asked(
            worktree,
            "for-each-ref",
            "--format=%(refname)",
            *(f"--contains={name}" for name in names),
        )
        refs.update(dict.fromkeys(os.fsdecode(out).splitlines()))
    if commits and not refs and any(plumbing.is_ancestor(worktree, x, "HEAD") for x in commits):
        # checked out, and on no branch
        refs["HEAD"] = None
    return tuple(refs)


def _named(worktree: Worktree) -> dict[str, str]:
    """What each ref of a tag names."""
    names = {}
    out = _asked(worktree, "for-each-ref", "--format=%(objectname) %(refname)", "refs/tags")
    for row in os.fsdecode(out).splitlines():
        name, _, ref = row.partition(" ")
        names[ref] = name
    return names


def _parts(names: Sequence[str]) -> Iterator[Sequence[str]]:
    return (names[start : start + _NAMES] for start in range(0, len(names), _NAMES))


def refs_named(worktree: Worktree, words: Sequence[str]) -> tuple[str, ...]:
    """The branches and tags whose names hold one of these words."""
    refs = _asked(worktree, "for-each-ref", "--format=%(refname)", *_NAMED)
    return _holding_a_word(os.fsdecode(refs).splitlines(), words)


def files_named(worktree: Worktree, words: Sequence[str]) -> tuple[str, ...]:
    """The paths in any commit that a ref leads to that hold one of these words."""
    log = ("log", "--all", "-m", "--no-renames", "--name-only", "-z", "--format=")
    names = _asked(worktree, *log).split(b"\0")
    return _holding_a_word(sorted({os.fsdecode(name.lstrip(b"\n")) for name in names}), words)


def _holding_a_word(names: Iterable[str], words: Sequence[str]) -> tuple[str, ...]:
    holding = []
    for name in names:
        if any(word in name for word in words):
            holding.append(name)
    return tuple(holding)


def files_holding(worktree: Worktree, needles: Sequence[bytes], folder: str = "") -> list[str]:
    """The files of the worktree below a folder that hold it now, from its top; not those ignored.

    Raises UnsupportedRepository.
    """
    lines = b"\n".join(needle for needle in needles if needle)
    done = plumbing.run(
        worktree,
        *("grep", "-z", "-l", "-a", "-F", "--untracked", "-f", "/dev/stdin", "--", folder or "."),
        cwd=worktree.top,
        stdin=lines,
        timeout=PATIENCE,
    )
    # 1: nothing was found
    if done.code not in {0, 1}:
        raise UnsupportedRepository(f"git grep in {worktree.top}: {done.err.strip()[:300]}")
    return done.names


def _asked(worktree: Worktree, *arguments: str) -> bytes:
    done = plumbing.run(worktree, *arguments, timeout=PATIENCE)
    if done.code:
        message = f"the history of {worktree.top} cannot be read: {done.err.strip()[:300]}"
        raise UnsupportedRepository(message, hint=plumbing.missing_hint(worktree))
    return done.out
