"""What a start offers: what holds here, in one order, without what the host reads anyway."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ai_lessons.model.edits import Edit
from ai_lessons.telling import offers, start
from app.world import World

if TYPE_CHECKING:
    from pathlib import Path

    from ai_lessons.app.answers import Context

IDS = "01JD3Z8QK5W7M2X9V4T6"


def keep(
    world: World, tail: str, title: str, body: str = "", more: str = "", project: str = "shop"
) -> str:
    text = f"---\nid: {IDS}{tail}\nkind: lesson\ntitle: {title}\n{more}created: 2026-11-21T20:14:00Z\n---\n{body}\n"
    world.write(f"{project}/lessons/{tail.lower()}.md", text)
    return f"{IDS}{tail}"


def offered(world: World, cwd: Path, host: str = "") -> Context:
    return start.at_the_start(world.fresh(cwd=cwd), cwd, host)


def titles(context: Context) -> list[str]:
    return [entry.title for entry in context.entries]


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    (folder / ".git").mkdir(parents=True)
    return folder


def test_what_is_always_true_comes_before_what_names_files_and_what_prescribes_nothing_last(
    world: World, shop: Path
) -> None:
    keep(world, "AAAAAA", "The shop began in 2020")
    keep(world, "BBBBBB", "Use the cart helper", more="applies_to:\n  - src/cart.py\n")
    keep(world, "CCCCCC", "Never mock the database")
    keep(world, "DDDDDD", "Write to everybody", project="global")
    keep(world, "EEEEEE", "Use nothing of another project", project="other")
    assert titles(offered(world, shop)) == [
        "Never mock the database",
        "Write to everybody",
        "Use the cart helper",
        "The shop began in 2020",
    ]


@pytest.mark.plays("hosts")
@pytest.mark.parametrize(
    ("name", "host", "is_read"),
    [
        ("CLAUDE.md", "claude-code", True),
        (".claude/rules/db.md", "claude-code", True),
        ("AGENTS.md", "claude-code", False),
        ("AGENTS.md", "codex", True),
        ("GEMINI.md", "gemini-cli", True),
        ("CLAUDE.md", "gemini-cli", False),
        ("AGENTS.md", "", True),
        ("docs/notes.md", "", False),
    ],
)
def test_what_a_file_that_the_host_reads_says_word_by_word_is_not_told_twice(
    world: World, shop: Path, name: str, host: str, is_read: bool
) -> None:
    keep(
        world,
        "AAAAAA",
        "Never mock the database",
        "Never mock the database: use a\nreal one, it takes `make db`.",
    )
    keep(world, "BBBBBB", "Use uv", "Other words about it.")
    file = shop / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(
        "# Tests\n\n- **Never mock the database**: use a real one, it takes `make db`.\n- Use uv\n"
    )
    context = offered(world, shop, host)
    assert ("Never mock the database" not in titles(context)) is is_read
    assert "Use uv" in titles(context), "only a part of it stands there"
    if is_read:
        (left,) = (left for left in context.left_out if left.entry.id.endswith("AAAAAA"))
        assert left.detail == f"stands in {name}, which the host reads"


@pytest.mark.plays("hosts")
def test_what_came_in_by_statements_is_not_told_while_its_file_says_it(
    world: World, shop: Path
) -> None:
    described = "# Shop\n\nIt sells to people in all of the world, by mail.\n\n{}- Carts expire\n\n## Layers\n\nTwo.\n"
    keep(world, "AAAAAA", '"Shop: Pin it"', "- Pin it")
    keep(world, "BBBBBB", "AGENTS.md of shop", described.format(""))
    (shop / "AGENTS.md").write_text(described.format("- Pin it\n"))
    assert titles(offered(world, shop)) == []
    (shop / "AGENTS.md").write_text(described.format("").replace("Carts expire", "Carts stay"))
    assert set(titles(offered(world, shop))) == {"Shop: Pin it", "AGENTS.md of shop"}


@pytest.mark.plays("hosts")
def test_a_file_that_an_instruction_file_imports_counts_and_nothing_outside_of_the_project(
    world: World, shop: Path
) -> None:
    keep(world, "AAAAAA", "Never mock the database")
    keep(world, "BBBBBB", "Pin every version")
    (shop.parent / "outside.md").write_text("Pin every version\n")
    (shop / "CLAUDE.md").write_text("See @docs/tests.md and @../outside.md\n")
    (shop / "docs").mkdir()
    (shop / "docs/tests.md").write_text("Never mock the database\n@tests.md\n")
    assert titles(offered(world, shop, "claude-code")) == ["Pin every version"]


def test_what_is_wrong_superseded_or_of_the_starter_set_is_not_told(
    world: World, shop: Path
) -> None:
    keep(world, "AAAAAA", "Use npm", more="status: wrong\n")
    old = keep(world, "BBBBBB", "Use yarn")
    keep(world, "CCCCCC", "Use pnpm", more=f"links:\n  - supersedes: {old}\n")
    keep(world, "DDDDDD", "Use the starters", more="tags:\n  - starter\n", project="global")
    context = offered(world, shop)
    assert titles(context) == ["Use pnpm"]
    assert {left.reason for left in context.left_out} >= {"superseded", "starter"}


def test_an_old_rule_file_of_another_kind_stops_no_start(world: World, shop: Path) -> None:
    keep(world, "AAAAAA", "Use uv")
    (shop / "CLAUDE.md").mkdir()
    (shop / "AGENTS.md").symlink_to(shop / "nothing")
    assert titles(offered(world, shop)) == ["Use uv"]


def before(world: World, cwd: Path, command: str) -> Context:
    return offers.before_a_tool(world.fresh(cwd=cwd), (), command, (str(cwd), str(cwd)), ())


def test_a_program_that_a_title_refuses_is_told_before_it_runs_and_before_no_other_command(
    world: World, shop: Path
) -> None:
    keep(world, "AAAAAA", "ONLY use uv, NEVER pip")
    keep(world, "BBBBBB", "Never make network calls in tests")
    assert titles(before(world, shop, "pip install rich")) == ["ONLY use uv, NEVER pip"]
    for command in ("uv add rich", "make tests", "grep -rn pip src", "cat pip.conf"):
        assert titles(before(world, shop, command)) == [], command


@pytest.mark.parametrize(
    "command",
    [
        "cat src/retry.py",
        "sed -n 1,80p src/retry.py",
        "git grep -n retry requests",
        "git log --grep 'retry requests'",
        "ls",
    ],
)
def test_a_command_that_only_reads_is_told_nothing_by_its_words(
    world: World, shop: Path, command: str
) -> None:
    for number in range(25):
        keep(world, f"AAAA{number:02}", f"Thing {number} is kept in its own folder of the house")
    lesson = keep(
        world,
        "BBBBBB",
        "Retry requests of the grep helper in src/retry.py at most twice",
        "retry requests",
    )
    told = before(world, shop, command)
    assert titles(told) == []
    assert {left.entry.id for left in told.left_out if left.reason == "unsure"} <= {lesson}


def test_a_rare_word_in_a_long_command_line_counts_as_needed_and_is_not_told(
    world: World, shop: Path
) -> None:
    for number in range(25):
        keep(world, f"AAAA{number:02}", f"Thing {number} is kept in its own folder of the house")
    lesson = keep(world, "BBBBBB", "The zanzibar ledger of kilimanjaro is never edited", "zanzibar")
    told = before(
        world, shop, "tool run --quiet --name zanzibar --of kilimanjaro ledger --out build/x.json"
    )
    assert titles(told) == []
    assert [(left.entry.id, left.reason) for left in told.left_out] == [(lesson, "unsure")]


def at_an_edit(world: World, cwd: Path, old: str, new: str) -> Context:
    path = str(cwd / "src/cart.py")
    return offers.before_a_tool(
        world.fresh(cwd=cwd), [path], "", (str(cwd), str(cwd)), (), [Edit(path, old, new)]
    )


def test_of_several_entries_about_a_file_those_come_at_an_edit_whose_words_are_in_it(
    world: World, shop: Path
) -> None:
    named = "applies_to:\n  - src/cart.py\n"
    keep(
        world,
        "AAAAAA",
        "Round the total once",
        "Totals of the cart are rounded by halves at the end.",
        named,
    )
    for name, title in (
        ("BBBBBB", "Coupons lower the price before taxes"),
        ("CCCCCC", "Stock is reserved at the checkout"),
    ):
        keep(world, name, title, "A coupon is no discount on taxes, nor is stock.", named)
    assert titles(at_an_edit(world, shop, "a = 1", "a = 2")), "a few are what to know"
    keep(world, "DDDDDD", "Gifts have no price", "They are no discount.", named)
    told = at_an_edit(world, shop, "a = 1", "a = 2")
    assert titles(told) == []
    assert {left.detail for left in told.left_out} == {
        "others name this place, too, and its words are not in this edit"
    }
    new = "return rounded(total)  # totals are rounded once, by halves"
    assert titles(at_an_edit(world, shop, "return total", new)) == ["Round the total once"]
