"""Our part, between two markers, of git's hooks and of instruction files that belong to the user."""

from __future__ import annotations

import codecs
import os
import re
from pathlib import Path
from typing import NamedTuple

from ai_lessons.errors import NotFound, StorageFailed
from ai_lessons.git import external_files, plumbing, processes
from ai_lessons.git.files import replace_file, translated
from ai_lessons.git.worktree import Worktree, as_hub, locate
from ai_lessons.model import expression

NAMES = ("AGENTS.md", "CLAUDE.md")


class Marks(NamedTuple):
    """The lines around a part of ours, and how it is found.

    The pattern of the first line, and that of the part with the line feed before it.
    """

    begin: str
    end: str
    first: re.Pattern[bytes]
    part: re.Pattern[bytes]


def marks(name: str, comment: str = "<!-- {} -->") -> Marks:
    """The lines around the part of that name."""
    begin, end = comment.format(f">>> {name} >>>"), comment.format(f"<<< {name} <<<")
    # earlier versions wrote more on the first line
    start = (
        re.escape(comment).replace(r"\{\}", rf">>> {re.escape(name)}(?:, new file)? >>>")
        + r"[^\r\n]*"
    )
    # what stands below a first line without a last one is the user's, and no part of ours that
    # follows
    parts = (
        rf"(?:\A|{feed}){start}{feed}(?:(?!(?<=\n){start}).)*?{re.escape(end)}(?:{feed}|\Z)"
        for feed in (r"\r\n", r"\n")
    )
    return Marks(
        begin,
        end,
        re.compile(f"(?m)^{start}".encode()),
        re.compile("|".join(parts).encode(), re.DOTALL),
    )


OURS = marks("ai-lessons")
_IMPORTS_AGENTS = expression(rb"(?m)^[ \t]*@(?:\./)?AGENTS\.md[ \t\r]*$")


class PartPlan(NamedTuple):
    """What is done to a file, in words, and its new content; None for no file."""

    says: str
    data: bytes | None


def plan(
    content: bytes | None, job: str, text: str, ours: Marks = OURS, *, at: int | None = None
) -> PartPlan:
    """What becomes of a file with this content (None: no file) when our part goes in or out.

    Touches nothing.

    A `status` changes nothing. A new part goes to the end, or behind so many bytes (`at`). It is
    written as the file
    is: in its form of Unicode, and with its ends of lines.
    """
    if content is not None and (wide := _wide_form(content)):
        return _wide_plan(content, wide, job, text, ours)
    if content and content.count(b"\n") == content.count(b"\r\n") > 0:
        newline = b"\r\n"
    else:
        newline = b"\n"
    part, match = (
        f"{ours.begin}\n{text.strip()}\n{ours.end}\n".encode(),
        ours.part.search(content or b""),
    )
    part = part.replace(b"\n", newline)
    if content is None or match is None:
        if job != "install":
            return PartPlan("not there", content)
        before, after = ((content or b"")[:at], (content or b"")[at:] if at is not None else b"")
        return PartPlan(
            "written" if content is None else "added",
            (before + newline if before else b"") + part + after,
        )
    if job == "uninstall":
        kept = ours.part.sub(b"", content)
        return PartPlan("taken out" if kept else "removed", kept or None)
    if match[0].startswith((b"\r", b"\n")):
        feed = newline
    else:
        feed = b""
    new = content[: match.start()] + feed + part + ours.part.sub(b"", content[match.end() :])
    if job == "status":
        return PartPlan(
            "there" if new == content else "there, but not the one of this version: install again",
            content,
        )
    return PartPlan("already there" if new == content else "brought up to date", new)


