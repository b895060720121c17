"""The edits of a patch, as diffs, Codex and blocks of SEARCH and REPLACE state them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ai_lessons.model import expression
from ai_lessons.model.edits import (
    APPENDED,
    GONE,
    MOVED,
    PART,
    Edit,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    Json = Mapping[str, Any]
    Texts = Sequence[str]


IS_PATCH = expression(r"(?m)^[ \t]*\*\*\*[ \t]*Begin Patch\b")
_HEAD = expression(r"\*\*\*[ \t]*+(Add|Update|Delete|Move) File:(.*)")
_MOVE_TO = expression(r"\*\*\*[ \t]*+Move to:(.*)")
BLOCK = expression(r"(?m)^[<-]{5,9} ?SEARCH\b")
_BLOCK_ENDS = expression(r"[>+]{5,9} ?REPLACE\b")
_ABOUT_LINES = expression(r":\w+:|-{3,}\s*$")


class _Hunks:
    """Parts of a patch on their way.

    The file, where it goes, and the lines of the part that is read.
    """

    def __init__(self) -> None:
        self.path = self.was = ""
        self.sort = ""
        self.old, self.new = list[str](), list[str]()
        self.any = False

    def ended(self) -> Iterator[Edit]:
        """The part up to here, and begin the next one."""
        if self.path and (self.old or self.new):
            if self.sort == "Update" and not self.old:
                how = APPENDED
            else:
                how = ""
            yield Edit(self.path, "\n".join(self.old), "\n".join(self.new), how, self.was)
            self.any = True
        self.old, self.new = [], []

    def left(self) -> Iterator[Edit]:
        """What is left to say of a file at its end.

        It goes, or is only moved, or made without text.
        """
        yield from self.ended()
        if self.path and not self.any:
            if self.sort == "Delete":
                yield Edit(self.path, how=GONE)
            elif self.was:
                yield Edit(self.path, how=MOVED, was=self.was)
        self.path = self.was = ""
        self.any = False


def patched(patch: str) -> Iterator[Edit]:
    """The edits of a patch in the form of Codex, which may move a file."""
    hunks = _Hunks()
    for row in [*patch.splitlines(), "*** End Patch"]:
        head, move = _HEAD.match(row.lstrip()), _MOVE_TO.match(row.lstrip())
        if head:
            yield from hunks.left()
            hunks.sort, hunks.path = head[1], head[2].strip()
            if head[1] == "Move" and " -> " in hunks.path:
                hunks.was, _, hunks.path = hunks.path.partition(" -> ")
        elif move and hunks.path:
            hunks.was, hunks.path = hunks.path, move[1].strip()
        elif row.lstrip().startswith("*** End Patch"):
            yield from hunks.left()
        elif row.startswith(("***", "@@")):
            yield from hunks.ended()
        else:
            if row[:1] in {" ", "-"} and hunks.sort != "Add":
                hunks.old += [row[1:]]
            if row[:1] in {" ", "+"}:
                hunks.new += [row[1:]]


def of_unified(path: str, diff: str) -> Iterator[Edit]:
    """The edits of a diff as `diff -u` and git write it; `path` where it names no file."""
    was, place, old, new = "", path, list[str](), list[str]()
    in_part = False
    rows = [*diff.splitlines(), "diff "]
    for row, following in zip(rows, [*rows[1:], ""], strict=True):
        heads = row.startswith(("diff ", "@@")) or (
            row.startswith("--- ") and following.startswith("+++ ")
        )
        if heads or (not in_part and row.startswith("+++ ")):
            if place and (old or new):
                moved, how = "", APPENDED
                if was not in {"", "/dev/null", place}:
                    moved = was
                if old or was == "/dev/null":
                    # `/dev/null` is git's name for the file before it was made
                    how = ""
                yield Edit(place, "\n".join(old), "\n".join(new), how, moved)
            old, new = [], []
            in_part = row.startswith("@@")
            name = row.partition(" ")[2].split("\t")[0].strip()
            if row.startswith("--- "):
                was = name.removeprefix("a/")
            elif row.startswith("+++ "):
                if name == "/dev/null":
                    place = path
                else:
                    place = name.removeprefix("b/")
        elif in_part:
            # Models leave the blank of an empty line out
            if row[:1] in {" ", "-"} or not row:
                old += [row[1:]]
            if row[:1] in {" ", "+"} or not row:
                new += [row[1:]]


def of_blocks(path: str, text: str) -> Iterator[Edit]:
    """The edits of blocks of SEARCH and REPLACE."""
    parts: list[list[str]] = []
    for row in text.splitlines():
        if BLOCK.match(row):
            parts = [[]]
        elif len(parts) == 2 and _BLOCK_ENDS.match(row):
            old, new = ("\n".join(rows) for rows in parts)
            how = ""
            if not old:
                # Nothing to look for: it goes wherever the host puts it
                how = PART
            yield Edit(path, old, new, how)
            parts = []
        elif len(parts) == 1 and row.startswith("====="):
            parts.append([])
        elif parts and not (len(parts) == 1 and not parts[0] and _ABOUT_LINES.match(row)):
            # Roo Code says the line where it begins above the text to look for
            parts[-1].append(row)
