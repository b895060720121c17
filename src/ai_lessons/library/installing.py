"""Jobs around agent hosts: which there are, and putting our hooks and our paragraph there. No library is opened."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Literal

from ai_lessons.errors import UsageError
from ai_lessons.repository import agent_files, agent_hosts, outside, scaffold
from ai_lessons.repository.agent_hosts import Host, Target

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["Host", "Target", "hosts", "instruct", "register"]

Job = Literal["install", "uninstall", "status"]

FOLDERS = tuple(kind.variable for kind in agent_hosts.KINDS if kind.variable)
"""Variables of the environment by which a user moves a host's folder."""

REGISTERED = ("claude-code",)
"""Hosts whose hooks we can register."""

PLUGIN = "claude-code"
TEXT = "agents.md"


def hosts(home: Path, path: str, folders: Mapping[str, str], cwd: Path) -> tuple[Host, ...]:
    """The agent hosts of this machine as they are now. `folders` holds those of `FOLDERS` that are set."""
    project = outside.top_of(cwd) or cwd
    return agent_hosts.look(agent_hosts.Where(home, path, folders, project))


def instruct(job: Job, cwd: Path, files: Sequence[Path] = ()) -> tuple[str, ...]:
    """Our paragraph in the instruction files of the code repository around `cwd`, or in `files`; a line for each.

    Raises:
        UsageError: no code repository there, and no file named. StorageFailed: a file cannot be written.
    """
    text = (scaffold.hooks_dir() / TEXT).read_text(encoding="utf-8")
    if files:
        return tuple(f"{file}: {agent_files.carry_out(file, job, text)}" for file in files)
    top = _top(cwd, "--file FILE names one elsewhere")
    chosen = agent_files.files_in(top, every=job != "install")
    return tuple(f"{file.name}: {agent_files.carry_out(file, job, text)}" for file in chosen)


def register(job: Job, cwd: Path) -> tuple[str, ...]:
    """Our hooks and our server in the settings of Claude Code in the code repository around `cwd`; a line for each.

    Raises:
        UsageError: no code repository there. StorageFailed: a file cannot be written.
    """
    top = _top(cwd, "for all your projects: " + _by_plugin())
    lines = agent_hosts.carry_out(top, scaffold.hooks_dir() / PLUGIN, job)
    return lines if job == "uninstall" else (*lines, f"for all your projects instead: {_by_plugin()}")


def _by_plugin() -> str:
    plugin = shlex.quote(str(scaffold.hooks_dir() / PLUGIN))
    return f"claude plugin marketplace add {plugin} && claude plugin install ai-lessons@ai-lessons"


def _top(cwd: Path, hint: str) -> Path:
    top = outside.top_of(cwd)
    if top is None:
        raise UsageError(f"{cwd} lies in no code repository", hint=hint)
    return top
