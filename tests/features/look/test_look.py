"""The server of the page, asked without a browser: who may ask, and what it says to whom."""

import json
import os
import re
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from functools import partial
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from ai_lessons import settings
from ai_lessons.app import agent_sessions
from ai_lessons.app.answers import Shown
from ai_lessons.app.entries import list_entries
from ai_lessons.app.options import no_progress
from ai_lessons.app.workspace import Library
from ai_lessons.app.written import ProposedFile
from ai_lessons.features.learning.overview import plainly
from ai_lessons.features.learning.parameters import ParameterState
from ai_lessons.features.look import drawing, forms, graph, pages, review_pages, server, state_pages
from ai_lessons.interfaces.mcp.sessions import SessionPool
from ai_lessons.model.entries import EntrySummary, Kind
from features.look.look_world import EVIL, HOSTILE, Served, serve
from interfaces.agent_host import Host
from interfaces.rules_with_checks import MISE, Session
from interfaces.test_render_rules import NEW
from interfaces.world import DOC, LESSON, Run
from real_world import Git, put_file


@pytest.fixture
def pool(knowledge: Path) -> Iterator[SessionPool]:
    with closing(SessionPool(partial(settings.load, os.environ))) as opened:
        yield opened


def hidden_fields(html: str) -> dict[str, str]:
    """The hidden fields of the first form that changes anything."""
    form = html.partition('method="post"')[2].partition("</form>")[0]
    return dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form))


PAGES = (
    "/", "/search?q=workflow", f"/entry/{LESSON}", f"/entry/{LESSON}?edit=1", "/review", "/graph", "/sessions",
    f"/graph?ref={LESSON}&project=jira-api", "/health", "/learning", "/tiers", "/about",
)  # fmt: skip


def test_every_page_is_drawn_keeps_to_itself_and_says_no_secret_and_every_link_is_relative(
    look: Served,
) -> None:
    for path in (*PAGES, "/graph.json", "/static/look.css", "/nothing"):
        status, html, headers = look.ask(path)
        if path in PAGES:
            assert (status, html[:15], headers["cache-control"]) == (
                200,
                "<!doctype html>",
                "no-store",
            ), path
        assert (
            "default-src 'none'; script-src 'self'; style-src 'self'"
            in headers["content-security-policy"]
        )
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert not re.search(r"<(script>|style|\w[^<>]*\s(style|on\w+|src=\"http\S*)=)", html), path
        assert look.secret not in html + str(headers), path
        assert not re.search(r'(?:href|action|src|data-from)="/', html), path
        assert headers["referrer-policy"] == "no-referrer"
        assert "set-cookie" not in headers


def test_the_search_gives_only_the_results_to_who_types(look: Served) -> None:
    _, whole, _ = look.ask("/search?q=sandbox&kind=lesson&project=jira-api")
    _, part, _ = look.ask(
        "/search?q=sandbox&kind=lesson&project=jira-api", headers={"HX-Request": "true"}
    )
    assert "<!doctype" not in part
    assert part.strip() in whole
    assert "L-8F3K2A" in part
    assert "why it stands here" in part
    assert "entry/01JD3Z8QK5W7M2X9V4T64T7QZM" not in part


def test_without_the_secret_every_path_is_the_same_404(look: Served) -> None:
    said = set()
    for base in (
        look.origin,
        look.base[:-1],
        look.base + "x",
        f"{look.origin}/{'A' * len(look.secret)}",
    ):
        for path in ("", "/", "/review", "/static/look.css", "/nothing"):
            for sent in (None, {"ref": "x"}):
                address = base if base + path != look.origin else base + "/"
                status, text, headers = look.ask(path, sent, {"Origin": look.origin}, base=address)
                said.add(
                    (
                        status,
                        text,
                        *sorted(value for name, value in headers.items() if name != "date"),
                    )
                )
    assert {status for status, *_ in said} == {404}
    assert len(said) == 1
    assert not (look.repo.parent / KEPT).exists()
    status, _, headers = look.ask("", base=look.base)  # with it, and without its slash
    assert (status, headers["location"]) == (307, f"{look.secret}/")


def test_no_other_host_or_page_is_answered(look: Served) -> None:
    for path, headers in (
        ("/", {"Host": "evil.example:80"}),
        ("/", {"Origin": "http://evil.example"}),
        ("/graph.json", {"Origin": "null"}),
    ):
        status, html, _ = look.ask(path, headers=headers)
        assert status == 403
        assert "another page" in html
        assert "L-8F3K2A" not in html


