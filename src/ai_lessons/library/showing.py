"""What the files of one entry hold, for whoever reads it: the frontmatter is asked of the catalog, not parsed again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.knowledge.entries import Kind
from ai_lessons.knowledge.texts import texts_of
from ai_lessons.repository.store import blob_id

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ai_lessons.index.catalog_reading import Location
    from ai_lessons.knowledge.entries import Light
    from ai_lessons.library.parts import Parts


class Contents(NamedTuple):
    """An entry in full. `raw` is the text of the file with its frontmatter, or of the only file."""

    fields: Mapping[str, Any]
    body: str
    code: str
    raw: str


def contents_of(parts: Parts, light: Light) -> Contents:
    """The entry as its files are on disk; a rule as it is in force, whatever the file at its path holds.

    Raises:
        NotFound: its file is gone since the catalog looked. InvalidEntry: it cannot be read any more.
    """
    place = parts.catalog.locate(light.id)
    if place.approved and place.hash:
        data, side = parts.rules.text(light.id, place.hash), None
    else:
        data = b"" if place.hash is None else parts.store.read(place.path)
        side = parts.store.read(place.side_path) if place.side_path else None
    texts = texts_of(place.path, data, side, script=light.kind is Kind.SCRIPT)
    own = data if side is None else side
    return Contents(_fields(parts, place, data, side), texts.body, texts.code, own.decode("utf-8", "replace"))


def _fields(parts: Parts, place: Location, data: bytes, side: bytes | None) -> Mapping[str, Any]:
    """From the catalog; parsed if a file was changed in the moment since it looked."""
    if (place.hash is None or blob_id(data) == place.hash) and (side is None or blob_id(side) == place.side_hash):
        return parts.catalog.fields(place.id)
    from ai_lessons.knowledge.reading import read_entry

    return read_entry(place.path, data, side).fields
