"""Our part of git's hooks, between two markers; never in tracked files, shared folders, or another tool's hook."""

from __future__ import annotations

import os
import re
from pathlib import Path

from ai_lessons.errors import NotFound, StorageFailed
from ai_lessons.repository import agent_files, git, programs
from ai_lessons.repository.files import replace_file, translated
from ai_lessons.repository.worktree import Worktree, as_hub, locate

NAMES = ("pre-commit", "post-merge", "post-checkout")
SERVER_NAMES = ("pre-receive",)
_MARKS = agent_files.marks("ai-lessons", "# {}")
_NEW = b"#!/bin/sh\n"  # A hook of our own begins so
_SHELL = re.compile(rb"#!\s*(?:/usr/bin/env\s+(?:-S\s+)?)?(?:\S*/)?(?:sh|bash|dash|ash|ksh|zsh)(?:[ \t][^\n]*)?\n")
_ADVICE = "have it run: ai-lessons --repo . admin validate"
_DRIVER = "merge.ai-lessons.driver"
_PROGRAM = "ai-lessons.program"  # where hooks and driver find us, if git runs with another search path than ours
# where we are not installed, or know no merge either, it is done as git does it
_OLDER_MERGES = "ai-lessons admin merge-file %O %A %B %P || git merge-file -L ours -L base -L theirs %A %O %B"
_MERGES = f'"$(git config --get --type=path {_PROGRAM} || echo ai-lessons)"{_OLDER_MERGES.removeprefix("ai-lessons")}'
_SERVER_ADVICE = "have it run, with its standard input: ai-lessons admin check-push"


def carry_out(root: Path, scripts: Path, job: str) -> tuple[str, ...]:
    """Install, uninstall or check (`status`) our part of hooks, and our merge driver; a line each.

    Raises as `locate`, StorageFailed.
    """
    worktree = locate(root)
    if not worktree.prefix:
        _note_program(worktree, job)
        return (*_each(worktree, NAMES, _ADVICE, scripts, job), f"merge driver: {_merging(worktree, job)}")
    why = f"no hooks: this is a part of the repository at {worktree.top}, whose hooks are its own"
    run = f"its pre-commit hook can run: ai-lessons --repo {worktree.prefix.rstrip('/')} admin validate"
    return (f"{why}; {run}",)


def carry_out_on_server(git_dir: Path, scripts: Path, job: str) -> tuple[str, ...]:
    """The same for the hook by which a hub (its git folder) enforces the policy; ours comes first: it reads stdin."""
    return _each(as_hub(git_dir), SERVER_NAMES, _SERVER_ADVICE, scripts, job)


def _note_program(worktree: Worktree, job: str) -> None:
    """Note the path of our program in git's settings, unless the user named one that exists; or remove it."""
    try:
        ours = programs.own("ai-lessons")
    except NotFound:
        return  # run from its sources: the search path is all there is
    current = git.setting(worktree, _PROGRAM, kind="path")
    if job == "install" and not (current and os.access(current, os.X_OK)):
        _configure(worktree, _PROGRAM, ours)
    elif job == "uninstall" and current == ours:
        _configure(worktree, "--unset", _PROGRAM)


def _configure(worktree: Worktree, *change: str) -> None:
    done = git.run(worktree, "config", *change)
    if done.code:
        raise StorageFailed(f"git could not change its settings: {done.err}")


def _merging(worktree: Worktree, job: str) -> str:
    """The setting by which git merges files of ours as we do; `.gitattributes` says which files."""
    current = git.setting(worktree, _DRIVER)
    if current not in {None, _MERGES, _OLDER_MERGES}:
        return "left alone, it is another command"
    if job == "install" and current == _MERGES:
        return "already installed"
    if job == "install":
        _configure(worktree, _DRIVER, _MERGES)
        return "installed"
    if job == "uninstall" and current:
        _configure(worktree, "--unset", _DRIVER)
        return "removed"
    return "installed" if current else "not installed"


def _each(repository: Worktree, names: tuple[str, ...], advice: str, scripts: Path, job: str) -> tuple[str, ...]:
    """The hooks inside git's own folder, if git runs those; relative settings begin at the top."""
    path, folder = git.setting(repository, "core.hooksPath", kind="path"), repository.common_dir / "hooks"
    if path is not None and Path(os.path.abspath(repository.top / path)).resolve() != folder.resolve():
        return (f"left alone, core.hooksPath is {path}: {advice}",)
    return tuple(f"{name}: {_hook(folder / name, (scripts / name).read_text(), advice, job)}" for name in names)


def _hook(file: Path, script: str, advice: str, job: str) -> str:
    """Our part goes before other lines, which may exit, or read the standard input of a server's hook."""
    text = script.partition(f"{_MARKS.begin}\n")[2].partition(_MARKS.end)[0]
    with translated(str(file), writing=True):
        exists = file.exists()
        content, mode = (file.read_bytes(), file.stat().st_mode & 0o777) if exists else (_NEW, 0o755)
        shell = _SHELL.match(content)
        change = agent_files.plan(content, job, text, _MARKS, at=shell.end() if shell else 0)
        fault = "it is a link" if file.is_symlink() else ""
        if change.says == "added" and not fault:
            fault = "" if shell and mode & 0o111 else "it is not a shell script that git runs"
        if fault:
            return f"left alone, {fault}: {advice}"
        if change.data == _NEW != content:
            file.unlink()
            return "removed"
        if change.data and change.data != content:
            replace_file(file, change.data, mode)
    return "installed" if change.says == "added" else change.says.replace("there", "installed")
