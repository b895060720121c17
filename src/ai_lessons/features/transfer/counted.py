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
    settings = {
        name: Event("", "", COUNTED, name, edge=_numbers(row), note=str(row["updated_at"]))
        for name, row in parameters.items()
    }
    log = repo.events
    if not lessons and not settings:
        return []
    if not log.recording:
        return ["this repository records no events, so what another tool counted was left out"]
    kept = events(log)
    new = [
        event for name, event in {**lessons, **settings}.items() if not _same(kept.get(name), event)
    ]
    if not dry_run and new:
        now = repo.options.now()
        lines = []
        for event in stamped(new, now):
            lines.append(line_of(event))
        with shared_files(repo.store.worktree):
            log.log.append(lines, f"{now.astimezone(UTC):%Y-%m}")
    if lessons:
        parts = [f"statistics of {len(lessons)} lesson{'s' * (len(lessons) != 1)}"]
    else:
        parts = []
    if settings:
        parts += [f"{len(settings)} parameter{'s' * (len(settings) != 1)}"]
    return [f"kept as another tool counted it, apart from what happens here: {' and '.join(parts)}"]


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
    times = {}
    for word in TIMES:
        times[f"times_{word}"] = getattr(tallies, word) + getattr(before, word)
    last = max(tallies.last_used, before.last_used)
    stats: dict[str, Any] = {**times, **({"last_used": last} if last else {})}
    if counted is None:
        return {**stats, "confidence_alpha": usage.alpha, "confidence_beta": usage.beta}
    more_alpha, more_beta = learned.outcomes(tallies)
    return {
        **stats,
        "confidence_alpha": round(before.alpha + more_alpha, 9),
        "confidence_beta": round(before.beta + more_beta, 9),
        "imported": before.as_json(),
    }


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
            row = {
                "param_name": state.name,
                "value": state.value,
                "uncertainty": state.uncertainty,
                "observations": state.observations,
                "prior_alpha": state.alpha,
                "prior_beta": state.beta,
                "updated_at": state.updated_at,
            }
            rows.append(row | ({"imported": theirs} if theirs else {}))
        elif theirs:
            rows.append(theirs | {"imported": True})
    return [*rows, *(row | {"imported": True} for row in elsewhere.values())]


def _row(event: Event) -> dict[str, Any]:
    whole = {"observations": round(event.edge["observations"])}
    return {"param_name": event.entry, **event.edge, **whole, "updated_at": event.note or event.at}
