"""What was useful, as text for people: feedback, how an entry has done. Pure: takes answers, returns text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.doors.terminal import View, count, line, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_lessons.library.answers import Left, Usage
    from ai_lessons.library.reports import Feedback, Parameter, Stats


def feedback(value: Feedback, view: View) -> str:
    """What was said of which entry, and how it stands with that."""
    head = f"{view.named(value.entry.handle, value.entry.title)}: {line(value.outcome)}"
    return "\n".join([head, *(f"  {row}" for row in usage(value.usage))])


def usage(value: Usage) -> list[str]:
    """Two lines: how sure it is by now, and what happened to it."""
    counts = (
        ("injected", value.times_injected), ("helpful", value.times_helpful), ("ignored", value.times_ignored),
        ("contradicted", value.times_contradicted), ("runs", value.script_ok), ("failed runs", value.script_failed),
    )  # fmt: skip
    said = ", ".join(f"{name} {number:,}" for name, number in counts if number or name == "helpful")
    last = f" | last used: {line(value.last_used)}" if value.last_used else ""
    return [f"learned confidence: {value.confidence:.2f} (alpha {value.alpha:g}, beta {value.beta:g})", said + last]


def left_out(values: Sequence[Left], view: View) -> str:
    """Lessons that fitted and did not come, each with the reason."""
    rows = [f"  {view.named(one.entry.handle, one.entry.title)}: {line(one.detail)}" for one in values]
    return "\n".join([view.paint("Left out:", "heading"), *rows]) if rows else "No lesson was left out."


def params(values: Sequence[Parameter], view: View) -> str:
    """Parameters that learn: where each stands, within which bounds, and how sure that is."""
    header = ("PARAMETER", "VALUE", "BOUNDS", "UNCERTAINTY", "SEEN", "WHAT IT IS")
    rows = [
        (
            one.name, f"{one.value:.3g}", f"{one.low:g} to {one.high:g}", f"{one.uncertainty:.2f}",
            f"{one.observations:,}", one.help,
        )
        for one in values
    ]  # fmt: skip
    return "\n".join(table(header, rows, view, flexible=(5,)))


def learned(value: Stats, view: View) -> list[str]:
    """What `stats` says of use: blocks, only those that have something to say."""
    blocks = []
    for title, some in (("Most useful:", value.most_useful), ("Least useful:", value.least_useful)):
        rows = [
            f"  {view.named(one.handle, one.title)}: helpful {one.helpful:,}, ignored {one.ignored:,}, "
            f"contradicted {one.contradicted:,}, confidence {one.confidence:.2f}"
            for one in some
        ]
        blocks += ["\n".join([view.paint(title, "heading"), *rows])] if rows else []
    if value.ablation:
        one = value.ablation
        blocks.append(
            f"Showing a lesson changed the share of sessions that went well by {one.difference:+.0%}\n"
            f"  95 % interval {one.low:+.0%} to {one.high:+.0%}, from {one.shown:,} sessions with and "
            f"{one.left_out:,} without"
        )
    if value.damaged_events:
        blocks.append(f"{count(value.damaged_events, 'line')} of event logs cannot be read and count for nothing")
    return blocks
