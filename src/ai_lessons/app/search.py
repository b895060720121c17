"""One search from question to ranked entries: candidates, fusion, factors, and the rules that come along."""

from __future__ import annotations

import re
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.app.answers import Answer, Hit, Query
from ai_lessons.app.contexts import SPARE, drop_superseded, judged, see_also, vouched, warnings
from ai_lessons.app.entries import Versions, approvals_of, asked_versions, not_here, what_there_is
from ai_lessons.errors import UsageError
from ai_lessons.model.entries import GLOBAL_PROJECT, KINDS, EntrySummary, Kind, Status
from ai_lessons.model.texts import stem
from ai_lessons.model.versions import newest_first
from ai_lessons.search import ranking
from ai_lessons.search.catalog import Asked, Filter, gist, one_project, parse_query
from ai_lessons.search.ranking import BAR, Candidates, Chance, IndexRefresh, Match, PassageFilter, Ranked, RankingFacts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from ai_lessons.app.workspace import Library, Reader, Reading

MOST = 5  # Rules that come along with one answer: agents read no more

# Cosine similarity from which a rule is about what was asked, for the pinned model. Of 24 rules, and 48 questions in
# other words, it lets 75 % pass that were meant (.50: 92, .60: 56), and 29 % of the others of the same domain (65, 12).
SIMILARITY = 0.55

WORDS = 0.5  # Share of the question's words from which a rule is about it, where there is no vector to tell

_COMMON = frozenset(
    ranking.QUERY_WORD.findall(
        "about and any are but can could did does for from get had has have how into its not our should that the their "
        "then there these this was were what when where which who why will with would you your"
    )
)


class Near(NamedTuple):
    """A rule as the searches found it, scored from 0 to 1; `enough` says that it is about what was asked."""

    match: Match
    enough: bool


def near(query: str, candidates: Candidates, rules: Mapping[str, EntrySummary], *, complete: bool) -> dict[str, Near]:
    """How close every rule is that the searches found, by its best passage.

    By cosine, else (unless `complete`: every passage has a vector) by the share of the question's words; all: always.
    """
    nearest: dict[str, Near] = {}
    asked = _words(query)

    def keep(hit: Match, similarity: float, *, enough: bool) -> None:
        best = nearest.get(hit.entry_id)
        if best is None or (enough, similarity) > (best.enough, best.match.score):
            nearest[hit.entry_id] = Near(hit._replace(score=similarity), enough)

    for hit in candidates.vectors:
        keep(hit, max(hit.score, 0.0), enough=hit.score >= SIMILARITY)
    with_vector = set(nearest)
    for hit in candidates.text:
        title = rules[hit.entry_id].title if hit.entry_id in rules else ""
        share = len(asked & _words(f"{title} {hit.heading} {hit.text}")) / len(asked) if asked else 0.0
        if share == 1.0 or not (complete or hit.entry_id in with_vector):
            keep(hit, share, enough=share >= WORDS)
    return nearest


def _words(text: str) -> set[str]:
    words = (word for word in ranking.words_of(text) if len(word) >= ranking.SHORT_WORD or not word.isascii())
    return {stem(word) for word in words if word not in _COMMON}


def pieces(text: str, query: str) -> list[tuple[str, bool]]:
    """A text in pieces, each with whether it is a word that the query has in some form, too. Raises UsageError."""
    asked = parse_query(query)
    folded, origin = "", list[int]()
    for place, letter in enumerate(text):  # one letter may be folded to several, or to none
        spelled = ranking.fold(letter).lower()
        folded += spelled
        origin += [place] * len(spelled)
    origin.append(len(text))
    done, result = 0, list[tuple[str, bool]]()
    for start, word in ranking.stem_positions(folded, _words(" ".join((asked.text, *asked.phrases)))):
        whole = None if re.match(ranking.CJK, word) else ranking.QUERY_WORD.match(folded, start)
        begin, end = origin[start], origin[whole.end() if whole else start + len(word)]
        if end > done:
            result += [(text[done:begin], False), (text[max(begin, done) : end], True)]
            done = end
    return [(piece, hit) for piece, hit in [*result, (text[done:], False)] if piece]


