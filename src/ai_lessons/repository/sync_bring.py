"""Merges a fetched branch into the checked-out one: all of it, or nothing and the conflicts. No network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from dulwich.objects import ObjectID

from ai_lessons.errors import (
    Conflict,
    InvalidEntry,
    NotFound,
    Refused,
    StorageFailed,
    UnsavedEdits,
    UnsupportedRepository,
)
from ai_lessons.knowledge import layout
from ai_lessons.knowledge.entries import HANDLE_LENGTH, Entry, handle
from ai_lessons.knowledge.frontmatter import read_entry
from ai_lessons.knowledge.json_fields import json_fields
from ai_lessons.repository import git, worktree_status
from ai_lessons.repository.branch_update import refuse_locked
from ai_lessons.repository.checkout import committing
from ai_lessons.repository.filters import text_of
from ai_lessons.repository.history import unified
from ai_lessons.repository.objects import Draft, opened
from ai_lessons.repository.proposal_commits import HEADS, Author
from ai_lessons.repository.sync_merge import Decisions, MergePlan, Torn, plan
from ai_lessons.repository.worktree import read_ref

if TYPE_CHECKING:
    from dulwich.repo import Repo

    from ai_lessons.repository.store import Store


MERGE_SECONDS: Final = 600.0
AGAIN: Final = "ai-lessons admin sync"


class RemoteBranch(NamedTuple):
    """A branch of a remote."""

    remote: str
    branch: str

    @property
    def tracking(self) -> str:
        """The remote-tracking branch as a full ref."""
        return f"refs/remotes/{self.remote}/{self.branch}"

    @property
    def name(self) -> str:
        """As git prints it: `origin/main`."""
        return f"{self.remote}/{self.branch}"


class Brought(NamedTuple):
    """The received commits, the files that both sides had changed, `head` now. With `torn` files nothing moved."""

    head: str | None
    received: int = 0
    merged: tuple[str, ...] = ()
    torn: tuple[Torn, ...] = ()


@json_fields(hidden=("our_diff", "their_diff"))
class TornEntry(NamedTuple):
    """A file with a conflict; the diffs begin with the common text."""

    id: str  # a handle, else the path
    title: str
    path: str
    reasons: tuple[str, ...]
    ours: str | None  # None for no such file, or one that is no text
    theirs: str | None
    our_diff: str = ""  # empty where the side has no such file
    their_diff: str = ""


def where(store: Store, remote: str | None = None) -> RemoteBranch:
    """The remote branch of the checked-out one. Raises Refused (in a bigger repository), Conflict, NotFound."""
    if store.is_folder_of_bigger_repo:
        raise Refused(
            f"{store.root} is a folder of the repository at {store.worktree.top}, which is shared as a whole",
            hint=f"git pull, commit and push there: git -C {store.worktree.top} status",
        )
    worktree, name = store.worktree, branch(store)
    remotes = git.run(worktree, "remote").text.split()
    configured = git.setting(worktree, f"branch.{name}.remote")
    if remote is None and configured in remotes:
        remote = configured
    remote = remote or (remotes[0] if len(remotes) == 1 else "origin")
    if remote not in remotes:
        hint = "git remote add origin ADDRESS" if not remotes else "--remote takes one of: " + ", ".join(remotes)
        raise NotFound("remote", remote, hint=hint)
    merge = git.setting(worktree, f"branch.{name}.merge") if remote == configured else None
    return RemoteBranch(remote, (merge or name).removeprefix("refs/heads/"))


def branch(store: Store) -> str:
    """The branch that is checked out. Raises Conflict: none is, or a merge or the like is under way."""
    reason = worktree_status.busy(store.worktree)
    if reason:
        raise Conflict(reason)
    ref = store.head().ref
    if ref is None:
        raise Conflict("HEAD is detached, so there is no branch to share", hint="git switch main")
    return ref.removeprefix(HEADS)


def bring(store: Store, place: RemoteBranch) -> Brought:
    """Merge the fetched branch, or nothing. Raises Conflict, UnsavedEdits, Refused, StorageFailed."""
    with committing(store), store.writing():
        branch(store)
        head, tip = store.head().commit, read_ref(store.worktree, place.tracking)
        if tip is None or tip == head or (head and git.is_ancestor(store.worktree, tip, head)):
            return Brought(head)
        decisions = Decisions(store.state_dir)
        if head is None or git.is_ancestor(store.worktree, head, tip):
            target, merged = tip, tuple[str, ...]()
        else:
            with opened(store.worktree) as repo:
                draft = Draft(repo)
                made = _plan(store, repo, draft, place, head, tip, decisions)
                if made.tree is None:
                    return Brought(head, torn=made.torn)
                # approval reads this message: without "into BRANCH" it would claim a merge into the approval branch
                message = f"Merge remote-tracking branch '{place.name}' into {branch(store)}\n"
                target = Author(store.worktree).commit(draft, made.tree, (head, tip), message)
                merged = made.merged
        received = count(store, tip, head)
        _forward(store, place, target)
        decisions.forget()
        return Brought(target, received, merged)


def torn_now(store: Store, place: RemoteBranch) -> tuple[TornEntry, ...]:
    """The files that conflict with the remote's branch as it was fetched last."""
    with opened(store.worktree) as repo:
        return tuple(_entry(store, repo, torn) for torn in _torn(store, repo, place))


