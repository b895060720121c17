"""Rules from files on their way to proposals: those edited in the working tree, and those of the template."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, NamedTuple

from dulwich.objects import ObjectID
from dulwich.refs import Ref

from ai_lessons.errors import Conflict, InvalidEntry, Problem, StorageFailed
from ai_lessons.knowledge.entries import HANDLE_LENGTH
from ai_lessons.knowledge.frontmatter import read_entry
from ai_lessons.knowledge.layout import derived_id, slug
from ai_lessons.repository import files, filters, git
from ai_lessons.repository.approval.approval_branch import PROPOSALS
from ai_lessons.repository.approval.rule_files import TEXT_LIMIT, is_rule, stated_id
from ai_lessons.repository.branch_update import refuse_locked, until_done
from ai_lessons.repository.checkout import committing
from ai_lessons.repository.filters import text_of
from ai_lessons.repository.objects import PLAIN, Draft, opened
from ai_lessons.repository.proposal_commits import Author
from ai_lessons.repository.proposal_files import rule_of
from ai_lessons.repository.worktree_status import here

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dulwich.repo import Repo

    from ai_lessons.repository.store import Store
    from ai_lessons.repository.worktree import Worktree


class Edited(NamedTuple):
    """A rule changed in the working tree: its `files` as git would store them, its `blobs` now and as checked out."""

    rule: str
    files: Mapping[str, bytes | None]
    blobs: Mapping[str, tuple[str | None, str | None]]


def edited(store: Store, repo: Repo, paths: Sequence[str] = ()) -> list[Edited]:
    """The edited, new and removed rules, or those of `paths` (relative to the root). Raises InvalidEntry, Conflict."""
    head = store.head()
    if head.commit is None:
        raise Conflict("nothing is committed yet, so there is nothing to propose a change of")
    prefix, committed = store.prefix, git.files_of(store.worktree, head.commit)
    files = {path.removeprefix(prefix): blob for path, blob in committed.items() if path.startswith(prefix)}
    was = {path: blob for path, blob in files.items() if is_rule(path)}
    now = _differing(store, repo, was)
    places = [place.rstrip("/") for place in paths] or [""]
    chosen = [p for p in now if any(not place or p == place or p.startswith(f"{place}/") for place in places)]
    return _by_rule(store.worktree, repo, was, now, chosen)


def _differing(store: Store, repo: Repo, was: Mapping[str, str]) -> dict[str, str | None]:
    """Rule files on disk that were changed, and (None) those that are gone; blobs as git would store them."""
    status = ("status", "--porcelain", "-z", "--untracked-files=all", "--no-renames", "--", ".")
    rows = git.run(store.worktree, *status, cwd=store.root).out.split(b"\0")
    changed = [path for row in rows if is_rule(path := os.fsdecode(row[3:]).removeprefix(store.prefix))]
    contents = {path: store.read(path, TEXT_LIMIT) for path in changed if store.exists(path)}
    draft = Draft(repo)
    stored = {path: blob.decode() for path, blob in filters.blobs(store.worktree, draft, contents).items()}
    draft.save()
    gone = [path for path in changed if path in was and path not in contents]
    return {path: blob for path, blob in stored.items() if blob != was.get(path)} | dict.fromkeys(gone)


def _by_rule(
    worktree: Worktree,
    repo: Repo,
    was: Mapping[str, str],
    now: Mapping[str, str | None],
    chosen: Sequence[str],
) -> list[Edited]:
    before = {path: rule_of(worktree, repo, path, blob) for path, blob in was.items()}
    unchanged = {rule: path for path, rule in before.items() if path not in now}
    texts = {path: text_of(worktree, repo, path, blob) for path, blob in now.items() if blob}
    rules = {path: stated_id(texts[path]) or derived_id(path) if blob else before[path] for path, blob in now.items()}
    problems = []
    for path in sorted(chosen):
        rule = rules[path]
        if before.get(path, rule) != rule:
            fault = f"its id was {before[path]}; a rule keeps its id, and another rule is another file"
            problems.append(Problem(path, fault))
        elif unchanged.get(rule, path) != path:
            fault = f"it has the id of {unchanged[rule]}; take the line `id:` out if it is another rule"
            problems.append(Problem(path, fault))
    if problems:
        raise InvalidEntry(problems)
    chosen_rules = {rules[path] for path in chosen}
    by_rule: dict[str, list[str]] = {}
    for path in sorted(path for path in now if rules[path] in chosen_rules):  # also the other path of a moved rule
        by_rule.setdefault(rules[path], []).append(path)
    return [
        Edited(rule, {p: texts.get(p) for p in paths}, {p: (now[p], was.get(p)) for p in paths})
        for rule, paths in by_rule.items()
    ]


def put_back(store: Store, repo: Repo, edits: Sequence[Edited]) -> tuple[str, ...]:
    """Restore file and index entry of these edits to what is checked out; returns notes on later edits, which stay.

    Raises Conflict: git is busy. StorageFailed.
    """
    pairs, worktree = {path: pair for edit in edits for path, pair in edit.blobs.items()}, store.worktree

    def run(paths: Sequence[str], *command: str) -> None:
        flags = ("--quiet", "--pathspec-from-file=-", "--pathspec-file-nul")
        stdin = git.listed(paths)
        done = git.run(worktree, "--literal-pathspecs", *command, *flags, cwd=worktree.root, stdin=stdin)
        refuse_locked(worktree, done)
        if done.code:
            raise StorageFailed(f"git did not put everything back: {done.err}")

    def attempt() -> tuple[str, ...]:
        now = here(worktree, repo, pairs)
        same = [path for path, (edited, _) in pairs.items() if now[path].has(edited)]
        new = [path for path in same if pairs[path][1] is None]
        old = [path for path in same if path not in new]
        if new:
            run(new, "rm", "--cached", "-f", "--ignore-unmatch")
        for path in new:
            files.remove_file(store.root, path)
        if old:
            run(old, "checkout", "HEAD")
        return tuple(f"your own edit of {path} stays as it is" for path in pairs if path not in same)

    with committing(store), store.writing():
        return until_done(store.worktree, attempt)


AUTHOR: Final = "ai-lessons starter set <starter-set@ai-lessons.invalid>"


def propose_starters(worktree: Worktree, start: str, rules: Mapping[str, bytes]) -> None:
    """Propose these rules (by path) on top of `start`, each on a branch of its own. Raises Refused, StorageFailed."""
    by = Author(worktree)
    with opened(worktree) as repo:
        draft = Draft(repo)
        before = draft.tree_of(ObjectID(start.encode()))
        blobs = filters.blobs(worktree, draft, rules)
        for path, data in rules.items():
            rule = read_entry(path, data)
            tree = draft.edit(before, {os.fsencode(path): (PLAIN, blobs[path])})
            commit = by.commit(draft, tree, [start], f"Propose rule: {rule.title}\n", author=AUTHOR)
            branch = f"{PROPOSALS}R-{rule.id[-HANDLE_LENGTH:]}-{slug(rule.title)}"
            repo.refs.add_if_new(Ref(f"refs/heads/{branch}".encode()), ObjectID(commit.encode()))
