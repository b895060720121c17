"""Kill -9 in the middle of writing commands. A small number of kills; `python -m bench.kills` makes hundreds."""

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
    paths = os.pathsep.join((str(SOURCE / "src"), str(SOURCE)))
    done = subprocess.run(
        [sys.executable, "-m", "bench.kills", "steps", str(tmp_path), f"{job}={kills}"],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert told[job] == {"kills": kills, "wrong": []}
