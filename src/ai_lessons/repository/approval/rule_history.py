"""The history that approval is judged by, read strictly: a commit that git would not have written proves nothing."""

from __future__ import annotations

import codecs
import re
import zlib
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Final, TypeVar

from ai_lessons.errors import UnsupportedRepository
from ai_lessons.repository import git
from ai_lessons.repository.approval.approval_types import PathChange, Person, Said
from ai_lessons.repository.approval.rule_files import TEXT_LIMIT, is_rule, is_watched

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from ai_lessons.repository.worktree import Worktree

T = TypeVar("T")
PATIENCE: Final = 600.0  # seconds for the first look at a long history

# Bytes of a commit message that are read: trailers stand at the end, so longer ones have none
MESSAGE_LIMIT: Final = 64 * 1024
UNKNOWN: Final = Person("", "")  # who made an odd commit
_FEW: Final = 64  # so many texts are first looked for as loose objects
_MANY: Final = 1000  # from so many pairs of trees on, a second program is started
_EMPTY: Final = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
# Of the year 9999, which is as far as dates can be shown
_LAST_SECOND: Final = 253_402_300_799
LITERAL: Final = dict.fromkeys(("GIT_LITERAL_PATHSPECS", "GIT_NO_LAZY_FETCH"), "1") | {
    "GIT_GRAFT_FILE": "/dev/null",
    "GIT_FLUSH": "0",
}
_PERSON: Final = rb"([^<>\n]*?) ?<([^<>\n]+)> (\d{1,12}) [+-]\d{4}"
_HEADER: Final = re.compile(
    rb"tree ([0-9a-f]{40})\n((?:parent [0-9a-f]{40}\n)*)author " + _PERSON + rb"\ncommitter " + _PERSON + rb"(\n.*)?",
    re.DOTALL,
)
_REST: Final = re.compile(rb"(?:\n(?:gpgsig|gpgsig-sha256|mergetag|change-id|encoding) [^\n]*(?:\n [^\n]*)*)*")
_ENCODING: Final = re.compile(rb"^encoding (.*)$", re.MULTILINE)
_ENCODINGS: Final = re.compile(
    r"utf-?8|us-ascii|iso-?8859-\d{1,2}|latin-?1|(?:windows-|cp)125\d|koi8-[ru]", re.IGNORECASE
)
_CHANGE: Final = re.compile(
    rb"([0-9a-f]{40}) ([0-9a-f]{40})\n|:(\d{6}) (\d{6}) ([0-9a-f]{40}) ([0-9a-f]{40}) [A-Z]\0([^\0]*)\0"
)
_FILES: Final = frozenset((b"100644", b"100755"))


class RawCommit:
    """One commit; `parents` are those that git follows here, `changes` against each of them or the empty tree."""

    def __init__(self, record: bytes) -> None:
        """One record of `rev-list --header --parents`, whatever stands in it."""
        names, _, self._record = record.partition(b"\n")
        self.id, *parents = names.decode().split()
        self.parents = tuple(parents)
        self.tree = self._record[5:45].decode("ascii", "replace")
        self.changes: tuple[tuple[PathChange, ...], ...] = ()

    @cached_property
    def said(self) -> Said:
        """What it says of itself, read when it is asked for."""
        header, _, body = self._record.partition(b"\n\n")
        found = _HEADER.fullmatch(header)
        if found is None or not _REST.fullmatch(found[9] or b""):
            return Said(UNKNOWN, UNKNOWN, 0, "", cut=False, odd="its header is not one that git writes")
        cut = tuple(line[7:].decode() for line in found[2].splitlines()) != self.parents
        try:
            author, committer, message = _words(found, body)
        except ValueError as error:
            return Said(UNKNOWN, UNKNOWN, 0, "", cut, str(error))
        return Said(author, committer, int(found[8]), message, cut, "", b"\ngpgsig " in (found[9] or b""))


