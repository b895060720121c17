"""A list gone through at a terminal: a card for each item, one key for each choice."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import termios
import tty
from collections import Counter
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import click

from ai_lessons.errors import AiLessonsError
from ai_lessons.interfaces.output import clean, is_terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from ai_lessons.interfaces.cli.call import Call

T = TypeVar("T")
# by key: the word for it, and what it does
Choices: TypeAlias = "Mapping[str, tuple[str, str]]"
ALWAYS: Choices = {
    "s": ("skip", "leave it as it is"),
    "q": ("quit", "end here; what was chosen before is done"),
}


def decide_each(items: Sequence[T], decide: Callable[[T], str], past: Mapping[str, str]) -> str:
    """Call `decide` for each item until it answers `quit`.

    Return the counts, in the past tense of each choice.
    """
    counts = Counter[str]()
    for number, item in enumerate(items, 1):
        click.echo(f"\n{number} of {len(items)}")
        choice = decide(item)
        if choice == "quit":
            break
        counts[choice] += 1
    parts: list[str] = []
    for choice, word in past.items():
        if counts[choice]:
            parts.append(f"{counts[choice]} {word}")
    if remaining := len(items) - counts.total():
        parts.append(f"{remaining} left")
    return ", ".join(parts)


def choose(choices: Choices, act: Callable[[str], bool]) -> str:
    """Ask for a choice until it is skip or quit, or `act` did it.

    An error of ours is shown, and asked again.
    """
    offered = {**choices, **ALWAYS}
    labels: list[str] = []
    for letter, (word, _) in offered.items():
        if word.startswith(letter):
            labels.append(f"[{letter}]{word[1:]}")
        else:
            labels.append(f"[{letter}] {word}")
    question = "\n" + ", ".join([*labels, "[?]"])
    while True:
        pressed = key(question, {*offered, "?"})
        if pressed == "?":
            for letter, (word, text) in offered.items():
                click.echo(f"  {letter}  {word}: {text}", err=True)
            continue
        choice, _ = offered[pressed]
        try:
            if pressed in ALWAYS or act(choice):
                return choice
        except AiLessonsError as error:
            show_error(error)


def show_error(error: AiLessonsError) -> None:
    """Print an error and its hint on stderr, where the work goes on."""
    click.echo(f"error: {clean(error.message)}", err=True)
    if error.hint:
        click.echo(f"hint: {clean(error.hint)}", err=True)


def key(question: str, keys: Collection[str]) -> str:
    """Wait for one of these keys, without Enter, and ignore others.

    Ctrl-C and Ctrl-D end the program.
    """
    pressed = ""
    with keys_pressed() as read:
        click.echo(f"{question}: ", nl=False, err=True)
        while not pressed:
            # several keys may come at once
            typed = read().lower()
            # an arrow is an escape and letters, of which one may be a choice
            if not typed.startswith("\x1b"):
                pressed = next(filter(keys.__contains__, typed), "")
    click.echo(pressed.strip(), err=True)
    return pressed


@contextlib.contextmanager
def keys_pressed() -> Iterator[Callable[[], str]]:
    """A reader of the keys that are pressed from now on."""
    # Keys that were pressed before the question answered none and are dropped. `click.getchar`
    # would also drop those that are pressed between the question and its call.
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


def show_card(call: Call, text: str, least: int = 10) -> bool:
    """Print a text, cut to the height of the terminal, at least `least` lines.

    True if it was cut.
    """
    rows = call.view.fit(text).split("\n")
    room = max(shutil.get_terminal_size().lines - 4, least)
    cut = len(rows) > room
    if cut:
        rows = [*rows[: room - 1], f"… {len(rows) - room + 1} more lines: v shows them"]
    click.echo("\n".join(["", *rows]), color=call.view.colour)
    return cut


def person_reviews(call: Call) -> bool:
    """Whether a person sits at a terminal and can press keys."""
    return call.can_ask and is_terminal(sys.stdout) and not call.settings.agent
