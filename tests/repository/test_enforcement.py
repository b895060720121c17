from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.errors import AiLessonsError, StorageFailed
from ai_lessons.repository import enforcement
from ai_lessons.repository.enforcement import FILE_BYTES, Enforced, append, append_if_possible, read_log

if TYPE_CHECKING:
    from pathlib import Path


def row(number: int = 0, title: str = "A title", **more: Any) -> Enforced:
    at = f"2026-11-22T05:00:{number % 60:02}Z"
    policy = "governance.outbound_policy"
    return Enforced(at, "refused", "enterprise:acme", policy, "block_all", f"E{number}", title, "x", "user", **more)


def log_of(state: Path) -> Path:
    return state / "enforcement" / "log.jsonl"


def test_what_was_decided_is_read_back_newest_first(tmp_path: Path) -> None:
    assert read_log(tmp_path) == ([], 0)
    append(tmp_path, [])
    assert not log_of(tmp_path).exists()
    rows = [row(n, by="Ada <ada@example.com>", agent="a", session="s", commit="c") for n in range(3)]
    append(tmp_path, rows[:2])
    append(tmp_path, rows[2:])
    assert read_log(tmp_path) == (list(reversed(rows)), 0)
    assert log_of(tmp_path).stat().st_mode & 0o077 == 0


@given(st.text() | st.sampled_from(["a\nb", '","outcome":"allowed', "\x1b[2J\u2028\0", "\ud800", "{" * 50]))
def test_a_title_can_break_no_line_and_pass_for_no_other_field(title: str) -> None:
    line = enforcement._line(row(title=title))
    assert line.count(b"\n") == 1
    found = enforcement._row(line)
    assert found is not None
    assert found.outcome == "refused"
    assert found.title == "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in title)[:500]


@given(st.binary() | st.sampled_from([b"[" * 100_000, b"{}", b"[]", b'{"at":1,"outcome":[]}', b'{"at":"x"}', b"\xff"]))
def test_a_line_that_is_none_of_ours_is_passed_over(line: bytes) -> None:
    assert enforcement._row(line) is None or line.startswith(b"{")


def test_a_line_that_was_cut_off_swallows_no_other(tmp_path: Path) -> None:
    append(tmp_path, [row(1)])
    log = log_of(tmp_path)
    log.write_bytes(log.read_bytes() + b'{"at": "2026-11-2')
    append(tmp_path, [row(2)])
    assert read_log(tmp_path) == ([row(2), row(1)], 1)


def test_the_log_does_not_grow_for_ever_and_keeps_the_newest(tmp_path: Path) -> None:
    title = "x" * 400
    chunk, number = 200, 0
    while not (tmp_path / "enforcement" / "log.1.jsonl").exists() or number < 8000:
        append(tmp_path, [row(number + n, title) for n in range(chunk)])
        number += chunk
    sizes = [file.stat().st_size for file in (tmp_path / "enforcement").glob("log*.jsonl")]
    assert len(sizes) == 2
    assert max(sizes) <= FILE_BYTES
    kept, _ = read_log(tmp_path)
    assert [one.entry for one in kept] == [f"E{number - 1 - n}" for n in range(len(kept))]
    assert chunk < len(kept) < number


def test_ten_processes_lose_no_line(tmp_path: Path) -> None:
    program = (
        "import sys, pathlib\n"
        "from ai_lessons.repository.enforcement import Enforced, append\n"
        "state, me = pathlib.Path(sys.argv[1]), sys.argv[2]\n"
        "for n in range(30):\n"
        "    append(state, [Enforced(f'2026-11-22T05:00:{n:02}Z', 'refused', 'e', 'p', 'v', f'{me}-{n}', 't' * 300,\n"
        "                            'project', 'user')])\n"
    )
    started = [subprocess.Popen([sys.executable, "-c", program, str(tmp_path), str(n)]) for n in range(10)]
    assert [one.wait() for one in started] == [0] * 10
    found, damaged = read_log(tmp_path)
    assert damaged == 0
    assert sorted(one.entry for one in found) == sorted(f"{me}-{n}" for me in range(10) for n in range(30))
    for me in range(10):
        mine = [one.at for one in found if one.entry.startswith(f"{me}-")]
        assert mine == sorted(mine, reverse=True)


def test_a_log_in_the_way_is_no_way_out_of_the_folder(tmp_path: Path) -> None:
    log_of(tmp_path).parent.mkdir()
    outside = tmp_path / "precious"
    outside.write_text("mine")
    log_of(tmp_path).symlink_to(outside)
    with pytest.raises(AiLessonsError):
        append(tmp_path, [row()])
    assert outside.read_text() == "mine"


@pytest.mark.skipif(os.geteuid() == 0, reason="the administrator writes everywhere")
def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(StorageFailed):
        append(tmp_path, [row()])
    tmp_path.chmod(0o700)


def test_a_refusal_stands_even_where_it_cannot_be_noted(tmp_path: Path) -> None:
    (tmp_path / "enforcement").write_text("a file in the way")
    assert "enforcement" in append_if_possible(tmp_path, [row()])
    assert append_if_possible(tmp_path / "other", [row()]) == ""
