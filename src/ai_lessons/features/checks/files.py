"""The files of a project that checks look at: which, which of their lines, and what cannot be looked at.

Nothing of the files is run, and no link leads out of the project.
"""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cached_property
from hashlib import sha1
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.errors import AiLessonsError, NotFound, UsageError
from ai_lessons.features.checks import diffs
from ai_lessons.features.checks.reading import LARGEST, new_lines
from ai_lessons.git import external_files, plumbing, worktree
from ai_lessons.model import layout
from ai_lessons.model.texts import text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from ai_lessons.app.workspace import Reading
    from ai_lessons.git.plumbing import Done

# The mode of a submodule
_MODULE = "160000"


class _Change(NamedTuple):
    """A file that differs from what it was at `path`, with the content `blob`.

    `mode` is its own now.
    """

    path: str
    blob: str
    mode: str = ""


class _Row(NamedTuple):
    """A file that changed, as git lists it: `letter` says how."""

    letter: str
    old: str
    new: str
    blob: str
    mode: str


class ProjectFiles:
    """The files of a project around a folder.

    None that git ignores, none of the entries that hold the rules.

    `since`: only what changed since this commit, or since the branch left it; empty: everything.
    """

    def __init__(self, repo: Reading, top: Path, below: Sequence[str], since: str) -> None:
        """Raises NotFound: no such commit. UsageError: there is no git that knows of any."""
        self._top, self._since = top, since
        self._below = [path.rstrip("/") for path in below]
        self._entries = [place.store.root for place in repo.every]
        self._git = worktree.locate(top) if external_files.top_of(top) is not None else None
        self._hunks: list[diffs.Hunk] = []
        # What cannot be looked at, whatever rule looks, and why
        self.unseen: dict[str, str] = {}
        if since:
            self._read_changes(since)

    def _read_changes(self, since: str) -> None:
        if self._git is None:
            raise UsageError(
                f"{self._top} is no git repository, so that nothing is known since {since}"
            )
        commit = diffs.commit_of(self._git, since)
        left = plumbing.run(self._git, "merge-base", commit, "HEAD")
        self._base = commit if left.code else left.text
        done = self._ask("diff", *diffs.DIFF, *diffs.LINES, *diffs.RENAMES, self._base, "--")
        self._hunks = [hunk for hunk in diffs.hunks(done.out) if self.is_below(hunk.path)]
        self._opaque = diffs.binaries(done.out)

    @cached_property
    def names(self) -> list[str]:
        """The files to look at, relative to the top; notes in `unseen` what of them cannot be."""
        if self._git is None:
            names = self._in_folders()
        elif self._since:
            names = self._changed_names() | self._untracked
        else:
            names = self._tracked() | self._untracked
        return sorted(name for name in names if self._is_code(name) and self.is_below(name))

    def lines(self, path: str, text: str) -> frozenset[float] | None:
        """The lines of a file to look at, as `new_lines` has them; None: all of them."""
        if not self._since:
            return None
        if path in self._lines:
            return self._lines[path]
        change = self._change_of(path)
        before = self._blob(change.blob) if change else None
        if before is None:
            return None
        return new_lines(before, text)

    def path_before(self, path: str) -> str:
        """Where a file that changed was before, if that was elsewhere."""
        if not self._since:
            return ""
        change = self._change_of(path)
        if change is None or change.path == path:
            return ""
        return change.path

    def touched(self) -> dict[str, set[int]]:
        """Each file that changed with its new lines, and those beside removed ones.

        None of a file that is gone.
        """
        numbers: dict[str, set[int]] = {}
        for hunk in self._hunks:
            end = hunk.start + (len(hunk.new) or 2)
            numbers.setdefault(hunk.path, set()).update(range(max(hunk.start, 1), end))
        for path in self._gone:
            if self.is_below(path):
                numbers[path] = set()
        return numbers

    def differing(self) -> set[str]:
        """The files that changed, are new or are gone, wherever in the project."""
        names = {*self._changed, *self._untracked, *self._gone}
        return {name for name in names if self._is_code(name)}

    def is_below(self, name: str) -> bool:
        """Whether a file is one of those that were asked for."""
        if not self._below:
            return True
        return any(not path or name == path or name.startswith(f"{path}/") for path in self._below)

    def _is_code(self, name: str) -> bool:
        """Whether a file is none of an entry."""
        file = self._top / name
        for root in self._entries:
            if file.is_relative_to(root) and layout.place(file.relative_to(root).as_posix()):
                return False
        return True

    def _ask(self, *words: str) -> Done:
        done = plumbing.run(self._git, *words, cwd=self._top)
        if done.code:
            raise NotFound("answer of git to", f"git {words[0]}", hint=done.err)
        return done

    # --- all of it ---

    def _in_folders(self) -> set[str]:
        """The files of a project that git does not know."""
        folders = [str(self._top / path) for path in self._below or [""]]
        names = set()
        for file in external_files.expand(folders, self._top, recursive=True):
            names.add(file.path.relative_to(self._top).as_posix())
        return names

    @cached_property
    def _untracked(self) -> frozenset[str]:
        return frozenset(self._ask("ls-files", "-z", "--others", "--exclude-standard").names)

    def _tracked(self) -> set[str]:
        """What git has of the files; of a submodule its own."""
        tracked, absent, modules = set[str](), list[str](), list[str]()
        for row in self._ask("ls-files", "-z", "-s", "-t", "--cached").names:
            facts, _, name = row.partition("\t")
            mark, mode, *_ = facts.split(" ")
            if mode == _MODULE:
                modules.append(name)
            elif mark == "S" and not os.path.lexists(self._top / name):
                absent.append(name)
            else:
                tracked.add(name)
        self._note_absent([name for name in absent if self.is_below(name)])
        if modules:
            inner = self._ask("ls-files", "-z", "--cached", "--recurse-submodules").names
            tracked.update(name for name in inner if name not in modules)
            self._note_modules(_without_files(modules, inner))
        return tracked

    def _note_absent(self, absent: Sequence[str]) -> None:
        """Note what a sparse checkout leaves out, by its first file."""
        if absent:
            further = f", like {len(absent) - 1} others" if len(absent) > 1 else ""
            self.unseen[absent[0]] = f"not checked out{further}"

    def _note_modules(self, modules: Iterable[str]) -> None:
        for name in modules:
            if self.is_below(name) or any(path.startswith(f"{name}/") for path in self._below):
                self.unseen[name] = "a submodule that is not here"

    # --- what changed ---

    def _change_of(self, path: str) -> _Change | None:
        """What a file was before, if it was."""
        if path in self._changed:
            return self._changed[path]
        if path in self._untracked:
            return self._moved(path)
        return None

    @cached_property
    def _rows(self) -> list[_Row]:
        """The files that changed."""
        done = self._ask(
            "diff", *diffs.DIFF, *diffs.RENAMES, "--raw", "--no-abbrev", "-z", self._base, "--"
        )
        parts = iter(done.names)
        rows = []
        for facts in parts:
            _, mode, blob, _, letter = facts.removeprefix(":").split(" ")
            letter = letter[:1]
            old = next(parts)
            # one that was renamed or copied has two paths
            new = next(parts) if letter in "RC" else old
            rows.append(_Row(letter, old, new, blob, mode))
        return rows

    @cached_property
    def _changed(self) -> dict[str, _Change]:
        changes: dict[str, _Change] = {}
        for row in self._rows:
            if row.letter != "D":
                changes[row.new] = _Change(row.old, row.blob, row.mode)
        return changes

    @cached_property
    def _gone(self) -> dict[str, str]:
        """The paths that are no more, with what they held."""
        return {row.old: row.blob for row in self._rows if row.letter in "DR"}

    @cached_property
    def _lines(self) -> dict[str, frozenset[float]]:
        """The new lines of the files of which git shows some."""
        lines: dict[str, set[float]] = {}
        for hunk in self._hunks:
            of_file = lines.setdefault(hunk.path, set())
            if hunk.new:
                of_file.update(range(hunk.start, hunk.start + len(hunk.new)))
            else:
                of_file.add(hunk.start + 0.5)
        return {path: frozenset(numbers) for path, numbers in lines.items()}

    def _changed_names(self) -> set[str]:
        modules = [name for name, change in self._changed.items() if change.mode == _MODULE]
        inside = set()
        for name in (*self._lines, *self._opaque):
            if any(name.startswith(f"{module}/") for module in modules):
                inside.add(name)
        self._note_modules(_without_files(modules, inside))
        changed = inside | self._changed.keys() - set(modules)
        for name in changed:
            if not os.path.lexists(self._top / name) and self.is_below(name):
                self.unseen[name] = "not checked out"
        return changed

    def _moved(self, path: str) -> _Change | None:
        """What an untracked file was before it was moved.

        What held the same, else the one that was called so.
        """
        if not self._gone:
            return None
        with suppress(AiLessonsError):
            data = external_files.read(self._top / path, LARGEST, within=self._top)[0]
            # as git names the content
            blob = sha1(b"blob %d\0%b" % (len(data), data), usedforsecurity=False).hexdigest()
            for old, held in self._gone.items():
                if held == blob:
                    return _Change(old, held)
            called = [old for old in self._gone if _name_of(old) == _name_of(path)]
            if len(called) == 1:
                return _Change(called[0], self._gone[called[0]])
        return None

    def _blob(self, blob: str) -> str | None:
        """The text of a blob; None where there is none that can be looked at."""
        size = plumbing.run(self._git, "cat-file", "-s", blob)
        if size.code or int(size.text) > LARGEST:
            return None
        return text_of(plumbing.run(self._git, "cat-file", "blob", blob).out)


def _name_of(path: str) -> str:
    return path.rpartition("/")[2]


def _without_files(modules: Iterable[str], names: Iterable[str]) -> list[str]:
    """The submodules of which none of the files is here."""
    every = list(names)
    empty = []
    for module in modules:
        if not any(name.startswith(f"{module}/") for name in every):
            empty.append(module)
    return empty


def below(top: Path, cwd: Path, path: str) -> list[str]:
    """A path of the caller's relative to the top, links in its folders resolved.

    And that of what it leads to.

    Raises NotFound, UsageError.
    """
    file = cwd / path
    # `..` and `.` have no name that a link could have
    place = file.resolve() if file.name in {"", ".."} else file.parent.resolve() / file.name
    if not (place.exists() or place.is_symlink()):
        raise NotFound("file", path)
    root = top.resolve()
    if not place.is_relative_to(root):
        raise UsageError(f"{path} is not in {top}", hint="check a project from within it")
    places = [place]
    if place.is_symlink() and place.resolve().is_relative_to(root):
        places.append(place.resolve())
    names = []
    for each in places:
        name = each.relative_to(root).as_posix()
        names.append("" if name == "." else name)
    return names
