"""Who commits, and commits made of objects, signed where the user's settings ask for it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from dulwich.objects import ObjectID

from ai_lessons.errors import AiLessonsError, StorageFailed
from ai_lessons.repository import git

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_lessons.repository.journal import Intent
    from ai_lessons.repository.objects import Draft
    from ai_lessons.repository.worktree import Worktree

NO_IDENTITY = (
    "git does not know who you are; tell it once: git config --global user.name NAME"
    " and git config --global user.email ADDRESS"
)


class People:
    """Who commits and whether commits are signed, by git's rules, asked once. Signing stops at the first failure."""

    def __init__(self, worktree: Worktree) -> None:
        self._worktree = worktree
        self._known: tuple[str | None, str | None, bool] = (None, None, False)
        self.unsigned = ""
        self._signed: dict[tuple[ObjectID, tuple[ObjectID, ...], str], ObjectID] = {}

    def author(self) -> str | None:
        """`Name <email>` of the user who writes here, None if git does not know."""
        return self._asked()[0]

    def committer(self) -> str | None:
        """`Name <email>` of the user who commits here, None if git does not know."""
        return self._asked()[1]

    def signs(self) -> bool:
        """True if the user's settings ask for signed commits and signing has not failed yet."""
        return self._asked()[2] and not self.unsigned

    def _asked(self) -> tuple[str | None, str | None, bool]:
        """A user whom git did not know may have told it meanwhile."""
        if None in self._known:
            signs = git.setting(self._worktree, "commit.gpgsign", kind="bool") == "true"
            self._known = git.identity(self._worktree, "AUTHOR"), git.identity(self._worktree), signs
        return self._known

    def sign(
        self, job: Intent, tree: ObjectID, parents: Sequence[ObjectID], who: tuple[str, str, int]
    ) -> ObjectID | None:
        """A signed commit of a tree that is on the disk; None (and the reason in `unsigned`) if that cannot be."""
        key = (tree, tuple(parents), job.name)
        if key not in self._signed:
            people = _environment("AUTHOR", who[0], job.when, job.zone) | _environment(
                "COMMITTER", who[1], who[2], None
            )
            before = [parent.decode() for parent in parents]
            try:
                done = git.signed_commit(self._worktree, tree.decode(), before, job.message.encode(), people)
                fault = (done.err or "git said no") if done.code else ""
            except StorageFailed as error:
                fault = error.message
            if fault:
                self.unsigned = f"unsigned: {fault.splitlines()[0]}"
                return None
            self._signed[key] = ObjectID(done.out.strip())
        return self._signed[key]


def author_here(worktree: Worktree) -> str:
    """`Name <email>` of the user that git knows here; empty if it knows none, or cannot be asked."""
    try:
        return People(worktree).author() or ""
    except AiLessonsError:
        return ""


def make_commit(
    draft: Draft, job: Intent, tree: ObjectID, parents: Sequence[ObjectID], people: People, who: tuple[str, str, int]
) -> ObjectID:
    """A commit by `who` (author, committer, seconds of the committer), signed if the user's settings ask for it."""
    author, committer, when = who
    if people.signs():
        draft.save()
        signed = people.sign(job, tree, parents, who)
        if signed is not None:
            return signed
    return draft.commit(
        tree,
        parents,
        job.message,
        author=(author, job.when, job.zone),
        committer=(committer, when, time.localtime(when).tm_gmtoff),
    )


def _environment(role: str, who: str, when: int, offset: int | None) -> dict[str, str]:
    name, _, email = who.rpartition(" <")
    stamp = f"@{when} {zone(when, offset)}"
    return {f"GIT_{role}_NAME": name, f"GIT_{role}_EMAIL": email.rstrip(">"), f"GIT_{role}_DATE": stamp}


def zone(when: int, offset: int | None = None) -> str:
    """`+hhmm` for an offset in seconds; None: the local one at that time."""
    seconds = time.localtime(when).tm_gmtoff if offset is None else offset
    return f"{'-' if seconds < 0 else '+'}{abs(seconds) // 3600:02d}{abs(seconds) % 3600 // 60:02d}"
