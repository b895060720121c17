"""`ai-lessons admin`, the part for agent hosts: what their hooks call, which hosts there are, and what is put there."""

from __future__ import annotations

import sys

import click

from ai_lessons.doors.cli.call import Call, pass_call
from ai_lessons.doors.cli.commands import Command
from ai_lessons.doors.terminal import is_terminal
from ai_lessons.errors import UsageError


def register(group: click.Group) -> None:
    """Hang these commands into the group `admin`."""
    group.add_command(agent_hook)


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
