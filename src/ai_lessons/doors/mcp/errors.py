"""Errors as an agent reads them: what happened, and what to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.doors.terminal import clean, line
from ai_lessons.errors import NotFound

if TYPE_CHECKING:
    from pathlib import Path

    from ai_lessons.errors import AiLessonsError


FIND = "ids stand in square brackets in the results of search"


def told(message: str, hint: str) -> str:
    """A message and, on a line of its own, the hint."""
    return clean(f"{message}\nhint: {hint}" if hint else message)


def in_words(error: AiLessonsError) -> str:
    """An error of ours."""
    return told(error.message, error.hint or (FIND if isinstance(error, NotFound) else ""))


def bug(error: BaseException, log: Path) -> str:
    """An error that nobody foresaw: only its kind, because its words may be anybody's; the report is in the log."""
    return told(f"a bug in ai-lessons ({line(type(error).__name__)})", f"the report is in {log}")
