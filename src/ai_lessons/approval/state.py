"""The approval branch as judged: derived from its whole history, cached in one file, and what a clone remembers."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ai_lessons.errors import AiLessonsError, NotFound, UnsupportedRepository
from ai_lessons.git import commits as git_commits
from ai_lessons.git.commits import Ancestry, RawCommit, behind, read_texts
from ai_lessons.git.files import append_lines, read_json, translated, write_json
from ai_lessons.git.worktree import (
    PROPOSALS,
    REMEMBERED,
    SEEN,
    Worktree,
    branch_name,
    branch_of,
    cut_off,
    folder,
    key_of,
    passed_over,
    proposal_refs,
    read_ref,
    short_name,
)
from ai_lessons.model.approval import (
    NO_SIGNERS,
    Alarm,
    ApprovalPolicy,
    BranchView,
    CommitStep,
    Evidence,
    Known,
    PathChange,
    Person,
    Proposal,
    Signature,
    Signers,
    UnapprovedChange,
    Verdict,
    is_rule,
    merged_branches,
    rule_end,
    stated_id,
)
from ai_lessons.model.config import parse_config
from ai_lessons.model.layout import CONFIG_PATH, derived_id

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from ai_lessons.model.approval import How

PROPOSALS_KEPT: Final = 10_000


class Remembered(NamedTuple):
    """By ref the last tip and policy that raised no alarm; by commit the signature that was good here once."""

    tips: Mapping[str, str] = {}
    policies: Mapping[str, ApprovalPolicy] = {}
    signed: Mapping[str, Signature] = {}


def load(state_dir: Path) -> Remembered:
    """What is remembered; nothing if there is no file, or one that cannot be read."""
    try:
        raw = read_json(folder(state_dir) / REMEMBERED)
        # an earlier version also wrote down a number of signers
        policies = {ref: ApprovalPolicy(row["require"], row["distinct"]) for ref, row in raw["policies"].items()}
        signed = {commit: Signature(*row) for commit, row in raw.get("signed", {}).items()}
        return Remembered(dict(raw["tips"]), policies, signed)
    except (ValueError, TypeError, KeyError, AttributeError):
        return Remembered()


def save(state_dir: Path, remembered: Remembered) -> None:
    """Replace what is remembered, whole or not at all. Raises StorageFailed."""
    raw = remembered._asdict() | {"policies": {ref: policy._asdict() for ref, policy in remembered.policies.items()}}
    write_json(folder(state_dir) / REMEMBERED, raw)


def forget(state_dir: Path, ref: str, dropped: Sequence[str], tip: str) -> None:
    """Commits that a branch lost on purpose raise no alarm. Raises StorageFailed."""
    remembered = load(state_dir)
    if remembered.tips.get(ref) in dropped:
        save(state_dir, remembered._replace(tips={**remembered.tips, ref: tip}))


def keep(place: Path, key: str, value: object) -> None:
    """Write a value that `kept` returns for this key. Raises StorageFailed."""
    write_json(place, {"key": key, "value": value})


def kept(place: Path, key: str) -> Any:
    """The value last written for this key; None for another key, and for a file that cannot be read."""
    noted = read_json(place)
    return noted.get("value") if isinstance(noted, dict) and noted.get("key") == key else None


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


def remembered_approval(worktree: Worktree, ref: str, signers: Signers = NO_SIGNERS) -> BranchView | None:
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
    # where the branch is the remote's, what the one here had still holds
    earlier = remembered.policies.get(ref) or remembered.policies.get(f"refs/heads/{short_name(ref)}")
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
        note(worktree, ref, cached)
    view = with_alarms(worktree, cached)
    advance(worktree, view)
    return view


def odd_commits(worktree: Worktree, ref: str) -> list[tuple[str, str]]:
    """Commits there and of proposals that git would not have written, and why. Raises UnsupportedRepository."""
    tip, refs = read_ref(worktree, ref), sorted({*proposal_refs(worktree, PROPOSALS).values()})

    def read(proposals: Sequence[str]) -> list[RawCommit]:
        tips = [*filter(None, [tip]), *proposals]
        return git_commits.commits(worktree, tips) if tips else []

    commits = {commit.id: commit for commit in git_commits.readable(refs, read)[0]}
    return [(name, commit.info.odd) for name, commit in commits.items() if commit.info.odd]


def _advanced(worktree: Worktree, ref: str, tip: str, signers: Signers) -> CachedView | None:
    """The cached view with its tip moved, where no later commit concerns approval; None to derive it anew."""
    cached = noted(worktree, ref)
    before = cached and cached.view.tip
    if not cached or not before or cached.missing or not fits(worktree, cached, signers):
        return None
    try:
        fresh = git_commits.read(worktree, [tip], [before])
    except UnsupportedRepository:  # the old tip was collected as garbage
        return None
    # every way from the new tip back to the old one begins at a child of the old one
    if not any(before in commit.parents for commit in fresh) or any(any(commit.changes) for commit in fresh):
        return None
    return cached._replace(view=cached.view._replace(tip=tip), key=key_of(worktree, tip))


class _Derivation:
    """Reads and judges the whole history once."""

    def __init__(self, worktree: Worktree, ref: str, tip: str, signers: Signers) -> None:
        self._worktree, self._ref, self._tip, self._signers = worktree, ref, tip, signers
        self._remembered = load(worktree.state_dir)
        self._rules: dict[str, str | None] = {}
        self._damaged: tuple[str, ...] = ()
        self._unread: set[str] = set()

    def run(self) -> CachedView:
        """The view to cache. Raises UnsupportedRepository."""
        from ai_lessons.approval.verdicts import ApprovalHistory, decide, on_protected_branch  # most jobs judge nothing

        commits = git_commits.read(self._worktree, [self._tip])
        if not commits:
            raise UnsupportedRepository(f"{branch_name(self._ref)} points to {self._tip}, which is no commit")
        self._learn(commits)
        place = {commit.id: number for number, commit in enumerate(commits)}
        files = _files(commits, place)
        stated = self._stated_policy(files.get(CONFIG_PATH))
        if stated is None and self._ref not in self._remembered.policies:
            self._remember_last_policy(commits, place)
        policy, _ = policy_in_force(self._ref, stated, self._remembered)
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
        past = ApprovalHistory(Ancestry(parents, len(commits) - 1), commits, proposals, policy.distinct, signed)
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
        key = key_of(self._worktree, self._tip, refs)
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
            save(self._worktree.state_dir, remembered)

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
        seen = proposals(self._worktree.state_dir)
        fresh = [(commit, name) for commit, name in branches if seen.tips.get(commit) != name]
        if not fresh:
            return seen
        tips = list(dict.fromkeys(commit for commit, _ in fresh))
        commits, broken = git_commits.readable(tips, lambda part: git_commits.read(self._worktree, part, [self._tip]))
        self._damaged = tuple(passed_over(ref, tip) for ref, tip in sorted(refs.items()) if tip in broken)
        self._learn(commits)
        noted = dict.fromkeys(proposal for several in seen.texts.values() for proposal in several)
        new = [proposal for proposal in proposed(fresh, commits, self.rule_of) if proposal not in noted]
        with suppress(AiLessonsError):  # then they are read again the next time
            add_proposals(self._worktree.state_dir, new)
        return known_from([*noted, *new])

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
            inside = git_commits.contained(self.worktree, self.tip, unknown)
            self._has |= {commit: commit in inside for commit in unknown}
        return {commit for commit in commits if self._has[commit]}

    def newest(self, commits: Iterable[str]) -> str | None:
        """One of these commits that is an ancestor of no other one, whatever clocks say; None of none."""
        best: str | None = None
        for commit in commits:
            if best is None or git_commits.contained(self.worktree, commit, [best]):
                best = commit
        return best

    def places(self, rule: str) -> set[str]:
        """Where texts of a rule stand on the branch."""
        verdict = self.view.verdicts.get(rule)
        if verdict is None:
            return set()
        paths = {change.path for change in verdict.unapproved if change.blob} | {verdict.path or ""}
        return {path for path in paths if path in self.view.files}


def approval_of_branch(worktree: Worktree, ref: str, signers: Signers = NO_SIGNERS) -> Trunk:
    """The approval branch as it stands now. Raises NotFound, UnsupportedRepository."""
    return Trunk(worktree, remembered_approval(worktree, ref, signers) or derive(worktree, ref, signers), signers)
