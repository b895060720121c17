"""Questions to the person at the terminal, the text editor, and text that comes through standard input."""

from __future__ import annotations

import contextlib
import os
import re
import select
import sys
import termios
import threading
import tty
from collections import Counter
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import click

from ai_lessons.errors import AiLessonsError, NotFound, StorageFailed, UsageError
from ai_lessons.interfaces.output import clean, is_terminal, line
from ai_lessons.model.markdown import decode
from ai_lessons.settings import current_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from pathlib import Path

SILENCE = 2.0  # seconds without input before we print what we wait for
SHOWN_LINES = 40
EXPLANATION = re.compile(r"\A<!--.*?-->\n*", re.DOTALL)


def ask_trust(path: str, text: str) -> bool:
    """Show a script that this machine has not run before and ask whether to trust exactly this text."""
    rows = [f"    {row}" for row in clean(text).splitlines()]
    if len(rows) > SHOWN_LINES:
        rows[SHOWN_LINES:] = [f"    … {len(rows) - SHOWN_LINES} more lines"]
    head = f"{line(path)} has not been run on this machine, or has changed since:\n"
    return confirm("\nRun it, and trust this text from now on?", head, *rows)


def ask_keys(question: str, keys: list[str]) -> bool:
    """Show keys by their fingerprints and ask whether they may approve rules."""
    advice = "Ask their owners, not the repository, for the fingerprints: ssh-keygen -lf KEY.pub"
    return confirm(line(question), "", *(f"    {line(key)}" for key in keys), advice)


def ask_source(doc: str, path: str, file: str) -> bool:
    """Ask whether a doc may be read from a file that it was not added from on this machine."""
    target = f", a link to {line(file)}," if file != os.path.expanduser(path) else ""
    return confirm(
        "Read it, also from now on?",
        f"{line(doc)} would be read from {line(path)}{target} and was not added from there on this machine.",
        "The content of that file is then committed, and shared by the next sync.",
    )


def ask_about_alarms(alarms: str) -> bool:
    """Show the alarms and ask whether the approval branch is right as it is."""
    return confirm("\nTake the approval branch as it is now?", clean(alarms))


def confirm(question: str, *lines: str) -> bool:
    """Ask a yes-or-no question on stderr, below these lines."""
    click.echo("\n".join(lines), err=True, nl=bool(lines))
    return click.confirm(question, default=False, err=True)


T = TypeVar("T")
Choices: TypeAlias = "Mapping[str, tuple[str, str]]"  # by key: the word for it, and what it does
ALWAYS: Choices = {
    "s": ("skip", "leave it as it is"),
    "q": ("quit", "end here; what was chosen before is done"),
}


def decide_each(items: Sequence[T], decide: Callable[[T], str], past: Mapping[str, str]) -> str:
    """Call `decide` for each item until it answers `quit`; return the counts, in the past tense of each choice."""
    counts = Counter[str]()
    for number, item in enumerate(items, 1):
        click.echo(f"\n{number} of {len(items)}")
        choice = decide(item)
        if choice == "quit":
            break
        counts[choice] += 1
    parts = [f"{counts[choice]} {word}" for choice, word in past.items() if counts[choice]]
    if remaining := len(items) - counts.total():
        parts.append(f"{remaining} left")
    return ", ".join(parts)


def choose(choices: Choices, act: Callable[[str], bool]) -> str:
    """Ask for a choice until it is skip or quit, or `act` did it; an error of ours is shown, and asked again."""
    offered = {**choices, **ALWAYS}
    labels = [f"[{key}]{word[1:]}" if word.startswith(key) else f"[{key}] {word}" for key, (word, _) in offered.items()]
    question = "\n" + ", ".join([*labels, "[?]"])
    while True:
        pressed = key(question, {*offered, "?"})
        if pressed == "?":
            click.echo("\n".join(f"  {key}  {word}: {text}" for key, (word, text) in offered.items()), err=True)
            continue
        choice, _ = offered[pressed]
        try:
            if pressed in ALWAYS or act(choice):
                return choice
        except AiLessonsError as error:
            show_error(error)


