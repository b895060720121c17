"""The history that approval is judged by, read strictly.

A commit that git would not have written proves nothing.
"""

from __future__ import annotations

import codecs
import os
import re
from collections import Counter
from functools import cached_property, lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from ai_lessons.errors import UnsupportedRepository
from ai_lessons.git import plumbing
from ai_lessons.git.worktree import is_partial
from ai_lessons.model import expression
from ai_lessons.model.approval import (
    TEXT_LIMIT,
    CommitInfo,
    PathChange,
    Person,
    is_rule,
    is_watched,
)
from ai_lessons.model.layout import is_markdown

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from ai_lessons.git.worktree import Worktree

T = TypeVar("T")
# seconds for the first reading of a long history
PATIENCE: Final = 600.0

# Bytes of a commit message that are read, those of a merge that approves a thousand rules: a longer
# one has no trailers
MESSAGE_LIMIT: Final = 512 * 1024
# who made an odd commit
UNKNOWN: Final = Person("", "")
EMPTY_TREE: Final = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
# Of the year 9999, which is as far as dates can be shown
_LAST_SECOND: Final = 253_402_300_799
AS_IT_IS: Final = {**plumbing.OFFLINE, "GIT_GRAFT_FILE": "/dev/null", "GIT_FLUSH": "0"}
_PERSON: Final = rb"([^<>\n]*?) ?<([^<>\n]+)> (\d{1,12}) [+-]\d{4}"
_HEADER: Final = expression(
    rb"tree ([0-9a-f]{40})\n((?:parent [0-9a-f]{40}\n)*)author "
    + _PERSON
    + rb"\ncommitter "
    + _PERSON
    + rb"(\n.*)?",
    re.DOTALL,
)
_REST: Final = expression(
    rb"(?:\n(?:gpgsig|gpgsig-sha256|mergetag|change-id|encoding) [^\n]*(?:\n [^\n]*)*)*"
)
_ENCODING: Final = expression(rb"^encoding (.*)$", re.MULTILINE)
_ENCODINGS: Final = expression(
    r"utf-?8|us-ascii|iso-?8859-\d{1,2}|latin-?1|(?:windows-|cp)125\d|koi8-[ru]", re.IGNORECASE
)
_CHANGE: Final = expression(
    rb"([0-9a-f]{40}) ([0-9a-f]{40})\n|:(\d{6}) (\d{6}) ([0-9a-f]{40}) ([0-9a-f]{40}) "
    rb"[A-Z]\0([^\0]*)\0"
)
_FILES: Final = frozenset((b"100644", b"100755"))
_UNDECODED: Final = expression("[\ud800-\udfff]")


class RawCommit:
    """One commit; `parents` are those that git follows here.

    `changes` are those against each of them, or against the empty tree. `mixed`: against its first
    parent it changes other files, too, than `changes` tell.
    """

    def __init__(self, record: bytes) -> None:
        """One record of `rev-list --header --parents`, whatever stands in it."""
        names, _, self._record = record.partition(b"\n")
        self.id, *parents = names.decode().split()
        self.parents = tuple(parents)
        self.tree = self._record[5:45].decode("ascii", "replace")
        self.changes: tuple[tuple[PathChange, ...], ...] = ()
        self.mixed = False

    @cached_property
    def info(self) -> CommitInfo:
        """Its header and message, parsed at the first use."""
        header, _, body = self._record.partition(b"\n\n")
        match = _HEADER.fullmatch(header)
        if match is None or not _REST.fullmatch(match[9] or b""):
            return CommitInfo(
                UNKNOWN, UNKNOWN, 0, 0, "", cut=False, odd="its header is not one that git writes"
            )
        cut = tuple(line[7:].decode() for line in match[2].splitlines()) != self.parents
        try:
            author, committer, message = _people_and_message(match, body)
        except ValueError as error:
            return CommitInfo(UNKNOWN, UNKNOWN, 0, 0, "", cut, str(error))
        times, further = (int(match[5]), int(match[8])), match[9] or b""
        signed, of_tag = b"\ngpgsig " in further, b"\nmergetag " in further
        return CommitInfo(author, committer, *times, message, cut, "", signed, of_tag)


