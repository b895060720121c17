"""`ai-lessons admin`, the part of a hub: what its server hook calls, and putting that hook there."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ai_lessons.doors import render_jobs
from ai_lessons.doors.cli.command_context import Call, pass_call
from ai_lessons.doors.cli.commands import Command

if TYPE_CHECKING:
    from ai_lessons.doors.terminal import View
    from ai_lessons.library.setup import PushChecked

EXIT_REFUSED = 8
"""The code of what a policy refuses."""


def register(group: click.Group) -> None:
    """Hang these commands into the group `admin`."""
    group.add_command(check_push)


# hidden, because only a hook calls it
@click.command(
    "check-push", cls=Command, hidden=True, examples=["ai-lessons admin check-push < updates   # in a pre-receive hook"]
)
@pass_call
def check_push(call: Call) -> int:
    """Decide about a push inside a pre-receive hook, from its standard input. Exit code 8 if it is refused."""
    from ai_lessons.library.setup import check_push as check

    done = check(Path(os.environ.get("GIT_DIR") or "."), sys.stdin.read().splitlines())
    if done.refused or call.json:
        call.answer(done, _text)
    return EXIT_REFUSED if done.refused else 0


def _text(done: PushChecked, view: View) -> str:
    rows = [f"refused: {reason}" for reason in done.refused]
    more = [f"refused: and {done.more} more"] if done.more else []
    return render_jobs.lines((*rows, *more), view)


def answer_for_hub(call: Call, job: str, hub: str) -> None:
    """`hooks install`, `uninstall` or `status` with `--server HUB`."""
    from ai_lessons.library import setup as jobs

    done: tuple[str, ...] = getattr(jobs, f"hook_{job}")(call.settings.cwd / hub)
    call.answer(done, render_jobs.lines)
