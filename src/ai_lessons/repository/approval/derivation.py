"""Approval of every rule on the approval branch, derived from history and kept up to date.

Reads (git, or objects where there is no git program), remembers how far it read, and hands what it found to
`standing.decide`. Only new commits are looked at, and only the rules that they or new proposals are about are judged
again. Signatures are judged on top of this in `signed.py`. Loads slow packages; a read with nothing new needs none of
it (`approved.py`).
"""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from ai_lessons.errors import AiLessonsError, StorageFailed, UnsupportedRepository
from ai_lessons.knowledge.config import parse_config
from ai_lessons.knowledge.layout import CONFIG_PATH, derived_id
from ai_lessons.repository.approval import approval_memory as memory
from ai_lessons.repository.approval import approval_stamp, approved
from ai_lessons.repository.approval.ancestry import Ancestry
from ai_lessons.repository.approval.approval_branch import branch_name, short_name
from ai_lessons.repository.approval.approval_state import ApprovalState
from ai_lessons.repository.approval.merges import merged_branches
from ai_lessons.repository.approval.rule_files import is_rule, stated_id
from ai_lessons.repository.approval.rule_growth import Growth, grow
from ai_lessons.repository.approval.rule_history import read_blobs_with_git, read_with_git
from ai_lessons.repository.approval.rule_history_alone import read_alone, read_blobs_alone
from ai_lessons.repository.approval.standing import decide, on_protected_branch, unsigned
from ai_lessons.repository.approval.verdicts import Change, Commit, Known, Person, Policy, Step, View
from ai_lessons.repository.objects import opened
from ai_lessons.repository.proposal.proposal_refs import branch_of, rule_refs
from ai_lessons.repository.proposal.proposals_seen import proposed
from ai_lessons.repository.worktree import read_ref

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from ai_lessons.repository.approval.approval_state import StoredStep
    from ai_lessons.repository.approval.rule_history import RawCommit
    from ai_lessons.repository.approval.verdicts import Proposal, Verdict
    from ai_lessons.repository.worktree import Worktree


class Reading:
    """How history and texts are read: one way in, whichever engine is there."""

    def __init__(self, worktree: Worktree) -> None:
        self._worktree = worktree

    def commits(self, tips: Sequence[str], without: Sequence[str]) -> list[RawCommit]:
        """Commits reachable from `tips` and not from `without`, parents first.

        Raises:
            UnsupportedRepository: a commit is missing.
        """
        found = read_with_git(self._worktree, tips, without)
        if found is not None:
            return list(found)
        with opened(self._worktree) as repo:
            return list(read_alone(repo, self._worktree.prefix, tips, without))

    def texts(self, blobs: Collection[str]) -> dict[str, bytes]:
        """Contents of blobs, as far as they are there and not too long."""
        found = read_blobs_with_git(self._worktree, blobs)
        if found is not None:
            return found
        with opened(self._worktree) as repo:
            return read_blobs_alone(repo, blobs)


def derive(worktree: Worktree, ref: str) -> View:
    """The approval branch `ref` (full name) as it stands now, with a verdict on every rule that it ever had.

    Under the policy `signed` no verdict is in force yet: see `signed.py`. Under `forge` the caller gives the
    remote-tracking branch.

    Raises:
        UnsupportedRepository: the history cannot be read.
    """
    tip = read_ref(worktree, ref)
    if tip is None:
        return View(ref, None, Policy(), {}, {})
    with _open_state(worktree, ref) as state:
        with state.writing():
            found = approved.stored(worktree, ref, tip, state)
            if found is None:
                _Update(worktree, ref, tip, state).run()
        found = found or approved.stored(worktree, ref, tip, state)
    if found is None:
        raise UnsupportedRepository(f"branches of {worktree.top} moved while they were read", hint="try again")
    approved.advance(worktree, found)
    return found


def _open_state(worktree: Worktree, ref: str) -> ApprovalState:
    try:
        return ApprovalState(approved.state_file(worktree, ref))
    except StorageFailed:
        return ApprovalState(None)  # a repository that cannot be written can still be read, only never faster


