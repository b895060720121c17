"""The sentence of a passage that is shown beside a result. Pure.

`sentences` takes Markdown apart by lines; the parser of `model.chunks` would load markdown-it for each result of a search.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.model import expression
from ai_lessons.model.languages import stem
from ai_lessons.model.texts import NOT_ABOUT
from ai_lessons.search.tokens import fold, pattern, stem_positions, words_of

if TYPE_CHECKING:
    from collections.abc import Sequence


class SnippetLimits(NamedTuple):
    """Letters and characters by which a sentence is chosen."""

    # Letters of the shortest word that a snippet is chosen by: `of` and `to` are in every sentence
    short_word: int = 3
    # Characters of a sentence with a colon that belongs to what follows
    leading: int = 120


SENTENCES = SnippetLimits()


_FENCE = expression(r"`{3,}|~{3,}")
_HEADING = expression(r"#{1,6}(?!\S)(.*?)(?:\s#*)?")
_NO_SENTENCE = expression(
    r"\W*|\[[^\]]+\]:\s.*|\[!\w+\]|<!--.*|\{[{%].*[}%]\}|:::.*|\[\[?_?TOC_?\]?\]"
)
_QUOTES = expression("^[rRuU]?(?:\"{3}|'{3})|(?:\"{3}|'{3})$")
_ITEM = expression(r"(?:[-*+]\s+(?:\[[ xX]\]\s+)?|\d{1,9}[.)]\s+)+")
_REMARK = expression(r"(?:#+|//+!?|--|;+|/?\*+/?|REM\b|<!--)\s+")
_TAG = "a|b|br|center|code|details|div|em|h[1-6]|hr|i|img|kbd|li|ol|p|pre|span|strong|su[bp]|summary|t[dhr]|table|ul"
_INLINE = expression(
    r"(?<!`)(?P<tick>`++)(?P<code>.{1,300}?)(?<!`)(?P=tick)(?!`)"
    r"|!?\[(?P<link>[^\[\]]*)\](?:\([^()]*(?:\([^()]*\)[^()]*)*\)|\[[^\[\]]*\])"
    r"|(?<![A-Za-z0-9*_])(?P<mark>\*{1,3}|_{1,3}|~~)(?=[^\s*_~])(?P<text>.{1,300}?)(?<=[^\s*_~])(?P=mark)"
    r"(?![A-Za-z0-9*_])"
    rf"|(?i:</?(?:{_TAG})\b[^<>]*>)|<(?P<address>https?://[^<>\s]+)>|\\(?P<sign>[!-/:-@\[-`{{-~])"
)
_SENTENCE_END = expression(
    r"(?:(?<=[.!?\u2026\u061f])|(?<=[.!?][\"')\]\u201d]))(?<!\b[^\W\d_]\.)\s+(?![a-z])"
    r"|(?<=[a-z]{4}[.!?])\s+|(?<=[\u3002\uff01\uff1f])\s*"
)
_COMPLETE = frozenset(".!?:;,\u2026\u061f\u3002\uff01\uff1f")


def sentences(text: str, *, code: bool = False) -> list[str]:
    """The sentences of Markdown without its marks, in order.

    Also items, rows of tables, and lines of code.

    Headings are none, unless there is nothing else. `code`: the text of a script, below its
    description if that has a shebang line. Comments of code are sentences without their signs.
    """
    reader = _Reader(code=code, script=code and "\n#!" not in text)
    # a passage is shorter; a whole text may be a megabyte
    for row in text[:20_000].split("\n"):
        reader.read(row.strip())
    result: list[str] = []
    for place, part in enumerate(reader.parts or reader.headings):
        if place in reader.lines_of_code:
            pieces = [" ".join(part.split())]
        else:
            pieces = _SENTENCE_END.split(" ".join(_unmarked(part).split()))
        for sentence in pieces:
            # what follows a short sentence with a colon says it
            leads = (
                bool(result) and result[-1].endswith(":") and len(result[-1]) < SENTENCES.leading
            )
            _append(result, sentence, joined=leads)
    return result


class _Reader:
    """Takes lines of Markdown, and joins those of a paragraph to one part.

    `lines_of_code` are places in `parts`. `script`: all lines are code, without a fence.
    """

    def __init__(self, *, code: bool, script: bool) -> None:
        self.code, self.script = code, script
        self.parts: list[str] = []
        self.headings: list[str] = []
        self.lines_of_code: set[int] = set()
        self.fenced = False
        # the next line may belong to the same paragraph as this one
        self.goes_on = False

    def read(self, row: str) -> None:
        """Take one line, without blanks around it."""
        joined, self.goes_on = self.goes_on, False
        if _FENCE.match(row):
            self.fenced = not self.fenced
        elif row.startswith("#!"):
            self.script = self.code
        elif self.fenced or self.script:
            self._read_code(row, joined=joined)
        elif joined and self._underlines(row):
            self.headings.append(self.parts.pop())
        elif heading := _HEADING.fullmatch(row):
            self.headings.append(heading[1].strip())
        else:
            self._read_text(row.lstrip("> "), joined=joined)

    def _underlines(self, row: str) -> bool:
        """Whether the line above is a heading by this one, of `===` or `---`."""
        if not row or row[0] not in "=-" or row.strip(row[0]):
            return False
        return len(self.parts[-1]) < SENTENCES.leading

    def _read_code(self, row: str, *, joined: bool) -> None:
        remark = _REMARK.match(row)
        if not remark and self.script:
            # in a script also a comment without a blank behind its sign
            remark = re.match("#+", row)
        if not remark:
            if _append(self.parts, _QUOTES.sub("", row), joined=False):
                self.lines_of_code.add(len(self.parts) - 1)
            return
        words = row[remark.end() :].strip("#-=*~ ")
        if self.script and NOT_ABOUT.match(words):
            # a license, or a setting for an editor
            return
        self.goes_on = _append(self.parts, words, joined=joined)

    def _read_text(self, row: str, *, joined: bool) -> None:
        if row.startswith("|"):
            cells = filter(None, map(str.strip, row.split("|")))
            _append(self.parts, ", ".join(cells), joined=False)
            return
        if _NO_SENTENCE.fullmatch(row):
            return
        item = _ITEM.match(row)
        if item:
            # an item is a part of its own
            row, joined = row[item.end() :], False
        self.goes_on = _append(self.parts, row, joined=joined)


def _append(parts: list[str], text: str, *, joined: bool) -> bool:
    """Add a line to the last part, or as a part of its own; False where it says nothing."""
    if not any(map(str.isalnum, text)):
        return False
    if joined:
        parts[-1] = f"{parts[-1]} {text}"
    else:
        parts.append(text)
    return True


def _unmarked(text: str) -> str:
    """A paragraph without the marks of Markdown inside it; code keeps its signs."""

    def inner(match: re.Match[str]) -> str:
        marked = match["text"]
        if marked is None:
            marked = match["link"]
        return match["code"] or match["address"] or match["sign"] or _unmarked(marked or "")

    return _INLINE.sub(inner, text)


def snippet(
    text: str,
    query: str,
    width: int = 150,
    phrases: Sequence[str] = (),
    title: str = "",
    *,
    code: bool = False,
) -> str:
    """The sentence that holds most words of the query, from its beginning, and those that follow, on one line.

    About `width` characters, without marks of Markdown and without the title, which is shown beside it; all of a text
    that is as short. A phrase comes before all words. Words are compared without their common endings; a passage found
    by its vector alone gives its beginning. `code`: the text of a script.
    """
    shown = fold(title).casefold().strip(" .:")
    besides = [_beside(sentence, shown) for sentence in sentences(text, code=code)]
    # each once, without those that only repeat the title
    parts = list(dict.fromkeys(filter(None, besides)))
    if sum(map(len, parts)) + len(parts) <= width:
        return _joined(parts, 2 * width)
    stems = _stems(query)
    expressions = _expressions(phrases)

    def answers(part: str) -> tuple[int, int]:
        folded = fold(part)
        held = {word for _, word in stem_positions(folded, stems)}
        phrases_held = sum(bool(expression.search(folded)) for expression in expressions)
        return phrases_held, sum(map(len, held))

    # the first of equal ones
    best = max(range(len(parts)), key=lambda place: answers(parts[place]))
    return _cut(_joined(parts[best:], width), width)


def _stems(query: str) -> set[str]:
    """The words of a query that a sentence is chosen by."""
    stems: set[str] = set()
    for word in words_of(query):
        # `of` and `to` are in every sentence
        if len(word) >= SENTENCES.short_word or not word.isascii():
            stems.add(stem(word))
    return stems


def _expressions(phrases: Sequence[str]) -> list[re.Pattern[str]]:
    """What finds the phrases in a sentence, which has lost the marks of Markdown."""
    expressions: list[re.Pattern[str]] = []
    for phrase in phrases:
        expression = pattern(re.sub("[*`~]", " ", phrase))
        if expression:
            expressions.append(re.compile(expression))
    return expressions


def _beside(sentence: str, title: str) -> str:
    """A sentence without the title that it repeats: empty if it says no more."""
    if not title or not fold(sentence).casefold().startswith(title):
        return sentence
    behind = sentence[len(title) :]
    ends = re.match(r"\s*[.:|]|\s+[-\u2013\u2014]|\s*$", behind)
    if ends:
        return behind.lstrip(" .:|-\u2013\u2014")
    return sentence


def _joined(parts: Sequence[str], width: int) -> str:
    """Sentences on one line: as many as fit, and one more behind a short beginning."""
    line = ""
    for part in parts:
        if not line:
            line = part
            continue
        if len(line) >= width:
            break
        fits = len(line) + len(part) < width
        is_short = len(line) <= width // 2 or line.endswith(":")
        if not fits and not is_short:
            break
        if line[-1] in _COMPLETE:
            line += f" {part}"
        else:
            line += f" \u00b7 {part}"
    return line


def _cut(text: str, width: int) -> str:
    """The text, or its beginning up to a word, marked with an ellipsis."""
    if len(text) <= width:
        return text
    end = text.rfind(" ", width // 2, width)
    if end <= 0:
        # one long word, or a script without blanks
        end = width - 1
    return text[:end].rstrip(" ,;:\u00b7") + "\u2026"
