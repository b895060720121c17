"""Slow packages creep back in through innocent lines: a fresh interpreter and a list of names catch them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from real_world import Git, commit_all, put_file

NEVER_FOR_READING = ("shutil", "bz2", "lzma", "zlib", "subprocess", "difflib", "cryptography")
JUDGING = (
    "ai_lessons.approval.state",
    "ai_lessons.approval.state",
    "ai_lessons.approval.state",
    "ai_lessons.model.approval",
    "ai_lessons.model.approval",
    "ai_lessons.git.commit",
    "ai_lessons.model.markdown",
    "ai_lessons.model.chunks",
    "ai_lessons.model.frontmatter",
    "ai_lessons.interfaces.cli.contribute",
    "ai_lessons.interfaces.cli.review",
)
"""Modules of ours that a read with nothing new has no use for."""

SLOW = (
    "lancedb",
    "pyarrow",
    "fastembed",
    "onnxruntime",
    "tokenizers",
    "numpy",
    "mcp",
    "markdown_it",
    "huggingface_hub",
    "packaging",
    "detect_secrets",
    "requests",
    "starlette",
    "uvicorn",
    "jinja2",
    "nh3",
)
WRITING = ("dulwich", "yaml", "ulid", "filelock")

MODULES = [
    "ai_lessons.errors",
    "ai_lessons.settings",
    "ai_lessons.model.entries",
    "ai_lessons.app.answers",
    "ai_lessons.app.workspace",
    "ai_lessons.interfaces.output",
    "ai_lessons.interfaces.text",
    "ai_lessons.interfaces.text_jobs",
    "ai_lessons.interfaces.text_jobs",
    "ai_lessons.interfaces.cli",
    "ai_lessons.interfaces.cli.contribute",
    "ai_lessons.interfaces.cli.recall",
    "ai_lessons.interfaces.cli.admin",
    "ai_lessons.interfaces.lesson",
    "ai_lessons.interfaces.mcp_server",
]

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
        [sys.executable, "-c", probe], capture_output=True, text=True, check=False, env=environ, cwd=cwd
    )
    assert "LOADED" in done.stdout, done.stderr
    return set(done.stdout.rpartition("LOADED")[2].split())


def calling(*args: str, door: str = "cli") -> str:
    return f"from ai_lessons.interfaces.{door} import run\nassert run({list(args)!r}) == 0"


@pytest.mark.parametrize("module", MODULES)
def test_importing_a_cheap_module_loads_nothing_slow(module: str) -> None:
    assert loaded(f"import {module}") & {*SLOW, *WRITING} == set()


@pytest.mark.parametrize("args", [(), ("--help",), ("--version",), ("recall", "--help"), ("admin", "init", "--help")])
def test_help_loads_neither_the_slow_packages_nor_the_rooms(args: tuple[str, ...]) -> None:
    names = loaded(calling(*args) + "\nassert 'ai_lessons.app.workspace' not in sys.modules")
    assert names & {*SLOW, *WRITING} == set()


@pytest.mark.parametrize("args", [(), ("--help",), ("load", "--help")])
def test_help_of_lesson_loads_neither_the_slow_packages_nor_the_rooms(args: tuple[str, ...]) -> None:
    code = calling(*args, door="lesson_cli")
    names = loaded(f"{code}\nassert 'ai_lessons.app.workspace' not in sys.modules")
    assert names & {*SLOW, *WRITING} == set()


def test_the_root_help_does_not_even_load_the_groups() -> None:
    loaded(calling("--help") + "\nassert 'ai_lessons.interfaces.cli.recall' not in sys.modules")


@pytest.mark.parametrize("args", [("recall", "list"), ("recall", "tags"), ("recall", "show", "L-8F3K2A")])
def test_reading_loads_no_slow_package_once_the_catalog_is_there(
    args: tuple[str, ...], git_repo: Path, git: Git
) -> None:
    put_file(git_repo / "global/lessons/a.md", ENTRY)
    commit_all(git, git_repo, "entry")
    first = (
        f"from ai_lessons.interfaces.cli import run\nassert run(['--repo', {str(git_repo)!r}, 'recall', 'list']) == 0"
    )
    loaded(first)
    names = loaded(calling("--repo", str(git_repo), *args))
    assert names & {*SLOW, *WRITING, *JUDGING, *NEVER_FOR_READING} == set()


@pytest.mark.parametrize("args", [("load",), ("load", "--scope=tmux"), ("list",), ("show", "L-8F3K2A")])
def test_lesson_reads_from_the_catalog_alone(args: tuple[str, ...], git_repo: Path, git: Git) -> None:
    put_file(git_repo / "global/lessons/a.md", ENTRY)
    commit_all(git, git_repo, "entry")
    loaded(calling("--repo", str(git_repo), "list", door="lesson_cli"))
    names = loaded(calling("--repo", str(git_repo), *args, door="lesson_cli"))
    writing = {
        "ai_lessons.app.editing",
        "ai_lessons.model.frontmatter",
    }
    assert names & {*SLOW, *WRITING, *JUDGING, *NEVER_FOR_READING, *writing} == set()


@pytest.fixture
def reviewed(git_repo: Path, git: Git) -> Path:
    """A repository with a lesson, and a proposed rule that has been counted once."""
    for name, text in (
        ("global/lessons/a.md", ENTRY),
        ("global/rules/b.md", ENTRY.replace("lesson\n", "rule\nrationale: why\n").replace("8F3K2A", "5N1QTC")),
    ):
        put_file(git_repo / name, text)
    git(git_repo, "add", "global/lessons")
    git(git_repo, "commit", "-qm", "entry")
    git(git_repo, "switch", "-q", "-c", "rules/R-5N1QTC-b")
    commit_all(git, git_repo, "rule")
    git(git_repo, "switch", "-q", "main")
    loaded(calling("--repo", str(git_repo), "admin", "pending-rules", "--count"))
    return git_repo


@pytest.mark.parametrize("args", [("admin", "pending-rules", "--count"), ("recall", "context", "--path", "src/app.py")])
def test_what_hooks_ask_loads_no_slow_package(args: tuple[str, ...], reviewed: Path) -> None:
    names = loaded(calling("--repo", str(reviewed), *args))
    assert names & {*SLOW, *WRITING} == set()


def test_review_loads_no_index(reviewed: Path) -> None:
    assert loaded(calling("--repo", str(reviewed), "admin", "pending-rules")) & set(SLOW) == set()
