"""What is told before a tool because it speaks of the code or the package that the call is about."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from ai_lessons.features.anchors.anchors import last_part
from ai_lessons.features.anchors.definitions import LARGEST, definition
from ai_lessons.features.anchors.facts import anchors_by_entry
from ai_lessons.features.anchors.pins import brings
from ai_lessons.git import external_files
from ai_lessons.git.external_files import names_in_project
from ai_lessons.model.dangerous_commands import destroys
from ai_lessons.model.edits import LINES
from ai_lessons.model.entries import GLOBAL_PROJECT, Kind, Status
from ai_lessons.model.layout import BELOW, EXACT
from ai_lessons.model.outcomes import carried_out
from ai_lessons.search.terms import EDIT_BAR
from ai_lessons.telling.matching import SYMBOL
from ai_lessons.telling.offers import Offer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ai_lessons.app.workspace import Reading
    from ai_lessons.features.anchors.anchors import Anchor
    from ai_lessons.model.edits import Edit
    from ai_lessons.model.entries import EntrySummary
    from ai_lessons.telling.offers import Occasion

_TOLD = frozenset({Kind.RULE, Kind.LESSON})
# a rule states no status
_ACTIVE = frozenset({"", Status.ACTIVE.value})

# a file's name in its project, and an edit of it
NamedEdits = list[tuple[str, "Edit"]]


def before_a_tool(reading: Reading, occasion: Occasion) -> Iterator[Offer]:
    """Entries that name code in a file of the call, or a package that its command installs."""
    cwd = reading.options.cwd
    paths: list[str] = []
    for path in occasion.paths:
        paths += names_in_project(path, cwd)
    edits: NamedEdits = []
    for edit in occasion.edits:
        if edit.path:
            edits += [(name, edit) for name in names_in_project(edit.path, cwd)]
    levels: dict[str, int] = {}
    installed = set()
    for entry_id, anchors in anchors_by_entry(reading):
        level = _closest(anchors, paths, edits)
        if level is not None:
            levels[entry_id] = level
        if occasion.command and _is_installed(anchors, occasion.command):
            installed.add(entry_id)
    here = {occasion.project or "", GLOBAL_PROJECT}
    for summary in _told_at_all(reading, levels.keys() | installed):
        if summary.id in levels:
            yield Offer(summary, near=levels[summary.id])
        if summary.id not in installed or summary.project not in here:
            continue
        # nor is told what destroys, nor what the line does already
        if not _destroys(summary) and not carried_out(summary.stated.pattern, occasion.command):
            yield Offer(summary, EDIT_BAR * SYMBOL, "is about what this installs")


def _told_at_all(reading: Reading, ids: Iterable[str]) -> Iterator[EntrySummary]:
    for summary in reading.catalog.many(ids).values():
        if summary.kind in _TOLD and summary.status in _ACTIVE:
            yield summary


def _destroys(summary: EntrySummary) -> bool:
    """Whether an entry must not be told before a command, whoever wrote it."""
    return destroys(summary.title, summary.stated.pattern, summary.rationale)


def _is_installed(anchors: Iterable[Anchor], command: str) -> bool:
    for anchor in anchors:
        if anchor.package and brings(anchor.package, "", command):
            return True
    return False


def _closest(anchors: Iterable[Anchor], paths: Sequence[str], edits: NamedEdits) -> int | None:
    """How closely the closest of some anchors names what is edited; None: none does."""
    levels = []
    for anchor in anchors:
        level = names_code(anchor, paths, edits)
        if level is not None:
            levels.append(level)
    return max(levels, default=None)


def names_code(anchor: Anchor, paths: Sequence[str], edits: NamedEdits) -> int | None:
    """How closely an anchor names what is edited; None: not at all."""
    if anchor.package:
        if any(brings(anchor.package, edit.path, edit.new) for _, edit in edits):
            return SYMBOL
        return None
    place = anchor.path.rstrip("/")
    if not place or not any(path == place or path.startswith(f"{place}/") for path in paths):
        return None
    if not anchor.symbol:
        if place in paths:
            return EXACT
        return BELOW
    edits_of_file = []
    for name, edit in edits:
        if name == place:
            edits_of_file.append(edit)
    if not edits_of_file or any(_changes(anchor, edit) for edit in edits_of_file):
        return SYMBOL
    return None


def _changes(anchor: Anchor, edit: Edit) -> bool:
    """Whether an edit touches a symbol: its definition, or by its name."""
    before = external_files.beginning(Path(edit.path), None, LARGEST)
    part = None
    if before:
        part = definition(anchor.path, before, anchor.symbol)
    if part is not None:
        if part.lines and edit.is_whole:
            after = definition(anchor.path, edit.new, anchor.symbol)
            return after is None or after.meaning != part.meaning
        if edit.how == LINES:
            return _overlaps(part.lines, edit.first, max(edit.first, edit.last))
        start = before.find(edit.old) if edit.old else -1
        if start >= 0:
            first = before.count("\n", 0, start) + 1
            last = first + edit.old.rstrip("\n").count("\n")
            if _overlaps(part.lines, first, last):
                return True
    name = re.escape(last_part(anchor.symbol))
    return re.search(rf"(?<!\w){name}(?!\w)", f"{edit.old}\n{edit.new}") is not None


def _overlaps(parts: Iterable[tuple[int, int]], first: int, last: int) -> bool:
    """Whether one of the parts of a definition has one of these lines."""
    return any(first <= end and begin <= last for begin, end in parts)
