"""Formats that go out and come back: the JSON document, and rules for the agents of other tools.

Pure.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from math import isnan
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from uuid import UUID

from ulid import ULID

from ai_lessons.app.write_checks import noting
from ai_lessons.errors import (
    InvalidEntry,
    Problem,
    UnsupportedRepository,
    UsageError,
)
from ai_lessons.model import expression, frontmatter, layout, lessons, markdown
from ai_lessons.model.checks import FACTS_OF_HISTORY
from ai_lessons.model.entries import (
    GLOBAL_PROJECT,
    HANDLE_LENGTH,
    RELEASED,
    Category,
    Entry,
    Kind,
    Relation,
    ulid,
)
from ai_lessons.model.texts import escaped, mapping_lines, one_line
from ai_lessons.model.yaml_edit import REMOVE

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from pathlib import Path

# --- out: rules in force and firm lessons ---

NAME = "ai-lessons rules"
"""The name in our markers of exported rules.

The paragraph on how to use the program has its own.
"""

# How the names of our files in a folder of rules begin
PREFIX = "ai-lessons-"
_MADE_BY = "Approved by a person in the knowledge repository; made by `ai-lessons admin export`, so edit them there."
_STATED = "Stated by a person in the knowledge repository, so edit them there."
_BEGIN, _END = f"<!-- >>> {NAME} >>> -->", f"<!-- <<< {NAME} <<< -->"
_OUR_FILE = expression(
    rf"(?:---\n(?>(?:[^\n]*\n)*?---\n))?{re.escape(_BEGIN)}\n(?:(?!{_END}).)*\n{re.escape(_END)}\n".encode(),
    re.DOTALL,
)
_FENCE_TO_CLOSE = expression(r"( {0,3})(`{3,}(?=[^`]*$)|~{3,})(.*)")
_HEADING_MARK = expression(r" {0,3}(#{1,6})(?=[ \t]|$)")
_UNDERLINE = expression(r" {0,3}(?:=+|-+)[ \t]*")
_MARKER = expression(r"<!--(?= (?:>>>|<<<) ai-lessons)")

ExportedEntry = tuple[str, "Entry"]
"""A rule in force or a firm lesson, behind its handle."""


class RuleFiles(NamedTuple):
    """How a tool keeps one rule a file.

    How its names end, the lines of frontmatter for an entry, and its folder.
    """

    suffix: str
    matter: Callable[[Entry], Sequence[str]]
    folder: Callable[[Entry], str] | None = None


def _claude(entry: Entry) -> Sequence[str]:
    globs = _globs(entry)
    if globs:
        return mapping_lines({"paths": globs})
    return ()


def _cursor(entry: Entry) -> Sequence[str]:
    # no YAML: Cursor reads globs without quotes
    globs = _globs(entry)
    return (
        f"description: {_line(entry.title)}",
        f"globs: {','.join(globs)}".rstrip(),
        f"alwaysApply: {str(not globs).lower()}",
    )


def _copilot(entry: Entry) -> Sequence[str]:
    return mapping_lines(
        {"description": _line(entry.title), "applyTo": ",".join(_globs(entry)) or "**"}
    )


def _windsurf(entry: Entry) -> Sequence[str]:
    globs = _globs(entry)
    if globs:
        return ("trigger: glob", f"globs: {','.join(globs)}")
    return ("trigger: always_on",)


def _qwen(entry: Entry) -> Sequence[str]:
    # no YAML: Qwen Code takes what stands behind the colon
    if entry.pattern:
        why = entry.pattern.because
    else:
        why = entry.rationale
    title = _line(entry.title)
    return f"name: {title}", f"description: {_line(why) if why else title}", "type: feedback"


def _compound(entry: Entry) -> Sequence[str]:
    """The frontmatter of a solution.

    What one that was imported states, and else a best practice.
    """
    stated = {}
    for key in SOLUTION_KEYS:
        if key in entry.fields:
            stated[key] = entry.fields[key]
    matter: dict[str, Any] = {
        "title": _line(entry.title),
        "date": created_of(entry)[:10],
        "category": _solution_folder(entry),
        "module": entry.project,
        "problem_type": _solution_type(entry),
        "component": "development_workflow",
        "severity": "medium",
    }
    if entry.pattern:
        when = [_line(entry.pattern.when)]
    else:
        when = []
    if when and not {"symptoms", "applies_when"} & stated.keys():
        matter |= {"applies_when": when}
    matter |= {key: value for key, value in stated.items() if key != "problem_type"}
    # as many as the schema of a solution allows
    tags = sorted(entry.tags)[:8]
    return mapping_lines(matter | ({"tags": tags} if tags else {}))


def _solution_type(entry: Entry) -> str:
    stated = str(entry.fields.get("problem_type", ""))
    if re.fullmatch("[a-z]+(?:_[a-z]+)*", stated):
        return stated
    return "best_practice"


def _solution_folder(entry: Entry) -> str:
    name = _solution_type(entry).replace("_", "-")
    if name == "developer-experience":
        return name
    return f"{name}s"


SOLUTION_KEYS = (
    "module", "problem_type", "component", "severity", "symptoms", "root_cause", "resolution_type", "applies_when",
    "related_components", "framework_version",
)  # fmt: skip
"""What a solution of the compound-engineering plugin states beside title, date and tags.

