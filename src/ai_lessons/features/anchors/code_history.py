"""What git's history says of the code in one folder: commits, renames, other branches.

Each question is asked once, for many files together, because starting git is what a look costs.
`code_folder` says what the code is now and what that means for an entry.
"""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING

from ai_lessons.errors import AiLessonsError
from ai_lessons.features.anchors import fingerprints
from ai_lessons.features.anchors.anchors import last_part
from ai_lessons.features.anchors.fingerprints import CodeVerdict, verdict_on
from ai_lessons.features.anchors.looks import file_stamp
from ai_lessons.git import plumbing
from ai_lessons.git.commits import changing, renamed_to, renames, with_folders

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from ai_lessons.features.anchors.anchors import Anchor
    from ai_lessons.features.anchors.fingerprints import State
    from ai_lessons.git.commits import ChangingCommit
    from ai_lessons.git.plumbing import Done
    from ai_lessons.git.worktree import Worktree

# Newest commits of a file whose texts are compared
_COMMITS = 60
# Commits of all branches whose new paths are read
_LONGEST = 5000

# The paths that commits brought, each commit behind a byte 1
_ADDED = (
    "--no-show-signature", "--no-renames", "--diff-filter=A", "--name-only", "--format=%x01", "-z",
    "-m", "--root",
)  # fmt: skip
# Whole words, with the names of the files that hold them
_WORDS = (
    "-o", "-z", "-w", "-F", "-I", "--untracked", "--no-color", "--no-recurse-submodules",
)  # fmt: skip


