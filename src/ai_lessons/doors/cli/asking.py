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
from collections import Counter, deque
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar

import click

from ai_lessons import library
from ai_lessons.doors.terminal import clean, count, is_terminal, line
from ai_lessons.errors import AiLessonsError, NotFound, StorageFailed, UsageError
from ai_lessons.knowledge.texts import decode
from ai_lessons.settings import current_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from ai_lessons.doors.cli.command_context import Call

SILENCE = 2.0  # Seconds without input after which we say what we are waiting for
SHOWN_LINES = 40
EXPLANATION = re.compile(r"\A<!--.*?-->\n*", re.DOTALL)


def ask_trust(path: str, text: str) -> bool:
    """Show a script that this machine has not run before and ask whether to trust exactly this text."""
    rows = [f"    {row}" for row in clean(text).splitlines()]
    more = [f"    … {len(rows) - SHOWN_LINES} more lines"] if len(rows) > SHOWN_LINES else []
    said = f"{line(path)} has not been run on this machine, or has changed since:\n"
    return confirm("\nRun it, and trust this text from now on?", said, *rows[:SHOWN_LINES], *more)


def ask_keys(question: str, keys: list[str]) -> bool:
    """Show keys by their fingerprints and ask whether they may approve rules."""
    said = "Ask their owners, not the repository, for the fingerprints: ssh-keygen -lf KEY.pub"
    return confirm(line(question), "", *(f"    {line(key)}" for key in keys), said)


def ask_source(doc: str, path: str, file: str) -> bool:
    """Name the file that a doc would be read from, which this machine never added it from, and ask whether it may."""
    leads = f", which leads to {line(file)}," if file != os.path.expanduser(path) else ""
    said = f"{line(doc)} would be read from {line(path)}{leads} and was not added from there here."
    then = "What that file holds is then committed, and shared by the next sync."
    return confirm("Read it, also from now on?", said, then)


def ask_about_alarms(alarms: str) -> bool:
    """Show what raises an alarm and ask whether it is meant to be so."""
    return confirm("\nTake the approval branch as it is now?", clean(alarms))


def confirm(question: str, *said: str) -> bool:
    """Yes or no, on stderr, below what is said before."""
    click.echo("\n".join(said), err=True, nl=bool(said))
    return click.confirm(question, default=False, err=True)


def show_error(error: AiLessonsError) -> None:
    """Say what went wrong and what to do, where the work goes on."""
    click.echo(f"error: {clean(error.message)}" + (f"\nhint: {clean(error.hint)}" if error.hint else ""), err=True)


T = TypeVar("T")


class Decision(NamedTuple):
    """What a person chose about one thing; `act` does it, once it can no longer be taken back."""

    chosen: str
    act: Callable[[], object] | None = None


Choices: TypeAlias = "Mapping[str, tuple[str, str]]"  # by key: the word for it, and what it does
ALWAYS: Choices = {
    "s": ("skip", "leave it as it is"),
    "u": ("undo", "go back to the one before, and take back what was chosen there; again: to the one before that"),
    "q": ("quit", "end here; what was chosen before is done"),
}
LAST = {"\r": "quit", "\n": "quit", "u": "undo"}
TAKEN_BACK = 10  # Decisions that can be; with one more the oldest is carried out, so that Ctrl-C loses no more


def one_by_one(items: Sequence[T], decide: Callable[[T], Decision], told: Mapping[str, str]) -> str:
    """Have each decided about until none is left or the reviewer quits; what was done, in the words of `told`.

    What was chosen is done at the end, or `TAKEN_BACK` decisions later, so that it can be taken back until then. What
    fails is told of, and asked about again.
    """
    left, made, done = deque(items), deque[tuple[T, Decision]](), Counter[str]()
    chosen = ""
    while made or (left and chosen != "quit"):
        if chosen == "quit" or len(made) > TAKEN_BACK:
            one, decision = made.popleft()
            if _done(decision):
                done[decision.chosen] += 1
            else:
                left.appendleft(one)
                chosen = ""
            continue
        with _lost(made):
            if left:
                click.echo(f"\n{len(items) - len(left) + 1} of {len(items)}")
                decision = decide(left[0])
            elif any(decision.act for _, decision in made):
                decision = Decision(LAST[key("\nThat was the last one: [Enter] done, [u]ndo", LAST)])
            else:
                decision = Decision("quit")
        chosen = decision.chosen
        if chosen != "undo":
            made.extend([(left.popleft(), decision)] if chosen != "quit" else [])
        elif made and (made[-1][1].act or made[-1][1].chosen == "skip"):
            left.appendleft(made.pop()[0])
        else:
            click.echo("There is nothing to take back.", err=True)
    said = [f"{done[word]} {past}" for word, past in told.items() if done[word]]
    return ", ".join(said + [f"{len(left)} left"] * bool(left))


@contextlib.contextmanager
def _lost(made: Collection[tuple[object, Decision]]) -> Iterator[None]:
    """Say what Ctrl-C undoes: the decisions that were not carried out yet."""
    try:
        yield
    except (click.Abort, KeyboardInterrupt):
        if waiting := sum(decision.act is not None for _, decision in made):
            click.echo(f"\nNot carried out: {count(waiting, 'decision')}. To keep them, end with q.", err=True)
        raise


