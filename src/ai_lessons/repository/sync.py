"""Sharing: fetch, merge (a rebase would flatten approvals), push, and again if another clone was faster."""

from __future__ import annotations

import random
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final, NamedTuple

from ai_lessons.errors import Conflict, Refused
from ai_lessons.knowledge.layout import slug
from ai_lessons.repository import branch_update, git
from ai_lessons.repository.approval.approval_branch import branch_of, proposal_refs
from ai_lessons.repository.commit import People
from ai_lessons.repository.proposal_commits import HEADS, signature
from ai_lessons.repository.sync_bring import (
    AGAIN,
    Brought,
    TornEntry,
    branch,
    bring,
    count,
    torn_now,
    where,
)
from ai_lessons.repository.sync_network import Network, Push, PushResult, RemoteBranch
from ai_lessons.repository.worktree import checked_out_at, read_ref

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ai_lessons.repository.proposal_commits import CommitSignature
    from ai_lessons.repository.store import Store
    from ai_lessons.repository.sync_merge import Torn
    from ai_lessons.repository.worktree import Worktree

CONFLICTS: Final = "conflict/"  # Our side of a conflict is a branch below this
_KEEP: Final = "sync: keep our side"

TRIES: Final = 50  # How often somebody may be faster with a push


class Synced(NamedTuple):
    """How a sync ended. With `conflicts` nothing was merged, and our side is on the branch `kept`."""

    remote: str
    branch: str
    received: int = 0  # commits, as `sent`
    sent: int = 0
    merged: tuple[str, ...] = ()  # files that both sides had changed
    proposals: tuple[str, ...] = ()  # branches that were sent; `arrived` are new here
    arrived: tuple[str, ...] = ()
    commit: str | None = None
    conflicts: tuple[TornEntry, ...] = ()
    kept: str = ""
    notes: tuple[str, ...] = ()

    @property
    def place(self) -> RemoteBranch:
        """With what the branch is shared."""
        return RemoteBranch(self.remote, self.branch)


def sync(
    store: Store,
    *,
    remote: str | None = None,
    ask: bool = False,
    proposals: Callable[[], Mapping[str, str]] = dict,
    begins: Callable[[str], object] = str,
) -> Synced:
    """Fetch, merge and push, until both sides are the same or a file needs a person.

    `ask`: a person is at the terminal. `proposals` gives the open proposal branches here, with their commits. `begins`
    is called with what begins, and how much that is. Raises as `where` and `bring`; Unreachable; Refused: by the
    remote. Conflict: others were faster too often.
    """
    place = where(store, remote)
    network = Network(store.worktree, place.remote, ask=ask)
    saved = store.save()
    notes = saved.told
    before = {branch_of(ref) for ref in proposal_refs(store.worktree)}
    received, merged = 0, dict[str, None]()
    for tries in range(1, TRIES + 1):
        begins(f"Fetching from {place.remote}")
        network.fetch()
        brought = bring(store, place)
        received, merged = received + brought.received, merged | dict.fromkeys(brought.merged)
        arrived = tuple(sorted({branch_of(ref) for ref in proposal_refs(store.worktree)} - before))
        own, said = _own_proposals(store, place.remote, proposals())
        so_far = Synced(
            *place, received, merged=tuple(merged), arrived=arrived, commit=brought.head, notes=(*notes, *said)
        )
        if brought.torn:
            return _keep(store, network, so_far, brought, own)
        done = _push(store, network, so_far, own, begins)
        if done is not None:
            status = git.run(store.worktree, "status", "--porcelain")
            many = len(status.out.splitlines())
            what = "1 change of yours is" if many == 1 else f"{many} changes of yours are"
            unsaved = [f"{what} in no commit, so nobody else has it: git status"] if many else []
            return done._replace(notes=(*done.notes, *unsaved))
        time.sleep(random.random() * min(1.0, 0.1 * tries))  # noqa: S311 - only spreads the tries out
    raise Conflict(f"{place.name} moved {TRIES} times while we pushed", hint=f"try again: {AGAIN}")


