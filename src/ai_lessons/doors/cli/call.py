"""One run of the program: what was asked for globally, the library it opens, and how it answers."""

from __future__ import annotations

import os
import sys
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import click

from ai_lessons.doors.opening import whereabouts
from ai_lessons.doors.terminal import View, is_terminal, line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from ai_lessons.doors.cli.progress import ProgressDisplay
    from ai_lessons.library.opened import Library
    from ai_lessons.library.options import Options
    from ai_lessons.settings import Settings

T = TypeVar("T")


class Call:
    """Global options, and everything a command needs beyond its own arguments."""

    def __init__(
        self,
        repo: str | None = None,
        tier: str | None = None,
        *,
        json: bool = False,
        quiet: bool = False,
        verbose: bool = False,
    ) -> None:
        self.repo, self.tier = repo, tier
        self.json, self.quiet, self.verbose = json, quiet, verbose
        self.bars: ProgressDisplay | None = None

    @cached_property
    def settings(self) -> Settings:
        """Read once, when a command first needs them."""
        from ai_lessons import settings

        return settings.load(os.environ, repo=self.repo, tier=self.tier)

    @property
    def root(self) -> Path:
        """The knowledge repository that was asked for."""
        return self.settings.repo

    def options(self) -> Options:
        """What the library needs to know of this terminal and this user."""
        from ai_lessons.doors.cli.asking import ask_keys, ask_source, ask_trust
        from ai_lessons.doors.opening import options

        progress = None
        if is_terminal(sys.stderr) and not self.quiet and not self.json:
            from ai_lessons.doors.cli.progress import ProgressDisplay

            self.bars = ProgressDisplay()
            click.get_current_context().find_root().call_on_close(self.bars.finish)
            progress = self.bars.show
        if not self.can_ask or self.settings.agent:
            return options(self.settings, progress=progress)
        return options(self.settings, progress=progress, ask_trust=ask_trust, ask_keys=ask_keys, ask_source=ask_source)

    @cached_property
    def library(self) -> Library:
        """The library on the repository, closed when the program ends."""
        from ai_lessons.library.opened import Library

        return click.get_current_context().find_root().with_resource(Library(self.root, self.options()))

    @property
    def can_ask(self) -> bool:
        """Whether a person is there to answer a question (stdout may well be a pipe)."""
        return is_terminal(sys.stdin) and is_terminal(sys.stderr) and not self.json

    @property
    def caller(self) -> str:
        """Who writes: `ai` if the settings name an agent, else `user` at a terminal, else `ai`.

        Both ends must be a terminal: agents capture what we print, and what a person stated is not questioned.
        """
        person = not self.settings.agent and is_terminal(sys.stdin) and is_terminal(sys.stdout)
        return "user" if person else "ai"

    @property
    def view(self) -> View:
        """How to draw on what stdout is."""
        home = os.path.expanduser("~")
        root = str(self.root)
        if not is_terminal(sys.stdout):
            return View(root=root, home=home, roots=self._roots)
        colour = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        return View(_size()[0], colour, root, home, self._roots)

    @property
    def _roots(self) -> dict[str, str]:
        return {tier.name: str(tier.path) for tier in (*self.settings.known, *self.settings.reads)}

    def answer(
        self,
        value: T,
        text: Callable[[T, View], str],
        data: Callable[[T], object] | None = None,
        *,
        paged: bool = False,
        framed: Callable[[T, str], str] | None = None,
    ) -> None:
        """Print a value as text or, with `--json`, as data; what the user should know besides goes to stderr.

        `data` is for answers whose types alone do not say their shape; the encoder knows the others.
        An agent gets it `framed`: as text that tells what is data, and from which repository it comes.
        """
        if self.bars:
            self.bars.finish()
        if self.json:
            from ai_lessons.doors import encode

            click.echo(encode.dump(data(value) if data else value))
            return
        if framed and self.settings.agent:
            bare = value._replace(notes=()) if hasattr(value, "_replace") and hasattr(value, "notes") else value
            click.echo(framed(bare, whereabouts(self.settings)))
        else:
            self.say(text(value, self.view), paged=paged)
        self.note(_notes(value))

    def say(self, text: str, *, paged: bool = False) -> None:
        """Text on stdout, through the pager if it is `paged`, stdout is a terminal and the text is higher than that."""
        terminal = is_terminal(sys.stdout) and is_terminal(sys.stdin)
        if paged and terminal and text.count("\n") + 2 > _size()[1]:
            os.environ.setdefault("LESS", "FRX")
            click.echo_via_pager(text, color=self.view.colour)
        else:
            click.echo(text, color=self.view.colour)

    def exactly(self, text: str) -> None:
        """Text as it is, for programs that read our pipe: no newline added, nothing escaped."""
        click.echo(text.encode("utf-8", "surrogateescape"), nl=False)

    def note(self, notes: Iterable[str]) -> None:
        """Remarks on stderr; `-q` leaves them out."""
        if not self.quiet:
            for note in dict.fromkeys(notes):
                click.echo(f"note: {line(note)}", err=True)


def _size() -> tuple[int, int]:
    """Columns and lines of the terminal. `shutil` would tell, but loads every compression there is."""
    try:
        columns, lines = os.get_terminal_size()
    except OSError:  # stdout is no terminal
        columns = lines = 0
    stated = (os.environ.get("COLUMNS", ""), os.environ.get("LINES", ""))
    stated_columns, stated_lines = (int(text) if text.isdecimal() else 0 for text in stated)
    return stated_columns or columns or 80, stated_lines or lines or 24


def _notes(value: object) -> list[str]:
    """The notes of an answer or of several; why a write waits or where it is proposed is part of its text already."""
    own = getattr(value, "notes", None)  # asked first: an answer may be a tuple itself
    values = value if own is None and isinstance(value, tuple | list) else (value,)
    notes = [note for one in values for note in getattr(one, "notes", ())]
    return [note for note in notes if not note.startswith(("waiting: ", "proposed on "))]


pass_call = click.make_pass_decorator(Call)