def read(worktree: Worktree, tips: Sequence[str], without: Sequence[str] = ()) -> list[RawCommit]:
    """Commits reachable from `tips` and not from `without`, parents first.

    Raises UnsupportedRepository.
    """
    history = commits(worktree, tips, without=without)
    trees, parents = {}, set[str]()
    for commit in history:
        trees[commit.id] = commit.tree
        parents.update(commit.parents)
    outside = sorted(parents - trees.keys())
    trees |= dict(zip(outside, _trees(worktree, outside), strict=True))
    pairs: list[list[tuple[str, str]]] = []
    differing = set[tuple[str, str]]()
    for commit in history:
        against = [(trees[parent], commit.tree) for parent in commit.parents]
        pairs.append(against or [(EMPTY_TREE, commit.tree)])
        # An empty commit, as a merge that takes one side whole, has nothing to ask git for
        differing.update(pair for pair in pairs[-1] if pair[0] != pair[1])
    changed, mixed = _changes(worktree, differing)
    for commit, several in zip(history, pairs, strict=True):
        commit.changes = tuple([changed.get(pair, ()) for pair in several])
        commit.mixed = several[0] in mixed
    if worktree.prefix:
        first_pairs = [several[0] for several in pairs]
        _look_outside(worktree, [*zip(history, first_pairs, strict=True)])
    return history


def _look_outside(worktree: Worktree, history: Sequence[tuple[RawCommit, tuple[str, str]]]) -> None:
    """Mark as mixed what also changes files outside of the folder.

    Asked of commits alone that could approve a rule.
    """
    asked = []
    pairs = set[tuple[str, str]]()
    for commit, pair in history:
        if not any(commit.changes) or commit.mixed:
            continue
        asked.append((commit, pair))
        # A merge approves by its words, and not by what it brings alone
        if len(commit.parents) == 1:
            pairs.add(pair)
    _, mixed = _changes(worktree, pairs, everywhere=True)
    for commit, pair in asked:
        commit.mixed = pair in mixed


def imagined_merge(worktree: Worktree, into: str, side: str, message: str) -> RawCommit | None:
    """The commit with which git would merge `side`, by nobody in particular.

    None where they conflict.

    Raises UnsupportedRepository.
    """
    merged = plumbing.run(
        worktree, "--no-replace-objects", "merge-tree", "--write-tree", "--name-only", into, side
    )
    if merged.code:
        return None
    tree, who = merged.text.split("\n")[0], "nobody <nobody@ai-lessons.invalid> 0 +0000"
    body = f"tree {tree}\nparent {into}\nparent {side}\nauthor {who}\ncommitter {who}\n\n    {message}\n"
    commit = RawCommit(f"{'0' * 40} {into} {side}\n{body}".encode())
    trees = _trees(worktree, [into, side])
    changed, _ = _changes(worktree, {(before, tree) for before in trees if before != tree})
    commit.changes = tuple(changed.get((before, tree), ()) for before in trees)
    return commit


def _trees(worktree: Worktree, commits: Sequence[str]) -> list[str]:
    names = []
    for commit in commits:
        names.append(f"{commit}^{{tree}}")
    trees: list[str] = []
    for row, _ in plumbing.objects(worktree, names, contents=False):
        trees.append(row[0].decode())
    return trees


def commits(
    worktree: Worktree, tips: Sequence[str], newest: int | None = None, without: Sequence[str] = ()
) -> list[RawCommit]:
    """Commits as `read` returns them, or only the `newest`, without their changes.

    Raises UnsupportedRepository.
    """
    if newest is None:
        limit = []
    else:
        limit = [f"--max-count={newest}"]
    flags = (
        "--header",
        "--parents",
        "--topo-order",
        "--reverse",
        "--encoding=none",
        *limit,
        "--stdin",
    )
    revisions = "".join(f"{commit}\n" for commit in tips) + "".join(
        f"^{commit}\n" for commit in without
    )
    records = _git(worktree, "rev-list", *flags, stdin=revisions.encode()).split(b"\0")
    commits: list[RawCommit] = []
    for record in records:
        if record:
            commits.append(RawCommit(record))
    return commits


