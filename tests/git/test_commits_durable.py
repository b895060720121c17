"""The order in which a write reaches the disk: what a power cut may take is never what something else points to."""

import os
from collections.abc import Callable

import pytest

from ai_lessons.git.store import Store
from git.steps import add


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch, store: Store) -> list[tuple[str, str]]:
    """What is synced and what is renamed or linked to where, in order, as paths below the repository."""
    made: list[tuple[str, str]] = []
    sync, rename, link = os.fsync, os.rename, os.link

    def short(path: object, folder: int | None = None) -> str:
        whole = os.path.join(os.readlink(f"/proc/self/fd/{folder}") if folder else "", os.fspath(path))  # type: ignore[call-overload]  # str
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


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="names of open files are read from /proc")
def test_objects_are_on_the_disk_before_the_branch_points_to_them(store: Store, calls: list[tuple[str, str]]) -> None:
    assert store.apply(add("p/docs/unversioned/a.md")).commit
    objects = where(calls, "rename", lambda path: path.startswith(".git/objects/"))
    (branch,) = where(calls, "rename", lambda path: path == ".git/refs/heads/main")
    (index,) = where(calls, "rename", lambda path: path == ".git/index")
    assert objects
    assert max(objects) < branch < index
    for moved in objects:
        temporary = calls[moved - 1][1]
        assert ("fsync", temporary) in calls[:moved], f"{calls[moved][1]} was put in place before it was on the disk"
    (lock,) = where(calls, "link", lambda path: path == ".git/refs/heads/main.lock")
    assert ("fsync", calls[lock - 1][1]) in calls[:lock]
    assert calls[lock - 1][0] == "from"


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="names of open files are read from /proc")
def test_a_new_file_and_its_folder_are_on_the_disk_when_the_job_returns(
    store: Store, calls: list[tuple[str, str]]
) -> None:
    store.autocommit = False
    store.apply(add("p/lessons/a.md"))
    (placed,) = where(calls, "rename", lambda path: path == "p/lessons/a.md")
    assert ("fsync", "p/lessons/a.md") in calls[placed:]
    assert ("fsync", "p/lessons") in calls[placed:]


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="names of open files are read from /proc")
def test_what_replaces_a_file_is_on_the_disk_before_it_does(store: Store, calls: list[tuple[str, str]]) -> None:
    store.apply(add("a.md", "old\n"))
    calls.clear()
    store.apply(add("a.md", "new\n"))
    (placed,) = where(calls, "rename", lambda path: path == "a.md")
    assert ("fsync", calls[placed - 1][1]) in calls[:placed]
