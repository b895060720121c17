"""What policies of enterprises allowed and refused, as text for people. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.doors.terminal import count, line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ai_lessons.doors.terminal import View
    from ai_lessons.library.governance.enforced import Enforced, Enforcement

_STYLES = {"refused": "bad", "allowed": "good", "released": "good"}


def enforcement(value: Enforcement, view: View) -> str:
    """Every decision, the newest first."""
    if not value.rows:
        return "No policy of an enterprise has allowed or refused anything here."
    return "\n".join([*(row for one in value.rows for row in _told(one, view)), count(len(value.rows), "decision")])


def _told(one: Enforced, view: View) -> Iterator[str]:
    outcome = line(one.outcome)
    way = f"{line(one.source)} to {line(one.target)}" if one.source else f"written to {line(one.target)}"
    yield f"{line(one.at)} {view.paint(outcome, _STYLES.get(outcome, 'warn'))} {line(one.title)} ({way})"
    yield f"  {line(one.enterprise)}: {line(one.policy)} is {line(one.value)}"
    agent = f" (agent {line(one.agent)})" if one.agent else ""
    stated = (
        f"{line(one.branch)} at {line(one.commit[:10])} in {line(one.stated_in)}"
        if one.commit
        else "nowhere on this machine"
    )
    yield f"  by {line(one.by) or 'somebody'}{agent}; stated: {stated}"
