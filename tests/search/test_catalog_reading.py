from __future__ import annotations

import sqlite3
from contextlib import ExitStack
from pathlib import Path

import pytest

from ai_lessons.errors import AmbiguousName, NotFound, UsageError
from ai_lessons.model.entries import Filter, Kind, Status
from ai_lessons.model.frontmatter import read_entry
from search.catalog_world import EVERY, A, B, C, World, lesson

D = "01JD3Z8QK5W7M2X9V4T6YYYYYD"


PUT = (
    "tags: [api, jira]\ncreated: 2026-11-21T10:00:00Z\nconfidence: high\nsource: tested\nfrom: ai\n"
    "pattern: {when: you PUT, do: GET first, because: it replaces}\n"
    f"links: [{{has_script: {C}, weight: 0.5}}]\n"
)
WRONG = f"status: wrong\ntags: [old]\nlinks: [{{contradicts: {A}}}, {{related_to: {B}}}]\n"
FILES = {
    "jira/lessons/2026-11/put.md": lesson(A, extra=PUT),
    "git/lessons/rebase.md": lesson(
        "01JD3Z8QK5W7M2X9V4XX8F3K2A",
        "Rebase rewrites",
        extra="tags: [api]\ncreated: 2026-11-20T10:00:00Z\n",
    ),
    "git/lessons/wrong.md": lesson(D, "Rebase is safe", extra=WRONG),
    "jira/scripts/9.0/get.sh": "#!/bin/sh\n# Gets\necho\n",
    "jira/scripts/9.0/get.sh.md": lesson(
        C,
        "Get a workflow",
        kind="script",
        extra="versions: ['9.0', '9.1']\ninterpreter: bash\ntags: [api]\n",
    ),
    "jira/docs/9.0/api_guide.md": lesson(B, "50% Guide", kind="doc", extra="versions: ['9.0']\n"),
}
"""Three lessons whose ids end alike (two of them), a doc and a script."""


@pytest.fixture
def world(tmp_path: Path, closing: ExitStack) -> World:
    made = closing.enter_context(World(tmp_path))
    for path, text in FILES.items():
        made.write(path, text)
    made.refresh()
    return made


def titles(world: World, **wanted: object) -> list[str]:
    return [summary.title for summary in world.catalog.select(Filter(**wanted))]  # type: ignore[arg-type]


def test_a_list_shows_active_entries_newest_first(world: World) -> None:
    # the doc and the script say nothing of when they were made: behind the others, by id
    assert titles(world) == ["PUT replaces all", "Rebase rewrites", "Get a workflow", "50% Guide"]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"kinds": frozenset({Kind.LESSON})}, ["PUT replaces all", "Rebase rewrites"]),
        ({"kinds": frozenset({Kind.DOC, Kind.SCRIPT})}, ["50% Guide", "Get a workflow"]),
        ({"kinds": frozenset({Kind.RULE})}, []), ({"project": "git"}, ["Rebase rewrites"]),
        ({"project": "nowhere"}, []), ({"tags": ("api",)}, ["Get a workflow", "PUT replaces all", "Rebase rewrites"]),
        ({"tags": ("api", "jira")}, ["PUT replaces all"]),
        ({"tags": ("api", "api")}, ["Get a workflow", "PUT replaces all", "Rebase rewrites"]),
        ({"versions": ("9.0",)}, ["50% Guide", "Get a workflow"]), ({"versions": ("9.0", "9.1")}, ["Get a workflow"]),
        ({"status": Status.WRONG}, ["Rebase is safe"]),
        ({"status": None, "project": "git"}, ["Rebase is safe", "Rebase rewrites"]), ({"limit": 1}, ["50% Guide"]),
    ],
)  # fmt: skip
def test_a_filter_chooses(world: World, wanted: dict[str, object], expected: list[str]) -> None:
    assert titles(world, sort="title", **wanted) == expected
    if "limit" not in wanted:
        assert world.catalog.count(Filter(**wanted)) == len(expected)  # type: ignore[arg-type]


def test_lists_are_sorted_as_asked(world: World) -> None:
    assert titles(world, sort="path")[0] == "Rebase rewrites"
    assert titles(world, sort="created", kinds=frozenset({Kind.LESSON})) == [
        "Rebase rewrites",
        "PUT replaces all",
    ]
    with pytest.raises(UsageError) as caught:
        titles(world, sort="colour")
    assert "newest" in caught.value.hint


def test_handles_are_as_long_as_they_must_be_and_no_longer(world: World) -> None:
    handles = {summary.id: summary.handle for summary in world.catalog.select(EVERY)}
    assert handles[C] == "S-ZZZZZC"
    assert handles[A] == "L-68F3K2A"
    assert handles["01JD3Z8QK5W7M2X9V4XX8F3K2A"] == "L-X8F3K2A"
    (world.root / "git/lessons/rebase.md").unlink()
    world.refresh()
    assert world.catalog.get(A).handle == "L-8F3K2A"


