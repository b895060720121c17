"""How many requests a caller gets answered: a bucket of them for each address, which fills again with time.

Callers without the token have a bucket of their own, and an empty one never stops who has the token: behind a web
server all callers share one address, and anybody could shut the others out. What keeps a token from being guessed is
its length, not this.
"""

from __future__ import annotations

import ipaddress
import math
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

from starlette.responses import PlainTextResponse

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Receive, Scope, Send

ADDRESSES = 1000
"""Buckets that are kept; the one that was not asked for longest goes, and is full when its owner comes again."""


class Rate(NamedTuple):
    """`burst` requests at once, and `steady` in a second from then on."""

    burst: int
    steady: float


KNOWN = Rate(400, 20.0)
"""Far above what agents ask: one search takes a twentieth of a second, and they come one after another."""

UNKNOWN = Rate(30, 0.5)


class Buckets:
    """A bucket of requests for each name, all of one rate. `clock` gives seconds."""

    def __init__(self, rate: Rate, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._clock = rate, clock
        self._kept: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, name: str) -> float:
        """Take one request: 0, or the seconds until there is one."""
        now = self._clock()
        left, then = self._kept.pop(name, (float(self._rate.burst), now))
        left = min(float(self._rate.burst), left + (now - then) * self._rate.steady)
        wait = 0.0 if left >= 1 else (1 - left) / self._rate.steady
        self._kept[name] = (left if wait else left - 1, now)
        if len(self._kept) > ADDRESSES:
            self._kept.popitem(last=False)
        return wait


class Pace:
    """Answers 429 to callers that ask too often, before anything of the request but its head is read."""

    def __init__(self, app: ASGIApp, rate: Rate, clock: Callable[[], float] = time.monotonic) -> None:
        self._app, self._buckets = app, Buckets(rate, clock)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or say when to come again."""
        if scope["type"] == "http" and (wait := self._buckets.take(caller(scope))):
            later = {"Retry-After": str(math.ceil(wait))}
            await PlainTextResponse("too many requests\n", 429, later)(scope, receive, send)
            return
        await self._app(scope, receive, send)


def caller(scope: Scope) -> str:
    """The address that a request comes from; of IPv6 the half that names a network, which one caller has whole."""
    host = (scope.get("client") or ("", 0))[0]
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return str(host)
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.IPv6Network((int(address), 64), strict=False))
