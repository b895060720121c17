"""Small databases that several processes make at the same moment: none fails, none throws away another's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROCESSES = 4
FILES = 25

VECTORS = """
from contextlib import closing
from ai_lessons.search.ranking import vector_key
from ai_lessons.search.index import VectorCache
def make(path, name):
    with closing(VectorCache(path)) as cache:
        cache.put([(vector_key("m", name), b"v")])
def count(path):
    with closing(VectorCache(path)) as cache:
        return len(cache)
"""

# a line is a file to make now; another, once all have made it, asks how much is in it
PROGRAM = """
import sys
from pathlib import Path
for line in sys.stdin:
    path = Path(line.strip())
    make(path, sys.argv[1])
    print("made", flush=True)
    sys.stdin.readline()
    print(count(path), flush=True)
"""


def test_made_by_four_processes_at_one_moment(tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    makers = [
        subprocess.Popen(
            [sys.executable, "-c", VECTORS + PROGRAM, f"maker {number}"],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(PROCESSES)
    ]

    def tell(line: str) -> list[str]:
        for maker in makers:
            assert maker.stdin is not None
            maker.stdin.write(line + "\n")
            maker.stdin.flush()
        return [maker.stdout.readline().strip() for maker in makers if maker.stdout is not None]

    try:
        for number in range(FILES):
            assert tell(str(tmp_path / f"{number}.sqlite")) == ["made"] * PROCESSES
            assert tell("count") == [str(PROCESSES)] * PROCESSES
    finally:
        for maker in makers:
            maker.communicate()
