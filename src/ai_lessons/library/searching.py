"""One search from question to ranked entries: refresh, candidates, fusion, factors, snippets."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.errors import UsageError
from ai_lessons.index import rows
from ai_lessons.index.catalog_reading import Filter
from ai_lessons.index.ranking import (
    NEAR_MOST,
    SHARED,
    VECTOR_WEIGHT,
    WORDS_ALONE,
    Match,
    RankingFacts,
    fuse,
    gap_prompt,
    holds,
    rank,
    snippet,
    too_far,
)
from ai_lessons.knowledge.entries import Kind
from ai_lessons.knowledge.queries import Asked, one_project, parse
from ai_lessons.knowledge.versions import AUTO
from ai_lessons.knowledge.versions import score as version_score
from ai_lessons.library.answers import Answer, Hit, Query
from ai_lessons.library.provenance import approvals_of
from ai_lessons.library.relating import see_also, settled, warnings, with_room
from ai_lessons.library.surfacing import ALL_RULES, rules_for
from ai_lessons.library.surfacing import DEPTH as RULES_DEPTH

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ai_lessons.index.rows import Candidates, IndexRefresh
    from ai_lessons.knowledge.entries import Light
    from ai_lessons.knowledge.manifests import Use
    from ai_lessons.library.opened import Library, Reading

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
    from ai_lessons.repository.code_repository import manifests

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


DEPTH = 100
"""Passages asked of each half, more only for more results; measured in the recipe that `ranking` follows."""

NOTHING_DONE, NOTHING_FOUND = rows.IndexRefresh(), rows.Candidates()


def search(library: Library, query: Query) -> Answer:
    """Entries that fit the query, best first.

    With no embedding model, or while vectors are still missing, full text answers and `notes` says so.
    """
    parts = library.reading
    answer = find(parts, query)
    return answer._replace(
        prompt=gap_prompt({kind.folder: len(found) for kind, found in answer.groups.items()}),
        approvals=approvals_of(parts, (hit.entry for hit in answer.rules)) if query.approvals else {},
    )


def search_lessons(library: Library, text: str, *, scope: str | None = None, limit: int = 10) -> Answer:
    """Active lessons that fit the words, by meaning and by words, best first."""
    return find(library.reading, Query(text, kinds=frozenset({Kind.LESSON}), project=scope, limit=limit))


def find(parts: Reading, query: Query) -> Answer:
    """Hits, best first, and notes on how the answer came about.

    With no kind asked for, the rules that surface come first and beside the limit. With some, only those are found:
    rules then as everything else is, by how well they match, whatever one is working on. With nothing but filters asked
    for, all that passes them is found, the newest of equal score first.

    Raises UsageError: nothing to search for, or filters that cannot all hold.
    """
    asked = query.text
    query, phrases = understood(query)
    parts.current()
    versions = asked_versions(parts, query)
    if not query.text:
        hits = settled(parts, query, _filtered(parts, with_room(query), versions))
        notes = [*_notes(parts, versions), *warnings(parts, [hit.entry for hit in hits])]
        return Answer(asked, tuple(hits), notes=tuple(notes))
    done = parts.indexing.refresh()
    surfacing = not query.kinds and parts.rules.count > 0
    depth = max(DEPTH, query.limit)
    wanted = _wanted(parts, query, phrases, versions, without_rules=surfacing)
    begun = parts.indexing.begin(query.text, ALL_RULES, RULES_DEPTH) if surfacing else None
    found = parts.indexing.candidates(query.text, wanted, depth)
    found_rules = begun() if begun else NOTHING_FOUND
    unheld = ""
    if phrases and not (found.text or found.vectors) and _words(phrases) < _words([query.text]):
        unheld = f"nothing holds {_or(repr(phrase) for phrase in phrases)} word by word: the words are looked for"
        phrases, wanted = (), replace(wanted, phrases=())
        found = parts.indexing.candidates(query.text, wanted, depth)
    coverage = _coverage(parts, done.missing)
    # the best of a few vectors must not outrank the best of all texts
    weight = VECTOR_WEIGHT * (coverage if found.text and found.vectors else 1.0)
    matches = fuse(found.text, found.vectors, found.depth, weight)
    hits = settled(parts, query, _hits(parts, with_room(query), phrases, matches, versions))
    tells = not phrases and not (done.missing and found.note)  # without a model words would have to tell for good
    nothing = why_nothing(parts, query.text, found, hits, coverage) if tells else ""
    hits = [] if nothing else hits
    if surfacing:
        hits = rules_for(parts, query, found_rules, [hit.entry for hit in hits], complete=not done.missing) + hits
    lights = [hit.entry for hit in hits]
    told = [*filter(None, [unheld, nothing]), *warnings(parts, lights), *see_also(parts, lights)]
    notes = [*_notes(parts, versions, done, found, coverage), *told]
    return Answer(asked, tuple(hits), notes=tuple(notes), coverage=coverage)


def understood(query: Query) -> tuple[Query, tuple[str, ...]]:
    """The query with the filters of its text beside those that were given, and its phrases.

    Raises UsageError: nothing is asked for, no such kind, or filters that cannot all hold.
    """
    said = Asked(" ".join(query.text.split())) if query.plain else parse(query.text)
    if said == Asked():
        raise UsageError("the query is empty", hint="say what you look for, or use `ai-lessons recall list`")
    kinds = query.kinds & said.kinds if query.kinds and said.kinds else query.kinds or said.kinds
    if query.kinds and not kinds:
        raise UsageError(
            f"{_or(said.kinds)} is asked for, and this search is for {_or(query.kinds)}", hint="leave one of them out"
        )
    # with nothing taken out of it a question is looked for as it was typed: quotation marks tell the model something
    whole = said._replace(text="", phrases=()) == Asked()
    asked = query._replace(
        text=" ".join(query.text.split()) if whole else said.text,
        kinds=kinds,
        project=one_project([project for project in (query.project, said.project) if project]),
        tags=tuple(dict.fromkeys((*query.tags, *said.tags))),
        versions=tuple(dict.fromkeys((*query.versions, *said.versions))),
    )
    return asked, said.phrases if _about_phrases(asked.text, said.phrases) else ()


def _about_phrases(text: str, phrases: Sequence[str]) -> bool:
    """Whether phrases are what the question is about: half of its words or more.

    People also put names into quotes in the middle of a sentence. Held to those, the answers to 600 tasks in people's
    words lost a third of their nDCG@10 (0.44 to 0.31).
    """
    return 2 * _words(phrases) >= _words([text])


def _words(texts: Iterable[str]) -> int:
    return sum(any(map(str.isalnum, word)) for text in texts for word in text.split())


def _or(names: Iterable[str]) -> str:
    return " or ".join(sorted(names))


def _wanted(
    parts: Reading, query: Query, phrases: Sequence[str], versions: Versions, *, without_rules: bool
) -> rows.PassageFilter:
    kinds = query.kinds or frozenset(kind for kind in Kind if without_rules and kind is not Kind.RULE)
    asks = versions.others or versions.of_project
    others, of_project = versions.spellings([tally.name for tally in parts.catalog.versions()] if asks else [])
    return rows.PassageFilter(
        kinds=frozenset(kind.value for kind in kinds),
        project=query.project,
        tags=tuple(query.tags),
        versions=others,
        versions_of=of_project,
        phrases=phrases,
    )


def _filtered(parts: Reading, query: Query, versions: Versions) -> list[Hit]:
    """What passes the filters, from the catalog alone; where a version is asked for, only what can carry one."""
    kinds = query.kinds or frozenset(kind for kind in Kind if query.versions and kind.is_resource)
    wanted = Filter(kinds=kinds, project=query.project, tags=query.tags)
    matches = [Match(light.id, 0, 1.0) for light in parts.catalog.select(wanted)]
    place = {match.entry_id: number for number, match in enumerate(matches)}
    hits = _hits(parts, query._replace(limit=len(matches)), (), matches, versions)
    return sorted(hits, key=lambda hit: (-(hit.entry.score or 0.0), place[hit.entry.id]))[: query.limit]


def _notes(
    parts: Reading,
    versions: Versions,
    done: IndexRefresh = NOTHING_DONE,
    found: Candidates = NOTHING_FOUND,
    coverage: float = 1.0,
) -> list[str]:
    notes = [*parts.notes(), *parts.config_notes(), *versions.notes, done.rebuilt, *done.notes, found.note]
    if done.missing and not found.note:
        notes.append(
            f"{100 * coverage:.0f} % of the passages have a vector; {done.missing:,} are found by their words alone: "
            "`ai-lessons admin reindex` completes them"
        )
    return [note for note in dict.fromkeys(notes) if note]


def _hits(
    parts: Reading, query: Query, phrases: Sequence[str], matches: Sequence[Match], versions: Versions
) -> list[Hit]:
    lights = parts.catalog.many(match.entry_id for match in matches)
    standings = parts.usages.standings(lights.values())
    ranked = rank(
        matches,
        {
            entry_id: _facts(light, standings, versions, parts.nearness(light.tier))
            for entry_id, light in lights.items()
            if light.details.get("status", "active") in {"active", None}
        },
        context=query.context_tags,
        aliases=parts.reading_config.tag_aliases,
        limit=query.limit,
    )
    return [
        Hit(
            (light := lights[one.match.entry_id])._replace(
                score=one.score, snippet=snippet(one.match.text, query.text, phrases=phrases) or light.snippet
            ),
            one.match.heading,
            one.factors if query.explain else {},
        )
        for one in ranked
    ]


def _coverage(parts: Reading, missing: int) -> float:
    """The share of passages that have a vector; below 1 as long as one is missing."""
    passages = parts.index.passages() if missing else 0
    return min(max(round(1 - missing / passages, 4), 0.0), 0.9999) if passages else float(not missing)


def _facts(light: Light, standings: Mapping[str, float], versions: Versions, distance: int) -> RankingFacts:
    return RankingFacts(
        light.id,
        frozenset(light.tags),
        frozenset(light.versions),
        standings.get(light.id, 1.0),
        versioned=light.kind.is_resource,
        asked=versions.of(light.project),
        distance=distance,
    )


BEST = 10
"""Results that are looked at for the words of the question."""


def why_nothing(parts: Reading, question: str, found: Candidates, hits: Sequence[Hit], coverage: float = 1.0) -> str:
    """One line where there is nothing to show, or nothing that should be; empty where there is an answer.

    While vectors are missing, words alone tell.
    """
    if not hits:
        stored = sum(parts.catalog.sizes().entries.values())
        return f"none of the {stored} entries stored here matches" if stored else "nothing is stored here yet"
    if found.vectors and found.vectors[0].score >= NEAR_MOST:
        return ""  # near in any repository: nothing need be counted
    far = too_far(found, parts.index.passages())
    if far is None and (coverage == 1.0 or found.vectors):
        return ""
    texts = {(hit.entry_id, hit.heading): hit.text for hit in (*found.text, *found.vectors)}
    shown = (
        f"{hit.entry.title} {hit.heading} {texts.get((hit.entry.id, hit.heading), hit.entry.snippet)}"
        for hit in hits[:BEST]
    )
    if holds(question, shown, SHARED if coverage == 1.0 else WORDS_ALONE):
        return ""
    if far is None or coverage < 1.0:
        return "nothing that is stored holds half of the words of this question; vectors are still missing"
    nearest = parts.catalog.many([found.vectors[0].entry_id]).get(found.vectors[0].entry_id)
    which = f" ({nearest.handle}, {nearest.title!r})" if nearest else ""
    return (
        f"nothing that is stored comes near this question: the nearest{which} has a similarity of {far[0]:.2f}, "
        f"answers begin at {far[1]:.2f}"
    )
