#!/usr/bin/env python3
"""Show what PyYAML makes of harmless-looking text, and how deep nesting ends the process.

Usage: yaml-traps.py     needs the package pyyaml; the crash happens in a child process

Exit code: 0 if this PyYAML behaves as the lessons say, 1 if it does not (then correct the lessons).
"""

import subprocess
import sys

import yaml

EXPECTED = {
    "no": False,
    "on": True,
    "1.10": 1.1,
    "12:30": 750,
    "010": 8,
    "2026-11-21": "date",
    "0o10": "0o10",
}
DEEP = 50_000
CRASH = f"import yaml; yaml.load('[' * {DEEP}, Loader=yaml.CSafeLoader)"


def surprises() -> list[str]:
    """Plain words that do not come back as expected."""
    wrong = []
    for text, expected in EXPECTED.items():
        value = yaml.safe_load(text)
        shown = "date" if hasattr(value, "isoformat") else value
        print(f"{text:12} -> {value!r}")
        if shown != expected:
            wrong.append(text)
    twice = yaml.safe_load("approved: no\napproved: yes\n")
    print(f"duplicate keys -> {twice!r}")
    return wrong if twice == {"approved": True} else [*wrong, "duplicate keys"]


def main() -> int:
    wrong = surprises()
    if hasattr(yaml, "CSafeLoader"):
        code = subprocess.run(
            [sys.executable, "-c", CRASH], stderr=subprocess.DEVNULL, check=False
        ).returncode
        print(f"{DEEP} open brackets in the C loader -> the process ends with {code}")
        mended = tuple(int(part) for part in yaml.__version__.split(".")[:3]) >= (
            6,
            0,
            4,
        )  # an error like any other
        if not (code == 1 if mended else code < 0):
            wrong.append("deep nesting")
    if wrong:
        print("different here:", ", ".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
