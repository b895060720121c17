"""What a host is to do about an edit, a call or the end of a session that breaks a rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

ASK, DENY, TELL = "ask", "deny", "tell"
# For a rule that denies, where only a person can decide: a host that cannot ask its user denies.
ASK_OR_DENY = "ask or deny"


def strongest(decisions: Iterable[str]) -> str:
    """The decision that holds where there are several: to deny comes before to ask."""
    every = set(decisions)
    for decision in (DENY, ASK_OR_DENY, ASK):
        if decision in every:
            return decision
    return ""
