"""What a clone stores about approval: the last view of the branch (a cache), and what it remembers for good."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ai_lessons.errors import AiLessonsError
from ai_lessons.repository.approval.approval_branch import REMEMBERED, SEEN, branch_name, cut_off, folder, key_of
from ai_lessons.repository.approval.approval_types import (
    NO_SIGNERS,
    Alarm,
    ApprovalPolicy,
    BranchView,
    Evidence,
    Known,
    Person,
    Proposal,
    Signature,
    Signers,
    UnapprovedChange,
    Verdict,
)
from ai_lessons.repository.files import append_lines, replace_file, translated
from ai_lessons.repository.worktree import Worktree, read_ref

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from ai_lessons.repository.approval.approval_types import How

PROPOSALS_KEPT: Final = 10_000


class Remembered(NamedTuple):
    """By ref the last tip and policy that raised no alarm; by commit the signature that was good here once."""

    tips: Mapping[str, str] = {}
    policies: Mapping[str, ApprovalPolicy] = {}
    signed: Mapping[str, Signature] = {}


def load(state_dir: Path) -> Remembered:
    """What is remembered; nothing if there is no file, or one that cannot be read."""
    try:
        raw = json.loads((folder(state_dir) / REMEMBERED).read_bytes())
        # an earlier version also wrote down a number of signers
        policies = {ref: ApprovalPolicy(row["require"], row["distinct"]) for ref, row in raw["policies"].items()}
        signed = {commit: Signature(*row) for commit, row in raw.get("signed", {}).items()}
        return Remembered(dict(raw["tips"]), policies, signed)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return Remembered()


def save(state_dir: Path, remembered: Remembered) -> None:
    """Replace what is remembered, whole or not at all. Raises StorageFailed."""
    raw = remembered._asdict() | {"policies": {ref: policy._asdict() for ref, policy in remembered.policies.items()}}
    write(folder(state_dir) / REMEMBERED, raw)


def keep(place: Path, key: str, value: object) -> None:
    """Write a value that `kept` returns for this key. Raises StorageFailed."""
    write(place, {"key": key, "value": value})


def kept(place: Path, key: str) -> Any:
    """The value last written for this key; None for another key, and for a file that cannot be read."""
    try:
        raw = json.loads(place.read_bytes())
        return raw["value"] if raw["key"] == key else None
    except (OSError, ValueError, TypeError, KeyError):
        return None


def write(place: Path, value: object) -> None:
    """Write a value as JSON into a file of ours, whole or not at all. Raises StorageFailed."""
    with translated(str(place), writing=True):
        replace_file(place, json.dumps(value, separators=(",", ":")).encode())


def proposals(state_dir: Path) -> Known:
    """Every proposal this clone has seen, less those that were forgotten. Damaged lines are passed over."""
    by_branch: dict[tuple[str, str], list[Proposal]] = {}
    try:
        lines = (folder(state_dir) / SEEN).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return Known()
    for line in lines[-PROPOSALS_KEPT:]:
        with suppress(ValueError, TypeError, KeyError):
            raw: dict[str, Any] = json.loads(line)
            key = (raw["rule"], raw["branch"])
            if "forget" in raw:
                by_branch.pop(key, None)
            else:
                by_branch.setdefault(key, []).append(Proposal(**{**raw, "author": Person(**raw["author"])}))
    return known_from(proposal for several in by_branch.values() for proposal in several)


def known_from(several: Iterable[Proposal]) -> Known:
    """Proposals by their texts and by their tips."""
    texts: dict[tuple[str, str | None], list[Proposal]] = {}
    tips: dict[str, str] = {}
    for proposal in dict.fromkeys(several):
        texts.setdefault((proposal.rule, proposal.blob), []).append(proposal)
        tips[proposal.commit] = proposal.branch
    return Known({key: tuple(value) for key, value in texts.items()}, tips)


def add_proposals(state_dir: Path, several: Iterable[Proposal]) -> None:
    """Remember proposals. Raises StorageFailed."""
    _append(state_dir, [proposal._asdict() | {"author": proposal.author._asdict()} for proposal in several])


def forget_proposal(state_dir: Path, rule: str, branch: str) -> None:
    """Forget a rejected proposal, so that its text does not pass for a taken one. Raises StorageFailed."""
    _append(state_dir, [{"rule": rule, "branch": branch, "forget": True}])


def _append(state_dir: Path, rows: list[dict[str, Any]]) -> None:
    if not rows:
        return
    place = folder(state_dir) / SEEN
    with translated(str(place), writing=True):
        place.parent.mkdir(parents=True, exist_ok=True)
        append_lines(place, "".join(json.dumps(row) + "\n" for row in rows).encode())


_FORMAT: Final = "10"  # Raise it when the same history would be judged differently


class CachedView(NamedTuple):
    """A view without alarms; `key` is `key_of` its tip; `missing`: the history lost the tip `checked`, seen before.

    `signers` is the digest of the signers, where the policy needs any.
    """

    view: BranchView
    key: str
    checked: str
    missing: bool
    signers: str = ""


def look(worktree: Worktree, ref: str, signers: Signers = NO_SIGNERS) -> BranchView | None:
    """The approval branch as it was judged, or None if it, a proposal branch or the memory changed since."""
    tip = read_ref(worktree, ref)
    if tip is None:
        return BranchView(ref, None, ApprovalPolicy(), {}, {})
    cached = noted(worktree, ref)
    if cached is None or cached.view.tip != tip or not fits(worktree, cached, signers):
        return None
    return with_alarms(worktree, cached)


def fits(worktree: Worktree, cached: CachedView, signers: Signers) -> bool:
    """Whether at most the tip has changed since this was cached."""
    ref, tip, remembered = cached.view.ref, cached.view.tip or "", load(worktree.state_dir)
    policy, _ = policy_in_force(ref, cached.view.stated, remembered)
    seen = remembered.tips.get(ref, "") in {"", tip, cached.checked}
    same = seen and cached.view.policy == policy and cached.key == key_of(worktree, tip)
    return same and (policy.require != "signed" or cached.signers == signers.digest)


def with_alarms(worktree: Worktree, cached: CachedView) -> BranchView:
    """The view with the alarms that hold now."""
    ref, remembered = cached.view.ref, load(worktree.state_dir)
    _, alarms = policy_in_force(ref, cached.view.stated, remembered)
    if cached.missing and remembered.tips.get(ref, "") == cached.checked:
        name, old = branch_name(ref), cached.checked[:10]
        message = f"{name} was rewritten: commit {old}, seen here before, is not in it any more"
        alarms += (Alarm("rewritten", message, f"look at what is gone: git log {name}..{old}"),)
    if cut_off(worktree):
        message = "the history is cut off (a shallow clone): rules whose approval lies before the cut are not in force"
        alarms += (Alarm("shallow", message, "git fetch --unshallow, or git fetch --deepen=100"),)
    return cached.view._replace(alarms=alarms)


def policy_in_force(
    ref: str, stated: ApprovalPolicy | None, remembered: Remembered
) -> tuple[ApprovalPolicy, tuple[Alarm, ...]]:
    """The policy to judge by: the stated one if it is the first or only stricter; else a person must acknowledge it."""
    earlier = remembered.policies.get(ref)
    if stated is None:
        alarm = Alarm("settings", "the settings on the approval branch cannot be read", "ai-lessons admin validate")
        return earlier or ApprovalPolicy("signed", distinct=True), (alarm,)
    if earlier is None:
        return stated, ()
    require = "signed" if "signed" in {stated.require, earlier.require} else earlier.require
    policy = ApprovalPolicy(require, stated.distinct or earlier.distinct)
    if policy == stated:
        return stated, ()
    was, is_now, stays = (
        f"{each.require}{' by another person' if each.distinct else ''}" for each in (earlier, stated, policy)
    )
    message = f"the policy on the approval branch was changed: {was} became {is_now}; here it stays {stays}"
    return policy, (Alarm("weakened", message, "if it was meant: ai-lessons admin audit --acknowledge"),)


def acknowledge(worktree: Worktree, view: BranchView, policy: ApprovalPolicy | None = None) -> None:
    """Remember the branch's tip, and its policy or the given one, as seen. Raises StorageFailed."""
    if view.tip is not None:
        remembered, policy = load(worktree.state_dir), policy or view.policy
        if remembered.tips.get(view.ref) != view.tip or remembered.policies.get(view.ref) != policy:
            tips, policies = {**remembered.tips, view.ref: view.tip}, {**remembered.policies, view.ref: policy}
            save(worktree.state_dir, remembered._replace(tips=tips, policies=policies))


