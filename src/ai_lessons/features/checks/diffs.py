"""What git says of a difference between commits, or between a commit and the files."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.errors import NotFound
from ai_lessons.git import plumbing
from ai_lessons.model import expression

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ai_lessons.git.worktree import Worktree

# as git itself is set, whatever the settings here are
DIFF = ("--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules=none")
RENAMES = ("-M", "-l1000")
LINES = (
    "--submodule=diff",
    "--unified=0",
    "--inter-hunk-context=0",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--diff-filter=d",
)
_HUNK = expression(rb"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_BINARY = expression(rb'(?m)^Binary files .* and ("?b/(?:(?! and "?b/).)*) differ$')


def commit_of(git: Worktree, rev: str) -> str:
    """The id of a commit. Raises NotFound."""
    wanted_commit = f"{rev}^{{commit}}"
    done = plumbing.run(git, "rev-parse", "--verify", "--quiet", "--end-of-options", wanted_commit)
    if done.code:
        hint = "in a shallow clone its history is missing: fetch it (fetch-depth: 0)"
        raise NotFound("commit", rev, hint=hint)
    return done.text


class Hunk(NamedTuple):
    """Lines that were replaced in a file, from line `start` of the new text on."""

    path: str
    start: int
    old: list[str]
    new: list[str]


def between(git: Worktree, before: str, after: str) -> list[Hunk]:
    """The parts of the difference of two commits, without files that are gone."""
    done = plumbing.run(git, "diff", *DIFF, *LINES, "--no-renames", before, after)
    return list(hunks(done.out))


def hunks(diff: bytes) -> Iterator[Hunk]:
    """The parts of a diff without context, made with the flags `LINES`."""
    name, hunk = "", Hunk("", 0, [], [])
    # lines that the part still has
    old, new = 0, 0
    for row in diff.split(b"\n"):
        if old + new and not row.startswith(b"\\"):
            text = row[1:].decode("utf-8", "replace")
            if row.startswith(b"-"):
                hunk.old.append(text)
                old -= 1
            else:
                hunk.new.append(text)
                new -= 1
            if not old + new:
                yield hunk
        elif row.startswith(b"+++ "):
            name = _path_of(row[4:].rstrip(b"\t"))
        elif match := _HUNK.match(row):
            old, new = _count(match[1]), _count(match[3])
            hunk = Hunk(name, int(match[2]), [], [])


def _count(stated: bytes | None) -> int:
    """How many lines a part has: git does not state 1."""
    return 1 if stated is None else int(stated)


def binaries(diff: bytes) -> set[str]:
    """The files of a diff that git takes for binary."""
    return {_path_of(name) for name in _BINARY.findall(diff)}


def _path_of(name: bytes) -> str:
    """A path as git writes it in a diff, behind `b/`."""
    if name.startswith(b'"'):
        # with escapes of C: octal bytes
        escaped = name[1:-1].decode("ascii", "replace").encode()
        name = escaped.decode("unicode_escape").encode("latin-1", "replace")
    return name.decode("utf-8", "surrogateescape").removeprefix("b/")
