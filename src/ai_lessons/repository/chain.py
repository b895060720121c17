"""A batch of noted jobs as a chain of commits on top of HEAD: objects on the disk, nothing pointing to them yet."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dulwich.objects import ObjectID

from ai_lessons.errors import AiLessonsError, Conflict, StorageFailed
from ai_lessons.repository import git, git_index, swept
from ai_lessons.repository.objects import Draft, identity_without_git, opened
from ai_lessons.repository.worktree import read_settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dulwich.repo import Repo

    from ai_lessons.repository.contents import OnDisk
    from ai_lessons.repository.git_index import Tracked
    from ai_lessons.repository.journal import Intent
    from ai_lessons.repository.worktree import Head, Worktree

NO_IDENTITY = (
    "git does not know who you are; tell it once: git config --global user.name NAME"
    " and git config --global user.email ADDRESS"
)


@dataclass(slots=True)
class Chain:
    """What a batch comes to. `tip` is the new end of the branch (HEAD's own commit if there is nothing to commit).

    `jobs` maps each job that is dealt with to its commit, or "" where it changed nothing; `blocked` each one that
    must wait to the reason. `entries` are index entries by path below the worktree's top, `paths` by path below the
    root; `index` is git's index with the entries, empty if there are none.
    """

    tip: ObjectID | None
    tree: ObjectID | None
    committer: tuple[str, int]
    jobs: dict[str, str] = field(default_factory=dict)
    blocked: dict[str, str] = field(default_factory=dict)
    entries: dict[bytes, Tracked | None] = field(default_factory=dict)
    paths: dict[str, Tracked | None] = field(default_factory=dict)
    index: bytes = b""
    subjects: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def reflog(self) -> str:
        """What the reflog says about the move."""
        more = f" (and {len(self.subjects) - 1} more)" if len(self.subjects) > 1 else ""
        return f"commit: {self.subjects[-1]}{more}" if self.subjects else "commit"


class People:
    """Who commits and whether commits are signed, by git's own rules; asked once, because every question costs 4 ms.

    Signing stops for this process at the first failure: what asks for a passphrase would be asked again and again.
    """

    def __init__(self, worktree: Worktree) -> None:
        self._worktree = worktree
        self._known: tuple[str | None, str | None, bool] | None = None
        self.unsigned = ""
        self._signed: dict[tuple[ObjectID, tuple[ObjectID, ...], str], ObjectID] = {}

    def committer(self, repo: Repo) -> str | None:
        """`Name <email>` of whoever commits here, None if git does not know."""
        known = self._callers()
        return known[1] if known else identity_without_git(repo, "COMMITTER")

    def author(self, repo: Repo) -> str | None:
        """`Name <email>` of whoever writes here, None if git does not know."""
        known = self._callers()
        return known[0] if known else identity_without_git(repo, "AUTHOR")

    def signs(self) -> bool:
        """True if the user's settings ask for signed commits and signing has not failed yet."""
        known = self._callers()
        return known is not None and known[2] and not self.unsigned

    def _callers(self) -> tuple[str | None, str | None, bool] | None:
        """None where there is no git. Whoever was unknown may have been told to git meanwhile."""
        if self._known is None or None in self._known:
            self._known = git.callers(self._worktree) if git.available() else None
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
                fault = "git is not installed" if done is None else done.err if done.code else ""
            except StorageFailed as error:
                done, fault = None, error.message
            if done is None or fault:
                self.unsigned = "unsigned: " + (fault.splitlines() or ["git said no"])[0]
                return None
            self._signed[key] = ObjectID(done.out.strip())
        return self._signed[key]


def author_here(worktree: Worktree) -> str:
    """`Name <email>` of whom git knows here; empty if it knows nobody, or cannot be asked."""
    try:
        with opened(worktree) as repo:
            return People(worktree).author(repo) or ""
    except AiLessonsError:
        return ""


def build(worktree: Worktree, repo: Repo, head: Head, jobs: Sequence[Intent], people: People, when: int) -> Chain:
    """Read the jobs' files, make their commits, and bring all of it to the disk. `when`: seconds, for the committer."""
    draft = Draft(repo)
    start = ObjectID(head.commit.encode()) if head.commit else None
    file_modes = read_settings(worktree.common_dir / "config").get("core.filemode", "true") != "false"
    paths = {worktree.prefix + noted.path for job in jobs for noted in job.paths}
    in_conflict = frozenset(git_index.unmerged(worktree, paths))
    chain = Chain(start, draft.tree_of(start) if start else None, (people.committer(repo) or "", when))
    disk, away, back = swept.look_and_bring_back(worktree, repo, draft, chain.tree, jobs, file_modes=file_modes)
    chain.notes.extend(f"{path} was gone before its commit, and is back" for path in back)
    for job in jobs:
        reason = _block(worktree, job, disk, in_conflict, away)
        author = job.author or people.author(repo)
        if not reason and not (author and (chain.committer[0] or job.author)):
            reason = NO_IDENTITY
        if reason:
            chain.blocked[job.name] = reason
            continue
        try:
            _append(chain, worktree, draft, job, disk, people, author or "")
        except Conflict as error:
            chain.blocked[job.name] = error.message
    chain.index = _save(worktree, draft, chain)
    if people.unsigned and any(chain.jobs.values()):
        chain.notes.append(people.unsigned)
    return chain


def _save(worktree: Worktree, draft: Draft, chain: Chain) -> bytes:
    """Bring the objects to the disk, and meanwhile make the index, for which a program is waited: the index's bytes."""
    if not chain.entries:
        draft.save()
        return b""
    with ThreadPoolExecutor(1) as pool:
        index = pool.submit(git_index.changed, worktree, chain.entries)
        draft.save()
        return index.result()


def _block(worktree: Worktree, job: Intent, disk: OnDisk, in_conflict: frozenset[str], away: frozenset[str]) -> str:
    """Why this job has to wait, or an empty string."""
    for noted in job.paths:
        if noted.path in disk.unreadable:
            return disk.unreadable[noted.path]
        if worktree.prefix + noted.path in in_conflict:
            return f"{noted.path} is in conflict; resolve it (git add {noted.path}) and it is committed"
        if noted.path in away:
            return f"{noted.path} lies in git's stash; git stash pop, and it is committed"
    return ""


def _append(
    chain: Chain, worktree: Worktree, draft: Draft, job: Intent, disk: OnDisk, people: People, author: str
) -> None:
    """Put the job's commit at the end of the chain, if it changes anything."""
    wanted = {}
    for noted in job.paths:
        ours, tracked = disk.wanted(noted)
        if ours:
            wanted[noted.path] = tracked
    entries = {os.fsencode(worktree.prefix + path): tracked for path, tracked in wanted.items()}
    edits = {}
    for name, tracked in entries.items():
        new = (tracked.mode, tracked.blob) if tracked else None
        if draft.lookup(chain.tree, name) != new:
            edits[name] = new
    made = ""
    if edits:
        tree = draft.edit(chain.tree, edits)
        committer = chain.committer[0] or author
        chain.committer = (committer, chain.committer[1])
        tip = _commit(chain, draft, job, tree, people, (author, committer))
        chain.tip, chain.tree, made = tip, tree, tip.decode()
        chain.subjects.append(job.subject)
    chain.entries |= entries
    chain.paths |= wanted
    chain.jobs[job.name] = made


def _commit(chain: Chain, draft: Draft, job: Intent, tree: ObjectID, people: People, who: tuple[str, str]) -> ObjectID:
    author, committer = who
    when, parents = chain.committer[1], [chain.tip] if chain.tip else []
    return make_commit(draft, job, tree, parents, people, (author, committer, when))


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
