"""What the settings of a user mean to the library, and to agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.library.options import Options, Places, TierPlace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ai_lessons.settings import Settings, Tier


def whereabouts(given: Settings) -> str:
    """The folders of the repositories that are read, as agents are told where an answer comes from."""
    if len(given.reads) < 2:
        return str(given.repo)
    return ", ".join(f"{tier.path} ({tier.name})" for tier in given.reads)


SAME = ("cwd", "model_dir", "index_dir", "agent", "agent_by", "session", "tier", "offline", "virtual_env", "warm")
"""What settings and options call by the same name."""


def options(given: Settings) -> Options:
    """What the library needs of the settings; who calls adds how progress is shown and questions are asked."""

    def places(tiers: Iterable[Tier]) -> tuple[TierPlace, ...]:
        return tuple(TierPlace(*one) for one in tiers)

    return Options(
        cache_dir=given.folders.cache,
        state_dir=given.folders.state,
        config_dir=given.folders.config,
        places=Places(
            places(given.reads), places(given.known), given.belongs_to, named=given.named, file=str(given.file)
        ),
        outcomes=given.agents.outcomes,
        **{name: getattr(given, name) for name in SAME},
    )
