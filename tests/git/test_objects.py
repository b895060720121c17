"""Objects are found wherever git keeps them, and a pack is seen only when it is whole, wherever its writer ends."""

from __future__ import annotations

import os
import zlib
from pathlib import Path

import pytest
from dulwich.objects import ObjectID

from ai_lessons.errors import UnsupportedRepository
from ai_lessons.git import objects
from ai_lessons.git.objects import Draft, opened
from ai_lessons.git.store import Store
from ai_lessons.git.worktree import locate
from git.steps import add, note_only
from real_world import Git, put_file

STEPS = ("open", "write", "fsync", "rename", "unlink", "close")


class Died(Exception):
    """In the place of a kill."""


def save_and_die(monkeypatch: pytest.MonkeyPatch, store: Store, at: int) -> bool:
    """Save a share's worth of blobs, and end before the step `at` (from 1) in the folder of packs; whether it did."""
    done = 0
    with opened(locate(store.root)) as repo, monkeypatch.context() as patched:
        draft = Draft(repo)
        for n in range(objects.PACK_FROM):
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
        for n in range(objects.PACK_FROM):
            draft.blob(b"blob %d\n" % n)
        monkeypatch.setattr(os, "fsync", synced)
        monkeypatch.setattr(os, "rename", renamed)
        draft.save()
    assert told == ["sync tmp", "rename .pack", "sync tmp", "rename .idx", "sync pack"]


def test_a_repository_that_is_open_finds_what_another_process_packed_since(
    store: Store, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(objects, "PACK_FROM", 20)
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


@pytest.mark.parametrize("damage", [b"", b"nonsense", zlib.compress(b"tree 0\0"), zlib.compress(b"what 3\0abc")])
def test_a_damaged_file_of_an_object_that_a_pack_has_whole_harms_nothing(store: Store, damage: bytes) -> None:
    with opened(locate(store.root)) as repo:
        draft = Draft(repo)
        blobs = {b"%d" % k: (objects.PLAIN, draft.blob(b"%d" % k)) for k in range(objects.PACK_FROM)}
        tree = draft.edit(None, blobs)
        draft.save()
        put_file(store.root / ".git/objects" / tree.decode()[:2] / tree.decode()[2:], damage)
        assert Draft(repo).lookup(tree, b"7") == blobs[b"7"]


@pytest.mark.parametrize("damage", [b"", b"nonsense", zlib.compress(b"tree 0\0")])
def test_an_object_that_nobody_has_whole_is_told_of(store: Store, damage: bytes) -> None:
    with opened(locate(store.root)) as repo:
        draft = Draft(repo)
        tree = draft.edit(None, {b"a": (objects.PLAIN, draft.blob(b"a"))})
        draft.save()
    place = store.root / ".git/objects" / tree.decode()[:2] / tree.decode()[2:]
    place.chmod(0o644)
    place.write_bytes(damage)
    with pytest.raises(UnsupportedRepository, match="missing or damaged"), opened(locate(store.root)) as repo:
        Draft(repo).lookup(tree, b"a")


def test_an_object_is_found_although_git_removes_its_pack_before_it_is_opened(store: Store, git: Git) -> None:
    for folder in ("old", "new"):
        for n in range(objects.PACK_FROM):
            note_only(store, add(f"{folder}/{folder}{n}.md"))
        assert store.save().commits
    with opened(locate(store.root)) as repo:
        draft = Draft(repo)
        tree = draft.tree_of(ObjectID(git(store.root, "rev-parse", "HEAD").encode()))
        assert len(repo.object_store.packs) == 2
        git(store.root, "gc", "-q", "--prune=now")
        assert draft.lookup(tree, b"old/old3.md")
        assert len(list((store.root / ".git/objects/pack").glob("*.pack"))) == 1
