"""New commits as the state keeps them: numbered, joined to what is there, with the changes sorted by rule."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from ai_lessons.repository.approval.approval_state import StoredStep
from ai_lessons.repository.approval.rule_files import is_rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ai_lessons.repository.approval.approval_state import ApprovalState
    from ai_lessons.repository.approval.rule_history import Details, FileChange, RawCommit

MESSAGE_LIMIT: Final = 64 * 1024
"""Characters of a commit message that are kept: trailers stand at the end, so longer ones have none."""

Row = tuple[str, int, str, str | None, str | None]


@dataclass(slots=True)
class Growth:
    """What to add to the state, and which rules that concerns."""

    commits: dict[str, int] = field(default_factory=dict)
    nodes: list[tuple[int, Sequence[int]]] = field(default_factory=list)
    steps: list[StoredStep] = field(default_factory=list)
    files: dict[str, tuple[str, str | None] | None] = field(default_factory=dict)
    rules: set[str] = field(default_factory=set)


def grow(commits: Sequence[RawCommit], tip: str, state: ApprovalState, rule_of: Callable[[str, str], str]) -> Growth:
    """Number new commits, parents first. A commit that changed nothing of ours and merged nothing is no node.

    It stands for the last node before it, which is all that the question "what came before what" needs.
    """
    changed = _files(commits, tip, state.get("tip"))
    growth = Growth(files={path: _file(path, blob, rule_of) for path, blob in changed.items()})
    fresh = {commit.id for commit in commits}
    outside = {parent for commit in commits for parent in commit.parents if parent not in fresh}
    known = state.nodes_of(outside)
    number = state.node_count()
    for commit in commits:
        parents = tuple(growth.commits.get(parent, known.get(parent, -1)) for parent in commit.parents)
        if commit.details is None:
            growth.commits[commit.id] = parents[0] if parents else -1
            continue
        growth.commits[commit.id] = number
        growth.nodes.append((number, parents))
        cut = any(parent not in fresh and parent not in known for parent in commit.parents)
        rows = tuple(_rows(commit.details.changes, rule_of))
        if rows:
            rules = {row[0] for row in rows}
            growth.steps.append(StoredStep(number, _details(commit, commit.details, parents, rules, cut=cut), rows))
            growth.rules |= rules
        number += 1
    return growth


def _file(path: str, blob: str | None, rule_of: Callable[[str, str], str]) -> tuple[str, str | None] | None:
    if blob is None:
        return None
    return blob, rule_of(path, blob) if is_rule(path) else None


def _details(
    commit: RawCommit, details: Details, parents: Sequence[int], rules: set[str], *, cut: bool
) -> dict[str, Any]:
    return {
        "id": commit.id,
        "parents": parents,
        "sides": commit.parents if len(commit.parents) > 1 else (),
        "author": (details.author.name, details.author.email),
        "committer": (details.committer.name, details.committer.email),
        "at": details.committed,
        "message": details.message[:MESSAGE_LIMIT],
        "rules": sorted(rules),
        "cut": cut,
    }


def _rows(changes: Sequence[Sequence[FileChange]], rule_of: Callable[[str, str], str]) -> Iterator[Row]:
    """The changes by rule. Against the merged sides only what concerns a rule that changed against the first parent.

    A proposal that waited long differs from the branch in every rule approved meanwhile; that says nothing about it.
    """
    first = list(_by_rule(changes[0], 0, rule_of))
    yield from first
    rules = {row[0] for row in first}
    for side, others in enumerate(changes[1:], 1):
        if rules:
            yield from (row for row in _by_rule(others, side, rule_of) if row[0] in rules)


def _by_rule(changes: Sequence[FileChange], side: int, rule_of: Callable[[str, str], str]) -> Iterator[Row]:
    for change in changes:
        if not is_rule(change.path):
            continue
        old = rule_of(change.path, change.old) if change.old else None
        new = rule_of(change.path, change.new) if change.new else None
        if old is not None:
            yield old, side, change.path, change.old, change.new if new == old else None
        if new is not None and new != old:
            yield new, side, change.path, None, change.new


def _files(commits: Sequence[RawCommit], tip: str, old: str | None) -> dict[str, str | None]:
    """Our files that differ between the old tip (None: the empty tree) and the new one, along any one way between."""
    by_id = {commit.id: commit for commit in commits}
    toward = _ways(commits, old)
    way: list[Sequence[FileChange]] = []
    at: str | None = tip
    while at is not None and at != old and (commit := by_id.get(at)) is not None:
        side = toward.get(at, 0)
        if commit.details is not None:
            way.append(commit.details.changes[side])
        at = commit.parents[side] if commit.parents else None
    return {change.path: change.new for changes in reversed(way) for change in changes}


def _ways(commits: Sequence[RawCommit], old: str | None) -> dict[str, int]:
    """For every commit that contains the old tip: through which parent."""
    toward: dict[str, int] = {}
    for commit in commits:
        for side, parent in enumerate(commit.parents):
            if parent == old or parent in toward:
                toward[commit.id] = side
                break
    return toward
