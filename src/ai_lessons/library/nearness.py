"""Why an answer is empty: nothing is stored, nothing passes the filters, or nothing comes near the question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.index import nearness

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_lessons.index.rows import Candidates
    from ai_lessons.library.answers import Hit
    from ai_lessons.library.opened import Reading

BEST = 10
"""Results that are looked at for the words of the question."""


def why_nothing(parts: Reading, question: str, found: Candidates, hits: Sequence[Hit]) -> str:
    """One line where there is nothing to show, or nothing that should be; empty where there is an answer."""
    if not hits:
        stored = sum(parts.catalog.sizes().entries.values())
        return f"none of the {stored} entries stored here matches" if stored else "nothing is stored here yet"
    if found.vectors and found.vectors[0].score >= nearness.MOST:
        return ""  # near in any repository: nothing need be counted
    far = nearness.too_far(found, parts.index.passages())
    if far is None:
        return ""
    texts = {(hit.entry_id, hit.heading): hit.text for hit in (*found.text, *found.vectors)}
    shown = (
        f"{hit.entry.title} {hit.heading} {texts.get((hit.entry.id, hit.heading), hit.entry.snippet)}"
        for hit in hits[:BEST]
    )
    if nearness.holds(question, shown):
        return ""
    nearest = parts.catalog.many([found.vectors[0].entry_id]).get(found.vectors[0].entry_id)
    which = f" ({nearest.handle}, {nearest.title!r})" if nearest else ""
    return (
        f"nothing that is stored comes near this question: the nearest{which} has a similarity of {far[0]:.2f}, "
        f"answers begin at {far[1]:.2f}"
    )
