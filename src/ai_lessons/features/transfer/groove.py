"""The JSON document with everything of a repository, in the format of Groove: out, and back in.

Pure. What Groove has no place for stands beside its own keys: the `file` of each lesson, the other
`files`, and the `events`.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from ulid import ULID

from ai_lessons.app.write_checks import noting
from ai_lessons.errors import InvalidEntry, Problem, UnsupportedRepository, UsageError
from ai_lessons.features.transfer.arriving import (
    MODEST,
    WORDS,
    Bundle,
    Item,
    created_of,
    made,
    moment,
    sure_of,
    word_of,
)
from ai_lessons.model import expression, frontmatter, lessons, markdown
from ai_lessons.model.entries import Category, Entry, Kind, Relation
from ai_lessons.model.texts import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

Json = dict[str, Any]
T = TypeVar("T")

# of the document: raised when an older program could not read it
VERSION = 1


def _in_their_words(words: Iterable[str]) -> dict[str, str]:
    """Our words as the format writes them: `derived_from` is `DerivedFrom`."""
    spelled = {}
    for word in words:
        spelled[str(word)] = "".join(part.title() for part in word.split("_"))
    return spelled


# A lesson of the format links to lessons alone
_OURS_ALONE = {Relation.HAS_SCRIPT, Relation.HAS_DOC, Relation.PROVES}
_CATEGORIES = _in_their_words(set(Category))
_RELATIONS = _in_their_words(set(Relation) - _OURS_ALONE)
_OF_FORMAT: dict[str, str] = {}
for _word, _name in (_CATEGORIES | _RELATIONS).items():
    _OF_FORMAT |= {_word: _word, _name: _word}


# --- out ---


def learning(
    entry: Entry, file: Item, confidence: float, usage_stats: Mapping[str, Any]
) -> dict[str, Any]:
    """A lesson, with how sure it is and what was counted of it."""
    created = created_of(entry)
    content: Json = {"description": entry.body.strip() or entry.title}
    if entry.pattern:
        content["pattern"] = entry.fields["pattern"]
    content["insight"] = entry.title
    return {
        "id": str(ULID.from_str(entry.id).to_uuid()),
        "scope": lessons.of_entry(entry.project, entry.fields.get("scope")).tagged,
        "category": _CATEGORIES.get(str(entry.fields.get("category")), "Solution"),
        "content": content,
        "confidence": confidence,
        "created_at": created,
        "updated_at": created,
        "source": _source(entry),
        "usage_stats": usage_stats,
        "file": kept(file),
    }


def _source(entry: Entry) -> str | dict[str, Any]:
    """The source of a lesson in the form of the export; without a block, `from` decides."""
    block = entry.fields.get("source")
    if not isinstance(block, dict) or list(lessons.faults(block)):
        return _source_by_author(entry)
    kind = lessons.TYPES[block[lessons.TYPE]]
    values = {}
    for ours, theirs in kind.keys.items():
        values[theirs] = block[ours]
    if kind.name == "Promoted":
        original = ULID.from_str(str(block["original"]).upper())
        values = {
            "from_scope": lessons.read_scope(block["from_scope"]).tagged,
            "original_id": str(original.to_uuid()),
        }
    if values:
        return {kind.name: values}
    return kind.name


def _source_by_author(entry: Entry) -> str | dict[str, Any]:
    """A person, or an agent in a session that nobody named."""
    authors = [entry.fields.get("from")]
    imported = entry.fields.get(lessons.IMPORTED)
    if isinstance(imported, dict):
        authors.append(imported.get("from"))
    if "user" in authors:
        return "UserCreated"
    return {"Transcript": {"session_id": "", "message_index": 0}}


def kept(file: Item) -> dict[str, Any]:
    """A file with its text, or base 64 for other bytes."""
    stated: Json = {"path": file.path}
    try:
        stated["text"] = file.data.decode()
    except UnicodeDecodeError:
        stated["base64"] = b64encode(file.data).decode()
    if file.executable:
        stated["executable"] = True
    if file.side is not None:
        stated["side"] = file.side.decode()
    return stated


def relations(entries: Iterable[Entry], lesson_ids: Iterable[str]) -> list[dict[str, Any]]:
    """The links between lessons whose relation the format has."""
    ids = frozenset(lesson_ids)
    listed: list[dict[str, Any]] = []
    for entry in entries:
        if entry.id not in ids:
            continue
        for link in entry.links:
            if link.relation not in _RELATIONS or link.target not in ids:
                continue
            weight = link.weight
            if weight is None:
                weight = 1.0
            listed.append(
                {
                    "from_id": str(ULID.from_str(entry.id).to_uuid()),
                    "relation_type": _RELATIONS[link.relation],
                    "to_id": str(ULID.from_str(link.target).to_uuid()),
                    "weight": weight,
                    "created_at": created_of(entry),
                }
            )
    return listed


def dump(document: Mapping[str, Any]) -> bytes:
    """The document as the bytes of a file."""
    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    # half a surrogate pair, which only an escape can state, is written as one
    return text.encode(errors="backslashreplace")


def is_export(data: bytes) -> bool:
    """Whether the bytes are a document of `dump`, of any version."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return False
    if not isinstance(document, dict):
        return False
    return {"version", "exported_at", "learnings", "files", "events"} <= document.keys()