def test_a_form_needs_its_origin_and_what_was_shown(look: Served) -> None:
    fields = hidden_fields(look.ask("/review")[1])
    assert set(fields) == {"ref", "commit"}
    for headers in (
        {}, {"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": "null", "Sec-Fetch-Site": "same-site"},
        {"Origin": "http://127.0.0.1:1", "Sec-Fetch-Site": "same-site"},
    ):  # fmt: skip
        assert look.ask("/review/approve", fields, headers=headers)[0] == 403
    for headers in ({"Origin": look.origin}, {"Origin": "null", "Sec-Fetch-Site": "same-origin"}):
        assert look.ask("/review/approve", fields | {"commit": "0" * 40}, headers=headers)[0] == 409
        assert (
            look.ask("/review/approve", fields | {"ref": "rules/none"}, headers=headers)[0] == 404
        )
    ours = {"Origin": look.origin}
    assert look.ask("/review/edit", fields | {"text": "x" * 1_000_001}, headers=ours)[0] == 400
    assert look.ask("/review/undo", fields, headers=ours)[0] == 403
    assert (
        look.ask("/entry/feedback", fields | {"ref": LESSON, "outcome": "splendid"}, headers=ours)[
            0
        ]
        == 400
    )
    assert (
        look.ask("/entry/edit", fields | {"ref": "L-AAAAAA", "text": "x"}, headers=ours)[0] == 404
    )
    assert look.ask("/review/approve", headers=ours)[0] == 405
    assert "GET before PUT" in look.ask("/review")[1]


KEPT = "home/.local/state/ai-lessons/look-secret"


