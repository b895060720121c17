"""Rules on their way as plain data, in the shapes of the interface reference. Pure."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ai_lessons.doors import as_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ai_lessons.knowledge.entries import Light
    from ai_lessons.library.answers import Context, Why
    from ai_lessons.library.rules.rule_answers import (
        Approved,
        Audit,
        Pending,
        Rejected,
        Revoked,
        Suggested,
        TrustedKeys,
    )


def suggested(one: Suggested) -> dict[str, Any]:
    """A new proposal: a write, with the branch and what speaks against it."""
    return asdict(one)


def proposed(values: Sequence[Suggested]) -> list[dict[str, Any]]:
    """Several of them."""
    return [suggested(one) for one in values]


def pending(values: Sequence[Pending]) -> list[dict[str, Any]]:
    """Proposals that wait; `evidence` holds light entries."""
    return [{key: getattr(one, key) for key in one.__slots__} | {"evidence": _lights(one.evidence)} for one in values]


def _lights(entries: Iterable[Light]) -> list[dict[str, Any]]:
    return [as_json.light(entry, scored=False) for entry in entries]


def number_pending(value: int) -> dict[str, int]:
    """How many wait."""
    return {"pending": value}


def approved(values: Sequence[Approved]) -> list[dict[str, Any]]:
    """What was approved, each with the merge."""
    return [asdict(one) for one in values]


def rejected(one: Rejected) -> dict[str, Any]:
    """What was turned down, with the path of the record."""
    return asdict(one)


def revoked(one: Revoked) -> dict[str, Any]:
    """What was taken out of force, and the commit that says so."""
    return asdict(one)


def trusted_keys(value: TrustedKeys) -> dict[str, Any]:
    """Whose keys count now, and where that is written down."""
    return asdict(value)


def audit(value: Audit) -> dict[str, Any]:
    """Every rule with its evidence, and `ok`, which decides the exit code."""
    return asdict(value)


def why(value: Why) -> dict[str, Any]:
    """Where an entry comes from: the light entry, and the reasons as sentences and as data."""
    return as_json.light(value.entry, scored=False) | {
        "said_by": value.said_by,
        "said_at": value.said_at,
        "stated": dict(value.source),
        "derived_from": as_json.related(value.derived_from),
        "evidence": as_json.related(value.evidence),
        "approval": asdict(value.approval) if value.approval else None,
        "lines": list(value.lines),
    }


def context(value: Context, *, explain: bool = False) -> dict[str, Any]:
    """What to know before starting; to `explain`, also the lessons that did not come, each with the reason."""
    data = {"rules": _lights(value.rules), "lessons": _lights(value.lessons), "notes": list(value.notes)}
    if not explain:
        return data
    left = [
        as_json.light(one.entry, scored=False) | {"reason": one.reason, "detail": one.detail} for one in value.left_out
    ]
    return data | {"left_out": left}
