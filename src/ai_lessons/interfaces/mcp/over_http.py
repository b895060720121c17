"""Serves over HTTP: where to listen, who is let in, and the server itself. Begin with `opened`."""

from __future__ import annotations

import hmac
import ipaddress
import logging
import os
import socket
import stat
import sys
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio.to_thread
import uvicorn
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import PlainTextResponse

from ai_lessons.app.options import Limits
from ai_lessons.errors import AiLessonsError, Refused, StorageFailed, UsageError
from ai_lessons.interfaces.mcp.callers import CALLER, Callers, NotAdmitted, door_of
from ai_lessons.interfaces.mcp.server import until_told
from ai_lessons.interfaces.mcp.sessions import SessionPool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
    from mcp.server.mcpserver import MCPServer
    from starlette.types import ASGIApp, Receive, Scope, Send

    from ai_lessons.interfaces.mcp.callers import Caller, Door
    from ai_lessons.settings import Settings

LOG = logging.getLogger(__name__)
PATH = "/mcp"
# What gives titles away, and is no tool
LISTED = ("resources/list", "completion/complete", "skills/list", "skills/get")


class HttpLimits(NamedTuple):
    """What the server over HTTP takes."""

    # of a request: a lesson is a few kilobytes, and files are named, not sent
    body_bytes: int = 1_000_000
    # clients that may be connected; more are asked to come again
    sessions: int = 200
    # those of a company, which all come through its gateway
    sessions_of_all: int = 2_000


HTTP = HttpLimits()


class ListenAddress(NamedTuple):
    """Where to listen; an IPv6 `host` has no brackets."""

    host: str
    port: int

    @property
    def written(self) -> str:
        """The host as it is written in a URL."""
        if ":" in self.host:
            return f"[{self.host}]"
        return self.host

    @property
    def here_only(self) -> bool:
        """Whether only programs of this machine can reach it."""
        try:
            return self.host == "localhost" or ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def listening(where: ListenAddress) -> socket.socket:
    """A socket that listens there. Raises AiLessonsError: nothing can."""
    family = socket.AF_INET
    if ":" in where.host:
        family = socket.AF_INET6
    try:
        return socket.create_server(where, family=family)
    except OSError as error:
        why = (error.strerror or "it is no address").partition(" (while")[0]
        raise AiLessonsError(
            f"cannot listen on {where.written}:{where.port}: {why}", hint="try port 0"
        ) from error


def served(app: ASGIApp) -> uvicorn.Config:
    """Settings of uvicorn: no log, no `server` header."""
    # with `proxy_headers`, every caller on this machine could claim another address
    return uvicorn.Config(
        app, log_config=None, access_log=False, timeout_graceful_shutdown=1, lifespan="on",
        proxy_headers=False, server_header=False, ws="none",
    )  # fmt: skip


def place(text: str) -> ListenAddress:
    """`HOST:PORT`, `[IPv6]:PORT` or `:PORT`, which is on this machine only.

    UsageError for anything else.
    """
    host, _, port = text.rpartition(":")
    if ":" not in text or not (port.isascii() and port.isdecimal()) or int(port) > 65_535:
        hint = "for example --http :8765 (this machine only), or port 0 for any"
        raise UsageError(f"{text!r} is no place to listen", hint=hint)
    return ListenAddress(host.removeprefix("[").removesuffix("]") or "127.0.0.1", int(port))


def token_of(file: Path | None, where: ListenAddress) -> str | None:
    """The token that callers must have, or None.

    Raises UsageError (empty), StorageFailed, Refused (others read it).
    """
    if file is None and where.here_only:
        return None
    if file is None:
        raise UsageError(
            f"{where.host} can be reached from other machines, so callers need a token",
            hint="--token-file FILE, or listen on this machine only: --http :PORT",
        )
    try:
        with file.open(encoding="utf-8") as opened:
            # a token file may be a device, which never ends
            mode, text = os.fstat(opened.fileno()).st_mode, opened.read(10_000).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise StorageFailed(
            f"{file}: {getattr(error, 'strerror', None) or 'not a text'}"
        ) from error
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise Refused(f"{file} can be read by others", hint=f"chmod 600 {file}")
    if len(text) < 16 or len(text.split()) != 1 or not text.isascii():
        raise UsageError(
            f"{file}: a token is one word of at least 16 plain characters",
            hint=f"make one: openssl rand -hex 32 > {file}",
        )
    return text


def limits(
    root: Path | None, token_file: Path | None, token: str | None, *, closed: bool = False
) -> Limits:
    """Which files callers may name.

    Those below `root`, and never the token, in its own file or copied elsewhere. `closed`: without
    a root none.
    """
    status = None
    if closed and root is None:
        return Limits(closed=True)
    if token_file:
        status = token_file.stat()
    if token and status:
        return Limits(root, token.encode(), (status.st_dev, status.st_ino))
    return Limits(root)


def refuse_shared(token_file: Path, stated: Settings) -> None:
    """Refuse a token that lies in a repository that is served."""
    file = os.path.realpath(token_file)
    for tier in stated.places.reads:
        if os.path.commonpath([file, os.path.realpath(tier.root)]) == os.path.realpath(tier.root):
            raise Refused(
                f"{token_file} lies in {tier.root}, which callers read",
                hint="keep the token elsewhere",
            )


