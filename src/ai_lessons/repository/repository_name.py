"""What a repository is called in signed records: the first commit of its approval branch, which every clone has."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from ai_lessons.errors import Refused, UnsupportedRepository
from ai_lessons.repository.approval.approval_branch import cut_off, folder
from ai_lessons.repository.files import replace_file

if TYPE_CHECKING:
    from ai_lessons.repository.worktree import Worktree

_FILE: Final = "first-commits.json"


def noted(worktree: Worktree, ref: str) -> str:
    """The name as it was found last for this branch; empty if nobody asked before. Light."""
    return _all(worktree).get(ref, ("", ""))[1]


def find(worktree: Worktree, ref: str, tip: str) -> str:
    """The name of the repository whose `ref` is at `tip`. Raises Refused (a shallow clone), UnsupportedRepository."""
    known = _all(worktree)
    if known.get(ref, ("", ""))[0] == tip:
        return known[ref][1]
    if cut_off(worktree):
        raise Refused("a shallow clone cannot tell which repository this is", hint="git fetch --unshallow")
    from ai_lessons.repository import git  # noqa: PLC0415  # it loads subprocess, which a read with nothing new spares

    done = git.run(worktree, "--no-replace-objects", "rev-list", "--first-parent", "--max-parents=0", tip, "--")
    if done.code or not done.text:
        raise UnsupportedRepository(f"the history of {worktree.top} cannot be read", hint="git fsck")
    name = done.text.split()[-1]
    with suppress(OSError):  # where nothing can be written it is looked for again next time
        replace_file(folder(worktree.state_dir) / _FILE, json.dumps({**known, ref: (tip, name)}).encode())
    return name


def _all(worktree: Worktree) -> dict[str, tuple[str, str]]:
    try:
        raw = json.loads((folder(worktree.state_dir) / _FILE).read_bytes())
        return {str(ref): (str(tip), str(name)) for ref, (tip, name) in raw.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
