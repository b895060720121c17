"""How one commit brought one text of a rule to the approval branch: the evidence, level and reason.

Looks at a single step (a commit, what it changed of the rule against each parent, what it says) and at who wrote the
proposal that it took. Values in, values out: reads no git, no files, no clock. All steps together are judged in
`standing.py`, signatures in `records.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ai_lessons.repository.approval.merges import FORGES, copied_from, made_by_agent, names_pull_request, rule_end
from ai_lessons.repository.approval.verdicts import MERGED, ON_BRANCH, Evidence, Person, project_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_lessons.repository.approval.ancestry import Ancestry
    from ai_lessons.repository.approval.rule_history import RawCommit
    from ai_lessons.repository.approval.verdicts import Commit, CommitStep, How, Known, PathChange


@dataclass(frozen=True, slots=True)
class Past:
    """What the steps of every rule are judged by: the whole history by node, the proposals known, and the policy.

    With `distinct` only a merge of the proposal by a person who made none of its commits approves: neither a squash, a
    rebase nor a cherry-pick proves who took the text.
    """

    ancestry: Ancestry
    commits: Sequence[RawCommit]
    known: Known
    distinct: bool = False


class Witness:
    """Judges the steps of one rule, one at a time."""

    def __init__(self, rule: str, steps: Sequence[CommitStep], past: Past) -> None:
        self._rule, self._steps, self._past = rule, steps, past
        self._known, self._distinct = past.known, past.distinct

    def evidence(self, step: CommitStep, path: str, blob: str | None) -> Evidence | None:
        """How this step brought the text (None: the removal); None if it only passes on what happened inside a side."""
        if step.commit.odd:
            return _seen(step.commit, "direct", f"the commit proves nothing: {step.commit.odd}")
        if step.commit.cut:
            return _seen(step.commit, "direct", "the history is cut off here (a shallow clone)")
        if len(step.commit.parents) > 1:
            return self._merge_evidence(step, path, blob)
        if (
            any(change.old == blob and project_of(change.path) == project_of(path) for change in step.changes[0])
            and blob
        ):
            return None  # moved inside its project: nothing new came
        return self._plain_evidence(step.commit, path, blob)

    def _merge_evidence(self, step: CommitStep, path: str, blob: str | None) -> Evidence | None:
        commit = step.commit
        sources = [n for n in range(1, len(commit.parents)) if _holds(step.changes[n], path, blob)]
        side, reason = self._own_side(commit)
        for number in side or ():
            # a side that never touched the rule proves nothing about it, least of all its removal
            if number in sources and (blob is not None or self._writers(commit, number)):
                return self._merged(commit, number)
        if not sources:
            return _seen(
                commit, "evil-merge", "the text is in none of the merged commits: it was changed inside the merge"
            )
        return _seen(commit, "direct", reason) if reason else None

    def _own_side(self, commit: Commit) -> tuple[Sequence[int] | None, str]:
        """The parents that may bring this rule's proposal; or None, and the reason if others' proposals were merged."""
        ends = [rule_end(branch) for branch in commit.branches or ()]
        mine = [n for n, end in enumerate(ends) if end and self._rule.endswith(end)]
        if not mine:
            others = any(ends)
            return None, "it came in with the proposal of another rule" if others else ""
        end = ends[mine[0]] or ""
        if sum(rule.endswith(end) for rule in commit.rules) > 1:
            return None, f"the proposal changes several rules whose id ends in {end}"
        sides = len(commit.parents) - 1
        return ([mine[0] + 1] if len(ends) == sides else range(1, sides + 1)), ""

    def _merged(self, commit: Commit, side: int) -> Evidence:
        merger = commit.author if commit.committer.email in FORGES else commit.committer
        writers = self._writers(commit, side)
        if made_by_agent(commit.message):
            return _by(commit, ON_BRANCH, "self-merge", merger, writers, "an agent made this merge")
        if any(merger.same(writer) for writer in writers) or (self._distinct and not self._by_another(commit, side)):
            return self._own(commit, merger, writers)
        return _by(commit, MERGED, "merge", merger, writers, _subject(commit))

    def _by_another(self, commit: Commit, side: int) -> bool:
        """True if whoever made this merge made none of the commits that it brought, and it brought some.

        Author and committer of each count, of merges too: a text may be born inside one, and an amended commit keeps
        its author.
        """
        nodes = self._past.ancestry.between(commit.parents[0], commit.parents[side])
        brought = [self._past.commits[node] for node in nodes]
        if not brought or any(one.odd or one.said.cut for one in brought):
            return False
        mergers = [one for one in (commit.author, commit.committer) if one.email not in FORGES]
        people = {person for one in brought for person in (one.author, one.committer)}
        return bool(mergers) and not any(one.same(other) for one in mergers for other in people)

    def _own(self, commit: Commit, person: Person, writers: tuple[Person, ...]) -> Evidence:
        if self._distinct:
            return _by(
                commit,
                ON_BRANCH,
                "self-merge",
                person,
                writers,
                "taken by a person who worked on the proposal, as far as the history tells",
            )
        return _by(commit, MERGED, "self-merge", person, writers, _subject(commit))

    def _writers(self, commit: Commit, side: int) -> tuple[Person, ...]:
        """Who wrote on the proposal's side: authors of its commits on this rule, the last one first."""
        mine, before, is_ancestor = commit.parents[side], commit.parents[0], self._past.ancestry.is_ancestor
        found = [
            step.commit
            for step in self._steps
            if len(step.commit.parents) < 2
            and is_ancestor(step.commit.node, mine)
            and not is_ancestor(step.commit.node, before)
        ]
        found.sort(key=lambda one: (one.committed, one.id), reverse=True)
        return tuple(dict.fromkeys(one.author for one in found))

    def _plain_evidence(self, commit: Commit, path: str, blob: str | None) -> Evidence:
        proposals = [p for p in self._known.texts.get((self._rule, blob), ()) if project_of(p.path) == project_of(path)]
        writers = tuple(dict.fromkeys(proposal.author for proposal in proposals))
        if commit.committer.email in FORGES:
            return self._forge_evidence(commit, writers)
        if not proposals:
            return _seen(commit, "direct", "committed without a proposal")
        # a rebase keeps the author and the words of the proposal, so a trailer there is the proposer's own
        if made_by_agent(commit.message) and not any(commit.author.same(writer) for writer in writers):
            return _seen(commit, "direct", "an agent made this commit")
        taken = not any(commit.committer.same(writer) for writer in writers)
        if taken and self._distinct:
            return _seen(commit, "direct", f"not merged: only a merge of {proposals[0].branch} tells who took it")
        if taken:
            how: How = "squash" if commit.author.same(commit.committer) else "rebase"
            return _by(commit, MERGED, how, commit.committer, writers, f"the text of {proposals[0].branch}")
        if copied_from(commit.message) & {proposal.commit for proposal in proposals}:
            return self._own(commit, commit.committer, writers)
        if any(proposal.commit == commit.id for proposal in proposals):
            return _seen(commit, "direct", "fast-forwarded: nothing says that somebody took the proposal")
        return _seen(commit, "direct", "the text of a proposal, committed by its own author")

    def _forge_evidence(self, commit: Commit, writers: tuple[Person, ...]) -> Evidence:
        suggested = writers or (commit.author,)
        if not writers and not names_pull_request(commit.message):
            return _seen(commit, "direct", "edited on the forge without a pull request")
        if self._distinct:
            return _by(commit, ON_BRANCH, "squash", None, suggested, "a squashed pull request does not say who took it")
        return _by(commit, MERGED, "squash", commit.committer, suggested, _subject(commit))


def _holds(changes: Sequence[PathChange], path: str, blob: str | None) -> bool:
    """True if the parent with these changes has the text too, at the path or elsewhere in its project.

    For a removal (blob None): if it lacks the file too.
    """
    at_path = next((change for change in changes if change.path == path), None)
    if at_path is None:
        return True
    return blob is not None and any(c.old == blob and project_of(c.path) == project_of(path) for c in changes)


def _seen(commit: Commit, how: How, reason: str) -> Evidence:
    return Evidence(ON_BRANCH, how, None, commit.committed, (commit.author,), commit.id, reason)


def _by(
    commit: Commit, level: int, how: How, by: Person | None, suggested_by: tuple[Person, ...], reason: str
) -> Evidence:
    return Evidence(level, how, by, commit.committed, suggested_by, commit.id, reason)


def _subject(commit: Commit) -> str:
    return commit.message.partition("\n")[0].strip()
