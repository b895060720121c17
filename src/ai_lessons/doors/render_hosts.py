"""The agent hosts of a machine, for people. Pure: takes what was found, returns text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.doors.terminal import line, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_lessons.doors.terminal import View
    from ai_lessons.library.agents.installing import Host, Target

WAYS = {
    "session-start": "text at the start of a session",
    "edit": "text around an edit",
    "instructions": "instructions",
    "mcp": "MCP server",
}
NONE = "No agent host was found: no program on the path, no folder of one, no file of one here."


def hosts(found: Sequence[Host], view: View) -> str:
    """A line for each host, then for each the ways to its agent."""
    if not found:
        return NONE
    rows = [(host.name, ", ".join(host.found), _events(host), _ours(host)) for host in found]
    lines = table(("HOST", "FOUND", "HOOKS", "OURS"), rows, view, flexible=(1, 2))
    for host in found:
        lines += ["", view.paint(line(host.name), "heading"), *map(_target, host.targets)]
        lines += [f"  {view.paint('cannot be read:', 'warn')} {line(place)}" for place in host.unreadable]
    return "\n".join(lines)


def _events(host: Host) -> str:
    return ", ".join(dict.fromkeys(event for events in host.hooks.values() for event in events))


def _ours(host: Host) -> str:
    return ", ".join(dict.fromkeys(target.way for target in host.targets if target.ours))


def _target(target: Target) -> str:
    state = "ours is there" if target.ours else "nothing of ours" if target.there else "no file"
    return f"  {WAYS[target.way]}: {line(target.place)} ({state})"
