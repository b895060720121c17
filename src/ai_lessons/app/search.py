"""One search from question to ranked entries.

Candidates, fusion, factors, and the rules that come along.
"""

from __future__ import annotations

import re
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons import app
from ai_lessons.app.answers import Answer, Hit, Query
from ai_lessons.app.entries import Versions, approvals_of, asked_versions, not_here, what_there_is
from ai_lessons.app.link_effects import (
    SPARE,
    drop_superseded,
    replaced,
    see_also,
    vouched,
    warnings,
)
from ai_lessons.app.notes import notes_on, with_verdicts
from ai_lessons.errors import StorageFailed, UsageError
from ai_lessons.model.entries import (
    GLOBAL_PROJECT,
    LESSONS,
    NO_LONGER,
    EntrySummary,
    Filter,
    Kind,
    Status,
)
from ai_lessons.model.languages import stem
from ai_lessons.model.versions import newest_first, released_first
from ai_lessons.search import (
    answer_chance,
    question_names,
    ranking,
    relevance,
    rows,
    snippets,
    tokens,
)
from ai_lessons.search.answer_chance import BAR, Chance
from ai_lessons.search.catalog_reader import CatalogReader
from ai_lessons.search.query_text import gist, one_project, parse_query
from ai_lessons.search.ranking import NEAR_BEST, Ranked, RankingFacts
from ai_lessons.search.rows import Candidates, IndexRefresh, Match

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from ai_lessons.app.options import Options
    from ai_lessons.app.workspace import Library, Reading, RepositorySession

# Rules of one answer, and results at least where no limit is stated: agents read no more
RESULTS = 5

_COMMON = frozenset(
    tokens.QUERY_WORD.findall(
        "about and any are but can could did does for from get had has have how into its not our should that the their "
        "then there these this was were what when where which who why will with would you your"
    )
)


def _words(text: str) -> set[str]:
    words = (
        word
        for word in tokens.words_of(text)
        if len(word) >= snippets.SHORT_WORD or not word.isascii()
    )
    results: set[str] = set()
    for word in words:
        if word not in _COMMON:
            results.add(stem(word))
    return results


def pieces(text: str, query: str) -> list[tuple[str, bool]]:
    """A text in pieces, each with whether it is a word that the query has in some form, too.

    Raises UsageError.
    """
    words, filters = parse_query(query)
    folded, origin = "", list[int]()
    for place, letter in enumerate(text):
        # one letter may be folded to several, or to none
        spelled = tokens.fold(letter).lower()
        folded += spelled
        origin += [place] * len(spelled)
    origin.append(len(text))
    done, result = 0, list[tuple[str, bool]]()
    for start, word in tokens.stem_positions(folded, _words(" ".join((words, *filters.phrases)))):
        whole = None
        if not re.match(tokens.CJK, word):
            whole = tokens.QUERY_WORD.match(folded, start)
        begin, end = origin[start], origin[whole.end() if whole else start + len(word)]
        if end > done:
            result += [(text[done:begin], False), (text[max(begin, done) : end], True)]
            done = end
    pieces: list[tuple[str, bool]] = []
    for piece, hit in [*result, (text[done:], False)]:
        if piece:
            pieces.append((piece, hit))
    return pieces


def belongs(rule: EntrySummary, query: Query, aliases: Mapping[str, str]) -> bool:
    """Whether a rule and what one is working on have a tag or project (whose name counts as a tag) in common.

    A context tag of weight <= 0 is no tag.
    """
    weights = ranking.context_weights(query.context_tags, aliases)
    tags = set()
    for tag, weight in weights.items():
        if weight > 0:
            tags.add(tag)
    filters = query.filters
    tags |= {
        aliases.get(tag, tag)
        for tag in (*filters.tags, *([filters.project] if filters.project else []))
    }
    return not tags.isdisjoint(aliases.get(tag, tag) for tag in (*rule.tags, rule.project))


ALL_RULES = Filter(kinds=frozenset({Kind.RULE}))


