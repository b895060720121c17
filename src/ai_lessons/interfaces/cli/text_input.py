"""Text that a person gives: in an editor, as a file, on standard input."""

from __future__ import annotations

import contextlib
import os
import re
import select
import sys
import threading
from typing import TYPE_CHECKING

import click

from ai_lessons import app
from ai_lessons.errors import AiLessonsError, NotFound, StorageFailed, UsageError
from ai_lessons.interfaces.output import is_terminal

if TYPE_CHECKING:
    from pathlib import Path


def open_editor(text: str, suffix: str) -> str | None:
    """Open the user's editor on a text: what was saved, byte for byte.

    None if it is the same or was not saved.
    """
    if not (is_terminal(sys.stdin) or os.environ.get("VISUAL") or os.environ.get("EDITOR")):
        hint = "set EDITOR, or give the text with --content or --file"
        raise UsageError("there is no terminal to edit on", hint=hint)
    from ai_lessons.model import texts

    # Given text, click adds a final newline and turns CRLF into LF; given bytes, it leaves the file
    # alone.
    try:
        saved = click.edit(text.encode("utf-8", "surrogateescape"), extension=suffix)
    except click.ClickException as error:
        hint = "set EDITOR to a program that is there, such as EDITOR=nano, or give the text with --content or --file"
        raise AiLessonsError(error.format_message(), hint=hint) from error
    if saved is None:
        edited = text
    else:
        edited = texts.decode(saved, "the edited text")
    if edited == text:
        return None
    return edited


def write_new(explanation: str) -> str:
    """Text written in the editor.

    The explanation is a comment at the top, and is removed afterwards.
    """
    return re.sub(
        r"\A<!--.*?-->\n*",
        "",
        open_editor(f"<!-- {explanation} -->\n\n", ".md") or "",
        flags=re.DOTALL,
    ).strip()


NO_FILE = "name a text file, or - for standard input; words go with --title and --content"


def read_text(file: str) -> str:
    """The text of a file, or of standard input for `-`."""
    if file == "-":
        return read_input()
    if os.path.isdir(os.path.expanduser(file)):
        every = f"ai-lessons contribute add-resource --type doc --path {file} --recursive"
        raise UsageError(
            f"{file} is a folder", hint=f"name a file in it, or keep all of it as docs: {every}"
        )
    from ai_lessons.settings import current_folder

    try:
        return app.editing.text_of_file(file, current_folder())
    except NotFound as error:
        raise UsageError(f"{file}: No such file", hint=NO_FILE) from error


def new_text(content: str | None, file: str | None) -> str | None:
    """The text that replaces the old one, or None."""
    if content is not None and file is not None:
        raise UsageError("the text is given twice", hint="use one of --content and --file")
    if file or content == "-":
        return read_text(file or "-")
    return content


def read_input() -> str:
    """All of standard input; empty for a tool of MCP.

    Prints that it waits when nothing comes for a while.
    """
    from ai_lessons.model import texts

    if sys.stdin is None or threading.current_thread() is not threading.main_thread():
        # closed by the caller: `<&-`
        return ""
    # a stream without a file descriptor (in tests) cannot be waited for, and does not block
    with contextlib.suppress(OSError, ValueError):
        # a pipe that brings nothing for two seconds: say what we wait for
        if not is_terminal(sys.stdin) and not select.select([sys.stdin.buffer], [], [], 2.0)[0]:
            click.echo(
                "reading the content from standard input (give --content TEXT to avoid it) …",
                err=True,
            )
    return texts.decode(sys.stdin.buffer.read(), "standard input")


class Edits:
    """An editor that remembers the last text, so that an invalid text can be edited again or saved."""

    text: str | None = None
    suffix = ".md"

    def __call__(self, text: str, suffix: str) -> str | None:
        """Edit `text`, or the text that was refused last time."""
        self.suffix = suffix
        if self.text is not None:
            text = self.text
        edited = open_editor(text, suffix)
        if edited is not None:
            self.text = edited
        return self.text

    def keep(self, folder: Path) -> Path:
        """Save the last text in this folder. Raises StorageFailed."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            file = folder / f"edit-{os.getpid()}{self.suffix}"
            file.write_text(self.text or "", encoding="utf-8", newline="")
        except OSError as error:
            raise StorageFailed(f"{folder}: {error.strerror}; your text was not kept") from error
        return file
