"""One encoder for all answers: plain data in the shapes of the JSON reference, for `--json` and for MCP. Pure."""

from __future__ import annotations

import json
from enum import Enum
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from ai_lessons.knowledge import origins
from ai_lessons.knowledge.entries import KINDS, Kind, Light, Pattern, pattern_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ai_lessons.errors import AiLessonsError
    from ai_lessons.library import answers

    Data = dict[str, Any]


KEYS: Mapping[str, str] = {
    "answers.Context": "rules lessons notes left_out?",
    "answers.Hit": "**entry heading factors? also_in? section?",
    "answers.Why": "*entry approval lines usage",
    "choose.LeftOut": "*entry reason detail",
    "evaluation.EvaluationReport": "recommendation findings",
    "fold.ParameterState": "name help value uncertainty observations alpha beta low high updated_at",
    "host_settings.HostChange": "host file done diff",
    "outcomes.Earlier": "id handle title moment why command outcome silent?",
    "relating.Graph": "entries missing links=lines clusters notes",
    "passages.TextSection": "number heading level lines",
    "reports.Feedback": "*entry outcome usage notes",
    "reports.Imported": "written unchanged skipped:path,reason commit notes",
    "reports.Outdated": "*entry reason detail",
    "reports.Pending": "id handle title branch remote kind change suggested_by suggested_at commit added removed"
    " conflicts similar rejected_before diff body rationale tags evidence path report left_out batch applies_to",
    "reports.Promoted": "id=entry.id handle=entry.handle title=entry.title from=source to=target outcome"
    " copy=written proposal=suggested evaluation=report policy decided_in notes",
    "sync_bring.TornEntry": "id title path reasons ours theirs",
    "opened.TierState": "tier=name state path why hint",
    "reports.Written": "id handle path commit change? target? notes?",
    "running.Ran": "handle=entry.handle exit_code=done.code timed_out=done.timed_out stdout=done.stdout"
    " stderr=done.stderr omitted_bytes=done.omitted",
    "transfer.Ported": "written unchanged skipped:path,reason relations params events queued batch seen commit dry_run"
    " notes",
}
"""By type (its name, so that no answer loads the modules of others) the keys of its object, where not all fields.

`key=field` renames (`field` may lead on: `entry.id`), and a key with `?` comes only where it holds something. `*entry`
stands for the keys of a light entry, `**entry` for those with its score. `key:a,b` makes objects of rows.
"""


def dump(value: object) -> str:
    """An answer as JSON text: an array has one element a line (10,000 entries stay fast and greppable)."""
    data = encode(value)
    if isinstance(data, list):
        return "[\n" + ",\n".join(map(json.dumps, data)) + "\n]" if data else "[]"
    return json.dumps(data, indent=2)


def encode(value: Any) -> Any:
    """The value as JSON has it. What JSON does not know, such as a path or a date, becomes text."""
    if value is None or isinstance(value, str | int | float | Enum):
        return value.value if isinstance(value, Enum) else value
    kind = type(value)
    name = f"{kind.__module__.rpartition('.')[2]}.{kind.__name__}"
    if name in SHAPES:
        return SHAPES[name](value)
    fields = getattr(kind, "_fields", None) or getattr(kind, "__dataclass_fields__", None)
    if fields is not None:
        return keyed(value, KEYS.get(name) or " ".join(fields))
    if hasattr(value, "items"):
        return {
            key if isinstance(key, str | int | float | None) else str(key): encode(one) for key, one in value.items()
        }
    return [encode(one) for one in value] if isinstance(value, list | tuple) else str(value)


def keyed(value: object, keys: str) -> Data:
    """Fields of a value as an object, with keys as in `KEYS`."""
    data: Data = {}
    for key in keys.split():
        name, _, field = key.strip("*?").partition("=")
        name, _, parts = name.partition(":")
        found = attrgetter(field or name)(value)
        if key.startswith("*"):
            data |= light(found, scored=key.startswith("**"))
        elif parts:
            data[name] = [dict(zip(parts.split(","), map(encode, row), strict=True)) for row in found]
        elif found or not key.endswith("?"):
            data[name] = encode(found)
    return data


