"""Rule files of the working tree that differ from the commit that is checked out, sorted by rule. Writes nothing."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ai_lessons.errors import Conflict, InvalidEntry, Problem, UnsupportedRepository
from ai_lessons.knowledge.layout import derived_id
from ai_lessons.repository import git
from ai_lessons.repository.approval.rule_files import TEXT_LIMIT, is_rule, stated_id
from ai_lessons.repository.objects import Draft
from ai_lessons.repository.proposal.proposals import rule_of, text_of
from ai_lessons.repository.store import blob_id
from ai_lessons.repository.worktree_status import blobs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dulwich.repo import Repo

    from ai_lessons.repository.store import Store
    from ai_lessons.repository.worktree import Worktree


@dataclass(frozen=True, slots=True)
class Edited:
    """One rule that was changed in the working tree.

    `files` are the paths (relative to the root) with the text as git would store it, None for a file that is gone.
    `blobs` are the ids of what is there now and of what was checked out, None for no file.
    """

    rule: str
    files: Mapping[str, bytes | None]
    blobs: Mapping[str, tuple[str | None, str | None]]


def edited(store: Store, repo: Repo, paths: Sequence[str] = ()) -> list[Edited]:
    """The edited, new and removed rules, or those of `paths` (files and folders, relative to the root).

    Raises:
        InvalidEntry: a file took the id of another rule, or changed its own. Conflict: nothing is checked out.
    """
    head = store.head()
    if head.commit is None:
        raise Conflict("nothing is committed yet, so there is nothing to propose a change of")
    was = _rules_of(store.worktree, head.commit)
    now = _differing(store, repo, was)
    wanted = {path: blob for path, blob in now.items() if _concerns(path, paths)}
    return _by_rule(repo, was, now, wanted)


def _concerns(path: str, paths: Sequence[str]) -> bool:
    return not paths or any(not one or path == one or path.startswith(one.rstrip("/") + "/") for one in paths)


def _rules_of(worktree: Worktree, commit: str) -> dict[str, str]:
    """The blob of every rule file of a commit, by path."""
    below = ("--", worktree.prefix) if worktree.prefix else ()
    done = git.run(worktree, "--no-replace-objects", "ls-tree", "-r", "-z", "--full-tree", commit, *below)
    if done.code:
        raise UnsupportedRepository(f"commit {commit} of {worktree.top} cannot be read: {done.err}")
    found = [row.partition(b"\t") for row in done.out.split(b"\0") if row.startswith(b"100")]
    files = {os.fsdecode(name).removeprefix(worktree.prefix): what.split()[2].decode() for what, _, name in found}
    return {path: blob for path, blob in files.items() if is_rule(path)}


def _differing(store: Store, repo: Repo, was: Mapping[str, str]) -> dict[str, str | None]:
    """Rule files on disk that are not as they were, and (None) those that are gone; blobs as git would store them."""
    contents: dict[str, bytes] = {}
    there: set[str] = set()
    for folder, rows in store.scan():
        for row in rows:
            path = f"{folder}/{row[0]}" if folder else row[0]
            if is_rule(path):
                there.add(path)
                data = store.read(path, TEXT_LIMIT)
                if blob_id(data) != was.get(path):
                    contents[path] = data
    draft = Draft(repo)
    stored = {path: blob.decode() for path, blob in blobs(store.worktree, draft, contents).items()}
    draft.save()
    gone = was.keys() - there
    gone -= git.left_out(store.worktree, gone)
    return {path: blob for path, blob in stored.items() if blob != was.get(path)} | dict.fromkeys(gone)


def _by_rule(
    repo: Repo, was: Mapping[str, str], now: Mapping[str, str | None], wanted: Mapping[str, str | None]
) -> list[Edited]:
    before = {path: rule_of(repo, path, blob) for path, blob in was.items()}
    kept = {rule: path for path, rule in before.items() if path not in now}
    texts = {path: text_of(repo, blob) for path, blob in now.items() if blob}
    rules = {path: stated_id(texts[path]) or derived_id(path) if blob else before[path] for path, blob in now.items()}
    problems = [
        Problem(path, fault) for path in sorted(wanted) if (fault := _fault(path, rules[path], before.get(path), kept))
    ]
    if problems:
        raise InvalidEntry(problems)
    found: dict[str, list[str]] = {}
    # a rule that moved is two files, and whoever names one of them means both
    for path in sorted(path for path in now if rules[path] in {rules[one] for one in wanted}):
        found.setdefault(rules[path], []).append(path)
    return [
        Edited(rule, {p: texts.get(p) for p in paths}, {p: (now[p], was.get(p)) for p in paths})
        for rule, paths in found.items()
    ]


def _fault(path: str, rule: str, before: str | None, kept: Mapping[str, str]) -> str:
    if before is not None and rule != before:
        return f"its id was {before}; a rule keeps its id, and another rule is another file"
    if rule in kept and kept[rule] != path:
        return f"it has the id of {kept[rule]}; take the line `id:` out if it is another rule"
    return ""