def show_error(error: AiLessonsError) -> None:
    """Print an error and its hint on stderr, where the work goes on."""
    click.echo(f"error: {clean(error.message)}" + (f"\nhint: {clean(error.hint)}" if error.hint else ""), err=True)


def key(question: str, keys: Collection[str]) -> str:
    """Wait for one of these keys, without Enter, and ignore others. Ctrl-C and Ctrl-D end the program."""
    pressed = ""
    with _keys() as read:
        click.echo(f"{question}: ", nl=False, err=True)
        while not pressed:
            typed = read().lower()  # many if they came at once; an arrow is an escape and letters
            pressed = "" if typed.startswith("\x1b") else next((letter for letter in typed if letter in keys), "")
    click.echo(pressed.strip(), err=True)
    return pressed


@contextlib.contextmanager
def _keys() -> Iterator[Callable[[], str]]:
    """A reader of the keys pressed from now on; earlier ones are dropped, because they answered no question.

    `click.getchar` also drops those pressed between the question and its call.
    """
    if not is_terminal(sys.stdin):
        yield click.getchar
        return
    fd = sys.stdin.fileno()
    before = termios.tcgetattr(fd)

    def read() -> str:
        typed = os.read(fd, 32).decode(sys.stdin.encoding, "replace").replace("\n", "\r")
        if not typed or "\x04" in typed:
            raise EOFError
        return typed

    tty.setcbreak(fd)
    try:
        yield read
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)


def open_editor(text: str, suffix: str) -> str | None:
    """Open the user's editor on a text: what was saved, byte for byte; None if it is the same or was not saved."""
    if not (is_terminal(sys.stdin) or os.environ.get("VISUAL") or os.environ.get("EDITOR")):
        hint = "set EDITOR, or give the text with --content or --file"
        raise UsageError("there is no terminal to edit on", hint=hint)
    # Given text, click adds a final newline and turns CRLF into LF; given bytes, it leaves the file alone.
    saved = click.edit(text.encode("utf-8", "surrogateescape"), extension=suffix)
    edited = text if saved is None else decode(saved, "the edited text")
    return None if edited == text else edited


def write_new(explanation: str) -> str:
    """Text written in the editor; the explanation is a comment at the top, and is removed afterwards."""
    return EXPLANATION.sub("", open_editor(f"<!-- {explanation} -->\n\n", ".md") or "").strip()


def read_text(file: str) -> str:
    """The text of a file, or of standard input for `-`."""
    from ai_lessons.connectors import importers

    if file == "-":
        return read_input()
    try:
        return importers.text_of(file, current_folder())
    except NotFound as error:
        raise UsageError(f"{file}: No such file", hint="name a text file, or - for standard input") from error


def new_text(content: str | None, file: str | None) -> str | None:
    """The text that replaces the old one, or None."""
    if content is not None and file is not None:
        raise UsageError("the text is given twice", hint="use one of --content and --file")
    return read_text(file or "-") if file or content == "-" else content


def read_input() -> str:
    """All of standard input; empty for a tool of MCP. Prints that it waits when nothing comes for a while."""
    if sys.stdin is None or threading.current_thread() is not threading.main_thread():  # closed by the caller: `<&-`
        return ""
    # a stream without a file descriptor (in tests) cannot be waited for, and does not block
    with contextlib.suppress(OSError, ValueError):
        if not is_terminal(sys.stdin) and not select.select([sys.stdin.buffer], [], [], SILENCE)[0]:
            click.echo("reading the content from standard input (give --content TEXT to avoid it) …", err=True)
    return decode(sys.stdin.buffer.read(), "standard input")


class Edits:
    """An editor that remembers the last text, so that an invalid text can be edited again or saved."""

    text: str | None = None
    suffix = ".md"

    def __call__(self, text: str, suffix: str) -> str | None:
        """Edit `text`, or the text that was refused last time."""
        self.suffix = suffix
        edited = open_editor(text if self.text is None else self.text, suffix)
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
