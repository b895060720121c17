"""No id, project or address that an agent names leads to a file that is no entry of the repository."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp.shared.exceptions import MCPError

from interfaces.mcp_world import Agent, inside, text
from interfaces.world import FILES
from real_world import Git

SECRET = "the-hidden-word"
PLAIN = f"# Notes\n\n{SECRET}\n"
ENTRY = next(iter(FILES.values())).replace("8F3K2A", "8F3K2B") + SECRET

NAMES = [
    "../outside.md", "../../../../../../../../etc/passwd", "/etc/passwd", "{outside}", "{repo}/../outside.md", "file://{outside}",
    "jira-api/../../outside.md", "jira-api/lessons/../../../outside.md", "./../outside.md", "..", ".", "/", "~", "",
    "..%2Foutside.md", "%2e%2e/outside.md", "..\\outside.md", "C:\\Windows\\win.ini", "\\\\host\\share", "//host/share",
    "linked.md", "jira-api/lessons/linked.md", "{repo}/linked.md", "folder/outside.md", "jira-api/../linked.md",
    ".git/config", "{repo}/.git/config", ".git/../../outside.md", ".ai-lessons/../.git/config",
    "~/outside.md", "~nobody-of-this-name/outside.md", "a\0b", "a\0/b", "../outside.md\0.md", "\u2025/outside.md",
    "\uff0e\uff0e/outside.md", "x" * 5000, "../" * 3000 + "etc/passwd", "L-8F3K2A/../../outside.md", "*", "%", "_",
]  # fmt: skip


@pytest.fixture
def outside(knowledge: Path, hermetic: Path) -> Path:
    """An entry beside the repository, which links of every kind lead to."""
    file = knowledge.parent / "outside.md"
    file.write_text(ENTRY)
    (hermetic / "outside.md").write_text(PLAIN)
    settings = knowledge / ".git/config"
    settings.write_text(f"{settings.read_text()}[note]\n\tword = {SECRET}\n")
    (knowledge / "linked.md").symlink_to(file)
    (knowledge / "jira-api/lessons/linked.md").symlink_to("../../../outside.md")
    (knowledge / "folder").symlink_to(knowledge.parent)
    return file


@pytest.fixture
def agent(outside: Path, tmp_path: Path) -> Iterator[Agent]:
    with inside(tmp_path / "mcp.log") as agent:
        yield agent


def test_no_name_and_no_address_leads_out_of_the_repository(
    agent: Agent, outside: Path, knowledge: Path
) -> None:
    offered = agent.tools()
    for name in (
        one.replace("{outside}", str(outside)).replace("{repo}", str(knowledge)) for one in NAMES
    ):
        for tool, argument in (
            ("get_resource", "resource_id"),
            ("related", "id"),
            ("run_script", "resource_id"),
        ):
            if tool not in offered:
                continue  # of a feature that is not here
            done = agent.result(tool, **{argument: name})
            said = text(done)
            assert done.is_error, (tool, name)
            assert "no entry" in said or "names several entries" in said, (tool, name, said)
            assert SECRET not in said, (tool, name)
    for address in (
        "entry/..%2Foutside.md", "entry/%2Fetc%2Fpasswd", "entry/../outside.md", "entry/linked.md",
        "entry/folder%2Foutside.md", "entry/.git%2Fconfig", "entry/a%00%2Fb", "entry/%FF",
        "entry/~nobody-of-this-name%2Fb",
    ):  # fmt: skip
        with pytest.raises(MCPError) as refused:
            agent.ask(agent.client.read_resource, f"lessons://{address}")
        assert (SECRET in str(refused.value), "a bug in" in str(refused.value)) == (False, False), (
            address
        )


def test_an_entry_that_turns_into_a_link_is_not_followed(
    agent: Agent, outside: Path, knowledge: Path
) -> None:
    path = next(iter(FILES))
    assert "Seen on the sandbox" in agent.reads("get_resource", resource_id="L-8F3K2A")
    (knowledge / path).unlink()
    (knowledge / path).symlink_to(outside)
    for tool, arguments in (
        ("get_resource", {"resource_id": "L-8F3K2A"}),
        ("get_resource", {"resource_id": path}),
    ):
        assert SECRET not in agent.fails(tool, **arguments)
    assert agent.call("search", query=SECRET)["lessons"] == []


def test_nothing_is_written_outside_the_repository(agent: Agent, knowledge: Path, git: Git) -> None:
    before = sorted(knowledge.parent.iterdir()), git(knowledge, "status", "--porcelain")
    for project in ("../..", "/etc", "a/../../b", "..", "a\0b", ".git"):
        assert "project" in agent.fails("add_lesson", title="T", content="C", project=project)
        said = agent.fails("suggest_rule", title="T", rationale="R", content="C", project=project)
        assert "a bug in" not in said
        assert (
            sorted(knowledge.parent.iterdir()),
            git(knowledge, "status", "--porcelain"),
        ) == before


def test_context_of_odd_places_is_answered(agent: Agent, outside: Path) -> None:
    places = ["a\0b", "~nobody-of-this-name/x", "../../etc/passwd", str(outside), ""]
    assert SECRET not in json.dumps(agent.call("context", project="../..", paths=places))
