"""The program `lesson`: lessons as WHEN, DO, BECAUSE. Not built yet."""

from __future__ import annotations

import sys

from ai_lessons.doors.not_yet import not_yet


def main() -> None:
    """Say what to use instead and leave."""
    instead = 'ai-lessons contribute add-lesson --title T --when "…" --do "…" --because "…"'
    sys.exit(not_yet("lesson", "Record and load lessons of the form WHEN … -> DO … -> BECAUSE ….", instead))
