"""The page in a real Chromium, as people use it. Skipped with a word where there is none."""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from a_server import Reply, serving
from features.look.look_world import EVIL, HOSTILE, SETUP, START, Served
from interfaces.world import LESSON

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, BrowserContext, Page, Route

    from interfaces.world import Run

# the first has no window to draw: a third of the work of the others
PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, PROGRAMS)), None)
QUIET = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium here: apt-get install chromium-headless-shell"
)
PAGES = (
    "/", "/search?q=workflow", f"/entry/{LESSON}", f"/entry/{HOSTILE}", "/review", "/graph", "/sessions", "/health",
    "/learning", "/tiers", "/about", "/entry/L-AAAAAA",
)  # fmt: skip


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=[*QUIET])
        yield opened
        opened.close()


@contextmanager
def opened(browser: Browser, **options: Any) -> Iterator[BrowserContext]:
    """A browser of somebody else, with these options."""
    with browser.new_context(**{"viewport": {"width": 1200, "height": 900}} | options) as made:
        made.set_default_timeout(120_000)
        yield made


@pytest.fixture(scope="module")
def context(browser: Browser) -> Iterator[BrowserContext]:
    """One for many tests: nothing is kept in it, as one of them shows."""
    with opened(browser) as made:
        yield made


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """A page, still empty."""
    made = context.new_page()
    yield made
    made.close()


def first_is_above(page: Page, first: str, second: str) -> bool:
    """Whether one place of the page ends where the other begins, or before."""
    ends = "([a, b]) => document.querySelector(a).getBoundingClientRect().bottom"
    return bool(
        page.evaluate(
            f"{ends} <= document.querySelector(b).getBoundingClientRect().top + 1", [first, second]
        )
    )


def test_who_types_sees_results_and_opens_one_with_keys(page: Page, look: Served) -> None:
    page.goto(look.address)
    page.wait_for_url(look.base + "/")
    page.fill("#q", "sandbox")
    page.wait_for_selector("#results section")
    assert page.url.endswith("/search?q=sandbox")
    page.select_option("select[name=kind]", "lesson")
    page.wait_for_selector('#results [aria-label="lessons"] a[href*="8F3K2A"]')
    page.wait_for_selector('#results [aria-label="docs"]', state="detached")
    page.focus("#q")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/entry/{LESSON}")
    assert "GET it first and send every status back" in page.inner_text("article")
    page.click("#history a")
    page.wait_for_selector("#history .diff .new")
    page.click("aside a.entry")
    assert "Jira Workflows API" in page.inner_text("h1")


@pytest.mark.parametrize("scripts", [True, False])
def test_links_back_reload_and_two_tabs_work_and_nothing_is_kept_in_the_browser(
    browser: Browser, look: Served, *, scripts: bool
) -> None:
    # links alone, which need no scripts, lead to these as to the rest
    others = ("Review", "Sessions", "Graph", "Health") if scripts else ()
    with serving() as site, opened(browser, java_script_enabled=scripts) as context:
        site.replies = {"/": Reply(b"elsewhere")}
        tab = context.new_page()
        tab.goto(look.address)
        for name in ("Search", *others, "Learning", "Tiers"):
            tab.click(f"nav >> text={name}")
            tab.wait_for_url(f"{look.base}/{name.lower()}**")
            assert tab.inner_text("h1") == name
        tab.go_back()
        assert tab.inner_text("h1") == "Learning"
        tab.reload()
        assert tab.inner_text("h1") == "Learning"
        tab.click(".brand")
        tab.wait_for_url(look.address)
        other = context.new_page()
        other.goto(f"{look.base}/entry/{LESSON}")
        with other.expect_response(f"{look.base}/entry/feedback"):
            other.click("text=Helpful")
        assert "was helpful" in other.inner_text(".done")
        assert other.url == f"{look.base}/entry/{LESSON}"
        other.goto(f"{look.base}/nothing/of/the/kind")
        other.click("main >> text=Review")
        assert other.inner_text("h1") == "Review"
        tab.reload()
        assert tab.inner_text("h1") == "Search"
        assert context.cookies() == []
        tab.goto(site.url)
        tab.go_back()
        assert tab.url == look.address
        other.goto(
            f"{look.base}/entry/jira-api%2Flessons%2Fnothing"
        )  # the way back leads up one step, not three
        other.click("main >> text=Review")
        assert other.url == f"{look.base}/review"


