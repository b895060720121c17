"""The search index and the shared one, as text for people. Pure: takes answers, returns text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.doors.render_jobs import pairs
from ai_lessons.doors.terminal import View, count, line, size

if TYPE_CHECKING:
    from ai_lessons.library.index_reports import IndexState, Pulled, Pushed, Shared


def state(value: IndexState, view: View) -> str:
    """What is in the index, and below it the shared one."""
    rows = {
        "model": line(value.model),
        "entries": f"{value.entries:,}",
        "passages": f"{value.passages:,} ({value.vectors:,} with a vector)",
        "size": size(value.bytes),
        "vectors": "every one is compared" if value.indexed is None else f"{value.indexed:,} in an index (IVF_SQ)",
        "outside the indices": f"{count(value.unindexed, 'passage')}, searched by reading",
    }
    if value.next_model:
        all_of = max(value.next_passages, value.passages)
        rows["being made"] = f"vectors of {line(value.next_model)}: {value.next_vectors:,} of {all_of:,}"
    if value.recall is not None:
        rows["recall@10"] = f"{value.recall:.3f} of exact search"
    shown = [pairs(rows, view)]
    if value.shared:
        shown.append(pairs(_shared(value.shared), view))
    return "\n\n".join(shown)


def pushed(value: Pushed, view: View) -> str:
    """What a push changed there."""
    head = f"{count(value.sent, 'entry')} pushed, {value.removed:,} removed: {line(value.shared.uri)}"
    return "\n".join([head, pairs(_shared(value.shared), view), *map(line, value.notes)])


def pulled(value: Pulled, _view: View) -> str:
    """What came, and what was computed here."""
    lines = [f"{count(value.came, 'vector')} came from {line(value.uri)}, {value.embedded:,} filled in here"]
    if value.missing:
        lines.append(f"{value.missing:,} of {count(value.passages, 'passage')} are without a vector")
    return "\n".join([*lines, *map(line, value.notes)])


def _shared(value: Shared) -> dict[str, str]:
    if not value.model:
        return {"shared": f"nothing at {line(value.uri)}"}
    use = (
        f"covers {count(value.covers, 'passage')} of this clone" if value.usable else "of another model: of no use here"
    )
    return {
        "shared": line(value.uri),
        "its model": f"{line(value.model)}, {use}",
        "its passages": f"{value.passages:,} of {count(value.entries, 'entry')} ({value.vectors:,} with a vector)",
    }
