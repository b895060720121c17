import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.app import health, lessons, transfer
from ai_lessons.app.lessons import Targets, addition, target_of
from ai_lessons.app.workspace import Library
from ai_lessons.connectors.importers import read_log
from ai_lessons.errors import Conflict, InvalidEntry, NotFound, Refused, StorageFailed, UsageError
from ai_lessons.model.entries import EntrySummary, Kind
from ai_lessons.model.lessons import parse
from app.world import LESSON, World, lesson, listed_lessons
from real_world import put_file

SEED = """\
{"id":"001","scope":"global","from":"user","status":"active","created":"2024-02-10","when":"multiple approaches","action":"do","do":"pick minimal","because":"user preference"}
{"id":"002","scope":"tmux","from":"ai","status":"active","created":"2024-02-10","when":"editing tmux.conf","action":"do","do":"read first","because":"avoid wrong assumptions"}
{"id":"002","scope":"tmux","from":"ai","status":"deleted","updated":"2024-02-11","reason":"too specific"}
"""  # noqa: E501  # the lines of the format as it is documented


def row(number: int, **more: Any) -> str:
    entry = {
        "id": f"{number:03}",
        "scope": "tmux",
        "from": "ai",
        "status": "active",
        "created": "2024-02-10",
    }
    return (
        json.dumps(entry | {"when": f"w{number}", "action": "do", "do": "d", "because": "b"} | more)
        + "\n"
    )


@pytest.fixture
def log(tmp_path: Path) -> Path:
    file = tmp_path / "lessons.jsonl"
    file.write_text(SEED)
    return file


def listed(world: World) -> list[tuple[str, str, str, str]]:
    entries = listed_lessons(world.library, every=True).entries
    return sorted((x.project, x.from_, x.status, x.pattern) for x in entries)


def test_the_latest_entry_of_an_id_wins_and_deletions_come_as_wrong(
    world: World, log: Path
) -> None:
    done = transfer.import_files(world.library, [log], "lessons-jsonl")
    assert (len(done.written), done.unchanged, done.skipped) == (2, 0, ())
    assert listed(world) == [
        (
            "global",
            "ai",
            "active",
            "WHEN multiple approaches -> DO pick minimal -> BECAUSE user preference",
        ),
        (
            "tmux",
            "ai",
            "wrong",
            "WHEN editing tmux.conf -> DO read first -> BECAUSE avoid wrong assumptions",
        ),
    ]
    stated = listed_lessons(world.library, scope="global", every=True).entries[0]
    kept = lessons.show(world.library, stated.handle).frontmatter
    assert (kept["imported"], kept["confidence"]) == (
        {"from": "user", "confidence": "high"},
        "medium",
    )
    wrong = listed_lessons(world.library, scope="tmux", every=True).entries[0]
    assert lessons.show(world.library, wrong.handle).frontmatter["reason"] == "too specific"
    assert wrong.path.startswith("tmux/lessons/2024-02/")
    assert world.commits()[0] == "Import 2 entries from lessons.jsonl"
    assert health.validate(world.library).problems == ()


def test_a_log_that_has_grown_brings_only_what_is_new(world: World, log: Path) -> None:
    transfer.import_files(world.library, [log], "lessons-jsonl")
    with log.open("a") as file:
        file.write(row(3))
        file.write('{"id":"001","scope":"global","because":"said twice"}\n')
    done = transfer.import_files(world.library, [log], "lessons-jsonl")
    assert [one.title for one in done.written] == ["w3: d"]
    assert done.unchanged == 1 + 1
    lessons.wrong(world.library, done.written[0].handle, "changed", by="user")
    transfer.import_files(world.library, [log], "lessons-jsonl")
    assert lessons.show(world.library, done.written[0].handle).frontmatter["status"] == "wrong", (
        "learned here"
    )


def test_two_clones_give_a_lesson_the_same_id_and_two_logs_do_not(
    world: World, log: Path, tmp_path: Path
) -> None:
    one = {x.id for x in transfer.import_files(world.library, [log], "lessons-jsonl").written}
    other = tmp_path / "other.jsonl"
    other.write_text(row(1, scope="global"))
    assert (
        not {x.id for x in transfer.import_files(world.library, [other], "lessons-jsonl").written}
        & one
    )
    assert {x.id for x in listed_lessons(world.library, every=True).entries} >= one


