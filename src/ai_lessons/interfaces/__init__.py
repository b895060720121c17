"""How people and agents call us: command lines, MCP, hooks, the page.

Parse, call one job of `app`, render.

No job is done here. Begin with `cli` and one of its groups, then `text` (answers as text). Imports
`app` and below.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons import app, submodules

if TYPE_CHECKING:
    from ai_lessons.app.options import Options
    from ai_lessons.interfaces import text_graphs as text_graphs
    from ai_lessons.interfaces import text_jobs as text_jobs
    from ai_lessons.interfaces import text_proposals as text_proposals
    from ai_lessons.settings import Settings

if not TYPE_CHECKING:
    # what a list or a search does not say is not loaded for it
    __getattr__ = submodules(__name__)

# Fields of the same name in both.
SAME = (
    "cwd", "model_dir", "index_dir", "agent", "agent_by", "author", "session", "tier", "offline", "virtual_env", "places", "warm",
)  # fmt: skip


def library_options(settings: Settings) -> Options:
    """The library's options by these settings.

    The caller adds how progress is shown and questions are asked.
    """
    return app.options.Options(
        cache_dir=settings.folders.cache,
        state_dir=settings.folders.state,
        config_dir=settings.folders.config,
        outcomes=settings.agents.outcomes,
        measure=settings.agents.measure,
        **{name: getattr(settings, name) for name in SAME},
    )
