"""What things are: entries, their files, links, versions, settings. Pure functions and values.

No file system, git, network, clock or environment. Begin with `entries` (kinds, entries, ids), then
`frontmatter` (a file's bytes to an entry) and `layout` (where an entry lies). Imports nothing of
ours but `errors`.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, AnyStr, NamedTuple, cast

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

# names of tiers; the last goes on with its own
USER, PROJECT, ENTERPRISE = "user", "project", "enterprise:"


class Mandate(NamedTuple):
    """What the administrators of this machine state of a repository, in their `file`.

    It counts as acknowledged. `address`: of its forge, empty where they state none; `require` and
    `distinct`: the policy of approvals, empty where they state none; `signers`: a file that lists
    whose signatures count.
    """

    file: str
    address: str = ""
    require: str = ""
    distinct: bool = False
    signers: Path | None = None


class TierPlace(NamedTuple):
    """Where the repository of a tier lies, or would.

    `why` says what names it, `url` where an enterprise shares it. `owners`: code whose remotes are
    theirs belongs to it. `mandate`: what the administrators of this machine state of it.
    """

    name: str
    root: Path
    why: str = ""
    url: str | None = None
    owners: tuple[str, ...] = ()
    mandate: Mandate | None = None

    def remedy(self, otherwise: str) -> str:
        """The command that brings a missing repository here.

        `otherwise` where it was not said from where.
        """
        if self.url and self.owners:
            return "ai-lessons admin sync"
        if self.url:
            return f"ai-lessons admin init {self.root} --from {self.url}"
        return otherwise


class Places(NamedTuple):
    """The tiers that are read from where one stands, and all known, nearest first.

    `reads` is empty where only what is opened is read. `belongs_to`: the tier of the code project's
    enterprise, known here or not; `because`: what says so. `named`: the one that is read was named,
    so that no other applies. `file`: where enterprises are named. `note`: what is wrong with the
    project's own file about it. `refused`: why the administrators' file does not count here.
    """

    reads: tuple[TierPlace, ...] = ()
    known: tuple[TierPlace, ...] = ()
    belongs_to: str = ""
    because: str = ""
    named: bool = False
    file: str = "config.toml"
    note: str = ""
    refused: str = ""


class Where(NamedTuple):
    """Where agent hosts are looked for.

    The user's home, the folder one stands in, and the environment.
    """

    home: Path
    cwd: Path
    environ: Mapping[str, str] = MappingProxyType({})


class _Later:
    """A regular expression that is compiled when one of its methods is first called."""

    def __init__(self, pattern: Any, flags: int) -> None:
        self._of = pattern, flags

    def __getattr__(self, name: str) -> Any:
        value = self.__dict__[name] = getattr(re.compile(*self._of), name)
        return value


def expression(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """An expression of a module, compiled when it is first used.

    A command must not pay for those of others.
    """
    return cast("re.Pattern[AnyStr]", _Later(pattern, flags))
