"""Marks of risk in a text: advice that opens a hole, terms of a licence, data about people. Pure.

A text that warns of a thing holds its words as well: advice counts only where its line, and the one that leads to it,
do not speak against it. Values (a password, a card) are never repeated.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.knowledge.evaluation import risk_marks as marks
from ai_lessons.knowledge.evaluation.report import Flag

if TYPE_CHECKING:
    from collections.abc import Iterator

_AROUND = 600
"""Characters before and after an advice that are asked whether they speak against it."""


class Risk(NamedTuple):
    """One mark, at `start` of the text. Without a flag it is only to be known."""

    flag: Flag | None
    message: str
    start: int


def risks(text: str) -> list[Risk]:
    """Every mark in a text, in its order. Takes time in proportion to the text."""
    return sorted((*advice(text), *licences(text), *personal(text)), key=lambda risk: risk.start)


def advice(text: str) -> Iterator[Risk]:
    """Advice that opens a hole, and passwords as they are."""
    for told, shape in marks.ADVICE.items():
        for match in shape.finditer(text):
            if not _spoken_against(text, match.start(), match.end()):
                yield Risk(Flag.SECURITY_ANTI_PATTERN, told, match.start())
    for match in marks.PASSWORD.finditer(text):
        value = next(part for part in match.groups() if part is not None)
        if not marks.NO_PASSWORD.fullmatch(value) and not _spoken_against(text, match.start(), match.end()):
            yield Risk(Flag.SECURITY_ANTI_PATTERN, "holds a password", match.start())


def _spoken_against(text: str, start: int, end: int) -> bool:
    """Whether the line of a match, or the one that leads up to it, says that it is not to be done, or is about here."""
    line = text.rfind("\n", 0, start) + 1
    stop = text.find("\n", end)
    before, after = text[max(line, start - _AROUND) : start], text[end : stop if stop >= 0 else len(text)][:_AROUND]
    rows = [row.strip() for row in text[max(line - _AROUND, 0) : line].split("\n")]
    rows = [row for row in rows if row and not row.startswith(("```", "~~~"))]
    lead = rows[-1] if rows and rows[-1].endswith(":") else ""
    return bool(marks.AGAINST.search(f"{lead}\n{before}\n{after}") or marks.HERE_ONLY.search(text[start:end] + after))


def licences(text: str) -> Iterator[Risk]:
    """Terms that travel with the text: those that bind whoever takes it carry a flag, others are only named."""
    for match in marks.SPDX.finditer(text):
        flag = Flag.LICENSE_CONFLICT if marks.BINDING.search(match[1]) else None
        yield Risk(flag, f"says that its licence is {match[1].strip('()')}", match.start())
    for match in marks.TERMS.finditer(text):
        yield Risk(Flag.LICENSE_CONFLICT, "states the terms of a licence that binds who passes it on", match.start())
    for match in marks.RESERVED.finditer(text):
        yield Risk(Flag.LICENSE_CONFLICT, f"says {_said(match)!r}", match.start())
    for match in marks.COPYRIGHT.finditer(text):
        yield Risk(None, "has a line of copyright", match.start())


def personal(text: str) -> Iterator[Risk]:
    """Data about people, and notices that a text is not for everybody."""
    for match in marks.CONFIDENTIAL.finditer(text):
        yield Risk(Flag.COMPLIANCE_RISK, f"says {_said(match)!r}", match.start())
    for told, shape in marks.PERSONAL.items():
        for match in shape.finditer(text):
            yield Risk(Flag.COMPLIANCE_RISK, f"holds what looks like {told}", match.start())
    for match in marks.CARD.finditer(text):
        if _is_card(re.sub(r"[ -]", "", match[0])):
            yield Risk(Flag.COMPLIANCE_RISK, "holds what looks like the number of a payment card", match.start())
    for match in marks.IBAN.finditer(text):
        if _is_iban(match[1].replace(" ", "")):
            yield Risk(Flag.COMPLIANCE_RISK, "holds what looks like a bank account (IBAN)", match.start())


def _said(match: re.Match[str]) -> str:
    return " ".join(match[0].split()).lower()


def _is_card(digits: str) -> bool:
    """Luhn, the first digit of a card network, and no number that is printed in every manual."""
    plain = digits.isascii() and len(digits) in {14, 15, 16} and digits[0] in "3456"
    if not plain or digits in marks.TEST_CARDS or len(set(digits)) < 4:
        return False
    doubled = [int(d) * (1 + i % 2) for i, d in enumerate(reversed(digits))]
    return sum(d - 9 if d > 9 else d for d in doubled) % 10 == 0


def _is_iban(text: str) -> bool:
    """ISO 7064: letters count from 10, the first four characters stand last, the rest modulo 97 is 1."""
    if not 15 <= len(text) <= 34 or text in marks.TEST_IBANS:
        return False
    return int("".join(str(int(c, 36)) for c in text[4:] + text[:4])) % 97 == 1
