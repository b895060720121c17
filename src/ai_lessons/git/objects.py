"""Git objects, read strictly and built with dulwich; blobs through git's filters; what git would store for a file."""

from __future__ import annotations

import codecs
import io
import os
import re
import secrets
import stat
import sys
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar, cast

from dulwich.errors import ChecksumMismatch, FileFormatException, NotGitRepository, WrongObjectException
from dulwich.objects import Blob, Commit, ObjectID, ShaFile, Tree
from dulwich.pack import write_pack_index_v2, write_pack_objects
from dulwich.repo import Repo, UnsupportedExtension, UnsupportedVersion

from ai_lessons.errors import Conflict, InvalidEntry, NotFound, Refused, StorageFailed, UnsupportedRepository
from ai_lessons.git import files, plumbing
from ai_lessons.git.files import translated, write_all, write_new
from ai_lessons.git.store import PendingChange
from ai_lessons.git.worktree import Worktree, read_head, read_settings
from ai_lessons.model.approval import TEXT_LIMIT, CommitInfo, PathChange, Person, is_rule, is_watched
from ai_lessons.model.layout import is_markdown

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from dulwich.object_store import BaseObjectStore

T = TypeVar("T")
PATIENCE: Final = 600.0  # seconds for the first reading of a long history

# Bytes of a commit message that are read: trailers stand at the end, so longer ones have none
MESSAGE_LIMIT: Final = 64 * 1024
UNKNOWN: Final = Person("", "")  # who made an odd commit
_FEW: Final = 64  # up to this number, texts are first read as loose objects
_MANY: Final = 1000  # above this number of pairs of trees, two runs of git share the work
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
_UNDECODED: Final = re.compile("[\ud800-\udfff]")


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
    def info(self) -> CommitInfo:
        """Its header and message, parsed at the first use."""
        header, _, body = self._record.partition(b"\n\n")
        match = _HEADER.fullmatch(header)
        if match is None or not _REST.fullmatch(match[9] or b""):
            return CommitInfo(UNKNOWN, UNKNOWN, 0, "", cut=False, odd="its header is not one that git writes")
        cut = tuple(line[7:].decode() for line in match[2].splitlines()) != self.parents
        try:
            author, committer, message = _people_and_message(match, body)
        except ValueError as error:
            return CommitInfo(UNKNOWN, UNKNOWN, 0, "", cut, str(error))
        return CommitInfo(author, committer, int(match[8]), message, cut, "", b"\ngpgsig " in (match[9] or b""))


def read(worktree: Worktree, tips: Sequence[str], without: Sequence[str] = ()) -> list[RawCommit]:
    """Commits reachable from `tips` and not from `without`, parents first. Raises UnsupportedRepository."""
    history = commits(worktree, tips, without=without)
    trees = {commit.id: commit.tree for commit in history}
    outside = {parent for commit in history for parent in commit.parents} - trees.keys()
    names = "".join(f"{parent}^{{tree}}\n" for parent in outside).encode()
    rows = _git(worktree, "cat-file", "--batch-check=%(objectname)", "--buffer", stdin=names).decode().splitlines()
    trees |= {parent: row.partition(" ")[0] for parent, row in zip(outside, rows, strict=True)}
    pairs = [[(trees[p], commit.tree) for p in commit.parents] or [(_EMPTY, commit.tree)] for commit in history]
    changed = _changes(worktree, {pair for several in pairs for pair in several if pair[0] != pair[1]})
    for commit, several in zip(history, pairs, strict=True):
        commit.changes = tuple([changed.get(pair, ()) for pair in several])
    return history


def commits(
    worktree: Worktree, tips: Sequence[str], newest: int | None = None, without: Sequence[str] = ()
) -> list[RawCommit]:
    """Commits as `read` returns them, or only the `newest`, without their changes. Raises UnsupportedRepository."""
    limit = [] if newest is None else [f"--max-count={newest}"]
    flags = ("--header", "--parents", "--topo-order", "--reverse", "--encoding=none", *limit, "--stdin")
    revisions = "".join(f"{commit}\n" for commit in tips) + "".join(f"^{commit}\n" for commit in without)
    records = _git(worktree, "rev-list", *flags, stdin=revisions.encode()).split(b"\0")
    return [RawCommit(record) for record in records if record]


