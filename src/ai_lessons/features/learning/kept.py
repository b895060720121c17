"""Whether a rule was kept, in one line: what checks saw of it in sessions, and a question where the figures ask one.

Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.model.decisions import DENY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_lessons.model.tallies import RuleSessions


def line_of(seen: RuleSessions, decisions: Sequence[str] | None) -> str:
    """What happened to a rule, with a question where the figures ask one.

    Empty where nothing happened. `decisions`: what hosts do where it is broken, none where nothing
    checks it; None: nothing could.

    For example `in scope in 14 sessions, broken in 3 after it was told: deny it? (told in 12)`.
    """
    question = _question(seen, decisions)
    if seen.in_scope:
        figures = _other_figures(seen)
        if figures:
            in_brackets = f" ({', '.join(figures)})"
        else:
            in_brackets = ""
        return f"{_kept(seen)}{question}{in_brackets}"
    facts = []
    if seen.told and decisions:
        # of a rule without a check the start of a session is not counted
        facts.append(f"told in {_sessions(seen.told)}")
    if seen.ignored:
        facts.append(f"stated as not followed in {_sessions(seen.ignored)}")
    return ", ".join(facts) + question


def _kept(seen: RuleSessions) -> str:
    if seen.kept_untold:
        return f"never broken in {_sessions(seen.in_scope)}, told or not"
    in_scope = f"in scope in {_sessions(seen.in_scope)}"
    if seen.broken_told:
        return f"{in_scope}, broken in {seen.broken_told:,} after it was told"
    if seen.broken:
        return f"{in_scope}, broken in {seen.broken:,}, never after it was told"
    return f"{in_scope}, never broken"


def _question(seen: RuleSessions, decisions: Sequence[str] | None) -> str:
    if seen.kept_untold:
        return ": need it be told at the start?"
    if not seen.not_followed or decisions is None:
        return ""
    if not decisions:
        return ": make it a check?"
    if all(decision == DENY for decision in decisions):
        return ""
    return ": deny it?"


def _other_figures(seen: RuleSessions) -> list[str]:
    """The figures that the sentence does not say."""
    before = 0
    if seen.broken_told:
        before = seen.broken - seen.broken_told
    figures = (
        ("told in", seen.told),
        ("broken before it was told in", before),
        ("stopped in", seen.stopped),
        ("allowed in", seen.allowed),
        ("stated as not followed in", seen.ignored),
    )
    sentences: list[str] = []
    for words, number in figures:
        if number:
            sentences.append(f"{words} {number:,}")
    return sentences


def _sessions(number: int) -> str:
    return f"{number:,} session{'s' * (number != 1)}"
