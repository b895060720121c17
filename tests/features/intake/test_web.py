import gzip
import socket
import ssl
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event, Thread
from types import SimpleNamespace
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from a_server import Reply, Site, serving
from ai_lessons.errors import AiLessonsError, NotFound, Refused, Unreachable, UsageError
from ai_lessons.features.intake import web
from ai_lessons.features.intake.web import Web, WebPage
from real_world import instead

PAGE = Reply(b"<p>Text.</p>")


CONNECT = "urllib3.util.connection.create_connection"


def named(*addresses: str) -> AbstractContextManager[None]:
    """Every name has these addresses."""
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 80)) for address in addresses]
    return instead("socket.getaddrinfo", lambda *_, **__: found)


def page_at(url: str) -> WebPage:
    """What is there, which may be on this machine."""
    page = Web(allow_private=True).page(url)
    assert page is not None
    return page


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as one:
        one.replies["/a"] = PAGE
        yield one


def test_a_page_comes_with_what_says_when_it_changed(site: Site) -> None:
    site.replies["/a"] = PAGE._replace(etag='"1"', modified="Mon, 01 Jan 2024 00:00:00 GMT")
    asked = Web(allow_private=True)
    page = asked.page(f"{site.url}/a?b=c#d".replace("?b=c", ""))
    assert page is not None
    assert (page.data, page.suffix, page.etag) == (b"<p>Text.</p>", ".html", '"1"')
    assert asked.page(f"{site.url}/a", etag='"1"') is None
    assert asked.page(f"{site.url}/a", modified=page.modified) is None
    assert site.asked.count("/robots.txt") == 1


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1", "localhost", "[::1]", "10.0.0.7", "169.254.169.254", "[::ffff:10.0.0.1]", "2130706433",
        "0.0.0.0",  # noqa: S104 - asked, not listened on
    ],
)  # fmt: skip
def test_nothing_is_sent_to_an_address_of_this_machine_or_its_network(
    site: Site, host: str
) -> None:
    port = site.url.rpartition(":")[2]
    with pytest.raises(Refused, match="of this machine or its network") as caught:
        Web().page(f"http://{host}:{port}/a")
    assert "--allow-private" in (caught.value.hint or "")
    assert site.asked == []


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.216.34", True), ("100.64.0.1", False), ("224.0.0.1", False), ("2606:2800:220:1::1", True),
        ("64:ff9b::5db8:d822", True), ("64:ff9b::a00:1", False), ("2002:a00:1::", False), ("2002:5db8:d822::", True),
        ("fd00::1", False), ("fe80::1%eth0", False), ("2001:0:1::1", False), ("0.1.2.3", False), ("240.0.0.1", False),
        # an address of IPv4 in one of IPv6: compatible, mapped, translated, NAT64 of this network, 6to4, ISATAP
        ("::127.0.0.1", False), ("::8.8.8.8", False), ("::", False), ("::ffff:127.0.0.1", False),
        ("::ffff:0:127.0.0.1", False), ("64:ff9b:1::7f00:1", False), ("64:ff9b::7f00:1", False),
        ("64:ff9b:1:7f00:0:100::", False), ("64:ff9b:1:ffff::808:808", False), ("2002:7f00:1::1", False),
        ("2002:a9fe:a9fe::", False), ("2606:2800::5efe:10.0.0.1", False), ("2606:2800::200:5efe:127.0.0.1", False),
        ("2001:0:4136:e378:8000:63bf:3fff:fdd2", False), ("fec0::1", False), ("100::1", False), ("2001:db8::1", False),
        ("ff02::1", False), ("4000::1", False),
    ],
)  # fmt: skip
def test_a_private_address_hides_in_no_other(address: str, public: bool) -> None:
    tried: list[Any] = []

    def connect(where: Any, *_: Any, **__: Any) -> socket.socket:
        tried.append(where)
        raise OSError("no network in tests")

    with (
        named(address),
        instead(CONNECT, connect),
        pytest.raises(Unreachable if public else Refused),
    ):
        Web().page("http://example.org/a")
    assert tried == ([(address, 80)] if public else [])


