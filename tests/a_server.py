"""A web server of a test, on this machine."""

from collections.abc import Iterator
from contextlib import contextmanager
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import NamedTuple


class Reply(NamedTuple):
    """What the server says to one path. With an `etag` it says 304 to who names it; `endless` never stops."""

    body: bytes = b""
    kind: str = "text/html; charset=utf-8"
    status: int = 200
    etag: str = ""
    modified: str = ""
    location: str = ""
    endless: bool = False


class Site:
    """Replies by path, which a test may change, and what was asked in order."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.replies: dict[str, Reply] = {}
        self.asked: list[str] = []
        self.headers: list[Message] = []


@contextmanager
def serving() -> Iterator[Site]:
    """A site on a port of its own, until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.asked.append(self.path)
            site.headers.append(self.headers)
            reply = site.replies.get(self.path, Reply(status=404))
            same = reply.etag and self.headers["If-None-Match"] == reply.etag
            same = same or (reply.modified and self.headers["If-Modified-Since"] == reply.modified)
            self.send_response(304 if same else reply.status)
            said = {"Content-Type": reply.kind, "ETag": reply.etag, "Last-Modified": reply.modified}
            for name, value in (said | {"Location": reply.location}).items():
                if value:
                    self.send_header(name, value)
            self.end_headers()
            while reply.endless:
                try:
                    self.wfile.write(b"x" * (1 << 20))
                except OSError:
                    return
            if not same:
                self.wfile.write(reply.body)

        do_CONNECT = do_GET  # noqa: N815  # as the package calls it

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with listening(Handler) as host:
        site = Site(f"http://{host}")
        yield site


@contextmanager
def listening(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """A server on a port of its own, as `host:port`, until the block ends."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
