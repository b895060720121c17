"""Files as edits will leave them, before they are made.

Their text, which of its lines are new, what cannot be seen.
"""

from __future__ import annotations

import json
import os
import re
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.errors import AiLessonsError
from ai_lessons.features.checks.reading import LARGEST, every_line, file_text, new_lines
from ai_lessons.model.edits import (
    APPENDED,
    CELL,
    COPIED,
    EVERY,
    GONE,
    LINES,
    MOVED,
    PART,
    REGEX,
    UNSEEN,
    Edit,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ai_lessons.features.checks.text_checks import TextCheck

# files of a folder that is moved, which are looked at
MOST_MOVED = 200


class EditedFile(NamedTuple):
    """A file at `path` as edits will leave it: its `text`, and the `lines` of that which are new.

    `was`: where it was before, if elsewhere. `hidden`: why it cannot be looked at; the path may be
    that of a folder, or empty: any file.
    """

    path: str
    text: str = ""
    lines: frozenset[float] = frozenset()
    was: str = ""
    hidden: str = ""

    @property
    def is_folder(self) -> bool:
        """Whether what cannot be looked at is all below a folder, or what a glob names."""
        return bool(self.hidden) and (
            os.path.isdir(self.path) or not {"*", "?", "["}.isdisjoint(self.path)
        )

    def concerns(self, check: TextCheck, names: Sequence[str]) -> bool:
        """Whether a check looks at the file, by its names in the project, or at one that may lie below it."""
        if not names or not check.files:
            return True
        if not self.is_folder:
            return any(map(check.concerns, names))
        for name in names:
            if name == ".":
                folder = ""
            else:
                folder = f"{_before_magic(name).rstrip('/')}/"
            for glob in check.files:
                begins = _before_magic(glob)
                if "/" not in glob or begins.startswith(folder) or folder.startswith(begins):
                    return True
        return False


def _before_magic(glob: str) -> str:
    """The part of a glob that stands for itself."""
    return re.split(r"[*?\[{]", glob, maxsplit=1)[0]


def edited_files(edits: Sequence[Edit]) -> Iterator[EditedFile]:
    """The files that edits leave, each once; paths are whole."""
    by_path: dict[str, list[Edit]] = {}
    for edit in edits:
        for part in _spread(edit):
            by_path.setdefault(part.path, []).append(part)
    for path, its_edits in by_path.items():
        if any(edit.how == UNSEEN for edit in its_edits):
            yield EditedFile(path, hidden="what this tool writes is not known")
        elif its_edits[-1].how != GONE:
            yield _edited(path, its_edits)


def _spread(edit: Edit) -> Iterator[Edit]:
    """An edit, or what it does to each file of a folder that goes elsewhere."""
    if edit.how not in {MOVED, COPIED} or not os.path.isdir(edit.was):
        if edit.how in {MOVED, COPIED} and os.path.isdir(edit.path):
            edit = edit._replace(path=os.path.join(edit.path, os.path.basename(edit.was)))
        yield edit
        return
    places = (
        os.path.join(folder, name) for folder, _, names in os.walk(edit.was) for name in names
    )
    several = list(islice(places, MOST_MOVED + 1))
    if len(several) > MOST_MOVED:
        yield Edit(edit.path, how=UNSEEN)
        return
    for place in several:
        below = os.path.relpath(place, edit.was)
        yield edit._replace(path=os.path.join(edit.path, below), was=place)


def _edited(path: str, edits: Sequence[Edit]) -> EditedFile:
    was = next((edit.was for edit in edits if edit.was and edit.was != path), "")
    before = _text_of(was or path)
    if any(edit.how == CELL for edit in edits):
        return _of_cells(path, before or "", edits)
    text, lines = _all_applied(before, edits)
    if len(text) > LARGEST:
        return EditedFile(path, was=was, hidden="more than 1 MiB")
    if any(edit.how == COPIED for edit in edits):
        return EditedFile(path, text, every_line(text))
    return EditedFile(path, text, lines, was)


def _text_of(path: str) -> str | None:
    file = Path(path)
    try:
        text = file_text(file.parent.resolve(strict=True), file.name).text
    except (AiLessonsError, OSError, RuntimeError):
        return None
    if text is None:
        return None
    return text.replace("\r\n", "\n")


def _all_applied(before: str | None, edits: Sequence[Edit]) -> tuple[str, frozenset[float]]:
    """The text that is left, and its new lines.

    What fits nowhere stands behind it, or is all of it.
    """
    text, loose, made = before, list[tuple[str, bool]](), set[float]()
    # numbers of lines are those before any edit
    for edit in sorted(edits, key=lambda edit: -edit.first):
        changed = _applied(text, edit._replace(old=_plain(edit.old), new=_plain(edit.new)))
        if changed is not None:
            text = changed
        elif text and edit.how != PART and edit.new and (at := text.find(_plain(edit.new))) >= 0:
            # it is made already: some hosts ask behind the call
            start = text.count("\n", 0, at) + 1
            made.update(range(start, start + _plain(edit.new).rstrip("\n").count("\n") + 1))
        else:
            loose.append((_plain(edit.new), edit.how == PART))
    if text is None or (text == before and loose and not made):
        part = "\n".join(new for new, _ in loose)
        return _of_loose(before or "", part, may_stay=all(is_sketch for _, is_sketch in loose))
    if before is None or (text == before and any(edit.is_whole for edit in edits)):
        lines = every_line(text)
    else:
        if text != before:
            lines = new_lines(before, text) | made
        else:
            lines = frozenset(made)
    for part, is_sketch in loose:
        start = text.count("\n") + 1
        _, new = _of_loose(before or "", part, may_stay=is_sketch)
        text = f"{text}\n{part}"
        lines |= {start + number for number in new}
    return text, lines


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n")


def _applied(text: str | None, edit: Edit) -> str | None:
    """The text behind an edit; None: it does not fit."""
    if edit.is_whole:
        return edit.new
    if edit.how == APPENDED:
        return f"{text or ''}{edit.new}"
    if text is None or edit.how == PART:
        return None
    if edit.how in {MOVED, COPIED}:
        return text
    if edit.how == LINES:
        return _with_lines(text, edit)
    if edit.how == REGEX:
        return _with_matches(text, edit)
    if edit.old not in text:
        return None
    return text.replace(edit.old, edit.new, -1 if edit.how == EVERY else 1)


def _with_lines(text: str, edit: Edit) -> str | None:
    rows = text.split("\n")
    if not 1 <= edit.first <= len(rows) + 1:
        return None
    rows[edit.first - 1 : max(edit.last, edit.first - 1)] = (
        edit.new.removesuffix("\n").split("\n") if edit.new else []
    )
    return "\n".join(rows)


def _with_matches(text: str, edit: Edit) -> str | None:
    """The text with all that fits an expression replaced.

    In a time that grows with the text, whatever it is.
    """
    import re2

    try:
        return str(re2.compile(f"(?ms){edit.old}").sub(lambda _match: edit.new, text))
    except re2.error:
        return None


def _of_loose(before: str, part: str, *, may_stay: bool) -> tuple[str, frozenset[float]]:
    """A part of a text with its new lines.

    A sketch, or a symbol as it will be, shows what stays around it, too.
    """
    return part, new_lines(before, part) if may_stay and before else every_line(part)


def _of_cells(path: str, before: str, edits: Sequence[Edit]) -> EditedFile:
    """What edits write into cells of a notebook, as one text."""
    text, lines = "", set[float]()
    for edit in edits:
        source, new = _cell(before, edit), _plain(edit.new)
        if text:
            start = text.count("\n") + 1
            text = f"{text}\n{new}"
        else:
            start = 0
            text = new
        lines.update(
            start + number for number in (new_lines(source, new) if source else every_line(new))
        )
    return EditedFile(path, text, frozenset(lines))


def _cell(notebook: str, edit: Edit) -> str:
    """The source of the cell that an edit changes.

    Empty for a new one, and where the notebook cannot be read.
    """
    try:
        cells = json.loads(notebook)["cells"]
        number = edit.first - 1
        if edit.old:
            # cells of older notebooks have no id: Claude Code numbers them
            names = {}
            for at, cell in enumerate(cells):
                names[str(cell.get("id", f"cell-{at}"))] = at
            number = names.get(edit.old, names.get(edit.old.removeprefix("#"), -1))
        if not 0 <= number < len(cells):
            return ""
        return "".join(cells[number]["source"])
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return ""
