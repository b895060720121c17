"""Kill -9 and Ctrl-C in the middle of writing commands, a few of each; `python -m bench.kills` makes hundreds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2]


@pytest.mark.parametrize(("job", "kills"), [("add", 7), ("update", 4), ("import", 5), ("approve", 6), ("delete", 4)])
def test_after_a_kill_at_any_step_the_next_command_finds_all_that_was_accepted(
    tmp_path: Path, job: str, kills: int
) -> None:
    assert after("SIGKILL", tmp_path, job, kills) == {"kills": kills, "wrong": []}


@pytest.mark.parametrize(("job", "times"), [("add", 6), ("import", 6), ("approve", 6)])
def test_ctrl_c_at_any_step_leaves_no_lock_and_nothing_half(tmp_path: Path, job: str, times: int) -> None:
    assert after("SIGINT", tmp_path, job, times) == {"kills": times, "wrong": []}


def after(how: str, folder: Path, job: str, times: int) -> object:
    """What a job that was ended so many times left behind."""
    paths = os.pathsep.join((str(SOURCE / "src"), str(SOURCE)))
    done = subprocess.run(
        [sys.executable, "-m", "bench.kills", how, str(folder), f"{job}={times}"],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])[job]