def contained(worktree: Worktree, tip: str, commits: Collection[str]) -> set[str]:
    """Those of the commits that are `tip` or an ancestor of it.

    Never one that is missing or has missing ancestors.
    """
    inside = around(worktree, tip, commits)
    held: set[str] = set()
    for commit in commits:
        if inside.get(commit):
            held.add(commit)
    return held


def around(worktree: Worktree, tip: str, commits: Collection[str]) -> dict[str, bool]:
    """Whether `tip` is or contains each of the commits.

    Also those that it lacks behind them, and where these left it.
    """
    names = []
    for commit in dict.fromkeys(commits):
        if commit:
            names.append(commit)
    rows = []
    for row, _ in plumbing.objects(worktree, names, contents=False):
        rows.append(row)
    present = [row[0].decode() for row in rows if row[1:2] == [b"commit"]]

    def outside(part: Sequence[str]) -> list[str]:
        revisions = "\n".join([*part, f"^{tip}"]).encode() + b"\n"
        return _git(worktree, "rev-list", "--boundary", "--stdin", stdin=revisions).decode().split()

    lines, broken = readable(present, outside) if present else ([], set())
    edges = set()
    for line in lines:
        if line[0] == "-":
            edges.add(line[1:])
    lacking = {line for line in lines if line[0] != "-"} | broken | ({*commits} - {*present})
    return dict.fromkeys([*present, *edges], True) | dict.fromkeys(lacking, False)


def readable(
    tips: Sequence[str], read: Callable[[Sequence[str]], list[T]]
) -> tuple[list[T], set[str]]:
    """What `read` returns for these tips, and the tips at which it raises UnsupportedRepository.

    Raises UnsupportedRepository: it also does for no tips.
    """
    try:
        return read(tips), set()
    except UnsupportedRepository:
        if len(tips) < 2:
            # raises where the fault is not the tip's
            read(())
            return [], set(tips)
    half = len(tips) // 2
    first, broken = readable(tips[:half], read)
    second, also_broken = readable(tips[half:], read)
    return first + second, broken | also_broken


def read_blobs(worktree: Worktree, blobs: Iterable[str]) -> dict[str, bytes]:
    """The contents of blobs up to `TEXT_LIMIT` bytes.

    Longer, missing and damaged ones are left out.
    """
    ids = sorted({*blobs})
    # in a partial clone git stops at the first one that it may not fetch
    rows = []
    for row, _ in plumbing.objects(worktree, _here(worktree, ids), contents=False):
        rows.append(row)
    small = [
        row[0].decode()
        for row in rows
        if len(row) == 3 and row[1] == b"blob" and int(row[2]) <= TEXT_LIMIT
    ]

    def read(part: Sequence[str]) -> list[tuple[str, bytes]]:
        answers = plumbing.objects(worktree, part, contents=True)
        answered: list[tuple[str, bytes]] = []
        for row, data in answers:
            if len(row) == 3:
                answered.append((row[0].decode(), data))
        return answered

    return dict(readable(small, read)[0])


def _here(worktree: Worktree, ids: list[str]) -> list[str]:
    """The objects that are not missing."""
    if not is_partial(worktree):
        return ids
    # only partial clones lack any
    from dulwich.objects import ObjectID
    from dulwich.repo import Repo

    with Repo(
        os.fspath(worktree.top),
        controldir=os.fspath(worktree.git_dir),
        worktree=os.fspath(worktree.top),
    ) as repo:
        present: list[str] = []
        for name in ids:
            if ObjectID(name.encode()) in repo.object_store:
                present.append(name)
        return present


def _git(worktree: Worktree, *arguments: str, stdin: bytes) -> bytes:
    flags = ("--no-replace-objects", "-c", "advice.graftFileDeprecated=false")
    done = plumbing.run(worktree, *flags, *arguments, stdin=stdin, extra=AS_IT_IS, timeout=PATIENCE)
    if done.code:
        what = done.err.rpartition("\n")[2] or f"git {arguments[0]} failed"
        hint = plumbing.missing_hint(worktree)
        raise UnsupportedRepository(
            f"the history of {worktree.top} cannot be read: {what}", hint=hint
        )
    return done.out


