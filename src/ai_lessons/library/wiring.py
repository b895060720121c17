"""Opens a knowledge repository and wires the rooms together. The only place that knows all of them.

Cheap to import: what is slow (dulwich, LanceDB, the model) is imported by `parts` when a job first needs it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Self

from ai_lessons.library.answers import Progress, silent

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import TracebackType

    from ai_lessons.library.admin import Admin
    from ai_lessons.library.contribute import Contribute
    from ai_lessons.library.lessons import Lessons
    from ai_lessons.library.parts import Parts
    from ai_lessons.library.recall import Recall
    from ai_lessons.library.reports import Initialised


def utc_now() -> datetime:
    """The clock of a library that was given none."""
    return datetime.now(UTC)


class Options(NamedTuple):
    """What a door knows that the repository does not: this machine's folders, who is calling, how to ask.

    `cache_dir` may be deleted at any time; `state_dir` holds what this user trusts; `index_dir` puts the search
    index elsewhere (a folder or a URI that LanceDB takes). `ask_trust(path, text)` is asked before a script runs
    that this machine has never seen; without it such a script is refused. `ask_keys(question, keys)` is asked once whom
    to trust where approvals have to be signed. `cwd` resolves relative file names.
    """

    cache_dir: Path
    state_dir: Path
    config_dir: Path
    cwd: Path
    model_dir: Path | None = None
    reranker: str | None = None
    index_dir: str | None = None
    agent: str | None = None
    session: str | None = None
    tier: str = "user"
    offline: bool = False
    ask_trust: Callable[[str, str], bool] | None = None
    ask_keys: Callable[[str, list[str]], bool] | None = None
    progress: Progress = silent
    now: Callable[[], datetime] = utc_now


class Library:
    """One opened knowledge repository. Use as a context manager; every part is opened on first use.

    Jobs are grouped as the commands are; a group's code is imported when it is first named, because listing must not
    pay for writing. Safe for use from one thread at a time.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    @cached_property
    def contribute(self) -> Contribute:
        """Jobs that write."""
        from ai_lessons.library.contribute import Contribute

        return Contribute(self._parts)

    @cached_property
    def recall(self) -> Recall:
        """Jobs that read."""
        from ai_lessons.library.recall import Recall

        return Recall(self._parts)

    @cached_property
    def admin(self) -> Admin:
        """Jobs of upkeep."""
        from ai_lessons.library.admin import Admin

        return Admin(self._parts)

    @property
    def replaced(self) -> bool:
        """Whether the repository was removed or made anew since the last job: then open it again."""
        return self._parts.replaced

    @cached_property
    def lessons(self) -> Lessons:
        """Jobs of the program `lesson`."""
        from ai_lessons.library.lessons import Lessons

        return Lessons(self._parts)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of files and connections."""
        self._parts.close()


def open_library(root: Path, options: Options) -> Library:
    """The library on the repository at `root`.

    Raises:
        NoRepository: there is none; Refused: it belongs to another user; UnsupportedRepository: git's format or
            state is one that cannot be worked on.
    """
    from ai_lessons.library.parts import Parts

    return Library(Parts(root, options))


def init_repository(
    path: Path, options: Options, *, from_url: str | None = None, hooks: bool = True, team: bool = False
) -> Initialised:
    """Make a repository at `path` from the template, or clone `from_url` there. Doing it twice changes nothing.

    Raises:
        StorageFailed: the place cannot be written; Unreachable: the URL does not answer.
    """
    from ai_lessons.library.admin import init

    return init(path, options, from_url=from_url, hooks=hooks, team=team)
