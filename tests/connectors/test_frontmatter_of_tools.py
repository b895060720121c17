"""Frontmatter and skills as other tools write them."""

from datetime import UTC, datetime

import pytest

from ai_lessons.connectors import exporters, importers
from ai_lessons.model.frontmatter import listed, read_entry

NOW = datetime(2026, 11, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("matter", "values"),
    [
        ("description: >-\n  The orders live in Postgres,\n  not in the cache.\ntype: project",
         {"description": ["The orders live in Postgres, not in the cache."], "type": ["project"]}),
        ("description: |\n  One.\n\n  Two.\nglobs: *.ts,*.tsx",
         {"description": ["One. Two."], "globs": ["*.ts", "*.tsx"]}),
        ("description: One\n  two.\n", {"description": ["One two."]}),
        ("paths:\n  - src/**\n  - \"*.{a,b}\"\ndescription: 'x: y'",
         {"paths": ["src/**", "*.{a,b}"], "description": ["x: y"]}),
        ("globs:\ndescription:\n", {"globs": [], "description": [""]}),
    ],
)  # fmt: skip
def test_a_text_over_several_lines_is_one(matter: str, values: dict[str, list[str]]) -> None:
    assert exporters.matter_of(matter) == values


@pytest.mark.parametrize(
    ("stated", "tags"),
    [("#a #b", ("a", "b")), ("#a", ("a",)), ("a, #b", ("a", "b")), ("a b", ("a b",)), ("", ()), (["#a b"], ("a b",))],
)
def test_tags_are_read_as_their_tools_mean_them(stated: object, tags: tuple[str, ...]) -> None:
    assert listed(stated) == tags


def test_a_key_with_a_capital_holds_tags_and_title_too() -> None:
    entry = read_entry("x/docs/1/a.md", b'---\nTitle: Named\nTags: "#red #blue"\n---\n# A\n\nText.\n')
    assert (entry.title, entry.tags) == ("Named", ("red", "blue"))


def test_a_skill_with_a_hidden_file_comes_in_without_it() -> None:
    files = {
        "SKILL.md": (b"---\nname: deploy\ndescription: >-\n  Deploys\n  it.\n---\nRun it.\n", False),
        ".env.example": (b"X=1\n", False), ".notes.md": (b"# x\n", False), "scripts/.run.sh": (b"#!/bin/sh\n", True),
        "scripts/run.sh": (b"#!/bin/sh\n", True),
    }  # fmt: skip
    items, left = importers.skill("deploy", files, "shop", NOW)
    assert [item.where for item in items] == ["deploy/SKILL.md", "deploy/scripts/run.sh"]
    assert left == ["deploy/.env.example", "deploy/.notes.md", "deploy/scripts/.run.sh"]
    assert b"Deploys it.\n\nRun it." in items[0].data
