"""What reaches git, and what does not: checked with the real git program against `git commit --only`."""

import multiprocessing
import os
import shutil
import stat
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ai_lessons.git import commit, plumbing
from ai_lessons.git.commit import Committer
from ai_lessons.git.store import AS_IT_IS, Actor, Change, Job, Store
from ai_lessons.git.worktree import locate
from git.conftest import Opened
from git.steps import add, clean, dirty_everything, in_conflict, note_only
from real_world import Git, put_file, put_program


def test_a_job_is_one_commit_with_its_message_and_trailers(store: Store, git: Git) -> None:
    actor = Actor(agent="claude", session="s1")
    done = store.apply(
        Job("Add lesson: T", [Change("p/lessons/a.md", b"x\n")], [("Id", "01")], actor)
    )
    assert done.waiting == ""
    assert done.commit == git(store.root, "rev-parse", "HEAD")
    assert git(store.root, "log", "-1", "--format=%an|%cn|%B") == (
        "Test Person|Test Person|Add lesson: T\n\nId: 01\nAgent: claude\nSession: s1"
    )
    assert git(store.root, "show", "HEAD:p/lessons/a.md") == "x"
    assert git(store.root, "status", "--porcelain") == ""
    assert store.pending() == ()
    clean(git, store.root)


def test_the_first_commit_of_an_empty_repository_works(
    tmp_path: Path, git: Git, opened: Opened
) -> None:
    git(tmp_path, "init", "-q", "-b", "trunk", "r")
    (tmp_path / "r" / "staged").write_text("mine")
    git(tmp_path / "r", "add", "staged")
    store = opened(tmp_path / "r")
    assert store.apply(add("a.md")).commit
    assert git(store.root, "ls-tree", "-r", "--name-only", "trunk") == "a.md"
    assert git(store.root, "status", "--porcelain") == "A  staged"
    clean(git, store.root)


def test_what_the_user_staged_and_edited_stays_as_it_was_exactly_as_git_commit_only_leaves_it(
    git_repo: Path, git: Git, opened: Opened, tmp_path: Path
) -> None:
    dirty_everything(git_repo, git)
    twin = tmp_path / "twin"
    shutil.copytree(git_repo, twin, symlinks=True)
    before = git(git_repo, "status", "--porcelain=v2")
    store = opened(git_repo)
    job = Job("Mine", [Change("README.md", b"new readme\n"), Change("p/docs/new.md", b"doc\n")])
    assert store.apply(job).commit
    (twin / "README.md").write_text("new readme\n")
    put_file(twin / "p" / "docs" / "new.md", "doc\n")
    git(twin, "add", "-N", "p/docs/new.md")
    git(twin, "commit", "-q", "--only", "-m", "Mine", "--", "README.md", "p/docs/new.md")
    assert (
        git(git_repo, "status", "--porcelain=v2") == before == git(twin, "status", "--porcelain=v2")
    )
    assert git(git_repo, "rev-parse", "HEAD^{tree}") == git(twin, "rev-parse", "HEAD^{tree}")
    assert git(git_repo, "ls-files", "-s", "--debug").count("\n") == git(
        twin, "ls-files", "-s", "--debug"
    ).count("\n")
    assert git(git_repo, "ls-files", "-s", "-t") == git(twin, "ls-files", "-s", "-t")
    clean(git, git_repo)


def test_the_users_next_commit_keeps_our_file(store: Store, git: Git) -> None:
    (store.root / "mine.md").write_text("user\n")
    git(store.root, "add", "mine.md")
    store.apply(add("ours.md"))
    git(store.root, "commit", "-qm", "user")
    assert git(store.root, "ls-tree", "-r", "--name-only", "HEAD").split() == [
        "README.md",
        "mine.md",
        "ours.md",
    ]


