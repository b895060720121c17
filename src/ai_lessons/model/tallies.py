"""What the events of entries come to, as plain numbers: counts, and what was learned from them.

Pure. Where no feature learns, nothing is counted, and every entry is `UNUSED`.
"""

from __future__ import annotations

from typing import NamedTuple

from ai_lessons.model.events import COUNTED, INJECTED, OUTCOMES, Event


class Tallies(NamedTuple):
    """How often each event happened to one entry.

    `last_used` is ISO 8601 in UTC, empty if it never was used.

    Ignored, contradicted and recurred count since the entry was last restored. `unused`: in how
    many sessions it came here since it last helped, proved right (`held`), was restored or edited.
    `brought`: how many of what speaks for it an import brought. `local`: the counts of this clone;
    None where all are.
    """

    injected: int = 0
    helpful: int = 0
    ignored: int = 0
    contradicted: int = 0
    script_ok: int = 0
    script_failed: int = 0
    wrong: int = 0
    restored: int = 0
    left_out: int = 0
    followed: int = 0
    recurred: int = 0
    held: int = 0
    passed: int = 0
    needed: int = 0
    told: int = 0
    in_scope: int = 0
    broken: int = 0
    stopped: int = 0
    allowed: int = 0
    last_used: str = ""
    unused: int = 0
    brought: int = 0
    local: Tallies | None = None

    @property
    def outcomes(self) -> int:
        """How often a person or agent stated an outcome."""
        return self.helpful + self.ignored + self.contradicted

    @property
    def confirmed(self) -> bool:
        """Whether anything but an import speaks for it."""
        return self.helpful + self.followed + self.held > self.brought


NOTHING = Tallies()
TIMES = (INJECTED, *OUTCOMES)
"""What other tools count of a lesson."""


class Counted(NamedTuple):
    """What another tool counted of a lesson.

    `last_used` is ISO 8601 in UTC, empty if it says none.
    """

    injected: int = 0
    helpful: int = 0
    ignored: int = 0
    contradicted: int = 0
    alpha: float = 0.0
    beta: float = 0.0
    last_used: str = ""

    @classmethod
    def of(cls, event: Event) -> Counted:
        """What an event of the log keeps."""
        injected, helpful, ignored, contradicted = (
            round(event.edge.get(word, 0)) for word in TIMES
        )
        alpha, beta = event.edge.get("alpha", 0.0), event.edge.get("beta", 0.0)
        return cls(injected, helpful, ignored, contradicted, alpha, beta, event.note)

    def event(self, entry: str) -> Event:
        """The event that keeps it in the log."""
        numbers = self._asdict()
        last = numbers.pop("last_used")
        return Event("", "", COUNTED, entry, edge=numbers, note=last)

    def as_json(self) -> dict[str, float | str]:
        """As an export has it."""
        times = {}
        for word in TIMES:
            times[f"times_{word}"] = getattr(self, word)
        priors: dict[str, float] = {}
        if self.alpha or self.beta:
            priors = {"confidence_alpha": self.alpha, "confidence_beta": self.beta}
        return {**times, **priors, **({"last_used": self.last_used} if self.last_used else {})}


class UsageTally(NamedTuple):
    """How an entry has done.

    `alpha` and `beta` begin with the author's word; a search multiplies with `standing`.

    `elsewhere`: what another tool counted, which is only shown.
    """

    tallies: Tallies
    alpha: float
    beta: float
    standing: float = 1.0
    elsewhere: Counted | None = None

    @property
    def confidence(self) -> float:
        """The mean of its Beta distribution: how sure it is that it helps, 0 to 1."""
        return round(self.alpha / (self.alpha + self.beta), 9)

    def as_json(self) -> dict[str, object]:
        """The counts by what happened, and what was learned from them.

        `last_used` is None before the first time.
        """
        counts = self.tallies
        if self.elsewhere:
            elsewhere = {"imported": self.elsewhere.as_json()}
        else:
            elsewhere = {}
        return elsewhere | {
            "times_injected": counts.injected,
            "times_helpful": counts.helpful,
            "times_ignored": counts.ignored,
            "times_contradicted": counts.contradicted,
            "last_used": counts.last_used or None,
            "alpha": self.alpha,
            "beta": self.beta,
            "confidence": self.confidence,
            "seen_helpful": counts.followed,
            "seen_again": counts.recurred,
        }


# An entry to which nothing happened
UNUSED = UsageTally(NOTHING, 1.0, 1.0)


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
