"""Lessons that are written into skills and tools of the user."""

import os
import re
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.app import editing, entries, lessons, validation
from ai_lessons.app.workspace import Library
from ai_lessons.errors import Conflict, InvalidEntry, Refused, StorageFailed, UsageError
from ai_lessons.features.lesson_program.targets import (
    Targets,
    addition,
    promote,
    target_of,
    targets_of,
)
from ai_lessons.model.entries import EntrySummary, Kind, Stated
from ai_lessons.model.lessons import parse
from ai_lessons.settings import load
from app.world import LESSON, World, lesson, listed_lessons
from real_world import put_file

READ_FIRST = parse("WHEN editing any config -> DO read first -> BECAUSE understand structure")
SHOW_DIFF = parse(
    "WHEN config syntax error -> DO show diff -> BECAUSE user needs to see what changed"
)
KEY = "glpat-" + "x7Kq2mN9vB4tR8wZ1cYp"  # shaped as a token of GitLab
LIGHT = EntrySummary(
    LESSON,
    "L-8F3K2A",
    Kind.LESSON,
    "A title",
    "global",
    (),
    (),
    "x.md",
    stated=Stated(pattern=str(READ_FIRST)),
)


@pytest.fixture
def targets(tmp_path: Path) -> Targets:
    return Targets(tmp_path / "claude/skills", tmp_path / "claude/tools")


def test_lessons_of_one_skill_stand_below_one_heading(world: World, targets: Targets) -> None:
    world.write("global/lessons/a.md", lesson())
    handles = [
        *(lessons.add(world.library, pattern).handle for pattern in (READ_FIRST, SHOW_DIFF)),
        "L-8F3K2A",
    ]
    for handle in handles:
        promote(world.library, handle, "skill/config-edit", targets)
    text = (targets.skills / "config-edit/SKILL.md").read_text()
    assert text.count("## Lessons") == 1
    assert [row.partition(" <!--")[0] for row in text.splitlines() if row.startswith("- ")] == [
        f"- {READ_FIRST}", f"- {SHOW_DIFF}", "- PUT replaces the workflow",
    ]  # fmt: skip


def test_a_second_target_is_noted_beside_the_first_and_an_interrupted_promotion_completed(
    world: World, targets: Targets
) -> None:
    added = lessons.add(world.library, READ_FIRST)
    line = f"- {READ_FIRST} <!-- lesson {added.id} -->\n"
    file = put_file(targets.tools / "tmux.md", line)  # it stands there, and nothing says so yet
    for target in ("tool/tmux", "skill/tmux"):
        assert promote(world.library, added.handle, target, targets).change == "promoted"
    assert file.read_text() == line
    matter = entries.show(world.library, added.handle).frontmatter
    assert (matter["status"], matter["promoted_to"]) == ("promoted", ["tool/tmux", "skill/tmux"])
    assert validation.validate(world.library).problems == ()
    done = lessons.wrong(world.library, added.handle)
    assert done.change == "wrong"
    assert [
        note for note in done.notes if "it still stands in tool/tmux" in note and "by hand" in note
    ]


@pytest.mark.parametrize(
    "old", [b"# Mine\r\n\r\nText.\r\n", b"no line end", b"\xef\xbb\xbf# BOM\n\x0c tail \n\n", b""]
)
def test_every_byte_that_is_there_stays(world: World, targets: Targets, old: bytes) -> None:
    file = targets.tools / "tmux.md"
    put_file(file, old)
    file.chmod(0o640)
    promote(world.library, lessons.add(world.library, READ_FIRST).handle, "tool/tmux", targets)
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


@pytest.mark.parametrize("kind", ["skill", "tool"])
def test_a_name_never_leads_out_of_its_folder(targets: Targets, kind: str) -> None:
    for name in (
        "..",
        ".",
        "a/b",
        "../b",
        "/etc/passwd",
        ".hidden",
        "a\\b",
        "con",
        "a\x00b",
        "x" * 300,
    ):
        with pytest.raises(UsageError):
            target_of(f"{kind}/{name}", targets)


