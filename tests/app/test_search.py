"""Never stale: whatever happened to the files, the next search is right."""

from pathlib import Path
from typing import Any

import pytest

from ai_lessons.app import editing, entries, health, history_of_entries, hit_pieces, search
from ai_lessons.app.answers import Query
from ai_lessons.errors import NotFound
from ai_lessons.model.entries import Kind
from ai_lessons.search.model_files import PINNED
from app.world import DOC, LESSON, OTHER, CountingEmbedder, World, lesson, rule
from real_world import Git


def test_a_renamed_moved_and_deleted_file_is_right_at_once(world: World) -> None:
    file = world.write("notes/a.md", "# Apples\n\nAbout pomology.\n")
    assert world.search("pomology").docs[0].entry.path == "notes/a.md"
    file.rename(world.root / "notes/b.md")
    assert [hit.entry.path for hit in world.search("pomology").docs] == ["notes/b.md"]
    (world.root / "garden").mkdir()
    (world.root / "notes/b.md").rename(world.root / "garden/b.md")
    (hit,) = world.search("pomology").docs
    assert (hit.entry.path, hit.entry.project) == ("garden/b.md", "garden")
    (world.root / "garden/b.md").unlink()
    assert world.found("pomology") == []


def test_what_git_brings_is_found(world: World, git: Git, tmp_path: Path) -> None:
    world.committed("notes/a.md", "# Apples\n\nAbout pomology.\n", message="apples")
    other = tmp_path / "other"
    git(tmp_path, "clone", "-q", str(world.root), str(other))
    (other / "notes/a.md").write_text("# Apples\n\nAbout horticulture.\n")
    (other / "notes/c.md").write_text("# Cherries\n\nAbout drupes.\n")
    git(other, "add", "-A")
    git(other, "commit", "-qm", "cherries")
    assert world.found("pomology") == ["Apples"]
    git(world.root, "pull", "-q", str(other), "main")
    assert world.found("drupes") == ["Cherries"]
    assert world.found("horticulture") == ["Apples"]
    git(world.root, "checkout", "-q", "HEAD~1", "--", "notes/a.md")
    assert world.found("pomology") == ["Apples"]
    git(world.root, "reset", "-q", "--hard", "HEAD~1")
    assert world.found("drupes") == []
    git(world.root, "switch", "-qc", "side")
    world.committed("notes/d.md", "# Dates\n\nAbout palms.\n", message="dates")
    assert world.found("palms") == ["Dates"]
    git(world.root, "switch", "-q", "main")
    assert world.found("palms") == []


@pytest.mark.parametrize(("status", "found"), [("wrong", []), ("promoted", ["Doubtful"])])
def test_what_is_wrong_leaves_the_results_and_what_is_promoted_the_lists(
    world: World, status: str, found: list[str]
) -> None:
    made = world.add("Doubtful", "About phlogiston.")
    assert world.found("phlogiston") == ["Doubtful"]
    editing.update(world.library, made.id, status=status)
    assert world.found("phlogiston") == found
    assert world.titles() == []
    assert world.titles(status=status) == ["Doubtful"]
    assert world.titles(status=None) == ["Doubtful"]
    assert entries.show(world.library, made.id).entry.status == status


def test_many_wrong_lessons_do_not_push_out_the_right_one(world: World) -> None:
    for n in range(130):
        entry_id = f"01JD3Z8QK5W7M2X9V4T6AA{n:04d}"
        text = lesson(entry_id, f"phlogiston {n}", "phlogiston phlogiston\n", status="wrong")
        world.write(f"p/lessons/w{n}.md", text)
    world.write(
        "p/lessons/right.md",
        lesson(body="Oxygen, " + "not so much a matter of " * 20 + "phlogiston.\n"),
    )
    assert world.found("phlogiston") == ["PUT replaces the workflow"]


def test_without_a_model_full_text_answers_and_one_line_says_so(world: World) -> None:
    world.add("A lesson", "About pomology.")
    answer = world.search("pomology")
    assert [hit.entry.title for hit in answer.lessons] == ["A lesson"]
    (note,) = [note for note in answer.notes if "full text only" in note]
    assert "\n" not in note
    assert "pomology" in answer.lessons[0].entry.snippet
    assert world.search("nothing of the sort").lessons == ()


