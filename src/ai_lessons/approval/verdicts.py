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
    verdicts = {rule: _verdict(rule, approved.get(rule), tip) for rule in {*approved, *standing}}
    return {rule: verdict for rule, verdict in verdicts.items() if verdict}


def _verdict(rule: str, approval: Approval | None, tip: State) -> Verdict:
    """The verdict on one rule that stands or stood on the branch."""
    places, text = tip.places.get(rule) or (), approval.text if approval else None
    arrived = tip.arrived.get(rule) or lacking(None, "how it came is not known")
    if approval and not approval.known:
        arrived = approval.evidence
    other = tuple(
        UnapprovedChange(path, blob, arrived)
        for path, blob in places
        if (project_of(path), blob) != text
    )
    if approval is None or text is None:
        if other or approval is None:
            evidence = other[0].evidence
        else:
            evidence = approval.evidence
        return Verdict(
            rule, in_force=False, path=None, blob=None, evidence=evidence, unapproved=other
        )
    here = (path for path, blob in places if (project_of(path), blob) == text)
    if not places:
        other = (UnapprovedChange(approval.path, None, arrived),)
    path = next(here, approval.path)
    return Verdict(
        rule, in_force=True, path=path, blob=text[1], evidence=approval.evidence, unapproved=other
    )


def _standing(tip: State, rule: str, branch: str) -> Approval:
    """Under `forge` what stands there counts; its evidence is what is known of how it came."""
    text, approval = tip.text(rule), tip.approved.get(rule)
    merged = None
    if approval and approval.text == text:
        merged = approval.evidence
    came = merged or (tip.arrived.get(rule) or lacking(None, ""))._replace(
        level=MERGED, how="forge", by=None
    )
    reason = f"on the protected branch {branch}" + (f": {came.reason}" if came.reason else "")
    return Approval(
        text, (tip.places.get(rule) or (("", ""),))[0][0], 0, 0, came._replace(reason=reason)
    )


def _signed(
    walk: Walk, tip: State, signers: Signers, *, distinct: bool
) -> tuple[dict[str, Approval], dict[str, Evidence]]:
    """For each rule the newest good line, and for texts that only lack a good signature what approves them without.

    Lines are verified newest first, until one is good.
    """
    good = _good_approvals(walk, signers, distinct=distinct)
    approved = {}
    for rule in {*good, *tip.places.all()}:
        # an approval with a newer one in its history counts no more; several are left where
        # branches approved apart
        newest = []
        for a in good.get(rule, ()):
            if not any(a.bit & b.history and b is not a for b in good[rule]):
                newest.append(a)
        if walk.cuts & ~union(approval.history for approval in newest):
            # a newer line may be beyond the cut
            approved[rule] = unknown_approval(walk.cut)
        elif newest:
            here = (approval for approval in newest if approval.text == tip.text(rule))
            approved[rule] = next(here, None) or walk.first(newest)
    return approved, _why_unsigned(walk, tip, signers)


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
            if signature and not (
                distinct and line.brought & walk.by.get(signature.who.casefold(), 0)
            ):
                good.setdefault(line.rule, []).append(line.approval.signed(signature))
        waiting = {rule: _not_older(lines, good.get(rule, ())) for rule, lines in waiting.items()}
        waiting = {rule: lines for rule, lines in waiting.items() if lines}
        size *= 2
    return good


def _lacking_at(tip: State, rule: str, reason: str) -> Evidence:
    """How a text of the tip came that a merge may have brought, and no signature approves."""
    merged = tip.approved.get(rule)
    came = tip.arrived.get(rule) or (merged.evidence if merged else lacking(None, ""))
    return came._replace(level=ON_BRANCH, how="direct", by=None, reason=reason)


def _not_older(lines: Sequence[Candidate], good: Sequence[Approval]) -> list[Candidate]:
    """The lines that are in the history of no good one."""
    reached = union(approval.history for approval in good)
    results: list[Candidate] = []
    for line in lines:
        if not line.approval.bit & reached:
            results.append(line)
    return results
