"""`ai-lessons admin`, the part for agent hosts: what their hooks call, which hosts there are, and what is put there."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ai_lessons.doors import render_jobs
from ai_lessons.doors.cli.command_context import Call, pass_call
from ai_lessons.doors.cli.commands import Command
from ai_lessons.doors.terminal import is_terminal
from ai_lessons.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_lessons.library.agents.installing import Job


def register(group: click.Group) -> None:
    """Hang these commands into the group `admin`."""
    for command in (hosts, agent_hook):
        group.add_command(command)


@click.command("hosts", cls=Command, examples=["ai-lessons admin hosts", "ai-lessons admin hosts --json"])
@pass_call
def hosts(call: Call) -> None:
    """Show the agent hosts on this machine, their hooks, and what of ours reaches their agents."""
    from ai_lessons.doors import render_hosts
    from ai_lessons.library.agents import installing as agents

    folders = {name: os.environ[name] for name in agents.FOLDERS if os.environ.get(name)}
    home = Path(os.path.expanduser("~"))
    found = agents.hosts(home, os.environ.get("PATH", ""), folders, call.settings.cwd)
    call.answer(found, render_hosts.hosts)


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
    from ai_lessons.library.agents import installing as agents

    cwd = call.settings.cwd
    lines: list[str] = []
    if paragraph:
        lines += agents.instruct(job, cwd)
    if files:
        lines += agents.instruct(job, cwd, [cwd / Path(file).expanduser() for file in files])
    if host:
        lines += agents.register(job, cwd, call.settings.folders.state)
    call.answer(tuple(lines), render_jobs.lines)
