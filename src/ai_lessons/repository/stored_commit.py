"""Commits of others as git stores them, read by their own lines, so that none of them stops a reader."""

from __future__ import annotations

import os
import re
import zlib
from typing import TYPE_CHECKING, Final, NamedTuple

from dulwich.objects import Commit, ObjectID

if TYPE_CHECKING:
    from dulwich.object_store import BaseObjectStore


class StoredCommit(NamedTuple):
    """What stands in a commit, as far as it can be read: an odd one names nobody and no time, and stops no reader.

    `time` is the committer's, in seconds since 1970.
    """

    id: str
    tree: ObjectID
    parents: tuple[ObjectID, ...]
    author: bytes
    committer: bytes
    time: int
    message: bytes


LAST_SECOND: Final = 253_402_300_799
"""Of the year 9999, which is as far as dates can be shown."""

_COMMIT: Final = re.compile(rb"tree ([0-9a-f]{40})\n((?:parent [0-9a-f]{40}\n)*)")
_MADE: Final = re.compile(rb"^(author|committer) ([^\n]*?>) (\d{1,12}) [+-]\d{4}$", re.MULTILINE)


def read_commit(store: BaseObjectStore, name: ObjectID) -> StoredCommit:
    """A commit by its own lines: dulwich refuses whole commits over a time zone that git passes over.

    Raises:
        KeyError: there is no such commit.
    """
    hexed = name.decode()
    try:
        with open(f"{os.fspath(store.path)}/{hexed[:2]}/{hexed[2:]}", "rb") as file:  # type: ignore[attr-defined]  # of a repository on disk
            kind, _, data = zlib.decompress(file.read()).partition(b"\0")
    except FileNotFoundError:
        number, data = store.get_raw(name)
        kind = b"commit" if number == Commit.type_num else b""
    if not kind.startswith(b"commit"):
        raise KeyError(name)
    return parse_commit(hexed, data)


def parse_commit(name: str, data: bytes) -> StoredCommit:
    """The same from its text."""
    lines = _COMMIT.match(data)
    if lines is None:
        raise KeyError(name)
    header, _, message = data.partition(b"\n\n")
    made = {row[1]: row for row in reversed(list(_MADE.finditer(header)))}
    author, committer = made.get(b"author"), made.get(b"committer")
    return StoredCommit(
        name,
        ObjectID(lines[1]),
        tuple(ObjectID(line[7:]) for line in lines[2].splitlines()),
        author[2] if author else b"",
        committer[2] if committer else b"",
        time if (time := int(committer[3]) if committer else 0) <= LAST_SECOND else 0,
        message,
    )
