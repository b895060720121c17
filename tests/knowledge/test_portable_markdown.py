from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.errors import InvalidEntry
from ai_lessons.knowledge.agent_rules import instructions, note, sections
from ai_lessons.knowledge.checks import check_entry
from ai_lessons.knowledge.entries import Entry, Kind
from ai_lessons.knowledge.frontmatter import read_entry

NOW = datetime(2026, 11, 21, 20, 14, tzinfo=UTC)
AGENTS = """# My project

It builds with make.

## Testing

Run `make test` before a commit.

```sh
# not a heading
make test
```

### Slow tests

Because: they cost an hour.

- Leave them to CI.

## Empty

@docs/more.md

<!-- >>> ai-lessons rules >>> -->
## Rules

### From here (R-123456)
<!-- <<< ai-lessons rules <<< -->
"""


def entries(name: str, text: str, project: str | None = None) -> list[Entry]:
    found = [read_entry(item.path, item.data) for item in instructions(name, text.encode(), project, NOW)]
    for entry in found:
        assert entry.kind is Kind.RULE
        assert check_entry(entry) == []
    return found


def test_each_section_becomes_a_rule_and_our_own_part_does_not_come_back() -> None:
    found = entries("AGENTS.md", AGENTS)
    assert [one.title for one in found] == ["My project", "Testing", "Testing: Slow tests"]
    assert "# not a heading\nmake test\n" in found[1].body
    assert found[2].fields["rationale"] == "they cost an hour."
    assert "does not say why" in found[0].fields["rationale"]


def test_the_same_section_has_the_same_id_wherever_it_stands() -> None:
    first = entries("AGENTS.md", AGENTS)
    again = entries("CLAUDE.md", "intro\n" + AGENTS)
    assert {one.id for one in first} < {one.id for one in again}
    assert again[0].title == "From CLAUDE.md"


@pytest.mark.parametrize(
    ("name", "text", "title", "globs"),
    [
        (
            ".cursor/rules/db.mdc",
            "---\ndescription: Use transactions\nglobs: *.sql,src/**/*.{ts,tsx}\nalwaysApply: false\n---\nAlways.\n",
            "Use transactions",
            ["*.sql", "src/**/*.{ts,tsx}"],
        ),
        ("one-thing.mdc", "Do one thing.\n", "one thing", []),
        (
            ".claude/rules/api.md",
            '---\npaths:\n  - "src/api/**"\n  - /lib/*.py\n---\n# API rules\n\nCheck input.\n',
            "API rules",
            ["src/api/**", "lib/*.py"],
        ),
        (".cursor/rules/all.mdc", "---\nglobs: [a.py, 'b.py']\n---\n# All\n\nx\n", "All", ["a.py", "b.py"]),
    ],
)
def test_a_file_of_rules_is_one_rule_with_its_globs(name: str, text: str, title: str, globs: list[str]) -> None:
    (found,) = entries(name, text, "web")
    assert (found.title, found.fields.get("applies_to", []), found.project) == (title, globs, "web")


@given(st.text(alphabet="# a`\n~-@:", max_size=80))
def test_no_text_is_lost_between_sections(text: str) -> None:
    kept = "".join(one.body for one in sections(text))
    words = [row for row in text.split("\n") if row and not row.lstrip(" ").startswith(("#", "@"))]
    assert all(row in kept for row in words if row.strip())


def test_a_note_keeps_what_it_says_and_gets_what_it_lacks() -> None:
    item = note(
        "sub/Notes on carts.md",
        b"---\r\ntags: shop, cart\r\nowner: ana # me\r\n---\r\n# Carts\r\n\r\nText.\r\n",
        None,
        NOW,
    )
    entry = read_entry(item.path, item.data)
    assert check_entry(entry) == []
    assert (entry.kind, entry.title, entry.tags) == (Kind.DOC, "Carts", ("cart", "shop"))
    assert item.path == "global/docs/unversioned/sub/Notes on carts.md"
    assert b"owner: ana # me\n" in item.data
    assert (
        note("sub/Notes on carts.md", b"---\ntags: shop, cart\nowner: ana # me\n---\n# Carts\n\nText.\n", None, NOW)
        == item
    )


def test_frontmatter_says_what_a_note_is() -> None:
    lesson = note("a.md", b"---\nkind: lesson\ntitle: Seen\ncreated: 2025-03-01\n---\nx\n", "shop", NOW)
    assert lesson.path.startswith("shop/lessons/2025-03/seen-")
    rule = note("b.md", b"---\nkind: rule\ntitle: Do\nrationale: why\nproject: web\n---\nx\n", None, NOW)
    assert rule.path.startswith("web/rules/do-")
    with pytest.raises(InvalidEntry, match="import that file"):
        note("c.md", b"---\nkind: script\ntitle: x\npath: /x\n---\nx\n", None, NOW)
