"""What goes into the frontmatter of a new or changed entry. Builds values; checks nothing, writes nothing."""

from __future__ import annotations

import re
import secrets
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ulid import ULID

from ai_lessons.knowledge.entries import SHARED, UNVERSIONED, Entry, Kind, Link, Relation
from ai_lessons.knowledge.layout import place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ai_lessons.knowledge.entries import Light

OWN_KEYS = frozenset(
    ("id", "kind", "title", "versions", "tags", "source_path", "source_ref", "content_hash", "created", "links")
)
"""Keys of a doc that are ours to set; a source's own frontmatter keeps the others."""

_LINK_TO = {Kind.SCRIPT: Relation.HAS_SCRIPT, Kind.DOC: Relation.HAS_DOC}
_COMMENT = re.compile(r"\s*(?:#|//|--|;|%|REM\b|::)+!?[ \t]?", re.IGNORECASE)
_DESCRIBED = 4000


def new_id(now: datetime) -> str:
    """A ULID of that moment. Fresh randomness each time: counting on from the last would make handles look alike."""
    return str(ULID.from_bytes(int(now.timestamp() * 1000).to_bytes(6, "big") + secrets.token_bytes(10)))


def stamp(now: datetime) -> str:
    """ISO 8601 in UTC to the second, with `Z`."""
    return now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def resolved(wanted: Iterable[tuple[str, str]], resolve: Callable[[str], Light]) -> list[tuple[str, str]]:
    """(relation, id) of links given as (relation, reference); no relation: the one that fits the kind."""
    targets = ((relation, resolve(ref)) for relation, ref in wanted)
    return [(relation or _LINK_TO.get(target.kind, Relation.RELATED_TO), target.id) for relation, target in targets]


def body_of(content: str) -> str:
    """A body that ends in one line end; empty stays empty."""
    return content.rstrip("\n") + "\n" if content.strip() else ""


def lesson_fields(
    entry_id: str,
    created: str,
    *,
    title: str,
    tags: Sequence[str] = (),
    confidence: str = "medium",
    source: str = "observed",
    origin: str = "user",
    category: str | None = None,
    contexts: Sequence[str] = (),
    applies_to: Sequence[str] = (),
    links: Iterable[tuple[str, str]] = (),
    when: str | None = None,
    do: str | None = None,
    dont: str | None = None,
    because: str | None = None,
) -> dict[str, Any]:
    """Frontmatter of a new lesson; what is empty is left out. A pattern is kept as far as it was said."""
    pattern = {"when": when, "do": do, "dont": dont, "because": because}
    return _kept(
        {
            "id": entry_id,
            "kind": Kind.LESSON.value,
            "title": " ".join(title.split()),
            "tags": sorted(set(tags)),
            "confidence": confidence,
            "source": source,
            "from": origin,
            "status": "active",
            "created": created,
            "category": category,
            "contexts": sorted(set(contexts)),
            "applies_to": list(applies_to),
            "pattern": _kept(pattern),
            "links": [{relation: target} for relation, target in links],
        }
    )


def rule_fields(
    entry_id: str,
    created: str,
    *,
    title: str,
    rationale: str,
    tags: Sequence[str] = (),
    applies_to: Sequence[str] = (),
    links: Iterable[tuple[str, str]] = (),
) -> dict[str, Any]:
    """Frontmatter of a new rule. Who suggested or approved it is not in it: git knows."""
    return _kept(
        {
            "id": entry_id,
            "kind": Kind.RULE.value,
            "title": " ".join(title.split()),
            "rationale": rationale.strip(),
            "tags": sorted(set(tags)),
            "created": created,
            "applies_to": list(applies_to),
            "links": [{relation: target} for relation, target in links],
        }
    )


def doc_fields(
    entry_id: str,
    created: str,
    *,
    title: str,
    versions: Sequence[str] = (),
    tags: Sequence[str] = (),
    source_path: str | None = None,
    source_ref: str | None = None,
    content_hash: str | None = None,
) -> dict[str, Any]:
    """Frontmatter of a new doc snapshot."""
    return _kept(
        {
            "id": entry_id,
            "kind": Kind.DOC.value,
            "title": " ".join(title.split()),
            "versions": sorted(set(versions)),
            "tags": sorted(set(tags)),
            "source_path": source_path,
            "source_ref": source_ref,
            "content_hash": content_hash,
            "created": created,
        }
    )


def script_fields(
    entry_id: str,
    created: str,
    *,
    title: str,
    versions: Sequence[str] = (),
    tags: Sequence[str] = (),
    path: str | None = None,
    source_ref: str | None = None,
    interpreter: str | None = None,
) -> dict[str, Any]:
    """Frontmatter of a script's side file; `path` only for a script that stays outside the repository."""
    return _kept(
        {
            "id": entry_id,
            "kind": Kind.SCRIPT.value,
            "title": " ".join(title.split()),
            "versions": sorted(set(versions)),
            "tags": sorted(set(tags)),
            "path": path,
            "source_ref": source_ref,
            "interpreter": interpreter,
            "created": created,
        }
    )


def _kept(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value not in (None, "", [], {})}


def identity(entry: Entry) -> dict[str, Any]:
    """What a file that states no id must say to keep its identity when it is moved.

    The derived id is written down, so that nothing that names it breaks, and two clones that do it agree.
    """
    fields: dict[str, Any] = {"id": entry.id, "kind": entry.kind.value, "title": entry.title}
    versions = versions_of_place(entry.path)
    if versions and not entry.versions:
        fields["versions"] = list(versions)
    return fields


def versions_of_place(path: str) -> tuple[str, ...]:
    """The version that a resource's folder names; none for `shared`, `unversioned` or no version folder."""
    where = place(path)
    bucket = where.bucket if where else None
    return (bucket,) if bucket and bucket not in {SHARED, UNVERSIONED} else ()


def link_items(links: Iterable[Link], add: tuple[str, str, float | None] | None = None) -> list[dict[str, Any]]:
    """Links as they are written: one mapping each, a weight only where there is one; a new one last."""
    every = [*links, *([Link(*add)] if add else [])]
    return [
        {link.relation: link.target} | ({"weight": link.weight} if link.weight is not None else {}) for link in every
    ]


def description(code: bytes) -> str:
    """The leading comment of a script without its comment signs; empty if there is none."""
    lines = code[:_DESCRIBED].decode("utf-8", "replace").splitlines()
    said: list[str] = []
    for number, line in enumerate(lines):
        sign = _COMMENT.match(line)
        if number == 0 and line.startswith("#!"):
            continue
        if not sign and (line.strip() or said):
            break
        if sign:
            said.append(line[sign.end() :].rstrip())
    return "\n".join(said).strip()
