"""Our part between two markers in a file of the user's: instructions, hooks, settings. All else stays as it was."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.repository import outside
from ai_lessons.repository.files import translated

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ("AGENTS.md", "CLAUDE.md")


class Marks(NamedTuple):
    """The lines around one part of ours, and how it is found: the line feed before it is ours, too."""

    begin: str
    end: str
    part: re.Pattern[bytes]


def marks(name: str, comment: str = "<!-- {} -->") -> Marks:
    """The lines around the part of that name; parts of other names are the user's text to it."""
    begin, end = comment.format(f">>> {name} >>>"), comment.format(f"<<< {name} <<<")
    # earlier versions wrote more on the first line
    start = re.escape(comment).replace(r"\{\}", rf">>> {re.escape(name)}(?:, new file)? >>>") + r"[^\r\n]*"
    parts = (rf"(?:\A|{feed}){start}{feed}.*?{re.escape(end)}{feed}" for feed in (r"\r\n", r"\n"))
    return Marks(begin, end, re.compile("|".join(parts).encode(), re.DOTALL))


_OURS = marks("ai-lessons")
_IMPORTS_AGENTS = re.compile(rb"(?m)^\s*@(?:\./)?AGENTS\.md\s*$")


class PartPlan(NamedTuple):
    """What is done to a file, in words, and what becomes of it; None for no file."""

    says: str
    data: bytes | None


def plan(there: bytes | None, job: str, text: str, ours: Marks = _OURS, *, at: int | None = None) -> PartPlan:
    """What becomes of a file with this content (None: there is none) when our part goes in or out. Touches nothing.

    A `status` changes nothing. A new part goes to the end, or behind so many bytes (`at`).
    """
    part, held = f"{ours.begin}\n{text.strip()}\n{ours.end}\n".encode(), ours.part.search(there or b"")
    if there is None or held is None:
        if job != "install":
            return PartPlan("not there", there)
        before, after = ((there or b"")[:at], (there or b"")[at:] if at is not None else b"")
        return PartPlan("written" if there is None else "added", (before + b"\n" if before else b"") + part + after)
    if job == "uninstall":
        rest = ours.part.sub(b"", there)
        return PartPlan("taken out" if rest else "removed", rest or None)
    feed = b"\n" if held[0].startswith((b"\r", b"\n")) else b""
    new = there[: held.start()] + feed + part + ours.part.sub(b"", there[held.end() :])
    if job == "status":
        return PartPlan("there" if new == there else "there, but not the one of this version: install again", there)
    return PartPlan("already there" if new == there else "brought up to date", new)


def holds_ours(there: bytes) -> bool:
    """Whether our paragraph stands in a file."""
    return bool(_OURS.part.search(there))


def files_in(top: Path, *, every: bool = False) -> tuple[Path, ...]:
    """The files that agents read, AGENTS.md if there is none; `every`: also links and those that take in AGENTS.md."""
    agents, claude = (top / name for name in NAMES)
    there = [file for file in (agents, claude) if file.exists() and (every or not file.is_symlink())]
    if not every and len(there) > 1 and _IMPORTS_AGENTS.search(outside.read(claude)[0]):
        there.remove(claude)
    return tuple(there) or (agents,)


def carry_out(file: Path, job: str, text: str, ours: Marks = _OURS) -> str:
    """Install, uninstall or look at (`status`) our part in a file; what was done, in words. Raises StorageFailed."""
    with translated(str(file), writing=True):
        if file.is_symlink():
            return "left alone, it is a link: name the file that it leads to"
        there = outside.read(file)[0] if file.exists() else None
        says, new = plan(there, job, text, ours)
        if new is None:
            file.unlink(missing_ok=True)
        elif new != there:
            outside.write(file, new)
        return says
