import pytest

from ai_lessons.app import entries
from ai_lessons.errors import NotFound
from ai_lessons.model.entries import Kind
from app.world import DOC, LESSON, OTHER, World, lesson

GUIDE = f"""---
id: {DOC}
kind: doc
title: Guide
versions:
  - v1
colour: blue
---
# Guide

Intro.

## Limits

At most 100.\u2028Still the same line.

### Hard limits

1000.

## Errors

409.
"""


@pytest.fixture
def guide(world: World) -> World:
    world.write("p/docs/v1/guide.md", GUIDE)
    return world


def test_show_cuts_one_section_by_number_or_heading(guide: World) -> None:
    library = guide.library
    assert entries.show(library, DOC, section=4).body == "## Errors\n\n409.\n"
    limits = entries.show(library, DOC, heading="limits")
    assert limits.section == 2
    assert limits.body == "## Limits\n\nAt most 100.\u2028Still the same line.\n\n### Hard limits\n\n1000.\n\n"
    assert entries.show(library, DOC, heading="hard").section == 3
    for wrong in ({"section": 9}, {"heading": "nonsense"}):
        with pytest.raises(NotFound, match=r"9|nonsense") as error:
            entries.show(library, DOC, **wrong)
        assert "2 Limits" in error.value.hint


def test_sections_together_are_the_text(guide: World) -> None:
    library = guide.library
    whole = entries.show(library, DOC)
    tops = [entries.show(library, DOC, section=s.number).body for s in whole.sections if s.level == 2]
    assert whole.body == entries.show(library, DOC, section=1).body + "".join(tops)


def test_show_reads_the_disk_at_that_moment(world: World) -> None:
    made = world.add("live", "Before.")
    world.write(made.path, world.read(made.path).replace("Before.", "After."))
    assert entries.show(world.library, made.id).body == "After.\n"


def test_lists_filter_by_kind_project_tag_and_version(guide: World) -> None:
    guide.write("q/lessons/l.md", lesson(tags="[t]"))
    assert guide.titles(kinds=[Kind.DOC]) == ["Guide"]
    assert guide.titles(project="q") == ["PUT replaces the workflow"]
    assert guide.titles(tag="t") == ["PUT replaces the workflow"]
    assert guide.titles(versions=["v1"]) == ["Guide"]
    assert guide.titles(project="nowhere") == []


def test_tags_versions_and_projects_are_counted(guide: World) -> None:
    guide.write("p/lessons/l.md", lesson(tags="[b, a]"))
    guide.write("p/lessons/m.md", lesson(OTHER, tags="[b]"))
    guide.write("q/notes.md", "# N\n")
    library = guide.library
    assert [(c.name, c.total) for c in entries.tags(library)] == [("b", 2), ("a", 1)]
    assert [(c.name, c.total, dict(c.by_kind)) for c in entries.projects(library)] == [
        ("p", 3, {"doc": 1, "lesson": 2}), ("q", 1, {"doc": 1}),
    ]  # fmt: skip
    assert {(c.name, c.total) for c in entries.versions(library)} == {("v1", 1), ("unversioned", 1)}


def test_a_link_that_leads_nowhere_is_shown_as_such(world: World) -> None:
    world.write("p/lessons/l.md", lesson(links=f"[{{proves: {OTHER}}}]"))
    (step,) = entries.related(world.library, LESSON)
    assert (step.entry, step.target) == (None, OTHER)
