"""Which text of a rule is in force: all its steps together, values in and verdicts out.

Nothing here depends on the order in which side-by-side commits are listed, so a history read in pieces gives what it
gives in one go. The last text with enough evidence stays in force until another one has it, or its removal.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ai_lessons.repository.approval.evidence import Witness
from ai_lessons.repository.approval.verdicts import MERGED, ON_BRANCH, Evidence, UnapprovedChange, Verdict, project_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ai_lessons.repository.approval.evidence import Past
    from ai_lessons.repository.approval.verdicts import CommitStep


@dataclass(frozen=True, slots=True)
class _Event:
    """Something that decides what is in force: a text approved or put back, or (blob None) a removal."""

    node: int
    path: str
    blob: str | None
    evidence: Evidence


def decide(rule: str, steps: Iterable[CommitStep], now: Sequence[tuple[str, str]], past: Past) -> Verdict | None:
    """The verdict on one rule under the policy `merge`; None if the branch never had such a rule.

    `now` are its texts on the branch, (path, blob).

    Moving an approved text inside its project keeps it in force: the id is the identity, and the text that people
    follow is the same. Moving it to another project does not: that changes for whom it holds.
    """
    judge = _Judge(rule, tuple(sorted(steps, key=lambda step: step.commit.node)), past)
    judge.run()
    return judge.verdict(tuple(now))


def on_protected_branch(verdict: Verdict, now: Sequence[tuple[str, str]], where: str) -> Verdict:
    """The verdict under the policy `forge`: whatever stands on the protected branch `where` counts."""
    if not now:
        return replace(verdict, in_force=False, path=None, blob=None, unapproved=())
    path, blob = (verdict.path, verdict.blob) if (verdict.path, verdict.blob) in now else sorted(now)[0]
    arrived = next((a.evidence for a in verdict.unapproved if a.blob == blob), verdict.evidence)
    evidence = replace(arrived, level=MERGED, reason=f"on the protected branch {where}: {arrived.reason}")
    return Verdict(verdict.rule, in_force=True, path=path, blob=blob, evidence=evidence)


def unsigned(verdict: Verdict, now: Sequence[tuple[str, str]]) -> Verdict:
    """The verdict under the policy `signed` before any signature was looked at: nothing is in force."""
    waiting = tuple(UnapprovedChange(path, blob, verdict.evidence) for path, blob in sorted(now))
    return replace(verdict, in_force=False, path=None, blob=None, unapproved=waiting)


class _Judge:
    """One rule's way through its history."""

    def __init__(self, rule: str, steps: Sequence[CommitStep], past: Past) -> None:
        self._rule, self._steps, self._is_ancestor = rule, steps, past.ancestry.is_ancestor
        self._witness = Witness(rule, steps, past)
        self._events: list[_Event] = []
        self._arrivals: list[tuple[int, UnapprovedChange]] = []

    def run(self) -> None:
        """Judge every step, parents first."""
        for step in self._steps:
            against_first = step.changes[0] if step.changes else ()
            arrived = [(change.path, change.new) for change in against_first if change.new]
            for path, blob in arrived:
                self._text_arrived(step, path, blob)
            if not arrived and against_first:
                self._text_left(step, [change.path for change in against_first])

    def _text_arrived(self, step: CommitStep, path: str, blob: str) -> None:
        evidence = self._witness.evidence(step, path, blob)
        if evidence is not None and evidence.level >= MERGED:
            self._events.append(_Event(step.commit.node, path, blob, evidence))
            return
        earlier = self._approved_before(step.commit.node, path, blob)
        if earlier is not None:
            self._events.append(_Event(step.commit.node, path, blob, earlier.evidence))
        elif evidence is not None:
            self._arrivals.append((step.commit.node, UnapprovedChange(path, blob, evidence)))

    def _text_left(self, step: CommitStep, paths: Sequence[str]) -> None:
        evidence = self._witness.evidence(step, paths[0], None)
        if evidence is None:
            return
        if evidence.level >= MERGED:
            self._events.append(_Event(step.commit.node, paths[0], None, evidence))
        else:
            self._arrivals.append((step.commit.node, UnapprovedChange(paths[0], None, evidence)))

    def _approved_before(self, node: int, path: str, blob: str) -> _Event | None:
        """The approval of this text that holds at a node: not one that a later removal took back."""
        before = [event for event in self._events if self._is_ancestor(event.node, node)]
        return self._newest(self._matching(self._standing(before), path, blob))

    def _standing(self, events: Sequence[_Event]) -> list[_Event]:
        """The approvals that no removal among these events comes after."""
        removals = [event for event in events if event.blob is None]
        return [
            event
            for event in events
            if event.blob is not None and not any(self._is_ancestor(event.node, r.node) for r in removals)
        ]

    @staticmethod
    def _matching(events: Sequence[_Event], path: str, blob: str) -> list[_Event]:
        return [event for event in events if event.blob == blob and project_of(event.path) == project_of(path)]

    def _newest(self, events: Sequence[_Event]) -> _Event | None:
        """The one after which none of the others comes; among those side by side, the latest."""
        if len(events) < 2:
            return events[0] if events else None
        last = [
            event
            for event in events
            if not any(o.node != event.node and self._is_ancestor(event.node, o.node) for o in events)
        ]
        return max(last, key=lambda event: (event.evidence.at, event.evidence.commit, event.path), default=None)

    def verdict(self, now: tuple[tuple[str, str], ...]) -> Verdict | None:
        """What all events say about the texts that are there now."""
        standing = self._standing(self._events)
        served = self._served(standing, now)
        if served is None:
            return self._nothing_in_force(now)
        path, blob, event = served
        copies = {one for one, same in now if same == blob and project_of(one) == project_of(path)}
        rest = self._unapproved([text for text in now if text[0] not in copies])
        if not now:
            rest = self._unapproved([(path, None)])
        return Verdict(self._rule, in_force=True, path=path, blob=blob, evidence=event.evidence, unapproved=rest)

    def _served(self, standing: Sequence[_Event], now: Sequence[tuple[str, str]]) -> tuple[str, str, _Event] | None:
        """The text in force: one that is there and approved, else the one approved last; None if there is none."""
        here = [
            (path, blob, e) for path, blob in now for e in [self._newest(self._matching(standing, path, blob))] if e
        ]
        if here:
            newest = self._newest([event for _, _, event in here])
            evidence = newest.evidence if newest else None
            first = next(event.path for event in self._events if event.evidence == evidence)
            chosen = [text for text in here if text[2].evidence == evidence]
            return min(chosen, key=lambda text: (text[0] != first, text[0]))  # a copy does not take the place over
        if not now and self._removed(standing):
            return None
        last = self._newest(standing)
        return (last.path, last.blob, last) if last and last.blob else None

    def _removed(self, standing: Sequence[_Event]) -> bool:
        """True if somebody approved the removal and nobody approved a text after that."""
        removals = [event for event in self._events if event.blob is None]
        return any(not any(self._is_ancestor(r.node, event.node) for event in standing) for r in removals)

    def _nothing_in_force(self, now: Sequence[tuple[str, str]]) -> Verdict | None:
        removal = self._newest([event for event in self._events if event.blob is None])
        arrivals = self._unapproved(list(now))
        evidence = arrivals[0].evidence if arrivals else removal.evidence if removal else None
        if evidence is None:
            return None
        return Verdict(self._rule, in_force=False, path=None, blob=None, evidence=evidence, unapproved=arrivals)

    def _unapproved(self, texts: Sequence[tuple[str, str | None]]) -> tuple[UnapprovedChange, ...]:
        return tuple(self._arrival(path, blob) for path, blob in sorted(texts, key=lambda text: text[0]))

    def _arrival(self, path: str, blob: str | None) -> UnapprovedChange:
        """How a text (None: the removal) that is not approved got there, as far as the steps tell."""
        found = [(node, arrival) for node, arrival in self._arrivals if arrival.blob == blob]
        found = [pair for pair in found if pair[1].path == path] or found
        last = [one for node, one in found if not any(n != node and self._is_ancestor(node, n) for n, _ in found)]
        if last:
            newest = max(last, key=lambda one: (one.evidence.at, one.evidence.commit))
            return replace(newest, path=path)
        copied = next((event for event in self._events if event.blob == blob), None)
        if copied is not None:
            reason = f"approved at {copied.path} in commit {copied.evidence.commit[:10]}, and does not hold here"
            return UnapprovedChange(
                path, blob, replace(copied.evidence, level=ON_BRANCH, how="direct", by=None, reason=reason)
            )
        return UnapprovedChange(
            path, blob, Evidence(ON_BRANCH, "direct", None, 0, (), "", "how it got here is not in the history")
        )