@pytest.mark.parametrize(
    "ref",
    [
        A, A.lower(), "L-68F3K2A", "l-68f3k2a", "68F3K2A", A[5:], " L-T68F3K2A ",
        "jira/lessons/2026-11/put.md", "./jira/lessons/../lessons/2026-11/put.md",
    ],
)  # fmt: skip
def test_an_entry_answers_to_many_names(world: World, ref: str) -> None:
    assert world.catalog.resolve(ref).id == A


def test_letters_that_no_id_has_are_read_as_the_digits_they_look_like(world: World) -> None:
    world.write("p/lessons/x.md", lesson("01JD3Z8QK5W7M2X9V4T6011100", "Digits"))
    world.refresh()
    assert world.catalog.resolve("L-OIIlOO").title == "Digits"


def test_an_ambiguous_end_names_the_candidates(world: World) -> None:
    with pytest.raises(AmbiguousName) as caught:
        world.catalog.resolve("8F3K2A")
    assert set(caught.value.suggestions) == {
        "L-68F3K2A (PUT replaces all)",
        "L-X8F3K2A (Rebase rewrites)",
    }


def test_an_entry_that_is_not_in_the_catalog_yet_gets_the_handle_that_it_will_have(
    world: World,
) -> None:
    assert world.catalog.handle_beside(Kind.LESSON, "01JD3Z8QK5W7M2X9V4YY8F3K2A") == "L-Y8F3K2A"
    assert world.catalog.handle_beside(Kind.DOC, "01JD3Z8QK5W7M2X9V4T6NNNNNN") == "D-NNNNNN"
    assert world.catalog.handle_beside(Kind.LESSON, A) == world.catalog.get(A).handle


def test_the_letter_of_a_handle_must_be_right_and_the_hint_gives_the_right_one(
    world: World,
) -> None:
    with pytest.raises(NotFound) as caught:
        world.catalog.resolve("L-ZZZZZC")
    assert caught.value.hint == "did you mean S-ZZZZZC (Get a workflow)?"


@pytest.mark.parametrize(
    "ref",
    [
        "S-ZZZZZD", "S-ZZZXZC", "S-ZZZZZZC", "S-ZZZZCZ", "ZZZQZC", "L-X8F32A",
        "get workflow", "jira/scripts/8.0/get.sh", "Get-a-Workflow.md",
    ],
)  # fmt: skip
def test_a_slip_in_a_handle_or_words_of_a_title_or_path_bring_what_was_meant(
    world: World, ref: str
) -> None:
    with pytest.raises(NotFound) as caught:
        world.catalog.resolve(ref)
    meant = "L-X8F3K2A (Rebase rewrites)" if "X8" in ref else "S-ZZZZZC (Get a workflow)"
    assert caught.value.suggestions[0] == meant


def test_no_statement_can_show_a_rule_that_was_not_approved(world: World) -> None:
    db = sqlite3.connect(world.path)
    with pytest.raises(sqlite3.IntegrityError):
        db.execute("UPDATE entries SET kind = 'rule' WHERE standing = 0")
    db.close()


def test_a_long_list_has_one_line_of_snippet_without_markup(world: World) -> None:
    body = "# Long\n\n> Quote of *something*\n\n```sh\nrun it\n```\n" + "word " * 100
    world.write("p/docs/long.md", body)
    world.refresh()
    (summary,) = world.catalog.select(Filter(project="p"))
    assert summary.snippet.startswith("Quote of something · run it")
    assert summary.snippet.endswith("word…")
    assert len(summary.snippet) <= 151


def test_the_frontmatter_is_kept_whole_and_as_it_was_read(world: World) -> None:
    extra = 'colour: "1.10"\nnested:\n  - a: 1\n    b: null\n  - true\nlone: "\\u2028"\n'
    data = lesson(D.replace("YYYYYD", "00000E"), extra=extra).encode()
    world.write("p/lessons/odd.md", data)
    world.write("p/docs/bare.md", "# Bare\n")
    world.refresh()
    for summary in world.catalog.select(EVERY):
        place = world.catalog.locate(summary.id)
        side = (world.root / place.side_path).read_bytes() if place.side_path else None
        entry = read_entry(place.path, (world.root / place.path).read_bytes(), side)
        assert world.catalog.fields(summary.id) == entry.fields
    assert world.catalog.fields(read_entry("p/lessons/odd.md", data).id)["nested"] == [
        {"a": 1, "b": None},
        True,
    ]
    assert world.catalog.fields("no such id") == {}