def test_a_chosen_port_keeps_the_secret_for_an_hour(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    served = serve(tmp_path, "--port", str(port))
    file, kept = tmp_path / KEPT, served.secret
    try:
        assert file.stat().st_mode & 0o777 == 0o600
        served.stop()
        served.start_again()
        assert served.secret == kept
    finally:
        served.stop()

    def again() -> str:
        with server.page_secret(file.parent, port) as secret:
            return secret

    assert again() == kept
    os.utime(file, (0, file.stat().st_mtime - 3600))
    another = again()
    assert another != kept
    file.write_text(f"{port - 1} {another}")
    kept = again()
    assert kept != another
    file.chmod(0o640)
    assert again() != kept, "others could have read it"
    assert file.stat().st_mode & 0o777 == 0o600


def test_what_is_not_there_is_said_with_the_way_on(look: Served) -> None:
    assert look.ask("/static/../server.py")[0] == 404
    status, html, _ = look.ask("/entry/L-AAAAAA")
    assert (status, "L-AAAAAA" in html) == (404, True)
    assert look.ask("/nothing")[0] == 404
    assert "Nothing has gone stale" in look.ask("/health?all=yes")[1]


def test_where_an_entry_comes_from_says_nothing_that_stands_elsewhere(look: Served) -> None:
    _, html, _ = look.ask(f"/entry/{LESSON}")
    origin = html.partition("Where it comes from")[2].partition("</section>")[0]
    assert "Jira Workflows API" in html
    assert "Jira Workflows API" not in origin
    assert origin.count("its file says ") == 1


def test_where_nothing_is_near_no_row_is_shown_before_it_is_asked_for(look: Served) -> None:
    question = "/search?q=sandbox+zebra+quantum+violin"
    _, html, _ = look.ask(question)
    assert ("nothing near" in html, 'class="hits"' in html) == (True, False)
    assert 'class="hits"' in look.ask(f"{question}&far=yes")[1]


def test_a_hostile_entry_stays_text(look: Served) -> None:
    _, html, _ = look.ask(f"/entry/{HOSTILE}")
    assert EVIL not in html
    assert "<img" not in html
    assert "javascript:" not in re.sub(r">[^<]*<", "", html)
    assert "<b>" not in html
    assert 'href="https://example.com/" rel="noopener noreferrer"' in html
    assert "first 100000 characters" in html


def test_the_graph_is_data_with_kinds_and_confidence(look: Served) -> None:
    found = json.loads(look.ask(f"/graph.json?ref={LESSON}")[1])
    kinds = {one["id"]: (one["kind"], one["size"] > 0.6) for one in found["nodes"]}
    assert kinds[LESSON] == ("lesson", True)
    assert [one["label"] for one in found["lines"]] == ["related to"]
    assert json.loads(look.ask("/graph.json?project=elsewhere")[1]) == {"nodes": [], "lines": []}


def test_an_agent_looks_and_decides_nothing(
    pool: SessionPool, proposal: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AI_AGENT", "some-agent")
    with page_of(pool) as page:
        html = page.get("/x/review").text
        assert ("agents decide nothing" in html, proposal in html, "review/approve" in html) == (
            True,
            True,
            False,
        )
        assert not hidden_fields(page.get("/x/learning").text)
        sent = {"ref": "rules/R-5N1QTC-get-before-put", "commit": "0" * 40}
        assert (
            page.post(
                "/x/review/approve", data=sent, headers={"Origin": "http://localhost:8080"}
            ).status_code
            == 403
        )
    assert run("admin", "pending-rules", "--count").out == "1\n"


def test_a_site_is_the_same_in_files_read_only(
    run: Run, knowledge: Path, proposal: str, tmp_path: Path
) -> None:
    assert run("admin", "approve-rule", proposal, "--yes").code == 0
    site = tmp_path / "public"
    assert run("admin", "export", site, "--to", "site").out.endswith(
        "1 lesson, 1 rule, 2 docs, 1 script\n"
    )
    index, entry = (site / "index.html").read_text(), (site / f"entry/{LESSON}.html").read_text()
    assert re.search(
        r"Rules in force.*In force since \d+ \w+ \d{4}.*approved by <bdi>Test Person",
        index,
        re.DOTALL,
    )
    assert f'href="entry/{LESSON}.html"' in index
    assert f'href="../entry/{DOC}.html"' in entry
    for html in (index, entry):
        assert not re.search(r'<form|(?:href|src)="/', html)
    found = json.loads((site / "search.json").read_text())
    assert any("two statuses were gone" in one["text"] for one in found)
    assert run("contribute", "delete", LESSON, "--yes").code == 0
    assert run("admin", "export", site, "--to", "site").code == 0
    assert not (site / f"entry/{LESSON}.html").exists()
    put_file(tmp_path / "mine/index.html", "mine")
    assert run("admin", "export", tmp_path / "mine", "--to", "site").code == 8
    assert (tmp_path / "mine/index.html").read_text() == "mine"


def page_of(pool: SessionPool) -> TestClient:
    """A browser of the page below `/x/`, in this process."""
    return TestClient(
        server.Guard(server.Site(pool).app(), "x", 8080), base_url="http://localhost:8080"
    )


def test_the_rules_of_an_import_are_approved_together_as_they_were_shown(
    run: Run, pool: SessionPool, tmp_path: Path
) -> None:
    (tmp_path / "AGENTS.md").write_text("- Always do One\n- Always do Two\n")
    assert run("admin", "import", tmp_path / "AGENTS.md", "--split").code == 0
    shown = pool.read(lambda opened: review_pages.review(opened, {})).values
    html = drawing.render("review.html", **shown)
    given = dict(re.findall(r'name="(\w+)" value="([^"]*)"', html.partition('class="batch"')[2]))
    done = pool.write(
        lambda opened: forms.approve_batch(opened, given), agent="", progress=no_progress
    )
    assert sorted(said[-3:] for said in done.messages if said.startswith("Approved")) == [
        "One",
        "Two",
    ]
    assert pool.read(lambda opened: review_pages.review(opened, {})).values["waiting"] == ()
    assert "Nothing waits" in drawing.render("review.html", **{**shown, "one": None})


def test_today_has_what_failed_while_nothing_was_known(
    host: Host, hermetic: Path, pool: SessionPool
) -> None:
    for event in ("session_start", "make_test_failed", "git_push_failed", "git_push_failed"):
        host.hear(event)
    sessions, missing = agent_sessions.lately(hermetic / ".local/state/ai-lessons")
    assert [(what.partition(":")[0], times) for what, times in missing] == [
        ("git push", 2),
        ("make test", 1),
    ]
    assert sessions[0].failures == 3
    assert (sessions[0].host, sessions[0].folder) == ("claude-code", str(host.code))
    shown = pool.read(lambda opened: state_pages.sessions(opened, state_pages.Played())).values
    parts = {part.title: part for part in shown["parts"]}
    ((_, name, folder, _, failures),) = parts["Sessions"].rows
    assert (name, Path(folder).name, failures) == ("claude-code", host.code.name, 3)
    learned = pool.read(lambda opened: state_pages.learning(opened, {})).values["parts"][1]
    assert learned.columns == ["what holds", "learned from"]
    assert learned.rows[0] == [
        "An agent is shown at most 10 lessons and rules at a time.",
        "nothing yet: as it began",
    ]
    parameter = ParameterState("ablation_frequency", 30.0, 70.0, 0.1, 60)
    assert plainly(parameter) == (
        "A lesson is left out on purpose in 6 of 100 cases, to see whether it helps.", "4 and 8", "60 outcomes"
    )  # fmt: skip


def doc(path: str, **fields: Any) -> EntrySummary:
    return EntrySummary(path, f"D-{path}", Kind.DOC, path, "x", (), (), path, **fields)


@pytest.mark.parametrize(
    ("link", "leads"),
    [
        ("next.md", "x/docs/1/guide/next.md"), ("./next", "x/docs/1/guide/next.md"), ("..", "x/docs/1/README.md"),
        ("/guide/next.md", "x/docs/1/guide/next.md"), ("my%20page.md", "x/docs/1/guide/my page.md"),
        ("../top.html?x=1", "x/docs/1/top.md"), ("../../../../other/docs/1/far.md", "other/docs/1/far.md"),
        ("../../../../../etc/passwd", None), ("nowhere.md", None), ("mailto:a@example.org", None),
        ("https://example.org/far/", "other/docs/1/far.md"), ("https://example.org/else", "https://example.org/else"),
        ("#Some heading", "#h-some-heading"), ("next.md#A-b", "x/docs/1/guide/next.md#h-a-b"),
    ],
)  # fmt: skip
def test_a_link_of_a_doc_leads_to_the_entry_that_it_means(link: str, leads: str | None) -> None:
    names = ("guide/here.md", "guide/next.md", "guide/my page.md", "top.md", "README.md")
    docs = [doc(f"x/docs/1/{name}") for name in names] + [doc("other/docs/1/far.md")]
    sources = {"other/docs/1/far.md": ["https://example.org/far"]}
    targets = drawing.LinkTargets(docs, sources, lambda entry: entry.path)
    assert targets.resolve(docs[0], "", link) == leads


def test_a_link_leads_where_the_source_lay_or_to_its_page_of_the_web() -> None:
    files = [doc("a.md"), doc("b.md")]
    page = doc("c.md")
    sources = {
        "a.md": ["~/manual/one/a.rst"],
        "b.md": ["~/manual/two/b.rst"],
        "c.md": ["https://example.org/2.0/guide/"],
    }
    targets = drawing.LinkTargets([*files, page], sources, lambda entry: entry.path)
    assert targets.resolve(files[0], "", "../two/b.html") == "b.md"
    assert targets.resolve(page, "", "install#x") == "https://example.org/2.0/guide/install#x"
    assert targets.resolve(page, "/entry/c", "#x") == "/entry/c#h-x"


def test_markdown_keeps_its_shape_and_loses_what_acts() -> None:
    html = drawing.markdown(
        "# One\n\n**two** `three`\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n<u>four</u>"
    )
    assert '<pre tabindex="0"><code>' in drawing.markdown("```\nwhat keys can scroll\n```")
    assert "href" not in drawing.markdown("[a](http://[) [b](b.md) [c](mailto:a@b.c)")
    assert ("<strong>two</strong>" in html, "<table>" in html, "<u>" in html) == (True, True, False)


HIDING = """[style]: https://example.org/style "
++ EVIL one
-- EVIL two
@@ EVIL three
--- EVIL\u200bfour
"
<!-- EVIL five -->
"""


@pytest.mark.parametrize("old", [None, "Use X.\n\nWhy.\n"])
def test_the_review_shows_every_line_that_is_approved(old: str | None) -> None:
    file = ProposedFile("x.md", old, f"---\n? links\n: EVIL six\n---\n{HIDING}")
    html = drawing.render("review.html", **review_of(file))
    code = html.partition('<pre class="source"')[2].partition("</pre>")[0]
    assert all(f"EVIL {word}" in code for word in ("one", "two", "three", "five", "six"))
    assert "EVIL\\u200bfour" in code
    plain = html.partition('<details class="whole"')[0]  # what no rendering shows needs no click
    assert all(f"EVIL {word}" in plain for word in ("one", "two", "three", "five", "six"))
    assert "EVIL\\u200bfour" in plain
    batch = html.partition('class="batch"')[2]
    assert all(f"EVIL {word}" in batch for word in ("one", "two", "three", "five", "six"))


def test_what_the_rendering_hides_is_shown_and_what_it_shows_is_not_repeated() -> None:
    body = """# Use *tabs*

1. One `a_b` \\* and **two** & [three](three.md).
   > Four: "five".

```sh
rm -f x
```
| six | seven |
|---|--:|
"""
    file = f"---\nid: X\ntitle: T\nrationale: Why.\nlinks: []\n---\n{body}"
    address = "1. One `a_b` \\* and **two** & [three](three.md)."
    assert review_pages.unseen(file, body, "title: T", "rationale: Why.").split("\n") == [
        "id: X",
        "links: []",
        address,
    ]
    hidden = f"{body}\n[x]: /eight 'nine'\n\nTen\u200b.\n\nEleven.\n"
    assert review_pages.unseen(hidden, hidden).split("\n") == [
        address,
        "[x]: /eight 'nine'",
        "Ten\u200b.",
    ]


NOW = datetime(2026, 3, 2, 12).astimezone()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("2026-03-02T08:05:00", "today, 8:05"), ("2026-03-01T23:59:59", "yesterday, 23:59"),
        ("2026-01-31T09:30:00", "31 January, 9:30"), ("2025-12-31T09:30:00", "31 December 2025"), ("", ""),
        ("last week", "last week"), (None, ""),
    ],
)  # fmt: skip
def test_times_are_said_as_people_say_them(text: str | None, words: str) -> None:
    assert drawing.when(text, NOW) == words


