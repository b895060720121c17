"""The real model: pulled once into the cache of this machine, then found there."""

import shutil
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime  # type: ignore[import-untyped]  # it ships no types
import pytest
from tokenizers import Tokenizer

from ai_lessons.errors import NotFound, StorageFailed
from ai_lessons.search.embedding import (
    BGE_QUERY,
    FastEmbedder,
    dimensions_of,
    load_named,
    load_pinned,
)
from ai_lessons.search.model_files import PINNED, ModelUnavailable, pull
from real_world import REAL_CACHE_HOME, instead


@pytest.fixture(scope="session")
def model() -> FastEmbedder:
    try:
        found = pull(REAL_CACHE_HOME / "ai-lessons")
    except ModelUnavailable as error:
        pytest.skip(f"no embedding model to be had here: {error.message}")
    return load_pinned(found.path, threads=1)


def test_vectors_are_normal_in_order_and_of_the_stated_size(model: FastEmbedder) -> None:
    texts = ["a long passage about git " * 40, "short", "git rebase", "", "bread and butter " * 60]
    vectors = list(model.embed(texts))
    assert [vector.shape for vector in vectors] == [(PINNED.dimensions,)] * len(texts)
    assert all(vector.dtype == np.float32 for vector in vectors)
    assert np.allclose([np.linalg.norm(vector) for vector in vectors], 1, atol=1e-5)
    alone = [next(model.embed([text])) for text in texts]
    assert all(float(one @ other) > 0.98 for one, other in zip(vectors, alone, strict=True))
    assert np.array_equal(vectors[0], alone[0])


def test_a_question_is_nearest_to_its_answer(model: FastEmbedder) -> None:
    passages = [
        "Undo the last commit with git reset --soft HEAD~1",
        "Bake bread at 230 degrees",
        "List files with ls",
    ]
    question = model.embed_query("how do I take back a commit I just made?")
    assert int(np.argmax([question @ vector for vector in model.embed(passages)])) == 0


def test_a_huge_text_is_cut_not_refused(model: FastEmbedder) -> None:
    assert next(model.embed(["word " * 100_000])).shape == (PINNED.dimensions,)


def test_a_folder_without_a_model_is_an_error_of_ours(tmp_path: Path) -> None:
    with pytest.raises(StorageFailed, match="cannot be loaded"):
        load_pinned(tmp_path)
    (tmp_path / PINNED.files[0].name).write_bytes(b"no graph")
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(StorageFailed, match="cannot be loaded"):
        load_pinned(tmp_path)


def test_other_models_go_by_name(tmp_path: Path) -> None:
    assert dimensions_of("sentence-transformers/all-MiniLM-L6-v2") == 384
    with pytest.raises(NotFound, match="no embedding model"):
        dimensions_of("nobody/nothing")
    with pytest.raises(ModelUnavailable) as caught:
        load_named("sentence-transformers/all-MiniLM-L6-v2", tmp_path, offline=True)
    assert [source for source, _ in caught.value.tried] == ["cache", "model hub"]


def test_a_hub_that_is_not_there_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(ModelUnavailable) as caught:
        load_named("BAAI/bge-base-en-v1.5", tmp_path)
    assert [source for source, _ in caught.value.tried] == ["cache", "model hub"]
    assert "refused" in caught.value.tried[1][1]


def bare(folder: Path, text: str) -> Any:
    """The vector of onnxruntime alone: the first token's, normalised."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(512)
    tokenizer.no_padding()
    session = onnxruntime.InferenceSession(
        str(folder / "model_quantized.onnx"), providers=["CPUExecutionProvider"]
    )
    ids = np.array([tokenizer.encode(text).ids], dtype=np.int64)
    feed = {
        "input_ids": ids,
        "attention_mask": np.ones_like(ids),
        "token_type_ids": np.zeros_like(ids),
    }
    asked = {one.name for one in session.get_inputs()}
    first = session.run(None, {name: value for name, value in feed.items() if name in asked})[0][
        0, 0
    ]
    return first / np.linalg.norm(first)


def test_vectors_are_those_of_the_bare_model(model: FastEmbedder) -> None:
    folder = pull(REAL_CACHE_HOME / "ai-lessons").path
    for text in (
        "a long passage about git " * 200,
        "short",
        "",
        "Übergrößen — 数据库 setUserName()",
    ):
        assert np.allclose(next(model.embed([text])), bare(folder, text), atol=1e-6)
    expected = bare(folder, BGE_QUERY + "how do I undo a commit")
    assert np.allclose(model.embed_query("how do I undo a commit"), expected, atol=1e-6)


def test_the_model_loads_from_a_folder_that_is_only_readable_and_nothing_is_left(
    model: FastEmbedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, temporary = tmp_path / "given", tmp_path / "tmp"
    shutil.copytree(pull(REAL_CACHE_HOME / "ai-lessons").path, folder)
    folder.chmod(0o500)
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    monkeypatch.chdir(tmp_path)
    again = load_pinned(Path("given"))
    assert (again.name, again.dimensions) == (PINNED.name, PINNED.dimensions)
    assert np.allclose(again.embed_query("undo"), model.embed_query("undo"), atol=1e-4)
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        file.name for file in PINNED.files
    )
    assert list(temporary.iterdir()) == []


def test_a_hub_that_does_not_answer_is_asked_once_in_ten_minutes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, closing: ExitStack
) -> None:
    asked: list[bool] = []

    def load(*_: object, local_files_only: bool) -> None:
        asked.append(local_files_only)
        raise ValueError("no network")

    closing.enter_context(instead("ai_lessons.search.embedding.reach_hub", lambda: None))
    closing.enter_context(
        instead(
            "ai_lessons.search.embedding.TextEmbedding.__init__",
            lambda _self, *a, **k: load(*a, **k),
        )
    )
    for _ in range(3):
        with pytest.raises(ModelUnavailable, match="no network"):
            load_named("BAAI/bge-base-en-v1.5", tmp_path)
    assert asked == [True, False, True, True]
