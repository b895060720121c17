"""Rules that a session breaks, as features see it, and what the host is to do about it.

See `pipeline.enforced_at`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.model.decisions import strongest

if TYPE_CHECKING:
    from ai_lessons.model.entries import EntrySummary


class Breach(NamedTuple):
    """A rule that is broken.

    What does it (`why`), what to do, and what the host shall do about it (`enforce`).
    """

    rule: EntrySummary
    why: str
    instead: str = ""
    enforce: str = ""

    @property
    def sentence(self) -> str:
        """What is broken, by what, and what to do in its place."""
        rule = self.rule
        if not self.why.endswith("breaks"):
            return f"{rule.handle}: {rule.title}: {self.why}."
        instead = f" Run `{self.instead}` instead." if self.instead else ""
        return f"{self.why} {rule.handle}: {rule.title}.{instead}"


class Enforced(NamedTuple):
    """What is to be done at an event.

    `breaches`: for the agent, where the host shall ask or deny as `decision` says. `holds`: why the
    agent must not end yet. `for_person`: what the person is told of. `waiting`: sentences about a
    command that ran, on hosts that take no text before one. `explained`: the reasons, a line for
    each rule, where the event is only tried.
    """

    breaches: tuple[Breach, ...] = ()
    decision: str = ""
    holds: tuple[Breach, ...] = ()
    for_person: tuple[Breach, ...] = ()
    waiting: tuple[str, ...] = ()
    explained: tuple[str, ...] = ()

    def beside(self, other: Enforced) -> Enforced:
        """What two features say, as one."""
        return Enforced(
            self.breaches + other.breaches,
            strongest((self.decision, other.decision)),
            self.holds + other.holds,
            self.for_person + other.for_person,
            self.waiting + other.waiting,
            self.explained + other.explained,
        )


NOTHING = Enforced()
