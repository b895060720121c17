"""Where a doc or a script came from, as its frontmatter says: a file, a page, or where a script is kept."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.model import frontmatter
from ai_lessons.model.entries import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ai_lessons.model.entries import Entry
    from ai_lessons.search.catalog_reader import CatalogReader


class Source(NamedTuple):
    """What the catalog keeps of a doc or a script; empty where its file does not state it.

    The file that it is a copy of (`path`), as of which commit (`ref`), or its page (`url`), as of
    which `date` in ISO 8601, with the `hash` of what came. `kept` is where a script lies that stays
    elsewhere.
    """

    path: str = ""
    ref: str = ""
    url: str = ""
    hash: str = ""
    kept: str = ""
    date: str = ""


NOWHERE = Source()
_KEYS = {
    "source_path": "path",
    "source_ref": "ref",
    "source_url": "url",
    "content_hash": "hash",
    "path": "kept",
    "source_date": "date",
}


def of_entry(entry: Entry) -> Mapping[str, Any]:
    """The facts of a doc or a script; none of anything else."""
    if not entry.kind.is_resource:
        return {}
    stated = {}
    for key, name in _KEYS.items():
        value = entry.fields.get(key)
        if isinstance(value, datetime):
            value = frontmatter.stamp(value)
        # a list or a mapping in the place of a word is left out; `validate` reports it
        if value is not None and not isinstance(value, list | dict):
            stated[name] = str(value)
    if entry.kind is not Kind.SCRIPT:
        # a doc is always kept here
        stated.pop("kept", None)
    if not stated.keys() & {"path", "url", "kept"}:
        # such as a page of a package, which comes from no file of its own
        return {}
    return stated


def sources(catalog: CatalogReader) -> dict[str, Source]:
    """Where entries came from, by their ids, as of the last refresh."""
    by_id: dict[str, Source] = {}
    for entry_id, stated in catalog.facts("intake").items():
        by_id[entry_id] = Source(**stated)
    return by_id
