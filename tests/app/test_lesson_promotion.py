import os
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.app import health, lessons
from ai_lessons.app.lessons import Targets, addition, target_of
from ai_lessons.app.workspace import Library
from ai_lessons.errors import Conflict, InvalidEntry, Refused, StorageFailed, UsageError
from ai_lessons.model.entries import EntrySummary, Kind
from ai_lessons.model.lessons import parse
from app.world import LESSON, World, lesson, listed_lessons
from real_world import put_file

READ_FIRST = parse("WHEN editing any config -> DO read first -> BECAUSE understand structure")
SHOW_DIFF = parse("WHEN config syntax error -> DO show diff -> BECAUSE user needs to see what changed")
LIGHT = EntrySummary(LESSON, "L-8F3K2A", Kind.LESSON, "A title", "global", (), (), "x.md", pattern=str(READ_FIRST))


@pytest.fixture
def targets(tmp_path: Path) -> Targets:
    return Targets(tmp_path / "claude/skills", tmp_path / "claude/tools")


def test_lessons_of_one_skill_stand_below_one_heading(world: World, targets: Targets) -> None:
    for pattern in (READ_FIRST, SHOW_DIFF):
        lessons.promote_lesson(world.library, lessons.add(world.library, pattern).handle, "skill/config-edit", targets)
    text = (targets.skills / "config-edit/SKILL.md").read_text()
    assert text.count("## Lessons") == 1
    assert [row.partition(" <!--")[0] for row in text.splitlines() if row.startswith("- ")] == [
        f"- {READ_FIRST}",
        f"- {SHOW_DIFF}",
    ]


def test_a_second_target_is_noted_beside_the_first(world: World, targets: Targets) -> None:
    handle = lessons.add(world.library, READ_FIRST).handle
    lessons.promote_lesson(world.library, handle, "tool/tmux", targets)
    assert lessons.promote_lesson(world.library, handle, "skill/tmux", targets).change == "promoted"
    assert lessons.show(world.library, handle).frontmatter["promoted_to"] == ["tool/tmux", "skill/tmux"]
    assert health.validate(world.library).problems == ()


def test_an_interrupted_promotion_is_completed_by_the_next(world: World, targets: Targets) -> None:
    added = lessons.add(world.library, READ_FIRST)
    targets.tools.mkdir(parents=True)
    line = f"- {READ_FIRST} <!-- lesson {added.id} -->\n"
    (targets.tools / "tmux.md").write_text(line)
    assert lessons.promote_lesson(world.library, added.handle, "tool/tmux", targets).change == "promoted"
    assert (targets.tools / "tmux.md").read_text() == line
    assert lessons.show(world.library, added.handle).frontmatter["status"] == "promoted"


@pytest.mark.parametrize("old", [b"# Mine\r\n\r\nText.\r\n", b"no line end", b"\xef\xbb\xbf# BOM\n\x0c tail \n\n", b""])
def test_every_byte_that_is_there_stays(world: World, targets: Targets, old: bytes) -> None:
    file = targets.tools / "tmux.md"
    put_file(file, old)
    file.chmod(0o640)
    lessons.promote_lesson(world.library, lessons.add(world.library, READ_FIRST).handle, "tool/tmux", targets)
    new = file.read_bytes()
    assert new.startswith(old)
    assert len(new) > len(old)
    assert file.stat().st_mode & 0o777 == 0o640
    assert (b"\r\n## Lessons\r\n" in new) == (b"\r" in old)
    assert os.listdir(file.parent) == ["tmux.md"]


@given(st.text(st.sampled_from("# Lessons\r\n-x"), max_size=40))
def test_an_addition_is_made_once_whatever_the_text(text: str) -> None:
    once = text + addition(text, LIGHT)
    assert LESSON in once
    assert addition(once, LIGHT) == ""
    row = next(row for row in once.splitlines() if LESSON in row)
    assert row.startswith("- WHEN ")


@pytest.mark.parametrize(
    "name", ["..", ".", "a/b", "../b", "/etc/passwd", ".hidden", "a\\b", "con", "a\x00b", "x" * 300]
)
@pytest.mark.parametrize("kind", ["skill", "tool"])
def test_a_name_never_leads_out_of_its_folder(targets: Targets, kind: str, name: str) -> None:
    with pytest.raises(UsageError):
        target_of(f"{kind}/{name}", targets)


def test_a_link_in_the_way_is_not_followed(world: World, targets: Targets, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    targets.skills.mkdir(parents=True)
    (targets.skills / "tmux").symlink_to(tmp_path / "elsewhere")
    handle = lessons.add(world.library, READ_FIRST).handle
    with pytest.raises(Refused, match="symbolic link"):
        lessons.promote_lesson(world.library, handle, "skill/tmux", targets)
    assert os.listdir(tmp_path / "elsewhere") == []
    assert listed_lessons(world.library).total == 1


def test_a_promoted_lesson_that_turns_out_wrong_is_named_where_it_stands(world: World, targets: Targets) -> None:
    handle = lessons.add(world.library, READ_FIRST).handle
    lessons.promote_lesson(world.library, handle, "tool/tmux", targets)
    done = lessons.wrong(world.library, handle)
    assert done.change == "wrong"
    assert "it still stands in tool/tmux: take it out there by hand" in done.notes


def test_free_text_is_promoted_by_its_title(world: World, targets: Targets) -> None:
    world.write("global/lessons/a.md", lesson())
    lessons.promote_lesson(world.library, "L-8F3K2A", "tool/jira", targets)
    assert "- PUT replaces the workflow <!-- lesson " in (targets.tools / "jira.md").read_text()


def test_nothing_is_marked_where_the_target_cannot_be_written(world: World, targets: Targets) -> None:
    handle = lessons.add(world.library, READ_FIRST).handle
    put_file(targets.tools, "a file, not a folder")
    with pytest.raises((StorageFailed, Conflict)):
        lessons.promote_lesson(world.library, handle, "tool/tmux", targets)
    assert listed_lessons(world.library).total == 1


def test_a_target_that_is_no_text_is_left_alone(world: World, targets: Targets) -> None:
    file = put_file(targets.tools / "tmux.md", b"\xff\xfe")
    handle = lessons.add(world.library, READ_FIRST).handle
    with pytest.raises(InvalidEntry):
        lessons.promote_lesson(world.library, handle, "tool/tmux", targets)
    assert file.read_bytes() == b"\xff\xfe"


def test_several_promotions_at_once_lose_nothing(world: World, targets: Targets) -> None:
    patterns = [parse(f"WHEN case {n} -> DO step {n} -> BECAUSE reason {n}") for n in range(6)]
    added = [lessons.add(world.library, pattern) for pattern in patterns]

    def promote(handle: str) -> None:
        with Library(world.root, world.options) as library:
            lessons.promote_lesson(library, handle, "tool/tmux", targets)

    threads = [threading.Thread(target=promote, args=(one.handle,)) for one in added]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    text = (targets.tools / "tmux.md").read_text()
    assert [text.count(one.id) for one in added] == [1] * 6
    assert listed_lessons(world.library).total == 0
