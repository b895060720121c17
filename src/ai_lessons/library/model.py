"""The embedding model on this machine: whether it is here, and getting it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.index import model_files
from ai_lessons.knowledge.config import DEFAULT_MODEL
from ai_lessons.library.reports import ModelState

if TYPE_CHECKING:
    from ai_lessons.index.model_files import ModelFolder
    from ai_lessons.library.opened import Library


def model_status(library: Library) -> ModelState:
    """Whether the embedding model is on this machine, and from where. Asks no network."""
    name, options = library.primary.reading_config.model, library.options
    if name != DEFAULT_MODEL:
        return ModelState(name, present=True, path=None, source="fastembed, by name")
    return _state(name, model_files.find(options.cache_dir, options.model_dir))


def model_pull(library: Library) -> ModelState:
    """Get the embedding model now, whatever failed before.

    Raises:
        Unreachable: no source has it; says what was tried.
    """
    options, status = library.options, model_status(library)
    if status.present:
        return status
    found = model_files.pull(
        options.cache_dir, options.model_dir, offline=options.offline, again=True, progress=options.progress
    )
    return _state(status.name, found)


def _state(name: str, found: ModelFolder | None) -> ModelState:
    return ModelState(name, found is not None, str(found.path) if found else None, found.source if found else None)
