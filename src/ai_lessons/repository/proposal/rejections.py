"""Records of proposals that were turned down: files on the approval branch, with the reason and the whole text.

Text in, values out. The file is ours alone, so it can be written whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ai_lessons.errors import InvalidEntry
from ai_lessons.knowledge import layout, markdown
from ai_lessons.knowledge.entries import Kind
from ai_lessons.knowledge.texts import decode
from ai_lessons.repository.approval.rule_files import REJECTED

if TYPE_CHECKING:
    from collections.abc import Mapping

KIND: Final = "rejection"
RULE: Final = Kind.RULE.value
WHAT: Final = (*(kind.value for kind in Kind), "release")
"""What a proposal may be about; the key that holds its id."""


@dataclass(frozen=True, slots=True)
class Rejection:
    """One proposal that was turned down.

    `what` is the kind of entry, or `release`; `at` is ISO 8601. `text` is the file it proposed, of several (`files`)
    each below a line with its path; empty for a removal.
    """

    entry: str
    title: str
    reason: str
    proposal: str
    commit: str
    path: str
    suggested_by: str
    at: str
    text: str
    what: str = RULE
    files: tuple[str, ...] = ()

    def render(self) -> bytes:
        """The record's file."""
        fields = {
            "kind": KIND,
            "title": self.title,
            "reason": self.reason,
            self.what: self.entry,
            "path": self.path,
            "proposal": self.proposal,
            "commit": self.commit,
            "suggested_by": self.suggested_by,
            "rejected": self.at,
        } | ({"files": list(self.files)} if self.files else {})
        return markdown.render(fields, self.text).encode()

    def texts(self) -> dict[str, str]:
        """What was proposed, by path; empty for a removal."""
        if not self.files:
            return {self.path: self.text} if self.text else {}
        found, rest = {}, self.text.lstrip("\n")
        for path, following in zip(self.files, (*self.files[1:], None), strict=True):
            own = rest.removeprefix(_heading(path))
            found[path], _, rest = own.partition("\n" + _heading(following)) if following else (own, "", "")
        return found


def joined(texts: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    """`text` and `files` of a record about these files."""
    if len(texts) < 2:
        return next(iter(texts.values()), ""), ()
    return "\n".join(_heading(path) + text for path, text in texts.items()), tuple(texts)


def _heading(path: str) -> str:
    return f"<!-- {path} -->\n"


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
    what = next((key for key in WHAT if key in found.fields), RULE)
    files = found.fields.get("files")
    return Rejection(
        entry=_said(found.fields, what),
        title=_said(found.fields, "title"),
        reason=_said(found.fields, "reason"),
        proposal=_said(found.fields, "proposal"),
        commit=_said(found.fields, "commit"),
        path=_said(found.fields, "path"),
        suggested_by=_said(found.fields, "suggested_by"),
        at=_said(found.fields, "rejected"),
        text=found.body,
        what=what,
        files=tuple(map(str, files)) if isinstance(files, list) else (),
    )


def _said(fields: Mapping[str, object], key: str) -> str:
    value = fields.get(key)
    return "" if value is None else str(value)
