"""Disks, folders and copies that are set up in another way than ours: what the program does there, as people run it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from interfaces.world import Outcome, environment, run_inside
from real_world import Git, put_file, put_program

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
    """The program, in a process of its own where that makes a difference."""
    texts = [word for word in words if isinstance(word, str)]
    if len(texts) == len(words) and "LD_PRELOAD" not in environ:
        return run_inside(texts, cwd, **environ)
    argv = [sys.executable, "-m", "ai_lessons", *words]
    done = subprocess.run(
        argv, cwd=cwd, env=environment(**environ), capture_output=True, check=False, timeout=180
    )
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture
def user(hermetic: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's own repository, just made."""
    monkeypatch.delenv("AI_LESSONS_REPO", raising=False)
    monkeypatch.setenv("AI_LESSONS_OFFLINE", "1")
    made = program("admin", "init", cwd=hermetic)
    assert made.code == 0, made.err
    return hermetic / ".ai/reference"


@pytest.mark.skipif(
    shutil.which("gcc") is None, reason="a disk without hard links is played by a small library"
)
@pytest.mark.parametrize(
    ("below", "where"), [("/.git/", "/.cache/ai-lessons/index/"), ("/", "in memory")]
)
def test_without_hard_links_search_keeps_its_index_elsewhere(
    hermetic: Path, user: Path, below: str, where: str
) -> None:
    (hermetic / "no_links.c").write_text(NO_LINKS)
    shim = str(hermetic / "no_links.so")
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-o", shim, str(hermetic / "no_links.c"), "-ldl"], check=True
    )
    disk = {"LD_PRELOAD": shim, "NO_LINKS": below}
    assert (
        program(
            "add", "--title", "Carts expire", "--content", "Seen it.", cwd=hermetic, **disk
        ).code
        == 0
    )
    done = program("search", "carts", cwd=hermetic, **disk)
    assert ("Carts expire" in done.out, where in done.err) == (True, True), done
    if below == "/":
        return
    assert (
        program("add", "--title", "Baskets too", "--content", "New.", cwd=hermetic, **disk).code
        == 0
    )
    assert "Baskets too" in program("search", "baskets", cwd=hermetic, **disk).out
    assert where in program("admin", "doctor", cwd=hermetic, **disk).out
    assert not list(user.glob(".git/ai-lessons/index/*.lance"))
    done = program("search", "baskets", cwd=hermetic)  # on a disk with hard links
    assert ("Baskets too" in done.out, "index" in done.err) == (True, False), done


@pytest.fixture
def shop(hermetic: Path, user: Path, git: Git) -> Path:
    """A code repository with a project tier, committed."""
    made = hermetic / "shop"
    git(hermetic, "init", "-q", str(made))
    assert program("--tier", "project", "admin", "init", cwd=made).code == 0
    git(made, "add", ".ai")
    git(made, "commit", "-q", "-m", "knowledge")
    return made


def test_a_lesson_outlives_the_worktree_that_an_agent_wrote_it_in_and_one_moved_or_deleted_is_not_missed(
    shop: Path, git: Git
) -> None:
    for title in ("Moved", "Deleted"):
        assert program("add", "--title", title, "--content", "Seen.", cwd=shop).code == 0
    moved, deleted = (next(shop.glob(f".ai/**/{name}-*.md")) for name in ("moved", "deleted"))
    moved.rename(moved.with_name("elsewhere.md"))
    assert program("contribute", "delete", deleted.stem[-6:], "--yes", cwd=shop).code == 0
    assert "Nothing to recover" in program("admin", "recover", "--list", cwd=shop).out
    for number in (1, 2):
        git(shop, "worktree", "add", "-q", f"../agent{number}", "-b", f"agent/{number}")
        words = ("add", "--title", f"Carts expire {number}", "--content", "Seen in the logs.")
        assert (
            program(*words, cwd=shop.parent / f"agent{number}", AI_LESSONS_AGENT="claude").code == 0
        )
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
    assert "Nothing to recover" in program("admin", "recover", "--list", cwd=shop).out
    git(shop, "clean", "-fdq", ".ai")
    assert "Carts expire 1" in program("admin", "recover", "--list", cwd=shop).out