def belongs(rule: EntrySummary, query: Query, aliases: Mapping[str, str]) -> bool:
    """Whether a rule and what one is working on have a tag or project (whose name counts as a tag) in common.

    A context tag of weight <= 0 is no tag.
    """
    weights = ranking.context_weights(query.context_tags, aliases)
    tags = {tag for tag, weight in weights.items() if weight > 0}
    tags |= {aliases.get(tag, tag) for tag in (*query.tags, *([query.project] if query.project else []))}
    return not tags.isdisjoint(aliases.get(tag, tag) for tag in (*rule.tags, rule.project))


ALL_RULES = PassageFilter(kinds=frozenset({Kind.RULE.value}))
DEPTH = 50  # Passages of rules asked of each half: far more than can surface


def rules_for(
    repo: Reading, query: Query, candidates: Candidates, results: Sequence[EntrySummary], *, complete: bool
) -> list[Hit]:
    """Of the rules found, those that surface beside these results, at most `MOST`: by similarity x context boost.

    A rule that a link joins with a result is close enough. `complete`: no vector is missing.
    """
    joined = linked(repo.catalog, (light.id for light in results))
    lights = repo.catalog.many({hit.entry_id for hit in (*candidates.text, *candidates.vectors)} | joined)
    rules = {light.id: light for light in lights.values() if light.kind is Kind.RULE}
    close = near(query.text, candidates, rules, complete=complete and bool(candidates.vectors))
    projects = {GLOBAL_PROJECT, *(light.project for light in results), *([query.project] if query.project else [])}
    aliases = repo.reading_config.tag_aliases
    weights = ranking.context_weights(query.context_tags, aliases)
    surfacing = []
    for rule in rules.values():
        match, enough = close.get(rule.id, Near(Match(rule.id, 0, 0.0), enough=False))
        is_linked = rule.id in joined and (rule.project in projects or enough)
        if is_linked or (enough and belongs(rule, query, aliases)):
            similarity = max(match.score, SIMILARITY if is_linked else 0.0)
            boost = ranking.context_boost(weights, frozenset(rule.tags), aliases)
            surfacing.append(Ranked(match, similarity * boost, {"match": similarity, "context": boost}))
    surfacing.sort(key=lambda ranked: (-ranked.score, ranked.match.entry_id))
    return [hit_of(ranked, rules[ranked.match.entry_id], query) for ranked in surfacing[:MOST]]


def hit_of(ranked: Ranked, light: EntrySummary, query: Query, also_in: tuple[str, ...] = ()) -> Hit:
    """A ranked entry as a result; its snippet is the whole passage, for `_answering`."""
    light = light._replace(score=ranked.score, snippet=ranked.match.text or light.snippet)
    return Hit(light, ranked.match.heading, ranked.factors if query.explain else {}, also_in, ranked.match.section)


def _answering(hit: Hit, query: Query, phrases: Sequence[str] = ()) -> Hit:
    """The result with the sentence that answers in the place of its passage."""
    entry = hit.entry
    is_code = entry.kind is Kind.SCRIPT
    text = ranking.snippet(entry.snippet, query.text, phrases=phrases, title=entry.title, code=is_code)
    return hit._replace(entry=entry._replace(snippet=text))


def linked(catalog: Reader, ids: Iterable[str]) -> set[str]:
    """Whatever a link joins with one of these entries, either way round."""
    return {end for entry_id in ids for edge in catalog.edges(entry_id) for end in (edge.source, edge.target)}


RESULTS, MOST_RESULTS = 5, 10  # Without a limit: at least and at most, where the others score `ALSO` of the best
ALSO = 0.8
NEAREST = 5  # Results that are shown where none comes near the question; words alone tell less, and all are shown
CLOSE = 0.95  # Share of the best version's score from which on another version of a page is as good

FAR, FEW = 0.15, 20
"""Share of the best result's score below which results are left out, where more than so many are found."""


NEAR_BEST = 0.5  # Share of the best result's score from which on the rules linked with a result come along

TYPED = 5.0  # Seconds in which who types is answered without another look at the files
SEARCH_DEPTH = 100  # Passages asked of each half, more only for more results; measured in the recipe of `ranking`

