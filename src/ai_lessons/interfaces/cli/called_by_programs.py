"""Commands that no person calls: git, its hooks and the hooks of agent hosts do.

They are hidden in every help.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ai_lessons import app
from ai_lessons.errors import Refused, UsageError
from ai_lessons.interfaces import text_jobs
from ai_lessons.interfaces.cli.command import Group
from ai_lessons.interfaces.output import is_terminal

if TYPE_CHECKING:
    from ai_lessons.interfaces.cli.call import Call

# these commands hang in the group of that name
to_admin = Group("admin")


# hidden, because only an agent host calls it
@to_admin.command("agent-hook", hidden=True, examples=["< event.json   # by an agent host"])
@click.option(
    "--explain",
    is_flag=True,
    help="Show which entries are given and which are not, each with the reason.",
)
def agent_hook(call: Call, explain: bool) -> None:
    """Answer one event of an agent host, from standard input.

    On an error it prints nothing and exits with 0.
    """
    from ai_lessons.interfaces.agent_hook import run

    if is_terminal(sys.stdin):
        raise UsageError(
            "an agent host calls this and gives an event as JSON", hint="ai-lessons admin hosts"
        )
    answer = run(call.repo, call.tier, explain=explain)
    if answer:
        click.echo(answer)


# hidden, because only a hook calls it
@to_admin.command("check-push", hidden=True, examples=["< updates   # in a pre-receive hook"])
def check_push(call: Call) -> int:
    """Check a push inside a pre-receive hook, from its standard input.

    Exit code 8 if it is refused.
    """
    refused = app.program_hooks.check_push(
        Path(os.environ.get("GIT_DIR") or "."), sys.stdin.read().splitlines()
    )
    if refused or call.json:
        lines = []
        for reason in refused:
            lines.append(f"refused: {reason}")
        call.answer(
            refused,
            lambda _, view: text_jobs.lines(lines, view),
            lambda reasons: {"refused": reasons},
        )
    if refused:
        return Refused.exit_code
    return 0


# hidden, because only a hook calls it
@to_admin.command("after-merge", hidden=True, examples=[""])
def after_merge(call: Call) -> None:
    """Say what the merge that git has just made did to rules, and bring the catalog up to date."""
    done = app.arrivals.after_merge(call.library)
    if done or call.json:
        lines = []
        for text in done:
            lines.append(f"ai-lessons: {text}")
        call.answer(
            done, lambda _, view: text_jobs.lines(lines, view), lambda every: {"lines": every}
        )


# hidden, because only git calls it
@to_admin.command("merge-file", hidden=True, examples=["%O %A %B %P"])
@click.argument(
    "files", metavar="BASE OURS THEIRS", nargs=3, type=click.Path(exists=True, path_type=Path)
)
@click.argument("path")
def merge_file(_: Call, files: tuple[Path, Path, Path], path: str) -> None:
    """Merge one file that two sides changed, key by key and line by line.

    The result is written over OURS.
    """
    app.sharing.merge_file(path, *files)
