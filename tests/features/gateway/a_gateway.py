"""A small gateway: it knows people by a password, says who asks, and sends each request to the next server."""

import http.client
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from itertools import cycle

from a_server import listening
from features.gateway.gateway_world import EMAIL, NAME, Person
from interfaces.http_world import PATIENCE, Served

# Of one connection, or set by the gateway alone
_DROPPED = {"connection", "transfer-encoding", "host", "authorization", "x-gateway-secret"}


class Gateway:
    """`of` are people by their passwords; `asked` notes which server got which request, in order."""

    def __init__(
        self, servers: Sequence[Served], of: Mapping[str, Person], *, sticky: bool
    ) -> None:
        self.of, self._sticky, self._servers = of, sticky, servers
        self.asked: list[int] = []
        self._next, self._lock = cycle(range(len(servers))), threading.Lock()
        self.url = ""

    def server_for(self, password: str) -> Served:
        """The next one; where it is sticky that of the person."""
        with self._lock:
            number = next(self._next)
            if self._sticky:
                number = sorted(self.of).index(password) % len(self._servers)
            self.asked.append(number)
            return self._servers[number]


def _handler(gateway: Gateway) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_args: object) -> None:
            pass

        def _forward(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            password = self.headers.get("Authorization", "")
            if password not in gateway.of:
                self.send_response(401)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self._answer(gateway.server_for(password), gateway.of[password], body)

        def _answer(self, server: Served, person: Person, body: bytes) -> None:
            headers = person.sent()
            for name, value in self.headers.items():
                if name.lower() not in _DROPPED | {NAME.lower(), EMAIL.lower()}:
                    headers[name] = value
            line = http.client.HTTPConnection(server.host, server.port, timeout=PATIENCE)
            sent = {name: value.encode() for name, value in headers.items()}
            line.request(self.command, "/mcp", body, sent)
            answer = line.getresponse()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in _DROPPED | {"content-length", "date"}:
                    self.send_header(name, value)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            try:
                while piece := answer.read1(1 << 16):
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                self.wfile.write(b"0\r\n\r\n")
            except OSError:
                # the client has gone
                self.close_connection = True
            finally:
                line.close()

        do_POST = do_GET = do_DELETE = _forward  # noqa: N815  # as http.server calls them

    return Handler


@contextmanager
def gateway_before(
    servers: Sequence[Served], of: Mapping[str, Person], *, sticky: bool = False
) -> Iterator[Gateway]:
    """A gateway before these servers, on this machine."""
    gateway = Gateway(servers, of, sticky=sticky)
    with listening(_handler(gateway)) as host:
        gateway.url = f"http://{host}/mcp"
        yield gateway
