"""How a script ended, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.interfaces.agent_text import marked
from ai_lessons.interfaces.output import clean, line

if TYPE_CHECKING:
    from ai_lessons.features.scripts.jobs import Ran
    from ai_lessons.interfaces.output import View


def ran(value: Ran, _view: View) -> str:
    """How a script ended, and what it printed between marks."""
    how = f"ended with exit code {value.exit_code}"
    if value.timed_out:
        how = "was stopped: its time was over"
    blocks = [f"[{line(value.entry.handle)}] {line(value.entry.title)} {how}."]
    for name, printed in (("stdout", value.stdout), ("stderr", value.stderr)):
        if printed.strip():
            blocks.append(marked(f"{name} of the script", clean(printed).rstrip("\n")))
    if len(blocks) == 1:
        blocks.append("It printed nothing.")
    return "\n\n".join(blocks)
