"""What proposal branches propose: the text, or the removal, of the one rule that a branch names. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.repository.approval.approval_types import Proposal
from ai_lessons.repository.approval.rule_files import is_rule, rule_end

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from ai_lessons.repository.approval.rule_history import FileChange, RawCommit


def proposed(
    branches: Iterable[tuple[str, str]], commits: Iterable[RawCommit], rule_of: Callable[[str, str], str]
) -> Iterator[Proposal]:
    """The proposals of branches (tip and name), from the commits that they have and the approval branch has not.

    One for each person who wrote on it, the writer of the final text first. `rule_of` gives a text's rule by path and
    blob. What a merge brought from the approval branch is not the proposer's, so merges are passed over.
    """
    by_id = {commit.id: commit for commit in commits}
    for tip, branch in branches:
        end = rule_end(branch)
        if end:
            yield from _of_branch(branch, end, _line(tip, by_id), rule_of)


def _line(tip: str, commits: Mapping[str, RawCommit]) -> Iterator[RawCommit]:
    """The proposer's own commits, newest first. An odd one proposes nothing."""
    at: str | None = tip
    while at is not None and (commit := commits.get(at)) is not None:
        if len(commit.parents) < 2 and not commit.odd:
            yield commit
        at = commit.parents[0] if commit.parents else None


def _of_branch(
    branch: str, end: str, line: Iterable[RawCommit], rule_of: Callable[[str, str], str]
) -> Iterator[Proposal]:
    final: tuple[str, str, str | None] | None = None
    for commit in line:
        mine = [(rule, change) for rule, change in _rules(commit.changes[0], rule_of) if rule.endswith(end)]
        if not mine:
            continue
        if final is None:
            if len({rule for rule, _ in mine}) > 1:
                return  # two rules with the same end: the branch does not say which
            rule, change = next((pair for pair in mine if pair[1].new), mine[0])
            final = (rule, change.path, change.new if change.new and rule_of(change.path, change.new) == rule else None)
        rule, path, blob = final
        yield Proposal(branch, commit.id, rule, path, blob, commit.author, commit.committed)


def _rules(changes: Iterable[FileChange], rule_of: Callable[[str, str], str]) -> Iterator[tuple[str, FileChange]]:
    for change in changes:
        if is_rule(change.path):
            found = {rule_of(change.path, blob) for blob in (change.old, change.new) if blob}
            yield from ((rule, change) for rule in sorted(found))
