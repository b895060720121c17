"""What only lessons have: the pattern `WHEN … -> DO … -> BECAUSE …`, origin and scope."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import datetime
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.errors import Refused, UsageError
from ai_lessons.model.entries import GLOBAL_PROJECT, Confidence, Pattern, Source, Status, stated_id
from ai_lessons.model.layout import check_path, slug
from ai_lessons.model.texts import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ai_lessons.model.entries import EntrySummary

CONFIDENCE = {"ai": "medium", "user": "high"}  # How sure a lesson is taken to be by who states it
GRAMMAR = "WHEN … -> DO … -> BECAUSE …, or DO NOT in place of DO"
TITLE_LENGTH = 100  # characters of the title that a pattern gives
_BRACKETS = 10  # pairs of brackets round a part that are taken away
_END = r"(?=\s|\[|->|→|$)"
_ARROW = r"(?:->|→)\s*"
_NOT = re.compile(rf"NOT{_END}", re.IGNORECASE)
_WHEN = re.compile(rf"\s*WHEN{_END}", re.IGNORECASE)
_DO = re.compile(rf"{_ARROW}(?:(?P<not>DO\s+NOT|DON['\u2019]?T)|DO){_END}", re.IGNORECASE)
_BECAUSE = re.compile(rf"{_ARROW}BECAUSE{_END}", re.IGNORECASE)
_WITHOUT_ARROW = {
    "DO": re.compile(rf"(?<!\S)(?:DO|DON['\u2019]?T){_END}", re.IGNORECASE),
    "BECAUSE": re.compile(rf"(?<!\S)BECAUSE{_END}", re.IGNORECASE),
}


def parse(text: str) -> Pattern:
    """The pattern that a text states. Raises UsageError: a part is missing or empty, with its line and column."""
    when = _WHEN.match(text)
    if when is None:
        fault = "the pattern does not begin with WHEN" if text.strip() else "the pattern is empty"
        raise _fault(text, len(text) - len(text.lstrip()), fault)
    do = _DO.search(text, when.end())
    because = _BECAUSE.search(text, when.end())
    if do is None or (because is not None and because.start() < do.start()):
        raise _missing(text, when.end(), because, do, "DO")
    because = _BECAUSE.search(text, do.end())
    if because is None:
        raise _missing(text, do.end(), None, None, "BECAUSE")
    verb = "DO NOT" if do["not"] else "DO"
    spans = {"WHEN": (when.end(), do.start()), verb: (do.end(), because.start()), "BECAUSE": (because.end(), len(text))}
    for name, (start, end) in spans.items():
        if not part(text[start:end]):
            raise _fault(text, start, f"{name} is empty")
    action, negative = _action(text[do.end() : because.start()], negative=bool(do["not"]))
    if not action:
        raise _fault(text, do.end(), "DO NOT is empty")
    return Pattern(part(text[when.end() : do.start()]), action, part(text[because.end() :]), negative)


def build(when: str | None, do: str | None, dont: str | None, because: str | None) -> Pattern:
    """The pattern whose parts are given one by one. Raises UsageError: they make none, or another one."""
    if do is not None and dont is not None:
        raise UsageError("a pattern has DO or DO NOT, not both", hint="give one of --do and --dont")
    by_name = {"WHEN": when, "DO": do if dont is None else dont, "BECAUSE": because}
    missing = [name for name, value in by_name.items() if value is None or not part(value)]
    if missing:
        parts = " and ".join(missing).replace("DO", "DO or DO NOT")
        raise UsageError(f"the pattern has no {parts}", hint="give --when, --do or --dont, and --because")
    action, negative = _action(by_name["DO"] or "", negative=dont is not None)
    if not action:
        raise UsageError("DO NOT is empty", hint="give --when, --do or --dont, and --because")
    pattern = Pattern(part(when or ""), action, part(because or ""), negative)
    if parse(str(pattern)) != pattern:
        fault = "a part of the pattern holds the arrow and word of the next part"
        raise UsageError(fault, hint=f"one of each: {GRAMMAR}")
    return pattern


def part(text: str) -> str:
    """One part: white space made single, brackets round the whole of it taken away."""
    words = " ".join(text.split())
    for _ in range(_BRACKETS):
        words = words[1:-1].strip() if _bracketed(words) else words
    return words


def title_of(pattern: Pattern) -> str:
    """What stands in for a title: `editing tmux.conf: read first`, at most `TITLE_LENGTH` characters."""
    return one_line(f"{pattern.when}: {'do not ' if pattern.negative else ''}{pattern.action}", TITLE_LENGTH)


def _action(text: str, *, negative: bool) -> tuple[str, bool]:
    """The action, and whether it is forbidden: `DO [not this]` says DO NOT as well."""
    action = part(text)
    while not negative and (match := _NOT.match(action)):
        action, negative = part(action[match.end() :]), True
    return action, negative


def _bracketed(text: str) -> bool:
    """Whether the bracket at the beginning is closed by the one at the end: not so in `[a] or [b]`."""
    depths = list(accumulate((character == "[") - (character == "]") for character in text))
    return text.startswith("[") and text.endswith("]") and 0 in depths and depths.index(0) == len(text) - 1


def _missing(text: str, start: int, because: re.Match[str] | None, do: re.Match[str] | None, name: str) -> UsageError:
    """What to say of a DO or BECAUSE that is not where it belongs, after `start`."""
    if because is not None and do is not None:
        return _fault(text, because.start(), "BECAUSE stands before DO")
    bare = _WITHOUT_ARROW[name].search(text, start, because.start() if because else len(text))
    if bare is not None:
        return _fault(text, bare.start(), f"{bare[0].upper()} has no arrow (->) before it")
    if because is not None:
        return _fault(text, because.start(), "the pattern has no DO or DO NOT before BECAUSE")
    missing = "DO or DO NOT" if name == "DO" else name
    return _fault(text, len(text.rstrip()), f"the pattern has no {missing}; it ends")


def _fault(text: str, position: int, fault: str) -> UsageError:
    line = text.count("\n", 0, position) + 1
    column = position - (text.rfind("\n", 0, position) + 1) + 1
    where = f"column {column}" if "\n" not in text.strip() and line == 1 else f"line {line}, column {column}"
    return UsageError(f"{fault} at {where}", hint=f"write {GRAMMAR}")


TYPE, HOW, ORIGINAL = "type", "how", "original"
TIER, ALPHA, BETA = "tier", "alpha", "beta"
PROMOTED = "promoted"
_MOST = 1e9


class Type(NamedTuple):
    """`name` as groove has it, the keys it must have (ours to theirs), how people read it, and keys it may have."""

    name: str
    keys: Mapping[str, str]
    sentence: str
    may: tuple[str, ...] = ()


TYPES: Mapping[str, Type] = {
    "transcript": Type(
        "Transcript",
        {"session": "session_id", "index": "message_index"},
        "transcript of session {session}, message {index}",
    ),
    "user_created": Type("UserCreated", {}, "created by the user"),
    "promoted": Type(
        "Promoted",
        {"from_scope": "from_scope", "original": "original_id"},
        "promoted from {from_scope}, there {original}",
        (TIER, ALPHA, BETA),
    ),
    "imported": Type("Imported", {"file": "source_file", "at": "imported_at"}, "imported from {file} on {at}"),
    "enterprise_curated": Type("EnterpriseCurated", {"curator": "curator"}, "curated by {curator}"),
}


def source_line(source: object) -> str:
    """A source in one line, for people."""
    if not isinstance(source, dict):
        return str(source)
    kind = TYPES.get(str(source.get(TYPE)))
    if kind is None or not all(key in source for key in kind.keys):
        return ", ".join(f"{key} {value}" for key, value in source.items())
    how = f"{source[HOW]}; " if HOW in source else ""
    return how + kind.sentence.format_map({key: str(source[key]) for key in kind.keys})


def faults(source: Mapping[str, Any]) -> Iterator[str]:
    """The faults of a source block."""
    type_name = source.get(TYPE)
    kind = TYPES.get(type_name) if isinstance(type_name, str) else None
    if kind is None:
        yield "source has no type" if type_name is None else f"source.type {type_name!r} is none of {', '.join(TYPES)}"
        return
    yield from (
        f"source has no {key}, which says where a {type_name} one comes from" for key in kind.keys if key not in source
    )
    keys = (TYPE, HOW, *kind.keys, *kind.may)
    for key, value in source.items():
        if key not in keys:
            yield f"source has no key {key!r} ({', '.join(keys)})"
        elif key != TYPE and (fault := _value_fault(key, value)):
            yield f"source.{key} {value!r} {fault}"


def promoted(source: object, original: str, scope: str, tier: str, start: tuple[float, float] | None) -> dict[str, Any]:
    """The block of an entry that was promoted, of whose `source` the word stays; `start`: its alpha and beta."""
    how = source.get(HOW) if isinstance(source, dict) else source
    word = {HOW: how} if how in tuple(Source) else {}
    numbers = {ALPHA: f"{start[0]:.6f}", BETA: f"{start[1]:.6f}"} if start else {}  # as YAML here reads them
    return {TYPE: PROMOTED, **word, "from_scope": scope, ORIGINAL: original, TIER: tier, **numbers}


def original_of(source: object) -> str | None:
    """The id of the entry that this one was promoted from; None if it was not."""
    if not isinstance(source, dict) or source.get(TYPE) != PROMOTED:
        return None
    return stated_id(source.get(ORIGINAL))


_LEVELS = {word.value: level for level, word in enumerate(Confidence)}
_SOURCES = {word.value: level for level, word in enumerate(reversed(Source))}


def trust(light: EntrySummary) -> tuple[bool, int, int]:
    """How far a lesson goes by its own words, the least first: not marked wrong, its confidence, its source."""
    details = light.details
    return details.get("status") != Status.WRONG, _level(details.get("confidence")), _level_of(details.get("source"))


def _level(confidence: object) -> int:
    return _LEVELS.get(str(confidence), _LEVELS[Confidence.MEDIUM])


def _level_of(source: object) -> int:
    return _SOURCES.get(str(source), _SOURCES[Source.OBSERVED])


def weakened(fields: Mapping[str, Any], weakest: EntrySummary) -> dict[str, Any]:
    """The fields of a lesson that say more than the weakest of its origins, as they are where that one is not."""
    words = {key: value for key in ("confidence", "source") if (value := weakest.details.get(key))}
    source = fields.get("source")
    how = source.get(HOW, source.get(TYPE)) if isinstance(source, dict) else source
    changes = dict[str, Any]()
    if "confidence" in words and _level(words["confidence"]) < _level(fields.get("confidence")):
        changes["confidence"] = words["confidence"]
    if words.get("source") in _SOURCES and _level_of(words["source"]) < _level_of(how):
        changes["source"] = {**source, HOW: words["source"]} if isinstance(source, dict) else words["source"]
    return changes


def vouching(weakest: Mapping[str, Any]) -> str:
    """The weakest origin of an entry in words: `no surer than its origin L-8F3K2A (low, hearsay)`."""
    words = [weakest.get("confidence"), weakest.get("source")]
    words += [Status.WRONG.value] if weakest.get("status") == Status.WRONG else []
    return f"no surer than its origin {weakest['handle']} ({', '.join(str(word) for word in words if word)})"


def start_of(source: object) -> float | None:
    """Where an entry that was promoted begins, 0 to 1, as it stood when it was; None if nothing is written down."""
    if original_of(source) is None or not isinstance(source, dict):
        return None
    alpha, beta = _number(source.get(ALPHA)), _number(source.get(BETA))
    return alpha / (alpha + beta) if alpha and beta else None


def _value_fault(key: str, value: Any) -> str:
    """Why a value of a block is wrong; empty if it is not."""
    is_time = False
    with suppress(ValueError):
        is_time = bool(datetime.fromisoformat(str(value).upper()))
    is_count = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    is_text = isinstance(value, str) and bool(value.strip())
    fits, fault = {
        HOW: (value in tuple(Source), f"is none of {', '.join(Source)}"),
        ALPHA: (_number(value) is not None, "is not a number above 0"),
        BETA: (_number(value) is not None, "is not a number above 0"),
        "index": (is_count, "is not the number of a message, from 0 up"),
        "session": (is_count or is_text, "is not text"),
        ORIGINAL: (stated_id(value) is not None, "is not an id"),
        "at": (is_text and is_time, "is not a time such as 2026-11-21T20:14:00Z"),
        "from_scope": (is_text and is_scope(value), "is no scope (global, user:NAME, project:PATH)"),
    }.get(key, (is_text, "is not text"))
    return "" if fits else fault


def _number(value: Any) -> float | None:
    """A number above 0; YAML here keeps one with a point as the text that it is."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if 0 < number <= _MOST else None


