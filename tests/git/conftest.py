"""Real repositories and stores that commit into them."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import pytest

from ai_lessons.git.commit import Committer
from ai_lessons.git.store import Store
from approval.approval_world import Clone, world
from approval.proposal_world import Desk
from real_world import Git


class Opened(Protocol):
    """Opens a store that commits."""

    def __call__(self, path: Path, *, autocommit: bool | None = None) -> Store: ...


@pytest.fixture
def opened() -> Opened:
    def make(path: Path, *, autocommit: bool | None = None) -> Store:
        store = Store(path, committing=Committer)
        store.autocommit = store.autocommit if autocommit is None else autocommit
        return store

    return make


@pytest.fixture
def store(git_repo: Path, opened: Opened) -> Store:
    """A store on a repository with one commit."""
    return opened(git_repo)


@pytest.fixture
def be(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Call it to be somebody else to git."""

    def become(name: str, email: str) -> None:
        for role in ("AUTHOR", "COMMITTER"):
            monkeypatch.setenv(f"GIT_{role}_NAME", name)
            monkeypatch.setenv(f"GIT_{role}_EMAIL", email)

    return become


@pytest.fixture
def desk(git_repo: Path, git: Git, be: Callable[[str, str], None]) -> Desk:
    """A repository with two commits and a person at it, for proposals."""
    made = Desk(git_repo, git, be)
    be("Human", "human@x")
    made.commit("global/docs/unversioned/a.md")
    return made


@pytest.fixture
def mine(tmp_path: Path) -> Clone:
    """The first clone of a hub with two commits on main."""
    return world(tmp_path)[1]
