"""The export: one JSON document, version 1 of the format of groove, with the whole files of entries in keys of ours.

A program that knows the format alone reads learnings, statistics, parameters and relations; ours reads back the
files as they were. Values in, values out.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from uuid import UUID

from ulid import ULID

from ai_lessons.errors import AiLessonsError, InvalidEntry, Problem, UnsupportedRepository, UsageError
from ai_lessons.knowledge import frontmatter, layout, markdown, origins
from ai_lessons.knowledge.entries import Category, Relation
from ai_lessons.knowledge.portable.bundle import EPOCH, Bundle, Item, Moved, moment, one_line, word_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ai_lessons.knowledge.entries import Entry

VERSION = 1
T = TypeVar("T")

RELATIONS = {
    Relation.SUPERSEDES: "Supersedes",
    Relation.CONTRADICTS: "Contradicts",
    Relation.DERIVED_FROM: "DerivedFrom",
    Relation.RELATED_TO: "RelatedTo",
    Relation.SPECIALIZES: "Specializes",
}
"""The relations that the format has, as it writes them."""

COUNTS = ("injected", "helpful", "ignored", "contradicted")
_NAMES = {name: relation.value for relation, name in RELATIONS.items()} | {r.value: r.value for r in RELATIONS}
_NAMED = {str(one): "".join(word.title() for word in one.split("_")) for one in Category}
_CATEGORIES = {name: word for word, name in _NAMED.items()} | {word: word for word in _NAMED}
_NUMBER_LIMIT = 1_000_000_000


class ExportedFile(NamedTuple):
    """One file as the export keeps it, and whether it may be executed."""

    path: str
    data: bytes
    executable: bool = False


# --- writing ---


def learning(entry: Entry, file: ExportedFile, usage: Mapping[str, Any]) -> dict[str, Any]:
    """A lesson. `usage` has the counts, `last_used`, `alpha`, `beta` and `confidence`.

    `updated_at` is when it was created, because git knows the rest.
    """
    created = created_of(entry)
    return {
        "id": str(ULID.from_str(entry.id).to_uuid()),
        "scope": origins.of_entry(entry.project, entry.fields.get("scope")).tagged,
        "category": _NAMED.get(str(entry.fields.get("category")), "Solution"),
        "content": {
            "description": entry.body.strip() or entry.title,
            **({"pattern": entry.fields["pattern"]} if entry.pattern else {}),
            "insight": entry.title,
        },
        "confidence": usage["confidence"],
        "created_at": created,
        "updated_at": created,
        "source": _source(entry),
        "usage_stats": {
            **{f"times_{word}": usage[f"times_{word}"] for word in COUNTS},
            **({"last_used": usage["last_used"]} if usage["last_used"] else {}),
            "confidence_alpha": usage["alpha"],
            "confidence_beta": usage["beta"],
        },
        "file": kept(file),
    }


def _source(entry: Entry) -> str | dict[str, Any]:
    """The block of the lesson as the format has it; where there is only a word, who said it decides."""
    block = entry.fields.get("source")
    if not isinstance(block, dict) or list(origins.faults(block)):
        by_user = entry.fields.get("from") == "user"
        return "UserCreated" if by_user else {"Transcript": {"session_id": "", "message_index": 0}}
    kind = origins.TYPES[block[origins.TYPE]]
    values = {theirs: block[ours] for ours, theirs in kind.keys.items()}
    if kind.name == "Promoted":
        original = ULID.from_str(str(block["original"]).upper())
        values = {"from_scope": origins.parse_scope(block["from_scope"]).tagged, "original_id": str(original.to_uuid())}
    return {kind.name: values} if values else kind.name


def created_of(entry: Entry) -> str:
    """When an entry was made, as far as it or its id tells."""
    said = moment(entry.fields.get("created"))
    return frontmatter.stamp(said or ULID.from_str(entry.id).datetime)


def kept(file: ExportedFile) -> dict[str, Any]:
    """A file with its text, or its bytes in base 64 where they are no text."""
    try:
        said = {"text": file.data.decode()}
    except UnicodeDecodeError:
        said = {"base64": b64encode(file.data).decode()}
    return {"path": file.path, **said, **({"executable": True} if file.executable else {})}


def relations(entries: Iterable[Entry], lessons: Iterable[str]) -> list[dict[str, Any]]:
    """The links between lessons that the format has a name for."""
    known = frozenset(lessons)
    return [
        {
            "from_id": str(ULID.from_str(entry.id).to_uuid()),
            "relation_type": RELATIONS[Relation(link.relation)],
            "to_id": str(ULID.from_str(link.target).to_uuid()),
            "weight": 1.0 if link.weight is None else link.weight,
            "created_at": created_of(entry),
        }
        for entry in entries
        for link in entry.links
        if entry.id in known and link.relation in _NAMES and link.target in known
    ]


def dump(document: Mapping[str, Any]) -> bytes:
    """The document as the bytes of a file."""
    try:
        return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode()
    except UnicodeEncodeError:  # half a surrogate pair, which only an escape can state
        return (json.dumps(document, indent=2) + "\n").encode()


# --- reading ---


class _Damaged(ValueError):
    """What is wrong with one part of the document."""


def read(text: str, name: str) -> Bundle:
    """What an export holds. `name` is what messages call the file.

    Raises:
        InvalidEntry: no export. UnsupportedRepository: of a newer version.
    """
    try:
        document = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise InvalidEntry([Problem(name, f"not JSON: {error}"[:200])]) from error
    if not isinstance(document, dict) or "learnings" not in document:
        raise InvalidEntry([Problem(name, "not an export: it has no `learnings`")])
    version = document.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise InvalidEntry([Problem(name, "not an export: it has no version")])
    if version > VERSION:
        raise UnsupportedRepository(
            f"{name} is an export of version {version}, this program knows {VERSION}",
            hint="update ai-lessons: pipx upgrade ai-lessons",
        )
    return _Reading(document).bundle()


def _refuse(name: str) -> float:
    raise ValueError(f"{name} is no number")


class _Reading:
    """One document on its way to a bundle. Parts that are damaged are noted and left out."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document
        self._damaged: list[tuple[str, str]] = []
        self._links: dict[str, list[dict[str, Any]]] = {}
        self._tallies: dict[str, Mapping[str, Any]] = {}

    def bundle(self) -> Bundle:
        self._each("relations", "relation", self._relation)
        items = [*self._each("learnings", "learning", self._learning), *self._each("files", "file", _item)]
        moved = self._each("params", "parameter", _param)
        events = [one for one in self._list("events") if isinstance(one, dict)]
        if "events" in self._document:  # they say the same, more exactly
            return Bundle(items, self._damaged, events=events)
        return Bundle(items, self._damaged, self._tallies, moved=moved)

    def _each(self, key: str, called: str, read: Callable[[Mapping[str, Any], str], T]) -> list[T]:
        """What each part of a list of the document says."""
        found = []
        for number, raw in enumerate(self._list(key), 1):
            where = f"{called} {number}"
            try:
                if not isinstance(raw, dict):
                    raise _Damaged("not an object")
                where += f" ({str(raw['id'])[:40]})" if "id" in raw else ""
                found.append(read(raw, where))
            except (_Damaged, AiLessonsError) as error:
                self._damaged.append((where, getattr(error, "message", str(error))))
        return found

    def _list(self, key: str) -> list[Any]:
        found = self._document.get(key, [])
        if isinstance(found, list):
            return found
        self._damaged.append((key, "not a list"))
        return []

    def _relation(self, raw: Mapping[str, Any], _where: str) -> None:
        if raw.get("relation_type") not in _NAMES:
            raise _Damaged("no relation that we know")
        source, target = (_ulid(raw.get(key)) for key in ("from_id", "to_id"))
        weight = raw.get("weight", 1.0)
        if not isinstance(weight, int | float) or isinstance(weight, bool) or not 0 <= weight < _NUMBER_LIMIT:
            raise _Damaged(f"weight {weight!r} is not a number from 0 up")
        link = {_NAMES[raw["relation_type"]]: target} | ({"weight": weight} if weight != 1.0 else {})
        if source != target and link not in self._links.setdefault(source, []):
            self._links[source].append(link)

    def _learning(self, raw: Mapping[str, Any], where: str) -> Item:
        entry_id = _ulid(raw.get("id"))
        if isinstance(raw.get("usage_stats"), dict):
            self._tallies[entry_id] = _tallies(raw["usage_stats"], raw)
        return _item(raw["file"], where) if "file" in raw else self._made(raw, entry_id, where)

    def _made(self, raw: Mapping[str, Any], entry_id: str, where: str) -> Item:
        """A lesson from the parts of the format alone."""
        content = raw.get("content")
        if not isinstance(content, dict):
            raise _Damaged("it has no content")
        insight, description = (str(content.get(key) or "").strip() for key in ("insight", "description"))
        title = one_line(insight or description)
        if not title:
            raise _Damaged("it has neither insight nor description")
        created = moment(raw.get("created_at"))
        if created is None:
            raise _Damaged(f"created_at {raw.get('created_at')!r} is not a time")
        pattern, rest = _pattern(content.get("pattern"))
        body = [one for one in (insight if title != insight else "", description, rest) if one and one != title]
        fields = frontmatter.lesson_fields(
            entry_id, frontmatter.stamp(created), title=title, confidence=word_of(raw.get("confidence")),
            origin="user" if raw.get("source") == "UserCreated" else "ai",
            category=_CATEGORIES.get(str(raw.get("category"))), **pattern,
        )  # fmt: skip
        block, scope = _block(raw.get("source")), origins.read_scope(raw.get("scope"))
        fields |= {"source": block} if block else {}
        fields |= {"scope": str(scope)} if scope != origins.of_entry(scope.project) else {}
        fields |= {"links": self._links[entry_id]} if self._links.get(entry_id) else {}
        path = layout.lesson_path(scope.project, title, entry_id, fields["created"])
        return Item(where, path, markdown.render(fields, frontmatter.body_of("\n\n".join(body))).encode())


