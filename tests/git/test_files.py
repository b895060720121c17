"""Files below one folder: read, written and removed without ever following a link out of it."""

import os
import stat
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.errors import Conflict, InvalidEntry, NotFound, Refused, StorageFailed
from ai_lessons.git.files import Staging, inside, read_file, remove_file, status_of, write_file
from ai_lessons.git.worktree import walk
from real_world import failing, instead, put_file


def names(root: Path, skipped: list[str] | None = None) -> list[str]:
    return sorted(
        f"{folder}/{row[0]}".lstrip("/") for folder, rows in walk(root, skipped) for row in rows
    )


def test_a_walk_finds_plain_files_and_nothing_else(tmp_path: Path) -> None:
    for path in (
        "a.md",
        "p/lessons/b.md",
        ".hidden.md",
        ".git/HEAD",
        "p/.secret/c.md",
        "sub/.git/HEAD",
        "sub/d.md",
    ):
        put_file(tmp_path / path, "x")
    (tmp_path / "link.md").symlink_to(tmp_path / "a.md")
    (tmp_path / "linked").symlink_to(tmp_path / "p")
    os.mkfifo(tmp_path / "pipe.md")
    assert names(tmp_path) == ["a.md", "p/lessons/b.md"]


def test_a_walk_names_what_it_cannot_read_and_goes_on(tmp_path: Path, closing: ExitStack) -> None:
    put_file(tmp_path / "a.md", "x")
    put_file(tmp_path / "closed" / "b.md", "x")
    (tmp_path / os.fsdecode(b"\xff\xfe.md")).write_text("x")
    real = os.open

    def guarded(path: str, flags: int) -> int:
        if path.endswith("closed"):
            raise PermissionError(13, "Permission denied")
        return real(path, flags)

    closing.enter_context(instead("os.open", guarded))
    skipped: list[str] = []
    assert names(tmp_path, skipped) == ["a.md"]
    assert sorted(skipped)[1] == "closed: permission denied"
    assert "not UTF-8" in sorted(skipped)[0]


def test_a_folder_that_turns_into_a_link_during_a_walk_is_not_followed(
    tmp_path: Path, closing: ExitStack
) -> None:
    root, elsewhere = tmp_path / "root", tmp_path / "elsewhere"
    put_file(root / "folder/a.md", "x")
    put_file(elsewhere / "b.md", "x")
    real = os.open

    def swapped(path: str, flags: int) -> int:
        if path.endswith("/folder") and not (root / "folder").is_symlink():
            (root / "folder").rename(root / ".moved")
            (root / "folder").symlink_to(elsewhere)
        return real(path, flags)

    closing.enter_context(instead("os.open", swapped))
    skipped: list[str] = []
    assert names(root, skipped) == []
    assert len(skipped) == 1


def test_a_walk_may_begin_at_a_link(tmp_path: Path) -> None:
    put_file(tmp_path / "root/p/a.md", "x")
    (tmp_path / "link").symlink_to(tmp_path / "root")
    assert names(tmp_path / "link") == ["p/a.md"]


@given(st.text(alphabet="ab./\0", max_size=12))
def test_no_accepted_path_leaves_the_root(path: str) -> None:
    try:
        parts = inside(path)
    except Refused:
        return
    assert os.path.normpath(path) == path == "/".join(parts)
    assert ".." not in parts


