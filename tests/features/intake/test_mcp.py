"""Agents take in files over MCP."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from interfaces.http_world import serving_inside, with_headers
from interfaces.mcp_peer import served
from interfaces.mcp_world import connected, inside, text
from interfaces.test_mcp_http import TOKEN
from interfaces.test_mcp_stdio import MANY, ended
from interfaces.test_one_door import NAME, is_behind
from real_world import put_file

if TYPE_CHECKING:
    from pathlib import Path

    from interfaces.agent_host import Host
    from interfaces.mcp_world import Agent
    from real_world import Git


@pytest.fixture
def pages(knowledge: Path) -> Path:
    """A folder of many small docs."""
    folder = knowledge.parent / "pages"
    for number in range(MANY):
        put_file(folder / f"page-{number}.md", f"# Page {number}\n\nText {number}.\n")
    return folder


def test_a_cancelled_import_leaves_nothing_and_reads_are_answered_during_another(
    knowledge: Path, pages: Path, git: Git
) -> None:
    before = git(knowledge, "rev-parse", "HEAD")
    asked = {"type": "doc", "path": str(pages), "recursive": True}
    with served() as peer:
        peer.greet()
        number = peer.call("add_resource", token="t", **asked)
        noted = peer.until(lambda came: came["params"]["total"] >= MANY)["params"]
        assert noted["progressToken"] == "t"
        assert noted["progress"] < noted["total"]
        peer.send("notifications/cancelled", asks=False, requestId=number)
        found = peer.answer(peer.call("search_resources", query="Page 7"))["result"]
        assert not [
            doc for doc in found["structuredContent"]["docs"] if doc["title"].startswith("Page")
        ]
        written = peer.answer(peer.call("add_lesson", title="After", content="C"))
        assert written["result"]["isError"] is False
        assert not [came for came in peer.came if came.get("id") == number]
        assert git(knowledge, "rev-list", "--count", f"{before}..HEAD") == "1"
        assert git(knowledge, "status", "--porcelain") == ""
        peer.came.clear()
        importing = peer.call("add_resource", token="u", **asked)
        peer.until(lambda came: came.get("params", {}).get("total", 0) >= MANY)
        searching = peer.call("search", query="workflow")
        peer.answer(importing)
        order = [came["id"] for came in peer.came if came.get("id") in {importing, searching}]
        assert order[0] == searching
        progress = [
            m["params"]["progress"]
            for m in peer.came
            if m.get("method") == "notifications/progress"
        ]
        assert progress == sorted(progress)
        assert ended(peer) == 0


def test_a_file_and_a_folder_become_resources(agent: Agent, knowledge: Path, git: Git) -> None:
    folder = knowledge.parent / "notes"
    for name in ("one", "two"):
        put_file(folder / f"{name}.md", f"# {name}\n\nText of {name}.\n")
    one = agent.call(
        "add_resource", type="doc", path=str(folder / "one.md"), versions=["v1"], title="First"
    )
    assert one["written"][0]["path"].endswith("docs/v1/one.md")
    both = agent.call("add_resource", type="doc", path=str(folder), recursive=True, project="notes")
    assert len(both["written"]) == 2
    assert git(knowledge, "log", "-1", "--format=%s") == "Add 2 docs"
    (folder / "one.md").write_text("# one\n\nNew text.\n")
    again = agent.call("refresh_resource", resource_id=one["written"][0]["handle"])
    assert again["refreshed"][0]["changed"] is True
    assert "New text." in agent.reads("get", id=one["written"][0]["handle"])
    assert agent.call("refresh_resource", all=True)["refreshed"]
    assert "missing.md" in agent.fails("add_resource", type="doc", path=str(folder / "missing.md"))


def test_a_client_that_validates_takes_the_answers(agent: Agent, tmp_path: Path) -> None:
    put_file(tmp_path / "more/one.md", "# One\n\nA page.\n")
    folder = {"type": "doc", "path": str(tmp_path / "more"), "recursive": True}
    for tool, arguments in (("add_resource", folder), ("refresh_resource", {"all": True})):
        done = agent.result(tool, **arguments)
        assert not done.is_error, text(done)


def test_over_http_only_files_below_the_root_are_taken(knowledge: Path, tmp_path: Path) -> None:
    folder = tmp_path / "callers"
    put_file(folder / "guide.md", "# Guide\n\nText.\n")
    (tmp_path / "diary.md").write_text("# Diary\n\nMine.\n")
    (folder / "link.md").symlink_to(tmp_path / "diary.md")
    outside = ("diary.md", "callers/link.md", "callers/../diary.md", "*.md", "nothing.md")
    with (
        serving_inside(folder) as http,
        connected(http.url) as agent,
    ):
        for place in outside:
            refusal = agent.fails("add_resource", type="doc", path=str(tmp_path / place))
            assert "is not below" in refusal, place
        assert agent.call("add_resource", type="doc", path=str(folder / "guide.md"))["written"]


def test_the_token_of_a_server_is_never_taken_under_whatever_name(
    knowledge: Path, token_file: Path, tmp_path: Path
) -> None:
    (tmp_path / "hard.md").hardlink_to(token_file)
    (tmp_path / "soft.md").symlink_to(token_file)
    (tmp_path / "copy.md").write_text(f"# Notes\n\nIt is {TOKEN}.\n")
    with (
        serving_inside(token_file=token_file) as http,
        connected(with_headers(http.url, {"Authorization": f"Bearer {TOKEN}"})) as agent,
    ):
        for name in ("token", "hard.md", "soft.md", "copy.md"):
            refusal = agent.fails("add_resource", type="doc", path=str(tmp_path / name))
            assert "holds the token of this server" in refusal, name
    assert TOKEN not in "".join(file.read_text() for file in knowledge.rglob("*.md"))


def test_a_source_below_the_home_of_nobody_is_named(agent: Agent, knowledge: Path) -> None:
    doc = knowledge / "jira-api/docs/v3/workflows-api.md"
    for odd in ("~nobody-of-this-name/x.md", '"a\\0b"'):
        rows = []
        for row in doc.read_text().splitlines():
            rows.append(f"source_path: {odd}" if "source_path" in row else row)
        doc.write_text("\n".join(rows))
        done = agent.result("refresh_resource", resource_id="D-4T7QZM")
        assert text(done)
        assert "a bug in" not in text(done)


def test_the_name_of_a_file_that_is_taken_is_behind_the_frame(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(host.code)
    with inside(tmp_path / "log") as agent:
        done = agent.result("add_resource", type="doc", path=str(tmp_path / NAME))
        parts = [part.text for part in done.content if hasattr(part, "text")]
        assert parts
        assert all(map(is_behind, parts))


def test_an_agent_is_offered_to_add_without_asking_for_all_tools(agent: Agent) -> None:
    names = list(agent.tools())
    assert names.index("add_resource") == names.index("add_lesson") + 1
    hints = agent.tools()["add_resource"].annotations
    assert not hints.read_only_hint
