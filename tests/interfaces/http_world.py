"""What the tests of the server over HTTP share: a server, and requests as nobody's client would send them."""

import http.client
import json
import os
import subprocess
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import anyio.to_thread
import httpx2
import uvicorn
from mcp.client.streamable_http import streamable_http_client

from ai_lessons import settings
from ai_lessons.interfaces.mcp import over_http
from ai_lessons.interfaces.mcp.server import build
from ai_lessons.interfaces.mcp.sessions import SessionPool
from interfaces.mcp_world import PROGRAM
from interfaces.world import environment
from real_world import instead

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
ACCEPTED = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


PATIENCE = 600.0  # seconds; a busy machine may need more than the five of a client


@dataclass(frozen=True)
class Served:
    """A server, where it listens."""

    url: str
    host: str
    port: int

    def post(self, body: bytes, headers: Mapping[str, str]) -> int:
        """The status of one request; `Host` only as given."""
        line = http.client.HTTPConnection(self.host, self.port, timeout=PATIENCE)
        try:
            line.putrequest("POST", "/mcp", skip_host="Host" in headers)
            for name, value in {**ACCEPTED, "Content-Length": str(len(body)), **headers}.items():
                line.putheader(name, value.encode())
            line.endheaders()
            line.send(body)
            return line.getresponse().status
        finally:
            line.close()

    def ask(self, **headers: str) -> int:
        return self.post(json.dumps(LIST).encode(), headers)


@dataclass(frozen=True)
class Program(Served):
    """A server that is a process of its own."""

    process: subprocess.Popen[str]


@contextmanager
def serving(*args: str) -> Iterator[Program]:
    process = subprocess.Popen(
        [*PROGRAM, *args], stderr=subprocess.PIPE, text=True, env=environment()
    )
    with process:
        try:
            assert process.stderr
            url = process.stderr.readline().rpartition(" ")[2].strip()
            assert url.startswith("http://"), url
            host, _, port = url.removeprefix("http://").removesuffix("/mcp").rpartition(":")
            yield Program(url, host.strip("[]").replace("0.0.0.0", "127.0.0.1"), int(port), process)  # noqa: S104
        finally:
            process.kill()


@contextmanager
def serving_inside(
    root: Path | None = None,
    *,
    token_file: Path | None = None,
    repo: str | None = None,
    tier: str | None = None,
) -> Iterator[Served]:
    """The same server with all tools, on a real socket in this process: a tenth of the time, but no log."""
    where, begun, ended = over_http.place("127.0.0.1:0"), threading.Event(), threading.Event()
    load = partial(settings.load, os.environ, repo=repo, tier=tier)
    pool, serve = over_http.opened(load, f"{where.host}:0", token_file, root=root, names=())

    async def without_signals(serve: Callable[[], Awaitable[None]], _pool: SessionPool) -> None:
        await serve()

    async def until_ended(server: uvicorn.Server) -> None:
        await server.on_tick(0)
        begun.set()
        await anyio.to_thread.run_sync(ended.wait)

    with over_http.listening(where) as sock, ThreadPoolExecutor(1) as executor, closing(pool):
        with (
            instead("ai_lessons.interfaces.mcp.over_http.listening", lambda _: sock),
            instead("ai_lessons.interfaces.mcp.over_http.until_told", without_signals),
            instead("uvicorn.Server.main_loop", until_ended),
        ):
            port = sock.getsockname()[1]
            done = executor.submit(serve, build(pool, Path(os.devnull), "all"), pool)
            done.add_done_callback(lambda _: begun.set())
            begun.wait()
        try:
            yield Served(f"http://{where.host}:{port}{over_http.PATH}", where.host, port)
        finally:
            ended.set()
            done.result()


@asynccontextmanager
async def with_headers(url: str, headers: Mapping[str, str]) -> AsyncIterator[Any]:
    """A client's transport that sends these with every request."""
    sent = [(name.encode(), value.encode()) for name, value in headers.items()]
    async with (
        httpx2.AsyncClient(headers=sent, timeout=PATIENCE) as client,
        streamable_http_client(url, http_client=client) as streams,
    ):
        yield streams
