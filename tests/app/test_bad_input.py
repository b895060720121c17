"""The list of the issue: each with the class of the error, a message that names the thing, and a next step."""

import subprocess
from pathlib import Path

import pytest

from ai_lessons.app import editing, entries, health, search, setup, sharing
from ai_lessons.app.answers import LessonDraft
from ai_lessons.app.workspace import Library
from ai_lessons.errors import InvalidEntry, NotFound, StorageFailed
from app.world import World
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


def test_invalid_frontmatter_is_named_when_the_file_is_asked_for(world: World) -> None:
    world.write("p/lessons/bad.md", "---\nid: x\ntitle: [open\n---\n")
    for ref in ("p/lessons/bad.md", str(world.root / "p/lessons/bad.md")):
        with pytest.raises(InvalidEntry, match=r"p/lessons/bad\.md:\d") as error:
            entries.show(world.library, ref)
        assert error.value.hint
        with pytest.raises(InvalidEntry, match=r"bad\.md"):
            editing.update(world.library, ref, title="x")
    assert world.read("p/lessons/bad.md") == "---\nid: x\ntitle: [open\n---\n"


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
