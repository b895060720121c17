"""Rules proposed from what reviewers said in merged pull requests. Begin with `harvest`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.app.proposal_context import open_proposals
from ai_lessons.errors import AiLessonsError, InvalidEntry, Problem
from ai_lessons.features.harvest import forges
from ai_lessons.features.harvest.drafts import of_reviews
from ai_lessons.features.harvest.jobs import Stored, first_moment
from ai_lessons.features.harvest.memory import Memory
from ai_lessons.features.harvest.reviews import ReviewRecords
from ai_lessons.features.harvest.walls import FOLDER
from ai_lessons.git import external_files
from ai_lessons.model.entries import Filter, Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from ai_lessons.app.workspace import Library
    from ai_lessons.features.harvest.drafts import HarvestedLesson
    from ai_lessons.features.harvest.reviews import Reviews

# Bytes of a file of records
_LARGEST = 64 << 20


class ReviewSource(NamedTuple):
    """Which reviews are read: those in `files`, else those of the forge of the `code`.

    That is a folder, or an address such as `you/shop`; empty: the folder around. `since`: only from
    then on.
    """

    files: Sequence[str] = ()
    code: str = ""
    since: datetime | None = None

    @property
    def first(self) -> str:
        """The first moment that counts, as forges write it; empty for any."""
        return first_moment(self.since)


class ReviewHarvest(NamedTuple):
    """Candidates for rules, the `unsure` ones that an agent may judge, and what was read."""

    candidates: tuple[HarvestedLesson, ...]
    unsure: int
    reviews: Reviews
    notes: tuple[str, ...]


def harvest(
    library: Library, source: ReviewSource, *, project: str = "", every: bool = False
) -> ReviewHarvest:
    """What reviewers said in several merged requests, or (`every`) in one.

    Left out: what is stored, proposed or was turned down, by its words or the comments it came
    from. Raises NotFound: no such file, folder or program. InvalidEntry: files that hold no
    records. Unreachable: the forge.
    """
    repo = library.reading
    reviews = _records(library, source).reviews()
    stored = Stored(repo, Memory(repo.options.state_dir / FOLDER).decided)
    decided = _Decided(library)
    stated = [row for row in reviews.stated if row.at >= source.first]
    candidates = of_reviews(stated, lambda draft: decided.holds(draft) or stored.holds(draft))
    chosen = []
    for candidate in candidates:
        if not project or external_files.same_name(candidate.project, project):
            chosen.append(candidate)
    shown = [candidate for candidate in chosen if every or candidate.sure]
    return ReviewHarvest(tuple(shown), len(chosen) - len(shown), reviews, tuple(repo.notes()))


def _records(library: Library, source: ReviewSource) -> ReviewRecords:
    """What is in the files, or what the forge answers. Raises as `harvest`."""
    options = library.reading.options
    records = ReviewRecords()
    if not source.files:
        forge = forges.forge_of(options, source.code)
        for value, request in forges.records(forge, options, source.first):
            records.take(value, request)
        return records
    problems = []
    for file in external_files.expand(source.files, options.cwd, recursive=False):
        try:
            records.take_text(external_files.read(file.path, _LARGEST, pipes=True)[0])
        except AiLessonsError as error:
            problems.append(Problem(str(file.path), error.message))
    if problems:
        hint = "made by: gh api repos/YOU/SHOP/pulls/comments, gh pr list --json, glab api"
        raise InvalidEntry(problems, hint=hint)
    return records


class _Decided:
    """The comments that stand in rules, proposals, and in what was turned down.

    A curator gives a rule another title, so that its words are no more those of the comment.
    """

    def __init__(self, library: Library) -> None:
        self._text = "\n".join(_texts(library))

    def holds(self, candidate: HarvestedLesson) -> bool:
        """Whether it came from a comment that was decided about, or waits."""
        return any(f"{place.place})" in self._text for place in candidate.evidence)


def _texts(library: Library) -> Iterator[str]:
    repo = library.primary
    repo.current()
    for rule in repo.catalog.select(Filter(kinds=frozenset({Kind.RULE}))):
        entry, _ = repo.load(rule.id)
        yield entry.body
    with open_proposals(repo) as at:
        for proposal in at.every.proposals:
            yield at.text(proposal).decode("utf-8", "replace")
        for rejection in at.rejections:
            yield rejection.text
