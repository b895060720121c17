"""From an empty folder to an answer by meaning, with the pinned model and nothing faked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ai_lessons.index.model_files import ModelUnavailable, pull
from ai_lessons.library.answers import Query
from ai_lessons.library.wiring import init_repository, open_library
from ai_lessons.library.writes import LessonDraft
from conftest import REAL_CACHE_HOME

if TYPE_CHECKING:
    from pathlib import Path

    from library.world import World


@pytest.fixture(scope="session")
def model_dir() -> Path:
    try:
        return pull(REAL_CACHE_HOME / "ai-lessons").path
    except ModelUnavailable as error:
        pytest.skip(f"no embedding model to be had here: {error.message}")


def test_meaning_is_found_and_an_edit_at_once(world: World, model_dir: Path, tmp_path: Path) -> None:
    options = world.options._replace(model_dir=model_dir)
    init_repository(tmp_path / "kb", options, hooks=False, starters=True)
    with open_library(tmp_path / "kb", options) as library:
        state = library.admin.model_status()
        assert (state.present, state.source) == (True, "folder")
        made = library.contribute.add_lesson(
            LessonDraft("Rotate the signing keys in spring", "Otherwise the token service refuses every login.")
        )
        done = library.admin.reindex()
        assert done.missing == 0
        assert done.embedded == done.passages >= 19
        answer = library.recall.search(Query("nobody can sign in any more because certificates expired"))
        assert answer.lessons[0].entry.id == made.id
        assert all(note.startswith("see also") for note in answer.notes)
        text = library.recall.show(made.id).raw
        (tmp_path / "kb" / made.path).write_text(
            text.replace(
                "Otherwise the token service refuses every login.", "Bread needs three hours to rise."
            ).replace("Rotate the signing keys in spring", "Patience with the dough")
        )
        answer = library.recall.search(Query("yeast, flour and an oven"))
        assert answer.lessons[0].entry.title == "Patience with the dough"
        assert library.admin.stats().vectors == library.admin.stats().passages
        assert all(check.state != "error" for check in library.admin.doctor())
