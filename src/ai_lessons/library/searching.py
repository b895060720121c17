"""One search from question to ranked entries: refresh, candidates, fusion, factors, snippets."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from ai_lessons.errors import UsageError
from ai_lessons.index import rows
from ai_lessons.index.catalog_reading import Filter
from ai_lessons.index.nearness import BAR, NAMED, chance, holders
from ai_lessons.index.ranking import VECTOR_WEIGHT, Ranked, RankingFacts, fuse, gap_prompt, rank
from ai_lessons.index.rows import Candidates, IndexRefresh, Match, names
from ai_lessons.knowledge.entries import KINDS, Kind, Light, Status
from ai_lessons.knowledge.queries import Asked, gist, one_project, parse
from ai_lessons.knowledge.versions import newest_first
from ai_lessons.library.answers import Answer, Hit, Query
from ai_lessons.library.provenance import approvals_of
from ai_lessons.library.relating import SPARE, see_also, settled, warnings
from ai_lessons.library.surfacing import ALL_RULES, belongs, hit_of, rules_for
from ai_lessons.library.surfacing import DEPTH as RULES_DEPTH
from ai_lessons.library.versions_asked import Versions, asked_versions, not_here, what_there_is

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ai_lessons.library.opened import Library, Reading

NEAREST = 5  # Results that are shown where none comes near the question; words alone tell less, and all are shown
CLOSE = 0.95  # Share of the best version's score from which on another version of a page is as good

FAR, FEW = 0.15, 20
"""Share of the best result's score below which results are left out, where more than so many are found."""


TYPED = 5.0  # Seconds in which who types is answered without another look at the files
DEPTH = 100  # Passages asked of each half, more only for more results; measured in the recipe that `ranking` follows

NOTHING_DONE, NOTHING_FOUND = rows.IndexRefresh(), rows.Candidates()


def search(library: Library, query: Query) -> Answer:
    """Entries that fit the query, best first.

    With no embedding model, or while vectors are still missing, full text answers and `notes` says so.
    """
    repo = library.reading
    if not query.typing or any(monotonic() - part.refreshed_at > TYPED for part in repo.every):
        repo.current()
    answer = find(repo, query)
    asked = understood(query)[0]
    # what to contribute is what is not there, not what was not asked for
    contributing = asked.kinds and asked.text and not query.typing
    known_kinds = (
        find(repo, asked._replace(kinds=frozenset(), plain=True)).near_kinds if contributing else answer.near_kinds
    )
    if any(hit.entry.details.get("path") for hit in answer.hits):
        from ai_lessons.library.health import told_of_scripts

        moved = told_of_scripts(library, [hit.entry for hit in answer.hits])
        answer = answer._replace(notes=(*answer.notes, *moved))
    # context tags may lift a score beyond 1
    within = (hit._replace(entry=hit.entry._replace(score=min(hit.entry.score or 0.0, 1.0))) for hit in answer.hits)
    return answer._replace(
        hits=tuple(within),
        prompt=gap_prompt({kind.folder: kind in known_kinds for kind in KINDS}),
        approvals=approvals_of(repo, (hit.entry for hit in answer.rules)) if query.approvals else {},
    )


def find(repo: Reading, query: Query) -> Answer:
    """Hits, best first, and notes on how the answer came about, from the catalog as it was last brought up to date.

    With no kind asked for, the rules that surface come first and beside the limit. With some, only those are found:
    rules then by how well they match, and with context tags those that have one in common. With nothing but filters
    asked for, all that passes them is found, the newest of equal score first.

    Raises UsageError: nothing to search for, or filters that cannot all hold.
    """
    asked = query.text
    query, phrases = understood(query)
    versions = asked_versions(repo, query)
    if not query.text:
        return _by_filters(repo, query, versions)._replace(query=asked)
    done = repo.indexing.refresh()
    surfacing = not query.kinds and any(part.rules.count for part in repo.every)
    depth = max(DEPTH, query.limit)
    filters = _passage_filter(repo, query, phrases, versions, without_rules=surfacing)
    begun = repo.indexing.begin(query.text, ALL_RULES, RULES_DEPTH) if surfacing else None
    candidates = repo.indexing.begin(query.text, filters, depth)()
    found_rules = begun() if begun else NOTHING_FOUND
    unheld = ""
    if phrases and not (candidates.text or candidates.vectors) and _words(phrases) < _words([query.text]):
        unheld = f"nothing holds {_or(repr(phrase) for phrase in phrases)} word by word: the words are looked for"
        phrases, filters = (), filters._replace(phrases=())
        candidates = repo.indexing.begin(query.text, filters, depth)()
    coverage = _coverage(repo, done.missing)
    likely, lead, lights_of = _near(repo, query.text, candidates, complete=not done.missing)
    # the best of a few vectors must not outrank the best of all texts
    weight = VECTOR_WEIGHT * (coverage if candidates.text and candidates.vectors else 1.0)
    matches = fuse(candidates.text, candidates.vectors, candidates.depth, weight, lead)
    matches = tuple(match._replace(score=match.score * likely) for match in matches)
    weak = likely < BAR and not phrases
    room = query._replace(limit=min(query.limit, NEAREST)) if weak and candidates.vectors else query
    shown = (*phrases, *names(query.text))
    hits = settled(repo, room, _hits(repo, room, shown, matches, versions, lights_of))
    near_note = nothing_near(repo, hits) if weak or not hits else ""
    remarks = [unheld, near_note, "" if hits else _what_there_is(repo, query)]
    if surfacing:
        hits = rules_for(repo, query, found_rules, [hit.entry for hit in hits], complete=not done.missing) + hits
    lights = [hit.entry for hit in hits]
    notes = [*_notes(repo, versions, done, candidates, coverage), *filter(None, remarks), *versions.told(lights)]
    notes += [*warnings(repo, lights), *see_also(repo, lights)]
    near_enough = (match.entry_id for match in matches if len(matches) <= FEW or match.score >= BAR)
    near_kinds = {lights_of[entry_id].kind for entry_id in near_enough if entry_id in lights_of}
    kinds = frozenset() if weak else frozenset(near_kinds | {light.kind for light in lights})
    return Answer(asked, tuple(hits), notes=tuple(notes), coverage=coverage, weak=weak, near_kinds=kinds)


