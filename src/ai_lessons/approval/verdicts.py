"""The text of a rule in force: the last with enough evidence. Pure: no git, files, clock."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.model.approval import (
    FORGES,
    MERGED,
    ON_BRANCH,
    SIGNED,
    Evidence,
    Person,
    UnapprovedChange,
    Verdict,
    copied_from,
    made_by_agent,
    names_pull_request,
    project_of,
    rule_end,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ai_lessons.git.commits import Ancestry, RawCommit
    from ai_lessons.model.approval import CommitStep, How, Known, PathChange, Signature


class ApprovalHistory(NamedTuple):
    """The whole history by node, the proposals, the policy (`distinct`: the author of a proposal may not merge it).

    `signed` are the good signatures by commit, where the policy needs one (else None).
    """

    ancestry: Ancestry
    commits: Sequence[RawCommit]
    proposals: Known
    distinct: bool = False
    signed: Mapping[str, Signature] | None = None


class EvidenceFinder:
    """Judges the steps of one rule, one at a time."""

    def __init__(self, rule: str, steps: Sequence[CommitStep], past: ApprovalHistory) -> None:
        self._rule, self._steps, self._past, self._distinct = rule, steps, past, past.distinct

    def evidence(self, commit: CommitStep, path: str, blob: str | None, decided: int = -1) -> Evidence | None:
        """The evidence of this step for the text (None: the removal); None if it only passes on that of a merged side.

        `decided` (seconds since 1970): the last decision about the rule, if it took the same text before; no older
        proposal counts a second time.
        """
        if commit.info.odd:
            return _seen(commit, "direct", f"the commit proves nothing: {commit.info.odd}")
        if commit.info.cut:
            return _seen(commit, "direct", "the history is cut off here (a shallow clone)")
        if len(commit.parents) > 1:
            return self._signed(commit, self._merge_evidence(commit, path, blob))
        if blob and any(c.old == blob and project_of(c.path) == project_of(path) for c in commit.changes[0]):
            return None  # moved inside its project: nothing new came
        return self._signed(commit, self._plain_evidence(commit, path, blob, decided))

    def _signed(self, commit: CommitStep, evidence: Evidence | None) -> Evidence | None:
        """Where the policy needs a signature, an approval without a good one does not count."""
        if self._past.signed is None or evidence is None or evidence.level < MERGED:
            return evidence
        good = self._past.signed.get(commit.id)
        if good is None:
            lacks = "no signer who is pinned here signed it" if commit.info.signed else "it is not signed"
            return evidence._replace(level=ON_BRANCH, how="unsigned", reason=f"{evidence.reason}: {lacks}")
        by_forge = commit.info.committer.email in FORGES or not good.who  # then its word for the person has to do
        by = evidence.by if by_forge else Person(good.who, good.who)
        if self._distinct and by and any(by.same(writer) for writer in evidence.suggested_by):
            return self._own(commit, by, evidence.suggested_by)
        return evidence._replace(level=SIGNED, how="signed", by=by)

    def _merge_evidence(self, commit: CommitStep, path: str, blob: str | None) -> Evidence | None:
        sources = [n for n in range(1, len(commit.parents)) if _held_at(commit.changes[n], path, blob) is not None]
        side, reason = self._own_side(commit)
        for number in side or ():
            if number in sources and self._brings(commit, number, path, blob):
                return self._merged(commit, number)
        if not sources:
            inside = "the text is in none of the merged commits: it was changed inside the merge"
            return _seen(commit, "evil-merge", inside)
        reason = reason or ("no commit of the merged side brings it" if side else "")
        return _seen(commit, "direct", reason) if reason else None

    def _brings(self, commit: CommitStep, side: int, path: str, blob: str | None) -> bool:
        """True if commits of this side made the text (None: the removal); False if it was so where the side began."""
        ancestry, before = self._past.ancestry, commit.parents[0]
        at = _held_at(commit.changes[side], path, blob) or path
        texts: dict[int, dict[str, str | None]] = {commit.parents[side]: {at: blob}}
        for node in ancestry.between(before, commit.parents[side]):
            for parent, changes in zip(ancestry.parents[node] or (-1,), self._past.commits[node].changes, strict=True):
                near = (c for c in changes if project_of(c.path) == project_of(path))
                olds = {c.path: c.old for c in near if c.path in texts[node] or (blob and c.old == blob)}
                texts[parent] = texts[node] | olds
        starts = ancestry.newest(node for node in texts if ancestry.is_ancestor(node, before))
        return not any(blob in texts[node].values() for node in starts)

    def _own_side(self, commit: CommitStep) -> tuple[Sequence[int] | None, str]:
        """The parents that may bring this rule's proposal; or None, and the reason if others' proposals were merged."""
        ends = [rule_end(branch) for branch in commit.branches or ()]
        number = next((n for n, end in enumerate(ends) if end and self._rule.endswith(end)), None)
        if number is None:
            return None, "it came in with the proposal of another rule" if any(ends) else ""
        end = ends[number] or ""
        if sum(rule.endswith(end) for rule in commit.rules) > 1:
            return None, f"the proposal changes several rules whose id ends in {end}"
        sides = len(commit.parents) - 1
        return ([number + 1] if len(ends) == sides else range(1, sides + 1)), ""

    def _merged(self, commit: CommitStep, side: int) -> Evidence:
        merger = commit.info.author if commit.info.committer.email in FORGES else commit.info.committer
        writers = self._writers(commit, side)
        if made_by_agent(commit.info.message):
            return _by(commit, ON_BRANCH, "self-merge", merger, writers, "an agent made this merge")
        if any(merger.same(writer) for writer in writers) or (self._distinct and not self._by_another(commit, side)):
            return self._own(commit, merger, writers)
        return _by(commit, MERGED, "merge", merger, writers, _subject(commit))

    def _by_another(self, commit: CommitStep, side: int) -> bool:
        """True if it brought commits, and the person who made this merge neither wrote nor committed any of them."""
        nodes = self._past.ancestry.between(commit.parents[0], commit.parents[side])
        merged = [self._past.commits[node] for node in nodes if not self._brings_up_to_date(node, commit.parents[0])]
        if not merged or any(source.info.odd or source.info.cut for source in merged):
            return False
        mergers = [person for person in (commit.info.author, commit.info.committer) if person.email not in FORGES]
        people = {person for source in merged for person in (source.info.author, source.info.committer)}
        return bool(mergers) and not any(merger.same(person) for merger in mergers for person in people)

    def _brings_up_to_date(self, node: int, trunk: int) -> bool:
        """True for a merge of the trunk into a proposal that changed no rule itself: its author wrote nothing."""
        parents, merge = self._past.ancestry.parents[node], self._past.commits[node]
        changed = [{change.path for change in side} for side in merge.changes]
        of_trunk = any(self._past.ancestry.is_ancestor(parent, trunk) for parent in parents[1:])
        return of_trunk and not merge.info.odd and not merge.info.cut and not set.intersection(*changed)

    def _own(self, commit: CommitStep, person: Person, writers: tuple[Person, ...]) -> Evidence:
        if self._distinct:
            reason = "taken by a person who worked on the proposal, as far as the history tells"
            return _by(commit, ON_BRANCH, "self-merge", person, writers, reason)
        return _by(commit, MERGED, "self-merge", person, writers, _subject(commit))

    def _writers(self, commit: CommitStep, side: int) -> tuple[Person, ...]:
        """The authors of the merged side's commits on this rule, the last one first."""
        tip, before, is_ancestor = commit.parents[side], commit.parents[0], self._past.ancestry.is_ancestor
        steps = [
            step
            for step in self._steps
            if len(step.parents) < 2 and is_ancestor(step.node, tip) and not is_ancestor(step.node, before)
        ]
        steps.sort(key=lambda step: (step.info.committed, step.id), reverse=True)
        return tuple(dict.fromkeys(step.info.author for step in steps))

    def _plain_evidence(self, commit: CommitStep, path: str, blob: str | None, decided: int) -> Evidence:
        same = self._past.proposals.texts.get((self._rule, blob), ())
        proposals = [p for p in same if project_of(p.path) == project_of(path) and p.at > decided]
        writers = tuple(dict.fromkeys(proposal.author for proposal in proposals))
        if commit.info.committer.email in FORGES:
            return self._forge_evidence(commit, writers)
        if not proposals:
            return _seen(commit, "direct", "committed without a proposal")
        # a rebase keeps the author and the words of the proposal, so a trailer there is the proposer's own
        if made_by_agent(commit.info.message) and not any(commit.info.author.same(writer) for writer in writers):
            return _seen(commit, "direct", "an agent made this commit")
        taken = not any(commit.info.committer.same(writer) for writer in writers)
        if taken and self._distinct:
            return _seen(commit, "direct", f"not merged: only a merge of {proposals[0].branch} tells who took it")
        if taken:
            how: How = "squash" if commit.info.author.same(commit.info.committer) else "rebase"
            return _by(commit, MERGED, how, commit.info.committer, writers, f"the text of {proposals[0].branch}")
        if copied_from(commit.info.message) & {proposal.commit for proposal in proposals}:
            return self._own(commit, commit.info.committer, writers)
        if any(proposal.commit == commit.id for proposal in proposals):
            return _seen(commit, "direct", "fast-forwarded: nothing says that a person took the proposal")
        return _seen(commit, "direct", "the text of a proposal, committed by its own author")

    def _forge_evidence(self, commit: CommitStep, writers: tuple[Person, ...]) -> Evidence:
        suggested = writers or (commit.info.author,)
        if not writers and not names_pull_request(commit.info.message):
            return _seen(commit, "direct", "edited on the forge without a pull request")
        if self._distinct:
            return _by(commit, ON_BRANCH, "squash", None, suggested, "a squashed pull request does not say who took it")
        return _by(commit, MERGED, "squash", commit.info.committer, suggested, _subject(commit))


