"""Feedback and parameters in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.interfaces.output import block, line, table
from ai_lessons.interfaces.text import usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_lessons.features.learning.jobs import Feedback
    from ai_lessons.features.learning.parameters import ParameterState
    from ai_lessons.interfaces.output import View


def feedback(value: Feedback, view: View) -> str:
    """What was said of which entry, and how it stands with that."""
    return block(f"{view.named(value.entry)}: {line(value.outcome)}", usage(value.usage, view))


def params(values: Sequence[ParameterState], view: View) -> str:
    """Parameters that learn: where each stands, in which range, and how sure that is."""
    header = ("PARAMETER", "VALUE", "RANGE", "UNCERTAINTY", "SEEN", "WHAT IT IS")
    rows, left_there = [], []
    for param in values:
        numbers = (
            f"{param.value:.3g}",
            f"{param.low:g} to {param.high:g}",
            f"{param.uncertainty:.2f}",
            f"{param.observations:,}",
        )
        rows.append((param.name, *numbers, param.help))
        if param.elsewhere:
            left_there.append(f"another tool left {param.name} at {param.elsewhere}")
    return "\n".join((table(header, rows, view, flexible=(5,)), *left_there))
