"""Talking to a remote, through the git program only: credentials, proxies and hooks are its. Nothing waits for ever."""

from __future__ import annotations

import os
import re
import shlex
from typing import TYPE_CHECKING, Final, NamedTuple

from ai_lessons.errors import NotFound, StorageFailed, Unreachable
from ai_lessons.repository import git

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_lessons.repository.git import Done
    from ai_lessons.repository.worktree import Worktree

SECONDS: Final = 300.0  # Longest time for one answer of a remote, typing a password included
_SSH_PATIENCE: Final = ("-oConnectTimeout=20", "-oServerAliveInterval=15", "-oServerAliveCountMax=3")
_HTTP_PATIENCE: Final = ("-c", "http.lowSpeedLimit=1", "-c", "http.lowSpeedTime=30")
_ROW: Final = re.compile(r"([ +\-*!=])\t(\S*):(\S+)\t(.*)")
_RACE: Final = re.compile(
    r"cannot lock ref|failed to (?:update|lock)|incorrect old value|but expected|already exists|remote ref updated"
)


class RemoteBranch(NamedTuple):
    """Where a branch is shared: the remote, and the branch's name there."""

    remote: str
    branch: str

    @property
    def tracking(self) -> str:
        """Where this clone remembers what the remote's branch is."""
        return f"refs/remotes/{self.remote}/{self.branch}"

    @property
    def name(self) -> str:
        """As git prints it: `origin/main`."""
        return f"{self.remote}/{self.branch}"


class Push(NamedTuple):
    """What shall be where on the remote: `source` is a commit, empty to remove the branch `target` (a full ref)."""

    source: str
    target: str


class PushResult(NamedTuple):
    """How a push ended for one branch: `state` is `done`, `late` (somebody was faster) or `refused`, with the words."""

    target: str
    state: str
    reason: str = ""


def place_of(worktree: Worktree, branch: str, remote: str | None) -> RemoteBranch:
    """Where `branch` is shared: the remote named, configured, the only one, or `origin`. Raises NotFound."""
    remotes = git.run(worktree, "remote").text.split()
    configured = git.setting(worktree, f"branch.{branch}.remote")
    found = remote or (configured if configured in remotes else None)
    if found is None:
        found = remotes[0] if len(remotes) == 1 else "origin"
    if found not in remotes:
        hint = "git remote add origin ADDRESS" if not remotes else "--remote takes one of: " + ", ".join(remotes)
        raise NotFound("remote", found, hint=hint)
    merge = git.setting(worktree, f"branch.{branch}.merge") if found == configured else None
    return RemoteBranch(found, (merge or branch).removeprefix("refs/heads/"))


class Network:
    """One remote. `ask`: somebody is at the terminal, so git and ssh may ask for a password there."""

    def __init__(self, worktree: Worktree, remote: str, *, ask: bool) -> None:
        self._worktree, self._remote, self._ask = worktree, remote, ask

    def fetch(self) -> None:
        """Bring what this clone remembers of the remote's branches up to date, gone ones too. Raises Unreachable."""
        # a pulled tree is untrusted: git refuses names and objects that no honest client writes. FETCH_HEAD is what
        # a user's `git pull` leaves while it is at work, so a fetch of ours must not look like one
        flags = ("--quiet", "--prune", "--no-write-fetch-head", "--no-auto-maintenance", "--no-recurse-submodules")
        refs = f"+refs/heads/*:refs/remotes/{self._remote}/*"
        # no log is begun for a branch that is new here: of thousands it is half the time; one that is there goes on
        settings = ("-c", "fetch.fsckObjects=true", "-c", "core.logAllRefUpdates=false")
        done = self._run(*settings, "fetch", *flags, self._remote, refs)
        if done.code:
            raise self._silent("fetched from", done.err, f"git fetch {self._remote}")

    def push(self, wishes: Sequence[Push]) -> tuple[PushResult, ...]:
        """Push several branches; each succeeds or fails by itself, none is ever forced. Raises Unreachable."""
        refs = [f"{wish.source}:{wish.target}" for wish in wishes]
        done = self._run("push", "--quiet", "--porcelain", "--recurse-submodules=no", self._remote, *refs)
        rows = [row for line in done.text.splitlines() if (row := _ROW.fullmatch(line))]
        if not rows:
            if done.code:
                raise self._silent("pushed to", done.err, f"git push {self._remote}")
            return tuple(PushResult(wish.target, "done") for wish in wishes)
        told = {row[3]: _state(row[1], row[4], done.err) for row in rows}
        # `--quiet` leaves out what succeeded
        return tuple(PushResult(wish.target, *told.get(wish.target, ("done", ""))) for wish in wishes)

    def _run(self, *arguments: str) -> Done:
        extra = {"GIT_TERMINAL_PROMPT": "1" if self._ask else "0", **self._ssh()}
        try:
            return git.run(
                self._worktree, *_HTTP_PATIENCE, *arguments, extra=extra, timeout=SECONDS, terminal=self._ask
            )
        except StorageFailed as error:
            raise Unreachable(
                f"{self._remote} gave no answer within {SECONDS:.0f} seconds",
                hint=f"what you wrote is kept; see whether this works: git fetch {self._remote}",
            ) from error

    def _ssh(self) -> dict[str, str]:
        """The ssh command with a limit to its patience, and without questions where nobody could answer."""
        configured = git.setting(self._worktree, "core.sshCommand")
        if os.environ.get("GIT_SSH_COMMAND") or os.environ.get("GIT_SSH"):
            return {}  # whoever says that knows what it does
        command = configured or "ssh"
        if os.path.basename((shlex.split(command) or [""])[0]) != "ssh":
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
        return "done", ""  # it was to be removed, and somebody did
    words = [line.removeprefix("remote: ").strip() for line in err.splitlines() if line.startswith("remote: ")]
    said = next((word.removeprefix("error: ") for word in words if word), "")
    return "refused", f"{reason}: {said}" if said and said not in reason else reason
