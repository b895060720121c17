"""Shares a repository: fetch, merge, push, and again if another clone was faster.

A rebase would flatten approvals.
"""

from __future__ import annotations

import os
import random
import re
import time
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from dulwich.objects import ObjectID

from ai_lessons.errors import Conflict, InvalidEntry, NotFound, Refused, UnsupportedRepository
from ai_lessons.git import network as git_network
from ai_lessons.git import plumbing
from ai_lessons.git.approval_branch import HEADS
from ai_lessons.git.branch_move import FAST_FORWARD, check_out, committing
from ai_lessons.git.conflicts import Decisions, keep, kept
from ai_lessons.git.event_log import FOLDER
from ai_lessons.git.history import unified
from ai_lessons.git.identity import Author
from ai_lessons.git.journal import BatchRecord
from ai_lessons.git.merge_plan import MergeConflict, MergePlan, plan
from ai_lessons.git.network import Network
from ai_lessons.git.objects import Draft, changed, opened, text_of
from ai_lessons.git.remote_branch import (
    AGAIN,
    RemoteBranch,
    apart,
    branch,
    count,
    destination,
    merge_bases,
    move_to,
    where,
)
from ai_lessons.git.store import PROTECTED
from ai_lessons.git.uncommitted import unshared
from ai_lessons.git.upstream import Upstream
from ai_lessons.git.worktree import checked_out_at, read_ref
from ai_lessons.model import expression, layout
from ai_lessons.model.entries import HANDLE_LENGTH, Entry, handle, json_fields
from ai_lessons.model.frontmatter import read_entry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from dulwich.repo import Repo

    from ai_lessons.git.store import Store


class Brought(NamedTuple):
    """The received commits, the files that both sides had changed, `head` now.

    With `torn` files nothing moved.

    `ahead`: the commits that the branch lacks which was merged, -1 where they were not counted.
    `notes`: why the merge is not signed.
    """

    head: str | None
    received: int = 0
    merged: tuple[str, ...] = ()
    torn: tuple[MergeConflict, ...] = ()
    notes: tuple[str, ...] = ()
    ahead: int = -1


@json_fields(hidden=("our_diff", "their_diff"))
class EntryConflict(NamedTuple):
    """A file with a conflict; the diffs begin with the common text."""

    # a handle, else the path
    id: str
    title: str
    path: str
    reasons: tuple[str, ...]
    # None for no such file, or one that is no text
    ours: str | None
    theirs: str | None
    # empty where the side has no such file
    our_diff: str = ""
    their_diff: str = ""


def bring(store: Store, place: RemoteBranch) -> Brought:
    """Merge the fetched branch, or nothing.

    Raises Conflict, UnsavedEdits, Refused, StorageFailed.
    """
    with committing(store), store.writing():
        branch(store)
        head, tip = store.head().commit, read_ref(store.worktree, place.tracking)
        if tip is None or tip == head:
            return Brought(head)
        if head:
            bases = merge_bases(store, head, tip)
        else:
            bases = []
        if head and ObjectID(tip.encode()) in bases:
            if (
                not store.protected
                or plumbing.run(store.worktree, "diff-tree", "--quiet", head, tip).code
            ):
                return Brought(head)
            _drop_ours(store, place, head, tip)
            return Brought(tip)
        decisions = Decisions(store.state_dir)
        if head is None or ObjectID(head.encode()) in bases:
            target, merged, notes = tip, tuple[str, ...](), tuple[str, ...]()
        else:
            with opened(store.worktree) as repo:
                draft = Draft(repo)
                made = _plan(store, repo, draft, place, head, tip, decisions, bases)
                if made.tree is None:
                    return Brought(head, torn=made.torn)
                if made.tree == draft.tree_of(ObjectID(tip.encode())) and _adds_nothing(
                    store, decisions, head, tip
                ):
                    received = count(store, tip, head)
                    # they came there as a squash or a rebase
                    _drop_ours(store, place, head, tip)
                    decisions.forget()
                    return Brought(tip, received)
                # approval reads this message: without "into BRANCH" it would claim a merge into the
                # approval branch
                message = f"Merge remote-tracking branch '{place.name}' into {branch(store)}\n"
                author = Author(store.worktree)
                target, merged = author.write(draft, made.tree, (head, tip), message), made.merged
                notes = author.notes
        received, ahead = apart(store, head, tip)
        check_out(store.worktree, place.name, *FAST_FORWARD, target, log="sync")
        decisions.forget(target if target != tip else "")
        return Brought(target, received, merged, notes=notes, ahead=ahead + (target != tip))