def read(worktree: Worktree, tips: Sequence[str], without: Sequence[str] = ()) -> list[RawCommit]:
    """Commits reachable from `tips` and not from `without`, parents first. Raises UnsupportedRepository."""
    found = commits(worktree, tips, without=without)
    trees = {commit.id: commit.tree for commit in found}
    others = {parent for commit in found for parent in commit.parents} - trees.keys()
    names = "".join(f"{parent}^{{tree}}\n" for parent in others).encode()
    rows = _git(worktree, "cat-file", "--batch-check=%(objectname)", "--buffer", stdin=names).decode().splitlines()
    trees |= {parent: row.partition(" ")[0] for parent, row in zip(others, rows, strict=True)}
    pairs = [[(trees[p], commit.tree) for p in commit.parents] or [(_EMPTY, commit.tree)] for commit in found]
    changed = _changes(worktree, {pair for several in pairs for pair in several if pair[0] != pair[1]})
    for commit, several in zip(found, pairs, strict=True):
        commit.changes = tuple([changed.get(pair, ()) for pair in several])
    return found


def commits(
    worktree: Worktree, tips: Sequence[str], newest: int | None = None, without: Sequence[str] = ()
) -> list[RawCommit]:
    """Commits as `read` gives them, or as many of the newest, without their changes. Raises UnsupportedRepository."""
    most = [] if newest is None else [f"--max-count={newest}"]
    asked = ("rev-list", "--header", "--parents", "--topo-order", "--reverse", "--encoding=none", *most, "--stdin")
    wanted = "".join(f"{commit}\n" for commit in tips) + "".join(f"^{commit}\n" for commit in without)
    return [RawCommit(one) for one in _git(worktree, *asked, stdin=wanted.encode()).split(b"\0") if one]


def contained(worktree: Worktree, tip: str, commits: Collection[str]) -> set[str]:
    """Those of the commits that are `tip` or come before it. Those that are not there, or hang in the air, are not."""
    known = [commit for commit in dict.fromkeys(commits) if commit]
    if not known:
        return set()
    types = _git(worktree, "cat-file", "--batch-check", "--buffer", stdin="\n".join(known).encode() + b"\n")
    there = [line.split()[0].decode() for line in types.splitlines() if line.split()[1:2] == [b"commit"]]

    def outside(some: Sequence[str]) -> list[str]:
        asked = "\n".join([*some, f"^{tip}"]).encode() + b"\n"
        return _git(worktree, "rev-list", "--stdin", stdin=asked).decode().split()

    found, broken = readable(there, outside)
    return set(there) - set(found) - broken


def readable(tips: Sequence[str], look: Callable[[Sequence[str]], list[T]]) -> tuple[list[T], set[str]]:
    """What `look` finds behind these tips, and those at which it raises UnsupportedRepository.

    Raises UnsupportedRepository: it does so at no tip, too.
    """
    try:
        return look(tips), set()
    except UnsupportedRepository:
        if len(tips) < 2:
            look(())  # else the fault is not the tip's
            return [], set(tips)
    half = len(tips) // 2
    one, other = readable(tips[:half], look), readable(tips[half:], look)
    return [*one[0], *other[0]], one[1] | other[1]


def read_blobs(worktree: Worktree, blobs: Iterable[str]) -> dict[str, bytes]:
    """The contents of blobs up to `TEXT_LIMIT` bytes; longer, missing and damaged ones are left out."""
    wanted = set(blobs)
    found = _read_loose(worktree, wanted) if len(wanted) <= _FEW else {}
    names = "".join(f"{blob}\n" for blob in sorted(wanted - found.keys())).encode()
    if not names:
        return found
    sizes = _git(worktree, "cat-file", "--batch-check", "--buffer", stdin=names)
    rows = [line.split() for line in sizes.splitlines()]
    small = [row[0].decode() for row in rows if len(row) == 3 and row[1] == b"blob" and int(row[2]) <= TEXT_LIMIT]

    def contents(some: Sequence[str]) -> list[tuple[str, bytes]]:
        names = "".join(f"{name}\n" for name in some).encode()
        out, at, read = _git(worktree, "cat-file", "--batch", "--buffer", stdin=names) if names else b"", 0, []
        while at < len(out):
            end = out.index(b"\n", at)
            name, *_, size = out[at:end].split(b" ")
            read.append((name.decode(), out[end + 1 : end + 1 + int(size)]))
            at = end + 2 + int(size)
        return read

    return found | dict(readable(small, contents)[0])