def _held_at(changes: Sequence[PathChange], path: str, blob: str | None) -> str | None:
    """Where in its project the parent with these changes has the text, too (blob None: lacks the file); None: not."""
    if all(change.path != path for change in changes):
        return path
    held = (c.path for c in changes if blob is not None and c.old == blob and project_of(c.path) == project_of(path))
    return next(held, None)


def _seen(commit: CommitStep, how: How, reason: str) -> Evidence:
    return Evidence(ON_BRANCH, how, None, commit.info.committed, (commit.info.author,), commit.id, reason)


def _by(
    commit: CommitStep, level: int, how: How, by: Person | None, suggested: tuple[Person, ...], reason: str
) -> Evidence:
    return Evidence(level, how, by, commit.info.committed, suggested, commit.id, reason)


def _subject(commit: CommitStep) -> str:
    return commit.info.message.partition("\n")[0].strip()


class _Event(NamedTuple):
    """A decision: a text approved or put back, or (blob None) removed."""

    node: int
    path: str
    blob: str | None
    evidence: Evidence


def decide(
    rule: str, steps: Iterable[CommitStep], now: Sequence[tuple[str, str]], past: ApprovalHistory
) -> Verdict | None:
    """The verdict on a rule under `merge`, None if the branch never had it; `now` are its texts there (path, blob)."""
    return _Judge(rule, tuple(sorted(steps, key=lambda step: step.node)), past).verdict(tuple(now))


