"""Kill -9 and Ctrl-C in the middle of writing commands, a few of each; `python -m bench.kills` makes hundreds."""

import json
import os
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parents[2]


def test_after_a_kill_at_any_step_the_next_command_finds_all_that_was_accepted(tmp_path: Path) -> None:
    jobs = {"add": 3, "update": 2, "import": 2, "approve": 3, "delete": 2}
    assert after("SIGKILL", tmp_path, jobs) == {job: {"kills": times, "wrong": []} for job, times in jobs.items()}


def test_ctrl_c_at_any_step_leaves_no_lock_and_nothing_half(tmp_path: Path) -> None:
    jobs = {"add": 3, "import": 2, "approve": 3}
    assert after("SIGINT", tmp_path, jobs) == {job: {"kills": times, "wrong": []} for job, times in jobs.items()}


def after(how: str, folder: Path, jobs: dict[str, int]) -> object:
    """What jobs that were ended so many times each left behind."""
    paths = os.pathsep.join((str(SOURCE / "src"), str(SOURCE)))
    done = subprocess.run(
        [sys.executable, "-m", "bench.kills", how, str(folder), *(f"{job}={times}" for job, times in jobs.items())],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])
