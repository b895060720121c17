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
from ai_lessons.knowledge.entries import KINDS, Kind, Light
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
    if not query.typing or any(monotonic() - one.looked > TYPED for one in repo.every):
        repo.current()
    answer = find(repo, query)
    asked = understood(query)[0]
    # what to contribute is what is not there, not what was not asked for
    more = asked.kinds and asked.text and not query.typing
    known = find(repo, asked._replace(kinds=frozenset(), plain=True)).known if more else answer.known
    if any(hit.entry.details.get("path") for hit in answer.hits):
        from ai_lessons.library.health import told_of_scripts

        moved = told_of_scripts(library, [hit.entry for hit in answer.hits])
        answer = answer._replace(notes=(*answer.notes, *moved))
    # context tags may lift a score beyond 1
    within = (hit._replace(entry=hit.entry._replace(score=min(hit.entry.score or 0.0, 1.0))) for hit in answer.hits)
    return answer._replace(
        hits=tuple(within),
        prompt=gap_prompt({kind.folder: kind in known for kind in KINDS}),
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
    surfacing = not query.kinds and any(one.rules.count for one in repo.every)
    depth = max(DEPTH, query.limit)
    wanted = _wanted(repo, query, phrases, versions, without_rules=surfacing)
    begun = repo.indexing.begin(query.text, ALL_RULES, RULES_DEPTH) if surfacing else None
    found = repo.indexing.begin(query.text, wanted, depth)()
    found_rules = begun() if begun else NOTHING_FOUND
    unheld = ""
    if phrases and not (found.text or found.vectors) and _words(phrases) < _words([query.text]):
        unheld = f"nothing holds {_or(repr(phrase) for phrase in phrases)} word by word: the words are looked for"
        phrases, wanted = (), wanted._replace(phrases=())
        found = repo.indexing.begin(query.text, wanted, depth)()
    coverage = _coverage(repo, done.missing)
    likely, lead, lights_of = _near(repo, query.text, found, complete=not done.missing)
    # the best of a few vectors must not outrank the best of all texts
    weight = VECTOR_WEIGHT * (coverage if found.text and found.vectors else 1.0)
    matches = fuse(found.text, found.vectors, found.depth, weight, lead)
    matches = tuple(match._replace(score=match.score * likely) for match in matches)
    weak = likely < BAR and not phrases
    room = query._replace(limit=min(query.limit, NEAREST)) if weak and found.vectors else query
    shown = (*phrases, *names(query.text))
    hits = settled(repo, room, _hits(repo, room, shown, matches, versions, lights_of))
    told = [unheld, nothing_near(repo, hits) if weak or not hits else "", "" if hits else _what_there_is(repo, query)]
    if surfacing:
        hits = rules_for(repo, query, found_rules, [hit.entry for hit in hits], complete=not done.missing) + hits
    lights = [hit.entry for hit in hits]
    notes = [*_notes(repo, versions, done, found, coverage), *filter(None, told), *versions.told(lights)]
    notes += [*warnings(repo, lights), *see_also(repo, lights)]
    near_enough = (one.entry_id for one in matches if len(matches) <= FEW or one.score >= BAR)
    known = {lights_of[entry_id].kind for entry_id in near_enough if entry_id in lights_of}
    kinds = frozenset() if weak else frozenset(known | {light.kind for light in lights})
    return Answer(asked, tuple(hits), notes=tuple(notes), coverage=coverage, weak=weak, known=kinds)


def _by_filters(repo: Reading, query: Query, versions: Versions) -> Answer:
    hits = settled(repo, query, _filtered(repo, query, versions))
    lights = [hit.entry for hit in hits]
    nothing = "" if hits else _what_there_is(repo, query)
    notes = [*_notes(repo, versions), *filter(None, [nothing]), *versions.told(lights), *warnings(repo, lights)]
    return Answer(query.text, tuple(hits), notes=tuple(notes), known=frozenset(light.kind for light in lights))


def _near(
    repo: Reading, question: str, found: Candidates, *, complete: bool
) -> tuple[float, frozenset[tuple[str, int]], dict[str, Light]]:
    """The chance that the best answers the question, the passages that hold what it is about, the entries by id."""
    lights = repo.catalog.many({hit.entry_id for hit in (*found.text, *found.vectors)})

    def text_of(hit: Match) -> str:
        title = lights[hit.entry_id].title if hit.entry_id in lights else ""
        return f"{title} {hit.heading} {hit.text}"

    holding, lead = holders(question, found.text, text_of)
    likely = chance(question, found, repo.indexing.passages(), text_of, complete=complete)
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
    # The question is about its phrases if they are half of its words or more: people also put names into quotes in the
    # middle of a sentence, and held to those, the answers to 600 tasks lost a third of their nDCG@10 (0.44 to 0.31).
    return asked, said.phrases if 2 * _words(said.phrases) >= _words([asked.text]) else ()


def _words(texts: Iterable[str]) -> int:
    return sum(any(map(str.isalnum, word)) for text in texts for word in text.split())


def _or(names: Iterable[str]) -> str:
    return " or ".join(sorted(names))


def _wanted(
    repo: Reading, query: Query, phrases: Sequence[str], versions: Versions, *, without_rules: bool
) -> rows.PassageFilter:
    kinds = query.kinds or frozenset(kind for kind in Kind if without_rules and kind is not Kind.RULE)
    known = repo.catalog.versions() if versions.others or versions.of_project else ()
    others, of_project = versions.spellings(tally.name for tally in known)
    return rows.PassageFilter(
        kinds=frozenset(kind.value for kind in kinds),
        project=query.project,
        tags=tuple(query.tags),
        versions=others,
        versions_of=of_project,
        phrases=phrases,
    )


def _filtered(repo: Reading, query: Query, versions: Versions) -> list[Hit]:
    """What passes the filters, from the catalog alone; where a version is asked for, only what can carry one."""
    kinds = query.kinds or frozenset(kind for kind in Kind if query.versions and kind.is_resource)
    wanted = Filter(kinds=kinds, project=query.project, tags=query.tags)
    lights = {light.id: light for light in repo.catalog.select(wanted)}
    matches = [Match(entry_id, 0, 1.0) for entry_id in lights]
    place = {match.entry_id: number for number, match in enumerate(matches)}
    hits = _hits(repo, query._replace(limit=len(matches)), (), matches, versions, lights)
    return sorted(hits, key=lambda hit: (-(hit.entry.score or 0.0), place[hit.entry.id]))[: query.limit + SPARE]


def _notes(
    repo: Reading,
    versions: Versions,
    done: IndexRefresh = NOTHING_DONE,
    found: Candidates = NOTHING_FOUND,
    coverage: float = 1.0,
) -> list[str]:
    notes = [*repo.notes(), *versions.notes, done.rebuilt, *done.notes, found.note]
    if done.missing and not found.note:
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
    standings = {one: by for place in repo.every for one, by in place.usages.standings(lights.values()).items()}
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
    for one in ranked:
        if one.score >= least:
            pages.setdefault(_page(lights[one.match.entry_id]), []).append(one)
    hits = []
    for one, *others in (_newest_leads(page, lights) for page in list(pages.values())[: query.limit + SPARE]):
        light = lights[one.match.entry_id]
        also_in = {name for other in others for name in lights[other.match.entry_id].versions}
        hits.append(hit_of(one, light, query, phrases, newest_first(also_in.difference(light.versions))))
    return hits


def _passes(light: Light, query: Query, aliases: Mapping[str, str]) -> bool:
    """Whether it is not wrong, of a scope that is asked for, and, as a rule, of a context that is."""
    active = light.details.get("status") != "wrong"
    in_scope = not query.scopes or light.details.get("scope", "") in query.scopes
    in_context = light.kind is not Kind.RULE or not query.context_tags or belongs(light, query, aliases)
    return active and in_scope and in_context


def _newest_leads(page: Sequence[Ranked], lights: Mapping[str, Light]) -> Sequence[Ranked]:
    """The versions of a page with the newest of those in front that match about as well as the best."""
    close = [one for one in page if one.score >= CLOSE * page[0].score]
    order = newest_first({name for one in close for name in lights[one.match.entry_id].versions})
    places = {name: place for place, name in enumerate(order)}
    first = min(
        close, key=lambda one: min((places[v] for v in lights[one.match.entry_id].versions), default=len(order))
    )
    return [first, *(one for one in page if one is not first)]


def _page(light: Light) -> tuple[object, ...]:
    """What the versions of one page have in common: project, kind, and path below the version's folder."""
    below = light.path.split("/")[3:] if light.kind.is_resource else []
    return (light.tier, light.project, light.kind, *below) if below else (light.id,)


def _coverage(repo: Reading, missing: int) -> float:
    """The share of passages that have a vector; below 1 as long as one is missing."""
    passages = repo.indexing.passages() if missing else 0
    return min(max(round(1 - missing / passages, 4), 0.0), 0.9999) if passages else float(not missing)
