"""Which versions a search asks for: those that were named, and for `auto` those in use by the code one works on."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.knowledge.versions import AUTO
from ai_lessons.knowledge.versions import score as version_score

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ai_lessons.knowledge.manifests import Use
    from ai_lessons.library.answers import Query
    from ai_lessons.library.opened import Reading

NAMED_IN_NOTE = 6
"""Packages that a note names; the others are counted."""


class Versions(NamedTuple):
    """Versions asked of entries: of projects by their own, and of all others alike. Empty asks for nothing."""

    others: frozenset[str] = frozenset()
    of_project: Mapping[str, frozenset[str]] = MappingProxyType({})
    notes: tuple[str, ...] = ()

    def of(self, project: str) -> frozenset[str]:
        """What is asked of an entry of this project."""
        return self.of_project.get(project, self.others)

    def spellings(self, known: Sequence[str]) -> tuple[frozenset[str] | None, dict[str, frozenset[str]]]:
        """Of the versions as entries write them those that fit: for all others (None: whatever), and by project."""

        def fitting(asked: frozenset[str]) -> frozenset[str]:
            return frozenset(name for name in known if version_score(asked, {name}) is not None)

        by_project = {project: fitting(asked) for project, asked in self.of_project.items()}
        return (fitting(self.others) if self.others else None), by_project


def asked_versions(parts: Reading, query: Query) -> Versions:
    """What the query asks for, with `auto` resolved. The catalog is up to date already."""
    named = frozenset(version for version in query.versions if version.strip().casefold() != AUTO)
    if len(named) == len(set(query.versions)):
        return Versions(named)
    from ai_lessons.knowledge.manifests import in_use
    from ai_lessons.repository.code.code_manifests import manifests

    projects = [query.project] if query.project else [tally.name for tally in parts.catalog.projects()]
    files, left_out = manifests(parts.options.cwd)
    uses = in_use(files, projects, parts.reading_config.tag_aliases)
    notes = [_note(uses, query.project), *(f"left out for the versions in use: {one}" for one in left_out)]
    used = {project: named | {use.version for use in found} for project, found in uses.items()}
    return Versions(named, used, tuple(notes))


def _note(uses: Mapping[str, Sequence[Use]], project: str | None) -> str:
    """Which versions are in use, and what says so."""
    found = (use for one in uses.values() for use in one)
    every = dict.fromkeys(f"{use.package} {use.version.lstrip('@')} ({use.path})" for use in found)
    if not every:
        whose = f"of {project!r}" if project else "of any project here"
        return f"versions in use: no lock or manifest file of the code you are in names one {whose}"
    more = len(every) - NAMED_IN_NOTE
    return "versions in use: " + ", ".join(list(every)[:NAMED_IN_NOTE]) + (f" and {more} more" if more > 0 else "")