def torn_now(store: Store, place: RemoteBranch) -> tuple[EntryConflict, ...]:
    """The files that conflict with the remote's branch as it was fetched last."""
    with opened(store.worktree) as repo:
        conflicts = []
        for torn in _torn(store, repo, place):
            conflicts.append(_entry(store, repo, torn))
        return tuple(conflicts)


def _torn(store: Store, repo: Repo, place: RemoteBranch) -> tuple[MergeConflict, ...]:
    head, tip = store.head().commit, read_ref(store.worktree, place.tracking)
    if not (head and tip):
        return ()
    return _plan(
        store,
        repo,
        Draft(repo),
        place,
        head,
        tip,
        Decisions(store.state_dir),
        merge_bases(store, head, tip),
    ).torn


def _entry(store: Store, repo: Repo, torn: MergeConflict) -> EntryConflict:
    path, blobs = torn.path, (torn.base, torn.ours, torn.theirs)
    inside = path.removeprefix(store.prefix)
    base, ours, theirs = (
        text_of(store.worktree, repo, inside, blob) if blob else None for blob in blobs
    )
    entry = _read(path, ours) or _read(path, theirs)
    return EntryConflict(
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
        if data is None:
            return None
        return data.decode()
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
    store: Store,
    repo: Repo,
    draft: Draft,
    place: RemoteBranch,
    head: str,
    tip: str,
    decisions: Decisions,
    bases: Sequence[ObjectID],
) -> MergePlan:
    if not bases:
        if (store.worktree.common_dir / "shallow").exists():
            raise UnsupportedRepository(
                (
                    "this clone is shallow: the commit that it has in common with "
                    f"{place.name} is not in it"
                ),
                hint=f"git fetch --unshallow {place.remote}, then: {AGAIN}",
            )
        raise Refused(
            (
                f"{place.name} and this branch have no commit in common: they are two "
                "different repositories"
            ),
            hint=f"if they belong together: git merge --allow-unrelated-histories {place.name}",
        )
    base = draft.tree_of(bases[0])
    for other in bases[1:]:
        # histories that cross: their base is the merge of both bases, as in git's own strategy
        older = merge_bases(store, bases[0].decode(), other.decode())
        sides = None
        if older:
            sides = (draft.tree_of(older[0]), base, draft.tree_of(other))
        common = None
        if sides:
            common = plan(store.worktree, repo, draft, sides)
        if common is None or common.tree is None:
            raise Conflict(
                (
                    f"the histories of {place.name} and this branch cross, and their common "
                    "ground is in conflict itself"
                ),
                hint=f"merge it by hand, once: git merge {place.name}",
            )
        base = common.tree
    ours, theirs = (draft.tree_of(ObjectID(commit.encode())) for commit in (head, tip))
    return plan(store.worktree, repo, draft, (base, ours, theirs), decisions.choose)


def _adds_nothing(store: Store, decisions: Decisions, head: str, tip: str) -> bool:
    """Whether our commits, whose text the remote has, may be dropped for the remote's."""
    # A merge may be an approval, and a decided conflict shows what was not taken: both are kept and
    # sent, unless the branch is protected, so that they cannot be sent.
    merges = plumbing.run(store.worktree, "rev-list", "--merges", head, f"^{tip}").text
    return store.protected or not (decisions.made or merges)


def _drop_ours(store: Store, place: RemoteBranch, head: str, tip: str) -> None:
    """Move the branch to the remote's, which has all that our commits say."""
    dropped = plumbing.run(store.worktree, "rev-list", head, f"^{tip}").text.split()
    move_to(store, place, tip)
    store.journal.settle(BatchRecord(tip, {}))
    if store.dropped:
        # else approval would take this for a history that somebody rewrote
        store.dropped(HEADS + branch(store), dropped, tip)


