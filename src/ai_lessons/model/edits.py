"""The edit of a file that a tool call makes: what becomes what, or what else happens to the file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Json = Mapping[str, Any]
    Texts = Sequence[str]


EVERY, APPENDED, LINES, REGEX, PART = "every", "appended", "lines", "regex", "part"


CELL, MOVED, COPIED, GONE, UNSEEN = "cell", "moved", "copied", "gone", "unseen"


class Edit(NamedTuple):
    """An edit of the file at `path`: `old` becomes `new` in it; without `old`, `new` is all of it.

    `was`: its path before, or that of what it is a copy of, where this is another. `how`, where it
    is otherwise: `every` place of `old`; `appended`; the `lines` from `first` to `last` (one less:
    before `first`); a `regex` in the place of `old`; a `part` wherever it goes; a `cell` of a
    notebook; `moved` or `copied` as it is; `gone`; `unseen`: the tool may write there, in `path` or
    below it (empty: anywhere), and what it writes cannot be looked at.
    """

    path: str
    old: str = ""
    new: str = ""
    how: str = ""
    was: str = ""
    first: int = 0
    last: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether `new` is all of the file."""
        return not self.how and not self.old
