"""Pages of the web: asked for once, within bounds, and from public addresses alone unless the caller says otherwise.

urllib3 is of the extra `intake`, and loaded with this module.
"""

from __future__ import annotations

import html
import re
import socket
import string
import time
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import NamedTuple
from urllib.parse import quote, urljoin, urlsplit
from urllib.robotparser import RobotFileParser

import urllib3

from ai_lessons.errors import NotFound, Refused, Unreachable, UsageError

LARGEST = 32 * 1024 * 1024  # Bytes of a page
_SECONDS, _WAIT = 60, 15  # For one page, and for one answer of the server
_REDIRECTS, _SITEMAPS = 5, 50
_AGENT = "ai-lessons"
_HEADERS = {
    "User-Agent": _AGENT, "Accept": "text/markdown, text/html;q=0.9, */*;q=0.5", "Accept-Encoding": "gzip, deflate",
}  # fmt: skip
_SUFFIXES = {
    "text/html": ".html", "application/xhtml+xml": ".html", "application/pdf": ".pdf", "text/markdown": ".md",
    "text/plain": ".txt", "text/x-rst": ".rst", "text/asciidoc": ".adoc", "application/x-ipynb+json": ".ipynb",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
}  # fmt: skip
_NAT64 = ip_network("64:ff9b::/96")
_LOCATION = re.compile(r"<loc>\s*(?:<!\[CDATA\[)?\s*(.*?)\s*(?:\]\]>)?\s*</loc>", re.S)


class WebPage(NamedTuple):
    """What a server gave: the address after redirects, the bytes, and what it says of when they changed."""

    url: str
    data: bytes
    suffix: str
    etag: str = ""
    modified: str = ""


