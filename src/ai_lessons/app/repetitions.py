"""Lessons and rules that say again what is stored, or the opposite: at a write, and looked at later."""

from __future__ import annotations

from collections import Counter, defaultdict
from contextlib import suppress
from functools import cache, partial
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons import app
from ai_lessons.app.link_effects import superseded
from ai_lessons.errors import Conflict, UsageError
from ai_lessons.model import lessons
from ai_lessons.model.entries import GLOBAL_PROJECT, LESSONS, Filter, Kind
from ai_lessons.search.terms import TERMS, letters, likeness, terms
from ai_lessons.search.tokens import fold

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ai_lessons.app.workspace import Library, Reading, RepositorySession
    from ai_lessons.app.written import LessonDraft
    from ai_lessons.model.entries import EntrySummary, Pattern


class RepetitionLimits(NamedTuple):
    """How many entries are compared, and named."""

    # So many entries that say the same as a new lesson are named
    few_copies: int = 2
    # So many entries of alike titles are read and compared
    compared: int = 20


REPETITIONS = RepetitionLimits()


def refuse_repetition(library: Library, draft: LessonDraft) -> list[str]:
    """A sentence for each active lesson that has the same text under another title.

    Raises Conflict: one has the same title and the same text. Nothing that is only alike is
    refused: `A before B` and `B before A` have the same words, too.
    """
    repo = library.primary
    repo.current()
    pattern = ""
    with suppress(UsageError):
        # none, or the write says what is wrong with it
        # as it is stored, with its WHEN, DO and BECAUSE
        pattern = str(lessons.build(draft.when, draft.do, draft.dont, draft.because))
    text, same = f"{pattern}\n{draft.content}", list[str]()
    for summary in _holding(repo, terms(text[: TERMS.read]) or terms(draft.title)):
        stored = _text(repo, summary.id)
        if letters(stored) != letters(text):
            continue
        if _typed(summary.title, stored) == _typed(draft.title, text):
            hint = f"update it: `ai-lessons contribute update {summary.handle}`; or add this one with --anyway"
            raise Conflict(
                f"{summary.handle} {summary.title!r} says the same, word for word", hint=hint
            )
        same.append(f"[{summary.handle}] {summary.title!r} has the same text: update it?")
    return same[: REPETITIONS.few_copies]


def _holding(repo: RepositorySession, words: Iterable[str]) -> list[EntrySummary]:
    """Active lessons that hold the longest of these words, the newest first."""
    # Words by which entries of the same text are looked for: the longest ones are in few entries
    longest = sorted(set(words), key=lambda word: (-len(word), word))[:4]
    if not longest:
        return []
    held = repo.catalog.holding(longest)
    return [summary for summary in held if summary.kind is Kind.LESSON][: REPETITIONS.compared]


def _typed(title: str, text: str) -> tuple[str, ...]:
    """Title and text for a comparison that only case and blanks do not matter to.

    A sign may turn a meaning round.
    """
    return tuple(" ".join(fold(part).casefold().split()) for part in (title, text))


def near_copies(library: Library, text: str) -> dict[str, str]:
    """Active lessons and rules that say the same as a text in other words, the nearest first.

    By id, a sentence.
    """
    repo = library.reading
    repo.current()
    app.gathering.refresh(repo)
    similar = app.gathering.similarities(repo, text, frozenset({Kind.LESSON, Kind.RULE}))
    alike = [entry_id for entry_id, cosine in similar.items() if cosine >= TERMS.alike]
    ids = sorted(alike, key=similar.__getitem__)[::-1]
    summaries = repo.catalog.many(ids[: REPETITIONS.few_copies + 1])
    copies: dict[str, str] = {}
    for id_ in ids:
        if id_ in summaries:
            copies[id_] = _nearly_the_same(summaries[id_], similar[id_])
    return copies


def repetitions(repo: RepositorySession) -> dict[str, str]:
    """Which active lessons and rules say nearly the same as an older one.

    By id, a sentence that names the older.
    """
    query = Filter(kinds=frozenset({Kind.LESSON, Kind.RULE}), sort="created")
    gone = superseded(repo)
    summaries = [summary for summary in repo.catalog.select(query) if summary.id not in gone]
    common = Counter[str]()
    for summary in summaries:
        common.update(set(terms(summary.title)))
    # the entries so far, by the rarer words of their titles
    holding: defaultdict[tuple[Kind, str], list[EntrySummary]] = defaultdict(list)
    text = cache(partial(_text, repo))
    repeated: dict[str, str] = {}
    for summary in summaries:
        title = sorted(set(terms(summary.title)), key=lambda word: (common[word], word))
        # titles that are alike have more than half of the words of each in common, so one of the
        # rarer half
        telling = [(summary.kind, word) for word in title[: len(title) // 2 + 1]]
        older: dict[str, EntrySummary] = {}
        for word in telling:
            for other in holding[word][-REPETITIONS.compared :]:
                older[other.id] = other
        share, nearest = 0.0, summary
        for other in older.values():
            # texts are read only where the titles are alike
            if likeness(other.title, summary.title) < TERMS.alike:
                continue
            its_share = likeness(text(summary.id), text(other.id))
            if (its_share, other.id) > (share, nearest.id):
                share, nearest = its_share, other
        if share >= TERMS.alike:
            repeated[summary.id] = _nearly_the_same(nearest, share)
        for word in telling:
            holding[word].append(summary)
    return repeated


def _text(repo: RepositorySession, entry_id: str) -> str:
    entry = repo.load(entry_id)[0]
    return f"{entry.opening}\n{entry.body}"


def _nearly_the_same(summary: EntrySummary, share: float) -> str:
    return f"close to {summary.handle} {summary.title!r}, {share:.2f}: update it?"


def opposites(repo: Reading, written: str, pattern: Pattern) -> list[str]:
    """A suggestion for each active lesson of its project and `global` that says the opposite for the same case."""
    new = repo.catalog.many([written]).get(written)
    if new is None:
        return []
    active: list[EntrySummary] = []
    for project in dict.fromkeys((new.project, GLOBAL_PROJECT)):
        for summary in repo.catalog.select(Filter(kinds=LESSONS, project=project)):
            if summary.id != written:
                active.append(summary)
    sentences: list[str] = []
    for summary in opposed(active, pattern):
        link = f"ai-lessons contribute link {new.handle} {summary.handle} --relation contradicts"
        opposite = f"[{summary.handle}] says the opposite for the same case"
        sentences.append(f"{opposite}; if so, say it: {link}")
    return sentences


def namesakes(repo: Reading, written: str, title: str) -> list[str]:
    """A suggestion for each active lesson of the same title."""
    sentences: list[str] = []
    for summary in repo.catalog.select(Filter(kinds=LESSONS, title=title)):
        if summary.id != written:
            command = f"ai-lessons contribute update {summary.handle}"
            same = f"[{summary.handle}] has the same title"
            sentences.append(f"{same}; to change that one: {command}")
    return sentences


def opposed(summaries: Iterable[EntrySummary], pattern: Pattern) -> list[EntrySummary]:
    """Those lessons whose pattern says the opposite of this one for the same case, as far as their words tell."""
    opposed_lessons: list[EntrySummary] = []
    for summary in summaries:
        try:
            stated = lessons.parse(summary.stated.pattern)
        except UsageError:
            # no pattern: a file may say anything
            continue
        if stated.negative == pattern.negative:
            continue
        same_case = likeness(stated.when, pattern.when) >= TERMS.alike
        if same_case and likeness(stated.action, pattern.action) >= TERMS.alike:
            opposed_lessons.append(summary)
    return opposed_lessons
