"""Installs our part, between two markers, in a file of the user's (instructions, hooks, settings)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.repository import outside
from ai_lessons.repository.files import translated

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ("AGENTS.md", "CLAUDE.md")


class Marks(NamedTuple):
    """The lines around a part of ours, and its pattern, which includes the line feed before it."""

    begin: str
    end: str
    part: re.Pattern[bytes]


def marks(name: str, comment: str = "<!-- {} -->") -> Marks:
    """The lines around the part of that name."""
    begin, end = comment.format(f">>> {name} >>>"), comment.format(f"<<< {name} <<<")
    # earlier versions wrote more on the first line
    start = re.escape(comment).replace(r"\{\}", rf">>> {re.escape(name)}(?:, new file)? >>>") + r"[^\r\n]*"
    parts = (rf"(?:\A|{feed}){start}{feed}.*?{re.escape(end)}{feed}" for feed in (r"\r\n", r"\n"))
    return Marks(begin, end, re.compile("|".join(parts).encode(), re.DOTALL))


_OURS = marks("ai-lessons")
_IMPORTS_AGENTS = re.compile(rb"(?m)^\s*@(?:\./)?AGENTS\.md\s*$")


class PartPlan(NamedTuple):
    """What is done to a file, in words, and its new content; None for no file."""

    says: str
    data: bytes | None


def plan(content: bytes | None, job: str, text: str, ours: Marks = _OURS, *, at: int | None = None) -> PartPlan:
    """What becomes of a file with this content (None: no file) when our part goes in or out. Touches nothing.

    A `status` changes nothing. A new part goes to the end, or behind so many bytes (`at`).
    """
    part, match = f"{ours.begin}\n{text.strip()}\n{ours.end}\n".encode(), ours.part.search(content or b"")
    if content is None or match is None:
        if job != "install":
            return PartPlan("not there", content)
        before, after = ((content or b"")[:at], (content or b"")[at:] if at is not None else b"")
        return PartPlan("written" if content is None else "added", (before + b"\n" if before else b"") + part + after)
    if job == "uninstall":
        kept = ours.part.sub(b"", content)
        return PartPlan("taken out" if kept else "removed", kept or None)
    feed = b"\n" if match[0].startswith((b"\r", b"\n")) else b""
    new = content[: match.start()] + feed + part + ours.part.sub(b"", content[match.end() :])
    if job == "status":
        return PartPlan("there" if new == content else "there, but not the one of this version: install again", content)
    return PartPlan("already there" if new == content else "brought up to date", new)


def holds_ours(content: bytes) -> bool:
    """Whether our part stands in a file."""
    return bool(_OURS.part.search(content))


def files_in(top: Path, *, every: bool = False) -> tuple[Path, ...]:
    """The files that agents read, AGENTS.md if there is none; `every`: also links and those that import AGENTS.md."""
    agents, claude = (top / name for name in NAMES)
    present = [file for file in (agents, claude) if file.exists() and (every or not file.is_symlink())]
    if not every and len(present) > 1 and _IMPORTS_AGENTS.search(outside.read(claude)[0]):
        present.remove(claude)
    return tuple(present) or (agents,)


def carry_out(file: Path, job: str, text: str, ours: Marks = _OURS) -> str:
    """Install, uninstall or check (`status`) our part in a file; what was done, in words. Raises StorageFailed."""
    with translated(str(file), writing=True):
        if file.is_symlink():
            return "left alone, it is a link: name the file that it leads to"
        content = outside.read(file)[0] if file.exists() else None
        says, new = plan(content, job, text, ours)
        if new is None:
            file.unlink(missing_ok=True)
        elif new != content:
            outside.write(file, new)
        return says
