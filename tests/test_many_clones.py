"""Four clones edit the same entry, list and log at once: the bench of it, small, with its bars."""

import os
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).parents[1]


def test_four_clones_share_rounds_of_edits_of_the_same_entry_and_nothing_is_lost(
    tmp_path: Path,
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench.sync", "--rounds", "2", "--check", "--work", str(tmp_path)],
        capture_output=True, text=True, check=False, cwd=TOP, env={**os.environ, "GIT_CONFIG_NOSYSTEM": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "5 of 5 bars held" in done.stdout
    assert (tmp_path / "clone3/shop/lessons/2026-11/clone-0-2.md").exists()