class _Update:
    """One walk over what is new, inside one transaction of the state."""

    def __init__(self, worktree: Worktree, ref: str, tip: str, state: ApprovalState) -> None:
        self._worktree, self._ref, self._tip, self._state = worktree, ref, tip, state
        self._reading = Reading(worktree)
        self._remembered = memory.load(worktree.state_dir)
        self._texts: dict[str, str | None] = {}

    def run(self) -> None:
        """Read, note, judge."""
        key = approval_stamp.key_of(self._worktree, self._tip)
        ground = approval_stamp.ground(self._worktree)
        commits, full = self._new_commits(ground)
        if full:
            self._state.clear()
        self._learn(commits)
        growth = grow(commits, self._tip, self._state, self.rule_of)
        self._state.add_history(growth.commits, growth.nodes, growth.steps)
        # a merge may drop or bring back a text by taking its other side as it is, which changes the rule in no commit
        touched = growth.rules | self._state.rules_at(growth.files)
        self._state.set_files(growth.files)
        touched |= self._state.rules_at(growth.files)
        seen = self._new_proposals()
        if seen:
            key = approval_stamp.key_of(self._worktree, self._tip)
        changed = self._policy_changed(growth)
        if full:
            self._judge(None, growth.steps)
        else:
            rules = None if changed else touched | {proposal.rule for proposal in seen}
            self._judge(rules, self._state.steps(rules))
        self._state.put("tip", self._tip)
        self._state.put("ground", ground)
        self._state.put("view", key)

    def rule_of(self, path: str, blob: str) -> str:
        """Whose text this is: the id it states, else the one that follows from where it lies."""
        return self._texts.get(blob) or derived_id(path)

    def _new_commits(self, ground: str) -> tuple[list[RawCommit], bool]:
        """What the state does not have, and whether that is everything because the state is of no use."""
        old = self._state.get("tip")
        useful = ground == self._state.get("ground")
        if old == self._tip and useful:
            return [], False
        if old is not None and useful:
            try:
                fresh = self._reading.commits([self._tip], [old])
            except UnsupportedRepository:
                fresh = []  # the old tip was collected as garbage
            # every way from the new tip back to the old one begins at a child of the old one
            if any(old in commit.parents for commit in fresh):
                return fresh, False
        return self._reading.commits([self._tip], []), True

    def _learn(self, commits: Iterable[RawCommit]) -> None:
        blobs = {
            blob
            for commit in commits
            if commit.details
            for changes in commit.details.changes
            for change in changes
            if is_rule(change.path)
            for blob in (change.old, change.new)
            if blob and blob not in self._texts
        }
        self._texts |= self._state.stated_ids(blobs)
        unknown = blobs - self._texts.keys()
        contents = self._reading.texts(unknown) if unknown else {}
        fresh = {blob: stated_id(contents[blob]) if blob in contents else None for blob in unknown}
        self._texts |= fresh
        self._state.add_texts(fresh)

    def _new_proposals(self) -> list[Proposal]:
        """Remember what branches propose that were not looked at before."""
        done = {tuple(pair) for pair in json.loads(self._state.get("looked at") or "[]")}
        # by name too: it says whose proposal it is, and one commit may come to stand under another name
        here = {(commit, branch_of(ref)) for ref, commit in rule_refs(self._worktree).items()}
        tips = sorted(here - done)
        if not tips:
            return []
        self._state.put("looked at", json.dumps(sorted(here)))
        commits = self._reading.commits(list(dict.fromkeys(commit for commit, _ in tips)), [self._tip])
        self._learn(commits)
        known = {one for several in memory.proposals(self._worktree.state_dir).texts.values() for one in several}
        found = [one for one in proposed(tips, commits, self.rule_of) if one not in known]
        memory.add_proposals(self._worktree.state_dir, found)
        return found

    def _policy_changed(self, growth: Growth) -> bool:
        """Note the policy on the branch; True if rules have to be judged by another one than before."""
        before = self._state.get("judged by")
        if CONFIG_PATH in growth.files or self._state.get("policy") is None:
            said = self._stated_policy()
            self._state.put("policy", json.dumps(asdict(said)) if said else "")
        policy, _ = approved.policy_in_force(self._ref, approved.stated(self._state), self._remembered)
        self._state.put("judged by", approved.judged_by(policy))
        return before != approved.judged_by(policy)

    def _stated_policy(self) -> Policy | None:
        blob = self._state.blob_at(CONFIG_PATH)
        if blob is None:
            return Policy()
        data = self._reading.texts([blob]).get(blob)
        if data is None:
            return None
        try:
            config = parse_config(data.decode("utf-8", "replace"))
        except AiLessonsError:
            return None
        said = config.approval_require, config.approval_distinct, config.approval_threshold
        return Policy(*said)  # type: ignore[arg-type]  # checked there

    def _judge(self, rules: Collection[str] | None, steps: Iterable[StoredStep]) -> None:
        """Judge these rules (None: all) by their steps and note the verdicts."""
        if rules is not None and not rules:
            return
        policy, _ = approved.policy_in_force(self._ref, approved.stated(self._state), self._remembered)
        known = memory.proposals(self._worktree.state_dir)
        by_rule = _steps_by_rule(steps, short_name(self._ref), known)
        now = self._state.texts_of(rules)
        ancestry = _Lazy(self._state, self._tip)
        verdicts: dict[str, Verdict | None] = {}
        for rule in by_rule if rules is None else rules:
            here = tuple(now.get(rule, ()))
            verdict = decide(
                rule,
                by_rule.get(rule, ()),
                here,
                is_ancestor=ancestry.is_ancestor,
                known=known,
                distinct=policy.distinct,
            )
            verdicts[rule] = self._by_policy(verdict, here, policy) if verdict else None
        self._state.set_verdicts(verdicts)

    def _by_policy(self, verdict: Verdict, now: tuple[tuple[str, str], ...], policy: Policy) -> Verdict:
        if policy.require == "forge":
            return on_protected_branch(verdict, now, branch_name(self._ref))
        return unsigned(verdict, now) if policy.require == "signed" else verdict


