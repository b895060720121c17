"""One search from question to ranked entries.

Begin with `search` and `find`: `asking`, `gathering`, `judging`, then its order and its words.
"""

from __future__ import annotations

from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING

from ai_lessons import app
from ai_lessons.app.answers import Answer, Hit
from ai_lessons.app.asking import ask
from ai_lessons.app.gathering import gather
from ai_lessons.app.history_of_entries import approvals_of
from ai_lessons.app.judging import judge, with_words
from ai_lessons.app.link_effects import LINK_LIMITS, drop_superseded, see_also, vouched, warnings
from ai_lessons.app.notes import notes_on, with_verdicts
from ai_lessons.app.versions_asked import not_here, what_there_is
from ai_lessons.errors import StorageFailed
from ai_lessons.model.entries import GLOBAL_PROJECT, Filter, Kind, Status
from ai_lessons.model.versions import newest_first, released_first
from ai_lessons.search import answer_chance, question_names, ranking, relevance, snippets
from ai_lessons.search.answer_chance import BAR
from ai_lessons.search.ranking import NEAR_BEST, Ranked, RankingFacts
from ai_lessons.search.rows import Match

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from ai_lessons.app.answers import Query
    from ai_lessons.app.asking import Asking
    from ai_lessons.app.gathering import Gathered
    from ai_lessons.app.judging import Likelihoods
    from ai_lessons.app.options import Options
    from ai_lessons.app.versions_asked import Versions
    from ai_lessons.app.workspace import Library, Reading
    from ai_lessons.model.entries import EntrySummary
    from ai_lessons.search.catalog_reader import CatalogReader

# Rules of one answer, and results at least where no limit is stated: agents read no more
RESULTS = 5


def belongs(rule: EntrySummary, query: Query, aliases: Mapping[str, str]) -> bool:
    """Whether a rule and what one is working on have a tag or project (whose name counts as a tag) in common.

    A context tag of weight <= 0 is no tag.
    """
    weights = ranking.context_weights(query.context_tags, aliases)
    tags = {tag for tag, weight in weights.items() if weight > 0}
    asked = list(query.filters.tags)
    if query.filters.project:
        asked.append(query.filters.project)
    tags.update(aliases.get(tag, tag) for tag in asked)
    return not tags.isdisjoint(aliases.get(tag, tag) for tag in (*rule.tags, rule.project))


def rules_for(
    repo: Reading, asked: Asking, likelihoods: Likelihoods, results: Sequence[EntrySummary]
) -> list[Hit]:
    """The rules that stand first, at most `RESULTS`, by chance x context boost.

    Answers, and what comes along.

    An answer holds a rare word of the question, or all its words, or is about as likely one as the
    best rule there is, where nothing else is one. What else is likely comes along where it has a
    tag or project in common with what one is working on, and what a link joins with a result of its
    project always.
    """
    joined = linked(repo.catalog, [summary.id for summary in results])
    summaries = repo.catalog.many(likelihoods.rules.of.keys() | joined)
    rules = {name: rule for name, rule in summaries.items() if rule.kind is Kind.RULE}
    query, aliases = asked.query, repo.reading_config.tag_aliases
    projects = {GLOBAL_PROJECT}
    if query.filters.project:
        projects.add(query.filters.project)
    weights = ranking.context_weights(query.context_tags, aliases)
    least = max(BAR, NEAR_BEST * max(likelihoods.near.best, likelihoods.rules.best))
    filtered = bool(query.filters.project or query.filters.tags)
    surfacing: list[Ranked] = []
    beside = max(likelihoods.near.of.values(), default=0.0)
    at_home = _rules_of_the_results_own_project(repo.catalog, rules, results, projects)
    for rule in rules.values():
        chance, has_overlap = likelihoods.rules.of.get(rule.id, 0.0), belongs(rule, query, aliases)
        enough = chance >= BAR
        meant = rule.id in likelihoods.rare or chance >= answer_chance.NAMED
        # by its meaning alone a rule is an answer only where nothing else is about as likely one
        meant = meant or (chance >= least and beside < NEAR_BEST * chance)
        answers = enough and meant and (has_overlap or not filtered)
        along = rule.id in joined and (enough or rule.project in projects or rule.id in at_home)
        if answers or (enough and has_overlap) or along:
            match = likelihoods.rule_matches.get(rule.id, Match(rule.id, 0, 0.0))
            boost = ranking.context_boost(weights, frozenset(rule.tags), aliases)
            surfacing.append(Ranked(match, chance * boost, {"match": chance, "context": boost}))
    surfacing.sort(key=lambda ranked: (-ranked.score, ranked.match.entry_id))
    return [hit_of(ranked, rules[ranked.match.entry_id], query) for ranked in surfacing[:RESULTS]]


