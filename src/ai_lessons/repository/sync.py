"""Sync: fetch, merge (a rebase would flatten approvals), push, and again if another clone pushed first.

The network is git's own, with its credentials, proxies and hooks; every wait has a limit.
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

TRIES: Final = 50  # How often another clone may push first
SECONDS: Final = 300.0  # The longest time for one answer of a remote, typing a password included
_SSH_PATIENCE: Final = ("-oConnectTimeout=20", "-oServerAliveInterval=15", "-oServerAliveCountMax=3")
_HTTP_PATIENCE: Final = ("-c", "http.lowSpeedLimit=1", "-c", "http.lowSpeedTime=30")
_ROW: Final = re.compile(r"([ +\-*!=])\t(\S*):(\S+)\t(.*)")
_RACE: Final = re.compile(
    r"cannot lock ref|failed to (?:update|lock)|incorrect old value|but expected|already exists|remote ref updated"
)

# amounts in the output of `--progress`, and every line of such output
_AMOUNT: Final = re.compile(rb"((?:Receiving|Writing) objects|Resolving deltas): +\d+% \((\d+)/(\d+)\)")
_AMOUNTS: Final = re.compile(
    r"^(?:remote: )?(?:(?:Enumerating|Counting|Compressing|Receiving|Writing) objects|Resolving deltas"
    r"|Total \d|Delta compression|Done$).*\n?",
    re.MULTILINE,
)


class Synced(NamedTuple):
    """The result of a sync. With `conflicts` nothing was merged, and our side is on the branch `kept`."""

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
        """The remote's branch."""
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

    `ask`: a person is at the terminal. `proposals` returns the open proposal branches here, with their commits.
    `progress` gets the step, the amount done, and the whole amount (0: not known).
    Raises as `where` and `bring`; Unreachable; Refused: by the remote. Conflict: others pushed first too often.
    """
    place = where(store, remote)
    network = Network(store.worktree, place.remote, ask=ask, progress=progress)
    notes = store.save().messages
    before = {branch_of(ref) for ref in proposal_refs(store.worktree)}
    received, merged = 0, dict[str, None]()
    for tries in range(1, TRIES + 1):
        network.fetch()
        brought = bring(store, place)
        received, merged = received + brought.received, merged | dict.fromkeys(brought.merged)
        arrived = tuple(sorted({branch_of(ref) for ref in proposal_refs(store.worktree)} - before))
        unpushed, diverged = _unpushed_proposals(store, place.remote, proposals())
        so_far = Synced(
            *place, received, merged=tuple(merged), arrived=arrived, commit=brought.head, notes=(*notes, *diverged)
        )
        if brought.torn:
            return _keep(store, network, so_far, brought, unpushed)
        synced = _push(store, network, so_far, unpushed)
        if synced is not None:
            return synced._replace(notes=(*synced.notes, *unshared(store)))
        time.sleep(random.random() * min(1.0, 0.1 * tries))  # noqa: S311 - only spreads the tries out
    raise Conflict(f"{place.name} moved {TRIES} times while we pushed", hint=f"try again: {AGAIN}")


def _push(store: Store, network: Network, so_far: Synced, proposals: Mapping[str, str]) -> Synced | None:
    """Push what the remote lacks; None if another clone pushed first."""
    place, head = so_far.place, so_far.commit
    target = HEADS + place.branch
    remote_tip = read_ref(store.worktree, place.tracking)
    ours = {target: head} if head and head != remote_tip else {}
    commits = count(store, head, remote_tip) if ours and head else 0
    if ours or proposals:
        network.progress(f"Sending to {place.remote} (commits: {commits:,}, proposals: {len(proposals):,})", 0, 0)
    results = network.push({**ours, **proposals})
    state, reason = results.get(target, ("done", ""))
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
    sent, failed = _names(proposals, results)
    notes = (*so_far.notes, *failed, *_clear(store, network, place))
    return so_far._replace(sent=commits, proposals=sent, notes=notes)


def _keep(store: Store, network: Network, so_far: Synced, brought: Brought, proposals: Mapping[str, str]) -> Synced:
    """Keep our side of a conflict on a branch of its own, here and on the remote."""
    head = brought.head or ""
    name = keep(store.worktree, head, brought.torn)
    remote_tip = read_ref(store.worktree, f"refs/remotes/{so_far.place.remote}/{name}")
    wishes = proposals if remote_tip == head else {HEADS + name: head, **proposals}
    sent, failed = _names(wishes, network.push(wishes))
    return so_far._replace(
        conflicts=torn_now(store, so_far.place),
        kept=name,
        proposals=tuple(branch for branch in sent if branch != name),
        notes=(*so_far.notes, *failed),
    )


def _names(targets: Iterable[str], results: Mapping[str, tuple[str, str]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The branches that were pushed, and a sentence about each that was not."""
    by_name = {target.removeprefix(HEADS): results[target] for target in targets}
    pushed = tuple(name for name, (state, _) in by_name.items() if state == "done")
    return pushed, tuple(f"{name} was not pushed: {why}" for name, (state, why) in by_name.items() if state != "done")


