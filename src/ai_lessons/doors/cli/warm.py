"""`ai-lessons admin warm`: the helper that stays in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ai_lessons import library
from ai_lessons.doors.cli.command_context import Call, pass_call
from ai_lessons.doors.cli.commands import Group
from ai_lessons.doors.terminal import count, line

if TYPE_CHECKING:
    from ai_lessons.doors.terminal import View
    from ai_lessons.library.warm import Helpers


@click.group("warm", cls=Group)
def warm() -> None:
    """The helper that stays in memory for ten minutes after a search, so that the next one is answered in a blink."""


def told(found: Helpers, _view: View) -> str:
    """A line for each helper and each of its repositories."""
    if not found.helpers:
        off = "AI_LESSONS_WARM=0, [warm] in config.toml, CI, or no folder that can hold a socket"
        return f"No helper runs, and none will be started: {off}." if found.state == "off" else "No helper runs."
    rows = []
    for one in found.helpers:
        says = f"{one.seconds} s old, {one.megabytes} MB, {count(one.requests, 'request')}"
        rows.append(f"{one.state}: process {one.pid}" + (f", {says}" if one.seconds or one.requests else ""))
        rows += [f"  {line(place)}" for place in one.repositories]
    return "\n".join(rows)


@warm.command("status", examples=["ai-lessons admin warm status", "ai-lessons admin warm status --json"])
@pass_call
def status(call: Call) -> None:
    """Say whether a helper runs: its age, memory, requests and repositories."""
    call.answer(library.warm_jobs.helpers(call.options()), told)


@warm.command("stop", examples=["ai-lessons admin warm stop"])
@pass_call
def stop(call: Call) -> None:
    """End it now, also one that hangs. The next search that needs one starts another."""
    call.answer(library.warm_jobs.stop(call.options()), told)