# How often another clone may push first
TRIES: Final = 50
# GitHub, GitLab, Bitbucket and Gitea, Azure, Gerrit
_PROTECTED_BRANCH: Final = expression(
    (
        r"protected|GH006|pull request|merge request|not allowed to push|not "
        r"permitted|restricted|prohibited"
    ),
    re.IGNORECASE,
)


class Synced(NamedTuple):
    """The result of a sync.

    With `conflicts` nothing was merged, and our side is on the branch `kept`.
    """

    remote: str
    branch: str
    # commits, as `sent`
    received: int = 0
    sent: int = 0
    # files that both sides had changed
    merged: tuple[str, ...] = ()
    # branches that were sent; `arrived` are new here
    proposals: tuple[str, ...] = ()
    arrived: tuple[str, ...] = ()
    # proposals that the remote or a hook refused
    unsent: tuple[str, ...] = ()
    commit: str | None = None
    conflicts: tuple[EntryConflict, ...] = ()
    kept: str = ""
    notes: tuple[str, ...] = ()

    @property
    def place(self) -> RemoteBranch:
        """The remote's branch."""
        return RemoteBranch(self.remote, self.branch)


@plumbing.online()
def sync(
    store: Store,
    *,
    remote: str | None = None,
    ask: bool = False,
    take: str = "",
    proposals: Callable[[], Mapping[str, str]] = dict,
    progress: Callable[[str, int, int], object] = lambda *_: None,
    beside: Callable[[str], Sequence[str]] = lambda _: (),
) -> Synced:
    """Fetch, merge and push, until both sides are the same or a file needs a person.

    `ask`: a person is at the terminal. `take`: `theirs`, where the remote's branch was rewritten or
    renamed; nothing is merged or pushed then without it. `proposals` returns the open proposal
    branches here, with their commits. `progress` gets the step, the amount done, and the whole
    amount (0: not known). `beside` names for a remote what to fetch beside its branches. Raises as
    `where` and `bring`; Unreachable; Refused: by the remote. Conflict: others pushed first too
    often.
    """
    place = where(store, remote)
    if remote:
        to = place
    else:
        to = destination(store, place)
    network_of = partial(Network, store.worktree, ask=ask, progress=progress)
    networks = []
    for name in {place.remote: 0, to.remote: 0}:
        networks.append(network_of(name, beside=beside(name)))
    so_far, upstream = Synced(*place, notes=store.save().messages), Upstream(store)
    upstream.look(place, to)
    for tries in range(1, TRIES + 1):
        for network in networks:
            network.fetch()
        source, followed = upstream.check(networks[0], place, take)
        place, to = source, source if to == place else upstream.check(networks[-1], to, take)[0]
        so_far, brought = _bring_each(store, (place, to), so_far)
        so_far = so_far._replace(arrived=upstream.arrived(), notes=(*so_far.notes, *followed))
        local_proposals = proposals()
        unpushed, diverged = _unpushed_proposals(store, to.remote, local_proposals, upstream)
        # each try looks anew at what diverged
        result = so_far._replace(notes=(*so_far.notes, *diverged))
        if brought.torn:
            return _keep(store, networks[-1], result, brought, unpushed)
        result = result._replace(remote=place.remote, branch=place.branch)
        synced = _push(
            store, networks[-1], result, to, unpushed, brought.ahead if to == place else -1
        )
        upstream.note(local_proposals, place, to)
        if synced is not None:
            return synced._replace(notes=(*synced.notes, *unshared(store)))
        time.sleep(random.random() * min(1.0, 0.1 * tries))  # noqa: S311 - only spreads the tries out
    raise Conflict(f"{to.name} moved {TRIES} times while we pushed", hint=f"try again: {AGAIN}")


