"""The versions that a question is about, where they are stated, and where they are not.

Begin with `asked_versions`.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.model import expression
from ai_lessons.model.texts import first_of
from ai_lessons.model.versions import AUTO, nearest, newest_first
from ai_lessons.model.versions import score as version_score

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ai_lessons.app.answers import Query
    from ai_lessons.app.workspace import Reading
    from ai_lessons.connectors.manifests import Use
    from ai_lessons.model.entries import EntrySummary
    from ai_lessons.search.catalog_reader import CatalogReader

    Stored = Mapping[str, frozenset[str]]

# Packages or versions that a note names; the others are counted
NAMED_IN_NOTE = 6

_VERSION = r"(?:version\s*|v)?[0-9]+(?:\.[0-9x]+)*"
# with a project asked for, any number with a dot names a version; else what "v", "version" or a
# preposition leads
_DOTTED = expression(r"(?<![\w.])v?[0-9]++(?:\.[0-9]++)++(?![\w.]*\w)")
_LED = expression(
    r"(?i)(?<![\w.-])(version\s+v?|v|(?:at|for|from|in|of|on|since|to|under|using|with)\s+(?=[0-9]+\.))"
    r"([0-9]+(?:\.[0-9x]+)*)(?![\w.]*\w)"
)


class Versions(NamedTuple):
    """Versions asked of entries: of projects by their own, and of all others alike.

    Empty asks for nothing.

    `instead` says for which version (as asked) the nearest stored one stands in, by project.
    """

    others: frozenset[str] = frozenset()
    of_project: Mapping[str, frozenset[str]] = MappingProxyType({})
    notes: tuple[str, ...] = ()
    instead: Mapping[str, str] = MappingProxyType({})

    def of(self, project: str) -> frozenset[str]:
        """What is asked of an entry of this project."""
        return self.of_project.get(project, self.others)

    def spellings(
        self, names: Iterable[str]
    ) -> tuple[frozenset[str] | None, dict[str, frozenset[str]]]:
        """Of the versions as entries write them those that fit: in all other projects, and by project.

        None: whatever version an entry of another project has, it fits.
        """
        every = list(names)

        def fitting(asked: frozenset[str]) -> frozenset[str]:
            results = []
            for name in every:
                if version_score(asked, {name}) is not None:
                    results.append(name)
            return frozenset(results)

        by_project = {project: fitting(asked) for project, asked in self.of_project.items()}
        return (fitting(self.others) if self.others else None), by_project

    def stand_ins(self, summaries: Iterable[EntrySummary]) -> list[str]:
        """Notes on versions that stand in for others, as far as these entries are of such projects."""
        projects = dict.fromkeys(summary.project for summary in summaries)
        results: list[str] = []
        for project in projects:
            if project in self.instead:
                results.append(self.instead[project])
        return results


def asked_versions(repo: Reading, query: Query) -> Versions:
    """What the query asks for. The catalog is up to date already.

    With nothing asked for, a version that the words name counts, else what the lock files of the
    code around pin.
    """
    filters = query.filters
    asked = frozenset(version for version in filters.versions if version.strip().casefold() != AUTO)
    stored = repo.catalog.versions_of_projects()
    of_project: dict[str, frozenset[str]] = {}
    notes: list[str] = []
    if not filters.versions:
        of_project = _in_words(query, stored)
        if stored:
            used = _in_use(repo, query, asked, stored.keys() - of_project)[0]
        else:
            used = {}
        # versions that were not asked for must not empty the answer
        of_project |= {
            name: versions for name, versions in used.items() if _fitting(versions, stored[name])
        }
    elif len(asked) < len(set(filters.versions)):
        of_project, notes = _in_use(repo, query, asked, None)
    instead = {}
    # asked of no project in particular, a version may well be that of another one
    fits = not filters.project and any(_fitting(asked, versions) for versions in stored.values())
    for project, versions in stored.items():
        asked_of_it = of_project.get(project, frozenset() if fits else asked)
        if (
            not asked_of_it
            or _fitting(asked_of_it, versions)
            or (filters.project and project != filters.project)
        ):
            continue
        names = sorted(name.lstrip("@") for name in asked_of_it)
        if near := {name: stand_in for name in names if (stand_in := nearest(name, versions))}:
            of_project[project] = frozenset(near.values())
            pairs = ", ".join(f"{stand_in} for {name}" for name, stand_in in near.items())
            instead[project] = (
                f"{project} is not stored at the version asked for: the nearest is taken, {pairs}"
            )
    return Versions(asked, of_project, tuple(notes), instead)


def what_there_is(query: Query, stored: Stored) -> list[str]:
    """Which versions there are, where one was asked for that leaves nothing."""
    if not query.filters.versions:
        return []
    project = query.filters.project
    having = []
    for name in [project] if project else stored:
        if name in stored:
            having.append(f"{name} has {_listed(stored[name])}")
    if not having:
        return [
            f"nothing of {project} states a version"
            if project
            else "nothing that is stored states a version"
        ]
    listing = "; ".join(having[:NAMED_IN_NOTE])
    return [f"nothing is stored at version {', '.join(query.filters.versions)}; {listing}"]


def not_here(catalog: CatalogReader, asked: Mapping[str, Iterable[str]]) -> list[str]:
    """A line for each project, tag or version that no entry has.

    What may have been meant, else what there is.
    """
    counted = {"project": catalog.projects, "tag": catalog.tags, "version": catalog.versions}
    lines = []
    for what, names in asked.items():
        for name in names:
            if not name:
                continue
            present = [tally.name for tally in counted[what]()]
            if name not in present:
                lines.append(f"no {what} {name!r}; {_meant(catalog, what, name, present)}")
    return lines


def _meant(catalog: CatalogReader, what: str, name: str, present: Sequence[str]) -> str:
    """What a project, tag or version that no entry has may have meant, or the first that there are."""
    # only for a name that is nowhere
    from difflib import get_close_matches

    if not present:
        return "there is none yet"
    near = get_close_matches(name, present, 3, 0.5)
    if not near:
        return f"the {what}s here: {', '.join(present[:NAMED_IN_NOTE])}"
    versions: Stored = {}
    if what == "project":
        versions = catalog.versions_of_projects()
    described = [f"{other}{_having(versions.get(other, ()))}" for other in near]
    return f"did you mean {what} {' or '.join(described)}?"


def _having(versions: Iterable[str]) -> str:
    if every := list(versions):
        return f" ({'version' if len(every) == 1 else 'versions'} {_listed(every)})"
    return ""


def _listed(versions: Iterable[str]) -> str:
    every = newest_first(versions)
    if len(every) > NAMED_IN_NOTE:
        return f"{every[-1]} to {every[0]}"
    return ", ".join(every)


def _fitting(asked: Iterable[str], versions: Iterable[str]) -> bool:
    versions_asked = set(asked)
    return any(version_score(versions_asked, {version}) is not None for version in versions)


def _in_words(query: Query, stored: Stored) -> dict[str, frozenset[str]]:
    """Versions that stand behind a project's name, or elsewhere where a project has them.

    With one asked for, of it.
    """
    by_project, text = dict[str, frozenset[str]](), query.text
    for project in stored:
        name = rf"(?<![\w-]){re.escape(project)}[\s@/-]*({_VERSION})(?![\w.]*\w)"
        if named := re.search(name, text, re.IGNORECASE):
            by_project[project] = frozenset({re.sub(r"(?i)version\s*", "", named[1])})
            text = text.replace(named[0], "")
    led = _LED.findall(text)
    if query.filters.project:
        words = _DOTTED.findall(text)
    else:
        words = [word for _, word in led]
    unasked = {
        name: stored[name]
        for name in stored.keys() - by_project
        if query.filters.project in {None, name}
    }
    for project, versions in unasked.items():
        if fitting := frozenset(word for word in words if _fitting({word}, versions)):
            by_project[project] = fitting
    if by_project:
        return by_project
    # the nearest of what is surely a version: "for 1.5 hours" is none
    sure = frozenset(word for lead, word in led if lead[0] in "vV")
    return {
        name: sure
        for name, versions in unasked.items()
        if any(nearest(word, versions) for word in sure)
    }


def _in_use(
    repo: Reading, query: Query, named: frozenset[str], projects: Iterable[str] | None
) -> tuple[dict[str, frozenset[str]], list[str]]:
    """What lock and manifest files around pin for these projects, and notes on it.

    None: for those asked for, or all.
    """
    from ai_lessons.connectors.manifests import in_use, manifests

    if projects is None:
        project = query.filters.project
        if project:
            projects = [project]
        else:
            projects = [tally.name for tally in repo.catalog.projects()]
    files, left_out = manifests(repo.options.cwd)
    uses = in_use(files, list(projects), repo.reading_config.tag_aliases)
    notes = [
        _note(uses, query.filters.project),
        *(f"left out for the versions in use: {file}" for file in left_out),
    ]
    return {
        project: named | {use.version for use in project_uses}
        for project, project_uses in uses.items()
    }, notes


def _note(uses: Mapping[str, Sequence[Use]], project: str | None) -> str:
    """Which versions are in use, and what says so."""
    lines = (
        f"{x.package} {x.version.lstrip('@')} ({x.path})"
        for several in uses.values()
        for x in several
    )
    names = list(dict.fromkeys(lines))
    if not names:
        if project:
            whose = f"of {project!r}"
        else:
            whose = "of any project here"
        return f"versions in use: no lock or manifest file of the code you are in names one {whose}"
    return f"versions in use: {first_of(names, NAMED_IN_NOTE)}"
