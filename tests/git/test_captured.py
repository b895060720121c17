import os
import sys
from pathlib import Path

import pytest

from ai_lessons.git import processes


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
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_what_it_leaves_behind_is_not_waited_for() -> None:
    done = sh("echo here; sleep 60 & exit 3", timeout=30)
    assert (done.code, done.timed_out, done.stdout) == (3, False, "here\n")