def rules_for(
    repo: Reading, asked: Asking, judged: Judged, results: Sequence[EntrySummary]
) -> list[Hit]:
    """The rules that stand first, at most `RESULTS`, by chance x context boost.

    Answers, and what comes along.

    An answer holds a rare word of the question, or all its words, or is about as likely one as the
    best rule there is, where nothing else is one. What else is likely comes along where it has a
    tag or project in common with what one is working on, and what a link joins with a result of its
    project always.
    """
    joined = linked(repo.catalog, (summary.id for summary in results))
    summaries = repo.catalog.many(judged.rules.of.keys() | joined)
    rules = {}
    for summary in summaries.values():
        if summary.kind is Kind.RULE:
            rules[summary.id] = summary
    query, aliases = asked.query, repo.reading_config.tag_aliases
    projects = {GLOBAL_PROJECT, *([query.filters.project] if query.filters.project else [])}
    weights = ranking.context_weights(query.context_tags, aliases)
    least = max(BAR, NEAR_BEST * max(judged.near.best, judged.rules.best))
    filtered, surfacing = bool(query.filters.project or query.filters.tags), list[Ranked]()
    beside = max(judged.near.of.values(), default=0.0)
    at_home = set()
    for project in {summaries[entry_id].project for entry_id in joined & rules.keys()} - projects:
        for entry_id in linked(
            repo.catalog, (summary.id for summary in results if summary.project == project)
        ):
            if entry_id in rules and rules[entry_id].project == project:
                at_home.add(entry_id)
    for rule in rules.values():
        chance, has_overlap = judged.rules.of.get(rule.id, 0.0), belongs(rule, query, aliases)
        enough = chance >= BAR
        meant = rule.id in judged.rare or chance >= answer_chance.NAMED
        # by its meaning alone a rule is an answer only where nothing else is about as likely one
        meant = meant or (chance >= least and beside < NEAR_BEST * chance)
        answers = enough and meant and (has_overlap or not filtered)
        along = rule.id in joined and (enough or rule.project in projects or rule.id in at_home)
        if answers or (enough and has_overlap) or along:
            match = judged.rule_matches.get(rule.id, Match(rule.id, 0, 0.0))
            boost = ranking.context_boost(weights, frozenset(rule.tags), aliases)
            surfacing.append(Ranked(match, chance * boost, {"match": chance, "context": boost}))
    surfacing.sort(key=lambda ranked: (-ranked.score, ranked.match.entry_id))
    return [hit_of(ranked, rules[ranked.match.entry_id], query) for ranked in surfacing[:RESULTS]]


def hit_of(
    ranked: Ranked, summary: EntrySummary, query: Query, also_in: tuple[str, ...] = ()
) -> Hit:
    """A ranked entry as a result; its snippet is the whole passage, for `_answering`."""
    summary = summary._replace(score=ranked.score, snippet=ranked.match.text or summary.snippet)
    return Hit(
        summary,
        ranked.match.heading,
        ranked.factors if query.explain else {},
        also_in,
        ranked.match.section,
    )


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
    results: set[str] = set()
    for entry_id in ids:
        for edge in catalog.edges(entry_id):
            for end in (edge.source, edge.target):
                results.add(end)
    return results


# Seconds in which who types on the page, which asks at every key, is answered without a look at the
# files
TYPED = 5.0

# bench.retrieval: passages asked of each half of the index, more only for more results
DEPTH = 100
PROMPT = "If you find out, add a lesson."
# Under which a session remembers that its agent was asked
_GAP = "gap"

NOTHING_FOUND = rows.Candidates()


