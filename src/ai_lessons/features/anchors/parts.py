"""A part of a file that has a name: a definition, or a key with its value. Pure."""

from __future__ import annotations

import json
from typing import NamedTuple


class Definition(NamedTuple):
    """What a file has under a name.

    Its text, `lines` (first and last, from 1) of each part, and its value, if plain.

    `meaning` is what of the text counts: without comments and blanks, of Python its syntax tree
    without docstrings. `documented`: the meaning with docstrings, where there are any.
    """

    text: str
    lines: tuple[tuple[int, int], ...]
    meaning: str
    value: str | None = None
    documented: str = ""


# Of Python that cannot be parsed: nothing is known of it.
UNPARSED = Definition("", (), "")


def plain(text: str) -> str:
    """A value as it is compared.

    Without quotes and blanks around it, lists and tables as JSON writes them.
    """
    text = text.strip()
    is_quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'"
    if is_quoted and text[0] not in text[1:-1]:
        return text[1:-1]
    try:
        return shown(json.loads(text))
    except (ValueError, RecursionError):
        if text in {"True", "False"}:
            return text.lower()
        return " ".join(text.split())


def shown(value: object) -> str:
    """A value that was parsed, as it is compared."""
    if isinstance(value, str):
        return value
    return json.dumps(value, default=str, ensure_ascii=False)