def person(raw: bytes) -> Person:
    """The person of `Name <email>`, as git objects have it; UNKNOWN for anything else."""
    match = re.fullmatch(r"(.*?) ?<([^<>]*)>", raw.decode(errors="replace"), re.DOTALL)
    if match:
        return Person(match[1], match[2])
    return UNKNOWN


def _people_and_message(header: re.Match[bytes], body: bytes) -> tuple[Person, Person, str]:
    """Author, committer and message. Raises ValueError with the reason why they prove nothing."""
    encodings = _ENCODING.findall(header[9] or b"")
    if encodings:
        encoding = encodings[0].decode("ascii", "replace")
    else:
        encoding = "utf-8"
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


def _changes(
    worktree: Worktree, pairs: Collection[tuple[str, str]], *, everywhere: bool = False
) -> tuple[dict[tuple[str, str], tuple[PathChange, ...]], set[tuple[str, str]]]:
    """The differences between trees in rule files and watched files.

    Also the pairs that differ in other files, too. `everywhere`: also outside of our folder.
    """
    changes: dict[tuple[str, str], tuple[PathChange, ...]] = {}
    mixed: set[tuple[str, str]] = set()
    if not pairs:
        return changes, mixed
    only = ("--", worktree.prefix) if worktree.prefix and not everywhere else ()
    flags = (
        "diff-tree",
        "--stdin",
        "-r",
        "-z",
        "--raw",
        "--no-abbrev",
        "--no-renames",
        "--no-relative",
        *only,
    )
    out = _git(worktree, *flags, stdin="".join(f"{old} {new}\n" for old, new in pairs).encode())
    start, at = worktree.prefix.encode(), 0
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
            else:
                mixed.add(pair)
        else:
            mixed.add(pair)
    if at != len(out):
        raise UnsupportedRepository(f"git lists changes in {worktree.top} in an unknown format")
    changes[pair] = tuple(files)
    return changes, mixed


def behind(commits: Mapping[str, RawCommit], tip: str) -> Iterator[RawCommit]:
    """A tip and its first parents among these commits, newest first, without merges.

    These propose nothing.
    """
    commit = commits.get(tip)
    while commit is not None:
        if len(commit.parents) < 2:
            yield commit
        if commit.parents:
            commit = commits.get(commit.parents[0])
        else:
            commit = None


# Bytes of attributes that are looked through
_MOST: Final = 1 << 20


def texts(
    worktree: Worktree, paths: Mapping[str, str], raw: Mapping[str, bytes]
) -> dict[str, bytes]:
    """Contents by blob as a checkout at these paths would show them, lines ended by LF.

    The paths are by blob, from the root. Where a filter fails it is what git keeps. Programs are
    started only where there may be a filter.
    """
    folders: dict[str, bool] = {}
    candidates = {}
    for blob, path in paths.items():
        if blob in raw and (
            _mentioned(worktree, path, folders) or (is_markdown(path) and raw[blob][:3] != b"---")
        ):
            candidates[blob] = path
    if candidates:
        filtered = plumbing.attributes_of(worktree, candidates.values(), "filter")
    else:
        filtered = {}
    names = [blob for blob, path in candidates.items() if path in filtered]

    def smudged(blobs: Sequence[str]) -> list[tuple[str, bytes]]:
        return list(plumbing.smudged(worktree, {blob: paths[blob] for blob in blobs}).items())

    if names:
        return {**raw, **dict(readable(names, smudged)[0])}
    return dict(raw)


def filtered(worktree: Worktree, paths: Iterable[str]) -> frozenset[str]:
    """Those of these paths whose files go through a filter.

    Then git keeps other bytes of them. The paths are from the root.
    """
    folders: dict[str, bool] = {}
    candidates = []
    for path in paths:
        if _mentioned(worktree, path, folders):
            candidates.append(path)
    if candidates:
        return frozenset(plumbing.attributes_of(worktree, candidates, "filter"))
    return frozenset()


