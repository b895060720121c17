"""The approval branch as judged.

Derived from its whole history, cached in one file, and what a clone remembers.
"""

from __future__ import annotations

import os
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ai_lessons.approval.inputs import (
    BranchInputs,
    Inputs,
    Remembered,
    forge_of,
    load,
    policy_of,
    read_branch,
    save,
)
from ai_lessons.approval.policy import policy_in_force
from ai_lessons.errors import AiLessonsError, NotFound, UnsupportedRepository
from ai_lessons.git import commits as git_commits
from ai_lessons.git import plumbing
from ai_lessons.git.approval_branch import (
    PROPOSALS,
    approval_folder,
    branch_name,
    cut_off,
    proposal_refs,
    short_name,
)
from ai_lessons.git.commits import RawCommit, read_texts
from ai_lessons.git.files import read_json, write_json
from ai_lessons.git.worktree import Worktree, read_ref
from ai_lessons.model.approval import (
    NO_SIGNERS,
    Alarm,
    ApprovalPolicy,
    BranchView,
    Evidence,
    Person,
    Signers,
    UnapprovedChange,
    Verdict,
    approval_lines,
    is_rule,
    sides_of,
    stated_id,
)
from ai_lessons.model.config import parse_config
from ai_lessons.model.layout import CONFIG_PATH, derived_id

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from ai_lessons.approval.signatures import PinnedSigners
    from ai_lessons.model.approval import How


def forget(state_dir: Path, ref: str, dropped: Sequence[str], tip: str) -> None:
    """Commits that a branch lost on purpose raise no alarm. Raises StorageFailed."""
    remembered = load(state_dir)
    if remembered.tips.get(ref) in dropped:
        save(state_dir, remembered._replace(tips={**remembered.tips, ref: tip}))


def keep(place: Path, key: str, value: object) -> None:
    """Write a value that `kept` returns for this key. Raises StorageFailed."""
    write_json(place, {"key": key, "value": value})


def kept(place: Path, key: str) -> Any:
    """The value last written for this key.

    None for another key, and for a file that cannot be read.
    """
    noted = read_json(place)
    if isinstance(noted, dict) and noted.get("key") == key:
        return noted.get("value")
    return None


# Raise it when the same history would be judged differently
_FORMAT: Final = "12"
# The formats of the editions that also took other evidence than today's
_EARLIER: Final = ("11", "10")


class CachedView(NamedTuple):
    """A view without alarms; `missing`: the history lost the tip `checked`, seen before.

    `signers` is the digest of the signers, where the policy needs any, `around` that of
    `BranchInputs`.
    """

    view: BranchView
    around: str
    checked: str
    missing: bool
    signers: str = ""


def fits(inputs: BranchInputs, cached: CachedView, signers: Signers) -> bool:
    """Whether at most the tip has changed since this was cached."""
    ref, tip, remembered = cached.view.ref, cached.view.tip or "", inputs.remembered
    policy, _ = policy_in_force(ref, cached.view.stated, remembered, signers)
    seen = remembered.tips.get(ref, "") in {"", tip, cached.checked}
    same = seen and cached.view.policy == policy and cached.around == inputs.around
    return same and (policy.require != "signed" or cached.signers == inputs.signers)


def with_alarms(worktree: Worktree, cached: CachedView, signers: Signers) -> BranchView:
    """The view with the alarms that hold now."""
    ref, remembered = cached.view.ref, load(worktree.state_dir)
    _, alarms = policy_in_force(ref, cached.view.stated, remembered, signers)
    if cached.missing and remembered.tips.get(ref, "") == cached.checked:
        name, old = branch_name(ref), cached.checked[:10]
        message = f"{name} was rewritten: commit {old}, seen here before, is not in it any more"
        alarms += (Alarm("rewritten", message, f"look at what is gone: git log {name}..{old}"),)
    if cut_off(worktree):
        message = "the history is cut off (a shallow clone): rules whose approval lies before the cut are not in force"
        alarms += (Alarm("shallow", message, "git fetch --unshallow, or git fetch --deepen=100"),)
    return cached.view._replace(alarms=alarms)


