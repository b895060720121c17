"""Why an entry is not told unasked, by what happened to it. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.model.entries import EntrySummary, Kind, Status

if TYPE_CHECKING:
    from ai_lessons.model.tallies import Tallies, UsageTally


class LearningLimits(NamedTuple):
    """From which numbers on something is said, or done, about a lesson."""

    # No bench sets it: no transcripts tell of one lesson over so many sessions. An edit or one use
    # begins the count anew. Sessions that were shown a lesson and did not use it: the next one will
    # not either
    tired: int = 12
    # Set with a made-up user whose best thresholds were known: `git log -- bench/synthetic_user.py`.
    # A lesson this close above a threshold came through only just: what comes of it teaches the
    # threshold
    near: float = 0.06
    # Told so often, a lesson may be left out on purpose: before, there is nothing to compare with.
    # One that never helped then is asked about
    often: int = 10
    # A script whose last runs, so many, all failed is asked about
    failures: int = 3
    # Entries with the best feedback, and as many with the worst
    judged: int = 5


LIMITS = LearningLimits()


def harmful(tallies: Tallies) -> str:
    """Why a lesson must not come unasked, in a sentence; empty if it may.

    Events of other clones do not count.
    """
    local = tallies.local or tallies
    if local.contradicted > local.helpful:
        return f"contradicted more often ({local.contradicted}) than helpful ({local.helpful})"
    helped = local.helpful + local.followed
    if local.recurred > max(helped, 2):
        return f"the same failure came again in {local.recurred} sessions that were told, and {helped} times it helped"
    return ""


def unused(tallies: Tallies) -> str:
    """Why a lesson is not shown unasked any more, in a sentence; empty if it is."""
    if tallies.unused < LIMITS.tired:
        return ""
    return f"told in {tallies.unused} sessions without use since it was written, edited, or last helped"


def silent(summary: EntrySummary, used: UsageTally, bar: float) -> str:
    """Why an entry is never shown unasked, whatever the moment, in a sentence; empty if it is.

    `bar`: the confidence that a lesson needs; it counts only once outcomes moved the confidence.
    """
    if summary.status == Status.WRONG:
        return "marked wrong"
    if summary.kind is not Kind.LESSON or summary.origin.firm:
        return ""
    tallies = used.tallies
    low = (tallies.outcomes or tallies.recurred) and used.confidence < bar
    return (
        harmful(tallies)
        or unused(tallies)
        or (f"confidence {used.confidence:.2f} is below {bar:.2f}" if low else "")
    )
