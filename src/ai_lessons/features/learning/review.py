"""Entries to look at again, by what happened to them."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING

from ai_lessons.app.outdated import Outdated, rests
from ai_lessons.features.learning.objections import LIMITS
from ai_lessons.features.learning.usages import usages
from ai_lessons.model.entries import Filter, Kind
from ai_lessons.model.events import SCRIPT_FAILED, SCRIPT_OK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ai_lessons.app.workspace import RepositorySession
    from ai_lessons.features.learning.usages import Usages
    from ai_lessons.model.entries import EntrySummary


def outdated(repo: RepositorySession) -> Iterator[Outdated]:
    """Rules that are not followed, the worst first, or never broken; then lessons and scripts that fail."""
    learned, entries = usages(repo), _awake(repo)
    rules = [entry for entry in entries if entry.kind is Kind.RULE]
    by_id = {rule.id: rule for rule in rules}
    kept = learned.kept(rules)
    for entry_id in sorted(kept, key=lambda rule: -kept[rule].sessions.not_followed):
        sessions, line = kept[entry_id].sessions, kept[entry_id].line
        if sessions.not_followed:
            yield Outdated(by_id[entry_id], "not_followed", line)
        elif sessions.kept_untold:
            yield Outdated(by_id[entry_id], "never_broken", line)
    tallies = learned.tallies()
    for entry in entries:
        tally = tallies.get(entry.id)
        if tally is None:
            continue
        if entry.kind is Kind.LESSON and not tally.helpful and tally.injected >= LIMITS.often:
            why = f"it was shown {tally.injected} times and never helped"
            yield Outdated(entry, "never_helpful", why)
        if entry.kind is Kind.SCRIPT and tally.script_failed >= LIMITS.failures:
            yield from _failing(learned, entry)


def _awake(repo: RepositorySession) -> list[EntrySummary]:
    """The active entries, without those that were looked at not long ago."""
    today = repo.options.now().astimezone(UTC).date()
    entries = []
    for entry in repo.current().select(Filter(sort="created")):
        if not rests(entry, today):
            entries.append(entry)
    return entries


def _failing(learned: Usages, script: EntrySummary) -> Iterator[Outdated]:
    runs = []
    for _, word in learned.history(script.id):
        if word in {SCRIPT_OK, SCRIPT_FAILED}:
            runs.append(word)
    if SCRIPT_OK not in runs[-LIMITS.failures :]:
        yield Outdated(script, "failing", f"its last {LIMITS.failures} runs failed")
