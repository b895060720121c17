"""Sharing from the command line: two clones of one hub, what is printed, and the exit codes."""

import os
from pathlib import Path

import pytest

from interfaces.world import LESSON, Run, program_in
from real_world import Git, put_file

PATH = "jira-api/lessons/2026-11/put-replaces-8F3K2A.md"


@pytest.fixture
def other(knowledge: Path, git: Git, run: Run) -> Path:
    """A second clone; the first one shares with the same hub."""
    place = knowledge.parent
    git(place, "clone", "-q", "--bare", str(knowledge), "hub.git")
    git(knowledge, "remote", "add", "origin", str(place / "hub.git"))
    git(place, "clone", "-q", "hub.git", "other")
    assert run("admin", "sync").out == "Nothing new: origin/main and this branch are the same.\n"
    return place / "other"


def torn(knowledge: Path, other: Path, run: Run) -> None:
    """Both have given the lesson a title of their own; the other one was faster."""
    assert run("contribute", "update", LESSON, "--title", "Theirs", "--repo", other).code == 0
    assert run("admin", "sync", "--repo", other).code == 0
    assert run("contribute", "update", LESSON, "--title", "Ours", "--repo", knowledge).code == 0


def test_sync_says_what_came_in_what_went_out_and_what_was_merged(
    knowledge: Path, other: Path, run: Run
) -> None:
    assert run("contribute", "update", LESSON, "--confidence", "low", "--repo", other).code == 0
    assert (
        run("admin", "sync", "--repo", other).out
        == "origin/main: 0 commits came in, 1 commit went out.\n"
    )
    assert run("contribute", "update", LESSON, "--source", "observed").code == 0
    done = run("admin", "sync")
    assert done.out.splitlines() == [
        "origin/main: 1 commit came in, 2 commits went out.",
        f"  merged: {knowledge}/{PATH}",
    ]
    text = (knowledge / PATH).read_text()
    assert "confidence: low\nsource: observed\n" in text


def test_a_conflict_prints_both_versions_and_the_next_command_and_leaves_with_5(
    knowledge: Path, other: Path, run: Run
) -> None:
    torn(knowledge, other, run)
    done = run("admin", "sync")
    assert done.code == 5
    for told in (
        "1 file changed here and on origin/main cannot be merged. Your branch and your files are",
        "  both changed: title\n", "    +title: Ours\n", "    +title: Theirs\n", "Your side is kept on conflict/2",
        "  choose: ai-lessons admin conflicts L-8F3K2A --take mine|theirs\n",
    ):  # fmt: skip
        assert told in done.out
    assert "title: Ours" in (knowledge / PATH).read_text()
    listed = run("admin", "conflicts")
    assert listed.code == 0
    assert listed.out.startswith("[L-8F3K2A] Ours\n")
    (one,) = run("admin", "conflicts", "L-8F3K2A", "--json").json
    assert (one["id"], one["path"], one["reasons"]) == ("L-8F3K2A", PATH, ["title"])
    assert "title: Theirs\n" in one["theirs"]


def test_the_last_choice_ends_the_sync_and_an_undo_takes_it_back(
    knowledge: Path, other: Path, run: Run
) -> None:
    torn(knowledge, other, run)
    run("admin", "sync")
    wrong = run("admin", "conflicts", "L-AAAAAA", "--take", "ours")
    assert (wrong.code, wrong.err) == (
        3,
        "error: no conflict 'L-AAAAAA'\nhint: did you mean L-8F3K2A?\n",
    )
    settled = run("admin", "conflicts", "--take", "ours")
    assert settled.out.startswith("[L-8F3K2A] settled: mine"), "the only one"
    assert "origin/main: 0 commits came in, 2 commits went out." in settled.out, (
        "which ends the sync"
    )
    assert run("admin", "conflicts", "--take", "ours").code == 2
    undone = run("undo")
    assert f"Undone: Settle a conflict: mine for {PATH}" in undone.out, (
        "the last thing that was done here"
    )
    assert "note: the next undo takes back “" in undone.err
    assert "title: Theirs\n" in (knowledge / PATH).read_text()


def test_history_that_was_rewritten_on_the_remote_stops_a_sync_and_theirs_can_be_taken(
    knowledge: Path, other: Path, git: Git, run: Run
) -> None:
    git(other, "commit", "-q", "--amend", "-m", "Rewritten", "--no-verify")
    git(other, "push", "-q", "--force", "origin", "main")
    stopped = run("admin", "sync")
    assert (stopped.code, "origin/main was rewritten" in stopped.err) == (5, True)
    assert "ai-lessons admin sync --take theirs" in stopped.err
    taken = run("admin", "sync", "--take", "theirs")
    assert (taken.code, "yours is on kept/" in taken.err) == (0, True)
    assert git(knowledge, "rev-parse", "HEAD") == git(other, "rev-parse", "HEAD")


def test_undo_names_what_it_took_back(knowledge: Path, run: Run) -> None:
    assert run("contribute", "update", LESSON, "--confidence", "low").code == 0
    done = run("admin", "undo")
    assert done.code == 0
    assert done.out.startswith(
        "Undone: Update lesson: PUT /workflows replaces the entire resource ("
    )
    assert done.out.endswith(f"\n  {PATH}\n")
    assert "confidence: high" in (knowledge / PATH).read_text()