def search(library: Library, query: Query) -> Answer:
    """Entries that fit the query, best first.

    With no embedding model, or while vectors are still missing, full text answers and `notes` says
    so.
    """
    repo = library.reading
    if not query.typing or any(monotonic() - part.refreshed_at > TYPED for part in repo.every):
        repo.current()
    answer = find(repo, query)
    answer = answer._replace(
        notes=(*answer.notes, *notes_on(library, [hit.entry for hit in answer.hits]))
    )
    if any(hit.entry.masked for hit in answer.hits):
        masked = app.edited_files.masked(hit.entry for hit in answer.hits)
        answer = answer._replace(notes=(*answer.notes, *masked))
    summaries = []
    for summary in with_verdicts(repo, [hit.entry for hit in answer.hits]):
        summaries.append(vouched(repo, summary))
    # context tags may lift a score beyond 1
    hits = (
        hit._replace(entry=summary._replace(score=min(summary.score or 0.0, 1.0)))
        for hit, summary in zip(answer.hits, summaries, strict=True)
    )
    by_agent = query.approvals or bool(library.primary.options.agent)
    is_gap = answer.nothing or answer.weak
    if (
        is_gap
        and not query.typing
        and by_agent
        and _first_time(library.primary.options, query.connection)
    ):
        prompt = PROMPT
    else:
        prompt = ""
    if query.approvals:
        approvals = approvals_of(repo, (hit.entry for hit in answer.rules))
    else:
        approvals = {}
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
    seen = judge(gathered)
    if seen.weak or any(chance >= BAR for chance in seen.rules.of.values()):
        seen = seen._replace(rare=rare_holders(repo, gathered))
    return tell(repo, gathered, seen, order(repo, gathered, seen))


class Asking(NamedTuple):
    """A question as it is looked for.

    `typed` is its text as it was, `few` that no limit was stated.
    """

    typed: str
    query: Query
    versions: Versions
    few: bool

    @property
    def kinds(self) -> frozenset[Kind]:
        """The kinds among which results are ranked.

        Rules are found beside them unless kinds are asked for.
        """
        return self.query.filters.kinds or frozenset(Kind) - {Kind.RULE}


def ask(repo: Reading, query: Query) -> Asking:
    """What is asked for, with all that the words say beside the question.

    Raises UsageError as `find`.
    """
    asked = understood(query)
    limit = asked.limit or answer_chance.MOST
    return Asking(
        query.text, asked._replace(limit=limit), asked_versions(repo, asked), few=not asked.limit
    )


class Gathered(NamedTuple):
    """What the index found.

    `candidates` pass the filters, `every` passes none but phrases, `rules` are all rules.
    """

    asked: Asking
    done: IndexRefresh
    candidates: Candidates
    every: Candidates
    rules: Candidates
    summaries: Mapping[str, EntrySummary]
    passages: int
    remark: str = ""

    @property
    def coverage(self) -> float:
        """The share of the passages that have a vector; 1.0 only where none is missing."""
        missing = self.done.missing
        if self.passages:
            share = round(1 - missing / self.passages, 4)
        else:
            share = float(not missing)
        if missing:
            return min(max(share, 0.0), 0.9999)
        return 1.0


def gather(repo: Reading, asked: Asking) -> Gathered:
    """Ask the index for passages by words and by vector, and the catalog for their entries."""
    done, query, remark = refresh(repo), asked.query, ""
    with_rules = not query.filters.kinds and any(part.rules.count for part in repo.every)
    begun = None
    if with_rules:
        begun = begin(repo, query.text, ALL_RULES, DEPTH)
    depth, filters = max(DEPTH, query.limit), _of_index(repo, asked)
    candidates = begin(repo, query.text, filters, depth)()
    if (
        query.filters.phrases
        and not (candidates.text or candidates.vectors)
        and not _is_phrase(query)
    ):
        remark = f"nothing holds {_or(map(repr, query.filters.phrases))} word by word: the words are looked for"
        asked = asked._replace(query=query._replace(filters=query.filters._replace(phrases=())))
        filters = filters._replace(phrases=())
        candidates = begin(repo, query.text, filters, depth)()
    # a score is of question (of which phrases are a part) and entry, whatever is filtered
    kinds = frozenset(Kind) - {Kind.RULE}
    unfiltered = Filter(kinds=kinds, spelled_in=filters.spelled_in, phrases=filters.phrases)
    if unfiltered == filters:
        every = candidates
    else:
        every = begin(repo, query.text, unfiltered, depth)()
    if begun:
        rules = begun()
    else:
        rules = NOTHING_FOUND
    if done.missing:
        # what is asked about is found by meaning next time
        _want(repo, candidates)
    hits = set()
    for each in (every, candidates, rules):
        for hit in (*each.text, *each.vectors):
            hits.add(hit.entry_id)
    passages = sum(part.indexing.passages() for part in repo.every)
    summaries = repo.catalog.many(hits)
    gone = frozenset[str]()
    if not query.every:
        gone = _no_longer(repo, summaries)
    if gone:
        # what does not hold answers nothing, and makes nothing else worse
        alike = every is candidates
        candidates = _without(candidates, gone)
        if alike:
            every = candidates
        else:
            every = _without(every, gone)
    return Gathered(asked, done, candidates, every, rules, summaries, passages, remark)


