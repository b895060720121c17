"""From the bytes of a file to its texts, how a value is written in frontmatter, and stems.

Loads nothing slow.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple
from unicodedata import category

from ai_lessons.errors import InvalidEntry, Problem
from ai_lessons.model import expression
from ai_lessons.model.layout import is_markdown, side_of

# Lists whose order says nothing.
# Kept sorted, because additions in different gaps merge cleanly.
SORTED_KEYS = frozenset({"tags", "versions", "contexts"})

TIMES = frozenset({"created", "review_by", "reviewed", "source_date"})

# The fixed order of the keys we know, those below `pattern` last.
# Unknown keys follow in the order they came.
KEY_ORDER = (
    "id", "kind", "title", "rationale", "versions", "tags", "confidence", "source", "from", "status", "reason",
    "promoted_to", "path", "source_path", "source_ref", "source_url", "source_date", "etag", "content_hash",
    "interpreter", "created", "category", "review_by", "reviewed", "scope", "contexts", "applies_to", "check",
    "about", "pattern", "links", "when", "do", "dont", "because", "code", "package", "seen", "in",
)  # fmt: skip

_PLAIN = expression(
    r"[^\W_](?:[^\x00-\x1f\x7f#:]|:(?=[^\s:])|(?<=\S)#)*|[./_(](?:[^\x00-\x1f\x7f#:]|:(?=[^\s:])|(?<=\S)#)*"
)
_WORDS = expression(r"(?:y|n|yes|no|on|off|true|false|null|none|nan|inf)", re.IGNORECASE)
_NUMBER = expression(
    r"[-+]?[.0-9][0-9_.,:]*(?:e[-+]?[0-9]*)?|0[xob][0-9a-f_]*|[.][a-z]+", re.IGNORECASE
)
_DATE = expression(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ].*)?")
_TIMESTAMP = expression(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:Z|[+-][0-9]{2}:[0-9]{2})?)?"
)
_FLOW_INDICATOR = expression(r"[,\[\]{}:?]")
_ESCAPED = expression('[\\\\"\x00-\x1f\x7f-\xa0\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]')
_SHORT_ESCAPES = {"\n": "\\n", "\t": "\\t", '"': '\\"', "\\": "\\\\", "\r": "\\r"}


def normal(value: Any) -> Any:
    """The value as a parser would give it back.

    Lists, dicts and bare scalars, whatever they were made of.
    """
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        mapping = {}
        for key, item in value.items():
            mapping[str(key)] = normal(item)
        return mapping
    if isinstance(value, list | tuple | set | frozenset):
        return list(map(normal, sorted(value) if isinstance(value, set | frozenset) else value))
    return value


def same(left: Any, right: Any) -> bool:
    """Equality of normal values that keeps `1`, `1.0` and `true` apart, as JSON does."""
    first, second = (
        json.dumps(value, sort_keys=True, ensure_ascii=False, default=repr)
        for value in (left, right)
    )
    return first == second


def scalar(value: Any, *, flow: bool = False, timestamp: bool = False) -> str:
    """One value on one line. `flow`: inside `[]` or `{}`.

    `timestamp`: a day or date-time may stand without quotes.
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        if value:
            return "true"
        return "false"
    if isinstance(value, float):
        # no exponents: readers differ
        if "e" not in repr(value):
            return repr(value)
        return f"{value:.17f}".rstrip("0")
    if not isinstance(value, str):
        return repr(value)
    if timestamp and _TIMESTAMP.fullmatch(value):
        return value
    plain = _PLAIN.fullmatch(value) and value.isprintable() and value[-1] not in " :"
    read = _WORDS.fullmatch(value) or _NUMBER.fullmatch(value) or _DATE.fullmatch(value)
    if plain and not read and not (flow and _FLOW_INDICATOR.search(value)):
        return value
    return (
        '"'
        + _ESCAPED.sub(
            lambda match: _SHORT_ESCAPES.get(match[0]) or f"\\u{ord(match[0]):04x}", value
        )
        + '"'
    )