def test_a_link_on_the_way_is_refused_and_what_it_leads_to_is_untouched(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (outside / "a.md").write_text("secret")
    (root / "lessons").symlink_to(outside)
    (root / "a.md").symlink_to(outside / "a.md")
    for path in ("lessons/a.md", "a.md", "lessons/new/b.md"):
        with pytest.raises(Refused, match="symbolic link"):
            read_file(root, path)
        with pytest.raises(Refused, match="symbolic link"):
            write_file(root, path, b"pwned")
    with pytest.raises(Refused, match="symbolic link"):
        remove_file(root, "lessons/a.md")
    assert os.listdir(outside) == ["a.md"]
    assert (outside / "a.md").read_text() == "secret"
    assert sorted(os.listdir(root)) == ["a.md", "lessons"]


def test_what_is_missing_is_not_found(tmp_path: Path) -> None:
    put_file(tmp_path / "a.md", "x")
    for path in ("b.md", "p/b.md", "a.md/b.md"):
        with pytest.raises(NotFound):
            read_file(tmp_path, path)
    assert status_of(tmp_path, "b.md") is None
    assert not remove_file(tmp_path, "b.md")


def test_what_is_no_file_or_too_large_is_invalid_and_never_blocks(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "folder.md").mkdir()
    (tmp_path / "big.md").write_bytes(b"x" * 101)
    for path in ("pipe.md", "folder.md"):
        with pytest.raises(InvalidEntry, match="not a plain file"):
            read_file(tmp_path, path)
    with pytest.raises(InvalidEntry, match="larger than 100 bytes"):
        read_file(tmp_path, "big.md", 100)
    assert len(read_file(tmp_path, "big.md", 101)[0]) == 101


def test_a_written_file_replaces_the_old_one_in_one_step_and_keeps_its_permissions(
    tmp_path: Path,
) -> None:
    write_file(tmp_path, "p/q/a.sh", b"one", executable=True)
    before = (tmp_path / "p/q/a.sh").stat()
    (tmp_path / "p/q/a.sh").chmod(0o700)
    write_file(tmp_path, "p/q/a.sh", b"two")
    after = (tmp_path / "p/q/a.sh").stat()
    assert (tmp_path / "p/q/a.sh").read_bytes() == b"two"
    assert before.st_ino != after.st_ino
    assert stat.S_IMODE(before.st_mode) & 0o100
    assert stat.S_IMODE(after.st_mode) == 0o700
    write_file(tmp_path, "p/q/a.sh", b"three", executable=False)
    assert not (tmp_path / "p/q/a.sh").stat().st_mode & 0o111
    write_file(tmp_path, "p/q/a.sh", b"four", executable=True)
    assert (tmp_path / "p/q/a.sh").stat().st_mode & 0o111 == 0o100


def test_a_place_that_is_taken_is_a_conflict(tmp_path: Path) -> None:
    put_file(tmp_path / "file", "x")
    (tmp_path / "folder").mkdir()
    with pytest.raises(Conflict, match="one of its folders"):
        write_file(tmp_path, "file/a.md", b"x")
    with pytest.raises(Conflict, match="not a file"):
        write_file(tmp_path, "folder", b"x")


def test_removing_takes_the_folders_that_become_empty_and_no_other(tmp_path: Path) -> None:
    put_file(tmp_path / "p/q/a.md", "x")
    put_file(tmp_path / "p/b.md", "x")
    assert remove_file(tmp_path, "p/q/a.md")
    assert names(tmp_path) == ["p/b.md"]
    assert not (tmp_path / "p/q").exists()


def test_staged_files_are_invisible_until_they_are_published(tmp_path: Path) -> None:
    with Staging(tmp_path) as staging:
        staging.add("p/a.md", b"a")
        staging.add("p/b.md", b"b")
        assert names(tmp_path) == []
        staging.publish()
    assert names(tmp_path) == ["p/a.md", "p/b.md"]
    assert sorted(os.listdir(tmp_path / "p")) == ["a.md", "b.md"]


def test_a_disk_that_fills_up_half_way_leaves_everything_as_it_was(
    tmp_path: Path, closing: ExitStack
) -> None:
    put_file(tmp_path / "p/a.md", "x")
    written = 0

    def small_disk(fd: int, data: bytes) -> None:
        nonlocal written
        written += 1
        if written == 3:
            raise OSError(28, "No space left on device")
        os.write(fd, data)

    closing.enter_context(instead("ai_lessons.git.files.write_all", small_disk))
    with Staging(tmp_path) as staging:
        staging.add("p/a.md", b"new")
        staging.add("new/b.md", b"new")
        with pytest.raises(StorageFailed, match="no space left") as caught:
            staging.add("p/c.md", b"new")
    assert "free some space" in caught.value.hint
    assert [str(p.relative_to(tmp_path)) for p in sorted(tmp_path.rglob("*"))] == ["p", "p/a.md"]
    assert (tmp_path / "p/a.md").read_text() == "x"


def test_short_writes_are_continued(tmp_path: Path) -> None:
    write = os.write
    with instead("os.write", lambda fd, data: write(fd, bytes(data)[:3])):
        write_file(tmp_path, "a.md", b"0123456789")
    assert (tmp_path / "a.md").read_bytes() == b"0123456789"


@pytest.mark.parametrize("code", [13, 30, 24, 5])
def test_what_the_system_says_comes_back_as_our_error(tmp_path: Path, code: int) -> None:
    for act in (lambda: read_file(tmp_path, "a.md"), lambda: write_file(tmp_path, "a.md", b"")):
        refuse = failing("os.open", OSError(code, os.strerror(code)))
        with refuse, pytest.raises(StorageFailed, match=os.strerror(code).lower()):
            act()
