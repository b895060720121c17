"""`ai-lessons admin`, what hooks call: those of agent hosts and of a hub; and which hosts there are."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ai_lessons import library
from ai_lessons.doors import render_jobs, render_transfer
from ai_lessons.doors.cli.command_context import Call, pass_call
from ai_lessons.doors.cli.commands import Command
from ai_lessons.doors.terminal import is_terminal
from ai_lessons.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_lessons.doors.terminal import View
    from ai_lessons.library.setup import Job, PushChecked

EXIT_REFUSED = 8
"""The code of what a policy refuses."""


def register(group: click.Group) -> None:
    """Hang these commands into the group `admin`."""
    for command in (hosts, agent_hook, check_push):
        group.add_command(command)


@click.command("hosts", cls=Command, examples=["ai-lessons admin hosts", "ai-lessons admin hosts --json"])
@pass_call
def hosts(call: Call) -> None:
    """Show the agent hosts on this machine, their hooks, and what of ours reaches their agents."""
    jobs = library.setup
    folders = {name: os.environ[name] for name in jobs.FOLDERS if os.environ.get(name)}
    home = Path(os.path.expanduser("~"))
    found = jobs.hosts(home, os.environ.get("PATH", ""), folders, call.settings.cwd)
    call.answer(found, render_transfer.hosts)


# hidden, because only an agent host calls it
@click.command(
    "agent-hook", cls=Command, hidden=True, examples=["ai-lessons admin agent-hook < event.json   # by an agent host"]
)
@click.option("--project", metavar="P", help="Project of the session, instead of the one named as the folder is.")
@pass_call
def agent_hook(call: Call, project: str | None) -> None:
    """Answer one event of an agent host, from standard input. Silent and successful whatever goes wrong."""
    from ai_lessons.doors import agent_hook as hook

    if is_terminal(sys.stdin):
        raise UsageError("an agent host calls this and gives an event as JSON", hint="ai-lessons admin hosts")
    said = hook.run(call.repo, call.tier, project)
    if said:
        click.echo(said)


def answer_for_agents(call: Call, job: Job, *, paragraph: bool, files: Sequence[str], host: str | None) -> None:
    """`hooks install`, `uninstall` or `status` with `--agents`, `--file` or `--host`."""
    jobs, cwd = library.setup, call.settings.cwd
    lines: list[str] = []
    if paragraph:
        lines += jobs.instruct(job, cwd)
    if files:
        lines += jobs.instruct(job, cwd, [cwd / Path(file).expanduser() for file in files])
    if host:
        lines += jobs.register(job, cwd)
    call.answer(tuple(lines), render_jobs.lines)


# hidden, because only a hook calls it
@click.command(
    "check-push", cls=Command, hidden=True, examples=["ai-lessons admin check-push < updates   # in a pre-receive hook"]
)
@pass_call
def check_push(call: Call) -> int:
    """Decide about a push inside a pre-receive hook, from its standard input. Exit code 8 if it is refused."""
    done = library.setup.check_push(Path(os.environ.get("GIT_DIR") or "."), sys.stdin.read().splitlines())
    if done.refused or call.json:
        call.answer(done, _refused)
    return EXIT_REFUSED if done.refused else 0


def _refused(done: PushChecked, view: View) -> str:
    more = [f"refused: and {done.more} more"] if done.more else []
    return render_jobs.lines((*(f"refused: {reason}" for reason in done.refused), *more), view)


def answer_for_hub(call: Call, job: Job, hub: str) -> None:
    """`hooks install`, `uninstall` or `status` with `--server HUB`."""
    call.answer(library.setup.server_hook(job, call.settings.cwd / hub), render_jobs.lines)