def _push(
    store: Store, network: Network, so_far: Synced, own: Sequence[Push], begins: Callable[[str], object]
) -> Synced | None:
    """Send what the remote lacks; None if somebody was faster."""
    place, head = so_far.place, so_far.commit
    target = HEADS + place.branch
    there = read_ref(store.worktree, place.tracking)
    mine = [Push(head, target)] if head and head != there else []
    commits = count(store, head, there) if mine and head else 0
    if mine or own:
        begins(f"Sending to {place.remote} (commits: {commits:,}, proposals: {len(own):,})")
    told = network.push([*mine, *own]) if mine or own else ()
    state = next((one for one in told if one.target == target), None)
    if state is not None and state.state == "late":
        return None
    if state is not None and state.state == "refused":
        raise Refused(
            f"{place.remote} does not take pushes to {place.branch}: {state.reason}",
            hint=f"push another branch and open a pull request: git push {place.remote}"
            f" {place.branch}:refs/heads/from-{branch(store)}; proposals of rules have branches of their own",
        )
    name = branch(store)
    if git.setting(store.worktree, f"branch.{name}.remote") is None:  # plain `git pull` and `git push` shall know it
        git.run(store.worktree, "config", f"branch.{name}.remote", place.remote)
        git.run(store.worktree, "config", f"branch.{name}.merge", target)
    sent, failed = _names(own, told)
    over = _clear(store, network, place)
    return so_far._replace(
        sent=commits,
        proposals=sent,
        notes=(*so_far.notes, *failed, *over),
    )


def _keep(store: Store, network: Network, so_far: Synced, brought: Brought, own: Sequence[Push]) -> Synced:
    """Keep our side of a conflict on a branch of its own, here and where others see it."""
    head = brought.head or ""
    who = signature(People(store.worktree), time.time())
    name = keep(store.worktree, head, brought.torn, who)
    there = read_ref(store.worktree, f"refs/remotes/{so_far.place.remote}/{name}")
    wishes = [*([] if there == head else [Push(head, HEADS + name)]), *own]
    told = network.push(wishes) if wishes else ()
    sent, failed = _names([*own, Push(head, HEADS + name)], told)
    sent = tuple(one for one in sent if one != name)
    return so_far._replace(
        conflicts=torn_now(store, so_far.place), kept=name, proposals=sent, notes=(*so_far.notes, *failed)
    )


def _names(wishes: Iterable[Push], told: Sequence[PushResult]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The branches that went, and a sentence about each that did not."""
    wanted = {wish.target for wish in wishes}
    mine = [one for one in told if one.target in wanted]
    went = tuple(one.target.removeprefix(HEADS) for one in mine if one.state == "done")
    return went, tuple(
        f"{one.target.removeprefix(HEADS)} was not pushed: {one.reason}" for one in mine if one.state != "done"
    )


def _own_proposals(store: Store, remote: str, own: Mapping[str, str]) -> tuple[list[Push], list[str]]:
    """Open proposals that the remote lacks; of one that others have gone on with, ours goes on, too."""
    wishes, notes = [], []
    for name, commit in own.items():
        there = read_ref(store.worktree, f"refs/remotes/{remote}/{name}")
        if there is None or (there != commit and git.is_ancestor(store.worktree, there, commit)):
            wishes.append(Push(commit, HEADS + name))
        elif there != commit and not git.is_ancestor(store.worktree, commit, there):
            notes.append(f"{name} says something else here than on {remote}")
        elif there != commit and not checked_out_at(store.worktree, HEADS + name):
            git.run(store.worktree, "update-ref", "-m", "sync", HEADS + name, there, commit)
    return wishes, notes


def _clear(store: Store, network: Network, place: RemoteBranch) -> tuple[str, ...]:
    """Delete the branches that kept our side of conflicts which are settled and shared."""
    tip = read_ref(store.worktree, place.tracking)
    mine = {
        name: commit
        for name, commit in kept(store.worktree).items()
        if tip and git.is_ancestor(store.worktree, commit, tip)
    }
    there = kept(store.worktree, place.remote)
    wishes = [Push("", HEADS + name) for name, commit in mine.items() if there.get(name) == commit]
    told = network.push(wishes) if wishes else ()
    for name, commit in mine.items():
        drop(store.worktree, name, commit)
    return _names(wishes, told)[1]


def keep(worktree: Worktree, head: str, torn: Sequence[Torn], who: CommitSignature) -> str:
    """The branch that keeps our side `head`: that of an earlier look, moved on, or a new one. Raises Conflict."""
    for name, commit in kept(worktree).items():
        if commit == head:
            return name
        if git.is_ancestor(worktree, commit, head) and not checked_out_at(worktree, HEADS + name):
            branch_update.point(worktree, HEADS + name, commit, head, who.log(_KEEP))
            return name
    stamp = datetime.fromtimestamp(who.when, UTC).strftime("%Y%m%dT%H%M%SZ")
    name = f"{CONFLICTS}{stamp}-{slug(PurePosixPath(torn[0].path).stem)}"
    branch_update.point(worktree, HEADS + name, None, head, who.log(_KEEP))
    return name


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
