"""What reaches an agent unasked, in one pipeline.

Offers, what was told before, the filter, the budget, the words.

Begin with `pipeline`, which follows one event of a host from end to end. `offers` finds what may be
told at a moment, and why; `filtering` has groove's thresholds and
sampling, `words` the texts and how many of them fit. `context` answers the command of that name
with the same parts. `enforcing` has what features say where a session breaks rules. No other
package decides what is told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons import submodules

if TYPE_CHECKING:
    # isort: off
    from ai_lessons.telling import (
        context as context, enforcing as enforcing, filtering as filtering, matching as matching,
        offers as offers, pipeline as pipeline, start as start, words as words,
    )  # fmt: skip

if not TYPE_CHECKING:
    # else every name would pass for a module
    __getattr__ = submodules(__name__)
