"""Git's filters (git-crypt, LFS) on the way into git and out of it. All blobs of files are made here."""

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
    worktree: Worktree, draft: Draft, contents: Mapping[str, bytes]
) -> tuple[dict[str, ObjectID], dict[str, StorageFailed]]:
    """Blobs of files by path (from the root), as `git add` would make them, and why there is none.

    What no filter and no line-ending rule of the user's would change costs no program.
    """
    filtered = git.filtered(worktree, contents, _IN) if contents else frozenset()
    made: dict[str, ObjectID] = {}
    failed = {}
    for path, data in contents.items():
        if path not in filtered and b"\r\n" not in data:
            made[path] = draft.blob(data)
            continue
        done = git.run(worktree, "hash-object", "-w", "--stdin", f"--path={path}", cwd=worktree.root, stdin=data)
        if done.code:
            why = done.err.rpartition("\n")[2] or "git said no"
            hint = "what its filter would hide stays out of git: mend the filter (git config --get-regexp filter)"
            failed[path] = StorageFailed(f"{path} was not stored, because its git filter failed ({why})", hint=hint)
        else:
            made[path] = cast("ObjectID", done.out.strip())
    return made, failed


def blobs(worktree: Worktree, draft: Draft, contents: Mapping[str, bytes]) -> dict[str, ObjectID]:
    """Blobs of files by path (from the root), as `git add` would make them. Raises StorageFailed: a filter failed."""
    made, failed = stored(worktree, draft, contents)
    for fault in failed.values():
        raise fault
    return made


def texts(worktree: Worktree, paths: Mapping[str, str], raw: Mapping[str, bytes]) -> dict[str, bytes]:
    """Contents by blob as a checkout at these paths (by blob, from the root) would show them, lines ended by LF.

    Where a filter fails it is what git keeps. Programs are started only where there may be a filter.
    """
    folders: dict[str, bool] = {}
    candidates = {
        blob: path
        for blob, path in paths.items()
        if blob in raw and (_mentioned(worktree, path, folders) or (is_markdown(path) and raw[blob][:3] != b"---"))
    }
    filtered = git.filtered(worktree, candidates.values(), ("filter",)) if candidates else frozenset()
    names = [blob for blob, path in candidates.items() if path in filtered]

    def smudged(blobs: Sequence[str]) -> list[tuple[str, bytes]]:
        return list(git.smudged(worktree, {blob: paths[blob] for blob in blobs}).items())

    return {**raw, **dict(readable(names, smudged)[0])} if names else dict(raw)


def text_of(worktree: Worktree, repo: Repo, path: str, blob: str) -> bytes:
    """The text of one blob at a path (from the root); see `texts`."""
    return texts(worktree, {blob: path}, {blob: data_of(repo, blob)})[blob]


def read_texts(worktree: Worktree, paths: Mapping[str, str]) -> dict[str, bytes]:
    """`texts` of blobs as `read_blobs` reads them."""
    return texts(worktree, paths, read_blobs(worktree, paths))


def _mentioned(worktree: Worktree, path: str, folders: dict[str, bool]) -> bool:
    """Whether attributes that may hold for a path name a filter; `folders` caches what was read before."""
    folder = (worktree.prefix + path).rpartition("/")[0]
    places = [os.path.expanduser("~/.config/git/attributes"), str(worktree.common_dir / "info" / "attributes")]
    names = ["", *(folder[: n + 1] for n, sign in enumerate(folder + "/") if sign == "/")] if folder else [""]
    places += [os.path.join(worktree.top, name.rstrip("/"), ".gitattributes") for name in names]
    for place in places:
        if place not in folders:
            try:
                with open(place, "rb") as file:
                    folders[place] = b"filter" in file.read(_MOST)
            except OSError:
                folders[place] = False
    return any(folders[place] for place in places)
