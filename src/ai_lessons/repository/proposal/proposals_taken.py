"""Proposals that were taken, as the history of the approval branch tells it: by a merge, a squash or a rebase.

Rules are judged in `approval`; of everything else nothing hangs on this, but people ask who let it in, and when.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from ai_lessons.errors import UnsupportedRepository
from ai_lessons.repository import git
from ai_lessons.repository.approval.rule_files import (
    APPROVE,
    ENTRY_TRAILER,
    FORGES,
    PROPOSED_TRAILER,
    entry_end,
    merged_branches,
    trailers,
)
from ai_lessons.repository.approval.rule_history import commits
from ai_lessons.repository.history import FIXED, LITERAL
from ai_lessons.repository.proposal.proposal_refs import OTHERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ai_lessons.repository.approval.approval_types import Person
    from ai_lessons.repository.approval.rule_history import RawCommit
    from ai_lessons.repository.worktree import Worktree

OWN_COMMITS: Final = 100
"""So many commits of a proposal are looked at behind its merge."""

How = Literal["merge", "commit"]


class TakenProposal(NamedTuple):
    """A proposal that came to the approval branch in `commit`: by a merge, or by a commit of its text (squash, rebase).

    `entry` is an id, or the end of one where the commits say no more. `by` is None where a forge hides who it was.
    """

    proposal: str
    entry: str
    title: str
    how: How
    commit: str
    by: Person | None
    at: int
    suggested_by: Person


def taken(worktree: Worktree, tip: str, branch: str) -> list[TakenProposal]:
    """Every proposal that is not about a rule and was taken, newest first, as `branch` (its short name) tells it.

    Raises:
        UnsupportedRepository: the history cannot be read.
    """
    return list(told(reversed(commits(worktree, [tip])), branch))


def told(history: Iterable[RawCommit], branch: str) -> Iterator[TakenProposal]:
    """The same from the commits themselves, newest first. Pure."""
    known = {commit.id: commit for commit in history}
    singles = {one.id: name for one in known.values() if len(one.parents) < 2 and (name := _proposed_as(one))}
    brought: set[str] = set()
    for commit in known.values():
        if len(commit.parents) < 2:
            continue
        for side, name in zip(commit.parents[1:], _names(commit, branch, singles), strict=False):
            line = list(_line(known, side)) if name.startswith(OTHERS) else []
            if line:
                brought |= {one.id for one in line if singles.get(one.id) == name}
                yield _taken(name, commit, line[0], "merge")
    for commit_id, name in singles.items():
        if commit_id not in brought:
            yield _taken(name, known[commit_id], known[commit_id], "commit")


def _proposed_as(commit: RawCommit) -> str:
    return next((value for key, value in trailers(commit.message) if key == PROPOSED_TRAILER), "")


def _names(commit: RawCommit, branch: str, singles: Mapping[str, str]) -> tuple[str, ...]:
    """What a merge brought, by its own words, else by those of what it brought."""
    said = merged_branches(commit.message, branch)
    return tuple(singles.get(side, "") for side in commit.parents[1:]) if said is None else said


def _line(known: Mapping[str, RawCommit], tip: str) -> Iterator[RawCommit]:
    """The commits behind a merged one, newest first; merges of the approval branch into it are nobody's proposal."""
    at = known.get(tip)
    for _ in range(OWN_COMMITS):
        if at is None:
            return
        if len(at.parents) < 2:
            yield at
        at = known.get(at.parents[0]) if at.parents else None


def _taken(name: str, commit: RawCommit, source: RawCommit, how: How) -> TakenProposal:
    said = {key: value for one in (source, commit) for key, value in trailers(one.message)}
    subject = commit.message.partition("\n")[0].strip()
    title = subject.partition(": ")[2] if subject.startswith(f"{APPROVE} ") else ""
    by: Person | None = commit.committer
    if commit.committer.email in FORGES:  # whoever pressed the button is the author of a merge, and of nothing else
        by = commit.author if how == "merge" else None
    entry = said.get(ENTRY_TRAILER) or entry_end(name) or ""
    return TakenProposal(name, entry, title, how, commit.id, by, commit.committed, source.author)


def stood(worktree: Worktree, base: str, tip: str, path: str, blob: str) -> bool:
    """Whether any commit of `tip` that `base` lacks gave or took the file at `path` this content."""
    flags = ("--format=", "--raw", "--no-abbrev", "--no-renames", "--full-history", "--diff-merges=separate", *FIXED)
    done = git.run(worktree, "log", *flags, f"{base}..{tip}", "--", worktree.prefix + path, extra=LITERAL)
    if done.code:
        raise UnsupportedRepository(f"the history of {worktree.top} cannot be read")
    return any(blob in line.split()[2:4] for line in done.text.splitlines() if line.startswith(":"))
