"""Many calls at once: servers beside each other on one repository, and calls beside each other on one server."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from interfaces.mcp_world import inside
from interfaces.world import DOC, LESSON, SCRIPT, Run
from real_world import put_program

WAITING = """#!/bin/sh
# Waits for a file.
n=0
while [ ! -e "$1" ]; do
    n=$((n + 1))
    [ $n -gt 1000 ] && exit 9
    sleep 0.05
done
echo "came"
"""


def word(agent: int, n: int) -> str:
    return f"zq{'abcdefgh'[agent]}{'abcdefgh'[n]}x"


@pytest.fixture
def waiting(knowledge: Path) -> Path:
    """A script that ends when the file that it is told of is there."""
    return put_program(knowledge.parent / "waiting.sh", WAITING)


def test_calls_beside_each_other_are_answered_right(knowledge: Path, run: Run, tmp_path: Path) -> None:
    assert run("admin", "trust-script", SCRIPT).code == 0

    def call(n: int) -> Any:
        match n % 4:
            case 0:
                return [hit["id"] for hit in agent.call("search", query="workflow statuses", type="lesson")["lessons"]]
            case 1:
                return agent.call("add_lesson", title=f"The {word(0, n // 4)} of {n}", content="C")["handle"]
            case 2:
                return agent.call("get_resource", resource_id=(DOC, LESSON)[n // 4 % 2])["id"]
            case _:
                return agent.call("run_script", resource_id=SCRIPT, args=[str(n)])["stdout"]

    with inside(tmp_path / "mcp.log") as agent, ThreadPoolExecutor(8) as threads:
        done = list(threads.map(call, range(24)))
        for n, answer in enumerate(done):
            match n % 4:
                case 0:
                    assert answer == [LESSON]
                case 1:
                    found = agent.call("search", query=word(0, n // 4))["lessons"]
                    assert [hit["handle"] for hit in found] == [answer]
                case 2:
                    assert answer == (DOC, LESSON)[n // 4 % 2]
                case _:
                    assert answer == f"workflow {n}\n"


def test_a_script_that_runs_keeps_nobody_waiting(knowledge: Path, waiting: Path, tmp_path: Path) -> None:
    with inside(tmp_path / "mcp.log") as agent, ThreadPoolExecutor(8) as threads:
        added = agent.call("add_resource", type="script", path=str(waiting))["written"][0]["id"]
        come = tmp_path / "come"
        running = [threads.submit(agent.call, "run_script", resource_id=added, args=[str(come)]) for _ in range(4)]
        assert agent.call("search", query="workflow")["lessons"]
        assert agent.call("add_lesson", title="Meanwhile", content="C")["commit"]
        assert agent.call("get_resource", resource_id=DOC)["id"] == DOC
        assert not any(one.done() for one in running)
        come.touch()
        assert [one.result()["stdout"] for one in running] == ["came\n"] * 4