NOTHING_DONE, NOTHING_FOUND = ranking.IndexRefresh(), ranking.Candidates()


def search(library: Library, query: Query) -> Answer:
    """Entries that fit the query, best first.

    With no embedding model, or while vectors are still missing, full text answers and `notes` says so.
    """
    repo = library.reading
    if not query.typing or any(monotonic() - part.refreshed_at > TYPED for part in repo.every):
        repo.current()
    answer = find(repo, query)
    asked = understood(query)[0]
    # what to contribute is what is not there, not what was not asked for; a person who asks for a kind wants that alone
    agent = library.primary.options.agent
    contributing = asked.kinds and asked.text and not query.typing and agent
    known_kinds = (
        find(repo, asked._replace(kinds=frozenset(), plain=True)).near_kinds if contributing else answer.near_kinds
    )
    if any(hit.entry.details.get("path") for hit in answer.hits):
        from ai_lessons.app.health import told_of_scripts

        moved = told_of_scripts(library, [hit.entry for hit in answer.hits])
        answer = answer._replace(notes=(*answer.notes, *moved))
    lights = [vouched(repo, light) for light in judged(repo, [hit.entry for hit in answer.hits])]
    # context tags may lift a score beyond 1
    hits = (
        hit._replace(entry=light._replace(score=min(light.score or 0.0, 1.0)))
        for hit, light in zip(answer.hits, lights, strict=True)
    )
    return answer._replace(
        hits=tuple(hits),
        prompt=_prompt(asked, answer, known_kinds, agent=bool(agent)),
        approvals=approvals_of(repo, (hit.entry for hit in answer.rules)) if query.approvals else {},
    )


def _prompt(asked: Query, answer: Answer, known_kinds: AbstractSet[Kind], *, agent: bool) -> str:
    """What to contribute, as far as the answer tells what is there."""
    filtered = asked.project or asked.tags or asked.versions
    if (answer.weak and answer.hits) or (asked.kinds and not agent) or (filtered and not answer.hits):
        return ""
    if answer.hits and not known_kinds:
        return ranking.UNSURE
    return ranking.gap_prompt({kind.folder: kind in known_kinds for kind in KINDS})