def acknowledge(worktree: Worktree, view: BranchView, policy: ApprovalPolicy | None = None) -> None:
    """Remember the branch's tip, and its policy or the given one, as seen. Raises StorageFailed."""
    if view.tip is not None:
        remembered, policy = load(worktree.state_dir), policy or view.policy
        if remembered.tips.get(view.ref) != view.tip or remembered.policies.get(view.ref) != policy:
            tips = {**remembered.tips, view.ref: view.tip}
            policies = {**remembered.policies, view.ref: policy}
            save(worktree.state_dir, remembered._replace(tips=tips, policies=policies))


def advance(worktree: Worktree, view: BranchView) -> None:
    """Remember tip and policy where the state can be written, unless there is an alarm.

    A person ends that.
    """
    if all(alarm.kind == "shallow" for alarm in view.alarms):
        with suppress(AiLessonsError):
            acknowledge(worktree, view)


def forge_ref(worktree: Worktree, inputs: Inputs) -> str:
    """The branch of the forge that decides under `forge`.

    Of the remote with the address that a person acknowledged.

    The first address of a clone counts as that. Raises UnsupportedRepository: no remote here has
    it.
    """
    forge = inputs.forge
    if forge.acknowledged is None and forge.today:
        with suppress(AiLessonsError):
            # then it is taken again the next time
            acknowledge_forge(worktree, inputs.branch.ref, forge.today)
    if not forge.ref and forge.stated_in:
        raise UnsupportedRepository(
            (
                f"rules are in force as they stand on {forge.acknowledged}, which "
                f"{forge.stated_in} states, and no remote here has that address"
            ),
            hint=f"git remote add company ADDRESS, here: {worktree.top}",
        )
    if not forge.ref:
        remedy = "ai-lessons admin audit --acknowledge"
        if not forge.today:
            remedy = f"git remote add origin URL, then {remedy}"
        raise UnsupportedRepository(
            (
                f"rules are in force as they stand on {forge.acknowledged}, and no remote "
                "here has that address"
            ),
            hint=f"if it moved: {remedy}",
        )
    return forge.ref


def moved_forge(worktree: Worktree, ref: str) -> tuple[str, str] | None:
    """The acknowledged address and today's, where no remote here has the acknowledged one any more."""
    forge = forge_of(worktree, ref, load(worktree.state_dir))
    if forge.acknowledged and forge.today and not forge.ref:
        return (forge.acknowledged, forge.today)
    return None


def acknowledge_forge(worktree: Worktree, ref: str, address: str) -> None:
    """Take this address for the forge's. Raises StorageFailed."""
    remembered = load(worktree.state_dir)
    save(worktree.state_dir, remembered._replace(forges={**remembered.forges, ref: address}))


def note(worktree: Worktree, ref: str, cached: CachedView) -> None:
    """Write a view to the cache. Raises StorageFailed."""
    keep(note_file(worktree, ref), _FORMAT, cached)


def noted(worktree: Worktree, ref: str) -> CachedView | None:
    """The view in the cache; None if there is none that can be used."""
    try:
        (_, tip, policy, verdicts, files, _, stated, damaged, lapsed), *fields = kept(
            note_file(worktree, ref), _FORMAT
        )
        if stated:
            stated = policy_of(*stated)
        else:
            stated = None
        verdicts = {rule: _verdict(*row) for rule, row in verdicts.items()}
        view = BranchView(
            ref, tip, policy_of(*policy), verdicts, files, (), stated, tuple(damaged), lapsed
        )
        return CachedView(view, *fields)
    except (ValueError, TypeError, AttributeError):
        return None


def _served_before(worktree: Worktree, ref: str) -> dict[str, tuple[str, str]]:
    """What an earlier edition served here and nobody approved since.

    By rule its path and (of the first look) blob.
    """
    try:
        if (cached := noted(worktree, ref)) is not None:
            served: dict[str, tuple[str, str]] = {}
            for rule, path in cached.view.lapsed.items():
                served[rule] = (path, "")
            return served
        file = note_file(worktree, ref)
        every = (kept(file, earlier) for earlier in _EARLIER)
        view: list[Any] = next(filter(None, every), [[]])[0]
        if len(view) > 8:
            lapsed = dict(view[8])
        else:
            lapsed = {}
        served = {}
        for rule, path in lapsed.items():
            # It lapsed under an earlier version: no text of it is served
            served[rule] = (path, "")
        for rule, in_force, path, blob, *_ in view[3].values():
            if in_force and path:
                served[rule] = (path, blob)
    except (ValueError, TypeError, AttributeError, IndexError):
        # Written by another version, or damaged: nothing is known of what was served
        return {}
    return served


