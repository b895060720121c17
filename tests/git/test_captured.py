from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from ai_lessons.errors import NotFound
from ai_lessons.git import processes


class Enough(BaseException):
    pass


def sh(code: str, **how: object) -> processes.Captured:
    return processes.run_captured(["sh", "-c", code], **how)  # type: ignore[arg-type]


def test_both_streams_and_the_exit_code_come_back() -> None:
    assert sh("echo out; echo err >&2; exit 7") == processes.Captured(
        7, timed_out=False, stdout="out\n", stderr="err\n"
    )


def test_a_signal_is_told_as_a_shell_tells_it() -> None:
    assert sh("kill -9 $$").code == 137


def test_nothing_can_be_read() -> None:
    assert sh("cat; echo end").stdout == "end\n"


def test_output_that_is_not_utf_8_is_kept() -> None:
    assert sh(r"printf 'a\377b'").stdout == "a\N{REPLACEMENT CHARACTER}b"


@pytest.mark.parametrize("more", [0, 1, 1000, 500_000])
def test_long_output_keeps_its_beginning_and_its_end(more: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "KEPT", 100)
    code = f"import sys; sys.stdout.write('a' * 50 + 'm' * {more} + 'z' * 50)"
    done = processes.run_captured([sys.executable, "-c", code])
    assert done.omitted == more
    assert done.stdout.startswith("a" * 50)
    assert done.stdout.endswith("z" * 50)
    assert len(done.stdout) < 200
    assert (f"{more} bytes left out" in done.stdout) == bool(more)


def test_a_command_that_takes_too_long_is_ended_with_all_it_started(tmp_path: Path) -> None:
    done = sh(f"echo first; (sleep 60; touch {tmp_path}/late) & sleep 60", timeout=2)
    assert (done.code, done.timed_out, done.stdout) == (124, True, "first\n")


def test_the_caller_can_end_it(tmp_path: Path) -> None:
    def look() -> None:
        if (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().strip():
            raise Enough

    with pytest.raises(Enough):
        sh(f"echo $$ > {tmp_path}/pid; sleep 60", interrupted=look)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_what_it_leaves_behind_is_not_waited_for() -> None:
    done = sh("echo here; sleep 60 & exit 3", timeout=30)
    assert (done.code, done.timed_out, done.stdout) == (3, False, "here\n")


def test_a_command_that_closes_its_output_and_goes_on_is_waited_for() -> None:
    assert sh("exec >&- 2>&-; sleep 0.2; exit 5").code == 5


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="nowhere"):
        sh("true", cwd=tmp_path / "nowhere")
    with pytest.raises(NotFound, match="nowhere"):
        processes.run_captured([str(tmp_path / "nowhere")])


def test_our_own_streams_are_not_touched(capfd: pytest.CaptureFixture[str]) -> None:
    sh("echo out; echo err >&2")
    assert capfd.readouterr() == ("", "")
