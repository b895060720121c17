"""Frontmatter and skills as other tools write them."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from ai_lessons.features.transfer import folders, instruction_files, notes
from ai_lessons.features.transfer.arriving import Bundle
from ai_lessons.model.frontmatter import listed, read_entry
from real_world import put_file

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
    assert instruction_files.matter_of(matter) == values


@pytest.mark.parametrize(
    ("stated", "tags"),
    [
        ("#a #b", ("a", "b")),
        ("#a", ("a",)),
        ("a, #b", ("a", "b")),
        ("a b", ("a b",)),
        ("", ()),
        (["#a b"], ("a b",)),
    ],
)
def test_tags_are_read_as_their_tools_mean_them(stated: object, tags: tuple[str, ...]) -> None:
    assert listed(stated) == tags


def test_a_key_with_a_capital_holds_tags_and_title_too() -> None:
    entry = read_entry(
        "x/docs/1/a.md", b'---\nTitle: Named\nTags: "#red #blue"\n---\n# A\n\nText.\n'
    )
    assert (entry.title, entry.tags) == ("Named", ("red", "blue"))


def test_a_skill_with_a_hidden_file_comes_in_without_it() -> None:
    files = {
        "SKILL.md": (b"---\nname: deploy\ndescription: >-\n  Deploys\n  it.\n---\nRun it.\n", False),
        ".env.example": (b"X=1\n", False), ".notes.md": (b"# x\n", False), "scripts/.run.sh": (b"#!/bin/sh\n", True),
        "scripts/run.sh": (b"#!/bin/sh\n", True),
    }  # fmt: skip
    skill = notes.SkillReader("deploy", "shop", NOW)
    skill.read(files)
    items, left, damaged = skill.items, skill.other_files, skill.damaged
    assert damaged == []
    assert [item.where for item in items] == ["deploy/SKILL.md", "deploy/scripts/run.sh"]
    assert left == ["deploy/.env.example", "deploy/.notes.md", "deploy/scripts/.run.sh"]
    assert b"Deploys it.\n\nRun it." in items[0].data


def bundle_of(folder: Path, form: str) -> Bundle:
    return folders.read_source([folder], folders.Asked(form, "shop", NOW, lambda files: files))


def test_one_bad_file_of_a_skill_takes_nothing_with_it_and_is_the_one_that_is_named(
    tmp_path: Path,
) -> None:
    put_file(
        tmp_path / "docs/SKILL.md",
        "---\nname: docs\ndescription: Writes docs: of parts.\n---\nUse it.\n",
    )
    put_file(tmp_path / "docs/assets/t.md", "---\ntitle: [Name] - Docs\n---\n# [Name]\n")
    put_file(tmp_path / "docs/more.md", "# More\n\nText.\n")
    (tmp_path / "docs/bad.md").write_bytes(b"# \xff\n")
    bundle = bundle_of(tmp_path, "skills")
    assert [item.where for item in bundle.items] == [
        "docs/SKILL.md",
        "docs/more.md",
        "docs/assets/t.md",
    ]
    assert [where for where, _ in bundle.damaged] == ["docs/bad.md"]
    assert sorted(bundle.notes) == [
        "docs/SKILL.md: its frontmatter was mended: line 3: `description` put in quotes",
        "docs/assets/t.md: its frontmatter was mended: line 2: `title` put in quotes",
    ]
    (tmp_path / "docs/SKILL.md").write_bytes(b"\xff")
    assert [item.where for item in bundle_of(tmp_path, "skills").items] == [
        "docs/more.md",
        "docs/assets/t.md",
    ]


def test_what_a_link_leads_to_within_the_folder_comes_in_once_and_other_links_are_named(
    tmp_path: Path,
) -> None:
    code = tmp_path / "code"
    put_file(code / ".claude/rules/own.md", "# Own\n\nAlways own.\n")
    put_file(code / "AGENTS.real", "# A\n\nAlways a.\n")
    put_file(code / "shared/go.md", "# Go\n\nAlways go.\n")
    put_file(tmp_path / "outside/ruby.md", "# Ruby\n\nAlways freeze.\n")
    for link, target in (
        ("AGENTS.md", "AGENTS.real"), ("CLAUDE.md", "AGENTS.md"), (".claude/rules/team", "../../shared"),
        (".claude/rules/ruby.md", "../../../outside/ruby.md"), (".claude/rules/all", "../../../outside"),
        (".claude/rules/gone.md", "nowhere"), ("shared/up", ".."),
    ):  # fmt: skip
        (code / link).symlink_to(target)
    bundle = bundle_of(code, "agents-md")
    assert sorted(item.where for item in bundle.items) == [
        ".claude/rules/own.md", ".claude/rules/team/go.md", "AGENTS.md",
    ]  # fmt: skip
    reasons = {
        where: why
        for where, _, why in bundle.left
        if not where.startswith(("shared/", "AGENTS.real"))
    }
    assert reasons.keys() >= {".claude/rules/ruby.md", ".claude/rules/all", ".claude/rules/gone.md"}
    assert "out of the folder" in reasons[".claude/rules/all"]
    assert ("shared/up", "a link to a folder that it lies in") in [
        (where, why) for where, _, why in bundle.left
    ]


def test_keys_of_memories_that_are_not_taken_over_are_named(tmp_path: Path) -> None:
    put_file(tmp_path / "memory/MEMORY.md", "- [a](a.md): x\n")
    put_file(tmp_path / "memory/a.md", "---\nname: a\ndescription: Of: a\nsession: 7\n---\nText.\n")
    assert bundle_of(tmp_path, "claude").notes == [
        "memory/a.md: its frontmatter was mended: line 3: `description` put in quotes",
        "memory/a.md: keys that are not taken over: session",
    ]
    file = put_file(
        tmp_path / "m.json",
        '[{"memory": "Likes tea", "user_id": "ann", "agent_id": "x", "metadata": {}}]',
    )
    asked = folders.Asked("mem0", None, NOW, lambda files: files)
    assert folders.read_source([file], asked).notes == [
        "m.json: keys that are not taken over: agent_id"
    ]
