"""The past of a file, told by git and, where git is missing, by dulwich: the same story."""

import shutil
from pathlib import Path

import pytest

from ai_lessons.connectors.manifests import Sources
from ai_lessons.errors import NotFound, Refused
from ai_lessons.git.history import History, unified
from ai_lessons.git.worktree import locate
from ai_lessons.model.approval import trailers
from real_world import Git, commit_all, put_file

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
    found = [(r.subject[:5], r.path) for r in revisions]
    assert found == [("Move", "sub/b.md"), ("Edit\x01", "a.md"), ("Write", "a.md")]
    assert revisions[-1].trailers == {"Agent": "claude", "Session": "s1"}
    assert (revisions[0].author, revisions[0].email) == ("Test Person", "person@example.com")
    assert len(revisions[0].commit) == 40
    assert ("T" in revisions[0].when, revisions[0].when[-6] in "+-") == (True, True)


def test_a_log_begins_where_the_file_came_even_if_another_one_is_much_like_it(
    git_repo: Path, git: Git
) -> None:
    for name in ("a.md", "b.md"):
        (git_repo / name).write_text(TEXT + name)
        git(git_repo, "add", name)
        git(git_repo, "commit", "-qm", f"Write {name}")
    git(git_repo, "mv", "b.md", "c.md")
    git(git_repo, "commit", "-qm", "Move b.md")
    log = History(locate(git_repo)).log("c.md")
    assert [(r.subject, r.path) for r in log] == [("Move b.md", "c.md"), ("Write b.md", "b.md")]


def test_the_text_of_a_revision_is_what_was_committed_and_a_path_that_leads_out_is_refused(
    history: History,
) -> None:
    oldest = history.log("sub/b.md")[-1]
    assert history.text_at(oldest.commit, "a.md") == TEXT.encode()
    for name in ("HEAD", "main"):
        assert history.text_at(name, "sub/b.md") == (TEXT + "more\n").encode()
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


def test_in_a_folder_of_a_bigger_repository_paths_are_relative_to_the_folder(
    git_repo: Path, git: Git
) -> None:
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


def source_ref(file: Path) -> str | None:
    return Sources().ref(file, file.read_bytes())


@pytest.fixture
def source(tmp_path: Path, git: Git) -> Path:
    """A repository of somebody's docs: a.md and docs/b.md are committed, build/ is ignored."""
    root = tmp_path / "Jira Api"
    (root / "docs").mkdir(parents=True)
    git(root, "init", "-q")
    (root / "a.md").write_text("# A\n")
    (root / "docs" / "b.md").write_text("# B\n")
    (root / ".gitignore").write_text("build/\n")
    commit_all(git, root, "first")
    return root


def test_an_edited_file_is_dirty_and_its_neighbour_comes_from_the_head_of_its_repository(
    source: Path, git: Git
) -> None:
    head = git(source, "rev-parse", "HEAD")
    (source / "a.md").write_text("# Changed\n")
    assert source_ref(source / "a.md") == head + "-dirty"
    assert source_ref(source / "docs" / "b.md") == head


@pytest.mark.parametrize("name", ["docs/new.md", "build/out.md"])
def test_a_file_that_no_commit_holds_is_dirty(source: Path, name: str) -> None:
    put_file(source / name, "# New\n")
    assert str(source_ref(source / name)).endswith("-dirty")


def test_a_checkout_with_crlf_is_as_committed(source: Path) -> None:
    (source / "a.md").write_bytes(b"# A\r\n")
    assert not str(source_ref(source / "a.md")).endswith("-dirty")


def test_outside_of_any_repository_and_before_the_first_commit_there_is_no_source(
    tmp_path: Path, git: Git
) -> None:
    (tmp_path / "plain.md").write_text("x\n")
    (tmp_path / "fresh").mkdir()
    git(tmp_path / "fresh", "init", "-q")
    (tmp_path / "fresh" / "x.md").write_text("x\n")
    assert source_ref(tmp_path / "plain.md") is None
    assert source_ref(tmp_path / "fresh" / "x.md") is None


def test_a_link_comes_from_where_it_leads_and_a_file_of_a_submodule_from_that(
    source: Path, tmp_path: Path, git: Git
) -> None:
    (tmp_path / "link.md").symlink_to(source / "a.md")
    assert source_ref(tmp_path / "link.md") == git(source, "rev-parse", "HEAD")
    outer = tmp_path / "outer"
    git(tmp_path, "init", "-q", "outer")
    git(
        outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(source), "sub"
    )
    git(outer, "commit", "-qm", "with a submodule")
    assert source_ref(outer / "sub" / "a.md") == git(source, "rev-parse", "HEAD")


def test_no_program_of_the_source_repository_is_run(source: Path, git: Git) -> None:
    git(source, "config", "core.fsmonitor", "touch ran; false")
    git(source, "config", "filter.evil.clean", "touch ran; cat")
    (source / ".git" / "info" / "attributes").write_text("* filter=evil\n")
    source_ref(source / "a.md")
    assert not (source / "ran").exists()


def test_a_repository_is_asked_once_for_a_whole_import(source: Path, git: Git) -> None:
    head = git(source, "rev-parse", "HEAD")
    for number in range(30):
        (source / "docs" / f"{number}.md").write_text(f"# {number}\n")
    commit_all(git, source, "many")
    sources = Sources()
    first = sources.ref(source / "docs" / "0.md", b"")
    git(source, "commit", "-q", "--allow-empty", "-m", "somebody works on")
    answers = {sources.ref(source / "docs" / f"{number}.md", b"") for number in range(30)}
    assert answers == {first}
    assert first not in {head, git(source, "rev-parse", "HEAD")}


def test_the_project_is_the_name_of_the_repository(source: Path, tmp_path: Path) -> None:
    sources = Sources()
    assert sources.project(source / "docs" / "b.md") == "jira-api"
    assert sources.project(tmp_path / "plain.md") is None


def test_a_damaged_git_folder_is_no_repository(source: Path) -> None:
    shutil.rmtree(source / ".git" / "objects")
    assert source_ref(source / "a.md") is None