def flow(value: Any) -> str:
    """Any value on one line, collections in `[]` and `{}`."""
    if isinstance(value, dict):
        return (
            "{"
            + ", ".join(f"{scalar(key, flow=True)}: {flow(item)}" for key, item in value.items())
            + "}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    return scalar(value, flow=True)


def head_and_lines(key: str, value: Any, indent: int) -> tuple[str, list[str]]:
    """What stands behind `key:` on its line, and the lines below.

    `indent` is the column of the key.
    """
    if isinstance(value, dict) and value:
        return "", [
            line for name, item in value.items() for line in entry_lines(name, item, indent + 2)
        ]
    if isinstance(value, list) and value:
        return "", [line for item in value for line in item_lines(item, indent + 2)]
    if isinstance(value, str) and _is_literal(value):
        lines = value.removesuffix("\n").split("\n")
        return ("|" if value.endswith("\n") else "|-"), [
            " " * (indent + 2) + line if line else "" for line in lines
        ]
    if isinstance(value, dict | list):
        return flow(value), []
    return scalar(value, timestamp=key in TIMES), []


def _is_literal(text: str) -> bool:
    """True for text of several lines that a literal block carries unchanged and unadorned."""
    lines = text.removesuffix("\n").split("\n")
    if len(lines) < 2 or not lines[0] or not lines[-1] or lines[0][0] in " \t":
        return False
    return all(
        not line or (not line.isspace() and line.replace("\t", "").isprintable()) for line in lines
    )


def entry_lines(key: str, value: Any, indent: int = 0) -> list[str]:
    """A key and its value as lines without line ends."""
    head, lines = head_and_lines(key, value, indent)
    first = f"{' ' * indent}{scalar(key)}:"
    return [f"{first} {head}" if head else first, *lines]


def item_lines(value: Any, indent: int) -> list[str]:
    """One item of a block list as lines without line ends; `indent` is the column of the dash."""
    pad = " " * indent
    if isinstance(value, dict) and value:
        lines = []
        for key, item in value.items():
            for line in entry_lines(key, item, indent + 2):
                lines.append(line)
        return [f"{pad}- {lines[0][indent + 2 :]}", *lines[1:]]
    return [f"{pad}- {flow(value) if isinstance(value, list | dict) else scalar(value)}"]


def rank(key: str) -> int:
    """Place of a key in the fixed order; unknown keys after all others."""
    if key in KEY_ORDER:
        return KEY_ORDER.index(key)
    return len(KEY_ORDER)


def mapping_lines(fields: Mapping[str, Any]) -> list[str]:
    """The lines of a whole new frontmatter: known keys in the fixed order, then the rest.

    Sorted where sorted.
    """
    lines = []
    for key in sorted(fields, key=rank):
        value = normal(fields[key])
        if key in SORTED_KEYS and isinstance(value, list):
            value = sorted(value, key=lambda item: (str(item), json.dumps(item, default=str)))
        lines += entry_lines(key, value)
    return lines


BOM = "\ufeff"
# Characters of a title that lists and commits still show
TITLE_LENGTH = 200

_JOINING = "\u0600-\u109f\u1780-\u18af\ua800-\uabff\ufb50-\ufdff\ufe70-\ufefc\U00010a00-\U00011fff\U0001e900-\U0001e95f"
_EMOJI = (
    "\xa9\xae\u203c\u2049\u2122\u2139\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
# What a terminal obeys and what no reader sees.
# C0 (but tab and line feed), C1, lone surrogates (bytes that are no UTF-8), line separators, and,
# as Unicode lists them, the default ignorable code points and the format characters (Cf) but for
# those that are drawn (signs before Arabic, Syriac and Kaithi numbers), letters that are blank, and
# marks that enclose what stands before them. A model reads all of them, so that a text could give
# an agent orders that the person who approves it does not see.
# Left alone, one at a time between visible characters: a joiner between letters of scripts that
# join (Arabic to Myanmar, Khmer, Mongolian, …) and between emoji, the choice between text and emoji
# after an emoji or in a keycap, and the blank of Braille between Braille.
_OBEYED = expression(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U00013430-\U0001343f\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    # blank letters and signs, and what is no character
    "\U00013441\U00013442\U00016fe4\U0001d159\ufdd0-\ufdef\ufffe\uffff"
    + "".join(
        f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0x10000, 0x110000, 0x10000)
    )
    + "\u0488\u0489\u1abe\u20dd-\u20e0\u20e2\u20e4\ua670-\ua672]"
    r"|(?<![\u2801-\u28ff])\u2800|\u2800(?![\u2801-\u28ff])|(?<![#*0-9\ufe0f])\u20e3"
    rf"|(?<![{_JOINING}])\u200c|\u200c(?![{_JOINING}])"
    rf"|(?<![{_JOINING}{_EMOJI}\ufe0f])\u200d|\u200d(?![{_JOINING}{_EMOJI}])"
    rf"|(?<![{_EMOJI}])[\ufe0e\ufe0f](?!\u20e3)|(?<![{_EMOJI}#*0-9])[\ufe0e\ufe0f]"
)

# Marks on one letter that are left alone: no script has more
_STACKED = 4
# or other signs
_MARKS = expression(rf"(?<!\S)[^\w\s\x00-\x7f]+|[^\w\s\x00-\x7f]{{{_STACKED + 1},}}")

# Blank lines in front are an accident where a key follows; a page may also begin with a line across
_OPENING = expression(
    r"\ufeff?(?:---[ \t]*\r?\n|(?:[ \t]*\r?\n){1,20}+---[ \t]*\r?\n(?=[A-Za-z_][\w-]{0,40}:))"
)
_CLOSING = expression(r"^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
_TOML = expression(
    r"\ufeff?\+\+\+[ \t]*\r?\n(.*?)^\+\+\+[ \t]*(?:\r?\n|\Z)", re.MULTILINE | re.DOTALL
)
_JSON = expression(r"\ufeff?(?=\{\s*\")")
_LINE_END = expression(r"[ \t]*(?:\r?\n|\Z)")
# Key of the frontmatter of another program's page below which our keys stand
OURS = "ai-lessons"
# Characters of frontmatter that is no YAML
_FOREIGN_LIMIT = 65_536


class Texts(NamedTuple):
    """An entry's frontmatter as written in `file`, what stands below it, and a script's code.

    The file is None where there is no frontmatter.
    """

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
    """The texts of an entry.

    For a `script` give `side`, the bytes of the Markdown beside it, if there is one.

    Raises InvalidEntry: not text, which only the file of a script with a `side` may be: its code is
    empty then.
    """
    if side is not None:
        file = side_of(path)
        matter, body = split(decode(side, file))
        return Texts(file, matter, body, "" if b"\0" in data else data.decode("utf-8", "replace"))
    text = decode(data, path)
    if script:
        return Texts(path, None, code=text)
    if is_markdown(path):
        return Texts(path, *split(text))
    return Texts(path, None, text.removeprefix(BOM))


_UTF_FORMS = ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")
_ENCODING_NAME = expression(r"[A-Za-z0-9][A-Za-z0-9_:.-]{0,39}")
# No codec that writes text in ASCII characters (UTF-7, HZ, ISO-2022): the same bytes would be two
# texts
_READ_CODECS = expression(
    r"utf-(?:16|32)(?:-[bl]e)?|iso8859-[0-9]+|cp[0-9]+|koi8-[rtu]|mac-[a-z]+|hp-roman8|tis-620|kz1048|ptcp154"
    r"|shift_jis(?:x0213|_2004)?|euc_(?:jp|kr|jis_2004|jisx0213)|gb2312|gbk|gb18030|big5(?:hkscs)?|johab"
)


# what a file in wide characters begins with, the longer ones first
WIDE_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
# Characters, and share of every second byte that is zero in UTF-16 without a mark
_LEAST, _ZEROS = 8, 0.4


def text_of(data: bytes) -> str | None:
    """The text of any file, in whatever form of Unicode it is; None: it is binary."""
    for mark, coding in WIDE_MARKS.items():
        if data.startswith(mark):
            return data.decode(coding, "replace")
    if b"\0" not in data:
        return data.decode("utf-8", "replace").removeprefix(BOM)
    half = len(data) // 2
    for coding, start in (("utf-16-le", 1), ("utf-16-be", 0)):
        if half >= _LEAST and data[start::2].count(0) > _ZEROS * half:
            return data.decode(coding, "replace")
    try:
        return data.decode().removeprefix(BOM)
    except UnicodeDecodeError:
        return None


def codec_of(encoding: str) -> str:
    """Python's codec for an encoding that git knows by this name.

    Empty: none, or one that we do not read.
    """
    name = encoding.upper().removesuffix("-BOM")
    if not _ENCODING_NAME.fullmatch(name):
        return ""
    try:
        codec = codecs.lookup(name).name
    except LookupError:
        return ""
    if _READ_CODECS.fullmatch(codec):
        return codec
    return ""


def is_utf8(data: bytes) -> bool:
    """Whether these bytes are text in UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return b"\0" not in data


def as_utf8(data: bytes, encoding: str = "") -> bytes:
    """Bytes that are no UTF-8 in UTF-8, without a byte order mark.

    As they are where they are no text either. A form of UTF-16 or UTF-32 is known by how its
    frontmatter begins, another encoding by its name (see `codec_of`).
    """
    if is_utf8(data):
        return data
    codec = _wide_form(data) or codec_of(encoding)
    if not codec:
        return data
    try:
        return data.decode(codec).removeprefix(BOM).encode()
    except UnicodeError:
        return data


def _wide_form(data: bytes) -> str:
    """The form of UTF-16 or UTF-32 in which frontmatter begins here; empty: none."""
    for form in _UTF_FORMS:
        # encoded here and not once for all: a hook would load four codecs at each call
        if data.startswith((f"{BOM}---".encode(form), "---".encode(form))):
            return form
    return ""


def in_form_of(old: bytes, data: bytes) -> bytes:
    """Bytes in UTF-8 in the form of UTF-16 or UTF-32 of a file that holds `old`.

    With its byte order mark.
    """
    form = _wide_form(old)
    if not form or as_utf8(old) == old:
        return data
    if old.decode(form).startswith(BOM):
        mark = BOM
    else:
        mark = ""
    return (mark + data.decode()).encode(form)


def decode(data: bytes, path: str) -> str:
    """Bytes of a file as text, line ends and byte order mark kept.

    Raises InvalidEntry: not UTF-8, or a NUL byte.

    Frontmatter in UTF-16 and UTF-32 is read, too: a pulled attribute (`working-tree-encoding`) lets
    git check files out so.
    """
    data = as_utf8(data)
    try:
        text = data.decode()
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
    """The text of the frontmatter (None if there is none) and the body, exactly as it stands.

    Of any form, as YAML.
    """
    parts = cut(text)
    if parts.matter is None and (data := foreign(text)):
        return data
    return parts.matter, parts.body


def foreign(text: str) -> tuple[str, str] | None:
    """Frontmatter in TOML (`+++`) or JSON, written as JSON (which YAML contains), and the body.

    None if there is none.

    The body begins on a line of its own.
    """
    try:
        if match := _TOML.match(text, 0, _FOREIGN_LIMIT):
            fields, end = toml(match[1]), match.end()
        elif match := _JSON.match(text):
            fields, end = json.JSONDecoder().raw_decode(text[:_FOREIGN_LIMIT], match.end())
            line_end = _LINE_END.match(text, end)
            if line_end is None:
                return None
            end = line_end.end()
        else:
            return None
    except (ValueError, RecursionError):
        return None
    return json.dumps(fields, default=str, ensure_ascii=False), text[end:]


def cut(text: str) -> Cut:
    """The text in its four parts.

    A `---` line at the very start opens frontmatter, the next (or `...`) closes it.
    """
    opening = _OPENING.match(text)
    closing = None
    if opening:
        closing = _CLOSING.search(text, opening.end())
    if not opening or not closing:
        if text.startswith(BOM):
            mark = BOM
        else:
            mark = ""
        return Cut(mark, None, "", text[len(mark) :])
    return Cut(opening[0], text[opening.end() : closing.start()], closing[0], text[closing.end() :])


def escaped(text: str) -> str:
    """Text in which every character that is not seen is shown as an escape.

    So is what a terminal would obey. So is every mark that stands on no letter, or on top of
    `_STACKED` others: it covers what is beside it.
    """
    return _OBEYED.sub(lambda match: _escape(match[0]), _MARKS.sub(_unstacked, text))


def _escape(text: str) -> str:
    return text.encode("unicode_escape").decode()


def _unstacked(match: re.Match[str]) -> str:
    alone, height = match.start() == 0 or match.string[match.start() - 1].isspace(), 0
    signs: list[str] = []
    for sign in match[0]:
        mark = category(sign) in {"Mn", "Mc"}
        if mark:
            height = height + 1
        else:
            height = 0
        alone = alone and mark
        signs.append(_escape(sign) if mark and (alone or height > _STACKED) else sign)
    return "".join(signs)


_MAY_BE_HEADING = expression(
    r"(?:^|\r) {0,3}(?:#{1,6}(?:[ \t\r]|$)|(?:=+|-+)[ \t]*(?:\r|$))", re.MULTILINE
)


def may_have_headings(text: str) -> bool:
    """False only where no line can be a heading of CommonMark, of either kind.

    True promises nothing.
    """
    return _MAY_BE_HEADING.search(text) is not None


# How lines of the leading comment of a script begin that do not say what it does.
NOT_ABOUT = expression(
    r"(?:vim|author|date|copyright|\(c\)|licen[cs]e|spdx|https?|shellcheck|[\w-]+=)", re.IGNORECASE
)


def toml(text: str) -> dict[str, Any]:
    """The tables of TOML text. Raises ValueError: it is none, or nested as no person writes it."""
    import tomllib  # noqa: PLC0415  # 8 ms that only those pay who have such a file

    # tomllib takes time with the square of the parts of a dotted key
    if any(part.count(".") > 500 for line in text.split("\n") for part in line.split("=")):
        raise ValueError("a key of more than 500 parts")
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deep") from error


def json_object(text: str | bytes) -> dict[str, Any]:
    """The object that a JSON text is; an empty one where it is none."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    if isinstance(value, dict):
        return value
    return {}


def first_of(values: Sequence[str], most: int) -> str:
    """The first values in a sentence, and how many more there are.

    >>> first_of(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    return ", ".join(values[:most]) + (
        f" and {len(values) - most} more" if len(values) > most else ""
    )


def printable(text: str) -> str:
    r"""Text of many lines with a blank in the place of each sign that is not shown.

    A tab and the end of a line stay.

    >>> printable("a\x1b]0;b\x07\n\tc")
    'a ]0;b \n\tc'
    """
    if text.isprintable():
        return text
    signs = []
    for sign in text:
        if sign.isprintable() or sign in "\n\t":
            signs.append(sign)
        else:
            signs.append(" ")
    return "".join(signs)


# `## Install {#install .wide}`: an id and classes, as pandoc, kramdown and Docusaurus read them
_HEADING_ID = expression(
    r"\{:?[ \t]{0,9}[#.][^\s{}][^{}\n]{0,200}\}\Z|\{/\*[ \t]{0,9}#[^{}*\n]{1,200}\*/\}\Z"
)


def without_id(heading: str) -> str:
    """A heading without the id and classes that other programs read behind it.

    >>> without_id("Install {#install .wide}"), without_id("Sets {a, b}"), without_id("In C#")
    ('Install', 'Sets {a, b}', 'In C#')
    """
    text = heading.rstrip()
    behind = text.rstrip("#").rstrip()
    if not behind.endswith("}"):
        return heading
    return _HEADING_ID.sub("", behind).rstrip()


def one_line(text: object, limit: int = TITLE_LENGTH) -> str:
    """A title: one line without control characters, cut between words where it is too long."""
    line = " ".join("".join(c if c.isprintable() else " " for c in str(text)).split())
    start = line[: limit - 1].rpartition(" ")[0]
    if len(line) <= limit:
        return line
    if start:
        return f"{start.rstrip(' ,;:')}…"
    return line[:limit]
