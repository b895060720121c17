"""What the tests of the server over HTTP share: a server, and requests as nobody's client would send them."""

import http.client
import json
import subprocess
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, NamedTuple

import httpx2
from mcp.client.streamable_http import streamable_http_client

from interfaces.mcp_world import PROGRAM
from interfaces.world import environment

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
ACCEPTED = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


PATIENCE = 600.0  # seconds; a busy machine may need more than the five of a client


class Served(NamedTuple):
    url: str
    host: str
    port: int
    process: subprocess.Popen[str]

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


@contextmanager
def serving(*args: str) -> Iterator[Served]:
    process = subprocess.Popen(
        [*PROGRAM, *args], stderr=subprocess.PIPE, text=True, env=environment()
    )
    with process:
        try:
            assert process.stderr
            url = process.stderr.readline().rpartition(" ")[2].strip()
            assert url.startswith("http://"), url
            host, _, port = url.removeprefix("http://").removesuffix("/mcp").rpartition(":")
            yield Served(url, host.strip("[]").replace("0.0.0.0", "127.0.0.1"), int(port), process)  # noqa: S104
        finally:
            process.kill()


@asynccontextmanager
async def with_headers(url: str, headers: Mapping[str, str]) -> AsyncIterator[Any]:
    """A client's transport that sends these with every request."""
    sent = [(name.encode(), value.encode()) for name, value in headers.items()]
    async with (
        httpx2.AsyncClient(headers=sent, timeout=PATIENCE) as client,
        streamable_http_client(url, http_client=client) as streams,
    ):
        yield streams