def read_texts(worktree: Worktree, paths: Mapping[str, str]) -> dict[str, bytes]:
    """`texts` of blobs as `read_blobs` reads them."""
    return texts(worktree, paths, read_blobs(worktree, paths))


def _mentioned(worktree: Worktree, path: str, folders: dict[str, bool]) -> bool:
    """Whether attributes that may hold for a path name a filter.

    `folders` caches what was read before.
    """
    folder = (worktree.prefix + path).rpartition("/")[0]
    if folder in folders:
        return folders[folder]
    places = [
        os.path.expanduser("~/.config/git/attributes"),
        str(worktree.common_dir / "info" / "attributes"),
    ]
    if folder:
        names = ["", *(folder[: n + 1] for n, sign in enumerate(folder + "/") if sign == "/")]
    else:
        names = [""]
    places += [os.path.join(worktree.top, name.rstrip("/"), ".gitattributes") for name in names]
    for place in places:
        if place not in folders:
            try:
                with open(place, "rb") as file:
                    folders[place] = b"filter" in file.read(_MOST)
            except OSError:
                folders[place] = False
    folders[folder] = any(folders[place] for place in places)
    return folders[folder]


class ChangingCommit(NamedTuple):
    """A commit and the paths that it changed.

    Its whole and short name, the day, the seconds since 1970.
    """

    id: str
    name: str
    author: str
    day: str
    time: int
    paths: list[str]


def changing(worktree: Worktree, paths: Collection[str], most: int) -> list[ChangingCommit]:
    """The newest commits of HEAD that changed one of these files or folders.

    With those of them that each changed.
    """
    fields = "--format=%x00%H%x00%h%x00%an%x00%as%x00%ct"
    flags = (f"-{most}", "--no-show-signature", "--no-renames", "--name-only", "-z", fields)
    commits = list[ChangingCommit]()
    words = iter(os.fsdecode(plumbing.run(worktree, "log", *flags, "--", *paths).out).split("\0"))
    for word in words:
        if word:
            commits[-1].paths.append(word.removeprefix("\n"))
        elif header := [*islice(words, 5)]:
            # no path is empty, so what follows is a commit
            name, short, author, day, seconds = header
            commits.append(ChangingCommit(name, short, author, day, int(seconds), []))
    return commits


def renames(worktree: Worktree, commits: Collection[str]) -> dict[str, list[str]]:
    """What each of these commits renamed: a letter, the old and the new path of each.

    By "": what the disk did.
    """
    flags = ("-M", "--name-status", "-z", "--diff-filter=R")
    renamed = {}
    for commit in commits:
        renamed[commit] = list[str]()
    renamed[""] = plumbing.run(
        worktree, "diff", "--no-ext-diff", "--no-textconv", *flags, "HEAD"
    ).names
    names, at = "".join(f"{commit}\n" for commit in commits if commit), ""
    for word in plumbing.run(
        worktree, "diff-tree", "--stdin", "-r", "--root", *flags, stdin=names.encode()
    ).names:
        if word in renamed:
            at = word
        else:
            renamed[at].append(word)
    return renamed


def renamed_to(path: str, parts: Sequence[str]) -> str | None:
    """What a file, or all of a folder, is called by `parts`.

    A letter, the old and the new path of each rename.
    """
    new, folder = Counter[str](), path.rstrip("/") + "/"
    for _, old, newer in zip(parts[::3], parts[1::3], parts[2::3], strict=False):
        if old == path.rstrip("/"):
            return newer
        if old.startswith(folder) and newer.endswith(inner := old[len(folder) - 1 :]):
            new[f"{newer.removesuffix(inner)}/"] += 1
    return next((name for name, _ in new.most_common(1) if name != "/"), None)


def with_folders(paths: Iterable[str]) -> set[str]:
    """These paths and every folder that they are in."""
    every = set(paths)
    for name in [*every]:
        while (name := name.rpartition("/")[0]) and name not in every:
            every.add(name)
    return every