def _no_longer(repo: Reading, summaries: Mapping[str, EntrySummary]) -> frozenset[str]:
    """The ids of entries that do not hold any more.

    By their status, or because something takes their place.
    """
    by_status = set()
    for entry_id, summary in summaries.items():
        if summary.status in NO_LONGER:
            by_status.add(entry_id)
    return frozenset(by_status | replaced(repo, summaries))


def _without(candidates: Candidates, gone: AbstractSet[str]) -> Candidates:
    text, vectors = (
        tuple(hit for hit in hits if hit.entry_id not in gone)
        for hits in (candidates.text, candidates.vectors)
    )
    return candidates._replace(text=text, vectors=vectors)


# Entries found by words whose vectors are computed next
WANTED = 20


def _want(repo: Reading, candidates: Candidates) -> None:
    entries = list(dict.fromkeys(hit.entry_id for hit in candidates.text))[:WANTED]
    for part in repo.every:
        if part.indexing.missing:
            part.indexing.want(entries)


def prepare(library: Library) -> None:
    """Bring what searches ask up to date before one asks. Vectors come as time allows."""
    library.reading.current()
    refresh(library.reading)


def refresh(repo: Reading) -> IndexRefresh:
    """Bring the indexes up to date with their catalogs (refresh those first), as far as one search has time for it."""
    done = []
    for part in repo.every:
        done.append(part.indexing.refresh())
    return IndexRefresh(
        missing=sum(refresh.missing for refresh in done),
        rebuilt=next((refresh.rebuilt for refresh in done if refresh.rebuilt), ""),
        notes=tuple(dict.fromkeys(note for refresh in done for note in refresh.notes)),
    )


def begin(repo: Reading, text: str, filters: Filter, depth: int) -> Callable[[], Candidates]:
    """As `Indexing.begin` of each at the same time, in one list of each sort.

    The model of the nearest decides.
    """
    begun = []
    for part in repo.every:
        begun.append(part.indexing.begin(text, filters, depth))
    return lambda: _together(repo.every, [finish() for finish in begun], depth)


def similarities(repo: Reading, words: str, kinds: frozenset[Kind] = LESSONS) -> dict[str, float]:
    """Cosine similarity of the best passage of each entry that the vectors found."""
    filter_ = Filter(kinds=kinds)
    best: dict[str, float] = {}
    for hit in begin(repo, words, filter_, DEPTH)().vectors:
        best[hit.entry_id] = max(hit.score, best.get(hit.entry_id, -1.0))
    return best


def _together(
    repos: Sequence[RepositorySession], candidates: Sequence[Candidates], depth: int
) -> Candidates:
    model = next((result.model for result in candidates if result.model), "")
    notes = [result.note for result in candidates if result.note]
    pairs = zip(repos, candidates, strict=True)
    other_tiers = [
        repo.options.tier for repo, result in pairs if result.vectors and result.model != model
    ]
    if other_tiers:
        tiers = " and ".join(other_tiers)
        notes.append(f"the vectors of {tiers} are of another model: only their texts are searched")
    texts: list[list[Match]] = []
    vectors: list[Match] = []
    for place, result in enumerate(candidates):
        ids = {hit.entry_id for hit in (*result.text, *result.vectors)} if place else ()
        nearer = CatalogReader([repo.catalog for repo in repos[:place]]).many(ids) if ids else {}
        texts.append([hit for hit in result.text if hit.entry_id not in nearer])
        vectors += [
            hit for hit in result.vectors if hit.entry_id not in nearer and result.model == model
        ]
    sizes = (
        [repo.indexing.passages() for repo in repos]
        if sum(map(bool, texts)) > 1
        else [0] * len(texts)
    )
    blended = ranking.blend(list(zip(texts, sizes, strict=True)), depth)
    nearest = tuple(sorted(vectors, key=lambda hit: -hit.score)[:depth])
    read = min((result.read for result in candidates if result.model == model), default=1.0)
    return Candidates(blended, nearest, depth, "; ".join(dict.fromkeys(notes)), model, read)