def test_a_folder_that_git_ignores_is_said_and_what_was_swept_is_kept(shop: Path, git: Git) -> None:
    git(shop, "rm", "-rq", "--cached", ".ai")
    (shop / ".gitignore").write_text(".ai/\n")
    git(shop, "add", ".gitignore")
    git(shop, "commit", "-q", "-m", "ignore")
    for words in (
        ("--tier", "project", "admin", "init"),
        ("add", "--title", "Carts expire", "--content", "Seen."),
    ):
        assert "git ignores" in program(*words, cwd=shop).err
    assert "git ignores" in program("admin", "doctor", cwd=shop).out
    git(shop, "clean", "-fdxq")
    assert "Carts expire" in program("admin", "recover", "--list", cwd=shop).out
    assert program("admin", "recover", cwd=shop).code == 0
    assert "Carts expire" in program("list", cwd=shop).out


def test_an_entry_by_hand_that_git_ignores_is_named_by_the_doctor(user: Path, git: Git) -> None:
    (user / ".gitignore").write_text("notes/\n")
    git(user, "add", "-A")
    git(user, "commit", "-q", "-m", "ignore")
    put_file(user / "global/docs/notes/hand.md", "# By hand\n")
    (row,) = (
        row for row in program("admin", "doctor", "--json", cwd=user).json if row["name"] == "files"
    )
    assert "git ignores global/docs/notes/hand.md (.gitignore line 1: notes/)" in row["detail"]
    assert row["remedy"] == ""


def test_in_a_home_folder_that_is_a_repository_the_users_tier_is_one_of_its_own(
    hermetic: Path, git: Git
) -> None:
    git(hermetic, "init", "-q", ".")
    git(hermetic, "commit", "-q", "--allow-empty", "-m", "dotfiles")
    tier = hermetic / ".ai/reference"
    assert (
        "a repository of its own"
        in program("admin", "init", str(tier), cwd=hermetic, AI_LESSONS_REPO="").err
    )
    words = ("add", "--title", "Carts expire", "--content", "Seen.")
    assert program(*words, cwd=hermetic, AI_LESSONS_REPO="").code == 0
    assert "Carts expire" in git(tier, "log", "-1", "--format=%s")
    assert git(hermetic, "log", "--format=%s") == "dotfiles"


@pytest.mark.skipif(
    shutil.which("unshare") is None or os.geteuid() != 0, reason="a read-only mount needs root"
)
def test_a_writable_folder_is_enough_where_git_is_read_only(shop: Path) -> None:
    mount = "mount --bind .git .git && mount -o remount,ro,bind .git && exec "
    words = f'"{sys.executable}" -m ai_lessons add --title "From a sandbox" --content "Seen."'
    argv = ["unshare", "-m", "sh", "-c", mount + words]
    done = subprocess.run(
        argv, cwd=shop, env=environment(), capture_output=True, check=False, timeout=180
    )
    if b"mount" in done.stderr:
        pytest.skip("mounts are not allowed here")
    assert done.returncode == 0, done.stderr
    assert "From a sandbox" in program("search", "sandbox", cwd=shop).out
    next(shop.glob(".ai/**/from-a-sandbox-*.md")).unlink()
    assert "From a sandbox" in program("admin", "recover", "--list", cwd=shop).out


def test_in_a_repository_that_a_group_shares_the_group_can_write_what_we_make(
    hermetic: Path, git: Git
) -> None:
    team = hermetic / "team"
    git(hermetic, "init", "-q", "--shared=group", str(team))
    before = os.umask(0o022)
    try:
        for words in (
            ("admin", "init"),
            ("add", "--title", "T", "--content", "C"),
            ("list",),
            ("search", "T"),
        ):
            assert (
                program("--repo", str(team), *words, cwd=hermetic, AI_LESSONS_OFFLINE="1").code == 0
            )
    finally:
        os.umask(before)
    objects = team / ".git/objects"
    files = [
        file
        for file in team.rglob("*")
        if objects not in file.parents and (team / ".git/hooks") != file.parent
    ]
    ours = [
        file
        for file in files
        if ".git" not in file.parts or "ai-lessons" in file.parts or file.is_dir()
    ]
    assert [file for file in ours if not file.stat().st_mode & 0o020] == []