def _param(raw: Mapping[str, Any], _where: str) -> Moved:
    param = raw.get("param")
    value, seen = (param.get("value"), param.get("observations")) if isinstance(param, dict) else (None, 0)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
        raise _Damaged("it has no value from 0 to 1")
    at = moment(raw.get("updated_at"))
    count = seen if isinstance(seen, int) and not isinstance(seen, bool) and seen > 0 else 0
    return Moved(str(raw.get("name")), float(value), count, frontmatter.stamp(at) if at else EPOCH)


def _ulid(said: Any) -> str:
    """The id that a UUID is; both are 128 bits. A ULID may stand there, too."""
    if isinstance(said, str):
        if re.fullmatch(r"[0-7][0-9A-HJKMNP-TV-Z]{25}", said):
            return said
        try:
            return str(ULID.from_uuid(UUID(said)))
        except ValueError:
            pass
    raise _Damaged(f"{str(said)[:60]!r} is not a UUID")


def _tallies(said: Mapping[str, Any], raw: Mapping[str, Any]) -> dict[str, Any]:
    counts = {word: said.get(f"times_{word}") for word in COUNTS}
    last = moment(said.get("last_used")) or moment(raw.get("created_at"))
    return {w: n for w, n in counts.items() if isinstance(n, int) and not isinstance(n, bool) and n > 0} | {
        "last_used": frontmatter.stamp(last) if last else EPOCH
    }


