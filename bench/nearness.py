"""Which questions get "nothing near": `python -m bench.nearness --data FOLDER [--work FOLDER]`.

The questions of each judged set are put to its own documents, where they have an answer, and to those of every other
set, where they have none but by chance. A question is lost if it is told that nothing is near and its answer, which
would be among the results without that bar, is not shown. With `--fit` the seven weights of `search.answer_chance`
and `BAR` are searched for anew, from round numbers: those that miss none of the bars below, hold back most foreign
questions, and keep the scores of a set's own questions apart from each other the least, as the same question in other
words must not lose its answer; and that tell least of a set's own, put to a part of it, that nothing is near, because
most libraries are small. Each set is left out once, and judged: twelve minutes.
"""

from __future__ import annotations

import os
import random
from contextlib import closing
from functools import partial
from math import log
from typing import TYPE_CHECKING, NamedTuple
from unittest import mock

import numpy as np

from ai_lessons.app import judging, search
from ai_lessons.app.answers import Query
from ai_lessons.app.workspace import Library, RepositorySession
from ai_lessons.model.entries import Filter
from ai_lessons.search.answer_chance import MOST, Weights, looked_at, shares
from ai_lessons.search.conditions import condition
from ai_lessons.search.question_names import holders
from ai_lessons.settings import folders
from bench import corpora
from bench.harness import Bar, Outcome, arguments, machine, number, table, world
from bench.inside import provide_model
from bench.retrieval import TARGETS, document, options, repository, some_queries

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from ai_lessons.app.answers import Answer
    from ai_lessons.app.options import Options
    from ai_lessons.model.entries import EntrySummary
    from ai_lessons.search.rows import Match

    Floats = NDArray[np.float64]
    Pair = tuple[float, float]

QUESTIONS = 150
SIZES, DEPTH = (20, 100, 400), 100
NEIGHBOURS = (frozenset({"tldr_nl2bash", "til_jb"}),)
"""Sets of one field: a question of one may well have its answer in the other."""

LOST_BAR, WORSE = 0.02, 0.003
OWN: Mapping[str, Pair] = {"tldr_nl2bash": (0.027, 0.134), "cacm": (0.020, 0.116)}
"""Share of a set's own questions that the second edition (db0c885b) told that nothing is near: with the model, and by
words alone. Of the other sets none."""

FOREIGN: Mapping[tuple[str, str], Pair] = {
    ("tldr_nl2bash", "cranfield"): (0.987, 0.973),
    ("tldr_nl2bash", "cacm"): (0.808, 0.712),
    ("til_jb", "cranfield"): (0.987, 0.913),
    ("til_jb", "cacm"): (0.673, 0.577),
    ("cranfield", "tldr_nl2bash"): (0.967, 0.847),
    ("cranfield", "til_jb"): (0.947, 0.653),
    ("cranfield", "cacm"): (0.769, 0.654),
    ("cacm", "tldr_nl2bash"): (0.807, 0.627),
    ("cacm", "til_jb"): (0.620, 0.380),
    ("cacm", "cranfield"): (0.700, 0.700),
}
"""Share of the questions of the second set that it held back from the first, in the same two ways."""

STARTS, ROUNDS, DRAWN, KEPT, SOFT = 3, 100, 80, 14, 0.1
MARGIN = 0.01  # Beside the bar, for numbers that are rounded
BEGIN = (-10.0, 15.0, -0.2, 2.0, 1.0, 0.2, 0.65, 0.35)
SPREAD = 0.95
"""How far apart the answers of a set's own questions end (see `Loss.spread`): no bar depends on it, but the share of a
score that is lost where a question is asked in other words."""

WIDTHS = np.array([0.3, 0.3, 0.5, 0.5, 0.5, 0.5, 0.02, 0.3])
"""Where the search for the numbers begins, in the order of `WEIGHTS`, and how far around it looks."""


class Seen(NamedTuple):
    """One question put to a set, or to `part` documents of it (0: all).

    `named`: one of its names or all its words stand there. `passages` are those that are looked at: the similarity of
    each, and the share of the question's words that it holds. `fixed`: the logarithm of the number of passages, the
    share that all hold, and the logarithm of the number of words.
    """

    stored: str
    asker: str
    part: int
    named: bool
    passages: tuple[Pair, ...]
    fixed: tuple[float, float, float]