def test_a_line_of_a_list_has_code_as_code_and_no_signs() -> None:
    assert drawing.inline("**Restart** `a <b>` and ``c`d``, not `e", "restarting") == (
        "<mark>Restart</mark> <code>a &lt;b&gt;</code> and <code>c`d</code>, not e"
    )


def test_lines_that_look_like_headers_of_a_diff_stand_side_by_side() -> None:
    rows = drawing.compared(ProposedFile("x.md", "Same.\n-- old\n", "Same.\n++ new\n@@ -1 +1 @@\n"))
    assert rows == [
        drawing.Row("where", "line 1"), drawing.Row("same", "Same.", "Same."),
        drawing.Row("changed", "-- old", "++ new"), drawing.Row("changed", "", "@@ -1 +1 @@"),
    ]  # fmt: skip


def test_how_an_entry_did_is_counted_by_month() -> None:
    events = [
        ("2026-01-02T10:00:00Z", "injected"),
        ("2026-01-03T10:00:00Z", "helpful"),
        ("2026-03-01", "wrong"),
    ]
    assert pages.by_month([*events, ("2026-04-01", "edited")]) == [
        ("2026-01", 1, 1, 0),
        ("2026-03", 0, 0, 1),
    ]


def review_of(file: ProposedFile) -> dict[str, object]:
    one = NEW._replace(files=(file,), evidence=(), batch="ABCDEF", path=file.path, body=HIDING)
    values: dict[str, object] = {"waiting": [one], "batch": [one, one], "notes": ()}
    return values | {
        "title": "Review",
        "one": one,
        "after": None,
        "text": "",
        "about": review_pages.stated(one),
    }


