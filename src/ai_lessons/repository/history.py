"""The past of files, asked of git: who changed them when, what they said then, what differs. Writes nothing."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ai_lessons.errors import NotFound
from ai_lessons.repository import files, git
from ai_lessons.repository.worktree import read_head

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ai_lessons.repository.worktree import Worktree

# no message can hold the two NUL that every record begins with, so no message can pass for a record
_FORMAT = "%x01%H%x00%x01%x00%an%x00%ae%x00%aI%x00%B%x00"
_RECORD = re.compile("\x01([0-9a-f]{40})\0\x01\0")
LITERAL = {"GIT_LITERAL_PATHSPECS": "1"}  # a file may be called `*.md` or `:(top)x.md`
_TRAILER = re.compile(r"([A-Za-z][A-Za-z0-9-]*): (.+)")


@dataclass(frozen=True, slots=True)
class Revision:
    """One commit that touched a file. `when` is ISO 8601 with offset; `path` is the file's name in that commit."""

    commit: str
    author: str
    email: str
    when: str
    subject: str
    path: str
    trailers: tuple[tuple[str, str], ...] = ()


class History:
    """The past of one knowledge repository. Paths are relative to its root, today's and yesterday's alike."""

    def __init__(self, worktree: Worktree) -> None:
        self._worktree = worktree

    def log(self, path: str, limit: int | None = None) -> tuple[Revision, ...]:
        """The commits that touched a file, newest first, through renames; empty if there is none."""
        files.inside(path)
        if read_head(self._worktree).commit is None:
            return ()
        count = [] if limit is None else [f"--max-count={limit}"]
        flags = ["--follow", f"--format={_FORMAT}", "--name-status", "-z", "--no-color", "--no-ext-diff", *count]
        done = git.run(self._worktree.root, "log", *flags, "--", path, extra=LITERAL)
        return () if done.code else tuple(self._revisions(done.out))

    def resolve(self, rev: str) -> str:
        """The full id of a commit.

        Raises:
            NotFound: nothing, or nothing unambiguous, of that name.
        """
        done = git.run(self._worktree.top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{rev}^{{commit}}")
        if done.code:
            raise NotFound("revision", rev)
        return done.text

    def text_at(self, rev: str, path: str) -> bytes:
        """The file as it was in a commit, as git stores it (line endings and filters not applied).

        Raises:
            NotFound: no such revision, or no such file in it.
        """
        files.inside(path)
        commit = self.resolve(rev)
        # a partial clone fetches what is missing: only git can
        done = git.run(self._worktree.top, "cat-file", "blob", f"{commit}:{self._worktree.prefix}{path}")
        if done.code:
            raise NotFound(f"file in {rev}", path)
        return done.out

    def diff(self, path: str, rev: str = "HEAD", other: str | None = None) -> str:
        """A unified diff of the file from `rev` to `other` (None: as it is on disk); empty if they are the same.

        A side on which there is no file counts as empty. Renames are not followed: `log` tells the older name.
        """
        before, after = self._side(rev, path), self._on_disk(path) if other is None else self._side(other, path)
        return unified(path, before, after)

    def dirty(self, path: str) -> bool:
        """True if the file on disk is not what HEAD holds, as git judges it."""
        files.inside(path)
        flags = ("--porcelain", "-z", "-uall", "--ignored")
        return bool(git.run(self._worktree.root, "status", *flags, "--", path, extra=LITERAL).out)

    def _side(self, rev: str, path: str) -> bytes | None:
        try:
            return self.text_at(rev, path)
        except NotFound as error:
            if error.what == "revision":
                raise
            return None

    def _on_disk(self, path: str) -> bytes | None:
        try:
            return files.read_file(self._worktree.root, path)[0]
        except NotFound:
            return None

    def _revisions(self, out: bytes) -> Iterator[Revision]:
        _, *parts = _RECORD.split(out.decode(errors="surrogateescape"))
        for commit, rest in zip(parts[::2], parts[1::2], strict=True):
            author, email, when, message, *change = rest.split("\0")
            status, *names = [one.lstrip("\n") for one in change if one.strip("\n")] or [""]
            name = names[-1] if names else ""  # --follow shows the one name that it follows
            yield _revision(commit, author, email, when, message, name.removeprefix(self._worktree.prefix))
            if status.startswith("C"):  # --follow goes on with whatever was like it when it came: that is not its past
                break


def unified(path: str, before: bytes | None, after: bytes | None) -> str:
    """A unified diff as git writes it, three lines of context; None is no file, and what is no UTF-8 is replaced."""
    old, new = _lines(before), _lines(after)
    names = ("/dev/null" if before is None else f"a/{path}", "/dev/null" if after is None else f"b/{path}")
    lines = difflib.unified_diff(old, new, *names)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _lines(data: bytes | None) -> list[str]:
    return (data or b"").decode(errors="replace").splitlines(keepends=True)


def _revision(commit: str, author: str, email: str, when: str, message: str, path: str) -> Revision:
    subject = message.strip().partition("\n")[0]
    return Revision(commit, author, email, when, subject, path, trailers_of(message))


def trailers_of(message: str) -> tuple[tuple[str, str], ...]:
    """The `Key: value` lines of a message's last paragraph, if that is all it holds and not the subject."""
    paragraphs = message.strip().split("\n\n")
    found = [_TRAILER.fullmatch(line) for line in paragraphs[-1].splitlines()] if len(paragraphs) > 1 else []
    return tuple((match[1], match[2]) for match in found if match) if all(found) else ()