def _torn(store: Store, repo: Repo, place: RemoteBranch) -> tuple[Torn, ...]:
    head, tip = store.head().commit, read_ref(store.worktree, place.tracking)
    return _plan(store, repo, Draft(repo), place, head, tip, Decisions(store.state_dir)).torn if head and tip else ()


def _entry(store: Store, repo: Repo, torn: Torn) -> TornEntry:
    path, blobs = torn.path, (torn.base, torn.ours, torn.theirs)
    inside = path.removeprefix(store.prefix)
    base, ours, theirs = (text_of(store.worktree, repo, inside, blob) if blob else None for blob in blobs)
    entry = _read(path, ours) or _read(path, theirs)
    return TornEntry(
        id=handle(entry.kind, entry.id, HANDLE_LENGTH) if entry and not entry.derived else path,
        title=entry.title if entry else path.rpartition("/")[2],
        path=path,
        reasons=torn.reasons,
        ours=_text(ours),
        theirs=_text(theirs),
        our_diff="" if ours is None else unified(path, base, ours),
        their_diff="" if theirs is None else unified(path, base, theirs),
    )


def _text(data: bytes | None) -> str | None:
    try:
        return None if data is None else data.decode()
    except UnicodeDecodeError:
        return None


def _read(path: str, data: bytes | None) -> Entry | None:
    """The entry of a text at its path; None for no entry, or one that cannot be read."""
    try:
        return read_entry(path, data) if data is not None and layout.place(path) else None
    except InvalidEntry:
        return None


def decide(store: Store, place: RemoteBranch, path: str, take: str) -> Brought:
    """Note which side of a conflict to take (`ours`, `theirs`); after the last choice, merge.

    Raises as `bring`; NotFound: no conflict.
    """
    with opened(store.worktree) as repo:
        torn = next((torn for torn in _torn(store, repo, place) if torn.path == path), None)
    if torn is None:
        raise NotFound("conflict", path)
    Decisions(store.state_dir).note(torn, take)
    return bring(store, place)


def _plan(
    store: Store, repo: Repo, draft: Draft, place: RemoteBranch, head: str, tip: str, decisions: Decisions
) -> MergePlan:
    bases = _bases(store, head, tip)
    if not bases:
        if (store.worktree.common_dir / "shallow").exists():
            raise UnsupportedRepository(
                f"this clone is shallow: the commit that it has in common with {place.name} is not in it",
                hint=f"git fetch --unshallow {place.remote}, then: {AGAIN}",
            )
        raise Refused(
            f"{place.name} and this branch have no commit in common: they are two different repositories",
            hint=f"if they belong together: git merge --allow-unrelated-histories {place.name}",
        )
    base = draft.tree_of(bases[0])
    for other in bases[1:]:
        # histories that cross: their base is the merge of both bases, as in git's own strategy
        older = _bases(store, bases[0].decode(), other.decode())
        sides = (draft.tree_of(older[0]), base, draft.tree_of(other)) if older else None
        common = plan(store.worktree, repo, draft, sides) if sides else None
        if common is None or common.tree is None:
            raise Conflict(
                f"the histories of {place.name} and this branch cross, and their common ground is in conflict itself",
                hint=f"merge it by hand, once: git merge {place.name}",
            )
        base = common.tree
    ours, theirs = (draft.tree_of(ObjectID(commit.encode())) for commit in (head, tip))
    return plan(store.worktree, repo, draft, (base, ours, theirs), decisions.choose)


def _bases(store: Store, commit: str, other: str) -> list[ObjectID]:
    done = git.run(store.worktree, "merge-base", "--all", commit, other)
    return [ObjectID(commit) for commit in done.out.split()] if not done.code else []


def count(store: Store, tip: str, without: str | None) -> int:
    """How many commits `tip` has that `without` has not."""
    done = git.run(store.worktree, "rev-list", "--count", tip, *([f"^{without}"] if without else []))
    return int(done.text) if done.text.isdigit() else 0


def _forward(store: Store, place: RemoteBranch, target: str) -> None:
    """Fast-forward branch, index and files. Git checks everything before it changes anything."""
    flags = ("--ff-only", "--quiet", "--no-overwrite-ignore", "--no-autostash")
    reflog = {"GIT_REFLOG_ACTION": "sync"}
    done = git.run(store.worktree, "merge", *flags, target, extra=reflog, timeout=MERGE_SECONDS)
    if done.code == 0:
        return
    refuse_locked(store.worktree, done)
    paths = [line.strip() for line in done.err.splitlines() if line.startswith("\t")]
    if paths:
        unnamed = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
        raise UnsavedEdits(
            f"{place.name} changes files that you have edited and not committed: {', '.join(paths[:3])}{unnamed}",
            hint=f"commit them or put them aside (git commit, git stash), then: {AGAIN}",
        )
    raise StorageFailed(
        f"git did not merge {place.name}: {done.err.splitlines()[0] if done.err else 'it gave no reason'}"
    )
