"""Words out of a session as they may be kept: printable, in short, without secrets and people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.app import secrets
from ai_lessons.model import expression
from ai_lessons.model.texts import printable

if TYPE_CHECKING:
    import re

# Characters of a quote
_LONGEST = 400
# Stands in the place of what is left out
HIDDEN = "…"
# an address, a handle, the home folder of a person on Linux, macOS and Windows
_PEOPLE = expression(
    r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]+\.[\w.-]+"
    r"|(?<![\w/.`])@[A-Za-z][\w-]+(?![\w/-])"
    r"|(?<=/home/)[^/\s]+|(?<=/Users/)[^/\s]+"
    r"|(?<=\\Users\\)[^\\\s]+"
)


def without_people(text: str, people: re.Pattern[str] | None = None) -> str:
    """A text without addresses, handles and home folders of people.

    And without the names of these `people`.

    >>> without_people("ask @ann (ann@example.com), see /Users/ann/shop")
    'ask … (…), see /Users/…/shop'
    """
    hidden = _PEOPLE.sub(HIDDEN, text)
    if people:
        hidden = people.sub(HIDDEN, hidden)
    return hidden


def cleaned(text: str) -> str:
    """What a transcript holds (words, names of sessions and files, outputs) as it may be kept.

    Printable, no secrets.
    """
    return secrets.masked(printable(text))


def quoted(text: str, people: re.Pattern[str] | None = None) -> str:
    """Words of a person as they are stored and shown: in short, without secrets and people."""
    # a quote that is longer is no statement, and review shows several
    beginning = " ".join(text[: 10 * _LONGEST].split())
    return without_people(cleaned(beginning), people)[:_LONGEST]
