"""The rules in force that hold in a folder, of which a feature keeps facts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.app.link_effects import farther_copies
from ai_lessons.git import external_files
from ai_lessons.model import PROJECT
from ai_lessons.model.entries import GLOBAL_PROJECT, EntrySummary, Kind

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path

    from ai_lessons.app.workspace import Library, Reading


def rules_here(library: Library, feature: str, cwd: Path) -> tuple[EntrySummary, ...]:
    """The rules of this feature that hold in a folder.

    A job of the helper; what is told at the same event is asked for next.
    """
    return tuple(holding(library.up_to_date(for_two_jobs=True), feature, cwd))


def holding(
    repo: Reading, feature: str, cwd: Path, projects: Collection[str] = ()
) -> list[EntrySummary]:
    """The rules of this feature that hold in a folder.

    The newest first. They are global, of the folder's project (or of these `projects`), or of the
    repository inside the code.
    """
    # all rules of a base are many, those of a feature few
    kept = repo.catalog.facts(feature)
    if not kept:
        return []
    names = projects or external_files.names_of(cwd)
    here = []
    for summary in repo.catalog.many(kept).values():
        if summary.kind is Kind.RULE and holds(summary, names):
            here.append(summary)
    here.sort(key=lambda summary: (summary.created, summary.id), reverse=True)
    farther = farther_copies(repo, here)
    return [summary for summary in here if summary.id not in farther]


def holds(summary: EntrySummary, projects: Iterable[str]) -> bool:
    """Whether a rule holds in the code of a project that has these names."""
    if summary.project == GLOBAL_PROJECT or summary.tier == PROJECT:
        return True
    return any(external_files.same_name(summary.project, name) for name in projects)
