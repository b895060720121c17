"""The pictures of the documentation, from the real page: `python .ci/pictures.py [--to docs/pictures]`.

Needs Chromium. Makes a repository of the starter set and of what a few sessions of an agent left behind.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(
    0, str(Path(__file__).resolve().parents[1])
)  # of a script only its own folder is there

from bench.harness import ROOT, World, program, provide_model, world
from bench.look import looking

from ai_lessons.settings import AGENT_HOSTS, AGENT_NAMES

if TYPE_CHECKING:
    from playwright.sync_api import Page

AGENTS = frozenset((*AGENT_NAMES, *AGENT_HOSTS))
QUIET = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
SIZE: Any = {"width": 1120, "height": 760}
LESSONS = (
    ("PUT /workflows replaces the entire resource", "updating a workflow", "GET it first and send every status back",
     "PUT deletes the statuses that the payload omits"),
    ("The staging database is reset every Monday", "a record of last week is missing", "look into the backup of Sunday",
     "staging is filled anew from production"),
    ("Coupons are checked in the service, not in the form", "a coupon is refused without a word",
     "read the log of the service", "the form takes any code"),
    ("make test needs the services of docker compose", "the tests cannot connect", "run docker compose up -d first",
     "they talk to a real database"),
)  # fmt: skip
RULE = (
    "--title", "GET a workflow before you PUT it", "--rationale", "PUT deletes what the payload omits.",
    "--content", "1. `GET` the workflow.\n2. Change what is to change.\n3. Send **every** status back.\n",
    "--project", "shop", "--tags", "workflows,api",
)  # fmt: skip


def prepare(home: World) -> Path:
    """A repository with entries that are linked, were told and judged, and proposals that wait."""
    repo = home.folder / "knowledge"
    home.program("admin", "init", "--starters", str(repo))
    handles = []
    for title, when, do, because in LESSONS:
        parts = ["--when", when, "--do", do, "--because", because]
        more = [
            "--project",
            "shop",
            "--tags",
            "shop,api",
            "--source",
            "tested",
            "--confidence",
            "high",
        ]
        told = home.ours(
            repo, "contribute", "add-lesson", "--title", title, *parts, *more, "--json"
        ).out
        handles.append(json.loads(told)["handle"])
    for one, other in ((0, 1), (1, 2), (2, 3), (0, 3)):
        home.ours(
            repo, "contribute", "link", handles[one], handles[other], "--relation", "related_to"
        )
    home.ours(repo, "contribute", "suggest-rule", *RULE, "--link-lesson", handles[0])
    for handle, outcome in (
        (handles[0], "helpful"),
        (handles[0], "helpful"),
        (handles[1], "ignored"),
    ):
        home.ours(repo, "contribute", "feedback", handle, outcome)
    for n, (command, said) in enumerate(
        (("terraform plan", "Error: Unsupported Terraform Core version"),) * 3
    ):
        event = {"hook_event_name": "PostToolUseFailure", "session_id": f"s{n}", "cwd": str(home.folder),
                 "tool_name": "Bash", "tool_input": {"command": command}, "error": f"Exit code 1\n{said}"}  # fmt: skip
        subprocess.run([*program(), "--repo", str(repo), "admin", "agent-hook"], input=json.dumps(event).encode(),
                       cwd=home.folder, env=dict(home.env), check=True)  # fmt: skip
    home.ours(repo, "admin", "reindex")
    return repo


def draw(page: Page, base: str, folder: Path) -> None:
    """Each picture, from the page as a person has it before the eyes."""
    page.goto(f"{base}/")
    page.fill("#q", "statuses of the workflow are gone")
    page.wait_for_selector("#results section")
    page.screenshot(path=folder / "look-search.png")
    page.goto(f"{base}/review")
    page.locator(".waiting a", has_text="GET a workflow").click()
    page.wait_for_selector(".reads")
    page.screenshot(path=folder / "look-review.png")
    page.goto(f"{base}/graph")
    page.wait_for_selector("#graph canvas")
    page.wait_for_timeout(500)
    page.screenshot(path=folder / "look-graph.png")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=Path, default=ROOT / "docs" / "pictures")
    to = parser.parse_args().to
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with world() as cold, sync_playwright() as playwright:
        home = replace(
            cold, env={name: value for name, value in cold.env.items() if name not in AGENTS}
        )
        provide_model(home)
        repo = prepare(home)
        browser = playwright.chromium.launch(executable_path=chromium, args=[*QUIET])
        with looking(home, repo) as look:
            page = browser.new_page(viewport=SIZE)
            page.goto(look.address)
            page.wait_for_url(look.base + "/")
            draw(page, look.base, to)
        browser.close()


if __name__ == "__main__":
    main()
