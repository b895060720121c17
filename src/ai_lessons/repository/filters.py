"""Git's filters (git-crypt, LFS), on the way into git and out of it. All blobs of files are made here.

Which filter a path has, `.gitattributes` says; what it does, the user's own git settings. One that those do not know
does nothing, as with git itself.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, cast

from ai_lessons.errors import StorageFailed
from ai_lessons.knowledge.layout import is_markdown
from ai_lessons.repository import git
from ai_lessons.repository.approval.rule_history import read_blobs, readable
from ai_lessons.repository.objects import data_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dulwich.objects import ObjectID
    from dulwich.repo import Repo

    from ai_lessons.repository.objects import Draft
    from ai_lessons.repository.worktree import Worktree

_MOST: Final = 1 << 20  # Bytes of attributes that are looked through
_IN: Final = ("filter", "ident", "working-tree-encoding")


def stored(
    worktree: Worktree, draft: Draft, contents: Mapping[str, bytes], *, on_disk: bool = False
) -> tuple[dict[str, ObjectID], dict[str, StorageFailed]]:
    """Blobs of files by path (from the root), as `git add` would make them, and why there is none.

    What no filter and no line-ending rule of the user's would change costs no program. `on_disk`: the files are there.
    """
    asked = git.filtered(worktree, contents, _IN) if contents else frozenset()
    asked |= {path for path, data in contents.items() if b"\r\n" in data}
    found = {path: draft.blob(data) for path, data in contents.items() if path not in asked}
    found |= {
        path: cast("ObjectID", blob) for path, blob in git.blobs_of(worktree, sorted(asked) if on_disk else ()).items()
    }
    failed = {}
    for path in sorted(asked - found.keys()):
        done = git.blob_of(worktree, path, contents[path])
        if done.code:
            why = done.err.rpartition("\n")[2] or "git said no"
            hint = "what its filter would hide stays out of git: mend the filter (git config --get-regexp filter)"
            failed[path] = StorageFailed(f"{path} was not stored, because its git filter failed ({why})", hint=hint)
        else:
            found[path] = cast("ObjectID", done.out.strip())
    return found, failed


def blobs(worktree: Worktree, draft: Draft, contents: Mapping[str, bytes]) -> dict[str, ObjectID]:
    """Blobs of files by path (from the root), as `git add` would make them. Raises StorageFailed: a filter failed."""
    found, failed = stored(worktree, draft, contents)
    for fault in failed.values():
        raise fault
    return found


def texts(worktree: Worktree, paths: Mapping[str, str], raw: Mapping[str, bytes]) -> dict[str, bytes]:
    """Contents by blob as a checkout at these paths (by blob, from the root) would show them, lines ended by LF.

    Where a filter fails it is what git keeps. Programs are started only where there may be a filter.
    """
    folders: dict[str, bool] = {}
    doubt = {
        blob: path
        for blob, path in paths.items()
        if blob in raw and (_mentioned(worktree, path, folders) or (is_markdown(path) and raw[blob][:3] != b"---"))
    }
    through = git.filtered(worktree, doubt.values(), ("filter",)) if doubt else frozenset()
    asked = {blob: path for blob, path in doubt.items() if path in through}

    def look(some: Sequence[str]) -> list[tuple[str, bytes]]:
        return list(git.smudged(worktree, {blob: asked[blob] for blob in some}).items())

    return {**raw, **dict(readable(list(asked), look)[0])} if asked else dict(raw)


def text_of(worktree: Worktree, repo: Repo, path: str, blob: str) -> bytes:
    """The text of one blob at a path (from the root); see `texts`."""
    return texts(worktree, {blob: path}, {blob: data_of(repo, blob)})[blob]


def read_texts(worktree: Worktree, paths: Mapping[str, str]) -> dict[str, bytes]:
    """`texts` of blobs as `read_blobs` reads them."""
    return texts(worktree, paths, read_blobs(worktree, paths))


def _mentioned(worktree: Worktree, path: str, folders: dict[str, bool]) -> bool:
    """Whether attributes that may hold for a path speak of a filter; `folders` are those looked into before."""
    folder = (worktree.prefix + path).rpartition("/")[0]
    places = [os.path.expanduser("~/.config/git/attributes"), str(worktree.common_dir / "info" / "attributes")]
    names = ["", *(folder[: n + 1] for n, sign in enumerate(folder + "/") if sign == "/")] if folder else [""]
    places += [os.path.join(worktree.top, name.rstrip("/"), ".gitattributes") for name in names]
    for place in places:
        if place not in folders:
            folders[place] = os.path.isfile(place) and _speaks(place)
    return any(folders[place] for place in places)


def _speaks(place: str) -> bool:
    try:
        with open(place, "rb") as file:
            return b"filter" in file.read(_MOST)
    except OSError:
        return False
