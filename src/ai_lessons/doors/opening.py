"""From the user's settings to an open library: what all doors share. Prints nothing, asks nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ai_lessons.library.answers import Progress
    from ai_lessons.library.options import Options
    from ai_lessons.settings import Settings, Tier


def version() -> str:
    """The version that is installed, or `unknown` where the code runs without being installed."""
    from importlib import metadata

    try:
        return metadata.version("ai-lessons")
    except metadata.PackageNotFoundError:
        return "unknown"


def whereabouts(settings: Settings) -> str:
    """The folders of the repositories that are read, as agents are told where an answer comes from."""
    if len(settings.reads) < 2:
        return str(settings.repo)
    return ", ".join(f"{tier.path} ({tier.name})" for tier in settings.reads)


def options(
    settings: Settings,
    *,
    progress: Progress | None = None,
    ask_trust: Callable[[str, str], bool] | None = None,
    ask_keys: Callable[[str, list[str]], bool] | None = None,
    ask_source: Callable[[str, str, str], bool] | None = None,
) -> Options:
    """What the library needs of the settings, and how this door shows progress and asks."""
    from ai_lessons.library.answers import silent
    from ai_lessons.library.options import Options, Places, TierPlace

    def places(tiers: Iterable[Tier]) -> tuple[TierPlace, ...]:
        return tuple(TierPlace(one.name, one.path, one.why, one.url) for one in tiers)

    return Options(
        cache_dir=settings.folders.cache,
        state_dir=settings.folders.state,
        config_dir=settings.folders.config,
        cwd=settings.cwd,
        model_dir=settings.model_dir,
        reranker=settings.reranker,
        index_dir=settings.index_dir,
        agent=settings.agent,
        agent_by=settings.agent_by,
        session=settings.session,
        tier=settings.tier,
        offline=settings.offline,
        ask_trust=ask_trust,
        ask_keys=ask_keys,
        ask_source=ask_source,
        progress=progress or silent,
        places=Places(
            places(settings.reads),
            places(settings.known),
            settings.belongs_to,
            named=settings.named,
            file=str(settings.file),
        ),
    )
