"""Tables about a repository as a whole, which features put on a page of the browser."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ai_lessons import extensions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ai_lessons.app.workspace import Library


class Handle(str):
    """A cell that names an entry, and leads to it."""

    __slots__ = ()


class Table(NamedTuple):
    """A table, or only a sentence (`summary`).

    `nothing` stands in the place of rows where there is none.
    """

    title: str
    summary: str = ""
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[object]] = ()
    nothing: str = ""


def tables(page: str, library: Library) -> Iterator[Table]:
    """What features put on a page, in the order of their rows."""
    for feature in extensions.rows():
        if page in feature.tables:
            yield from extensions.load(feature.place(feature.tables[page]))(library)
