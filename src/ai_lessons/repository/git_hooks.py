"""Our part of git's hooks, between two markers; never in tracked files, shared folders, or another tool's hook."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

from ai_lessons.errors import StorageFailed
from ai_lessons.repository import git
from ai_lessons.repository.files import replace_file, translated
from ai_lessons.repository.worktree import Worktree, as_hub, locate

NAMES = ("pre-commit", "post-merge", "post-checkout")
SERVER_NAMES = ("pre-receive",)
_BEGIN, _END = b"# >>> ai-lessons >>>", b"# <<< ai-lessons <<<\n"
_PART = re.compile(rb"\n" + re.escape(_BEGIN) + rb".*?" + re.escape(_END), re.DOTALL)
_SHELL = re.compile(rb"#!\s*(?:/usr/bin/env\s+(?:-S\s+)?)?(?:\S*/)?(?:sh|bash|dash|ash|ksh|zsh)(?:\s[^\n]*)?\n")
_LEAVES = re.compile(rb"\n[ \t]*(?:exit|exec)\b[^\n]*\s*\Z")
_MANAGERS = {b"pre-commit.com": "pre-commit", b"lefthook": "lefthook", b"husky": "husky", b"overcommit": "overcommit"}
_ADVICE = "have it run: ai-lessons --repo . admin validate"
_DRIVER = "merge.ai-lessons.driver"
# where we are not installed, or know no merge either, it is done as git does it
_MERGES = "ai-lessons admin merge-file %O %A %B %P || git merge-file -L ours -L base -L theirs %A %O %B"
_SERVER_ADVICE = "have it run, with its standard input: ai-lessons admin check-push"


class HookPlan(NamedTuple):
    """What to do with one hook file. `data` None: leave it alone, and `says` is why; empty: remove it."""

    says: str
    data: bytes | None = None


def carry_out(root: Path, scripts: Path, job: str) -> tuple[str, ...]:
    """Install, uninstall or look at (`status`) our part of hooks, and our merge driver; a line each.

    Raises as `locate`, StorageFailed.
    """
    worktree = locate(root)
    if not worktree.prefix:
        return (*_each(worktree, NAMES, _ADVICE, scripts, job), f"merge driver: {_merging(worktree, job)}")
    why = f"no hooks: this is a part of the repository at {worktree.top}, whose hooks are its own"
    run = f"its pre-commit hook can run: ai-lessons --repo {worktree.prefix.rstrip('/')} admin validate"
    return (f"{why}; {run}",)


def carry_out_on_server(git_dir: Path, scripts: Path, job: str) -> tuple[str, ...]:
    """The same for the hook by which a hub (its git folder) enforces the policy; ours comes first: it reads stdin."""
    return _each(as_hub(git_dir), SERVER_NAMES, _SERVER_ADVICE, scripts, job)


def _merging(worktree: Worktree, job: str) -> str:
    """The setting by which git merges files of ours as we do; `.gitattributes` says which files."""
    there = git.setting(worktree, _DRIVER)
    if there not in {None, _MERGES}:
        return "left alone, it is another command"
    done_already = bool(there) if job == "install" else not there
    if job == "status" or done_already:
        said = "installed" if there else "not installed"
        return f"already {said}" if job == "install" else said
    change = (_DRIVER, _MERGES) if job == "install" else ("--unset", _DRIVER)
    done = git.run(worktree, "config", *change)
    if done.code:
        raise StorageFailed(f"git could not change its settings: {done.err}")
    return "installed" if job == "install" else "removed"


def _installed(there: bytes | None, mode: int, script: bytes, advice: str) -> HookPlan:
    if there is None:
        return HookPlan("installed", script)
    part, shell = _PART.findall(script)[0], _SHELL.match(there)
    if found := _PART.search(there):
        new = there[: found.start()] + part + there[found.end() :]
        return HookPlan("already installed") if new == there else HookPlan("brought up to date", new)
    manager = next((tool for mark, tool in _MANAGERS.items() if mark in there), None)
    if manager:
        return HookPlan(f"left alone, it belongs to {manager}: {advice}")
    if not shell:
        return HookPlan(f"left alone, it is not a shell script: {advice}")
    if not mode & 0o111:
        return HookPlan(f"left alone, it is switched off (not executable): {advice}")
    if advice == _SERVER_ADVICE:
        return HookPlan("installed before what was there", there[: shell.end()] + part + there[shell.end() :])
    late = "; but its last line leaves before our part is reached" if _LEAVES.search(there) else ""
    return HookPlan("installed beside what was there" + late, there + part)


def _taken_out(there: bytes | None, _mode: int, script: bytes, _advice: str) -> HookPlan:
    if there is None or not _PART.search(there):
        return HookPlan("not installed")
    rest = _PART.sub(b"", there, count=1)
    return HookPlan("removed", b"") if rest == _PART.sub(b"", script, count=1) else HookPlan("taken out", rest)


def _look(there: bytes | None, _mode: int, script: bytes, _advice: str) -> HookPlan:
    part = _PART.search(there or b"")
    if part is None:
        return HookPlan("not installed")
    same = part[0] == _PART.findall(script)[0]
    return HookPlan("installed" if same else "installed, but not the part of this version: install again")


def _each(repository: Worktree, names: tuple[str, ...], advice: str, scripts: Path, job: str) -> tuple[str, ...]:
    """The hooks inside git's own folder, if git runs those; relative settings begin at the top."""
    decide = {"install": _installed, "uninstall": _taken_out, "status": _look}[job]
    where, own = git.setting(repository, "core.hooksPath", kind="path"), repository.common_dir / "hooks"
    if where is not None and Path(os.path.abspath(repository.top / where)).resolve() != own.resolve():
        return (f"left alone, core.hooksPath is {where}: {advice}",)
    lines = []
    for name in names:
        file = own / name
        with translated(str(file), writing=True):
            there = file.read_bytes() if file.exists() else None
            mode = file.stat().st_mode & 0o777 if there is not None else 0o755
            plan = decide(there, mode, (scripts / name).read_bytes(), advice)
            if file.is_symlink():
                plan = HookPlan(f"left alone, it is a link: {advice}")
            elif plan.data == b"":
                file.unlink()
            elif plan.data is not None:
                replace_file(file, plan.data, mode)
        lines.append(f"{name}: {plan.says}")
    return tuple(lines)