def _is_phrase(query: Query) -> bool:
    return _query_words(query.filters.phrases) >= _query_words([query.text])


class Judged(NamedTuple):
    """How likely the question is answered.

    By what passes the filters (`near`), by anything but rules, and by rules.

    `lead` are the passages that hold what it is about, `headed` those below a title or heading with
    words of it, `rule_matches` the best passage of each rule. `weak`: nothing is surely an answer.
    `rare`: the entries that hold rare words of the question, where that was looked at. `measured`:
    vectors tell how near all is.
    """

    near: Chance
    whole: Chance
    rules: Chance
    lead: AbstractSet[ranking.JudgedPassage]
    headed: Mapping[ranking.JudgedPassage, float]
    rule_matches: Mapping[str, Match]
    weak: bool
    rare: Mapping[str, float] = {}
    measured: bool = True

    @property
    def unsure(self) -> bool:
        """Whether something may be an answer, though nothing is surely one.

        By words alone a share of common words is no reason: every field of knowledge has them.
        """
        near = self.measured and self.near.best >= relevance.DOUBT
        return self.weak and (near or bool(self.rare))


def judge(gathered: Gathered) -> Judged:
    """The chance that anything found answers the question; only what was not filtered away can."""
    asked, every, candidates, summaries = (
        gathered.asked,
        gathered.every,
        gathered.candidates,
        gathered.summaries,
    )

    def head_of(hit: Match) -> str:
        return f"{summaries[hit.entry_id].title if hit.entry_id in summaries else ''} {hit.heading}"

    def text_of(hit: Match) -> str:
        return f"{head_of(hit)} {hit.text}"

    text, passages, complete = asked.query.text, gathered.passages, not gathered.done.missing
    if every is candidates:
        lists = [candidates, gathered.rules]
    else:
        lists = [candidates, gathered.rules, every]
    near, rules, *unfiltered = answer_chance.chance(
        text, lists, passages, text_of, complete=complete
    )
    if unfiltered:
        whole = unfiltered[0]
    else:
        whole = near
    holding, lead = question_names.holders(
        text, (*every.text, *candidates.text), text_of, every.read
    )
    if holding:
        whole = whole._replace(best=max(whole.best, answer_chance.NAMED))
    elif tokens.is_number(text):
        # what has its parts in another order is no answer
        near, whole, rules = (answer_chance.unlikely(each) for each in (near, whole, rules))
    if holding.intersection((hit.entry_id, hit.ordinal) for hit in candidates.text):
        near = near._replace(best=max(near.best, answer_chance.NAMED))
    matches: dict[str, Match] = {}
    for hit in (*gathered.rules.vectors, *gathered.rules.text):
        matches.setdefault(hit.entry_id, hit)
    headed = question_names.headed(text, (*candidates.text, *candidates.vectors), head_of)
    return Judged(
        near,
        whole,
        rules,
        lead,
        headed,
        matches,
        weak=near.best < BAR and not asked.query.filters.phrases,
        measured=complete and bool(candidates.vectors),
    )


