"""Pages of the web and documents, as docs that know where they came from."""

import gzip
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from a_server import Reply, Site, serving
from ai_lessons.app import editing, entries, validation
from ai_lessons.app.written import Imported
from ai_lessons.errors import InvalidEntry, NotFound, Refused, Unreachable, UsageError
from ai_lessons.features.intake import jobs, refreshing
from ai_lessons.features.intake.plan import ResourceDraft
from ai_lessons.model.entries import Kind
from app.world import LESSON, World, lesson
from documents_made import docx, pdf
from features.intake.intake_world import bring


@pytest.fixture
def site(world: World) -> Iterator[Site]:
    world.fresh(offline=False)
    with serving() as one:
        one.replies["/docs/a.html"] = page("Retries", "The wait doubles.")
        yield one


def page(title: str, text: str, etag: str = "") -> Reply:
    return Reply(
        f"<html><body><main><h1>{title}</h1><p>{text}</p></main></body></html>".encode(), etag=etag
    )


def add(world: World, *urls: str, **more: object) -> Imported:
    draft = ResourceDraft(Kind.DOC, urls=urls, project="tool", allow_private=True, **more)  # type: ignore[arg-type]
    return jobs.add_resources(world.library, draft)


def test_a_page_is_a_doc_that_is_asked_again_only_if_it_changed(world: World, site: Site) -> None:
    url = f"{site.url}/docs/a.html"
    site.replies["/docs/a.html"] = page("Retries", "The wait doubles.", etag='"1"')
    (made,) = add(world, url, tags=("http",)).written
    text = world.read(made.path)
    assert f"source_url: {url}\n" in text
    assert 'etag: "\\"1\\""\n' in text
    assert text.endswith("# Retries\n\nThe wait doubles.\n")
    assert (add(world, url).unchanged, validation.validate(world.library).problems) == (1, ())
    (done,) = refreshing.refresh(world.library, [made.handle], allow_private=True)
    assert not done.changed
    site.replies["/docs/a.html"] = page("Retries", "The wait triples.", etag='"2"')
    (done,) = refreshing.refresh(world.library, [], every=True, allow_private=True)
    assert (done.changed, done.added, done.removed) == (True, 1, 1)
    assert "triples" in world.read(made.path)
    del site.replies["/docs/a.html"]
    with pytest.raises(NotFound, match="page"):
        refreshing.refresh(world.library, [made.handle], allow_private=True)
    assert "triples" in world.read(made.path)


def test_a_page_that_only_a_pull_brought_is_not_asked_for(world: World, site: Site) -> None:
    world.write(
        "tool/docs/unversioned/x.md",
        f"---\nid: 01JD3Z8QK5W7M2X9V4T65N1QTC\nkind: doc\ntitle: X\nsource_url: {site.url}/docs/a.html\n---\nx\n",
    )
    world.commit()
    with pytest.raises(Refused, match="was not added on this machine"):
        refreshing.refresh(world.library, ["01JD3Z8QK5W7M2X9V4T65N1QTC"], allow_private=True)
    assert site.asked == []


PAGE_DOC = """---
id: {id}
kind: doc
title: Retries of {project}
source_url: {url}
source_date: {date}
content_hash: sha256:{hash}
---
The wait.
"""


def test_a_doc_says_where_another_one_has_a_newer_text_of_its_page_and_asks_no_network(
    world: World, site: Site
) -> None:
    url, first = f"{site.url}/docs/a.html", "01JD3Z8QK5W7M2X9V4T65N1QTC"

    def read(last: str, project: str, date: str, hash_: str = "b", url: str = url) -> None:
        text = PAGE_DOC.format(
            id=first[:-1] + last, project=project, url=url, date=date, hash=hash_ * 64
        )
        world.write(f"{project}/docs/unversioned/retries.md", text)

    def notes(last: str) -> tuple[str, ...]:
        return entries.show(world.library, first[:-1] + last).notes

    read("A", "tool", "2026-11-20T08:00:00Z", "a")
    assert notes("A") == ()
    # an older text, the same one at a later look, and another page are no news
    read("B", "older", "2026-11-19")
    read("C", "same", "2026-11-20T09:00:00Z", "a")
    read("D", "elsewhere", "2026-11-29T08:00:00Z", url=f"{url}?b")
    assert notes("A") == ()
    read("E", "later", "2026-11-21T08:00:00Z", "e")
    read("F", "latest", "2026-11-22T08:00:00+02:00")
    newer = "its page changed: [D-5N1QTF] in latest has its text of 2026-11-22"
    assert (notes("A"), notes("E")) == ((f"[D-5N1QTA] {newer}",), (f"[D-5N1QTE] {newer}",))
    assert notes("F") == ()
    # the page went back to what it was
    read("G", "back", "2026-11-23", "a")
    assert notes("A") == ()
    assert site.asked == []


