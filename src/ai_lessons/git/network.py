"""Fetch from a remote and push to it, with a time limit, and why it failed in words."""

from __future__ import annotations

import os
import re
import shlex
from typing import TYPE_CHECKING, Final

from ai_lessons.errors import StorageFailed, Unreachable
from ai_lessons.git.plumbing import Done, hooks_folder, online, run, setting
from ai_lessons.model import expression

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ai_lessons.git.worktree import Worktree


# The longest time for one answer of a remote, typing a password included
REMOTE_SECONDS: Final = 300.0
_SSH_PATIENCE: Final = (
    "-oConnectTimeout=20",
    "-oServerAliveInterval=15",
    "-oServerAliveCountMax=3",
)


_HTTP_PATIENCE: Final = ("-c", "http.lowSpeedLimit=1", "-c", "http.lowSpeedTime=30")
_ROW: Final = expression(r"([ +\-*!=])\t(\S*):([^\s:]+)\t(.*)")
PRE_PUSH: Final = "your hook pre-push refused it"
# Git's last line, which names no reason
_PUSH_FAILED: Final = "error: failed to push some refs"
# Lines of a hook that are shown
_HOOK_LINES: Final = 10
_RACE: Final = expression(
    r"cannot lock ref|failed to (?:update|lock)|incorrect old value|but expected|already "
    r"exists|remote ref updated"
)


# amounts in the output of `--progress`, and every line of such output
_AMOUNT: Final = expression(
    rb"((?:Receiving|Writing) objects|Resolving deltas): +\d+% \((\d+)/(\d+)\)"
)


_AMOUNTS: Final = expression(
    r"^(?:remote: )?(?:(?:Enumerating|Counting|Compressing|Receiving|Writing) objects|Resolving deltas"
    r"|Total \d|Delta compression|Done$).*\n?",
    re.MULTILINE,
)


class Network:
    """One remote. `ask`.

    A person is at the terminal, so git and ssh may ask for a password there, and show amounts.
    """

    def __init__(
        self,
        worktree: Worktree,
        remote: str,
        *,
        ask: bool,
        progress: Callable[[str, int, int], object],
        beside: Sequence[str] = (),
    ) -> None:
        """`beside`: what is fetched beside the branches, as refspecs."""
        self._worktree, self._remote, self._ask, self.progress = worktree, remote, ask, progress
        self._beside = beside
        self._shown = ("--progress",) if ask else ()

    def _show_progress(self, output: bytes) -> None:
        # a piece of output may hold many amounts: the last of each step is shown
        for step, done, total in {row[0]: row for row in _AMOUNT.findall(output)}.values():
            self.progress(step.decode(), int(done), int(total))

    def fetch(self) -> None:
        """Update the remote-tracking branches, and delete those of deleted branches.

        Raises Unreachable.
        """
        self._fetch(f"+refs/heads/*:refs/remotes/{self._remote}/*", *self._beside)

    def fetch_beside(self) -> None:
        """Update what lies beside the branches alone. Raises Unreachable."""
        self._fetch(*self._beside)

    def _fetch(self, *refs: str) -> None:
        # a pulled tree is untrusted: with fsckObjects git refuses objects that no honest client
        # writes. FETCH_HEAD marks a running `git pull` of the user, so our fetch does not write it
        flags = (
            "--prune",
            "--no-write-fetch-head",
            "--no-auto-maintenance",
            "--no-recurse-submodules",
        )
        # no reflog is started for new branches: for thousands it takes half the time
        settings = ("-c", "fetch.fsckObjects=true", "-c", "core.logAllRefUpdates=false")
        self.progress(f"Fetching from {self._remote}", 0, 0)
        done = self._run(
            *settings, "fetch", *flags, *(self._shown or ("--quiet",)), self._remote, *refs
        )
        if done.code:
            raise self._unreachable("fetched from", done.err, f"fetch {self._remote}")

    def main_branch(self) -> str:
        """The branch that a new clone checks out; empty if the remote names none.

        Raises Unreachable.
        """
        head = self._run("ls-remote", "--symref", self._remote, "HEAD").text.partition("\t")[0]
        if head.startswith("ref: refs/heads/"):
            return head.removeprefix("ref: refs/heads/")
        return ""

    def push(self, wishes: Mapping[str, str]) -> dict[str, tuple[str, str]]:
        """Push commits (empty: remove) to branches (full refs), never with force.

        Raises Unreachable.

        The result of each branch: `done`, `late` (another clone pushed first) or `refused`, and
        why.
        """
        if wishes:
            return self._push(wishes)
        return {}

    def replace(self, ref: str, commit: str, before: str | None) -> tuple[str, str]:
        """Let a ref that is no branch be another commit, if it is still what it was `before`.

        The result as of `push`.

        Raises Unreachable.
        """
        return self._push({ref: commit}, f"--force-with-lease={ref}:{before or ''}")[ref]

    def _push(self, wishes: Mapping[str, str], *options: str) -> dict[str, tuple[str, str]]:
        refs = []
        for target, source in wishes.items():
            refs.append(f"{source}:{target}")
        flags = ("--quiet", "--porcelain", "--recurse-submodules=no", *options, *self._shown)
        done = self._run("push", *flags, self._remote, *refs)
        rows = [row for line in done.text.splitlines() if (row := _ROW.fullmatch(line))]
        if done.code and not rows:
            if done.code == 1 and (reason := self._hook_reason(done)):
                return dict.fromkeys(wishes, ("refused", reason))
            raise self._unreachable("pushed to", done.err, f"push {self._remote}")
        # `--quiet` leaves out what succeeded
        return dict.fromkeys(wishes, ("done", "")) | {
            row[3]: _state(row[1], row[4], done.err) for row in rows
        }

    def _hook_reason(self, done: Done) -> str:
        """What the hook `pre-push` printed, where it ended the push; empty where there is none."""
        if not os.access(hooks_folder(self._worktree) / "pre-push", os.X_OK):
            return ""
        lines = (line.strip() for line in f"{done.err}\n{done.text}".splitlines())
        words = []
        for line in lines:
            if any(map(str.isalnum, line)) and not line.startswith((_PUSH_FAILED, "To ")):
                words.append(line)
        return f"{PRE_PUSH}: " + ("; ".join(words[:_HOOK_LINES]) or "it gave no reason")

    @online()
    def _run(self, *arguments: str) -> Done:
        extra = {"GIT_TERMINAL_PROMPT": "1" if self._ask else "0", **self._ssh()}
        show = None
        if self._ask:
            show = self._show_progress
        try:
            done = run(
                self._worktree,
                *_HTTP_PATIENCE,
                *arguments,
                extra=extra,
                timeout=REMOTE_SECONDS,
                terminal=show,
            )
        except StorageFailed as error:
            raise Unreachable(
                f"{self._remote} gave no answer within {REMOTE_SECONDS:.0f} seconds",
                hint=f"what you wrote is kept; see whether this works: git fetch {self._remote}",
            ) from error
        return done._replace(err=_AMOUNTS.sub("", done.err))

    def _ssh(self) -> dict[str, str]:
        """The ssh command with timeouts, and without questions where no person could answer.

        Not the user's own.
        """
        command = setting(self._worktree, "core.sshCommand") or "ssh"
        from_environment = os.environ.get("GIT_SSH_COMMAND") or os.environ.get("GIT_SSH")
        if from_environment or os.path.basename((shlex.split(command) or [""])[0]) != "ssh":
            return {}
        quiet = () if self._ask else ("-oBatchMode=yes",)
        return {"GIT_SSH_COMMAND": " ".join((command, *quiet, *_SSH_PATIENCE))}

    def _unreachable(self, what: str, err: str, command: str) -> Unreachable:
        reason, advice = why(err)
        hint = (
            f"what you wrote is kept; see whether this works: git -C {self._worktree.top} {command}"
        )
        return Unreachable(
            f"nothing was {what} {self._remote}: {reason}",
            hint=f"{advice}; {hint}" if advice else hint,
        )


