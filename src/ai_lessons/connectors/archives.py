"""What comes out of a zip archive of others.

So many bytes in all, so many of one file, so many files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from zipfile import ZipFile, ZipInfo


class Limits(NamedTuple):
    """The most bytes of all files together, the most of one, and the most members."""

    whole: int
    one: int
    members: int


def files_within(
    archive: ZipFile, limits: Limits, is_read: Callable[[str], bool] = lambda _: True
) -> list[ZipInfo]:
    """The files in an archive that are to be read, by name, none of them unpacked yet.

    Read them by `content`, or extract them: that unpacks piece by piece, and no more of a file than
    its entry says. Raises ValueError: more would come out than the limits allow.
    """
    every = archive.infolist()
    if len(every) > limits.members:
        raise ValueError(f"more than {limits.members:,} files are packed in it")
    files = []
    for member in every:
        if not member.is_dir() and is_read(member.filename):
            files.append(member)
    for file in files:
        if file.file_size > limits.one:
            raise ValueError(f"{file.filename[:80]!r} in it has more than {limits.one >> 20} MB")
    if sum(file.file_size for file in files) > limits.whole:
        raise ValueError(f"more than {limits.whole >> 20} MB are packed in it")
    return files


def content(archive: ZipFile, file: ZipInfo) -> bytes:
    """A file as long as its entry says. Raises BadZipFile: it is longer, or damaged."""
    with archive.open(file) as opened:
        # to read without a size, as `ZipFile.read` does, unpacks all of it before it is cut
        return opened.read(file.file_size + 1)
