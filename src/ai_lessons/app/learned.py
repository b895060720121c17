"""What events teach of the entries of a repository: nothing, where no feature learns."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from ai_lessons import extensions
from ai_lessons.errors import Refused
from ai_lessons.model.tallies import UNUSED

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ai_lessons.app.open_repository import OpenRepository
    from ai_lessons.model.entries import EntrySummary
    from ai_lessons.model.tallies import RuleSessions, Tallies, UsageTally


class KeptRule(NamedTuple):
    """In how many sessions of this clone what happened to a rule, and that in one line."""

    handle: str
    title: str
    sessions: RuleSessions
    line: str


class Effect(NamedTuple):
    """The effect of showing a lesson.

    The difference of the shares of good sessions, with its 95 % interval.

    `shown` and `left_out` count the sessions on either side, one for each lesson that was tried in
    it.
    """

    shown: int
    left_out: int
    difference: float
    low: float
    high: float


class Judged(NamedTuple):
    """An entry of which a user or agent said how it did."""

    handle: str
    title: str
    helpful: int
    ignored: int
    contradicted: int
    confidence: float


class LearnedParameter(Protocol):
    """A parameter as it stands, for an export."""

    @property
    def name(self) -> str:
        """How it is called."""

    @property
    def alpha(self) -> float:
        """Of its distribution."""

    @property
    def beta(self) -> float:
        """Of its distribution."""

    @property
    def uncertainty(self) -> float:
        """How much one more outcome teaches."""

    @property
    def observations(self) -> int:
        """How many outcomes taught it."""

    @property
    def updated_at(self) -> str | None:
        """When the last one did."""

    @property
    def value(self) -> float:
        """What it stands at, in its own unit."""


class LearnedFigures(NamedTuple):
    """What `admin stats` says of it, see `app.health.Stats`."""

    most_useful: tuple[Judged, ...] = ()
    least_useful: tuple[Judged, ...] = ()
    damaged_events: int = 0
    ablation: Effect | None = None
    kept: tuple[KeptRule, ...] = ()


class Learned:
    """What is known of the entries of one repository by what happened to them.

    A feature that learns has a class below it (`learned` of its row). The catalog is up to date
    where an entry is asked about.
    """

    def __init__(self, repo: OpenRepository) -> None:
        """Opens nothing yet."""

    def close(self) -> None:
        """Close what was opened."""

    def tallies(self, entries: Iterable[str] | None = None) -> dict[str, Tallies]:  # noqa: ARG002  # for those that learn
        """How often what happened to each of these entries, or to all; none to which nothing did."""
        return {}

    def history(self, entry_id: str) -> list[tuple[str, str]]:  # noqa: ARG002  # as above
        """(time, word) of every event of an entry, the oldest first."""
        return []

    def several(
        self,
        summaries: Sequence[EntrySummary],
        *,
        as_claimed: bool = False,  # noqa: ARG002  # as above
    ) -> dict[str, UsageTally]:
        """How entries have done, by id. Those nothing happened to stand where their author put them.

        `as_claimed`: an import stands where it stood elsewhere, also before something here speaks
        for it.
        """
        return {summary.id: UNUSED for summary in summaries}

    def of(self, summary: EntrySummary) -> UsageTally:
        """How one entry has done."""
        return self.several([summary])[summary.id]

    def silent(self, summaries: Iterable[EntrySummary]) -> dict[str, str]:  # noqa: ARG002  # as above
        """Why these entries are not shown unasked, by id; those that are shown are left out."""
        return {}

    def harmful(self) -> dict[str, str]:
        """Why entries do more harm than good, by id."""
        return {}

    def standings(self, summaries: Iterable[EntrySummary]) -> dict[str, float]:  # noqa: ARG002  # as above
        """By how much what was learned moves each lesson in a search, by id; none that it does not."""
        return {}

    def kept(self, rules: Iterable[EntrySummary]) -> dict[str, KeptRule]:  # noqa: ARG002  # as above
        """By id, in how many sessions of this clone what happened to these rules."""
        return {}

    def start_of_copy(self, summary: EntrySummary) -> tuple[float, float] | None:  # noqa: ARG002  # as above
        """Alpha and beta with which a copy of a lesson begins in another repository.

        None: it begins as its author says.
        """
        return None

    def outcomes(self, tallies: Tallies) -> tuple[float, float]:  # noqa: ARG002  # as above
        """What the outcomes in these counts add to alpha and beta."""
        return 0.0, 0.0

    def say(self, summary: EntrySummary, outcome: str, note: str = "") -> tuple[str, ...]:  # noqa: ARG002  # as above
        """Note that an entry was helpful, ignored or contradicted; notes. Raises Refused."""
        raise Refused("this program learns nothing: its feature for that was taken out")

    def parameters(self) -> Sequence[LearnedParameter]:
        """What was learned of no single entry."""
        return ()

    def figures(self) -> LearnedFigures:
        """What there is to say of all of it."""
        return LearnedFigures()


def learned_of(repo: OpenRepository) -> Learned:
    """What is learned in a repository, by the feature that does."""
    for _, learned in extensions.added("learned"):
        made: Learned = learned(repo)
        return made
    return Learned(repo)
