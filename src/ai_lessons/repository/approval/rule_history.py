"""The history of rules as git has it: which commits changed which rule files, against each of their parents.

Gives every commit of the history, most of them with nothing in it but their parents, because only the whole shape
tells what came before what. One `git log` where there is a git program; `rule_history_alone` is the other way.
"""

from __future__ import annotations

import re
import zlib
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from ai_lessons.errors import UnsupportedRepository
from ai_lessons.repository import git
from ai_lessons.repository.approval.rule_files import TEXT_LIMIT, is_rule, is_watched
from ai_lessons.repository.approval.verdicts import Person

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ai_lessons.repository.worktree import Worktree

PATIENCE: Final = 600.0
"""Seconds for the first look at a long history."""

_FEW: Final = 64
"""So many new texts are first looked for as loose objects."""

# everything a user's configuration could change about what is printed
_LOG: Final = (
    *("--no-replace-objects", "-c", "core.quotePath=false", "-c", "log.showRoot=true", "-c", "diff.renames=false"),
    *(
        "log",
        "--topo-order",
        "--reverse",
        "-m",
        "--raw",
        "--no-abbrev",
        "--no-renames",
        "--format=raw",
        "--encoding=UTF-8",
    ),
    *("--no-color", "--no-decorate", "--no-notes", "--no-show-signature", "--no-mailmap", "--no-ext-diff"),
    *("--no-relative", "--no-follow", "--ignore-submodules=none"),
)
_RAW: Final = re.compile(rb":(\d{6}) (\d{6}) ([0-9a-f]{40}) ([0-9a-f]{40}) [A-Z]\t(.+)")
_FILES: Final = frozenset((b"100644", b"100755"))
_PLAIN: Final = re.compile(rb"([0-9a-f]{40})\ntree [0-9a-f]{40}\n(?:parent ([0-9a-f]{40})\n)?author ")
_PARENT: Final = re.compile(rb"^parent ([0-9a-f]{40})$", re.MULTILINE)
_PEOPLE: Final = re.compile(rb"^author (.*)\ncommitter (.*)$", re.MULTILINE)
_PERSON: Final = re.compile(r"(.*?) ?<([^<>]*)>")
_NOBODY: Final = Person("", "")


class FileChange(NamedTuple):
    """A rule file or watched file against one parent: blob ids, None for no (regular) file."""

    path: str
    old: str | None
    new: str | None


class Details(NamedTuple):
    """Who made a commit, when (seconds since 1970), and what it changed against each parent."""

    author: Person
    committer: Person
    committed: int
    message: str
    changes: tuple[tuple[FileChange, ...], ...]


class RawCommit(NamedTuple):
    """One commit. `details` is None for a commit with at most one parent that changed none of our files.

    These three are plain tuples because a history has tens of thousands of them.
    """

    id: str
    parents: tuple[str, ...]
    details: Details | None


def read_with_git(worktree: Worktree, tips: Sequence[str], without: Sequence[str]) -> Iterator[RawCommit] | None:
    """The commits reachable from `tips` and not from `without`, parents first; None if there is no git program.

    Raises:
        UnsupportedRepository: git cannot walk there: a commit is missing.
    """
    only = ("--full-history", "--sparse", "--", worktree.prefix) if worktree.prefix else ("--",)
    done = git.run(
        worktree,
        *_LOG,
        *tips,
        *(f"^{commit}" for commit in without),
        *only,
        # without GIT_FLUSH git hands over every commit by itself, and half the time goes into that
        extra={"GIT_LITERAL_PATHSPECS": "1", "GIT_GRAFT_FILE": "/dev/null", "GIT_FLUSH": "0"},
        timeout=PATIENCE,
    )
    if done is None:
        return None
    if done.code:
        raise UnsupportedRepository(
            f"the history of {worktree.top} cannot be read: {done.err.strip() or 'git log failed'}"
        )
    return parse_log(done.out, worktree.prefix)


def parse_log(out: bytes, prefix: str = "") -> Iterator[RawCommit]:
    """Take the output of `git log --raw --format=raw -m` apart: one part of a merge for each parent it differs from."""
    start = prefix.encode()
    name, parts = b"", list[bytes]()
    # messages are indented and header lines have names of their own, so only a record can begin like this
    for record in (b"\n" + out).split(b"\ncommit ")[1:]:
        if record[:40] != name and parts:
            yield _commit(name, parts, start)
            parts = []
        name = record[:40]
        plain = None if parts or b"rules/" in record or b".ai-lessons/" in record else _PLAIN.match(record)
        if plain is None:
            parts.append(record)
        else:
            yield RawCommit(plain[1].decode(), (plain[2].decode(),) if plain[2] else (), None)
    if parts:
        yield _commit(name, parts, start)