# --- in ---


def read(text: str, name: str) -> Bundle:
    """The contents of an export; damaged parts are listed and left out.

    `name` stands for the file in messages.

    Raises InvalidEntry: no export. UnsupportedRepository: of a newer version.
    """
    document = _document(text, name)
    # an export of ours has its numbers from the events that come along
    foreign = "events" not in document
    damaged: list[tuple[str, str]] = []
    links: dict[str, list[Json]] = {}
    for start, link in _each(document, "relations", damaged, lambda raw, _: _relation(raw)):
        of_entry = links.setdefault(start, [])
        if link not in of_entry:
            of_entry.append(link)

    def lesson(raw: Json, where: str) -> Item:
        return _lesson(raw, where, links, foreign=foreign)

    def parameter(raw: Json, _where: str) -> tuple[str, Json] | None:
        return _parameter(raw, foreign=foreign)

    items = _each(document, "learnings", damaged, lesson)
    items += _each(document, "files", damaged, _item)
    counted = [_counted(raw, damaged, foreign=foreign) for raw in _dicts(document, "learnings")]
    params = _each(document, "params", damaged, parameter)
    events = _each(document, "events", damaged, lambda raw, _: raw)
    return Bundle(
        items,
        damaged,
        events,
        counted=dict(filter(None, counted)),
        params=dict(filter(None, params)),
    )


def _document(text: str, name: str) -> Json:
    """The object that an export is. Raises as `read`."""

    def refuse(constant: str) -> float:
        # JSON has neither NaN nor Infinity
        raise ValueError(f"{constant} is no number")

    try:
        document = json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise InvalidEntry([Problem(name, f"not JSON: {error}"[:200])]) from error
    version = None
    if isinstance(document, dict) and "learnings" in document:
        version = document.get("version")
    # for Python, `true` is a number, too
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise InvalidEntry([Problem(name, "not an export: it has no `learnings` or no version")])
    if version > VERSION:
        raise UnsupportedRepository(
            f"{name} is an export of version {version}, this program knows {VERSION}",
            hint="update ai-lessons from where it was installed",
        )
    exported: Json = document
    return exported


def _dicts(document: Mapping[str, Any], key: str) -> list[Json]:
    """The objects of a list of the document; what else stands there was named before."""
    listed = document.get(key)
    if not isinstance(listed, list):
        return []
    return [raw for raw in listed if isinstance(raw, dict)]


def _each(
    document: Mapping[str, Any],
    key: str,
    damaged: list[tuple[str, str]],
    read_one: Callable[[Json, str], T],
) -> list[T]:
    """The parts of a list of the document as `read_one` reads them; faults go to `damaged`."""
    parts = []
    listed = document.get(key, [])
    if not isinstance(listed, list):
        damaged.append((key, "not a list"))
        return []
    for number, raw in enumerate(listed, 1):
        where = f"{key.removesuffix('s')} {number}"
        if isinstance(raw, dict) and "id" in raw:
            where += f" ({str(raw['id'])[:40]})"
        with noting(where, damaged):
            if not isinstance(raw, dict):
                raise UsageError("not an object")
            parts.append(read_one(raw, where))
    return parts


# --- numbers that another tool counted ---