def _rules_of_the_results_own_project(
    catalog: CatalogReader,
    rules: Mapping[str, EntrySummary],
    results: Sequence[EntrySummary],
    asked_projects: AbstractSet[str],
) -> set[str]:
    """Rules that a result links to in its own project, although the question names another one."""
    at_home: set[str] = set()
    for result in results:
        if result.project in asked_projects:
            # these come along anyway
            continue
        for linked_id in linked(catalog, [result.id]):
            rule = rules.get(linked_id)
            if rule is not None and rule.project == result.project:
                at_home.add(rule.id)
    return at_home


def hit_of(
    ranked: Ranked, summary: EntrySummary, query: Query, also_in: tuple[str, ...] = ()
) -> Hit:
    """A ranked entry as a result; its snippet is the whole passage, for `_answering`."""
    summary = summary._replace(score=ranked.score, snippet=ranked.match.text or summary.snippet)
    factors: Mapping[str, float] = {}
    if query.explain:
        factors = ranked.factors
    return Hit(summary, ranked.match.heading, factors, also_in, ranked.match.section)


def _answering(hit: Hit, query: Query, phrases: Sequence[str] = ()) -> Hit:
    """The result with the sentence that answers in the place of its passage."""
    entry = hit.entry
    is_code = entry.kind is Kind.SCRIPT
    text = snippets.snippet(
        entry.snippet, query.text, phrases=phrases, title=entry.title, code=is_code
    )
    return hit._replace(entry=entry._replace(snippet=text))


def linked(catalog: CatalogReader, ids: Iterable[str]) -> set[str]:
    """Whatever a link joins with one of these entries, either way round."""
    ends: set[str] = set()
    for entry_id in ids:
        for edge in catalog.edges(entry_id):
            ends |= {edge.source, edge.target}
    return ends


# Seconds in which who types on the page, which asks at every key, is answered without a look at the
# files
TYPED = 5.0

PROMPT = "If you find out, add a lesson."
# Under which a session remembers that its agent was asked
_GAP = "gap"


def search(library: Library, query: Query) -> Answer:
    """Entries that fit the query, best first.

    With no embedding model, or while vectors are still missing, full text answers and `notes` says
    so.
    """
    repo = library.reading
    if not query.typing or any(monotonic() - part.refreshed_at > TYPED for part in repo.every):
        repo.current()
    answer = find(repo, query)
    entries = [hit.entry for hit in answer.hits]
    notes = [*answer.notes, *notes_on(library, entries)]
    if any(entry.doubts.masked for entry in entries):
        notes += app.edited_files.masked(entries)
    answer = answer._replace(notes=tuple(notes))
    hits: list[Hit] = []
    for hit, judged in zip(answer.hits, with_verdicts(repo, entries), strict=True):
        summary = vouched(repo, judged)
        # context tags may lift a score beyond 1
        score = min(summary.score or 0.0, 1.0)
        hits.append(hit._replace(entry=summary._replace(score=score)))
    prompt = ""
    by_agent = query.approvals or bool(library.primary.options.agent)
    is_gap = (answer.nothing or answer.weak) and not query.typing
    if is_gap and by_agent and _first_time(library.primary.options, query.connection):
        prompt = PROMPT
    approvals = {}
    if query.approvals:
        approvals = approvals_of(repo, [hit.entry for hit in answer.rules])
    return answer._replace(
        hits=tuple(hits),
        whole=bool(query.limit),
        prompt=prompt,
        approvals=approvals,
    )


def _first_time(options: Options, connection: str) -> bool:
    """Whether the agent that calls was not asked for a contribution in this session yet.

    A connection of MCP is a session; without one nobody knows what was asked before.
    """
    name = options.session or connection
    if not name:
        return False
    with (
        suppress(StorageFailed),
        app.agent_sessions.opened(options.state_dir, name) as session,
    ):
        return bool(session.fresh(_GAP, ["asked"]))
    return False


