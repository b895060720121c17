"""What jobs on the search index give. Frozen values, no behaviour."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shared:
    """A shared index. `usable`: its vectors are of the model in use here; `covers`: so many of our passages."""

    uri: str
    model: str
    entries: int
    passages: int
    vectors: int
    usable: bool
    covers: int


@dataclass(frozen=True, slots=True)
class IndexState:
    """The index of this clone. `indexed` None: every vector is compared, else how many passages their index covers.

    `next_model` is being made beside `model`, and has `next_vectors` of `next_passages`. `recall`, if it was measured:
    the share of the ten nearest passages, compared one by one, that the index finds. `unindexed` passages are
    searched by reading them. Sizes in bytes.
    """

    model: str
    entries: int
    passages: int
    vectors: int
    bytes: int
    unindexed: int
    indexed: int | None
    next_model: str = ""
    next_passages: int = 0
    next_vectors: int = 0
    recall: float | None = None
    shared: Shared | None = None


@dataclass(frozen=True, slots=True)
class Pushed:
    """What a push changed in the shared index, and what lies there now."""

    shared: Shared
    sent: int
    removed: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pulled:
    """Vectors that came, those that had to be computed here all the same, and passages still without one."""

    uri: str
    came: int
    embedded: int
    passages: int
    missing: int
    notes: tuple[str, ...] = ()
