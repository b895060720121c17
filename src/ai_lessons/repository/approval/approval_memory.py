"""What a clone keeps about approval: the branch as judged last (can be made anew), and what it remembers for good."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ai_lessons.errors import AiLessonsError
from ai_lessons.repository.approval.approval_branch import REMEMBERED, SEEN, branch_name, cut_off, folder, key_of
from ai_lessons.repository.approval.approval_types import (
    NOBODY,
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
        policies = {ref: ApprovalPolicy(one["require"], one["distinct"]) for ref, one in raw["policies"].items()}
        signed = {commit: Signature(*one) for commit, one in raw.get("signed", {}).items()}
        return Remembered(dict(raw["tips"]), policies, signed)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return Remembered()


def save(state_dir: Path, remembered: Remembered) -> None:
    """Replace what is remembered, whole or not at all. Raises StorageFailed."""
    raw = remembered._asdict() | {"policies": {ref: one._asdict() for ref, one in remembered.policies.items()}}
    write(folder(state_dir) / REMEMBERED, raw)


def keep(place: Path, key: str, value: object) -> None:
    """Write what `kept` gives for this key into a file of ours, whole or not at all. Raises StorageFailed."""
    write(place, {"key": key, "value": value})


def kept(place: Path, key: str) -> Any:
    """What was kept there last, if it was for this key; None for anything else, and for a file that cannot be read."""
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
    found: dict[tuple[str, str], list[Proposal]] = {}
    try:
        lines = (folder(state_dir) / SEEN).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return Known()
    for line in lines[-PROPOSALS_KEPT:]:
        with suppress(ValueError, TypeError, KeyError):
            raw: dict[str, Any] = json.loads(line)
            key = (raw["rule"], raw["branch"])
            if "forget" in raw:
                found.pop(key, None)
            else:
                found.setdefault(key, []).append(Proposal(**{**raw, "author": Person(**raw["author"])}))
    return known_from(proposal for several in found.values() for proposal in several)


def known_from(several: Iterable[Proposal]) -> Known:
    """Proposals in the order in which the judges look for them."""
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
    """Forget a rejected proposal: its text shall not pass for a taken one. Raises StorageFailed."""
    _append(state_dir, [{"rule": rule, "branch": branch, "forget": True}])


def _append(state_dir: Path, rows: list[dict[str, Any]]) -> None:
    if not rows:
        return
    place = folder(state_dir) / SEEN
    with translated(str(place), writing=True):
        place.parent.mkdir(parents=True, exist_ok=True)
        append_lines(place, "".join(json.dumps(row) + "\n" for row in rows).encode())


_FORMAT: Final = "9"  # Raise it when the same history would be judged differently


class CachedView(NamedTuple):
    """A look without alarms; `key` is `key_of` its tip, `missing` says that the tip seen before (`checked`) is gone.

    `signers` is the digest of those whose signatures counted, where any were asked for.
    """

    view: BranchView
    key: str
    checked: str
    missing: bool
    signers: str = ""


def look(worktree: Worktree, ref: str, signers: Signers = NOBODY) -> BranchView | None:
    """The approval branch as it was judged, or None if it, a proposal branch or the memory changed since."""
    tip = read_ref(worktree, ref)
    if tip is None:
        return BranchView(ref, None, ApprovalPolicy(), {}, {})
    found = noted(worktree, ref)
    fresh = found is not None and found.view.tip == tip and fits(worktree, found, signers)
    return with_alarms(worktree, found) if found is not None and fresh else None


def fits(worktree: Worktree, found: CachedView, signers: Signers) -> bool:
    """Whether nothing but the tip, perhaps, has changed since this was found."""
    ref, tip, remembered = found.view.ref, found.view.tip or "", load(worktree.state_dir)
    policy, _ = policy_in_force(ref, found.view.said, remembered)
    seen = remembered.tips.get(ref, "") in {"", tip, found.checked}
    same = seen and found.view.policy == policy and found.key == key_of(worktree, tip)
    return same and (policy.require != "signed" or found.signers == signers.digest)


def with_alarms(worktree: Worktree, found: CachedView) -> BranchView:
    """What was found, and what a person has to look at besides."""
    ref, remembered = found.view.ref, load(worktree.state_dir)
    _, alarms = policy_in_force(ref, found.view.said, remembered)
    if found.missing and remembered.tips.get(ref, "") == found.checked:
        name, old = branch_name(ref), found.checked[:10]
        message = f"{name} was rewritten: commit {old}, seen here before, is not in it any more"
        alarms += (Alarm("rewritten", message, f"look at what is gone: git log {name}..{old}"),)
    if cut_off(worktree):
        message = "the history is cut off (a shallow clone): rules whose approval lies before the cut are not in force"
        alarms += (Alarm("shallow", message, "git fetch --unshallow, or git fetch --deepen=100"),)
    return found.view._replace(alarms=alarms)


def policy_in_force(
    ref: str, said: ApprovalPolicy | None, remembered: Remembered
) -> tuple[ApprovalPolicy, tuple[Alarm, ...]]:
    """The policy to judge by: the branch's own if none was known or it only asks for more; else a person must agree."""
    known = remembered.policies.get(ref)
    if said is None:
        alarm = Alarm("settings", "the settings on the approval branch cannot be read", "ai-lessons admin validate")
        return known or ApprovalPolicy("signed", distinct=True), (alarm,)
    if known is None:
        return said, ()
    require = "signed" if "signed" in {said.require, known.require} else known.require
    policy = ApprovalPolicy(require, said.distinct or known.distinct)
    if policy == said:
        return said, ()
    was, is_now, stays = (
        f"{one.require}{' by another person' if one.distinct else ''}" for one in (known, said, policy)
    )
    message = f"the policy on the approval branch was changed: {was} became {is_now}; here it stays {stays}"
    return policy, (Alarm("weakened", message, "if it was meant: ai-lessons admin audit --acknowledge"),)


