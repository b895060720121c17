"""Verdicts on every rule of the approval branch, derived from its whole history and cached in one small file."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from ai_lessons.errors import AiLessonsError, NotFound, UnsupportedRepository
from ai_lessons.knowledge.config import parse_config
from ai_lessons.knowledge.layout import CONFIG_PATH, derived_id
from ai_lessons.repository.approval import approval_branch, approval_memory, rule_history
from ai_lessons.repository.approval.approval_branch import (
    PROPOSALS,
    branch_name,
    branch_of,
    passed_over,
    proposal_refs,
    short_name,
)
from ai_lessons.repository.approval.approval_memory import CachedView, Remembered
from ai_lessons.repository.approval.approval_types import (
    NO_SIGNERS,
    ApprovalPolicy,
    BranchView,
    CommitStep,
    PathChange,
    Proposal,
    Signature,
    Signers,
)
from ai_lessons.repository.approval.rule_files import is_rule, merged_branches, rule_end, stated_id
from ai_lessons.repository.approval.rule_history import Ancestry, RawCommit, behind
from ai_lessons.repository.approval.rule_status import Past, decide, on_protected_branch
from ai_lessons.repository.filters import read_texts
from ai_lessons.repository.worktree import Worktree, read_ref

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from ai_lessons.repository.approval.approval_types import Known


def derive(worktree: Worktree, ref: str, signers: Signers = NO_SIGNERS) -> BranchView:
    """The approval branch `ref` (full name) as it stands now, with a verdict on every rule that it ever had.

    `signers`: whose signatures count under `signed`; under `forge` `ref` is the remote-tracking branch.
    Raises UnsupportedRepository.
    """
    tip = read_ref(worktree, ref)
    if tip is None:
        return BranchView(ref, None, ApprovalPolicy(), {}, {})
    cached = _advanced(worktree, ref, tip, signers) or _Derivation(worktree, ref, tip, signers).run()
    with suppress(AiLessonsError):  # a repository that cannot be written is derived anew every time
        approval_memory.note(worktree, ref, cached)
    view = approval_memory.with_alarms(worktree, cached)
    approval_memory.advance(worktree, view)
    return view


def odd_commits(worktree: Worktree, ref: str) -> list[tuple[str, str]]:
    """Commits there and of proposals that git would not have written, and why. Raises UnsupportedRepository."""
    tip, refs = read_ref(worktree, ref), sorted({*proposal_refs(worktree, PROPOSALS).values()})

    def read(proposals: Sequence[str]) -> list[RawCommit]:
        tips = [*filter(None, [tip]), *proposals]
        return rule_history.commits(worktree, tips) if tips else []

    commits = {commit.id: commit for commit in rule_history.readable(refs, read)[0]}
    return [(name, commit.info.odd) for name, commit in commits.items() if commit.info.odd]


def _advanced(worktree: Worktree, ref: str, tip: str, signers: Signers) -> CachedView | None:
    """The cached view with its tip moved, where no later commit concerns approval; None to derive it anew."""
    cached = approval_memory.noted(worktree, ref)
    before = cached and cached.view.tip
    if not cached or not before or cached.missing or not approval_memory.fits(worktree, cached, signers):
        return None
    try:
        fresh = rule_history.read(worktree, [tip], [before])
    except UnsupportedRepository:  # the old tip was collected as garbage
        return None
    # every way from the new tip back to the old one begins at a child of the old one
    if not any(before in commit.parents for commit in fresh) or any(any(commit.changes) for commit in fresh):
        return None
    return cached._replace(view=cached.view._replace(tip=tip), key=approval_branch.key_of(worktree, tip))


class _Derivation:
    """Reads and judges the whole history once."""

    def __init__(self, worktree: Worktree, ref: str, tip: str, signers: Signers) -> None:
        self._worktree, self._ref, self._tip, self._signers = worktree, ref, tip, signers
        self._remembered = approval_memory.load(worktree.state_dir)
        self._rules: dict[str, str | None] = {}
        self._damaged: tuple[str, ...] = ()
        self._unread: set[str] = set()

    def run(self) -> CachedView:
        """The view to cache. Raises UnsupportedRepository."""
        commits = rule_history.read(self._worktree, [self._tip])
        if not commits:
            raise UnsupportedRepository(f"{branch_name(self._ref)} points to {self._tip}, which is no commit")
        self._learn(commits)
        place = {commit.id: number for number, commit in enumerate(commits)}
        files = _files(commits, place)
        stated = self._stated_policy(files.get(CONFIG_PATH))
        if stated is None and self._ref not in self._remembered.policies:
            self._remember_last_policy(commits, place)
        policy, _ = approval_memory.policy_in_force(self._ref, stated, self._remembered)
        refs = proposal_refs(self._worktree, PROPOSALS)
        proposals = self._proposals(refs)
        parents = [tuple(place.get(parent, -1) for parent in commit.parents) for commit in commits]
        texts: dict[str, list[tuple[str, str]]] = {}
        for path, blob in sorted(files.items()):
            if is_rule(path):
                texts.setdefault(self.rule_of(path, blob), []).append((path, blob))
        why = f"on {branch_name(self._ref)} is no rule here: its text is too long, missing, damaged or encrypted"
        unread = [f"{path} {why}" for path, blob in sorted(files.items()) if blob in self._unread]
        steps = self._steps(commits, parents, proposals)
        signed = self._signatures(steps) if policy.require == "signed" else None
        past = Past(Ancestry(parents, len(commits) - 1), commits, proposals, policy.distinct, signed)
        verdicts = {}
        for rule in {*steps, *texts}:
            now = tuple(texts.get(rule, ()))
            verdict = decide(rule, steps.get(rule, ()), now, past)
            if verdict and policy.require == "forge":
                verdict = on_protected_branch(verdict, now, branch_name(self._ref))
            if verdict:
                verdicts[rule] = verdict
        damaged = (*self._damaged, *unread)
        view = BranchView(self._ref, self._tip, policy, verdicts, files, stated=stated, damaged=damaged)
        checked = self._remembered.tips.get(self._ref, "")
        key = approval_branch.key_of(self._worktree, self._tip, refs)
        signers = self._signers.digest if signed is not None else ""
        return CachedView(view, key, checked, bool(checked) and checked not in place, signers)

    def _signatures(self, steps: Mapping[str, Sequence[CommitStep]]) -> dict[str, Signature]:
        """The good signatures by commit. One that was good here once stays good when its signer leaves the list."""
        signed = {step.id for several in steps.values() for step in several if step.info.signed}
        earlier = {commit: good for commit, good in self._remembered.signed.items() if commit in signed}
        fresh = self._signers.verified(sorted(signed - earlier.keys()))
        if with_key := {commit: good for commit, good in fresh.items() if good.key}:
            self._remember(self._remembered._replace(signed={**self._remembered.signed, **with_key}))
        return {**earlier, **fresh}

    def _remember(self, remembered: Remembered) -> None:
        self._remembered = remembered
        with suppress(AiLessonsError):  # then it is read from the history again
            approval_memory.save(self._worktree.state_dir, remembered)

    def rule_of(self, path: str, blob: str) -> str:
        """The id that a text states, else the one that is derived from its path."""
        return self._rules.get(blob) or derived_id(path)

    def _learn(self, commits: Iterable[RawCommit]) -> None:
        """Read which rules the texts in these commits state."""
        changes = (change for commit in commits for side in commit.changes for change in side if is_rule(change.path))
        paths = {blob: change.path for change in changes for blob in (change.old, change.new) if blob}
        paths = {blob: path for blob, path in paths.items() if blob not in self._rules}
        texts = read_texts(self._worktree, paths)
        self._rules |= {blob: stated_id(texts[blob]) if blob in texts else None for blob in paths}
        self._unread |= {blob for blob in paths if b"\0" in texts.get(blob, b"\0")}

    def _proposals(self, refs: Mapping[str, str]) -> Known:
        """Every proposal that this clone has seen; new ones are noted."""
        branches = sorted({(commit, branch_of(ref)) for ref, commit in refs.items()})
        seen = approval_memory.proposals(self._worktree.state_dir)
        fresh = [(commit, name) for commit, name in branches if seen.tips.get(commit) != name]
        if not fresh:
            return seen
        tips = list(dict.fromkeys(commit for commit, _ in fresh))
        commits, broken = rule_history.readable(tips, lambda part: rule_history.read(self._worktree, part, [self._tip]))
        self._damaged = tuple(passed_over(ref, tip) for ref, tip in sorted(refs.items()) if tip in broken)
        self._learn(commits)
        noted = dict.fromkeys(proposal for several in seen.texts.values() for proposal in several)
        new = [proposal for proposal in proposed(fresh, commits, self.rule_of) if proposal not in noted]
        with suppress(AiLessonsError):  # then they are read again the next time
            approval_memory.add_proposals(self._worktree.state_dir, new)
        return approval_memory.known_from([*noted, *new])

    def _remember_last_policy(self, commits: Sequence[RawCommit], place: Mapping[str, int]) -> None:
        """Remember the last readable settings of the branch, for a clone that has seen none."""
        changes = (change for commit in _line(commits, place) for change in commit.changes[0])
        blobs = (change.new for change in changes if change.path == CONFIG_PATH and change.new)
        policy = next(filter(None, map(self._stated_policy, blobs)), None)
        if policy is not None:
            policies = {**self._remembered.policies, self._ref: policy}
            self._remember(self._remembered._replace(policies=policies))

    def _stated_policy(self, blob: str | None) -> ApprovalPolicy | None:
        """The policy in a settings file, the default where there is none; None where it cannot be read."""
        if blob is None:
            return ApprovalPolicy()
        try:
            config = parse_config(read_texts(self._worktree, {blob: CONFIG_PATH})[blob].decode("utf-8", "replace"))
        except (AiLessonsError, KeyError):
            return None
        return ApprovalPolicy(config.approval_require, config.approval_distinct)  # type: ignore[arg-type]  # checked there

    def _steps(
        self, commits: Sequence[RawCommit], parents: Sequence[tuple[int, ...]], proposals: Known
    ) -> dict[str, list[CommitStep]]:
        steps: dict[str, list[CommitStep]] = {}
        for node, commit in enumerate(commits):
            if not (by_rule := self._by_rule(commit)):
                continue
            info = commit.info
            branches: tuple[str, ...] | None = None
            if len(commit.parents) > 1 and not info.odd:
                branches = merged_branches(info.message, short_name(self._ref))
                if branches is None:  # a message in the user's own words: the merged tips name the branches
                    branches = tuple(proposals.tips.get(side, "") for side in commit.parents[1:])
            rules = frozenset(by_rule)
            for rule, changes in by_rule.items():
                step = CommitStep(commit.id, node, parents[node], info, branches, rules, tuple(map(tuple, changes)))
                steps.setdefault(rule, []).append(step)
        return steps

    def _by_rule(self, commit: RawCommit) -> dict[str, list[list[PathChange]]]:
        """The changes by rule; against the merged sides only of rules that changed against the first parent."""
        by_rule: dict[str, list[list[PathChange]]] = {}
        for side, changes in enumerate(commit.changes):
            for path, old, new in (change for change in changes if is_rule(change.path)):
                before, after = (self.rule_of(path, blob) if blob else None for blob in (old, new))
                for rule in dict.fromkeys((before, after)):
                    if rule is not None and (side == 0 or rule in by_rule):
                        change = PathChange(path, old if rule == before else None, new if rule == after else None)
                        by_rule.setdefault(rule, [[] for _ in commit.changes])[side].append(change)
            if not by_rule:
                break
        return by_rule


def _line(commits: Sequence[RawCommit], place: Mapping[str, int]) -> Iterator[RawCommit]:
    """The tip and its first parents, newest first."""
    at = len(commits) - 1
    while at >= 0:
        yield commits[at]
        at = place.get(commits[at].parents[0], -1) if commits[at].parents else -1


def _files(commits: Sequence[RawCommit], place: Mapping[str, int]) -> dict[str, str]:
    """Rule files and watched files of the tip: what the commits on the line of first parents changed, in order."""
    files: dict[str, str | None] = {}
    for commit in reversed(list(_line(commits, place))):
        files |= {change.path: change.new for change in commit.changes[0]}
    return {path: blob for path, blob in files.items() if blob is not None}


def proposed(
    branches: Iterable[tuple[str, str]], commits: Iterable[RawCommit], rule_of: Callable[[str, str], str]
) -> Iterator[Proposal]:
    """The proposals of branches (tip and name): one for each commit, with the final text; the newest first."""
    by_id = {commit.id: commit for commit in commits}
    for tip, branch in branches:
        end = rule_end(branch)
        final: tuple[str, str, str | None] | None = None
        for commit in behind(by_id, tip) if end else ():
            changes = [
                (rule, change)
                for change in (() if commit.info.odd else commit.changes[0])  # an odd commit proposes nothing
                if is_rule(change.path)
                for rule in sorted({rule_of(change.path, blob) for blob in (change.old, change.new) if blob})
                if rule.endswith(end or "")
            ]
            if not changes:
                continue
            if final is None:
                if len({rule for rule, _ in changes}) > 1:
                    break  # two rules with the same end: the branch name means neither
                rule, (path, _, new) = next((pair for pair in changes if pair[1].new), changes[0])
                final = (rule, path, new if new and rule_of(path, new) == rule else None)
            yield Proposal(branch, commit.id, *final, commit.info.author, commit.info.committed)


class Trunk:
    """The approval branch at one commit. `view` has the verdicts, `signers` the signatures that count."""

    def __init__(self, worktree: Worktree, view: BranchView, signers: Signers) -> None:
        if view.tip is None:
            raise NotFound("commit on the approval branch", branch_name(view.ref), hint="commit something first")
        self.worktree, self.view, self.ref, self.tip = worktree, view, view.ref, view.tip
        self.signers = signers
        self.name = branch_name(view.ref)  # as people write it
        self._has: dict[str, bool] = {}

    def contains(self, commits: Collection[str]) -> set[str]:
        """Those commits that the branch has."""
        unknown = [commit for commit in commits if commit not in self._has]
        if unknown:
            inside = rule_history.contained(self.worktree, self.tip, unknown)
            self._has |= {commit: commit in inside for commit in unknown}
        return {commit for commit in commits if self._has[commit]}

    def newest(self, commits: Iterable[str]) -> str | None:
        """One of these commits that is an ancestor of no other one, whatever clocks say; None of none."""
        best: str | None = None
        for commit in commits:
            if best is None or rule_history.contained(self.worktree, commit, [best]):
                best = commit
        return best

    def places(self, rule: str) -> set[str]:
        """Where texts of a rule stand on the branch."""
        verdict = self.view.verdicts.get(rule)
        if verdict is None:
            return set()
        paths = {change.path for change in verdict.unapproved if change.blob} | {verdict.path or ""}
        return {path for path in paths if path in self.view.files}


def look(worktree: Worktree, ref: str, signers: Signers = NO_SIGNERS) -> Trunk:
    """The approval branch as it stands now. Raises NotFound, UnsupportedRepository."""
    return Trunk(worktree, approval_memory.look(worktree, ref, signers) or derive(worktree, ref, signers), signers)
