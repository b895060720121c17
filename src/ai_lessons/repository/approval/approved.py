"""The verdicts on rules as they were worked out last, if nothing has changed since.

Starts no program and reads no git object: two refs and one small database. Where something is new, `approval.derive`
has to look.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from hashlib import sha256
from typing import TYPE_CHECKING

from ai_lessons.errors import StorageFailed
from ai_lessons.repository.approval import approval_memory as memory
from ai_lessons.repository.approval.approval_branch import branch_name
from ai_lessons.repository.approval.approval_stamp import cut_off, folder, key_of
from ai_lessons.repository.approval.approval_state import ApprovalState
from ai_lessons.repository.approval.verdicts import Alarm, Policy, View
from ai_lessons.repository.worktree import read_ref

if TYPE_CHECKING:
    from pathlib import Path

    from ai_lessons.repository.approval.approval_memory import Remembered
    from ai_lessons.repository.worktree import Worktree

_STRENGTH = {"merge": 0, "forge": 1, "signed": 2}


def look(worktree: Worktree, ref: str) -> View | None:
    """The approval branch as it was judged, or None if it, a proposal branch or the memory changed since.

    Raises:
        StorageFailed: the state cannot be opened.
    """
    file = state_file(worktree, ref)
    tip = read_ref(worktree, ref)
    if tip is None:
        return View(ref, None, Policy(), {}, {})
    if not file.exists():
        return None
    with ApprovalState(file) as state:
        return stored(worktree, ref, tip, state)


def stored(worktree: Worktree, ref: str, tip: str, state: ApprovalState) -> View | None:
    """The view in an open state if it is about this tip."""
    remembered = memory.load(worktree.state_dir)
    if state.get("view") != key_of(worktree, tip):
        return None
    policy, alarms = policy_in_force(ref, stated(state), remembered)
    if state.get("judged by") != judged_by(policy):
        return None
    alarms += _history_alarms(worktree, ref, state, remembered)
    return View(ref, tip, policy, state.verdicts(), state.files(), alarms)


def judged_by(policy: Policy) -> str:
    """A policy as the state notes it."""
    return json.dumps(asdict(policy))


def stated(state: ApprovalState) -> Policy | None:
    """The policy as the branch states it; None if its settings cannot be read."""
    noted = state.get("policy")
    return Policy(**json.loads(noted)) if noted else None


def policy_in_force(ref: str, said: Policy | None, remembered: Remembered) -> tuple[Policy, tuple[Alarm, ...]]:
    """The policy to judge by: the branch's own, but never a weaker one than this clone has seen there."""
    known = remembered.policies.get(ref)
    if said is None:
        message = "the settings on the approval branch cannot be read"
        return known or Policy("signed", distinct=True), (Alarm("settings", message, "ai-lessons admin validate"),)
    if known is None:
        return said, ()
    stricter = max(said.require, known.require, key=_STRENGTH.__getitem__)
    policy = Policy(stricter, said.distinct or known.distinct, max(said.threshold, known.threshold))
    if policy == said:
        return said, ()
    message = f"the approval branch asks for less than before: {_words(known)} became {_words(said)}"
    return policy, (
        Alarm("weakened", message, "if that was meant, acknowledge it: ai-lessons admin audit --acknowledge"),
    )


def _words(policy: Policy) -> str:
    people = f" by {policy.threshold} people" if policy.threshold > 1 else ""
    return policy.require + people + (" by somebody else" if policy.distinct else "")


def _history_alarms(worktree: Worktree, ref: str, state: ApprovalState, remembered: Remembered) -> tuple[Alarm, ...]:
    alarms = []
    before = remembered.tips.get(ref)
    if before and not state.nodes_of([before]):
        message = f"{branch_name(ref)} was rewritten: commit {before[:10]}, seen here before, is not in it any more"
        alarms.append(Alarm("rewritten", message, f"look at what is gone: git log {branch_name(ref)}..{before[:10]}"))
    if cut_off(worktree):
        message = "the history is cut off (a shallow clone), so older approvals cannot be found"
        alarms.append(Alarm("shallow", message, "git fetch --unshallow"))
    return tuple(alarms)


def acknowledge(worktree: Worktree, view: View, said: Policy | None = None) -> None:
    """Take the branch as it is now for what was seen last: a person has looked at its alarms.

    `said` is the policy to remember, if not the one that the view was judged by.

    Raises:
        StorageFailed: the memory cannot be written.
    """
    if view.tip is not None:
        remembered = memory.load(worktree.state_dir)
        memory.save(worktree.state_dir, remembered.with_branch(view.ref, view.tip, said or view.policy))


def advance(worktree: Worktree, view: View) -> None:
    """Remember tip and policy, unless there is an alarm: an alarm does not silence itself.

    Where nothing can be written nothing is remembered.
    """
    quiet = all(alarm.kind == "shallow" for alarm in view.alarms)
    if view.tip is None or not quiet:
        return
    remembered = memory.load(worktree.state_dir)
    if remembered.tips.get(view.ref) == view.tip and remembered.policies.get(view.ref) == view.policy:
        return
    try:
        memory.save(worktree.state_dir, remembered.with_branch(view.ref, view.tip, view.policy))
    except StorageFailed:
        return


def state_file(worktree: Worktree, ref: str) -> Path:
    """The state of one approval branch."""
    return folder(worktree.state_dir) / f"{sha256(ref.encode()).hexdigest()[:12]}.sqlite"
