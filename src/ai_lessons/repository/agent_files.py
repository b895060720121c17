"""Our paragraph between two markers in files of instructions (AGENTS.md, CLAUDE.md); all else stays as it was."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.repository.files import replace_file, translated

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ("AGENTS.md", "CLAUDE.md")


class Marks(NamedTuple):
    """The lines around one part of ours. `new` opens it in a file that we have made: no line feed before it there."""

    begin: str
    new: str
    end: str
    part: re.Pattern[bytes]


def marks(name: str, comment: str = "<!-- {} -->") -> Marks:
    """The lines around the part of that name; parts of other names are the user's text to it."""
    begin, new, end = map(comment.format, (f">>> {name} >>>", f">>> {name}, new file >>>", f"<<< {name} <<<"))

    def between(line_end: str) -> str:
        starts = f"(?:{line_end}{re.escape(begin)}|{re.escape(new)})"
        return f"{starts}{line_end}.*?{re.escape(end)}{line_end}"

    return Marks(begin, new, end, re.compile("|".join(map(between, (r"\r\n", r"\n"))).encode(), re.DOTALL))


_OURS = marks("ai-lessons")
_HALF = "left alone, one of our two markers is missing: remove what is left of our paragraph"
_IMPORTS_AGENTS = re.compile(rb"(?m)^\s*@(?:\./)?AGENTS\.md\s*$")


class AgentFilePlan(NamedTuple):
    """What to do with one file. `data` None: leave it as it is, and `says` is why."""

    says: str
    data: bytes | None = None
    remove: bool = False


def plan_install(there: bytes | None, text: str, ours: Marks = _OURS) -> AgentFilePlan:
    """What becomes of a file with this content (None: there is none) when our paragraph goes in. Touches nothing."""
    if there is None:
        return AgentFilePlan("written", _part(text, ours, new=True))
    found = ours.part.search(there)
    if found:
        part = _part(text, ours, new=found[0].startswith(ours.new.encode()), crlf=b"\r\n" in found[0])
        new = there[: found.start()] + part + ours.part.sub(b"", there[found.end() :])
        return AgentFilePlan("already there") if new == there else AgentFilePlan("brought up to date", new)
    if _marked(there, ours):
        return AgentFilePlan(_HALF)
    return AgentFilePlan("added at the end", there + _part(text, ours, new=False, crlf=b"\r\n" in there))


def plan_uninstall(there: bytes | None, ours: Marks = _OURS) -> AgentFilePlan:
    """What becomes of a file when our paragraph goes. Touches nothing."""
    if there is None or not _marked(there, ours):
        return AgentFilePlan("not there")
    if not ours.part.search(there):
        return AgentFilePlan(_HALF)
    rest = ours.part.sub(b"", there)
    if not rest and there.startswith(ours.new.encode()):
        return AgentFilePlan("removed", b"", remove=True)
    return AgentFilePlan("taken out", rest)


def plan_status(there: bytes | None, text: str) -> AgentFilePlan:
    """Whether it is there. Touches nothing."""
    if there is None or not _marked(there, _OURS):
        return AgentFilePlan("not there")
    same = plan_install(there, text).says == "already there"
    return AgentFilePlan("there" if same else "there, but not the one of this version: install again")


def holds_ours(there: bytes) -> bool:
    """Whether our paragraph stands in a file."""
    return bool(_OURS.part.search(there))


def _marked(there: bytes, ours: Marks) -> bool:
    return any(mark.encode() in there for mark in (ours.begin, ours.new, ours.end))


def _part(text: str, ours: Marks, *, new: bool, crlf: bool = False) -> bytes:
    """The paragraph with its markers. A line feed before it is ours too, so that taking it out gives back the bytes."""
    head = ours.new if new else "\n" + ours.begin
    part = f"{head}\n{text.strip()}\n{ours.end}\n"
    return (part.replace("\n", "\r\n") if crlf else part).encode()


def files_in(top: Path, *, every: bool = False) -> tuple[Path, ...]:
    """The files that agents read, AGENTS.md if there is none; `every`: also links and those that take in AGENTS.md."""
    agents, claude = (top / name for name in NAMES)
    there = [file for file in (agents, claude) if file.exists() and (every or not file.is_symlink())]
    if not every and len(there) > 1 and _IMPORTS_AGENTS.search(claude.read_bytes()):
        there.remove(claude)
    return tuple(there) or (agents,)


def carry_out(file: Path, job: str, text: str, ours: Marks = _OURS) -> str:
    """Install, uninstall or look at (`status`) our part in a file; what was done, in words. Raises StorageFailed."""
    with translated(str(file), writing=True):
        if file.is_symlink():
            return "left alone, it is a link: name the file that it leads to"
        there = file.read_bytes() if file.exists() else None
        if job == "status":
            return plan_status(there, text).says
        plan = plan_install(there, text, ours) if job == "install" else plan_uninstall(there, ours)
        if plan.remove:
            file.unlink()
        elif plan.data is not None:
            replace_file(file, plan.data)
        return plan.says
