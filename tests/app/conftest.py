"""A world for every test: a repository that git made, and a library on it with no network and no model."""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from app.world import ACME, BETA, Company, CountingEmbedder, World, options
from real_world import Git, commit_all


@pytest.fixture
def world(git_repo: Path, git: Git, tmp_path: Path) -> Iterator[World]:
    made = World(git_repo, git, options(tmp_path))
    yield made
    made.close()


@pytest.fixture
def company(git_repo: Path, tmp_path: Path, git: Git, closing: ExitStack) -> Company:
    """Four repositories with two commits on main."""
    made = Company(tmp_path, git, options(tmp_path), closing)
    (git_repo / "LICENSE").write_text("MIT\n")
    commit_all(git, git_repo, "second")
    (git_repo / "global/lessons").mkdir(parents=True)
    for tier in ("project", "user", ACME, BETA):
        shutil.copytree(git_repo, made.root(tier))
    return made


@pytest.fixture
def embedder(monkeypatch: pytest.MonkeyPatch) -> CountingEmbedder:
    """Stands in for the pinned model and collects the texts that were embedded."""
    fake = CountingEmbedder()
    monkeypatch.setattr("ai_lessons.app.search_index.Embedders.embedder", lambda _, _name: fake)
    return fake
