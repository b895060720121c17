"""Web pages, fetched within bounds from public addresses.

`documents` turns them into Markdown.
"""

from __future__ import annotations

import html
import socket
import string
import threading
import time
import zlib
from contextlib import suppress
from http.client import HTTPException
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import NamedTuple
from urllib.parse import quote, unquote, urljoin, urlsplit
from urllib.request import getproxies_environment, proxy_bypass
from urllib.robotparser import RobotFileParser

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection

from ai_lessons.errors import NotFound, Refused, Unreachable, UsageError
from ai_lessons.model import expression

# Bytes of a page
LARGEST = 32 * 1024 * 1024
# For one page with all that it asks for, and for the next bytes of the server
PAGE_SECONDS, _WAIT = 60.0, 15.0
_REDIRECTS, _SITEMAPS = 5, 50
# Bytes of the rules for robots that are read, as RFC 9309 has it
_ROBOTS = 500 * 1024
_AGENT = "ai-lessons"
_HEADERS = {
    "User-Agent": _AGENT, "Accept": "text/markdown, text/html;q=0.9, */*;q=0.5", "Accept-Encoding": "gzip, deflate",
}  # fmt: skip
_SUFFIXES = {
    "text/html": ".html", "application/xhtml+xml": ".html", "application/pdf": ".pdf", "text/markdown": ".md",
    "text/plain": ".txt", "text/x-rst": ".rst", "text/asciidoc": ".adoc", "application/x-ipynb+json": ".ipynb",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
}  # fmt: skip
# The only addresses of IPv6 that are given out for the internet
_GLOBAL = ip_network("2000::/3")
# Mapped, and of NAT64
_AROUND_IPV4 = (ip_network("::ffff:0:0/96"), ip_network("64:ff9b::/96"))


class WebPage(NamedTuple):
    """A response: the address after redirects, the bytes, and the server's validators of them."""

    url: str
    data: bytes
    suffix: str
    etag: str = ""
    modified: str = ""


class Web:
    """The requests of one import: the robots.txt of each server is read once.

    `allow_private`: a requested address may be private; never another host or port that a page or
    sitemap leads to.
    """

    def __init__(self, *, allow_private: bool = False) -> None:
        self._allow_private = allow_private
        self._robots: dict[str, RobotFileParser] = {}

    def page(self, url: str, *, etag: str = "", modified: str = "") -> WebPage | None:
        """The page, or None where it is unchanged since `etag` or `modified` (its `Last-Modified`).

        Raises UsageError: no address of a page. Refused: a private address, or the server lets no
        robot read it.
        NotFound: there is none. Unreachable: the server cannot be reached, is too slow, or sends
        too much.
        """
        headers = {}
        if etag:
            headers["If-None-Match"] = etag
        if modified:
            headers["If-Modified-Since"] = modified
        answer = self._get(url, headers, _place(url), heed=True)
        if answer.status == 304:
            return None
        if answer.status in {404, 410}:
            raise NotFound("page", url)
        if answer.status != 200:
            raise Unreachable(f"{url}: the server answers {answer.status}")
        kind = answer.headers.get("Content-Type", "text/html").partition(";")[0].strip().lower()
        if kind not in _SUFFIXES:
            raise UsageError(
                f"{url} is {kind}, not a text", hint=f"what is read: {', '.join(_SUFFIXES)}"
            )
        return WebPage(
            answer.url,
            answer.data,
            _suffix_of(answer.url, kind),
            etag=answer.headers.get("ETag", ""),
            modified=answer.headers.get("Last-Modified", ""),
        )

    @staticmethod
    def is_sitemap(url: str) -> bool:
        """Whether an address names a sitemap, by its end."""
        return urlsplit(url).path.endswith((".xml", ".xml.gz"))

    def sitemap(self, url: str) -> list[str]:
        """The pages that a sitemap names, and those of sitemaps that it names. Raises as `page`."""
        pages: dict[str, None] = {}
        sitemaps, typed = [url], _place(url)
        for sitemap in sitemaps:
            # grows in the loop
            answer = self._get(sitemap, {}, typed)
            if answer.status != 200:
                raise NotFound(
                    "sitemap",
                    url,
                    hint="name the address of a sitemap, such as https://example.org/sitemap.xml",
                )
            for location in locations(_unpacked(answer).decode("utf-8", "replace")):
                page = urljoin(answer.url, location)
                if not self.is_sitemap(page):
                    pages[page] = None
                elif len(sitemaps) < _SITEMAPS:
                    sitemaps.append(page)
        return list(pages)

    def _rules(self, url: str, typed: tuple[str, int], end: float) -> RobotFileParser:
        """The server's robots.txt.

        Empty where it has none, and one that forbids all where the server fails.
        """
        top = urljoin(url, "/robots.txt")
        if top not in self._robots:
            answer, rules = self._get(top, {}, typed, end), RobotFileParser(top)
            lines: list[str] = []
            if answer.status == 200:
                lines = answer.data[:_ROBOTS].decode("utf-8", "replace").splitlines()
            elif answer.status >= 500:
                lines = ["User-agent: *", "Disallow: /"]
            rules.parse(lines)
            self._robots[top] = rules
        return self._robots[top]

    def _get(
        self,
        url: str,
        headers: dict[str, str],
        typed: tuple[str, int],
        end: float = 0,
        *,
        heed: bool = False,
    ) -> _Answer:
        """One answer by `end`, redirects followed; every address is checked before the connection.

        `heed`: also check the robots.txt of its server.
        """
        start, end = url, end or time.monotonic() + PAGE_SECONDS
        for _ in range(_REDIRECTS + 1):
            host, port, address = self._where(url, typed)
            if heed and not self._rules(url, typed, end).can_fetch(_AGENT, url):
                hint = "save the page, then add it with --path"
                raise Refused(f"the server's robots.txt keeps robots away from {url}", hint=hint)
            left = end - time.monotonic()
            if left <= 0:
                raise _too_slow(start)
            server = _Server(host, port, address, min(_WAIT, left))
            answer = _ask_at(server, url, headers, end)
            location = answer.headers.get("Location")
            if answer.status not in {301, 302, 303, 307, 308} or not location:
                return answer
            url = urljoin(url, location)
        raise Unreachable(f"{start} leads on and on", hint=f"{_REDIRECTS} redirects are followed")

    def _where(self, url: str, typed: tuple[str, int]) -> tuple[str, int, str]:
        """Host, port and the address to connect to, resolved once.

        A second answer of DNS could be another address.

        Behind a proxy a name that is not known here has no address: the proxy looks it up.
        """
        host, port = _place(url)
        proxied = _proxy(url) is not None
        try:
            rows = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            if not proxied:
                raise Unreachable(
                    f"{host} has no address: {error}", hint="look at the name and the network"
                ) from error
            rows = []
        addresses = []
        for row in rows:
            # without the name of the interface
            addresses.append(ip_address(str(row[4][0]).partition("%")[0]))
        public = all(map(_is_public, addresses))
        if not addresses:
            public = not _OF_A_NETWORK.search(f".{host.rstrip('.')}")
        if not public and not (self._allow_private and (host, port) == typed):
            hint = "if it shall be read, ask for it by its own address, with --allow-private"
            raise Refused(f"{host} is of this machine or its network", hint=hint)
        if not addresses:
            return host, port, ""
        return host, port, str(addresses[0])