def _git(worktree: Worktree, *arguments: str, stdin: bytes) -> bytes:
    flags = ("--no-replace-objects", "-c", "advice.graftFileDeprecated=false")
    done = git.run(worktree, *flags, *arguments, stdin=stdin, extra=LITERAL, timeout=PATIENCE)
    if done.code:
        what = done.err.rpartition("\n")[2] or f"git {arguments[0]} failed"
        raise UnsupportedRepository(
            f"the history of {worktree.top} cannot be read: {what}",
            hint="a partial clone lacks what rules are judged by: git fetch --refetch --no-filter; else: git fsck",
        )
    return done.out


def person(raw: bytes) -> Person:
    """`Name <email>`, as git objects have it; what cannot be read names no person."""
    found = re.fullmatch(r"(.*?) ?<([^<>]*)>", raw.decode(errors="replace"), re.DOTALL)
    return Person(found[1], found[2]) if found else UNKNOWN


def _words(found: re.Match[bytes], body: bytes) -> tuple[Person, Person, str]:
    """Author, committer and message; ValueError says why they cannot be believed."""
    encodings = _ENCODING.findall(found[9] or b"")
    encoding = encodings[0].decode("ascii", "replace") if encodings else "utf-8"
    if len(encodings) > 1 or not _ENCODINGS.fullmatch(encoding):
        raise ValueError("it is in an encoding that is not known")
    if int(found[5]) > _LAST_SECOND or int(found[8]) > _LAST_SECOND:
        raise ValueError("its time is not one that a calendar has")
    try:
        codec = codecs.lookup(encoding).name
        # git shows every line of a message with four blanks before it
        lines = body.decode(codec)[: 2 * MESSAGE_LIMIT].split("\n")
        message = "\n".join(line[4:] for line in lines)[:MESSAGE_LIMIT].strip()
        return _person(found[3], found[4], codec), _person(found[6], found[7], codec), message
    except (UnicodeDecodeError, LookupError) as error:
        raise ValueError("it holds bytes that are no text in its encoding") from error


@lru_cache(maxsize=4096)
def _person(name: bytes, email: bytes, codec: str) -> Person:
    found = Person(name.decode(codec).strip(), email.decode(codec).strip())
    if not found.email or not found.email.isprintable() or any(ord(c) < 32 for c in found.name):
        raise ValueError("it does not say in plain text who made it")
    return found


