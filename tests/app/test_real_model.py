"""From an empty folder to an answer by meaning, with the pinned model and nothing faked."""

from __future__ import annotations

from pathlib import Path

import pytest

from ai_lessons.app import editing, entries, health, search, search_index, setup
from ai_lessons.app.answers import LessonDraft, Query
from ai_lessons.app.setup import init_repository
from ai_lessons.app.workspace import Library
from ai_lessons.search.model_files import ModelUnavailable, pull
from app.world import World
from real_world import REAL_CACHE_HOME


@pytest.fixture(scope="session")
def model_dir() -> Path:
    try:
        return pull(REAL_CACHE_HOME / "ai-lessons").path
    except ModelUnavailable as error:
        pytest.skip(f"no embedding model to be had here: {error.message}")


def test_meaning_is_found_and_an_edit_at_once(world: World, model_dir: Path, tmp_path: Path) -> None:
    options = world.options._replace(model_dir=model_dir)
    init_repository(tmp_path / "kb", options, hooks=False, starters=True)
    with Library(tmp_path / "kb", options) as library:
        state = search_index.model_status(library.primary)
        assert (state.present, state.source) == (True, "folder")
        made = editing.add_lesson(
            library,
            LessonDraft("Rotate the signing keys in spring", "Otherwise the token service refuses every login."),
        )
        done = setup.reindex(library)
        assert done.missing == 0
        assert done.embedded == done.passages >= 19
        answer = search.search(library, Query("nobody can sign in any more because certificates expired"))
        assert answer.lessons[0].entry.id == made.id
        assert all(note.startswith(("see also", "nothing near; the nearest is L-")) for note in answer.notes)
        text = entries.show(library, made.id).raw
        (tmp_path / "kb" / made.path).write_text(
            text.replace(
                "Otherwise the token service refuses every login.", "Bread needs three hours to rise."
            ).replace("Rotate the signing keys in spring", "Patience with the dough")
        )
        answer = search.search(library, Query("yeast, flour and an oven"))
        assert answer.lessons[0].entry.title == "Patience with the dough"
        assert health.stats(library).vectors == health.stats(library).passages
        assert all(check.state != "error" for check in health.doctor(library))
