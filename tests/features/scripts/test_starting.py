import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pexpect
import pytest

from ai_lessons.app.trust import Trust, fingerprint
from ai_lessons.errors import Refused
from ai_lessons.features.scripts import starting
from ai_lessons.features.scripts.starting import command, run_script_file, shebang
from ai_lessons.git import processes
from real_world import ends, instead, put_file, put_program

SOURCE = Path(starting.__file__).parents[3]
RUN = f"""\
import sys
sys.path.insert(0, {str(SOURCE)!r})
from ai_lessons.features.scripts.starting import run_script_file as run
sys.exit(run(sys.argv[1:]))
"""


WAITS = "#!/bin/sh\ntrap 'echo told >out; exit 4' TERM\necho >ready\nwhile :; do sleep 0.05; done\n"
"""A script that says when it is ready, and ends when it is told to."""


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"#!/bin/sh", ["/bin/sh"]),
        (b"#!/usr/bin/env -S python3 -u", ["/usr/bin/env", "-S python3 -u"]),
        (b"#! /bin/sh -e\r", ["/bin/sh", "-e"]),
        (b"echo hello", []),
        (b"", []),
    ],
)
def test_a_shebang_is_an_interpreter_and_one_argument(line: bytes, words: list[str]) -> None:
    assert shebang(line) == words


def test_a_script_without_the_executable_bit_runs_by_its_shebang(tmp_path: Path) -> None:
    file = put_file(tmp_path / "a", "#!/bin/sh\nexit 7\n")
    assert run_script_file(command(file)) == 7


def test_a_file_that_says_nothing_about_its_interpreter_is_refused(tmp_path: Path) -> None:
    file = put_file(tmp_path / "data", "1 2 3\n")
    with pytest.raises(Refused) as caught:
        command(file)
    assert "shebang" in caught.value.hint


def test_death_by_a_signal_is_128_and_its_number(tmp_path: Path) -> None:
    assert (
        run_script_file(command(put_program(tmp_path / "a", "#!/bin/sh\nkill -KILL $$\n")))
        == 128 + signal.SIGKILL
    )


def test_a_script_that_ignores_the_request_is_killed(tmp_path: Path) -> None:
    file = put_program(
        tmp_path / "a", "#!/bin/sh\ntrap '' TERM\necho $$ >pid\nwhile :; do sleep 1; done\n"
    )
    with instead("ai_lessons.git.processes.GRACE", 0.1):
        assert run_script_file(command(file), cwd=tmp_path, timeout=2) == 124
    assert ends(int((tmp_path / "pid").read_text()))


def test_a_script_that_is_quick_is_not_disturbed_by_its_timeout(tmp_path: Path) -> None:
    assert (
        run_script_file(command(put_program(tmp_path / "a", "#!/bin/sh\nexit 9\n")), timeout=60)
        == 9
    )


def test_a_signal_that_is_sent_to_us_reaches_the_script(tmp_path: Path) -> None:
    file = put_program(tmp_path / "a", WAITS)
    ours = subprocess.Popen([sys.executable, "-c", RUN, str(file)], cwd=tmp_path)
    while not (tmp_path / "ready").exists():
        assert ours.poll() is None
        time.sleep(0.02)
    ours.send_signal(signal.SIGTERM)
    assert ours.wait() == 4
    assert (tmp_path / "out").read_text() == "told\n"


TOLD_AT_ONCE = f"""\
import os, pathlib, signal, subprocess, sys, time
sys.path.insert(0, {str(SOURCE)!r})
from ai_lessons.features.scripts.starting import run_script_file as run

class Told(subprocess.Popen):
    def __init__(self, *arguments, **options):
        if not pathlib.Path(sys.argv[1]).exists():
            os.kill(os.getpid(), signal.SIGTERM)
        super().__init__(*arguments, **options)
        while not pathlib.Path("ready").exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGTERM)

subprocess.Popen = Told
sys.exit(run(sys.argv[1:]))
"""
"""Sends itself a signal while `run` is starting its script: after the start, or before one that fails."""


def test_a_signal_reaches_a_script_that_has_only_just_started(tmp_path: Path) -> None:
    file = put_program(tmp_path / "a", WAITS)
    ended = subprocess.run(
        [sys.executable, "-c", TOLD_AT_ONCE, str(file)], cwd=tmp_path, check=False
    )
    assert ended.returncode == 4
    assert (tmp_path / "out").read_text() == "told\n"


def test_a_signal_is_ours_where_no_script_could_be_started(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", TOLD_AT_ONCE, str(tmp_path / "gone")],
        cwd=tmp_path,
        check=False,
        capture_output=True,
    )
    assert ended.returncode == -signal.SIGTERM


