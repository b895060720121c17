"""Packs that other processes see only when they are whole, wherever the process that writes one ends."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from dulwich.objects import ObjectID

from ai_lessons.repository import objects
from ai_lessons.repository.objects import Draft, opened
from ai_lessons.repository.worktree import locate
from repository.steps import add, note_only

if TYPE_CHECKING:
    from pathlib import Path

    from ai_lessons.repository.store import Store
    from conftest import Git

STEPS = ("open", "write", "fsync", "rename", "unlink", "close")


class Died(Exception):
    """In the place of a kill."""


def save_and_die(monkeypatch: pytest.MonkeyPatch, store: Store, at: int) -> bool:
    """Save a share's worth of blobs, and end before the step `at` (from 1) in the folder of packs; whether it did."""
    done = 0
    with opened(locate(store.root)) as repo, monkeypatch.context() as patched:
        draft = Draft(repo)
        for n in range(objects.BUSY_FROM):
            draft.blob(b"blob %d\n" % n)

        def stepped(name: str) -> None:
            real = getattr(os, name)

            def step(*given: object, **more: object) -> object:
                nonlocal done
                done += 1
                if done >= at:  # a process that is dead does not tidy up
                    raise Died
                return real(*given, **more)

            patched.setattr(os, name, step)

        for name in STEPS:
            stepped(name)
        try:
            draft.save()
        except Died:
            return True
    return False


def test_a_pack_is_seen_whole_or_not_at_all_wherever_its_writer_dies(
    store: Store, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = set()
    for at in range(1, 100):
        if not save_and_die(monkeypatch, store, at):
            break
        assert "error" not in git(store.root, "fsck", "--full")
        packs = {path.suffix for path in (store.root / ".git/objects/pack").glob("pack-*")}
        seen.add(frozenset(packs))
        if ".idx" in packs:
            assert packs == {".pack", ".idx"}
            git(store.root, "verify-pack", *map(str, (store.root / ".git/objects/pack").glob("pack-*.idx")))
    else:
        pytest.fail("it never came to its end")
    assert at > 10
    assert seen == {frozenset(), frozenset({".pack"}), frozenset({".pack", ".idx"})}


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="names of open files are read from /proc")
def test_a_pack_its_index_and_their_folder_are_on_the_disk_in_this_order(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    sync, rename = os.fsync, os.rename

    def synced(fd: int) -> None:
        sync(fd)
        name = os.path.basename(os.readlink(f"/proc/self/fd/{fd}"))
        told.append(f"sync {name.split('_')[0]}")

    def renamed(old: str, new: str) -> None:
        rename(old, new)
        told.append(f"rename {os.path.splitext(new)[1]}")

    with opened(locate(store.root)) as repo:
        draft = Draft(repo)
        for n in range(objects.BUSY_FROM):
            draft.blob(b"blob %d\n" % n)
        monkeypatch.setattr(os, "fsync", synced)
        monkeypatch.setattr(os, "rename", renamed)
        draft.save()
    assert told == ["sync tmp", "rename .pack", "sync tmp", "rename .idx", "sync pack"]


def test_a_repository_that_is_open_finds_what_another_process_packed_since(store: Store, git: Git) -> None:
    with opened(locate(store.root)) as before:
        assert list(before.object_store.packs) == []
        for n in range(10):
            note_only(store, add(f"p/lessons/{n}.md"))
        made = store.save().commits
        assert packs(store.root)
        assert [ObjectID(name.encode()) in before.object_store for name in made] == [True] * 10
        git(store.root, "repack", "-adq")  # one pack for all: those that are open are gone
        git(store.root, "prune-packed", "-q")
        with opened(locate(store.root)) as after:
            assert all(after[ObjectID(name.encode())].id.decode() == name for name in made)
        assert all(before[ObjectID(name.encode())].id.decode() == name for name in made)


def packs(root: Path) -> list[str]:
    return sorted(path.name for path in (root / ".git/objects/pack").glob("*.pack"))
