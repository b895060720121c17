"""Measurements that anyone can run: `python -m bench.speed` and `python -m bench.retrieval` (docs/benchmarks.md)."""

import sys
from pathlib import Path

# What is measured is this tree, whatever version is installed beside it; child processes are told the same.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
