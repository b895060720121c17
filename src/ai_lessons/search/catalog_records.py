"""What the catalog keeps of one entry.

Begin with `record`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons import extensions
from ai_lessons.model.entries import KINDS, Kind, Status, handle
from ai_lessons.model.layout import blob_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ai_lessons.model.entries import Entry, Link

# characters of a text that stand in the catalog
SNIPPET_LENGTH, OPENING = 150, 8_000
# Between the values of a list in one column.
# No tag or version that we accept holds this control character.
SEPARATOR = "\x1f"

_LISTS = frozenset(("applies_to",))

# Standing of a new row until `settle` has run, and of a text that another tier shows as well
HIDDEN = 2


class CatalogRecord(NamedTuple):
    """One entry, ready to be written: its `row`, and what stands in tables beside it."""

    row: Mapping[str, str | int | None]
    tags: tuple[str, ...]
    versions: tuple[str, ...]
    links: tuple[Link, ...]
    fields: str
    opening: str
    failures: tuple[str, ...]
    terms: Mapping[str, int]
    facts: Mapping[str, Mapping[str, Any]]


def record(entry: Entry, file: str, file_hash: str, side_hash: str | None) -> CatalogRecord:
    """What to keep of an entry that was read from `file`.

    A script outside the repository has only its side file.
    """
    in_place = entry.path != file
    tags, versions = _values(entry.tags), _values(entry.versions)
    facts, summary = facts_of_features(entry), summary_fields(entry)
    if facts:
        summary["facts"] = facts
    row: dict[str, str | int | None] = {
        "file": file,
        "standing": HIDDEN,
        "stated": entry.id,
        "id": entry.id,
        "tail": entry.id.upper()[::-1],  # the id from its end, for the lookup by handle
        "handle": handle(entry.kind, entry.id),
        "kind": entry.kind.value,
        "project": entry.project,
        "path": entry.path,
        "side_path": entry.side_path,
        # what is only proposed is listed beside what holds, and says so
        "status": (Status.ACTIVE if entry.status is Status.PROPOSED else entry.status).value,
        "created": str(entry.fields.get("created") or ""),
        "title": entry.title,
        "tags": SEPARATOR.join(tags),
        "versions": SEPARATOR.join(versions),
        "snippet": snippet(entry),
        "summary": compact_json(summary, ascii_only=False),
        "hash": None if in_place else file_hash,
        "side_hash": file_hash if in_place else side_hash,
        "code_hash": blob_id(entry.code.encode()) if in_place and entry.code else None,
    }
    opening, failures, held = "", dict[str, None](), dict[str, int]()
    if entry.kind in {Kind.LESSON, Kind.RULE}:
        from ai_lessons.model.failures import before_failure, recorded  # noqa: PLC0415  # no list parses an entry
        from ai_lessons.search.terms import terms_of  # noqa: PLC0415  # as above

        held = terms_of(entry)
        opening = before_failure(entry.body)[:OPENING]
        for shape in recorded(entry):
            if shape:
                lines = [" ".join(sorted(line)) for line in shape]
                failures["\n".join(lines)] = None
    fields = compact_json(dict(entry.fields), ascii_only=True)
    return CatalogRecord(
        row, tags, versions, entry.links, fields, opening, tuple(failures), held, facts
    )


def facts_of_features(entry: Entry) -> dict[str, Mapping[str, Any]]:
    """What each feature keeps of an entry, as JSON.

    Its `facts` gives a mapping, of which an empty one is not kept.
    """
    kept: dict[str, Mapping[str, Any]] = {}
    for feature, facts_of in extensions.concerning("facts", entry.fields):
        facts: Mapping[str, Any] = facts_of(entry)
        if facts:
            kept[feature] = facts
    return kept


def compact_json(value: Mapping[str, Any], *, ascii_only: bool) -> str:
    """As the catalog holds it; what JSON does not know stands as text."""
    return json.dumps(value, ensure_ascii=ascii_only, separators=(",", ":"), default=str)


def _values(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text.replace(SEPARATOR, " ") for text in texts))


# Keys of files that cannot be a field's name, or are another's
_FIELDS = {"from": "from_"}


def summary_fields(entry: Entry) -> dict[str, Any]:
    """What an `EntrySummary` has of an entry's frontmatter, by field.

    What is not stated is left out.
    """
    kind, stated = KINDS[entry.kind], entry.fields
    fields: dict[str, Any] = {}
    for key in ("created", *kind.summarised):
        value = stated.get(key)
        # a list or a mapping in the place of a word is left out; `validate` reports it
        if value is not None and (key in _LISTS or not isinstance(value, list | dict)):
            fields[_FIELDS.get(key, key)] = value if isinstance(value, list | dict) else str(value)
    if "rationale" in fields:
        fields["rationale"] = entry.rationale
    if entry.kind is Kind.LESSON:
        fields |= {"source": entry.source, "status": entry.status.value}
        fields["pattern"] = str(entry.pattern or "")
    elif entry.kind is Kind.DOC and entry.status is not Status.ACTIVE:
        fields["status"] = entry.status.value
    if entry.doubtful:
        fields["doubtful"] = entry.doubtful
    if entry.hidden:
        fields["masked"] = len(entry.hidden.splitlines())
    return {key: value for key, value in fields.items() if value not in ("", None, {})}


def snippet(entry: Entry) -> str:
    """The first sentences of an entry, on one line; of a lesson those of its pattern."""
    from ai_lessons.search import snippets  # noqa: PLC0415  # not to list what did not change

    text = str(entry.pattern or "") or entry.rationale or entry.body
    shown = (text or entry.code)[: SNIPPET_LENGTH * 20]
    return snippets.snippet(shown, "", SNIPPET_LENGTH, title=entry.title, code=not text)
