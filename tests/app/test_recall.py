from __future__ import annotations

import re
from functools import partial
from itertools import pairwise

import pytest

from ai_lessons.app import editing, entries
from ai_lessons.app.workspace import RepositorySession
from ai_lessons.errors import NotFound, UsageError
from ai_lessons.model.entries import EntrySummary, Kind
from app.world import DOC, LESSON, OTHER, SCRIPT, World, lesson
from real_world import Git

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


def test_show_gives_everything_about_an_entry(guide: World) -> None:
    guide.write("p/lessons/l.md", lesson(links=f"[{{has_doc: {DOC}}}]"))
    shown = entries.show(guide.library, DOC)
    assert shown.entry.path == "p/docs/v1/guide.md"
    assert shown.raw == GUIDE
    assert shown.body == GUIDE.partition("blue\n---\n")[2]
    assert shown.frontmatter["colour"] == "blue"
    assert [(s.number, s.heading, s.level) for s in shown.sections] == [
        (1, "Guide", 1), (2, "Limits", 2), (3, "Hard limits", 3), (4, "Errors", 2),
    ]  # fmt: skip
    (near,) = shown.related
    assert near.entry is not None
    assert (near.entry.id, near.relation, near.outgoing) == (LESSON, "has_doc", False)


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


def test_a_file_that_changes_while_it_is_shown_is_shown_as_it_is(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.write("p/lessons/a.md", lesson())
    library = world.library
    entries.show(library, LESSON)
    resolve = RepositorySession.resolve

    def resolved(repo: RepositorySession, ref: str) -> EntrySummary:
        light = resolve(repo, ref)
        world.write("p/lessons/a.md", lesson(body="Seen again.\n", colour="green"))
        return light

    monkeypatch.setattr(RepositorySession, "resolve", resolved)
    shown = entries.show(library, LESSON)
    assert (shown.body, shown.frontmatter["colour"]) == ("Seen again.\n", "green")


def test_a_script_is_shown_with_its_code_and_without_a_side_file_by_its_comment(world: World) -> None:
    world.write("p/scripts/v1/go.sh", "#!/bin/sh\n# Says hello.\necho hello\n")
    shown = entries.show(world.library, "p/scripts/v1/go.sh")
    assert shown.code == "#!/bin/sh\n# Says hello.\necho hello\n"
    assert shown.entry.kind is Kind.SCRIPT
    assert "Says hello." in shown.entry.snippet
    assert shown.raw == shown.code


def test_show_reads_the_disk_at_that_moment(world: World) -> None:
    made = world.add("live", "Before.")
    world.write(made.path, world.read(made.path).replace("Before.", "After."))
    assert entries.show(world.library, made.id).body == "After.\n"


def test_lists_sort_limit_and_count(world: World) -> None:
    for entry_id, title, created in (
        (LESSON, "beta", "2026-01-01"),
        (OTHER, "Alpha", "2026-03-01"),
        (DOC, "gamma", "2026-02-01"),
    ):
        world.write(
            f"p/lessons/{title}.md", f"---\nid: {entry_id}\nkind: lesson\ntitle: {title}\ncreated: {created}\n---\n"
        )
    assert world.titles() == ["Alpha", "gamma", "beta"]
    assert world.titles(sort="created") == ["beta", "gamma", "Alpha"]
    assert world.titles(sort="title") == ["Alpha", "beta", "gamma"]
    assert world.titles(sort="path") == ["Alpha", "beta", "gamma"]
    listing = entries.list_entries(world.library, limit=2)
    assert (len(listing.entries), listing.total) == (2, 3)
    with pytest.raises(UsageError, match="colour") as error:
        entries.list_entries(world.library, sort="colour")
    assert error.value.hint


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


def test_related_goes_as_deep_as_asked(world: World) -> None:
    made = [world.add(f"n{number}") for number in range(4)]
    for a, b in pairwise(made):
        editing.link(world.library, a.id, b.id, "derived_from")
    library = world.library

    def reached(depth: int) -> list[tuple[str, int]]:
        return [(step.entry.title, step.depth) for step in entries.related(library, made[0].id, depth) if step.entry]

    assert reached(1) == [("n1", 1)]
    assert reached(2) == [("n1", 1), ("n2", 2)]
    assert reached(9) == [("n1", 1), ("n2", 2), ("n3", 3)]


def test_a_link_that_leads_nowhere_is_shown_as_such(world: World) -> None:
    world.write("p/lessons/l.md", lesson(links=f"[{{proves: {OTHER}}}]"))
    (step,) = entries.related(world.library, LESSON)
    assert (step.entry, step.target) == (None, OTHER)


def test_log_follows_a_rename(world: World, git: Git) -> None:
    made = world.add("travels", "A body that is long enough for git to know it again.\n" * 5, project="p")
    git(world.root, "mv", made.path, "p/lessons/elsewhere.md")
    git(world.root, "commit", "-qm", "moved by hand")
    editing.update(world.library, made.id, confidence="high")
    log = entries.log(world.library, made.handle)
    assert [r.subject for r in log] == ["Update lesson: travels", "moved by hand", "Add lesson: travels"]
    assert log[-1].path == made.path
    assert dict(log[0].trailers)["Entry"] == made.id
    assert re.fullmatch(r"[0-9a-f]{40}", log[0].commit)


def test_diff_shows_what_is_in_no_commit_or_since_a_revision(world: World) -> None:
    made = world.add("edited", "Before.")
    assert entries.diff(world.library, made.id) == ""
    world.write(made.path, world.read(made.path).replace("Before.", "After."))
    assert "-Before.\n+After.\n" in entries.diff(world.library, made.id)
    world.commit()
    assert entries.diff(world.library, made.id) == ""
    assert "-Before.\n+After.\n" in entries.diff(world.library, made.id, "HEAD~1")
    with pytest.raises(NotFound, match="no-such-rev"):
        entries.diff(world.library, made.id, "no-such-rev")


def test_a_file_that_is_in_no_commit_is_all_new(world: World) -> None:
    world.write("notes/a.md", "# A\n")
    assert entries.log(world.library, "notes/a.md") == ()
    assert "+# A\n" in entries.diff(world.library, "notes/a.md")


def test_completion_offers_ids_projects_tags_and_versions(guide: World) -> None:
    guide.write("jira/lessons/l.md", lesson(tags="[workflows]"))
    complete = partial(entries.complete, guide.library)
    assert ("L-8F3K2A", "PUT replaces the workflow") in complete("L-", "id")
    assert [value for value, _ in complete("ji", "project")] == ["jira"]
    assert [value for value, _ in complete("work", "tag")] == ["workflows"]
    assert [value for value, _ in complete("v", "version")] == ["v1"]


def test_a_side_file_names_its_script_too(world: World) -> None:
    world.write("p/scripts/v1/go.sh", "#!/bin/sh\n")
    world.write("p/scripts/v1/go.sh.md", f"---\nid: {SCRIPT}\nkind: script\ntitle: go\nversions: [v1]\n---\n")
    assert entries.show(world.library, "p/scripts/v1/go.sh.md").entry.id == SCRIPT
