"""The rules of the template, brought into a repository the way every rule comes: as proposals, for a person to read.

Their author is the project that wrote them, which is the truth; nobody is put down as an approver.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Final

from dulwich.objects import ObjectID
from dulwich.refs import Ref

from ai_lessons.errors import StorageFailed
from ai_lessons.knowledge.entries import HANDLE_LENGTH
from ai_lessons.knowledge.frontmatter import read_entry
from ai_lessons.knowledge.layout import slug
from ai_lessons.repository import git
from ai_lessons.repository.commit_builder import NO_IDENTITY
from ai_lessons.repository.objects import PLAIN, Draft, opened
from ai_lessons.repository.proposal.proposal_refs import PROPOSALS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ai_lessons.repository.worktree import Worktree

AUTHOR: Final = "ai-lessons starter set <starter-set@ai-lessons.invalid>"


def propose(worktree: Worktree, start: str, rules: Mapping[str, bytes]) -> None:
    """Propose these rules (by path) on top of `start`, each on a branch of its own; a branch that is there stays.

    Raises:
        StorageFailed: git has no name for the user.
    """
    with opened(worktree) as repo:
        draft = Draft(repo)
        made = _commits(draft, ObjectID(start.encode()), rules, _person(worktree))
        draft.save()
        for branch, commit in made.items():
            repo.refs.add_if_new(Ref(f"refs/heads/{branch}".encode()), commit)


def _commits(draft: Draft, base: ObjectID, rules: Mapping[str, bytes], who: str) -> dict[str, ObjectID]:
    """A commit for each rule, by the name of its branch."""
    made, now = {}, _now()
    for path, data in rules.items():
        rule = read_entry(path, data)
        tree = draft.edit(draft.tree_of(base), {os.fsencode(path): (PLAIN, draft.blob(data))})
        branch = f"{PROPOSALS}R-{rule.id[-HANDLE_LENGTH:]}-{slug(rule.title)}"
        message = f"Propose rule: {rule.title}\n"
        made[branch] = draft.commit(tree, [base], message, author=(AUTHOR, *now), committer=(who, *now))
    return made


def _person(worktree: Worktree) -> str:
    who = git.identity(worktree)
    if who is None:
        raise StorageFailed(NO_IDENTITY)
    return who


def _now() -> tuple[int, int]:
    now = int(time.time())
    return now, time.localtime(now).tm_gmtoff
