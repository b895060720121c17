"""Over HTTP: the official client, and requests as nobody's client would send them."""

import json
import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import anyio
import httpx2
import pytest
from mcp.shared.exceptions import MCPError

from ai_lessons.app.search import PROMPT
from ai_lessons.errors import Refused, StorageFailed, UsageError
from ai_lessons.interfaces.mcp import over_http
from interfaces.http_world import ACCEPTED, LIST, PATIENCE, Served, serving, with_headers
from interfaces.mcp_world import connected
from interfaces.world import Run

TOKEN = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    file = tmp_path / "token"
    file.write_text(TOKEN + "\n")
    file.chmod(0o600)
    return file


@pytest.fixture(scope="module")
def kept() -> Iterator[tuple[ExitStack, list[Served]]]:
    with ExitStack() as stack:
        yield stack, []


@pytest.fixture
def open_(knowledge: Path, kept: tuple[ExitStack, list[Served]]) -> Served:
    """A server that all tests may ask who write nothing, started in the world of the first of them."""
    stack, servers = kept
    if not servers:
        servers.append(
            stack.enter_context(serving("--http", "127.0.0.1:0", "--tools", "all", "--read-only"))
        )
        (knowledge.parent / "outside.md").write_text("# Notes\n\nthe-hidden-word\n")
    return servers[0]


@pytest.mark.plays("learning")
def test_two_clients_work_at_once_until_ctrl_c(knowledge: Path, tmp_path: Path) -> None:
    folder = tmp_path / "callers"
    folder.mkdir()
    with serving("--http", "127.0.0.1:0", "--root", str(folder)) as served:
        with connected(served.url) as one, connected(served.url, mode="legacy") as other:
            made = one.call("add_lesson", title="Quagga", content="C")
            assert [hit["id"] for hit in other.call("search", query="quagga")["lessons"]] == [
                made["id"]
            ]
            assert (
                other.call("record_outcome", id=made["id"], outcome="helpful")["usage"][
                    "times_helpful"
                ]
                == 1
            )
            prompt = one.ask(one.client.get_prompt, "after_task", {"task": "t"})
            assert "[UNSOLVED]" in prompt.messages[0].content.text
        served.process.send_signal(signal.SIGINT)
        assert served.process.wait(60) == 130


def test_only_names_of_this_server_are_answered(open_: Served) -> None:
    assert open_.ask(Host="localhost:1") != 421
    assert open_.ask(Host="evil.example") == 421
    assert open_.ask(Host=f"evil.example:{open_.port}") == 421
    assert open_.ask(Origin="http://evil.example") == 403
    assert open_.ask(Origin="null") == 403
    for ours in (
        f"http://127.0.0.1:{open_.port}",
        f"http://localhost:{open_.port}",
        f"http://[::1]:{open_.port}",
    ):
        assert open_.ask(Origin=ours) not in {401, 403, 421}
    for origin in ("http://localhost:{other}", "https://localhost:{port}", "http://localhost", "file://",
                   "http://localhost:{port}.evil.example", "http://127.0.0.1:{other}"):  # fmt: skip
        assert from_page(open_, origin) == 403, origin


def from_page(served: Served, origin: str, **more: str) -> int:
    """The status that a page gets which was loaded from there."""

    async def post() -> int:
        async with httpx2.AsyncClient(headers=ACCEPTED, timeout=PATIENCE) as client:
            said = {"Origin": origin.format(port=served.port, other=served.port + 1), **more}
            return (await client.post(served.url, json=LIST, headers=said)).status_code

    return anyio.run(post)


def test_what_is_too_large_or_no_request_does_not_end_it(open_: Served) -> None:
    assert open_.post(b" " * (over_http.HTTP.body_bytes + 1), {}) == 413
    assert open_.post(b"", {"Content-Length": str(10**12)}) == 413
    assert open_.post(b"no JSON", {}) == 400
    assert open_.post(b"{}", {"Content-Type": "text/plain"}) == 400
    call = {"name": "search", "arguments": {"query": "\ud800"}}  # half a character
    broken = json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    ).encode()
    assert open_.post(broken, {}) == 400
    with connected(open_.url) as agent:
        assert agent.tools()


def test_with_a_token_nobody_else_is_answered(knowledge: Path, token_file: Path) -> None:
    with serving(
        "--http", "0.0.0.0:0", "--token-file", str(token_file), "--allow-host", "known.example"
    ) as served:
        assert served.ask() == 401
        for wrong in (
            "",
            "Bearer",
            f"Bearer {TOKEN}x",
            f"Bearer {TOKEN[:-1]}",
            f"Basic {TOKEN}",
            TOKEN,
            "Bearer \xe9",
        ):
            assert served.ask(Authorization=wrong) == 401
        right = f"Bearer {TOKEN}"
        assert served.ask(Authorization=right, Host="known.example") not in {401, 403, 421}
        assert served.ask(Authorization=right, Host="evil.example") == 421
        assert served.ask(Authorization=right, Origin="https://evil.example") == 403
        here = replace(served, url=served.url.replace("0.0.0.0", "127.0.0.1"))  # noqa: S104
        assert from_page(here, "http://localhost:{other}") == 401
        assert from_page(here, "http://localhost:{other}", Authorization=right) not in {
            401,
            403,
            421,
        }  # a tunnel
        with connected(with_headers(here.url, {"Authorization": right})) as agent:
            assert agent.call("search", query="workflow")["lessons"]


