"""Opens a knowledge repository and wires the rooms together. The only place that knows all of them.

Cheap to import: what is slow (dulwich, LanceDB, the model) is imported by `parts` when a job first needs it.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from ai_lessons.library.admin import Admin
    from ai_lessons.library.contribute import Contribute
    from ai_lessons.library.lessons.jobs import Lessons
    from ai_lessons.library.options import Options
    from ai_lessons.library.recall import Recall
    from ai_lessons.library.reports import Initialised
    from ai_lessons.library.tiers.opened import Tiers
    from ai_lessons.library.tiers.tier_states import TierState


class Library:
    """One opened knowledge repository and what is read with it. Use as a context manager; parts open on first use.

    Jobs are grouped as the commands are; a group's code is imported when it is first named, because listing must not
    pay for writing. Safe for use from one thread at a time.
    """

    def __init__(self, tiers: Tiers) -> None:
        self._tiers, self._parts = tiers, tiers.primary

    @cached_property
    def contribute(self) -> Contribute:
        """Jobs that write."""
        from ai_lessons.library.contribute import Contribute

        return Contribute(self._parts, self._tiers)

    @cached_property
    def recall(self) -> Recall:
        """Jobs that read."""
        from ai_lessons.library.recall import Recall

        return Recall(self._tiers)

    @cached_property
    def admin(self) -> Admin:
        """Jobs of upkeep."""
        from ai_lessons.library.admin import Admin

        return Admin(self._parts)

    @property
    def replaced(self) -> bool:
        """Whether the repository was removed or made anew since the last job: then open it again."""
        return self._tiers.replaced

    @cached_property
    def lessons(self) -> Lessons:
        """Jobs of the program `lesson`."""
        from ai_lessons.library.lessons.jobs import Lessons

        return Lessons(self._parts, self._tiers)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of files and connections."""
        self._tiers.close()


def open_library(root: Path, options: Options) -> Library:
    """The library on the repository at `root`, read together with the tiers that `options.places` names.

    Raises:
        NoRepository: there is none; Refused: it belongs to another user; UnsupportedRepository: git's format or
            state is one that cannot be worked on.
    """
    from ai_lessons.library.tiers.opened import Tiers

    return Library(Tiers(root, options))


def init_repository(
    path: Path,
    options: Options,
    *,
    from_url: str | None = None,
    hooks: bool = True,
    team: bool = False,
    starters: bool = False,
) -> Initialised:
    """Make a repository at `path` from the template, or clone `from_url` there. Doing it twice changes nothing.

    `starters` brings the starter set, of which the rules wait as proposals.

    Raises:
        UsageError: starters for a clone. Refused: starters for a folder of a bigger repository.
        StorageFailed: the place cannot be written; Unreachable: the URL does not answer.
    """
    from ai_lessons.library.initialising import init

    return init(path, options, from_url=from_url, hooks=hooks, team=team, starters=starters)


def tiers_here(root: Path, options: Options) -> tuple[TierState, ...]:
    """Which tiers there are where one stands, what is read and written, and why."""
    from ai_lessons.library.tiers.tier_states import tier_states

    return tier_states(root, options)
