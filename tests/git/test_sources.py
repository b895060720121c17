import shutil
from pathlib import Path

import pytest

from ai_lessons.connectors.packages import Sources
from real_world import Git, commit_all, put_file


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


def test_a_committed_file_comes_from_the_head_of_its_repository(source: Path, git: Git) -> None:
    head = git(source, "rev-parse", "HEAD")
    assert source_ref(source / "docs" / "b.md") == head


def test_an_edited_file_is_dirty_and_its_neighbour_is_not(source: Path, git: Git) -> None:
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


def test_outside_of_any_repository_and_before_the_first_commit_there_is_no_source(tmp_path: Path, git: Git) -> None:
    (tmp_path / "plain.md").write_text("x\n")
    (tmp_path / "fresh").mkdir()
    git(tmp_path / "fresh", "init", "-q")
    (tmp_path / "fresh" / "x.md").write_text("x\n")
    assert source_ref(tmp_path / "plain.md") is None
    assert source_ref(tmp_path / "fresh" / "x.md") is None


def test_a_link_comes_from_where_it_leads(source: Path, tmp_path: Path, git: Git) -> None:
    (tmp_path / "link.md").symlink_to(source / "a.md")
    assert source_ref(tmp_path / "link.md") == git(source, "rev-parse", "HEAD")


def test_a_file_of_a_submodule_comes_from_the_submodule(source: Path, tmp_path: Path, git: Git) -> None:
    outer = tmp_path / "outer"
    outer.mkdir()
    git(outer, "init", "-q")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(source), "sub")
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
    for number in range(300):
        (source / "docs" / f"{number}.md").write_text(f"# {number}\n")
    commit_all(git, source, "many")
    sources = Sources()
    first = sources.ref(source / "docs" / "0.md", b"")
    git(source, "commit", "-q", "--allow-empty", "-m", "somebody works on")
    answers = {sources.ref(source / "docs" / f"{number}.md", b"") for number in range(300)}
    assert answers == {first}
    assert first not in {head, git(source, "rev-parse", "HEAD")}


def test_the_project_is_the_name_of_the_repository(source: Path, tmp_path: Path) -> None:
    sources = Sources()
    assert sources.project(source / "docs" / "b.md") == "jira-api"
    assert sources.project(tmp_path / "plain.md") is None


def test_a_damaged_git_folder_is_no_repository(source: Path) -> None:
    shutil.rmtree(source / ".git" / "objects")
    assert source_ref(source / "a.md") is None
