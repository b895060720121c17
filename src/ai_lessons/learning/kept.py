"""Whether a rule was kept: the sessions in which checks saw it, and what they say in one line.

Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.model.decisions import DENY

if TYPE_CHECKING:
    from collections.abc import Sequence


class LeastNumbers(NamedTuple):
    """From how many sessions on counts say something."""

    # In scope and never broken in so many sessions: need it be told at the start?
    least_sessions: int = 20
    # So many of these were not told: else the telling may be why it was kept
    least_untold: int = 5


LEAST = LeastNumbers()


class RuleSessions(NamedTuple):
    """In how many sessions of this clone something happened to one rule.

    `in_scope`: a check saw something that the rule is about; `untold`: so, and the session was not
    told the rule. `broken`: a check saw a breach; `broken_told`: so, and the rule was told before
    it came in scope. `stopped`: the host was to ask, refuse or hold the end. `allowed`: a person
    allowed what would be a breach. `ignored`: feedback on this rule says that it was not followed.
    """

    in_scope: int = 0
    untold: int = 0
    told: int = 0
    broken: int = 0
    broken_told: int = 0
    stopped: int = 0
    allowed: int = 0
    ignored: int = 0

    @property
    def not_followed(self) -> int:
        """How often it was told and not followed, by a check or by a statement about this rule."""
        return self.broken_told + self.ignored

    @property
    def kept_untold(self) -> bool:
        """Whether sessions keep it also where they are not told."""
        kept = not self.broken and not self.ignored
        return kept and self.in_scope >= LEAST.least_sessions and self.untold >= LEAST.least_untold


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
