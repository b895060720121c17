"""The checks of a rule: what the catalog keeps of them, and what is wrong with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ai_lessons.model import check_forms
from ai_lessons.model.checks import glob_fault
from ai_lessons.model.entries import Kind
from ai_lessons.model.rule_checks import EXTRA, runs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ai_lessons.model.entries import Entry

KEY = "check"


def of_entry(entry: Entry) -> Mapping[str, Any]:
    """What is needed to run the checks of a rule, and what each has the host do."""
    if entry.kind is not Kind.RULE:
        return {}
    checks = check_forms.to_run(entry.fields)
    if not checks:
        return {}
    decisions = [str(check.get("enforce", "")) for check in checks]
    return {"checks": checks, "decisions": decisions}


def problems(entry: Entry) -> Iterator[tuple[str, str]]:
    """What is wrong with the checks of a rule."""
    if entry.kind is Kind.RULE:
        for fault in _faults(entry):
            yield KEY, fault


def _faults(entry: Entry) -> Iterator[str]:
    yield from check_forms.faults(entry.fields)
    for key, glob in check_forms.named_globs(check_forms.checks_of(entry.fields)):
        fault = glob_fault(glob)
        if fault:
            yield f"{key} {glob!r} is no glob: {fault}"


def described(fields: Mapping[str, Any]) -> list[str]:
    """What the checks of a rule look for, and the samples that prove them, a line each."""
    return check_forms.described(fields)


def unproven(entry: Entry) -> str:
    """Why the checks of a rule could not be tried here; empty: they were."""
    if entry.kind is Kind.RULE:
        for check in check_forms.text_checks(check_forms.checks_of(entry.fields)):
            if not runs(check):
                return EXTRA
    return ""
