"""What an enterprise lets go: three policies as words, and what they mean for an entry on its way. Pure."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ai_lessons.knowledge.tiers import ENTERPRISE

if TYPE_CHECKING:
    from collections.abc import Mapping

GROUP: Final = "governance"  # The group of the settings that state policies
# The key of an entry's frontmatter by which its enterprise lets it go: for each tier the digest of the text meant
RELEASED: Final = "release_to"

OUTBOUND: Final = "outbound_policy"  # May an entry of the enterprise leave it?
FROM_CONTEXT: Final = "promotion_from_enterprise_context"  # May one of its projects go to the user or to others?
PERSONAL: Final = "personal_learning_during_enterprise"  # May the user's repository be written to meanwhile?
VALUES: Final[Mapping[str, tuple[str, ...]]] = {
    OUTBOUND: ("block_all", "require_approval", "allow_generic", "allow_all"),
    FROM_CONTEXT: ("block_all", "require_approval", "allow"),
    PERSONAL: ("block", "allow_non_code", "allow"),
}
"""What each policy may be, strictest first; the second is the default."""


class Policies(NamedTuple):
    """The three policies of one enterprise. The defaults are the safe ones, for an enterprise that states none."""

    outbound_policy: str = VALUES[OUTBOUND][1]
    promotion_from_enterprise_context: str = VALUES[FROM_CONTEXT][1]
    personal_learning_during_enterprise: str = VALUES[PERSONAL][1]


STRICTEST: Final = Policies(*(values[0] for values in VALUES.values()))


class PolicyVerdict(StrEnum):
    """What may be done with an entry, the most generous first; `generic`: it may go without what ties it down."""

    AS_IS = "as_is"
    GENERIC = "generic"
    NEEDS_RELEASE = "needs_release"
    REFUSED = "refused"


class Stated(NamedTuple):
    """What a settings file says, what a person should mend in it, and on which branch and commit it stands, if any."""

    policies: Policies = Policies()
    notes: tuple[str, ...] = ()
    branch: str = ""
    commit: str = ""


def read(fields: Mapping[str, Any]) -> Stated:
    """The policies in the fields of a settings file.

    What is not stated is the default; what means nothing is the strictest: a slip of the pen must open nothing.
    """
    group = {} if fields.get(GROUP) is None else fields[GROUP]
    if not isinstance(group, dict):
        return Stated(STRICTEST, (f"{GROUP} is no group of settings, so the strictest policies hold",))
    said = {policy: group[policy] for policy in VALUES if group.get(policy) is not None}
    bad = {policy: value for policy, value in said.items() if value not in VALUES[policy]}
    notes = (
        f"{GROUP}.{policy} cannot be {str(value)[:40]!r}, so {VALUES[policy][0]} holds" for policy, value in bad.items()
    )
    return Stated(Policies(**said | {policy: VALUES[policy][0] for policy in bad}), tuple(notes))


def stricter(one: Policies, other: Policies) -> Policies:
    """Of each policy the stricter value."""
    pairs = zip(VALUES.values(), one, other, strict=True)
    return Policies(*(min(pair, key=values.index) for values, *pair in pairs))


def questions(source: str, target: str, here: str) -> list[tuple[str, str]]:
    """Whose (enterprise's) policies have a say when an entry goes from tier to tier; none in what goes into one.

    `here` is the tier of the enterprise whose project is worked in, or empty; between the two nothing is asked.
    """
    if source == target or (here and {source, target} <= {here, "project"}):
        return []
    asked = (
        (source.startswith(ENTERPRISE), source, OUTBOUND),
        (source == "project" and here, here, FROM_CONTEXT),
        (target == "user" and here, here, PERSONAL),
    )
    return [(enterprise, policy) for applies, enterprise, policy in asked if applies]


def answer(value: str, *, code: bool, tied: bool) -> PolicyVerdict:
    """What a policy with this value says of an entry in which there is code, or something that ties it to one place.

    A text that a person released counts as `as_is` where this says `generic` or `needs_release`.
    """
    if value == "require_approval":
        return PolicyVerdict.NEEDS_RELEASE
    if value.startswith("block"):
        return PolicyVerdict.REFUSED
    specific = (value == "allow_non_code" and code) or (value == "allow_generic" and (code or tied))
    return PolicyVerdict.GENERIC if specific else PolicyVerdict.AS_IS