def test_a_proposal_that_moved_is_refused_and_shown_again(look: Served, git: Git) -> None:
    fields, before = hidden_fields(look.ask("/review")[1]), git(look.repo, "rev-parse", "main")
    made = git(
        look.repo, "commit-tree", f"{fields['ref']}^{{tree}}", "-p", fields["ref"], "-m", "more"
    )
    git(look.repo, "update-ref", f"refs/heads/{fields['ref']}", made)
    for form in ("approve", "reject", "edit"):
        sent = fields | {"text": "x-typed"}
        status, html, _ = look.ask(f"/review/{form}", sent, headers={"Origin": look.origin})
        assert (status, "changed while you read it" in html) == (409, True)
        assert ("x-typed" in html) == (form == "edit")
        assert f'name="commit" value="{made}"' in html
    assert git(look.repo, "rev-parse", "main") == before


def test_what_is_stored_is_played_behind_the_page_which_can_be_left(
    monkeypatch: pytest.MonkeyPatch, pool: SessionPool
) -> None:
    half, go_on = threading.Event(), threading.Event()

    def replayed(opened: Library) -> list[tuple[str, str]]:
        for number, _ in enumerate(opened.reading.options.each("replaying transcripts", "abcd")):
            if number == 2:
                half.set()
                assert go_on.wait(20)
        return replay(opened)

    replay = state_pages.replayed
    monkeypatch.setattr(state_pages, "replayed", replayed)
    with page_of(pool) as page:
        assert 'href="./sessions?replay=yes"' in page.get("/x/sessions").text
        assert "It is played" in page.get("/x/sessions?replay=yes").text
        assert half.wait(20)
        playing = page.get("/x/sessions").text
        assert '<progress max="4" value="2"' in playing
        assert 'http-equiv="refresh"' in playing
        assert page.get("/x/review").status_code == 200
        assert page.get("/x/past?ref=R-NOSUCH").status_code == 404
        assert 'value="2"' in page.get("/x/sessions?replay=yes").text  # one at a time
        go_on.set()
        for thread in threading.enumerate():
            if thread.name == server.PLAYING:
                thread.join(20)
        played = page.get("/x/sessions").text
        assert "0 sessions, 0 commands, 0 failed." in played
        assert "<progress" not in played


