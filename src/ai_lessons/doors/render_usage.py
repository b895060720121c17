"""What was useful, as text for people: feedback, how an entry has done. Pure: takes answers, returns text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.doors.render_jobs import pairs
from ai_lessons.doors.terminal import View, count, line, size, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_lessons.library.answers import Left, Usage
    from ai_lessons.library.reports import Judged, Parameter, Stats
    from ai_lessons.library.sharing.shared_index import IndexState, Pulled, Pushed, Shared
    from ai_lessons.library.writes import Feedback


def feedback(value: Feedback, view: View) -> str:
    """What was said of which entry, and how it stands with that."""
    entry = value.entry
    head = f"{view.paint(f'[{line(entry.handle)}]', 'handle')} {line(entry.title)}: {line(value.outcome)}"
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
    if not values:
        return "No lesson was left out."
    rows = (
        f"  {view.paint(f'[{line(one.entry.handle)}]', 'handle')} {line(one.entry.title)}: {line(one.detail)}"
        for one in values
    )
    return "\n".join([view.paint("Left out:", "heading"), *rows])


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
    blocks = [
        _judged(title, some, view)
        for title, some in (("Most useful:", value.most_useful), ("Least useful:", value.least_useful))
        if some
    ]
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


def _judged(title: str, values: Sequence[Judged], view: View) -> str:
    rows = (
        f"  {view.paint(f'[{line(one.handle)}]', 'handle')} {line(one.title)}: helpful {one.helpful:,}, ignored "
        f"{one.ignored:,}, contradicted {one.contradicted:,}, confidence {one.confidence:.2f}"
        for one in values
    )
    return "\n".join([view.paint(title, "heading"), *rows])


def state(value: IndexState, view: View) -> str:
    """What is in the index, and below it the shared one."""
    rows = {
        "model": line(value.model),
        "entries": f"{value.entries:,}",
        "passages": f"{value.passages:,} ({value.vectors:,} with a vector)",
        "size": size(value.bytes),
        "vectors": "every one is compared" if value.indexed is None else f"{value.indexed:,} in an index (IVF_SQ)",
        "outside the indices": f"{count(value.unindexed, 'passage')}, searched by reading",
    }
    if value.next_model:
        all_of = max(value.next_passages, value.passages)
        rows["being made"] = f"vectors of {line(value.next_model)}: {value.next_vectors:,} of {all_of:,}"
    if value.recall is not None:
        rows["recall@10"] = f"{value.recall:.3f} of exact search"
    shown = [pairs(rows, view)]
    if value.shared:
        shown.append(pairs(_shared(value.shared), view))
    return "\n\n".join(shown)


def pushed(value: Pushed, view: View) -> str:
    """What a push changed there."""
    head = f"{count(value.sent, 'entry')} pushed, {value.removed:,} removed: {line(value.shared.uri)}"
    return "\n".join([head, pairs(_shared(value.shared), view), *map(line, value.notes)])


def pulled(value: Pulled, _view: View) -> str:
    """What came, and what was computed here."""
    lines = [f"{count(value.came, 'vector')} came from {line(value.uri)}, {value.embedded:,} filled in here"]
    if value.missing:
        lines.append(f"{value.missing:,} of {count(value.passages, 'passage')} are without a vector")
    return "\n".join([*lines, *map(line, value.notes)])


def _shared(value: Shared) -> dict[str, str]:
    if not value.model:
        return {"shared": f"nothing at {line(value.uri)}"}
    use = (
        f"covers {count(value.covers, 'passage')} of this clone" if value.usable else "of another model: of no use here"
    )
    return {
        "shared": line(value.uri),
        "its model": f"{line(value.model)}, {use}",
        "its passages": f"{value.passages:,} of {count(value.entries, 'entry')} ({value.vectors:,} with a vector)",
    }
