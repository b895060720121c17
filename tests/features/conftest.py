"""The worlds of the tests of the core, for the tests of features."""

from pathlib import Path

import pytest

from app.conftest import company, embedder, world
from interfaces.conftest import approved, host, knowledge, proposal, run, signed, spawn, transcript
from interfaces.rules_with_checks import checked, rules
from real_world import Git, commit_all, put_file

__all__ = [
    "approved", "checked", "company", "embedder", "host", "knowledge", "proposal", "rules", "run", "signed", "spawn",
    "transcript", "world",
]  # fmt: skip


@pytest.fixture
def source(tmp_path: Path, git: Git) -> Path:
    """The repository of another project, with a guide, a script and a folder."""
    root = tmp_path / "Jira API"
    put_file(root / "docs/guide.md", "# The guide\n\nFirst steps.\n")
    put_file(root / "docs/deep/more.md", "# More\n\nSecond steps.\n")
    put_file(root / "docs/notes.txt", "plain notes\n")
    put_file(root / "run.sh", "#!/bin/sh\n# Runs it all.\necho ran\n")
    git(root, "init", "-q")
    commit_all(git, root, "source")
    return root