def _lapsed(
    before: Mapping[str, tuple[str, str]], verdicts: Mapping[str, Verdict]
) -> dict[str, str]:
    """Those that are not served any more, or in another text than the one that stands on the branch."""
    lapsed: dict[str, str] = {}
    for rule, (path, blob) in before.items():
        now = verdicts.get(rule)
        if now is None:
            continue
        if not now.in_force or (now.unapproved and now.blob != blob):
            lapsed[rule] = path
    return lapsed


def note_file(worktree: Worktree, ref: str) -> Path:
    """The cache of one approval branch's view."""
    return approval_folder(worktree.state_dir) / f"{sha256(os.fsencode(ref)).hexdigest()[:12]}.json"


def _verdict(
    rule: str, in_force: bool, path: str | None, blob: str | None, evidence: Any, unapproved: Any
) -> Verdict:
    """The verdict of a row that JSON made of one."""
    changes = tuple(UnapprovedChange(path, blob, _evidence(*row)) for path, blob, row in unapproved)
    return Verdict(rule, in_force, path, blob, _evidence(*evidence), changes)


def _evidence(
    level: int, how: How, by: Any, at: int, suggested: Any, commit: str, reason: str
) -> Evidence:
    people = tuple(Person(*row) for row in suggested)
    return Evidence(level, how, Person(*by) if by else None, at, people, commit, reason)


@plumbing.once()
def derive(
    worktree: Worktree,
    ref: str,
    signers: Signers = NO_SIGNERS,
    *,
    merges_only: bool = False,
    only_look: bool = False,
    anew: bool = False,
) -> BranchView:
    """The approval branch `ref` (full name) as it stands now.

    It has a verdict on every rule that the branch ever had. `signers`: whose signatures count under
    `signed`; under `forge` `ref` is the remote-tracking branch, or, with `merges_only`, what a
    merge brought there counts. It is judged once, until it, the signers or the memory change.
    `only_look`: nothing is remembered. `anew`: what came is known to concern approval. Raises
    UnsupportedRepository.
    """
    inputs = read_branch(worktree, ref, signers.digest)
    if inputs.tip is None:
        return BranchView(ref, None, ApprovalPolicy(), {}, {})
    if merges_only or only_look:
        derived = _Derivation(worktree, inputs, signers, merges_only=merges_only).run()
        view = with_alarms(worktree, derived, signers)
    else:
        cached = None
        if not anew:
            cached = noted(worktree, ref)
        if not (cached and fits(inputs, cached, signers)):
            cached = None
        if cached and cached.view.tip == inputs.tip:
            return with_alarms(worktree, cached, signers)
        cached = cached and _advanced(worktree, cached, inputs.tip)
        cached = cached or _Derivation(worktree, inputs, signers).run()
        with suppress(AiLessonsError):
            # a repository that cannot be written is derived anew every time
            note(worktree, ref, cached)
        view = with_alarms(worktree, cached, signers)
    if not only_look:
        advance(worktree, view)
    return view


def after_merge(
    worktree: Worktree, view: BranchView, side: str, signers: Signers
) -> BranchView | None:
    """The branch as it would be judged after a merge of this commit by pull request.

    None where they conflict.

    Raises UnsupportedRepository.
    """
    merge = git_commits.imagined_merge(
        worktree, view.tip or "", side, "Merge pull request #1 from this/branch"
    )
    if merge is None:
        return None
    return judged_at(worktree, view, view.tip or "", signers, merge)


def judged_at(
    worktree: Worktree, view: BranchView, tip: str, signers: Signers, *on_top: RawCommit
) -> BranchView:
    """The branch as it would be judged if it stood at this commit, with these on top.

    Raises UnsupportedRepository.
    """
    inputs = read_branch(worktree, view.ref, signers.digest)._replace(tip=tip)
    return _Derivation(worktree, inputs, signers).run(*on_top).view


def odd_commits(worktree: Worktree, ref: str) -> list[tuple[str, str]]:
    """Commits there and of proposals that git would not have written, and why.

    Raises UnsupportedRepository.
    """
    tip, refs = read_ref(worktree, ref), sorted({*proposal_refs(worktree, PROPOSALS).values()})

    def read(proposals: Sequence[str]) -> list[RawCommit]:
        tips = [*filter(None, [tip]), *proposals]
        if tips:
            return git_commits.commits(worktree, tips)
        return []

    commits = {}
    for commit in git_commits.readable(refs, read)[0]:
        commits[commit.id] = commit
    return [(name, commit.info.odd) for name, commit in commits.items() if commit.info.odd]