def test_over_http_no_id_and_no_path_leads_out_of_the_repository(open_: Served) -> None:
    with connected(open_.url) as agent:
        for name in ("../outside.md", "../../../../etc/passwd", "/etc/passwd", "a\0/b"):
            assert "no entry" in agent.fails("get_resource", resource_id=name)
            with pytest.raises(MCPError, match=r"no entry|Unknown resource"):
                agent.ask(agent.client.read_resource, f"lessons://entry/{quote(name, safe='')}")
    for path in (
        "/mcp/../../etc/passwd",
        "/..%2f..%2fetc/passwd",
        "/static/../outside.md",
        "//etc/passwd",
    ):
        with socket.create_connection((open_.host, open_.port), timeout=PATIENCE) as line:
            line.sendall(
                f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()
            )
            assert b" 404 " in line.makefile("rb").readline()


def test_a_place_is_understood_or_refused() -> None:
    for text, place, here_only in (
        ("127.0.0.1:80", ("127.0.0.1", 80), True),
        ("127.1.2.3:80", ("127.1.2.3", 80), True),
        (":8765", ("127.0.0.1", 8765), True),
        ("localhost:0", ("localhost", 0), True),
        ("[::1]:5", ("::1", 5), True),
        ("0.0.0.0:5", ("0.0.0.0", 5), False),  # noqa: S104
        ("[::]:5", ("::", 5), False),
        ("here.example:5", ("here.example", 5), False),
    ):
        found = over_http.place(text)
        assert (found, found.here_only) == (place, here_only)
    for text in ("", "8765", "127.0.0.1", "127.0.0.1:", "a:b", "a:-1", "a:65536", "a:٣"):
        with pytest.raises(UsageError, match="no place to listen"):
            over_http.place(text)


def test_a_token_must_be_long_and_the_users_own(token_file: Path, tmp_path: Path) -> None:
    everywhere = over_http.place("0.0.0.0:1")
    assert over_http.token_of(token_file, everywhere) == TOKEN
    assert over_http.token_of(None, over_http.place(":1")) is None
    token_file.chmod(0o640)
    with pytest.raises(Refused, match="read by others"):
        over_http.token_of(token_file, everywhere)
    token_file.chmod(0o600)
    for bad in ("", "short", "two words that are long enough", "é" * 40):
        token_file.write_text(bad)
        with pytest.raises(UsageError, match="a token is one word"):
            over_http.token_of(token_file, everywhere)
    token_file.write_bytes(b"\xff" * 40)
    with pytest.raises(StorageFailed, match="not a text"):
        over_http.token_of(token_file, everywhere)
    with pytest.raises(StorageFailed, match="No such file"):
        over_http.token_of(tmp_path / "none", everywhere)
    with pytest.raises(UsageError, match="can be reached from other machines"):
        over_http.token_of(None, everywhere)


def test_a_server_that_only_reads_offers_no_tool_that_writes(open_: Served) -> None:
    with connected(open_.url) as agent:
        offered = agent.tools()
        assert {"search", "get", "context", "list_pending"} <= set(offered)
        assert not {
            "add_lesson",
            "run_script",
            "suggest_rule",
        } & set(offered)
        assert "add_lesson" in agent.fails("add_lesson", title="T", content="C")


def test_a_place_that_is_taken_a_root_that_is_none_and_a_token_that_callers_could_read_are_refused(
    open_: Served, knowledge: Path, run: Run, token_file: Path, tmp_path: Path
) -> None:
    inside, here = token_file.rename(knowledge / "token"), f"127.0.0.1:{open_.port}"
    for place, options, code, words in (
        (here, (), 1, f"cannot listen on {here}"),
        ("127.0.0.1:0", ("--root", tmp_path / "none"), 2, "there is no such folder"),
        ("127.0.0.1:0", ("--token-file", inside), 8, "which callers read"),
    ):
        done = run("admin", "mcp", "--http", place, *options)
        assert (done.code, words in done.err) == (code, True), done.err


def test_each_connection_is_asked_once_for_what_is_missing_where_it_can_be_told(
    knowledge: Path,
) -> None:
    """Clients whose requests stand alone are not asked: nobody knows what they were asked before."""
    gap = {"query": "xylophone zeppelin quokka"}
    with (
        serving("--http", "127.0.0.1:0") as served,
        connected(served.url, mode="legacy") as one,
        connected(served.url, mode="legacy") as other,
        connected(served.url) as alone,
    ):
        asking = (one, one, other, one, alone)
        prompts = [agent.call("search", **gap)["prompt"] for agent in asking]
    assert prompts == [PROMPT, "", PROMPT, "", ""]
