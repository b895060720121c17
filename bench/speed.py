"""The bars of speed, in one run: `python -m bench.speed [--data FOLDER] [--only PART] [--check]`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.harness import Bar, ChildFailed, Outcome, arguments, machine, provide_model, world
from bench.hooking import hooking
from bench.importing import importing
from bench.indexing import edits, whole_run
from bench.refreshing import refreshing
from bench.starting import reading, sessions, starting, warm

if TYPE_CHECKING:
    from collections.abc import Callable

PARTS = ("help", "warm", "read", "load", "hook", "check", "import", "index")


def main() -> None:
    """Run the parts that were asked for, print their tables and judge their bars."""
    parser = arguments("How fast the programs start, read, check, import and index.")
    parser.add_argument(
        "--only", choices=PARTS, action="append", help="run this part; may be given several times"
    )
    parser.add_argument(
        "--rounds", type=int, default=7, help="rounds of everything that takes less than a second"
    )
    parser.add_argument(
        "--sizes", default="10000,100000", help="numbers of files for the part `check`"
    )
    asked = parser.parse_args()
    outcome = Outcome()
    print(machine())
    with world(asked.work) as home:
        provide_model(home)
        jobs: dict[str, Callable[[], None]] = {
            "help": lambda: starting(home, outcome, 3 * asked.rounds),
            "warm": lambda: warm(home, outcome, 2 * asked.rounds),
            "read": lambda: reading(home, outcome, asked.rounds),
            "load": lambda: sessions(home, outcome, asked.rounds),
            "hook": lambda: hooking(home, outcome, asked.rounds),
            "check": lambda: refreshing(
                home, outcome, asked.rounds, [int(size) for size in asked.sizes.split(",")]
            ),
            "import": lambda: importing(home, outcome, 3, asked.data),
            "index": lambda: edits(
                home, outcome, whole_run(home, outcome, asked.data), asked.rounds
            ),
        }
        for part in asked.only or jobs:
            try:
                jobs[part]()
            except ChildFailed as error:
                print(f"\nthe part `{part}` broke off: {error}")
                outcome.judge(Bar(f"the part `{part}` runs to its end", None, 1, ""))
    outcome.finish(check=asked.check)


if __name__ == "__main__":
    main()
