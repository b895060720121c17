"""Which versions a search asks for: as they were given, as its words name them, and as the code in use pins them."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.knowledge.versions import AUTO, nearest, newest_first
from ai_lessons.knowledge.versions import score as version_score

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ai_lessons.knowledge.entries import Light
    from ai_lessons.knowledge.manifests import Use
    from ai_lessons.library.answers import Query
    from ai_lessons.library.multi_repository import Reader
    from ai_lessons.library.opened import Reading

    Stored = Mapping[str, frozenset[str]]

NAMED_IN_NOTE = 6  # Packages or versions that a note names; the others are counted

_VERSION = r"(?:version\s*|v)?[0-9]+(?:\.[0-9x]+)*"
# with a project asked for, any number with a dot names a version; else what "v", "version" or a preposition leads
_DOTTED = re.compile(r"(?<![\w.])v?[0-9]+(?:\.[0-9]+)+(?![\w.]*\w)")
_LED = re.compile(
    r"(?i)(?<![\w.-])(version\s+v?|v|(?:at|for|from|in|of|on|since|to|under|using|with)\s+(?=[0-9]+\.))"
    r"([0-9]+(?:\.[0-9x]+)*)(?![\w.]*\w)"
)


class Versions(NamedTuple):
    """Versions asked of entries: of projects by their own, and of all others alike. Empty asks for nothing.

    `instead` says for which version (as asked) the nearest stored one stands in, by project.
    """

    others: frozenset[str] = frozenset()
    of_project: Mapping[str, frozenset[str]] = MappingProxyType({})
    notes: tuple[str, ...] = ()
    instead: Mapping[str, str] = MappingProxyType({})

    def of(self, project: str) -> frozenset[str]:
        """What is asked of an entry of this project."""
        return self.of_project.get(project, self.others)

    def spellings(self, names: Iterable[str]) -> tuple[frozenset[str] | None, dict[str, frozenset[str]]]:
        """Of the versions as entries write them those that fit: for all others (None: whatever), and by project."""
        every = list(names)

        def fitting(asked: frozenset[str]) -> frozenset[str]:
            return frozenset(name for name in every if version_score(asked, {name}) is not None)

        by_project = {project: fitting(asked) for project, asked in self.of_project.items()}
        return (fitting(self.others) if self.others else None), by_project

    def told(self, lights: Iterable[Light]) -> list[str]:
        """Notes on versions that stand in for others, as far as these entries are of such projects."""
        projects = dict.fromkeys(light.project for light in lights)
        return [self.instead[project] for project in projects if project in self.instead]


def asked_versions(repo: Reading, query: Query) -> Versions:
    """What the query asks for. The catalog is up to date already.

    With nothing asked for, a version that the words name counts, else what the lock files of the code around pin.
    """
    asked = frozenset(version for version in query.versions if version.strip().casefold() != AUTO)
    stored = repo.catalog.versions_of_projects()
    of_project: dict[str, frozenset[str]] = {}
    notes: list[str] = []
    if not query.versions:
        of_project |= _in_words(query, stored)
    if len(asked) < len(set(query.versions)) or (not query.versions and stored):
        projects = stored.keys() - of_project if not query.versions else None
        used, notes_in_use = _in_use(repo, query, asked, projects)
        if query.versions:
            of_project |= used
            notes += notes_in_use
        else:  # versions that were not asked for must not empty the answer
            of_project |= {name: versions for name, versions in used.items() if _fitting(versions, stored[name])}
    instead = {}
    # asked of no project in particular, a version may well be that of another one
    fits = not query.project and any(_fitting(asked, versions) for versions in stored.values())
    for project, versions in stored.items():
        asked_of_it = of_project.get(project, frozenset() if fits else asked)
        if not asked_of_it or _fitting(asked_of_it, versions) or (query.project and project != query.project):
            continue
        near = {
            name: near_version for name in sorted(asked_of_it) if (near_version := nearest(name.lstrip("@"), versions))
        }
        if near:
            of_project[project] = frozenset(near.values())
            pairs = ", ".join(f"{near_version} for {name.lstrip('@')}" for name, near_version in near.items())
            instead[project] = f"{project} is not stored at the version asked for: the nearest is taken, {pairs}"
    return Versions(asked, of_project, tuple(notes), instead)


def what_there_is(query: Query, stored: Stored) -> list[str]:
    """Which versions there are, where one was asked for that leaves nothing."""
    project = query.project
    having = [f"{name}{_having(stored[name])}" for name in ([project] if project else stored) if name in stored]
    if not query.versions:
        return []
    if not having:
        return [f"nothing of {project} states a version" if project else "nothing that is stored states a version"]
    listing = "; ".join(having[:NAMED_IN_NOTE])
    return [f"nothing is stored at version {', '.join(query.versions)}: there are {listing}"]


def not_here(catalog: Reader, asked: Mapping[str, Iterable[str]]) -> list[str]:
    """A line for each project, tag or version that no entry has: what may have been meant, else what there is."""
    from difflib import get_close_matches

    counted = {"project": catalog.projects, "tag": catalog.tags, "version": catalog.versions}
    lines = []
    for what, name in ((what, name) for what, names in asked.items() for name in names if name):
        names = [tally.name for tally in counted[what]()]
        if name not in names:
            stored = catalog.versions_of_projects() if what == "project" else {}
            near = [f"{x}{_having(stored.get(x, ()))}" for x in get_close_matches(name, names, 3, 0.5)]
            other = f"there are {', '.join(names[:NAMED_IN_NOTE])}" if names else "there is none yet"
            other = f"did you mean {what} {' or '.join(near)}?" if near else other
            lines.append(f"no {what} {name!r} here: {other}")
    return lines


def _having(versions: Iterable[str]) -> str:
    every = newest_first(versions)
    listed = f"{every[-1]} … {every[0]}" if len(every) > NAMED_IN_NOTE else ", ".join(every)
    return f", versions {listed}" if every else ""


def _fitting(asked: Iterable[str], versions: Iterable[str]) -> bool:
    versions_asked = set(asked)
    return any(version_score(versions_asked, {version}) is not None for version in versions)


def _in_words(query: Query, stored: Stored) -> dict[str, frozenset[str]]:
    """Versions that stand behind a project's name, or elsewhere where a project has them; with one asked for, of it."""
    by_project, text = dict[str, frozenset[str]](), query.text
    for project in stored:
        name = rf"(?<![\w-]){re.escape(project)}[\s@/-]*({_VERSION})(?![\w.]*\w)"
        if named := re.search(name, text, re.IGNORECASE):
            by_project[project] = frozenset({re.sub(r"(?i)version\s*", "", named[1])})
            text = text.replace(named[0], "")
    others_stored = {
        name: versions for name, versions in stored.items() if name not in by_project and query.project in {None, name}
    }
    led = _LED.findall(text)
    words = _DOTTED.findall(text) if query.project else [word for _, word in led]
    for project, versions in others_stored.items():
        if fitting := frozenset(word for word in words if _fitting({word}, versions)):
            by_project[project] = fitting
    if not by_project:  # the nearest of what is surely a version: "for 1.5 hours" is none
        sure = frozenset(word for lead, word in led if lead[0] in "vV")
        by_project = {
            name: sure for name, versions in others_stored.items() if any(nearest(word, versions) for word in sure)
        }
    return by_project


