"""`recall context`: rules in force and lessons for what one is about to do, or for a failure."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from ai_lessons import app
from ai_lessons.app.answers import Answer, Context, ContextQuery, Query
from ai_lessons.git.external_files import names_in_project
from ai_lessons.model import failures
from ai_lessons.model.entries import (
    GLOBAL_PROJECT,
    LESSONS,
    Confidence,
    EntrySummary,
    Filter,
    Kind,
    Moment,
)
from ai_lessons.model.layout import any_match, globs
from ai_lessons.search.answer_chance import BAR
from ai_lessons.search.ranking import context_boost, context_weights
from ai_lessons.telling.filtering import CHOICE, Candidate, entry_filter, injection_events
from ai_lessons.telling.offers import Occasion, helping, of_features

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ai_lessons.app.workspace import Library, Reading

# Newest lessons of a project or tag among which the surest are chosen
LOOKED_AT = 500
NOT_KEPT = (
    "No lesson keeps a failure like this one. Once you have solved it, add one, with the command and its output in a "
    "fenced block (`$ command`, then the output). If it stays unsolved, begin its title with [UNSOLVED]."
)
# What the reasons weigh, beside the tags
_BY_PATH, _BY_PROJECT, _BY_GLOBAL = 2.0, 1.0, 0.5


_SURE = {word.value: place for place, word in enumerate(Confidence)}


def context(
    library: Library, query: ContextQuery, ask: Callable[..., Context] | None = None
) -> Context:
    """Rules in force and lessons for what one is about to do; what came is recorded.

    Only words load an index.

    An entry comes because `applies_to` names one of the files (the only reason where only files are
    asked for), by its project or a context tag, or as a global rule; of lessons those that
    `filtering.choose` lets pass. `ask` does the job `context`, elsewhere perhaps.
    """
    if ask:
        result = ask("context", query)
    else:
        result = find_context(library, query)
    return result._replace(notes=(*result.notes, *library.record(injection_events(result))))


def find_context(library: Library, query: ContextQuery) -> Context:
    """As `context`, but nothing is recorded."""
    repo = library.reading
    repo.current()
    if query.error.strip():
        result = helping(repo, query.error, query.budget)
        entries = [*result.entries]
        for n, summary in enumerate(entries):
            # each with its pattern and its text
            parts = summary.stated.pattern, " ".join(result.texts.get(summary.id, "").split())
            entries[n] = summary._replace(
                snippet=" | ".join(filter(None, parts)) or summary.snippet
            )
        return result._replace(entries=tuple(entries))
    injecting = entry_filter(repo, query.budget)
    asked = _Asked(repo, query, injecting.budget)
    rules = asked.rules()
    # `tell` leaves out what is superseded, contradicted or gone, so it gets far more than it may
    # choose
    near = asked.lessons()[: 60 + 3 * injecting.budget]
    if near and query.query.strip():
        similar = app.gathering.similarities(repo, query.query)
    else:
        similar = {}
    fits = [
        Candidate(summary, level=summary.score or 0.0, similarity=similar.get(summary.id))
        for summary in near
    ]
    result = injecting.tell(None, fits, None, query.project, rules=len(rules))
    chosen = app.notes.with_verdicts(repo, rules[: injecting.budget - len(result.entries)])
    notes = [*result.notes]
    if len(rules) > len(chosen):
        notes.append(
            f"{len(rules) - len(chosen)} more rules apply, beyond the budget of {injecting.budget}"
        )
    if query.approvals:
        approvals = app.history_of_entries.approvals_of(repo, chosen)
    else:
        approvals = {}
    return result._replace(
        entries=(*chosen, *result.entries),
        notes=(*notes, *(injecting.question() if result.entries else ())),
        approvals=approvals,
    )


def helping_or_found(library: Library, query: Query, ask: Callable[..., Any]) -> Context | Answer:
    """What helps with the failure that a query shows.

    Else, or where it shows none, what a search finds.

    Then a failure is searched for by its command and the line that tells most, with few results.
    `ask` does the jobs `context` and `search`, elsewhere perhaps.
    """
    error, alone = failures.shown_in(query.text)
    if error and not (query.filters.versions or query.filters.kinds - {Kind.LESSON, Kind.RULE}):
        helps = context(library, ContextQuery(error=error, approvals=query.approvals), ask)
        if helps.entries:
            return helps
    else:
        alone = False
    if alone:
        command, output = failures.parted(error)
        # a heredoc in the command line would drown the words of the message
        words = f"{command[:200]} {failures.headline(output)}".strip()
        query = query._replace(
            text=words, plain=True, limit=min(query.limit or CHOICE.few + 1, CHOICE.few + 1)
        )
    answer: Answer = ask("search", query)
    if alone and answer.prompt:
        return answer._replace(prompt=NOT_KEPT)
    return answer


class _Asked:
    """One question, and what there is for it."""

    def __init__(self, repo: Reading, query: ContextQuery, budget: int) -> None:
        self._repo, self._query, self._budget = repo, query, budget
        self._paths = [
            name for path in query.paths for name in names_in_project(path, repo.options.cwd)
        ]
        # the settings are worth loading YAML only where there are tags that may have other names
        if query.context_tags:
            self._aliases = repo.reading_config.tag_aliases
        else:
            self._aliases = {}
        self._weights = context_weights(query.context_tags, self._aliases)
        asks = bool(query.context_tags or query.query.strip())
        self._project = query.project or (None if asks or query.paths else GLOBAL_PROJECT)
        self._only_paths = not (self._project or asks)

    @cached_property
    def _offered(self) -> dict[str, EntrySummary]:
        """What features know to name one of the files, or something in it, by id."""
        if not self._paths:
            return {}
        folder = str(self._repo.options.cwd)
        occasion = Occasion(Moment.BEFORE_TOOL, paths=self._query.paths, folders=(folder,))
        near = of_features(self._repo, occasion, None).near
        return {name: summary for name, (summary, _) in near.items()}

    def rules(self) -> list[EntrySummary]:
        """The rules that apply, nearest first."""
        if not any(place.rules.count for place in self._repo.every):
            return []
        summaries = self._repo.catalog.select(Filter(kinds=frozenset({Kind.RULE})))
        return self._with_searched(self._nearest(summaries), frozenset(), Kind.RULE)

    def lessons(self) -> list[EntrySummary]:
        """The lessons, nearest first, then the surest, then the newest."""
        catalog, kinds = self._repo.catalog, LESSONS
        candidates: dict[str, EntrySummary] = {}
        if self._paths:
            for summary in (*catalog.with_globs(kinds), *self._offered.values()):
                if summary.kind in kinds:
                    candidates[summary.id] = summary
        if self._query.query.strip():
            named = self._nearest(
                summary for summary in candidates.values() if self._names_a_path(summary)
            )
            return self._with_searched(named, kinds, Kind.LESSON)
        everywhere = Filter(kinds=kinds, project=GLOBAL_PROJECT, sort="firm", limit=LOOKED_AT)
        if self._project:
            filters = [Filter(kinds=kinds, project=self._project, limit=LOOKED_AT), everywhere]
        else:
            filters = []
        tags = set()
        for tag, weight in self._weights.items():
            if weight > 0:
                tags.add(tag)
        tags |= {alias for alias, tag in self._aliases.items() if tag in tags}
        filters += [Filter(kinds=kinds, tags=(tag,), limit=LOOKED_AT) for tag in sorted(tags)]
        for query in filters:
            candidates |= {summary.id: summary for summary in catalog.select(query)}
        return self._nearest(candidates.values())

    def _nearest(self, summaries: Iterable[EntrySummary]) -> list[EntrySummary]:
        scored = [
            summary._replace(score=score)
            for summary in summaries
            if (score := self._score(summary)) > 0
        ]
        scored.sort(key=lambda summary: (summary.created, summary.id), reverse=True)
        scored.sort(
            key=lambda summary: (-(summary.score or 0), -_SURE.get(summary.confidence or "", 2))
        )
        return scored

    def _score(self, summary: EntrySummary) -> float:
        """How much speaks for the entry, 0 if nothing does."""
        if not self._may_come(summary):
            return 0.0
        rule = summary.kind is Kind.RULE
        # a rule of another project is not about this one's file of the same name
        here = (
            not rule
            or self._project in {None, summary.project}
            or summary.project == GLOBAL_PROJECT
        )
        if here and self._names_a_path(summary):
            score = _BY_PATH
        else:
            score = 0.0
        if self._only_paths:
            return score
        score += context_boost(self._weights, frozenset(summary.tags), self._aliases) - 1
        if summary.project == self._project:
            score += _BY_PROJECT
        elif summary.project == GLOBAL_PROJECT and (rule or summary.origin.firm):
            score += _BY_GLOBAL
        return score

    def _may_come(self, summary: EntrySummary) -> bool:
        return (
            not self._paths or not globs(summary.stated.applies_to) or self._names_a_path(summary)
        )

    def _names_a_path(self, summary: EntrySummary) -> bool:
        return summary.id in self._offered or any_match(
            globs(summary.stated.applies_to), self._paths
        )

    def _with_searched(
        self, summaries: list[EntrySummary], kinds: frozenset[Kind], kind: Kind
    ) -> list[EntrySummary]:
        """These, and those of a kind that a search among `kinds` finds by the words of the query, if it has any.

        Of lessons only what is an answer by itself: what a reader of results passes over, an agent
        that is about to act would take for advice.
        """
        query = self._query
        if not query.query.strip():
            return summaries
        search = Query(query.query, Filter(kinds, query.project), limit=self._budget, plain=True)
        result = app.search.find(self._repo, search._replace(context_tags=query.context_tags))
        ids = {summary.id for summary in summaries}
        near_enough = []
        if not result.weak:
            for hit in result.hits:
                if kind is Kind.RULE or (hit.entry.score or 0.0) >= BAR:
                    near_enough.append(hit.entry)
        return summaries + [
            x for x in near_enough if x.kind is kind and x.id not in ids and self._may_come(x)
        ]