def _commit(name: bytes, parts: Sequence[bytes], prefix: bytes) -> RawCommit:
    header, _, rest = parts[0].partition(b"\n\n")
    parents = tuple(parent.decode() for parent in _PARENT.findall(header))
    changes = _changes(parts, parents, prefix)
    if len(parents) < 2 and not any(changes):
        return RawCommit(name.decode(), parents, None)
    people = _PEOPLE.search(header)
    author, _ = person(people[1]) if people else (_NOBODY, 0)
    committer, committed = person(people[2]) if people else (_NOBODY, 0)
    words, _, _ = rest.partition(b"\n:")
    message = b"\n".join(line[4:] for line in words.split(b"\n") if line.startswith(b"    "))
    text = message.decode(errors="replace").strip()
    return RawCommit(name.decode(), parents, Details(author, committer, committed, text, changes))


def _changes(parts: Sequence[bytes], parents: Sequence[str], prefix: bytes) -> tuple[tuple[FileChange, ...], ...]:
    against: list[tuple[FileChange, ...]] = [()] * max(len(parents), 1)
    for part in parts:
        first, _, rest = part.partition(b"\n")
        found = tuple(_lines(rest, prefix))
        if len(first) > 40 and len(parents) > 1:
            # the same parent twice is the same difference twice
            for number, parent in enumerate(parents):
                if parent.encode() == first[47:87]:
                    against[number] = found
        else:
            against[0] = found
    return tuple(against)


def _lines(record: bytes, prefix: bytes) -> Iterator[FileChange]:
    for line in record.split(b"\n:")[1:]:
        found = _RAW.match(b":" + line)
        # a name that git puts in quotes holds characters that none of our files has
        if found is None or found[5].startswith(b'"') or not found[5].startswith(prefix):
            continue
        path = found[5].removeprefix(prefix).decode(errors="replace")
        if is_rule(path) or is_watched(path):
            old = found[3].decode() if found[1] in _FILES else None
            new = found[4].decode() if found[2] in _FILES else None
            if old != new:
                yield FileChange(path, old, new)


def person(raw: bytes) -> tuple[Person, int]:
    """`Name <email> seconds zone`, as commits have it; what is damaged becomes nobody, or time 0."""
    who, _, when = raw.rpartition(b"> ")
    seconds, _, _ = when.partition(b" ")
    return _who(who + b">"), int(seconds) if seconds.removeprefix(b"-").isdigit() else 0


@lru_cache(maxsize=4096)
def _who(raw: bytes) -> Person:
    found = _PERSON.fullmatch(raw.decode(errors="replace"))
    return Person(found[1], found[2]) if found else _NOBODY


def read_blobs_with_git(worktree: Worktree, blobs: Iterable[str]) -> dict[str, bytes] | None:
    """The contents of blobs up to `TEXT_LIMIT` bytes; longer and missing ones are left out. None without git."""
    wanted = set(blobs)
    found = _read_loose(worktree, wanted) if len(wanted) <= _FEW else {}
    packed = sorted(wanted - found.keys())
    if not packed:
        return found
    sizes = git.run(worktree, "cat-file", "--batch-check", "--buffer", stdin="\n".join(packed).encode() + b"\n")
    if sizes is None:
        return None
    rows = [line.split() for line in sizes.out.splitlines()]
    small = [row[0] for row in rows if len(row) == 3 and row[1] == b"blob" and int(row[2]) <= TEXT_LIMIT]
    done = git.run(worktree, "cat-file", "--batch", "--buffer", stdin=b"\n".join(small) + b"\n") if small else None
    return found | _batch(done.out) if done is not None else found


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


def _batch(out: bytes) -> dict[str, bytes]:
    found, at = {}, 0
    while at < len(out):
        end = out.index(b"\n", at)
        name, _, size = out[at:end].split(b" ")
        found[name.decode()] = out[end + 1 : end + 1 + int(size)]
        at = end + 2 + int(size)
    return found