def _suffix_of(url: str, kind: str) -> str:
    """How the name of a page ends that is served as this kind; a plain text says it by its own name."""
    if kind == "text/plain":
        path = urlsplit(url).path.lower()
        for ending in _SUFFIXES.values():
            if path.endswith(ending):
                return ending
    return _SUFFIXES[kind]


def _place(url: str) -> tuple[str, int]:
    """The host and port of a page. Raises UsageError: it is no address of one."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise UsageError(f"{url!r} is no address: {error}") from error
    if parts.scheme not in {"http", "https"} or not host or not parts.netloc.isascii():
        raise UsageError(
            f"{url!r} is no address of a page", hint="it begins with https:// or http://"
        )
    if parts.username is not None:
        raise UsageError(
            "an address with a name or password in it is not asked", hint="leave them out"
        )
    if port:
        return host, port
    if parts.scheme == "https":
        return host, 443
    return host, 80


# Names that mean nothing outside a network: a single word, and those below such an end.
_OF_A_NETWORK = expression(
    r"(?i)^\.[^.]*$|\.(?:local|localhost|localdomain|internal|intranet|private|corp|home|lan|arpa)$"
)


def _proxy(url: str) -> tuple[str, int, dict[str, str]] | None:
    """Host and port of the proxy that the environment names for an address, and headers for it.

    None: there is none.

    Raises UsageError: it is none that is asked over HTTP.
    """
    parts, proxies = urlsplit(url), getproxies_environment()
    stated = proxies.get(parts.scheme) or proxies.get("all")
    if not stated or proxy_bypass(parts.netloc):
        return None
    if "://" not in stated:
        stated = f"http://{stated}"
    try:
        proxy = urlsplit(stated)
        host, port = proxy.hostname, proxy.port or 80
    except ValueError:
        host = None
    if not host or proxy.scheme != "http":
        raise UsageError(
            "the proxy of the environment is none that is asked over HTTP",
            hint="http_proxy, https_proxy",
        )
    headers: dict[str, str] = {}
    if proxy.username:
        name = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
        headers |= urllib3.make_headers(proxy_basic_auth=name)
    return host, port, headers


def _unpacked(answer: _Answer) -> bytes:
    """A sitemap, also where it is a gzip file. Raises Unreachable: it is damaged, or too large."""
    if not answer.data.startswith(b"\x1f\x8b"):
        return answer.data
    try:
        data = zlib.decompressobj(31).decompress(answer.data, LARGEST + 1)
    except zlib.error as error:
        raise Unreachable(f"{answer.url} cannot be unpacked: {error}") from error
    if len(data) > LARGEST:
        raise Unreachable(f"{answer.url} is larger than {LARGEST >> 20} MB")
    return data


def locations(sitemap: str) -> list[str]:
    """The addresses that a sitemap names."""
    # no parser of XML: a sitemap may be large, and damaged
    locations = []
    for part in sitemap.split("<loc>")[1:]:
        text, closed, _ = part.partition("</loc>")
        if closed:
            address = text.strip().removeprefix("<![CDATA[").removesuffix("]]>").strip()
            locations.append(html.unescape(address))
    return locations


class _Answer(NamedTuple):
    url: str
    status: int
    headers: urllib3.HTTPHeaderDict
    data: bytes


class _Server(NamedTuple):
    """A server at one of its addresses; `wait`: seconds for its next bytes."""

    host: str
    port: int
    address: str
    wait: float


def _ask_at(server: _Server, url: str, headers: dict[str, str], end: float) -> _Answer:
    """One answer of a server, or of the proxy before it, by `end`."""
    host, port, address, wait = server
    proxy = _proxy(url)
    to, at, signed_in = proxy or (address, port, {})
    sent = _HEADERS | {"Host": urlsplit(url).netloc}
    connection: HTTPConnection
    if urlsplit(url).scheme == "https":
        connection = HTTPSConnection(
            to, at, timeout=wait, server_hostname=host, assert_hostname=host
        )
        if proxy:
            connection.set_tunnel(host, port, signed_in)
        return _ask(connection, url, sent | headers, end)
    connection = HTTPConnection(to, at, timeout=wait)
    return _ask(connection, url, sent | signed_in | headers, end, whole=bool(proxy))


def _ask(
    connection: HTTPConnection,
    url: str,
    headers: dict[str, str],
    end: float,
    *,
    whole: bool = False,
) -> _Answer:
    """One answer. At `end` the connection is cut, also while bytes arrive. Raises Unreachable.

    `whole`: the address is sent whole, as a proxy is asked.
    """
    parts = urlsplit(url)._replace(fragment="")
    if not whole:
        parts = parts._replace(scheme="", netloc="")
    target = parts.geturl() or "/"
    late = threading.Event()

    def cut(line: socket.socket) -> None:
        late.set()
        with suppress(OSError):
            # it has ended
            # not that of TLS, which takes the session from the reader
            socket.socket.shutdown(line, socket.SHUT_RDWR)

    timer = None
    try:
        connection.connect()
        timer = threading.Timer(end - time.monotonic(), cut, [connection.sock])
        timer.start()
        connection.request(
            "GET", quote(target, safe=string.punctuation), headers=headers, preload_content=False
        )
        answer = connection.getresponse()
        data = b""
        for piece in answer.stream(1 << 16, decode_content=True):
            data += piece
            if len(data) > LARGEST:
                raise Unreachable(f"{url} is larger than {LARGEST >> 20} MB")
    except (urllib3.exceptions.HTTPError, HTTPException, OSError, ValueError) as error:
        # CertificateError is the last
        if not late.is_set():
            why = f"{url} cannot be reached: {error}"[:300]
            raise Unreachable(why, hint="look at the address in a browser") from error
    finally:
        if timer:
            timer.cancel()
        connection.close()
    if late.is_set():
        raise _too_slow(url)
    return _Answer(url, answer.status, answer.headers, data)


def _too_slow(url: str) -> Unreachable:
    return Unreachable(f"{url} takes longer than {PAGE_SECONDS:.0f} seconds")


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    """Whether an address is public; one of IPv6 that contains one of IPv4 is as public as that."""
    if isinstance(address, IPv6Address):
        low = IPv4Address(int(address) & 0xFFFFFFFF)
        if any(address in network for network in _AROUND_IPV4):
            return _is_public(low)
        # ISATAP (RFC 5214): behind 5EFE, whatever its bit for global addresses is, the last 32 bits
        # are one of IPv4
        inner = address.sixtofour
        if int(address) >> 32 & 0xFDFFFFFF == 0x5EFE:
            inner = low
        if address not in _GLOBAL or address.teredo or (inner and not _is_public(inner)):
            return False
    return address.is_global and not address.is_multicast