def find(repo: Reading, query: Query) -> Answer:
    """Hits, best first, and notes on how the answer came about, from the catalog as it was last brought up to date.

    With no kind asked for, rules come first and beside the limit. With some, only those are found: rules then by how
    well they match, and with context tags those that have one in common. With nothing but filters asked for, all that
    passes them is found, the newest of equal score first.

    Raises UsageError: nothing to search for, or filters that cannot all hold.
    """
    asked = ask(repo, query)
    if not asked.query.text:
        return _by_filters(repo, asked)
    gathered = gather(repo, asked)
    likelihoods = judge(gathered)
    if likelihoods.weak or any(chance >= BAR for chance in likelihoods.rules.of.values()):
        likelihoods = with_words(repo, gathered, likelihoods)
    return tell(repo, gathered, likelihoods, order(repo, gathered, likelihoods))


def order(repo: Reading, gathered: Gathered, likelihoods: Likelihoods) -> list[Hit]:
    """The results in their order, rules first.

    Where nothing is surely an answer, those of them that may be one.
    """
    asked, candidates = gathered.asked, gathered.candidates
    scale = gathered.every.text, gathered.every.vectors
    weight = candidates.read * ranking.weight_of_vectors(*scale)
    # the best of a few vectors must not outrank the best of all texts
    if candidates.text and candidates.vectors:
        weight *= gathered.coverage
    matches = ranking.fuse(
        candidates.text,
        candidates.vectors,
        candidates.depth,
        weight,
        likelihoods.lead,
        likelihoods.headed,
        scale,
    )
    matches = tuple(match._replace(score=match.score * likelihoods.whole.best) for match in matches)
    hits = drop_superseded(
        repo, asked.query, _hits(repo, asked.query, matches, asked.versions, gathered.summaries)
    )
    if asked.few:
        hits = list(_few(hits))
    if asked.query.filters.kinds:
        return hits
    near: list[EntrySummary] = []
    if hits and not likelihoods.weak:
        least = max(BAR, NEAR_BEST * (hits[0].entry.score or 0.0))
        near = [hit.entry for hit in hits if (hit.entry.score or 0.0) >= least]
    rules = rules_for(repo, asked, likelihoods, near)
    if rules and likelihoods.weak:
        return rules
    return rules + hits


def answering(
    repo: Reading, gathered: Gathered, likelihoods: Likelihoods, hits: Sequence[Hit], *, weak: bool
) -> tuple[list[Hit], float]:
    """Those of the results that are answers, or may be one, and the score that an answer needs.

    All who asks for all.

    Rules are judged where they are chosen, unless they are all that is asked for. What a context
    adds to a score makes no other entry worse.
    """
    query, aliases = gathered.asked.query, repo.reading_config.tag_aliases
    weights = ranking.context_weights(query.context_tags, aliases)
    ranked: list[Hit] = []
    scores: list[float] = []
    # the chance of the likeliest rule that stands beside the results
    beside = 0.0
    for hit in hits:
        if hit.entry.kind is Kind.RULE and not query.filters.kinds:
            beside = max(beside, likelihoods.rules.of.get(hit.entry.id, 0.0))
            continue
        boost = ranking.context_boost(weights, frozenset(hit.entry.tags), aliases)
        ranked.append(hit)
        scores.append((hit.entry.score or 0.0) / (boost or 1.0))
    chances = [likelihoods.near.of.get(hit.entry.id) for hit in ranked]
    listed, bar = relevance.answers(scores, chances, beside)
    candidates = gathered.candidates
    unmeasured = bool(candidates.vectors) and candidates.model not in answer_chance.MEASURED
    if query.every or query.filters.phrases or unmeasured:
        return list(hits), 0.0
    if weak and not likelihoods.unsure:
        return [], BAR
    if weak:
        nearest = sorted(ranked, key=lambda hit: -likelihoods.rare.get(hit.entry.id, 0.0))
        return nearest[: relevance.BARS.maybe], BAR
    below = {hit.entry.id for hit, is_listed in zip(ranked, listed, strict=True) if not is_listed}
    return [hit for hit in hits if hit.entry.id not in below], bar


