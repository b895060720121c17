from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from a_server import Reply, Site, serving
from ai_lessons.errors import AiLessonsError, NotFound, Refused, Unreachable, UsageError
from ai_lessons.repository import web
from ai_lessons.repository.web import Web

PAGE = Reply(b"<p>Text.</p>")


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
        "127.0.0.1",
        "localhost",
        "[::1]",
        "0.0.0.0",  # noqa: S104 - asked, not listened on
        "10.0.0.7",
        "169.254.169.254",
        "[::ffff:10.0.0.1]",
        "2130706433",
    ],
)
def test_nothing_is_sent_to_an_address_of_this_machine_or_its_network(site: Site, host: str) -> None:
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
        ("fd00::1", False), ("fe80::1%eth0", False), ("2001:0:1::1", False),
    ],
)  # fmt: skip
def test_a_private_address_hides_in_no_other(monkeypatch: pytest.MonkeyPatch, address: str, public: bool) -> None:
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 80))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    tried: list[Any] = []

    def connect(where: Any, *_: Any, **__: Any) -> socket.socket:
        tried.append(where)
        raise OSError("no network in tests")

    monkeypatch.setattr("urllib3.util.connection.create_connection", connect)
    with pytest.raises(Unreachable if public else Refused):
        Web().page("http://example.org/a")
    assert tried == ([(address, 80)] if public else [])


def test_one_private_address_of_a_name_is_enough_to_refuse_it(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, 80)) for one in ("93.184.216.34", "127.0.0.1")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: names)
    with pytest.raises(Refused):
        Web().page("http://example.org/a")


def test_a_redirect_is_looked_at_as_the_first_address_was(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.replies["/old"] = Reply(status=302, location="/a")
    page = Web(allow_private=True).page(f"{site.url}/old")
    assert page is not None
    assert page.url == f"{site.url}/a"
    site.replies["/to"] = Reply(status=301, location="file:///etc/passwd")
    with pytest.raises(UsageError, match="no address of a page"):
        Web(allow_private=True).page(f"{site.url}/to")
    site.replies["/round"] = Reply(status=307, location="/round")
    with pytest.raises(Unreachable, match="leads on and on"):
        Web(allow_private=True).page(f"{site.url}/round")
    site.replies["/robots.txt"] = Reply(b"User-agent: *\nDisallow: /b\n", "text/plain")
    site.replies["/there"] = Reply(status=302, location="/b")
    with pytest.raises(Refused, match=r"robots\.txt"):
        Web(allow_private=True).page(f"{site.url}/there")
    assert "/b" not in site.asked
    public = web._is_public  # so that the first address passes for one of the internet
    monkeypatch.setattr(web, "_is_public", lambda one: str(one) == "127.0.0.1" or public(one))
    site.replies["/in"] = Reply(status=302, location="http://10.0.0.1/secret")
    with pytest.raises(Refused, match=r"10\.0\.0\.1"):
        Web().page(f"{site.url}/in")


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
        assert Web(allow_private=True).page(f"{site.url}/a")
        return
    with pytest.raises(Refused, match=r"robots\.txt"):
        Web(allow_private=True).page(f"{site.url}/a")
    assert "/a" not in site.asked


@pytest.mark.parametrize(
    ("reply", "error", "said"),
    [
        (Reply(status=404), NotFound, "no page"),
        (Reply(status=500), Unreachable, "answers 500"),
        (Reply(b"x", "image/png"), UsageError, "is image/png, not a text"),
        (Reply(endless=True), Unreachable, "larger than 1 MB"),
    ],
)
def test_what_is_no_page_says_so(
    site: Site, monkeypatch: pytest.MonkeyPatch, reply: Reply, error: type[AiLessonsError], said: str
) -> None:
    monkeypatch.setattr(web, "LARGEST", 1 << 20)
    site.replies["/a"] = reply
    with pytest.raises(error, match=said):
        Web(allow_private=True).page(f"{site.url}/a")


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.org/a",
        "example.org",
        "http://",
        "http://[::1",
        "https://ana:pw@example.org/",
        "http://exämple.org/",
    ],
)
def test_what_is_no_address_is_not_asked(url: str) -> None:
    with pytest.raises(UsageError):
        Web(allow_private=True).page(url)


def test_nobody_answering_is_told_as_that() -> None:
    with pytest.raises(Unreachable, match="cannot be reached"):
        Web(allow_private=True).page("http://127.0.0.1:1/a")


def test_a_sitemap_names_its_pages_and_those_of_its_parts(site: Site) -> None:
    site.replies["/sitemap.xml"] = Reply(
        f"<sitemapindex><sitemap><loc> {site.url}/docs/map.xml </loc></sitemap></sitemapindex>".encode(), "text/xml"
    )
    site.replies["/docs/map.xml"] = Reply(
        b"<urlset><url><loc><![CDATA[/a]]></loc></url><url><loc>/b?x=1&amp;y=2</loc></url></urlset>", "text/xml"
    )
    pages = Web(allow_private=True).sitemap(f"{site.url}/sitemap.xml")
    assert pages == [f"{site.url}/a", f"{site.url}/b?x=1&y=2"]
    with pytest.raises(NotFound, match="sitemap"):
        Web(allow_private=True).sitemap(f"{site.url}/none.xml")
