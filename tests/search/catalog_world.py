"""A folder of real files and the catalog over it, for the tests of the catalog."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from ai_lessons.git.files import read_file
from ai_lessons.git.worktree import walk
from ai_lessons.model.entries import Filter
from ai_lessons.model.frontmatter import read_entry
from ai_lessons.search.catalog import Catalog
from real_world import put_file

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from ai_lessons.model.entries import Entry
    from ai_lessons.search.catalog import CatalogRefresh
    from ai_lessons.search.catalog_survey import Row
    from ai_lessons.search.catalog_update import First

A = "01JD3Z8QK5W7M2X9V4T68F3K2A"
B = "01JD3Z8QK5W7M2X9V4T68F3K2B"
C = "01JD3Z8QK5W7M2X9V4T6ZZZZZC"
EVERY = Filter(status=None)


def lesson(
    entry_id: str = A, title: str = "PUT replaces all", *, kind: str = "lesson", extra: str = ""
) -> str:
    """The text of an entry; `extra` are more lines of frontmatter."""
    return f"---\nid: {entry_id}\nkind: {kind}\ntitle: {title}\n{extra}---\nFree text.\n"


class Done(NamedTuple):
    """What a refresh said, and the ids of shown entries that it changed and removed."""

    changed: tuple[str, ...]
    removed: tuple[str, ...]
    generation: int
    unreadable: int
    as_text: int
    rebuilt: str
    left: int = 0


class World:
    """Files below `root`, a catalog, and what the last refresh read and parsed."""

    def __init__(
        self, folder: Path, *, catalog: Path | None = None, first: First = lambda _: ()
    ) -> None:
        self.first, self.root = first, folder / "repo"
        self.root.mkdir(parents=True, exist_ok=True)
        self.path = catalog or folder / "state" / "catalog.sqlite"
        self.ahead = 0
        self.read: list[str] = []
        self.parsed: list[str] = []
        self.opened: list[Catalog] = []
        self.known: dict[str, str] = {}
        self.catalog = self.open()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for catalog in self.opened:
            catalog.close()

    def open(self) -> Catalog:
        """Another catalog on the same file, closed with this world."""
        self.opened.append(
            Catalog(self.path, clock=lambda: time.time_ns() + self.ahead, first=self.first)
        )
        return self.opened[-1]

    def reopen(self) -> Catalog:
        """What the next process does."""
        self.catalog.close()
        self.catalog = self.open()
        return self.catalog

    def write(self, path: str, text: str | bytes) -> Path:
        """A file as an editor saves it."""
        return put_file(self.root / path, text)

    def settle(self) -> None:
        """Refresh when all stamps so far are too old for a later edit to repeat them."""
        time.sleep(0.02)  # more than a tick of the file system's clock
        self.ahead += 10_000_000_000
        self.refresh()
        self.refresh()

    def scan(self) -> Iterable[tuple[str, list[Row]]]:
        """Walk the real folder."""
        return walk(self.root)

    def load(self, path: str) -> bytes:
        """Read a real file, and remember it."""
        self.read.append(path)
        return read_file(self.root, path)[0]

    def parse(self, path: str, data: bytes, side: bytes | None) -> Entry:
        """Parse for real, and remember it."""
        self.parsed.append(path)
        return read_entry(path, data, side)

    def refresh(self, catalog: Catalog | None = None) -> Done:
        """Bring the catalog up to date; `read` and `parsed` then tell what that took."""
        self.read, self.parsed = [], []
        return self.told(
            (catalog or self.catalog).refresh(self.scan, self.load, self.parse), catalog
        )

    def told(self, done: CatalogRefresh, catalog: Catalog | None = None) -> Done:
        """The same with what is shown otherwise than the last time."""
        now = (catalog or self.catalog).fingerprints()
        before, self.known = self.known, now
        changed = tuple(entry for entry, hashes in now.items() if before.get(entry) != hashes)
        return Done(changed, tuple(entry for entry in before if entry not in now), *done)

    def titles(self) -> list[str]:
        """The titles of everything shown, whatever its status."""
        return sorted(summary.title for summary in self.catalog.select(EVERY))


def assert_like_new(world: World) -> None:
    """It says what a catalog says that is made from nothing, where the same files were first to state their ids."""
    world.refresh()
    own = [
        one
        for one in world.catalog.locations()
        if world.catalog.stated([one.id]) == {one.id: one.id}
    ]
    holders, folder = (
        [path for one in own for path in (one.path, one.side_path) if path],
        world.root.parent,
    )
    with World(folder, catalog=folder / "fresh.sqlite", first=lambda _: holders) as fresh:
        fresh.refresh()
        assert everything(world.catalog) == everything(fresh.catalog)


def everything(catalog: Catalog) -> dict[str, Any]:
    """All that a catalog says, to compare two of them."""
    sizes = catalog.sizes()
    return {
        "entries": catalog.select(Filter(status=None, sort="path")),
        "locations": sorted(map(repr, catalog.locations())), "fingerprints": catalog.fingerprints(),
        "edges": catalog.edges(), "tags": catalog.tags(), "projects": catalog.projects(),
        "problems": catalog.unreadable(), "sizes": (sizes.entries, sizes.files, sizes.bytes, sizes.unreadable),
    }  # fmt: skip
