"""A code project with knowledge of its own, the user's, and a company's."""

from __future__ import annotations

from pathlib import Path

import pytest

from interfaces.world import Run
from real_world import Git, commit_all, put_file


@pytest.fixture
def three(
    knowledge: Path, hermetic: Path, run: Run, git: Git, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """The knowledge is that of the project we stand in; the user's and acme's repositories lie below the home."""
    monkeypatch.delenv("AI_LESSONS_REPO")
    desk = knowledge.parent / "shop"
    (desk / ".ai").mkdir(parents=True)
    git(desk, "init", "-q")
    knowledge.rename(desk / ".ai/reference")
    monkeypatch.chdir(desk)
    for place in (hermetic / ".ai/reference", hermetic / "acme"):
        put_file(place / "README.md", "# Knowledge\n")
        git(place, "init", "-q")
        commit_all(git, place, "first")
    put_file(hermetic / ".config/ai-lessons/config.toml", '[enterprise]\nacme = "~/acme"\n')
    return desk
