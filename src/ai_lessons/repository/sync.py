"""Sharing: fetch, merge (a rebase would flatten approvals), push, and again if another clone was faster.

The network is git's own, with its credentials, proxies and hooks; nothing waits for ever.
"""

from __future__ import annotations

import os
import random
import re
import shlex
import time
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final, NamedTuple

from ai_lessons.errors import Conflict, Refused, StorageFailed, Unreachable
from ai_lessons.knowledge.layout import slug
from ai_lessons.repository import branch_update, git
from ai_lessons.repository.approval.approval_branch import branch_of, proposal_refs
from ai_lessons.repository.loose_files import unshared
from ai_lessons.repository.proposal_commits import HEADS
from ai_lessons.repository.sync_bring import (
    AGAIN,
    Brought,
    RemoteBranch,
    TornEntry,
    branch,
    bring,
    count,
    torn_now,
    where,
)
from ai_lessons.repository.worktree import Worktree, checked_out_at, read_ref

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ai_lessons.repository.git import Done
    from ai_lessons.repository.store import Store
    from ai_lessons.repository.sync_merge import Torn

CONFLICTS: Final = "conflict/"  # Our side of a conflict is a branch below this
_KEEP: Final = "sync: keep our side"

TRIES: Final = 50  # How often another clone may be faster with a push
SECONDS: Final = 300.0  # Longest time for one answer of a remote, typing a password included
_SSH_PATIENCE: Final = ("-oConnectTimeout=20", "-oServerAliveInterval=15", "-oServerAliveCountMax=3")
_HTTP_PATIENCE: Final = ("-c", "http.lowSpeedLimit=1", "-c", "http.lowSpeedTime=30")
_ROW: Final = re.compile(r"([ +\-*!=])\t(\S*):(\S+)\t(.*)")
_RACE: Final = re.compile(
    r"cannot lock ref|failed to (?:update|lock)|incorrect old value|but expected|already exists|remote ref updated"
)

# what git tells of its amounts with `--progress`, and every such line
_AMOUNT: Final = re.compile(rb"((?:Receiving|Writing) objects|Resolving deltas): +\d+% \((\d+)/(\d+)\)")
_AMOUNTS: Final = re.compile(
    r"^(?:remote: )?(?:(?:Enumerating|Counting|Compressing|Receiving|Writing) objects|Resolving deltas"
    r"|Total \d|Delta compression|Done$).*\n?",
    re.MULTILINE,
)


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
    progress: Callable[[str, int, int], object] = lambda *_: None,
) -> Synced:
    """Fetch, merge and push, until both sides are the same or a file needs a person.

    `ask`: a person is at the terminal. `proposals` gives the open proposal branches here, with their commits.
    `progress` is told what is done, how far, and of how much (0: not known).
    Raises as `where` and `bring`; Unreachable; Refused: by the remote. Conflict: others were faster too often.
    """
    place = where(store, remote)
    network = Network(store.worktree, place.remote, ask=ask, progress=progress)
    saved = store.save()
    notes = saved.told
    before = {branch_of(ref) for ref in proposal_refs(store.worktree)}
    received, merged = 0, dict[str, None]()
    for tries in range(1, TRIES + 1):
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
        done = _push(store, network, so_far, own)
        if done is not None:
            return done._replace(notes=(*done.notes, *unshared(store)))
        time.sleep(random.random() * min(1.0, 0.1 * tries))  # noqa: S311 - only spreads the tries out
    raise Conflict(f"{place.name} moved {TRIES} times while we pushed", hint=f"try again: {AGAIN}")


def _push(store: Store, network: Network, so_far: Synced, own: Mapping[str, str]) -> Synced | None:
    """Send what the remote lacks; None if another clone was faster."""
    place, head = so_far.place, so_far.commit
    target = HEADS + place.branch
    there = read_ref(store.worktree, place.tracking)
    mine = {target: head} if head and head != there else {}
    commits = count(store, head, there) if mine and head else 0
    if mine or own:
        network.progress(f"Sending to {place.remote} (commits: {commits:,}, proposals: {len(own):,})", 0, 0)
    told = network.push({**mine, **own})
    state, reason = told.get(target, ("done", ""))
    if state == "late":
        return None
    if state == "refused":
        raise Refused(
            f"{place.remote} does not take pushes to {place.branch}: {reason}",
            hint=f"push another branch and open a pull request: git push {place.remote}"
            f" {place.branch}:refs/heads/from-{branch(store)}; proposals of rules have branches of their own",
        )
    name = branch(store)
    if git.setting(store.worktree, f"branch.{name}.remote") is None:  # plain `git pull` and `git push` shall know it
        git.run(store.worktree, "config", f"branch.{name}.remote", place.remote)
        git.run(store.worktree, "config", f"branch.{name}.merge", target)
    sent, failed = _names(own, told)
    notes = (*so_far.notes, *failed, *_clear(store, network, place))
    return so_far._replace(sent=commits, proposals=sent, notes=notes)


