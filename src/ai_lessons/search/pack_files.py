"""Packs of vectors as they came from other clones, and what is thought of each."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ai_lessons.search.database import read_notes, write_notes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

JUDGED_PACKS = "packs.json"

# Of what a remote offers so much is looked at: two million passages.
MOST_PACKS, MOST_BYTES = 256, 1 << 30


class PackFile(NamedTuple):
    """A pack that lies here.

    `id` is the hash of its content; `size` in bytes, -1 where it is not here.
    """

    id: str
    size: int


class PackSource(Protocol):
    """The packs that came to a clone."""

    def state(self) -> str:
        """Names what there is now; empty for nothing. Costs next to nothing."""
        ...

    def files(self) -> Sequence[PackFile]:
        """The packs there are."""
        ...

    def read(self, pack: PackFile) -> bytes:
        """The bytes of one of them."""
        ...


class NoPacks:
    """Where nothing came."""

    def state(self) -> str:
        """Nothing."""
        return ""

    def files(self) -> Sequence[PackFile]:
        """None."""
        return ()

    def read(self, pack: PackFile) -> bytes:
        """Raises FileNotFoundError: none is here, as `files` says."""
        raise FileNotFoundError(pack.id)


class Judgements:
    """Which packs were looked at, by the hash of their content.

    What is wrong with each, or nothing.

    In the state folder of a clone. Of packs that are gone nothing is kept.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        notes = read_notes(path)
        self._reasons = {name: reason for name, reason in notes.items() if isinstance(reason, str)}

    def of(self, pack: str) -> str | None:
        """Why a pack is left, empty where it is believed; None where it was not judged."""
        return self._reasons.get(pack)

    def left(self) -> dict[str, str]:
        """The packs that are left, and why."""
        by_key: dict[str, str] = {}
        for pack, reason in sorted(self._reasons.items()):
            if reason:
                by_key[pack] = reason
        return by_key

    def note(self, pack: str, reason: str) -> None:
        """Keep a judgement. Where it cannot be written, the pack is looked at again."""
        self._reasons[pack] = reason
        with suppress(OSError):
            write_notes(self._path, self._reasons)

    def keep_only(self, packs: Iterable[str]) -> None:
        """Forget the packs that are gone."""
        present = frozenset(packs)
        self._reasons = {pack: reason for pack, reason in self._reasons.items() if pack in present}
