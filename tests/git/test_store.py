"""Jobs: checked whole, put in place whole, noted."""

import errno
import fcntl
import os
import signal
import subprocess
import sys
import threading
from contextlib import ExitStack
from pathlib import Path

import pytest

from ai_lessons.errors import Conflict, Refused, StorageFailed
from ai_lessons.git import files, journal
from ai_lessons.git.journal import held
from ai_lessons.git.store import ANY, Actor, Change, Job, Store
from ai_lessons.model.layout import blob_id
from git.steps import add
from real_world import Git, failing, instead


def test_a_store_without_a_committing_half_notes_the_job_and_says_so(git_repo: Path) -> None:
    store = Store(git_repo)
    done = store.apply(add("p/lessons/a.md"))
    assert (done.commit, done.waiting) == (None, "nothing here makes commits")
    assert store.read("p/lessons/a.md") == b"text\n"
    assert [(i.subject, i.paths[0].path) for i in store.pending()] == [
        ("Add p/lessons/a.md", "p/lessons/a.md")
    ]
    assert store.save().waiting == "nothing here makes commits"


def test_opening_and_reading_load_neither_dulwich_nor_start_git(git_repo: Path) -> None:
    code = (
        "import sys, pathlib, subprocess\n"
        "subprocess.run = None\n"
        "from ai_lessons.git.store import Store\n"
        "from ai_lessons.git.worktree import walk\n"
        f"store = Store(pathlib.Path({str(git_repo)!r}))\n"
        "list(walk(store.root)); store.read('README.md'); store.head(); store.pending()\n"
        "assert not [m for m in sys.modules if m.partition('.')[0] in ('dulwich', 'yaml', 'ulid')]\n"
    )
    subprocess.run(
        [sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": "src"}
    )


def test_a_change_based_on_what_is_not_there_any_more_is_a_conflict_and_nothing_is_written(
    store: Store,
) -> None:
    seen = blob_id(store.read("README.md"))
    (store.root / "README.md").write_text("edited meanwhile")
    job = Job("Edit", [Change("new.md", b"x"), Change("README.md", b"mine", expect=seen)])
    with pytest.raises(Conflict, match=r"README\.md was changed meanwhile"):
        store.apply(job)
    assert not store.exists("new.md")
    assert store.read("README.md") == b"edited meanwhile"
    assert store.pending() == ()


def test_a_change_to_a_file_that_went_or_came_is_a_conflict(store: Store) -> None:
    with pytest.raises(Conflict, match="removed meanwhile"):
        store.apply(Job("Edit", [Change("gone.md", b"x", expect="0" * 40)]))
    with pytest.raises(Conflict, match="is there already"):
        store.apply(Job("Add", [Change("README.md", b"x", expect=None)]))
    assert store.apply(Job("Edit", [Change("README.md", b"x", expect=ANY)])).commit


def test_a_change_based_on_what_is_there_is_applied(store: Store) -> None:
    assert store.apply(
        Job("Edit", [Change("README.md", b"x", expect=blob_id(store.read("README.md")))])
    ).commit
    assert store.apply(Job("Delete", [Change("README.md", None, expect=blob_id(b"x"))])).commit
    assert store.apply(Job("Add", [Change("README.md", b"y", expect=None)])).commit


@pytest.mark.parametrize(
    "path",
    [
        "../x.md", "/abs.md", "p/../../x.md", ".git/hooks/pre-commit", "p/.GIT/config", "p/git~1/x", ".g\u200cit/x",
        "p/CON.md", "p/a.md.", "p/a:b.md", "p/\x1b[31m.md", "p/a\nb.md", "p/\u202egpj.md", "p\\a.md", "p/" + "n" * 300,
    ],
)  # fmt: skip
def test_hostile_names_are_refused_and_nothing_is_written(store: Store, path: str) -> None:
    with pytest.raises(Refused):
        store.apply(Job("Add", [Change("fine.md", b"x"), Change(path, b"x")]))
    assert not store.exists("fine.md")
    assert store.pending() == ()


def test_our_own_hidden_files_may_be_written(store: Store, git: Git) -> None:
    job = Job(
        "Set",
        [
            Change(".ai-lessons/config.yaml", b"format: 1\n"),
            Change(".gitattributes", b"* text=auto\n"),
        ],
    )
    assert store.apply(job).commit
    assert git(store.root, "status", "--porcelain") == ""


def test_a_folder_that_is_a_repository_of_its_own_is_not_written_into(
    store: Store, git: Git
) -> None:
    git(store.root, "init", "-q", "sub")
    with pytest.raises(Refused, match="repository of its own"):
        store.apply(add("sub/lessons/a.md"))
    assert os.listdir(store.root / "sub") == [".git"]


def test_ctrl_c_in_the_middle_of_an_import_leaves_no_trace(
    store: Store, git: Git, closing: ExitStack
) -> None:
    stage = files.Staging.add

    def interrupted(
        self: files.Staging, path: str, data: bytes, *, executable: bool | None = None
    ) -> None:
        if path == "p/7.md":
            raise KeyboardInterrupt
        stage(self, path, data, executable=executable)

    closing.enter_context(instead("ai_lessons.git.files.Staging.add", interrupted))
    with pytest.raises(KeyboardInterrupt):
        store.apply(Job("Import", [Change(f"p/{n}.md", b"x") for n in range(20)]))
    assert not (store.root / "p").exists()
    assert store.pending() == ()


def test_ctrl_c_while_files_are_put_in_place_keeps_what_is_there_noted(
    store: Store, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = os.rename

    def interrupted(old: str, new: str, **keywords: int) -> None:
        if new == "7.md":
            raise KeyboardInterrupt
        rename(old, new, **keywords)

    with monkeypatch.context() as patched:
        patched.setattr(os, "rename", interrupted)
        with pytest.raises(KeyboardInterrupt):
            store.apply(Job("Import", [Change(f"p/{n}.md", b"x") for n in range(20)]))
    assert sorted(os.listdir(store.root / "p")) == [f"{n}.md" for n in range(7)]
    assert len(store.save().commits) == 1
    assert git(store.root, "status", "--porcelain") == ""


def test_of_many_threads_that_saw_the_same_text_one_wins(store: Store) -> None:
    seen = blob_id(store.read("README.md"))
    outcomes: list[str] = []

    def edit(n: int) -> None:
        try:
            store.apply(Job("Edit", [Change("README.md", b"%d" % n, expect=seen)]))
            outcomes.append("won")
        except Conflict:
            outcomes.append("conflict")

    threads = [threading.Thread(target=edit, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["conflict"] * 5 + ["won"]


def test_messages_are_one_subject_and_trailers_whatever_the_caller_puts_in(
    store: Store, git: Git
) -> None:
    job = Job(
        "Add\n\nlesson: \x1b[31mred",
        [Change("a.md", b"x")],
        [("Id", "1\nForged: yes")],
        Actor(agent="a\nb"),
    )
    store.apply(job)
    assert (
        git(store.root, "log", "-1", "--format=%B")
        == "Add lesson: [31mred\n\nId: 1 Forged: yes\nAgent: a b"
    )


class Other:
    """Holds the lock until a moment of a clock that only sleeping moves on."""

    def __init__(self, path: Path, until: float) -> None:
        self.now, self._until = 100.0, 100.0 + until
        self.fd = os.open(path, os.O_RDWR | os.O_CREAT)
        fcntl.flock(self.fd, fcntl.LOCK_EX)

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        if self.now >= self._until:
            fcntl.flock(self.fd, fcntl.LOCK_UN)

    @property
    def waited(self) -> float:
        return self.now - 100.0


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    return tmp_path / "state" / "a.lock"


def busy(monkeypatch: pytest.MonkeyPatch, lock: Path, until: float) -> Other:
    lock.parent.mkdir()
    other = Other(lock, until)
    monkeypatch.setattr(journal, "time", other)
    return other


@pytest.mark.parametrize(("until", "mine"), [(0.9, True), (1.2, False)])
def test_it_is_tried_for_as_long_as_the_patience_lasts(
    monkeypatch: pytest.MonkeyPatch, lock: Path, until: float, mine: bool
) -> None:
    other = busy(monkeypatch, lock, until)
    with held(lock, patience=1.0, give_up=lambda: False) as got:
        assert got is mine
    assert min(until, 1.0) <= other.waited < 1.02


def test_it_is_queued_for_until_it_is_free(lock: Path) -> None:
    with ExitStack() as other:
        other.enter_context(held(lock, patience=0.0))
        timer = threading.Timer(0.2, other.close)
        timer.start()
        with held(lock, patience=60.0) as mine:
            assert mine
            with held(lock, patience=0.0) as again:
                assert not again
        timer.join()


def test_ctrl_c_ends_the_wait(lock: Path) -> None:
    with held(lock, patience=0.0):
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt), held(lock, patience=60.0):
            pytest.fail("somebody else has it")
    with held(lock, patience=60.0) as mine:
        assert mine


def test_a_file_system_without_locks_is_told(lock: Path) -> None:
    unable = failing("fcntl.flock", OSError(errno.ENOLCK, "No locks available"))
    refused = pytest.raises(StorageFailed, match="no locks available")
    with held(lock, patience=0.0), unable, refused, held(lock, patience=60.0):
        pytest.fail("nobody has it")


def test_whoever_waits_for_a_job_to_be_done_goes_when_it_is(
    monkeypatch: pytest.MonkeyPatch, lock: Path
) -> None:
    other = busy(monkeypatch, lock, 9.0)
    with held(lock, patience=1.0, give_up=lambda: other.waited > 0.2) as mine:
        assert not mine
    assert 0.2 < other.waited < 0.22
