"""What the indexes of all tiers find for a question.

Begin with `gather`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.app.asking import any_of, filter_of_index, is_phrase
from ai_lessons.app.link_effects import replaced
from ai_lessons.model.entries import LESSONS, NO_LONGER, Filter, Kind
from ai_lessons.search import ranking, rows
from ai_lessons.search.catalog_reader import CatalogReader
from ai_lessons.search.rows import Candidates, IndexRefresh

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from ai_lessons.app.asking import Asking
    from ai_lessons.app.workspace import Library, Reading, RepositorySession
    from ai_lessons.model.entries import EntrySummary
    from ai_lessons.search.rows import Match

ALL_RULES = Filter(kinds=frozenset({Kind.RULE}))

# bench.retrieval: passages asked of each half of the index, more only for more results
DEPTH = 100

NOTHING_FOUND = rows.Candidates()


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
    depth, filters = max(DEPTH, query.limit), filter_of_index(repo, asked)
    candidates = begin(repo, query.text, filters, depth)()
    if (
        query.filters.phrases
        and not (candidates.text or candidates.vectors)
        and not is_phrase(query)
    ):
        remark = f"nothing holds {any_of(map(repr, query.filters.phrases))} word by word: the words are looked for"
        asked = asked._replace(query=query._replace(filters=query.filters._replace(phrases=())))
        filters = filters._replace(phrases=())
        candidates = begin(repo, query.text, filters, depth)()
    # a score is of question (of which phrases are a part) and entry, whatever is filtered
    kinds = frozenset(Kind) - {Kind.RULE}
    unfiltered = Filter(kinds=kinds, spelled_in=filters.spelled_in, phrases=filters.phrases)
    every = candidates
    if unfiltered != filters:
        every = begin(repo, query.text, unfiltered, depth)()
    rules = NOTHING_FOUND
    if begun:
        rules = begun()
    if done.missing:
        # what is asked about is found by meaning next time
        _want(repo, candidates)
    hits: set[str] = set()
    for each in (every, candidates, rules):
        hits.update(hit.entry_id for hit in (*each.text, *each.vectors))
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
    by_status = {name for name, summary in summaries.items() if summary.status in NO_LONGER}
    return frozenset(by_status | replaced(repo, summaries))


def _without(candidates: Candidates, gone: AbstractSet[str]) -> Candidates:
    def kept(hits: Sequence[Match]) -> tuple[Match, ...]:
        return tuple(hit for hit in hits if hit.entry_id not in gone)

    return candidates._replace(text=kept(candidates.text), vectors=kept(candidates.vectors))


def _want(repo: Reading, candidates: Candidates) -> None:
    # Entries found by words whose vectors are computed next
    entries = list(dict.fromkeys(hit.entry_id for hit in candidates.text))[:20]
    for part in repo.every:
        if part.indexing.missing:
            part.indexing.want(entries)


def prepare(library: Library) -> None:
    """Bring what searches ask up to date before one asks. Vectors come as time allows."""
    library.reading.current()
    refresh(library.reading)


def refresh(repo: Reading) -> IndexRefresh:
    """Bring the indexes up to date with their catalogs (refresh those first), as far as one search has time for it."""
    missing, rebuilt = 0, ""
    notes: dict[str, None] = {}
    for part in repo.every:
        done = part.indexing.refresh()
        missing += done.missing
        # one reason is enough to know why it took long
        rebuilt = rebuilt or done.rebuilt
        notes |= dict.fromkeys(done.notes)
    return IndexRefresh(missing=missing, rebuilt=rebuilt, notes=tuple(notes))


def begin(repo: Reading, text: str, filters: Filter, depth: int) -> Callable[[], Candidates]:
    """As `Indexing.begin` of each at the same time, in one list of each sort.

    The model of the nearest decides.
    """
    # all are asked before the first is waited for
    begun = [part.indexing.begin(text, filters, depth) for part in repo.every]
    return lambda: _together(repo.every, [finish() for finish in begun], depth)


def similarities(repo: Reading, words: str, kinds: frozenset[Kind] = LESSONS) -> dict[str, float]:
    """Cosine similarity of the best passage of each entry that the vectors found."""
    filter_ = Filter(kinds=kinds)
    best: dict[str, float] = {}
    for hit in begin(repo, words, filter_, DEPTH)().vectors:
        best[hit.entry_id] = max(hit.score, best.get(hit.entry_id, -1.0))
    return best


def _held_by(repos: Sequence[RepositorySession], result: Candidates) -> Mapping[str, EntrySummary]:
    """The entries of a result that these tiers have, by id."""
    if not repos:
        return {}
    ids = {hit.entry_id for hit in (*result.text, *result.vectors)}
    return CatalogReader([repo.catalog for repo in repos]).many(ids)


def _together(
    repos: Sequence[RepositorySession], candidates: Sequence[Candidates], depth: int
) -> Candidates:
    model = next((result.model for result in candidates if result.model), "")
    notes: list[str] = []
    other_tiers: list[str] = []
    texts: list[list[Match]] = []
    vectors: list[Match] = []
    read = 1.0
    for place, (repo, result) in enumerate(zip(repos, candidates, strict=True)):
        notes.append(result.note)
        # an entry that a nearer tier has, too, is that one's
        nearer = _held_by(repos[:place], result)
        texts.append([hit for hit in result.text if hit.entry_id not in nearer])
        if result.model == model:
            vectors += [hit for hit in result.vectors if hit.entry_id not in nearer]
            read = min(read, result.read)
        elif result.vectors:
            other_tiers.append(repo.options.tier)
    if other_tiers:
        tiers = " and ".join(other_tiers)
        notes.append(f"the vectors of {tiers} are of another model: only their texts are searched")
    sizes = [0] * len(texts)
    if sum(map(bool, texts)) > 1:
        # the numbers cost a question each, and one list alone needs none
        sizes = [repo.indexing.passages() for repo in repos]
    blended = ranking.blend(list(zip(texts, sizes, strict=True)), depth)
    nearest = tuple(sorted(vectors, key=lambda hit: -hit.score)[:depth])
    notes = list(filter(None, notes))
    return Candidates(blended, nearest, depth, "; ".join(dict.fromkeys(notes)), model, read)
