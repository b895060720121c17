"""Disks, folders and copies that are set up in another way than ours: what the program does there, as people run it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from interfaces.world import Outcome, environment

NO_LINKS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
static int refused(const char *path) { const char *below = getenv("NO_LINKS"); return below && strstr(path, below); }
int link(const char *old, const char *new) {
  int (*real)(const char *, const char *) = dlsym(RTLD_NEXT, "link");
  if (refused(new)) { errno = EPERM; return -1; }
  return real(old, new);
}
int linkat(int from, const char *old, int to, const char *new, int flags) {
  int (*real)(int, const char *, int, const char *, int) = dlsym(RTLD_NEXT, "linkat");
  if (refused(new)) { errno = EPERM; return -1; }
  return real(from, old, to, new, flags);
}
"""


def program(*words: str | bytes, cwd: Path, **environ: str) -> Outcome:
    """The program in a process of its own."""
    argv = [sys.executable, "-m", "ai_lessons", *words]
    done = subprocess.run(argv, cwd=cwd, env=environment(**environ), capture_output=True, check=False, timeout=120)
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture
def user(hermetic: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's own repository, just made."""
    monkeypatch.delenv("AI_LESSONS_REPO", raising=False)
    monkeypatch.setenv("AI_LESSONS_OFFLINE", "1")
    made = program("admin", "init", cwd=hermetic)
    assert made.code == 0, made.err
    return hermetic / ".ai/reference"


@pytest.mark.skipif(shutil.which("gcc") is None, reason="a disk without hard links is played by a small library")
@pytest.mark.parametrize(("below", "where"), [("/.git/", "/.cache/ai-lessons/index/"), ("/", "in memory")])
def test_without_hard_links_search_keeps_its_index_elsewhere(
    hermetic: Path, user: Path, below: str, where: str
) -> None:
    (hermetic / "no_links.c").write_text(NO_LINKS)
    shim = str(hermetic / "no_links.so")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", shim, str(hermetic / "no_links.c"), "-ldl"], check=True)
    disk = {"LD_PRELOAD": shim, "NO_LINKS": below}
    assert program("add", "--title", "Carts expire", "--content", "Seen it.", cwd=hermetic, **disk).code == 0
    first, second = (program("search", "carts", cwd=hermetic, **disk) for _ in range(2))
    assert "Carts expire" in first.out
    assert where in first.err
    assert "Carts expire" in second.out
    assert program("add", "--title", "Baskets too", "--content", "New.", cwd=hermetic, **disk).code == 0
    assert "Baskets too" in program("search", "baskets", cwd=hermetic, **disk).out
    assert where in program("admin", "doctor", cwd=hermetic, **disk).out
    assert not list(user.glob(".git/ai-lessons/index/*.lance"))
    here_again = program("search", "baskets", cwd=hermetic)
    assert "Baskets too" in here_again.out
    assert "index" not in here_again.err
