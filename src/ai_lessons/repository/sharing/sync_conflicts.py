"""What could not be merged: the branch that keeps our side of it, and what a person decided about single files.

A conflict itself is nowhere written down: it is what a merge of the two branches finds, now as then. A decision holds
for exactly the two texts that it was made about.
"""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from ai_lessons.errors import Conflict
from ai_lessons.knowledge.layout import slug
from ai_lessons.repository import files, git, ref_update
from ai_lessons.repository.proposal_commits import HEADS
from ai_lessons.repository.sharing.sync_merge import ConflictChoice
from ai_lessons.repository.worktree import checked_out_at, read_ref

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ai_lessons.repository.proposal_commits import CommitSignature
    from ai_lessons.repository.sharing.sync_merge import Torn
    from ai_lessons.repository.worktree import Worktree

CONFLICTS: Final = "conflict/"
"""Our side of a conflict is a branch below this."""

_FILE: Final = "sync/decisions.json"


class Decisions:
    """What a person chose for torn files, in the state folder of this clone."""

    def __init__(self, state_dir: Path) -> None:
        self._state_dir = state_dir
        self._made: dict[str, dict[str, Any]] = self._read()

    def choose(self, torn: Torn) -> ConflictChoice | None:
        """The choice for a torn file, None if nobody has chosen, or one side has changed it since."""
        made = self._made.get(torn.path)
        if made is None or (made["ours"], made["theirs"]) != (torn.ours, torn.theirs):
            return None
        return ConflictChoice(
            made["take"], made["text"].encode("utf-8", "surrogateescape") if made["text"] is not None else None
        )

    def note(self, torn: Torn, choice: ConflictChoice) -> None:
        """Remember a choice.

        Raises:
            StorageFailed: it cannot be written.
        """
        text = None if choice.text is None else choice.text.decode("utf-8", "surrogateescape")
        self._made[torn.path] = {"ours": torn.ours, "theirs": torn.theirs, "take": choice.take, "text": text}
        with files.translated(_FILE, writing=True):
            (self._state_dir / _FILE).parent.mkdir(parents=True, exist_ok=True)
        files.write_file(self._state_dir, _FILE, json.dumps(self._made).encode())

    def forget(self) -> None:
        """Drop all choices: they are in a commit now."""
        self._made = {}
        (self._state_dir / _FILE).unlink(missing_ok=True)

    def _read(self) -> dict[str, dict[str, Any]]:
        try:
            found = json.loads((self._state_dir / _FILE).read_bytes())
        except (FileNotFoundError, ValueError):
            return {}
        keys = {"ours", "theirs", "take", "text"}
        return {path: made for path, made in found.items() if isinstance(made, dict) and made.keys() == keys}


def keep(worktree: Worktree, head: str, torn: Sequence[Torn], who: CommitSignature) -> str:
    """The branch that keeps `head`, our side: one that an earlier look at this conflict made, moved on, or a new one.

    Raises:
        Conflict: something is in the way of such a branch.
    """
    for name, commit in kept(worktree).items():
        if commit == head:
            return name
        if is_ancestor(worktree, commit, head) and not checked_out_at(worktree, HEADS + name):
            _point(worktree, name, commit, head, who)
            return name
    stamp = datetime.fromtimestamp(who.when, UTC).strftime("%Y%m%dT%H%M%SZ")
    name = f"{CONFLICTS}{stamp}-{slug(PurePosixPath(torn[0].path).stem)}"
    _point(worktree, name, None, head, who)
    return name


def _point(worktree: Worktree, name: str, old: str | None, new: str, who: CommitSignature) -> None:
    try:
        moved = ref_update.move_branch(worktree, HEADS + name, old, new, who.log("sync: keep our side"))
    except ref_update.Taken as taken:
        raise Conflict(f"git holds {taken.lock}", hint="if no git command is running, remove that file") from taken
    if not moved:
        raise Conflict(f"{name} was moved meanwhile; nothing was changed", hint="try again")


def kept(worktree: Worktree, remote: str | None = None) -> dict[str, str]:
    """Branches that keep a side of a conflict, here or as far as is known on a remote, with their commits."""
    start = f"refs/remotes/{remote}/" if remote else HEADS
    done = git.run(worktree, "for-each-ref", "--format=%(refname) %(objectname)", start + CONFLICTS)
    rows = [line.split(" ") for line in done.text.splitlines()]
    return {ref.removeprefix(start): commit for ref, commit in rows}


def drop(worktree: Worktree, name: str, commit: str) -> None:
    """Delete a branch that kept a side of a conflict, if it is still at `commit` and nobody stands on it."""
    if not checked_out_at(worktree, HEADS + name) and read_ref(worktree, HEADS + name) == commit:
        with suppress(Conflict):
            git.run(worktree, "update-ref", "-d", HEADS + name, commit)


def is_ancestor(worktree: Worktree, one: str, other: str) -> bool:
    """True if `other` has the commit `one`."""
    done = git.run(worktree, "merge-base", "--is-ancestor", one, other)
    return done.code == 0