def acknowledge(worktree: Worktree, view: BranchView, said: ApprovalPolicy | None = None) -> None:
    """Take the branch and its policy (or `said`) for what was seen last. Raises StorageFailed."""
    if view.tip is not None:
        remembered, policy = load(worktree.state_dir), said or view.policy
        if remembered.tips.get(view.ref) != view.tip or remembered.policies.get(view.ref) != policy:
            tips, policies = {**remembered.tips, view.ref: view.tip}, {**remembered.policies, view.ref: policy}
            save(worktree.state_dir, remembered._replace(tips=tips, policies=policies))


def advance(worktree: Worktree, view: BranchView) -> None:
    """Remember tip and policy where that can be written, unless there is an alarm: none silences itself."""
    if all(alarm.kind == "shallow" for alarm in view.alarms):
        with suppress(AiLessonsError):
            acknowledge(worktree, view)


def note(worktree: Worktree, ref: str, found: CachedView) -> None:
    """Keep what a look found. Raises StorageFailed."""
    keep(note_file(worktree, ref), _FORMAT, found._asdict() | {"view": found.view._asdict()})


def noted(worktree: Worktree, ref: str) -> CachedView | None:
    """What was kept last; None if there is nothing that can be used."""
    try:
        raw = kept(note_file(worktree, ref), _FORMAT)
        view = raw["view"] | {
            "alarms": (),
            "policy": ApprovalPolicy(*raw["view"]["policy"]),
            "said": ApprovalPolicy(*raw["view"]["said"]) if raw["view"]["said"] else None,
            "verdicts": {rule: unpack(one) for rule, one in raw["view"]["verdicts"].items()},
            "damaged": tuple(raw["view"]["damaged"]),
        }
        return CachedView(BranchView(**view), raw["key"], raw["checked"], raw["missing"], raw["signers"])
    except (OSError, ValueError, TypeError, KeyError, AttributeError, IndexError):
        return None  # never looked, or a file that cannot be read: it is only a memory


def note_file(worktree: Worktree, ref: str) -> Path:
    """Where the view of one approval branch is kept."""
    return folder(worktree.state_dir) / f"{sha256(os.fsencode(ref)).hexdigest()[:12]}.json"


def unpack(raw: Any) -> Verdict:
    """The verdict that JSON made this of."""
    rule, in_force, path, blob, evidence, rest = raw
    unapproved = tuple(UnapprovedChange(one[0], one[1], _evidence(one[2])) for one in rest)
    return Verdict(rule, in_force, path, blob, _evidence(evidence), unapproved)


def _evidence(raw: Any) -> Evidence:
    level, how, by, at, suggested, commit, reason = raw
    people = tuple(Person(*one) for one in suggested)
    return Evidence(level, how, Person(*by) if by else None, at, people, commit, reason)
