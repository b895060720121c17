"""The jobs of `Admin` that are about sharing: what they promise. What they do is in `sharing`, which loads more."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ai_lessons.library.parts import Parts
    from ai_lessons.library.sharing.recovering import Recovered
    from ai_lessons.library.sharing.syncing import Conflicts, Resolved, Synced, Undone

SHOWN = 10
"""So many waiting jobs are named."""


class SharingJobs:
    """Commit what waits, share it, settle conflicts, take jobs back."""

    _parts: Parts

    def save(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Commit every write that waits, and recorded events where they are shared.

        The commits made, and notes on what still waits and why.
        """
        from ai_lessons.library import secret_gate

        self._parts.refuse_other_formats()
        secret_gate.refuse_waiting(self._parts)
        store = self._parts.store
        events, said = self._parts.usages.share(at_least=1)
        saved = store.save()
        left, damaged = store.pending(), store.journal.damaged()
        notes = [*said, *saved.notes, *([f"waiting: {saved.waiting}"] if saved.waiting else ())]
        notes += [f"not committed yet: {intent.subject}" for intent in left[:SHOWN]]
        notes += [f"and {len(left) - SHOWN} more"] if len(left) > SHOWN else []
        if damaged:
            notes.append(f"{len(damaged)} notes of writes cannot be read; their files are in place: git status")
        return (*events, *saved.commits), tuple(notes)

    def recover(self, refs: Sequence[str] = (), *, only_list: bool = False) -> Recovered:
        """Bring back files that a git command took away before their commit: all, or those of these ids or paths.

        Their bytes are kept for 30 days. `only_list`: bring back nothing.

        Raises:
            NotFound: nothing like that is kept. Conflict: another text is at its place now. StorageFailed: the disk
            said no.
        """
        from ai_lessons.library.sharing.recovering import recovered

        if not only_list:
            self._parts.refuse_other_formats()
        return recovered(self._parts, refs, only_list=only_list)

    def sync(self, remote: str | None = None, *, ask: bool = False) -> Synced:
        """Fetch, merge and push the checked-out branch, and send proposals. What waits is committed first.

        `ask`: somebody is at the terminal to type a password. Where a file needs a person nothing is merged: the answer
        names it, and our side is kept on a branch.

        Raises:
            NotFound: no such remote. Conflict: no branch is checked out, somebody is in the middle
            of git, or others were faster too often. UnsavedEdits: an edit that is in no commit is in the way. Refused:
            the remote does not take pushes, or the histories have nothing in common. Unreachable: no answer.
        """
        from ai_lessons.library.sharing.syncing import sync

        return sync(self._parts, remote, ask=ask)

    def conflicts(self, ref: str | None = None, *, remote: str | None = None) -> Conflicts:
        """The files that both sides changed and that have no merge, or one of them, as of the last fetch.

        Raises:
            NotFound, Conflict, Refused: as `sync`, and NotFound: no such conflict.
        """
        from ai_lessons.library.sharing.syncing import conflicts

        return conflicts(self._parts, ref, remote)

    def resolve(
        self,
        ref: str,
        take: str,
        editor: Callable[[str, str], str | None] | None = None,
        *,
        remote: str | None = None,
    ) -> Resolved:
        """Choose what becomes of one file in conflict: `ours`, `theirs`, or `edit`, what `editor` makes of both.

        With the last of them decided the merge is made, here; the next sync shares it.

        Raises:
            as `conflicts`; NotFound: no such conflict. UsageError: that cannot be chosen here. InvalidEntry: the edited
            text breaks the format. Refused: an agent would choose between two versions of a rule.
        """
        from ai_lessons.library.sharing.syncing import resolve

        return resolve(self._parts, ref, take, editor, remote)

    def undo(self, count: int = 1) -> tuple[Undone, ...]:
        """Take back the last `count` jobs of ours, newest first, each by a commit of its own; all or none.

        Raises:
            NotFound: there are not so many. Conflict: a file was changed again since. UnsavedEdits: a file has edits in
            no commit. Refused: the last thing was a decision about a rule, or changed a rule, or waits for its commit.
        """
        from ai_lessons.library.sharing.syncing import take_back

        return take_back(self._parts, count)
