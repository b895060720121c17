"""The history of files: commits that touched them, their texts at a commit, diffs."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.errors import (
    NotFound,
)
from ai_lessons.git import files, plumbing
from ai_lessons.git.objects import data_of, opened
from ai_lessons.git.worktree import Worktree, read_head
from ai_lessons.model import expression
from ai_lessons.model.approval import trailers

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence


# no message can hold the two NUL that every record begins with, so no message can pass for a record
_FORMAT = "%x01%H%x00%x01%x00%an%x00%ae%x00%aI%x00%B%x00"
_RECORD = expression("\x01([0-9a-f]{40})\0\x01\0")
# What settings of git's log could change about its output.
FIXED = (
    "--no-show-signature",
    "--no-mailmap",
    "--no-notes",
    "--no-color",
    "--no-ext-diff",
    "--no-relative",
)


_WHO = "--format=%x01%H%x00%x01%x00%an%x00%ae%x00%cn%x00%ce%x00%B%x00"


class FileRevision(NamedTuple):
    """One commit that touched a file.

    `when` is ISO 8601 with offset; `path` is the file's name in that commit.
    """

    commit: str
    author: str
    email: str
    when: str
    subject: str
    path: str
    trailers: Mapping[str, str]


class Introduced(NamedTuple):
    """A commit, no merge, and its files (path, blob before, after, None for none).

    `agent` is what a trailer says.
    """

    who: str
    author: str
    committer: str
    agent: str
    files: tuple[tuple[str, str | None, str | None], ...]


class History:
    """The past of one knowledge repository.

    Paths are relative to its root, today's and yesterday's alike.
    """

    def __init__(self, worktree: Worktree) -> None:
        self._worktree = worktree

    def log(self, path: str, limit: int | None = None) -> tuple[FileRevision, ...]:
        """The commits that touched a file, newest first, through renames.

        Empty if there is none.
        """
        files.inside(path)
        if read_head(self._worktree).commit is None:
            return ()
        if limit is None:
            count = []
        else:
            count = [f"--max-count={limit}"]
        flags = ["--follow", f"--format={_FORMAT}", "--name-status", "-z", *FIXED, *count]
        done = plumbing.run(self._worktree, "log", *flags, "--", path, cwd=self._worktree.root)
        revisions = []
        for commit, (author, email, when, message, *change) in (
            _records(done.out, 4) if not done.code else ()
        ):
            # --follow shows the one name that it follows
            if change[1:]:
                name = change[-1]
            else:
                name = ""
            subject, past_path = (
                message.strip().partition("\n")[0],
                name.removeprefix(self._worktree.prefix),
            )
            revisions.append(
                FileRevision(
                    commit, author, email, when, subject, past_path, dict(trailers(message))
                )
            )
            if change and change[0].startswith("C"):
                # --follow goes on with the file it was copied from
                break
        return tuple(revisions)

    def resolve(self, rev: str) -> str:
        """The full id of a commit.

        Raises NotFound: nothing, or nothing unambiguous, of that name.
        """
        done = plumbing.run(
            self._worktree,
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            f"{rev}^{{commit}}",
        )
        if done.code:
            raise NotFound("revision", rev, hint="ai-lessons recall log ID names those of an entry")
        return done.text

    def text_at(self, rev: str, path: str) -> bytes:
        """The file as a commit has it, as git stores it.

        Raises NotFound: no such revision, no such file, not here.
        """
        files.inside(path)
        commit = self.resolve(rev)
        done = plumbing.run(
            self._worktree, "cat-file", "blob", f"{commit}:{self._worktree.prefix}{path}"
        )
        if done.code:
            here = "ai-lessons recall log ID names the commits that have it"
            if "promisor remote" in done.err:
                hint = plumbing.missing_hint(self._worktree)
            else:
                hint = here
            raise NotFound(f"file in {rev}", path, hint=hint)
        return done.out

    def diff(self, path: str, rev: str = "HEAD") -> str:
        """A unified diff of the file (none counts as empty) from `rev` to the disk.

        Renames are not followed.
        """
        before = after = None
        try:
            before = self.text_at(rev, path)
        except NotFound as error:
            if error.what == "revision":
                raise
        with suppress(NotFound):
            after = files.read_file(self._worktree.root, path)[0]
        return unified(path, before, after)

    def dirty(self, path: str) -> bool:
        """True if the file on disk is not what HEAD holds, as git judges it."""
        files.inside(path)
        flags = ("--porcelain", "-z", "-uall", "--ignored")
        done = plumbing.run(self._worktree, "status", *flags, "--", path, cwd=self._worktree.root)
        return bool(done.out)

    def introduced(self, paths: Collection[str]) -> Iterator[Introduced]:
        """Every commit of any branch here that changed one of these files, children first.

        Without files: every commit.
        """
        prefix = self._worktree.prefix
        places = [prefix + path for path in paths] or [prefix or "."]
        # no setting of the user's decides what counts, nor a branch of the repository that is
        # called like an option
        flags = [
            "--topo-order",
            "--full-history",
            "--full-diff",
            "--raw",
            "-z",
            "--no-abbrev",
            "--no-renames",
        ]
        flags += [
            "--diff-merges=off",
            "--no-mailmap",
            "--no-show-signature",
            "--no-color",
            "--no-ext-diff",
            _WHO,
        ]
        command = ("--no-replace-objects", "log", *flags, "--all", *self._heads())
        done = plumbing.run(self._worktree, *command, "--", *places)
        if done.code:
            return
        edge = self._worktree.common_dir / "shallow"
        if edge.exists():
            unknown = frozenset(edge.read_text().split())
        else:
            unknown = frozenset()
        for commit, (author, email, name, committer, message, *rows) in _records(done.out, 5):
            if commit not in unknown:
                agents = re.findall(r"(?mi)^agent:[ \t]*(.*)$", message)
                if committer != email:
                    by = f", committed by {name} <{committer}>"
                else:
                    by = ""
                changes = tuple(self._changes(rows))
                yield Introduced(
                    f"{author} <{email}>{by}", email, committer, ", ".join(agents), changes
                )

    def _heads(self) -> list[str]:
        """HEAD, and what a merge or a fetch is about to bring, as far as they exist."""
        commits = []
        for name in ("HEAD", "MERGE_HEAD", "FETCH_HEAD", "CHERRY_PICK_HEAD"):
            if (self._worktree.git_dir / name).exists():
                with suppress(NotFound):
                    commits.append(self.resolve(name))
        return commits

    def _changes(self, rows: Sequence[str]) -> Iterator[tuple[str, str | None, str | None]]:
        for modes_and_blobs, path in zip(rows[::2], rows[1::2], strict=False):
            _, _, before, after, _ = modes_and_blobs.split(" ")
            if path.startswith(self._worktree.prefix):
                inside = path.removeprefix(self._worktree.prefix)
                yield (
                    inside,
                    before if before.strip("0") else None,
                    after if after.strip("0") else None,
                )

    def in_head(self, paths: Iterable[str]) -> dict[str, str]:
        """The blobs that HEAD has at these paths, by path.

        Where it has none the path is left out.
        """
        blobs, prefix = plumbing.files_of(self._worktree, "HEAD"), self._worktree.prefix
        in_head: dict[str, str] = {}
        for path in paths:
            if prefix + path in blobs:
                in_head[path] = blobs[prefix + path]
        return in_head

    def first(self, paths: Collection[str]) -> list[str]:
        """Those of these files that HEAD has, the first that came to its line of first parents first."""
        here, prefix = self.in_head(paths), self._worktree.prefix
        flags = (
            "--first-parent",
            "-m",
            "--diff-filter=A",
            "--no-renames",
            "--reverse",
            "--format=",
            "--name-only",
            "-z",
        )
        done = None
        if here:
            done = plumbing.run(
                self._worktree, "log", *flags, *FIXED, "--", *(prefix + path for path in here)
            )
        if done:
            came = [name.removeprefix(prefix) for name in done.names]
        else:
            came = []
        return [*dict.fromkeys([*(path for path in came if path in here), *sorted(here)])]

    def blob(self, name: str) -> bytes:
        """What a blob holds; nothing where it is missing here."""
        with opened(self._worktree) as repo, suppress(KeyError):
            return data_of(repo, name)
        return b""

    def unshared(self, remote: str, accepts: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
        """(path, content) of versions of accepted files that no remote has, as far as known.

        No too large ones.
        """
        done = plumbing.run(
            self._worktree, "rev-list", "--objects", "HEAD", "--not", f"--remotes={remote}"
        )
        prefix = self._worktree.prefix
        for line in done.out.splitlines() if not done.code else ():
            blob, _, name = line.partition(b" ")
            path = os.fsdecode(name).removeprefix(prefix)
            if name.startswith(os.fsencode(prefix)) and accepts(path):
                data = self.blob(blob.decode())
                if len(data) <= files.READ_LIMIT:
                    yield path, data


def _records(out: bytes, fields: int) -> Iterator[tuple[str, list[str]]]:
    """Each commit of a log with so many fields, then what `--raw` or `--name-status` say of its files."""
    _, *parts = _RECORD.split(out.decode(errors="surrogateescape"))
    for commit, record in zip(parts[::2], parts[1::2], strict=True):
        values = record.split("\0")
        yield (
            commit,
            values[:fields]
            + [value.lstrip("\n") for value in values[fields:] if value.strip("\n")],
        )


def unified(
    path: str, before: bytes | None, after: bytes | None, names: tuple[str, str] | None = None
) -> str:
    """A unified diff as git writes it, three lines of context.

    None is no file, and what is no UTF-8 is replaced.
    """
    # most jobs show no difference
    from ai_lessons.model.merge import LineMatcher

    old, new = (
        (data or b"").decode(errors="replace").splitlines(keepends=True) for data in (before, after)
    )
    sides = (
        "/dev/null" if before is None else f"a/{path}",
        "/dev/null" if after is None else f"b/{path}",
    )
    groups = list(LineMatcher(old, new).get_grouped_opcodes(3))
    lines = []
    for mark, name in zip(("---", "+++"), names or sides, strict=True):
        if groups:
            lines.append(f"{mark} {name}\n")
    for group in groups:
        (_, old_start, _, new_start, _), (_, _, old_end, _, new_end) = group[0], group[-1]
        lines.append(f"@@ -{_range(old_start, old_end)} +{_range(new_start, new_end)} @@\n")
        for tag, start, end, new_from, new_to in group:
            lines += [f"{' ' if tag == 'equal' else '-'}{line}" for line in old[start:end]]
            lines += [f"+{line}" for line in new[new_from:new_to] if tag != "equal"]
    ended = []
    for line in lines:
        if line.endswith("\n"):
            ended.append(line)
        else:
            ended.append(f"{line}\n\\ No newline at end of file\n")
    return "".join(ended)


def _range(start: int, end: int) -> str:
    """Lines from 0, end exclusive, as a diff has them.

    An empty range stands behind the line before it.
    """
    return f"{start + (end > start)}" + (f",{end - start}" if end - start != 1 else "")
