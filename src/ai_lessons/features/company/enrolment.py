"""To which company the code around a folder belongs, by the owners of its remotes.

Nothing that a project brings has a say: git's own settings are no part of a clone. Its
`.ai-lessons.toml` may choose among companies that own one of its remotes.
"""

from __future__ import annotations

import time
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.errors import AiLessonsError
from ai_lessons.features.company.remotes import Owner, owner_of, owner_stated
from ai_lessons.git import plumbing
from ai_lessons.git.worktree import every_setting, settings_around
from ai_lessons.settings import CODE_FILE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ai_lessons.model import TierPlace

# the remote of a clone, which counts before others
ORIGIN = "origin"
# Seconds for which git's answer holds: it reads files that others include
_HOLDS = 60
_ASKED = r"^(remote\..*\.url|url\..*\.insteadof)$"


class Match(NamedTuple):
    """A remote of the code, and the company that owns it."""

    tier: TierPlace
    owner: Owner
    remote: str
    address: str

    @property
    def because(self) -> str:
        """Why the code belongs to the company."""
        by = "config.toml"
        if self.tier.mandate:
            by = self.tier.mandate.file
        return f"{self.owner} owns the remote {self.remote}, says {by}"


def enrolled(
    here: Path, tiers: Sequence[TierPlace], stated: tuple[str, str]
) -> tuple[str, str, str]:
    """The tier of the company that code belongs to, what says so, and a note; empty for none.

    `stated`: the one that the project's own file names, and that it does. Starts git only where
    a remote looks like a company's.
    """
    try:
        matches = list(_matches(here, tiers))
    except AiLessonsError as error:
        return "", "", f"the remotes of this code cannot be read: {error.message}"
    named = stated[0]
    for match in matches:
        if match.tier.name == named:
            return named, f"{match.because}, and the project's {CODE_FILE} chooses it", ""
    nearest = _nearest(matches)
    if not nearest:
        return _as_stated(tiers, stated)
    if named and not any(match.tier.mandate for match in nearest) and _is_free(tiers, named):
        return *stated, ""
    names = sorted({match.tier.name.partition(":")[2] for match in nearest})
    first = nearest[0]
    if len(names) > 1:
        listed = ", ".join(names)
        note = f"this code may belong to {listed}: its {CODE_FILE} says to which (enterprise = …)"
        return "", "", note
    note = ""
    if named:
        note = f"{CODE_FILE} names {named}, and {first.because}: {first.tier.name} holds"
    return first.tier.name, first.because, note


def _as_stated(tiers: Sequence[TierPlace], stated: tuple[str, str]) -> tuple[str, str, str]:
    """What a project says of itself, where no company owns a remote of it."""
    named = stated[0]
    if not named or _is_free(tiers, named):
        return *stated, ""
    note = f"{CODE_FILE} names {named}, which owns no remote of this code, and does not count"
    return "", "", note


def _is_free(tiers: Sequence[TierPlace], named: str) -> bool:
    """Whether a project may name this company, because nobody states which remotes it owns."""
    return not any(tier.owners for tier in tiers if tier.name == named)


def _nearest(matches: Sequence[Match]) -> list[Match]:
    """Those of the innermost group; the administrators' word counts before the user's own."""
    managed = [match for match in matches if match.tier.mandate]
    among = managed or matches
    depth = max((len(match.owner.path) for match in among), default=0)
    return [match for match in among if len(match.owner.path) == depth]


def _matches(here: Path, tiers: Sequence[TierPlace]) -> Iterator[Match]:
    """Every company that owns the remote `origin`, or else another one."""
    file = settings_around(here)
    if file is None:
        return
    # mostly nothing is like it, and no program is started
    as_written = _remotes(every_setting(file))
    if not any(_owned(as_written, tiers)):
        return
    rows = _asked(here, _stamps(file), int(time.monotonic() // _HOLDS))
    effective = _remotes(rows)
    # what git would rewrite has to be the company's in both forms
    leads = {name: _rewritten(address, rows) for name, address in effective.items()}
    led = {(match.tier.name, match.remote) for match in _owned(leads, tiers)}
    matches = []
    for match in _owned(effective, tiers):
        if (match.tier.name, match.remote) in led:
            matches.append(match)
    of_origin = [match for match in matches if match.remote == ORIGIN]
    yield from of_origin or matches


def _owned(remotes: dict[str, str], tiers: Sequence[TierPlace]) -> Iterator[Match]:
    """Each company with the innermost of its owners that has a remote."""
    for name, address in remotes.items():
        owner = owner_of(address)
        if owner is None:
            continue
        for tier in tiers:
            stated = [owner_stated(text) for text in tier.owners]
            owning = [group for group in stated if group and group.owns(owner)]
            if owning:
                nearest = max(owning, key=lambda group: len(group.path))
                yield Match(tier, nearest, name, address)


def _stamps(file: Path) -> tuple[object, ...]:
    """Differs where the repository's settings, the user's or the machine's were changed."""
    home = Path.home()
    stamps: list[object] = []
    for place in (file, home / ".gitconfig", home / ".config/git/config", Path("/etc/gitconfig")):
        try:
            status = place.stat()
            stamps.append((status.st_ino, status.st_size, status.st_mtime_ns))
        except OSError:
            stamps.append(None)
    return (file, home, *stamps)


@lru_cache(maxsize=64)
def _asked(here: Path, _stamps: tuple[object, ...], _minute: int) -> list[tuple[str, str]]:
    """The settings of remotes, of every file that git reads, if the repository is this user's.

    A helper that lives on asks git once a minute, and at each change of what it can see.
    """
    done = plumbing.run(None, "config", "-z", "--get-regexp", _ASKED, cwd=here)
    rows = []
    for row in done.names:
        key, _, value = row.partition("\n")
        rows.append((key, value))
    return rows


def _remotes(rows: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The address of each remote; of several the first, from which git fetches."""
    remotes: dict[str, str] = {}
    for key, value in rows:
        if key.startswith("remote.") and key.endswith(".url"):
            remotes.setdefault(key.removeprefix("remote.").removesuffix(".url"), value)
    return remotes


def _rewritten(address: str, rows: Iterable[tuple[str, str]]) -> str:
    """The address to which `url.BASE.insteadOf` leads, by the longest beginning that fits."""
    begins, base = "", ""
    for key, value in rows:
        if key.endswith(".insteadof") and address.startswith(value) and len(value) > len(begins):
            begins, base = value, key.removeprefix("url.").removesuffix(".insteadof")
    if begins:
        return base + address[len(begins) :]
    return address
