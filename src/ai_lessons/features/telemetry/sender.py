"""The process that sends what calls noted: `python -m …sender FOLDER SECONDS`.

It waits so long for more, sends all in one message, and ends. What no collector takes stays for the
next one. Where it need not wait, it sends beside one that does.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ai_lessons import settings
from ai_lessons.app.daemon_client import claimed
from ai_lessons.features.telemetry.records import LOCK, NEW, SENDING, TURN

if TYPE_CHECKING:
    from collections.abc import Iterator

# Seconds after which it ends, whatever a collector does; the packages themselves give up after 10
LONGEST = 60
# Seconds after which lines for a destination that is no longer stated are removed: a week
FORGOTTEN = 7 * 24 * 3600


def main() -> None:
    """Wait for more, unless another sender does, and send what is there."""
    folder, seconds = Path(sys.argv[1]), float(sys.argv[2])
    os.umask(0o077)
    began = time.time()
    if seconds:
        with claimed(folder / LOCK) as free:
            if not free:
                return
            time.sleep(seconds)
    # a collector that lets a byte through now and then
    signal.alarm(LONGEST)
    with open(folder / TURN, "a", encoding="ascii") as turn:
        # one after the other, so that no line is sent twice
        fcntl.flock(turn, fcntl.LOCK_EX)
        forget(folder)
        send(folder, began)


def forget(folder: Path) -> None:
    """Remove what waits for other destinations, and has for long."""
    for file in folder.parent.glob("*/*.jsonl"):
        with suppress(OSError):
            if file.parent != folder and time.time() > file.stat().st_mtime + FORGOTTEN:
                file.unlink()


def send(folder: Path, began: float) -> None:
    """Send what an earlier sender left, then what came since this one `began`.

    Where the configuration says `offline`, which no call reads for it, all is removed.
    """
    from ai_lessons.features.telemetry import metrics

    if settings.load(os.environ, Path("/")).offline:
        for file in folder.glob("*.jsonl"):
            file.unlink()
        return

    for _ in range(2):
        batch = _batch(folder)
        if batch is None:
            return
        since = min(began, batch.stat().st_mtime)
        if not metrics.export(rows(batch), since):
            return
        batch.unlink()


def _batch(folder: Path) -> Path | None:
    """The file of lines that is to be sent; None where there are none."""
    batch = folder / SENDING
    if batch.exists():
        return batch
    with suppress(FileNotFoundError):
        os.replace(folder / NEW, batch)
        # who opened it a moment ago is still writing
        time.sleep(0.05)
        return batch
    return None


def rows(batch: Path) -> Iterator[tuple[str, float, dict[str, Any]]]:
    """What calls noted. A line that a full disk cut off is left out."""
    with batch.open("rb") as lines:
        for line in lines:
            with suppress(ValueError, TypeError):
                operation, seconds, figures = json.loads(line)
                yield str(operation), float(seconds), dict(figures)


if __name__ == "__main__":
    main()