def light(entry: Light, *, scored: bool = False) -> Data:
    """A light entry; only a result of a search is `scored`."""
    data: Data = {
        "id": entry.id, "handle": entry.handle, "kind": entry.kind.value, "title": entry.title,
        "project": entry.project, "tier": entry.tier, "tags": list(entry.tags), "versions": list(entry.versions),
        "path": entry.path, "snippet": entry.snippet, **({"score": entry.score} if scored else {}),
    }  # fmt: skip
    return data | {key: encode(entry.details.get(key)) for key in KINDS[entry.kind].light}


def lesson(entry: Light, *, scored: bool = False) -> Data:
    """A lesson of a list, as the program `lesson` gives it."""
    data = keyed(entry, "id handle") | {"scope": origins.named(entry.project, entry.details.get("scope"))}
    data |= {key: encode(entry.details.get(key)) for key in ("from", "status", "created", "pattern")}
    return data | keyed(entry, "title path score" if scored else "title path")


def lesson_shown(value: answers.Shown) -> Data:
    """A lesson in full, as the program `lesson` gives it."""
    fields = {key: encode(value.frontmatter[key]) for key in ("reason", "promoted_to") if value.frontmatter.get(key)}
    return lesson(value.entry) | fields | {"parsed": encode(pattern_of(value.frontmatter)), "text": value.body}


def pattern(value: Pattern) -> dict[str, str]:
    """The parts of a pattern; `do` is the action, whether to do it or not."""
    action = "dont" if value.negative else "do"
    return {"when": value.when, "action": action, "do": value.action, "because": value.because}


def error(value: AiLessonsError) -> Data:
    """An error, for stderr; an invalid entry also brings its problems."""
    return {"error": type(value).__name__} | keyed(value, "message hint" + " problems?" * hasattr(value, "problems"))


def _shown(value: answers.Shown) -> Data:
    more = {"rule": "approval", "script": "usage? code"}.get(value.entry.kind.value, "usage?")
    return keyed(value, f"**entry body frontmatter related sections section notes {more} silent?")


def _usage(value: answers.Usage) -> Data:
    had = value.tallies
    counts = {f"times_{word}": getattr(had, word) for word in ("injected", "helpful", "ignored", "contradicted")}
    learned = {"last_used": had.last_used or None} | keyed(value, "alpha beta confidence")
    return counts | learned | {"seen_helpful": had.followed + had.worked, "seen_again": had.recurred}


SHAPES: Mapping[str, Callable[[Any], Any]] = {
    "answers.Answer": lambda value: (
        {"query": value.query, "order": [kind.folder for kind, hits in value.groups.items() if hits]}
        | {kind.folder: encode(value.groups[kind]) for kind in KINDS}
        | keyed(value, "prompt notes coverage weak?")
    ),
    "answers.Listing": lambda value: [
        encode(one) | ({"silent": value.silent[one.id]} if one.id in value.silent else {}) for one in value.entries
    ],
    "answers.Related": lambda value: (
        keyed(value, "relation")
        | {"direction": "out" if value.outgoing else "in"}
        | keyed(value, "target weight depth entry")
    ),
    "answers.Shown": _shown,
    "entries.Light": light,
    "entries.Pattern": pattern,
    "lessons.Loaded": lambda value: {
        "active": value.total,
        "groups": [{"scope": scope, "lessons": [lesson(one) for one in entries]} for scope, entries in value.groups],
        "notes": list(value.notes),
    },
    "exporting.Exported": lambda value: (
        encode(value.document)
        or keyed(value, "form files:path,done")
        | {kind.folder: value.entries.get(kind, 0) for kind in Kind}
        | keyed(value, "events skipped:path,reason notes")
    ),
    "fold.UsageTally": _usage,
    "syncing.Conflicts": lambda value: encode(value.entries),
    "syncing.Resolved": lambda value: (
        keyed(value, "id path take left commit") | {"left": [one.id for one in value.left]}
    ),
}  # By type, as in `KEYS`, the shapes that take more than a choice of fields
