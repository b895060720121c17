"""What an enterprise lets go: three policies as values, and what they mean for an entry on its way. Pure."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ENTERPRISE: Final = "enterprise:"
GROUP: Final = "governance"  # The group of the settings that state policies


class Outbound(StrEnum):
    """May an entry of the enterprise leave it? Strictest first."""

    BLOCK_ALL = "block_all"
    REQUIRE_APPROVAL = "require_approval"
    ALLOW_GENERIC = "allow_generic"
    ALLOW_ALL = "allow_all"


class FromContext(StrEnum):
    """May an entry of a project of the enterprise go to the user or to others? Strictest first."""

    BLOCK_ALL = "block_all"
    REQUIRE_APPROVAL = "require_approval"
    ALLOW = "allow"


class Personal(StrEnum):
    """May the user's repository be written to while a project of the enterprise is worked in? Strictest first."""

    BLOCK = "block"
    ALLOW_NON_CODE = "allow_non_code"
    ALLOW = "allow"


class Policy(StrEnum):
    """The name of a policy, as the settings have it below `governance`."""

    OUTBOUND = "outbound_policy"
    FROM_CONTEXT = "promotion_from_enterprise_context"
    PERSONAL = "personal_learning_during_enterprise"

    @property
    def key(self) -> str:
        """The whole name of the setting."""
        return f"{GROUP}.{self.value}"


class Policies(NamedTuple):
    """The three policies of one enterprise. The defaults are the safe ones, for an enterprise that states none."""

    outbound: Outbound = Outbound.REQUIRE_APPROVAL
    from_context: FromContext = FromContext.REQUIRE_APPROVAL
    personal: Personal = Personal.ALLOW_NON_CODE

    def value(self, policy: Policy) -> StrEnum:
        """The value of one of them."""
        return self[_ORDER.index(policy)]


_ORDER: Final = (Policy.OUTBOUND, Policy.FROM_CONTEXT, Policy.PERSONAL)
VALUES: Final[Mapping[Policy, type[StrEnum]]] = dict(zip(_ORDER, (Outbound, FromContext, Personal), strict=True))
"""What each policy may be."""

STRICTEST: Final = Policies(Outbound.BLOCK_ALL, FromContext.BLOCK_ALL, Personal.BLOCK)


class PolicyVerdict(StrEnum):
    """What may be done with an entry, the most generous first; `generic`: it may go without what ties it down."""

    AS_IS = "as_is"
    GENERIC = "generic"
    NEEDS_RELEASE = "needs_release"
    REFUSED = "refused"


class Stated(NamedTuple):
    """What a settings file says: the policies, which of them it states itself, and what a person should mend."""

    policies: Policies = Policies()
    named: frozenset[Policy] = frozenset()
    notes: tuple[str, ...] = ()


def read(fields: Mapping[str, Any]) -> Stated:
    """The policies in the fields of a settings file.

    What is not stated is the default; what means nothing is the strictest: a slip of the pen must open nothing.
    """
    group = fields.get(GROUP)
    if group is None:
        return Stated()
    if not isinstance(group, dict):
        return Stated(STRICTEST, notes=(f"{GROUP} is no group of settings, so the strictest policies hold",))
    values: list[StrEnum] = []
    named: set[Policy] = set()
    notes: list[str] = []
    for policy, default, strictest in zip(_ORDER, Policies(), STRICTEST, strict=True):
        found = group.get(policy.value)
        value = default if found is None else choice(policy, found)
        if value is None:
            notes.append(f"{policy.key} cannot be {str(found)[:40]!r}, so {strictest} holds")
        if found is not None:
            named.add(policy)
        values.append(strictest if value is None else value)
    return Stated(Policies(*values), frozenset(named), tuple(notes))  # type: ignore[arg-type]  # in the same order


def choice(policy: Policy, value: object) -> StrEnum | None:
    """A value of the policy; None if it has no such value."""
    members = {str(one): one for one in VALUES[policy]}
    return members.get(value) if isinstance(value, str) else None


def stricter(one: Policies, other: Policies) -> Policies:
    """Of each policy the stricter value."""
    return Policies(*(min(pair, key=list(type(pair[0])).index) for pair in zip(one, other, strict=True)))  # type: ignore[arg-type]  # in the same order


class Question(NamedTuple):
    """A policy that has a say, and the enterprise (its tier) whose policy it is."""

    enterprise: str
    policy: Policy


def questions(source: str, target: str, here: str) -> tuple[Question, ...]:
    """Whose policies have a say when an entry goes from one tier to another; none in what goes into an enterprise.

    `here` is the tier of the enterprise whose project is worked in, or empty; between the two nothing is asked.
    """
    if source == target or (here and {source, target} <= {here, "project"}):
        return ()
    asked = (
        (source.startswith(ENTERPRISE), source, Policy.OUTBOUND),
        (source == "project" and here, here, Policy.FROM_CONTEXT),
        (target == "user" and here, here, Policy.PERSONAL),
    )
    return tuple(Question(enterprise, policy) for applies, enterprise, policy in asked if applies)


_ANSWERS: Final = {
    Outbound.BLOCK_ALL: PolicyVerdict.REFUSED,
    Outbound.REQUIRE_APPROVAL: PolicyVerdict.NEEDS_RELEASE,
    Outbound.ALLOW_ALL: PolicyVerdict.AS_IS,
    FromContext.ALLOW: PolicyVerdict.AS_IS,
    Personal.BLOCK: PolicyVerdict.REFUSED,
}
"""Values of the same name mean the same in every policy."""


def answer(policies: Policies, policy: Policy, *, code: bool, tied: bool) -> PolicyVerdict:
    """What one policy says of an entry in which there is code, or something else that ties it to one place.

    A text that a person released counts as `as_is` where this says `generic` or `needs_release`.
    """
    value = policies.value(policy)
    if value in {Personal.ALLOW_NON_CODE, Outbound.ALLOW_GENERIC}:
        specific = code or (tied and value is Outbound.ALLOW_GENERIC)
        return PolicyVerdict.GENERIC if specific else PolicyVerdict.AS_IS
    return _ANSWERS[value]


def strictest(verdicts: Iterable[PolicyVerdict]) -> PolicyVerdict:
    """What holds where several have a say; where none has: as it is."""
    return max(verdicts, key=list(PolicyVerdict).index, default=PolicyVerdict.AS_IS)