def test_the_script_reads_from_the_terminal_and_gets_ctrl_c(tmp_path: Path) -> None:
    file = put_program(
        tmp_path / "a",
        "#!/bin/sh\ntrap 'echo interrupted; exit 6' INT\nread word\necho got $word\nwhile :; do sleep 0.05; done\n",
    )
    with pexpect.spawn(
        sys.executable, ["-c", RUN, str(file)], encoding="utf-8", timeout=180
    ) as terminal:
        terminal.sendline("hello")
        terminal.expect("got hello")
        terminal.sendintr()
        terminal.expect("interrupted")
        terminal.expect(pexpect.EOF)
        terminal.wait()
        assert terminal.exitstatus == 6


def test_ctrl_z_stops_the_script_and_us_and_both_go_on(tmp_path: Path) -> None:
    file = put_program(tmp_path / "a", "#!/bin/sh\necho ready\nread word\necho got $word\nexit 8\n")
    with pexpect.spawn(
        "bash", ["--norc", "--noprofile", "-i"], encoding="utf-8", timeout=180, cwd=str(tmp_path)
    ) as shell:
        (tmp_path / "run.py").write_text(RUN)
        shell.sendline(f"{sys.executable} run.py {file}")
        shell.expect("ready")
        for _ in range(
            6
        ):  # pressed while the terminal is handed over, it is undone at once: a person presses again
            shell.sendcontrol("z")
            if shell.expect(["Stopped", pexpect.TIMEOUT], timeout=3) == 0:
                break
        shell.sendline("fg")
        shell.expect("run.py")
        shell.sendline("again")
        shell.expect("got again")
        shell.sendline("echo code=$?")
        shell.expect("code=8")
        shell.sendline("exit")
        shell.expect(pexpect.EOF)


FILE = "trusted-scripts.jsonl"


def test_the_list_is_for_its_owner_only_and_names_no_text_twice(tmp_path: Path) -> None:
    for _ in range(2):
        Trust(tmp_path / "deep" / "state").add("a", b"x")
    file = tmp_path / "deep" / "state" / FILE
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert len(file.read_text().splitlines()) == 1


def test_a_damaged_line_trusts_nothing_and_swallows_nothing(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(
        '[]\n{"script": 7}\nnot json\n{"script": "' + fingerprint(b"cut")[:30]
    )
    Trust(tmp_path).add("a", b"new")
    assert Trust(tmp_path).knows(b"new")
    assert not Trust(tmp_path).knows(b"cut")


def test_two_processes_add_at_the_same_time_and_none_is_lost(tmp_path: Path) -> None:
    code = (
        f"import sys; sys.path[:] = {sys.path!r}\n"
        "from pathlib import Path; from ai_lessons.app.trust import Trust\n"
        "for n in range(100): Trust(Path(sys.argv[1])).add(f'{sys.argv[2]}{n}', f'{sys.argv[2]}{n}'.encode())"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path), name]) for name in ("a", "b")
    ]
    assert [process.wait() for process in running] == [0, 0]
    assert all(Trust(tmp_path).knows(f"{name}{n}".encode()) for name in "ab" for n in range(100))


class Enough(BaseException):
    pass


def sh(code: str, **how: object) -> processes.Captured:
    return processes.run_captured(["sh", "-c", code], **how)  # type: ignore[arg-type]


@pytest.mark.parametrize("more", [0, 1, 1000, 500_000])
def test_long_output_keeps_its_beginning_and_its_end(more: int) -> None:
    half = processes.KEPT // 2
    code = f"import sys; sys.stdout.write('a' * {half} + 'm' * {more} + 'z' * {half})"
    done = processes.run_captured([sys.executable, "-c", code])
    assert done.omitted == more
    assert done.stdout.startswith("a" * half)
    assert done.stdout.endswith("z" * half)
    assert len(done.stdout) < processes.KEPT + 100
    assert (f"{more} bytes left out" in done.stdout) == bool(more)


def test_the_caller_can_end_it(tmp_path: Path) -> None:
    def look() -> None:
        if (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().strip():
            raise Enough

    with pytest.raises(Enough):
        sh(f"echo $$ > {tmp_path}/pid; sleep 60", interrupted=look)
    assert ends(int((tmp_path / "pid").read_text()))


def test_what_it_leaves_behind_is_not_waited_for() -> None:
    done = sh("echo here; sleep 60 & exit 3", timeout=30)
    assert (done.code, done.timed_out, done.stdout) == (3, False, "here\n")