def test_one_private_address_of_a_name_is_enough_to_refuse_it() -> None:
    with named("93.184.216.34", "127.0.0.1"), pytest.raises(Refused):
        Web().page("http://example.org/a")


def test_a_name_is_looked_up_once_and_what_was_looked_at_is_connected_to(site: Site) -> None:
    answers = iter(
        ["127.0.0.1", "127.0.0.1", "10.0.0.1"]
    )  # for the page, its robots.txt, and nobody

    def resolved(*_: object, **__: object) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(answers), 0))]

    asked: list[Any] = []

    def connect(where: Any, *_: Any, **__: Any) -> socket.socket:
        asked.append(where)
        line = socket.socket()
        line.connect(where)
        return line

    port = int(site.url.rpartition(":")[2])
    with instead("socket.getaddrinfo", resolved), instead(CONNECT, connect):
        assert page_at(f"http://rebound.example:{port}/a")
    assert asked == [("127.0.0.1", port)] * 2


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "localhost"])
def test_only_the_private_address_that_was_typed_is_asked(site: Site, host: str) -> None:
    with serving() as other:
        typed = f"http://{host}:{site.url.rpartition(':')[2]}"
        other.replies["/a"] = PAGE
        site.replies["/over"] = Reply(status=302, location=f"{other.url}/a")
        site.replies["/map.xml"] = Reply(f"<loc>{other.url}/more.xml</loc>".encode(), "text/xml")
        asking = Web(allow_private=True)
        if host == "127.0.0.2":  # nothing listens there, but it may be asked
            with pytest.raises(Unreachable, match="cannot be reached"):
                asking.page(f"{typed}/over")
            return
        for refused in (asking.page, asking.sitemap):
            with pytest.raises(Refused, match="of this machine or its network") as caught:
                refused(f"{typed}/{'over' if refused == asking.page else 'map.xml'}")
            assert "by its own address" in (caught.value.hint or "")
        site.replies["/robots.txt"] = Reply(status=302, location=f"{other.url}/robots.txt")
        with pytest.raises(Refused):
            page_at(f"{typed}/a")
        assert other.asked == []


def test_a_redirect_is_looked_at_as_the_first_address_was(site: Site) -> None:
    site.replies["/old"] = Reply(status=302, location="/a")
    assert page_at(f"{site.url}/old").url == f"{site.url}/a"
    site.replies["/robots.txt"] = Reply(b"User-agent: *\nDisallow: /b\n", "text/plain")
    for status, location, error, words in (
        (301, "file:///etc/passwd", UsageError, "no address of a page"),
        (307, "/old", Unreachable, "leads on and on"),
        (302, "/b", Refused, r"robots\.txt"),
    ):
        site.replies["/old"] = Reply(status=status, location=location)
        with pytest.raises(error, match=words):
            page_at(f"{site.url}/old")
    assert "/b" not in site.asked


@pytest.mark.parametrize(
    ("robots", "allowed"),
    [
        (Reply(b"User-agent: *\nDisallow: /a\n", "text/plain"), False),
        (Reply(b"User-agent: *\nDisallow: /b\n", "text/plain"), True),
        (Reply(b"User-agent: ai-lessons\nDisallow: /\n", "text/plain"), False),
        (Reply(status=404), True),
        (Reply(status=503), False),
    ],
)
def test_what_a_server_asks_of_robots_is_heeded(site: Site, robots: Reply, allowed: bool) -> None:
    site.replies["/robots.txt"] = robots
    if allowed:
        assert page_at(f"{site.url}/a")
        return
    with pytest.raises(Refused, match=r"robots\.txt"):
        page_at(f"{site.url}/a")
    assert "/a" not in site.asked


