"""The past of a file, told by git and, where git is missing, by dulwich: the same story."""

from pathlib import Path

import pytest

from ai_lessons.errors import NotFound, Refused
from ai_lessons.git.objects import History, unified
from ai_lessons.git.worktree import locate
from ai_lessons.model.approval import trailers
from real_world import Git

TEXT = "".join(f"line {n}\n" for n in range(30))


@pytest.fixture
def history(git_repo: Path, git: Git) -> History:
    """A file that was written, edited and moved, in that order."""
    (git_repo / "a.md").write_text(TEXT)
    git(git_repo, "add", "a.md")
    git(git_repo, "commit", "-qm", "Write\n\nbody text\n\nAgent: claude\nSession: s1")
    (git_repo / "a.md").write_text(TEXT + "more\n")
    git(git_repo, "commit", "-qam", "Edit\x01" + "0" * 40)
    (git_repo / "sub").mkdir()
    git(git_repo, "mv", "a.md", "sub/b.md")
    git(git_repo, "commit", "-qm", "Move")
    return History(locate(git_repo))


def test_a_log_follows_renames_and_names_the_path_of_each_commit(history: History) -> None:
    revisions = history.log("sub/b.md")
    assert [(r.subject[:5], r.path) for r in revisions] == [
        ("Move", "sub/b.md"),
        ("Edit\x01", "a.md"),
        ("Write", "a.md"),
    ]
    assert revisions[-1].trailers == {"Agent": "claude", "Session": "s1"}
    assert revisions[0].author == "Test Person"
    assert revisions[0].email == "person@example.com"
    assert len(revisions[0].commit) == 40
    assert "T" in revisions[0].when
    assert revisions[0].when[-6] in "+-"


def test_a_log_begins_where_the_file_came_even_if_another_one_is_much_like_it(git_repo: Path, git: Git) -> None:
    for name in ("a.md", "b.md"):
        (git_repo / name).write_text(TEXT + name)
        git(git_repo, "add", name)
        git(git_repo, "commit", "-qm", f"Write {name}")
    git(git_repo, "mv", "b.md", "c.md")
    git(git_repo, "commit", "-qm", "Move b.md")
    log = History(locate(git_repo)).log("c.md")
    assert [(r.subject, r.path) for r in log] == [("Move b.md", "c.md"), ("Write b.md", "b.md")]


def test_the_text_of_a_revision_is_what_was_committed(history: History) -> None:
    oldest = history.log("sub/b.md")[-1]
    assert history.text_at(oldest.commit, "a.md") == TEXT.encode()
    assert history.text_at("HEAD", "sub/b.md") == (TEXT + "more\n").encode()
    assert history.text_at("main", "sub/b.md") == (TEXT + "more\n").encode()


def test_a_path_that_leads_out_is_refused(history: History) -> None:
    with pytest.raises(Refused):
        history.text_at("HEAD", "../x")


def test_a_diff_goes_from_a_revision_to_the_disk(history: History, git_repo: Path) -> None:
    assert history.diff("sub/b.md") == ""
    (git_repo / "sub" / "b.md").write_text(TEXT)
    assert "-more\n" in history.diff("sub/b.md")
    (git_repo / "sub" / "b.md").unlink()
    assert "+++ /dev/null" in history.diff("sub/b.md")


def test_a_file_is_dirty_when_it_is_not_what_head_holds(history: History, git_repo: Path) -> None:
    assert not history.dirty("sub/b.md")
    (git_repo / "sub" / "b.md").write_text("other")
    (git_repo / "new.md").write_text("new")
    assert history.dirty("sub/b.md")
    assert history.dirty("new.md")
    assert not history.dirty("README.md")


def test_before_the_first_commit_there_is_no_past(tmp_path: Path, git: Git) -> None:
    git(tmp_path, "init", "-q", "r")
    (tmp_path / "r" / "a.md").write_text("x")
    past = History(locate(tmp_path / "r"))
    assert past.log("a.md") == ()
    assert past.dirty("a.md")
    with pytest.raises(NotFound):
        past.text_at("HEAD", "a.md")


def test_in_a_folder_of_a_bigger_repository_paths_are_relative_to_the_folder(git_repo: Path, git: Git) -> None:
    folder = git_repo / "kb"
    folder.mkdir()
    (folder / "a.md").write_text(TEXT)
    git(git_repo, "add", "-A")
    git(git_repo, "commit", "-qm", "Write")
    git(git_repo, "mv", "kb/a.md", "kb/b.md")
    git(git_repo, "commit", "-qm", "Move")
    past = History(locate(folder))
    assert [r.path for r in past.log("b.md")] == ["b.md", "a.md"]
    assert past.text_at("HEAD", "b.md") == TEXT.encode()
    assert not past.dirty("b.md")


def test_trailers_are_the_last_paragraph_and_only_if_all_of_it_is_trailers() -> None:
    assert trailers("Subject: not one\n") == ()
    assert trailers("S\n\nId: 1\nAgent: x y\n") == (("Id", "1"), ("Agent", "x y"))
    assert trailers("S\n\nId: 1\nand prose\n") == ()


def test_a_missing_last_newline_shows_in_a_diff() -> None:
    assert unified("a", b"x\n", b"x").endswith("-x\n+x\n\\ No newline at end of file\n")
