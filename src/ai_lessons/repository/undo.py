"""Which jobs of ours (commits of this clone's journal, or of the same person with our trailers) can be taken back."""

from __future__ import annotations

import os
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from dulwich.objects import ObjectID

from ai_lessons.errors import Conflict, NotFound, Refused, UnsavedEdits
from ai_lessons.knowledge.layout import CONFIG_PATH
from ai_lessons.repository.approval.rule_files import PROPOSAL_TRAILER, is_rule, is_watched, trailers
from ai_lessons.repository.approval.rule_history import RawCommit, commits
from ai_lessons.repository.commit import People
from ai_lessons.repository.events import FOLDER
from ai_lessons.repository.objects import EXECUTABLE, Draft, TreeEntry, opened, text_of
from ai_lessons.repository.store import Change, Store, blob_id
from ai_lessons.repository.sync_merge import changed, plan
from ai_lessons.repository.worktree_status import here

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dulwich.repo import Repo


TRAILER: Final = "Undoes"
LOOKED_AT: Final = 10_000  # Commits, newest first, among which the last jobs are looked for
_OURS: Final = frozenset({"Entry", "Agent", "Session"})


class Step(NamedTuple):
    """One job that is taken back."""

    commit: str
    subject: str
    files: tuple[Change, ...]


def last(store: Store, count: int) -> tuple[Step, ...]:
    """The last `count` jobs, newest first, with the files undone. Raises NotFound, Refused, Conflict, UnsavedEdits."""
    with opened(store.worktree) as repo:
        found = tuple(islice(_steps(store, repo), count))
    if len(found) < count:
        many = f"only {len(found)}" if found else "none"
        raise NotFound("job to undo", str(count), hint=f"of your jobs there is {many} that can be taken back: git log")
    return found


def _steps(store: Store, repo: Repo) -> Iterator[Step]:
    """Each job taken back, newest first: what it did since the commit before is merged away from what is there."""
    tip, draft, disk = store.head().commit, Draft(repo), dict[str, str | None]()
    if tip is None:
        return
    head = now = draft.tree_of(ObjectID(tip.encode()))
    # events only say what happened, and nothing of that is taken back: a commit of them alone is no job
    prefix, events = os.fsencode(store.prefix), os.fsencode(f"{store.prefix}{FOLDER}/")
    for commit in _jobs(store, tip):
        subject, done = commit.info.message.partition("\n")[0], ObjectID(commit.tree.encode())
        before = draft.tree_of(ObjectID(commit.parents[0].encode())) if commit.parents else None
        every = changed(store.worktree, done, before or draft.edit(None, {}))
        back = {p: was for p, (_, was) in every.items() if p.startswith(prefix) and not p.startswith(events)}
        _refuse_rules(subject, [os.fsdecode(path.removeprefix(prefix)) for path in back])
        merged = plan(store.worktree, repo, draft, (done, now, draft.edit(done, back)))
        if merged.tree is None:
            path = merged.torn[0].path.removeprefix(store.prefix)
            hint = f"look at it: ai-lessons recall log {path}"
            raise Conflict(f"{path} was changed again after “{subject}”; nothing was undone", hint=hint)
        draft.save()
        differing = changed(store.worktree, now, merged.tree)
        made = {os.fsdecode(path.removeprefix(prefix)): new for path, (_, new) in differing.items()}
        now = merged.tree
        if made:
            _look(store, repo, {path: draft.lookup(head, prefix + os.fsencode(path)) for path in made}, disk)
            yield Step(commit.id, subject, tuple(_files(store, repo, made, disk)))


def _jobs(store: Store, head: str) -> Iterator[RawCommit]:
    """Commits of ours that can be taken back, newest first."""
    remembered = {commit for record in store.journal.records() for commit in record.jobs.values() if commit}
    me = (People(store.worktree).committer() or "").rpartition("<")[2].rstrip(">")
    undone: set[str] = set()
    for commit in reversed(commits(store.worktree, [head], newest=LOOKED_AT)):
        said = trailers(commit.info.message)
        undone |= {value for key, value in said if key == TRAILER}
        name, mine = commit.id, commit.info.committer.email == me and not commit.info.odd
        keys = {key for key, _ in said}
        if mine and PROPOSAL_TRAILER in keys:
            subject = commit.info.message.partition("\n")[0]
            raise Refused(
                f"the last thing you did is a decision ({subject}), and decisions are not undone",
                hint="what was approved can be removed again, a rule by a proposal: ai-lessons contribute delete ID",
            )
        if name in undone or TRAILER in keys or len(commit.parents) > 1:
            continue
        if name in remembered or (mine and keys & _OURS):
            yield commit


def _refuse_rules(subject: str, paths: list[str]) -> None:
    rules = [path for path in paths if is_rule(path) or (is_watched(path) and path != CONFIG_PATH)]
    if rules:
        raise Refused(
            f"“{subject}” changed {rules[0]}, and what decides about rules is not changed by an undo",
            hint="propose the change: ai-lessons contribute edit R-…, or contribute delete R-…",
        )


def _look(store: Store, repo: Repo, there: Mapping[str, TreeEntry | None], disk: dict[str, str | None]) -> None:
    """Note in `disk` what files hold that HEAD has so. Raises UnsavedEdits: one has edits that are in no commit."""
    blobs = {path: one[1].decode() if one else None for path, one in there.items() if path not in disk}
    found = here(store.worktree, repo, {path: (blob, blob) for path, blob in blobs.items()})
    edited = sorted(path for path, one in found.items() if not one.untouched)
    if edited:
        raise UnsavedEdits(
            f"{', '.join(edited[:3])} has edits that are in no commit", hint="commit them first: git commit"
        )
    disk |= {path: None if one.data is None else blob_id(one.data) for path, one in found.items()}


def _files(
    store: Store, repo: Repo, made: Mapping[str, TreeEntry | None], disk: dict[str, str | None]
) -> Iterator[Change]:
    """The changes that make these files so; `disk` is brought on."""
    for path, entry in made.items():
        data = text_of(store.worktree, repo, path, entry[1].decode()) if entry else None
        yield Change(path, data, entry[0] == EXECUTABLE if entry else None, disk[path])
        disk[path] = None if data is None else blob_id(data)
