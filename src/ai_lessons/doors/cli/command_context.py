"""One run of the program: what was asked for globally, the library it opens, and how it answers."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, TypeVar

import click

from ai_lessons import library, settings
from ai_lessons.doors import encode
from ai_lessons.doors.cli.asking import Edits, ask_keys, ask_source, ask_trust
from ai_lessons.doors.from_settings import options, whereabouts
from ai_lessons.doors.terminal import BARE, View, clean, is_terminal, line
from ai_lessons.errors import AiLessonsError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from click._termui_impl import ProgressBar

    from ai_lessons.library.opened import Library
    from ai_lessons.library.options import Options
    from ai_lessons.library.warm import Asking
    from ai_lessons.settings import Settings

T = TypeVar("T")
PATIENCE = 0.4  # seconds a job may take before it gets a progress bar


@dataclass(eq=False)
class Call:
    """Global options, and what a command needs beyond its own arguments; `tool`: an agent calls it over MCP."""

    tool: ClassVar[bool] = False
    repo: str | None = None
    tier: str | None = None
    json: bool = False
    quiet: bool = False
    verbose: bool = False
    bars: ProgressDisplay | None = None

    @cached_property
    def settings(self) -> Settings:
        """Read when a command first needs them."""
        return settings.load(os.environ, repo=self.repo, tier=self.tier)

    @property
    def root(self) -> Path:
        """The folder of the knowledge repository."""
        return self.settings.repo

    def options(self) -> Options:
        """The library's options for this user and this terminal."""
        library_options = options(self.settings)
        if is_terminal(sys.stderr) and not self.quiet and not self.json:
            self.bars = ProgressDisplay()
            click.get_current_context().find_root().call_on_close(self.bars.finish)
            library_options = library_options._replace(progress=self.bars.show)
        if self.can_ask and not self.settings.agent:
            return library_options._replace(ask_trust=ask_trust, ask_keys=ask_keys, ask_source=ask_source)
        return library_options

    @cached_property
    def library(self) -> Library:
        """The library on the repository, closed when the program ends."""
        return click.get_current_context().find_root().with_resource(library.opened.Library(self.root, self.options()))

    @cached_property
    def ask(self) -> Asking:
        """Runs jobs that only read, in the helper if it is warm."""
        library_options = self.library.options if self.tool else self.options()
        return library.warm.Asking(self.root, library_options, lambda: self.library, held=self.tool)

    @property
    def can_ask(self) -> bool:
        """Whether a person can answer a question (stdout may be a pipe)."""
        return is_terminal(sys.stdin) and is_terminal(sys.stderr) and not self.json

    @property
    def caller(self) -> str:
        """Who writes: `user` if both ends are a terminal and the settings name no agent, else `ai`."""
        return "user" if not self.by_agent and is_terminal(sys.stdin) and is_terminal(sys.stdout) else "ai"

    @property
    def by_agent(self) -> bool:
        """Whether an agent calls, as a tool or as the settings say."""
        return self.tool or bool(self.settings.agent)

    @property
    def view(self) -> View:
        """How to draw on what stdout is."""
        roots = {tier.name: str(tier.root) for tier in (*self.settings.places.known, *self.settings.places.reads)}
        home, verbose = "" if self.tool else os.path.expanduser("~"), self.tool or self.verbose
        view = View(root=str(self.root), home=home, roots=roots, verbose=verbose)
        if self.tool or not is_terminal(sys.stdout):
            return view
        colour = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        return view._replace(width=_size()[0], colour=colour, now=datetime.now(UTC))

    def answer(
        self,
        value: T,
        text: Callable[[T, View], str],
        data: Callable[[T], object] | None = None,
        *,
        paged: bool = False,
        framed: bool = True,
    ) -> None:
        """Print a value as text or, with `--json`, as `data`; notes go to stderr.

        `framed`: agents get the text below the notice of the command's tool, if it has one.
        """
        if self.bars:
            self.bars.finish()
        if self.json:
            click.echo(encode.dump(data(value) if data else value))
            return
        tool = getattr(click.get_current_context().command, "tool", None)
        if framed and tool and tool.notice and self.settings.agent:
            click.echo(f"{tool.headline(whereabouts(self.settings))}\n\n{text(value, BARE)}")
        else:
            self.say(self.view.fit(text(value, self.view)), paged=paged)
        self.note(notes_of(value))

    def interrupted(self) -> None:
        """Raise if the caller has cancelled the call."""

    def say(self, text: str, *, paged: bool = False) -> None:
        """Print text on stdout; through the pager if it is `paged` and higher than the terminal."""
        terminal = is_terminal(sys.stdout) and is_terminal(sys.stdin)
        if paged and terminal and text.count("\n") + 2 > _size()[1]:
            os.environ.setdefault("LESS", "FRX")
            click.echo_via_pager(text, color=self.view.colour)
        else:
            click.echo(text, color=self.view.colour)

    def exactly(self, text: str) -> None:
        """Print text as it is, for programs that read our pipe: no newline added, nothing escaped."""
        click.echo(text.encode("utf-8", "surrogateescape"), nl=False)

    def note(self, notes: Iterable[str]) -> None:
        """Print notes on stderr, unless `-q`."""
        if not self.quiet:
            for note in dict.fromkeys(notes):
                remark(f"note: {line(note)}")

    def edit_until_valid(self, job: Callable[[Edits], T], nothing: str = "nothing was changed") -> T:
        """Run a job that edits, until its text is accepted or the user gives up: then the text is saved.

        `nothing` is the note where the job returns None.
        """
        edits = Edits()
        while True:
            try:
                result = job(edits)
            except AiLessonsError as error:
                if edits.text is None:
                    raise
                if self.can_ask:
                    click.echo(f"error: {clean(error.message)}", err=True)
                    if click.confirm("Edit again?", default=True, err=True):
                        continue
                    error.message = "the edit was not written"  # the problem was shown before the question
                error.hint = f"your text is kept in {edits.keep(self.settings.folders.state / 'edits')}"
                raise
            if result is None:
                self.note([nothing])
            return result


