"""The MCP server as an agent waits for it: start, first search, later ones, memory after many calls, idling.

`python -m bench.mcp [--work FOLDER] [--entries N] [--check]`. Reads /proc, so Linux only. Embedding 10,000 lessons
takes minutes, so keep the work folder.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import IO, TYPE_CHECKING, Any

from bench import corpora
from bench.harness import (
    Bar,
    Outcome,
    World,
    arguments,
    machine,
    number,
    provide_model,
    table,
    world,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

START_BAR = 1.0
FIRST_BAR = 2.5
LATER_BAR = 50.0
GROWTH_BAR = 30.0
IDLE_BAR = 0.02
LATER, WARM, MIXED = 100, 400, 300
SETTLE, IDLE = 1.0, 10.0
MEGA = 1_048_576


class Agent:
    """A client that does nothing but wait for answers, so that all the time is the server's."""

    def __init__(self, pid: int, write: IO[str], read: IO[str]) -> None:
        self.pid, self._write, self._read = pid, write, read
        self._asked = 0

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """One request and its answer."""
        self._asked += 1
        self._send({"id": self._asked, "method": method, "params": params})
        while (answer := json.loads(self._read.readline())).get("id") != self._asked:
            pass
        assert "result" in answer, answer
        result: dict[str, Any] = answer["result"]
        assert not result.get("isError"), result
        return result

    def call(self, tool: str, **args: Any) -> dict[str, Any]:
        """One call of a tool; its data."""
        found: dict[str, Any] = self.ask("tools/call", name=tool, arguments=args)[
            "structuredContent"
        ]
        return found

    def greet(self) -> None:
        """The handshake of a client that connects."""
        about = {"name": "bench", "version": "1"}
        self.ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=about)
        self._send({"method": "notifications/initialized"})

    def _send(self, message: dict[str, Any]) -> None:
        self._write.write(json.dumps({"jsonrpc": "2.0"} | message) + "\n")
        self._write.flush()

    @property
    def memory(self) -> float:
        """Resident, MB."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / MEGA

    @property
    def cpu(self) -> float:
        """Seconds of CPU so far."""
        fields = (
            Path(f"/proc/{self.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        )
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def served(home: World, repo: Path) -> Iterator[Agent]:
    """The program, started as a host starts it."""
    argv = [
        sys.executable,
        "-c",
        "from ai_lessons.interfaces.mcp import main; main()",
        "--repo",
        str(repo),
    ]
    with subprocess.Popen(
        argv, cwd=home.folder, env=dict(home.env), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True,
    ) as process:  # fmt: skip
        assert process.stdin
        assert process.stdout
        yield Agent(process.pid, process.stdin, process.stdout)
        process.stdin.close()


def starts(home: World, repo: Path, rounds: int) -> tuple[list[float], list[float], list[float]]:
    """Of each start: seconds until the tools are listed, seconds of the first search, MB before it."""
    listed, first, small = [], [], []
    for n in range(rounds + 1):
        begin = time.perf_counter()
        with served(home, repo) as agent:
            agent.greet()
            agent.ask("tools/list")
            until_listed = time.perf_counter() - begin
            memory = agent.memory
            begin = time.perf_counter()
            agent.call("search", query="a webhook rewrites the exit code")
            searched = time.perf_counter() - begin
        if n:  # the first one warms the caches of the machine
            listed.append(until_listed)
            first.append(searched)
            small.append(memory)
    return listed, first, small


def later(agent: Agent) -> list[float]:
    """Milliseconds of each of many searches, no two with the same words."""
    dice = random.Random(corpora.SEED + 1)
    taken = []
    for n in range(LATER):
        begin = time.perf_counter()
        agent.call("search", query=f"{corpora.sentence(dice)} {n}")
        taken.append(1000 * (time.perf_counter() - begin))
    return taken


def mixed(agent: Agent, count: int, dice: random.Random) -> None:
    """What an agent does in days: mostly searches, and each entry that it reads or writes."""
    for n in range(count):
        found = agent.call("search", query=corpora.sentence(dice))
        if n % 3 == 0:
            agent.call("get_resource", resource_id=found["lessons"][0]["id"])
        if n % 3 == 1:
            agent.call(
                "context", project=dice.choice(corpora.PROJECTS), query=corpora.sentence(dice)
            )
        if n % 10 == 0:
            agent.call(
                "add_lesson",
                title=corpora.sentence(dice),
                content=corpora.sentence(dice),
                project="bench",
            )


def main() -> None:
    """Run it all, print the figures and judge the bars."""
    parser = arguments("How long an agent waits for the MCP server, and what it costs to have one.")
    parser.add_argument(
        "--entries", type=int, default=10_000, help="lessons in the repository, one passage each"
    )
    parser.add_argument("--rounds", type=int, default=5, help="starts")
    asked = parser.parse_args()
    outcome = Outcome()
    print(machine())
    with world(asked.work) as home:
        provide_model(home)
        repo = corpora.repository(home, asked.entries)
        home.ours(repo, "admin", "reindex")
        listed, first, small = starts(home, repo, asked.rounds)
        with served(home, repo) as agent:
            agent.greet()
            agent.call("search", query="warm")
            taken = later(agent)
            dice = random.Random(corpora.SEED + 2)
            mixed(agent, WARM, dice)
            before = agent.memory
            mixed(agent, MIXED, dice)
            after = agent.memory
            time.sleep(SETTLE)
            spent = agent.cpu
            time.sleep(IDLE)
            idle = agent.cpu - spent
    rows = [
        ["start to tools/list, s", number(median(listed)), number(max(listed))],
        ["first search, s", number(median(first)), number(max(first))],
        ["later search, ms", number(median(taken)), number(quantiles(taken, n=20)[-1])],
        ["memory before the first search, MB", number(median(small)), number(max(small))],
        [f"memory after {WARM} rounds of calls, MB", number(before), ""],
        [f"memory after {MIXED} more, MB", number(after), ""],
        [f"CPU of {IDLE:.0f} idle seconds, s", number(idle), ""],
    ]
    print(
        table(
            f"MCP over stdio at {asked.entries:,} entries",
            ["what", "median", "worst (search: p95)"],
            rows,
        )
    )
    outcome.judge(Bar("start to tools/list", median(listed), START_BAR, "s"))
    outcome.judge(Bar("first search, with the model", median(first), FIRST_BAR, "s"))
    outcome.judge(Bar("later searches, p50", median(taken), LATER_BAR, "ms"))
    outcome.judge(
        Bar(f"memory that {MIXED} rounds of calls add", max(after - before, 0.0), GROWTH_BAR, "MB")
    )
    outcome.judge(Bar("CPU while idle", idle, IDLE_BAR, "s"))
    print(f"load at the end: {os.getloadavg()[0]:.1f}")
    outcome.finish(check=asked.check)


if __name__ == "__main__":
    main()