def _item(raw: Any, where: str) -> Item:
    if not isinstance(raw, dict) or not isinstance(raw.get("path"), str):
        raise _Damaged("it has no path")
    side = raw.get("side")
    if side is not None and not isinstance(side, str):
        raise _Damaged("its side file is not text")
    return Item(
        f"{where}: {raw['path']}"[:200],
        raw["path"],
        _bytes(raw),
        _encoded(side) if side is not None else None,
        executable=raw.get("executable") is True,
    )


def _bytes(raw: Mapping[str, Any]) -> bytes:
    if isinstance(raw.get("text"), str):
        return _encoded(raw["text"])
    try:
        return b64decode(raw.get("base64"), validate=True)  # type: ignore[arg-type]  # anything else is a TypeError
    except (TypeError, ValueError) as error:
        raise _Damaged("it has no text") from error


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise _Damaged("its text is no Unicode") from error


def _pattern(said: Any) -> tuple[dict[str, Any], str]:
    """WHEN, DO and BECAUSE where they are there; any other pattern as text for the body."""
    if said is None:
        return {}, ""
    if isinstance(said, dict):
        parts = {key: str(said[key]) for key in ("when", "do", "dont", "because") if isinstance(said.get(key), str)}
        if set(said) == set(parts) in ({"when", "do", "because"}, {"when", "dont", "because"}) and all(parts.values()):
            return parts, ""
    return {}, "```json\n" + json.dumps(said, indent=2, ensure_ascii=False) + "\n```"


def _block(said: Any) -> dict[str, Any] | None:
    """The block that a source becomes; None where it says no more than a word would."""
    if not isinstance(said, dict) or len(said) != 1:
        return None
    name, values = next(iter(said.items()))
    kind = next((one for one, known in origins.TYPES.items() if known.name == name), None)
    if kind is None or not isinstance(values, dict):
        return None
    block: dict[str, Any] = {ours: values.get(theirs) for ours, theirs in origins.TYPES[kind].keys.items()}
    try:
        if kind == "promoted":
            block = {"from_scope": str(origins.read_scope(block["from_scope"])), "original": _ulid(block["original"])}
    except (_Damaged, UsageError):
        return None
    block = {origins.TYPE: kind, **block}
    return None if list(origins.faults(block)) else block