def on_protected_branch(verdict: Verdict, now: Sequence[tuple[str, str]], where: str) -> Verdict:
    """The verdict under the policy `forge`: whatever stands on the protected branch `where` counts."""
    if not now:
        return verdict._replace(in_force=False, path=None, blob=None, unapproved=())
    path, blob = (verdict.path, verdict.blob) if (verdict.path, verdict.blob) in now else sorted(now)[0]
    arrived = next((a.evidence for a in verdict.unapproved if a.blob == blob), verdict.evidence)
    evidence = arrived._replace(level=MERGED, reason=f"on the protected branch {where}: {arrived.reason}")
    return Verdict(verdict.rule, in_force=True, path=path, blob=blob, evidence=evidence)


class _Judge:
    """Judges every step of one rule's history, parents first."""

    def __init__(self, rule: str, steps: Sequence[CommitStep], past: ApprovalHistory) -> None:
        self._rule, self._ancestry, self._is_ancestor = rule, past.ancestry, past.ancestry.is_ancestor
        self._witness = EvidenceFinder(rule, steps, past)
        self._events: list[_Event] = []
        self._arrivals: list[tuple[int, UnapprovedChange]] = []
        for step in steps:
            changes = step.changes[0] if step.changes else ()
            arrived: list[tuple[str, str | None]] = [(change.path, change.new) for change in changes if change.new]
            for path, blob in arrived or [(change.path, None) for change in changes[:1]]:
                self._changed(step, path, blob)

    def _changed(self, step: CommitStep, path: str, blob: str | None) -> None:
        node = step.node
        before = [event for event in self._events if self._is_ancestor(event.node, node)]
        decided = max((event.evidence.at for event in before), default=-1) if self._matching(before, path, blob) else -1
        evidence = self._witness.evidence(step, path, blob, decided)
        if blob and (evidence is None or evidence.level < MERGED):
            earlier = self._newest(self._matching(self._latest(before), path, blob))
            evidence = earlier.evidence if earlier else evidence
        if evidence is not None and evidence.level >= MERGED:
            self._events.append(_Event(node, path, blob, evidence))
        elif evidence is not None:
            self._arrivals.append((node, UnapprovedChange(path, blob, evidence)))

    def _standing(self, events: Sequence[_Event]) -> list[_Event]:
        """The approvals that no removal among these events comes after."""
        removals = [event.node for event in events if event.blob is None]
        texts = (event for event in events if event.blob is not None)
        return [event for event in texts if not any(self._is_ancestor(event.node, node) for node in removals)]

    def _latest(self, events: Sequence[_Event]) -> list[_Event]:
        """Those of the approvals that hold after which no other text was approved."""
        standing = self._standing(events)
        return [
            event
            for event in standing
            if not any(
                event.node != o.node and self._is_ancestor(event.node, o.node) and not self._matching([event], *o[1:3])
                for o in standing
            )
        ]

    @staticmethod
    def _matching(events: Sequence[_Event], path: str, blob: str | None) -> list[_Event]:
        return [event for event in events if event.blob == blob and project_of(event.path) == project_of(path)]

    def _newest(self, events: Sequence[_Event]) -> _Event | None:
        """The one after which none of the others comes; among those side by side, the latest."""
        nodes = self._ancestry.newest(event.node for event in events)
        last = [event for event in events if event.node in nodes]
        return max(last, key=lambda event: (event.evidence.at, event.evidence.commit, event.path), default=None)

    def verdict(self, now: tuple[tuple[str, str], ...]) -> Verdict | None:
        """The verdict on the texts (path, blob) that the branch has now."""
        served = self._served(now)
        if served is None:
            arrivals = self._unapproved(now)
            removal = self._newest([event for event in self._events if event.blob is None])
            evidence = arrivals[0].evidence if arrivals else removal.evidence if removal else None
            if evidence is None:
                return None
            return Verdict(self._rule, in_force=False, path=None, blob=None, evidence=evidence, unapproved=arrivals)
        path, blob, event = served
        other_texts = [text for text in now if text[1] != blob or project_of(text[0]) != project_of(path)]
        unapproved = self._unapproved(other_texts if now else [(path, None)])
        return Verdict(self._rule, in_force=True, path=path, blob=blob, evidence=event.evidence, unapproved=unapproved)

    def _served(self, now: Sequence[tuple[str, str]]) -> tuple[str, str, _Event] | None:
        """The text in force: one that is there and approved, else the one approved last; None if there is none."""
        standing, latest = self._standing(self._events), self._latest(self._events)
        here = [(path, blob, e) for path, blob in now for e in [self._newest(self._matching(latest, path, blob))] if e]
        if here:
            newest = self._newest([event for _, _, event in here])
            evidence = newest.evidence if newest else None
            first = next(event.path for event in self._events if event.evidence == evidence)
            chosen = [text for text in here if text[2].evidence == evidence]
            return min(chosen, key=lambda text: (text[0] != first, text[0]))  # the original before its copies
        removals = [event for event in self._events if event.blob is None]
        if not now and any(not any(self._is_ancestor(r.node, event.node) for event in standing) for r in removals):
            return None
        last = self._newest(standing)
        return (last.path, last.blob, last) if last and last.blob else None

    def _unapproved(self, texts: Sequence[tuple[str, str | None]]) -> tuple[UnapprovedChange, ...]:
        return tuple(self._arrival(path, blob) for path, blob in sorted(texts, key=lambda text: text[0]))

    def _arrival(self, path: str, blob: str | None) -> UnapprovedChange:
        """The evidence of a text (None: the removal) that is not approved."""
        arrivals = [(node, arrival) for node, arrival in self._arrivals if arrival.blob == blob]
        arrivals = [pair for pair in arrivals if pair[1].path == path] or arrivals
        nodes = self._ancestry.newest(node for node, _ in arrivals)
        last = [arrival for node, arrival in arrivals if node in nodes]
        if last:
            newest = max(last, key=lambda arrival: (arrival.evidence.at, arrival.evidence.commit))
            return newest._replace(path=path)
        copied = next((event for event in self._events if event.blob == blob), None)
        if copied is not None:
            reason = f"approved at {copied.path} in commit {copied.evidence.commit[:10]}, and does not hold here"
            evidence = copied.evidence._replace(level=ON_BRANCH, how="direct", by=None, reason=reason)
        else:
            evidence = Evidence(ON_BRANCH, "direct", None, 0, (), "", "how it got here is not in the history")
        return UnapprovedChange(path, blob, evidence)