class Web:
    """Asks servers for pages as one import does: the rules of each server for robots are read once."""

    def __init__(self, *, allow_private: bool = False) -> None:
        self._allow_private = allow_private
        self._robots: dict[str, RobotFileParser] = {}

    def page(self, url: str, *, etag: str = "", modified: str = "") -> WebPage | None:
        """The page, or None where it is as `etag` or `modified` (its `Last-Modified`) say.

        Raises UsageError: no address of a page. Refused: a private address, or the server lets no robot read it.
        NotFound: there is none. Unreachable: the server cannot be reached, is too slow, or sends too much.
        """
        asked = {"If-None-Match": etag, "If-Modified-Since": modified}
        found = self._get(url, {name: value for name, value in asked.items() if value}, heed=True)
        if found.status == 304:
            return None
        if found.status in {404, 410}:
            raise NotFound("page", url)
        if found.status != 200:
            raise Unreachable(f"{url}: the server answers {found.status}")
        kind = found.headers.get("Content-Type", "text/html").partition(";")[0].strip().lower()
        path = urlsplit(found.url).path.lower()
        suffix = next((one for one in _SUFFIXES.values() if path.endswith(one)), "") if kind == "text/plain" else ""
        if kind not in _SUFFIXES:
            raise UsageError(f"{url} is {kind}, not a text", hint=f"what is read: {', '.join(_SUFFIXES)}")
        said = (found.headers.get(name, "") for name in ("ETag", "Last-Modified"))
        return WebPage(found.url, found.data, suffix or _SUFFIXES[kind], *said)

    def sitemap(self, url: str) -> list[str]:
        """The pages that a sitemap names, and those of sitemaps that it names. Raises as `page`."""
        pages: dict[str, None] = {}
        left, asked = [url], 0
        while left and asked < _SITEMAPS:
            asked += 1
            found = self._get(left.pop(0), {})
            if found.status != 200:
                raise NotFound(
                    "sitemap", url, hint="name the address of a sitemap, such as https://example.org/sitemap.xml"
                )
            for said in _LOCATION.findall(found.data.decode("utf-8", "replace")):
                location = urljoin(found.url, html.unescape(said))
                if urlsplit(location).path.endswith(".xml"):
                    left.append(location)
                else:
                    pages[location] = None
        return list(pages)

    def _rules(self, url: str) -> RobotFileParser:
        """What a server asks of robots: nothing where it has no such file, to stay away where that cannot be had."""
        top = urljoin(url, "/robots.txt")
        if top not in self._robots:
            found, rules = self._get(top, {}), RobotFileParser(top)
            away = ["User-agent: *", "Disallow: /"] if found.status >= 500 else []
            rules.parse(found.data.decode("utf-8", "replace").splitlines() if found.status == 200 else away)
            self._robots[top] = rules
        return self._robots[top]

    def _get(self, url: str, headers: dict[str, str], *, heed: bool = False) -> _Answer:
        """One answer, redirects followed; every address on the way is looked at before anything is sent to it.

        `heed`: also whether the rules of its server let robots read it.
        """
        start, end = url, time.monotonic() + _SECONDS
        for _ in range(_REDIRECTS + 1):
            host, port, address = self._where(url)
            if heed and not self._rules(url).can_fetch(_AGENT, url):
                hint = "save the page, then add it with --path"
                raise Refused(f"the server's robots.txt keeps robots away from {url}", hint=hint)
            named = _HEADERS | {"Host": urlsplit(url).netloc} | headers
            timeout = urllib3.Timeout(connect=_WAIT, read=_WAIT)
            pool = (
                urllib3.HTTPSConnectionPool(address, port, timeout=timeout, server_hostname=host, assert_hostname=host)
                if urlsplit(url).scheme == "https"
                else urllib3.HTTPConnectionPool(address, port, timeout=timeout)
            )
            target = urlsplit(url)._replace(scheme="", netloc="", fragment="").geturl() or "/"
            try:
                with pool:
                    answer = pool.urlopen(
                        "GET", quote(target, safe=string.punctuation), headers=named, redirect=False, retries=False,
                        preload_content=False,
                    )  # fmt: skip
                    data = _read(answer, url, end)
            except urllib3.exceptions.HTTPError as error:
                why = f"{url} cannot be reached: {error}"[:300]
                raise Unreachable(why, hint="look at the address in a browser") from error
            location = answer.headers.get("Location")
            if answer.status not in {301, 302, 303, 307, 308} or not location:
                return _Answer(url, answer.status, answer.headers, data)
            url = urljoin(url, location)
        raise Unreachable(f"{start} leads on and on", hint=f"{_REDIRECTS} redirects are followed")

    def _where(self, url: str) -> tuple[str, int, str]:
        """Host, port and the address to connect to: what was looked at is what is asked, whatever a name says later."""
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
        except ValueError as error:
            raise UsageError(f"{url!r} is no address: {error}") from error
        if parts.scheme not in {"http", "https"} or not host or not parts.netloc.isascii():
            raise UsageError(f"{url!r} is no address of a page", hint="it begins with https:// or http://")
        if parts.username is not None:
            raise UsageError("an address with a name or password in it is not asked", hint="leave them out")
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise Unreachable(f"{host} has no address: {error}", hint="look at the name and the network") from error
        addresses = [ip_address(str(one[4][0]).partition("%")[0]) for one in found]
        if not self._allow_private and not all(map(_is_public, addresses)):
            raise Refused(f"{host} is of this machine or its network", hint="if it shall be read: --allow-private")
        return host, port, str(addresses[0])


class _Answer(NamedTuple):
    url: str
    status: int
    headers: urllib3.HTTPHeaderDict
    data: bytes


def _read(answer: urllib3.BaseHTTPResponse, url: str, end: float) -> bytes:
    data = b""
    for piece in answer.stream(1 << 16, decode_content=True):
        data += piece
        if len(data) > LARGEST:
            raise Unreachable(f"{url} is larger than {LARGEST >> 20} MB")
        if time.monotonic() > end:
            raise Unreachable(f"{url} takes longer than {_SECONDS} seconds")
    return data


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    """Whether it is of the internet, also as an address of IPv4 inside one of IPv6."""
    if isinstance(address, IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if address in _NAT64:
            inner = IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return _is_public(inner)
        if address.teredo is not None:
            return False
    return address.is_global and not address.is_multicast
