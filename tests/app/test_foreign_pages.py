"""Pages that other programs wrote: read as they are, and changed only below a key of our own."""

import pytest

from ai_lessons.app import editing, entries, health
from ai_lessons.errors import InvalidEntry
from ai_lessons.model.checks import check_together
from ai_lessons.model.frontmatter import read_entry
from app.world import LESSON, World, lesson


def test_adopting_leaves_what_cannot_be_changed(world: World) -> None:
    toml, bad = '+++\ntitle = "Heron"\n+++\nText.\n', "---\na: 1\na: 2\n---\nText of the ibis.\n"
    world.write("blog/a.md", toml)
    world.write("blog/b.md", bad)
    world.write("blog/c.md", "---\nid: intro\nkind: Deployment\n---\nText of the walrus.\n")
    (adopted,) = health.adopt(world.fresh(), [])
    assert adopted.path == "blog/c.md"
    assert (world.root / "blog/a.md").read_text() == toml
    assert (world.root / "blog/b.md").read_text() == bad
    assert (world.root / "blog/c.md").read_text().startswith("---\nid: intro\nkind: Deployment\nai-lessons:\n")
    assert not health.validate(world.fresh(), ["blog/c.md"]).problems
    assert world.found("ibis") == ["b"]
    notes = entries.list_entries(world.fresh()).notes
    assert any("1 page is read as text" in note for note in notes)
    assert not any("left out" in note for note in notes)
    assert [problem.path for problem in health.validate(world.fresh(), []).problems] == ["blog/b.md"]


def test_a_page_with_toml_is_not_changed(world: World) -> None:
    world.write("blog/a.md", '+++\ntitle = "Heron"\n+++\nText.\n')
    (summary,) = entries.list_entries(world.fresh()).entries
    assert summary.title == "Heron"
    with pytest.raises(InvalidEntry, match="TOML"):
        editing.update(world.fresh(), summary.handle, add_tags=["x"])


def test_pages_on_the_rules_of_a_linter_are_found(world: World) -> None:
    world.write("docs/rules/no-widget-target.md", "# no-widget-target\n\nDisallow a widget target.\n")
    assert world.found("widget target") == ["no-widget-target"]


def test_a_file_that_came_first_keeps_its_id_also_in_a_fresh_clone(world: World) -> None:
    world.committed("shop/lessons/much-longer-name.md", lesson(title="Original"))
    world.committed("shop/lessons/a.md", lesson(title="Copy"))
    world.committed("aaa/lessons/a.md", lesson(title="Another"))
    assert with_the_id(world) == ("Original", {"Original", "Copy", "Another"})


def with_the_id(world: World) -> tuple[str, set[str]]:
    """The title of the entry that has the id, and those of all."""
    summaries = entries.list_entries(world.fresh()).entries
    (title,) = [summary.title for summary in summaries if summary.id == LESSON]
    return title, {summary.title for summary in summaries}


def test_folders_that_a_case_blind_disk_joins_are_named() -> None:
    first, second = (read_entry(path, b"# T\n") for path in ("Shop/docs/a.md", "shop/docs/b.md"))
    (problem,) = check_together([first, second])
    assert "same folder as Shop" in str(problem)
