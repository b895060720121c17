"""What the checks of a proposed rule would do: in words, and in past sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons import app
from ai_lessons.app.played_checks import playable, would_speak
from ai_lessons.model import check_forms
from ai_lessons.model.rule_checks import InvalidPattern

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_lessons.app.answers import Pending
    from ai_lessons.app.effects import Speaks
    from ai_lessons.app.workspace import Library
    from ai_lessons.model.entries import Entry
    from ai_lessons.model.transcripts import Transcript


def stated(entry: Entry) -> list[str]:
    """What each check will do once the rule is in force."""
    return check_forms.effects(entry.fields)


def in_code(library: Library, proposals: Sequence[Pending]) -> tuple[Pending, ...]:
    """The proposals, each saying how many lines of the project around break its checks today."""
    return app.rule_checks.with_lines_broken(library, proposals)


def in_sessions(entry: Entry) -> Speaks | None:
    """Whether a check of commands, or of what was done, would have spoken in a session."""
    checks = playable(check_forms.checks_of(entry.fields))
    if not checks:
        return None

    def speaks(transcript: Transcript) -> bool | None:
        try:
            return would_speak(checks, transcript)
        except InvalidPattern:
            return None

    return speaks
