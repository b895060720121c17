"""The rules that files of instructions for agents state, whole and by statements."""

from datetime import UTC, datetime

import pytest

from ai_lessons.errors import InvalidEntry
from ai_lessons.features.transfer.instruction_files import (
    import_place,
    instructions,
    joined,
    mentions,
    rule,
    scope_of,
    stands_in,
)
from ai_lessons.features.transfer.notes import note
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


def entries(
    name: str, text: str, project: str | None = None, *, split_up: bool = False
) -> list[Entry]:
    stated = instructions(name, text.encode(), project, split_up=split_up)
    items = [rule(instruction, project, NOW) for instruction in stated]
    found = [read_entry(item.path, item.data) for item in items]
    for entry in found:
        assert entry.kind is Kind.RULE
        assert check_entry(entry) == []
    return found


def test_a_file_is_one_rule_unless_it_is_split() -> None:
    (whole,) = entries("AGENTS.md", AGENTS)
    assert (whole.title, whole.fields["rationale"]) == (
        "Run `make test` before a commit — My project",
        "they cost an hour.",
    )
    assert whole.fields["source_path"] == "AGENTS.md"
    assert "# not a heading\nmake test\n" in whole.body
    assert "R-123456" not in whole.body
    assert entries("CLAUDE.md", "@AGENTS.md\n\n@docs/more.md\n") == []


def test_each_statement_becomes_a_rule_and_what_describes_stays_together() -> None:
    tests, slow, described = entries("AGENTS.md", AGENTS, "shop", split_up=True)
    assert (tests.title, slow.title) == (
        "Run `make test` before a commit.",
        "Slow tests: Leave them to CI.",
    )
    assert tests.body.startswith("## Testing\n\nRun `make test`")
    assert "# not a heading\nmake test\n" in tests.body
    assert (tests.fields["rationale"], slow.fields["rationale"]) == ("", "they cost an hour.")
    assert (described.title, described.fields["rationale"]) == ("AGENTS.md of shop", "")
    assert described.body.startswith("# My project\n\nIt builds with make.\n")
    assert not any("R-123456" in entry.body for entry in (tests, slow, described))


def test_the_same_statement_has_the_same_id_wherever_it_stands() -> None:
    first = entries("AGENTS.md", "# A\n\n- Never push to main.\n", split_up=True)
    again = entries(
        "CLAUDE.md",
        "intro\n\n## Other\n\n- Lint before a commit\n-   Never push to main.\n",
        split_up=True,
    )
    assert {entry.id for entry in first} < {entry.id for entry in again}
    assert again[-1].title == "From CLAUDE.md"


@pytest.mark.parametrize(
    ("name", "text", "title", "globs"),
    [
        (".cursor/rules/db.mdc",
         "---\ndescription: Use transactions\nglobs: *.sql,src/**/*.{ts,tsx}\nalwaysApply: false\n---\nAlways.\n",
         "Use transactions", ["*.sql", "src/**/*.{ts,tsx}"]),
        ("one-thing.mdc", "One thing.\n", "one thing", []),
        (".claude/rules/api.md", '---\npaths:\n  - "src/api/**"\n  - /lib/*.py\n---\n# API rules\n\nCheck input.\n',
         "API rules: Check input.", ["src/api/**", "lib/*.py"]),
        ("instructions/ts.instructions.md",
         "---\ndescription: 'Types, please'\napplyTo: '**/*.ts, **/*.tsx'\n---\n# TypeScript\n\nNo `any` anywhere.\n",
         "No `any` anywhere — Types, please", ["**/*.ts", "**/*.tsx"]),
        ("all.instructions.md", "---\napplyTo: '**'\n---\n# All\n\nx\n", "All", []),
        (".windsurf/rules/go.md", "---\ntrigger: glob\nglobs: *.go\n---\nUse gofmt.\n", "Use gofmt.", ["*.go"]),
        ("web/AGENTS.md", "# Web\n\nNo inline styles.\n", "No inline styles — Web", ["web/**"]),
        ("web/.claude/CLAUDE.md", "# Web\n\nNo inline styles.\n", "No inline styles — Web", ["web/**"]),
        ("rules/angular/.cursorrules", "Signals.\n", "From .cursorrules", []),
        (".cursor/rules/all.mdc", "---\nglobs: [a.py, 'b.py']\n---\n# All\n\nx\n", "All", ["a.py", "b.py"]),
        ("any.mdc", "---\nglobs: **/*.ts\nalwaysApply: true\n---\n# Any\n\nx\n", "Any", []),
        ("two.mdc", "---\nglobs: *.go\n---\n---\ndescription: Go\nname: x\n---\n\nAlways use gofmt.\n",
         "Always use gofmt — Go", ["*.go"]),
    ],
)  # fmt: skip
def test_a_file_of_rules_is_one_rule_with_its_globs(
    name: str, text: str, title: str, globs: list[str]
) -> None:
    (found,) = entries(name, text, "web")
    assert (found.title, found.fields.get("applies_to", []), found.project) == (title, globs, "web")


