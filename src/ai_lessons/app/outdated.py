"""What to look at again.

Entries whose code, source, use or date says that they may not hold any more.
"""

from __future__ import annotations

from datetime import UTC, date, timedelta
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons import extensions
from ai_lessons.app import authorship, project_code, repetitions
from ai_lessons.app.link_effects import superseded_by
from ai_lessons.model import expression
from ai_lessons.model.checks import day_of
from ai_lessons.model.entries import EntrySummary, Filter, Kind, json_fields
from ai_lessons.model.texts import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ai_lessons.app.workspace import Library, RepositorySession
    from ai_lessons.app.written import Stale


@json_fields(entry=True)
class Outdated(NamedTuple):
    """An entry to look at again.

    `reason`: not_followed, never_broken, check_fits, quoted, about, review_by, asked, applies_to, repeats,
    source, failing, or never_helpful.
    """

    entry: EntrySummary
    reason: str
    detail: str


# How long what was looked at is not asked about again
REST = timedelta(days=180)


def review(library: Library) -> tuple[Outdated, ...]:
    """Active entries that may have gone stale, once for each reason.

    See `_Review.everything`, and `editing.keep`.
    """
    return tuple(Review(library.primary).everything())


def rests(summary: EntrySummary, today: date) -> bool:
    """Whether somebody looked at the entry so lately that it is not asked about again."""
    seen = day_of(summary.stated.reviewed)
    return seen is not None and today < seen + REST


def moved_on(repo: RepositorySession) -> Iterator[Stale]:
    """Entries whose code or source moved on, as features find them.

    `stale` of a feature takes the repository.
    """
    for _, stale in extensions.added("stale"):
        yield from stale(repo)


def by_features(repo: RepositorySession) -> list[Outdated]:
    """What features name to be looked at again, in the order in which they name it."""
    rows: list[Outdated] = []
    for _, outdated in extensions.added("outdated"):
        rows += outdated(repo)
    return rows


def unseen(repo: RepositorySession) -> list[str]:
    """The names of code that is not here, so that features cannot look at what speaks of it."""
    names: list[str] = []
    for _, names_of in extensions.added("unseen"):
        names += names_of(repo)
    return names


class Review:
    """One look at everything. The folders and logs it asks are asked once."""

    def __init__(self, repo: RepositorySession) -> None:
        self._repo = repo
        self._today: date = repo.options.now().astimezone(UTC).date()

    def everything(self) -> Iterator[Outdated]:
        """Entries with what there is to say of them.

        First what features name, in their order, then the oldest first.
        """
        catalog = self._repo.current()
        self._asked = authorship.questions(self._repo)
        self._repeated = repetitions.repetitions(self._repo)
        self._of_features: dict[str, list[Outdated]] = {}
        for row in by_features(self._repo):
            self._of_features.setdefault(row.entry.id, []).append(row)
        self._code = project_code.code_around(self._repo)
        summaries = {summary.id: summary for summary in catalog.select(Filter(sort="created"))}
        drafts = []
        for x in summaries.values():
            if x.kind is Kind.LESSON and x.stated.from_ == authorship.AI and not x.stated.reviewed:
                drafts.append(x.id)
        texts = (
            (entry_id, _QUOTE.match(text)) for entry_id, text in catalog.openings(drafts).items()
        )
        self._quotes = {entry_id: quote[1] for entry_id, quote in texts if quote}
        first = [entry_id for entry_id in self._of_features if entry_id in summaries]
        for summary in ({entry_id: summaries[entry_id] for entry_id in first} | summaries).values():
            findings = list(self._findings(summary))
            if findings and (
                summary.kind is Kind.RULE or superseded_by(self._repo, summary.id) is None
            ):
                yield from findings

    def _findings(self, summary: EntrySummary) -> Iterator[Outdated]:
        by, seen = day_of(summary.stated.review_by), day_of(summary.stated.reviewed)
        resting = rests(summary, self._today)
        if (
            by is not None
            and by <= self._today
            and not (resting and seen is not None and by <= seen)
        ):
            yield Outdated(summary, "review_by", f"it was to be reviewed by {by}")
        yield from (
            Outdated(summary, "asked", f"an agent asks: {question}")
            for day, question in self._asked.get(summary.id, ())
            if seen is None or str(seen) < day
        )
        yield from self._of_features.get(summary.id, ())
        if resting:
            return
        if quote := self._quotes.get(summary.id):
            yield Outdated(
                summary,
                "quoted",
                f'an agent wrote it from what a person said: "{one_line(quote, 160)}"',
            )
        for fault in (
            self._code.unmatched(summary.stated.applies_to, summary.project) if self._code else ()
        ):
            yield Outdated(summary, "applies_to", fault)
        if summary.id in self._repeated:
            yield Outdated(summary, "repeats", self._repeated[summary.id])


# With what the text of a draft begins
_QUOTE = expression(r"\s*+> *+([^\n]*\w[^\n]*)")