def tell(
    repo: Reading, gathered: Gathered, likelihoods: Likelihoods, hits: Sequence[Hit]
) -> Answer:
    """The answer with the sentences that answer, and what the reader should know.

    One line where nothing is near.
    """
    asked, coverage = gathered.asked, gathered.coverage
    kinds = {hit.entry.kind for hit in hits}
    rule_answers = Kind.RULE in kinds and not asked.query.filters.kinds
    weak = bool(hits) and likelihoods.weak and not rule_answers
    listed, bar = answering(repo, gathered, likelihoods, hits, weak=weak)
    shown = (*asked.query.filters.phrases, *question_names.names(asked.query.text))
    results: list[Hit] = []
    for hit in listed:
        results.append(_answering(hit, asked.query, shown)._replace(weak=weak))
    nearest, title = None, ""
    if weak:
        nearest = hits[0].entry
        if not listed:
            title = nearest.title
    return Answer(
        asked.typed,
        tuple(results),
        notes=_notes(repo, asked, listed, gathered, nearest=nearest),
        coverage=coverage,
        weak=weak,
        bar=round(bar, 4),
        below=len(hits) - len(listed),
        nearest=title,
    )


def _few(hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """The first results, and those of the others that are near the best."""
    if not hits:
        return ()
    least = NEAR_BEST * (hits[0].entry.score or 0.0)
    near = [hit for hit in hits[RESULTS:] if (hit.entry.score or 0.0) >= least]
    return (*hits[:RESULTS], *near)


def _by_filters(repo: Reading, asked: Asking) -> Answer:
    """What passes the filters, from the catalog alone.

    Where a version is asked for, only what can carry one.
    """
    query, versions = asked.query, asked.versions
    kinds = query.filters.kinds
    if query.filters.versions and not kinds:
        kinds = frozenset(kind for kind in Kind if kind.is_resource)
    selected = repo.catalog.select(query.filters._replace(kinds=kinds, versions=()))
    by_id = {summary.id: summary for summary in selected}
    places = {entry_id: place for place, entry_id in enumerate(by_id)}
    matches = [Match(entry_id, 0, 1.0) for entry_id in by_id]
    hits = _hits(repo, query._replace(limit=len(matches)), matches, versions, by_id)
    hits.sort(key=lambda hit: (-(hit.entry.score or 0.0), places[hit.entry.id]))
    hits = drop_superseded(repo, query, hits[: query.limit + LINK_LIMITS.spare])
    if asked.few:
        hits = list(_few(hits))
    return Answer(asked.typed, tuple(hits), notes=_notes(repo, asked, hits))


def nothing_near(repo: Reading, hits: Sequence[Hit], nearest: EntrySummary | None) -> str:
    """One line where there is nothing to show, or nothing that is surely an answer."""
    if hits:
        return "unsure: nothing here is surely an answer"
    if nearest:
        return f"nothing near; the nearest is {nearest.handle} ({nearest.score or 0:.2f} of 1)"
    stored = repo.catalog.count(Filter(status=None))
    if stored == 1:
        return "the one entry stored here does not match"
    if stored:
        return f"none of the {stored} entries stored here matches"
    return "nothing is stored here yet"


def _what_there_is(repo: Reading, query: Query) -> str:
    missing = not_here(
        repo.catalog, {"project": (query.filters.project or "",), "tag": query.filters.tags}
    )
    return "; ".join(missing or what_there_is(query, repo.catalog.versions_of_projects()))


def _notes(
    repo: Reading,
    asked: Asking,
    hits: Sequence[Hit],
    gathered: Gathered | None = None,
    *,
    nearest: EntrySummary | None = None,
) -> tuple[str, ...]:
    """What the reader should know, each once.

    Of the index little where nothing is near (`nearest`: what is then).
    """
    notes, summaries = [*repo.notes(), *asked.versions.notes], [hit.entry for hit in hits]
    weak = nearest is not None
    if gathered:
        notes += [*gathered.done.notes, gathered.remark]
        if weak or not hits:
            notes.insert(0, nothing_near(repo, hits, nearest))
        else:
            background = repo.options.warm is not None
            notes.append(gathered.done.rebuilt)
            notes.append(gathered.candidates.note or _missing(gathered, background=background))
    if not (hits or weak):
        notes.append(_what_there_is(repo, asked.query))
    elif not weak:
        notes += [*asked.versions.stand_ins(summaries), *warnings(repo, summaries)]
        if gathered:
            notes += see_also(repo, summaries)
    return tuple(dict.fromkeys(filter(None, notes)))


def _missing(gathered: Gathered, *, background: bool) -> str:
    """That vectors are missing, and who computes them; empty where none is."""
    if not gathered.done.missing:
        return ""
    by_words = f"{gathered.done.missing:,} are found by their words alone"
    how = "`ai-lessons admin reindex` completes them"
    if background:
        by_words, how = (
            f"{by_words} until theirs is computed",
            "`ai-lessons admin status` shows how far it is",
        )
    return f"{100 * gathered.coverage:.0f} % of the passages have a vector; {by_words}: {how}"


def _hits(
    repo: Reading,
    query: Query,
    matches: Sequence[Match],
    versions: Versions,
    summaries: Mapping[str, EntrySummary],
) -> list[Hit]:
    facts = _facts(repo, query, versions, summaries)
    ranked = ranking.rank(
        matches, facts, context=query.context_tags, aliases=repo.reading_config.tag_aliases
    )
    pages: dict[tuple[object, ...], list[Ranked]] = {}
    for result in ranked:
        pages.setdefault(_page(summaries[result.match.entry_id]), []).append(result)
    hits = []
    for page in list(pages.values())[: query.limit + LINK_LIMITS.spare]:
        leader, *siblings = _newest_leads(page, summaries)
        summary = summaries[leader.match.entry_id]
        also_in: set[str] = set()
        for sibling in siblings:
            also_in.update(summaries[sibling.match.entry_id].versions)
        also_in.difference_update(summary.versions)
        hits.append(hit_of(leader, summary, query, newest_first(also_in)))
    return hits


def _facts(
    repo: Reading, query: Query, versions: Versions, summaries: Mapping[str, EntrySummary]
) -> dict[str, RankingFacts]:
    """What ranks an entry besides its text, of those that may be shown."""
    aliases, standings = repo.reading_config.tag_aliases, dict[str, float]()
    for place in repo.every:
        standings |= place.learned.standings(summaries.values())
    facts: dict[str, RankingFacts] = {}
    for entry_id, summary in summaries.items():
        if _passes(summary, query, aliases):
            facts[entry_id] = RankingFacts(
                summary.id,
                frozenset(summary.tags),
                frozenset(summary.versions),
                standings.get(summary.id, 1.0) * ranking.of_a_log(query.text, summary),
                versioned=summary.kind.is_resource,
                asked=versions.of(summary.project),
                distance=repo.tier_distance(summary.tier),
            )
    return facts


def _passes(summary: EntrySummary, query: Query, aliases: Mapping[str, str]) -> bool:
    """Whether it is not wrong, and, as a rule, of a context that is asked for."""
    if summary.status == Status.WRONG:
        return False
    if summary.kind is not Kind.RULE or not query.context_tags:
        return True
    return belongs(summary, query, aliases)


def _newest_leads(
    page: Sequence[Ranked], summaries: Mapping[str, EntrySummary]
) -> Sequence[Ranked]:
    """The versions of a page with the newest of those in front that match about as well as the best."""
    close = [ranked for ranked in page if ranked.score >= NEAR_BEST * page[0].score]
    versions: set[str] = set()
    for ranked in close:
        versions.update(summaries[ranked.match.entry_id].versions)
    places = {name: place for place, name in enumerate(released_first(versions))}

    def place_of(ranked: Ranked) -> int:
        names = summaries[ranked.match.entry_id].versions
        # what states no version comes behind all that do
        return min((places[name] for name in names), default=len(places))

    first = min(close, key=place_of)
    return [first, *(ranked for ranked in page if ranked is not first)]


def _page(summary: EntrySummary) -> tuple[object, ...]:
    """What the versions of one page have in common.

    Project, kind, and path below the version's folder.
    """
    below = summary.path.split("/")[3:]
    if summary.kind.is_resource and below:
        return (summary.tier, summary.project, summary.kind, *below)
    return (summary.id,)
