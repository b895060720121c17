from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.connectors.exporters import instructions, joined, rule, sections
from ai_lessons.connectors.importers import note
from ai_lessons.errors import InvalidEntry
from ai_lessons.model.checks import check_entry
from ai_lessons.model.entries import Entry, Kind
from ai_lessons.model.frontmatter import read_entry

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


def entries(name: str, text: str, project: str | None = None, *, split_up: bool = False) -> list[Entry]:
    items = [rule(one, project, NOW) for one in instructions(name, text.encode(), split_up=split_up)]
    found = [read_entry(item.path, item.data) for item in items]
    for entry in found:
        assert entry.kind is Kind.RULE
        assert check_entry(entry) == []
    return found


def test_a_file_is_one_rule_unless_it_is_split() -> None:
    (one,) = entries("AGENTS.md", AGENTS)
    assert (one.title, one.fields["rationale"]) == ("My project", "they cost an hour.")
    assert "# not a heading\nmake test\n" in one.body
    assert "R-123456" not in one.body
    assert entries("CLAUDE.md", "@AGENTS.md\n\n@docs/more.md\n") == []


def test_each_section_becomes_a_rule_and_our_own_part_does_not_come_back() -> None:
    found = entries("AGENTS.md", AGENTS, split_up=True)
    assert [one.title for one in found] == ["My project", "Testing", "Testing: Slow tests"]
    assert "# not a heading\nmake test\n" in found[1].body
    assert found[2].fields["rationale"] == "they cost an hour."
    assert "does not say why" in found[0].fields["rationale"]


def test_the_same_section_has_the_same_id_wherever_it_stands() -> None:
    first = entries("AGENTS.md", AGENTS, split_up=True)
    again = entries("CLAUDE.md", "intro\n" + AGENTS, split_up=True)
    assert {one.id for one in first} < {one.id for one in again}
    assert again[0].title == "From CLAUDE.md"


@pytest.mark.parametrize(
    ("name", "text", "title", "globs"),
    [
        (".cursor/rules/db.mdc",
         "---\ndescription: Use transactions\nglobs: *.sql,src/**/*.{ts,tsx}\nalwaysApply: false\n---\nAlways.\n",
         "Use transactions", ["*.sql", "src/**/*.{ts,tsx}"]),
        ("one-thing.mdc", "Do one thing.\n", "one thing", []),
        (".claude/rules/api.md", '---\npaths:\n  - "src/api/**"\n  - /lib/*.py\n---\n# API rules\n\nCheck input.\n',
         "API rules", ["src/api/**", "lib/*.py"]),
        ("instructions/ts.instructions.md",
         "---\ndescription: 'Types, please'\napplyTo: '**/*.ts, **/*.tsx'\n---\n# TypeScript\n\nNo any.\n",
         "Types, please", ["**/*.ts", "**/*.tsx"]),
        ("all.instructions.md", "---\napplyTo: '**'\n---\n# All\n\nx\n", "All", []),
        (".windsurf/rules/go.md", "---\ntrigger: glob\nglobs: *.go\n---\nUse gofmt.\n", "go", ["*.go"]),
        ("web/AGENTS.md", "# Web\n\nNo inline styles.\n", "Web", ["web/**"]),
        ("web/.claude/CLAUDE.md", "# Web\n\nNo inline styles.\n", "Web", ["web/**"]),
        ("rules/angular/.cursorrules", "Use signals.\n", "From .cursorrules", []),
        (".cursor/rules/all.mdc", "---\nglobs: [a.py, 'b.py']\n---\n# All\n\nx\n", "All", ["a.py", "b.py"]),
        ("any.mdc", "---\nglobs: **/*.ts\nalwaysApply: true\n---\n# Any\n\nx\n", "Any", []),
    ],
)  # fmt: skip
def test_a_file_of_rules_is_one_rule_with_its_globs(name: str, text: str, title: str, globs: list[str]) -> None:
    (found,) = entries(name, text, "web")
    assert (found.title, found.fields.get("applies_to", []), found.project) == (title, globs, "web")


def test_what_two_files_say_is_one_rule_about_the_files_of_both() -> None:
    files = {
        "a.mdc": "---\nglobs: *.ts\n---\nNo any.\n",
        "b.mdc": "---\nglobs: *.tsx,*.ts\n---\nNo  any.\n",
        "c.mdc": "Other.\n",
    }
    kept, left = joined(one for name, text in files.items() for one in instructions(name, text.encode()))
    assert [(one.where, one.globs) for one in kept] == [("a.mdc", ("*.ts", "*.tsx")), ("c.mdc", ())]
    assert left == [("b.mdc", "a.mdc")]
    kept, _ = joined([kept[0], kept[0]._replace(where="all.mdc", globs=())])
    assert kept[0].globs == ()


@given(st.text(alphabet="# a`\n~@:", max_size=80))
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