def _advanced(worktree: Worktree, cached: CachedView, tip: str) -> CachedView | None:
    """The cached view with its tip moved, where no later commit concerns approval.

    None to derive it anew.
    """
    before, ref = cached.view.tip, cached.view.ref
    if not before or cached.missing:
        return None
    try:
        fresh = git_commits.read(worktree, [tip], [before])
    except UnsupportedRepository:
        # the old tip was collected as garbage
        return None
    by_id = {}
    for commit in fresh:
        if any(commit.changes) or approval_lines(commit.info.message):
            return None
        by_id[commit.id] = commit
    at, branch = tip, short_name(ref)
    while at in by_id and by_id[at].parents:
        first, *merged = by_id[at].parents
        if sides_of(by_id[at].info.message, branch, len(merged)):
            # it may bring verdicts of the other side
            return None
        at = first
    if at != before:
        # The branch was rewritten, or the old tip is on a side of a merge
        return None
    return cached._replace(view=cached.view._replace(tip=tip))


class _Derivation:
    """Reads and judges the whole history once."""

    def __init__(
        self,
        worktree: Worktree,
        inputs: BranchInputs,
        signers: Signers,
        *,
        merges_only: bool = False,
    ) -> None:
        self._worktree, self._inputs = worktree, inputs
        self._signers, self._merges_only = signers, merges_only
        self._ref, self._tip, self._remembered = inputs.ref, inputs.tip or "", inputs.remembered
        self._rules: dict[str, str | None] = {}
        # by path the id of the rule that stood there last, of those that can be read
        self._at: dict[str, str] = {}
        self._unread: set[str] = set()

    def run(self, *on_top: RawCommit) -> CachedView:
        """The view to cache, of the branch with these commits on top.

        Raises UnsupportedRepository.
        """
        # most jobs judge nothing
        from ai_lessons.approval.verdicts import judge
        from ai_lessons.approval.walk import ApprovalHistory

        tips = [self._tip]
        for commit in on_top:
            tips += commit.parents
        commits = [*git_commits.read(self._worktree, tips), *on_top]
        if not commits:
            raise UnsupportedRepository(
                f"{branch_name(self._ref)} points to {self._tip}, which is no commit"
            )
        self._learn(commits)
        place = {}
        for number, commit in enumerate(commits):
            place[commit.id] = number
        files = _files(commits, place)
        stated = self._stated_policy(files.get(CONFIG_PATH))
        if stated is None and self._ref not in self._remembered.policies:
            self._remember_last_policy(commits, place)
        policy, _ = policy_in_force(self._ref, stated, self._remembered, self._signers)
        if self._merges_only and policy.require == "forge":
            judged_by = policy._replace(require="merge")
        else:
            judged_by = policy
        history = ApprovalHistory(
            commits, self.rule_of, short_name(self._ref), branch_name(self._ref)
        )
        verdicts = judge(history, judged_by, self._signers)
        why = f"on {branch_name(self._ref)} is no rule here: its text is too long, missing, damaged or encrypted"
        unread = []
        for path, blob in sorted(files.items()):
            if blob in self._unread:
                unread.append(f"{path} {why}")
        lapsed = _lapsed(_served_before(self._worktree, self._ref), verdicts)
        view = BranchView(
            self._ref,
            self._tip,
            policy,
            verdicts,
            files,
            stated=stated,
            damaged=tuple(unread),
            lapsed=lapsed,
        )
        checked = self._remembered.tips.get(self._ref, "")
        if policy.require == "signed":
            signers = self._inputs.signers
        else:
            signers = ""
        return CachedView(
            view, self._inputs.around, checked, bool(checked) and checked not in place, signers
        )

    def _remember(self, remembered: Remembered) -> None:
        self._remembered = remembered
        with suppress(AiLessonsError):
            # then it is read from the history again
            save(self._worktree.state_dir, remembered)

    def rule_of(self, path: str, blob: str) -> str:
        """The id that a text states; that of the path's rule where a partial clone lacks it.

        Else one of the path.
        """
        stated = self._rules.get(blob)
        if not stated and blob in self._unread:
            stated = self._at.get(path)
        return stated or derived_id(path)

    def _learn(self, commits: Iterable[RawCommit]) -> None:
        """Read which rules the texts in these commits state."""
        changes = []
        for commit in commits:
            for side in commit.changes:
                for change in side:
                    if is_rule(change.path):
                        changes.append(change)
        paths = {}
        for change in changes:
            for blob in (change.old, change.new):
                if blob:
                    paths[blob] = change.path
        texts = read_texts(self._worktree, paths)
        self._rules = dict.fromkeys(paths)
        for blob, text in texts.items():
            self._rules[blob] = stated_id(text)
        # An encrypted text (git-crypt) has zero bytes; of a text that is missing nothing is known
        self._unread = {blob for blob in paths if b"\0" in texts.get(blob, b"\0")}
        for path, _, blob in changes:
            if blob and (rule := self._rules[blob]):
                self._at[path] = rule

    def _remember_last_policy(self, commits: Sequence[RawCommit], place: Mapping[str, int]) -> None:
        """Remember the last readable settings of the branch, for a clone that has seen none."""
        policy = self._last_policy(commits, place)
        if policy is not None:
            policies = {**self._remembered.policies, self._ref: policy}
            self._remember(self._remembered._replace(policies=policies))

    def _last_policy(
        self, commits: Sequence[RawCommit], place: Mapping[str, int]
    ) -> ApprovalPolicy | None:
        for commit in _line(commits, place):
            for change in commit.changes[0]:
                if change.path != CONFIG_PATH or not change.new:
                    continue
                policy = self._stated_policy(change.new)
                # Else the settings were damaged there, and an older commit says what held
                if policy is not None:
                    return policy
        return None

    def _stated_policy(self, blob: str | None) -> ApprovalPolicy | None:
        """The policy in a settings file, the default where there is none.

        None where it cannot be read.
        """
        if blob is None:
            return ApprovalPolicy()
        try:
            config = parse_config(
                read_texts(self._worktree, {blob: CONFIG_PATH})[blob].decode("utf-8", "replace")
            )
        except (AiLessonsError, KeyError):
            return None
        return policy_of(config.approval_require, config.approval_distinct, config.approval_forges)