def test_a_path_of_ours_that_the_user_had_staged_otherwise_is_current_afterwards(
    store: Store, git: Git
) -> None:
    (store.root / "README.md").write_text("staged by the user\n")
    git(store.root, "add", "README.md")
    store.apply(Job("Edit", [Change("README.md", b"edited by us\n")]))
    assert git(store.root, "status", "--porcelain") == ""
    assert git(store.root, "show", "HEAD:README.md") == "edited by us"


def test_a_removal_is_committed_and_leaves_no_empty_folder_and_the_last_file_may_go(
    store: Store, git: Git
) -> None:
    store.apply(add("p/lessons/2026-11/a.md"))
    done = store.apply(Job("Delete", [Change("p/lessons/2026-11/a.md", None)]))
    assert done.commit
    assert not (store.root / "p").exists()
    assert git(store.root, "status", "--porcelain") == ""
    assert git(store.root, "ls-tree", "-r", "--name-only", "HEAD") == "README.md"
    assert store.apply(Job("Delete", [Change("README.md", None)])).commit
    assert git(store.root, "ls-tree", "-r", "--name-only", "HEAD") == ""
    clean(git, store.root)


def test_a_move_is_one_commit_that_git_sees_as_a_rename(store: Store, git: Git) -> None:
    text = b"text\n" * 20
    store.apply(Job("Add", [Change("a.md", text)]))
    store.apply(Job("Move", [Change("a.md", None), Change("p/docs/1.0/b.md", text)]))
    assert (
        git(store.root, "show", "--format=", "--name-status", "-M", "HEAD")
        == "R100\ta.md\tp/docs/1.0/b.md"
    )


def test_a_file_may_become_a_folder_and_a_folder_a_file(store: Store, git: Git) -> None:
    store.apply(add("x"))
    store.apply(Job("Delete", [Change("x", None)]))
    assert store.apply(add("x/y.md")).commit
    assert store.apply(Job("Delete", [Change("x/y.md", None)])).commit
    assert store.apply(add("x")).commit
    assert git(store.root, "status", "--porcelain") == ""
    clean(git, store.root)


def test_the_executable_bit_is_committed_and_kept(store: Store, git: Git) -> None:
    store.apply(
        Job(
            "Add", [Change("p/scripts/s.sh", b"#!/bin/sh\n", executable=True), Change("a.md", b"a")]
        )
    )
    store.apply(Job("Edit", [Change("p/scripts/s.sh", b"#!/bin/sh\ntrue\n")]))
    assert git(store.root, "ls-tree", "-r", "HEAD", "p").startswith("100755")
    assert git(store.root, "ls-tree", "HEAD", "a.md").startswith("100644")
    assert (store.root / "p/scripts/s.sh").stat().st_mode & stat.S_IXUSR


def test_writing_what_is_there_makes_no_commit(store: Store, git: Git) -> None:
    store.apply(add("a.md"))
    tip = git(store.root, "rev-parse", "HEAD")
    done = store.apply(add("a.md"))
    assert (done.commit, done.waiting) == (None, "")
    assert git(store.root, "rev-parse", "HEAD") == tip


def test_files_that_are_there_already_can_be_committed_as_they_are(store: Store, git: Git) -> None:
    odd = "What? a:b.md"
    (store.root / odd).write_bytes(b"mine\r\n")
    assert store.apply(Job("Adopt", [Change(odd, AS_IT_IS)])).commit
    assert (store.root / odd).read_bytes() == b"mine\r\n"
    assert git(store.root, "status", "--porcelain") == ""


def test_two_thousand_files_are_one_commit_in_one_pack(store: Store, git: Git) -> None:
    changes = [Change(f"p/docs/unversioned/{n % 20}/{n}.md", b"text %d\n" % n) for n in range(2000)]
    done = store.apply(Job("Import", changes))
    assert done.commit
    assert git(store.root, "rev-list", "--count", "HEAD") == "2"
    assert len(git(store.root, "ls-tree", "-r", "--name-only", "HEAD").splitlines()) == 2001
    assert len(list((store.root / ".git/objects/pack").glob("*.pack"))) == 1
    assert git(store.root, "status", "--porcelain") == ""
    assert git(store.root, "diff-files") == ""
    clean(git, store.root)


