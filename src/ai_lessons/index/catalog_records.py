"""An entry as the catalog keeps it: columns, hashes and the few words that lists show. Pure, reads no file."""

from __future__ import annotations

import json
import re
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.knowledge.entries import KINDS, Kind, handle

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ai_lessons.knowledge.entries import Entry, Link

SNIPPET_LENGTH = 150
SEPARATOR = "\x1f"
"""Between the values of a list in one column; no tag or version that we accept holds this control character."""

_LISTS = frozenset(("applies_to", "contexts"))
_MARKUP = r"(?m)^\s{0,3}(?:#{1,6}\s+|>\s?|```\w*\s*$|---+\s*$|#!.*$)"


class CatalogRecord(NamedTuple):
    """One entry, ready to be written. `file` is the file it is read from, `path` where the entry says it lies."""

    file: str
    id: str
    kind: str
    title: str
    project: str
    path: str
    side_path: str | None
    tags: tuple[str, ...]
    versions: tuple[str, ...]
    links: tuple[Link, ...]
    status: str
    created: str
    snippet: str
    details: str
    fields: str
    handle: str
    derived: bool
    hash: str | None
    side_hash: str | None
    text_hash: str
    meta_hash: str

    @property
    def tail(self) -> str:
        """The id from its end, in capitals: what a handle is looked up by."""
        return self.id.upper()[::-1]


def record(entry: Entry, file: str, file_hash: str, side_hash: str | None) -> CatalogRecord:
    """What to keep of an entry that was read from `file`. A script outside the repository has only its side file."""
    in_place = entry.path != file
    details = json.dumps(details_of(entry), ensure_ascii=False, separators=(",", ":"), default=str)
    created = str(entry.fields.get("created") or "")
    return CatalogRecord(
        file=file,
        id=entry.id,
        kind=entry.kind.value,
        title=entry.title,
        project=entry.project,
        path=entry.path,
        side_path=entry.side_path,
        tags=_values(entry.tags),
        versions=_values(entry.versions),
        links=entry.links,
        status=entry.status.value,
        created=created,
        snippet=snippet(entry),
        details=details,
        fields=json.dumps(dict(entry.fields), ensure_ascii=True, separators=(",", ":"), default=str),
        handle=handle(entry.kind, entry.id),
        derived=entry.derived,
        hash=None if in_place else file_hash,
        side_hash=file_hash if in_place else side_hash,
        text_hash=text_hash(entry),
        meta_hash=meta_hash(entry, details),
    )


def _values(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text.replace(SEPARATOR, " ") for text in texts))


def details_of(entry: Entry) -> dict[str, Any]:
    """What differs by kind, as `Light.details` carries it. Lessons and rules always have the same keys.

    But for `start`, which only a promoted lesson may have: where its confidence begins, see `origins.start_of`.
    """
    # a value that should be a word and is a list or a mapping says nothing; `validate` names it
    fields = {key: one for key, one in entry.fields.items() if key in _LISTS or not isinstance(one, list | dict)}
    kind = KINDS[entry.kind]
    details = {key: fields.get(key) for key in kind.details}
    details |= {key: fields[key] for key in kind.if_stated if fields.get(key) is not None}
    if entry.kind is Kind.LESSON:
        details["source"] = entry.source
        details["status"] = entry.status.value
        details["pattern"] = str(entry.pattern) if entry.pattern else None
        details |= _start(entry.fields.get("source"))
    details["created"] = fields.get("created")
    return details


def _start(source: object) -> dict[str, float]:
    if not isinstance(source, dict):
        return {}
    from ai_lessons.knowledge.origins import start_of  # noqa: PLC0415  # a row that has none loads no YAML

    start = start_of(source)
    return {} if start is None else {"start": start}


def text_hash(entry: Entry) -> str:
    """Changes when a passage of the entry could: kind, title, body, code, what is embedded before them."""
    key = KINDS[entry.kind].opening
    stated = entry.fields.get(key) if key != "pattern" else None  # a pattern counts as it is told
    return _digest((entry.kind.value, entry.title, str(entry.pattern or ""), str(stated or "")), entry)


def meta_hash(entry: Entry, details: str) -> str:
    """Changes when anything else does that a row of the index could carry: place, lists, links, details."""
    links = [(link.relation, link.target, link.weight) for link in entry.links]
    return _digest((entry.project, entry.path, repr(entry.tags), repr(entry.versions), repr(links), details))


def _digest(parts: Iterable[str], entry: Entry | None = None) -> str:
    whole = blake2b(digest_size=16)
    for part in (*parts, *((entry.body, entry.code) if entry else ())):
        data = part.encode("utf-8", "surrogatepass")
        whole.update(b"%d:" % len(data) + data)
    return whole.hexdigest()


def snippet(entry: Entry) -> str:
    """The first words of what the entry says, in one line; a lesson's pattern says most."""
    text = str(entry.pattern or "") or str(entry.fields.get("rationale") or "") or entry.body or entry.code
    words = " ".join(re.sub(_MARKUP, "", text[: SNIPPET_LENGTH * 20]).split())
    words = words.removeprefix(entry.title).lstrip(" :-") or words
    if len(words) <= SNIPPET_LENGTH:
        return words
    return words[:SNIPPET_LENGTH].rsplit(" ", 1)[0].rstrip() + "…"