An entry keeps it as it is.
"""


RULE_FILES = {
    "claude-rules": RuleFiles(".md", _claude),
    "cursor": RuleFiles(".mdc", _cursor),
    "copilot": RuleFiles(".instructions.md", _copilot),
    "windsurf": RuleFiles(".md", _windsurf),
    "qwen": RuleFiles(".md", _qwen, lambda _: "feedback"),
    "compound": RuleFiles(".md", _compound, _solution_folder),
}

_PARTS = ((Kind.RULE, "## Rules", _MADE_BY), (Kind.LESSON, "## Lessons", _STATED))
FRAME = sum(len(title) + len(made) + 4 for _, title, made in _PARTS) + 100
"""Characters of a file beside the entries, at most: our headings and markers."""


def whole(entries: Sequence[ExportedEntry]) -> str:
    """The text of a single file with all entries, without markers."""
    parts = (
        (title, made, [section(*entry, 3) for entry in entries if entry[1].kind is kind])
        for kind, title, made in _PARTS
    )
    results = []
    for title, made, texts in parts:
        if texts:
            for row in (title, made, *texts):
                results.append(row)
    return "\n\n".join(results)


def file_name(form: str, entry: Entry) -> str:
    """The name of an entry's file below a folder of rules."""
    kind = RULE_FILES[form]
    if kind.folder:
        folder = f"{kind.folder(entry)}/"
    else:
        folder = ""
    return f"{folder}{PREFIX}{layout.slug(entry.title)}-{entry.id[-HANDLE_LENGTH:].lower()}{kind.suffix}"


def file_pattern(form: str) -> str:
    """A glob of the files below a folder of rules that may be ours."""
    kind = RULE_FILES[form]
    return f"{'*/' if kind.folder else ''}{PREFIX}*{kind.suffix}"


def rule_file(form: str, handle: str, entry: Entry) -> str:
    """The text of an entry's file in a folder of rules, with the globs that it applies to as frontmatter."""
    if entry.kind is Kind.RULE:
        made = _MADE_BY
    else:
        made = _STATED
    return _framed(RULE_FILES[form].matter(entry), f"{section(handle, entry, 1)}\n\n{made}")


