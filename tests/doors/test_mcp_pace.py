"""How many requests a caller gets answered, with a clock of the test's own."""

from __future__ import annotations

import asyncio
import hmac
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.responses import PlainTextResponse

from ai_lessons.doors.mcp import pace
from ai_lessons.doors.mcp.http import Gate
from ai_lessons.doors.mcp.pace import Buckets, Pace, Rate, caller

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message

TOKEN = "0123456789abcdef"
RATE = Rate(3, 0.5)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def asked(app: ASGIApp, host: str = "192.0.2.1", *, token: str = "") -> tuple[int, dict[bytes, bytes]]:
    """Status and headers of the answer to one request."""
    sent: list[Message] = []

    async def receive() -> Message:
        raise AssertionError("the body was read")

    async def send(message: Message) -> None:
        sent.append(message)

    headers = [(b"authorization", b"Bearer " + token.encode())] if token else []
    scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": headers, "client": (host, 1)}
    asyncio.run(app(scope, receive, send))  # type: ignore[arg-type]  # a coroutine, whatever the protocol calls it
    return sent[0]["status"], dict(sent[0]["headers"])


def test_a_burst_is_answered_and_then_as_many_as_the_rate_says() -> None:
    clock = Clock()
    app = Pace(PlainTextResponse("yes"), RATE, clock)
    assert [asked(app)[0] for _ in range(5)] == [200, 200, 200, 429, 429]
    assert asked(app)[1][b"retry-after"] == b"2"
    clock.now = 1.0
    assert asked(app)[1][b"retry-after"] == b"1"
    clock.now = 2.0
    assert [asked(app)[0] for _ in range(2)] == [200, 429]
    clock.now = 1000.0
    assert [asked(app)[0] for _ in range(4)] == [200, 200, 200, 429]


def test_one_caller_does_not_use_up_what_another_gets() -> None:
    app = Pace(PlainTextResponse("yes"), RATE, Clock())
    assert [asked(app)[0] for _ in range(4)][-1] == 429
    assert asked(app, "192.0.2.2")[0] == 200


def test_guesses_are_counted_and_never_stop_who_has_the_token() -> None:
    app = Gate(PlainTextResponse("yes"), TOKEN)
    for _ in range(pace.UNKNOWN.burst):
        assert asked(app, token="x" * 16)[0] == 401
    assert asked(app, token="x" * 16)[0] == 429
    assert asked(app)[0] == 429
    assert asked(app, token=TOKEN)[0] == 200


def test_a_token_is_compared_whole_whatever_a_guess_has_right(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[bytes, bytes]] = []
    real = hmac.compare_digest

    def noted(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return real(one, other)

    monkeypatch.setattr(hmac, "compare_digest", noted)
    app = Gate(PlainTextResponse("yes"), TOKEN)
    guesses = ["x" * 16, TOKEN[:15] + "x", TOKEN[:8], TOKEN]
    assert [asked(app, token=guess)[0] for guess in guesses] == [401, 401, 401, 200]
    assert compared == [(guess.encode(), TOKEN.encode()) for guess in guesses]


@given(st.lists(st.floats(0, 10), max_size=60))
def test_never_more_than_the_burst_and_the_rate_allow(pauses: list[float]) -> None:
    clock = Clock()
    buckets = Buckets(RATE, clock)
    answered = 0
    for pause in pauses:
        clock.now += pause
        wait = buckets.take("a")
        answered += not wait
        assert wait <= 1 / RATE.steady
    assert answered <= RATE.burst + clock.now * RATE.steady + 1e-6


def test_who_waits_as_long_as_told_is_answered() -> None:
    clock = Clock()
    buckets = Buckets(RATE, clock)
    while not (wait := buckets.take("a")):
        pass
    clock.now += wait
    assert buckets.take("a") == 0


def test_many_addresses_do_not_fill_the_memory() -> None:
    buckets = Buckets(RATE, Clock())
    for number in range(3 * pace.ADDRESSES):
        buckets.take(str(number))
    assert len(buckets._kept) == pace.ADDRESSES


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8::1", "2001:db8::/64"),
        ("2001:db8::ffff:2", "2001:db8::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::1", "::/64"),
        ("testclient", "testclient"),
    ],
)
def test_a_caller_is_an_address_or_the_network_of_one(host: str, name: str) -> None:
    assert caller({"client": (host, 1)}) == name


def test_a_caller_without_an_address_is_one_too() -> None:
    assert caller({"client": None}) == ""
