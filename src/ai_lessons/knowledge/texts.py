"""From the bytes of a file to its texts: frontmatter, body, code. Knows where YAML stands, but loads nothing slow."""

from __future__ import annotations

import re
from typing import NamedTuple

from ai_lessons.errors import InvalidEntry, Problem
from ai_lessons.knowledge.layout import is_markdown, side_of

BOM = "\ufeff"
TITLE_LENGTH = 200  # Characters of a title that lists and commits still show

_OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
    "|(?<![^\x00-\x7f])[\u200c\u200d]|[\u200c\u200d](?![^\x00-\x7f])"
)
"""C0 (but tab and line feed), C1, directional marks and overrides, line separators, invisible and tag characters,
joiners within ASCII, lone surrogates (they stand for bytes that are no UTF-8)."""

_OPENING = re.compile(r"\ufeff?---[ \t]*\r?\n")
_CLOSING = re.compile(r"^---[ \t]*(?:\r?\n|\Z)", re.MULTILINE)


class Texts(NamedTuple):
    """An entry's frontmatter as written in `file` (None: none), exactly what stands below it, and a script's code."""

    file: str
    matter: str | None
    body: str = ""
    code: str = ""


class Cut(NamedTuple):
    """A text cut at the lines around its frontmatter; together they are the text."""

    opening: str
    matter: str | None
    closing: str
    body: str


def texts_of(path: str, data: bytes, side: bytes | None = None, *, script: bool) -> Texts:
    """The texts of an entry; for a `script` give `side`, the bytes of the Markdown beside it, if there is one.

    Raises InvalidEntry: not text, which only the file of a script with a `side` may be: its code is empty then.
    """
    if side is not None:
        file = side_of(path)
        matter, body = split(decode(side, file))
        return Texts(file, matter, body, "" if b"\0" in data else data.decode("utf-8", "replace"))
    text = decode(data, path)
    if script:
        return Texts(path, None, code=text)
    return Texts(path, *split(text)) if is_markdown(path) else Texts(path, None, text.removeprefix(BOM))


def decode(data: bytes, path: str) -> str:
    """Bytes of a file as text, line ends and byte order mark kept. Raises InvalidEntry: not UTF-8, or a NUL byte."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InvalidEntry(
            [Problem(path, f"not UTF-8 text (byte 0x{data[error.start]:02x})", line)],
            hint="save it as UTF-8, or move it out of the knowledge folders",
        ) from error
    if "\0" in text:
        line = data.count(b"\n", 0, data.index(0)) + 1
        raise InvalidEntry([Problem(path, "holds a NUL byte, so it is not text", line)])
    return text


def split(text: str) -> tuple[str | None, str]:
    """The text of the frontmatter (None if there is none) and the body, exactly as it stands."""
    parts = cut(text)
    return parts.matter, parts.body


def cut(text: str) -> Cut:
    """The text in its four parts: a `---` line at the very start opens frontmatter, the next one closes it."""
    opening = _OPENING.match(text)
    closing = _CLOSING.search(text, opening.end()) if opening else None
    if not opening or not closing:
        mark = BOM if text.startswith(BOM) else ""
        return Cut(mark, None, "", text[len(mark) :])
    return Cut(opening[0], text[opening.end() : closing.start()], closing[0], text[closing.end() :])


def escaped(text: str) -> str:
    """Text in which every character that a terminal would obey, or that is not seen, is shown as an escape."""
    return _OBEYED.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


_MAY_BE_HEADING = re.compile(r"(?:^|\r) {0,3}(?:#{1,6}(?:[ \t\r]|$)|(?:=+|-+)[ \t]*(?:\r|$))", re.MULTILINE)


def may_have_headings(text: str) -> bool:
    """False only where no line can be a heading of CommonMark, of either kind; True promises nothing."""
    return _MAY_BE_HEADING.search(text) is not None


def one_line(text: object, limit: int = TITLE_LENGTH) -> str:
    """A title: one line without control characters, cut between words where it is too long."""
    line = " ".join("".join(c if c.isprintable() else " " for c in str(text)).split())
    start = line[: limit - 1].rpartition(" ")[0]
    return line if len(line) <= limit else f"{start.rstrip(' ,;:')}…" if start else line[:limit]