def skill(
    project: str, entries: Sequence[ExportedEntry], projects: Collection[str]
) -> tuple[str, str]:
    """A skill with the entries of one of these projects.

    Its path below a folder of skills, and its text.
    """
    name = layout.slug(project)
    if name != project and sum(layout.slug(other) == name for other in projects) > 1:
        # C++ beside C#
        name += f"-{sha256(project.encode()).hexdigest()[:6]}"
    name = f"{PREFIX}{name}"
    if project == GLOBAL_PROJECT:
        about = "every project"
    else:
        about = f"the project {_line(project)}"
    titles = "; ".join(_line(entry.title) for _, entry in entries)
    # hosts read 1,024 characters of a skill's description
    description = f"Rules and lessons of {about}. Read it before working there. About: {titles}"[
        :1024
    ]
    matter = mapping_lines({"name": name, "description": description})
    return f"{name}/SKILL.md", _framed(matter, f"# {_line(project)}\n\n{whole(entries)}")


def _framed(matter: Sequence[str], text: str) -> str:
    if matter:
        head = "".join(f"{row}\n" for row in ("---", *matter, "---"))
    else:
        head = ""
    return f"{head}{_BEGIN}\n{text}\n{_END}\n"


def is_exported_rule(data: bytes) -> bool:
    """Whether an export wrote this file of a folder of rules."""
    return _OUR_FILE.fullmatch(data) is not None


def section(handle: str, entry: Entry, level: int) -> str:
    """An entry as a section below a heading of this level."""
    lines = [f"{'#' * level} {_line(entry.title)} ({handle})"]
    if entry.pattern:
        why = entry.pattern.because
    else:
        why = entry.rationale
    if why:
        lines += [f"Because: {_line(why)}"]
    globs = ", ".join(f"`{glob.replace('`', '?')}`" for glob in _globs(entry))
    about = [
        *([f"in the project {_line(entry.project)}"] if entry.project != GLOBAL_PROJECT else []),
        *([f"for {globs}"] if globs else []),
    ]
    if about:
        lines += [f"Applies {' '.join(about)}."]
    body = _below(level, _safe(entry.body).strip("\n"))
    return "\n\n".join([*lines, *([body] if body else [])])


def _globs(rule: Entry) -> list[str]:
    globs = rule.fields.get("applies_to")
    if isinstance(globs, list):
        return [_line(str(glob)) for glob in globs]
    return []


def _safe(text: str) -> str:
    """Without what looks like a marker of ours, and with invisible characters as escapes."""
    return _MARKER.sub("<! --", escaped(text.replace("\r\n", "\n")))


def _line(text: str) -> str:
    return " ".join(_safe(text).split())


def _below(level: int, text: str) -> str:
    """The text with its headings moved below this level, and open fences and comments closed."""
    rows: list[str] = []
    fence = ""
    for row in text.split("\n"):
        mark = _FENCE_TO_CLOSE.match(row)
        if mark and (not fence or (mark[2].startswith(fence) and not mark[3].strip())):
            if fence:
                fence = ""
            else:
                fence = mark[2]
        elif not fence and (heading := _HEADING_MARK.match(row)):
            rows.append(f"{'#' * min(len(heading[1]) + level, 6)}{row[heading.end(1) :]}")
            continue
        elif not fence and _UNDERLINE.fullmatch(row) and rows and rows[-1].strip():
            rows.append("\\" + row.strip())
            continue
        rows.append(row)
    opened = text.rfind("<!--") > text.rfind("-->")
    return "\n".join([*rows, *([fence] if fence else []), *(["-->"] if opened else [])])


WORDS = {"very-low": 0.1, "low": 0.3, "medium": 0.5, "high": 0.7, "very-high": 0.9}
"""Confidence words as the probabilities that other tools use."""


class Item(NamedTuple):
    """An imported entry: the bytes of its file, and of a script's side file.

    `where` names it in its source.
    """

    where: str
    path: str
    data: bytes
    side: bytes | None = None
    executable: bool = False


ADDED, QUEUED, KNOWN, JOINED, SKIPPED, OTHER = FATES = (
    "imported", "proposed", "here already", "joined", "skipped", "not recognised",
)  # fmt: skip
"""The outcome for a part of a source."""


