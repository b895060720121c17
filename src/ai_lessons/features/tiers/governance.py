"""What the policies of an enterprise mean: who is asked about a move, and what each value answers.

They stand in the group `governance` of `.ai-lessons/config.yaml`, a pulled file: a slip of the pen
must open nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import partial
from typing import Any, Final, NamedTuple

from ai_lessons.model import ENTERPRISE, PROJECT, USER
from ai_lessons.model.config import Key, Nonsense

# The group of the settings that state policies
GROUP: Final = "governance"

OUTBOUND: Final = "outbound_policy"
FROM_CONTEXT: Final = "promotion_from_enterprise_context"
PERSONAL: Final = "personal_learning_during_enterprise"


class PolicyVerdict(StrEnum):
    """What may be done, the most generous first.

    `generic`: it goes without what ties it down, or once released.
    """

    AS_IS = "as_is"
    GENERIC = "generic"
    NEEDS_RELEASE = "needs_release"
    REFUSED = "refused"


# on plain words, on words that belong to one place, on code
Verdicts = tuple[PolicyVerdict, PolicyVerdict, PolicyVerdict]


class Policy(NamedTuple):
    """Asked of an entry that goes from a tier to a tier whose names begin so.

    `values`: the strictest first.
    """

    source: str
    target: str
    values: Mapping[str, Verdicts]


_AS_IS, _GENERIC, _RELEASE, _REFUSED = PolicyVerdict
_CLOSED: Verdicts = (_REFUSED, _REFUSED, _REFUSED)
_ASK: Verdicts = (_RELEASE, _RELEASE, _RELEASE)
_OPEN: Verdicts = (_AS_IS, _AS_IS, _AS_IS)

# `outbound_policy` is that of the enterprise that the entry leaves; the others are that of the
# project worked in
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
    FROM_CONTEXT: Policy(
        PROJECT,
        "",
        {
            "block_all": _CLOSED,
            "require_approval": _ASK,
            "allow": _OPEN,
        },
    ),
    PERSONAL: Policy(
        "",
        USER,
        {
            "block": _CLOSED,
            "allow_non_code": (_AS_IS, _AS_IS, _GENERIC),
            "allow": _OPEN,
        },
    ),
}

# What each policy may be, strictest first; the second is the default, the safe one for an
# enterprise that states none
VALUES: Final = {name: tuple(policy.values) for name, policy in POLICIES.items()}

# --- as settings ---


def _word(policy: str, value: Any) -> str:
    """A value as a settings file states it. Raises Nonsense: it is none of this policy."""
    values = VALUES[policy]
    if not isinstance(value, str) or value not in values:
        raise Nonsense(f"{', '.join(values[:-1])} or {values[-1]}")
    return value


def _setting(policy: str, about: str) -> Key:
    values = VALUES[policy]
    about = f"{about}: {', '.join(values)}"
    return Key(
        "",
        partial(_word, policy),
        default=values[1],
        about=about,
        choices=values,
        people=True,
    )


OUTBOUND_SETTING = _setting(OUTBOUND, "entries that leave an enterprise")
FROM_CONTEXT_SETTING = _setting(FROM_CONTEXT, "entries of its projects that go elsewhere")
PERSONAL_SETTING = _setting(PERSONAL, "the user's repository, while its projects are worked in")

# --- as they hold ---


class PolicyValue(NamedTuple):
    """What holds of one policy, what a person should mend, and where it is stated.

    `note` is for the person; a place is a file at a commit.
    """

    policy: str
    value: str
    note: str = ""
    place: str = ""

    def __str__(self) -> str:
        remark = self.note
        if not remark and self.value == VALUES[self.policy][1]:
            remark = "the default"
        beside = ", ".join(filter(None, (remark, self.place)))
        return f"{GROUP}.{self.policy} is {self.value} ({beside})"


def defaults(note: str) -> tuple[PolicyValue, ...]:
    """Every policy at its default, and why."""
    return tuple(PolicyValue(policy, values[1], note) for policy, values in VALUES.items())


def strictest(note: str) -> tuple[PolicyValue, ...]:
    """Every policy at its strictest value, and why."""
    return tuple(PolicyValue(policy, values[0], note) for policy, values in VALUES.items())


def read(fields: Mapping[str, Any]) -> tuple[PolicyValue, ...]:
    """The policies in the fields of a settings file.

    What is not stated is the default; what means nothing is the strictest.
    """
    group = fields.get(GROUP)
    if group is None:
        group = {}
    if not isinstance(group, dict):
        return strictest(f"{GROUP} is no group of settings, so the strictest policies hold")
    values_in_force = []
    for policy, values in VALUES.items():
        values_in_force.append(_read(policy, values, group.get(policy)))
    return tuple(values_in_force)


def _read(policy: str, values: tuple[str, ...], value: Any) -> PolicyValue:
    if value is None:
        return PolicyValue(policy, values[1])
    if value in values:
        return PolicyValue(policy, value)
    note = f"{GROUP}.{policy} cannot be {str(value)[:40]!r}, so {values[0]} holds"
    return PolicyValue(policy, values[0], note)


def stricter(ours: Sequence[PolicyValue], theirs: Sequence[PolicyValue]) -> tuple[PolicyValue, ...]:
    """The stricter value of each policy; where both are the same, theirs."""
    values = []
    for our, their in zip(ours, theirs, strict=True):
        order = VALUES[our.policy]
        if order.index(our.value) < order.index(their.value):
            values.append(our)
        else:
            values.append(their)
    return tuple(values)


# --- as they are asked ---


def questions(source: str, target: str, here: str) -> list[tuple[str, str]]:
    """The enterprise and the policy that are asked when an entry goes from tier to tier.

    `source` is empty for what is written to the target. `here` is the tier of the enterprise whose
    project is worked in, or empty; between the two nothing is asked, nor in what goes into one.
    """
    within = {source, target} <= {here, PROJECT}
    if source == target or (here and within):
        return []
    asked = []
    for name, policy in POLICIES.items():
        enterprise = here
        if name == OUTBOUND:
            enterprise = source
        applies = source.startswith(policy.source) and target.startswith(policy.target)
        if enterprise and applies:
            asked.append((enterprise, name))
    return asked


def answer(policy: str, value: str, *, code: bool, tied: bool) -> PolicyVerdict:
    """What a policy with this value says of an entry.

    The entry may have code in it, or something that ties it to one place. A text that a person
    released counts as `as_is` where this says `generic` or `needs_release`.
    """
    on_words, on_tied_words, on_code = POLICIES[policy].values[value]
    if code:
        return on_code
    if tied:
        return on_tied_words
    return on_words