def _bring_each(
    store: Store, places: Iterable[RemoteBranch], so_far: Synced
) -> tuple[Synced, Brought]:
    """Merge these branches in turn, up to one that conflicts.

    All that came in so far, and the last of them.
    """
    for place in dict.fromkeys(places):
        brought = bring(store, place)
        merged = tuple(dict.fromkeys((*so_far.merged, *brought.merged)))
        received, notes = so_far.received + brought.received, (*so_far.notes, *brought.notes)
        so_far = Synced(*place, received, merged=merged, commit=brought.head, notes=notes)
        if brought.torn:
            break
    return so_far, brought


def _push(
    store: Store,
    network: Network,
    so_far: Synced,
    to: RemoteBranch,
    proposals: Mapping[str, str],
    ahead: int,
) -> Synced | None:
    """Push what the remote lacks (so many commits; -1: to be counted).

    None if another clone pushed first.
    """
    place, head = so_far.place, so_far.commit
    target = HEADS + to.branch
    remote_tip = read_ref(store.worktree, to.tracking)
    if head and head != remote_tip:
        ours = {target: head}
    else:
        ours = {}
    commits = 0
    if ours and head:
        if ahead >= 0:
            commits = ahead
        else:
            commits = count(store, head, remote_tip or read_ref(store.worktree, place.tracking))
    if ours or proposals:
        network.progress(
            f"Sending to {to.remote} (commits: {commits:,}, proposals: {len(proposals):,})", 0, 0
        )
    results = network.push({**ours, **proposals})
    state, reason = results.get(target, ("done", ""))
    refused = {}
    for ref, tip in proposals.items():
        if results[ref][0] == "refused":
            refused[ref] = tip
    if state == "refused" and refused:
        # a hook may have refused all because of one of them
        results |= network.push(ours) | network.push(refused)
        state, reason = results[target]
    if state == "late":
        return None
    name = branch(store)
    sent, unsent, failed = _names(proposals, results)
    so_far = so_far._replace(proposals=sent, unsent=unsent, notes=(*so_far.notes, *failed))
    if state == "refused":
        return _without_push(store, so_far, to, remote_tip, reason)
    notes = so_far.notes
    if ours:
        _protect(store, name, protected=False)
    # plain `git pull` and `git push` know it then
    if plumbing.setting(store.worktree, f"branch.{name}.remote") is None:
        plumbing.run(store.worktree, "config", f"branch.{name}.remote", place.remote)
        plumbing.run(store.worktree, "config", f"branch.{name}.merge", HEADS + place.branch)
    if to != place and ours:
        notes = (*notes, f"what was sent is on {to.name}")
    return so_far._replace(sent=commits, notes=(*notes, *_clear(store, network, to)))


def _without_push(
    store: Store, so_far: Synced, to: RemoteBranch, remote_tip: str | None, reason: str
) -> Synced:
    """The result where the remote takes no push to the branch and we have only events for it.

    Ours are dropped.

    Raises Refused: there is more, which a person has to bring there another way.
    """
    name, head = branch(store), so_far.commit
    only_events = to == so_far.place and remote_tip and _only_events(store, remote_tip)
    if only_events or _PROTECTED_BRANCH.search(reason.partition("; ")[0]):
        _protect(store, name, protected=True)
    if not (only_events and remote_tip and head):
        if so_far.proposals:
            sent = f"; proposals were sent: {', '.join(so_far.proposals)}"
        else:
            sent = ""
        if reason.startswith(git_network.PRE_PUSH):
            raise Refused(f"{to.name} was not pushed: {reason}{sent}", hint=f"then again: {AGAIN}")
        raise Refused(
            f"{to.remote} does not take pushes to {to.branch}: {reason}{sent}",
            hint=f"push another branch and open a pull request: git push {to.remote}"
            f" {name}:refs/heads/from-{name}; proposals of rules have branches of their own",
        )
    with committing(store), store.writing():
        _drop_ours(store, to, head, remote_tip)
    note = (
        f"{to.name} takes no pushes: nothing is committed on {name} from now on, events stay here"
    )
    return so_far._replace(commit=remote_tip, notes=(*so_far.notes, note))


def _only_events(store: Store, remote_tip: str) -> bool:
    """Whether all that the branch has beyond the remote's are recorded events.

    This clone keeps these anyway.
    """
    paths = changed(store.worktree, remote_tip, "HEAD")
    return all(path.startswith(os.fsencode(f"{store.prefix}{FOLDER}/")) for path in paths)


