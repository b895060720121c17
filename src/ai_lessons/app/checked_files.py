"""The files of a project that checks look at.

Which of their lines, and what of them cannot be looked at.

Nothing of the files is run, and no link leads out of the project.
"""

from __future__ import annotations

import codecs
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from hashlib import sha1
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.errors import AiLessonsError, NotFound, UsageError
from ai_lessons.git import external_files, plumbing, worktree
from ai_lessons.model import expression, layout
from ai_lessons.model.rule_checks import LARGEST

if TYPE_CHECKING:
    from pathlib import Path

    from ai_lessons.app.workspace import Reading
    from ai_lessons.git.plumbing import Done
    from ai_lessons.git.worktree import Worktree

_DIFF = ("--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules=none")
_LINES = (
    *(
        "--submodule=diff",
        "--unified=0",
        "--inter-hunk-context=0",
        "--src-prefix=a/",
        "--dst-prefix=b/",
    ),
    "--diff-filter=d",
)
# as git itself is set, whatever the settings here are
_RENAMES = ("-M", "-l1000")
_HUNK = expression(rb"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_BINARY = expression(rb'(?m)^Binary files .* and ("?b/(?:(?! and "?b/).)*) differ$')
# The mode of a submodule
_MODULE = "160000"
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"),
)  # fmt: skip
# Characters, and share of every second byte that is zero in UTF-16 without a mark
_LEAST, _ZEROS = 8, 0.4
_LFS = "version https://git-lfs.github.com/spec/"

BINARY = "binary"


class Seen(NamedTuple):
    """The text of a file; None: there is none, or it cannot be looked at, and `why_not` says why.

    `target`: the path of the file that a link leads to.
    """

    text: str | None = None
    why_not: str = ""
    target: str = ""


def seen(top: Path, path: str) -> Seen:
    """A file, relative to the top of its project. Raises nothing that it can cause."""
    file, target = top / path, ""
    try:
        status = file.lstat()
        if stat.S_ISLNK(status.st_mode):
            file = file.resolve()
            if not file.is_relative_to(top.resolve()):
                return Seen(None, "a link out of the project")
            top, target = top.resolve(), file.relative_to(top.resolve()).as_posix()
            status = file.lstat()
    except (OSError, ValueError, RuntimeError):
        return Seen()
    if stat.S_ISDIR(status.st_mode):
        return Seen()
    megabytes = f"{status.st_size / 1_000_000:.1f} MB"
    try:
        data, _ = external_files.read(file, LARGEST, within=top)
        text = decoded(data)
    except AiLessonsError:
        if status.st_size <= LARGEST:
            return Seen(None, "it cannot be read", target)
        head = b""
        with suppress(OSError), file.open("rb") as opened:
            head = opened.read(8_000)
        if b"\0" in head and not head.startswith(tuple(mark for mark, _ in _MARKS)):
            what = BINARY
        else:
            what = "more than 1 MiB"
        return Seen(None, f"{what}, {megabytes}", target)
    if text is None:
        return Seen(None, f"{BINARY}, {megabytes}" if len(data) > 100_000 else BINARY, target)
    if text.startswith(_LFS):
        return Seen(None, "its content is in Git LFS", target)
    return Seen(text, "", target)


def decoded(data: bytes) -> str | None:
    """The text of a file, in whatever form of Unicode it is; None: it is binary."""
    for mark, coding in _MARKS:
        if data.startswith(mark):
            return data.decode(coding, "replace")
    if b"\0" in data:
        half = len(data) // 2
        for coding, start in (("utf-16-le", 1), ("utf-16-be", 0)):
            if half >= _LEAST and data[start::2].count(0) > _ZEROS * half:
                return data.decode(coding, "replace")
        try:
            return data.decode().removeprefix("\ufeff")
        except UnicodeDecodeError:
            return None
    return data.decode("utf-8", "replace").removeprefix("\ufeff")


def new_lines(before: str, after: str) -> frozenset[float]:
    """The lines of a text that another has not, from 1.

    2.5 where lines between the lines 2 and 3 were taken away.
    """
    from ai_lessons.model.merge import LineMatcher

    old, new = before.split("\n"), after.split("\n")
    lines, a, b = set[float](), 0, 0
    for block in LineMatcher(old, new).get_matching_blocks():
        lines.update(range(b + 1, block.b + 1))
        if block.b == b and block.a > a:
            lines.add(b + 0.5)
        a, b = block.a + block.size, block.b + block.size
    return frozenset(lines)


class _Change(NamedTuple):
    """A file that differs from what it was at `path`, with the content `blob`.

    `mode` is its own now.
    """

    path: str
    blob: str
    mode: str


class CheckedFiles:
    """The files of a project around a folder.

    None that git ignores, none of the entries that hold the rules.

    `since`: only what changed since this commit, or since the branch left it; empty: everything.
    """

    def __init__(self, repo: Reading, top: Path, below: Sequence[str], since: str) -> None:
        """Raises NotFound: no such commit. UsageError: there is no git that knows of any."""
        self._top, self._below, self._since = top, [path.rstrip("/") for path in below], since
        self._entries = [place.store.root for place in repo.every]
        self._git = worktree.locate(top) if external_files.top_of(top) is not None else None
        self._hunks: list[Hunk] = []
        # What cannot be looked at, whatever rule looks, and why
        self.unseen: dict[str, str] = {}
        if since:
            if self._git is None:
                raise UsageError(
                    f"{top} is no git repository, so that nothing is known since {since}"
                )
            commit = commit_of(self._git, since)
            left = plumbing.run(self._git, "merge-base", commit, "HEAD")
            self._base = commit if left.code else left.text
            diff = self._ask("diff", *_DIFF, *_LINES, *_RENAMES, self._base, "--").out
            self._hunks = [hunk for hunk in hunks(diff) if self.is_below(hunk.path)]
            self._opaque = {_unquoted(name).removeprefix("b/") for name in _BINARY.findall(diff)}

    @cached_property
    def names(self) -> list[str]:
        """The files to look at, relative to the top; notes in `unseen` what of them cannot be."""
        if self._git is None:
            every = external_files.expand(
                [str(self._top / path) for path in self._below or [""]], self._top, recursive=True
            )
            names = set()
            for file in every:
                names.add(file.path.relative_to(self._top).as_posix())
        else:
            names = set(self._untracked) | (
                self._changed_names() if self._since else self._tracked()
            )
        results = []
        for name in names:
            if self._is_code(name) and self.is_below(name):
                results.append(name)
        return sorted(results)

    def lines(self, path: str, text: str) -> frozenset[float] | None:
        """The lines of a file to look at, as `new_lines` has them; None: all of them."""
        if not self._since:
            return None
        if path in self._lines:
            return self._lines[path]
        change = self._changed.get(path) or (
            self._removed(path) if path in self._untracked else None
        )
        before = None
        if change:
            before = self._blob(change.blob)
        if before is None:
            return None
        return new_lines(before, text)

    def path_before(self, path: str) -> str:
        """Where a file that changed was before, if that was elsewhere."""
        if not self._since:
            return ""
        change = self._changed.get(path) or (
            self._removed(path) if path in self._untracked else None
        )
        if change and change.path != path:
            return change.path
        return ""

    def touched(self) -> dict[str, set[int]]:
        """Each file that changed with its new lines, and those beside removed ones.

        None of a file that is gone.
        """
        numbers: dict[str, set[int]] = {}
        for hunk in self._hunks:
            end = hunk.start + (len(hunk.new) or 2)
            numbers.setdefault(hunk.path, set()).update(range(max(hunk.start, 1), end))
        return numbers | {path: set() for path in self._gone if self.is_below(path)}

    def differing(self) -> set[str]:
        """The files that changed, are new or are gone, wherever in the project."""
        results: set[str] = set()
        for name in (*self._changed, *self._untracked, *self._gone):
            if self._is_code(name):
                results.add(name)
        return results

    def is_below(self, name: str) -> bool:
        """Whether a file is one of those that were asked for."""
        return not self._below or any(
            name == path or name.startswith(f"{path}/") or not path for path in self._below
        )

    def _is_code(self, name: str) -> bool:
        file = self._top / name
        roots = (root for root in self._entries if file.is_relative_to(root))
        return not any(layout.place(file.relative_to(root).as_posix()) for root in roots)

    def _ask(self, *words: str) -> Done:
        done = plumbing.run(self._git, *words, cwd=self._top)
        if done.code:
            raise NotFound("answer of git to", f"git {words[0]}", hint=done.err)
        return done

    # --- all of it ---

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
        if absent := [name for name in absent if self.is_below(name)]:
            if len(absent) > 1:
                tail = f", like {len(absent) - 1} others"
            else:
                tail = ""
            self.unseen[absent[0]] = f"not checked out{tail}"
        if modules:
            inner = self._ask("ls-files", "-z", "--cached", "--recurse-submodules").names
            tracked.update(name for name in inner if name not in modules)
            self._note_modules(
                name for name in modules if not any(x.startswith(f"{name}/") for x in inner)
            )
        return tracked

    def _note_modules(self, modules: Iterator[str]) -> None:
        around = []
        for name in modules:
            if self.is_below(name) or any(x.startswith(f"{name}/") for x in self._below):
                around.append(name)
        self.unseen |= dict.fromkeys(around, "a submodule that is not here")

    # --- what changed ---

    @cached_property
    def _rows(self) -> list[tuple[list[str], str, str]]:
        """Modes, blobs and letter of each file that changed, with its old and its new path."""
        parts = iter(
            self._ask(
                "diff", *_DIFF, *_RENAMES, "--raw", "--no-abbrev", "-z", self._base, "--"
            ).names
        )
        rows = []
        for facts in parts:
            *words, letter = facts.removeprefix(":").split(" ")
            old = next(parts)
            rows.append(([*words, letter[:1]], old, next(parts) if letter[:1] in "RC" else old))
        return rows

    @cached_property
    def _changed(self) -> dict[str, _Change]:
        by_key: dict[str, _Change] = {}
        for words, old, new in self._rows:
            if words[4] != "D":
                by_key[new] = _Change(old, words[2], words[1])
        return by_key

    @cached_property
    def _gone(self) -> dict[str, str]:
        """The paths that are no more, with what they held."""
        by_key: dict[str, str] = {}
        for words, old, _ in self._rows:
            if words[4] in "DR":
                by_key[old] = words[2]
        return by_key

    @cached_property
    def _lines(self) -> dict[str, frozenset[float]]:
        lines: dict[str, set[float]] = {}
        for hunk in self._hunks:
            here = range(hunk.start, hunk.start + len(hunk.new)) if hunk.new else [hunk.start + 0.5]
            lines.setdefault(hunk.path, set()).update(here)
        return {path: frozenset(numbers) for path, numbers in lines.items()}

    def _changed_names(self) -> set[str]:
        modules = [name for name, change in self._changed.items() if change.mode == _MODULE]
        inside = {
            name
            for name in (*self._lines, *self._opaque)
            if any(name.startswith(f"{x}/") for x in modules)
        }
        self._note_modules(
            x for x in modules if not any(name.startswith(f"{x}/") for name in inside)
        )
        changed = inside | self._changed.keys() - set(modules)
        for name in changed:
            if not os.path.lexists(self._top / name) and self.is_below(name):
                self.unseen[name] = "not checked out"
        return changed

    def _removed(self, path: str) -> _Change | None:
        """What an untracked file was before it was moved.

        What held the same, else the one that was called so.
        """
        with suppress(AiLessonsError):
            if self._gone:
                data = external_files.read(self._top / path, LARGEST, within=self._top)[0]
            else:
                data = b""
            blob = sha1(b"blob %d\0%b" % (len(data), data), usedforsecurity=False).hexdigest()
            same = []
            for old, held in self._gone.items():
                if held == blob:
                    same.append(old)
            called = [
                old for old in self._gone if old.rpartition("/")[2] == path.rpartition("/")[2]
            ]
            if name := same[0] if same else called[0] if len(called) == 1 else "":
                return _Change(name, self._gone[name], "")
        return None

    def _blob(self, blob: str) -> str | None:
        """The text of a blob; None where there is none that can be looked at."""
        size = plumbing.run(self._git, "cat-file", "-s", blob)
        if size.code or int(size.text) > LARGEST:
            return None
        return decoded(plumbing.run(self._git, "cat-file", "blob", blob).out)


def commit_of(git: Worktree, rev: str) -> str:
    """The id of a commit. Raises NotFound."""
    done = plumbing.run(
        git, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{rev}^{{commit}}"
    )
    if done.code:
        raise NotFound(
            "commit",
            rev,
            hint="in a shallow clone its history is missing: fetch it (fetch-depth: 0)",
        )
    return done.text


class Hunk(NamedTuple):
    """Lines that were replaced in a file, from line `start` of the new text on."""

    path: str
    start: int
    old: list[str]
    new: list[str]


def between(git: Worktree, before: str, after: str) -> list[Hunk]:
    """The parts of the difference of two commits, without files that are gone."""
    return [*hunks(plumbing.run(git, "diff", *_DIFF, *_LINES, "--no-renames", before, after).out)]


def hunks(diff: bytes) -> Iterator[Hunk]:
    """The parts of a diff without context, made with the flags `_LINES`."""
    name, hunk, old, new = "", Hunk("", 0, [], []), 0, 0
    for row in diff.split(b"\n"):
        if old + new and not row.startswith(b"\\"):
            is_old = row.startswith(b"-")
            (hunk.old if is_old else hunk.new).append(row[1:].decode("utf-8", "replace"))
            old, new = old - is_old, new - (not is_old)
            if not old + new:
                yield hunk
        elif row.startswith(b"+++ "):
            name = _unquoted(row[4:].rstrip(b"\t")).removeprefix("b/")
        elif match := _HUNK.match(row):
            old, new = (1 if part is None else int(part) for part in (match[1], match[3]))
            hunk = Hunk(name, int(match[2]), [], [])


def _unquoted(name: bytes) -> str:
    """A path as git writes it in a diff."""
    if name.startswith(b'"'):
        name = (
            name[1:-1]
            .decode("ascii", "replace")
            .encode()
            .decode("unicode_escape")
            .encode("latin-1", "replace")
        )
    return name.decode("utf-8", "surrogateescape")


def below(top: Path, cwd: Path, path: str) -> list[str]:
    """A path of the caller's relative to the top, links in its folders resolved.

    And that of what it leads to.

    Raises NotFound, UsageError.
    """
    file = cwd / path
    if file.name not in {"", ".."}:
        place = file.parent.resolve() / file.name
    else:
        place = file.resolve()
    if not (place.exists() or place.is_symlink()):
        raise NotFound("file", path)
    if not place.is_relative_to(top.resolve()):
        raise UsageError(f"{path} is not in {top}", hint="check a project from within it")
    places = [place]
    if place.is_symlink() and place.resolve().is_relative_to(top.resolve()):
        places.append(place.resolve())
    names = (each.relative_to(top.resolve()).as_posix() for each in places)
    results: list[str] = []
    for name in names:
        if name == ".":
            results.append("")
        else:
            results.append(name)
    return results
