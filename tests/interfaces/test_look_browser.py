"""The page in a real Chromium, as people use it. Skipped with a word where there is none."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from a_server import Reply, serving
from interfaces.look_world import HOSTILE, LESSON, Served, serve

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, BrowserContext, Page, Route

    from interfaces.world import Run

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
QUIET = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: apt-get install chromium")
PAGES = ("/", "/search?q=workflow", f"/entry/{LESSON}", f"/entry/{HOSTILE}", "/review", "/graph", "/today", "/health",
         "/learning", "/tiers", "/entry/L-AAAAAA")  # fmt: skip


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=[*QUIET])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def look(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    served = serve(tmp_path_factory.mktemp("look"))
    yield served
    served.stop()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    made = browser.new_context(viewport={"width": 1200, "height": 900})
    made.set_default_timeout(20_000)
    yield made
    made.close()


@pytest.fixture
def page(context: BrowserContext, look: Served) -> Page:
    """A page of a browser that opened the address with the token."""
    opened = context.new_page()
    opened.goto(look.address)
    opened.wait_for_url(look.base + "/")
    return opened


def test_who_types_sees_results_and_opens_one_with_keys(page: Page) -> None:
    page.fill("#q", "sandbox")
    page.wait_for_selector("#results section")
    assert page.url.endswith("/")
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


def test_results_that_come_late_leave_who_walks_through_the_list_at_his_place(page: Page) -> None:
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


def test_a_rule_is_approved_edited_and_rejected_by_keys(page: Page, look: Served) -> None:
    page.goto(look.base + "/review")
    assert page.locator(".waiting li").count() == 3
    first, second = page.inner_text("article h2"), page.locator(".waiting li").nth(1).inner_text()
    page.keyboard.press("s")
    page.wait_for_url("**ref=**")
    assert page.inner_text("article h2") == second
    page.keyboard.press("e")
    page.wait_for_selector("#text")
    page.fill("#text", page.input_value("#text").replace("Send back", "Always send back"))
    page.click("text=Save as one more commit")
    page.wait_for_selector(".done")
    assert "Always send back every status" in page.inner_text(".sides")
    page.keyboard.press("a")
    page.wait_for_selector(".done:has-text('Approved')")
    assert page.locator(".waiting li").count() == 2
    assert page.inner_text("article h2") == first
    page.keyboard.press("r")
    page.keyboard.type("It says nothing new.")
    page.keyboard.press("Enter")
    page.wait_for_selector(".done:has-text('Rejected')")

    told = subprocess.check_output(["git", "log", "--format=%s", "main"], cwd=look.repo, text=True)
    assert told.startswith("Reject")
    assert "Approve" in told
    shown = subprocess.check_output(["git", "ls-tree", "-r", "--name-only", "main"], cwd=look.repo, text=True)
    records = [name for name in shown.splitlines() if "/rejected/" in name]
    assert "It says nothing new." in subprocess.check_output(
        ["git", "show", f"main:{records[0]}"], cwd=look.repo, text=True
    )
    assert second.split()[0] in page.content() or page.goto(look.base + f"/entry/{second.split()[0]}")
    page.goto(look.base + f"/entry/{second.split()[0]}")
    assert "approved by Test Person" in page.inner_text(".approval")


def test_a_node_of_the_graph_leads_to_its_entry(page: Page, look: Served) -> None:
    page.goto(look.base + "/graph")
    page.wait_for_selector("#graph canvas")
    where = page.evaluate("id => document.querySelector('#graph').drawn.getElementById(id).renderedPosition()", LESSON)
    page.locator("#graph").click(position={"x": where["x"], "y": where["y"]})
    page.wait_for_url(f"**/entry/{LESSON}")


def test_the_search_of_a_site_of_files_leads_to_an_entry(
    context: BrowserContext, look: Served, run: Run, tmp_path: Path
) -> None:
    assert run("--repo", look.repo, "admin", "export", tmp_path / "site", "--to", "site").code == 0
    kinds = {".css": "text/css", ".js": "text/javascript", ".json": "application/json"}
    with serving() as site:
        for file in (tmp_path / "site").rglob("*.*"):
            kind = kinds.get(file.suffix, "text/html; charset=utf-8")
            site.replies[f"/{file.relative_to(tmp_path / 'site').as_posix()}"] = Reply(file.read_bytes(), kind)
        page = context.new_page()
        page.goto(f"{site.url}/index.html")
        page.wait_for_load_state("networkidle")
        page.fill("#q", "statuses sandbox")
        page.click("#results a")
        assert "PUT /workflows replaces" in page.inner_text("h1")
        assert page.evaluate("getComputedStyle(document.querySelector('.kind')).fontWeight") == "600"


def test_a_hostile_entry_does_nothing(page: Page, look: Served) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{look.base}/entry/{HOSTILE}")
    page.wait_for_timeout(100)
    assert page.title() != "taken"
    assert "<script>document.title='taken'</script>" in page.inner_text(".body")
    assert all(url.startswith(look.base) for url in asked)
    links = page.eval_on_selector_all(".body a", "all => all.map(one => one.href)")
    assert links == ["https://example.com/", "https://example.com/seen.png"]
    assert page.locator(".body img, .body script, .body [style]").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize(("width", "scheme"), [(400, "dark"), (1600, "light")])
def test_pages_fit_and_nothing_serious_is_in_the_way_of_anybody(
    browser: Browser, look: Served, width: int, scheme: Literal["dark", "light"]
) -> None:
    axe = _axe()
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    page.goto(look.address)
    page.wait_for_url(look.base + "/")
    for path in PAGES if scheme == "light" else PAGES[1:6]:
        page.goto(look.base + path)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
        light = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0] > 128")
        assert light == (scheme == "light")
        if axe:
            page.add_script_tag(content=axe)
            found = page.evaluate("axe.run().then(all => all.violations)")
            serious = [
                (one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in {"serious", "critical"}
            ]
            assert serious == [], path
    context.close()
    if not axe:
        pytest.skip("fits, but axe-core is not here: npm install --prefix .venv-axe axe-core")


def _axe() -> str:
    """The program that looks for what is in the way of people with disabilities; empty where it is not here."""
    file = Path(__file__).parents[2] / ".venv-axe/node_modules/axe-core/axe.min.js"
    return file.read_text(encoding="utf-8") if file.exists() else ""