def test_a_link_in_the_way_is_not_followed(world: World, targets: Targets, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    targets.skills.mkdir(parents=True)
    (targets.skills / "tmux").symlink_to(tmp_path / "elsewhere")
    handle = lessons.add(world.library, READ_FIRST).handle
    with pytest.raises(Refused, match="symbolic link"):
        promote(world.library, handle, "skill/tmux", targets)
    assert os.listdir(tmp_path / "elsewhere") == []
    assert listed_lessons(world.library).total == 1


def test_nothing_is_marked_where_the_target_cannot_be_written(
    world: World, targets: Targets
) -> None:
    handle = lessons.add(world.library, READ_FIRST).handle
    file = put_file(targets.tools / "tmux.md", b"\xff\xfe")
    with pytest.raises(InvalidEntry):
        promote(world.library, handle, "tool/tmux", targets)
    assert file.read_bytes() == b"\xff\xfe"
    file.unlink()
    targets.tools.rmdir()
    put_file(targets.tools, "a file, not a folder")
    with pytest.raises((StorageFailed, Conflict)):
        promote(world.library, handle, "tool/tmux", targets)
    assert listed_lessons(world.library).total == 1


def test_several_promotions_at_once_lose_nothing(world: World, targets: Targets) -> None:
    patterns = [parse(f"WHEN case {n} -> DO step {n} -> BECAUSE reason {n}") for n in range(6)]
    added = [lessons.add(world.library, pattern) for pattern in patterns]

    def promote_one(handle: str) -> None:
        with Library(world.root, world.options) as library:
            promote(library, handle, "tool/tmux", targets)

    threads = [threading.Thread(target=promote_one, args=(one.handle,)) for one in added]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    text = (targets.tools / "tmux.md").read_text()
    assert [text.count(one.id) for one in added] == [1] * 6
    assert listed_lessons(world.library).total == 0


def test_what_is_promoted_is_looked_at_again(world: World, tmp_path: Path) -> None:
    world.committed("p/lessons/a.md", lesson(title=f"Log in with {KEY}"))
    targets = Targets(tmp_path / "skills", tmp_path / "tools")
    with pytest.raises(InvalidEntry, match="GitLab") as told:
        promote(world.library, LESSON, "tool/login", targets)
    assert not targets.tools.exists()
    editing.update(
        world.library,
        LESSON,
        allow_secrets=[
            (
                str(re.findall(r"\[([0-9a-f]{12}): REASON\]", told.value.problems[0].message)[0]),
                "revoked",
            )
        ],
    )
    assert promote(world.library, LESSON, "tool/login", targets).change == "promoted"


def test_an_agent_promotes_no_firm_lesson(world: World, targets: Targets) -> None:
    made = lessons.add(world.library, READ_FIRST, by="user")
    with pytest.raises(Refused, match="is firm: a person stated it, and an agent cannot"):
        promote(world.fresh(agent="bot"), made.id, "tool/git", targets)


def test_lessons_are_promoted_into_the_folders_of_claude_code_unless_others_are_named(
    hermetic: Path, tmp_path: Path
) -> None:
    environ = {"HOME": str(hermetic)}
    claude = hermetic / ".claude"
    assert targets_of(load(environ, tmp_path), environ) == (claude / "skills", claude / "rules")
    elsewhere = environ | {"CLAUDE_CONFIG_DIR": "/srv/claude"}
    assert targets_of(load(elsewhere, tmp_path), elsewhere).skills == Path("/srv/claude/skills")
    put_file(hermetic / ".config/ai-lessons/config.toml", 'skills_dir = "skills"\n')
    named = environ | {"AI_LESSONS_TOOLS_DIR": "tools"}
    assert targets_of(load(named, tmp_path), named) == (
        hermetic / ".config/ai-lessons/skills",
        tmp_path / "tools",
    )
