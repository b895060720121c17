"""Files of a pulled tree that git or dulwich would take for a repository, or for settings, run no program."""

import os
from pathlib import Path

import pytest

from ai_lessons.app.scaffold import clone, init
from ai_lessons.errors import Refused
from ai_lessons.git import plumbing, sync
from ai_lessons.git.history import History
from ai_lessons.git.objects import opened
from ai_lessons.git.store import Change, Job, Store
from ai_lessons.git.worktree import Worktree, locate, read_head
from git.conftest import Opened
from real_world import Git, put_file, put_program

ENTRY = "global/lessons/2026-11/a.md"


@pytest.fixture
def project(git_repo: Path) -> Path:
    """A code project with a knowledge folder that is harmless so far."""
    put_file(git_repo / ".ai/reference" / ENTRY, "# A\n")
    return git_repo


def lay_out(folder: Path, proof: Path, *, head: str = "link") -> None:
    """What git, started in `folder`, takes for a repository whose settings run programs. HEAD is a link or a file."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("objects/info", "refs/heads"):
        (folder / name).mkdir(parents=True)
    if head == "link":
        (folder / "HEAD").symlink_to("refs/heads/main")
    else:
        (folder / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / "config").write_text(
        "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n"
        f'\tfsmonitor = "touch {proof}; false"\n[filter "x"]\n\tclean = "touch {proof}; cat"\n\tsmudge = cat\n'
    )
    (folder / ".gitattributes").write_text("*.md filter=x\n")


def ask_git(worktree: Worktree) -> None:
    """Those questions by which git reads its settings, refreshes its index and cleans files."""
    plumbing.run(worktree, "status", "--porcelain", cwd=worktree.root)
    plumbing.attributes_of(worktree, [ENTRY], "filter")
    plumbing.run(
        worktree,
        "hash-object",
        "-w",
        "--stdin",
        f"--path={ENTRY}",
        cwd=worktree.root,
        stdin=b"text\n",
    )
    History(worktree).dirty(ENTRY)


def test_git_by_itself_would_run_the_programs_of_a_pulled_folder(
    project: Path, git: Git, tmp_path: Path
) -> None:
    lay_out(project / ".ai/reference", tmp_path / "ran")
    git(project / ".ai/reference", "hash-object", "-w", ENTRY, check=False)
    git(project / ".ai/reference", "status", check=False)
    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize("head", ["link", "file"])
@pytest.mark.parametrize("folder", [".ai/reference", ".ai", "."])
def test_a_folder_that_looks_like_a_git_directory_is_refused(
    project: Path, tmp_path: Path, folder: str, head: str
) -> None:
    lay_out(project / folder, tmp_path / "ran", head=head)
    with pytest.raises(Exception, match="git directory") as caught:
        Store(project / ".ai/reference")
    assert str((project / folder).resolve()) in str(caught.value)


def test_a_head_with_a_commondir_is_refused_too(project: Path) -> None:
    (project / ".ai/reference/HEAD").symlink_to("refs/heads/main")
    (project / ".ai/reference/commondir").write_text("../../elsewhere\n")
    with pytest.raises(Refused, match="git directory"):
        locate(project / ".ai/reference")


@pytest.mark.parametrize("folder", [".ai/reference", ".ai/reference/global", ".ai"])
def test_what_a_pull_brings_while_we_work_runs_nothing(
    project: Path, tmp_path: Path, folder: str
) -> None:
    worktree = locate(project / ".ai/reference")
    lay_out(project / folder, tmp_path / "ran")
    ask_git(worktree)
    with opened(worktree) as repo:
        assert os.path.realpath(repo.controldir()) == str(project / ".git")
        assert repo.head().decode() == read_head(worktree).commit
    assert not (tmp_path / "ran").exists()


def test_nothing_is_written_into_a_folder_that_git_would_take_for_a_repository(
    project: Path, tmp_path: Path, opened: Opened
) -> None:
    store = opened(project / ".ai/reference", autocommit=True)
    lay_out(store.root / "global", tmp_path / "ran")
    with pytest.raises(Refused, match="git directory"):
        store.apply(Job("Add lesson: b", [Change("global/lessons/2026-11/b.md", b"# B\n")]))
    assert not store.exists("global/lessons/2026-11/b.md")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("target", ["../../evil", "evil"])
@pytest.mark.parametrize("kind", ["file", "link"])
def test_a_git_file_or_link_into_the_tree_is_refused(
    project: Path, tmp_path: Path, target: str, kind: str
) -> None:
    root = project / ".ai/reference"
    lay_out(root / target, tmp_path / "ran", head="file")
    if kind == "file":
        (root / ".git").write_text(f"gitdir: {target}\n")
    else:
        (root / ".git").symlink_to(target)
    with pytest.raises(Refused, match="among the files of"):
        locate(root)


def test_worktrees_and_submodules_are_as_welcome_as_before(
    project: Path, git: Git, tmp_path: Path
) -> None:
    git(project, "clone", "-q", "--bare", ".", str(tmp_path / "many/.bare"))
    (tmp_path / "many/.git").write_text("gitdir: ./.bare\n")
    git(tmp_path / "many", "worktree", "add", "-q", "-b", "one", str(tmp_path / "many/one"))
    assert locate(tmp_path / "many/one").common_dir == tmp_path / "many/.bare"
    git(
        project,
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        str(project),
        ".ai/other",
    )
    assert locate(project / ".ai/other").git_dir == project / ".git/modules/.ai/other"


@pytest.mark.parametrize("section", ["[include]", '[includeIf "gitdir:/"]'])
@pytest.mark.parametrize("value", ["../settings", "../.ai/reference/settings"])
def test_settings_that_a_pull_may_write_are_refused(
    project: Path, section: str, value: str
) -> None:
    with (project / ".git/config").open("a") as config:
        config.write(f"{section}\n\tpath = {value}\n\tpath = ../../outside\n")
    with pytest.raises(Refused, match=r"include \.\./"):
        locate(project / ".ai/reference")


def test_settings_included_from_outside_of_the_tree_count(
    project: Path, git: Git, tmp_path: Path
) -> None:
    (tmp_path / "mine").write_text("[user]\n\tname = From outside\n")
    git(project, "config", "include.path", str(tmp_path / "mine"))
    assert (plumbing.identity(locate(project)) or "").startswith("From outside")


def test_no_monitor_and_no_pager_of_anybody_is_started(
    git_repo: Path, git: Git, tmp_path: Path
) -> None:
    git(git_repo, "config", "core.fsmonitor", f"touch {tmp_path}/ran; false")
    git(git_repo, "config", "core.pager", f"touch {tmp_path}/ran; cat")
    (git_repo / "README.md").write_text("# Other\n")
    assert plumbing.run(locate(git_repo), "status", "--porcelain").text.endswith("README.md")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("folder", "runs"), [(".git/hooks", True), ("../mine", True), ("hooks", False)]
)
def test_a_sync_runs_the_users_hooks_and_none_that_a_pull_may_write(
    git_repo: Path, git: Git, opened: Opened, tmp_path: Path, folder: str, *, runs: bool
) -> None:
    git(git_repo, "clone", "-q", "--bare", ".", str(tmp_path / "hub.git"))
    git(tmp_path, "clone", "-q", str(tmp_path / "hub.git"), "clone")
    put_program(tmp_path / "clone" / folder / "post-merge", f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    git(tmp_path / "clone", "config", "core.hooksPath", folder)
    git(git_repo, "commit", "-q", "--allow-empty", "-m", "news")
    git(git_repo, "push", "-q", str(tmp_path / "hub.git"), "main")
    sync.sync(opened(tmp_path / "clone"))
    assert git(tmp_path / "clone", "log", "-1", "--format=%s") == "news"
    assert (tmp_path / "ran").exists() == runs


def test_a_clone_is_made_without_looking_at_the_folder_that_it_is_made_in(
    git_repo: Path, tmp_path: Path
) -> None:
    lay_out(tmp_path / "evil", tmp_path / "ran")
    made = clone(str(git_repo), tmp_path / "evil" / "clone")
    assert made.created
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("part", [".ai", ".ai/reference"])
def test_a_linked_knowledge_folder_is_neither_opened_nor_made(
    project: Path, tmp_path: Path, git: Git, part: str
) -> None:
    git(tmp_path, "init", "-q", "own")
    (tmp_path / "own/reference").mkdir()
    (tmp_path / "code" / part).parent.mkdir(parents=True)
    (tmp_path / "code" / part).symlink_to(tmp_path / "own")
    for job in (locate, init):
        with pytest.raises(Refused, match="is a link to") as caught:
            job(tmp_path / "code/.ai/reference")
        assert "--tier user" in caught.value.hint
    assert sorted(os.listdir(tmp_path / "own")) == [".git", "reference"]
    assert locate(tmp_path / "own").root == tmp_path / "own"


def test_the_knowledge_folder_of_the_home_may_be_a_link(hermetic: Path, git_repo: Path) -> None:
    (hermetic / ".ai").mkdir()
    (hermetic / ".ai/reference").symlink_to(git_repo)
    assert locate(hermetic / ".ai/reference").root == git_repo


@pytest.mark.parametrize(
    ("stated", "by_git", "commits"),
    [(True, "", False), (None, "", False), (False, "true", True), (True, "yes", True)],
)
def test_in_a_folder_of_a_bigger_repository_only_the_users_git_says_whether_we_commit(
    project: Path, git: Git, *, stated: bool | None, by_git: str, commits: bool
) -> None:
    if by_git:
        git(project, "config", "ai-lessons.autocommit", by_git)
    store = Store(project / ".ai/reference")
    assert store.commits(stated) is commits
    assert store.autocommit is commits
    alone = Store(project)
    assert [alone.commits(one) for one in (None, True, False)] == [True, True, False]
