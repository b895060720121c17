"""Author, committer and signature of a commit, by git's own rules."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from math import inf
from typing import TYPE_CHECKING

from dulwich.objects import ObjectID

from ai_lessons.errors import (
    AiLessonsError,
    Refused,
    StorageFailed,
)
from ai_lessons.git import files, plumbing

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ai_lessons.git.objects import Draft
    from ai_lessons.git.worktree import (
        Worktree,
    )


NO_IDENTITY = (
    "git does not know who you are; tell it once: git config --global user.name NAME"
    " and git config --global user.email ADDRESS"
)


# A person (`Name <email>`), seconds since 1970, seconds east of UTC
Stamp = tuple[str, int, int]

# The file whose age tells when a signing was waited for in vain
_NOT_SIGNED = "not-signed"
NO_KEY = (
    "git has to know your key (git config --global gpg.format ssh; git config --global user.signingkey"
    " ~/.ssh/id_ed25519.pub), and one with a passphrase needs a terminal, or ssh-add first"
)


def address_of(person: str) -> str:
    """The address in `Name <address>`."""
    return person.rpartition("<")[2].rstrip(">")


def age_of(file: Path) -> float:
    """Seconds since a file was written.

    Infinite where there is none, or where it is of the future.
    """
    try:
        age = time.time() - file.stat().st_mtime
    except OSError:
        return inf
    if age >= 0:
        return age
    return inf


class GitIdentity:
    """Author, committer and whether commits are signed, by git's rules.

    Signing stops at the first failure.
    """

    def __init__(self, worktree: Worktree) -> None:
        self._worktree = worktree
        self._identities: tuple[str | None, str | None, bool] = (None, None, False)
        self.unsigned = ""

    def author(self) -> str | None:
        """`Name <email>` of the author, None if git does not know."""
        return self._asked()[0]

    def committer(self) -> str | None:
        """`Name <email>` of the committer, None if git does not know."""
        return self._asked()[1]

    def _asked(self) -> tuple[str | None, str | None, bool]:
        """Author, committer, signed.

        Asked again while git lacks one, because the user may set it meanwhile.
        """
        if None in self._identities:
            signed = plumbing.setting(self._worktree, "commit.gpgsign", kind="bool") == "true"
            self._identities = (
                plumbing.identity(self._worktree, "AUTHOR"),
                plumbing.identity(self._worktree),
                signed,
            )
        return self._identities

    def commit(
        self,
        draft: Draft,
        tree: ObjectID,
        parents: Sequence[ObjectID],
        message: str,
        *,
        author: Stamp,
        committer: Stamp,
        sign: bool | None = None,
    ) -> ObjectID:
        """A commit by these people; `sign`: it has to be signed, None: as the user's settings say.

        If signing fails, `unsigned` has the reason; with `sign` it raises Refused. A key that waits
        for a person is waited for once a sitting.
        """
        waited = self._worktree.state_dir / _NOT_SIGNED
        if sign is None and self._asked()[2] and not self.unsigned and age_of(waited) < 600.0:
            self.unsigned = "unsigned: signing was waited for in vain; tried again after 10 minutes"
        if sign or (sign is None and self._asked()[2] and not self.unsigned):
            draft.save()
            people = _environment("AUTHOR", author) | _environment("COMMITTER", committer)
            before = []
            for parent in parents:
                before.append(parent.decode())
            ask = bool(sign) and os.isatty(0)
            try:
                done = plumbing.signed_commit(
                    self._worktree, tree.decode(), before, message.encode(), people, ask=ask
                )
                if not done.code:
                    return ObjectID(done.out.strip())
                fault = done.err or "git said no"
            except StorageFailed:
                if ask:
                    seconds = plumbing.SIGN_TERMINAL_TIMEOUT
                else:
                    seconds = plumbing.SIGN_TIMEOUT
                fault = f"signing did not end within {seconds:g} seconds; the key may wait for a PIN or passphrase"
                with suppress(AiLessonsError):
                    # then the next write waits, too
                    files.write_json(waited, fault)
            if sign:
                raise Refused(
                    f"git could not sign the approval: {' '.join(fault.split())}", hint=NO_KEY
                )
            self.unsigned = f"unsigned: {fault.splitlines()[0]}"
        return draft.commit(tree, parents, message, author=author, committer=committer)


class Author(GitIdentity):
    """Makes single commits as the user whom git knows here. Raises Refused: git knows none."""

    def __init__(self, worktree: Worktree) -> None:
        super().__init__(worktree)
        self.when = int(time.time())
        if not self.author() or not self.committer():
            message, _, hint = NO_IDENTITY.partition("; ")
            raise Refused(message, hint=hint)

    @property
    def notes(self) -> tuple[str, ...]:
        """Why a commit is not signed, where it should be."""
        return tuple(filter(None, [self.unsigned]))

    def write(
        self,
        draft: Draft,
        tree: ObjectID,
        parents: Sequence[str],
        message: str,
        author: str = "",
        *,
        sign: bool | None = None,
    ) -> str:
        """`commit` on the disk, with the new objects of the draft.

        `author` is `Name <email>` if not the user.
        """
        by, committer = (
            stamp(who or "", self.when) for who in (author or self.author(), self.committer())
        )
        parent_ids = []
        for parent in parents:
            parent_ids.append(ObjectID(parent.encode()))
        commit = self.commit(
            draft, tree, parent_ids, message, author=by, committer=committer, sign=sign
        )
        draft.save()
        return commit.decode()


def stamp(who: str, when: int) -> Stamp:
    """Who committed and when, in the zone of this machine at that time."""
    return who, when, time.localtime(when).tm_gmtoff


def _environment(role: str, stamp: Stamp) -> dict[str, str]:
    name, _, email = stamp[0].rpartition(" <")
    date = f"@{stamp[1]} {zone(*stamp[1:])}"
    return {
        f"GIT_{role}_NAME": name,
        f"GIT_{role}_EMAIL": email.rstrip(">"),
        f"GIT_{role}_DATE": date,
    }


def zone(when: int, offset: int | None = None) -> str:
    """`+hhmm` for an offset in seconds; None: the local one at that time."""
    if offset is None:
        seconds = time.localtime(when).tm_gmtoff
    else:
        seconds = offset
    return f"{'-' if seconds < 0 else '+'}{abs(seconds) // 3600:02d}{abs(seconds) % 3600 // 60:02d}"