class Bundle(NamedTuple):
    """What a source holds.

    Entries, what of it cannot be read, as (where, reason), and events as JSON objects.

    `left` are parts that bring nothing of their own, as (where, one of `FATES`, what of it).
    `notes` are for people. `stating` are the files of instructions for agents that rules came from.
    `counted` is what another tool counted of entries, by id, and `params` of parameters, by name.
    """

    items: Sequence[Item] = ()
    damaged: Sequence[tuple[str, str]] = ()
    events: Sequence[Mapping[str, Any]] = ()
    left: Sequence[tuple[str, str, str]] = ()
    notes: Sequence[str] = ()
    stating: Sequence[Path] = ()
    counted: Mapping[str, Mapping[str, Any]] = MappingProxyType({})
    params: Mapping[str, Mapping[str, Any]] = MappingProxyType({})


def made_id(*parts: object, created: datetime | None = None) -> str:
    """A ULID that depends on `parts` and `created` alone."""
    # two clones that import the same file must not make two entries of it
    text = json.dumps(parts, sort_keys=True, default=str)
    if created:
        time = max(int(created.timestamp() * 1000), 0)
    else:
        time = 0
    return ulid(time, sha256(text.encode("utf-8", "surrogatepass")).digest()[:10])


def moment(value: object) -> datetime | None:
    """A date or time of another tool, UTC by default; None for anything else."""
    if isinstance(value, datetime):
        value = value.isoformat()
    try:
        time = datetime.fromisoformat(str(value).strip().replace(" UTC", "Z"))
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def word_of(confidence: object) -> str:
    """The confidence word nearest to a probability, or the word itself."""
    if isinstance(confidence, str) and confidence.strip().lower() in WORDS:
        return confidence.strip().lower()
    try:
        number = float(str(confidence))
    except ValueError:
        return "medium"
    if isnan(number):
        return "medium"
    return min(WORDS, key=lambda word: abs(WORDS[word] - number))


def sure_of(confidence: object) -> dict[str, Any]:
    """What an import keeps of a confidence that is a number, because a word says less.

    Nothing for a word.
    """
    try:
        number = float(str(confidence))
    except ValueError:
        return {}
    if 0 < number <= 1:
        return {lessons.IMPORTED: {"confidence": repr(number)}}
    return {}


_STANDING = ("from", "firm", *FACTS_OF_HISTORY, "reviewed", RELEASED)