def _done(decision: Decision) -> bool:
    """Do what was chosen; where that fails, it is told of."""
    try:
        decision.act() if decision.act else None
    except AiLessonsError as error:
        show_error(error)
        return False
    return True


def decided(choices: Choices, choose: Callable[[str], Decision | None]) -> Decision:
    """Ask for one key until it is decided; what goes wrong is told of, and the person chooses what then."""
    offered = {**choices, **ALWAYS}
    named = [f"[{key}]{word[1:]}" if word.startswith(key) else f"[{key}] {word}" for key, (word, _) in offered.items()]
    question = "\n" + ", ".join([*named, "[?]"])
    while True:
        pressed = key(question, {*offered, "?"})
        if pressed == "?":
            click.echo("\n".join(f"  {key}  {word}: {text}" for key, (word, text) in offered.items()), err=True)
        elif pressed in ALWAYS:
            return Decision(ALWAYS[pressed][0])
        else:
            try:
                if found := choose(offered[pressed][0]):
                    return found
            except AiLessonsError as error:
                show_error(error)


def key(question: str, keys: Collection[str]) -> str:
    """One of these keys, pressed without Enter; others are passed over. Ctrl-C and Ctrl-D end the program."""
    pressed = ""
    with _keys() as read:
        click.echo(f"{question}: ", nl=False, err=True)
        while not pressed:
            typed = read().lower()  # many if they came at once; an arrow is an escape and letters
            pressed = "" if typed.startswith("\x1b") else next((one for one in typed if one in keys), "")
    click.echo(pressed.strip(), err=True)
    return pressed


@contextlib.contextmanager
def _keys() -> Iterator[Callable[[], str]]:
    """Reads keys that are pressed from now on; those pressed before answered no question, and are dropped.

    `click.getchar` drops those, too, that are pressed between the question and its call.
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
    """The text as the user's editor leaves it, byte for byte; None if it was not saved or is the same."""
    if not (is_terminal(sys.stdin) or os.environ.get("VISUAL") or os.environ.get("EDITOR")):
        hint = "set EDITOR, or give the text with --content or --file"
        raise UsageError("there is no terminal to edit on", hint=hint)
    # Given text, click adds a final newline and turns CRLF into LF; given bytes, it leaves the file alone.
    edited = click.edit(text.encode("utf-8", "surrogateescape"), extension=suffix)
    if edited is None:
        return None
    changed = decode(edited, "the edited text")
    return None if changed == text else changed


def write_new(explanation: str) -> str:
    """Text written in the editor from nothing; the explanation is a comment on top that is taken away again."""
    return EXPLANATION.sub("", open_editor(f"<!-- {explanation} -->\n\n", ".md") or "").strip()


def read_text(file: str) -> str:
    """The text of a file, or of standard input for `-`."""
    if file == "-":
        return read_input()
    try:
        return library.import_sources.text_of(file, current_folder())
    except NotFound as error:
        raise UsageError(f"{file}: No such file", hint="name a text file, or - for standard input") from error


def new_text(content: str | None, file: str | None) -> str | None:
    """The text that replaces the old one, or None."""
    if content is not None and file is not None:
        raise UsageError("the text is given twice", hint="use one of --content and --file")
    return read_text(file or "-") if file or content == "-" else content


def read_input() -> str:
    """All of standard input, which agents' tools have none of. Says so when nothing comes for a while."""
    if sys.stdin is None or threading.current_thread() is not threading.main_thread():  # closed by the caller: `<&-`
        return ""
    # what cannot be waited for (a test's own stream) will not keep us waiting
    with contextlib.suppress(OSError, ValueError):
        if not is_terminal(sys.stdin) and not select.select([sys.stdin.buffer], [], [], SILENCE)[0]:
            click.echo("reading the content from standard input (give --content TEXT to avoid it) …", err=True)
    return decode(sys.stdin.buffer.read(), "standard input")


class Edits:
    """An editor that remembers the last text, so that a text which turns out invalid can be edited again or kept."""

    text: str | None = None
    suffix = ".md"

    def __call__(self, text: str, suffix: str) -> str | None:
        """Edit `text`, or go on with the text that was refused last time."""
        self.suffix = suffix
        edited = open_editor(text if self.text is None else self.text, suffix)
        self.text = self.text if edited is None else edited
        return self.text

    def keep(self, folder: Path) -> Path:
        """Write the last text where the user finds it again."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            file = folder / f"edit-{os.getpid()}{self.suffix}"
            file.write_text(self.text or "", encoding="utf-8", newline="")
        except OSError as error:
            raise StorageFailed(f"{folder}: {error.strerror}; your text was not kept") from error
        return file


def until_valid(call: Call, job: Callable[[Edits], T], nothing: str = "nothing was changed") -> T:
    """Edit until the library takes the text, or the user gives up: then the text is kept. None is told of, too."""
    edits = Edits()
    while True:
        try:
            done = job(edits)
        except AiLessonsError as error:
            if edits.text is None:
                raise
            if call.can_ask:
                click.echo(f"error: {clean(error.message)}", err=True)
                if click.confirm("Edit again?", default=True, err=True):
                    continue
                error.message = "the edit was not written"  # what is wrong with it was said before the question
            error.hint = f"your text is kept in {edits.keep(call.settings.folders.state / 'edits')}"
            raise
        else:
            call.note([nothing] if done is None else ())
            return done
