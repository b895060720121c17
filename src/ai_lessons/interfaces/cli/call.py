"""One call of a command: the global options, and what a command needs beyond its own arguments."""

from __future__ import annotations

import os
import sys
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, TypeVar

import click

from ai_lessons import app
from ai_lessons.errors import AiLessonsError
from ai_lessons.interfaces import library_options, output
from ai_lessons.interfaces.cli.progress import ProgressDisplay, ProgressLines, remark, terminal_size
from ai_lessons.interfaces.output import BARE, View, clean, is_terminal, line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from ai_lessons.app.daemon_client import DaemonClient
    from ai_lessons.app.options import Options
    from ai_lessons.app.workspace import Library
    from ai_lessons.interfaces.cli.command import Tool
    from ai_lessons.interfaces.cli.text_input import Edits
    from ai_lessons.interfaces.measures import Figures
    from ai_lessons.interfaces.output import AgentText
    from ai_lessons.settings import Settings

T = TypeVar("T")


class Call:
    """Global options, and what a command needs beyond its own arguments.

    `tool`: an agent calls it over MCP, `connection` says in which connection where that is known.
    """

    tool: ClassVar[bool] = False
    connection: str = ""
    repo: str | None = None
    tier: str | None = None
    json: bool = False
    quiet: bool = False
    verbose: bool = False
    bars: ProgressDisplay | None = None
    # The command may take minutes, so that it says how far it is without a terminal, too
    long: bool = False

    def __init__(self, *, json: bool = False) -> None:
        self.json = json
        # numbers that a command says of its answer, see `interfaces.measures`
        self.figures: Figures = {}

    @cached_property
    def settings(self) -> Settings:
        """Read when a command first needs them."""
        from ai_lessons.settings import load

        return load(os.environ, repo=self.repo, tier=self.tier)

    @property
    def root(self) -> Path:
        """The folder of the knowledge repository."""
        return self.settings.repo

    def options(self) -> Options:
        """The library's options for this user and this terminal."""
        chosen = library_options(self.settings)
        if is_terminal(sys.stderr) and not self.quiet and not self.json:
            self.bars = ProgressDisplay()
            click.get_current_context().find_root().call_on_close(self.bars.finish)
            chosen = chosen._replace(progress=self.bars.show)
        elif self.long and not self.quiet:
            chosen = chosen._replace(progress=ProgressLines().show)
        if self.can_ask and not self.settings.agent:
            from ai_lessons.interfaces.cli import prompts

            return chosen._replace(
                ask_trust=prompts.ask_trust,
                ask_keys=prompts.ask_keys,
                ask_source=prompts.ask_source,
            )
        return chosen

    @cached_property
    def library(self) -> Library:
        """The library on the repository, closed when the program ends."""
        program = click.get_current_context().find_root()
        return program.with_resource(app.workspace.Library(self.root, self.options()))

    @cached_property
    def ask(self) -> DaemonClient:
        """Runs jobs that only read, in the helper if it is warm."""
        if self.tool:
            library_options = self.library.options
        else:
            library_options = self.options()
        return app.daemon_client.DaemonClient(
            self.root, library_options, lambda: self.library, held=self.tool
        )

    @property
    def can_ask(self) -> bool:
        """Whether a person can answer a question (stdout may be a pipe)."""
        return is_terminal(sys.stdin) and is_terminal(sys.stderr) and not self.json

    def sure(self, question: str) -> bool:
        """Whether a person says yes at a terminal; nobody else can."""
        if self.settings.agent or not self.can_ask:
            return False
        from ai_lessons.interfaces.cli.prompts import confirm

        return confirm("Is that right?", line(question))

    @property
    def caller(self) -> str:
        """Who writes: `user` at a terminal, if the settings name no agent, else `ai`.

        One of the three streams may be a file or a pipe; a program that captures what is printed
        holds two of them.
        """
        # A script of a person and an agent of a host that sets no variable look alike without a
        # terminal. An agent's words with a person's standing are told to every agent, and nobody
        # would find out; so a person's script has to say `--from user`.
        terminals = sum(map(is_terminal, (sys.stdin, sys.stdout, sys.stderr)))
        if not self.by_agent and terminals > 1:
            return "user"
        return "ai"

    @property
    def by_agent(self) -> bool:
        """Whether an agent calls, as a tool or as the settings say."""
        return self.tool or bool(self.settings.agent)

    @property
    def view(self) -> View:
        """How to draw on what stdout is."""
        roots = {}
        for tier in (*self.settings.places.known, *self.settings.places.reads):
            roots[tier.name] = str(tier.root)
        if self.tool:
            # an agent needs paths that any of its tools takes, and cannot ask for a longer answer
            return View(root=str(self.root), home="", roots=roots, verbose=True)
        view = View(
            root=str(self.root),
            home=os.path.expanduser("~"),
            roots=roots,
            verbose=self.verbose,
        )
        if not is_terminal(sys.stdout):
            return view
        from datetime import UTC, datetime

        colour = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        return view._replace(width=terminal_size()[0], colour=colour, now=datetime.now(UTC))

    def answer(
        self,
        value: T,
        text: Callable[[T, View], str],
        data: Callable[[T], object] | None = None,
        *,
        paged: bool = False,
    ) -> None:
        """Print a value as text or, with `--json`, as `data`; notes go to stderr.

        An agent that calls a command that is a tool, too, gets text and notes behind the line that
        says what is data.
        """
        if self.bars:
            self.bars.finish()
        if self.json:
            printed: object = value
            if data:
                printed = data(value)
            click.echo(output.dump(printed))
            return
        tool = getattr(click.get_current_context().command, "tool", None)
        if tool and self.settings.agent:
            click.echo(self.for_agents(tool, value, text))
        else:
            self.say(self.view.fit(text(value, self.view)), paged=paged)
            self.note(notes_of(value))

    def for_agents(self, tool: Tool, value: T, text: Callable[[T, View], str]) -> AgentText:
        """The text of an answer and its notes behind the line that says what is data."""
        view = self.view
        if tool.notice:
            # what stands below a notice is content of entries, without our own marks
            view = BARE
        words = text(value, view)
        notes: list[str] = []
        if not self.quiet:
            notes = notes_of(value)
        if is_nothing(value) and not notes:
            return output.behind("", words)
        return output.answered(tool.notice, self.settings.whereabouts, words, notes)

    def interrupted(self) -> None:
        """Raise if the caller has cancelled the call."""

    def say(self, text: str, *, paged: bool = False) -> None:
        """Print text on stdout; through the pager if it is `paged` and higher than the terminal."""
        terminal = is_terminal(sys.stdout) and is_terminal(sys.stdin)
        if paged and terminal and text.count("\n") + 2 > terminal_size()[1]:
            os.environ.setdefault("LESS", "FRX")
            click.echo_via_pager(text, color=self.view.colour)
        else:
            click.echo(text, color=self.view.colour)

    def exactly(self, text: str) -> None:
        """Print text as it is, for programs that read our pipe.

        No newline added, nothing escaped.
        """
        click.echo(text.encode("utf-8", "surrogateescape"), nl=False)

    def note(self, notes: Iterable[str]) -> None:
        """Print notes on stderr, unless `-q`; for agents below the line that says what is data."""
        if self.quiet:
            return
        # several parts of an answer may have the same note
        rows = [f"note: {line(note)}" for note in dict.fromkeys(notes)]
        if rows and self.settings.agent:
            rows = [output.behind(output.DATA, *map(output.short_note, rows))]
        for row in rows:
            remark(row)

    def edit_until_valid(
        self, job: Callable[[Edits], T], nothing: str = "nothing was changed"
    ) -> T:
        """Run a job that edits, until its text is accepted or the user gives up.

        Then the text is saved.

        `nothing` is the note where the job returns None.
        """
        from ai_lessons.interfaces.cli.text_input import Edits

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
                    # the problem was shown before the question
                    error.message = "the edit was not written"
                error.hint = (
                    f"your text is kept in {edits.keep(self.settings.folders.state / 'edits')}"
                )
                raise
            if result is None:
                self.note([nothing])
            return result


def is_nothing(value: object) -> bool:
    """Whether an answer is no more than a line of ours, below which no content stands."""
    return bool(getattr(value, "nothing", False))


def notes_of(value: object) -> list[str]:
    """The notes of an answer or of several, but for one that is the answer."""
    if is_nothing(value):
        return list(getattr(value, "notes", ()))[1:]
    answers: Iterable[object] = (value,)
    if isinstance(value, tuple | list) and not hasattr(value, "notes"):
        # an answer may be a tuple itself
        answers = value
    results: list[str] = []
    for answer in answers:
        for note in getattr(answer, "notes", ()):
            results.append(note)
    return results
