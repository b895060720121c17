"""How files would be split, and what reading docs again did, as text. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.interfaces.output import View, block, count, line, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_lessons.app.written import Refreshed
    from ai_lessons.features.intake.jobs import PassagePreview


def previews(values: Sequence[PassagePreview], view: View) -> str:
    """How files would be split: one line a passage."""
    header = ("#", "TOKENS", "HEADING", "BEGINS")
    blocks = []
    for path in dict.fromkeys(passage.path for passage in values):
        passages = []
        for passage in values:
            if passage.path == path:
                passages.append(passage)
        rows = [
            (str(n), str(passage.tokens), passage.heading, passage.text[:100])
            for n, passage in enumerate(passages, 1)
        ]
        tokens = sum(passage.tokens for passage in passages)
        title = f"{line(path)}: {count(len(rows), 'passage')}, about {tokens:,} tokens"
        blocks.append(
            f"{view.paint(title, 'heading')}\n{table(header, rows, view, flexible=(2, 3))}"
        )
    return "\n\n".join(blocks) or "Nothing to split."


def refreshed(values: Sequence[Refreshed], view: View) -> str:
    """Docs looked at again: what changed in each, and where its source stands now."""
    blocks = []
    for doc in values:
        if doc.changed:
            state = f"changed, +{doc.added} -{doc.removed} lines"
        else:
            state = "unchanged"
        if doc.old_ref != doc.new_ref:
            source = f"source: {_short(doc.old_ref)} -> {_short(doc.new_ref)}"
        else:
            source = ""
        if doc.warning:
            warning = f"warning: {line(doc.warning)}"
        else:
            warning = ""
        blocks.append(block(f"{view.named(doc)}: {state}", (source, warning)))
    return "\n".join(blocks) or "No doc has a source to read again."


def _short(ref: str | None) -> str:
    if not ref:
        return "unknown"
    if ref.startswith("pkg:"):
        return line(ref)
    commit, dash, dirty = line(ref).partition("-")
    return commit[:10] + dash + dirty
