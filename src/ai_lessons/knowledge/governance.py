"""The policies of an enterprise as one table: which way they are about, and what each value allows. Pure."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ai_lessons.knowledge.tiers import ENTERPRISE, PROJECT, USER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

GROUP: Final = "governance"  # The group of the settings that state policies
# The key of an entry's frontmatter by which its enterprise lets it go: for each tier the digest of the text meant
RELEASED: Final = "release_to"

OUTBOUND: Final = "outbound_policy"
FROM_CONTEXT: Final = "promotion_from_enterprise_context"
PERSONAL: Final = "personal_learning_during_enterprise"


class PolicyVerdict(StrEnum):
    """What may be done, the most generous first; `generic`: it goes without what ties it down, or once released."""

    AS_IS = "as_is"
    GENERIC = "generic"
    NEEDS_RELEASE = "needs_release"
    REFUSED = "refused"


class Policy(NamedTuple):
    """Asked of an entry that goes from a tier to a tier whose names begin so. `values`: the strictest first.

    A value has three verdicts: on plain words, on words that belong to one place, on code.
    """

    source: str
    target: str
    values: Mapping[str, tuple[PolicyVerdict, PolicyVerdict, PolicyVerdict]]


_AS_IS, _GENERIC, _RELEASE, _REFUSED = PolicyVerdict
_CLOSED, _ASK, _OPEN = (_REFUSED,) * 3, (_RELEASE,) * 3, (_AS_IS,) * 3
POLICIES: Final[Mapping[str, Policy]] = {
    OUTBOUND: Policy(
        ENTERPRISE,
        "",
        {
            "block_all": _CLOSED,
            "require_approval": _ASK,
            "allow_generic": (_AS_IS, _GENERIC, _GENERIC),
            "allow_all": _OPEN,
        },
    ),
    FROM_CONTEXT: Policy(PROJECT, "", {"block_all": _CLOSED, "require_approval": _ASK, "allow": _OPEN}),
    PERSONAL: Policy("", USER, {"block": _CLOSED, "allow_non_code": (_AS_IS, _AS_IS, _GENERIC), "allow": _OPEN}),
}
"""`outbound_policy` is that of the enterprise that the entry leaves; the others are that of the project worked in."""

VALUES: Final = {name: tuple(policy.values) for name, policy in POLICIES.items()}
"""What each policy may be, strictest first; the second is the default."""


class Policies(NamedTuple):
    """The three policies of one enterprise. The defaults are the safe ones, for an enterprise that states none."""

    outbound_policy: str = VALUES[OUTBOUND][1]
    promotion_from_enterprise_context: str = VALUES[FROM_CONTEXT][1]
    personal_learning_during_enterprise: str = VALUES[PERSONAL][1]


class PolicyValue(NamedTuple):
    """What holds of one policy, what a person should mend (`note`), and where it is stated (a file at a commit)."""

    policy: str
    value: str
    note: str = ""
    place: str = ""

    def __str__(self) -> str:
        default = "the default" if self.value == VALUES[self.policy][1] else ""
        return f"{GROUP}.{self.policy} is {self.value} ({', '.join(filter(None, (self.note or default, self.place)))})"


def defaults(note: str) -> tuple[PolicyValue, ...]:
    """Every policy at its default, and why."""
    return tuple(PolicyValue(policy, values[1], note) for policy, values in VALUES.items())


def strictest(note: str) -> tuple[PolicyValue, ...]:
    """Every policy at its strictest value, and why."""
    return tuple(PolicyValue(policy, values[0], note) for policy, values in VALUES.items())


def read(fields: Mapping[str, Any]) -> tuple[PolicyValue, ...]:
    """The policies in the fields of a settings file.

    What is not stated is the default; what means nothing is the strictest: a slip of the pen must open nothing.
    """
    group = {} if fields.get(GROUP) is None else fields[GROUP]
    if not isinstance(group, dict):
        return strictest(f"{GROUP} is no group of settings, so the strictest policies hold")
    return tuple(_read(policy, values, group.get(policy)) for policy, values in VALUES.items())


def _read(policy: str, values: tuple[str, ...], value: Any) -> PolicyValue:
    if value is None or value in values:
        return PolicyValue(policy, value or values[1])
    note = f"{GROUP}.{policy} cannot be {str(value)[:40]!r}, so {values[0]} holds"
    return PolicyValue(policy, values[0], note)


def stricter(ours: Sequence[PolicyValue], theirs: Sequence[PolicyValue]) -> tuple[PolicyValue, ...]:
    """Of each policy the stricter value; of the same value theirs."""
    return tuple(min(pair, key=lambda x: VALUES[x.policy].index(x.value)) for pair in zip(theirs, ours, strict=True))


def questions(source: str, target: str, here: str) -> list[tuple[str, str]]:
    """The enterprise and the policy that are asked when an entry goes from tier to tier; none in what goes into one.

    `source` is empty for what is written to the target. `here` is the tier of the enterprise whose project is worked
    in, or empty; between the two nothing is asked.
    """
    if source == target or (here and {source, target} <= {here, PROJECT}):
        return []
    applying = (n for n, way in POLICIES.items() if source.startswith(way.source) and target.startswith(way.target))
    asked = ((source if name == OUTBOUND else here, name) for name in applying)
    return [(enterprise, name) for enterprise, name in asked if enterprise]


def answer(policy: str, value: str, *, code: bool, tied: bool) -> PolicyVerdict:
    """What a policy with this value says of an entry in which there is code, or something that ties it to one place.

    A text that a person released counts as `as_is` where this says `generic` or `needs_release`.
    """
    return POLICIES[policy].values[value][2 if code else int(tied)]