class Gate:
    """Lets through only requests that carry the token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._token = app, token.encode()
        self._refused = PlainTextResponse(
            "a token is needed\n", 401, {"WWW-Authenticate": "Bearer"}
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 401 to all others."""
        if scope["type"] != "http" or self._is_authorized(scope.get("headers", ())):
            await self._app(scope, receive, send)
        else:
            await self._refused(scope, receive, send)

    def _is_authorized(self, headers: Iterable[tuple[bytes, bytes]]) -> bool:
        sent = [value for name, value in headers if name == b"authorization"]
        if len(sent) != 1:
            # of two, a proxy may have looked at the other one
            return False
        scheme, _, token = sent[0].partition(b" ")
        # in constant time: how long a comparison takes must not tell how much of a guess is right
        return hmac.compare_digest(token.strip(), self._token) and scheme.lower() == b"bearer"


class CallerUser(AuthenticatedUser):
    """A caller as the SDK knows one: a session is answered only to the one who opened it."""

    def __init__(self, caller: Caller) -> None:
        super().__init__(AccessToken(token="", client_id=caller.name, scopes=[]))
        self.caller = caller


class DoorGate:
    """Lets through only requests that a door admits, each with its caller."""

    def __init__(self, app: ASGIApp, door: Door, secret: str | None) -> None:
        self._app, self._door, self._secret = app, door, secret

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer all others with the status that the door says."""
        if scope["type"] == "http":
            peer, _ = scope.get("client") or ("", 0)
            try:
                caller = self._door.admit(scope["headers"], peer, self._secret)
            except NotAdmitted as refused:
                LOG.info("refused with %d: %s", refused.status, refused.sentence)
                answer = PlainTextResponse(f"{refused.sentence}\n", refused.status)
                if refused.status == 401:
                    answer.headers["WWW-Authenticate"] = "Bearer"
                await answer(scope, receive, send)
                return
            scope = {**scope, "user": CallerUser(caller)}
        await self._app(scope, receive, send)


class InTheirName:
    """Handles each message of MCP for the caller whose request brought it.

    Not for who opened the session: the request itself says who asks.
    """

    def __init__(self, door: Door) -> None:
        self._door = door

    async def __call__(
        self, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        """Raises what handling it raises."""
        user = None
        if ctx.request is not None:
            user = ctx.request.scope.get("user")
        if not isinstance(user, CallerUser):
            # what needs to know the caller is refused
            return await call_next(ctx)
        caller = CALLER.set(user.caller)
        try:
            result = await call_next(ctx)
            if ctx.method in LISTED:
                self._door.note(user.caller, ctx.method, 0)
            return result
        finally:
            CALLER.reset(caller)


def opened(
    load: Callable[[], Settings],
    address: str,
    token_file: Path | None,
    *,
    root: Path | None,
    names: Sequence[str],
) -> tuple[SessionPool, Callable[[MCPServer[Any], SessionPool], None]]:
    """What a server over HTTP works on, and what serves it, with all checks of its settings made.

    Raises AiLessonsError.
    """
    where, stated = place(address), load()
    if stated.places.refused:
        # without the gateway that may stand there whoever calls would be answered
        raise Refused(stated.places.refused, hint="mend that file: it may state a gateway")
    door = door_of(stated, here_only=where.here_only)
    if door is None:
        token = token_of(token_file, where)
        pool = SessionPool(load, limits=limits(root, token_file, token))
    else:
        if token_file is not None:
            raise UsageError(
                "callers come through a gateway here, by config.toml, so they have no token",
                hint="leave --token-file out",
            )
        token_file, token = door.secret_file, None
        if token_file is not None:
            token = token_of(token_file, where)
        callers = Callers(door, load)
        allowed = limits(root, token_file, token, closed=True)
        pool = SessionPool(callers.settings, limits=allowed, note=callers.note)
    if token_file is not None:
        refuse_shared(token_file, stated)
    return pool, partial(serve, where=where, token=token, names=names, door=door)


class _Quiet(uvicorn.Server):
    capture_signals = nullcontext  # type: ignore[assignment]  # signals are ours


def serve(
    server: MCPServer[Any],
    pool: SessionPool,
    where: ListenAddress,
    *,
    token: str | None,
    names: Sequence[str] = (),
    door: Door | None = None,
) -> None:
    """Serve over HTTP until a signal comes, with the address on stderr.

    `token`: what callers have to send, or, with a door, the secret of who stands before them.
    AiLessonsError: nothing can listen there.
    """
    most = HTTP.sessions
    if door is not None:
        most = HTTP.sessions_of_all
        server.middleware.append(InTheirName(door))
    local_names = ("127.0.0.1", "localhost", "[::1]", where.written)
    hosts: list[str] = []
    for name in (*local_names, *names):
        # a tunnel may have another port
        hosts += [name, f"{name}:*"]
    with listening(where) as sock:
        port = sock.getsockname()[1]
        if token is None:
            origins = [f"http://{name}:{port}" for name in local_names]
            origins += [f"https://{name}" for name in names]
        else:
            # any port of a host is somebody else's page, which has to know the token
            origins = [f"http://{host}" for host in hosts]
            origins += [f"https://{host}" for host in hosts]
        names_checked = TransportSecuritySettings(
            enable_dns_rebinding_protection=True,
            allowed_hosts=hosts,
            allowed_origins=origins,
        )
        app: ASGIApp = server.streamable_http_app(
            streamable_http_path=PATH,
            host=where.host,
            max_request_body_size=HTTP.body_bytes,
            max_sessions=most,
            transport_security=names_checked,
        )
        if door is not None:
            app = DoorGate(app, door, token)
        elif token is not None:
            app = Gate(app, token)
        config = served(app)
        print(f"listening on http://{where.written}:{port}{PATH}", file=sys.stderr, flush=True)
        anyio.run(until_told, lambda: _Quiet(config).serve(sockets=[sock]), pool)
