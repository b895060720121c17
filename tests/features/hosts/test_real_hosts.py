"""Real agent hosts with a played model, where npm has brought them: see `bench/host_session.py`."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from bench.played_hosts import HOSTS

HERE = Path(__file__).parents[3]
INSTALLED = HERE / ".venv-hosts/node_modules/.bin"  # `.ci/run` fills it


@pytest.mark.parametrize("name", HOSTS)
def test_a_real_host_is_held_once_at_its_end_and_then_let_go(name: str, tmp_path: Path) -> None:
    program = shutil.which(name, path=f"{INSTALLED}{os.pathsep}{os.environ['PATH']}")
    node = shutil.which("node")
    if program is None or node is None:
        pytest.skip(
            f"{name} is not installed here: npm install --prefix .venv-hosts PACKAGE, as in .ci/run"
        )
    done = subprocess.run(
        [sys.executable, "-m", "bench.host_session", "--only", "holds", f"--{name}", program, "--check"],
        cwd=HERE, env={**os.environ, "PATH": f"{Path(node).parent}:/usr/bin:/bin", "TMPDIR": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "1 of 1 bars held" in done.stdout, done.stdout[-3_000:] + done.stderr[-3_000:]
