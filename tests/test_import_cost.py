"""Slow packages creep back in through innocent lines: a fresh interpreter and a list of names catch them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from real_world import Git, commit_all, put_file

SLOW = (
    "lancedb", "pyarrow", "fastembed", "onnxruntime", "tokenizers", "numpy", "mcp", "markdown_it", "huggingface_hub",
    "packaging", "detect_secrets", "requests", "starlette", "uvicorn", "jinja2", "nh3",
)  # fmt: skip
FIRST = {
    "app",
    "errors",
    "interfaces",
    "interfaces.cli",
    "interfaces.cli.call",
    "interfaces.cli.command",
    "interfaces.cli.ending",
    "interfaces.cli.progress",
    "interfaces.output",
}
FIRST |= {"model", "model.plain", "extensions", "features"}
"""Modules of ours that may load before the command is known."""
NOT_TO_LIST = {
    "app.link_effects",
    "telling.context",
    "search.ranking",
    "search.tokens",
    "search.terms",
    "features.learning.usages",
    "model.outcomes",
    "model.tallies",
}
NOT_TO_LIST |= {"model.command_forms", "model.transcripts"}

WRITING = ("dulwich", "yaml", "ulid", "filelock")

ENTRY = """---
id: 01JD3Z8QK5W7M2X9V4T68F3K2A
kind: lesson
title: A lesson
---
What was seen.
"""


def loaded(code: str, cwd: Path | None = None) -> set[str]:
    """What a fresh interpreter has loaded after running the code: packages of others, modules of ours."""
    ours = "name if name.startswith('ai_lessons.') else name.partition('.')[0]"
    probe = f"import sys\n{code}\nprint('LOADED', *{{{ours} for name in sys.modules}})"
    environ = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", probe],
        capture_output=True,
        text=True,
        check=False,
        env=environ,
        cwd=cwd,
    )
    assert "LOADED" in done.stdout, done.stderr
    return set(done.stdout.rpartition("LOADED")[2].split())


def calling(*args: str) -> str:
    return f"from ai_lessons.interfaces.cli import run\nassert run({list(args)!r}) == 0"


def test_help_loads_nothing_slow() -> None:
    for args in (("--help",), ("admin", "init", "--help")):
        assert loaded(calling(*args)) & {*SLOW, *WRITING} == set()


def ours(names: set[str]) -> set[str]:
    return {name.removeprefix("ai_lessons.") for name in names if name.startswith("ai_lessons.")}


def test_version_and_help_load_click_and_few_modules_of_ours() -> None:
    for option in ("--version", "--help"):
        names = loaded(calling(option))
        assert ours(names) <= FIRST
        assert "sqlite3" not in names
    asking = loaded("from ai_lessons.app import open_repository, daemon_client")
    assert (
        ours(asking) & {"git.worktree", "git.store", "search.catalog", "model.transcripts"} == set()
    )


@pytest.fixture
def reviewed(git_repo: Path, git: Git) -> Path:
    """A repository with a lesson, and a proposed rule that has been counted once."""
    for name, text in (
        ("global/lessons/a.md", ENTRY),
        (
            "global/rules/b.md",
            ENTRY.replace("lesson\n", "rule\nrationale: why\n").replace("8F3K2A", "5N1QTC"),
        ),
    ):
        put_file(git_repo / name, text)
    git(git_repo, "add", "global/lessons")
    git(git_repo, "commit", "-qm", "entry")
    git(git_repo, "switch", "-q", "-c", "rules/R-5N1QTC-b")
    commit_all(git, git_repo, "rule")
    git(git_repo, "switch", "-q", "main")
    loaded(calling("--repo", str(git_repo), "admin", "pending-rules", "--count"))
    return git_repo


def test_reading_loads_nothing_slow_once_the_catalog_is_there(reviewed: Path) -> None:
    loaded(calling("--repo", str(reviewed), "recall", "list"))
    for args in (
        ("recall", "list"),
        ("recall", "show", "L-8F3K2A"),
        ("recall", "context", "--path", "src/app.py"),
        ("admin", "pending-rules", "--count"),
    ):
        assert loaded(calling("--repo", str(reviewed), *args)) & {*SLOW, *WRITING} == set(), args
    names = loaded(calling("--repo", str(reviewed), "recall", "list"))
    assert ours(names) & NOT_TO_LIST == set()
    assert "dataclasses" not in names
    assert {name for name in ours(names) if name.startswith("features.")} == set()


def test_review_init_hosts_and_save_load_no_index(reviewed: Path) -> None:
    for command in ("pending-rules", "init", "hosts", "save"):
        names = loaded(calling("--repo", str(reviewed), "admin", command))
        assert names & set(SLOW) == set(), command


def test_a_hook_loads_no_command_line() -> None:
    for module in ("hook", "agent_hook"):
        names = loaded(f"import ai_lessons.interfaces.{module}")
        assert names & {*SLOW, *WRITING, "dataclasses", "inspect", "click"} == set(), module
        assert {name for name in ours(names) if name.startswith("features.")} == set(), module
