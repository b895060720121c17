#!/usr/bin/env python3
"""Run a command several times and print the median of its CPU time, wall time and peak memory.

Usage: cpu-median.py [-n TIMES] [-w WARM-UPS] COMMAND [ARGUMENT...]

CPU time (user + system, children included) hardly moves when other jobs share the machine; wall time does. The
command's output is dropped, its errors are shown. Exit code: 0, or the command's own if a run fails.
"""

import argparse
import os
import subprocess
import sys
import time
from statistics import median

PER_KILOBYTE = (
    1024 if sys.platform == "darwin" else 1
)  # ru_maxrss: bytes on macOS, kilobytes elsewhere


def run(command: list[str]) -> tuple[float, float, float, int]:
    """CPU seconds, wall seconds, peak megabytes and exit code of one run."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - start
    return (
        usage.ru_utime + usage.ru_stime,
        wall,
        usage.ru_maxrss / PER_KILOBYTE / 1024,
        process.returncode,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="median CPU time of a command")
    parser.add_argument("-n", type=int, default=5, help="measured runs (default 5)")
    parser.add_argument(
        "-w", type=int, default=1, help="runs before that are not counted (default 1)"
    )
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if not options.command or options.n < 1:
        parser.error("give a command, and at least one run")
    rows = []
    for turn in range(options.w + options.n):
        *figures, code = run(options.command)
        if code:
            print(f"cpu-median: run {turn + 1} left with {code}", file=sys.stderr)
            return code if code > 0 else 128 - code
        if turn >= options.w:
            rows.append(figures)
    for name, unit, values in zip(
        ("cpu", "wall", "peak"), ("s", "s", "MB"), zip(*rows, strict=True), strict=True
    ):
        print(
            f"{name:5}{median(values):9.3f} {unit:3} (lowest {min(values):.3f}, highest {max(values):.3f})"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
