"""Git's hooks, beside those that are there: our part stands between two markers and comes out byte for byte.

Never sets `core.hooksPath`, never writes to a tracked file, to a folder that other repositories use too, or to a hook
that another tool makes; says instead what to add there. Client hooks are advice, not a wall; the server hook of a hub
is one, for everybody who cannot write the hub's files.
"""

from __future__ import annotations

import os
import re
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ai_lessons.repository import git
from ai_lessons.repository.files import translated
from ai_lessons.repository.worktree import as_hub, locate

if TYPE_CHECKING:
    from collections.abc import Callable

NAMES = ("pre-commit", "post-merge", "post-checkout")
SERVER_NAMES = ("pre-receive",)
_BEGIN, _END = b"# >>> ai-lessons >>>", b"# <<< ai-lessons <<<\n"
_PART = re.compile(rb"\n" + re.escape(_BEGIN) + rb".*?" + re.escape(_END), re.DOTALL)
_SHELL = re.compile(rb"#!\s*(?:/usr/bin/env\s+(?:-S\s+)?)?(?:\S*/)?(?:sh|bash|dash|ash|ksh|zsh)(?:\s[^\n]*)?\n")
_LEAVES = re.compile(rb"\n[ \t]*(?:exit|exec)\b[^\n]*\s*\Z")
_MANAGERS = {b"pre-commit.com": "pre-commit", b"lefthook": "lefthook", b"husky": "husky", b"overcommit": "overcommit"}
_ADVICE = "have it run: ai-lessons --repo . admin validate"
_SERVER_ADVICE = "have it run, with its standard input: ai-lessons admin check-push"


@dataclass(frozen=True, slots=True)
class HookPlan:
    """What to do with one hook file. `data` None: leave it alone, and `says` is why; else its new content."""

    says: str
    data: bytes | None = None
    remove: bool = False


def install_hooks(root: Path, scripts: Path) -> tuple[str, ...]:
    """Put our part into the repository's hooks (`scripts` holds them, see `scaffold.hooks_dir`); a line for each.

    Doing it twice changes nothing; a part of an older version is replaced.

    Raises:
        NoRepository and its like: see `worktree.locate`. StorageFailed: the folder cannot be written.
    """
    return _each(_client(root), lambda name, there, mode: plan_install(there, mode, (scripts / name).read_bytes()))


def uninstall_hooks(root: Path, scripts: Path) -> tuple[str, ...]:
    """Take our part out again; a hook that held nothing else is removed. A line for each."""
    return _each(_client(root), lambda name, there, _mode: plan_uninstall(there, (scripts / name).read_bytes()))


def hooks_status(root: Path, scripts: Path) -> tuple[str, ...]:
    """A line for each hook: installed, from another version, or not. Changes nothing."""
    return _each(_client(root), lambda name, there, _mode: _look(there, (scripts / name).read_bytes()))


def install_server_hook(git_dir: Path, scripts: Path) -> tuple[str, ...]:
    """The same for the hook by which a hub (its git directory) enforces the policy on those who push to it.

    Our part comes first in the file and hands on what git tells the hook, because a part before it that reads
    standard input would leave nothing for ours.
    """

    def decide(name: str, there: bytes | None, mode: int) -> HookPlan:
        script = (scripts / name).read_bytes()
        return plan_install(there, mode, script, first=True, advice=_SERVER_ADVICE)

    return _each(_server(git_dir), decide)


def uninstall_server_hook(git_dir: Path, scripts: Path) -> tuple[str, ...]:
    """Take it out of a hub again."""
    return _each(_server(git_dir), lambda name, there, _mode: plan_uninstall(there, (scripts / name).read_bytes()))


def server_hook_status(git_dir: Path, scripts: Path) -> tuple[str, ...]:
    """Whether a hub enforces the policy. Changes nothing."""
    return _each(_server(git_dir), lambda name, there, _mode: _look(there, (scripts / name).read_bytes()))


def _look(there: bytes | None, script: bytes) -> HookPlan:
    part = _PART.search(there or b"")
    if part is None:
        return HookPlan("not installed")
    same = part[0] == _part_of(script)
    return HookPlan("installed" if same else "installed, but not the part of this version: install again")