def test_another_server_of_this_machine_learns_nothing_and_decides_nothing(
    page: Page, look: Served
) -> None:
    """It sees what a browser brings along, and sends the forms that it can think of."""
    page.goto(look.base + "/review")
    fields = {name: page.get_attribute(f"[name={name}]", "value") for name in ("ref", "commit")}
    addresses = (f"{look.base}/review/approve", f"{look.origin}/review/approve")
    with serving() as site:
        inputs = "".join(f'<input name="{name}" value="{value}">' for name, value in fields.items())
        attack = f'<a href="{site.url}/seen">on</a>'
        for address in addresses:
            attack += (
                f'<form method="post" action="{address}">{inputs}<button>{address}</button></form>'
            )
        site.replies = {"/": Reply(attack.encode()), "/seen": Reply(b"seen")}
        for address in addresses:
            page.goto(site.url)
            page.click(f"button:text-is('{address}')")
            page.wait_for_url(address)
            assert "Approved" not in page.inner_text("body")
        page.goto(look.base + "/review")
        page.evaluate("address => { location = address; }", f"{site.url}/seen")
        page.wait_for_url(f"{site.url}/seen")
        assert page.evaluate("document.referrer") == ""
    page.goto(look.base + "/review")
    assert page.locator(".waiting li").count() == 3


def test_results_that_come_late_leave_who_walks_through_the_list_at_his_place(
    page: Page, look: Served
) -> None:
    page.goto(look.address)
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.fill("#q", "sandbox")
    page.wait_for_selector("#results section")
    page.route("**/search?**", hold)
    with page.expect_request("**/search?**"):
        page.keyboard.insert_text(" api")
    page.keyboard.press("ArrowDown")
    page.eval_on_selector(".hits a:focus", "link => { link.closest('li').dataset.old = 'yes'; }")
    held[0].continue_()
    page.wait_for_selector(".hits > li.here:not([data-old]) a:focus")


def test_back_leads_to_the_same_results(page: Page, look: Served) -> None:
    page.goto(look.address)
    page.fill("#q", "statuses sandbox")
    page.wait_for_selector("#results section")
    page.eval_on_selector("#results section", "section => section.dataset.before = 1")
    page.select_option("select[name=kind]", "lesson")
    page.wait_for_url("**kind=lesson")
    page.wait_for_selector("#results section[data-before]", state="detached")
    page.click("#results a.entry")
    page.wait_for_url("**/entry/**")
    page.go_back()
    page.wait_for_selector("#results section")
    assert (page.input_value("#q"), page.input_value("select[name=kind]")) == (
        "statuses sandbox",
        "lesson",
    )
    assert "statuses" in page.locator("#results mark").all_inner_texts()
    score = page.locator("#results .why summary").first
    assert 0 < float(score.inner_text().split()[-1]) <= 1
    score.click()
    assert "standing" in page.locator("#results .why p").first.inner_text()


def test_a_hit_in_a_long_text_opens_at_its_section_with_the_words_marked(
    page: Page, look: Served
) -> None:
    for width in (1280, 400):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(look.base + "/search?q=retries+of+webhooks")
        page.click("#results a.entry:has-text('Manual')")
        assert "retries" in [mark.lower() for mark in page.locator(".body mark").all_inner_texts()]
        assert "What it is" not in page.inner_text(".body")
        if width == 400:
            page.click("details.narrow summary")
        nav = page.locator(".sections" if width > 400 else ".narrow")
        assert nav.locator("[aria-current]").inner_text() == "Webhooks"
        nav.locator("text=Limits").click()
        page.wait_for_selector(".body h1:has-text('Limits')")
        page.go_back()
        page.wait_for_selector(".body mark")