# Lines of git and ssh that say nothing of the reason, or less than one above them.
_NOISE = expression(
    r"Cloning into |From |To |hint: |Warning: Permanently added|fatal: Could not read from remote repository"
    r"|fatal: the remote end hung up|Please make sure you have the correct access|and the repository exists|\W*$"
)


_ADVICE = (
    ("REMOTE HOST IDENTIFICATION HAS CHANGED",
     ("the server shows another key than before: compare it with the one that it publishes, then ssh-keygen -R SERVER")),
    ("Host key verification failed",
     ("ssh does not trust this server: connect to it once with ssh, and compare its key with the one that it publishes")),
    (r"Permission denied \(|Too many authentication failures",
     ("the server took no key of yours: ssh-add -l lists those that ssh offers, and your account there has to know one")),
    (("Authentication failed|could not read (?:Username|Password)|terminal prompts disabled|Invalid username"),
     "git could not sign in: a credential helper or a token does, or an address over ssh"),
    (("(?i)repository .*not found|does not appear to be a git repository|does not exist|project .* not be found"),
     "look at the address; a server also says so of a repository that you may not read"),
    ((r"Permission to \S+ denied|returned error: 403|[Nn]ot allowed to push|Write access to repository not granted"),
     ("your account may not do that there: ask for the right, or sync with a copy of the repository that is yours")),
    ("(?i)certificate", ("git does not trust the certificate of this server: http.sslCAInfo names one that it may")),
    (("Could not resolve host|Network is unreachable|Connection (?:timed|refused|closed by|reset by)|Operation timed"),
     "look at the network and at the name of the server"),
)  # fmt: skip


def why(err: str) -> tuple[str, str]:
    """Why git failed on the network, in its own words and on one line, and what helps.

    Empty where that is not known.

    The reason of ssh or of the server stands above the last line, which only says that nothing
    could be read.
    """
    lines = []
    for line in err.splitlines():
        lines.append(line.strip("@ \t"))
    reasons = list(dict.fromkeys(line for line in lines if not _NOISE.match(line)))
    blamed = [line for line in reasons if any(re.search(pattern, line) for pattern, _ in _ADVICE)]
    # three lines of git say enough
    words = (blamed or reasons or [line for line in lines if line][-1:] or ["git gave no reason"])[
        :3
    ]
    advice = next(
        (advice for pattern, advice in _ADVICE if re.search(pattern, "\n".join(words))), ""
    )
    return "; ".join(words), advice


def _state(flag: str, summary: str, err: str) -> tuple[str, str]:
    if flag != "!":
        return "done", ""
    reason = summary.partition("(")[2].removesuffix(")") or summary
    if summary.startswith("[rejected]") or _RACE.search(reason):
        return "late", reason
    if "remote ref does not exist" in reason:
        # another clone has removed it
        return "done", ""
    lines = (
        line.removeprefix("remote: ").strip()
        for line in err.splitlines()
        if line.startswith("remote: ")
    )
    words = []
    for line in lines:
        if any(map(str.isalnum, line)):
            words.append(line.removeprefix("error: "))
    message = "; ".join(words[:_HOOK_LINES])
    return "refused", f"{reason}: {message}" if message and message not in reason else reason