def _keep(store: Store, network: Network, so_far: Synced, brought: Brought, own: Mapping[str, str]) -> Synced:
    """Keep our side of a conflict on a branch of its own, here and where others see it."""
    head = brought.head or ""
    name = keep(store.worktree, head, brought.torn)
    there = read_ref(store.worktree, f"refs/remotes/{so_far.place.remote}/{name}")
    wishes = own if there == head else {HEADS + name: head, **own}
    sent, failed = _names(wishes, network.push(wishes))
    sent = tuple(one for one in sent if one != name)
    return so_far._replace(
        conflicts=torn_now(store, so_far.place), kept=name, proposals=sent, notes=(*so_far.notes, *failed)
    )


def _names(wanted: Iterable[str], told: Mapping[str, tuple[str, str]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The branches that went, and a sentence about each that did not."""
    mine = {target.removeprefix(HEADS): told[target] for target in wanted}
    went = tuple(name for name, (state, _) in mine.items() if state == "done")
    return went, tuple(f"{name} was not pushed: {why}" for name, (state, why) in mine.items() if state != "done")


def _own_proposals(store: Store, remote: str, own: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Open proposals that the remote lacks; of one that others have gone on with, ours goes on, too."""
    wishes, notes = dict[str, str](), []
    for name, commit in own.items():
        there = read_ref(store.worktree, f"refs/remotes/{remote}/{name}")
        if there is None or (there != commit and git.is_ancestor(store.worktree, there, commit)):
            wishes[HEADS + name] = commit
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
    wishes = {HEADS + name: "" for name, commit in mine.items() if there.get(name) == commit}
    told = network.push(wishes)
    for name, commit in mine.items():
        if not checked_out_at(store.worktree, HEADS + name):  # git looks whether it is still at that commit
            git.run(store.worktree, "update-ref", "-d", HEADS + name, commit)
    return _names(wishes, told)[1]


def keep(worktree: Worktree, head: str, torn: Sequence[Torn]) -> str:
    """The branch that keeps our side `head`: that of an earlier look, moved on, or a new one. Raises Conflict."""
    for name, commit in kept(worktree).items():
        if commit == head:
            return name
        if git.is_ancestor(worktree, commit, head) and not checked_out_at(worktree, HEADS + name):
            branch_update.point(worktree, HEADS + name, commit, head, _KEEP)
            return name
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    name = f"{CONFLICTS}{stamp}-{slug(PurePosixPath(torn[0].path).stem)}"
    branch_update.point(worktree, HEADS + name, None, head, _KEEP)
    return name


def kept(worktree: Worktree, remote: str | None = None) -> dict[str, str]:
    """Branches that keep a side of a conflict, here or as far as is known on a remote, with their commits."""
    start = f"refs/remotes/{remote}/" if remote else HEADS
    done = git.run(worktree, "for-each-ref", "--format=%(refname) %(objectname)", start + CONFLICTS)
    rows = [line.split(" ") for line in done.text.splitlines()]
    return {ref.removeprefix(start): commit for ref, commit in rows}


class Network:
    """One remote. `ask`: a person is at the terminal, so git and ssh may ask for a password there, and show amounts."""

    def __init__(
        self, worktree: Worktree, remote: str, *, ask: bool, progress: Callable[[str, int, int], object]
    ) -> None:
        self._worktree, self._remote, self._ask, self.progress = worktree, remote, ask, progress
        self._shown = ("--progress",) if ask else ()

    def _hear(self, piece: bytes) -> None:
        # one piece may hold many amounts, also of what came after it: the last of each sort is told
        for what, done, total in {row[0]: row for row in _AMOUNT.findall(piece)}.values():
            self.progress(what.decode(), int(done), int(total))

    def fetch(self) -> None:
        """Bring what this clone remembers of the remote's branches up to date, gone ones too. Raises Unreachable."""
        # a pulled tree is untrusted: git refuses names and objects that no honest client writes. FETCH_HEAD is what
        # a user's `git pull` leaves while it is at work, so a fetch of ours must not look like one
        flags = ("--prune", "--no-write-fetch-head", "--no-auto-maintenance", "--no-recurse-submodules")
        refs = f"+refs/heads/*:refs/remotes/{self._remote}/*"
        # no log is begun for a branch that is new here: of thousands it is half the time; one that is there goes on
        settings = ("-c", "fetch.fsckObjects=true", "-c", "core.logAllRefUpdates=false")
        self.progress(f"Fetching from {self._remote}", 0, 0)
        done = self._run(*settings, "fetch", *flags, *(self._shown or ("--quiet",)), self._remote, refs)
        if done.code:
            raise self._silent("fetched from", done.err, f"git fetch {self._remote}")

    def push(self, wishes: Mapping[str, str]) -> dict[str, tuple[str, str]]:
        """Push commits (empty: remove) to branches (full refs); none is ever forced. Raises Unreachable.

        How each ended: `done`, `late` (another clone was faster) or `refused`, and why.
        """
        refs = [f"{source}:{target}" for target, source in wishes.items()]
        flags = ("--quiet", "--porcelain", "--recurse-submodules=no", *self._shown)
        if not refs:
            return {}
        done = self._run("push", *flags, self._remote, *refs)
        rows = [row for line in done.text.splitlines() if (row := _ROW.fullmatch(line))]
        if done.code and not rows:
            raise self._silent("pushed to", done.err, f"git push {self._remote}")
        # `--quiet` leaves out what succeeded
        return dict.fromkeys(wishes, ("done", "")) | {row[3]: _state(row[1], row[4], done.err) for row in rows}

    def _run(self, *arguments: str) -> Done:
        extra = {"GIT_TERMINAL_PROMPT": "1" if self._ask else "0", **self._ssh()}
        told = self._hear if self._ask else None
        try:
            done = git.run(self._worktree, *_HTTP_PATIENCE, *arguments, extra=extra, timeout=SECONDS, terminal=told)
        except StorageFailed as error:
            raise Unreachable(
                f"{self._remote} gave no answer within {SECONDS:.0f} seconds",
                hint=f"what you wrote is kept; see whether this works: git fetch {self._remote}",
            ) from error
        return done._replace(err=_AMOUNTS.sub("", done.err))

    def _ssh(self) -> dict[str, str]:
        """The ssh command with a limit to its patience, and without questions where no person could answer."""
        command = git.setting(self._worktree, "core.sshCommand") or "ssh"
        own = os.environ.get("GIT_SSH_COMMAND") or os.environ.get("GIT_SSH")  # who says that knows what it does
        if own or os.path.basename((shlex.split(command) or [""])[0]) != "ssh":
            return {}
        quiet = () if self._ask else ("-oBatchMode=yes",)
        return {"GIT_SSH_COMMAND": " ".join((command, *quiet, *_SSH_PATIENCE))}

    def _silent(self, what: str, err: str, by_hand: str) -> Unreachable:
        fatal = [line for line in err.splitlines() if line.startswith(("fatal: ", "error: ", "remote: ", "ssh: "))]
        reason = (fatal or err.splitlines() or ["git gave no reason"])[0]
        return Unreachable(
            f"nothing was {what} {self._remote}: {reason}",
            hint=f"what you wrote is kept; see whether this works: git -C {self._worktree.top} {by_hand[4:]}",
        )


def _state(flag: str, summary: str, err: str) -> tuple[str, str]:
    if flag != "!":
        return "done", ""
    reason = summary.partition("(")[2].removesuffix(")") or summary
    if summary.startswith("[rejected]") or _RACE.search(reason):
        return "late", reason
    if "remote ref does not exist" in reason:
        return "done", ""  # it was to be removed, and another clone did
    words = [line.removeprefix("remote: ").strip() for line in err.splitlines() if line.startswith("remote: ")]
    said = next((word.removeprefix("error: ") for word in words if word), "")
    return "refused", f"{reason}: {said}" if said and said not in reason else reason