class CodeHistory:
    """The history of the code below `top`, as far as it was asked for."""

    def __init__(self, top: Path, worktree: Worktree) -> None:
        self._top, self._worktree = top, worktree
        # the newest commits by path
        self._commits: dict[str, list[ChangingCommit]] = {}
        # renames by commit; those of the disk since HEAD have no commit
        self._renames: dict[str, list[str]] = {}
        # the files that hold a word
        self._holding: dict[str, list[str]] = {}

    def git(self, *arguments: str) -> Done:
        """What git answers: nothing where it fails."""
        done = plumbing.run(self._worktree, *arguments)
        if done.code:
            return done._replace(out=b"")
        return done

    @cached_property
    def _ever(self) -> frozenset[str] | None:
        """Every path that a commit of any branch brought, with its folders.

        None: history is too long, or not here.
        """
        newest = f"-{_LONGEST}"
        done = plumbing.run(self._worktree, "log", newest, *_ADDED, "--all", "HEAD", "--")
        if done.code or done.out.count(b"\1") >= _LONGEST:
            # a longer history would cost each look seconds
            return None
        return frozenset(with_folders(name.strip("\1\n") for name in done.names))

    def never_was(self, path: str) -> bool:
        """Whether history knows nothing of a path that is not here, so it need not be asked more."""
        name = path.rstrip("/")
        if file_stamp(self._top / name) is not None or self._ever is None:
            return False
        return name not in self._ever

    def read_commits(self, paths: Iterable[str]) -> None:
        """Read the newest commits of HEAD that changed each of these, by one `git log` for all."""
        names = []
        for name in dict.fromkeys(path.rstrip("/") for path in paths):
            if name not in self._commits:
                names.append(name)
        if not names:
            return
        commits = changing(self._worktree, names, _COMMITS * len(names))
        for name in names:
            self._commits[name] = []
        for commit in commits:
            for name in with_folders(commit.paths).intersection(names):
                self._commits[name].append(commit)
        log_is_full = len(commits) == _COMMITS * len(names)
        if not log_is_full or len(names) == 1:
            return
        for name in names:
            if not self._commits[name]:
                # other paths changed so often that the log had no room for these
                del self._commits[name]
                self.read_commits([name])

    def _commits_to(self, *paths: str) -> list[ChangingCommit]:
        """The newest commits to any of these, newest first."""
        self.read_commits(paths)
        if len(paths) == 1:
            # git's own order: commits of one second would change places
            return self._commits[paths[0].rstrip("/")][:_COMMITS]
        commits: dict[str, ChangingCommit] = {}
        for path in paths:
            for commit in self._commits[path.rstrip("/")]:
                commits[commit.id] = commit
        return sorted(commits.values(), key=lambda commit: -commit.time)[:_COMMITS]

    def holding(self, word: str) -> list[str]:
        """The files that hold a word, in their order."""
        self.read_holding({word})
        return self._holding[word]

    def read_holding(self, words: set[str]) -> None:
        """Read which files hold these words, for all of them at once."""
        unread = sorted(words - self._holding.keys())
        if not unread:
            return
        patterns: list[str] = []
        for word in unread:
            patterns += ["-e", word]
            self._holding[word] = []
        # a file that holds a word twice has two equal lines
        for line in dict.fromkeys(self.git("grep", *_WORDS, *patterns).out.splitlines()):
            path, _, word = os.fsdecode(line).partition("\0")
            if word in unread:
                self._holding[word].append(path)

    def read_renames(self, paths: Iterable[str]) -> None:
        """Read what the newest commits of these renamed, and what the disk did since, at once."""
        newest_commits = {""}
        for path in paths:
            commits = self._commits_to(path)
            if commits:
                newest_commits.add(commits[0].id)
        unread = newest_commits - self._renames.keys()
        if unread:
            self._renames |= renames(self._worktree, unread)

    def renamed(self, path: str) -> str | None:
        """The path that a file or folder has by now, as git's similarity says.

        None: it was removed.
        """
        for _ in range(5):
            # a file that was renamed more often is not followed: each step asks git
            self.read_renames([path])
            newer = renamed_to(path, self._renames[""])
            commits = self._commits_to(path)
            if newer is None and commits:
                newer = renamed_to(path, self._renames.get(commits[0].id, []))
            if newer is None:
                return None
            path = newer
            if file_stamp(self._top / path.rstrip("/")):
                return path
        return None

    def is_on_another_branch(self, anchor: Anchor) -> bool:
        """Whether commits that HEAD does not have brought it.

        This branch is only older, or another one.
        """
        path = anchor.path.rstrip("/")
        if path not in self._on_other_branches:
            return False
        named = []
        if anchor.symbol:
            named.append(f"-S{last_part(anchor.symbol)}")
        flags = ("-1", "--format=%H", *named, "--all", "--not", "HEAD")
        return bool(self.git("log", *flags, "--", path).text)

    @cached_property
    def _on_other_branches(self) -> set[str]:
        """What commits that HEAD does not have changed of the paths whose history was read."""
        flags = ("--format=", "--name-only", "--no-renames", "-z", "--all", "--not", "HEAD")
        return with_folders(self.git("log", *flags, "--", *self._commits).names)

    def since(
        self, anchor: Anchor, place: Anchor | None, now: State | None
    ) -> tuple[ChangingCommit | None, int]:
        """The commit since which the anchor does not hold, and how many changed it since.

        None for a change that is not committed.
        """
        paths = [anchor.path.rstrip("/")]
        if place:
            paths.insert(0, place.path.rstrip("/"))
        commits = self._commits_to(*paths)
        later, latest, changes, seen = None, now, 0, 0
        for commit, then in zip(commits, self._states(commits, paths, anchor.symbol), strict=False):
            if later is not None and _means_another(then, latest):
                changes += 1
            is_on_the_disk_alone = later is None and _means_another(then, now)
            if is_on_the_disk_alone or verdict_on(anchor, then) is CodeVerdict.HOLDS:
                return later, changes
            later, latest, seen = commit, then, seen + 1
        if seen < len(commits) or not commits or not now:
            # a partial clone lacks what was before
            return None, changes
        # it was never committed as the anchor has it: all that is known is the last change of what
        # is there
        return commits[0], changes

    def _states(
        self, commits: Sequence[ChangingCommit], paths: Sequence[str], symbol: str
    ) -> Iterator[State | None]:
        """How each commit has the symbol, in the first of these paths that it has.

        Ends before a commit whose files are not here.
        """
        for commit in commits:
            asked = []
            for path in paths:
                asked.append(f"{commit.id}:{path}")
            try:
                objects = plumbing.objects(self._worktree, asked, contents=bool(symbol))
            except AiLessonsError:
                return
            state = None
            for path, (row, data) in zip(paths, objects, strict=True):
                if row[-1].isdigit():
                    text = data.decode("utf-8", "replace").replace("\r\n", "\n")
                    state = fingerprints.state(path, text, symbol)
                    break
            yield state


def _means_another(before: State | None, after: State | None) -> bool:
    """Whether a symbol means another thing, whatever its comments and docstrings say."""
    if before is None or after is None:
        return before is not after
    return (before.fingerprint, before.value) != (after.fingerprint, after.value)