def _in_use(
    repo: Reading, query: Query, named: frozenset[str], projects: Iterable[str] | None
) -> tuple[dict[str, frozenset[str]], list[str]]:
    """What lock and manifest files around pin for these projects (None: those asked for, or all), and notes on it."""
    from ai_lessons.knowledge.manifests import in_use
    from ai_lessons.repository.code_repository import manifests

    if projects is None:
        projects = [query.project] if query.project else [tally.name for tally in repo.catalog.projects()]
    files, left_out = manifests(repo.options.cwd)
    uses = in_use(files, list(projects), repo.reading_config.tag_aliases)
    notes = [_note(uses, query.project), *(f"left out for the versions in use: {file}" for file in left_out)]
    return {project: named | {use.version for use in project_uses} for project, project_uses in uses.items()}, notes


def _note(uses: Mapping[str, Sequence[Use]], project: str | None) -> str:
    """Which versions are in use, and what says so."""
    lines = (f"{x.package} {x.version.lstrip('@')} ({x.path})" for several in uses.values() for x in several)
    names = list(dict.fromkeys(lines))
    if not names:
        whose = f"of {project!r}" if project else "of any project here"
        return f"versions in use: no lock or manifest file of the code you are in names one {whose}"
    hidden = len(names) - NAMED_IN_NOTE
    return "versions in use: " + ", ".join(names[:NAMED_IN_NOTE]) + (f" and {hidden} more" if hidden > 0 else "")