def _by_filters(repo: Reading, query: Query, versions: Versions) -> Answer:
    """What passes the filters, from the catalog alone; where a version is asked for, only what can carry one."""
    kinds = query.kinds or frozenset(kind for kind in Kind if query.versions and kind.is_resource)
    selected = repo.catalog.select(Filter(kinds=kinds, project=query.project, tags=query.tags))
    by_id = {light.id: light for light in selected}
    places = {entry_id: place for place, entry_id in enumerate(by_id)}
    matches = [Match(entry_id, 0, 1.0) for entry_id in by_id]
    hits = _hits(repo, query._replace(limit=len(matches)), (), matches, versions, by_id)
    hits.sort(key=lambda hit: (-(hit.entry.score or 0.0), places[hit.entry.id]))
    hits = settled(repo, query, hits[: query.limit + SPARE])
    lights = [hit.entry for hit in hits]
    remarks = [] if hits else list(filter(None, [_what_there_is(repo, query)]))
    notes = [*_notes(repo, versions), *remarks, *versions.told(lights), *warnings(repo, lights)]
    return Answer(query.text, tuple(hits), notes=tuple(notes), near_kinds=frozenset(light.kind for light in lights))


def _near(
    repo: Reading, question: str, candidates: Candidates, *, complete: bool
) -> tuple[float, frozenset[tuple[str, int]], dict[str, Light]]:
    """The chance that the best answers the question, the passages that hold what it is about, the entries by id."""
    lights = repo.catalog.many({hit.entry_id for hit in (*candidates.text, *candidates.vectors)})

    def text_of(hit: Match) -> str:
        title = lights[hit.entry_id].title if hit.entry_id in lights else ""
        return f"{title} {hit.heading} {hit.text}"

    holding, lead = holders(question, candidates.text, text_of)
    likely = chance(question, candidates, repo.indexing.passages(), text_of, complete=complete)
    return max(likely, NAMED) if holding else likely, lead, lights


def nothing_near(repo: Reading, hits: Sequence[Hit]) -> str:
    """One line where there is nothing to show, or only what is far from the question."""
    if hits:
        nearest = hits[0].entry
        return f"nothing near; the nearest is {nearest.handle} ({nearest.title!r}, {nearest.score or 0:.2f} of 1)"
    stored = repo.catalog.count(Filter(status=None))
    return f"none of the {stored} entries stored here matches" if stored else "nothing is stored here yet"


def _what_there_is(repo: Reading, query: Query) -> str:
    missing = not_here(repo.catalog, {"project": (query.project or "",), "tag": query.tags})
    return "; ".join(missing or what_there_is(query, repo.catalog.versions_of_projects()))


def understood(query: Query) -> tuple[Query, tuple[str, ...]]:
    """The query with the filters of its text beside those that were given, and its phrases.

    Raises UsageError: nothing is asked for, no such kind, or filters that cannot all hold.
    """
    query = query._replace(text=gist(query.text))
    parsed = Asked(" ".join(query.text.split())) if query.plain else parse(query.text)
    if parsed == Asked():
        raise UsageError("the query is empty", hint="say what you look for, or use `ai-lessons recall list`")
    kinds = query.kinds & parsed.kinds if query.kinds and parsed.kinds else query.kinds or parsed.kinds
    if query.kinds and not kinds:
        raise UsageError(
            f"{_or(parsed.kinds)} is asked for, and this search is for {_or(query.kinds)}", hint="leave one of them out"
        )
    # with nothing taken out of it a question is looked for as it was typed: quotation marks tell the model something
    whole = parsed._replace(text="", phrases=()) == Asked()
    asked = query._replace(
        text=" ".join(query.text.split()) if whole else parsed.text,
        kinds=kinds,
        project=one_project([project for project in (query.project, parsed.project) if project]),
        tags=tuple(dict.fromkeys((*query.tags, *parsed.tags))),
        versions=tuple(dict.fromkeys((*query.versions, *parsed.versions))),
    )
    # The question is about its phrases if they are half of its words or more: people also put names into quotes in the
    # middle of a sentence, and held to those, the answers to 600 tasks lost a third of their nDCG@10 (0.44 to 0.31).
    return asked, parsed.phrases if 2 * _words(parsed.phrases) >= _words([asked.text]) else ()


