"""The commands about what was useful: feedback on an entry, and the parameters that learn from it."""

from __future__ import annotations

import click

from ai_lessons.doors import render_usage, usage_json
from ai_lessons.doors.cli.call import Call, pass_call
from ai_lessons.doors.cli.commands import Command
from ai_lessons.doors.cli.options import id_argument

OUTCOMES = ("helpful", "ignored", "contradicted")


def register_contribute(group: click.Group) -> None:
    """Hang these commands into the group `contribute`."""
    group.add_command(feedback)


@click.command(
    "feedback",
    cls=Command,
    examples=[
        "ai-lessons contribute feedback L-8F3K2A helpful",
        'ai-lessons contribute feedback L-8F3K2A contradicted --note "PATCH works since v4"',
    ],
)
@id_argument
@click.argument("outcome", type=click.Choice(OUTCOMES))
@click.option("--note", metavar="TEXT", default="", help="Why; kept with the event.")
@pass_call
def feedback(call: Call, ref: str, outcome: str, note: str) -> None:
    """Say how an entry did: helpful, ignored or contradicted. Its confidence moves by that."""
    call.answer(call.library.contribute.feedback(ref, outcome, note), render_usage.feedback, usage_json.feedback)