def _unpushed_proposals(store: Store, remote: str, proposals: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Open proposals that are newer than the remote's, and notes on diverged ones; older local branches are moved."""
    wishes, notes = dict[str, str](), []
    for name, commit in proposals.items():
        remote_tip = read_ref(store.worktree, f"refs/remotes/{remote}/{name}")
        if remote_tip == commit:
            continue
        if remote_tip is None or git.is_ancestor(store.worktree, remote_tip, commit):
            wishes[HEADS + name] = commit
        elif not git.is_ancestor(store.worktree, commit, remote_tip):
            notes.append(f"{name} says something else here than on {remote}")
        elif not checked_out_at(store.worktree, HEADS + name):
            git.run(store.worktree, "update-ref", "-m", "sync", HEADS + name, remote_tip, commit)
    return wishes, notes


def _clear(store: Store, network: Network, place: RemoteBranch) -> tuple[str, ...]:
    """Delete the branches of conflicts that are settled and shared."""
    tip = read_ref(store.worktree, place.tracking)
    settled = {
        name: commit
        for name, commit in kept(store.worktree).items()
        if tip and git.is_ancestor(store.worktree, commit, tip)
    }
    on_remote = kept(store.worktree, place.remote)
    wishes = {HEADS + name: "" for name, commit in settled.items() if on_remote.get(name) == commit}
    results = network.push(wishes)
    for name, commit in settled.items():
        if not checked_out_at(store.worktree, HEADS + name):  # git checks that it is still at that commit
            git.run(store.worktree, "update-ref", "-d", HEADS + name, commit)
    return _names(wishes, results)[1]


def keep(worktree: Worktree, head: str, torn: Sequence[Torn]) -> str:
    """The branch that keeps our side `head`: that of an earlier sync, moved on, or a new one. Raises Conflict."""
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
    """Branches that keep a side of a conflict, here or on a remote as of the last fetch, with their commits."""
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

    def _show_progress(self, output: bytes) -> None:
        # a piece of output may hold many amounts: the last of each step is shown
        for step, done, total in {row[0]: row for row in _AMOUNT.findall(output)}.values():
            self.progress(step.decode(), int(done), int(total))

    def fetch(self) -> None:
        """Update the remote-tracking branches, and delete those of deleted branches. Raises Unreachable."""
        # a pulled tree is untrusted: with fsckObjects git refuses objects that no honest client writes.
        # FETCH_HEAD marks a running `git pull` of the user, so our fetch does not write it
        flags = ("--prune", "--no-write-fetch-head", "--no-auto-maintenance", "--no-recurse-submodules")
        refs = f"+refs/heads/*:refs/remotes/{self._remote}/*"
        # no reflog is started for new branches: for thousands it takes half the time
        settings = ("-c", "fetch.fsckObjects=true", "-c", "core.logAllRefUpdates=false")
        self.progress(f"Fetching from {self._remote}", 0, 0)
        done = self._run(*settings, "fetch", *flags, *(self._shown or ("--quiet",)), self._remote, refs)
        if done.code:
            raise self._unreachable("fetched from", done.err, f"fetch {self._remote}")

    def push(self, wishes: Mapping[str, str]) -> dict[str, tuple[str, str]]:
        """Push commits (empty: remove) to branches (full refs), never with force. Raises Unreachable.

        The result of each branch: `done`, `late` (another clone pushed first) or `refused`, and why.
        """
        refs = [f"{source}:{target}" for target, source in wishes.items()]
        flags = ("--quiet", "--porcelain", "--recurse-submodules=no", *self._shown)
        if not refs:
            return {}
        done = self._run("push", *flags, self._remote, *refs)
        rows = [row for line in done.text.splitlines() if (row := _ROW.fullmatch(line))]
        if done.code and not rows:
            raise self._unreachable("pushed to", done.err, f"push {self._remote}")
        # `--quiet` leaves out what succeeded
        return dict.fromkeys(wishes, ("done", "")) | {row[3]: _state(row[1], row[4], done.err) for row in rows}

    def _run(self, *arguments: str) -> Done:
        extra = {"GIT_TERMINAL_PROMPT": "1" if self._ask else "0", **self._ssh()}
        show = self._show_progress if self._ask else None
        try:
            done = git.run(self._worktree, *_HTTP_PATIENCE, *arguments, extra=extra, timeout=SECONDS, terminal=show)
        except StorageFailed as error:
            raise Unreachable(
                f"{self._remote} gave no answer within {SECONDS:.0f} seconds",
                hint=f"what you wrote is kept; see whether this works: git fetch {self._remote}",
            ) from error
        return done._replace(err=_AMOUNTS.sub("", done.err))

    def _ssh(self) -> dict[str, str]:
        """The ssh command with timeouts, and without questions where no person could answer; not the user's own."""
        command = git.setting(self._worktree, "core.sshCommand") or "ssh"
        from_environment = os.environ.get("GIT_SSH_COMMAND") or os.environ.get("GIT_SSH")
        if from_environment or os.path.basename((shlex.split(command) or [""])[0]) != "ssh":
            return {}
        quiet = () if self._ask else ("-oBatchMode=yes",)
        return {"GIT_SSH_COMMAND": " ".join((command, *quiet, *_SSH_PATIENCE))}

    def _unreachable(self, what: str, err: str, command: str) -> Unreachable:
        fatal = [line for line in err.splitlines() if line.startswith(("fatal: ", "error: ", "remote: ", "ssh: "))]
        reason = (fatal or err.splitlines() or ["git gave no reason"])[0]
        return Unreachable(
            f"nothing was {what} {self._remote}: {reason}",
            hint=f"what you wrote is kept; see whether this works: git -C {self._worktree.top} {command}",
        )


def _state(flag: str, summary: str, err: str) -> tuple[str, str]:
    if flag != "!":
        return "done", ""
    reason = summary.partition("(")[2].removesuffix(")") or summary
    if summary.startswith("[rejected]") or _RACE.search(reason):
        return "late", reason
    if "remote ref does not exist" in reason:
        return "done", ""  # another clone has removed it
    lines = (line.removeprefix("remote: ").strip() for line in err.splitlines() if line.startswith("remote: "))
    message = next((line.removeprefix("error: ") for line in lines if line), "")
    return "refused", f"{reason}: {message}" if message and message not in reason else reason