def plan_install(
    there: bytes | None, mode: int, script: bytes, *, first: bool = False, advice: str = _ADVICE
) -> HookPlan:
    """What becomes of a hook with this content (None: there is none) and mode. Touches nothing.

    Our part goes to the end, or (`first`) right below the line that names the shell; `advice` says what to do where
    the hook has to be left alone.
    """
    if there is None:
        return HookPlan("installed", script)
    part = _part_of(script)
    found = _PART.search(there)
    if found:
        new = there[: found.start()] + part + there[found.end() :]
        return HookPlan("already installed") if new == there else HookPlan("brought up to date", new)
    manager = next((tool for mark, tool in _MANAGERS.items() if mark in there), None)
    if manager:
        return HookPlan(f"left alone, it belongs to {manager}: {advice}")
    if not _SHELL.match(there):
        return HookPlan(f"left alone, it is not a shell script: {advice}")
    if not mode & 0o111:
        return HookPlan(f"left alone, it is switched off (not executable): {advice}")
    if first:
        shell = _SHELL.match(there)
        end = shell.end() if shell else 0
        return HookPlan("installed before what was there", there[:end] + part + there[end:])
    late = "; but its last line leaves before our part is reached" if _LEAVES.search(there) else ""
    return HookPlan("installed beside what was there" + late, there + part)


def plan_uninstall(there: bytes | None, script: bytes) -> HookPlan:
    """What becomes of a hook when our part goes. Touches nothing."""
    if there is None or not _PART.search(there):
        return HookPlan("not installed")
    rest = _PART.sub(b"", there, count=1)
    if rest == _PART.sub(b"", script, count=1):
        return HookPlan("removed", b"", remove=True)
    return HookPlan("taken out", rest)


def _part_of(script: bytes) -> bytes:
    part = _PART.search(script)
    if part is None:
        raise AssertionError("a hook of ours without its markers")
    return part[0]


@dataclass(frozen=True, slots=True)
class _Place:
    """Where hooks of these names lie; `folder` None: not to be touched, and `reason` is why."""

    names: tuple[str, ...]
    folder: Path | None
    reason: str
    advice: str


def _each(place: _Place, decide: Callable[[str, bytes | None, int], HookPlan]) -> tuple[str, ...]:
    if place.folder is None:
        return (place.reason,)
    return tuple(f"{name}: {_carry_out(place.folder / name, name, decide, place.advice)}" for name in place.names)


def _client(root: Path) -> _Place:
    return _Place(NAMES, *_hooks_folder(root), _ADVICE)


def _server(git_dir: Path) -> _Place:
    """A hub's hooks. One that runs the hooks of all repositories of a machine from elsewhere is left alone."""
    where = git.setting(as_hub(git_dir), "core.hooksPath", kind="path")
    own = git_dir / "hooks"
    if where is None or Path(os.path.abspath(git_dir / where)).resolve() == own.resolve():
        return _Place(SERVER_NAMES, own, "", _SERVER_ADVICE)
    return _Place(SERVER_NAMES, None, f"left alone, core.hooksPath is {where}: {_SERVER_ADVICE}", _SERVER_ADVICE)


def _hooks_folder(root: Path) -> tuple[Path | None, str]:
    """The folder from which git runs this repository's hooks if it is ours to write; else None and the reason."""
    worktree = locate(root)
    if worktree.prefix:
        return None, (
            f"no hooks: this is a part of the repository at {worktree.top}, whose hooks are its own; "
            f"its pre-commit hook can run: ai-lessons --repo {worktree.prefix.rstrip('/')} admin validate"
        )
    own = worktree.common_dir / "hooks"
    where = git.run(worktree, "config", "--show-scope", "--type=path", "--get", "core.hooksPath")
    if where.code:
        return own, ""
    scope, _, value = where.text.partition("\t")
    folder = Path(os.path.abspath(worktree.top / value))
    if folder.resolve() == own.resolve():
        return own, ""
    if scope not in {"local", "worktree"}:
        return None, f"left alone, core.hooksPath is {value} for all your repositories: {_ADVICE}"
    if folder.resolve().is_relative_to(worktree.top) and not folder.resolve().is_relative_to(worktree.common_dir):
        return None, f"left alone, core.hooksPath is {value}, a folder among the files of the repository: {_ADVICE}"
    return folder, ""


def _carry_out(file: Path, name: str, decide: Callable[[str, bytes | None, int], HookPlan], advice: str) -> str:
    with translated(str(file), writing=True):
        if file.is_symlink():
            return f"left alone, it is a link: {advice}"
        there = file.read_bytes() if file.exists() else None
        mode = file.stat().st_mode & 0o777 if there is not None else 0o755
        plan = decide(name, there, mode)
        if plan.remove:
            file.unlink()
        elif plan.data is not None:
            _replace(file, plan.data, mode)
    return plan.says


def _replace(file: Path, data: bytes, mode: int) -> None:
    """Never half a hook: git may run it at any moment."""
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(f"{file.name}.{secrets.token_hex(4)}.tmp")
    try:
        temporary.write_bytes(data)
        temporary.chmod(mode)
        temporary.replace(file)
    finally:
        temporary.unlink(missing_ok=True)
