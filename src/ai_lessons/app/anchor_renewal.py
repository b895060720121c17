"""A new look at the code of an entry, for a person who says that it still holds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.app.code_folder import code_around
from ai_lessons.model import anchors, definitions
from ai_lessons.model.anchors import Anchor, Verdict, anchors_of

if TYPE_CHECKING:
    from ai_lessons.app.workspace import RepositorySession
    from ai_lessons.model.entries import EntrySummary


class Renewed(NamedTuple):
    """What a new look at the code of an entry found.

    `about`: the new value of the field, None where nothing of it is to be changed. `changed`: each
    changed place, old and new. `outdated`: what the text still states of the old code.
    """

    about: list[dict[str, str]] | None = None
    notes: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    outdated: tuple[str, ...] = ()


def looked_again(repo: RepositorySession, summary: EntrySummary, text: str) -> Renewed:
    """The code of an entry as it is now, for a person who says that it still holds.

    `text` is all that the entry says, in which old values are looked for. What is gone is left
    out, because nothing is there to look at.
    """
    stated_anchors = anchors_of(summary.about)
    code = None
    if stated_anchors:
        code = code_around(repo)
    if code is None:
        if not stated_anchors:
            return Renewed()
        return Renewed(notes=("its code is not here, so it was not looked at",))
    renewed, notes, changed, outdated = list[Anchor](), list[str](), list[str](), list[str]()
    for anchor in stated_anchors:
        row = code.look(anchor, summary.project)
        if row.verdict in anchors.SILENCED:
            notes.append(f"{anchor} is no more looked at: {row.detail}")
            continue
        if row.verdict is Verdict.ELSEWHERE:
            notes.append(f"{anchor} is not here, so it was not looked at")
        if row.place:
            place = anchors.parse(row.place)._replace(repository=anchor.repository)
        else:
            place = anchor
        unseen = (
            row.verdict is Verdict.HOLDS
            and anchor.value is None
            and not (anchor.seen or anchor.package)
        )
        look = unseen or row.verdict in {Verdict.CHANGED, Verdict.MOVED}
        now = None
        if look:
            now = code.state(place.path, place.symbol)
        if now and row.verdict is Verdict.CHANGED:
            old, new = code.sides(anchor, row)
            if anchor.value is not None:
                old, new = definitions.plain(anchor.value), now.value or new
            changed.append(f"{anchor._replace(value=None)} {_old_and_new(old, new or '')}")
            outdated += anchors.still_stated(text, old, new or "", value=anchor.value is not None)
        if now is None:
            renewed.append(anchor)
        elif anchor.value is not None and now.value is not None:
            if anchor.value[:1] in "\"'":
                value = json.dumps(now.value, ensure_ascii=False)
            else:
                value = now.value
            renewed.append(place._replace(value=value))
        else:
            renewed.append(place._replace(value=None, seen=now.fingerprint))
    code.close()
    about = None
    if renewed != list(stated_anchors):
        about = [anchor.fields for anchor in renewed]
        # a command is in no code: nothing of it can be looked at
        for command in anchors.commands_of(summary.about):
            about.append({"command": command})
    return Renewed(about, tuple(notes), tuple(changed), tuple(dict.fromkeys(outdated)))


def _old_and_new(old: str, new: str) -> str:
    """The lines that differ, as a sentence has room for them."""
    if not old:
        return "changed, and git does not have it as it was"
    return f"was {_lines_missing(old, new)}, and is {_lines_missing(new, old)}"


def _lines_missing(text: str, other: str) -> str:
    """The lines of a text that another has not, joined."""
    known_lines = {line.strip() for line in other.splitlines()}
    missing = []
    for line in text.splitlines():
        if line.strip() not in known_lines:
            missing.append(line.strip())
    # as much code as a sentence bears
    return " ".join(missing)[:200] or "less"


def code_diff(repo: RepositorySession, summary: EntrySummary) -> str:
    """How the code that an entry speaks of differs from what it was when the entry was written, as far as git knows."""
    code = code_around(repo)
    parts = []
    for anchor in anchors_of(summary.about):
        if code:
            parts.append(code.diff(anchor, code.look(anchor, summary.project)))
    return "\n".join(filter(None, parts))
