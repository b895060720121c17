"""A machine with a file of its administrators, and code of a company."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ai_lessons import settings
from interfaces.world import run_inside
from real_world import Git, instead, put_file

Place = Callable[[str], Path]
Clone = Callable[..., Path]


@pytest.fixture
def place() -> Iterator[Place]:
    """Writes the administrators' file, as root would: who runs the tests counts as root."""

    def write(text: str) -> Path:
        file = put_file(settings.ADMINISTRATORS, text)
        file.chmod(0o644)
        return file

    with instead("ai_lessons.features.company.administrators.PLACERS", {0, os.getuid()}):
        yield write


@pytest.fixture
def clone(tmp_path: Path, git: Git) -> Clone:
    """Makes code with these remotes: `origin` first, the others named."""

    def make(origin: str = "", name: str = "shop", **others: str) -> Path:
        folder = tmp_path / name
        git(tmp_path, "init", "-q", str(folder))
        for remote, address in {"origin": origin, **others}.items():
            if address:
                git(folder, "config", f"remote.{remote}.url", address)
        return folder

    return make


@pytest.fixture
def own() -> Path:
    """A person's own repository, empty."""
    home = Path.home()
    assert run_inside(["admin", "init", str(home / ".ai/reference")], home).code == 0
    return home / ".ai/reference"
