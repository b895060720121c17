"""What a search asks for: the words of a query, its filters, the versions, and which passages may answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.app.versions_asked import asked_versions
from ai_lessons.errors import UsageError
from ai_lessons.model.entries import Filter, Kind
from ai_lessons.search import answer_chance
from ai_lessons.search.query_text import gist, one_project, parse_query

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ai_lessons.app.answers import Query
    from ai_lessons.app.versions_asked import Versions
    from ai_lessons.app.workspace import Reading


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


def is_phrase(query: Query) -> bool:
    """Whether all that is asked stands in phrases."""
    return number_of_words(query.filters.phrases) >= number_of_words([query.text])


def understood(query: Query) -> Query:
    """The query with the filters and phrases of its text beside those that were given.

    Raises UsageError: nothing is asked for, no such kind, or filters that cannot all hold.
    """
    text, filters = gist(query.text), query.filters
    if query.plain:
        # all of it is text, as an error message that an agent pastes
        words, parsed = " ".join(text.split()), Filter()
    else:
        words, parsed = parse_query(text)
    if not words and parsed == Filter():
        raise UsageError(
            "the query is empty", hint="say what you look for, or use `ai-lessons recall list`"
        )
    kinds = filters.kinds or parsed.kinds
    if filters.kinds and parsed.kinds:
        kinds = filters.kinds & parsed.kinds
    if filters.kinds and not kinds:
        raise UsageError(
            f"{any_of(parsed.kinds)} is asked for, and this search is for {any_of(filters.kinds)}",
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
    phrases: Sequence[str] = ()
    if 2 * number_of_words(parsed.phrases) >= number_of_words([text]):
        phrases = parsed.phrases
    filters = filters._replace(
        phrases=phrases,
        kinds=kinds,
        project=one_project([project for project in (filters.project, parsed.project) if project]),
        tags=tuple(dict.fromkeys((*filters.tags, *parsed.tags))),
        versions=tuple(dict.fromkeys((*filters.versions, *parsed.versions))),
    )
    return query._replace(text=text, filters=filters)


def number_of_words(texts: Iterable[str]) -> int:
    """How many words these texts have, without signs that stand alone."""
    words = " ".join(texts).split()
    return sum(any(map(str.isalnum, word)) for word in words)


def any_of(names: Iterable[str]) -> str:
    """Names as a sentence lists them."""
    return " or ".join(sorted(names))


def filter_of_index(repo: Reading, asked: Asking) -> Filter:
    """The filter as the index knows it.

    With versions as entries write them, and ids for what it has no column of.
    """
    query, versions = asked.query, asked.versions
    names: list[str] = []
    if versions.others or versions.of_project:
        names = [tally.name for tally in repo.catalog.versions()]
    of_any, of_project = versions.spellings(names)
    # the index has no columns for the other filters: the catalog says whose ids pass them
    beside = query.filters._replace(
        kinds=frozenset(), project=None, tags=(), versions=(), phrases=(), status=None
    )
    ids = None
    if beside != Filter(status=None):
        ids = frozenset(summary.id for summary in repo.catalog.select(beside))
    return Filter(
        kinds=asked.kinds,
        project=query.filters.project,
        tags=query.filters.tags,
        phrases=query.filters.phrases,
        ids=ids,
        spelled=of_any,
        spelled_in=of_project,
    )
