"""The list of the issue: each with the class of the error, a message that names the thing, and a next step."""

import errno
import os
import subprocess
from pathlib import Path

import pytest

from ai_lessons.app import editing, entries, health, resources, search, setup, sharing
from ai_lessons.app.answers import LessonDraft, ResourceDraft
from ai_lessons.app.workspace import Library
from ai_lessons.errors import Conflict, InvalidEntry, NotFound, StorageFailed
from ai_lessons.model.entries import Kind
from app.world import LESSON, World, lesson
from real_world import Git


def leftovers(root: Path) -> list[str]:
    """Every file of the working tree, temporary ones included."""
    return sorted(
        str(file.relative_to(root)) for file in root.rglob("*") if file.is_file() and ".git" not in file.parts
    )


def test_a_repository_without_commits_and_entries_answers_everything(git: Git, tmp_path: Path, world: World) -> None:
    root = tmp_path / "empty"
    git(tmp_path, "init", "-q", str(root))
    with Library(root, world.options) as library:
        assert entries.list_entries(library).entries == ()
        assert entries.tags(library) == entries.versions(library) == entries.projects(library) == ()
        from ai_lessons.app.answers import Query

        assert search.search(library, Query("anything")).notes
        assert health.validate(library).problems == ()
        assert health.stats(library).commits_30_days == 0
        assert setup.reindex(library).entries == 0
        assert tuple(health.stale(library.primary)) == ()
        assert sharing.save(library) == ((), ())
        assert {check.state for check in health.doctor(library)} <= {"ok", "warning"}
        with pytest.raises(NotFound, match="L-8F3K2A"):
            entries.show(library, "L-8F3K2A")
        (root / "note.md").write_text("# Note\n")
        assert entries.log(library, "note.md") == ()
        assert "+# Note" in entries.diff(library, "note.md")
        made = editing.add_lesson(library, LessonDraft("The first"))
        assert made.commit == git(root, "rev-parse", "HEAD")
        assert git(root, "log", "--format=%s") == "Add lesson: The first"
        assert entries.log(library, made.id)[0].commit == made.commit
    assert git(root, "fsck", "--strict", "--no-dangling") == ""


def test_a_file_of_five_megabytes(world: World, tmp_path: Path) -> None:
    text = "# Large\n\n" + "A sentence about limnology. " * 190_000
    (tmp_path / "large.md").write_text(text)
    assert len(text) > 5_000_000
    made = world.bring(tmp_path / "large.md").written[0]
    assert len(entries.show(world.library, made.id).body) == len(text)
    assert health.validate(world.library).problems == ()


def test_a_file_over_the_limit(world: World, tmp_path: Path) -> None:
    (tmp_path / "huge.md").write_bytes(b"x\n" * 5_000_000)
    with pytest.raises(InvalidEntry, match=r"huge\.md.*bytes"):
        world.bring(tmp_path / "huge.md")


def test_a_binary_file_and_invalid_utf8(world: World, tmp_path: Path) -> None:
    (tmp_path / "picture.md").write_bytes(b"\x89PNG\r\n\0\0")
    (tmp_path / "latin.md").write_bytes("# Größe\n\nüber\n".encode("latin-1"))
    for name, reason in (("picture.md", "UTF-8|NUL"), ("latin.md", "UTF-8")):
        with pytest.raises(InvalidEntry, match=reason) as error:
            world.bring(tmp_path / name)
        assert name in error.value.message
    os.mkfifo(tmp_path / "pipe.md")
    with pytest.raises(InvalidEntry, match="not a regular file"):
        world.bring(tmp_path / "pipe.md")
    assert world.commits() == ["first"]


def test_invalid_frontmatter_is_named_when_the_file_is_asked_for(world: World) -> None:
    world.write("p/lessons/bad.md", "---\nid: x\ntitle: [open\n---\n")
    for ref in ("p/lessons/bad.md", str(world.root / "p/lessons/bad.md")):
        with pytest.raises(InvalidEntry, match=r"p/lessons/bad\.md:\d") as error:
            entries.show(world.library, ref)
        assert error.value.hint
        with pytest.raises(InvalidEntry, match=r"bad\.md"):
            editing.update(world.library, ref, title="x")
    assert world.read("p/lessons/bad.md") == "---\nid: x\ntitle: [open\n---\n"