GLOBAL, USER, PROJECT = "global", "user", "project"


class Scope(NamedTuple):
    """Where something holds: everywhere, for one user, or in the project at a path. `global` has no value."""

    kind: str
    value: str = ""

    def __str__(self) -> str:
        return self.kind if self.kind == GLOBAL else f"{self.kind}:{self.value}"

    @property
    def project(self) -> str:
        """Its project here, the last part of the path, or `global`. Raises UsageError: no name is left of the path."""
        return project_of(self.value) if self.kind == PROJECT else GLOBAL_PROJECT

    @property
    def tagged(self) -> str | dict[str, str]:
        """As groove's export has it: `"Global"`, `{"User": NAME}`, `{"Project": PATH}`."""
        name = self.kind.capitalize()
        return name if self.kind == GLOBAL else {name: self.value}


def is_scope(text: str) -> bool:
    """Whether a string names a scope."""
    kind, colon, _ = text.partition(":")
    return text == GLOBAL or (bool(colon) and kind in {USER, PROJECT})


def read_scope(value: Any) -> Scope:
    """The scope that a string or an export names; nothing is `global`. Raises UsageError: it is none."""
    if value in (None, "", "Global"):
        return Scope(GLOBAL)
    if isinstance(value, str) and is_scope(value):
        kind, _, name = value.partition(":")
        return Scope(kind, name)
    if isinstance(value, dict) and len(value) == 1:
        ((kind, name),) = value.items()
        if str(kind).lower() in {USER, PROJECT} and isinstance(name, str):
            return Scope(str(kind).lower(), name)
    raise UsageError(f"no scope {value!r}"[:100], hint="one of: global, user:NAME, project:PATH")


