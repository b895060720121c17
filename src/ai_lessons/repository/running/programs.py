"""Programs that we start. What we wait for does not outlive its time, and neither does anything that it started.

Each gets a session of its own: no terminal on which anything could ask, and a process group that can be ended whole.
A daemon that left the group, such as the user's own gpg-agent, is not ours to end.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


def run(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    timeout: float,
    cwd: Path | None = None,
    stdin: bytes = b"",
    terminal: bool = False,
) -> subprocess.CompletedProcess[bytes]:
    """Exit code and output of a program; `timeout` in seconds. `terminal`: it stays in our session, and may ask there.

    Raises:
        subprocess.TimeoutExpired: it did not end in time, or something that it started kept its output open. All of
            it is ended. OSError: it could not be started.
    """
    pipe = subprocess.PIPE
    with subprocess.Popen(
        argv, cwd=cwd, env=env, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=not terminal
    ) as process:
        try:
            out, err = process.communicate(stdin, timeout)
        except BaseException:
            # also where the program itself has ended: as long as one of its children lives, the number stays theirs
            if terminal:
                process.terminate()  # git ends its own children when it is asked to
            else:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(argv, process.returncode, out, err)


def leave_running(argv: Sequence[str], *, env: Mapping[str, str], cwd: Path) -> None:
    """Start a program that goes on by itself, without input and output, also after we have ended.

    Raises:
        OSError: it could not be started.
    """
    nothing = subprocess.DEVNULL
    process = subprocess.Popen(
        argv, cwd=cwd, env=env, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True
    )
    threading.Thread(target=process.wait, daemon=True).start()  # or it stays as a zombie until we end
