"""Records of proposals that were turned down: files on the approval branch, with the reason and the whole text.

Text in, values out. The file is ours alone, so it can be written whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ai_lessons.errors import InvalidEntry
from ai_lessons.knowledge import layout, markdown
from ai_lessons.knowledge.texts import decode
from ai_lessons.repository.rule_files import REJECTED

if TYPE_CHECKING:
    from collections.abc import Mapping

KIND: Final = "rejection"


@dataclass(frozen=True, slots=True)
class Rejection:
    """One proposal that was turned down. `at` is ISO 8601; `text` is the file it proposed, empty for a removal."""

    rule: str
    title: str
    reason: str
    proposal: str
    commit: str
    path: str
    suggested_by: str
    at: str
    text: str

    def render(self) -> bytes:
        """The record's file."""
        fields = {
            "kind": KIND,
            "title": self.title,
            "reason": self.reason,
            "rule": self.rule,
            "path": self.path,
            "proposal": self.proposal,
            "commit": self.commit,
            "suggested_by": self.suggested_by,
            "rejected": self.at,
        }
        return markdown.render(fields, self.text).encode()


def place(name: str, title: str, year: int) -> str:
    """Where the record called `name` (a ULID) goes."""
    return f"{REJECTED}{year:04d}/{name}-{layout.slug(title)}.md"


def read(data: bytes) -> Rejection | None:
    """A record's file; None for one that is no record of ours."""
    try:
        found = markdown.parse(decode(data, ""))
    except InvalidEntry:
        return None
    if found.fields.get("kind") != KIND:
        return None
    return Rejection(
        rule=_said(found.fields, "rule"),
        title=_said(found.fields, "title"),
        reason=_said(found.fields, "reason"),
        proposal=_said(found.fields, "proposal"),
        commit=_said(found.fields, "commit"),
        path=_said(found.fields, "path"),
        suggested_by=_said(found.fields, "suggested_by"),
        at=_said(found.fields, "rejected"),
        text=found.body,
    )


def _said(fields: Mapping[str, object], key: str) -> str:
    value = fields.get(key)
    return "" if value is None else str(value)