class _Lazy:
    """The ancestry, built when the first question comes: most new rules need none."""

    def __init__(self, state: ApprovalState, tip: str) -> None:
        self._state, self._tip = state, tip
        self._built: Ancestry | None = None

    def is_ancestor(self, one: int, other: int) -> bool:
        """See `Ancestry.is_ancestor`."""
        if self._built is None:
            self._built = Ancestry(self._state.parents(), self._state.nodes_of([self._tip])[self._tip])
        return self._built.is_ancestor(one, other)


def _steps_by_rule(stored: Iterable[StoredStep], branch: str, known: Known) -> dict[str, list[Step]]:
    found: dict[str, list[Step]] = {}
    for one in stored:
        commit = _commit(one, branch, known)
        sides = max(len(commit.parents), 1)
        by_rule: dict[str, list[list[Change]]] = {}
        for rule, side, path, old, new in one.changes:
            by_rule.setdefault(rule, [[] for _ in range(sides)])[side].append(Change(path, old, new))
        for rule, changes in by_rule.items():
            found.setdefault(rule, []).append(Step(commit, tuple(map(tuple, changes))))
    return found


def _commit(stored: StoredStep, branch: str, known: Known) -> Commit:
    raw = stored.details
    commit = Commit(
        raw["id"],
        stored.node,
        tuple(raw["parents"]),
        Person(*raw["author"]),
        Person(*raw["committer"]),
        raw["at"],
        raw["message"],
        rules=frozenset(raw["rules"]),
        cut=raw["cut"],
    )
    if len(commit.parents) < 2:
        return commit
    said = merged_branches(commit.message, branch)
    if said is None:  # somebody's own words: then the merged tips tell, where they are known
        said = tuple(known.tips.get(side, "") for side in raw["sides"][1:])
    return replace(commit, branches=said)
