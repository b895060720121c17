"""Jobs of a hub: the repository that people push to, usually without files. No library is opened for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

LISTED = 20
"""So many reasons are named; who pushes reads them in a terminal."""


@dataclass(frozen=True, slots=True)
class PushChecked:
    """Why a push is refused, for those who pushed; nothing: it is taken. `more` counts reasons that are not listed."""

    refused: tuple[str, ...]
    more: int = 0


def check_push(hub: Path, lines: Iterable[str]) -> PushChecked:
    """Decide about a push inside the `pre-receive` hook of `hub`; `lines` is what git gives that hook to read.

    Raises:
        Refused: not such lines. NoRepository, NotFound, UnsupportedRepository: it cannot be decided, so refuse it.
    """
    from ai_lessons.repository import push_check

    found = push_check.check(hub, push_check.parse_updates(lines))
    return PushChecked(found[:LISTED], max(len(found) - LISTED, 0))


def hook_install(hub: Path) -> tuple[str, ...]:
    """Put our part into the hub's `pre-receive` hook; a line about it.

    Raises:
        NoRepository: no hub there. StorageFailed: it cannot be written.
    """
    from ai_lessons.repository import git_hooks, push_check, scaffold

    return git_hooks.install_server_hook(push_check.git_dir_of(hub), scaffold.hooks_dir())


def hook_uninstall(hub: Path) -> tuple[str, ...]:
    """Take our part out again, byte for byte."""
    from ai_lessons.repository import git_hooks, push_check, scaffold

    return git_hooks.uninstall_server_hook(push_check.git_dir_of(hub), scaffold.hooks_dir())


def hook_status(hub: Path) -> tuple[str, ...]:
    """Whether the hub checks what is pushed to it."""
    from ai_lessons.repository import git_hooks, push_check, scaffold

    return git_hooks.server_hook_status(push_check.git_dir_of(hub), scaffold.hooks_dir())
