"""What people and agents do with an entry works for every kind, whichever kinds there are; see CONTRIBUTING."""

import json
from pathlib import Path

import pytest

from ai_lessons.model import frontmatter, layout, markdown
from ai_lessons.model.entries import KINDS, Kind, handle
from interfaces.mcp_world import inside
from interfaces.world import LESSON, Run
from real_world import Git, put_file

ID = "01JD3Z8QK5W7M2X9V4T6ZEBRA7"
TITLE = "Feed the zebra at dawn"
TEXT = "It eats grass only.\n"


def files_of(kind: Kind) -> dict[str, str]:
    """A new entry of the kind as it is stored, with all that is demanded; a script is two files."""
    stated = dict.fromkeys(KINDS[kind].required, "because it is so")
    fields = frontmatter.new_fields(kind, ID, "2026-11-21T20:14:00Z", title=TITLE, **stated)
    text = markdown.render(fields, TEXT)
    if kind is Kind.SCRIPT:
        path = layout.resource_path(kind, "zoo", (), "feed.sh")
        return {path: "#!/bin/sh\necho grass\n", layout.side_of(path): text}
    return {layout.new_path(kind, "zoo", TITLE, ID, "2026-11"): text}


@pytest.mark.parametrize("kind", list(Kind), ids=str)
def test_an_entry_of_any_kind_goes_through_every_command_and_tool(
    run: Run, knowledge: Path, git: Git, tmp_path: Path, kind: Kind
) -> None:
    name = handle(kind, ID)
    git(knowledge, "switch", "-q", "-c", f"rules/{name}")
    for path, text in files_of(kind).items():
        put_file(knowledge / path, text)
    git(knowledge, "add", "-A")
    git(knowledge, "commit", "-qm", "An entry", "--no-verify")
    git(knowledge, "switch", "-q", "main")

    def done(*words: str | Path) -> str:
        outcome = run(*words)
        assert outcome.code == 0, (words, outcome)
        return outcome.out

    if kind is Kind.RULE:
        done("admin", "approve-rule", name, "--yes")
    else:
        git(knowledge, "merge", "-q", f"rules/{name}")
    assert done("admin", "validate").endswith(" 0 problems\n")
    listed = json.loads(done("recall", "list", "--type", kind, "--project", "zoo", "--json"))
    assert [entry["handle"] for entry in listed] == [name]
    for query in (("zebra dawn", "--type", kind), (f"zebra kind:{kind.folder}",)):
        assert name in done("recall", "search", *query)
        assert [
            hit["id"] for hit in json.loads(done("recall", "search", *query, "--json"))[kind.folder]
        ] == [ID]
    assert KINDS[kind].heading in done("recall", "search", "zebra dawn", "--type", kind)
    for reference in (ID, name, name.lower(), ID[-6:]):
        assert TITLE in done("recall", "show", reference)
    assert json.loads(done("recall", "show", name, "--json"))["kind"] == kind
    with inside(tmp_path / "log") as agent:
        found = agent.call("search", query="zebra dawn", type=kind)
        assert [hit["id"] for hit in found[kind.folder]] == [ID]
        assert kind.folder in agent.tools()["search"].output_schema["properties"]
        assert agent.call("get_resource", resource_id=name)["handle"] == name
        assert TITLE in agent.reads("get_resource", resource_id=name)
    done("contribute", "link", LESSON, name)
    assert name in done("recall", "related", LESSON)
    assert "L-8F3K2A" in done("recall", "related", name)
    assert name in done("recall", "graph", name)
    done("contribute", "update", name, "--title", "Feed the zebra at dusk")
    if kind is not Kind.RULE:  # of a rule it is a proposal
        assert "at dusk" in done("recall", "show", name)
    done("contribute", "delete", name, "--yes")
    if kind is not Kind.RULE:
        assert run("recall", "show", name).code == 3