def advance(worktree: Worktree, view: BranchView) -> None:
    """Remember tip and policy where the state can be written, unless there is an alarm: a person ends that."""
    if all(alarm.kind == "shallow" for alarm in view.alarms):
        with suppress(AiLessonsError):
            acknowledge(worktree, view)


def note(worktree: Worktree, ref: str, cached: CachedView) -> None:
    """Write a view to the cache. Raises StorageFailed."""
    keep(note_file(worktree, ref), _FORMAT, cached)


def noted(worktree: Worktree, ref: str) -> CachedView | None:
    """The view in the cache; None if there is none that can be used."""
    try:
        (_, tip, policy, verdicts, files, _, stated, damaged), *fields = kept(note_file(worktree, ref), _FORMAT)
        stated = ApprovalPolicy(*stated) if stated else None
        verdicts = {rule: _verdict(*row) for rule, row in verdicts.items()}
        view = BranchView(ref, tip, ApprovalPolicy(*policy), verdicts, files, (), stated, tuple(damaged))
        return CachedView(view, *fields)
    except (ValueError, TypeError, AttributeError):
        return None


def note_file(worktree: Worktree, ref: str) -> Path:
    """The cache of one approval branch's view."""
    return folder(worktree.state_dir) / f"{sha256(os.fsencode(ref)).hexdigest()[:12]}.json"


def _verdict(rule: str, in_force: bool, path: str | None, blob: str | None, evidence: Any, unapproved: Any) -> Verdict:
    """The verdict of a row that JSON made of one."""
    changes = tuple(UnapprovedChange(path, blob, _evidence(*row)) for path, blob, row in unapproved)
    return Verdict(rule, in_force, path, blob, _evidence(*evidence), changes)


def _evidence(level: int, how: How, by: Any, at: int, suggested: Any, commit: str, reason: str) -> Evidence:
    people = tuple(Person(*row) for row in suggested)
    return Evidence(level, how, Person(*by) if by else None, at, people, commit, reason)
