"""The commands about what was useful: feedback on an entry, and the parameters that learn from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ai_lessons import library
from ai_lessons.doors import render_usage
from ai_lessons.doors.cli.command_context import Call, pass_call
from ai_lessons.doors.cli.commands import Command, Tool
from ai_lessons.doors.cli.options import id_argument
from ai_lessons.errors import UsageError

if TYPE_CHECKING:
    from ai_lessons.library.reports import Parameter

OUTCOMES = ("helpful", "ignored", "contradicted")


def register_contribute(group: click.Group) -> None:
    """Hang these commands into the group `contribute`."""
    group.add_command(feedback)


def register_admin(group: click.Group) -> None:
    """Hang these commands into the group `admin`."""
    group.add_command(params)


@click.command(
    "feedback",
    cls=Command,
    examples=[
        "ai-lessons contribute feedback L-8F3K2A helpful",
        'ai-lessons contribute feedback L-8F3K2A contradicted --note "PATCH works since v4"',
    ],
    tool=Tool(
        "record_outcome",
        "id=ref outcome note",
        "id handle outcome usage",
        "Say how an entry did: its confidence learns from it.",
    ),
)
@id_argument
@click.argument("outcome", type=click.Choice(OUTCOMES))
@click.option("--note", metavar="TEXT", default="", help="Why; kept with the event.")
@pass_call
def feedback(call: Call, ref: str, outcome: str, note: str) -> None:
    """Say how an entry did: helpful, ignored or contradicted. Its confidence moves by that."""
    call.answer(library.editing.feedback(call.library, ref, outcome, note), render_usage.feedback)


@click.command(
    "params",
    cls=Command,
    examples=[
        "ai-lessons admin params",
        "ai-lessons admin params injection_budget --min 3 --max 12",
        "ai-lessons admin params confidence_threshold --set 0.4",
        "ai-lessons admin params --reset",
    ],
)
@click.argument("name", required=False)
@click.option("--set", "value", type=float, metavar="V", help="Start anew from this value.")
@click.option("--min", "low", type=float, metavar="V", help="Never below this.")
@click.option("--max", "high", type=float, metavar="V", help="Never above this.")
@click.option("--reset", is_flag=True, help="Forget what was learned, and the bounds; of all without a NAME.")
@pass_call
def params(
    call: Call, name: str | None, value: float | None, low: float | None, high: float | None, reset: bool
) -> None:
    """Show the parameters that learn from outcomes, or change one."""
    call.answer(_params(call, name, value, low, high, reset), render_usage.params)


def _params(
    call: Call, name: str | None, value: float | None, low: float | None, high: float | None, reset: bool
) -> tuple[Parameter, ...]:
    bounds = low is not None or high is not None
    if (value is not None) + bounds + reset > 1:
        raise UsageError("--set, --min and --max, and --reset are three different things", hint="give one of them")
    if name is None and (bounds or value is not None):
        raise UsageError("which parameter?", hint="ai-lessons admin params lists them")
    opened = call.library
    if reset:
        return library.health.params_reset(opened, name)
    if name is not None and value is not None:
        return library.health.params_set(opened, name, value)
    return (
        library.health.params_bounds(opened, name, low, high)
        if name is not None and bounds
        else library.health.params(opened, name)
    )