def test_hooks_of_the_user_are_not_run_and_reflogs_are_written(store: Store, git: Git) -> None:
    put_program(store.root / ".git/hooks/pre-commit", "#!/bin/sh\nexit 1\n")
    assert store.apply(add("a.md")).commit
    for ref in ("HEAD", "main"):
        assert "commit: Add a.md" in git(store.root, "reflog", "-1", ref)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch, store: Store) -> list[tuple[str, str]]:
    """What is synced and what is renamed or linked to where, in order, as paths below the repository."""
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("names of open files are read from /proc")
    made: list[tuple[str, str]] = []
    sync, rename, link = os.fsync, os.rename, os.link

    def short(path: object, folder: int | None = None) -> str:
        start = os.readlink(f"/proc/self/fd/{folder}") if folder else ""
        whole = os.path.join(start, os.fspath(path))  # type: ignore[call-overload]  # str
        return os.path.relpath(whole, store.root)

    def synced(fd: int) -> None:
        sync(fd)
        made.append(("fsync", short(os.readlink(f"/proc/self/fd/{fd}"))))

    def renamed(old: str, new: str, **folders: int) -> None:
        made.append(("from", short(old, folders.get("src_dir_fd"))))
        rename(old, new, **folders)
        made.append(("rename", short(new, folders.get("dst_dir_fd"))))

    def linked(old: str, new: str) -> None:
        made.append(("from", short(old)))
        link(old, new)
        made.append(("link", short(new)))

    for name, recorder in (("fsync", synced), ("rename", renamed), ("link", linked)):
        monkeypatch.setattr(os, name, recorder)
    return made


def where(calls: list[tuple[str, str]], what: str, fits: Callable[[str], bool]) -> list[int]:
    return [n for n, (name, path) in enumerate(calls) if name == what and fits(path)]


def test_objects_are_on_the_disk_before_the_branch_points_to_them(
    store: Store, calls: list[tuple[str, str]]
) -> None:
    assert store.apply(add("p/docs/unversioned/a.md")).commit
    objects = where(calls, "rename", lambda path: path.startswith(".git/objects/"))
    (branch,) = where(calls, "rename", lambda path: path == ".git/refs/heads/main")
    (index,) = where(calls, "rename", lambda path: path == ".git/index")
    assert objects
    assert max(objects) < branch < index
    for moved in objects:
        temporary = calls[moved - 1][1]
        assert ("fsync", temporary) in calls[:moved], (
            f"{calls[moved][1]} was put in place before it was on the disk"
        )
    (lock,) = where(calls, "link", lambda path: path == ".git/refs/heads/main.lock")
    assert ("fsync", calls[lock - 1][1]) in calls[:lock]
    assert calls[lock - 1][0] == "from"


def test_a_new_file_is_on_the_disk_when_the_job_returns_and_what_replaces_one_before_it_does(
    store: Store, calls: list[tuple[str, str]]
) -> None:
    store.autocommit = False
    store.apply(add("p/lessons/a.md"))
    (placed,) = where(calls, "rename", lambda path: path == "p/lessons/a.md")
    assert ("fsync", "p/lessons/a.md") in calls[placed:]
    assert ("fsync", "p/lessons") in calls[placed:]
    calls.clear()
    store.apply(add("p/lessons/a.md", "new\n"))
    (placed,) = where(calls, "rename", lambda path: path == "p/lessons/a.md")
    assert ("fsync", calls[placed - 1][1]) in calls[:placed]