def as_imported(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The changes to an entry of others by which it keeps what its author said of its standing, and has none here."""
    moved = {}
    for key in _STANDING:
        if fields.get(key) not in (None, "", "ai"):
            moved[key] = fields[key]
    changes: dict[str, Any] = dict.fromkeys(moved, REMOVE)
    if "from" in moved:
        changes["from"] = "ai"
    kept = fields.get(lessons.IMPORTED)
    if isinstance(kept, dict):
        before: dict[str, Any] = dict(kept)
    else:
        before = {}
    stated = fields.get("confidence")
    if isinstance(stated, str | int | float) and stated not in _MODEST:
        moved["confidence"] = before.get("confidence", stated)
        nearest = word_of(stated)
        changes["confidence"] = nearest if nearest in _MODEST else "medium"
    if lessons.start_of(fields.get("source")) is not None or fields.get("seen"):
        # its own numbers hold where they were counted
        moved["counted"] = True
    new = before | moved
    return changes | ({lessons.IMPORTED: new} if new != before else {})


_MODEST = ("very-low", "low", "medium")


def made(where: str, kind: Kind, project: str, body: str, fields: dict[str, Any]) -> Item:
    """A new lesson or rule as the file that it becomes."""
    path = layout.new_path(kind, project, fields["title"], fields["id"], fields["created"])
    return Item(where, path, markdown.render(fields, frontmatter.body_of(body)).encode())


# --- the export ---

# of the document: raised when an older program could not read it
VERSION = 1

_CATEGORIES, _RELATIONS = (
    {
        str(word): "".join(part.title() for part in word.split("_")) for word in words
    }  # `derived_from` is `DerivedFrom`
    for words in (
        set(Category),
        set(Relation) - {Relation.HAS_SCRIPT, Relation.HAS_DOC, Relation.PROVES},
    )
)
_OF_FORMAT = {
    spelling: word for word, name in (_CATEGORIES | _RELATIONS).items() for spelling in (name, word)
}
T = TypeVar("T")


def learning(
    entry: Entry, file: Item, confidence: float, usage_stats: Mapping[str, Any]
) -> dict[str, Any]:
    """A lesson, with how sure it is and what was counted of it."""
    created = created_of(entry)
    return {
        "id": str(ULID.from_str(entry.id).to_uuid()),
        "scope": lessons.of_entry(entry.project, entry.fields.get("scope")).tagged,
        "category": _CATEGORIES.get(str(entry.fields.get("category")), "Solution"),
        "content": {
            "description": entry.body.strip() or entry.title,
            **({"pattern": entry.fields["pattern"]} if entry.pattern else {}),
            "insight": entry.title,
        },
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
        kept = entry.fields.get(lessons.IMPORTED)
        stated = None
        if isinstance(kept, dict):
            stated = kept.get("from")
        by_user = "user" in (entry.fields.get("from"), stated)
        if by_user:
            return "UserCreated"
        return {"Transcript": {"session_id": "", "message_index": 0}}
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


def created_of(entry: Entry) -> str:
    """When an entry was created, by its frontmatter or its id."""
    return frontmatter.stamp(
        moment(entry.fields.get("created")) or ULID.from_str(entry.id).datetime
    )


def kept(file: Item) -> dict[str, Any]:
    """A file with its text, or base 64 for other bytes."""
    try:
        content = {"text": file.data.decode()}
    except UnicodeDecodeError:
        content = {"base64": b64encode(file.data).decode()}
    if file.side is not None:
        side = {"side": file.side.decode()}
    else:
        side = {}
    return {
        "path": file.path,
        **content,
        **({"executable": True} if file.executable else {}),
        **side,
    }


def relations(entries: Iterable[Entry], lessons: Iterable[str]) -> list[dict[str, Any]]:
    """The links between lessons whose relation the format has."""
    lesson_ids = frozenset(lessons)
    relations: list[dict[str, Any]] = []
    for entry in entries:
        for link in entry.links:
            if entry.id in lesson_ids and link.relation in _RELATIONS and link.target in lesson_ids:
                relations.append(
                    {
                        "from_id": str(ULID.from_str(entry.id).to_uuid()),
                        "relation_type": _RELATIONS[link.relation],
                        "to_id": str(ULID.from_str(link.target).to_uuid()),
                        "weight": 1.0 if link.weight is None else link.weight,
                        "created_at": created_of(entry),
                    }
                )
    return relations


def dump(document: Mapping[str, Any]) -> bytes:
    """The document as the bytes of a file."""
    # half a surrogate pair, which only an escape can state, is written as one
    return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode(
        errors="backslashreplace"
    )


def is_ours(data: bytes) -> bool:
    """Whether the bytes are a document of `dump`, of any version."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return False
    return (
        isinstance(document, dict)
        and {"version", "exported_at", "learnings", "files", "events"} <= document.keys()
    )


def read(text: str, name: str) -> Bundle:
    """The contents of an export; damaged parts are listed and left out.

    `name` stands for the file in messages.

    Raises InvalidEntry: no export. UnsupportedRepository: of a newer version.
    """

    def refuse(constant: str) -> float:
        raise ValueError(f"{constant} is no number")

    try:
        document = json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise InvalidEntry([Problem(name, f"not JSON: {error}"[:200])]) from error
    version = None
    if isinstance(document, dict) and "learnings" in document:
        version = document.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise InvalidEntry([Problem(name, "not an export: it has no `learnings` or no version")])
    if version > VERSION:
        raise UnsupportedRepository(
            f"{name} is an export of version {version}, this program knows {VERSION}",
            hint="update ai-lessons from where it was installed",
        )
    damaged: list[tuple[str, str]] = []
    links: dict[str, list[dict[str, Any]]] = {}
    for start, link in _each(document, "relations", damaged, lambda raw, _: _relation(raw)):
        if link not in links.setdefault(start, []):
            links[start].append(link)
    # an export of ours has its numbers from the events that come along
    foreign = "events" not in document
    items = _each(
        document,
        "learnings",
        damaged,
        lambda raw, where: _learning(raw, where, links, foreign=foreign),
    )
    items += _each(document, "files", damaged, _item)
    counted = [_counted(raw, damaged, foreign=foreign) for raw in _dicts(document, "learnings")]
    params = _each(document, "params", damaged, lambda raw, _: _parameter(raw, foreign=foreign))
    return Bundle(
        items,
        damaged,
        _each(document, "events", damaged, lambda raw, _: raw),
        counted=dict(filter(None, counted)),
        params=dict(filter(None, params)),
    )


_TIMES = ("injected", "helpful", "ignored", "contradicted")


def _counted(
    raw: Mapping[str, Any], damaged: list[tuple[str, str]], *, foreign: bool
) -> tuple[str, dict[str, Any]] | None:
    """The id of a lesson and what another tool counted of it; None: nothing."""
    stats = raw.get("usage_stats")
    if isinstance(stats, dict) and not foreign:
        stats = stats.get("imported")
    if not isinstance(stats, dict):
        return None
    with suppress(UsageError):
        # of a lesson without an id that was said before
        entry_id = _ulid(raw.get("id"))
        with noting(f"usage_stats of {entry_id}", damaged):
            numbers: dict[str, Any] = {}
            for word in _TIMES:
                numbers[word] = int(_number(stats, f"times_{word}"))
            numbers |= {word: _number(stats, f"confidence_{word}") for word in ("alpha", "beta")}
            last = stats.get("last_used")
            used: datetime | None
            if isinstance(last, int) and 0 < last < 1 << 35:
                used = datetime.fromtimestamp(last, UTC)
            else:
                used = moment(last)
            return entry_id, {**numbers, "last_used": frontmatter.stamp(used) if used else ""}
    return None


_PARAMETER_NAME = expression("[a-z_]{1,40}")


def _parameter(raw: Mapping[str, Any], *, foreign: bool) -> tuple[str, dict[str, Any]] | None:
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
    numbers = {}
    for key in ("value", "uncertainty", "observations", "prior_alpha", "prior_beta"):
        numbers[key] = _number(row, key)
    at = row.get("updated_at")
    return name, {**numbers, "updated_at": at if isinstance(at, str) else ""}


def _number(row: Mapping[str, Any], key: str) -> float:
    """A number from 0 up; 0 where it is not there. Raises UsageError: it is none."""
    value = row.get(key, 0)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1e9:
        raise UsageError(f"{key} {str(value)[:40]} is no number from 0 up")
    return value


def _dicts(document: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    """The objects of a list of the document; what else stands there was named before."""
    listed = document.get(key)
    if isinstance(listed, list):
        return [raw for raw in listed if isinstance(raw, dict)]
    return []


def _each(
    document: Mapping[str, Any],
    key: str,
    damaged: list[tuple[str, str]],
    read_one: Callable[[Mapping[str, Any], str], T],
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


def _relation(raw: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The id that a link starts from, and the link."""
    relation = _OF_FORMAT.get(str(raw.get("relation_type")))
    if relation not in _RELATIONS:
        raise UsageError("no relation that we know")
    source, target = (_ulid(raw.get(key)) for key in ("from_id", "to_id"))
    weight = raw.get("weight", 1.0)
    if not isinstance(weight, int | float) or isinstance(weight, bool) or not 0 <= weight < 1e9:
        # no infinity
        raise UsageError(f"weight {weight!r} is not a number from 0 up")
    if source == target:
        raise UsageError("it leads to where it starts")
    return source, {relation: target} | ({"weight": weight} if weight != 1.0 else {})


def _learning(
    raw: Mapping[str, Any], where: str, links: Mapping[str, list[dict[str, Any]]], *, foreign: bool
) -> Item:
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
    insight, description = (
        str(content.get(key) or "").strip() for key in ("insight", "description")
    )
    title = one_line(insight or description)
    if not title:
        raise UsageError("it has neither insight nor description")
    created = moment(raw.get("created_at"))
    if created is None:
        raise UsageError(f"created_at {raw.get('created_at')!r} is not a time")
    pattern: dict[str, Any] = {}
    pattern_text = ""
    raw_pattern: Any = content.get("pattern")
    texts = isinstance(raw_pattern, dict) and all(
        isinstance(part, str) and part for part in raw_pattern.values()
    )
    if texts and set(raw_pattern) in ({"when", "do", "because"}, {"when", "dont", "because"}):
        pattern = raw_pattern
    elif raw_pattern is not None:
        # any other pattern is text for the body
        pattern_text = "```json\n" + json.dumps(raw_pattern, indent=2, ensure_ascii=False) + "\n```"
    body = []
    for text in (insight if title != insight else "", description, pattern_text):
        if text and text != title:
            body.append(text)
    block, scope = _block(raw.get("source")), lessons.read_scope(raw.get("scope"))
    if raw.get("source") == "UserCreated":
        origin = "user"
    else:
        origin = "ai"
    fields = frontmatter.lesson_fields(
        entry_id, frontmatter.stamp(created), title=title, confidence=word_of(raw.get("confidence")),
        origin=origin, source=block or "observed",
        category=_OF_FORMAT.get(str(raw.get("category"))), **pattern,
        scope=str(scope) if scope != lessons.of_entry(scope.project) else None,
    )  # fmt: skip
    if links.get(entry_id):
        fields |= {"links": links[entry_id]}
    fields |= sure_of(raw.get("confidence"))
    return made(where, Kind.LESSON, scope.project, "\n\n".join(body), fields)


def _with_number(item: Item, confidence: object) -> Item:
    """The file of a lesson with this confidence, where that is a number that its word does not say."""
    fields = frontmatter.read_entry(item.path, item.data, item.side).fields
    number, before = sure_of(confidence), fields.get(lessons.IMPORTED)
    claimed = lessons.claimed_of(fields)
    if claimed is None:
        stated = WORDS.get(str(fields.get("confidence")), WORDS["medium"])
    else:
        stated = claimed
    if not number or abs(float(str(confidence)) - stated) < 1e-6:
        return item
    kept = {**(before if isinstance(before, dict) else {}), **number[lessons.IMPORTED]}
    word = word_of(confidence)
    changes = {"confidence": word if word in _MODEST else "medium", lessons.IMPORTED: kept}
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
    if not isinstance(raw, dict) or not isinstance(raw.get("path"), str):
        raise UsageError("it has no path")
    side = raw.get("side")
    try:
        if isinstance(raw.get("text"), str):
            text = raw["text"].encode()
        else:
            text = b64decode(raw["base64"], validate=True)
        side_data = None
        if side is not None:
            side_data = side.encode()
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise UsageError("it has no text") from error
    executable = raw.get("executable") is True
    return Item(
        f"{where}: {raw['path']}"[:200], raw["path"], text, side_data, executable=executable
    )


def _block(source: Any) -> dict[str, Any] | None:
    """The `source` block for a source of the export; None if a word is enough."""
    if not isinstance(source, dict) or len(source) != 1:
        return None
    name, values = next(iter(source.items()))
    kind = next(
        (
            name_of_type
            for name_of_type, source_type in lessons.TYPES.items()
            if source_type.name == name
        ),
        None,
    )
    if kind is None or not isinstance(values, dict):
        return None
    block: dict[str, Any] = {}
    for ours, theirs in lessons.TYPES[kind].keys.items():
        block[ours] = values.get(theirs)
    try:
        if kind == "promoted":
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
