"""From the user's settings to an open library: what all doors share. Prints nothing, asks nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from ai_lessons.library.answers import Progress
    from ai_lessons.library.wiring import Options
    from ai_lessons.settings import Settings


def version() -> str:
    """The version that is installed, or `unknown` where the code runs without being installed."""
    from importlib import metadata

    try:
        return metadata.version("ai-lessons")
    except metadata.PackageNotFoundError:
        return "unknown"


def options(
    settings: Settings,
    *,
    progress: Progress | None = None,
    ask_trust: Callable[[str, str], bool] | None = None,
    ask_keys: Callable[[str, list[str]], bool] | None = None,
) -> Options:
    """What the library needs of the settings, and how this door shows progress and asks."""
    from ai_lessons.library.answers import silent
    from ai_lessons.library.wiring import Options

    return Options(
        cache_dir=settings.folders.cache,
        state_dir=settings.folders.state,
        config_dir=settings.folders.config,
        cwd=settings.cwd,
        model_dir=settings.model_dir,
        reranker=settings.reranker,
        index_dir=settings.index_dir,
        agent=settings.agent,
        session=settings.session,
        tier=settings.tier,
        offline=settings.offline,
        ask_trust=ask_trust,
        ask_keys=ask_keys,
        progress=progress or silent,
    )
