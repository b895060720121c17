import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.app import entries, lessons, validation
from ai_lessons.errors import InvalidEntry, NotFound
from ai_lessons.features.transfer import jobs
from ai_lessons.features.transfer.lesson_log import read_log
from app.world import World, listed_lessons

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
    return sorted((x.project, x.stated.from_, x.status, x.stated.pattern) for x in entries)


def test_the_latest_entry_of_an_id_wins_and_deletions_come_as_wrong(
    world: World, log: Path
) -> None:
    done = jobs.import_files(world.library, [log], "lessons-jsonl")
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
    kept = entries.show(world.library, stated.handle).frontmatter
    assert (kept["imported"], kept["confidence"]) == (
        {"from": "user", "confidence": "high"},
        "medium",
    )
    wrong = listed_lessons(world.library, scope="tmux", every=True).entries[0]
    assert entries.show(world.library, wrong.handle).frontmatter["reason"] == "too specific"
    assert wrong.path.startswith("tmux/lessons/2024-02/")
    assert world.commits()[0] == "Import 2 entries from lessons.jsonl"
    assert validation.validate(world.library).problems == ()


def test_a_log_that_has_grown_brings_only_what_is_new(world: World, log: Path) -> None:
    jobs.import_files(world.library, [log], "lessons-jsonl")
    with log.open("a") as file:
        file.write(row(3))
        file.write('{"id":"001","scope":"global","because":"said twice"}\n')
    done = jobs.import_files(world.library, [log], "lessons-jsonl")
    assert [one.title for one in done.written] == ["w3: d"]
    assert done.unchanged == 1 + 1
    lessons.wrong(world.library, done.written[0].handle, "changed", by="user")
    jobs.import_files(world.library, [log], "lessons-jsonl")
    assert entries.show(world.library, done.written[0].handle).frontmatter["status"] == "wrong", (
        "learned here"
    )


def test_two_clones_give_a_lesson_the_same_id_and_two_logs_do_not(
    world: World, log: Path, tmp_path: Path
) -> None:
    one = {x.id for x in jobs.import_files(world.library, [log], "lessons-jsonl").written}
    other = tmp_path / "other.jsonl"
    other.write_text(row(1, scope="global"))
    assert (
        not {x.id for x in jobs.import_files(world.library, [other], "lessons-jsonl").written} & one
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
    done = jobs.import_files(world.library, [log], "lessons-jsonl")
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
    jobs.import_files(world.library, [log], "lessons-jsonl")
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
        jobs.import_files(world.library, [log], "lessons-jsonl")
    log.write_text("")
    assert jobs.import_files(world.library, [log], "lessons-jsonl").written == ()
    with pytest.raises(NotFound):
        jobs.import_files(world.library, [log.with_name("gone.jsonl")], "lessons-jsonl")


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
