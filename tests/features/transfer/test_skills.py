"""Rules in force and firm lessons as skills that MCP serves."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import Request
from pydantic import TypeAdapter

from interfaces.mcp_world import inside
from interfaces.world import Run


class Asked(Request[dict[str, Any], str]):
    """A request of the extension of skills, which the client does not know."""


def test_rules_in_force_are_skills_whose_files_are_the_approved_ones_byte_by_byte(
    knowledge: Path, run: Run, approved: str, tmp_path: Path
) -> None:
    (stated,) = [
        one
        for one in run("recall", "list", "--type", "rule", "--json").json
        if one["handle"] == approved
    ]
    file = knowledge / stated["path"]
    bytes_approved = file.read_bytes()
    file.write_text("---\nkind: rule\n---\nSomething else\n")  # an edit that nobody approved
    with inside(tmp_path / "log") as agent:

        def ask(method: str, **params: str) -> Any:
            return agent.ask(
                agent.client.session.send_request,
                Asked(method=method, params=params),
                TypeAdapter(dict),
            )

        listed = ask("skills/list")
        assert (listed["resultType"], listed["cacheScope"]) == ("complete", "private")
        (skill,) = [
            one
            for one in listed["skills"]
            if any(approved in each["uri"] for each in one["resources"])
        ]
        assert skill["uri"] == f"skill://{skill['frontmatter']['name']}/SKILL.md"
        assert stated["title"] in skill["frontmatter"]["description"]
        assert ask("skills/get", uri=skill["uri"])["skill"] == skill
        for resource in skill["resources"]:
            data = agent.ask(agent.client.read_resource, resource["uri"]).contents[0].text.encode()
            assert (resource["size"], resource["digest"]) == (
                len(data),
                f"sha256:{sha256(data).hexdigest()}",
            )
            assert approved not in resource["uri"] or data == bytes_approved
        with pytest.raises(MCPError, match="no skill is at"):
            ask("skills/get", uri="skill://other/SKILL.md")