def test_jobs_that_have_to_wait_do_not_keep_later_ones_from_their_commit(
    store: Store, git: Git
) -> None:
    in_conflict(git, store.root, "torn.md")
    for n in range(commit.BATCH + 1):
        note_only(store, Job("Edit", [Change("torn.md", b"%d\n" % n)]))
    note_only(store, add("a.md"))
    assert store.save().commits == (git(store.root, "rev-parse", "HEAD"),)
    assert len(store.pending()) == commit.BATCH + 1


@pytest.mark.parametrize("form", ["", "--index-version=4", "--split-index"])
def test_a_path_in_conflict_is_found_in_every_form_of_the_index(
    git_repo: Path, git: Git, form: str
) -> None:
    in_conflict(git, git_repo, "p/torn.md")
    if form:
        git(git_repo, "update-index", form)
    assert plumbing.unmerged(locate(git_repo)) == {"p/torn.md"}


SPAWN = multiprocessing.get_context("spawn")


def write_many(root: Path, writer: int, count: int) -> None:
    """One process of an agent: `count` jobs, each with its own agent."""
    store = Store(root, committing=Committer)
    for n in range(count):
        job = Job(
            f"Add {writer}-{n}",
            [Change(f"p/lessons/{writer}-{n}.md", b"%d\n" % n)],
            (),
            Actor(f"W{writer}"),
        )
        store.apply(job)


def start(root: Path, writers: int, count: int) -> list[multiprocessing.process.BaseProcess]:
    processes = [SPAWN.Process(target=write_many, args=(root, n, count)) for n in range(writers)]
    for process in processes:
        process.start()
    return list(processes)


def test_several_processes_write_at_once_and_every_lesson_is_a_commit(
    git_repo: Path, git: Git, opened: Opened
) -> None:
    for process in start(git_repo, 3, 12):
        process.join(120)
        assert process.exitcode == 0
    opened(git_repo).save()
    assert git(git_repo, "rev-list", "--count", "HEAD") == "37"
    assert len(set(git(git_repo, "log", "--format=%s", "-36").splitlines())) == 36
    for writer in range(3):
        assert git(git_repo, "rev-list", "--count", f"--grep=^Agent: W{writer}$", "HEAD") == "12"
    assert git(git_repo, "status", "--porcelain") == ""
    assert len(git(git_repo, "ls-tree", "-r", "--name-only", "HEAD").splitlines()) == 37
    clean(git, git_repo)


def test_a_user_who_stages_and_commits_meanwhile_loses_nothing_and_neither_do_we(
    git_repo: Path, git: Git, opened: Opened
) -> None:
    processes = start(git_repo, 2, 8)
    committed = 0
    while any(process.is_alive() for process in processes):
        (git_repo / f"user{committed}.md").write_text("mine\n")
        for command in (("add", f"user{committed}.md"), ("commit", "-qm", f"user {committed}")):
            while not done(
                git, git_repo, committed, command
            ):  # a lock error is repeated; a loss could not be
                git(git_repo, *command, check=False)
                time.sleep(0.05)
        committed += 1
    for process in processes:
        process.join(120)
        assert process.exitcode == 0
    saved = opened(git_repo).save()
    assert saved.waiting == ""
    names = git(git_repo, "ls-tree", "-r", "--name-only", "HEAD").splitlines()
    assert [n for n in range(committed) if f"user{n}.md" not in names] == []
    # `git commit` reads the index before it locks it, and may write what it read over our entry: that commit fails,
    # the next one removes our file from HEAD. No lock of ours can prevent it; what it left out was brought back.
    ours = {f"p/lessons/{worker}-{n}.md" for worker in range(2) for n in range(8)}
    assert ours - set(names) == set()
    for path in ours:
        assert (git_repo / path).is_file()
    clean(git, git_repo)


def done(git: Git, root: Path, number: int, command: tuple[str, ...]) -> bool:
    """Whether the user's command had its effect."""
    listing = ("ls-files",) if command[0] == "add" else ("ls-tree", "-r", "--name-only", "HEAD")
    return f"user{number}.md" in git(root, *listing).splitlines()