def find(repo: Reading, query: Query) -> Answer:
    """Hits, best first, and notes on how the answer came about, from the catalog as it was last brought up to date.

    With no kind asked for, the rules that surface come first and beside the limit. With some, only those are found:
    rules then by how well they match, and with context tags those that have one in common. With nothing but filters
    asked for, all that passes them is found, the newest of equal score first.

    Raises UsageError: nothing to search for, or filters that cannot all hold.
    """
    asked = query.text
    query, phrases = understood(query)
    limit, query = query.limit, query._replace(limit=query.limit or MOST_RESULTS)
    versions = asked_versions(repo, query)
    if not query.text:
        filtered = _by_filters(repo, query, versions)
        return filtered._replace(query=asked, hits=filtered.hits if limit else _few(filtered.hits))
    done = repo.indexing.refresh()
    surfacing = not query.kinds and any(part.rules.count for part in repo.every)
    depth = max(SEARCH_DEPTH, query.limit)
    kinds = query.kinds or frozenset(kind for kind in Kind if surfacing and kind is not Kind.RULE)
    filters = _passage_filter(repo, query, kinds, versions)._replace(phrases=phrases)
    begun = repo.indexing.begin(query.text, ALL_RULES, DEPTH) if surfacing else None
    candidates = repo.indexing.begin(query.text, filters, depth)()
    unheld = ""
    if phrases and not (candidates.text or candidates.vectors) and _query_words(phrases) < _query_words([query.text]):
        unheld = f"nothing holds {_or(repr(phrase) for phrase in phrases)} word by word: the words are looked for"
        phrases, filters = (), filters._replace(phrases=())
        candidates = repo.indexing.begin(query.text, filters, depth)()
    every = _unfiltered(repo, query, filters, candidates)
    found_rules = begun() if begun else NOTHING_FOUND
    passages = repo.indexing.passages() if done.missing else 0
    coverage = min(max(round(1 - done.missing / passages, 4), 0.0), 0.9999) if passages else float(not done.missing)
    likely, near, lead, lights_of = _near(repo, query.text, every, candidates, complete=not done.missing)
    # the best of a few vectors must not outrank the best of all texts
    weight = ranking.VECTOR_WEIGHT * candidates.read * (coverage if candidates.text and candidates.vectors else 1.0)
    whole = every.text, every.vectors
    matches = ranking.fuse(candidates.text, candidates.vectors, candidates.depth, weight, lead, whole)
    matches = tuple(match._replace(score=match.score * likely) for match in matches)
    # the chance of a model that was not measured is the bar itself
    bar = BAR if likely > BAR else NEAR_BEST * BAR
    weak = near.best < BAR and not phrases
    room = query._replace(limit=min(query.limit, NEAREST)) if weak and candidates.vectors else query
    shown = (*phrases, *ranking.names(query.text))
    hits = drop_superseded(repo, room, _hits(repo, room, matches, versions, lights_of))
    hits = hits if limit else list(_few(hits))
    near_note = nothing_near(repo, hits) if weak or not hits else ""
    remarks = [unheld, near_note, "" if hits else _what_there_is(repo, query)]
    if surfacing:
        least = max(bar, NEAR_BEST * (hits[0].entry.score or 0.0)) if hits else 0.0
        near_hits = [hit.entry for hit in hits if not weak and (hit.entry.score or 0.0) >= least]
        hits = rules_for(repo, query, found_rules, near_hits, complete=not done.missing) + hits
    hits = [_answering(hit, query, shown) for hit in hits]
    lights = [hit.entry for hit in hits]
    notes = [*_notes(repo, versions, done, candidates, coverage), *filter(None, remarks), *versions.stand_ins(lights)]
    notes += [*warnings(repo, lights), *see_also(repo, lights)]
    near_kinds = {lights_of[entry_id].kind for entry_id in near.covering if entry_id in lights_of}
    rules = {light.kind for light in lights if light.kind is Kind.RULE}
    kinds = frozenset() if weak else frozenset(near_kinds | rules)
    return Answer(asked, tuple(hits), notes=tuple(notes), coverage=coverage, weak=weak, near_kinds=kinds)


