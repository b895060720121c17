"""A hermetic world for every test: no real home, no user git configuration, no network by accident."""

import gc
import itertools
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from ai_lessons import extensions
from real_world import AGENTS, Git, at_rest, put_program

# The same examples in every run, so that a change is judged by what it changes. A busy machine is slow.
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same", PATIENT, derandomize=True, max_examples=20)
settings.register_profile("explore", PATIENT, print_blob=True, max_examples=200)
settings.load_profile("same")

# A shell starts what it puts in the background with Ctrl-C ignored, and our children would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


MEMORY, ROOM = "/dev/shm", 4 << 30  # noqa: S108  # pytest makes a folder of its own there

_folders = itertools.count()


def pytest_configure() -> None:
    """Files of tests lie in memory where it has room for those of all tests: a disk takes a third of their time."""
    with suppress(OSError):  # no Linux
        place = os.statvfs(MEMORY)
        room = place.f_bavail * place.f_frsize > ROOM
        if room and os.access(MEMORY, os.W_OK) and not place.f_flag & os.ST_NOEXEC:
            os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", MEMORY)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """What is imported and collected stays: to look for garbage in it takes as long as all the rest."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what plays a feature that was taken out (`bench.delete_features`)."""
    here = {feature.name for feature in extensions.rows()}
    for item in items:
        for mark in item.iter_markers("plays"):
            if not here.issuperset(mark.args):
                item.add_marker(pytest.mark.skip(reason=f"without {mark.args[0]}"))


@pytest.fixture
def tmp_path(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """As pytest makes it, but numbered here: pytest reads the names of all earlier folders to number the next one."""
    name = re.sub(r"\W", "_", request.node.name)[:30]
    return tmp_path_factory.mktemp(f"{name}{next(_folders)}", numbered=False)


@pytest.fixture(autouse=True)
def hermetic(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh home with a git identity and nothing else; everything of ours or git's in the environment is gone."""
    home = tmp_path_factory.mktemp(f"home{next(_folders)}", numbered=False)
    for name in list(os.environ):
        if name.startswith(("GIT_", "AI_LESSONS_", "XDG_", "OTEL_")) or name in AGENTS:
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("SHELL", "/bin/bash")  # which CI may not have
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_TERMINAL_PROMPT", "0")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("AI_LESSONS_WARM", "0")
    instead: dict[str, object] = {
        # tests run git and write a moment later, as no person does; `tests/git/test_commits_busy.py` tests the wait
        "git.objects.SETTLE": 0.0,
        # a busy machine may take longer than a host is kept waiting, after which the process ends: here that is pytest
        "interfaces.hook.PATIENCE": 600,
        "interfaces.hook.PATIENCE_TO_BEGIN": 600,
        # the administrators of this machine may have stated something for the program
        "settings.ADMINISTRATORS": home / "etc/ai-lessons/config.toml",
        "connectors.agent_hosts.ROOT": home,
        # a search asks no package index for the model
        "search.model_files.download_commands": tuple,
    }
    for place, value in instead.items():
        monkeypatch.setattr(f"ai_lessons.{place}", value)
    # no test cuts the power, and waiting for the disk was half of their time; a closed descriptor is still an error
    monkeypatch.setattr(os, "fsync", os.fstat)
    template = (
        tmp_path_factory.getbasetemp() / "template"
    )  # without the dozen samples that git puts into a repository
    for folder in ("hooks", "info"):
        (template / folder).mkdir(parents=True, exist_ok=True)
    (home / ".gitconfig").write_text(
        "[user]\n\tname = Test Person\n\temail = person@example.com\n"
        f"[init]\n\tdefaultBranch = main\n\ttemplateDir = {template}\n"
        "[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n[core]\n\tfsync = none\n"
    )
    return home


@pytest.fixture
def closing() -> Iterator[ExitStack]:
    """Closes what is entered here when the test is over."""
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def git() -> Git:
    """The git program itself, so that no test trusts the library to check the library."""

    def run(cwd: Path, *args: str, check: bool = True) -> str:
        done = subprocess.run(["git", *args], cwd=cwd, capture_output=True, text=True, check=False)
        if check and done.returncode:
            raise AssertionError(
                f"git {' '.join(args)} -> {done.returncode}\n{done.stdout}{done.stderr}"
            )
        return done.stdout.strip()

    return run


@pytest.fixture
def git_repo(tmp_path: Path, git: Git, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository made by git, with one commit on main: git is asked once, and every test has a copy of its own."""
    made = tmp_path_factory.getbasetemp() / "git_repo"
    if not made.exists():
        made.mkdir()
        git(made, "init", "-q")
        (made / "README.md").write_text("# Knowledge\n")
        git(made, "add", "-A")
        git(made, "commit", "-qm", "first")
    return at_rest(shutil.copytree(made, tmp_path / "repo", copy_function=shutil.copyfile))


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A file with a line for each git process, by a program of that name that stands before it."""
    notes, git = tmp_path / "started", shutil.which("git")
    put_program(
        tmp_path / "bin/git",
        f'#!/bin/sh\nprintf "%s " "$@" >> "{notes}"\necho >> "{notes}"\nexec {git} "$@"\n',
    )
    with monkeypatch.context() as patched:
        patched.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
        yield notes
