"""What the settings of a user mean to the library, and to agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.library.options import Options

if TYPE_CHECKING:
    from ai_lessons.settings import Settings


def whereabouts(given: Settings) -> str:
    """The folders of the repositories that are read, as agents are told where an answer comes from."""
    reads = given.places.reads
    return ", ".join(f"{tier.root} ({tier.name})" for tier in reads) if len(reads) > 1 else str(given.repo)


SAME = (
    "cwd", "model_dir", "index_dir", "agent", "agent_by", "session", "tier", "offline", "virtual_env", "places", "warm",
)  # fmt: skip
"""What settings and options call by the same name."""


def options(given: Settings) -> Options:
    """What the library needs of the settings; who calls adds how progress is shown and questions are asked."""
    return Options(
        cache_dir=given.folders.cache,
        state_dir=given.folders.state,
        config_dir=given.folders.config,
        outcomes=given.agents.outcomes,
        **{name: getattr(given, name) for name in SAME},
    )
