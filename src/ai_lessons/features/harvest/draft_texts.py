"""The text of a draft that a person edits: title, pattern and what happened. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ai_lessons.app.quoting import HIDDEN
from ai_lessons.app.written import LessonDraft
from ai_lessons.errors import UsageError
from ai_lessons.model import expression, lessons

if TYPE_CHECKING:
    from ai_lessons.features.harvest.drafts import HarvestedLesson

# Stands in a draft for what only a person can say
UNKNOWN = HIDDEN
_DRAFT = expression(
    r"\A\s*# (?P<title>[^\n]+)\n+(?P<pattern>WHEN .*?(?=\n\n|\Z))?(?P<body>.*)\Z", re.DOTALL
)


def quotes_of(candidate: HarvestedLesson) -> str:
    """What a person said, each quote with its day and session."""
    rows = []
    for quote in candidate.quotes:
        # `replay` finds the sessions by these words, and a later harvest the reviews
        where = quote.link or f"session {quote.session}"
        rows.append(f"> {quote.text}\n> ({quote.at[:10]}, {where})")
    return "\n\n".join(rows) + "\n"


def text_of(candidate: HarvestedLesson) -> str:
    """A candidate as the text that a person edits.

    A statement has its quotes in the place of the pattern.
    """
    title = f"# {candidate.title}"
    if candidate.quotes:
        return f"{title}\n\n{quotes_of(candidate)}"
    do = candidate.do or UNKNOWN
    pattern = f"WHEN {candidate.when}\n-> DO {do}\n-> BECAUSE {candidate.because}"
    return f"{title}\n\n{pattern}\n\n{candidate.content}"


def lesson_of(text: str) -> LessonDraft | None:
    """The lesson that an edited draft says; None: it is empty.

    Raises UsageError: a part is missing.
    """
    if not text.strip():
        return None
    match = _DRAFT.match(text)
    if not match:
        raise UsageError("the draft does not begin with its title", hint="first line: # TITLE")
    title, body = match["title"].strip(), match["body"].strip()
    if not match["pattern"]:
        return LessonDraft(title, body)
    pattern = lessons.parse(" ".join(match["pattern"].split()))
    if UNKNOWN in {pattern.when, pattern.action, pattern.because}:
        raise UsageError(
            "the draft does not say yet what to do",
            hint=f"write it in the place of {UNKNOWN} after DO",
        )
    draft = LessonDraft(title, body, when=pattern.when, because=pattern.because)
    if pattern.negative:
        return draft._replace(dont=pattern.action)
    return draft._replace(do=pattern.action)