def test_no_space_as_the_system_reports_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    made = world.add("Before", "text")
    write = os.write

    def full(fd: int, data: bytes) -> int:
        if b"phlogiston" in bytes(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(fd, data)

    monkeypatch.setattr("ai_lessons.git.files.os.write", full)
    before = leftovers(world.root)
    with pytest.raises(StorageFailed, match="space") as error:
        world.add("After", "phlogiston")
    assert error.value.hint
    with pytest.raises(StorageFailed, match="space"):
        editing.update(world.library, made.id, content="phlogiston")
    monkeypatch.undo()
    assert leftovers(world.root) == before
    assert entries.show(world.library, made.id).body == "text\n"
    assert health.stats(world.library).pending == 0


def test_a_read_only_repository_can_be_read_and_says_so_when_written(world: World, git: Git, tmp_path: Path) -> None:
    place = tmp_path / "view"
    place.mkdir()
    world.committed("notes/a.md", "# Apples\n\nAbout pomology.\n")
    bound = subprocess.run(["mount", "--bind", str(world.root), str(place)], capture_output=True, check=False)
    if (
        bound.returncode
        or subprocess.run(["mount", "-o", "remount,bind,ro", str(place)], capture_output=True, check=False).returncode
    ):
        subprocess.run(["umount", "-l", str(place)], capture_output=True, check=False)
        pytest.skip("a read-only view cannot be mounted here")
    try:
        with Library(place, world.options) as library:
            assert [summary.title for summary in entries.list_entries(library).entries] == ["Apples"]
            assert entries.show(library, "notes/a.md").body.endswith("pomology.\n")
            with pytest.raises(StorageFailed, match="read-only") as error:
                editing.add_lesson(library, LessonDraft("no"))
            assert error.value.hint
            states = {check.name: check for check in health.doctor(library)}
            assert states["disk"].state == "error"
            assert states["catalog"].state == "warning"
    finally:
        subprocess.run(["umount", "-l", str(place)], check=False)
    assert world.status() == ""


def test_no_git_identity_keeps_the_write_and_names_the_remedy(world: World, git: Git, hermetic: Path) -> None:
    (hermetic / ".gitconfig").write_text("[user]\n\tuseConfigOnly = true\n")
    made = world.add("waits")
    assert made.commit is None
    assert any("who you are" in note or "user.name" in note for note in made.notes), made.notes
    assert world.titles() == ["waits"]
    identity = {check.name: check for check in health.doctor(world.library)}["identity"]
    assert identity.state == "error"
    assert "user.name" in identity.remedy
    git(world.root, "config", "user.name", "Somebody")
    git(world.root, "config", "user.email", "some@example.com")
    second = world.add("second")
    assert second.commit
    assert world.commits() == ["Add lesson: second", "Add lesson: waits", "first"]


def test_a_file_that_somebody_changes_meanwhile_is_not_overwritten(world: World) -> None:
    world.write("p/lessons/a.md", lesson())

    def editor(text: str, _suffix: str) -> str:
        world.write("p/lessons/a.md", lesson(body="Theirs.\n"))
        return text.replace("Seen twice.", "Mine.")

    with pytest.raises(Conflict, match=r"p/lessons/a\.md") as error:
        editing.edit(world.library, LESSON, editor)
    assert error.value.hint
    assert error.value.exit_code == 5
    assert world.read("p/lessons/a.md") == lesson(body="Theirs.\n")


@pytest.mark.parametrize("step", ["reading", "writing"])
def test_an_import_that_is_interrupted_before_it_writes_leaves_nothing(world: World, tmp_path: Path, step: str) -> None:
    folder = _pages(tmp_path)

    def interrupt(what: str, done: int, _total: int) -> None:
        if what == step and done == (7 if step == "reading" else 0):
            raise KeyboardInterrupt

    library = world.fresh(progress=interrupt)
    with pytest.raises(KeyboardInterrupt):
        resources.add_resources(library, ResourceDraft(Kind.DOC, [str(folder)], recursive=True))
    assert leftovers(world.root) == ["README.md"]
    assert world.titles() == []
    assert health.stats(world.library).pending == 0


@pytest.mark.parametrize("at", [3, 15, 25, 39])
def test_ctrl_c_in_the_middle_of_an_import_leaves_all_of_it_or_nothing(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    """The signal comes while the files are written beside their places, or while they are renamed into them."""
    import signal

    folder = _pages(tmp_path)
    rename, write = os.rename, os.write
    calls = 0

    def count(function: object) -> object:
        def call(*args: object, **named: object) -> object:
            nonlocal calls
            calls += 1
            if calls == at:
                os.kill(os.getpid(), signal.SIGINT)
            return function(*args, **named)  # type: ignore[operator]

        return call

    with monkeypatch.context() as patched:
        if at > 20:
            patched.setattr("ai_lessons.git.files.os.rename", count(rename))
            calls = 20
        else:
            patched.setattr("ai_lessons.git.files.os.write", count(write))
        with pytest.raises(KeyboardInterrupt):
            world.bring(folder, recursive=True)
    there = len(world.titles())
    assert there == (20 if at > 20 else 0)
    sharing.save(world.library)
    assert world.status() == ""
    assert world.commits() == (["Add 20 docs", "first"] if there else ["first"])
    assert world.bring(folder, recursive=True).unchanged == there


def _pages(tmp_path: Path) -> Path:
    folder = tmp_path / "pages"
    folder.mkdir()
    for n in range(20):
        (folder / f"{n:02}.md").write_text(f"# Page {n}\n")
    return folder
