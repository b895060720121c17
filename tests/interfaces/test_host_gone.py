"""What waits on a pipe ends when its host is gone, though another process holds the pipe open."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from interfaces.world import environment

HOST = """
import subprocess, sys
subprocess.Popen(sys.argv[3:], stdin=int(sys.argv[1]), stdout=int(sys.argv[2]))
sys.stdin.read()
"""
PARAMS = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "t", "version": "1"},
}
HELLO = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": PARAMS}).encode()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["ai-lessons-mcp"], HELLO + b"\n"),
        pytest.param(
            ["ai-lessons", "lsp", "--stdio"],
            b"Content-Length: %d\r\n\r\n%b" % (len(HELLO), HELLO),
            marks=pytest.mark.plays("lsp"),
        ),
    ],
)
def test_a_server_ends_with_its_host(words: list[str], message: bytes, knowledge: Path) -> None:
    assert knowledge.is_dir()
    asked, asks = os.pipe()
    answers, answered = os.pipe()
    program = Path(sys.executable).parent / words[0]
    host = subprocess.Popen(
        [sys.executable, "-c", HOST, str(asked), str(answered), str(program), *words[1:]],
        stdin=subprocess.PIPE, pass_fds=(asked, answered), env=environment(),
    )  # fmt: skip
    os.close(answered)
    os.write(asks, message)
    assert os.read(answers, 100), "it runs, and answers"
    host.kill()
    host.communicate()
    while os.read(answers, 1 << 16):
        pass  # to the end of its output, which is its own end
    for end in (asked, asks, answers):
        os.close(end)
