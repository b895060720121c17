"""Settings of the user as options of the library."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.library.options import Options

if TYPE_CHECKING:
    from ai_lessons.settings import Settings


def whereabouts(settings: Settings) -> str:
    """The folders of the repositories that are read, for the heads of answers to agents."""
    tiers = settings.places.reads
    return ", ".join(f"{tier.root} ({tier.name})" for tier in tiers) if len(tiers) > 1 else str(settings.repo)


SAME = (
    "cwd", "model_dir", "index_dir", "agent", "agent_by", "session", "tier", "offline", "virtual_env", "places", "warm",
)  # fmt: skip
"""Fields of the same name in both."""


def options(settings: Settings) -> Options:
    """The library's options by these settings; the caller adds how progress is shown and questions are asked."""
    return Options(
        cache_dir=settings.folders.cache,
        state_dir=settings.folders.state,
        config_dir=settings.folders.config,
        outcomes=settings.agents.outcomes,
        **{name: getattr(settings, name) for name in SAME},
    )
