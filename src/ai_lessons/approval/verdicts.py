"""Which text of each rule is in force: one pass from the first commit to the tip.

Pure: no git, files, clock.

`merge` reads the words of the commits on the trunk, `signed` reads signed lines, `forge` takes the
tip as it is. A text is a rule's project and bytes: a new file name in the same project changes
nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.approval.walk import (
    Approval,
    ApprovalHistory,
    Candidate,
    State,
    Walk,
    lacking,
    union,
    unknown_approval,
)
from ai_lessons.model.approval import (
    MERGED,
    ON_BRANCH,
    Evidence,
    UnapprovedChange,
    Verdict,
    project_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_lessons.model.approval import ApprovalPolicy, Signers


def judge(history: ApprovalHistory, policy: ApprovalPolicy, signers: Signers) -> dict[str, Verdict]:
    """The verdict on every rule that the branch has or had. Raises what `signers` raises."""
    walk = Walk(history, policy)
    tip = walk.run()
    approved, standing = tip.approved.all(), tip.places.all()
    if policy.require == "signed":
        approved, unsigned = _signed(walk, tip, signers, distinct=policy.distinct)
        tip = tip._replace(arrived=tip.arrived.changed(unsigned))
    elif policy.require == "forge":
        approved = {}
        for rule in standing:
            approved[rule] = _standing(tip, rule, history.where)
    verdicts = {}
    for rule in {*approved, *standing}:
        verdicts[rule] = _verdict(rule, approved.get(rule), tip)
    return verdicts


def _verdict(rule: str, approval: Approval | None, tip: State) -> Verdict:
    """The verdict on one rule that stands or stood on the branch."""
    places = tip.places.get(rule) or ()
    text = None
    if approval:
        text = approval.text
    arrived = tip.arrived.get(rule) or lacking(None, "how it came is not known")
    if approval and not approval.known:
        arrived = approval.evidence
    approved_places, unapproved = [], []
    for path, blob in places:
        if (project_of(path), blob) == text:
            approved_places.append(path)
        else:
            unapproved.append(UnapprovedChange(path, blob, arrived))
    other = tuple(unapproved)
    if approval is None or text is None:
        if other or approval is None:
            evidence = other[0].evidence
        else:
            evidence = approval.evidence
        return Verdict(
            rule, in_force=False, path=None, blob=None, evidence=evidence, unapproved=other
        )
    if not places:
        # The rule is in force until its removal is approved, too
        other = (UnapprovedChange(approval.path, None, arrived),)
    path = next(iter(approved_places), approval.path)
    return Verdict(
        rule, in_force=True, path=path, blob=text[1], evidence=approval.evidence, unapproved=other
    )


def _standing(tip: State, rule: str, branch: str) -> Approval:
    """Under `forge` what stands there counts; its evidence is what is known of how it came."""
    text, approval = tip.text(rule), tip.approved.get(rule)
    if approval and approval.text == text:
        came = approval.evidence
    else:
        arrived = tip.arrived.get(rule) or lacking(None, "")
        came = arrived._replace(level=MERGED, how="forge", by=None)
    reason = f"on the protected branch {branch}"
    if came.reason:
        reason += f": {came.reason}"
    places = tip.places.get(rule) or (("", ""),)
    return Approval(text, places[0][0], 0, 0, came._replace(reason=reason))


def _signed(
    walk: Walk, tip: State, signers: Signers, *, distinct: bool
) -> tuple[dict[str, Approval], dict[str, Evidence]]:
    """For each rule the newest good line.

    Also, for texts that only lack a good signature, what approves them without. Lines are verified
    newest first, until one is good.
    """
    good = _good_approvals(walk, signers, distinct=distinct)
    approved = {}
    for rule in {*good, *tip.places.all()}:
        newest = _newest(good.get(rule, ()))
        if walk.cuts & ~union(approval.history for approval in newest):
            # a newer line may be beyond the cut
            approved[rule] = unknown_approval(walk.cut)
        elif newest:
            # Branches that approved apart may disagree: what stands at the tip decides between them
            here = [approval for approval in newest if approval.text == tip.text(rule)]
            approved[rule] = here[0] if here else walk.first(newest)
    return approved, _why_unsigned(walk, tip, signers)


def _newest(approvals: Sequence[Approval]) -> list[Approval]:
    """Those that are in the history of no other one; several where branches approved apart."""
    newest = []
    for approval in approvals:
        later = (other for other in approvals if other is not approval)
        if not any(approval.bit & other.history for other in later):
            newest.append(approval)
    return newest


def _why_unsigned(walk: Walk, tip: State, signers: Signers) -> dict[str, Evidence]:
    """For each rule at the tip why no signature approves its text."""
    unsigned = {}
    for rule in tip.places.all():
        unsigned[rule] = _lacking_at(tip, rule, "no approval of it is signed")
    for line in walk.lines:
        if line.approval.text == tip.text(line.rule):
            reason = "its approval is not signed by a signer who is pinned here"
            if signers.name not in {None, line.signers}:
                reason = f"its approval is for the list of signers {line.signers}, which is called {signers.name} here"
            unsigned[line.rule] = line.approval.evidence._replace(
                level=ON_BRANCH, how="direct", by=None, reason=reason
            )
    return unsigned


def _good_approvals(walk: Walk, signers: Signers, *, distinct: bool) -> dict[str, list[Approval]]:
    """By rule the approvals whose lines have a good signature, as far back as the newest ones need."""
    waiting: dict[str, list[Candidate]] = {}
    for line in walk.lines:
        if signers.name in {None, line.signers}:
            waiting.setdefault(line.rule, []).append(line)
    good: dict[str, list[Approval]] = {}
    size = 1
    while waiting:
        # Ask for every rule at once, because a question starts programs. Ask for twice as many each
        # time, so that a thousand forged lines on top of a good one cost ten questions.
        asked = []
        for lines in waiting.values():
            for _ in range(min(size, len(lines))):
                asked.append(lines.pop())
        who = signers.verified(sorted({line.commit for line in asked}))
        for line in asked:
            signature = who.get(line.commit)
            if signature is None:
                continue
            if distinct and line.brought & walk.by.get(signature.who.casefold(), 0):
                # Under `distinct` the signer may have made none of what the line approves
                continue
            good.setdefault(line.rule, []).append(line.approval.signed(signature))
        still_waiting = {}
        for rule, lines in waiting.items():
            if newer := _not_older(lines, good.get(rule, ())):
                still_waiting[rule] = newer
        waiting = still_waiting
        size *= 2
    return good


def _lacking_at(tip: State, rule: str, reason: str) -> Evidence:
    """How a text of the tip came that a merge may have brought, and no signature approves."""
    merged = tip.approved.get(rule)
    came = tip.arrived.get(rule)
    if came is None and merged:
        came = merged.evidence
    if came is None:
        came = lacking(None, "")
    return came._replace(level=ON_BRANCH, how="direct", by=None, reason=reason)


def _not_older(lines: Sequence[Candidate], good: Sequence[Approval]) -> list[Candidate]:
    """The lines that are in the history of no good one."""
    reached = union(approval.history for approval in good)
    newer: list[Candidate] = []
    for line in lines:
        if not line.approval.bit & reached:
            newer.append(line)
    return newer
