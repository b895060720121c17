"""Catalog and index may go at any time; vectors are made once for a text."""

import shutil
from pathlib import Path

from ai_lessons.app import editing, entries, search
from ai_lessons.app.answers import Query
from ai_lessons.app.workspace import Library
from app.world import DOC, LESSON, CountingEmbedder, World, lesson
from real_world import Git


def test_deleting_the_projections_costs_a_rebuild_and_nothing_else(
    world: World, embedder: CountingEmbedder
) -> None:
    made = world.add("Orchards", "pruning apple trees")
    world.write("notes/a.md", "# Cellars\n\nracking wine\n")
    before = [summary.id for summary in entries.list_entries(world.library).entries]
    assert world.found("apple trees")[0] == "Orchards"
    asked = list(embedder.asked)
    world.library.close()
    shutil.rmtree(world.root / ".git/ai-lessons")
    library = world.fresh()
    assert [summary.id for summary in entries.list_entries(library).entries] == before
    answer = search.search(library, Query("apple trees"))
    assert answer.lessons[0].entry.handle == made.handle
    assert answer.notes == ()
    assert embedder.asked == asked
    assert world.status() == "?? notes/"


def test_projections_may_go_while_the_library_is_open(world: World) -> None:
    world.add("Orchards", "pruning apple trees")
    assert world.found("apple") == ["Orchards"]
    shutil.rmtree(world.root / ".git/ai-lessons")
    assert world.found("apple") == ["Orchards"]
    assert world.add("Another", "apple pie").commit
    assert set(world.found("apple")) == {"Orchards", "Another"}


def test_a_move_a_new_tag_and_a_branch_embed_nothing(
    world: World, embedder: CountingEmbedder, git: Git
) -> None:
    world.write("p/lessons/a.md", lesson(body="pruning apple trees\n"))
    world.committed(
        "p/docs/v1/b.md",
        f"---\nid: {DOC}\nkind: doc\ntitle: Cellars\nversions:\n  - v1\n---\nracking wine\n",
    )
    assert set(world.found("apple wine")) == {"PUT replaces the workflow", "Cellars"}
    asked = list(embedder.asked)
    assert len(asked) == 2
    editing.update(world.library, LESSON, add_tags=["fruit"])
    editing.update(world.library, LESSON, project="garden")
    editing.update(world.library, DOC, versions=["v1", "v2"])
    (world.root / "garden/lessons/a.md").rename(world.root / "garden/lessons/renamed.md")
    assert world.found("apple", tags=["fruit"], project="garden") == ["PUT replaces the workflow"]
    world.commit("moved")
    git(world.root, "switch", "-qc", "side", "HEAD~4")
    assert [hit.entry.path for hit in world.search("apple").lessons] == ["p/lessons/a.md"]
    git(world.root, "switch", "-q", "main")
    assert [hit.entry.path for hit in world.search("apple").lessons] == [
        "garden/lessons/renamed.md"
    ]
    assert embedder.asked == asked
    editing.update(world.library, LESSON, content="grafting apple trees")
    assert world.found("grafting")[0] == "PUT replaces the workflow"
    assert len(embedder.asked) == 3


def test_a_text_that_another_repository_of_this_user_has_is_not_embedded_again(
    world: World, embedder: CountingEmbedder, git: Git, tmp_path: Path
) -> None:
    world.committed("p/lessons/a.md", lesson(body="pruning apple trees\n"))
    world.found("apple")
    git(tmp_path, "clone", "-q", str(world.root), str(tmp_path / "clone"))
    with Library(tmp_path / "clone", world.options) as library:
        assert search.search(library, Query("apple")).notes == ()
    assert len(embedder.asked) == 1


def test_the_index_can_live_elsewhere(world: World, tmp_path: Path) -> None:
    library = world.fresh(index_dir=str(tmp_path / "elsewhere"))
    world.write("notes/a.md", "# A\n\npomology\n")
    assert search.search(library, Query("pomology")).docs
    assert (tmp_path / "elsewhere").is_dir()
    assert not (world.root / ".git/ai-lessons/index").exists()


def test_a_cache_that_cannot_be_written_stops_no_search(world: World, tmp_path: Path) -> None:
    (tmp_path / "blocked").write_text("a file in the way\n")
    world.write("notes/a.md", "# A\n\npomology\n")
    found = search.search(world.fresh(cache_dir=tmp_path / "blocked" / "cache"), Query("pomology"))
    assert [hit.entry.title for hit in found.docs] == ["A"]
