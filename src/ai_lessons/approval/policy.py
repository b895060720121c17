"""By which policy a branch is judged: what it states, what was seen before, what administrators state."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ai_lessons.git.approval_branch import short_name
from ai_lessons.model.approval import NO_SIGNERS, Alarm, ApprovalPolicy

if TYPE_CHECKING:
    from ai_lessons.approval.inputs import Remembered
    from ai_lessons.model import Mandate
    from ai_lessons.model.approval import Require, Signers


def policy_in_force(
    ref: str, stated: ApprovalPolicy | None, remembered: Remembered, signers: Signers = NO_SIGNERS
) -> tuple[ApprovalPolicy, tuple[Alarm, ...]]:
    """The policy to judge by: the stated one if it is the first or only stricter.

    Else a person must acknowledge it; what administrators state counts as acknowledged.
    """
    policy, alarms = _stated_or_stricter(ref, stated, remembered, signers.mandate)
    if signers.name:
        # a person who pins a list of signers wants signatures, whatever a pulled settings file says
        policy = policy._replace(require="signed")
    return policy, alarms


def _stated_or_stricter(
    ref: str, stated: ApprovalPolicy | None, remembered: Remembered, mandate: Mandate | None
) -> tuple[ApprovalPolicy, tuple[Alarm, ...]]:
    earlier = _acknowledged(ref, remembered, mandate)
    if stated is None:
        alarm = Alarm(
            "settings",
            "the settings on the approval branch cannot be read",
            "ai-lessons admin validate",
        )
        return earlier or ApprovalPolicy("signed", distinct=True), (alarm,)
    if earlier is None:
        return stated, ()
    require = earlier.require
    if stated.require == "signed":
        require = stated.require
    # who may add a forge may write what any forge writes, so another list of them is not weaker
    policy = ApprovalPolicy(require, stated.distinct or earlier.distinct, stated.forges)
    if policy == stated:
        return stated, ()
    return policy, (_alarm(earlier, stated, policy, mandate),)


def _acknowledged(
    ref: str, remembered: Remembered, mandate: Mandate | None
) -> ApprovalPolicy | None:
    """The policy that administrators, else a person or an earlier look took; None for none."""
    if mandate and mandate.require:
        return ApprovalPolicy(cast("Require", mandate.require), mandate.distinct)
    # a clone whose branch is the remote's by now keeps the policy that its own branch had
    return remembered.policies.get(ref) or remembered.policies.get(f"refs/heads/{short_name(ref)}")


def _alarm(
    earlier: ApprovalPolicy,
    stated: ApprovalPolicy,
    policy: ApprovalPolicy,
    mandate: Mandate | None,
) -> Alarm:
    if mandate and mandate.require:
        message = (
            f"the policy on the approval branch is {_in_words(stated)}, and {mandate.file} states "
            f"{_in_words(earlier)}; here it is {_in_words(policy)}"
        )
        return Alarm("weakened", message, "tell those who administer this machine")
    message = (
        f"the policy on the approval branch was changed: {_in_words(earlier)} became "
        f"{_in_words(stated)}; here it stays {_in_words(policy)}"
    )
    return Alarm("weakened", message, "if it was meant: ai-lessons admin audit --acknowledge")


def _in_words(policy: ApprovalPolicy) -> str:
    if policy.distinct:
        return f"{policy.require} by another person"
    return policy.require
