"""`ai-lessons admin warm`: the helper that stays in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ai_lessons import library
from ai_lessons.doors.cli.command_context import Call, pass_call
from ai_lessons.doors.cli.commands import Group
from ai_lessons.doors.terminal import line

if TYPE_CHECKING:
    from ai_lessons.doors.terminal import View
    from ai_lessons.library.warm import HelperState


@click.group("warm", cls=Group)
def warm() -> None:
    """The helper that stays in memory for ten minutes after a search, so that the next one is answered in a blink."""


def told(found: tuple[HelperState, ...], _view: View) -> str:
    """A line for each helper and each of its repositories."""
    rows = [] if found else ["No helper runs."]
    for one in found:
        rows.append(f"{one.state}: process {one.pid}, {one.seconds} s, {one.megabytes} MB, requests: {one.requests}")
        rows += [f"  {line(place)}" for place in one.repositories]
    return "\n".join(rows)


@warm.command("status", examples=["ai-lessons admin warm status", "ai-lessons admin warm status --json"])
@pass_call
def status(call: Call) -> None:
    """Say whether a helper runs: its age, memory, requests and repositories."""
    call.answer(library.warm.helpers(call.options()), told)


@warm.command("stop", examples=["ai-lessons admin warm stop"])
@pass_call
def stop(call: Call) -> None:
    """End it now, also one that hangs. The next search that needs one starts another."""
    call.answer(library.warm.helpers(call.options(), stop=True), told)
