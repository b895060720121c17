"""Whoever holds the commit lock commits a share for all, and leaves nothing behind that nobody else would commit."""

from pathlib import Path

import pytest

from ai_lessons.git import commit, plumbing
from ai_lessons.git.store import Change, Job, Store
from ai_lessons.git.worktree import locate
from git.steps import add, note_only
from real_world import Git


def test_jobs_that_have_to_wait_do_not_keep_later_ones_from_their_commit(store: Store, git: Git) -> None:
    in_conflict(git, store.root, "torn.md")
    for n in range(commit.BATCH + 1):
        note_only(store, Job("Edit", [Change("torn.md", b"%d\n" % n)]))
    note_only(store, add("a.md"))
    assert store.save().commits == (git(store.root, "rev-parse", "HEAD"),)
    assert len(store.pending()) == commit.BATCH + 1


def in_conflict(git: Git, root: Path, path: str) -> None:
    """A path on which a stash and a commit differ."""
    (root / path).parent.mkdir(exist_ok=True)
    old, theirs = ("old\n", "commit", "-qm", "old"), ("stashed\n", "stash", "-q")
    ours = ("new\n", "commit", "-qm", "new")
    for text, *then in (old, theirs, ours):
        (root / path).write_text(text)
        git(root, "add", path)
        git(root, *then)
    git(root, "stash", "pop", check=False)


@pytest.mark.parametrize("form", ["", "--index-version=4", "--split-index"])
def test_a_path_in_conflict_is_found_in_every_form_of_the_index(git_repo: Path, git: Git, form: str) -> None:
    in_conflict(git, git_repo, "p/torn.md")
    if form:
        git(git_repo, "update-index", form)
    assert plumbing.unmerged(locate(git_repo)) == {"p/torn.md"}