def _words(texts: Iterable[str]) -> int:
    return sum(any(map(str.isalnum, word)) for text in texts for word in text.split())


def _or(names: Iterable[str]) -> str:
    return " or ".join(sorted(names))


def _passage_filter(
    repo: Reading, query: Query, phrases: Sequence[str], versions: Versions, *, without_rules: bool
) -> rows.PassageFilter:
    kinds = query.kinds or frozenset(kind for kind in Kind if without_rules and kind is not Kind.RULE)
    tallies = repo.catalog.versions() if versions.others or versions.of_project else ()
    other_versions, of_project = versions.spellings(tally.name for tally in tallies)
    return rows.PassageFilter(
        kinds=frozenset(kind.value for kind in kinds),
        project=query.project,
        tags=tuple(query.tags),
        versions=other_versions,
        versions_of=of_project,
        phrases=phrases,
    )


def _notes(
    repo: Reading,
    versions: Versions,
    done: IndexRefresh = NOTHING_DONE,
    candidates: Candidates = NOTHING_FOUND,
    coverage: float = 1.0,
) -> list[str]:
    notes = [*repo.notes(), *versions.notes, done.rebuilt, *done.notes, candidates.note]
    if done.missing and not candidates.note:
        notes.append(
            f"{100 * coverage:.0f} % of the passages have a vector; {done.missing:,} are found by their words alone: "
            "`ai-lessons admin reindex` completes them"
        )
    return [note for note in dict.fromkeys(notes) if note]


def _hits(
    repo: Reading,
    query: Query,
    phrases: Sequence[str],
    matches: Sequence[Match],
    versions: Versions,
    lights: Mapping[str, Light],
) -> list[Hit]:
    standings = {
        entry_id: by for place in repo.every for entry_id, by in place.usages.standings(lights.values()).items()
    }
    aliases = repo.reading_config.tag_aliases
    ranked = rank(
        matches,
        {
            entry_id: RankingFacts(
                light.id,
                frozenset(light.tags),
                frozenset(light.versions),
                standings.get(light.id, 1.0),
                versioned=light.kind.is_resource,
                asked=versions.of(light.project),
                distance=repo.nearness(light.tier),
            )
            for entry_id, light in lights.items()
            if _passes(light, query, aliases)
        },
        context=query.context_tags,
        aliases=aliases,
    )
    # of few candidates the last ones count 0, however near they are
    least = FAR * ranked[0].score if len(matches) > FEW else 0.0
    pages: dict[tuple[object, ...], list[Ranked]] = {}
    for result in ranked:
        if result.score >= least:
            pages.setdefault(_page(lights[result.match.entry_id]), []).append(result)
    hits = []
    for page in list(pages.values())[: query.limit + SPARE]:
        leader, *siblings = _newest_leads(page, lights)
        light = lights[leader.match.entry_id]
        also_in = {name for sibling in siblings for name in lights[sibling.match.entry_id].versions}
        hits.append(hit_of(leader, light, query, phrases, newest_first(also_in.difference(light.versions))))
    return hits


def _passes(light: Light, query: Query, aliases: Mapping[str, str]) -> bool:
    """Whether it is not wrong, of a scope that is asked for, and, as a rule, of a context that is."""
    active = light.details.get("status") != Status.WRONG
    in_scope = not query.scopes or light.details.get("scope", "") in query.scopes
    in_context = light.kind is not Kind.RULE or not query.context_tags or belongs(light, query, aliases)
    return active and in_scope and in_context


def _newest_leads(page: Sequence[Ranked], lights: Mapping[str, Light]) -> Sequence[Ranked]:
    """The versions of a page with the newest of those in front that match about as well as the best."""
    close = [ranked for ranked in page if ranked.score >= CLOSE * page[0].score]
    order = newest_first({name for ranked in close for name in lights[ranked.match.entry_id].versions})
    places = {name: place for place, name in enumerate(order)}
    first = min(
        close, key=lambda ranked: min((places[v] for v in lights[ranked.match.entry_id].versions), default=len(order))
    )
    return [first, *(ranked for ranked in page if ranked is not first)]


def _page(light: Light) -> tuple[object, ...]:
    """What the versions of one page have in common: project, kind, and path below the version's folder."""
    below = light.path.split("/")[3:] if light.kind.is_resource else []
    return (light.tier, light.project, light.kind, *below) if below else (light.id,)


def _coverage(repo: Reading, missing: int) -> float:
    """The share of passages that have a vector; below 1 as long as one is missing."""
    passages = repo.indexing.passages() if missing else 0
    return min(max(round(1 - missing / passages, 4), 0.0), 0.9999) if passages else float(not missing)
