"""In which past sessions checks of commands, and of what was done, would have spoken."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ai_lessons.features.checks.command_checks import CommandCheck
from ai_lessons.features.checks.done_checks import DoneCheck, Succeeded
from ai_lessons.git import external_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ai_lessons.features.checks.forms import AnyCheck
    from ai_lessons.model.transcripts import Transcript


def playable(checks: Iterable[AnyCheck]) -> list[CommandCheck | DoneCheck]:
    """The checks that a transcript tells enough for: it does not keep what an edit wrote."""
    results: list[CommandCheck | DoneCheck] = []
    for check in checks:
        if isinstance(check, CommandCheck | DoneCheck):
            results.append(check)
    return results


def would_speak(checks: Sequence[CommandCheck | DoneCheck], transcript: Transcript) -> bool:
    """Whether a check breaks in a session: at a command, or where the agent ended its turn.

    Raises InvalidPattern.
    """
    of_commands = [check for check in checks if isinstance(check, CommandCheck)]
    of_what_was_done = [check for check in checks if isinstance(check, DoneCheck)]
    remarks, succeeded, edits = list[str](), list[Succeeded](), dict[str, float]()

    def is_left_broken() -> bool:
        return any(check.broken_by(edits, succeeded) for check in of_what_was_done)

    interrupted = False
    for number, step in enumerate(transcript.steps):
        if step.sort == "said":
            # the person speaks again: here the turn before has ended
            if not interrupted and is_left_broken():
                return True
            remarks.append(step.text)
        elif step.sort == "edit":
            edits[external_files.in_project(step.text, Path(transcript.first_cwd))] = number
        elif step.sort == "command":
            broken = [check for check in of_commands if check.breaks(step.text)]
            if any(not check.was_asked_for(remarks) for check in broken):
                return True
            if step.failed is False:
                succeeded.append(Succeeded(step.text, number))
        interrupted = step.sort == "stopped"
    return not interrupted and is_left_broken()