def remark(text: str) -> None:
    """Print a line on stderr, wrapped where that is a terminal."""
    click.echo(View(width=_size(2)[0] if is_terminal(sys.stderr) else None).fit(text), err=True)


def _size(stream: int = 1) -> tuple[int, int]:
    """Columns and lines of the terminal, without `shutil`, which imports every compression module."""
    try:
        columns, lines = os.get_terminal_size(stream)
    except OSError:  # it is no terminal
        columns = lines = 0
    wide, high = (int(text) if text.isdecimal() else 0 for text in map(os.environ.get, ("COLUMNS", "LINES"), ("", "")))
    return wide or columns or 80, high or lines or 24


def notes_of(value: object) -> list[str]:
    """The notes of an answer or of several; where a rule is proposed is part of its text already."""
    answers: Iterable[object] = (value,)
    if isinstance(value, tuple | list) and not hasattr(value, "notes"):  # an answer may be a tuple itself
        answers = value
    notes = [note for answer in answers for note in getattr(answer, "notes", ())]
    return [note for note in notes if not note.startswith("proposed on ")]


class ProgressDisplay:
    """One bar at a time, as a `Progress` callable. For one thread; only where stderr is a terminal."""

    def __init__(self) -> None:
        self._what, self._since, self.at = "", 0.0, ""
        self._bar: ProgressBar[int] | None = None

    def show(self, what: str, done: int, total: int) -> None:
        """Show `done` of `total` steps of `what`, as a line if `total` is 0; another `what` begins another bar."""
        if what != self._what:
            self.finish()
            self._what, self._since = what, time.monotonic()
            if not total:
                remark(f"{line(what)} …")
        self.at = f" at {line(what).lower()}" + (f", {done:,} of {total:,}" if total else "")
        if self._bar is None and done < total and time.monotonic() - self._since > PATIENCE:
            self._bar = click.progressbar(length=total, label=line(what), file=sys.stderr, show_pos=True)
            self._bar.render_progress()
        if self._bar is not None:
            self._bar.length = total
            self._bar.update(max(done - self._bar.pos, 0))

    def finish(self) -> None:
        """End the line of the bar."""
        if self._bar is not None:
            self._bar.render_finish()
        self._bar, self._what = None, ""