@pytest.mark.parametrize(
    ("reply", "error", "said"),
    [
        (Reply(status=404), NotFound, "no page"),
        (Reply(status=500), Unreachable, "answers 500"),
        (Reply(b"x", "image/png"), UsageError, "is image/png, not a text"),
        (Reply(endless=True), Unreachable, "larger than 2 MB"),
    ],
)
def test_what_is_no_page_says_so(
    site: Site,
    reply: Reply,
    error: type[AiLessonsError],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(web, "LARGEST", 2 << 20)
    site.replies["/a"] = reply
    with pytest.raises(error, match=said):
        page_at(f"{site.url}/a")


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.org/a", "example.org", "http://", "http://[::1", "https://ana:pw@example.org/",
        "http://exämple.org/",
    ],
)  # fmt: skip
def test_what_is_no_address_is_not_asked(url: str) -> None:
    with pytest.raises(UsageError):
        Web(allow_private=True).page(url)


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
TRICKLES = {
    "status": (b"", b"H"),
    "header": (HEAD, b"x"),
    "headers": (HEAD, b"x: y\r\n"),
    "continues": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "body": (HEAD + b"\r\n", b"x"),
    "length": (HEAD + b"Content-Length: 999999\r\n\r\n", b"x"),
    "chunks": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
}


@contextmanager
def trickling(first: bytes, then: bytes, tls: ssl.SSLContext | None = None) -> Iterator[int]:
    """The port of a server that says this, and goes on and on for a while; no robots.txt is there."""

    def answer(line: socket.socket) -> None:
        with suppress(OSError), tls.wrap_socket(line, server_side=True) if tls else line as spoken:
            if b"/robots.txt" in spoken.recv(1 << 16):
                spoken.sendall(b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n")
                return
            spoken.sendall(first)
            for _ in range(0 if not then else 1000):
                spoken.sendall(then)
                over.wait(0.02)

    def serve() -> None:
        while not over.is_set():
            with suppress(TimeoutError):
                Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()

    over = Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.05)
        thread = Thread(target=serve)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            over.set()
            thread.join()


