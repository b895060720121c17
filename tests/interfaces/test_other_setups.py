"""Disks, folders and copies that are set up in another way than ours: what the program does there, as people run it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from interfaces.world import Outcome, environment
from real_world import Git

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


@pytest.fixture
def shop(hermetic: Path, user: Path, git: Git) -> Path:
    """A code repository with a project tier, committed."""
    made = hermetic / "shop"
    git(hermetic, "init", "-q", str(made))
    assert program("--tier", "project", "admin", "init", cwd=made).code == 0
    git(made, "add", ".ai")
    git(made, "commit", "-q", "-m", "knowledge")
    return made


def test_a_lesson_outlives_the_worktree_that_an_agent_wrote_it_in(shop: Path, git: Git) -> None:
    for number in (1, 2):
        git(shop, "worktree", "add", "-q", f"../agent{number}", "-b", f"agent/{number}")
        words = ("add", "--title", f"Carts expire {number}", "--content", "Seen in the logs.")
        assert program(*words, cwd=shop.parent / f"agent{number}", AI_LESSONS_AGENT="claude").code == 0
    git(shop.parent / "agent2", "add", ".ai")
    git(shop.parent / "agent2", "commit", "-q", "-m", "lesson")
    for number in (1, 2):
        git(shop, "worktree", "remove", "--force", f"../agent{number}")
    kept = program("admin", "recover", "--list", cwd=shop).out
    assert "Carts expire 1" in kept
    assert "Carts expire 2" not in kept
    assert "taken away" in program("admin", "doctor", cwd=shop).out
    assert program("admin", "recover", cwd=shop).code == 0
    assert "Carts expire 1" in program("list", cwd=shop).out
    assert "Nothing was taken away" in program("admin", "recover", "--list", cwd=shop).out
    git(shop, "clean", "-fdq", ".ai")
    assert "Carts expire 1" in program("admin", "recover", "--list", cwd=shop).out


def test_a_lesson_that_was_moved_or_deleted_on_purpose_is_not_missed(shop: Path) -> None:
    for title in ("Moved", "Deleted"):
        assert program("add", "--title", title, "--content", "Seen.", cwd=shop).code == 0
    moved, deleted = (next(shop.glob(f".ai/**/{name}-*.md")) for name in ("moved", "deleted"))
    moved.rename(moved.with_name("elsewhere.md"))
    assert program("contribute", "delete", deleted.stem[-6:], "--yes", cwd=shop).code == 0
    assert "Nothing was taken away" in program("admin", "recover", "--list", cwd=shop).out


def test_a_folder_that_git_ignores_is_said_and_what_was_swept_is_kept(shop: Path, git: Git) -> None:
    git(shop, "rm", "-rq", "--cached", ".ai")
    (shop / ".gitignore").write_text(".ai/\n")
    git(shop, "add", ".gitignore")
    git(shop, "commit", "-q", "-m", "ignore")
    for words in (("--tier", "project", "admin", "init"), ("add", "--title", "Carts expire", "--content", "Seen.")):
        assert "git ignores" in program(*words, cwd=shop).err
    assert "git ignores" in program("admin", "doctor", cwd=shop).out
    git(shop, "clean", "-fdxq")
    assert "Carts expire" in program("admin", "recover", "--list", cwd=shop).out
    assert program("admin", "recover", cwd=shop).code == 0
    assert "Carts expire" in program("list", cwd=shop).out


def test_in_a_home_folder_that_is_a_repository_the_users_tier_is_one_of_its_own(hermetic: Path, git: Git) -> None:
    git(hermetic, "init", "-q", ".")
    git(hermetic, "commit", "-q", "--allow-empty", "-m", "dotfiles")
    tier = hermetic / ".ai/reference"
    assert "a repository of its own" in program("admin", "init", str(tier), cwd=hermetic, AI_LESSONS_REPO="").err
    words = ("add", "--title", "Carts expire", "--content", "Seen.")
    assert program(*words, cwd=hermetic, AI_LESSONS_REPO="").code == 0
    assert "Carts expire" in git(tier, "log", "-1", "--format=%s")
    assert git(hermetic, "log", "--format=%s") == "dotfiles"


@pytest.mark.skipif(shutil.which("unshare") is None or os.geteuid() != 0, reason="a read-only mount needs root")
def test_a_writable_folder_is_enough_where_git_is_read_only(shop: Path) -> None:
    mount = "mount --bind .git .git && mount -o remount,ro,bind .git && exec "
    words = f'"{sys.executable}" -m ai_lessons add --title "From a sandbox" --content "Seen."'
    argv = ["unshare", "-m", "sh", "-c", mount + words]
    done = subprocess.run(argv, cwd=shop, env=environment(), capture_output=True, check=False, timeout=120)
    if b"mount" in done.stderr:
        pytest.skip("mounts are not allowed here")
    assert done.returncode == 0, done.stderr
    assert "From a sandbox" in program("search", "sandbox", cwd=shop).out


def test_in_a_repository_that_a_group_shares_the_group_can_write_what_we_make(hermetic: Path, git: Git) -> None:
    team = hermetic / "team"
    git(hermetic, "init", "-q", "--shared=group", str(team))
    before = os.umask(0o022)
    try:
        for words in (("admin", "init"), ("add", "--title", "T", "--content", "C"), ("list",), ("search", "T")):
            assert program("--repo", str(team), *words, cwd=hermetic, AI_LESSONS_OFFLINE="1").code == 0
    finally:
        os.umask(before)
    objects = team / ".git/objects"
    files = [file for file in team.rglob("*") if objects not in file.parents and (team / ".git/hooks") != file.parent]
    ours = [file for file in files if ".git" not in file.parts or "ai-lessons" in file.parts or file.is_dir()]
    assert [file for file in ours if not file.stat().st_mode & 0o020] == []
