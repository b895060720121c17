"""Questions to the table of passages in use: by text and by vector, with what is kept of it in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.errors import StorageFailed
from ai_lessons.index.in_memory import InMemory
from ai_lessons.index.rows import Candidates, PassageFilter, condition, question
from ai_lessons.index.table import LANCE_ERRORS

if TYPE_CHECKING:
    from collections.abc import Callable

    from ai_lessons.index.embed_missing import Filling
    from ai_lessons.index.in_memory import Version
    from ai_lessons.index.pinned import Embedder
    from ai_lessons.index.ranking import RawHit
    from ai_lessons.index.refresh_state import RefreshState
    from ai_lessons.index.table import Passages, Tables

    Hits = tuple[RawHit, ...]
    Ask = Callable[[Passages, Version, list[float] | None], tuple[Hits, Hits]]

NO_VERSION = (0, 0)

RULES = PassageFilter(kinds=frozenset({"rule"}))


class IndexDamaged(StorageFailed):
    """The table cannot be read. The next refresh rebuilds it."""


class Asking:
    """Asks the tables at `uri`, which `connect` opens. `filling` gives what embeds with a model.

    A search looks once which table is in use and of which version it is, and asks that. With `text_alone` no vectors
    are asked for. One thread at a time.
    """

    def __init__(
        self, uri: str, connect: Callable[[], Tables], filling: Callable[[str], Filling], state: RefreshState
    ) -> None:
        self._uri, self._connect, self._filling, self._state = uri, connect, filling, state
        self._tables: Tables | None = None
        self._version: Version | None = None
        self._asked: tuple[str, str, list[float]] | None = None
        self._memory = InMemory()
        self.text_alone = False

    def close(self) -> None:
        """Let go of the tables."""
        self._tables = self._version = None

    @property
    def tables(self) -> Tables:
        """The tables, opened."""
        if self._tables is None:
            self._tables = self._connect()
        return self._tables

    def newest(self) -> Passages | None:
        """The table in use.

        Raises:
            StorageFailed: the place cannot be read.
        """
        try:
            return self.tables.newest()
        except LANCE_ERRORS as error:
            raise StorageFailed(f"the index at {self._uri} cannot be opened: {first_line(error)}") from error

    def look(self) -> tuple[Passages | None, Version]:
        """The table in use now, and which version of it. Raises LANCE_ERRORS, and as `newest`."""
        table = self.newest()
        self._version = (table.number, table.version) if table else None
        return table, self._version or NO_VERSION

    def at_hand(self) -> tuple[Passages | None, Version]:
        """The same as at the last look, if it holds."""
        table = self.tables.at_hand() if self._version else None
        return (table, self._version) if table and self._version else self.look()

    def changed(self) -> None:
        """The last look holds no more."""
        self._version = None

    def passages(self) -> int:
        """How many passages there are."""
        table, version = self.at_hand()
        return self._memory.count(table, version) if table else 0

    def rules(self, text: str, depth: int) -> Candidates:
        """See `Index.rules`."""
        asked, where = question(text), condition(RULES)

        def ask(table: Passages, version: Version, vector: list[float] | None) -> tuple[Hits, Hits]:
            few = self._memory.rules(table, version, where)
            if few is None:
                return table.by_text(asked, where, depth)(), self._near(table, version, vector, where, depth)
            return few.by_words(asked, depth), few.by_vector(vector, depth) if vector is not None else ()

        return self._candidates(asked, depth, ask)

    def begin(self, text: str, wanted: PassageFilter, depth: int) -> Callable[[], Candidates]:
        """See `Index.begin`."""
        asked, where = question(text), condition(wanted)
        table = self.tables.at_hand() if asked and self._version else None
        begun = [table.by_text(asked, where, depth)] if table else []

        def ask(table: Passages, version: Version, vector: list[float] | None) -> tuple[Hits, Hits]:
            near = self._near(table, version, vector, where, depth)
            found = (begun.pop() if begun else table.by_text(asked, where, depth))()
            return (table.holding(found, where, depth) if wanted.phrases else found), near

        return lambda: self._candidates(asked, depth, ask)

    def _candidates(self, asked: str, depth: int, ask: Ask) -> Candidates:
        try:
            return self._answer(asked, depth, ask)
        except LANCE_ERRORS:
            # A rebuild or a clean-up by another process took the files of an older version away.
            self.tables.forget_open()
            self.changed()
        try:
            return self._answer(asked, depth, ask)
        except LANCE_ERRORS as error:
            self._state.report_damage(f"it could not be read ({first_line(error)})")
            raise IndexDamaged(f"the index at {self._uri} is damaged: {first_line(error)}") from error

    def _answer(self, asked: str, depth: int, ask: Ask) -> Candidates:
        table, version = self.at_hand() if asked else (None, NO_VERSION)
        if table is None:
            return Candidates(depth=depth)
        used = model_of(table)  # vectors of different models are never compared
        filling = self._filling(used)
        embedder = filling.embedder() if used and not self.text_alone else None
        vector = self._vector(asked, used, embedder) if embedder else None
        text_hits, vector_hits = ask(table, version, vector)
        said, model = ("", embedder.name) if embedder else (filling.no_model, "")
        return Candidates(text_hits, vector_hits, depth, said, model)

    def _vector(self, asked: str, model: str, embedder: Embedder) -> list[float]:
        """The question's vector. The last one is kept: one search asks twice, for rules apart."""
        if self._asked is None or self._asked[:2] != (model, asked):
            self._asked = model, asked, [float(x) for x in embedder.embed_query(asked)]
        return self._asked[2]

    def _near(self, table: Passages, version: Version, vector: list[float] | None, where: str, depth: int) -> Hits:
        return () if vector is None else self._memory.by_vector(table, version, vector, where, depth)


def model_of(table: Passages | None) -> str:
    """The model that its vectors are of."""
    return table.made_with.get("model", "") if table else ""


def first_line(error: BaseException) -> str:
    """What lancedb says, without its traces."""
    text = str(error).strip()
    return text.splitlines()[0][:200] if text else type(error).__name__