@pytest.mark.parametrize("name", TRICKLES)
def test_an_answer_that_trickles_ends_in_time(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(web, "PAGE_SECONDS", 0.3)
    with trickling(*TRICKLES[name]) as port, pytest.raises(Unreachable, match="takes longer than"):
        page_at(f"http://127.0.0.1:{port}/a")


def test_the_time_of_a_page_counts_from_its_first_redirect(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(0, 10_000, 13))
    monkeypatch.setattr(web, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    for n in range(5):
        site.replies[f"/r{n}"] = Reply(status=302, location=f"/r{n + 1}")
    with pytest.raises(Unreachable, match="takes longer than 60 seconds"):
        page_at(f"{site.url}/r0")
    assert "/r2" not in site.asked


@pytest.fixture
def tls(tmp_path: Path) -> ssl.SSLContext:
    """What a server needs to be localhost; who shall believe it trusts `tmp_path / "cert.pem"`."""
    key, name = (
        generate_private_key(SECP256R1()),
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")]),
    )
    now, names = datetime.now(UTC), x509.SubjectAlternativeName([x509.DNSName("localhost")])
    made = x509.CertificateBuilder(
        name, name, key.public_key(), 1, now - timedelta(1), now + timedelta(1)
    )
    made = made.add_extension(names, critical=False)
    made = made.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    (tmp_path / "cert.pem").write_bytes(made.sign(key, SHA256()).public_bytes(Encoding.PEM))
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (tmp_path / "key.pem").write_bytes(secret)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    return context


def test_a_server_is_believed_by_its_certificate_alone(
    tls: ssl.SSLContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = HEAD + b"Content-Length: 3\r\n\r\nyes"
    with trickling(said, b"", tls) as port:
        with pytest.raises(Unreachable, match="certificate"):
            page_at(f"https://localhost:{port}/a")
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
        assert page_at(f"https://localhost:{port}/a").data == b"yes"
        with pytest.raises(Unreachable, match="doesn't match 'localhost'"):
            page_at(f"https://127.0.0.1:{port}/a")
    monkeypatch.setattr(web, "PAGE_SECONDS", 0.5)
    with (
        trickling(*TRICKLES["body"], tls) as port,
        pytest.raises(Unreachable, match=r"takes longer than|timed out"),
    ):
        page_at(f"https://localhost:{port}/a")


@pytest.fixture
def proxy(site: Site, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A proxy by which names are reached that nobody here knows."""
    known = socket.getaddrinfo

    def lookup(host: str, *args: Any, **more: Any) -> Any:
        if host.endswith((".test", ".internal")):
            raise socket.gaierror("unknown")
        return known(host, *args, **more)

    monkeypatch.setenv("HTTP_PROXY", site.url.replace("://", "://ann:p%40ss@"))
    with instead("socket.getaddrinfo", lookup):
        yield site


def test_a_page_is_asked_of_the_proxy_by_its_whole_address(proxy: Site) -> None:
    proxy.replies["http://docs.test/a?b"] = PAGE
    proxy.replies["http://docs.test/far"] = Reply(status=302, location="http://127.0.0.1:1/secret")
    assert Web().page("http://docs.test/a?b#c")
    assert proxy.asked == ["http://docs.test/robots.txt", "http://docs.test/a?b"]
    assert proxy.headers[-1]["Host"] == "docs.test"
    assert proxy.headers[-1]["Proxy-Authorization"] == "Basic YW5uOnBAc3M="
    with pytest.raises(Refused, match="of this machine or its network"):
        Web().page("http://docs.test/far")


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "10.0.0.7", "[::1]", "localhost", "wiki.internal", "metadata.google.internal"],
)
def test_a_proxy_is_asked_for_no_private_address(proxy: Site, host: str) -> None:
    with pytest.raises(Refused, match="of this machine or its network"):
        Web().page(f"http://{host}:81/a")
    assert proxy.asked == []


def test_what_no_proxy_names_and_what_has_none_is_asked_itself(
    proxy: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "docs.test")
    with pytest.raises(Unreachable, match="has no address"):
        Web().page("http://docs.test/a")
    with pytest.raises(Unreachable, match="has no address"):
        Web().page("https://else.test/a")
    monkeypatch.setenv("all_proxy", "socks5://127.0.0.1:1")
    with pytest.raises(UsageError, match="asked over HTTP"):
        Web().page("https://else.test/a")
    assert proxy.asked == []


def test_a_proxy_is_asked_to_connect_to_a_server_with_tls(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", site.url)
    with pytest.raises(Unreachable, match="cannot be reached"):
        Web().page("https://93.184.216.34/a")
    assert site.asked == ["93.184.216.34:443"]


def test_a_sitemap_may_be_a_gzip_file(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "LARGEST", 2 << 20)
    whole = gzip.compress(f"<loc>{site.url}/part.xml.gz</loc>".encode())
    site.replies["/sitemap.xml.gz"] = Reply(whole, "application/gzip")
    site.replies["/part.xml.gz"] = Reply(
        gzip.compress(f"<loc>{site.url}/a</loc>".encode()), "application/gzip"
    )
    asked = Web(allow_private=True)
    assert asked.sitemap(f"{site.url}/sitemap.xml.gz") == [f"{site.url}/a"]
    site.replies["/sitemap.xml.gz"] = Reply(b"\x1f\x8bdamaged")
    with pytest.raises(Unreachable, match="cannot be unpacked"):
        asked.sitemap(f"{site.url}/sitemap.xml.gz")
    site.replies["/sitemap.xml.gz"] = Reply(gzip.compress(b"x" * (web.LARGEST + 1)))
    with pytest.raises(Unreachable, match="larger than"):
        asked.sitemap(f"{site.url}/sitemap.xml.gz")


def test_a_sitemap_names_its_pages_and_those_of_its_parts(site: Site) -> None:
    site.replies["/sitemap.xml"] = Reply(
        f"<sitemapindex><sitemap><loc> {site.url}/docs/map.xml </loc></sitemap></sitemapindex>".encode(),
        "text/xml",
    )
    site.replies["/docs/map.xml"] = Reply(
        b"<urlset><url><loc><![CDATA[/a]]></loc></url><url><loc>/b?x=1&amp;y=2</loc></url></urlset>",
        "text/xml",
    )
    pages = Web(allow_private=True).sitemap(f"{site.url}/sitemap.xml")
    assert pages == [f"{site.url}/a", f"{site.url}/b?x=1&y=2"]
    with pytest.raises(NotFound, match="sitemap"):
        Web(allow_private=True).sitemap(f"{site.url}/none.xml")
