"""How likely what was found answers the question.

Begin with `judge`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.app.gathering import begin
from ai_lessons.model.entries import Filter
from ai_lessons.model.languages import language_of
from ai_lessons.search import answer_chance, question_names, relevance, tokens
from ai_lessons.search.answer_chance import BAR

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    from ai_lessons.app.gathering import Gathered
    from ai_lessons.app.workspace import Reading
    from ai_lessons.search import ranking
    from ai_lessons.search.answer_chance import Chance
    from ai_lessons.search.rows import Match


class Likelihoods(NamedTuple):
    """How likely the question is answered.

    By what passes the filters (`near`), by anything but rules, and by rules.

    `lead` are the passages that hold what it is about, `headed` those below a title or heading with
    words of it, `rule_matches` the best passage of each rule. `weak`: nothing is surely an answer.
    `rare`: the entries that hold rare words of the question, and `doubt`: the chance from which on
    something may be an answer, where that was looked at. `measured`: vectors tell how near all is.
    """

    near: Chance
    whole: Chance
    rules: Chance
    lead: AbstractSet[ranking.JudgedPassage]
    headed: Mapping[ranking.JudgedPassage, float]
    rule_matches: Mapping[str, Match]
    weak: bool
    rare: Mapping[str, float] = {}
    doubt: float = relevance.BARS.doubt
    measured: bool = True

    @property
    def unsure(self) -> bool:
        """Whether something may be an answer, though nothing is surely one.

        By words alone a share of common words is no reason: every field of knowledge has them.
        """
        if not self.weak:
            return False
        if not self.measured:
            return bool(self.rare)
        chances = {**self.rules.of, **self.near.of}
        rarest = max((chances.get(entry, 0.0) for entry in self.rare), default=0.0)
        return self.near.best >= self.doubt or rarest >= self.doubt / 2


def judge(gathered: Gathered) -> Likelihoods:
    """The chance that anything found answers the question; only what was not filtered away can."""
    asked, every, candidates = gathered.asked, gathered.every, gathered.candidates
    head_of, text_of = partial(_head_of, gathered), partial(_text_of, gathered)
    text, passages, complete = asked.query.text, gathered.passages, not gathered.done.missing
    lists = [candidates, gathered.rules]
    if every is not candidates:
        lists.append(every)
    near, rules, *unfiltered = answer_chance.chance(
        text, lists, passages, text_of, complete=complete
    )
    whole = next(iter(unfiltered), near)
    holding, lead = question_names.holders(
        text, (*every.text, *candidates.text), text_of, every.read
    )
    if holding:
        whole = whole._replace(best=max(whole.best, answer_chance.NAMED))
    elif tokens.is_number(text):
        # what has its parts in another order is no answer
        near, whole, rules = map(answer_chance.unlikely, (near, whole, rules))
    if holding.intersection((hit.entry_id, hit.ordinal) for hit in candidates.text):
        near = near._replace(best=max(near.best, answer_chance.NAMED))
    matches: dict[str, Match] = {}
    for hit in (*gathered.rules.vectors, *gathered.rules.text):
        matches.setdefault(hit.entry_id, hit)
    headed = question_names.headed(text, (*candidates.text, *candidates.vectors), head_of)
    return Likelihoods(
        near,
        whole,
        rules,
        lead,
        headed,
        matches,
        weak=near.best < BAR and not asked.query.filters.phrases,
        measured=complete and bool(candidates.vectors),
    )


def _head_of(gathered: Gathered, hit: Match) -> str:
    """The title and the heading above a passage."""
    if hit.entry_id not in gathered.summaries:
        # deleted since the index was written
        return f" {hit.heading}"
    return f"{gathered.summaries[hit.entry_id].title} {hit.heading}"


def _text_of(gathered: Gathered, hit: Match) -> str:
    """A passage with what stands above it."""
    return f"{_head_of(gathered, hit)} {hit.text}"


def with_words(repo: Reading, gathered: Gathered, likelihoods: Likelihoods) -> Likelihoods:
    """The likelihoods with what the telling words of the question say: `rare` and `doubt`."""
    question = gathered.asked.query.text
    words = relevance.telling_words(question)
    candidates, rules = gathered.candidates, gathered.rules
    # most passages stand in more than one list
    texts: dict[ranking.JudgedPassage, str] = {}
    for hit in (*gathered.every.text, *candidates.text, *rules.text):
        if (hit.entry_id, hit.ordinal) not in texts:
            texts[(hit.entry_id, hit.ordinal)] = _text_of(gathered, hit)
    standing = relevance.held(words, texts.values(), language_of(question))
    entries = repo.catalog.count(Filter())
    # enough to see that a word is in more entries
    depth = 2 * answer_chance.MOST + 4 * (entries // relevance.BARS.rare)
    begun = [(telling, begin(repo, telling.word, Filter(), depth)) for telling in standing]
    rare = list[tuple[relevance.Telling, set[str]]]()
    for telling, finish in begun:
        holding = {hit.entry_id for hit in finish().text}
        if relevance.is_rare(len(holding), entries):
            rare.append((telling, holding))
    passing = {hit.entry_id for hit in (*candidates.text, *rules.text)}
    holders = relevance.holders(rare)
    unheard = any(word.expected and word not in standing for word in words.values())
    return likelihoods._replace(
        rare={entry: weight for entry, weight in holders.items() if entry in passing},
        doubt=relevance.doubt(gathered.passages, unheard=unheard),
    )