def main() -> None:
    """Print the tables and judge what is lost and what is held back."""
    parser = arguments("Which questions are told that nothing is near.")
    parser.add_argument(
        "--fit", action="store_true", help="fit the numbers anew, each set left out once"
    )
    asked = parser.parse_args()
    if asked.data is None:
        parser.error("judged sets cannot be made up: give their folder with --data")
    outcome = Outcome()
    print(machine())
    with world(asked.work) as home:
        chosen = options(home.folder / "caches")
        without = options(home.folder / "caches-without-model")._replace(offline=True)
        provide_model(folders(os.environ).cache, chosen.cache_dir)
        sets = {
            name: corpora.judged(asked.data / name)
            for name in TARGETS
            if (asked.data / name).is_dir()
        }
        answers, seen = [], []
        for name, stored in sets.items():
            repo = repository(home, stored, chosen)
            for asker, questions in sets.items():
                if frozenset({name, asker}) not in NEIGHBOURS:
                    answers.append(by_library(outcome, repo, stored, questions, [chosen, without]))
                    seen += features(repo, stored, questions, chosen) if asked.fit else []
    head = ["questions of", "put to", "questions", "nothing near", "lost", "by words alone", "lost"]
    print(table("answers of the library", head, answers))
    if asked.fit:
        head = ["left out", *map(str.lower, WEIGHTS), "nothing near", "held back"]
        rows = [fitted(seen, name) for name in (*sets, "")]
        print(table("fitted without one set, and judged on it", head, rows))
    outcome.finish(check=asked.check)


def by_library(
    outcome: Outcome,
    repo: Path,
    stored: corpora.Judged,
    questions: corpora.Judged,
    ways: list[Options],
) -> list[str]:
    """How many questions are told that nothing is near, and how many of these are lost; with the model and without."""
    asked = some_queries(questions, QUESTIONS)
    own = stored.name == questions.name
    row = [questions.name, stored.name, str(len(asked))]
    for way, chosen in enumerate(ways):
        with Library(repo, chosen) as library:
            answers = {
                one: search.search(library, Query(questions.queries[one], plain=True))
                for one in asked
            }
            weak = {one: answer for one, answer in answers.items() if answer.weak}
            # both ask whether anything is surely an answer
            with mock.patch.object(search, "BAR", 0.0), mock.patch.object(judging, "BAR", 0.0):
                without = {
                    one: search.search(library, Query(questions.queries[one], plain=True))
                    for one in weak
                }
        lost = sum(
            _holds(questions, stored, one, without[one])
            and not _holds(questions, stored, one, weak[one])
            for one in weak
        )
        row += [number(len(weak) / len(asked)), number(lost / len(asked)) if own else "-"]
        how = ", by words alone" if way else ""
        if own:
            outcome.judge(
                Bar(
                    f"questions of {stored.name} that are lost{how}",
                    lost / len(asked),
                    LOST_BAR,
                    "",
                )
            )
            said = f"questions of {stored.name} told that nothing is near{how}"
            outcome.judge(
                Bar(said, len(weak) / len(asked), OWN.get(stored.name, (0.0, 0.0))[way] + WORSE, "")
            )
        else:
            said = f"questions of {questions.name} held back from {stored.name}{how}"
            least = FOREIGN[stored.name, questions.name][way] - WORSE
            outcome.judge(Bar(said, len(weak) / len(asked), least, "", at_least=True))
    return row


def _holds(questions: corpora.Judged, stored: corpora.Judged, one: str, answer: Answer) -> bool:
    grades = questions.grades.get(one, {})
    return any(grades.get(document(stored, hit.entry.path), 0) > 0 for hit in answer.docs)


def features(
    repo: Path, stored: corpora.Judged, questions: corpora.Judged, chosen: Options
) -> list[Seen]:
    """What the chance of an answer is told by, for every question, of parts of the set and of all of it."""
    with closing(RepositorySession(repo, chosen)) as parts:
        catalog, seen = parts.current(), []
        parts.indexing.refresh()
        table, dice = parts.index.query.newest(), random.Random(corpora.SEED)
        assert table is not None
        ids = {
            document(stored, place.path): place.id
            for place in catalog.locations()
            if "/docs/" in place.path
        }
        for one in some_queries(questions, QUESTIONS):
            text = questions.queries[one]
            good = {
                ids[doc] for doc, grade in questions.grades[one].items() if grade > 0 and doc in ids
            }
            for size in (*SIZES, 0):
                part = dice.sample(sorted(ids.values()), size)
                own = frozenset({*part, *good} if stored.name == questions.name else part)
                wanted = Filter(ids=own) if size else Filter()
                passages = table.count(condition(wanted) or None)
                found = parts.indexing.begin(text, wanted, DEPTH)()
                texts = partial(
                    text_of, catalog.many(hit.entry_id for hit in (*found.text, *found.vectors))
                )
                held = shares(text, [found], texts)
                vectors = {(hit.entry_id, hit.ordinal): hit.score for hit in found.vectors}
                pairs = tuple(
                    (vectors.get(key, found.vectors[-1].score), held.held[key])
                    for key in looked_at(found)
                )
                named = (
                    bool(holders(text, found.text, texts)[0])
                    or max(held.held.values(), default=0.0) == 1.0
                )
                fixed = (log(max(passages, 2 * MOST)), held.stored, held.length)
                seen.append(Seen(stored.name, questions.name, size, named, pairs, fixed))
        return seen


def text_of(summaries: Mapping[str, EntrySummary], hit: Match) -> str:
    """All that a passage is found by."""
    return f"{summaries[hit.entry_id].title} {hit.heading} {hit.text}"