AXE = Path(__file__).parents[3] / ".venv-axe/node_modules/axe-core/axe.min.js"
"""The program that looks for what is in the way of people with disabilities."""


def in_the_way(page: Page, **rules: Any) -> list[tuple[str, str]]:
    """What that program finds on the page by these rules, or by all: each rule, and the first place."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("rules => axe.run(rules).then(all => all.violations)", rules)
    serious = [row for row in found if row["impact"] in {"serious", "critical"}]
    return [(row["id"], row["nodes"][0]["html"]) for row in serious]


CONTRAST = {"type": "rule", "values": ["color-contrast"]}
"""All that changes where it is dark."""


def test_every_page_has_the_menu_the_search_and_nothing_beside_it_or_in_the_way_of_anybody(
    page: Page, look: Served
) -> None:
    """Wide and light, then narrow and dark."""
    for path, wide in itertools.product(PAGES, (True, False)):
        page.set_viewport_size({"width": 1280 if wide else 400, "height": 900})
        page.emulate_media(color_scheme="light" if wide else "dark")
        if wide:
            page.goto(look.base + path)
        assert page.evaluate("""() => [...document.querySelectorAll("nav[aria-label=Pages] a")].map(
            (link) => link.getBoundingClientRect()).every((box) => box.left >= 0 && box.right <= innerWidth)""")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (path, wide)
        clipped = page.evaluate("""() => [...document.querySelectorAll("main *")].filter((place) =>
            getComputedStyle(place).overflowX === "hidden" && !place.closest(".graph") && place.clientWidth > 1 &&
            place.scrollWidth > place.clientWidth + 1).map((place) => place.outerHTML.slice(0, 200))""")
        assert clipped == [], path
        red = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0]")
        assert (int(red) > 128) == wide
        if AXE.exists() and (wide or path in PAGES[1:6]):
            assert in_the_way(page, **({} if wide else {"runOnly": CONTRAST})) == [], path
        if not wide:
            page.locator("body").press("/")
            assert page.evaluate("document.activeElement.name") == "q"
    page.goto(look.base + "/graph")
    page.locator("body").press("/")
    page.keyboard.type("sandbox")
    page.keyboard.press("Enter")
    page.wait_for_selector("#results a.entry:has-text('PUT /workflows')")
    if not AXE.exists():
        pytest.skip("axe-core is not here: npm install --prefix .venv-axe axe-core")


def test_a_decision_stands_below_who_is_told_why_and_on_what_evidence(
    page: Page, look: Served
) -> None:
    for width in (1280, 400):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(look.base + "/review")
        assert first_is_above(page, ".proposal dl", ".reads")
        names = page.locator(".proposal dt").all_inner_texts()
        assert names[:4] == ["Who is told", "Why", "Files", "Evidence"]
        assert "**/workflows/*.py" in page.inner_text(".proposal dl")
        assert not page.is_visible("pre.source")
        assert "applies_to" in page.inner_text("pre.hidden")
        page.click("details.whole summary")
        assert page.inner_text("pre.source").startswith("---\n")


def test_links_inside_docs_lead_to_entries(page: Page, look: Served) -> None:
    page.goto(f"{look.base}/entry/{START}")
    links = {
        link.inner_text(): link.get_attribute("href") for link in page.locator(".body a").all()
    }
    setup = f"../entry/{SETUP}"
    assert links == {
        "setup": f"{setup}#h-install-it-first", "root": setup, "here": "#h-the-end", "page": setup, "gone": None,
        "web": "https://example.com/",
    }  # fmt: skip
    page.click("text=setup")
    page.wait_for_selector("h2#h-install-it-first:target")
    links = {
        link.inner_text(): link.get_attribute("href") for link in page.locator(".body a").all()
    }
    assert links == {"back": f"../entry/{START}", "beside": "https://example.com/2.0/other.html"}


def test_a_rule_is_approved_edited_and_rejected_by_keys(page: Page, look: Served) -> None:
    page.goto(look.base + "/review")
    assert page.locator(".waiting li").count() == 3
    page.wait_for_selector("dd:has-text('nothing: there are none')")  # of past sessions
    names = [row.inner_text() for row in page.locator(".waiting li").all()]
    page.keyboard.press("s")
    page.wait_for_url("**ref=**")
    assert page.inner_text("article h2") == names[1]
    page.keyboard.press("e")
    page.wait_for_selector("#text")
    page.fill("#text", page.input_value("#text").replace("kind: rule", "kind: nonsense"))
    page.click("text=Save as one more commit")
    page.wait_for_selector("[role=alert]:has-text('Nothing was saved')")
    page.fill(
        "#text",
        page.input_value("#text")
        .replace("nonsense", "rule")
        .replace("Send back", "Always send back"),
    )
    page.click("text=Save as one more commit")
    page.wait_for_selector(".done")
    assert "Always send back every status" in page.inner_text(".reads")
    assert first_is_above(page, ".reads", ".last")
    page.keyboard.press("a")
    assert (
        page.inner_text(".step[open] p")
        == "Agents in project jira-api that edit **/workflows/*.py are told this."
    )
    page.keyboard.press("Escape")
    assert page.locator(".step[open]").count() == 0
    page.keyboard.press("a")
    page.wait_for_selector(".step[open] button:focus")
    page.keyboard.press("a")
    page.wait_for_selector(".done:has-text('Approved')")
    assert page.inner_text("article h2") == names[0]  # the next one: an edit moved this to the end
    page.keyboard.press("u")
    page.wait_for_selector(".done:has-text('Taken back')")
    assert page.inner_text("article h2") == names[1]
    assert "Always send back every status" in page.inner_text(".reads")
    assert f"entry/{names[1].split()[0]}" not in page.content()
    page.keyboard.press("a")
    page.wait_for_selector(".step[open] button:focus")
    page.keyboard.press("Enter")
    page.wait_for_selector(".done:has-text('Approved')")
    assert page.inner_text("article h2") == names[0]
    page.keyboard.press("r")
    page.wait_for_selector(".step[open] input:focus")
    page.keyboard.type("It says nothing new.")
    page.keyboard.press("Enter")
    page.wait_for_selector(".done:has-text('Rejected')")
    assert page.inner_text("article h2") == names[2]
    page.keyboard.press("u")
    page.wait_for_selector(".done:has-text('Taken back')")
    assert page.inner_text("article h2") == names[0]
    assert "The same was rejected" in page.inner_text("article")
    log = subprocess.check_output(["git", "log", "--format=%s", "main"], cwd=look.repo, text=True)
    assert log.startswith("Reject")
    assert log.count("Approve rule") == 3  # the first one, what took it back, and the second one
    files = subprocess.check_output(
        ["git", "ls-tree", "-r", "--name-only", "main"], cwd=look.repo, text=True
    )
    record = next(name for name in files.splitlines() if "/rejected/" in name)
    said = subprocess.check_output(["git", "show", f"main:{record}"], cwd=look.repo, text=True)
    assert "It says nothing new." in said
    page.goto(look.base + f"/entry/{names[1].split()[0]}")
    assert "approved by Test Person" in page.inner_text(".approval")


@pytest.fixture
def plain(browser: Browser) -> Iterator[Page]:
    """A page of a browser without JavaScript."""
    with opened(browser, java_script_enabled=False) as made:
        yield made.new_page()


def test_a_proposal_is_read_and_decided_without_javascript(plain: Page, look: Served) -> None:
    page = plain
    page.goto(f"{look.base}/review")
    title, waiting = page.inner_text("article h2"), page.locator(".waiting li").count()
    assert "Who is told" in page.inner_text("article")
    page.click("#past")
    assert page.inner_text("body") == "nothing: there are none"
    page.go_back()
    page.click("summary:has-text('Approve')")
    page.click("text=Approve it as it is shown")
    assert f"Approved {title.split()[0]}" in page.inner_text(".done")
    page.click("button:has-text('Undo')")
    assert "waits again" in page.inner_text(".done")
    page.click("summary:has-text('Reject')")
    page.fill("[name=reason]", "It says nothing new.")
    page.click("text=Reject it")
    assert "Rejected" in page.inner_text(".done")
    assert page.locator(".waiting li").count() == waiting - 1
    page.goto(f"{look.base}/sessions?replay=yes")
    page.wait_for_url(f"{look.base}/sessions")
    page.wait_for_selector("text=0 sessions, 0 commands")


def test_an_entry_is_edited_and_judged_where_it_is_read(page: Page, look: Served) -> None:
    page.goto(f"{look.base}/entry/{SETUP}")
    page.fill("input[name=note]", "It is of last year.")
    page.click("text=Not needed")
    page.wait_for_selector(".done:has-text('was ignored')")
    page.keyboard.press("e")
    page.wait_for_selector("#text")
    typed = page.input_value("#text") + "\nRun it twice.\n"
    file = look.repo / "guide/docs/2.0/parts/setup.md"
    file.write_text(file.read_text() + "\nMeanwhile.\n")
    page.fill("#text", typed)
    page.click("button:has-text('Save')")
    page.wait_for_selector("[role=alert]:has-text('changed while you edited it')")
    assert page.input_value("#text") == typed
    assert page.inner_text("td.old") == "Meanwhile."
    page.fill("#text", typed + "\nMeanwhile.\n")
    page.click("button:has-text('Save')")
    page.wait_for_selector(".done:has-text('Saved')")
    assert "Run it twice." in page.inner_text(".body")
    assert file.read_text().endswith("Run it twice.\n\nMeanwhile.\n")


def graph_of(many: int) -> str:
    """A graph of so many entries in topics of 25."""
    nodes = [
        {"id": f"{n}", "handle": f"L-{n}", "label": f"Entry number {n} about topic {n // 25}",
         "kind": "doc" if n % 3 else "lesson",
         "href": f"entry/{n}", "project": "x", "size": 0.6, "cluster": n // 25, "topic": f"topic {n // 25}"}
        for n in range(many)
    ]  # fmt: skip
    pairs = [(n, n - n % 25) for n in range(many) if n % 25] + [
        (n, (n * 7) % many) for n in range(0, many, 11)
    ]
    lines = [
        {"source": f"{a}", "target": f"{b}", "label": "related to"} for a, b in pairs if a != b
    ]
    return json.dumps({"nodes": nodes, "lines": lines})


def answer(body: str, route: Route) -> None:
    route.fulfill(body=body)


OVERLAPS = """() => {
  const boxes = [...document.querySelectorAll("#graph .labels > *")].map((label) => label.getBoundingClientRect());
  const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
  return [boxes.length, boxes.filter((box, n) => boxes.slice(n + 1).some((other) => meet(box, other))).length];
}"""


NEARER = """far => new Promise((done) => {
  const look = () => document.querySelector("#graph").drawn.areas()[0].far > far ? done() : requestAnimationFrame(look);
  look();
})"""  # waits until the wheel has brought the graph nearer


def test_the_wheel_brings_the_graph_nearer_also_over_a_label(page: Page, look: Served) -> None:
    page.route("**/graph.json**", partial(answer, graph_of(150)))
    page.goto(look.base + "/graph")
    page.wait_for_selector("#graph .labels > *")
    far = page.evaluate("document.querySelector('#graph').drawn.areas()[0].far")
    page.locator("#graph .labels > *").first.hover(force=True)
    page.mouse.wheel(0, -120)
    page.evaluate(NEARER, far)


@pytest.mark.parametrize(("width", "sizes"), [(1600, (30, 3000)), (400, (300,))])
def test_a_graph_of_any_size_has_labels_that_cover_nothing(
    page: Page, look: Served, width: int, sizes: tuple[int, ...]
) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    for many in sizes:
        page.unroute_all()
        page.route("**/graph.json**", partial(answer, graph_of(many)))
        page.goto(look.base + "/graph")
        page.wait_for_selector("#graph .labels > *")
        for _ in range(8):
            labels, overlaps = page.evaluate(OVERLAPS)
            assert overlaps == 0
            page.click("button[title=Nearer]")
            page.wait_for_timeout(50)
        assert labels
        assert page.locator("#graph .labels > a").count()  # nearer there are names of entries
    topic = sizes[-1] - 100
    page.fill("#graph-form [name=q]", f"number {topic + 1} about")
    page.keyboard.press("Enter")
    page.wait_for_selector(f"#graph .labels > a.near:has-text('Entry number {topic + 1}')")
    assert f"Entry number {topic}" in page.inner_text("#near ul")
    assert page.url.endswith(f"?q=number+{topic + 1}+about")
    page.select_option("#graph-form [name=kind]", "lesson")
    page.wait_for_selector(f"#graph .labels > a:has-text('Entry number {topic + 1}')")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_an_entry_has_its_own_graph_and_lists_stand_in_for_it_without_javascript(
    page: Page, plain: Page, look: Served
) -> None:
    page.goto(f"{look.base}/entry/{LESSON}")
    page.wait_for_selector(".graph.small .labels > a:has-text('Jira Workflows API')")
    page.click("text=In the graph")
    page.wait_for_selector("#graph .labels > a:has-text('Jira Workflows API')")
    assert page.locator("select[name=depth]").count() == 1
    assert "--" not in page.inner_text("body")
    where = page.evaluate(
        "id => document.querySelector('#graph').drawn.getElementById(id).renderedPosition()", LESSON
    )
    page.locator("#graph").click(position={"x": where["x"], "y": where["y"]})
    page.wait_for_url(f"**/entry/{LESSON}")  # a node leads to its entry
    plain.goto(look.base + "/graph?kind=lesson")
    assert not plain.is_visible(".drawing")
    assert plain.inner_text("details.topic li").startswith("L-8F3K2A PUT /workflows")
    assert "related to D-4T7QZM Jira Workflows API" in plain.inner_text("details.topic li")
    plain.fill("[name=q]", "nothing of the kind")
    plain.click("text=Show")
    assert "Nothing is linked here" in plain.inner_text("main")


def test_the_search_of_a_site_of_files_leads_to_an_entry(
    context: BrowserContext, look: Served, run: Run, tmp_path: Path
) -> None:
    assert run("--repo", look.repo, "admin", "export", tmp_path / "site", "--to", "site").code == 0
    kinds = {".css": "text/css", ".js": "text/javascript", ".json": "application/json"}
    with serving() as site:
        for file in (tmp_path / "site").rglob("*.*"):
            kind = kinds.get(file.suffix, "text/html; charset=utf-8")
            site.replies[f"/{file.relative_to(tmp_path / 'site').as_posix()}"] = Reply(
                file.read_bytes(), kind
            )
        page = context.new_page()
        for address in (f"{site.url}/index.html", (tmp_path / "site/index.html").as_uri()):
            page.goto(address)
            page.fill("#q", "statuses sandbox")
            assert "statuses" in page.locator("#results mark").all_inner_texts()
            page.click("#results a")
            assert "PUT /workflows replaces" in page.inner_text("h1")
            page.wait_for_load_state()  # with its style sheet
            assert (
                page.evaluate("getComputedStyle(document.querySelector('.kind')).fontWeight")
                == "600"
            )
            page.goto(page.url.replace(LESSON, START))
            page.click(".body a:has-text('setup')")
            page.wait_for_selector("h2#h-install-it-first:target")


def test_a_hostile_entry_does_nothing(page: Page, look: Served) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{look.base}/entry/{HOSTILE}")
    page.wait_for_timeout(100)
    assert page.title() != "taken"
    assert EVIL in page.inner_text(".body")
    assert all(url.startswith(look.base) for url in asked)
    links = page.eval_on_selector_all(".body a", "all => all.map(one => one.href)")
    assert links == ["https://example.com/", "https://example.com/seen.png"]
    assert page.locator(".body img, .body script, .body [style]").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
