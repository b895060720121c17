"""The rules of the template, brought into a new repository the way every rule comes: proposed and merged.

Proposed by those who made the template, which is the truth, and merged by the person who makes the repository, in one
merge that names every proposal. So history says for each of them who approved it, and the judge needs no exception.
Where two people are asked for, or an agent is at work, nobody is put down as an approver: the proposals are left.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Final

from dulwich.objects import ObjectID
from dulwich.refs import Ref

from ai_lessons.errors import StorageFailed
from ai_lessons.knowledge.entries import HANDLE_LENGTH
from ai_lessons.knowledge.layout import slug
from ai_lessons.knowledge.reading import read_entry
from ai_lessons.repository import git
from ai_lessons.repository.approval.merges import APPROVE_SUBJECT, PROPOSAL_TRAILER
from ai_lessons.repository.commit_builder import NO_IDENTITY
from ai_lessons.repository.objects import PLAIN, Draft, opened
from ai_lessons.repository.proposal.proposal_refs import PROPOSALS
from ai_lessons.repository.worktree import read_head

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ai_lessons.repository.worktree import Worktree

AUTHOR: Final = "ai-lessons starter set <starter-set@ai-lessons.invalid>"
_WHY: Final = "The rules that come with ai-lessons, taken over by whoever made this repository."


def take(worktree: Worktree, start: str, rules: Mapping[str, bytes]) -> str:
    """Propose these rules (by path) on top of `start`, which is checked out, and merge them; the merge commit.

    Raises:
        StorageFailed: git has no name for the user, or could not move the branch.
    """
    with opened(worktree) as repo:
        draft, base, who = Draft(repo), ObjectID(start.encode()), _person(worktree)
        made = _propose(draft, base, rules, who)
        names = "".join(f"{PROPOSAL_TRAILER}: {branch}\n" for branch in made)
        message = f"{APPROVE_SUBJECT}s: the starter set\n\n{_WHY}\n\n{names}"
        tree = draft.edit(draft.tree_of(base), _files(draft, rules))
        now = _now()
        merge = draft.commit(tree, [base, *made.values()], message, author=(who, *now), committer=(who, *now))
        draft.save()
        _check_out(worktree, start, merge)
    return merge.decode()


def leave_as_proposals(worktree: Worktree, start: str, rules: Mapping[str, bytes]) -> tuple[str, ...]:
    """Propose these rules, each on a branch of its own; the branches. One that is there already stays as it is."""
    with opened(worktree) as repo:
        draft = Draft(repo)
        made = _propose(draft, ObjectID(start.encode()), rules, _person(worktree))
        draft.save()
        for branch, commit in made.items():
            repo.refs.add_if_new(Ref(f"refs/heads/{branch}".encode()), commit)
    return tuple(made)


def _propose(draft: Draft, base: ObjectID, rules: Mapping[str, bytes], who: str) -> dict[str, ObjectID]:
    """A commit for each rule, by the name of its branch."""
    made, now = {}, _now()
    for path, data in rules.items():
        rule = read_entry(path, data)
        tree = draft.edit(draft.tree_of(base), _files(draft, {path: data}))
        branch = f"{PROPOSALS}R-{rule.id[-HANDLE_LENGTH:]}-{slug(rule.title)}"
        message = f"Propose rule: {rule.title}\n"
        made[branch] = draft.commit(tree, [base], message, author=(AUTHOR, *now), committer=(who, *now))
    return made


def _files(draft: Draft, rules: Mapping[str, bytes]) -> dict[bytes, tuple[int, ObjectID] | None]:
    return {os.fsencode(path): (PLAIN, draft.blob(data)) for path, data in rules.items()}


def _check_out(worktree: Worktree, start: str, merge: ObjectID) -> None:
    """Bring the branch, the files and git's index to the merge."""
    head = read_head(worktree)
    if head.ref is None or head.commit != start:
        raise StorageFailed("the starter rules are not in force: the branch moved meanwhile")
    done = git.run(worktree.top, "reset", "--quiet", "--keep", merge.decode())
    if done.code:
        raise StorageFailed(f"the starter rules are not in force, because git refused: {done.err}")


def _person(worktree: Worktree) -> str:
    who = git.identity(worktree.top)
    if who is None:
        raise StorageFailed(NO_IDENTITY)
    return who


def _now() -> tuple[int, int]:
    now = int(time.time())
    return now, time.localtime(now).tm_gmtoff