def _protect(store: Store, name: str, *, protected: bool) -> None:
    """Note in git's settings that the remote takes no pushes to a branch, or that it does."""
    names = dict.fromkeys((plumbing.setting(store.worktree, PROTECTED) or "").split())
    if protected and name not in names:
        plumbing.run(store.worktree, "config", PROTECTED, " ".join((*names, name)))
    elif not protected and names.pop(name, 0) is None:
        plumbing.run(
            store.worktree,
            "config",
            *((PROTECTED, " ".join(names)) if names else ("--unset", PROTECTED)),
        )


def _keep(
    store: Store, network: Network, so_far: Synced, brought: Brought, proposals: Mapping[str, str]
) -> Synced:
    """Keep our side of a conflict on a branch of its own, here and on the remote."""
    head = brought.head or ""
    name = keep(store.worktree, head, brought.torn)
    remote_tip = read_ref(store.worktree, f"refs/remotes/{so_far.place.remote}/{name}")
    if remote_tip == head:
        wishes = proposals
    else:
        wishes = {HEADS + name: head, **proposals}
    sent, unsent, failed = _names(wishes, network.push(wishes))
    return so_far._replace(
        conflicts=torn_now(store, so_far.place),
        kept=name,
        proposals=tuple(branch for branch in sent if branch != name),
        unsent=unsent,
        notes=(*so_far.notes, *failed),
    )


def _names(
    targets: Iterable[str], results: Mapping[str, tuple[str, str]]
) -> tuple[tuple[str, ...], ...]:
    """The branches that were pushed, and those that were refused.

    Also a sentence about each that was not pushed.
    """
    by_name = {}
    for target in targets:
        by_name[target.removeprefix(HEADS)] = results[target]
    pushed, refused = (
        tuple(n for n, (state, _) in by_name.items() if state == s) for s in ("done", "refused")
    )
    return (
        pushed,
        refused,
        tuple(f"{n} was not pushed: {why}" for n, (s, why) in by_name.items() if s != "done"),
    )


def _unpushed_proposals(
    store: Store, remote: str, proposals: Mapping[str, str], upstream: Upstream
) -> tuple[dict[str, str], list[str]]:
    """Open proposals that are newer than the remote's, and notes on diverged ones.

    Older local branches are moved.
    """
    wishes, notes = dict[str, str](), []
    for name, commit in proposals.items():
        remote_tip = read_ref(store.worktree, f"refs/remotes/{remote}/{name}")
        if remote_tip == commit:
            continue
        if remote_tip is None and upstream.had(RemoteBranch(remote, name)):
            notes.append(
                f"{name} was deleted on {remote} and is not sent again; to delete it "
                f"here: git branch -D {name}"
            )
        elif remote_tip is None or plumbing.is_ancestor(store.worktree, remote_tip, commit):
            wishes[HEADS + name] = commit
        elif not plumbing.is_ancestor(store.worktree, commit, remote_tip):
            notes.append(f"{name} says something else here than on {remote}")
        elif not checked_out_at(store.worktree, HEADS + name):
            plumbing.run(
                store.worktree, "update-ref", "-m", "sync", HEADS + name, remote_tip, commit
            )
    return wishes, notes


def _clear(store: Store, network: Network, place: RemoteBranch) -> tuple[str, ...]:
    """Delete the branches of conflicts that are settled and shared."""
    tip = read_ref(store.worktree, place.tracking)
    settled = {
        name: commit
        for name, commit in kept(store.worktree).items()
        if tip and plumbing.is_ancestor(store.worktree, commit, tip)
    }
    if settled:
        on_remote = kept(store.worktree, place.remote)
    else:
        on_remote = {}
    wishes = {HEADS + name: "" for name, commit in settled.items() if on_remote.get(name) == commit}
    results = network.push(wishes)
    for name, commit in settled.items():
        if not checked_out_at(store.worktree, HEADS + name):
            # git checks that it is still at that commit
            plumbing.run(store.worktree, "update-ref", "-d", HEADS + name, commit)
    return _names(wishes, results)[2]