def of_entry(project: str, stated: object = None) -> Scope:
    """The scope of an entry of this project: the one that it states, as long as it lies where that belongs."""
    try:
        scope = read_scope(stated) if isinstance(stated, str) else None
        if scope and scope.project == project:
            return scope
    except UsageError:  # a file may say anything; `validate` names it
        pass
    return Scope(GLOBAL) if project == GLOBAL_PROJECT else Scope(PROJECT, project)


class ScopePlace(NamedTuple):
    """Where lessons of a scope are: in the folder of this project, stating one of `scopes` (empty: nothing, or any)."""

    project: str
    scopes: frozenset[str] = frozenset()
    stated: str = ""

    @property
    def name(self) -> str:
        """The scope in output for people."""
        return self.stated or self.project


def place_of(scope: str | None) -> ScopePlace:
    """The place of `global`, `user:NAME`, `project:PATH` or the name of a project.

    What states no scope holds in all places of its project. Raises UsageError: no name is left of the path.
    """
    if not scope or scope == GLOBAL:
        return ScopePlace(GLOBAL_PROJECT, frozenset(("", GLOBAL)))
    if not is_scope(scope):
        return ScopePlace(scope)
    parsed = read_scope(scope)
    if parsed == Scope(PROJECT, parsed.project):
        return ScopePlace(parsed.project)
    return ScopePlace(parsed.project, frozenset((scope,) if parsed.kind == USER else (scope, "")), scope)


def named(project: str, stated: object) -> str:
    """The scope of an entry in output for people: the one that it states, else its project."""
    scope = of_entry(project, stated)
    return project if scope in {Scope(GLOBAL), Scope(PROJECT, project)} else str(scope)


def project_of(name: object) -> str:
    """The last part of a path as one plain folder name. Raises UsageError: no name is left."""
    last = re.split(r"[/\\]", str(name).rstrip("/\\"))[-1].strip()
    if last in {"", "global"}:
        return GLOBAL_PROJECT
    for candidate in (last, slug(last)):
        try:
            check_path(candidate)
        except Refused:
            continue
        return candidate
    raise UsageError(f"{last!r} cannot be a project")
