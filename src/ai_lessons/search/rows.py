"""What the index holds of an entry, and what it answers. Pure."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_lessons.model.chunks import Passage


class EntryRows(NamedTuple):
    """One entry as it is to be found. `fingerprint` changes whenever anything else here does."""

    id: str
    fingerprint: str
    kind: str
    project: str
    title: str
    tags: Sequence[str] = ()
    versions: Sequence[str] = ()
    status: str = "active"
    passages: Sequence[Passage] = ()


class Row(NamedTuple):
    """One row of the table. `text_key` names the vector of the passage in the embedding cache.

    `spoken`: the languages but English in which it seems to be, of a text in Latin letters.
    """

    id: str
    entry_id: str
    ordinal: int
    section: int
    kind: str
    project: str
    tags: Sequence[str]
    versions: Sequence[str]
    status: str
    title: str
    heading: str
    text: str
    fts_text: str
    spoken: str
    row_hash: str
    text_key: str

    @property
    def embedded_text(self) -> str:
        """What its vector is made of."""
        return embedded_text(self.title, self.heading, self.text)


class Match(NamedTuple):
    """A passage as a search found it.

    `score`: BM25, cosine similarity (-1 to 1), or the mix of both (0 to 1).

    `section` is the number of the section in which it begins, counted by `chunks.sections`; 0:
    none.
    """

    entry_id: str
    ordinal: int
    score: float
    heading: str = ""
    text: str = ""
    section: int = 0


class Candidates(NamedTuple):
    """Both lists, best first, each at most `depth` long.

    `note` says why there are no vectors, if so.

    `model` made the vectors; it has words for the share `read` of the question.
    """

    text: tuple[Match, ...] = ()
    vectors: tuple[Match, ...] = ()
    depth: int = 100
    note: str = ""
    model: str = ""
    read: float = 1.0


class IndexRefresh(NamedTuple):
    """What a refresh did.

    `missing` passages have no vector yet; `rebuilt` says in one line why all was made anew.
    """

    entries: int = 0
    removed: int = 0
    passages: int = 0
    embedded: int = 0
    missing: int = 0
    rebuilt: str = ""
    notes: tuple[str, ...] = ()


class IndexStatus(NamedTuple):
    """The table in use.

    `indexed` None: every vector is compared, else how many passages their index covers.

    `unindexed` passages are searched by reading them. Sizes in bytes. `uri` is that of a shared
    index.
    """

    model: str = ""
    entries: int = 0
    passages: int = 0
    vectors: int = 0
    bytes: int = 0
    unindexed: int = 0
    indexed: int | None = None
    uri: str = ""
    shared: IndexStatus | None = None


def vector_key(model: str, text: str) -> str:
    """SHA-256 (hex) of the model's name, a zero byte and the text."""
    return hashlib.sha256(f"{model}\0{text}".encode()).hexdigest()


def embedded_text(title: str, heading: str, text: str) -> str:
    """A passage as the model and the full-text index see it.

    `Title > Section > Subsection`, then the text.
    """
    if not heading or heading == title:
        head = title
    elif heading.startswith(title + " > "):
        # the heading of a doc is often its title
        head = heading
    else:
        head = f"{title} > {heading}"
    return f"{head}\n{text}"
