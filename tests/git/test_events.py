"""Logs on the disk: whole lines from many processes, torn ends, hostile folders, and what is carried into git."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ai_lessons.errors import AiLessonsError
from ai_lessons.git.event_log import FOLDER, PART_BYTES, EventLog
from ai_lessons.git.store import Change, Job, Store
from real_world import Git, put_file

MONTH = "2026-11"

APPENDER = """
import sys
from pathlib import Path
from ai_lessons.git.event_log import EventLog
root, state, who = sys.argv[1:]
log = EventLog(Path(root), Path(state))
sys.stdin.readline()
for n in range(200):
    line = b'{"who":%s,"n":%d,"filler":"%s"}\\n'
    log.append([line % (who.encode(), n, b"x" * (n * 7 % 600)) for n in (n, n + 1000)], "2026-11")
print(log.clone)
"""


@pytest.fixture
def log(git_repo: Path) -> EventLog:
    return EventLog(git_repo, git_repo / ".git/ai-lessons")


def own(git_repo: Path, name: str = "2026-11.jsonl") -> Path:
    return git_repo / ".git/ai-lessons/events" / name


def test_many_processes_append_and_no_line_is_lost_or_mixed(git_repo: Path) -> None:
    state = git_repo / ".git/ai-lessons"
    environ = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    several = [
        subprocess.Popen(
            [sys.executable, "-c", APPENDER, str(git_repo), str(state), str(who)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environ,
        )
        for who in range(6)
    ]  # fmt: skip
    for one in several:
        assert one.stdin is not None
        one.stdin.write("go\n")
        one.stdin.flush()
    clones = {one.communicate()[0] for one in several}
    assert len(clones) == 1
    log = EventLog(git_repo, state)
    rows = [json.loads(line) for file in log.files() for line in file.read().splitlines()]
    assert sorted((row["who"], row["n"]) for row in rows) == sorted(
        (who, n) for who in range(6) for first in range(200) for n in (first, first + 1000)
    )
    assert [file.name for file in log.files()] != ["2026-11.jsonl"], (
        "so much was written that there is a second part"
    )


def test_a_torn_line_does_not_swallow_the_next_one(log: EventLog, git_repo: Path) -> None:
    log.append([b"whole\n"], MONTH)
    own(git_repo).write_bytes(b"whole\nto")
    log.append([b"next\n"], MONTH)
    assert own(git_repo).read_bytes() == b"whole\nto\nnext\n"


def test_every_month_has_a_log_and_a_full_one_a_second_part(log: EventLog, git_repo: Path) -> None:
    log.append([b"x" * PART_BYTES + b"\n"], MONTH)
    log.append([b"two\n"], MONTH)
    log.append([b"three\n"], MONTH)
    log.append([b"four\n"], "2026-12")
    assert own(git_repo, "2026-11.2.jsonl").read_bytes() == b"two\nthree\n"
    assert own(git_repo, "2026-12.jsonl").read_bytes() == b"four\n"


def test_a_folder_that_cannot_be_written_is_an_error_of_ours(log: EventLog, git_repo: Path) -> None:
    (git_repo / ".git/ai-lessons").write_text("in the way")
    with pytest.raises(AiLessonsError, match="cannot be made"):
        log.append([b"x\n"], MONTH)


def test_lines_are_carried_into_git_by_a_commit_and_only_once(
    store: Store, git: Git, git_repo: Path
) -> None:
    log = EventLog(git_repo, store.state_dir)
    log.append([b"one\n"], MONTH)
    store.apply(Job("Record events", log.unshared()))
    assert git(git_repo, "show", f"HEAD:{FOLDER}/{log.clone}/2026-11.jsonl") == "one"
    assert git(git_repo, "status", "--porcelain") == ""
    assert log.unshared() == []
    log.append([b"two\n", b"tor"], MONTH)
    assert log.unshared() == [Change(f"{FOLDER}/{log.clone}/2026-11.jsonl", b"one\ntwo\n")]


def test_few_lines_wait_for_more(log: EventLog) -> None:
    log.append([b"one\n"], MONTH)
    assert log.unshared(at_least=100) == []
    log.append([b"x" * 100 + b"\n"], MONTH)
    assert len(log.unshared(at_least=100)) == 1


def test_lines_that_stand_there_already_are_kept(log: EventLog, git_repo: Path) -> None:
    log.append([b"one\n", b"two\n", b"three\n"], MONTH)
    there = put_file(git_repo / FOLDER / log.clone / "2026-11.jsonl", b"two\nother")
    assert log.unshared() == [
        Change(there.relative_to(git_repo).as_posix(), b"two\nother\none\nthree\n")
    ]


def test_the_logs_of_other_clones_are_read_too(log: EventLog, git_repo: Path) -> None:
    log.append([b"ours\n"], MONTH)
    put_file(git_repo / FOLDER / "0123abcd/2026-10.jsonl", b"theirs\n")
    assert sorted(file.read() for file in log.files()) == [b"ours\n", b"theirs\n"]


def test_links_and_odd_names_are_no_logs(log: EventLog, git_repo: Path, tmp_path: Path) -> None:
    outside = put_file(tmp_path / "outside/2026-10.jsonl", "secret\n").parent
    folder = git_repo / FOLDER / "0123abcd"
    folder.mkdir(parents=True)
    (folder.parent / "abcd0123").symlink_to(outside)
    (folder / "2026-10.jsonl").symlink_to(outside / "2026-10.jsonl")
    (folder / "2026-09.jsonl").mkdir()
    os.mkfifo(folder / "2026-08.jsonl")
    (folder / "notes.jsonl").write_text("no month\n")
    (folder.parent / "UPPER").mkdir()
    assert log.files() == []
    put_file(outside / "0123abcd/2026-10.jsonl", "secret\n")
    shutil.rmtree(git_repo / FOLDER)
    (git_repo / FOLDER).symlink_to(outside)
    assert log.files() == []


def test_a_clone_keeps_its_name_and_a_damaged_one_is_made_anew(
    log: EventLog, git_repo: Path
) -> None:
    name = log.clone
    assert EventLog(git_repo, git_repo / ".git/ai-lessons").clone == name
    own(git_repo, "clone").write_text("../../evil\n")
    assert log.clone != "../../evil"
    assert log.clone.isalnum()
