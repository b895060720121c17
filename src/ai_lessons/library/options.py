"""What a door tells the library: this machine's folders, who calls, how to ask, which tiers there are."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.library.answers import Progress, silent

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

USER, PROJECT, ENTERPRISE = "user", "project", "enterprise:"
"""Names of tiers; that of an enterprise goes on with its own."""


def utc_now() -> datetime:
    """The clock of a library that was given none."""
    return datetime.now(UTC)


class Place(NamedTuple):
    """Where the repository of a tier lies, or would. `why` says what names it, `url` where an enterprise shares it."""

    name: str
    root: Path
    why: str = ""
    url: str | None = None

    def remedy(self, otherwise: str) -> str:
        """The command that brings a missing repository here; `otherwise` where nobody said from where."""
        return f"ai-lessons admin init {self.root} --from {self.url}" if self.url else otherwise


class Places(NamedTuple):
    """The tiers that are read from where one stands, and all that are known, nearest first.

    `belongs_to` is the tier of the enterprise that the code project belongs to; empty: to none. It may be one that is
    not known here. Without any in `reads` the repository that is opened is the only one. `named`: the one that is read
    was named, so that no other applies. `file` is where enterprises are named.
    """

    reads: tuple[Place, ...] = ()
    known: tuple[Place, ...] = ()
    belongs_to: str = ""
    named: bool = False
    file: str = "config.toml"


class Options(NamedTuple):
    """What a door knows that the repository does not: this machine's folders, who is calling, how to ask.

    `cache_dir` may be deleted at any time; `state_dir` holds what this user trusts; `index_dir` puts the search
    index elsewhere (a folder or a URI that LanceDB takes). `ask_trust(path, text)` is asked before a script runs
    that this machine has never seen; without it such a script is refused. `ask_keys(question, keys)` is asked once whom
    to trust where approvals have to be signed. `cwd` resolves relative file names. `tier` is the name of the repository
    that is opened, `places` what is read beside it.
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
    tier: str = USER
    offline: bool = False
    ask_trust: Callable[[str, str], bool] | None = None
    ask_keys: Callable[[str, list[str]], bool] | None = None
    progress: Progress = silent
    now: Callable[[], datetime] = utc_now
    places: Places = Places()
