"""Approval of every rule on the approval branch, derived from its whole history and noted in one small file."""

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
from ai_lessons.repository.approval.approval_memory import CachedView
from ai_lessons.repository.approval.approval_types import (
    NOBODY,
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

    from ai_lessons.repository.approval.approval_types import Known, Verdict


def derive(worktree: Worktree, ref: str, signers: Signers = NOBODY) -> BranchView:
    """The approval branch `ref` (full name) as it stands now, with a verdict on every rule that it ever had.

    `signers`: whose signatures count under `signed`; under `forge` `ref` is the remote-tracking one.
    Raises UnsupportedRepository.
    """
    tip = read_ref(worktree, ref)
    if tip is None:
        return BranchView(ref, None, ApprovalPolicy(), {}, {})
    found = _advanced(worktree, ref, tip, signers) or _Derivation(worktree, ref, tip, signers).run()
    with suppress(AiLessonsError):  # a repository that cannot be written can still be read, only never faster
        approval_memory.note(worktree, ref, found)
    view = approval_memory.with_alarms(worktree, found)
    approval_memory.advance(worktree, view)
    return view


def odd_commits(worktree: Worktree, ref: str) -> list[tuple[str, str]]:
    """Commits there and of proposals that git would not have written, and why. Raises UnsupportedRepository."""
    tip, refs = read_ref(worktree, ref), sorted({*proposal_refs(worktree, PROPOSALS).values()})

    def look(some: Sequence[str]) -> list[RawCommit]:
        tips = [*filter(None, [tip]), *some]
        return rule_history.commits(worktree, tips) if tips else []

    found = {one.id: one for one in rule_history.readable(refs, look)[0]}
    return [(name, one.said.odd) for name, one in found.items() if one.said.odd]


def _advanced(worktree: Worktree, ref: str, tip: str, signers: Signers) -> CachedView | None:
    """What was noted with its tip moved, if nothing that came since concerns approval; None to judge anew."""
    noted = approval_memory.noted(worktree, ref)
    before = noted and noted.view.tip
    if not noted or not before or noted.missing or not approval_memory.fits(worktree, noted, signers):
        return None
    try:
        fresh = rule_history.read(worktree, [tip], [before])
    except UnsupportedRepository:  # the old tip was collected as garbage
        return None
    # every way from the new tip back to the old one begins at a child of the old one
    if not any(before in commit.parents for commit in fresh) or any(any(commit.changes) for commit in fresh):
        return None
    return noted._replace(view=noted.view._replace(tip=tip), key=approval_branch.key_of(worktree, tip))


class _Derivation:
    """One look at the whole history."""

    def __init__(self, worktree: Worktree, ref: str, tip: str, signers: Signers) -> None:
        self._worktree, self._ref, self._tip, self._signers = worktree, ref, tip, signers
        self._remembered = approval_memory.load(worktree.state_dir)
        self._rules: dict[str, str | None] = {}
        self._damaged: tuple[str, ...] = ()
        self._unread: set[str] = set()

    def run(self) -> CachedView:
        """Read, judge, and give what is to be noted."""
        commits = rule_history.read(self._worktree, [self._tip])
        if not commits:
            raise UnsupportedRepository(f"{branch_name(self._ref)} points to {self._tip}, which is no commit")
        self._learn(commits)
        place = {commit.id: number for number, commit in enumerate(commits)}
        files = _files(commits, place)
        said = self._stated_policy(files.get(CONFIG_PATH))
        if said is None and self._ref not in self._remembered.policies:
            self._remember_last_policy(commits, place)
        policy, _ = approval_memory.policy_in_force(self._ref, said, self._remembered)
        refs = proposal_refs(self._worktree, PROPOSALS)
        known = self._known_proposals(refs)
        parents = [tuple(place.get(parent, -1) for parent in commit.parents) for commit in commits]
        ancestry = Ancestry(parents, len(commits) - 1)
        texts: dict[str, list[tuple[str, str]]] = {}
        for path, blob in sorted(files.items()):
            if is_rule(path):
                texts.setdefault(self.rule_of(path, blob), []).append((path, blob))
        here = {rule: tuple(several) for rule, several in texts.items()}
        why = f"on {branch_name(self._ref)} is no rule here: its text is too long, missing, damaged or encrypted"
        unread = [f"{path} {why}" for path, blob in sorted(files.items()) if blob in self._unread]
        steps = self._steps(commits, parents, known)
        signed = self._signatures(steps) if policy.require == "signed" else None
        past = Past(ancestry, commits, known, policy.distinct, signed)
        verdicts = self._verdicts(policy, steps, here, past)
        view = BranchView(
            self._ref,
            self._tip,
            policy,
            verdicts,
            files,
            said=said,
            damaged=(*self._damaged, *unread),
        )
        checked = self._remembered.tips.get(self._ref, "")
        key = approval_branch.key_of(self._worktree, self._tip, refs)
        signers = self._signers.digest if signed is not None else ""
        return CachedView(view, key, checked, bool(checked) and checked not in place, signers)

    def _signatures(self, steps: Mapping[str, Sequence[CommitStep]]) -> dict[str, Signature]:
        """The good signatures by commit. One that was good here once stays so, whoever leaves the list afterwards."""
        signed = {one.id for several in steps.values() for one in several if one.said.signed}
        known = {commit: one for commit, one in self._remembered.signed.items() if commit in signed}
        fresh = self._signers.verified(sorted(signed - known.keys()))
        kept = {commit: one for commit, one in fresh.items() if one.key}
        if kept:
            every = {**self._remembered.signed, **kept}
            self._remembered = self._remembered._replace(signed=every)
            with suppress(AiLessonsError):  # then they are verified every time
                approval_memory.save(self._worktree.state_dir, self._remembered)
        return {**known, **fresh}

    def _verdicts(
        self,
        policy: ApprovalPolicy,
        steps: Mapping[str, Sequence[CommitStep]],
        here: Mapping[str, tuple[tuple[str, str], ...]],
        past: Past,
    ) -> dict[str, Verdict]:
        found = {}
        for rule in {*steps, *here}:
            now = here.get(rule, ())
            verdict = decide(rule, steps.get(rule, ()), now, past)
            if verdict and policy.require == "forge":
                verdict = on_protected_branch(verdict, now, branch_name(self._ref))
            if verdict:
                found[rule] = verdict
        return found

    def rule_of(self, path: str, blob: str) -> str:
        """Whose text this is: the id it states, else the one that follows from where it lies."""
        return self._rules.get(blob) or derived_id(path)

    def _learn(self, commits: Iterable[RawCommit]) -> None:
        every = (change for commit in commits for side in commit.changes for change in side if is_rule(change.path))
        paths = {blob: change.path for change in every for blob in (change.old, change.new) if blob}
        paths = {blob: path for blob, path in paths.items() if blob not in self._rules}
        texts = read_texts(self._worktree, paths)
        self._rules |= {blob: stated_id(texts[blob]) if blob in texts else None for blob in paths}
        self._unread |= {blob for blob in paths if b"\0" in texts.get(blob, b"\0")}

    def _known_proposals(self, refs: Mapping[str, str]) -> Known:
        """Every proposal that this clone has seen; notes those that no job looked at before."""
        here = sorted({(commit, branch_of(ref)) for ref, commit in refs.items()})
        known = approval_memory.proposals(self._worktree.state_dir)
        fresh = [pair for pair in here if known.tips.get(pair[0]) != pair[1]]
        if not fresh:
            return known
        tips = list(dict.fromkeys(commit for commit, _ in fresh))
        commits, broken = rule_history.readable(tips, lambda some: rule_history.read(self._worktree, some, [self._tip]))
        self._damaged = tuple(passed_over(ref, tip) for ref, tip in sorted(refs.items()) if tip in broken)
        self._learn(commits)
        noted = dict.fromkeys(one for several in known.texts.values() for one in several)
        found = [one for one in proposed(fresh, commits, self.rule_of) if one not in noted]
        with suppress(AiLessonsError):  # then they are known this once
            approval_memory.add_proposals(self._worktree.state_dir, found)
        return approval_memory.known_from([*noted, *found])

    def _remember_last_policy(self, commits: Sequence[RawCommit], place: Mapping[str, int]) -> None:
        """A clone that never saw settings which can be read judges by the last ones that the branch had."""
        changes = (change for commit in _line(commits, place) for change in commit.changes[0])
        blobs = (change.new for change in changes if change.path == CONFIG_PATH and change.new)
        said = next(filter(None, map(self._stated_policy, blobs)), None)
        if said is not None:
            policies = {**self._remembered.policies, self._ref: said}
            self._remembered = self._remembered._replace(policies=policies)
            with suppress(AiLessonsError):  # then it is looked for again
                approval_memory.save(self._worktree.state_dir, self._remembered)

    def _stated_policy(self, blob: str | None) -> ApprovalPolicy | None:
        if blob is None:
            return ApprovalPolicy()
        try:
            config = parse_config(read_texts(self._worktree, {blob: CONFIG_PATH})[blob].decode("utf-8", "replace"))
        except (AiLessonsError, KeyError):
            return None
        return ApprovalPolicy(config.approval_require, config.approval_distinct)  # type: ignore[arg-type]  # checked there

    def _steps(
        self, commits: Sequence[RawCommit], parents: Sequence[tuple[int, ...]], known: Known
    ) -> dict[str, list[CommitStep]]:
        found: dict[str, list[CommitStep]] = {}
        for node, commit in enumerate(commits):
            if not (by_rule := self._by_rule(commit)):
                continue
            said = commit.said
            branches: tuple[str, ...] | None = None
            if len(commit.parents) > 1 and not said.odd:
                branches = merged_branches(said.message, short_name(self._ref))
                if branches is None:  # a person's own words: then the merged tips tell, where they are known
                    branches = tuple(known.tips.get(side, "") for side in commit.parents[1:])
            rules = frozenset(by_rule)
            for rule, changes in by_rule.items():
                step = CommitStep(commit.id, node, parents[node], said, branches, rules, tuple(map(tuple, changes)))
                found.setdefault(rule, []).append(step)
        return found

    def _by_rule(self, commit: RawCommit) -> dict[str, list[list[PathChange]]]:
        """The changes by rule; against the merged sides only of rules that changed against the first parent."""
        found: dict[str, list[list[PathChange]]] = {}
        for side, changes in enumerate(commit.changes):
            for change in (one for one in changes if is_rule(one.path)):
                old = self.rule_of(change.path, change.old) if change.old else None
                new = self.rule_of(change.path, change.new) if change.new else None
                for rule in dict.fromkeys((old, new)):
                    if rule is not None and (side == 0 or rule in found):
                        mine = PathChange(
                            change.path, change.old if rule == old else None, change.new if rule == new else None
                        )
                        found.setdefault(rule, [[] for _ in commit.changes])[side].append(mine)
            if not found:
                break
        return found


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
    """The proposals of branches (tip and name) by their own commits: one a writer, the final text's first."""
    by_id = {commit.id: commit for commit in commits}
    for tip, branch in branches:
        end = rule_end(branch)
        if end:
            line = (one for one in behind(by_id, tip) if not one.said.odd)  # an odd one proposes nothing
            yield from _of_branch(branch, end, line, rule_of)


def _of_branch(
    branch: str, end: str, line: Iterable[RawCommit], rule_of: Callable[[str, str], str]
) -> Iterator[Proposal]:
    final: tuple[str, str, str | None] | None = None
    for commit in line:
        mine = [
            (rule, change)
            for change in commit.changes[0]
            if is_rule(change.path)
            for rule in sorted({rule_of(change.path, blob) for blob in (change.old, change.new) if blob})
            if rule.endswith(end)
        ]
        if not mine:
            continue
        if final is None:
            if len({rule for rule, _ in mine}) > 1:
                return  # two rules with the same end: the branch does not say which
            rule, change = next((pair for pair in mine if pair[1].new), mine[0])
            final = (rule, change.path, change.new if change.new and rule_of(change.path, change.new) == rule else None)
        rule, path, blob = final
        yield Proposal(branch, commit.id, rule, path, blob, commit.said.author, commit.said.committed)


class Trunk:
    """One moment of the approval branch. `view` is what the engine says about it, `signers` whose signatures count."""

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
        """One of these commits that no other of them has as an ancestor, whatever clocks say; None of none."""
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
        paths = {one.path for one in verdict.unapproved if one.blob} | ({verdict.path} if verdict.path else set())
        return {path for path in paths if path in self.view.files}


def look(worktree: Worktree, ref: str, signers: Signers = NOBODY) -> Trunk:
    """The approval branch as it stands now. Raises NotFound, UnsupportedRepository."""
    return Trunk(worktree, approval_memory.look(worktree, ref, signers) or derive(worktree, ref, signers), signers)
