"""A user's stash takes a write along that waits for its commit: it comes back with the stash, and is not forgotten."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ai_lessons.repository.store import Change, Job
from repository.steps import add, clean, note_only

if TYPE_CHECKING:
    from ai_lessons.repository.store import Store
    from conftest import Git
    from repository.conftest import Opened

NEW = add("p/a.md")
EDIT = Job("Edit README.md", [Change("README.md", b"ours\n")])


@pytest.mark.parametrize("job", [NEW, EDIT], ids=["a new file", "an edit"])
def test_what_a_stash_took_before_it_was_committed_is_committed_when_it_is_back(
    store: Store, git: Git, opened: Opened, job: Job
) -> None:
    root, path = store.root, job.changes[0].path
    note_only(store, job)
    (root / "mine.md").write_text("mine\n")
    git(root, "stash", "push", "-u", "-q")
    assert opened(root).apply(add("p/b.md")).commit  # nobody else is held up
    assert "lies in git's stash" in opened(root).save().waiting
    assert git(root, "log", "-1", "--format=%s") == "Add p/b.md"
    git(root, "stash", "pop", "-q")
    saved = opened(root).save()
    assert (len(saved.commits), saved.waiting) == (1, "")
    assert git(root, "show", f"HEAD:{path}") == (root / path).read_text().strip()
    assert git(root, "status", "--porcelain") == "?? mine.md"
    clean(git, root)


def test_who_drops_the_stash_drops_no_write(store: Store, git: Git, opened: Opened) -> None:
    note_only(store, NEW)
    git(store.root, "stash", "push", "-u", "-q")
    assert opened(store.root).save().waiting
    git(store.root, "stash", "drop", "-q")
    assert len(opened(store.root).save().commits) == 1
    assert opened(store.root).pending() == ()
    assert (store.root / "p/a.md").is_file()
    clean(git, store.root)


def test_a_stash_of_before_holds_nothing_up(store: Store, git: Git, opened: Opened) -> None:
    root = store.root
    (root / "README.md").write_text("mine\n")
    git(root, "stash", "push", "-q")
    assert opened(root).apply(EDIT).commit
    assert opened(root).apply(add("p/a.md")).commit
    assert opened(root).pending() == ()


def test_a_stash_that_cannot_be_read_holds_nothing_up(store: Store, git: Git, opened: Opened) -> None:
    log = store.git_dir / "logs" / "refs" / "stash"
    log.write_bytes(b"nonsense\n\n" + b"0" * 40 + b" " + b"1" * 40 + b" A <a@x> 1 +0000\tx\n" + b"\xff" * 100 + b"\n")
    note_only(store, NEW)
    (store.root / "p/a.md").unlink()
    assert opened(store.root).save().waiting == ""
    assert git(store.root, "show", "HEAD:p/a.md") == "text"
    assert opened(store.root).apply(add("p/b.md")).commit
    log.unlink()
    clean(git, store.root)
