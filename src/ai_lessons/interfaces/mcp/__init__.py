"""The MCP server and its program `ai-lessons-mcp`.

`tools` makes tools of commands, `server` serves them.

Cheap to import: the first messages of a client are answered here, before the SDK is loaded.
"""

from __future__ import annotations

import json
import logging
import os
import select
import sys
from contextlib import closing
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click

from ai_lessons import settings
from ai_lessons.app import daemon_client
from ai_lessons.app.options import Limits
from ai_lessons.errors import UsageError
from ai_lessons.interfaces.cli import ending
from ai_lessons.interfaces.cli.call import Call
from ai_lessons.interfaces.cli.command import Command, show_version
from ai_lessons.interfaces.host_watch import end_with_host
from ai_lessons.interfaces.output import is_terminal
from ai_lessons.model.texts import json_object

LOG = logging.getLogger(__name__)
PROGRAM = "ai-lessons-mcp"
SETS = ("default", "all")

Message = dict[str, Any]


class FirstAnswers:
    """The answers to a client's first messages, as an earlier start of the same program gave them.

    The SDK takes a second of CPU to load, and a client waits for the list of tools before it does
    anything. Codex gives a server 10 s for it: with both cores busy the list came after 2.9 to 6.9
    s, from the file after .4 to .9 s. So the handshake and that list are answered from a file, and
    the SDK is loaded for the next message, or once the client has nothing to say. It gets the same
    messages, and its answers to them are dropped.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._program = f"{daemon_client.program()} {version('ai-lessons')} {version('mcp')}"
        try:
            kept = json.loads(file.read_bytes())
            if kept["program"] == self._program:
                self._answers: Message = dict(kept["answers"])
            else:
                self._answers = {}
        except (OSError, ValueError, KeyError, TypeError):
            # there is none yet, or a broken one, which is written anew
            self._answers = {}
        self._answered: set[object] = set()
        self._asked: dict[object, Message] = {}
        self._protocol = ""
        self.rows: list[bytes] = []
        self.rest = b""

    def answer(self, receive: int = 0, send: int = 1) -> bool:
        """Answer on these streams what can be; whether the client has gone meanwhile.

        `rows` are the messages that were read, `rest` is the beginning of the next.
        """
        patience = None
        with os.fdopen(os.dup(send), "wb") as wire:
            while self._answers:
                row = self._row(receive, patience)
                if not row:
                    return row is not None
                self.rows.append(row)
                # what is no object has no answer here: the SDK says what is wrong with it
                message = json_object(row)
                key = self._key(message)
                if key in self._answers:
                    result = self._answers[key]
                    self._protocol = self._protocol or str(result.get("protocolVersion", ""))
                    self._answered.add(message["id"])
                    answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
                    wire.write(
                        json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode()
                        + b"\n"
                    )
                    wire.flush()
                    # the list of tools ends the greeting: a client that is silent then gets the SDK
                    # loaded meanwhile
                    patience = None
                    if key.startswith("tools/list"):
                        patience = 0.3
                elif message.get("method") != "notifications/initialized":
                    return False
        return False

    def _row(self, receive: int, patience: float | None) -> bytes | None:
        """The next line; empty where the client has gone, None: nothing came in time."""
        while b"\n" not in self.rest:
            if not select.select([receive], [], [], patience)[0]:
                return None
            piece = os.read(receive, 1 << 16)
            if not piece:
                row, self.rest = self.rest, b""
                return row
            self.rest += piece
        row, _, self.rest = self.rest.partition(b"\n")
        return row + b"\n"

    def _key(self, message: Message) -> str:
        """Names the answer that a message will get; empty where it is none of the first."""
        params = message.get("params") or {}
        if not isinstance(message.get("id"), str | int) or not isinstance(params, dict):
            return ""
        if message.get("method") == "initialize":
            return f"initialize {params.get('protocolVersion')}"
        if (
            message.get("method") == "tools/list"
            and self._protocol
            and not params.keys() - {"_meta"}
        ):
            return f"tools/list {self._protocol}"
        return ""

    def hear(self, row: str) -> None:
        """Note a message that the SDK gets, in order to keep its answer."""
        if f"tools/list {self._protocol}" not in self._answers:
            message = json_object(row)
            if message.get("method") in {"initialize", "tools/list"} and isinstance(
                message.get("id"), str | int
            ):
                self._asked[message["id"]] = message

    def passes(self, row: str) -> bool:
        """Whether the client is to get this message of the SDK.

        What answers a first message is kept.
        """
        if not self._answered and not self._asked:
            return True
        message = json_object(row)
        number = None
        if "method" not in message:
            number = message.get("id")
        if not isinstance(number, str | int):
            return True
        if number in self._answered:
            self._answered.remove(number)
            return False
        key = self._key(self._asked.pop(number, {}))
        if key and isinstance(message.get("result"), dict):
            self._answers[key] = message["result"]
            self._protocol = str(message["result"].get("protocolVersion", self._protocol))
            if key.startswith("tools/list"):
                self._keep()
        return True

    def _keep(self) -> None:
        temporary = self._file.with_suffix(f".{os.getpid()}")
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_text(
                json.dumps({"program": self._program, "answers": self._answers}), encoding="utf-8"
            )
            temporary.replace(self._file)
        except OSError as error:
            LOG.warning("the next start is slower: %s", error)


@click.command("mcp", cls=Command, examples=["", "--tools all"])
@show_version
@click.option(
    "--http",
    metavar="HOST:PORT",
    help="Serve over HTTP there; port 0 takes any. Default: standard streams.",
)
@click.option(
    "--token-file",
    metavar="F",
    type=click.Path(),
    help="Callers over HTTP need the token in this file.",
)
@click.option(
    "--allow-host",
    metavar="NAME",
    multiple=True,
    help="Another name of this server; may be given again.",
)
@click.option(
    "--tools",
    "chosen",
    type=click.Choice(SETS),
    default=SETS[0],
    show_default=True,
    help="Which tools are offered.",
)
@click.option(
    "--root",
    metavar="DIR",
    type=click.Path(),
    help="Callers may add files from below this folder only.",
)
@click.option("--read-only", is_flag=True, help="Offer only tools that read.")
def mcp(
    call: Call,
    /,
    http: str | None,
    token_file: str | None,
    allow_host: tuple[str, ...],
    root: str | None,
    **which: Any,
) -> None:
    """Serve agents over MCP (also: the program ai-lessons-mcp).

    What happens is logged to a file.
    """
    if http is None and (token_file or allow_host):
        raise UsageError("--token-file and --allow-host are for --http", hint="--http :8765")
    if root is not None and not Path(root).is_dir():
        raise UsageError(
            f"--root {root}: there is no such folder", hint="name the folder that callers may read"
        )
    folders = settings.folders(os.environ)
    if http is None:
        end_with_host()
        if is_terminal(sys.stdin):
            print(
                f"waiting for an MCP client on standard input; {PROGRAM} --help says more",
                file=sys.stderr,
            )
        first = FirstAnswers(
            folders.cache / f"mcp-{which['chosen']}{'-read-only' * which['read_only']}.json"
        )
        if first.answer():
            return
    from ai_lessons.interfaces.mcp import over_http, over_stdio, server, sessions

    log = folders.state / server.LOG_NAME
    below, cwd = Path(root) if root else None, settings.current_folder()
    # the folder as it was at the start: it may be removed while we serve
    load = partial(settings.load, os.environ, cwd, repo=call.repo, tier=call.tier)
    if http is not None:
        file = Path(token_file) if token_file else None
        pool, serve = over_http.opened(load, http, file, root=below, names=allow_host)
    else:
        # over standard streams a process is one session of one agent; over HTTP many share it
        name = f"mcp-{os.urandom(4).hex()}"
        pool = sessions.SessionPool(load, session=name, limits=Limits(below))
        serve = partial(over_stdio.stdio, first=first)
    with closing(server.log_to(log)):
        serve(server.build(pool, log, **which), pool)


def main() -> None:
    """Run the program and leave with its exit code."""
    sys.exit(run(sys.argv[1:]))


def run(args: list[str]) -> int:
    """Run the program on these arguments and return its exit code."""
    return ending.run(lambda: mcp.main(args, PROGRAM, standalone_mode=False, obj=Call()), args)
