"""What is to be forgotten, and the forms in which it may stand in a file. Pure."""

from __future__ import annotations

import html
import json
import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final
from unicodedata import normalize

from ai_lessons.errors import UsageError
from ai_lessons.model.layout import slug

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ai_lessons.model.entries import Entry

# Characters of a text: a shorter one stands in what has nothing to do with it
FEWEST: Final = 6
# Lines by which copies of an entry are known, at most, and the fewest characters of one
MOST_LINES, FEWEST_IN_LINE = 40, 24
# What stands in the place of a text in files of our own
FORGOTTEN: Final = "[forgotten]"


@dataclass(frozen=True)
class Target:
    """What is to be forgotten.

    `name`: as it may be shown. `texts`: lines, any of which gives it away. `entry`: the id, of an
    entry; empty for a text.
    """

    name: str
    texts: tuple[str, ...]
    entry: str = ""
    title: str = ""

    @cached_property
    def needles(self) -> tuple[bytes, ...]:
        """What to look for in the bytes of files."""
        needles: dict[bytes, None] = {}
        for text in self.texts:
            needles.update(dict.fromkeys(forms(text)))
        return tuple(needles)

    @cached_property
    def words(self) -> tuple[str, ...]:
        """How names of files and branches are made of it, where that is telling."""
        made = slug(self.title or self.texts[0])
        if len(made) < FEWEST:
            return ()
        return (made,)

    @cached_property
    def _id(self) -> re.Pattern[bytes]:
        return id_stated(self.entry)

    def is_in(self, data: bytes) -> bool:
        """Whether these bytes hold it, or are a version of the entry."""
        return any(needle in data for needle in self.needles) or self.is_stated(data)

    def is_stated(self, data: bytes) -> bool:
        """Whether these bytes are a file whose frontmatter states the id of the entry."""
        return bool(self.entry) and self._id.search(data) is not None


def id_stated(end: str) -> re.Pattern[bytes]:
    """Finds the id with this end where a frontmatter states it."""
    return re.compile(rb"^id: *[\"']?([0-9A-Z]*" + re.escape(end.encode()) + rb")\b", re.M)


def forms(text: str) -> Iterator[bytes]:
    """A text as it stands in plain files, JSON, YAML and HTML; the same bytes may come again."""
    for spelled in (text, normalize("NFC", text), normalize("NFD", text)):
        for written in (
            spelled,
            json.dumps(spelled)[1:-1],
            json.dumps(spelled, ensure_ascii=False)[1:-1],
            spelled.replace("'", "''"),
            html.escape(spelled),
        ):
            yield written.encode("utf-8", "surrogateescape")


def of_text(text: str) -> Target:
    """A text to be forgotten wherever it stands. Raises UsageError: it is too short, or many lines."""
    line = text.strip()
    if "\n" in line or "\r" in line:
        raise UsageError(
            "the text has several lines, and git filter-repo replaces line by line",
            hint="give each line that must go, one after the other",
        )
    if len(line) < FEWEST:
        raise UsageError(
            f"the text has {len(line)} characters: fewer than {FEWEST} stand in too much else",
            hint="give more of what stands around it, or the handle of the entry",
        )
    return Target(f"a text of {len(line)} characters", (line,))


def of_entry(entry_id: str, handle: str, versions: Iterable[Entry]) -> Target:
    """An entry, with what its versions say."""
    title, lines = "", dict[str, None]()
    for entry in versions:
        title = title or entry.title
        for line in (entry.title, *_lines_of(entry)):
            if len(line) >= FEWEST_IN_LINE:
                lines[line] = None
    longest = sorted(lines, key=len, reverse=True)[:MOST_LINES]
    if title and title not in longest and len(title) >= FEWEST:
        longest.append(title)
    return Target(handle, tuple(longest), entry_id, title)


def _lines_of(entry: Entry) -> Iterator[str]:
    texts = [entry.rationale, entry.body, entry.code or ""]
    if entry.pattern:
        texts += [entry.pattern.when, entry.pattern.action, entry.pattern.because]
    for text in texts:
        for line in text.splitlines():
            yield line.strip()
