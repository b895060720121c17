"""A file of a project as checks read it, or why it cannot be read. No link leads out of the project."""

from __future__ import annotations

import stat
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.errors import AiLessonsError
from ai_lessons.git import external_files
from ai_lessons.model.texts import WIDE_MARKS, text_of

if TYPE_CHECKING:
    from pathlib import Path

# bytes of a file, and characters of a text, that are looked at
LARGEST = 1 << 20
# bytes from which the size of a binary file is said
_WORTH_SIZE = 100_000
_LFS = "version https://git-lfs.github.com/spec/"

BINARY = "binary"


class FileText(NamedTuple):
    """The text of a file; None: there is none, or it cannot be looked at, and `why_not` says why.

    `target`: the path of the file that a link leads to.
    """

    text: str | None = None
    why_not: str = ""
    target: str = ""


def file_text(top: Path, path: str) -> FileText:
    """A file, relative to the top of its project. Raises nothing that it can cause."""
    file, target = top / path, ""
    try:
        status = file.lstat()
        if stat.S_ISLNK(status.st_mode):
            file = file.resolve()
            top = top.resolve()
            if not file.is_relative_to(top):
                return FileText(None, "a link out of the project")
            target = file.relative_to(top).as_posix()
            status = file.lstat()
    except (OSError, ValueError, RuntimeError):
        return FileText()
    if stat.S_ISDIR(status.st_mode):
        return FileText()
    try:
        data, _ = external_files.read(file, LARGEST, within=top)
    except AiLessonsError:
        if status.st_size <= LARGEST:
            return FileText(None, "it cannot be read", target)
        what = BINARY if _begins_as_binary(file) else "more than 1 MiB"
        return FileText(None, f"{what}, {_megabytes(status.st_size)}", target)
    text = text_of(data)
    if text is None:
        why_not = BINARY
        if len(data) > _WORTH_SIZE:
            why_not += f", {_megabytes(status.st_size)}"
        return FileText(None, why_not, target)
    if text.startswith(_LFS):
        return FileText(None, "its content is in Git LFS", target)
    return FileText(text, "", target)


def _megabytes(size: int) -> str:
    return f"{size / 1_000_000:.1f} MB"


def _begins_as_binary(file: Path) -> bool:
    """Whether the first bytes of a file are none of a text."""
    head = b""
    with suppress(OSError), file.open("rb") as opened:
        # bytes by which a larger file is known for a text or not
        head = opened.read(8_000)
    if any(head.startswith(mark) for mark in WIDE_MARKS):
        return False
    return b"\0" in head


def new_lines(before: str, after: str) -> frozenset[float]:
    """The lines of a text that another has not, from 1.

    2.5 where lines between the lines 2 and 3 were taken away.
    """
    # it takes a while to load
    from ai_lessons.model.merge import LineMatcher

    old, new = before.split("\n"), after.split("\n")
    lines: set[float] = set()
    old_at, new_at = 0, 0
    for block in LineMatcher(old, new).get_matching_blocks():
        lines.update(range(new_at + 1, block.b + 1))
        if block.b == new_at and block.a > old_at:
            # nothing took the place of what went
            lines.add(new_at + 0.5)
        old_at, new_at = block.a + block.size, block.b + block.size
    return frozenset(lines)


def every_line(text: str) -> frozenset[float]:
    """The numbers of all lines of a text."""
    return frozenset(range(1, text.count("\n") + 2))
