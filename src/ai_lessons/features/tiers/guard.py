"""Asked before each write: whether it goes to the user's own repository beside an enterprise's project."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.model import USER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_lessons.app.workspace import Library, RepositorySession
    from ai_lessons.git.store import Change


def before_write(library: Library, repo: RepositorySession, changes: Sequence[Change]) -> None:
    """Raises Refused: a policy of the enterprise whose project is worked in forbids it."""
    if not library.belongs_to:
        return
    places = library.options.places.known
    is_users = any(place.name == USER and place.root == repo.store.root for place in places)
    if is_users or repo.options.tier == USER:
        # most writes meet no enterprise, and load nothing of this
        from ai_lessons.features.tiers import policies

        policies.refuse_personal(library, repo, changes)
