"""Search in big indexes, and in one that was edited often: `python -m bench.scale [--data FOLDER] [--vectors FILE]`.

A child process makes an index of so many passages and asks it in the way a search does: the question's vector, both
halves, fusion. Embedding 100,000 texts takes an hour, so vectors are mixed from real ones (`--vectors`: an embedding
cache, `bench.retrieval --work` leaves one; else of some hundred texts that are embedded first) and put into the
cache where the index finds them. Exact search over the same table is what recall is counted against.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from bench.harness import Bar, Outcome, World, arguments, machine, number, provide_model, table, world

if TYPE_CHECKING:
    from pathlib import Path

WARM_BARS = {10_000: 20.0, 100_000: 30.0, 1_000_000: 40.0}
"""Milliseconds p50 by number of passages."""

STORAGE_BAR = 150.0
"""Milliseconds p50 of a search that reads an index where it lies in object storage."""

RECALL_BAR, MILLION_RECALL_BAR = 0.98, 0.97
MEMORY_BAR, MILLION_MEMORY_BAR = 1536.0, 2048.0
"""MB, of a process that makes an index and asks it: of 100,000 passages, and of a million."""

MILLION = 1_000_000

EDITS_BAR = 1.3


def main() -> None:
    """Measure every size, then the edits; print tables and judge the bars."""
    parser = arguments("How fast big indexes and often edited ones answer.")
    parser.add_argument("--sizes", default="10000,100000", help="numbers of passages")
    parser.add_argument("--passages", type=int, help="one size, and no edits")
    parser.add_argument("--s3", action="store_true", help="ask each also where it lies on a local S3 server")
    parser.add_argument("--edits", type=int, default=1000, help="edits of one file each")
    parser.add_argument("--vectors", default="", help="an embedding cache to take real vectors from")
    asked = parser.parse_args()
    outcome = Outcome()
    print(machine())
    with world(asked.work) as home:
        model = provide_model(home)
        more = [str(model), str(asked.data or ""), asked.vectors]
        sizes = [asked.passages] if asked.passages else [int(size) for size in asked.sizes.split(",") if size]
        rows = [one_size(home, outcome, size, [*more, *(["s3"] if asked.s3 else [])]) for size in sizes]
        if rows:
            head = ["passages", "made in s", "index", "p50 ms", "p95 ms", "its vector ms", "plain LanceDB p50", "p95",
                    "recall@10", "peak MB", "S3 p50", "p95"]  # fmt: skip
            print(table("a warm search", head, rows), plot(rows), sep="\n")
        if asked.edits and not asked.passages:
            edits(home, outcome, asked.edits, more)
    outcome.finish(check=asked.check)


def child(home: World, *args: str) -> dict[str, Any]:
    """What the child measured; the last line that it prints."""
    told: dict[str, Any] = json.loads(home.python("-m", "bench.inside_scale", *args).out.splitlines()[-1])
    return told


def one_size(home: World, outcome: Outcome, size: int, more: list[str]) -> list[str]:
    """The row of one size."""
    folder: Path = home.folder / f"scale-{size}"
    told = child(home, "ask", str(folder), str(size), *more)
    if size in WARM_BARS:
        outcome.judge(Bar(f"warm search in {size:,} passages, p50", told["p50"], WARM_BARS[size], "ms"))
    least, most = (MILLION_RECALL_BAR, MILLION_MEMORY_BAR) if size >= MILLION else (RECALL_BAR, MEMORY_BAR)
    outcome.judge(Bar(f"recall@10 in {size:,} passages", told["recall"], least, "", at_least=True))
    outcome.judge(Bar(f"peak memory with {size:,} passages", told["peak"], most, "MB"))
    if "s3 p50" in told:
        outcome.judge(Bar(f"from S3, {size:,} passages, p50", told["s3 p50"], STORAGE_BAR, "ms"))
    names = ("p50", "p95", "embedding", "plain p50", "plain p95", "recall", "peak", "s3 p50", "s3 p95")
    return [f"{size:,}", number(told["made"]), told["index"], *(number(told.get(name)) for name in names)]


def plot(rows: list[list[str]]) -> str:
    """How a search grows with the passages, as a picture that forges draw from text."""
    sizes, times = ([row[at].replace(",", "") for row in rows] for at in (0, 3))
    lines = ["```mermaid", "xychart-beta", '  title "a warm search, p50 in ms"']
    lines += [f'  x-axis "passages" [{", ".join(sizes)}]', '  y-axis "ms"', f"  line [{', '.join(times)}]", "```"]
    return "\n".join(lines)


def edits(home: World, outcome: Outcome, count: int, more: list[str]) -> None:
    """Search after so many edits of one file each, beside an index that was just made of the same texts."""
    told = child(home, "edit", str(home.folder / "scale-edits"), "10000", *more, str(count))
    rows = [
        ["an edit, median", number(told["edit p50"])],
        ["an edit, slowest", number(told["edit max"])],
        ["search, fresh index, CPU", number(told["fresh"])],
        ["search, after the edits, CPU", number(told["edited"])],
        ["search, slowest of 20 looks between the edits, CPU", number(told["worst"])],
    ]
    print(table(f"{count:,} edits in 10,000 passages", ["what", "ms"], rows))
    print(f"index: {told['bytes']} on disk, {told['files']} files; fresh: {told['fresh bytes']}")
    outcome.judge(Bar(f"search after {count:,} edits against a fresh index", told["ratio"], EDITS_BAR, "x"))
    outcome.judge(Bar("the slowest look between the edits against a fresh index", told["worst ratio"], EDITS_BAR, "x"))


if __name__ == "__main__":
    main()
