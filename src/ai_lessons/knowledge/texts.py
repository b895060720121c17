"""From the bytes of a file to its texts: frontmatter, body, code. Knows where YAML stands, but loads nothing slow."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from ai_lessons.errors import InvalidEntry, Problem
from ai_lessons.knowledge.layout import is_markdown, side_of

BOM = "\ufeff"
TITLE_LENGTH = 200  # Characters of a title that lists and commits still show

_JOINING = "\u0600-\u109f\u1780-\u18af\ua800-\uabff\ufb50-\ufdff\ufe70-\ufefc\U00010a00-\U00011fff\U0001e900-\U0001e95f"
_EMOJI = "\xa9\xae\u203c\u2049\u2122\u2139\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
_OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U00013430-\U0001343f\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
    rf"|(?<![{_JOINING}])\u200c|\u200c(?![{_JOINING}])"
    rf"|(?<![{_JOINING}{_EMOJI}\ufe0f])\u200d|\u200d(?![{_JOINING}{_EMOJI}])"
    rf"|(?<![{_EMOJI}])[\ufe0e\ufe0f](?!\u20e3)|(?<![{_EMOJI}#*0-9])[\ufe0e\ufe0f]"
)
"""What a terminal obeys and what no reader sees: C0 (but tab and line feed), C1, lone surrogates (bytes that are no
UTF-8), line separators, and, as Unicode lists them, the default ignorable code points and the format characters (Cf)
but for those that are drawn (signs before Arabic, Syriac and Kaithi numbers). A model reads all of them, so that a text
could give an agent orders that the person who approves it does not see.

Left alone, one at a time between visible characters: a joiner between letters of scripts that join (Arabic to Myanmar,
Khmer, Mongolian, …) and between emoji, and the choice between text and emoji after an emoji or in a keycap."""

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
    return _OBEYED.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


_MAY_BE_HEADING = re.compile(r"(?:^|\r) {0,3}(?:#{1,6}(?:[ \t\r]|$)|(?:=+|-+)[ \t]*(?:\r|$))", re.MULTILINE)


def may_have_headings(text: str) -> bool:
    """False only where no line can be a heading of CommonMark, of either kind; True promises nothing."""
    return _MAY_BE_HEADING.search(text) is not None


_KEY_PARTS = 500  # of a dotted key of TOML; tomllib takes time with their square


def toml(text: str) -> dict[str, Any]:
    """The tables of TOML text. Raises ValueError: it is none, or nested as no person writes it."""
    import tomllib  # noqa: PLC0415  # 8 ms that only those pay who have such a file

    if any(part.count(".") > _KEY_PARTS for line in text.split("\n") for part in line.split("=")):
        raise ValueError(f"a key of more than {_KEY_PARTS} parts")
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deep") from error


def one_line(text: object, limit: int = TITLE_LENGTH) -> str:
    """A title: one line without control characters, cut between words where it is too long."""
    line = " ".join("".join(c if c.isprintable() else " " for c in str(text)).split())
    start = line[: limit - 1].rpartition(" ")[0]
    return line if len(line) <= limit else f"{start.rstrip(' ,;:')}…" if start else line[:limit]
