"""An HTTP server on a socket of ours, for MCP and for the local page."""

from __future__ import annotations

import ipaddress
import socket
from typing import TYPE_CHECKING, NamedTuple

import uvicorn

from ai_lessons.errors import AiLessonsError

if TYPE_CHECKING:
    from starlette.types import ASGIApp


class ListenAddress(NamedTuple):
    """Where to listen; an IPv6 `host` has no brackets."""

    host: str
    port: int

    @property
    def written(self) -> str:
        """The host as it is written in a URL."""
        return f"[{self.host}]" if ":" in self.host else self.host

    @property
    def here_only(self) -> bool:
        """Whether only programs of this machine can reach it."""
        try:
            return self.host == "localhost" or ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def listening(where: ListenAddress) -> socket.socket:
    """A socket that listens there. Raises AiLessonsError: nothing can."""
    try:
        return socket.create_server(where, family=socket.AF_INET6 if ":" in where.host else socket.AF_INET)
    except OSError as error:
        why = (error.strerror or "it is no address").partition(" (while")[0]
        raise AiLessonsError(f"cannot listen on {where.written}:{where.port}: {why}", hint="try port 0") from error


def served(app: ASGIApp) -> uvicorn.Config:
    """Settings of uvicorn: no log, no `server` header."""
    # with `proxy_headers`, every caller on this machine could claim another address
    return uvicorn.Config(
        app, log_config=None, access_log=False, timeout_graceful_shutdown=1, lifespan="on",
        proxy_headers=False, server_header=False, ws="none",
    )  # fmt: skip
