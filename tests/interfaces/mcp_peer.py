"""The other end of a server that runs as a process, and lines of JSON over its standard streams."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from interfaces.mcp_world import PROGRAM
from interfaces.world import environment

PATIENCE = 60


def message(number: int | None, method: str, **params: Any) -> str:
    row = {"jsonrpc": "2.0", "method": method, "params": params} | (
        {} if number is None else {"id": number}
    )
    return json.dumps(row) + "\n"


class Peer:
    """The other end of a server's standard streams. Every line that comes must be a message of the protocol."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.came: list[dict[str, Any]] = []
        self._asked = 0

    def send(self, method: str, *, asks: bool = True, **params: Any) -> int:
        self._asked += asks
        self.write(message(self._asked if asks else None, method, **params))
        return self._asked

    def write(self, text: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        assert self.process.stdout
        came: dict[str, Any] = json.loads(self.process.stdout.readline())
        assert came["jsonrpc"] == "2.0"
        self.came.append(came)
        return came

    def until(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        while not wanted(came := self.read()):
            pass
        return came

    def answer(self, number: int) -> dict[str, Any]:
        return self.until(lambda came: came.get("id") == number)

    def call(self, tool: str, *, token: str = "", **arguments: Any) -> int:
        meta: dict[str, Any] = {"_meta": {"progressToken": token}} if token else {}
        return self.send("tools/call", name=tool, arguments=arguments, **meta)

    def greet(self) -> dict[str, Any]:
        client = {"name": "tester", "version": "1"}
        hello = self.send(
            "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client
        )
        said = self.answer(hello)
        self.send("notifications/initialized", asks=False)
        return said


@contextmanager
def served(*args: str, code: str = "", **environ: str) -> Iterator[Peer]:
    """The program and its other end; what it says on stderr is thrown away."""
    argv = [PROGRAM[0], "-c", code] if code else PROGRAM
    process = subprocess.Popen(
        [*argv, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        env=environment(**environ),
    )  # fmt: skip
    with process:
        try:
            yield Peer(process)
        finally:
            process.kill()


def piped(text: str, **environ: str) -> dict[Any, dict[str, Any]]:
    """The answers to requests that come from a file, by their number."""
    done = subprocess.run(
        PROGRAM,
        input=text,
        capture_output=True,
        text=True,
        check=True,
        env=environment(**environ),
        timeout=PATIENCE,
    )
    return {
        answer["id"]: answer
        for answer in map(json.loads, done.stdout.splitlines())
        if "id" in answer
    }


def hello(**capabilities: Any) -> str:
    client = {"protocolVersion": "2025-06-18", "clientInfo": {"name": "t", "version": "1"}}
    begins = message(0, "initialize", **client, capabilities=capabilities)
    return begins + message(None, "notifications/initialized")
