"""A script that an agent runs over standard streams: it disturbs no protocol, and is ended with the server."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from interfaces.mcp_peer import PATIENCE, Peer, hello, message, piped, served
from interfaces.world import SCRIPT, Run
from real_world import Git, put_file


def test_an_older_client_is_answered_whatever_comes_between_and_its_name_is_the_agent(
    knowledge: Path, hermetic: Path, git: Git, run: Run
) -> None:
    assert run("admin", "trust-script", SCRIPT).code == 0
    with served() as peer:
        said = peer.greet()["result"]
        assert said["serverInfo"]["name"] == "ai-lessons"
        assert "Search before you begin" in said["instructions"]
        done = peer.answer(peer.call("add_lesson", title="T", content="C"))["result"]
        assert done["isError"] is False
        # a script cannot disturb the protocol, and lines that are no messages do not end it
        done = peer.answer(
            peer.call("run_script", resource_id=SCRIPT, args=['{"jsonrpc": "2.0"}'])
        )["result"]
        assert done["structuredContent"]["stdout"] == 'workflow {"jsonrpc": "2.0"}\n'
        peer.write("this is no JSON\n\n[1]\n")
        assert peer.answer(peer.send("ping"))["result"] == {}
        peer.answer(peer.call("get_resource", resource_id="L-NOPE22"))
        # a script that is cancelled is ended, and so is one that runs at a signal
        pid, number = running(peer, knowledge, run)
        peer.send("notifications/cancelled", asks=False, requestId=number)
        assert gone(pid)
        assert peer.answer(peer.send("ping"))["result"] == {}
        pid, _ = running(peer, knowledge, run)
        peer.process.send_signal(signal.SIGTERM)
        assert peer.process.wait(PATIENCE) == 128 + signal.SIGTERM
        assert gone(pid)
    said = git(knowledge, "log", "-1", "--format=%B")
    assert "Agent: tester" in said
    assert "Session: mcp-" in said
    log = hermetic / ".local/state/ai-lessons/mcp.log"
    assert "L-NOPE22" in log.read_text()
    assert log.stat().st_mode & 0o077 == 0  # it is for the user alone


def running(peer: Peer, knowledge: Path, run: Run) -> tuple[int, int]:
    """Have the server run a script that takes for ever; its process id and the number of the call."""
    script = knowledge / "jira-api/scripts/v3/update-workflow.sh"
    script.write_text('#!/bin/sh\necho $$ > "$1.new"; mv "$1.new" "$1"; sleep 600\n')
    assert run("admin", "trust-script", SCRIPT).code == 0
    file = knowledge.parent / "pid"
    file.unlink(missing_ok=True)
    number = peer.call("run_script", resource_id=SCRIPT, args=[str(file)], timeout=180)
    deadline = time.monotonic() + PATIENCE
    while not file.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return int(file.read_text()), number


def gone(pid: int) -> bool:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False


def test_a_client_that_goes_away_ends_it_and_the_script_that_runs(
    knowledge: Path, run: Run
) -> None:
    with served() as peer:
        peer.greet()
        pid, _ = running(peer, knowledge, run)
        assert peer.process.stdin
        assert peer.process.stdout
        peer.process.stdout.close()
        peer.process.stdin.close()
        assert peer.process.wait(PATIENCE) == 0
        assert gone(pid)


def test_a_client_that_has_closed_its_side_cannot_be_asked_and_a_cancelled_request_is_not_waited_for(
    knowledge: Path, run: Run
) -> None:
    file = put_file(knowledge.parent / "slow.sh", "#!/bin/sh\nsleep 600\n")
    slow = run("contribute", "add-resource", file, "--json").json["id"]  # trusted, as it is ours
    untrusted, calls = (
        message(number, "tools/call", name="run_script", arguments={"resource_id": entry})
        for number, entry in ((3, SCRIPT), (4, slow))
    )
    cancelled = message(None, "notifications/cancelled", requestId=4)
    assert {0, 3} <= piped(hello(elicitation={}) + untrusted + calls + cancelled).keys()