def test_a_private_page_is_asked_only_where_its_own_host_and_port_were_typed(
    world: World, site: Site
) -> None:
    with serving() as other:
        for one, name in ((site, "Ours"), (other, "Theirs")):
            one.replies[f"/{name}.html"] = page(name, f"Text of {name}.")
        there = f"{other.url}/Theirs.html"
        listed = "".join(
            f"<loc>{one}</loc>" for one in (f"{site.url}/Ours.html", there, "ftp://127.0.0.1/x")
        )
        site.replies["/sitemap.xml"] = Reply(listed.encode(), "application/xml")
        done = add(world, f"{site.url}/sitemap.xml", recursive=True)
        (ours,) = done.written
        assert ours.title == "Ours"
        assert [name for name, _ in done.skipped] == [there, "ftp://127.0.0.1/x"]
        assert other.asked == []
        done = add(world, f"{site.url}/sitemap.xml", f"{other.url}/else.html", recursive=True)
        assert [one.title for one in done.written] == ["Theirs"]
        site.replies["/Ours.html"] = Reply(status=302, location=there)
        other.asked.clear()
        with pytest.raises(Refused, match="of this machine or its network"):
            refreshing.refresh(world.library, [ours.handle], allow_private=True)
        assert other.asked == []


def test_a_sitemap_is_taken_in_pieces_and_what_is_there_is_not_asked_again(
    world: World, site: Site
) -> None:
    for n in range(30):
        site.replies[f"/p{n}.html"] = page(f"Page {n}", "Text.")
    listed = "".join(f"<loc>{site.url}/p{n}.html</loc>" for n in range(31)).encode()
    site.replies["/sitemap.xml.gz"] = Reply(gzip.compress(listed), "application/gzip")
    with pytest.raises(UsageError, match="is a sitemap"):
        add(world, f"{site.url}/sitemap.xml.gz")
    before = len(world.commits())
    done = add(world, f"{site.url}/sitemap.xml.gz", recursive=True)
    assert sorted(one.title for one in done.written) == sorted(f"Page {n}" for n in range(30))
    assert [where for where, _ in done.skipped] == [f"{site.url}/p30.html"]
    assert len(world.commits()) > before + 1
    site.asked.clear()
    again = add(world, f"{site.url}/sitemap.xml.gz", recursive=True)
    assert (len(again.written), again.unchanged) == (0, 30)
    assert site.asked == ["/sitemap.xml.gz", "/robots.txt", "/p30.html"]


def test_what_holds_a_secret_does_not_come_in(world: World, site: Site) -> None:
    site.replies["/docs/a.html"] = page("Keys", "Use AKIAIOSFODNN7EXAMPLQ here.")
    with pytest.raises(InvalidEntry, match="AWS"):
        add(world, f"{site.url}/docs/a.html")
    assert world.titles() == []


@pytest.mark.parametrize(
    ("name", "made_of", "text"),
    [
        ("r.pdf", partial(pdf), "# Notes\n\n## Page 1\n\nRetries are on.\n"),
        ("r.docx", partial(docx, "Release 2"), "# Release 2\n\nRetries are on.\n"),
        ("r.html", lambda text: page("Release 2", text).body, "# Release 2\n\nRetries are on.\n"),
        (
            "r.rst",
            lambda text: f"Release 2\n=========\n\n{text}\n".encode(),
            "# Release 2\n\nRetries are on.\n",
        ),
        (
            "r.adoc",
            lambda text: f"= Release 2\n\n{text}\n".encode(),
            "# Release 2\n\nRetries are on.\n",
        ),
    ],
)
def test_a_document_is_kept_as_text_and_known_again(
    world: World, tmp_path: Path, name: str, made_of: Callable[[str], bytes], text: str
) -> None:
    (tmp_path / "in").mkdir()
    file = tmp_path / "in" / name
    file.write_bytes(made_of("Retries are on."))
    (made,) = bring(world, file, project="tool").written
    assert made.path == f"tool/docs/unversioned/{name}.md"
    assert world.read(made.path).endswith(f"---\n{text}")
    assert made.title == text.partition("\n")[0].removeprefix("# ")
    assert bring(world, file, project="tool").unchanged == 1
    file.write_bytes(made_of("Retries are off."))
    (done,) = refreshing.refresh(world.library, [made.handle])
    assert done.changed
    assert "are off" in world.read(made.path)