def test_health_says_what_it_cannot_check(
    run: Run, pool: SessionPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def again() -> pages.Part:
        parts = [pool.read(partial(job, asked={})) for job in state_pages.HEALTH]
        return next(part for part in parts if part.title == "To look at again")

    assert again().summary == ""
    code = tmp_path / "shop"
    put_file(code / "src/pay.py", "def refund():\n    pass\n")
    subprocess.run(["git", "init", "-q"], cwd=code, check=True)
    said = (
        "--title",
        "Refunds",
        "--content",
        "x",
        "--project",
        "shop",
        "--about",
        "src/pay.py::refund",
    )
    with monkeypatch.context() as there:
        there.chdir(code)
        assert run("add", *said).code == 0
    assert (
        again().summary
        == "Cannot check: the code of shop is not here. Start this page in its folder."
    )
    assert again().empty == ""


def test_an_area_is_called_by_tag_or_project_and_what_is_not_linked_is_listed(
    pool: SessionPool, knowledge: Path
) -> None:
    for name in ("Apples", "Pears"):
        put_file(knowledge / f"fruit/docs/1/{name}.md", f"# {name}\n\nThey grow.\n")
    values = pool.read(lambda opened: graph.graph(opened, {})).values
    every = pool.read(list_entries).entries
    names = {tag for summary in every for tag in summary.tags} | {
        summary.project for summary in every
    }
    assert {topic.name for topic in values["topics"]} <= names
    unlinked = {
        topic.name: [summary.title for summary in topic.entries] for topic in values["unlinked"]
    }
    assert sorted(unlinked["fruit"]) == ["Apples", "Pears"]
    assert "Linked with nothing" in drawing.render("graph.html", **values)
    alone = pool.read(lambda opened: graph.graph(opened, {"project": "fruit"})).values
    assert [(topic.name, len(topic.entries)) for topic in alone["topics"]] == [("fruit", 2)]
    assert "Nothing is linked here; 2 entries by project" in drawing.render("graph.html", **alone)
    drawn = pool.read(lambda opened: graph.graph_data(opened, {"project": "fruit"}))
    assert sorted(node["label"] for node in drawn["nodes"]) == ["Apples", "Pears"]


def test_a_check_is_shown_with_what_breaks_it() -> None:
    entry = EntrySummary("01JD3Z8QK5W7M2X9V4T65N1QTC", "R-5N1QTC", Kind.RULE, "t", "p", (), (), "x")
    stated = {"check": {"regex": "evil", "bad": "<b>evil", "good": "c"}}
    html = drawing.render(
        "entry.html",
        **pages.described(Shown(entry, "", "", stated), drawing.LinkTargets([], {}, str)),
    )
    section = html.partition("Checked by")[2].partition("</dl>")[0]
    assert "regex <code>evil</code>" in section
    assert "breaks it: &lt;b&gt;evil" in section


def test_whether_a_rule_was_kept_is_one_line_on_both_pages(host: Host, rules: Any) -> None:
    handle = rules("Tests run through mise", MISE)
    session = Session(host)
    session.hear("SessionStart", source="startup")
    session.before("go test ./...")
    line = "in scope in 1 session, broken in 1 after it was told: deny it? (told in 1)"
    with closing(SessionPool(partial(settings.load, os.environ))) as pool:
        client = TestClient(
            server.Guard(server.Site(pool).app(), "x", 8080), base_url="http://localhost:8080"
        )
        for path in (f"entry/{handle}", "learning"):
            assert unescape(client.get(f"/x/{path}").text).count(line) == 1


def test_health_comes_in_parts_the_quick_ones_first(look: Served) -> None:
    status, text, *_ = look.ask("/health")
    titles = ("Conflicts", "Taken away", "Checks", "To look at again", "Files")
    places = [text.index(f"<h2>{title}") for title in titles]
    assert status == 200
    assert places == sorted(places)
    assert text.index("<h1>Health") < places[0]
