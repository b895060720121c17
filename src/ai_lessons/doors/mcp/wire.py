"""Standard output belongs to the protocol alone, and everything else that is said goes to a log file."""

from __future__ import annotations

import logging
import os
import sys
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LOG_NAME = "mcp.log"
LOG_BYTES = 1_000_000
"""A log is begun anew at this size; the one before it is kept."""

_STDIN, _STDOUT, _STDERR = 0, 1, 2


class Wire(NamedTuple):
    """What the client writes to us and reads from us."""

    read: TextIOWrapper
    write: TextIOWrapper


@contextmanager
def claimed() -> Iterator[Wire]:
    """The protocol's own ends; until the block is left nothing is to be read, and what is printed goes to stderr.

    By file descriptor, because a program that a tool starts, or a C library, does not ask Python where to print.
    """
    sys.stdout.flush()
    ours = [os.dup(fd) for fd in (_STDIN, _STDOUT)]
    try:
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, _STDIN)
        os.close(nothing)
        os.dup2(_STDERR, _STDOUT)
        read = TextIOWrapper(os.fdopen(os.dup(ours[0]), "rb"), "utf-8", errors="replace")
        write = TextIOWrapper(os.fdopen(os.dup(ours[1]), "wb"), "utf-8", newline="\n")
        yield Wire(read, write)
        for end in (read, write):
            with suppress(OSError):  # a client that is gone takes no last words
                end.close()
    finally:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
        for fd, mine in zip((_STDIN, _STDOUT), ours, strict=True):
            os.dup2(mine, fd)
            os.close(mine)


class _Private(RotatingFileHandler):
    """A log for the user's eyes only: it names files and titles."""

    def _open(self) -> TextIOWrapper:
        fd = os.open(self.baseFilename, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        return open(fd, "a", encoding="utf-8", errors="backslashreplace")  # the handler closes it


@contextmanager
def logging_to(file: Path) -> Iterator[None]:
    """Everything that is logged goes to the file, with the process it comes from; to stderr if it cannot be written."""
    handler: logging.Handler
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handler = _Private(file, maxBytes=LOG_BYTES, backupCount=1)
    except OSError as error:
        handler = logging.StreamHandler(sys.stderr)
        print(f"warning: {file} cannot be written ({error.strerror}): the log goes here", file=sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    logging.captureWarnings(capture=True)
    try:
        yield
    finally:
        logging.captureWarnings(capture=False)
        root.removeHandler(handler)
        root.setLevel(before)
        handler.close()
