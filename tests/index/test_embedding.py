"""The real model: pulled once into the cache of this machine, then found there."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from fastembed import TextEmbedding
from fastembed.common.model_description import ModelSource, PoolingType
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.errors import NotFound, StorageFailed
from ai_lessons.index.embedding import dimensions_of, load_named
from ai_lessons.index.model_files import PINNED, ModelUnavailable, pull
from ai_lessons.index.pinned import BATCH, PinnedEmbedder, batches, load_pinned
from real_world import REAL_CACHE_HOME


@pytest.fixture(scope="session")
def model() -> PinnedEmbedder:
    try:
        found = pull(REAL_CACHE_HOME / "ai-lessons")
    except ModelUnavailable as error:
        pytest.skip(f"no embedding model to be had here: {error.message}")
    return load_pinned(found.path, threads=1)


@given(st.lists(st.integers(0, 5000)))
def test_every_text_goes_through_once_and_batches_stay_small(lengths: list[int]) -> None:
    groups = batches(lengths)
    assert sorted(n for group in groups for n in group) == list(range(len(lengths)))
    assert all(len(group) == 1 or len(group) * max(lengths[n] for n in group) <= BATCH for group in groups)


def test_vectors_are_normal_in_order_and_of_the_stated_size(model: PinnedEmbedder) -> None:
    texts = ["a long passage about git " * 40, "short", "git rebase", "", "bread and butter " * 60]
    vectors = list(model.embed(texts))
    assert [vector.shape for vector in vectors] == [(PINNED.dimensions,)] * len(texts)
    assert all(vector.dtype == np.float32 for vector in vectors)
    assert np.allclose([np.linalg.norm(vector) for vector in vectors], 1, atol=1e-5)
    alone = [next(model.embed([text])) for text in texts]
    assert all(float(one @ other) > 0.98 for one, other in zip(vectors, alone, strict=True))
    assert np.array_equal(vectors[0], alone[0])


def test_no_texts_no_vectors(model: PinnedEmbedder) -> None:
    assert list(model.embed([])) == []


def test_a_question_is_nearest_to_its_answer(model: PinnedEmbedder) -> None:
    passages = ["Undo the last commit with git reset --soft HEAD~1", "Bake bread at 230 degrees", "List files with ls"]
    question = model.embed_query("how do I take back a commit I just made?")
    assert int(np.argmax([question @ vector for vector in model.embed(passages)])) == 0


def test_a_huge_text_is_cut_not_refused(model: PinnedEmbedder) -> None:
    assert next(model.embed(["word " * 1_000_000])).shape == (PINNED.dimensions,)


def test_a_folder_without_a_model_is_an_error_of_ours(tmp_path: Path) -> None:
    with pytest.raises(StorageFailed, match="cannot be loaded"):
        load_pinned(tmp_path)
    (tmp_path / PINNED.files[0].name).write_bytes(b"no graph")
    with pytest.raises(StorageFailed, match="cannot be loaded"):
        load_pinned(tmp_path)


def test_other_models_go_by_name(tmp_path: Path) -> None:
    assert dimensions_of("sentence-transformers/all-MiniLM-L6-v2") == 384
    with pytest.raises(NotFound, match="no embedding model"):
        dimensions_of("nobody/nothing")
    with pytest.raises(ModelUnavailable) as caught:
        load_named("sentence-transformers/all-MiniLM-L6-v2", tmp_path, offline=True)
    assert [source for source, _ in caught.value.tried] == ["cache", "model hub"]


def test_a_hub_that_is_not_there_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(ModelUnavailable) as caught:
        load_named("BAAI/bge-base-en-v1.5", tmp_path)
    assert [source for source, _ in caught.value.tried] == ["cache", "model hub"]
    assert "refused" in caught.value.tried[1][1]


def test_fastembed_gives_the_same_vectors(model: PinnedEmbedder, tmp_path: Path) -> None:
    name = f"test/{tmp_path.name}"
    TextEmbedding.add_custom_model(
        model=name, pooling=PoolingType.CLS, normalization=True, sources=ModelSource(url="local"),
        dim=PINNED.dimensions, model_file=PINNED.files[0].name,
    )  # fmt: skip
    folder = tmp_path / "model"
    shutil.copytree(pull(REAL_CACHE_HOME / "ai-lessons").path, folder)
    said = {"model_max_length": 512, "pad_token": "[PAD]", "tokenizer_class": "BertTokenizer", "do_lower_case": True}
    (folder / "tokenizer_config.json").write_text(json.dumps(said))  # no source has one, and fastembed asks for it
    theirs = TextEmbedding(name, specific_model_path=str(folder), threads=1)
    for text in ("a long passage about git " * 200, "short", "", "Übergrößen — 数据库 setUserName()"):
        (vector,) = theirs.embed([text], batch_size=1)
        assert np.allclose(vector, next(model.embed([text])), atol=1e-6)


def test_a_hub_that_does_not_answer_is_asked_once_in_ten_minutes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []

    def load(_name: str, *, local_files_only: bool, **_: object) -> None:
        asked.append(local_files_only)
        raise ValueError("no network")

    monkeypatch.setattr("ai_lessons.index.embedding.hub_silence", lambda: "")
    monkeypatch.setattr("ai_lessons.index.embedding.TextEmbedding.__init__", lambda _self, *a, **k: load(*a, **k))
    for _ in range(3):
        with pytest.raises(ModelUnavailable, match="no network"):
            load_named("BAAI/bge-base-en-v1.5", tmp_path)
    assert asked == [True, False, True, True]