_WIDE = ((codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be"),
         (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))  # fmt: skip


def _wide_form(content: bytes) -> tuple[bytes, str] | None:
    """The mark at the beginning of a text in UTF-16 or UTF-32, and its encoding."""
    return next(((mark, encoding) for mark, encoding in _WIDE if content.startswith(mark)), None)


def _wide_plan(
    content: bytes, wide: tuple[bytes, str], job: str, text: str, ours: Marks
) -> PartPlan:
    """As `plan`, for a text in another form of Unicode than UTF-8."""
    mark, encoding = wide
    try:
        plain = content.removeprefix(mark).decode(encoding).encode()
    except UnicodeError:
        return PartPlan("left alone, it is no text", content)
    says, data = plan(plain, job, text, ours)
    return PartPlan(says, None if data is None else mark + data.decode().encode(encoding))


def holds_ours(content: bytes) -> bool:
    """Whether our part stands in a file."""
    return bool(OURS.part.search(content))


def files_in(top: Path, *, every: bool = False) -> tuple[Path, ...]:
    """The files that agents read, AGENTS.md if there is none.

    `every`: also links and those that import AGENTS.md.
    """
    agents, claude = (top / name for name in NAMES)
    present = []
    for file in (agents, claude):
        if file.exists() and (every or not file.is_symlink()):
            present.append(file)
    if not every and len(present) > 1 and _IMPORTS_AGENTS.search(external_files.read(claude)[0]):
        present.remove(claude)
    return tuple(present) or (agents,)


def change_marked_part(file: Path, job: str, text: str, ours: Marks = OURS) -> str:
    """Install, uninstall or check (`status`) our part in a file; what was done, in words.

    Raises StorageFailed.
    """
    with translated(str(file), writing=True):
        if file.is_symlink():
            return "left alone, it is a link: name the file that it leads to"
        content = None
        if file.exists():
            content = external_files.read(file)[0]
        says, new = plan(content, job, text, ours)
        if len(ours.first.findall(new or b"")) > (new or b"").count(ours.end.encode()):
            says += f"; a line {ours.begin} without its last line {ours.end} is left as it is, with what follows"
        if new is None:
            file.unlink(missing_ok=True)
        elif new != content:
            external_files.write(file, new)
        return says


HOOK_NAMES = ("pre-commit", "post-merge", "post-checkout")
SERVER_NAMES = ("pre-receive",)
_MARKS = marks("ai-lessons", "# {}")
# A hook of our own begins so
_NEW = b"#!/bin/sh\n"
_SHELL = expression(
    rb"#!\s*(?:/usr/bin/env\s+(?:-S\s+)?)?(?:\S*/)?(?:sh|bash|dash|ash|ksh|zsh)(?:[ \t][^\n]*)?\n"
)
_ADVICE = "have it run: ai-lessons --repo . admin validate"
_DRIVER = "merge.ai-lessons.driver"
# where hooks and driver find us, if git runs with another search path than ours
_PROGRAM = "ai-lessons.program"
# where we are not installed, or know no merge either, it is done as git does it
_OLDER_MERGES = (
    "ai-lessons admin merge-file %O %A %B %P || git merge-file -L ours -L base -L theirs %A %O %B"
)
_MERGES = f'"$(git config --get --type=path {_PROGRAM} || echo ai-lessons)"{_OLDER_MERGES.removeprefix("ai-lessons")}'
_SERVER_ADVICE = "have it run, with its standard input: ai-lessons admin check-push"


def carry_out(root: Path, scripts: Path, job: str) -> tuple[str, ...]:
    """Install, uninstall or check (`status`) our part of hooks, and our merge driver; a line each.

    Raises as `locate`, StorageFailed.
    """
    worktree = locate(root)
    if not worktree.prefix:
        _note_program(worktree, job)
        return (
            *_each(worktree, HOOK_NAMES, _ADVICE, scripts, job),
            f"merge driver: {_merging(worktree, job)}",
        )
    why = f"no hooks: this is a part of the repository at {worktree.top}, whose hooks are its own"
    run = f"its pre-commit hook can run: ai-lessons --repo {worktree.prefix.rstrip('/')} admin validate"
    return (f"{why}; {run}",)


def carry_out_on_server(git_dir: Path, scripts: Path, job: str) -> tuple[str, ...]:
    """The same for the hook by which a hub (its git folder) enforces the policy.

    Ours comes first: it reads stdin.
    """
    return _each(as_hub(git_dir), SERVER_NAMES, _SERVER_ADVICE, scripts, job)


def _note_program(worktree: Worktree, job: str) -> None:
    """Note the path of our program in git's settings, unless the user named one that exists.

    Or remove it.
    """
    try:
        ours = processes.program_path("ai-lessons")
    except NotFound:
        # run from its sources: the search path is all there is
        return
    current = plumbing.setting(worktree, _PROGRAM, kind="path")
    if job == "install" and not (current and os.access(current, os.X_OK)):
        _configure(worktree, _PROGRAM, ours)
    elif job == "uninstall" and current == ours:
        _configure(worktree, "--unset", _PROGRAM)


def _configure(worktree: Worktree, *change: str) -> None:
    done = plumbing.run(worktree, "config", *change)
    if done.code:
        raise StorageFailed(f"git could not change its settings: {done.err}")


def _merging(worktree: Worktree, job: str) -> str:
    """The setting by which git merges files of ours as we do; `.gitattributes` says which files."""
    current = plumbing.setting(worktree, _DRIVER)
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
    if current:
        return "installed"
    return "not installed"


def _each(
    repository: Worktree, names: tuple[str, ...], advice: str, scripts: Path, job: str
) -> tuple[str, ...]:
    """The hooks inside git's own folder, if git runs those; relative settings begin at the top."""
    path, folder = (
        plumbing.setting(repository, "core.hooksPath", kind="path"),
        repository.common_dir / "hooks",
    )
    if (
        path is not None
        and Path(os.path.abspath(repository.top / path)).resolve() != folder.resolve()
    ):
        return (f"left alone, core.hooksPath is {path}: {advice}",)
    outcomes = []
    for name in names:
        script = (scripts / name).read_text()
        outcomes.append(f"{name}: {_hook(folder / name, script, advice, job)}")
    return tuple(outcomes)


def _hook(file: Path, script: str, advice: str, job: str) -> str:
    """Our part goes before other lines, which may exit, or read the standard input of a server's hook."""
    text = script.partition(f"{_MARKS.begin}\n")[2].partition(_MARKS.end)[0]
    with translated(str(file), writing=True):
        exists = file.exists()
        content, mode = (
            (file.read_bytes(), file.stat().st_mode & 0o777) if exists else (_NEW, 0o755)
        )
        shell = _SHELL.match(content)
        if shell:
            at = shell.end()
        else:
            at = 0
        change = plan(content, job, text, _MARKS, at=at)
        if file.is_symlink():
            fault = "it is a link"
        else:
            fault = ""
        if change.says == "added" and not fault:
            if shell and mode & 0o111:
                fault = ""
            else:
                fault = "it is not a shell script that git runs"
        if fault:
            return f"left alone, {fault}: {advice}"
        if change.data == _NEW != content:
            file.unlink()
            return "removed"
        if change.data and change.data != content:
            replace_file(file, change.data, mode)
    if change.says == "added":
        return "installed"
    return change.says.replace("there", "installed")
