"""Every answer as plain data, in the shapes of the interface reference. Pure; `dump` writes it.

Non-ASCII is escaped by `dump`, so no control sequence, override or lone surrogate reaches a terminal through JSON.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ai_lessons.errors import AiLessonsError, Problem
    from ai_lessons.knowledge.entries import Light
    from ai_lessons.library.answers import Answer, Count, Hit, Listing, Related, Revision, Shown, Usage
    from ai_lessons.library.reports import Check, Indexed, Initialised, ModelState, Report, Stale, Stats
    from ai_lessons.library.writes import Imported, PassagePreview, Refreshed, Written

DETAILS: Mapping[str, tuple[str, ...]] = {
    "lesson": ("confidence", "source", "status"),
    "rule": ("rationale", "applies_to"),
}
"""What a light entry carries beyond the common keys, by kind."""


ROW = json.JSONEncoder(default=str)


def dump(value: object) -> str:
    """JSON text: an array has one element a line (10,000 entries stay fast and greppable), an object is indented."""
    if isinstance(value, list):
        rows = map(ROW.encode, value)
        return "[\n" + ",\n".join(rows) + "\n]" if value else "[]"
    return json.dumps(value, indent=2, default=str)


def light(entry: Light, *, scored: bool = True) -> dict[str, Any]:
    """A light entry; without `scored` it has no score (lists)."""
    data: dict[str, Any] = {
        "id": entry.id,
        "handle": entry.handle,
        "kind": entry.kind.value,
        "title": entry.title,
        "project": entry.project,
        "tier": entry.tier,
        "tags": list(entry.tags),
        "versions": list(entry.versions),
        "path": entry.path,
        "snippet": entry.snippet,
    }
    if scored:
        data["score"] = entry.score
    for key in DETAILS.get(entry.kind.value, ()):
        data[key] = entry.details.get(key)
    return data


def hit(found: Hit, *, explain: bool = False) -> dict[str, Any]:
    """One result of a search."""
    data = light(found.entry) | {"heading": found.heading}
    return data | {"factors": dict(found.factors)} if explain else data


def answer(found: Answer, *, explain: bool = False) -> dict[str, Any]:
    """A search, in its four groups."""

    def group(hits: Sequence[Hit]) -> list[dict[str, Any]]:
        return [hit(one, explain=explain) for one in hits]

    return {
        "query": found.query,
        "rules": group(found.rules),
        "scripts": group(found.scripts),
        "lessons": group(found.lessons),
        "docs": group(found.docs),
        "prompt": found.prompt,
        "notes": list(found.notes),
    }


def related(edges: Iterable[Related]) -> list[dict[str, Any]]:
    """Edges of the graph; `entry` is null where the target does not exist."""
    return [
        {
            "relation": edge.relation,
            "direction": "out" if edge.outgoing else "in",
            "target": edge.target,
            "weight": edge.weight,
            "depth": edge.depth,
            "entry": light(edge.entry, scored=False) if edge.entry else None,
        }
        for edge in edges
    ]


def shown(value: Shown) -> dict[str, Any]:
    """One entry in full; `code` only for scripts, `approval` only for rules, `usage` only for lessons."""
    data = light(value.entry) | {
        "body": value.body,
        "frontmatter": dict(value.frontmatter),
        "related": related(value.related),
        "sections": [section._asdict() for section in value.sections],
        "section": value.section,
        "notes": list(value.notes),
    }
    if value.entry.kind == "rule":
        return data | {"approval": asdict(value.approval) if value.approval else None}
    data |= {"usage": usage(value.usage)} if value.usage else {}
    return data | {"code": value.code} if value.entry.kind == "script" else data


def usage(value: Usage) -> dict[str, Any]:
    """How an entry has done."""
    return {
        "times_injected": value.times_injected,
        "times_helpful": value.times_helpful,
        "times_ignored": value.times_ignored,
        "times_contradicted": value.times_contradicted,
        "last_used": value.last_used,
        "alpha": value.alpha,
        "beta": value.beta,
        "confidence": value.confidence,
    }


def listing(value: Listing) -> list[dict[str, Any]]:
    """An array of light entries without score."""
    return [light(entry, scored=False) for entry in value.entries]


def counts(values: Iterable[Count]) -> list[dict[str, Any]]:
    """Tags, versions or projects."""
    return [{"name": one.name, "total": one.total, "by_kind": dict(one.by_kind)} for one in values]


def revisions(values: Iterable[Revision]) -> list[dict[str, Any]]:
    """The history of an entry, newest first."""
    return [one._asdict() | {"trailers": dict(one.trailers)} for one in values]


def diff(text: str) -> dict[str, Any]:
    """A unified diff."""
    return {"diff": text}


def written(value: Written) -> dict[str, Any]:
    """One write; `commit` is null while it waits. `notes` only where there are any."""
    data: dict[str, Any] = {"id": value.id, "handle": value.handle, "path": value.path, "commit": value.commit}
    return data | {"notes": list(value.notes)} if value.notes else data


def writes(values: Sequence[Written]) -> list[dict[str, Any]]:
    """Several writes."""
    return [written(one) for one in values]


def imported(value: Imported) -> dict[str, Any]:
    """An import of many files."""
    return {
        "written": writes(value.written),
        "unchanged": value.unchanged,
        "skipped": [{"path": path, "reason": reason} for path, reason in value.skipped],
        "commit": value.commit,
        "notes": list(value.notes),
    }


def previews(values: Iterable[PassagePreview]) -> list[dict[str, Any]]:
    """How files would be split."""
    return [asdict(one) for one in values]


def refreshed(values: Iterable[Refreshed]) -> list[dict[str, Any]]:
    """Docs that were looked at again."""
    return [asdict(one) for one in values]


def initialised(value: Initialised) -> dict[str, Any]:
    """What `init` did."""
    return asdict(value)


def problem(value: Problem) -> dict[str, Any]:
    """One problem of one file."""
    return {"path": value.path, "line": value.line, "message": value.message, "fixable": value.fixable}


def report(value: Report) -> dict[str, Any]:
    """Outcome of `validate`."""
    return {
        "files": value.files,
        "problems": [problem(one) for one in value.problems],
        "fixed": list(value.fixed),
    }


def checks(values: Iterable[Check]) -> list[dict[str, Any]]:
    """The lines of `doctor`."""
    return [asdict(one) for one in values]


def stats(value: Stats) -> dict[str, Any]:
    """Sizes in bytes, counts, dates as ISO 8601."""
    return asdict(value) | {"entries": dict(value.entries)}


def indexed(value: Indexed) -> dict[str, Any]:
    """What a refresh of the index did."""
    return asdict(value)


def stale(values: Iterable[Stale]) -> list[dict[str, Any]]:
    """Scripts that are newer outside, or gone."""
    return [asdict(one) for one in values]


def config(value: Mapping[str, object]) -> dict[str, Any]:
    """Configuration keys and values."""
    return dict(value)


def lines(values: Sequence[str]) -> list[str]:
    """Lines as they are (hooks)."""
    return list(values)


def saved(value: tuple[Sequence[str], Sequence[str]]) -> dict[str, Any]:
    """Commits made of waiting writes, and notes on what still waits."""
    return {"commits": list(value[0]), "notes": list(value[1])}


def model(value: ModelState) -> dict[str, Any]:
    """Where the model is and what was tried."""
    tried = [{"source": source, "outcome": outcome} for source, outcome in value.tried]
    return asdict(value) | {"tried": tried}


def error(value: AiLessonsError) -> dict[str, Any]:
    """An error, for stderr; an invalid entry also brings its problems."""
    data: dict[str, Any] = {"error": type(value).__name__, "message": value.message, "hint": value.hint}
    problems: Sequence[Problem] = getattr(value, "problems", ())
    return data | {"problems": [problem(one) for one in problems]} if problems else data
