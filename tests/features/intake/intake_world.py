"""What the tests of the intake have of the world."""

from pathlib import Path
from typing import Any

from ai_lessons.app.written import Imported
from ai_lessons.features.intake.jobs import add_resources
from ai_lessons.features.intake.plan import ResourceDraft
from ai_lessons.model.entries import Kind
from app.world import World


def bring(world: World, *paths: str | Path, kind: Kind = Kind.DOC, **more: Any) -> Imported:
    """Add files or folders as docs, or as scripts."""
    draft = ResourceDraft(kind, [str(path) for path in paths], **more)
    return add_resources(world.library, draft)
