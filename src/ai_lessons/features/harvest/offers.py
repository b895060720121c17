"""When a lesson about a command is told: before a call that fails more often than not, at a failure.

Where that is a lesson whose calls were counted. Others are told by the core.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.app.link_effects import usages_of
from ai_lessons.features.harvest.counts import (
    BAR,
    LEAST_SESSIONS,
    NAME,
    CallCounts,
    counts_by_entry,
)
from ai_lessons.model import command_forms
from ai_lessons.model.dangerous_commands import destroys
from ai_lessons.model.layout import EXACT
from ai_lessons.model.outcomes import carried_out
from ai_lessons.search.terms import EDIT_BAR
from ai_lessons.telling.matching import about_command, about_inside, commands_here
from ai_lessons.telling.offers import Offer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ai_lessons.app.workspace import Reading
    from ai_lessons.model.tallies import Tallies
    from ai_lessons.telling.offers import Occasion


def before_a_command(repo: Reading, occasion: Occasion) -> Iterator[Offer]:
    """Lessons about commands of the line, and beside one those about the folder that it goes into."""
    if not occasion.command:
        return
    folders = occasion.folders
    calls = command_forms.runs(occasion.command, folders[0])
    if not calls:
        return
    here = commands_here(repo, folders, NAME)
    named = about_command(here, calls, folders)
    inside = []
    for summary in about_inside(here, calls, folders[0]):
        if summary not in named:
            inside.append(summary)
    counts = counts_by_entry(repo)
    usages = usages_of(repo, [*named, *inside])
    interrupts = bool(about_command(commands_here(repo, folders), calls, folders))
    for summary in (*named, *inside):
        if summary in inside and not interrupts:
            # about the folder that this line goes into: said along, so that it interrupts once less
            return
        why = _why(counts[summary.id], usages[summary.id].tallies)
        done = carried_out(summary.stated.pattern, occasion.command)
        dangerous = destroys(summary.title, summary.stated.pattern, summary.rationale)
        if why and not done and not dangerous:
            yield Offer(summary, EDIT_BAR * EXACT, why)
            interrupts = True


def _why(counts: CallCounts, tallies: Tallies) -> str:
    """Why a lesson is told before its command; empty where too few of its calls failed."""
    failed, passed = tallies.held, tallies.passed
    sessions = max(counts.sessions, failed)
    if counts.chance(failed, passed) <= BAR or sessions < LEAST_SESSIONS:
        return ""
    failures = counts.failures + failed
    calls = counts.calls + failed + passed
    return f"failed in {failures} of {calls} calls"


def at_a_failure(repo: Reading, occasion: Occasion) -> Iterator[Offer]:
    """Lessons about the command that is to blame, as surely as it fails."""
    cwd = ""
    if occasion.folders:
        cwd = occasion.folders[0]
    calls = command_forms.blamed_call(occasion.words, cwd)
    if not calls:
        return
    counts = counts_by_entry(repo)
    here = commands_here(repo, occasion.folders, NAME)
    for summary in about_command(here, calls, occasion.folders):
        yield Offer(summary, counts[summary.id].chance(), "is about the command that failed")
