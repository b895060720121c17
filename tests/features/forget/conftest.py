"""A knowledge repository with a remote and a secret that is nearly everywhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from interfaces.world import Run, environment, program_in
from real_world import Git, commit_all, put_file

SECRET = "contract 4711-blue"
ENTRY = "01JD3Z8QK5W7M2X9V4T6AAAAAA"
HANDLE = "L-AAAAAA"
PATH = "acme/lessons/2026-11/how-acme-pays-AAAAAA.md"
TEXT = f"""---
id: {ENTRY}
kind: lesson
title: How the customer Acme pays its invoices
created: 2026-11-21T20:14:00Z
---
The customer pays by {SECRET}, thirty days after the date.
"""


@dataclass
class Secret:
    """The repository, its remote, and what the program says and what its commands do."""

    root: Path
    hub: Path
    run: Run
    git: Git

    def plan(self, *words: str, text: str = "") -> dict[str, Any]:
        done = self.run("admin", "forget", *words, "--plan", "--json", text=text)
        assert done.code == 0, done.err
        answer: dict[str, Any] = json.loads(done.out)
        return answer

    def forget(self, *words: str, text: str = "") -> dict[str, Any]:
        done = self.run("admin", "forget", *words, "--yes", "--json", text=text)
        assert done.code == 0, done.err
        answer: dict[str, Any] = json.loads(done.out)
        return answer

    def places(self, *words: str, text: str = "") -> dict[str, int]:
        return {place["what"]: place["number"] for place in self.plan(*words, text=text)["places"]}

    def carry_out(self, step: dict[str, Any], typed: str = "") -> None:
        """Run the commands of a step as they were given, in one shell; `typed` at its terminal."""
        # where `git filter-repo` was installed with the tools for tests
        tools = os.path.dirname(sys.executable)
        ours = str(program_in(self.root.parent / "bin"))
        programs = os.pathsep.join((ours, tools, os.environ["PATH"]))
        done = subprocess.run(
            ["bash", "-e", "-c", "\n".join(step["commands"])],
            cwd=self.root,
            input=typed,
            env=environment(PATH=programs),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{step['commands']}\n{done.stdout}{done.stderr}"


def everything(repository: Path) -> bytes:
    """The content of all objects of a repository, and of its refs."""
    done = subprocess.run(
        ["git", "cat-file", "--batch-all-objects", "--batch"],
        cwd=repository,
        capture_output=True,
        check=True,
    )
    return done.stdout


@pytest.fixture
def secret(knowledge: Path, run: Run, git: Git, tmp_path: Path) -> Secret:
    """One lesson holds the secret, in two versions; `main` is on the remote."""
    hub = tmp_path / "hub.git"
    git(tmp_path, "init", "-q", "--bare", str(hub))
    git(knowledge, "remote", "add", "origin", str(hub))
    put_file(knowledge / PATH, TEXT)
    commit_all(git, knowledge, "Add lesson: How the customer Acme pays its invoices")
    put_file(knowledge / PATH, TEXT + "\nAsk Ann.\n")
    commit_all(git, knowledge, "Ask Ann")
    git(knowledge, "push", "-qu", "origin", "main")
    return Secret(knowledge, hub, run, git)
