"""Sentences that say what to do: found in texts of people, and made into the one line of an entry. Pure."""

from __future__ import annotations

from ai_lessons.model import expression, prescribing
from ai_lessons.model.prescribing import prescribes

LINE = 80  # Characters of a decision in one line (design 17): a hundred of them fit into a start
_HEADING_WORDS = 5  # A title of so many words, such as `Code Quality`, may name a subject and say nothing

_MARKS = expression(r"^(?:[-*+>]|\d{1,3}[.)]|#{1,6}|\[[ xX]\])\s+")
_MOST_ROWS = 2_000  # Rows of a text that are looked at: a longer one is no statement


def sentences(text: str) -> list[str]:
    """The sentences of a text in their order, without marks of lists and headings; code blocks are left out."""
    result: list[str] = []
    paragraph: list[str] = []
    fenced = False
    for row in [*text.split("\n", _MOST_ROWS)[:_MOST_ROWS], ""]:
        stripped = row.strip()
        fence = stripped.startswith(("```", "~~~"))
        item = _MARKS.match(stripped) is not None
        if fence or fenced or item or not stripped:
            result += prescribing.sentences(" ".join(paragraph))
            paragraph = []
        if fence:
            fenced = not fenced
        elif stripped and not fenced:
            paragraph.append(unmarked(stripped))
            if stripped.startswith("#"):
                result += prescribing.sentences(paragraph.pop())
    return result


def unmarked(row: str) -> str:
    """A row without the marks at its beginning: `- [ ] 1. Use x` is `Use x`."""
    for _ in range(4):
        mark = _MARKS.match(row)
        if mark is None:
            break
        row = row[mark.end() :]
    return row


def is_heading(title: str) -> bool:
    """Whether a title may only name a subject: it is short and says nothing of what to do."""
    return len(title.split()) <= _HEADING_WORDS and not prescribes(title)


def says(title: str, text: str) -> bool:
    """Whether an entry prescribes: its title or a sentence of its text says what to do."""
    return prescribes(title) or any(prescribes(sentence) for sentence in sentences(text))


def decision(title: str, text: str, width: int = LINE) -> str:
    """An entry in one line of about `width` characters, cut at a word: what it says to do.

    The title, and where that may be a heading, the first sentence that prescribes behind it.
    """
    line = title
    if is_heading(title):
        order = next((sentence for sentence in sentences(text) if prescribes(sentence)), "")
        if order and order.casefold() != title.casefold():
            line = f"{title}: {order}"
    return shortened(line, width)


def shortened(line: str, width: int) -> str:
    """A line of at most `width` characters, cut at a word; `…` stands for what is missing."""
    line = " ".join(line.split())
    if len(line) <= width:
        return line
    start = line[: width - 1]
    at_a_word, _, _ = start.rpartition(" ")
    return f"{(at_a_word if len(at_a_word) > width // 2 else start).rstrip(' ,;:.')}…"