def test_an_unreadable_file_never_stops_a_search(world: World) -> None:
    world.write("notes/good.md", "# Good\n\nAbout pomology.\n")
    world.write("notes/bad.md", "---\ntitle: [open\n---\n")
    world.write("notes/binary.md", b"\x00\x01\xff")
    world.write("notes/latin.md", "# Größe\n".encode("latin-1"))
    answer = world.search("pomology")
    assert [hit.entry.title for hit in answer.docs] == ["Good"]
    assert any("2 files are left out" in note and "validate" in note for note in answer.notes)
    assert any("1 page is read as text" in note and "validate" in note for note in answer.notes)
    assert entries.list_entries(world.library).notes == tuple(
        note for note in answer.notes if "validate" in note
    )
    world.write(".ai-lessons/config.yaml", "search: [nonsense\n")
    answer = world.search("pomology")
    assert [hit.entry.title for hit in answer.docs] == ["Good"]
    assert any("config.yaml is invalid" in note for note in answer.notes)


def test_a_file_that_goes_while_it_is_indexed_only_leaves(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "ab":
        world.write(f"notes/{name}.md", f"# File {name}\n\nAbout pomology.\n")
    repo = world.library.primary
    load = repo.load

    def vanish(entry_id: str) -> object:
        (world.root / "notes/a.md").unlink(missing_ok=True)
        return load(entry_id)

    monkeypatch.setattr(repo, "load", vanish)
    assert world.found("pomology") == ["File b"]


@pytest.mark.parametrize("path", ["p/rules/plain.md", "p/docs/hidden-rule.md", "rules/deep/x.md"])
def test_a_rule_of_the_working_tree_is_shown_by_nothing(world: World, path: str) -> None:
    world.write("p/lessons/a.md", lesson(body="See zanzibar.\n"))
    world.write(path, rule(folder_says_it="rules" in path))
    library = world.library
    assert world.found("zanzibar deploying") == ["PUT replaces the workflow"]
    for ref in ("01JD3Z8QK5W7M2X9V4T6RRRR22", "R-RRRR22", path, str(world.root / path)):
        for ask in (entries.show, history_of_entries.log, history_of_entries.diff, entries.related):
            with pytest.raises(NotFound):
                ask(library, ref)
        with pytest.raises(NotFound):
            editing.delete(library, [ref])
        with pytest.raises(NotFound):
            editing.update(library, ref, title="x")
    assert health.stats(library).entries == {"lesson": 1}


def test_nothing_stored_and_nothing_near_are_told_apart(
    world: World, embedder: CountingEmbedder
) -> None:
    answer = world.search("pomology")
    assert "nothing is stored here yet" in answer.notes
    embedder.name = PINNED.name
    world.write("notes/a.md", "# Apples\n\nAbout pomology, orchards and grafting.\n")
    world.write("notes/b.md", "# Bread\n\nAbout baking.\n")
    for name in ("c", "d"):
        world.write(f"notes/{name}.md", f"# Notes of {name}\n\nAbout the letter {name}.\n")
    assert world.found("orchards grafting")[:1] == ["Apples"]
    assert world.found("grafting")[:1] == ["Apples"]
    far = "turbulent boundary layers about supersonic aerofoils"
    answer = world.search(far)
    assert answer.weak
    assert answer.hits == world.search(far, limit=10).hits == ()
    assert answer.below == 4
    assert len(world.search(far, every=True).docs) == 4  # who asks for all gets all
    assert any(note.startswith("nothing near; the nearest is D-") for note in answer.notes)
    assert (
        "none of the 4 entries stored here matches"
        in world.search("pomology", project="elsewhere").notes
    )


def test_by_words_alone_a_share_of_the_words_is_no_sure_answer(world: World) -> None:
    for number in range(8):
        world.write(
            f"notes/{number}.md", f"# Fruit {number}\n\nAbout pomology and grafting in orchards.\n"
        )
    answer = world.search("pomology of turbulent boundary layers about supersonic aerofoils")
    assert answer.weak
    assert answer.hits == (), "a word that all hold is no reason to name one of them"
    world.write("notes/aerofoils.md", "# Wings\n\nSomebody collects aerofoils.\n")
    answer = world.search("pomology of turbulent boundary layers about supersonic aerofoils")
    assert answer.weak
    assert [hit.weak for hit in answer.hits] == [True] * 3
    assert answer.hits[0].entry.title == "Wings"
    assert answer.notes[0].startswith("unsure: ")
    assert not world.search("grafting in orchards").weak


@pytest.mark.parametrize(
    ("text", "query", "expected"),
    [
        ("Restarting the Café's pods", "restart cafe", "[Restarting] the [Café]'s pods"),
        (
            "\ufb01les of the work\u00adflow",
            "files workflow",
            "[\ufb01les] of the [work\u00adflow]",
        ),
        ("the pods", "the", "the pods"),
        ("a lesson of pods", "kind:lesson pods", "a lesson of [pods]"),
        ("重启服务器以后", "服务器", "重启[服务器]以后"),
        ("", "pods", ""),
    ],
)
def test_words_of_the_question_are_marked_in_a_text(text: str, query: str, expected: str) -> None:
    marked = "".join(
        f"[{piece}]" if hit else piece for piece, hit in hit_pieces.pieces(text, query)
    )
    assert marked.replace("][", "") == expected


def test_no_filter_changes_a_score(world: World, embedder: CountingEmbedder) -> None:
    embedder.name = PINNED.name
    world.add("Authentication of users", "Each user has a token.", project="p", tags=["access"])
    for number in range(12):
        text = f"# Users {number}\n\nA page about user number {number}.\n"
        world.write(f"{'pq'[number % 2]}/docs/v1/{number}.md", text)

    def scores(**filters: Any) -> dict[str, float | None]:
        return {
            hit.entry.title: hit.entry.score
            for hit in world.search(
                "authentication of a user", limit=20, every=True, **filters
            ).hits
        }

    everything = scores()
    wanted: tuple[dict[str, Any], ...]
    wanted = (
        {"project": "p"},
        {"project": "q"},
        {"kinds": {Kind.DOC}},
        {"kinds": {Kind.LESSON}},
        {"tags": ("access",)},
    )
    for filters in wanted:
        part = scores(**filters)
        assert part
        assert {title: everything[title] for title in part if title in everything} == pytest.approx(
            {title: score for title, score in part.items() if title in everything}, abs=0.002
        )


def test_a_day_limits_what_a_question_finds_and_what_filters_alone_find(world: World) -> None:
    for day in ("01", "21"):
        text = f"---\nkind: lesson\ntitle: Apples of {day}\ntags: [fruit]\ncreated: 2026-11-{day}T20:14:00Z\n---\nSweet.\n"
        world.write(f"p/lessons/{day}.md", text)
    for question in ("apples", "tag:fruit", "apples kind:lesson"):
        assert len(world.search(question).hits) == 2
        assert [hit.entry.title for hit in world.search(question, since="2026-11-21").hits] == [
            "Apples of 21"
        ]


def test_nothing_is_stored_is_said_only_where_it_is_true(world: World) -> None:
    for number, name in enumerate(("Bread", "Gardens", "Rivers", "Trains", "Clouds", "Stones")):
        world.write(
            f"p/docs/v1/{number}.md", f"# {name}\n\nAll about {name.lower()} of the north.\n"
        )
    world.write("p/docs/v1/auth.md", "# Authentication\n\nTokens are sent with each request.\n")
    answer = world.search("how do I authenticate")
    assert not answer.weak
    assert answer.docs[0].entry.title == "Authentication"
    assert not any("nothing near" in note for note in answer.notes)


def test_an_agent_is_asked_to_contribute_once_a_session_where_nothing_is_near(world: World) -> None:
    world.write("p/docs/v1/auth.md", "# Authentication\n\nTokens are sent with each request.\n")
    assert world.search("pomology").prompt == ""
    for session in ("one", "two"):
        library = world.fresh(agent="claude-code", session=session)
        prompts = [
            search.search(library, Query(text)).prompt
            for text in ("tokens", "pomology", "orchards")
        ]
        assert [bool(prompt) for prompt in prompts] == [False, True, False]
    assert search.search(world.fresh(agent="claude-code"), Query("pomology")).prompt == ""


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


def test_show_cuts_one_section_by_number_or_heading_and_all_together_are_the_text(
    guide: World,
) -> None:
    library = guide.library
    assert entries.show(library, DOC, section=4).body == "## Errors\n\n409.\n"
    limits = entries.show(library, DOC, heading="limits")
    assert limits.section == 2
    assert (
        limits.body
        == "## Limits\n\nAt most 100.\u2028Still the same line.\n\n### Hard limits\n\n1000.\n\n"
    )
    assert entries.show(library, DOC, heading="hard").section == 3
    for wrong in ({"section": 9}, {"heading": "nonsense"}):
        with pytest.raises(NotFound, match=r"9|nonsense") as error:
            entries.show(library, DOC, **wrong)
        assert "2 Limits" in error.value.hint
    whole = entries.show(library, DOC)
    tops = [
        entries.show(library, DOC, section=s.number).body for s in whole.sections if s.level == 2
    ]
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