def contained(worktree: Worktree, tip: str, commits: Collection[str]) -> set[str]:
    """Those of the commits that are `tip` or an ancestor of it; never one that is missing or has missing ancestors."""
    names = [commit for commit in dict.fromkeys(commits) if commit]
    if not names:
        return set()
    types = _git(worktree, "cat-file", "--batch-check", "--buffer", stdin="\n".join(names).encode() + b"\n")
    present = [line.split()[0].decode() for line in types.splitlines() if line.split()[1:2] == [b"commit"]]

    def outside(part: Sequence[str]) -> list[str]:
        revisions = "\n".join([*part, f"^{tip}"]).encode() + b"\n"
        return _git(worktree, "rev-list", "--stdin", stdin=revisions).decode().split()

    not_contained, broken = readable(present, outside)
    return set(present) - set(not_contained) - broken


def readable(tips: Sequence[str], read: Callable[[Sequence[str]], list[T]]) -> tuple[list[T], set[str]]:
    """What `read` returns for these tips, and the tips at which it raises UnsupportedRepository.

    Raises UnsupportedRepository: it also does for no tips.
    """
    try:
        return read(tips), set()
    except UnsupportedRepository:
        if len(tips) < 2:
            read(())  # raises where the fault is not the tip's
            return [], set(tips)
    half = len(tips) // 2
    first, broken = readable(tips[:half], read)
    second, also_broken = readable(tips[half:], read)
    return first + second, broken | also_broken


def read_blobs(worktree: Worktree, blobs: Iterable[str]) -> dict[str, bytes]:
    """The contents of blobs up to `TEXT_LIMIT` bytes; longer, missing and damaged ones are left out."""
    ids = set(blobs)
    loose = _read_loose(worktree, ids) if len(ids) <= _FEW else {}
    names = "".join(f"{blob}\n" for blob in sorted(ids - loose.keys())).encode()
    if not names:
        return loose
    sizes = _git(worktree, "cat-file", "--batch-check", "--buffer", stdin=names)
    rows = [line.split() for line in sizes.splitlines()]
    small = [row[0].decode() for row in rows if len(row) == 3 and row[1] == b"blob" and int(row[2]) <= TEXT_LIMIT]

    def read(part: Sequence[str]) -> list[tuple[str, bytes]]:
        names = "".join(f"{name}\n" for name in part).encode()
        out, at, contents = _git(worktree, "cat-file", "--batch", "--buffer", stdin=names) if names else b"", 0, []
        while at < len(out):
            end = out.index(b"\n", at)
            name, *_, size = out[at:end].split(b" ")
            contents.append((name.decode(), out[end + 1 : end + 1 + int(size)]))
            at = end + 2 + int(size)
        return contents

    return loose | dict(readable(small, read)[0])


def _git(worktree: Worktree, *arguments: str, stdin: bytes) -> bytes:
    flags = ("--no-replace-objects", "-c", "advice.graftFileDeprecated=false")
    done = plumbing.run(worktree, *flags, *arguments, stdin=stdin, extra=LITERAL, timeout=PATIENCE)
    if done.code:
        what = done.err.rpartition("\n")[2] or f"git {arguments[0]} failed"
        raise UnsupportedRepository(
            f"the history of {worktree.top} cannot be read: {what}",
            hint="a partial clone lacks what rules are judged by: git fetch --refetch --no-filter; else: git fsck",
        )
    return done.out


def person(raw: bytes) -> Person:
    """The person of `Name <email>`, as git objects have it; UNKNOWN for anything else."""
    match = re.fullmatch(r"(.*?) ?<([^<>]*)>", raw.decode(errors="replace"), re.DOTALL)
    return Person(match[1], match[2]) if match else UNKNOWN


def _people_and_message(header: re.Match[bytes], body: bytes) -> tuple[Person, Person, str]:
    """Author, committer and message. Raises ValueError with the reason why they prove nothing."""
    encodings = _ENCODING.findall(header[9] or b"")
    encoding = encodings[0].decode("ascii", "replace") if encodings else "utf-8"
    if len(encodings) > 1 or not _ENCODINGS.fullmatch(encoding):
        raise ValueError("it is in an encoding that is not known")
    if int(header[5]) > _LAST_SECOND or int(header[8]) > _LAST_SECOND:
        raise ValueError("its time is not one that a calendar has")
    try:
        codec = codecs.lookup(encoding).name
        # git shows every line of a message with four blanks before it
        lines = body.decode(codec)[: 2 * MESSAGE_LIMIT].split("\n")
        message = "\n".join(line[4:] for line in lines)[:MESSAGE_LIMIT].strip()
        return _person(header[3], header[4], codec), _person(header[6], header[7], codec), message
    except (UnicodeDecodeError, LookupError) as error:
        raise ValueError("it holds bytes that are no text in its encoding") from error


