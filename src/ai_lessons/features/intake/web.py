"""Web pages and documents.

Fetched within bounds from public addresses, and turned into Markdown.
"""

from __future__ import annotations

import html
import logging
import re
import socket
import string
import threading
import time
import zipfile
import zlib
from contextlib import suppress
from http.client import HTTPException
from io import BytesIO
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, unquote, urljoin, urlsplit
from urllib.request import getproxies_environment, proxy_bypass
from urllib.robotparser import RobotFileParser
from xml.parsers.expat import ExpatError

import mammoth  # type: ignore[import-untyped]  # it has no types
import trafilatura
import urllib3
from bs4 import BeautifulSoup
from markdownify import markdownify
from pypdf import PdfReader
from pypdf.errors import PyPdfError
from urllib3.connection import HTTPConnection, HTTPSConnection

from ai_lessons.connectors.archives import Limits, content, files_within
from ai_lessons.errors import InvalidEntry, NotFound, Problem, Refused, Unreachable, UsageError
from ai_lessons.model import expression

if TYPE_CHECKING:
    from collections.abc import Callable

    from bs4 import Tag

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
        validators = {"If-None-Match": etag, "If-Modified-Since": modified}
        headers = {}
        for name, value in validators.items():
            if value:
                headers[name] = value
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
        path, suffix = urlsplit(answer.url).path.lower(), _SUFFIXES[kind]
        if kind == "text/plain":
            suffix = next(
                (ending for ending in _SUFFIXES.values() if path.endswith(ending)), suffix
            )
        return WebPage(
            answer.url,
            answer.data,
            suffix,
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
            if answer.status >= 500:
                lines = ["User-agent: *", "Disallow: /"]
            else:
                lines = []
            if answer.status == 200:
                lines = answer.data[:_ROBOTS].decode("utf-8", "replace").splitlines()
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
            if (left := end - time.monotonic()) <= 0:
                raise _too_slow(start)
            wait = min(_WAIT, left)
            tls = urlsplit(url).scheme == "https"
            proxy = _proxy(url)
            to, at, signed_in = proxy or (address, port, {})
            connection = (
                HTTPSConnection(to, at, timeout=wait, server_hostname=host, assert_hostname=host)
                if tls
                else HTTPConnection(to, at, timeout=wait)
            )
            if proxy and tls:
                connection.set_tunnel(host, port, signed_in)
            sent = _HEADERS | {"Host": urlsplit(url).netloc} | ({} if tls else signed_in) | headers
            answer = _ask(connection, url, sent, end, whole=bool(proxy) and not tls)
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
            addresses.append(ip_address(str(row[4][0]).partition("%")[0]))
        if addresses:
            public = all(map(_is_public, addresses))
        else:
            public = not _OF_A_NETWORK.search(f".{host.rstrip('.')}")
        if not public and not (self._allow_private and (host, port) == typed):
            hint = "if it shall be read, ask for it by its own address, with --allow-private"
            raise Refused(f"{host} is of this machine or its network", hint=hint)
        return host, port, str(addresses[0]) if addresses else ""


def _place(url: str) -> tuple[str, int]:
    """The host and port of a page. Raises UsageError: it is no address of one."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
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
    return host, port


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
    try:
        proxy = urlsplit(stated if "://" in stated else f"http://{stated}")
        host, port = proxy.hostname, proxy.port or 80
    except ValueError:
        host = None
    if not host or proxy.scheme != "http":
        raise UsageError(
            "the proxy of the environment is none that is asked over HTTP",
            hint="http_proxy, https_proxy",
        )
    name = f"{unquote(proxy.username or '')}:{unquote(proxy.password or '')}"
    if proxy.username:
        headers = urllib3.make_headers(proxy_basic_auth=name)
    else:
        headers = {}
    return host, port, dict(headers)


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
    parts = (part.partition("</loc>") for part in sitemap.split("<loc>")[1:])
    texts = (
        text.strip().removeprefix("<![CDATA[").removesuffix("]]>").strip()
        for text, closed, _ in parts
        if closed
    )
    locations: list[str] = []
    for text in texts:
        locations.append(html.unescape(text))
    return locations


class _Answer(NamedTuple):
    url: str
    status: int
    headers: urllib3.HTTPHeaderDict
    data: bytes


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
    target = (parts if whole else parts._replace(scheme="", netloc="")).geturl() or "/"
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
        inner = low if int(address) >> 32 & 0xFDFFFFFF == 0x5EFE else address.sixtofour
        if address not in _GLOBAL or address.teredo or (inner and not _is_public(inner)):
            return False
    return address.is_global and not address.is_multicast


# our error reports what it cannot read
logging.getLogger("pypdf").setLevel(logging.CRITICAL)
# Of the processor, for all of one document
MOST_SECONDS = 60
# The texts that a Word document may have inside
UNPACKED = Limits(64 << 20, 32 << 20, 10_000)
_NO_TEXT = (
    "script, style, noscript, template, nav, aside, svg, iframe, button, .headerlink, .skip-link"
)
# What the packages raise at damaged documents, without documenting it.
_BROKEN = (
    PyPdfError, zipfile.BadZipFile, zlib.error, ExpatError, ValueError, LookupError, TypeError, AttributeError, OSError,
    RuntimeError,
)  # fmt: skip


def convert(name: str, suffix: str, data: bytes) -> str:
    """The text of a document whose name ends so (a key of `CONVERTERS`).

    Raises InvalidEntry: damaged, or no text.
    """
    try:
        text = CONVERTERS[suffix](data)
    except _BROKEN as error:
        raise InvalidEntry(
            [Problem(name, f"cannot be read: {str(error)[:200] or type(error).__name__}")]
        ) from error
    if not text.strip():
        if suffix == ".pdf":
            why = "it is locked, or pictures of pages"
        else:
            why = "it may be made by scripts in a browser"
        raise InvalidEntry([Problem(name, f"there is no text in it: {why}")])
    titled = suffix != ".pdf" or text.startswith("# ")
    return ("" if titled else f"# {name[: -len(suffix)]}\n\n") + text.strip() + "\n"


def _refuse_tags(count: int) -> None:
    """Of a page, or of what is inside a Word document."""
    if count > 300_000:
        # a tag of five bytes takes 50 microseconds and a kilobyte: 15 seconds and 300 MB
        raise ValueError("it has more than 300,000 tags")


def _html(data: bytes) -> str:
    """What the page marks as its main part, else what an extractor takes for that."""
    _refuse_tags(data.count(b"<"))
    # html.parser takes time with the square of what is not closed
    soup = BeautifulSoup(data, "lxml")
    if soup.title:
        title = soup.title.get_text(" ", strip=True)
    else:
        title = ""
    parts = soup.select("main, [role=main]") or soup.select("article")
    outer = [
        part
        for part in parts
        if not any(part is not other and other in part.parents for other in parts)
    ]
    if outer and outer[0].name != "article":
        outer = [max(outer, key=lambda part: len(part.get_text()))]
    if not outer:
        text = trafilatura.extract(
            data,
            output_format="markdown",
            include_formatting=True,
            include_links=True,
            favor_recall=True,
        )
        text = text or ""
    else:
        for tag in (tag for part in outer for tag in part.select(_NO_TEXT)):
            tag.decompose()
        text = markdownify(
            "\n".join(map(str, outer)), heading_style="ATX", code_language_callback=_language
        )
    headed = any(row.startswith("# ") for row in text.split("\n"))
    if headed or not title or not text.strip():
        return text
    return f"# {title}\n\n{text}"


def _language(code: Tag) -> str:
    """The language of `<pre>`.

    Highlighters write it in a class of it, of its `<code>` or of a tag around it.
    """
    tags = [code, *code.find_all("code"), *list(code.parents)[:2]]
    classes = (word for tag in tags for word in tag.get("class") or ())
    return next(
        (
            word.partition("-")[2]
            for word in classes
            if word.startswith(("language-", "highlight-"))
        ),
        "",
    )


_UNTITLED = expression(r"(?i)untitled[\W\d]*")
_BROKEN_WORD = expression(r"(?<=[^\W\d_])(?:-|\xad)\n(?=[^\W\dA-Z_])")


def _pdf(data: bytes) -> str:
    """The text page by page, each below a heading of its own."""
    reader = PdfReader(BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):
        return ""
    title = (reader.metadata.title if reader.metadata else "") or ""
    if _UNTITLED.fullmatch(title.strip()):
        title = ""
    end = time.process_time() + MOST_SECONDS

    def soon(*_: object) -> None:
        if time.process_time() > end:
            raise ValueError(f"it takes longer than {MOST_SECONDS} seconds")

    # no manual has 5,000 pages
    texts = (
        page.extract_text(visitor_operand_before=soon).strip() for page in reader.pages[:5_000]
    )
    pages = []
    for number, text in enumerate(texts, 1):
        if text:
            pages.append(f"## Page {number}\n\n{_BROKEN_WORD.sub('', text)}")
    return "\n\n".join([f"# {' '.join(title.split())}", *pages] if title and pages else pages)


def _docx(data: bytes) -> str:
    """The texts in it, unpacked only if they are small enough; pictures are left out."""
    texts, tags = BytesIO(), 0
    with zipfile.ZipFile(BytesIO(data)) as inside, zipfile.ZipFile(texts, "w") as copy:
        for part in files_within(inside, UNPACKED, lambda name: name.endswith((".xml", ".rels"))):
            text = content(inside, part)
            tags += text.count(b"<")
            _refuse_tags(tags)
            copy.writestr(part.filename, text)
    html = mammoth.convert_to_html(
        texts, convert_image=mammoth.images.img_element(lambda _: {})
    ).value
    return str(markdownify(html, heading_style="ATX", strip=["img"]))


_ROLE = expression(r":([A-Za-z][\w:+.-]{0,60}):`")
_DIRECTIVE = expression(r"\.\.[ \t]+(?:\|[^|\n]*\|[ \t]+)?([A-Za-z][\w:+.-]*)::")
_CODE = frozenset({"code", "code-block", "sourcecode"})
_SILENT = frozenset(
    {"contents", "currentmodule", "highlight", "image", "index", "tabularcolumns", "toctree"}
)


_SETTINGS_OF_DOCUTILS = {
    "_disable_config": True, "file_insertion_enabled": False, "raw_enabled": False, "report_level": 5,
    "halt_level": 5, "doctitle_xform": False, "initial_header_level": 1, "syntax_highlight": "none",
    "stylesheet_path": "", "embed_stylesheet": False, "output_encoding": "unicode",
}  # fmt: skip


def _rst(data: bytes) -> str:
    """By docutils, without what it would include.

    Raises ImportError: it is not here; ValueError: it takes too long.
    """
    from docutils import nodes
    from docutils.core import publish_doctree, publish_from_doctree
    from docutils.parsers.rst import Parser

    end = time.process_time() + MOST_SECONDS

    class Bounded(Parser):  # type: ignore[misc]  # it has no types
        def parse(self, text: str, document: Any) -> None:
            def at_each_line(*_: object) -> None:
                if time.process_time() > end:
                    raise ValueError(f"it takes longer than {MOST_SECONDS} seconds")

            document.note_source = at_each_line
            super().parse(text, document)
            texts = document.substitution_defs
            uses = (
                texts.get(use["refname"]) for use in document.findall(nodes.substitution_reference)
            )
            nested = any(text.next_node(nodes.substitution_reference) for text in texts.values())
            # substitutions may make a text five times as long; nested ones make gigabytes
            if nested or sum(len(use.astext()) for use in uses if use) > 4 * len(text):
                raise ValueError("its substitutions make a longer text of it")

    text = data.decode()
    # docutils spends time with the square of the marks in a paragraph or table
    if any(sum(map(block.count, "`*|_+")) > 2_000 for block in re.split(r"\n[ \t]*\n", text)):
        raise ValueError("a paragraph has more than 2,000 marks")
    _take_as_text(text)
    tree = publish_doctree(text, parser=Bounded(), settings_overrides=_SETTINGS_OF_DOCUTILS)
    for literal in tree.findall(nodes.literal):
        literal["classes"].append("code")
    for inside in [link for link in tree.findall(nodes.reference) if "refid" in link]:
        inside.replace_self(inside.children)
    html = publish_from_doctree(tree, writer="html5", settings_overrides=_SETTINGS_OF_DOCUTILS)
    as_it_is: Any = {"escape_underscores": False, "escape_asterisks": False}
    body = html[html.index("<body") :]
    return str(markdownify(body, heading_style="ATX", code_language_callback=_language, **as_it_is))


def _take_as_text(text: str) -> None:
    """Let docutils take the roles and directives of a text that it does not know, which are those of Sphinx."""
    from docutils import nodes
    from docutils.parsers.rst import Directive, directives, roles
    from docutils.parsers.rst.languages import en

    class AnyOption(dict[str, Any]):
        def __bool__(self) -> bool:
            return True

        def __missing__(self, _: str) -> type[str]:
            return str

    class Other(Directive):  # type: ignore[misc]
        optional_arguments, final_argument_whitespace, has_content, option_spec = (
            1,
            True,
            True,
            AnyOption(),
        )

        def run(self) -> list[Any]:
            if self.name in _CODE:
                code = "\n".join(self.content)
                return [
                    nodes.literal_block(
                        code, code, classes=[f"highlight-{name}" for name in self.arguments]
                    )
                ]
            whole, argument = nodes.container(), "".join(self.arguments)
            if self.name in _SILENT:
                return []
            if argument and not (
                self.name.startswith(("version", "deprecated")) and len(argument.split()) == 1
            ):
                whole += nodes.paragraph("", "", *self.state.inline_text(argument, self.lineno)[0])
            self.state.nested_parse(self.content, self.content_offset, whole)
            return list(whole.children)

    def role(_: str, raw: str, text: str, *__: object) -> tuple[list[Any], list[Any]]:
        return [
            nodes.literal(
                raw, re.sub(r"(?<!\s)\s*<[^<>]*>$", "", nodes.unescape(text)).lstrip("!~")
            )
        ], []

    for name in {name.lower() for name in _ROLE.findall(text)} - en.roles.keys():
        roles.register_local_role(name, role)
    for name in {name.lower() for name in _DIRECTIVE.findall(text)} - (
        en.directives.keys() - _CODE - _SILENT
    ):
        directives.register_directive(name, Other)


CONVERTERS: dict[str, Callable[[bytes], str]] = {
    ".html": _html, ".htm": _html, ".pdf": _pdf, ".docx": _docx, ".rst": _rst,
}  # fmt: skip
