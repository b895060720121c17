"""A new look at the code of an entry, for a person who says that it still holds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ai_lessons.app.additions import Renewed
from ai_lessons.features.anchors.anchors import Anchor, anchors_of, commands_of, parse
from ai_lessons.features.anchors.code_folder import CodeFolder, code_around
from ai_lessons.features.anchors.facts import anchors_in
from ai_lessons.features.anchors.fingerprints import SILENCED, CodeVerdict, State, still_stated
from ai_lessons.features.anchors.parts import plain
from ai_lessons.model.entries import ABOUT

if TYPE_CHECKING:
    from ai_lessons.app.workspace import RepositorySession
    from ai_lessons.features.anchors.sentences import AnchorVerdict
    from ai_lessons.model.entries import Entry, EntrySummary


def looked_again(repo: RepositorySession, summary: EntrySummary, entry: Entry) -> Renewed:
    """The code of an entry as it is now, for a person who says that it still holds.

    What is gone is left out, because nothing is there to look at.
    """
    stated = entry.fields[ABOUT]
    if not anchors_of(stated):
        return Renewed()
    code = code_around(repo)
    if code is None:
        return Renewed(notes=("its code is not here, so it was not looked at",))
    text = "\n".join((entry.title, str(entry.pattern or ""), entry.rationale, entry.body))
    look = _Look(code, summary.project, text)
    for anchor in anchors_of(stated):
        look.at(anchor)
    code.close()
    if look.anchors == list(anchors_of(stated)):
        fields = {}
    else:
        items = [anchor.fields for anchor in look.anchors]
        # a command is in no code: nothing of it can be looked at
        for command in commands_of(stated):
            items.append({"command": command})
        fields = {ABOUT: items}
    outdated = dict.fromkeys(look.outdated)
    return Renewed(fields, tuple(look.notes), tuple(look.changed), tuple(outdated))


class _Look:
    """One look at all anchors of an entry: those that it has by now, and what there is to say.

    `changed`: each changed place, old and new. `outdated`: what the `text` still states of the old.
    """

    def __init__(self, code: CodeFolder, project: str, text: str) -> None:
        self._code, self._project, self._text = code, project, text
        self.anchors: list[Anchor] = []
        self.notes: list[str] = []
        self.changed: list[str] = []
        self.outdated: list[str] = []

    def at(self, anchor: Anchor) -> None:
        """Look at one anchor."""
        row = self._code.look(anchor, self._project)
        if row.verdict in SILENCED:
            self.notes.append(f"{anchor} is no more looked at: {row.detail}")
            return
        if row.verdict is CodeVerdict.ELSEWHERE:
            self.notes.append(f"{anchor} is not here, so it was not looked at")
        place = anchor
        if row.place:
            place = parse(row.place)._replace(repository=anchor.repository)
        now = None
        if row.verdict in {CodeVerdict.CHANGED, CodeVerdict.MOVED} or _was_never_seen(anchor, row):
            now = self._code.state(place.path, place.symbol)
        if now is None:
            self.anchors.append(anchor)
            return
        if row.verdict is CodeVerdict.CHANGED:
            self._note_change(anchor, row, now)
        self.anchors.append(_as_it_is(anchor, place, now))

    def _note_change(self, anchor: Anchor, row: AnchorVerdict, now: State) -> None:
        old, new = self._code.sides(anchor, row)
        has_value = anchor.value is not None
        if anchor.value is not None:
            old, new = plain(anchor.value), now.value or new
        new = new or ""
        self.changed.append(f"{anchor._replace(value=None)} {_old_and_new(old, new)}")
        self.outdated += still_stated(self._text, old, new, value=has_value)


def _was_never_seen(anchor: Anchor, row: AnchorVerdict) -> bool:
    """Whether a place that holds has no fingerprint yet: a person wrote it into the file."""
    if row.verdict is not CodeVerdict.HOLDS or anchor.value is not None:
        return False
    return not (anchor.seen or anchor.package)


def _as_it_is(anchor: Anchor, place: Anchor, now: State) -> Anchor:
    """The anchor at its place, with the value or the fingerprint that it has there."""
    if anchor.value is None or now.value is None:
        return place._replace(value=None, seen=now.fingerprint)
    value = now.value
    if anchor.value[:1] in "\"'":
        value = json.dumps(now.value, ensure_ascii=False)
    return place._replace(value=value)


def _old_and_new(old: str, new: str) -> str:
    """The lines that differ, as a sentence has room for them."""
    if not old:
        return "changed, and git does not have it as it was"
    return f"was {_lines_missing(old, new)}, and is {_lines_missing(new, old)}"


def _lines_missing(text: str, other: str) -> str:
    """The lines of a text that another has not, joined."""
    lines_of_other = {line.strip() for line in other.splitlines()}
    missing = []
    for line in text.splitlines():
        if line.strip() not in lines_of_other:
            missing.append(line.strip())
    # As much code as a sentence bears, in characters
    return " ".join(missing)[:200] or "less"


def code_diff(repo: RepositorySession, summary: EntrySummary) -> str:
    """How the code that an entry speaks of differs from what it was when the entry was written.

    As far as git knows.
    """
    code = code_around(repo)
    if code is None:
        return ""
    diffs = []
    for anchor in anchors_in(summary):
        diff = code.diff(anchor, code.look(anchor, summary.project))
        if diff:
            diffs.append(diff)
    return "\n".join(diffs)
