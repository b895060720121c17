"""Streamable HTTP: on this machine only, or with a token. Host and Origin have to be names of this server."""

from __future__ import annotations

import hmac
import os
import stat
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import anyio
import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import PlainTextResponse

from ai_lessons.doors.listening import ListenAddress, listening, served
from ai_lessons.doors.mcp.server import until_told
from ai_lessons.errors import Refused, StorageFailed, UsageError
from ai_lessons.library.options import Limits

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mcp.server.mcpserver import MCPServer
    from starlette.types import ASGIApp, Receive, Scope, Send

    from ai_lessons.doors.mcp.session_pool import SessionPool

PATH = "/mcp"
BODY_BYTES = 1_000_000  # of a request: a lesson is a few kilobytes, and files are named, not sent
SESSIONS = 200  # clients that may be connected; more are asked to come again
TOKEN_LENGTH = 16
TOKEN_FILE = 10_000  # Characters that are read of one: it may be a device


def place(text: str) -> ListenAddress:
    """`HOST:PORT`, `[IPv6]:PORT` or `:PORT`, which is on this machine only; UsageError for anything else."""
    host, _, port = text.rpartition(":")
    if ":" not in text or not (port.isascii() and port.isdecimal()) or int(port) > 65_535:
        hint = "for example --http :8765 (this machine only), or port 0 for any"
        raise UsageError(f"{text!r} is no place to listen", hint=hint)
    return ListenAddress(host.removeprefix("[").removesuffix("]") or "127.0.0.1", int(port))


def token_of(file: Path | None, where: ListenAddress) -> str | None:
    """The token that callers must have, or None. Raises UsageError (empty), StorageFailed, Refused (others read it)."""
    if file is None and where.here_only:
        return None
    if file is None:
        raise UsageError(
            f"{where.host} can be reached from other machines, so callers need a token",
            hint="--token-file FILE, or listen on this machine only: --http :PORT",
        )
    try:
        with file.open(encoding="utf-8") as opened:
            mode, text = os.fstat(opened.fileno()).st_mode, opened.read(TOKEN_FILE).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise StorageFailed(f"{file}: {getattr(error, 'strerror', None) or 'not a text'}") from error
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise Refused(f"{file} can be read by others", hint=f"chmod 600 {file}")
    if len(text) < TOKEN_LENGTH or len(text.split()) != 1 or not text.isascii():
        raise UsageError(
            f"{file}: a token is one word of at least {TOKEN_LENGTH} plain characters",
            hint=f"make one: openssl rand -hex 32 > {file}",
        )
    return text


def limits(root: Path | None, token_file: Path | None, token: str | None) -> Limits:
    """Which files callers may name: those below `root`, and never the token, in its own file or copied elsewhere."""
    status = token_file.stat() if token_file else None
    return Limits(root, token.encode(), (status.st_dev, status.st_ino)) if token and status else Limits(root)


def refuse_shared(token_file: Path, pool: SessionPool) -> None:
    """Refuse a token that lies in a repository that is served."""
    file = os.path.realpath(token_file)
    for tier in pool.settings.places.reads:
        if os.path.commonpath([file, os.path.realpath(tier.root)]) == os.path.realpath(tier.root):
            raise Refused(f"{token_file} lies in {tier.root}, which callers read", hint="keep the token elsewhere")


class Gate:
    """Lets through only requests that carry the token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._token = app, token.encode()
        self._refused = PlainTextResponse("a token is needed\n", 401, {"WWW-Authenticate": "Bearer"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 401 to all others."""
        sent = [value for name, value in scope.get("headers", ()) if name == b"authorization"]
        scheme, _, token = (sent[0] if len(sent) == 1 else b"").partition(b" ")
        # in constant time: how long a comparison takes must not tell how much of a guess is right
        authorized = hmac.compare_digest(token.strip(), self._token) and scheme.lower() == b"bearer"
        await (self._app if authorized or scope["type"] != "http" else self._refused)(scope, receive, send)


class _Quiet(uvicorn.Server):
    capture_signals = nullcontext  # type: ignore[assignment]  # signals are ours


def serve(
    server: MCPServer[Any], pool: SessionPool, where: ListenAddress, *, token: str | None, names: Sequence[str] = ()
) -> None:
    """Serve over HTTP until a signal comes, with the address on stderr; AiLessonsError: nothing can listen there."""
    local_names = ("127.0.0.1", "localhost", "[::1]", where.written)
    hosts = [host for name in (*local_names, *names) for host in (name, f"{name}:*")]  # a tunnel may have another port
    with listening(where) as sock:
        port = sock.getsockname()[1]
        # any port of a host is somebody else's page, which has to know the token
        wide = [f"{scheme}://{host}" for host in hosts for scheme in ("http", "https")]
        exact = [f"http://{name}:{port}" for name in local_names] + [f"https://{name}" for name in names]
        names_checked = TransportSecuritySettings(
            enable_dns_rebinding_protection=True, allowed_hosts=hosts, allowed_origins=exact if token is None else wide
        )
        app: ASGIApp = server.streamable_http_app(
            streamable_http_path=PATH,
            host=where.host,
            max_request_body_size=BODY_BYTES,
            max_sessions=SESSIONS,
            transport_security=names_checked,
        )
        config = served(Gate(app, token) if token is not None else app)
        print(f"listening on http://{where.written}:{port}{PATH}", file=sys.stderr, flush=True)
        anyio.run(until_told, lambda: _Quiet(config).serve(sockets=[sock]), pool)