def test_with_its_output_closed_a_command_does_its_job(hermetic: Path, user: Path) -> None:
    for words in (("list",), ("search", "carts"), ("add", "--title", "T", "--content", "C")):
        argv = ["sh", "-c", 'exec "$@" >&- 2>&-', "sh", sys.executable, "-m", "ai_lessons", *words]
        assert (
            subprocess.run(
                argv, cwd=hermetic, env=environment(), check=False, timeout=180
            ).returncode
            == 0
        )


def test_hooks_and_keys_of_the_user_leave_no_first_commit_undone(
    hermetic: Path, user: Path, git: Git
) -> None:
    for hook in ("commit-msg", "prepare-commit-msg"):
        put_program(
            hermetic / "hooks" / hook,
            '#!/bin/sh\ngrep -q TICKET "$1" || { echo "no ticket" >&2; exit 1; }\n',
        )
    put_program(hermetic / "sign", "#!/bin/sh\nexit 1\n")
    for setting in (
        ("core.hooksPath", str(hermetic / "hooks")),
        ("commit.gpgsign", "true"),
        ("gpg.program", "./sign"),
    ):
        git(hermetic, "config", "--global", *setting)
    made = program("admin", "init", "team", cwd=hermetic)
    assert made.code == 0
    assert "could not be signed" in made.err
    assert git(hermetic / "team", "status", "--porcelain") == ""


def test_a_pointer_of_lfs_is_no_doc_and_projects_that_differ_by_case_are_named(
    hermetic: Path, user: Path
) -> None:
    put_file(
        user / "shop/docs/shared/big.md",
        "version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 1\n",
    )
    for project in ("shop", "Shop"):
        put_file(user / f"{project}/docs/shared/{project}-page.md", "# A page\n\nText.\n")
    assert "big" not in program("list", cwd=hermetic).out
    problems = program("admin", "validate", cwd=hermetic).out
    assert "a pointer of Git LFS" in problems
    assert "is the same folder as shop on systems that ignore case" in problems.casefold()


def test_settings_of_git_change_nothing(hermetic: Path, git: Git) -> None:
    settings = {
        "i18n.logOutputEncoding": "ISO-8859-1",
        "i18n.commitEncoding": "ISO-8859-1",
        "color.ui": "always",
    }
    settings |= {
        "diff.orderFile": "/nowhere",
        "status.showUntrackedFiles": "no",
        "init.defaultBranch": "trunk",
    }
    for setting in settings.items():
        git(hermetic, "config", "--global", *setting)
    git(hermetic, "init", "-q", "--bare", "hub.git")
    for repo in (hermetic / "first", hermetic / "second"):
        words = ["--from", str(hermetic / "hub.git")] if repo.name == "second" else []
        assert run_inside(["admin", "init", str(repo), *words], hermetic).code == 0
        if repo.name == "first":
            git(repo, "remote", "add", "origin", str(hermetic / "hub.git"))
        in_it = ["--repo", str(repo)]
        assert (
            run_inside(
                [*in_it, "add", "--title", f"Grüße, {repo.name}", "--content", "Seen."], hermetic
            ).code
            == 0
        )
        file = next(repo.glob("global/lessons/*/*.md"))
        file.write_text(file.read_text() + "More.\n")
        assert "Grüße" in run_inside([*in_it, "recall", "log", str(file)], hermetic).out
        assert (
            "committed" in run_inside([*in_it, "admin", "save", "--edits", "--yes"], hermetic).out
        )
        assert "Save edits" in run_inside([*in_it, "admin", "undo"], hermetic).out
        assert run_inside([*in_it, "admin", "sync"], hermetic).code == 0
    assert "Grüße, second" in git(
        hermetic / "hub.git", "log", "--encoding=UTF-8", "--format=%s", "main"
    )