def _changes(worktree: Worktree, pairs: Collection[tuple[str, str]]) -> dict[tuple[str, str], tuple[PathChange, ...]]:
    """What differs between trees, of the files that matter."""
    if not pairs:
        return {}
    only = ("--", worktree.prefix) if worktree.prefix else ()
    flags = ("diff-tree", "--stdin", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--no-relative", *only)
    lines = [f"{old} {new}\n".encode() for old, new in pairs]
    parts = [lines[::2], lines[1::2]] if len(lines) > _MANY else [lines]
    with ThreadPoolExecutor(len(parts)) as pool:
        out = b"".join(pool.map(lambda part: _git(worktree, *flags, stdin=b"".join(part)), parts))
    start, at = worktree.prefix.encode(), 0
    found: dict[tuple[str, str], tuple[PathChange, ...]] = {}
    files: list[PathChange] = []
    pair = ("", "")
    for row in _CHANGE.finditer(out):
        if row.start() != at:
            break
        at = row.end()
        if row[1]:
            found[pair], files = tuple(files), []
            pair = (row[1].decode(), row[2].decode())
        elif (b"rules/" in row[7] or b".ai-lessons/" in row[7]) and row[7].startswith(start):
            files += _change(row, row[7].removeprefix(start))
    if at != len(out):
        raise UnsupportedRepository(f"git tells of changes in {worktree.top} in words that are not known")
    found[pair] = tuple(files)
    return found


def _change(row: re.Match[bytes], name: bytes) -> Iterator[PathChange]:
    try:
        path = name.decode()
    except UnicodeDecodeError:
        return  # none of our files has such a name
    if is_rule(path) or is_watched(path):
        old = row[5].decode() if row[3] in _FILES else None
        new = row[6].decode() if row[4] in _FILES else None
        if old != new:
            yield PathChange(path, old, new)


def _read_loose(worktree: Worktree, blobs: Iterable[str]) -> dict[str, bytes]:
    """Blobs that lie as files of their own, as new ones do: starting a program for them would take longer."""
    found = {}
    for blob in blobs:
        try:
            with open(worktree.common_dir / "objects" / blob[:2] / blob[2:], "rb") as file:
                raw = zlib.decompressobj().decompress(file.read(), TEXT_LIMIT + 100)
        except (OSError, zlib.error):
            continue
        header, _, data = raw.partition(b"\0")
        if header == b"blob %d" % len(data) and len(data) <= TEXT_LIMIT:
            found[blob] = data
    return found


def behind(known: Mapping[str, RawCommit], tip: str) -> Iterator[RawCommit]:
    """The commits behind a tip, newest first; merges of the approval branch into it propose nothing."""
    at = known.get(tip)
    while at is not None:
        if len(at.parents) < 2:
            yield at
        at = known.get(at.parents[0]) if at.parents else None


class Ancestry:
    """Who comes before whom: commits are numbered so that parents have smaller numbers; -1 stands for nothing.

    The line of first parents from the tip is the trunk. Of every commit is kept the last trunk commit at or before it
    (`below`) and the first that contains it (`entered`); only where these do not decide is the history walked.
    """

    def __init__(self, parents: Sequence[Sequence[int]], tip: int) -> None:
        self.parents = parents
        self._trunk: list[int] = []
        while tip >= 0:
            self._trunk.append(tip)
            tip = parents[tip][0] if parents[tip] else -1
        self._trunk.reverse()
        never = len(parents) + 1
        self._entered = [never] * len(parents)
        for place, node in enumerate(self._trunk):
            waiting = [node]
            while waiting:
                at = waiting.pop()
                if at >= 0 and self._entered[at] == never:
                    self._entered[at] = place
                    waiting.extend(parents[at])
        places = {node: place for place, node in enumerate(self._trunk)}
        self._below: list[int] = []
        for node, before in enumerate(parents):
            last = max((self._below[one] for one in before if one >= 0), default=-1)
            self._below.append(places.get(node, last))

    def is_ancestor(self, one: int, other: int) -> bool:
        """True if `other` contains `one`; a commit contains itself, and everything contains nothing (-1)."""
        if one < 0 or one == other:
            return True
        if one > other:
            return False
        return self._entered[one] <= self._below[other] or self._reaches(other, one)

    def between(self, before: int, after: int) -> list[int]:
        """Every commit that `after` contains and `before` does not, newest first."""
        found, waiting, met = [], [after], set()
        while waiting:
            at = waiting.pop()
            if at >= 0 and at not in met and not self.is_ancestor(at, before):
                met.add(at)
                found.append(at)
                waiting.extend(self.parents[at])
        return sorted(found, reverse=True)

    def _reaches(self, start: int, goal: int) -> bool:
        """Walk back from `start`. A way through the trunk cannot lead to the goal, or the places would have told."""
        waiting, met = [start], set()
        while waiting:
            at = waiting.pop()
            if at == goal:
                return True
            if at < goal or at in met:
                continue
            met.add(at)
            if self._below[at] < 0 or self._entered[at] > self._below[at]:
                waiting.extend(self.parents[at])
        return False