def test_damaged_lines_are_skipped_and_counted(world: World, log: Path) -> None:
    damage = [
        "{half", "[1]", "null", '{"scope":"tmux"}', '{"id":"9","status":"deleted"}', row(4, created="soon").strip(),
    ]  # fmt: skip
    damage += [
        row(5, scope="../out").strip(),
        row(6, status="maybe").strip(),
        row(7, because="").strip(),
    ]
    log.write_bytes(
        b"\xef\xbb\xbf" + SEED.encode() + b"\n" + "\n".join(damage).encode() + b"\n\xff\xfe\n"
    )
    done = transfer.import_files(world.library, [log], "lessons-jsonl")
    assert len(done.written) == 2
    assert [place.rpartition(":")[2] for place, _ in done.skipped] == [
        "5", "6", "7", "8", "14", "9", "10", "11", "12", "13",
    ]  # fmt: skip
    reasons = [reason for _, reason in done.skipped]
    assert reasons[:5] == ["no JSON object with an id"] * 5
    assert reasons[5].startswith("the pattern has no WHEN")
    assert reasons[6] == "created 'soon' is not a date"


def test_negative_promoted_and_one_text_patterns_are_understood(world: World, log: Path) -> None:
    log.write_text(
        row(1, action="dont")
        + row(2, status="promoted", promoted_to="skill/x", reason="good")
        + json.dumps(
            {
                "id": 3,
                "created": "2024-02-10T10:00:00+02:00",
                "pattern": "WHEN a -> DON'T b -> BECAUSE c",
            }
        )
    )
    transfer.import_files(world.library, [log], "lessons-jsonl")
    assert listed(world) == [
        ("global", "ai", "active", "WHEN a -> DO NOT b -> BECAUSE c"),
        ("tmux", "ai", "active", "WHEN w1 -> DO NOT d -> BECAUSE b"),
        ("tmux", "ai", "promoted", "WHEN w2 -> DO d -> BECAUSE b"),
    ]


def test_a_file_without_any_lesson_is_an_error_and_an_empty_one_is_none(
    world: World, log: Path
) -> None:
    log.write_text("# not a log\n")
    with pytest.raises(InvalidEntry, match=r"lessons.jsonl:1: no JSON object"):
        transfer.import_files(world.library, [log], "lessons-jsonl")
    log.write_text("")
    assert transfer.import_files(world.library, [log], "lessons-jsonl").written == ()
    with pytest.raises(NotFound):
        transfer.import_files(world.library, [log.with_name("gone.jsonl")], "lessons-jsonl")


@given(
    st.lists(
        st.tuples(
            st.integers(0, 3), st.sampled_from(["when", "do", "status"]), st.text(max_size=5)
        ),
        max_size=12,
    )
)
def test_no_log_is_too_strange(said: list[tuple[int, str, str]]) -> None:
    text = "".join(
        json.dumps({"id": str(number), key: value}) + "\n" for number, key, value in said
    )
    found = read_log(text, "l.jsonl")
    assert len(found.items) + len(found.damaged) == len({number for number, _, _ in said})


READ_FIRST = parse("WHEN editing any config -> DO read first -> BECAUSE understand structure")
SHOW_DIFF = parse(
    "WHEN config syntax error -> DO show diff -> BECAUSE user needs to see what changed"
)
LIGHT = EntrySummary(
    LESSON, "L-8F3K2A", Kind.LESSON, "A title", "global", (), (), "x.md", pattern=str(READ_FIRST)
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
        lessons.promote_lesson(world.library, handle, "skill/config-edit", targets)
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
        assert (
            lessons.promote_lesson(world.library, added.handle, target, targets).change
            == "promoted"
        )
    assert file.read_text() == line
    matter = lessons.show(world.library, added.handle).frontmatter
    assert (matter["status"], matter["promoted_to"]) == ("promoted", ["tool/tmux", "skill/tmux"])
    assert health.validate(world.library).problems == ()
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
    lessons.promote_lesson(
        world.library, lessons.add(world.library, READ_FIRST).handle, "tool/tmux", targets
    )
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
        lessons.promote_lesson(world.library, handle, "skill/tmux", targets)
    assert os.listdir(tmp_path / "elsewhere") == []
    assert listed_lessons(world.library).total == 1


def test_nothing_is_marked_where_the_target_cannot_be_written(
    world: World, targets: Targets
) -> None:
    handle = lessons.add(world.library, READ_FIRST).handle
    file = put_file(targets.tools / "tmux.md", b"\xff\xfe")
    with pytest.raises(InvalidEntry):
        lessons.promote_lesson(world.library, handle, "tool/tmux", targets)
    assert file.read_bytes() == b"\xff\xfe"
    file.unlink()
    targets.tools.rmdir()
    put_file(targets.tools, "a file, not a folder")
    with pytest.raises((StorageFailed, Conflict)):
        lessons.promote_lesson(world.library, handle, "tool/tmux", targets)
    assert listed_lessons(world.library).total == 1


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
