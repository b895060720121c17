"""Requests to the server itself, past the gateway or through it: real sockets."""

import socket
from pathlib import Path

from features.gateway.gateway_world import (
    ALONE,
    ANN,
    BO,
    EMAIL,
    FOR_ALONE,
    NAME,
    OURS,
    SECRET,
    SETTINGS,
    config_file,
    write_settings,
)  # fmt: skip
from interfaces.http_world import ACCEPTED, PATIENCE, Served, serving, serving_inside, with_headers
from interfaces.mcp_world import connected
from real_world import Git, put_file

FIRST = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n"


def raw(served: Served, *lines: bytes, body: bytes = ALONE, length: bool = True) -> bytes:
    """All that is answered to these bytes."""
    head = [*lines]
    for name, value in (ACCEPTED | FOR_ALONE).items():
        head.append(f"{name}: {value}".encode())
    if length:
        head.append(b"Content-Length: %d" % len(body))
    with socket.create_connection((served.host, served.port), timeout=PATIENCE) as line:
        line.sendall(FIRST + b"\r\n".join([*head, b"Connection: close", b"", body]))
        return line.makefile("rb").read()


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def of(person: dict[str, str]) -> list[bytes]:
    return [f"{name}: {value}".encode() for name, value in person.items()]


def test_only_the_gateway_is_answered_and_only_with_a_name(gated: Served) -> None:
    good = ANN.sent()
    refused = {
        "nothing": ({}, 403),
        "no secret": ({NAME: ANN.name, EMAIL: ANN.email}, 403),
        "another secret": (ANN.sent(**{OURS: SECRET + "x"}), 403),
        "the secret as a token": ({**ANN.sent(), OURS: "", "Authorization": SECRET}, 403),
        "no name": ({OURS: SECRET, EMAIL: ANN.email}, 401),
        "no address": ({OURS: SECRET, NAME: ANN.name}, 401),
        "a name in another header": ({OURS: SECRET, EMAIL: ANN.email, "X-User": "Ann"}, 401),
        "signs of a commit": (ANN.sent(**{NAME: "Ann <eve@acme.example>"}), 400),
        "a long name": (ANN.sent(**{NAME: "a" * 5_000}), 431),
    }
    for what, (headers, code) in refused.items():
        answer = raw(gated, *of(headers))
        assert status(answer) == code, what
        for word in (SECRET, "Ann", "eve", "acme", "aaaa"):
            assert word.encode() not in answer, what
        assert (b"www-authenticate: Bearer" in answer) == (code == 401), what
    assert status(raw(gated, *of(good))) == 200
    # what stood before the gateway still stands
    assert status(raw(gated, *of({**good, "Origin": "https://evil.example"}))) == 403
    assert gated.ask(Host="evil.example", **good) == 421
    assert gated.ask(Host="evil.example") == 403
    with connected(with_headers(gated.url, good)) as ann:
        assert ann.call("search", query="workflow")["lessons"]


def test_no_second_header_and_no_odd_line_makes_another_person(gated: Served) -> None:
    good = of(ANN.sent())
    eve = BO.name.encode()
    for more in (
        [b"X-Forwarded-User: " + eve],
        [b"x-forwarded-user: " + eve],
        [b"X_Forwarded_User: " + eve],
        [b"x-forwarded_user: " + eve],
        [b"X-Forwarded-Email: bo@acme.example"],
        [b"X_FORWARDED_EMAIL: bo@acme.example"],
        [b"X-Forwarded-User:"],
    ):
        assert status(raw(gated, *more, *good)) == 400, more
        assert status(raw(gated, *good, *more)) == 400, more
    # lines that HTTP forbids, or that go on in the next one
    for name in (
        b"X-Forwarded-User : Ann", b" X-Forwarded-User: Ann", b"X-Forwarded-User: Ann\r\n <eve@x>",
        b"X-Forwarded-User: Ann\n<eve@x>", b"X-Forwarded-User: Ann\0", b"X-Forwarded-User: Ann\rx: y",
        b"X-Forwarded-User\x0b: Ann",
    ):  # fmt: skip
        answer = raw(gated, name, *of({OURS: SECRET, EMAIL: ANN.email}))
        assert status(answer) in {400, 401}, name
        assert b"eve" not in answer


def test_a_request_inside_of_another_is_nobodys(gated: Served) -> None:
    """Where a gateway and the server do not agree where a request ends, the rest lacks the secret."""
    inner = FIRST + b"X-Forwarded-User: Bo\r\nX-Forwarded-Email: bo@acme.example\r\n"
    inner += b"Content-Length: 0\r\n\r\n"
    both = [*of(ANN.sent()), b"Transfer-Encoding: chunked", b"Content-Length: 4"]
    for body in (b"0\r\n\r\n" + inner, inner):
        answer = raw(gated, *both, body=body, length=False)
        codes = [int(part[:3]) for part in answer.split(b"HTTP/1.1 ")[1:]]
        assert codes
        assert set(codes) <= {400, 403}, answer
    # what stands behind the body is no header
    trailers = b"X-Forwarded-User: Ann\r\nX-Forwarded-Email: ann@acme.example\r\n"
    behind = b"%x\r\n%s\r\n0\r\n%s\r\n" % (len(ALONE), ALONE, trailers)
    chunked = [*of({OURS: SECRET}), b"Transfer-Encoding: chunked"]
    assert status(raw(gated, *chunked, body=behind, length=False)) == 401
    twice = [*of(ANN.sent()), b"Content-Length: %d" % len(ALONE), b"Content-Length: 0"]
    assert status(raw(gated, *twice, length=False)) == 400


def test_a_session_answers_only_to_who_opened_it(knowledge: Path) -> None:
    write_settings()
    with (
        serving("--http", "127.0.0.1:0") as gated,
        connected(with_headers(gated.url, ANN.sent()), mode="legacy") as ann,
    ):
        assert ann.call("search", query="workflow")["lessons"]
        log = Path.home() / ".local/state/ai-lessons/mcp.log"
        session = log.read_text().partition("session ID: ")[2][:32].strip()
        named = {"Mcp-Session-Id": session}
        assert gated.ask(**ANN.sent(), **named) == 200
        assert gated.ask(**BO.sent(), **named) == 404
        assert gated.ask(**ANN.sent(**{EMAIL: "Ann@ACME.example"}), **named) == 200
        assert gated.ask(**named) == 403
        assert ann.call("search", query="workflow")["lessons"]


def test_a_gateway_on_this_machine_may_do_without_a_secret(knowledge: Path) -> None:
    put_file(config_file(), f"[gateway]\n{SETTINGS}loopback = true\n")
    person = {NAME: ANN.name, EMAIL: ANN.email}
    with serving_inside() as served:
        assert served.ask() == 401
        assert served.ask(**person, Host="evil.example") == 421
        assert status(raw(served, *of({**person, "Origin": "https://evil.example"}))) == 403
        with connected(with_headers(served.url, person)) as ann:
            made = ann.call("add_lesson", title="Quagga", content="C")
    assert made["commit"]


def test_without_settings_headers_are_no_names(knowledge: Path, git: Git) -> None:
    with serving_inside() as served:
        assert status(raw(served, *of(ANN.sent()))) == 200
        with connected(with_headers(served.url, ANN.sent())) as agent:
            made = agent.call("add_lesson", title="Quagga", content="C")
    assert git(knowledge, "log", "-1", "--format=%an <%ae>", made["commit"]) == (
        "Test Person <person@example.com>"
    )
    assert not (Path.home() / ".local/state/ai-lessons/calls").exists()