@lru_cache(maxsize=4096)
def _person(name: bytes, email: bytes, codec: str) -> Person:
    person = Person(name.decode(codec).strip(), email.decode(codec).strip())
    if not person.email or not person.email.isprintable() or any(ord(c) < 32 for c in person.name):
        raise ValueError("it does not say in plain text who made it")
    return person


def _changes(worktree: Worktree, pairs: Collection[tuple[str, str]]) -> dict[tuple[str, str], tuple[PathChange, ...]]:
    """The differences between trees in rule files and watched files."""
    if not pairs:
        return {}
    only = ("--", worktree.prefix) if worktree.prefix else ()
    flags = ("diff-tree", "--stdin", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--no-relative", *only)
    lines = [f"{old} {new}\n".encode() for old, new in pairs]
    parts = [lines[::2], lines[1::2]] if len(lines) > _MANY else [lines]
    with ThreadPoolExecutor(len(parts)) as pool:
        out = b"".join(pool.map(lambda part: _git(worktree, *flags, stdin=b"".join(part)), parts))
    start, at = worktree.prefix.encode(), 0
    changes: dict[tuple[str, str], tuple[PathChange, ...]] = {}
    files: list[PathChange] = []
    pair = ("", "")
    for row in _CHANGE.finditer(out):
        if row.start() != at:
            break
        at = row.end()
        if row[1]:
            changes[pair], files = tuple(files), []
            pair = (row[1].decode(), row[2].decode())
        elif (b"rules/" in row[7] or b".ai-lessons/" in row[7]) and row[7].startswith(start):
            path = row[7].removeprefix(start).decode(errors="surrogateescape")
            old, new = (row[n + 2].decode() if row[n] in _FILES else None for n in (3, 4))
            # none of our files has a name that is not UTF-8
            if old != new and not _UNDECODED.search(path) and (is_rule(path) or is_watched(path)):
                files.append(PathChange(path, old, new))
    if at != len(out):
        raise UnsupportedRepository(f"git lists changes in {worktree.top} in an unknown format")
    changes[pair] = tuple(files)
    return changes


def _read_loose(worktree: Worktree, blobs: Iterable[str]) -> dict[str, bytes]:
    """The blobs among these that are loose objects, as new ones are: reading them costs less than a run of git."""
    contents = {}
    for blob in blobs:
        try:
            with open(worktree.common_dir / "objects" / blob[:2] / blob[2:], "rb") as file:
                raw = zlib.decompressobj().decompress(file.read(), TEXT_LIMIT + 100)
        except (OSError, zlib.error):
            continue
        header, _, data = raw.partition(b"\0")
        if header == b"blob %d" % len(data) and len(data) <= TEXT_LIMIT:
            contents[blob] = data
    return contents


def behind(commits: Mapping[str, RawCommit], tip: str) -> Iterator[RawCommit]:
    """A tip and its first parents among these commits, newest first, without merges: these propose nothing."""
    commit = commits.get(tip)
    while commit is not None:
        if len(commit.parents) < 2:
            yield commit
        commit = commits.get(commit.parents[0]) if commit.parents else None


class Ancestry:
    """Answers whether a commit is an ancestor of another; parents have smaller numbers, and -1 stands for no commit.

    The line of first parents from the tip is the trunk. For every commit there is the last trunk commit at or before it
    (`below`) and the first that contains it (`entered`); the history is walked only where these do not decide.
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
            last = max((self._below[parent] for parent in before if parent >= 0), default=-1)
            self._below.append(places.get(node, last))

    def is_ancestor(self, node: int, other: int) -> bool:
        """True if `other` contains `node`; a commit contains itself, and every commit contains -1."""
        if node < 0 or node == other:
            return True
        if node > other:
            return False
        return self._entered[node] <= self._below[other] or self._reaches(other, node)

    def between(self, before: int, after: int) -> list[int]:
        """Every commit that `after` contains and `before` does not, newest first."""
        waiting, met = [after], set()
        while waiting:
            at = waiting.pop()
            if at >= 0 and at not in met and not self.is_ancestor(at, before):
                met.add(at)
                waiting.extend(self.parents[at])
        return sorted(met, reverse=True)

    def _reaches(self, start: int, goal: int) -> bool:
        """Walk back from `start`, not through the trunk: `_entered` and `_below` exclude that way."""
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


_COMMIT: Final = re.compile(rb"tree [0-9a-f]{40}\n((?:parent [0-9a-f]{40}\n)*)")


def read_commit(store: BaseObjectStore, name: ObjectID) -> RawCommit:
    """A commit by its own lines: dulwich refuses some that git takes. Raises KeyError: there is no such commit."""
    hexed = name.decode()
    try:
        with open(f"{os.fspath(store.path)}/{hexed[:2]}/{hexed[2:]}", "rb") as file:  # type: ignore[attr-defined]  # of a repository on disk
            kind, _, data = zlib.decompress(file.read()).partition(b"\0")
    except FileNotFoundError:
        number, data = store.get_raw(name)
        kind = b"commit" if number == Commit.type_num else b""
    start = _COMMIT.match(data)
    if start is None or not kind.startswith(b"commit"):
        raise KeyError(name)
    header, _, message = data.partition(b"\n\n")
    names = b" ".join([name, *(line[7:] for line in start[1].splitlines())])
    return RawCommit(b"%s\n%s\n\n    %s" % (names, header, message.replace(b"\n", b"\n    ")))


DAMAGED: Final = (KeyError, EOFError, ChecksumMismatch, FileFormatException, WrongObjectException, zlib.error)
"""What dulwich raises at an object that is missing, damaged, or another one than it has to be there."""

PLAIN, EXECUTABLE, FOLDER = 0o100644, 0o100755, 0o040000
TreeEntry = tuple[int, ObjectID]  # Mode and id of what lies in a tree
PACK_FROM, FEW_PACKS, MANY = 24, 50, 120
"""So many objects become a pack, which a disk syncs in a tenth of the time of as many files, unless there are as many
packs as `git gc --auto` leaves alone, because reads try one pack after the other. `MANY` objects always become one."""

_TEMPORARY = "tmp_obj_"  # git gc removes what is left over under this name
_SYNC_THREADS = 32  # the file system brings files to the disk together: 30 at once take 15 ms, one by one 100


@contextmanager
def opened(worktree: Worktree) -> Iterator[Repo]:
    """The accepted repository as dulwich sees it. Raises UnsupportedRepository: not to be read, or damaged."""
    tree = None if worktree.top == worktree.git_dir else os.fspath(worktree.top)
    try:
        with Repo(os.fspath(worktree.top), controldir=os.fspath(worktree.git_dir), worktree=tree) as repo:
            yield repo
    except (NotGitRepository, UnsupportedExtension, UnsupportedVersion) as error:
        raise UnsupportedRepository(f"the repository at {worktree.top} cannot be read: {error}") from error
    except DAMAGED as error:
        raise UnsupportedRepository(
            f"an object of the repository at {worktree.top} is missing or damaged: {error}",
            hint=f"look closer: git -C {worktree.top} fsck",
        ) from error


def data_of(repo: Repo, blob: str) -> bytes:
    """The bytes of a blob."""
    stored = repo.object_store[ObjectID(blob.encode())]
    return stored.data if isinstance(stored, Blob) else b""


class Draft:
    """New objects in the making, on top of those that the repository has. Nothing is on disk before `save`."""

    def __init__(self, repo: Repo) -> None:
        self._store = repo.object_store
        self._folder = os.fspath(repo.object_store.path)
        self._new: dict[ObjectID, ShaFile] = {}
        self._trees: dict[ObjectID, Tree] = {}  # as they were read: edits are made to copies

    def blob(self, data: bytes) -> ObjectID:
        """A new content."""
        return self._add(Blob.from_string(data))

    def tree_of(self, commit: ObjectID | str) -> ObjectID:
        """The tree of a commit."""
        commit = ObjectID(commit.encode()) if isinstance(commit, str) else commit
        made = self._new.get(commit)
        return ObjectID(made.as_raw_string()[5:45] if made else read_commit(self._store, commit).tree.encode())

    def lookup(self, tree: ObjectID | None, path: bytes) -> TreeEntry | None:
        """Mode and id of what lies at `path` in a tree."""
        mode = FOLDER
        for part in path.split(b"/"):
            if tree is None or not stat.S_ISDIR(mode):
                return None
            try:
                mode, tree = self._tree(tree)[part]
            except KeyError:
                return None
        return None if tree is None else (mode, tree)

    def edit(self, tree: ObjectID | None, changes: Mapping[bytes, TreeEntry | None]) -> ObjectID:
        """The tree with these paths set or (None) removed. Raises Conflict: a path leads into a submodule."""
        return self._edit(tree, changes) or self._add(Tree())

    def _edit(self, tree: ObjectID | None, changes: Mapping[bytes, TreeEntry | None]) -> ObjectID | None:
        edited = Tree()
        for name, mode, sha in self._tree(tree).iteritems() if tree else ():
            edited.add(name, mode, sha)
        below: dict[bytes, dict[bytes, TreeEntry | None]] = {}
        for path, value in changes.items():
            name, _, inner_path = path.partition(b"/")
            if inner_path:
                below.setdefault(name, {})[inner_path] = value
            elif value is not None:
                edited[name] = value
            elif name in edited:
                del edited[name]
        for name, inner in below.items():
            mode, old = edited[name] if name in edited else (FOLDER, None)  # noqa: SIM401 - a dulwich Tree has no get
            if stat.S_IFMT(mode) == 0o160000:
                raise Conflict(f"{os.fsdecode(name)} is a repository of its own; nothing is committed into it")
            made = self._edit(old if stat.S_ISDIR(mode) else None, inner)
            if made is not None:
                edited[name] = (FOLDER, made)
            elif name in edited and stat.S_ISDIR(mode):
                del edited[name]
        return self._add(edited) if len(edited) else None

    def commit(
        self,
        tree: ObjectID,
        parents: Sequence[ObjectID],
        message: str,
        *,
        author: tuple[str, int, int],
        committer: tuple[str, int, int],
    ) -> ObjectID:
        """A new commit; people are (`Name <email>`, seconds since 1970, seconds east of UTC)."""
        made = Commit()
        made.tree, made.parents, made.message = tree, list(parents), message.encode()
        made.author, made.author_time, made.author_timezone = author[0].encode(), author[1], author[2]
        made.committer, made.commit_time, made.commit_timezone = committer[0].encode(), committer[1], committer[2]
        return self._add(made)

    def save(self) -> None:
        """Bring every new object, whole, to the disk, surely there when this returns. Raises StorageFailed."""
        new = list(self._new.values())
        with translated(self._folder, writing=True):
            packs = sum(1 for _ in Path(self._folder, "pack").glob("*.idx")) if len(new) >= PACK_FROM else 0
            # whether packs have one already is not asked: to open them all would cost more than a second copy
            if len(new) >= MANY or (len(new) >= PACK_FROM and packs < FEW_PACKS):
                _write_pack(self._folder, new)
            else:
                lacking = [made for made in new if not self._is_loose(made.id)]
                for start in range(0, len(lacking), _SYNC_THREADS):
                    _write_some(self._folder, lacking[start : start + _SYNC_THREADS])
        self._new.clear()

    def _add(self, made: ShaFile) -> ObjectID:
        # as one piece: dulwich's trees come in a piece for each entry, which is slow to hash and to compress
        whole = ShaFile.from_raw_string(made.type_num, made.as_raw_string())
        self._new[whole.id] = whole
        if isinstance(made, Tree):
            self._trees[whole.id] = made
        return whole.id

    def _tree(self, name: ObjectID) -> Tree:
        if name not in self._trees:
            tree = self._new.get(name) or self._store[name]
            if not isinstance(tree, Tree):
                raise KeyError(name)
            self._trees[name] = tree
        return self._trees[name]

    def _is_loose(self, name: ObjectID) -> bool:
        place = f"{self._folder}/{name.decode()[:2]}/{name.decode()[2:]}"
        with suppress(FileNotFoundError):
            # after a power cut git's own objects may be empty files, and writing them again is what mends that
            if not os.stat(place).st_size:
                return False
            with suppress(PermissionError):
                os.utime(place)  # as git does: `git gc` removes what nothing points to and is two weeks old
            return True
        return False


def _write_some(folder: str, objects: Sequence[ShaFile]) -> None:
    waiting: list[tuple[int, str, str]] = []
    try:
        for made in objects:
            hexed = made.id.decode()
            place = f"{folder}/{hexed[:2]}"
            if not os.path.isdir(place):
                with suppress(FileExistsError):
                    os.mkdir(place)
                    # a repository that a group shares says so by the mode of its folders
                    os.chmod(place, stat.S_IMODE(os.stat(folder).st_mode))
            temporary = f"{place}/{_TEMPORARY}{secrets.token_hex(8)}"
            fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o444)
            waiting.append((fd, temporary, f"{place}/{hexed[2:]}"))
            raw = made.as_raw_string()
            write_all(fd, zlib.compress(b"%s %d\0" % (made.type_name, len(raw)) + raw, 1))
        if len(waiting) > 1:
            with ThreadPoolExecutor(len(waiting)) as pool:
                list(pool.map(os.fsync, [fd for fd, _, _ in waiting]))
        else:
            os.fsync(waiting[0][0])
        for _, temporary, final in waiting:
            os.rename(temporary, final)
    finally:
        for fd, temporary, _ in waiting:
            os.close(fd)
            with suppress(FileNotFoundError):
                os.unlink(temporary)


def _write_pack(folder: str, objects: Sequence[ShaFile]) -> None:
    """One pack and its index, the index last: git sees the pack only once it is complete. Then their folder."""
    data, index = io.BytesIO(), io.BytesIO()
    entries, checksum = write_pack_objects(
        data, [(made, None) for made in objects], objects[0].object_format, deltify=False, compression_level=1
    )
    rows = sorted((name, offset, crc) for name, (offset, crc) in entries.items())
    write_pack_index_v2(index, rows, checksum)
    os.makedirs(f"{folder}/pack", exist_ok=True)
    for content, suffix in ((data, ".pack"), (index, ".idx")):
        temporary = Path(f"{folder}/pack/tmp_pack_{secrets.token_hex(8)}")
        write_new(temporary, content.getvalue(), durable=True, mode=0o444)
        os.rename(temporary, f"{folder}/pack/pack-{checksum.hex()}{suffix}")
    place = os.open(f"{folder}/pack", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(place)  # its names have to be on the disk before a branch needs the objects
    finally:
        os.close(place)


_MOST: Final = 1 << 20  # Bytes of attributes that are looked through
_IN: Final = ("filter", "ident", "working-tree-encoding")


def stored(
    worktree: Worktree, draft: Draft, contents: Mapping[str, bytes]
) -> tuple[dict[str, ObjectID], dict[str, StorageFailed]]:
    """Blobs of files by path (from the root), as `git add` would make them, and why there is none.

    What no filter and no line-ending rule of the user's would change costs no program.
    """
    filtered = plumbing.filtered(worktree, contents, _IN) if contents else frozenset()
    made: dict[str, ObjectID] = {}
    failed = {}
    for path, data in contents.items():
        if path not in filtered and b"\r\n" not in data:
            made[path] = draft.blob(data)
            continue
        done = plumbing.run(worktree, "hash-object", "-w", "--stdin", f"--path={path}", cwd=worktree.root, stdin=data)
        if done.code:
            why = done.err.rpartition("\n")[2] or "git said no"
            hint = "what its filter would hide stays out of git: mend the filter (git config --get-regexp filter)"
            failed[path] = StorageFailed(f"{path} was not stored, because its git filter failed ({why})", hint=hint)
        else:
            made[path] = cast("ObjectID", done.out.strip())
    return made, failed


def blobs(worktree: Worktree, draft: Draft, contents: Mapping[str, bytes]) -> dict[str, ObjectID]:
    """Blobs of files by path (from the root), as `git add` would make them. Raises StorageFailed: a filter failed."""
    made, failed = stored(worktree, draft, contents)
    for fault in failed.values():
        raise fault
    return made


def texts(worktree: Worktree, paths: Mapping[str, str], raw: Mapping[str, bytes]) -> dict[str, bytes]:
    """Contents by blob as a checkout at these paths (by blob, from the root) would show them, lines ended by LF.

    Where a filter fails it is what git keeps. Programs are started only where there may be a filter.
    """
    folders: dict[str, bool] = {}
    candidates = {
        blob: path
        for blob, path in paths.items()
        if blob in raw and (_mentioned(worktree, path, folders) or (is_markdown(path) and raw[blob][:3] != b"---"))
    }
    filtered = plumbing.filtered(worktree, candidates.values(), ("filter",)) if candidates else frozenset()
    names = [blob for blob, path in candidates.items() if path in filtered]

    def smudged(blobs: Sequence[str]) -> list[tuple[str, bytes]]:
        return list(plumbing.smudged(worktree, {blob: paths[blob] for blob in blobs}).items())

    return {**raw, **dict(readable(names, smudged)[0])} if names else dict(raw)


def text_of(worktree: Worktree, repo: Repo, path: str, blob: str) -> bytes:
    """The text of one blob at a path (from the root); see `texts`."""
    return texts(worktree, {blob: path}, {blob: data_of(repo, blob)})[blob]


def read_texts(worktree: Worktree, paths: Mapping[str, str]) -> dict[str, bytes]:
    """`texts` of blobs as `read_blobs` reads them."""
    return texts(worktree, paths, read_blobs(worktree, paths))


def _mentioned(worktree: Worktree, path: str, folders: dict[str, bool]) -> bool:
    """Whether attributes that may hold for a path name a filter; `folders` caches what was read before."""
    folder = (worktree.prefix + path).rpartition("/")[0]
    places = [os.path.expanduser("~/.config/git/attributes"), str(worktree.common_dir / "info" / "attributes")]
    names = ["", *(folder[: n + 1] for n, sign in enumerate(folder + "/") if sign == "/")] if folder else [""]
    places += [os.path.join(worktree.top, name.rstrip("/"), ".gitattributes") for name in names]
    for place in places:
        if place not in folders:
            try:
                with open(place, "rb") as file:
                    folders[place] = b"filter" in file.read(_MOST)
            except OSError:
                folders[place] = False
    return any(folders[place] for place in places)


_EMPTY_BLOB = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"  # the empty blob, also that of `git add --intent-to-add`
HALF_WRITTEN = 0.2  # Seconds for which a file shorter than what we wrote counts as one that git is writing


class GitLocked(Conflict):
    """Git holds a lock, or moved the branch first; nothing was changed, and the caller may try again."""


class Here(NamedTuple):
    """One path: the blob that the branch had (or None); what is on disk, `odd` if no plain file is.

    `staged`: the user's index differs from the branch here.
    """

    old: str | None
    blob: str | None
    data: bytes | None
    staged: bool
    odd: bool

    @property
    def untouched(self) -> bool:
        """True if both disk and index hold what the branch had."""
        return not self.staged and self.has(self.old)

    def has(self, blob: str | None) -> bool:
        """True if that is on disk."""
        return not self.odd and self.blob == blob


def here(worktree: Worktree, repo: Repo, before: Mapping[str, tuple[str | None, str | None]]) -> dict[str, Here]:
    """What is at the paths of `before`, with the blobs before and after a change. Raises Conflict: of git's index."""
    index = staged(worktree, [worktree.prefix + path for path in before])
    disk, made = status_of(worktree, Draft(repo), map(PendingChange, before)), {}
    for fault in disk.unreadable.values():
        raise fault
    for path, (old, new) in before.items():
        edited = index.get(worktree.prefix + path) not in {old, new}  # staged just what comes: nothing is lost by it
        blob = disk.files[path][1].decode() if path in disk.files else None
        odd = path not in disk.files and path not in disk.gone
        made[path] = Here(old, blob, disk.data.get(path), edited, odd)
    return made


class OnDisk(NamedTuple):
    """The state of paths: bytes and git's entry, no file, or an error; a link or folder is in none of these."""

    data: Mapping[str, bytes]
    files: Mapping[str, TreeEntry]
    gone: frozenset[str]
    unreadable: Mapping[str, StorageFailed]

    def entry_for(self, noted: PendingChange) -> tuple[bool, TreeEntry | None]:
        """(True, the entry for the commit), or (False, None) where the user has removed or made the file since."""
        if noted.gone:
            return noted.path in self.gone, None
        return noted.path in self.files, self.files.get(noted.path)


def status_of(worktree: Worktree, draft: Draft, paths: Iterable[PendingChange]) -> OnDisk:
    """Read every path once and make its blob. Where git heeds no modes the first note says what is executable.

    Raises GitLocked: git is writing one of the files.
    """
    data, modes, gone, unreadable = dict[str, bytes](), dict[str, int](), set(), {}
    file_modes = read_settings(worktree.common_dir / "config").get("core.filemode", "true") != "false"
    for path, noted in {noted.path: noted for noted in reversed(list(paths))}.items():
        try:
            data[path], status = files.read_file(worktree.root, path, sys.maxsize - 1)
        except NotFound:
            gone.add(path)
        except (Refused, InvalidEntry):
            continue  # a link, a folder: the user's, and not to be touched
        except StorageFailed as error:
            unreadable[path] = error
        else:
            if len(data[path]) < (noted.size or 0) and time.time() - status.st_mtime < HALF_WRITTEN:
                raise GitLocked(f"git is writing {path}")
            modes[path] = EXECUTABLE if (status.st_mode & 0o100 if file_modes else noted.executable) else PLAIN
    blob_ids, failed = stored(worktree, draft, data)
    made = {path: (modes[path], blob) for path, blob in blob_ids.items()}
    return OnDisk(data, made, frozenset(gone), {**unreadable, **failed})


def staged(worktree: Worktree, paths: Iterable[str]) -> dict[str, str]:
    """The blobs that the index holds of paths below the worktree's top. Raises Conflict: of one path."""
    names = frozenset(paths)
    literal = {"GIT_LITERAL_PATHSPECS": "1"}
    done = plumbing.run(worktree, "ls-files", "-s", "-z", "--", *sorted(names), extra=literal) if names else None
    blobs = {}
    for row in done.out.split(b"\0")[:-1] if done else ():
        entry, _, name = row.partition(b"\t")
        _, blob, stage = entry.decode().split(" ")
        path = os.fsdecode(name)
        if path in names and stage != "0":
            raise Conflict(f"{path} is in conflict", hint=f"resolve it: git add {path}")
        if path in names and blob != _EMPTY_BLOB:
            blobs[path] = blob
    return blobs


UNDER_WAY, SETTLE = 3.0, 1.0  # Seconds a git command counts as under way that has not moved HEAD yet, and that has
_TRACES = ("FETCH_HEAD", "COMMIT_EDITMSG", "MERGE_MSG", "AUTO_MERGE", "ORIG_HEAD", "logs/refs/stash")
_UNDER_WAY = {
    "MERGE_HEAD": "a merge is under way; finish it (git commit) or give it up (git merge --abort)",
    "CHERRY_PICK_HEAD": "a cherry-pick is under way; finish it or give it up (git cherry-pick --abort)",
    "REVERT_HEAD": "a revert is under way; finish it or give it up (git revert --abort)",
    "BISECT_LOG": "a bisect is under way; end it with git bisect reset",
    "rebase-merge": "a rebase is under way; finish it or give it up (git rebase --abort)",
    "rebase-apply": "a rebase is under way; finish it or give it up (git rebase --abort)",
    "sequencer": "a cherry-pick or revert is under way; finish it or give it up",
}


def busy(worktree: Worktree) -> str:
    """The git operation under way that prevents a commit, or an empty string."""
    return next((reason for name, reason in _UNDER_WAY.items() if (worktree.git_dir / name).exists()), "")


def index_mark(worktree: Worktree) -> str:
    """A mark that changes with git's index; empty if there is none."""
    try:
        status = (worktree.git_dir / "index").stat()
    except FileNotFoundError:
        return ""
    return f"{status.st_ino} {status.st_mtime_ns} {status.st_size}"


def at_work(worktree: Worktree, ours: str | None) -> float:
    """For how many seconds the user's git still counts as under way; `ours` is the last commit that we made here.

    It would fail if HEAD moved meanwhile, and another command often follows.
    """
    now, head = time.time(), read_head(worktree)
    places = [worktree.git_dir / "logs" / "HEAD", worktree.git_dir / "HEAD"]
    moved = max(map(_mtime, [*places, worktree.common_dir / head.ref] if head.ref else places))
    trace = max(_mtime(worktree.git_dir / name) for name in _TRACES)
    if trace > moved:
        return max(UNDER_WAY - abs(now - trace), 0.0)
    return max(SETTLE - abs(now - moved), 0.0) if head.commit != ours else 0.0


def _mtime(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0