def _few(hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """The first results, and those of the others that are near the best."""
    least = ALSO * (hits[0].entry.score or 0.0) if hits else 0.0
    return (*hits[:RESULTS], *(hit for hit in hits[RESULTS:] if (hit.entry.score or 0.0) >= least))


def _by_filters(repo: Reading, query: Query, versions: Versions) -> Answer:
    """What passes the filters, from the catalog alone; where a version is asked for, only what can carry one."""
    kinds = query.kinds or frozenset(kind for kind in Kind if query.versions and kind.is_resource)
    selected = repo.catalog.select(Filter(kinds=kinds, project=query.project, tags=query.tags))
    by_id = {light.id: light for light in selected}
    places = {entry_id: place for place, entry_id in enumerate(by_id)}
    matches = [Match(entry_id, 0, 1.0) for entry_id in by_id]
    hits = _hits(repo, query._replace(limit=len(matches)), matches, versions, by_id)
    hits.sort(key=lambda hit: (-(hit.entry.score or 0.0), places[hit.entry.id]))
    hits = drop_superseded(repo, query, hits[: query.limit + SPARE])
    lights = [hit.entry for hit in hits]
    remarks = [] if hits else list(filter(None, [_what_there_is(repo, query)]))
    notes = [*_notes(repo, versions), *remarks, *versions.stand_ins(lights), *warnings(repo, lights)]
    return Answer(query.text, tuple(hits), notes=tuple(notes), near_kinds=frozenset(light.kind for light in lights))


def _near(
    repo: Reading, question: str, every: Candidates, candidates: Candidates, *, complete: bool
) -> tuple[float, Chance, frozenset[tuple[str, int]], dict[str, EntrySummary]]:
    """The chance that anything stored answers the question, and that what passes the filters (`candidates`) does.

    Also the passages that hold what it is about, and the entries by id.
    """
    hits = (*every.text, *every.vectors, *candidates.text, *candidates.vectors)
    lights = repo.catalog.many({hit.entry_id for hit in hits})

    def text_of(hit: Match) -> str:
        title = lights[hit.entry_id].title if hit.entry_id in lights else ""
        return f"{title} {hit.heading} {hit.text}"

    passages = repo.indexing.passages()
    holding, lead = ranking.holders(question, (*every.text, *candidates.text), text_of, every.read)
    near = ranking.chance(question, candidates, passages, text_of, complete=complete)
    whole = near if every is candidates else ranking.chance(question, every, passages, text_of, complete=complete)
    likely = whole.best
    if holding.intersection((hit.entry_id, hit.ordinal) for hit in candidates.text):
        near = near._replace(best=max(near.best, ranking.NAMED))
    return max(likely, ranking.NAMED) if holding else likely, near, lead, lights


def _unfiltered(repo: Reading, query: Query, filters: ranking.PassageFilter, candidates: Candidates) -> Candidates:
    """What is found without filters: a score is of question (of which phrases are a part) and entry."""
    kinds = frozenset(kind.value for kind in Kind if kind is not Kind.RULE) if query.kinds else filters.kinds
    unfiltered = PassageFilter(kinds, versions_of=filters.versions_of, phrases=filters.phrases)
    return candidates if unfiltered == filters else repo.indexing.begin(query.text, unfiltered, candidates.depth)()


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
    parsed = Asked(" ".join(query.text.split())) if query.plain else parse_query(query.text)
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
    return asked, parsed.phrases if 2 * _query_words(parsed.phrases) >= _query_words([asked.text]) else ()


def _query_words(texts: Iterable[str]) -> int:
    return sum(any(map(str.isalnum, word)) for text in texts for word in text.split())


def _or(names: Iterable[str]) -> str:
    return " or ".join(sorted(names))


def _passage_filter(repo: Reading, query: Query, kinds: AbstractSet[Kind], versions: Versions) -> PassageFilter:
    tallies = repo.catalog.versions() if versions.others or versions.of_project else ()
    of_any, of_project = versions.spellings(tally.name for tally in tallies)
    names = frozenset(kind.value for kind in kinds)
    return PassageFilter(names, query.project, tuple(query.tags), versions=of_any, versions_of=of_project)


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
    matches: Sequence[Match],
    versions: Versions,
    lights: Mapping[str, EntrySummary],
) -> list[Hit]:
    standings = {
        entry_id: by for place in repo.every for entry_id, by in place.usages.standings(lights.values()).items()
    }
    aliases = repo.reading_config.tag_aliases
    ranked = ranking.rank(
        matches,
        {
            entry_id: RankingFacts(
                light.id,
                frozenset(light.tags),
                frozenset(light.versions),
                standings.get(light.id, 1.0),
                versioned=light.kind.is_resource,
                asked=versions.of(light.project),
                distance=repo.tier_distance(light.tier),
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
        hits.append(hit_of(leader, light, query, newest_first(also_in.difference(light.versions))))
    return hits


def _passes(light: EntrySummary, query: Query, aliases: Mapping[str, str]) -> bool:
    """Whether it is not wrong, of a scope that is asked for, and, as a rule, of a context that is."""
    active = light.details.get("status") != Status.WRONG
    in_scope = not query.scopes or light.details.get("scope", "") in query.scopes
    in_context = light.kind is not Kind.RULE or not query.context_tags or belongs(light, query, aliases)
    return active and in_scope and in_context


def _newest_leads(page: Sequence[Ranked], lights: Mapping[str, EntrySummary]) -> Sequence[Ranked]:
    """The versions of a page with the newest of those in front that match about as well as the best."""
    close = [ranked for ranked in page if ranked.score >= CLOSE * page[0].score]
    order = newest_first({name for ranked in close for name in lights[ranked.match.entry_id].versions})
    places = {name: place for place, name in enumerate(order)}
    first = min(
        close, key=lambda ranked: min((places[v] for v in lights[ranked.match.entry_id].versions), default=len(order))
    )
    return [first, *(ranked for ranked in page if ranked is not first)]


def _page(light: EntrySummary) -> tuple[object, ...]:
    """What the versions of one page have in common: project, kind, and path below the version's folder."""
    below = light.path.split("/")[3:] if light.kind.is_resource else []
    return (light.tier, light.project, light.kind, *below) if below else (light.id,)
