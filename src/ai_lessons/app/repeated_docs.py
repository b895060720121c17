"""Docs whose text is here already under another id, because it came in two forms."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.model.entries import Filter, Kind, handle
from ai_lessons.search.terms import letters

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ai_lessons.app.workspace import RepositorySession
    from ai_lessons.model.entries import Entry

# So many docs that were here are named in a note
NAMED = 3


class Repeated(NamedTuple):
    """A new doc, and the one that says the same."""

    new: Entry
    stored: Entry


def notes_on_repeated(repo: RepositorySession, arrived: Iterable[Entry]) -> list[str]:
    """A sentence that names the new docs whose text is here under another id."""
    docs = [entry for entry in arrived if entry.kind is Kind.DOC]
    repeated = _repeated(repo, docs)
    if not repeated:
        return []
    named = []
    for _, stored in repeated[:NAMED]:
        named.append(f"{handle(Kind.DOC, stored.id)} ({stored.project})")
    here = ", ".join(named)
    unnamed = len(repeated) - len(named)
    if unnamed:
        here += f", and {unnamed} more"
    first = handle(Kind.DOC, repeated[0].new.id)
    return [
        f"the same text is here already as {here}: `ai-lessons delete {first}` if once is enough"
    ]


def _repeated(repo: RepositorySession, docs: Sequence[Entry]) -> list[Repeated]:
    """The new docs of which another one has the title and the letters."""
    if not docs:
        return []
    new_ids = {entry.id for entry in docs}
    titled: dict[str, list[str]] = {}
    for summary in repo.catalog.select(Filter(kinds=frozenset({Kind.DOC}), status=None)):
        if summary.id not in new_ids:
            titled.setdefault(summary.title.casefold(), []).append(summary.id)
    repeated = []
    for entry in docs:
        for other in titled.get(entry.title.casefold(), ()):
            stored = repo.load(other)[0]
            if letters(stored.body) == letters(entry.body):
                repeated.append(Repeated(entry, stored))
                break
    return repeated
