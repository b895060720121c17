"""Adds docs for measurements, by the feature for it, which is named in strings alone: it may be taken out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ai_lessons import extensions

if TYPE_CHECKING:
    from ai_lessons.app.workspace import Library
    from ai_lessons.app.written import Imported

# written so that this file stays where the feature is taken out
INTAKE = f"{extensions.FEATURES}.intake"


def draft(*args: Any, **stated: Any) -> Any:
    """What to add, as `ResourceDraft` of the feature takes it."""
    return extensions.load(f"{INTAKE}.plan:ResourceDraft")(*args, **stated)


def add_resources(library: Library, what: Any) -> Imported:
    """Add docs or scripts."""
    imported: Imported = extensions.load(f"{INTAKE}.jobs:add_resources")(library, what)
    return imported