_TIMES = ("injected", "helpful", "ignored", "contradicted")
_PARAMETER_NAME = expression("[a-z_]{1,40}")
_OF_PARAMETERS = ("value", "uncertainty", "observations", "prior_alpha", "prior_beta")


def _counted(
    raw: Mapping[str, Any], damaged: list[tuple[str, str]], *, foreign: bool
) -> tuple[str, Json] | None:
    """The id of a lesson and what another tool counted of it; None: nothing."""
    stats = raw.get("usage_stats")
    if isinstance(stats, dict) and not foreign:
        stats = stats.get("imported")
    if not isinstance(stats, dict):
        return None
    with suppress(UsageError):
        # of a lesson without an id that was named before
        entry_id = _ulid(raw.get("id"))
        with noting(f"usage_stats of {entry_id}", damaged):
            numbers: Json = {}
            for word in _TIMES:
                numbers[word] = int(_number(stats, f"times_{word}"))
            for word in ("alpha", "beta"):
                numbers[word] = _number(stats, f"confidence_{word}")
            numbers["last_used"] = _last_used(stats.get("last_used"))
            return entry_id, numbers
    return None


def _last_used(stated: object) -> str:
    """A time as we write it, of one in seconds since 1970 or in words; empty for anything else."""
    used = moment(stated)
    # the year 3058
    if isinstance(stated, int) and 0 < stated < 1 << 35:
        used = datetime.fromtimestamp(stated, UTC)
    if used is None:
        return ""
    return frontmatter.stamp(used)


def _parameter(raw: Mapping[str, Any], *, foreign: bool) -> tuple[str, Json] | None:
    """The name of a parameter and where another tool left it.

    None: these are numbers of events that come along.
    """
    name, marked = raw.get("param_name"), raw.get("imported")
    if not isinstance(name, str) or not _PARAMETER_NAME.fullmatch(name):
        raise UsageError("it has no param_name")
    if not foreign and not marked:
        return None
    row: Mapping[str, Any] = raw
    if isinstance(marked, dict):
        row = marked
    numbers: Json = {}
    for key in _OF_PARAMETERS:
        numbers[key] = _number(row, key)
    numbers["updated_at"] = ""
    if isinstance(row.get("updated_at"), str):
        numbers["updated_at"] = row["updated_at"]
    return name, numbers


def _number(row: Mapping[str, Any], key: str) -> float:
    """A number from 0 up; 0 where it is not there. Raises UsageError: it is none."""
    value = row.get(key, 0)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1e9:
        raise UsageError(f"{key} {str(value)[:40]} is no number from 0 up")
    return value


# --- the parts of a document ---


def _relation(raw: Mapping[str, Any]) -> tuple[str, Json]:
    """The id that a link starts from, and the link."""
    relation = _OF_FORMAT.get(str(raw.get("relation_type")))
    if relation not in _RELATIONS:
        raise UsageError("no relation that we know")
    source, target = _ulid(raw.get("from_id")), _ulid(raw.get("to_id"))
    weight = raw.get("weight", 1.0)
    # no infinity
    if not isinstance(weight, int | float) or isinstance(weight, bool) or not 0 <= weight < 1e9:
        raise UsageError(f"weight {weight!r} is not a number from 0 up")
    if source == target:
        raise UsageError("it leads to where it starts")
    link: Json = {relation: target}
    if weight != 1.0:
        link["weight"] = weight
    return source, link


