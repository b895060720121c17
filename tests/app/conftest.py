"""A world for every test: a repository that git made, and a library on it with no network and no model."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.world import CountingEmbedder, World, options
from real_world import Git


@pytest.fixture
def world(git_repo: Path, git: Git, tmp_path: Path) -> Iterator[World]:
    made = World(git_repo, git, options(tmp_path))
    yield made
    made.close()


@pytest.fixture
def embedder(monkeypatch: pytest.MonkeyPatch) -> CountingEmbedder:
    """Stands in for the pinned model and collects the texts that were embedded."""
    fake = CountingEmbedder()
    monkeypatch.setattr("ai_lessons.app.search_index.Embedders.embedder", lambda _, _name: fake)
    return fake
