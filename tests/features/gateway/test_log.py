"""Who asked what is kept: a file a day, for so many days."""

import logging
import os
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ai_lessons.errors import StorageFailed
from ai_lessons.features.gateway.log import CallLog
from real_world import put_file

START = datetime(2026, 11, 29, 23, 59, 30, tzinfo=UTC)


class Clock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now


def test_each_call_is_a_line_in_the_file_of_its_day_for_the_account_alone(tmp_path: Path) -> None:
    clock = Clock()
    log = CallLog(tmp_path / "calls", 30, clock)
    log.open()
    log.note("ann@acme.example", "search", 0)
    clock.now += timedelta(minutes=1)
    log.note("bo@acme.example", "add_lesson", 4)
    first, second = sorted((tmp_path / "calls").iterdir())
    assert (first.name, second.name) == ("2026-11-29.log", "2026-11-30.log")
    assert first.read_text() == "2026-11-29T23:59:30Z ann@acme.example search 0\n"
    assert second.read_text() == "2026-11-30T00:00:30Z bo@acme.example add_lesson 4\n"
    assert {file.stat().st_mode & 0o777 for file in (first, second)} == {0o600}
    assert first.parent.stat().st_mode & 0o777 == 0o700


def test_files_older_than_the_days_are_removed_and_no_other_file(tmp_path: Path) -> None:
    clock = Clock()
    for name in ("2026-10-30.log", "2026-10-31.log", "notes.log", "2026-01-01.txt"):
        put_file(tmp_path / name, "x")
    log = CallLog(tmp_path, 30, clock)
    log.open()
    assert {file.name for file in tmp_path.iterdir()} == {
        "2026-10-31.log", "2026-11-29.log", "notes.log", "2026-01-01.txt",
    }  # fmt: skip
    # a server that runs on removes them, too
    clock.now += timedelta(days=1)
    log.note("ann@acme.example", "search", 0)
    assert not (tmp_path / "2026-10-31.log").exists()


def test_a_log_that_cannot_be_written_stops_the_start_and_no_call(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    put_file(tmp_path / "calls", "in the way")
    log = CallLog(tmp_path / "calls", 30, Clock())
    with pytest.raises(StorageFailed, match="calls"):
        log.open()
    with caplog.at_level(logging.ERROR):
        log.note("ann@acme.example", "search", 0)
    assert "ann@acme.example search 0" in caplog.text


def test_lines_of_many_writers_do_not_mix(tmp_path: Path) -> None:
    def write(number: int) -> None:
        log = CallLog(tmp_path, 30, Clock())
        for _ in range(50):
            log.note(f"{number}@acme.example", "search", number)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = (tmp_path / "2026-11-29.log").read_text().splitlines()
    assert len(lines) == 8 * 50
    assert {line.partition(" ")[2] for line in lines} == {
        f"{number}@acme.example search {number}" for number in range(8)
    }
    assert os.listdir(tmp_path) == ["2026-11-29.log"]