def test_a_process_that_waits_for_the_lock_learns_the_commit_that_another_made_for_it(
    git_repo: Path, git: Git, opened: Opened
) -> None:
    first, second = opened(git_repo), opened(git_repo)
    second_half = Committer(second)
    Store(git_repo).apply(add("a.md"))
    (intent,) = first.pending()
    first.save()
    assert second_half(intent.name).commit == git(git_repo, "rev-parse", "HEAD")


# --- where a repository lies, in which format git keeps its index, and who signs ---


def test_a_folder_of_a_bigger_repository_is_written_but_not_committed(
    git_repo: Path, git: Git, opened: Opened
) -> None:
    (git_repo / ".ai/reference").mkdir(parents=True)
    store = opened(git_repo / ".ai/reference")
    assert store.is_folder_of_bigger_repo
    done = store.apply(add("a.md"))
    assert (done.commit, done.waiting) == (None, "")
    assert store.pending() == ()
    assert git(git_repo, "status", "--porcelain", "-uall") == "?? .ai/reference/a.md"


def test_a_folder_of_a_bigger_repository_commits_only_its_own_paths_if_asked(
    git_repo: Path, git: Git, opened: Opened
) -> None:
    dirty_everything(git_repo, git)
    before = git(git_repo, "status", "--porcelain=v2")
    (git_repo / "kb").mkdir()
    store = opened(git_repo / "kb", autocommit=True)
    assert store.apply(add("p/lessons/a.md")).commit
    assert git(git_repo, "show", "--format=", "--name-only", "HEAD") == "kb/p/lessons/a.md"
    assert git(git_repo, "status", "--porcelain=v2") == before
    assert store.state_dir.parent == git_repo / ".git/ai-lessons"


def test_index_versions_and_options_of_gits_are_kept(
    git_repo: Path, git: Git, opened: Opened
) -> None:
    git(git_repo, "config", "index.skipHash", "true")
    for version in ("2", "3", "4"):
        git(git_repo, "update-index", "--index-version", version)
        assert opened(git_repo).apply(add(f"v{version}.md")).commit
        assert git(git_repo, "status", "--porcelain") == ""
    clean(git, git_repo)


def with_signing(root: Path, git: Git, program: str, tmp_path: Path) -> None:
    script = put_program(tmp_path / "signer", program)
    git(root, "config", "commit.gpgsign", "true")
    git(root, "config", "gpg.program", str(script))


def test_commits_are_signed_where_the_user_asked_git_for_it(
    store: Store, git: Git, tmp_path: Path
) -> None:
    with_signing(
        store.root,
        git,
        '#!/bin/sh\ncat >/dev/null\necho "[GNUPG:] SIG_CREATED " >&2\necho "SIGNED"\n',
        tmp_path,
    )
    done = store.apply(add("a.md"))
    assert done.notes == ()
    assert "gpgsig SIGNED" in git(store.root, "cat-file", "commit", "HEAD")
    assert git(store.root, "log", "-1", "--format=%an %s") == "Test Person Add a.md"
    clean(git, store.root)


def test_a_signer_that_asks_for_something_does_not_hang_us(
    store: Store, git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ai_lessons.git.plumbing.SIGN_TIMEOUT", 0.3)
    with_signing(store.root, git, "#!/bin/sh\nexec sleep 30\n", tmp_path)
    done = store.apply(add("a.md"))
    assert done.commit
    assert "did not end within" in done.notes[0]
    # once a sitting: the next write does not ask, and one after a while does
    assert (
        "waited for in vain" in Store(store.root, committing=Committer).apply(add("b.md")).notes[0]
    )
    os.utime(store.worktree.state_dir / "not-signed", (0, 0))
    assert (
        "did not end within" in Store(store.root, committing=Committer).apply(add("c.md")).notes[0]
    )