WEIGHTS = (*Weights._fields, "BAR")


def fitted(seen: list[Seen], left_out: str) -> list[str]:
    """The numbers that fit all sets but one, and what they make of that one.

    A cross-entropy search (Rubinstein 1999): numbers are drawn around a mean, which moves to those that fit best. It
    begins at round numbers, `STARTS` times, and takes the best.
    """
    judged = [question for question in seen if left_out not in {question.stored, question.asker}]
    loss, start = Loss(judged), np.array(BEGIN)
    tries = []
    for seed in range(1, STARTS + 1):
        dice, mean, spread = np.random.default_rng(seed), start, np.diag((abs(start) * WIDTHS) ** 2)
        best = (loss(mean), tuple(mean))
        for _ in range(ROUNDS):
            drawn = np.vstack([dice.multivariate_normal(mean, spread, size=DRAWN), best[1]])
            drawn[:, -1] = np.clip(drawn[:, -1], 0.05, 0.95)
            losses = [loss(numbers) for numbers in drawn]
            order = np.argsort(losses)
            best = min(best, (losses[order[0]], tuple(map(float, drawn[order[0]]))))
            mean, spread = (
                drawn[order[:KEPT]].mean(axis=0),
                0.4 * spread + 0.5 * np.cov(drawn[order[:KEPT]].T),
            )
            spread += 1e-9 * np.eye(len(mean))
        tries.append(best)
    numbers = np.array(min(tries)[1])
    scale = SPREAD / loss.spread(numbers)
    bar = 1 / (1 + (1 / numbers[-1] - 1) ** scale)
    numbers = np.round([*(scale * numbers[:-2]), numbers[-2], bar], 3)
    asked = Loss(
        [question for question in seen if left_out in {"", question.stored} and not question.part]
    )
    far = asked.free & (asked.above(numbers, words=False) < 0)
    own = np.array([question.stored == question.asker for question in asked.seen])
    return [
        left_out or "none",
        *(f"{number_:.3f}" for number_ in numbers),
        *(number(far[x].mean()) for x in (own, ~own)),
    ]


class Loss:
    """How badly numbers fit some questions: what is lost, missing to the second edition, not held back."""

    def __init__(self, seen: list[Seen]) -> None:
        self.seen, most = seen, max(len(question.passages) for question in seen)
        rows = [
            [*question.passages, *[(np.nan, 0.0)] * (most - len(question.passages))]
            for question in seen
        ]
        self._near, self._held = np.moveaxis(np.array(rows), 2, 0)
        self._fixed = np.array([question.fixed for question in seen])
        self.free = np.array([not question.named for question in seen])
        self._groups: dict[tuple[str, str, int], list[int]] = {}
        for place, question in enumerate(seen):
            self._groups.setdefault((question.stored, question.asker, question.part), []).append(
                place
            )

    def above(self, numbers: Floats, *, words: bool) -> Floats:
        """How far each question is above the bar, as a logarithm of odds."""
        bias, near, among, together, stored, asked, unknown, bar = numbers
        similar = np.where(np.isnan(self._near), -9.0, unknown if words else self._near)
        best = (near * similar + together * self._held).max(axis=1)
        whole: Floats = (
            bias + best + self._fixed @ np.array([among, stored, asked]) - log(bar / (1 - bar))
        )
        return whole

    def __call__(self, numbers: Floats) -> float:
        """A missed bar weighs most. `SOFT` smooths the shares: counts do not tell which way to go."""
        missed, soft_missed, held, spread = 0.0, 0.0, [], self.spread(numbers)
        for words in (False, True):
            x = self.above(numbers, words=words) / spread
            soft = self.free / (1 + np.exp(np.clip(x / SOFT, -50, 50)))
            for (stored, asker, part), places in self._groups.items():
                share, limit = float(soft[places].mean()), 0.0
                if stored == asker:
                    limit = 0.0 if part else OWN.get(stored, (0.0, 0.0))[words] + WORSE
                    short, soft_short = (
                        float((self.free & (x < MARGIN))[places].mean()) - limit,
                        share - limit,
                    )
                else:
                    limit = 0.0 if part else FOREIGN[stored, asker][words] - WORSE
                    held.append(share)
                    short, soft_short = (
                        limit - float((self.free & (x < -MARGIN))[places].mean()),
                        limit - share,
                    )
                soft_missed += max(0.0, soft_short) * (60 if stored == asker else 4)
                missed += (max(0.0, short) * 500 + (short > 0)) * (not part)
        return missed + soft_missed + 1 - float(np.mean(held))

    def spread(self, numbers: Floats) -> float:
        """How far apart a set's own questions are: the deviation of the logarithms of odds, mean of all sets."""
        x = self.above(numbers, words=False)
        own = (places for (stored, asker, _), places in self._groups.items() if stored == asker)
        return float(np.mean([x[places].std() for places in own]))


if __name__ == "__main__":
    main()
