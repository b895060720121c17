"""The checks of a rule: what the catalog keeps of them, and what is wrong with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ai_lessons.features.checks import forms
from ai_lessons.features.checks.text_checks import EXTRA, runs
from ai_lessons.model.checks import glob_fault
from ai_lessons.model.entries import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ai_lessons.features.checks.forms import AnyCheck
    from ai_lessons.model.entries import Entry, EntrySummary

KEY = "check"


def of_entry(entry: Entry) -> Mapping[str, Any]:
    """What is needed to run the checks of a rule, and what each has the host do."""
    if entry.kind is not Kind.RULE:
        return {}
    checks = forms.to_run(entry.fields)
    if not checks:
        return {}
    decisions = [str(check.get("enforce", "")) for check in checks]
    return {"checks": checks, "decisions": decisions}


def checks_in(summary: EntrySummary) -> tuple[AnyCheck, ...]:
    """The checks of a rule as the catalog keeps them, without their samples."""
    kept = (summary.facts or {}).get("checks")
    if not kept:
        return ()
    return forms.stored(kept["checks"])


def problems(entry: Entry) -> Iterator[tuple[str, str]]:
    """What is wrong with the checks of a rule."""
    if entry.kind is Kind.RULE:
        for fault in _faults(entry):
            yield KEY, fault


def _faults(entry: Entry) -> Iterator[str]:
    yield from forms.faults(entry.fields)
    for key, glob in forms.named_globs(forms.checks_of(entry.fields)):
        fault = glob_fault(glob)
        if fault:
            yield f"{key} {glob!r} is no glob: {fault}"


def described(fields: Mapping[str, Any]) -> list[str]:
    """What the checks of a rule look for, and the samples that prove them, a line each."""
    return forms.described(fields)


def unproven(entry: Entry) -> str:
    """Why the checks of a rule could not be tried here; empty: they were."""
    if entry.kind is Kind.RULE:
        for check in forms.of_texts(forms.checks_of(entry.fields)):
            if not runs(check):
                return EXTRA
    return ""
