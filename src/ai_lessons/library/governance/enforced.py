"""What policies of enterprises allowed and refused on this machine, for people to read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ai_lessons.errors import UsageError
from ai_lessons.knowledge.governance import GROUP
from ai_lessons.library.options import ENTERPRISE
from ai_lessons.repository.enforcement import Enforced, read

if TYPE_CHECKING:
    from ai_lessons.library.opened import Library
    from ai_lessons.library.options import Options

__all__ = ["Enforced", "Enforcement", "enforcement", "refuse_agents"]

_POLICIES = frozenset(("approval", "git", "events", "format", GROUP))
"""Groups of settings that an agent does not change; the others say how a search works."""

_MOMENT = re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d)?Z?)?")


@dataclass(frozen=True, slots=True)
class Enforcement:
    """Decisions, the newest first. `notes` is what the user should know."""

    rows: tuple[Enforced, ...]
    notes: tuple[str, ...] = ()


def enforcement(library: Library, since: str | None = None) -> Enforcement:
    """What policies of enterprises allowed and refused on this machine, newest first; of one, if its tier is open.

    Raises:
        UsageError: `since` is no date.
    """
    options = library.options
    if since is not None and not _MOMENT.fullmatch(since):
        raise UsageError(f"{since!r} is no moment", hint="a date such as 2026-11-20, or 2026-11-20T08:00Z")
    found = read(options.state_dir)
    only = options.tier if options.tier.startswith(ENTERPRISE) else None
    rows = tuple(one for one in found.rows if one.at >= (since or "") and only in {None, one.enterprise})
    lines = "1 line" if found.damaged == 1 else f"{found.damaged} lines"
    return Enforcement(rows, (f"{lines} of the log cannot be read",) if found.damaged else ())


def refuse_agents(options: Options, key: str) -> None:
    """What counts as approved, what an enterprise lets go and what is committed is for people to say.

    Raises:
        Refused: an agent would change the setting `key`, and it states a policy.
    """
    if key.partition(".")[0] in _POLICIES:
        options.refuse_agents(f"change {key}", f"ai-lessons admin config set {key} …")