def test_save_names_what_still_waits_and_why(knowledge: Path, git: Git, run: Run) -> None:
    git(knowledge, "checkout", "-q", "--detach")
    assert run("contribute", "add-lesson", "--title", "Waiting", "--content", "x").code == 0
    said = run("admin", "save").out
    assert said.startswith("waiting: HEAD is detached")
    assert said.endswith("not committed yet: Add lesson: Waiting\n")
    git(knowledge, "switch", "-q", "main")
    assert run("admin", "save").out.startswith("committed ")
    assert run("admin", "save").out == "Nothing waits for a commit.\n"


ZERO = "0" * 40


@pytest.fixture
def hub(tmp_path: Path, git: Git) -> Path:
    git(tmp_path, "init", "-q", "--bare", "hub.git")
    return tmp_path / "hub.git"


def test_the_server_hook_comes_and_goes(run: Run, hub: Path) -> None:
    assert (
        run("admin", "hooks", "status", "--server", str(hub)).out == "pre-receive: not installed\n"
    )
    assert run("admin", "hooks", "install", "--server", str(hub)).out == "pre-receive: installed\n"
    assert (hub / "hooks" / "pre-receive").exists()
    assert run("admin", "hooks", "status", "--server", str(hub), "--json").json == [
        "pre-receive: installed"
    ]
    assert run("admin", "hooks", "uninstall", "--server", str(hub)).out == "pre-receive: removed\n"
    assert not (hub / "hooks" / "pre-receive").exists()
    done = run("admin", "hooks", "install", "--server", str(hub.parent))
    assert (done.code, str(hub.parent) in done.err) == (3, True), "it is no hub"


def test_a_push_is_refused_with_reasons_and_the_code_of_a_policy(
    run: Run, hub: Path, monkeypatch: pytest.MonkeyPatch, git: Git, git_repo: Path
) -> None:
    git(git_repo, "push", "-q", str(hub), "main")
    head = git(git_repo, "rev-parse", "HEAD")
    monkeypatch.setenv("GIT_DIR", str(hub))
    done = run("admin", "check-push", text=f"{head} {ZERO} refs/heads/main\n")
    assert (done.code, done.out) == (
        8,
        "refused: main is the approval branch and cannot be deleted\n",
    )
    assert run("admin", "check-push", text=f"{ZERO} {head} refs/heads/topic\n").out == ""
    assert run("admin", "check-push", text="").code == 8


NOTE = "git/lessons/pull.md"
BASE = "---\nkind: lesson\ntitle: Pull\ntags: [git]\nconfidence: low\n---\nOne.\n\nTwo.\n\nThree.\n"


@pytest.fixture
def clones(
    tmp_path: Path, run: Run, git: Git, monkeypatch: pytest.MonkeyPatch
) -> tuple[Path, Path]:
    """Two clones of one repository that have set us up, each with an edit of the same note; ours is on the PATH."""
    monkeypatch.setenv(
        "PATH", f"{program_in(tmp_path / 'programs')}{os.pathsep}{os.environ['PATH']}"
    )
    ann, bob = tmp_path / "ann", tmp_path / "bob"
    assert run("--repo", ann, "admin", "init", "--no-hooks").code == 0
    put_file(ann / NOTE, BASE)
    git(ann, "add", NOTE)
    git(ann, "commit", "-qm", "Note")
    git(tmp_path, "clone", "-q", str(ann), str(bob))
    assert "merge driver: installed" in run("--repo", bob, "admin", "hooks", "install").out
    return ann, bob


def edit(clone: Path, git: Git, *changes: tuple[str, str]) -> None:
    text = (clone / NOTE).read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (clone / NOTE).write_text(text)
    git(clone, "commit", "-qam", "Edit", "--no-verify")


def test_a_pull_merges_tags_and_lines_that_two_people_added(
    clones: tuple[Path, Path], git: Git
) -> None:
    ann, bob = clones
    edit(ann, git, ("[git]", "[git, pull]"), ("One.", "1."))
    edit(bob, git, ("[git]", "[git, remote]"), ("Three.", "3."))
    git(bob, "pull", "-q", "--no-rebase", "--no-edit")
    text = (bob / NOTE).read_text()
    assert all(tag in text.partition("confidence")[0] for tag in ("git", "pull", "remote"))
    assert text.endswith("---\n1.\n\nTwo.\n\n3.\n")


def test_what_has_no_merge_is_a_conflict_as_git_writes_it_also_where_our_program_is_gone(
    clones: tuple[Path, Path], git: Git, tmp_path: Path
) -> None:
    ann, bob = clones
    edit(ann, git, ("low", "high"))
    edit(bob, git, ("low", "medium"))
    for _ in range(2):
        told = git(bob, "pull", "-q", "--no-rebase", "--no-edit", check=False)
        assert "conflict" in told.casefold()
        lines = (bob / NOTE).read_text().splitlines()
        assert lines[4:9] == [
            "<<<<<<< ours",
            "confidence: medium",
            "=======",
            "confidence: high",
            ">>>>>>> theirs",
        ]
        assert git(bob, "status", "--porcelain", NOTE) == f"UU {NOTE}"
        git(bob, "merge", "--abort")
        (tmp_path / "programs/ai-lessons").unlink(missing_ok=True)
