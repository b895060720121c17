"""Scripts that agents add and run over MCP."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from mcp.types import ElicitResult

from ai_lessons.interfaces.output import DATA
from interfaces.mcp_world import Agent, inside, talking
from interfaces.mcp_world import text as text_of
from interfaces.world import DOC, LESSON, SCRIPT, Run
from real_world import put_program


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "mcp.log"


@pytest.fixture
def agent(knowledge: Path, log: Path) -> Iterator[Agent]:
    with inside(log) as agent:
        yield agent


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


def test_a_script_that_runs_keeps_nobody_waiting(knowledge: Path, tmp_path: Path) -> None:
    waiting = put_program(
        knowledge.parent / "waiting.sh", WAITING
    )  # it ends when the file that it is told of is there
    with inside(tmp_path / "mcp.log") as agent, ThreadPoolExecutor(8) as threads:
        added = agent.call("add_resource", type="script", path=str(waiting))["written"][0]["id"]
        come = tmp_path / "come"
        running = [
            threads.submit(agent.call, "run_script", resource_id=added, args=[str(come)])
            for _ in range(4)
        ]
        assert agent.call("search", query="workflow")["lessons"]
        assert agent.call("add_lesson", title="Meanwhile", content="C")["commit"]
        assert agent.call("get_resource", resource_id=DOC)["id"] == DOC
        assert not any(one.done() for one in running)
        come.touch()
        assert [one.result()["stdout"] for one in running] == ["came\n"] * 4


def test_a_script_that_was_added_here_runs(agent: Agent, knowledge: Path) -> None:
    file = knowledge.parent / "go.sh"
    file.write_text('#!/bin/sh\necho "out $*"; echo err >&2; cat; exit 3\n')
    handle = agent.call("add_resource", type="script", path=str(file))["written"][0]["handle"]
    done = agent.result("run_script", resource_id=handle, args=["a b", "--flag"])
    assert done.structured_content == {
        "handle": handle, "exit_code": 3, "timed_out": False, "stdout": "out a b --flag\n", "stderr": "err\n",
        "omitted_bytes": 0, "notice": DATA,
    }  # fmt: skip
    assert "ended with exit code 3" in text_of(done)
    file.write_text("#!/bin/sh\nsleep 60\n")
    slow = agent.call("add_resource", type="script", path=str(file), project="slow")["written"][0][
        "handle"
    ]
    assert agent.call("run_script", resource_id=slow, timeout=0.2)["timed_out"] is True
    assert "its time was over" in agent.reads("run_script", resource_id=slow, timeout=0.2)


def test_a_script_that_was_pulled_is_refused(agent: Agent, run: Run) -> None:
    told = agent.fails("run_script", resource_id=SCRIPT)
    assert "has never been run on this machine" in told
    assert "ai-lessons admin trust-script S-9XW2RB" in told
    assert "only scripts can be run" in agent.fails("run_script", resource_id=LESSON)
    assert run("admin", "trust-script", SCRIPT).code == 0
    assert agent.call("run_script", resource_id=SCRIPT, args=["x"])["stdout"] == "workflow x\n"


def test_the_person_at_the_client_is_asked_to_trust_a_script(knowledge: Path, log: Path) -> None:
    asked: list[str] = []
    answers: list[Any] = [{"run": False}, {"run": True}]

    async def answer(_context: Any, params: Any) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action="accept", content=answers[len(asked) - 1])

    with talking(log, elicitation_callback=answer) as agent:
        assert "has never been run on this machine" in agent.fails("run_script", resource_id=SCRIPT)
        assert agent.call("run_script", resource_id=SCRIPT, args=["x"])["stdout"] == "workflow x\n"
        assert agent.call("run_script", resource_id=SCRIPT, args=["y"])["stdout"] == "workflow y\n"
    assert len(asked) == 2
    assert "#!/bin/sh" in asked[0]
    with talking(log, session=None, elicitation_callback=answer) as agent:
        Path(knowledge, "jira-api/scripts/v3/update-workflow.sh").write_text(
            "#!/bin/sh\necho changed\n"
        )
        assert "has never been run" in agent.fails(
            "run_script", resource_id=SCRIPT
        )  # over HTTP it may be anybody
    assert len(asked) == 2


def test_scripts_that_run_beside_each_other_and_other_calls_are_answered_right(
    knowledge: Path, run: Run, tmp_path: Path
) -> None:
    assert run("admin", "trust-script", SCRIPT).code == 0

    def calls(n: int) -> None:
        assert client.call("search", query="workflow statuses", type="lesson")["lessons"]
        ran = client.call("run_script", resource_id=SCRIPT, args=[str(n)])
        assert ran["stdout"] == f"workflow {n}\n"
        assert client.call("get_resource", resource_id=DOC)["id"] == DOC

    with inside(tmp_path / "mcp.log") as client, ThreadPoolExecutor(6) as threads:
        list(threads.map(calls, range(6)))


def test_a_client_that_validates_takes_the_answer_and_is_told_that_it_may_destroy(
    agent: Agent, run: Run
) -> None:
    assert run("admin", "trust-script", SCRIPT).code == 0
    hint = agent.tools()["run_script"].annotations
    assert hint is not None
    assert not hint.read_only_hint
    assert hint.destructive_hint
    assert not agent.result("run_script", resource_id=SCRIPT, args=["x"]).is_error
