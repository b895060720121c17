"""The first answers of the MCP server, which a later start gives before it loads the SDK."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from ai_lessons.interfaces.mcp import FirstAnswers
from interfaces.mcp_world import over_stdio

INITIALIZE = {"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}}}
READY = {"method": "notifications/initialized"}
LIST = {"id": "two", "method": "tools/list", "params": {"_meta": {"progressToken": 1}}}
CALL = {"id": 3, "method": "tools/call", "params": {"name": "search"}}
GREETING = {"protocolVersion": "2025-06-18", "serverInfo": {"name": "é"}}
TOOLS = {"tools": [{"name": "search"}]}


def row(message: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", **message}) + "\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """What a start has kept in which the SDK answered everything, though all was sent at once."""
    place = tmp_path / "cache/mcp-default.json"
    first = FirstAnswers(place)
    for message in (INITIALIZE, READY, LIST, CALL):
        first.hear(row(message))
    assert first.passes(row({"id": 1, "result": GREETING}))
    assert first.passes(row({"id": "two", "result": TOOLS}))
    assert first.passes(row({"id": 3, "result": {}}))
    return place


def talk(first: FirstAnswers, *messages: Any, more: bytes = b"", gone: bool = True) -> tuple[bool, list[Any]]:
    """Whether the client counts as gone, and what it has got."""
    (receive, client), (got, send) = os.pipe(), os.pipe()
    os.write(client, "".join(map(row, messages)).encode() + more)
    if gone:
        os.close(client)
    done = first.answer(receive, send)
    os.close(send)
    with os.fdopen(got, "rb") as answers:
        found = [json.loads(line) for line in answers]
    for end in (receive, *(() if gone else (client,))):
        os.close(end)
    return done, found


def test_a_client_that_asks_for_the_tools_and_goes_is_answered_without_the_sdk(file: Path) -> None:
    done, found = talk(FirstAnswers(file), INITIALIZE, READY, LIST)
    assert done
    assert found == [
        {"jsonrpc": "2.0", "id": 1, "result": GREETING}, {"jsonrpc": "2.0", "id": "two", "result": TOOLS},
    ]  # fmt: skip


@pytest.mark.parametrize(
    "message",
    [
        INITIALIZE | {"params": {"protocolVersion": "2024-11-05"}},
        {"id": 1, "method": "tools/list"},  # the protocol of 2026-07-28 has no handshake
        {"id": 1, "method": "server/discover", "params": {}},
        {"id": [1], "method": "initialize", "params": {"protocolVersion": "2025-06-18"}},
        {"id": 1, "method": "initialize", "params": "x"},
    ],
)
def test_any_other_beginning_is_for_the_sdk(file: Path, message: Any) -> None:
    first = FirstAnswers(file)
    assert talk(first, message) == (False, [])
    assert len(first.rows) == 1


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"program": "another", "answers": {}}', b'{"answers": 1}'])
def test_what_another_program_kept_or_broke_is_not_said(file: Path, data: bytes) -> None:
    file.write_bytes(data)
    assert talk(FirstAnswers(file), INITIALIZE) == (False, [])


def test_a_second_start_says_the_same_and_works_on(knowledge: Path, hermetic: Path) -> None:
    with over_stdio(mode="legacy") as agent:
        tools = agent.tools()
    assert (hermetic / ".cache/ai-lessons/mcp-default.json").exists()
    with over_stdio(mode="legacy") as agent:
        assert agent.tools() == tools
        assert agent.call("search", query="workflows")["lessons"]