def _line(commits: Sequence[RawCommit], place: Mapping[str, int]) -> Iterator[RawCommit]:
    """The tip and its first parents, newest first."""
    at = len(commits) - 1
    while at >= 0:
        yield commits[at]
        if commits[at].parents:
            at = place.get(commits[at].parents[0], -1)
        else:
            at = -1


def _files(commits: Sequence[RawCommit], place: Mapping[str, int]) -> dict[str, str]:
    """Rule files and watched files of the tip.

    What the commits on the line of first parents changed, in order.
    """
    files: dict[str, str | None] = {}
    for commit in reversed(list(_line(commits, place))):
        for change in commit.changes[0]:
            files[change.path] = change.new
    standing: dict[str, str] = {}
    for path, blob in files.items():
        if blob is not None:
            standing[path] = blob
    return standing


class Trunk:
    """The approval branch at one commit.

    `view` has the verdicts, `signers` the signatures that count.
    """

    def __init__(self, worktree: Worktree, view: BranchView, signers: PinnedSigners) -> None:
        if view.tip is None:
            raise NotFound(
                "commit on the approval branch",
                branch_name(view.ref),
                hint="commit something first",
            )
        self.worktree, self.view, self.ref, self.tip = worktree, view, view.ref, view.tip
        self.signers = signers
        # as people write it
        self.name = branch_name(view.ref)
        self._has: dict[str, bool] = {}

    def contains(self, commits: Collection[str]) -> set[str]:
        """Those commits that the branch has."""
        unknown = []
        for commit in commits:
            if commit not in self._has:
                unknown.append(commit)
        if unknown:
            self._has |= git_commits.around(self.worktree, self.tip, unknown)
        contained: set[str] = set()
        for commit in commits:
            if self._has[commit]:
                contained.add(commit)
        return contained

    def newest(self, commits: Iterable[str]) -> str | None:
        """One of these commits that is an ancestor of no other one, whatever clocks say.

        None of none.
        """
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
        places = {verdict.path or ""}
        for change in verdict.unapproved:
            if change.blob:
                places.add(change.path)
        return places & self.view.files.keys()


def approval_of_branch(worktree: Worktree, ref: str, signers: PinnedSigners) -> Trunk:
    """The approval branch as it stands now. Raises NotFound, UnsupportedRepository."""
    return Trunk(worktree, derive(worktree, ref, signers), signers)
