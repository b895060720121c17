"""What other programs get from us: git its hooks, agent hosts their settings, a shell its completion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ai_lessons.app.scaffold import hooks_dir
from ai_lessons.connectors import agent_hosts, host_changes, managed_hosts
from ai_lessons.connectors.agent_hosts import Host, Target
from ai_lessons.connectors.host_changes import HostChange
from ai_lessons.connectors.managed_hosts import ManagedFile
from ai_lessons.errors import NotFound, Refused, UsageError
from ai_lessons.git import external_files
from ai_lessons.git import hooks as git_hooks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from ai_lessons.app.workspace import Library
    from ai_lessons.model import Where

# of connectors, for the interfaces
__all__ = ["Host", "HostChange", "ManagedFile", "Target"]


def hooks(library: Library, job: HookJob) -> tuple[str, ...]:
    """Put our part into the client hooks, take it out byte for byte, or say which carry it.

    A line for each.

    The last line is about the merge driver, which comes and goes with them.
    """
    return git_hooks.carry_out(library.primary.store.root, hooks_dir(), job)


def check_push(hub: Path, lines: Iterable[str]) -> tuple[str, ...]:
    """Why the push inside the `pre-receive` hook of `hub` is refused, for those who pushed.

    Nothing: it is taken.

    `lines` is what git gives that hook to read. Raises Refused: not such lines. NoRepository,
    NotFound,
    UnsupportedRepository: it cannot be decided, so refuse it.
    """
    from ai_lessons.approval import push_check

    return push_check.check(hub, push_check.parse_updates(lines))


def server_hook(job: HookJob, hub: Path) -> tuple[str, ...]:
    """Put our part into the hub's `pre-receive` hook, take it out again, byte for byte, or say whether it is there.

    Raises NoRepository: no hub there. StorageFailed: it cannot be written.
    """
    from ai_lessons.approval import push_check

    return git_hooks.carry_out_on_server(push_check.git_dir_of(hub), hooks_dir(), job)


HookJob = Literal["install", "uninstall", "status"]

PLUGIN = "claude-code"
NO_HOST = "a host is found by its program on the path or its folder: start it once"
TEXT = "agents.md"


def hosts(at: Where, event: bytes = b"") -> tuple[Host, ...]:
    """The agent hosts of this machine as they are now.

    With an `event` what our programs there answer to it.
    """
    hosts_here = agent_hosts.find_hosts(at)
    if event:
        return host_changes.tried(hosts_here, at, event)
    return hosts_here


def connect(
    at: Where, names: Sequence[str], job: HookJob, agreed: Callable[[Sequence[HostChange]], bool]
) -> tuple[HostChange, ...]:
    """Put our hooks and our server into the user's settings of the hosts found here, or take them out (`uninstall`).

    `agreed` is asked once, with all that changes; a no raises Refused, and nothing is written. NotFound: such a host is
    not found here. Conflict: a file changed meanwhile. StorageFailed.
    """
    host_ids = [host.id for host in hosts(at)]
    if not host_ids:
        raise NotFound("agent host", next(iter(names), "here"), hint=NO_HOST)
    for name in names:
        if name not in host_ids:
            raise NotFound("agent host", name, suggestions=host_ids)
    changes = host_changes.for_user(at, hooks_dir() / PLUGIN, names, job)
    if any(change.before != change.after for change in changes) and not agreed(changes):
        raise Refused(
            "nothing was changed", hint="every line of it: ai-lessons admin hosts --install -v"
        )
    host_changes.carry_out(changes)
    return changes


def place_for_everybody(folder: Path, names: Sequence[str]) -> tuple[ManagedFile, ...]:
    """The settings that hosts take from the administrators of a machine, written below a folder.

    NotFound: no such host has any. StorageFailed.
    """
    files = list(managed_hosts.managed_files(hooks_dir() / PLUGIN, names))
    if not files:
        raise NotFound("settings for everybody of", ", ".join(names))
    return managed_hosts.place_files(folder, files)


def instruct(job: HookJob, cwd: Path, files: Sequence[Path] = ()) -> tuple[str, ...]:
    """Our paragraph in the instruction files of the code repository around `cwd`, or in `files`.

    A line for each.

    Raises UsageError: no code repository there, and no file named. StorageFailed: a file cannot be
    written.
    """
    text = (hooks_dir() / TEXT).read_text(encoding="utf-8")
    lines: list[str] = []
    if files:
        # all are looked at before the first is changed
        for file in [external_files.typed(file, cwd) for file in files]:
            lines.append(f"{file}: {git_hooks.change_marked_part(file, job, text)}")
        return tuple(lines)
    top = external_files.top_of(cwd)
    if top is None:
        raise UsageError(
            f"{cwd} lies in no code repository", hint="--file FILE names one elsewhere"
        )
    for file in git_hooks.files_in(top, every=job != "install"):
        lines.append(f"{file.name}: {git_hooks.change_marked_part(file, job, text)}")
    return tuple(lines)


def complete(file: Path, script: str) -> str:
    """A script in the start file of a shell, in place of an older one; what was done.

    Raises StorageFailed.
    """
    file = external_files.kept(file)
    marks = git_hooks.marks("ai-lessons completion", "# {}")
    return f"{file}: {git_hooks.change_marked_part(file, 'install', script, marks)}"
