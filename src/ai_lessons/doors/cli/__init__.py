"""The program `ai-lessons`: a command is parse, one library call, render.

Nothing here imports the library; the groups are imported when they are called, and the library inside a command.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from ai_lessons.doors.cli import error_handler
from ai_lessons.doors.cli.command_context import Call, version
from ai_lessons.doors.cli.commands import LazyGroup

Command = TypeVar("Command", bound=Callable[..., Any])

PROGRAM = "ai-lessons"
COMPLETE_VARIABLE = "_AI_LESSONS_COMPLETE"

GROUPS = {
    "contribute": (
        "ai_lessons.doors.cli.contribute:contribute",
        "Write down what was learned: lessons, docs, scripts, links.",
    ),
    "recall": ("ai_lessons.doors.cli.recall:recall", "Find, read and run what is known."),
    "admin": ("ai_lessons.doors.cli.admin:admin", "Make, check and care for the repository."),
}

EVERYDAY = (
    ('recall search "how do I undo a commit"', "Find what is known, by meaning."),
    ("recall show L-8F3K2A", "Read one entry in full."),
    ('contribute add-lesson --title "…"', "Write down what was learned."),
    ("contribute add-resource --type doc --path F", "Keep a doc as reference."),
    ("recall list", "See what is there."),
)


def show_version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    """Print the version and end."""
    if value and not ctx.resilient_parsing:
        click.echo(f"{ctx.info_name} {version()}")
        ctx.exit()


GLOBAL_OPTIONS = (
    click.option("--repo", metavar="PATH", help="Knowledge repository (or AI_LESSONS_REPO; default ~/.ai/reference)."),
    click.option("--tier", metavar="TIER", help="Repository by tier: project, user or enterprise:NAME."),
    click.option("--json", is_flag=True, help="Print data instead of text; errors too."),
    click.option("-q", "--quiet", is_flag=True, help="No notes, no progress."),
    click.option("-v", "--verbose", is_flag=True, help="Show where an error comes from."),
    click.option(
        "--version", is_flag=True, is_eager=True, expose_value=False, callback=show_version, help="Print the version."
    ),
)


def global_options(command: Command) -> Command:
    """The options of every program, in their order; they make its `Call`."""
    for option in reversed(GLOBAL_OPTIONS):
        command = option(command)
    return command


@click.group(PROGRAM, cls=LazyGroup, lazy=GROUPS, everyday=EVERYDAY)
@global_options
@click.pass_context
def root(ctx: click.Context, /, **given: object) -> None:
    """Lessons, rules, docs and scripts for coding agents and people: Markdown files in git, searched by meaning."""
    ctx.obj = Call(**given)  # type: ignore[arg-type]  # click has checked what it parsed


FEW_COLLECTIONS = 100_000
"""New objects between two runs of the garbage collector. A command lives for moments and makes its values at once:
at Python's own 700, a list of 10,000 entries spends a tenth of its time looking for cycles that are not there."""


def main() -> None:
    """Run the program and leave with its exit code."""
    prepare()
    sys.exit(run(sys.argv[1:]))


def prepare() -> None:
    """What every program of ours does before it looks at its arguments."""
    gc.set_threshold(FEW_COLLECTIONS)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A file name need not be UTF-8, and a terminal need not be able to show every letter.
            stream.reconfigure(errors="backslashreplace")


def run(args: list[str]) -> int:
    """Run the program on these arguments and return its exit code."""

    def program() -> object:
        return root.main(args, PROGRAM, COMPLETE_VARIABLE, standalone_mode=False)

    return error_handler.run(program, args)
