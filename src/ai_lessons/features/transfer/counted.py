"""What another tool counted of lessons and parameters: kept as it came, and handed on.

`app.counted_elsewhere` reads what is kept.
"""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING, Any

from ai_lessons.app.counted_elsewhere import events
from ai_lessons.app.events import stamped
from ai_lessons.git.worktree import shared_files
from ai_lessons.model.events import COUNTED, Event, line_of
from ai_lessons.model.tallies import TIMES, Counted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from ai_lessons.app.events import Events
    from ai_lessons.app.learned import Learned, LearnedParameter
    from ai_lessons.app.workspace import RepositorySession
    from ai_lessons.model.tallies import UsageTally

OF_PARAMETERS = ("value", "uncertainty", "observations", "prior_alpha", "prior_beta")


def take(
    repo: RepositorySession,
    counted: Mapping[str, Mapping[str, Any]],
    parameters: Mapping[str, Mapping[str, Any]],
    entries: Collection[str],
    *,
    dry_run: bool,
) -> list[str]:
    """Keep what a file says was counted of these entries and of parameters; a note on what came."""
    lessons = {}
    for name, numbers in counted.items():
        if name in entries:
            lessons[name] = Counted(**numbers).event(name)
    settings = {}
    for name, row in parameters.items():
        note = str(row["updated_at"])
        settings[name] = Event("", "", COUNTED, name, edge=_numbers(row), note=note)
    if not lessons and not settings:
        return []
    if not repo.events.recording:
        return ["this repository records no events, so what another tool counted was left out"]
    if not dry_run:
        _keep(repo, lessons | settings)
    parts = []
    if lessons:
        parts.append(f"statistics of {len(lessons)} lesson{'s' * (len(lessons) != 1)}")
    if settings:
        parts.append(f"{len(settings)} parameter{'s' * (len(settings) != 1)}")
    what = " and ".join(parts)
    return [f"kept as another tool counted it, apart from what happens here: {what}"]


def _keep(repo: RepositorySession, counts: Mapping[str, Event]) -> None:
    """Write the events that are not there as they are."""
    kept = events(repo.events)
    new = []
    for name, event in counts.items():
        if not _same(kept.get(name), event):
            new.append(event)
    if not new:
        return
    now = repo.options.now()
    lines = []
    for event in stamped(new, now):
        lines.append(line_of(event))
    with shared_files(repo.store.worktree):
        repo.events.log.append(lines, f"{now.astimezone(UTC):%Y-%m}")


def _numbers(row: Mapping[str, Any]) -> dict[str, float]:
    numbers: dict[str, float] = {}
    for name in OF_PARAMETERS:
        numbers[name] = row[name]
    return numbers


def _same(before: Event | None, event: Event) -> bool:
    return before is not None and (before.edge, before.note) == (event.edge, event.note)


def usage_stats(learned: Learned, usage: UsageTally, counted: Counted | None) -> dict[str, Any]:
    """The statistics of a lesson in an export.

    What happened here, and what another tool counted (`imported`).
    """
    tallies, before = usage.tallies, counted or Counted()
    stats: dict[str, Any] = {}
    for word in TIMES:
        stats[f"times_{word}"] = getattr(tallies, word) + getattr(before, word)
    last = max(tallies.last_used, before.last_used)
    if last:
        stats["last_used"] = last
    if not (before.alpha or before.beta):
        # nobody else stated them, and two numbers of 0 give no confidence
        stats["confidence_alpha"] = usage.alpha
        stats["confidence_beta"] = usage.beta
        return stats | ({} if counted is None else {"imported": before.as_json()})
    # what outcomes here add to either
    more_alpha, more_beta = learned.outcomes(tallies)
    stats["confidence_alpha"] = round(before.alpha + more_alpha, 9)
    stats["confidence_beta"] = round(before.beta + more_beta, 9)
    stats["imported"] = before.as_json()
    return stats


def parameter_rows(log: Events, states: Iterable[LearnedParameter]) -> list[dict[str, Any]]:
    """The parameters of an export.

    As they stand here, else as another tool left them, which `imported` marks.
    """
    elsewhere = {}
    for name, event in events(log).items():
        if event.edge.keys() >= {*OF_PARAMETERS}:
            elsewhere[name] = _row(event)
    rows = []
    for state in states:
        theirs = elsewhere.pop(state.name, None)
        if state.observations:
            row = _row_of_here(state)
            if theirs:
                row["imported"] = theirs
            rows.append(row)
        elif theirs:
            rows.append(theirs | {"imported": True})
    # parameters that only the other tool has
    for row in elsewhere.values():
        rows.append(row | {"imported": True})
    return rows


def _row_of_here(state: LearnedParameter) -> dict[str, Any]:
    return {
        "param_name": state.name,
        "value": state.value,
        "uncertainty": state.uncertainty,
        "observations": state.observations,
        "prior_alpha": state.alpha,
        "prior_beta": state.beta,
        "updated_at": state.updated_at,
    }


def _row(event: Event) -> dict[str, Any]:
    row: dict[str, Any] = {"param_name": event.entry, **event.edge}
    # an edge holds every number as a fraction
    row["observations"] = round(event.edge["observations"])
    row["updated_at"] = event.note or event.at
    return row