@pytest.mark.parametrize(
    ("place", "matter", "globs"),
    [
        ("packages/web/AGENTS.md", "", ("packages/web/**",)),
        ("packages/web/.claude/rules/a.md", "", ("packages/web/**",)),
        ("packages/web/.cursor/rules/a.mdc", "globs: src/**/*.tsx, *.css",
         ("packages/web/src/**/*.tsx", "packages/web/**/*.css")),
        ("packages/web/.cursor/rules/a.mdc", "globs: **/*", ("packages/web/**",)),
        ("packages/web/.cursor/rules/a.mdc", "globs: *.css\nalwaysApply: true", ("packages/web/**",)),
        ("packages/web/.github/instructions/a.instructions.md", "applyTo: '**/*.ts'", ("packages/web/**/*.ts",)),
        (".github/workflows/AGENTS.md", "", (".github/workflows/**",)),
        (".github/copilot-instructions.md", "", ()),
        ("AGENTS.md", "", ()),
    ],
)  # fmt: skip
def test_rules_hold_in_the_folder_where_they_lie(
    place: str, matter: str, globs: tuple[str, ...]
) -> None:
    text = f"---\n{matter}\n---\nx\n" if matter else "x\n"
    assert scope_of(place, text.encode()) == globs


def test_a_file_is_imported_by_a_line_of_its_own_and_not_from_code() -> None:
    text = "@docs/a.md\n- @b/c.md\nSee @README.md and @types/node, `@d.md`.\n```\n@e.md\n```\nby @ana\n@ana\n"
    found = [(mention.path, mention.alone) for mention in mentions(text)]
    assert found == [("docs/a.md", True), ("b/c.md", True), ("README.md", False)]


@pytest.mark.parametrize(
    ("place", "path", "target"),
    [
        ("AGENTS.md", "docs/a.md", "docs/a.md"),
        (".claude/rules/a.md", "../../docs/./p.md", "docs/p.md"),
        ("AGENTS.md", "../a.md", None),
        ("AGENTS.md", "~/a.md", None),
        ("AGENTS.md", "/etc/passwd", None),
        ("a/AGENTS.md", "b/../../../x", None),
    ],
)
def test_an_import_leads_nowhere_but_into_the_code(
    place: str, path: str, target: str | None
) -> None:
    assert import_place(place, path) == target


def test_a_rule_of_several_paragraphs_stands_in_a_file_that_has_each_of_them() -> None:
    text = "# Shop\n\nIt sells.\n\n- Never mock\n\n## Layers\n\nThe web layer\ntalks to services.\n"
    *_, described = entries("AGENTS.md", text, split_up=True)
    assert "It sells." in described.body
    assert "Never mock" not in described.body
    assert stands_in(described, text.replace("The web layer", "The  web layer"))
    assert not stands_in(described, text.replace("It sells.", "It sold."))


def test_what_two_files_say_is_one_rule_about_the_files_of_both() -> None:
    files = {
        "a.mdc": "---\nglobs: *.ts\n---\nNo any.\n",
        "b.mdc": "---\nglobs: *.tsx,*.ts\n---\nNo  any.\n",
        "c.mdc": "Other.\n",
    }
    kept, left = joined(
        stated for name, text in files.items() for stated in instructions(name, text.encode())
    )
    assert [(stated.where, stated.globs) for stated in kept] == [
        ("a.mdc", ("*.ts", "*.tsx")),
        ("c.mdc", ()),
    ]
    assert left == [("b.mdc", "a.mdc")]
    kept, _ = joined([kept[0], kept[0]._replace(where="all.mdc", globs=())])
    assert kept[0].globs == ()


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
        note(
            "sub/Notes on carts.md",
            b"---\ntags: shop, cart\nowner: ana # me\n---\n# Carts\n\nText.\n",
            None,
            NOW,
        )
        == item
    )


def test_frontmatter_says_what_a_note_is() -> None:
    lesson = note(
        "a.md", b"---\nkind: lesson\ntitle: Seen\ncreated: 2025-03-01\n---\nx\n", "shop", NOW
    )
    assert lesson.path.startswith("shop/lessons/2025-03/seen-")
    rule = note(
        "b.md", b"---\nkind: rule\ntitle: Do\nrationale: why\nproject: web\n---\nx\n", None, NOW
    )
    assert rule.path.startswith("web/rules/do-")
    with pytest.raises(InvalidEntry, match="import that file"):
        note("c.md", b"---\nkind: script\ntitle: x\npath: /x\n---\nx\n", None, NOW)
