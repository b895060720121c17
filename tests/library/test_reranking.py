"""Search with a reranker. None can be had here, so a stub stands in for the model; what cannot be loaded is real."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ai_lessons.errors import UsageError
from ai_lessons.index.model_files import ModelUnavailable
from ai_lessons.library import searching
from ai_lessons.library.answers import Query

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from library.world import World


class Backwards:
    """Prefers what names the most cheese, and remembers what it read."""

    def __init__(self) -> None:
        self.read: list[str] = []

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        assert question == question.strip()
        self.read += texts
        return [min(text.count("cheese") / 10, 1.0) for text in texts]


@pytest.fixture
def stored(world: World) -> World:
    world.write("notes/a.md", "# Bread\n\nBread, bread and bread, on which some put cheese.\n")
    world.write("notes/b.md", "# Board\n\nBread may lie beside cheese, cheese and cheese.\n")
    world.write("notes/c.md", "# Dates\n\nNothing of the kind.\n")
    return world


def test_a_reranker_decides_about_the_order_and_its_score_is_the_match(
    stored: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub = Backwards()
    monkeypatch.setattr("ai_lessons.index.embedding.load_reranker", lambda *_, **__: stub)
    assert stored.found("bread")[0] == "Bread"
    assert stub.read == []
    answer = stored.search("bread", rerank=True, explain=True)
    assert [hit.entry.title for hit in answer.docs] == ["Board", "Bread"]
    assert [hit.factors["match"] for hit in answer.docs] == [0.3, 0.1]
    assert all(text.split("\n")[0] in {"Bread", "Board"} for text in stub.read)
    assert stored.found("zanzibar", rerank=True) == []


def test_without_the_model_it_is_an_error_that_says_what_to_do(stored: World) -> None:
    with pytest.raises(ModelUnavailable, match="ms-marco") as caught:
        stored.search("bread", rerank=True)
    assert "without --rerank" in caught.value.hint


def test_an_unknown_name_and_a_folder_without_a_model_are_errors(stored: World, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no reranker 'somebody/nothing'"):
        searching.search(stored.fresh(reranker="somebody/nothing"), stored_query())
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelUnavailable, match="holds none of model"):
        searching.search(stored.fresh(reranker="empty"), stored_query())
    (tmp_path / "empty/model.onnx").write_bytes(b"no model")
    with pytest.raises(ModelUnavailable, match="folder"):
        searching.search(stored.fresh(reranker=str(tmp_path / "empty")), stored_query())


def stored_query() -> Query:
    return Query("bread", rerank=True)