def test_without_the_extra_its_name_is_told_and_the_rest_comes_in(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("web", "documents"):
        monkeypatch.delitem(sys.modules, f"ai_lessons.features.intake.{module}", raising=False)
    for name in ("urllib3", "bs4", "mammoth"):
        monkeypatch.setitem(sys.modules, name, None)
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.pdf").write_bytes(pdf("x"))
    (tmp_path / "in/b.md").write_text("# B\n\nText.\n")
    (tmp_path / "in/c.rst").write_text("=====\n C\n=====\n\n:ref:`Text <t>`.\n")
    with pytest.raises(UsageError, match="not installed") as caught:
        bring(world, tmp_path / "in/a.pdf")
    assert caught.value.hint == "in the sources of ai-lessons: pip install '.[intake]'"
    done = bring(world, tmp_path / "in", recursive=True)
    assert [one.title for one in done.written] == ["B", "C"]
    assert world.read(done.written[1].path).endswith("# C\n\n`Text`.\n")
    ((path, why),) = done.skipped
    assert (path.endswith("a.pdf"), "not installed" in why) == (True, True)
    with pytest.raises(Unreachable, match="offline was asked for"):
        add(world, "https://example.org/")
    draft = ResourceDraft(Kind.DOC, urls=["https://example.org/"])
    with pytest.raises(UsageError, match="not installed"):
        jobs.add_resources(world.fresh(offline=False), draft)


# --- pages that other programs wrote: read as they are, and changed only below a key of our own ---


def test_adopting_leaves_what_cannot_be_changed(world: World) -> None:
    toml, bad = '+++\ntitle = "Heron"\n+++\nText.\n', "---\na: 1\na: 2\n---\nText of the ibis.\n"
    world.write("blog/a.md", toml)
    world.write("blog/b.md", bad)
    world.write("blog/c.md", "---\nid: intro\nkind: Deployment\n---\nText of the walrus.\n")
    (adopted,) = validation.adopt(world.fresh(), [])
    assert adopted.path == "blog/c.md"
    assert (world.root / "blog/a.md").read_text() == toml
    assert (world.root / "blog/b.md").read_text() == bad
    assert (
        (world.root / "blog/c.md")
        .read_text()
        .startswith("---\nid: intro\nkind: Deployment\nai-lessons:\n")
    )
    assert not validation.validate(world.fresh(), ["blog/c.md"]).problems
    assert world.found("ibis") == ["b"]
    (heron,) = [one for one in entries.list_entries(world.fresh()).entries if one.title == "Heron"]
    with pytest.raises(InvalidEntry, match="TOML"):
        editing.update(world.fresh(), heron.handle, add_tags=["x"])
    notes = entries.list_entries(world.fresh()).notes
    assert any("1 page is read as text" in note for note in notes)
    assert not any("left out" in note for note in notes)
    assert [problem.path for problem in validation.validate(world.fresh(), []).problems] == [
        "blog/b.md"
    ]


def test_pages_on_the_rules_of_a_linter_are_found(world: World) -> None:
    world.write(
        "docs/rules/no-widget-target.md", "# no-widget-target\n\nDisallow a widget target.\n"
    )
    assert world.found("widget target") == ["no-widget-target"]


def test_a_file_that_came_first_keeps_its_id_also_in_a_fresh_clone(world: World) -> None:
    world.committed("shop/lessons/much-longer-name.md", lesson(title="Original"))
    world.committed("shop/lessons/a.md", lesson(title="Copy"))
    world.committed("aaa/lessons/a.md", lesson(title="Another"))
    summaries = entries.list_entries(world.fresh()).entries
    assert [one.title for one in summaries if one.id == LESSON] == ["Original"]
    assert {one.title for one in summaries} == {"Original", "Copy", "Another"}
