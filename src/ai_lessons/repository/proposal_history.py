"""What proposal branches propose: the text, or the removal, of the one rule that a branch names. Pure."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from ai_lessons.errors import UnsupportedRepository
from ai_lessons.repository import git
from ai_lessons.repository.approval import rule_files
from ai_lessons.repository.approval.approval_types import Proposal
from ai_lessons.repository.approval.rule_history import commits
from ai_lessons.repository.history import FIXED, LITERAL
from ai_lessons.repository.proposal_refs import OTHERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from ai_lessons.repository.approval.approval_types import Person
    from ai_lessons.repository.approval.rule_history import RawCommit
    from ai_lessons.repository.worktree import Worktree


def proposed(
    branches: Iterable[tuple[str, str]], commits: Iterable[RawCommit], rule_of: Callable[[str, str], str]
) -> Iterator[Proposal]:
    """The proposals of branches (tip and name) by their own commits: one a writer, the final text's first."""
    by_id = {commit.id: commit for commit in commits}
    for tip, branch in branches:
        end = rule_files.rule_end(branch)
        if end:
            line = (one for one in _behind(by_id, tip) if not one.said.odd)  # an odd one proposes nothing
            yield from _of_branch(branch, end, line, rule_of)


def _of_branch(
    branch: str, end: str, line: Iterable[RawCommit], rule_of: Callable[[str, str], str]
) -> Iterator[Proposal]:
    final: tuple[str, str, str | None] | None = None
    for commit in line:
        mine = [
            (rule, change)
            for change in commit.changes[0]
            if rule_files.is_rule(change.path)
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


OWN_COMMITS: Final = 100  # So many commits of a proposal are looked at behind its merge
How = Literal["merge", "commit"]


class TakenProposal(NamedTuple):
    """A proposal taken in `commit`; `entry` is an id or the end of one, `by` is None where a forge hides who it was."""

    proposal: str
    entry: str
    title: str
    how: How
    commit: str
    by: Person | None
    at: int
    suggested_by: Person


def taken(worktree: Worktree, tip: str, branch: str) -> list[TakenProposal]:
    """Every proposal of no rule that was taken, newest first, by `branch` (short). Raises UnsupportedRepository."""
    return list(told(reversed(commits(worktree, [tip])), branch))


def told(history: Iterable[RawCommit], branch: str) -> Iterator[TakenProposal]:
    """The same from the commits themselves, newest first. Pure."""
    known = {commit.id: commit for commit in history}
    plain = [one for one in known.values() if len(one.parents) < 2]
    own = (
        (one.id, dict(reversed(rule_files.trailers(one.said.message))).get(rule_files.PROPOSED_TRAILER))
        for one in plain
    )
    singles = {commit: name for commit, name in own if name}
    brought: set[str] = set()
    for commit in known.values():
        if len(commit.parents) < 2:
            continue
        said = rule_files.merged_branches(commit.said.message, branch)  # else the words of what it brought
        names = [singles.get(side, "") for side in commit.parents[1:]] if said is None else said
        for side, name in zip(commit.parents[1:], names, strict=False):
            line = list(islice(_behind(known, side), OWN_COMMITS)) if name.startswith(OTHERS) else []
            if line:
                brought |= {one.id for one in line if singles.get(one.id) == name}
                yield _taken(name, commit, line[0], "merge")
    for commit_id, name in singles.items():
        if commit_id not in brought:
            yield _taken(name, known[commit_id], known[commit_id], "commit")


def _behind(known: Mapping[str, RawCommit], tip: str) -> Iterator[RawCommit]:
    """The commits behind a tip, newest first; merges of the approval branch into it are nobody's proposal."""
    at = known.get(tip)
    while at is not None:
        if len(at.parents) < 2:
            yield at
        at = known.get(at.parents[0]) if at.parents else None


def _taken(name: str, commit: RawCommit, source: RawCommit, how: How) -> TakenProposal:
    said = {key: value for one in (source, commit) for key, value in rule_files.trailers(one.said.message)}
    subject = commit.said.message.partition("\n")[0].strip()
    title = subject.partition(": ")[2] if subject.startswith(f"{rule_files.APPROVE} ") else ""
    by: Person | None = commit.said.committer
    if commit.said.committer.email in rule_files.FORGES:
        # who pressed the button is the author of a merge, and of nothing else
        by = commit.said.author if how == "merge" else None
    entry = said.get(rule_files.ENTRY_TRAILER) or rule_files.entry_end(name) or ""
    return TakenProposal(name, entry, title, how, commit.id, by, commit.said.committed, source.said.author)


def stood(worktree: Worktree, base: str, tip: str, path: str, blob: str) -> bool:
    """Whether any commit of `tip` that `base` lacks gave or took the file at `path` this content."""
    flags = ("--format=", "--raw", "--no-abbrev", "--no-renames", "--full-history", "--diff-merges=separate", *FIXED)
    done = git.run(worktree, "log", *flags, f"{base}..{tip}", "--", worktree.prefix + path, extra=LITERAL)
    if done.code:
        raise UnsupportedRepository(f"the history of {worktree.top} cannot be read")
    return any(blob in line.split()[2:4] for line in done.text.splitlines() if line.startswith(":"))