def _lesson(raw: Json, where: str, links: Mapping[str, list[Json]], *, foreign: bool) -> Item:
    """A lesson: its file, or one made from the fields of the format.

    In a `foreign` document the number of its confidence counts, whatever word stands in the file.
    """
    entry_id = _ulid(raw.get("id"))
    if "file" in raw:
        item = _item(raw["file"], where)
        if foreign:
            return _with_number(item, raw.get("confidence"))
        return item
    content = raw.get("content")
    if not isinstance(content, dict):
        raise UsageError("it has no content")
    insight = str(content.get("insight") or "").strip()
    description = str(content.get("description") or "").strip()
    title = one_line(insight or description)
    if not title:
        raise UsageError("it has neither insight nor description")
    created = moment(raw.get("created_at"))
    if created is None:
        raise UsageError(f"created_at {raw.get('created_at')!r} is not a time")
    pattern, pattern_text = _pattern(content.get("pattern"))
    body = []
    for text in (insight, description, pattern_text):
        if text and text != title:
            body.append(text)
    origin = "ai"
    if raw.get("source") == "UserCreated":
        origin = "user"
    scope = lessons.read_scope(raw.get("scope"))
    stated_scope = None
    if scope != lessons.of_entry(scope.project):
        stated_scope = str(scope)
    fields = frontmatter.lesson_fields(
        entry_id, frontmatter.stamp(created), title=title, confidence=word_of(raw.get("confidence")),
        origin=origin, source=_block(raw.get("source")) or "observed",
        category=_OF_FORMAT.get(str(raw.get("category"))), **pattern, scope=stated_scope,
    )  # fmt: skip
    if links.get(entry_id):
        fields |= {"links": links[entry_id]}
    fields |= sure_of(raw.get("confidence"))
    return made(where, Kind.LESSON, scope.project, "\n\n".join(body), fields)


_PATTERNS = ({"when", "do", "because"}, {"when", "dont", "because"})


def _pattern(raw: Any) -> tuple[Json, str]:
    """The parts of a pattern of ours, or any other one as a text for the body."""
    if raw is None:
        return {}, ""
    is_pattern = isinstance(raw, dict) and set(raw) in _PATTERNS
    if is_pattern and all(isinstance(part, str) and part for part in raw.values()):
        return raw, ""
    as_json = json.dumps(raw, indent=2, ensure_ascii=False)
    return {}, f"```json\n{as_json}\n```"


def _with_number(item: Item, confidence: object) -> Item:
    """The file of a lesson with this confidence, where that is a number that its word does not say."""
    number = sure_of(confidence)
    if not number:
        return item
    fields = frontmatter.read_entry(item.path, item.data, item.side).fields
    stated = lessons.claimed_of(fields)
    if stated is None:
        stated = WORDS.get(str(fields.get("confidence")), WORDS["medium"])
    if abs(float(str(confidence)) - stated) < 1e-6:
        return item
    imported: Json = {}
    if isinstance(fields.get(lessons.IMPORTED), dict):
        imported |= fields[lessons.IMPORTED]
    word = word_of(confidence)
    if word not in MODEST:
        word = "medium"
    changes = {"confidence": word, lessons.IMPORTED: imported | number[lessons.IMPORTED]}
    return item._replace(data=markdown.edit(item.data.decode(), changes).encode())


def _ulid(value: Any) -> str:
    """The ULID of a UUID, both of 128 bits; a ULID as it is."""
    if isinstance(value, str):
        if re.fullmatch(r"[0-7][0-9A-HJKMNP-TV-Z]{25}", value):
            return value
        with suppress(ValueError):
            return str(ULID.from_uuid(UUID(value)))
    raise UsageError(f"{str(value)[:60]!r} is not a UUID")


def _item(raw: Any, where: str) -> Item:
    """A file of `kept`."""
    if not isinstance(raw, dict) or not isinstance(raw.get("path"), str):
        raise UsageError("it has no path")
    path, side = raw["path"], None
    try:
        if isinstance(raw.get("text"), str):
            data = raw["text"].encode()
        else:
            data = b64decode(raw["base64"], validate=True)
        if raw.get("side") is not None:
            side = raw["side"].encode()
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise UsageError("it has no text") from error
    executable = raw.get("executable") is True
    return Item(f"{where}: {path}"[:200], path, data, side, executable=executable)


def _block(source: Any) -> Json | None:
    """The `source` block for a source of the export; None if a word is enough."""
    if not isinstance(source, dict) or len(source) != 1:
        return None
    ((name, values),) = source.items()
    kinds = {source_type.name: kind for kind, source_type in lessons.TYPES.items()}
    kind = kinds.get(name)
    if kind is None or not isinstance(values, dict):
        return None
    block: Json = {}
    for ours, theirs in lessons.TYPES[kind].keys.items():
        block[ours] = values.get(theirs)
    if kind == "promoted":
        try:
            block = {
                "from_scope": str(lessons.read_scope(block["from_scope"])),
                "original": _ulid(block["original"]),
            }
        except UsageError:
            return None
    block = {lessons.TYPE: kind, **block}
    if list(lessons.faults(block)):
        return None
    return block