def rare_holders(repo: Reading, gathered: Gathered) -> Mapping[str, float]:
    """The entries that hold a rare word of the question, and how much that says.

    It is never nothing.
    """
    words = relevance.telling_words(gathered.asked.query.text)
    hits = (
        *gathered.candidates.text[: 2 * answer_chance.MOST],
        *gathered.rules.text[: answer_chance.MOST],
    )
    summaries = gathered.summaries
    titles = {}
    for hit in hits:
        if hit.entry_id in summaries:
            titles[hit.entry_id] = summaries[hit.entry_id].title
        else:
            titles[hit.entry_id] = ""
    standing = relevance.held(
        words, (f"{titles[hit.entry_id]} {hit.heading} {hit.text}" for hit in hits)
    )
    entries = repo.catalog.count(Filter())
    # enough to see that a word is in more entries
    depth = 2 * answer_chance.MOST + 4 * (entries // relevance.RARE)
    begun = [(telling, begin(repo, telling.word, Filter(), depth)) for telling in standing]
    rare = list[tuple[relevance.Telling, set[str]]]()
    for telling, finish in begun:
        holding = {hit.entry_id for hit in finish().text}
        if relevance.is_rare(len(holding), entries):
            rare.append((telling, holding))
    passing = {hit.entry_id for hit in (*gathered.candidates.text, *gathered.rules.text)}
    holders = {}
    for entry, weight in relevance.holders(rare).items():
        if entry in passing:
            holders[entry] = weight
    return holders


def order(repo: Reading, gathered: Gathered, seen: Judged) -> list[Hit]:
    """The results in their order, rules first.

    Where nothing is surely an answer, those of them that may be one.
    """
    asked, candidates = gathered.asked, gathered.candidates
    # the best of a few vectors must not outrank the best of all texts
    has_both = bool(candidates.text and candidates.vectors)
    weight = candidates.read * (gathered.coverage if has_both else 1.0) / 2
    scale = gathered.every.text, gathered.every.vectors
    matches = ranking.fuse(
        candidates.text, candidates.vectors, candidates.depth, weight, seen.lead, seen.headed, scale
    )
    matches = tuple(match._replace(score=match.score * seen.whole.best) for match in matches)
    hits = drop_superseded(
        repo, asked.query, _hits(repo, asked.query, matches, asked.versions, gathered.summaries)
    )
    if asked.few:
        hits = list(_few(hits))
    if asked.query.filters.kinds:
        return hits
    if hits:
        least = max(BAR, NEAR_BEST * (hits[0].entry.score or 0.0))
    else:
        least = 0.0
    near = []
    for hit in hits:
        if not seen.weak and (hit.entry.score or 0.0) >= least:
            near.append(hit.entry)
    rules = rules_for(repo, asked, seen, near)
    if rules and seen.weak:
        return rules
    return rules + hits


def answering(
    repo: Reading, gathered: Gathered, seen: Judged, hits: Sequence[Hit], *, weak: bool
) -> tuple[list[Hit], float]:
    """Those of the results that are answers, or may be one, and the score that an answer needs.

    All who asks for all.

    Rules are judged where they are chosen, unless they are all that is asked for. What a context
    adds to a score makes no other entry worse.
    """
    query, aliases = gathered.asked.query, repo.reading_config.tag_aliases
    ranked = [hit for hit in hits if query.filters.kinds or hit.entry.kind is not Kind.RULE]
    weights = ranking.context_weights(query.context_tags, aliases)
    boosts = [ranking.context_boost(weights, frozenset(hit.entry.tags), aliases) for hit in ranked]
    scores = [
        (hit.entry.score or 0.0) / (boost or 1.0) for hit, boost in zip(ranked, boosts, strict=True)
    ]
    if query.filters.kinds:
        rules = []
    else:
        rules = [hit.entry.id for hit in hits if hit.entry.kind is Kind.RULE]
    beside = max((seen.rules.of.get(rule, 0.0) for rule in rules), default=0.0)
    listed, bar = relevance.answers(
        scores, [seen.near.of.get(hit.entry.id) for hit in ranked], beside
    )
    candidates = gathered.candidates
    unmeasured = bool(candidates.vectors) and candidates.model not in answer_chance.MEASURED
    if query.every or query.filters.phrases or unmeasured:
        return list(hits), 0.0
    if weak:
        nearest = sorted(ranked, key=lambda hit: -seen.rare.get(hit.entry.id, 0.0))
        return nearest[: relevance.MAYBE] if seen.unsure else [], BAR
    below = {hit.entry.id for hit, is_listed in zip(ranked, listed, strict=True) if not is_listed}
    return [hit for hit in hits if hit.entry.id not in below], bar


def tell(repo: Reading, gathered: Gathered, seen: Judged, hits: Sequence[Hit]) -> Answer:
    """The answer with the sentences that answer, and what the reader should know.

    One line where nothing is near.
    """
    asked, coverage = gathered.asked, gathered.coverage
    rule_answers = not asked.query.filters.kinds and any(
        hit.entry.kind is Kind.RULE for hit in hits
    )
    weak = bool(hits) and seen.weak and not rule_answers
    listed, bar = answering(repo, gathered, seen, hits, weak=weak)
    shown = (*asked.query.filters.phrases, *question_names.names(asked.query.text))
    results = tuple(_answering(hit, asked.query, shown)._replace(weak=weak) for hit in listed)
    if weak and not listed:
        nearest = hits[0].entry.title
    else:
        nearest = ""
    return Answer(
        asked.typed,
        results,
        notes=_notes(repo, asked, listed, gathered, nearest=hits[0].entry if weak else None),
        coverage=coverage,
        weak=weak,
        bar=round(bar, 4),
        below=len(hits) - len(listed),
        nearest=nearest,
    )


def _few(hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """The first results, and those of the others that are near the best."""
    if hits:
        least = NEAR_BEST * (hits[0].entry.score or 0.0)
    else:
        least = 0.0
    return (*hits[:RESULTS], *(hit for hit in hits[RESULTS:] if (hit.entry.score or 0.0) >= least))


def _by_filters(repo: Reading, asked: Asking) -> Answer:
    """What passes the filters, from the catalog alone.

    Where a version is asked for, only what can carry one.
    """
    query, versions = asked.query, asked.versions
    kinds = query.filters.kinds or frozenset(
        kind for kind in Kind if query.filters.versions and kind.is_resource
    )
    selected = repo.catalog.select(query.filters._replace(kinds=kinds, versions=()))
    by_id = {}
    for summary in selected:
        by_id[summary.id] = summary
    places = {}
    for place, entry_id in enumerate(by_id):
        places[entry_id] = place
    matches = [Match(entry_id, 0, 1.0) for entry_id in by_id]
    hits = _hits(repo, query._replace(limit=len(matches)), matches, versions, by_id)
    hits.sort(key=lambda hit: (-(hit.entry.score or 0.0), places[hit.entry.id]))
    hits = drop_superseded(repo, query, hits[: query.limit + SPARE])
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


def understood(query: Query) -> Query:
    """The query with the filters and phrases of its text beside those that were given.

    Raises UsageError: nothing is asked for, no such kind, or filters that cannot all hold.
    """
    text, filters = gist(query.text), query.filters
    words, parsed = (" ".join(text.split()), Filter()) if query.plain else parse_query(text)
    if not words and parsed == Filter():
        raise UsageError(
            "the query is empty", hint="say what you look for, or use `ai-lessons recall list`"
        )
    if filters.kinds and parsed.kinds:
        kinds = filters.kinds & parsed.kinds
    else:
        kinds = filters.kinds or parsed.kinds
    if filters.kinds and not kinds:
        raise UsageError(
            f"{_or(parsed.kinds)} is asked for, and this search is for {_or(filters.kinds)}",
            hint="leave one of them out",
        )
    # with nothing taken out of it a question is looked for as it was typed: quotation marks tell
    # the model something
    if parsed._replace(phrases=()) == Filter():
        text = " ".join(text.split())
    else:
        text = words
    # The question is about its phrases if they are half of its words or more: people also put names
    # into quotes in the middle of a sentence, and held to those, the answers to 600 tasks lost a
    # third of their nDCG@10 (0.44 to 0.31).
    is_about = 2 * _query_words(parsed.phrases) >= _query_words([text])
    if is_about:
        phrases = parsed.phrases
    else:
        phrases = ()
    filters = filters._replace(
        phrases=phrases,
        kinds=kinds,
        project=one_project([project for project in (filters.project, parsed.project) if project]),
        tags=tuple(dict.fromkeys((*filters.tags, *parsed.tags))),
        versions=tuple(dict.fromkeys((*filters.versions, *parsed.versions))),
    )
    return query._replace(text=text, filters=filters)


def _query_words(texts: Iterable[str]) -> int:
    return sum(any(map(str.isalnum, word)) for text in texts for word in text.split())


def _or(names: Iterable[str]) -> str:
    return " or ".join(sorted(names))


def _of_index(repo: Reading, asked: Asking) -> Filter:
    """The filter as the index knows it.

    With versions as entries write them, and ids for what it has no column of.
    """
    query, versions = asked.query, asked.versions
    tallies = repo.catalog.versions() if versions.others or versions.of_project else ()
    of_any, of_project = versions.spellings(tally.name for tally in tallies)
    # the index has no columns for the other filters: the catalog says whose ids pass them
    beside = query.filters._replace(
        kinds=frozenset(), project=None, tags=(), versions=(), phrases=(), status=None
    )
    selected = repo.catalog.select(beside) if beside != Filter(status=None) else None
    return Filter(
        kinds=asked.kinds,
        project=query.filters.project,
        tags=query.filters.tags,
        phrases=query.filters.phrases,
        ids=None if selected is None else frozenset(summary.id for summary in selected),
        spelled=of_any,
        spelled_in=of_project,
    )


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
        done, quiet = gathered.done, weak or not hits
        notes = [
            nothing_near(repo, hits, nearest) if quiet else "",
            *notes,
            *done.notes,
            gathered.remark,
        ]
        if not quiet:
            background = repo.options.warm is not None
            notes += [
                done.rebuilt,
                gathered.candidates.note or _missing(gathered, background=background),
            ]
    if not (hits or weak):
        notes.append(_what_there_is(repo, asked.query))
    elif not weak:
        if gathered:
            also = see_also(repo, summaries)
        else:
            also = []
        notes += [*asked.versions.stand_ins(summaries), *warnings(repo, summaries), *also]
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
    for page in list(pages.values())[: query.limit + SPARE]:
        leader, *siblings = _newest_leads(page, summaries)
        summary = summaries[leader.match.entry_id]
        also_in = set()
        for sibling in siblings:
            for name in summaries[sibling.match.entry_id].versions:
                also_in.add(name)
        hits.append(
            hit_of(leader, summary, query, newest_first(also_in.difference(summary.versions)))
        )
    return hits


def _facts(
    repo: Reading, query: Query, versions: Versions, summaries: Mapping[str, EntrySummary]
) -> dict[str, RankingFacts]:
    """What ranks an entry besides its text, of those that may be shown."""
    aliases, standings = repo.reading_config.tag_aliases, dict[str, float]()
    for place in repo.every:
        standings |= place.usages.standings(summaries.values())
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
    in_context = (
        summary.kind is not Kind.RULE or not query.context_tags or belongs(summary, query, aliases)
    )
    return in_context and summary.status != Status.WRONG


def _newest_leads(
    page: Sequence[Ranked], summaries: Mapping[str, EntrySummary]
) -> Sequence[Ranked]:
    """The versions of a page with the newest of those in front that match about as well as the best."""
    close = [ranked for ranked in page if ranked.score >= NEAR_BEST * page[0].score]
    order = released_first(
        {name for ranked in close for name in summaries[ranked.match.entry_id].versions}
    )
    places = {}
    for place, name in enumerate(order):
        places[name] = place
    first = min(
        close,
        key=lambda ranked: min(
            (places[v] for v in summaries[ranked.match.entry_id].versions), default=len(order)
        ),
    )
    return [first, *(ranked for ranked in page if ranked is not first)]


def _page(summary: EntrySummary) -> tuple[object, ...]:
    """What the versions of one page have in common.

    Project, kind, and path below the version's folder.
    """
    if summary.kind.is_resource:
        below = summary.path.split("/")[3:]
    else:
        below = []
    if below:
        return (summary.tier, summary.project, summary.kind, *below)
    return (summary.id,)
