"""Scripts that are kept where they are, and copies whose original goes on: what is shown is what is there now."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ai_lessons.app import entries, outdated, validation
from ai_lessons.errors import Refused
from ai_lessons.features.intake import refreshing, sources
from ai_lessons.features.scripts import jobs
from ai_lessons.model.entries import Kind
from app.world import SCRIPT, World
from features.intake.intake_world import bring
from real_world import put_file

HERONS = "#!/bin/sh\n# Count the herons.\nheron_census --river\n"
STORKS = "#!/bin/sh\n# Count the storks.\nstork_census --all\n"


@pytest.fixture
def birds(tmp_path: Path) -> Path:
    return put_file(tmp_path / "t/count.sh", HERONS)


def test_the_code_of_a_script_in_place_is_searched_and_shown_as_it_is_now(
    world: World, birds: Path
) -> None:
    made = bring(world, birds, kind=Kind.SCRIPT, in_place=True, title="Count birds").written[0]
    assert world.found("heron_census") == ["Count birds"]
    shown = entries.show(world.library, made.id)
    assert (shown.body, shown.code) == ("Count the herons.\n", HERONS)
    birds.write_text(STORKS)
    assert world.found("stork_census") == ["Count birds"]
    shown = entries.show(world.library, made.id)
    assert (shown.body, shown.code, shown.entry.snippet) == (
        "Count the storks.\n",
        STORKS,
        "Count the storks.",
    )
    birds.unlink()
    assert entries.show(world.library, made.id).code == ""
    assert world.titles() == ["Count birds"]


def test_an_edit_of_the_same_length_in_the_same_moment_is_seen(world: World, birds: Path) -> None:
    bring(world, birds, kind=Kind.SCRIPT, in_place=True, title="Count birds")
    for word in ("aaaaaa", "bbbbbb", "cccccc"):
        birds.write_text(f"#!/bin/sh\necho {word}\n")
        assert world.found(word) == ["Count birds"]


def test_what_a_person_wrote_about_a_script_in_place_stays_at_a_refresh(
    world: World, birds: Path
) -> None:
    made = bring(world, birds, kind=Kind.SCRIPT, in_place=True, title="Count birds").written[0]
    side = f"{made.path}.md"
    world.write(side, world.read(side) + "Needs a boat.\n")
    birds.write_text(STORKS)
    assert refreshing.refresh(world.library, [made.id])[0].changed
    assert world.read(side).endswith("---\nNeeds a boat.\n")
    assert list(sources.stale(world.library.primary)) == []


def test_a_pulled_script_in_place_is_read_once_it_is_trusted(world: World, birds: Path) -> None:
    head = f"---\nid: {SCRIPT}\nkind: script\ntitle: Count birds\npath: {birds}\n---\n"
    world.write("p/scripts/v1/count.sh.md", head)
    shown = entries.show(world.library, SCRIPT)
    assert (shown.body, shown.code) == ("", "")
    assert any("ai-lessons admin trust-script S-9XW2RB" in note for note in shown.notes)
    assert world.search("heron_census").nothing
    jobs.trust_script(world.library, SCRIPT)
    assert entries.show(world.library, SCRIPT).code == HERONS
    assert world.found("heron_census") == ["Count birds"]


def test_what_is_shown_before_a_script_is_trusted_is_what_is_trusted(
    world: World, tmp_path: Path
) -> None:
    put_file(tmp_path / "t/far.sh", '. "$(dirname "$0")/near.sh"\n')
    put_file(tmp_path / "t/near.sh", "exit 3\n")
    text = f"---\nid: {SCRIPT}\nkind: script\ntitle: far\npath: {tmp_path}/t/far.sh\n---\n"
    world.write("p/scripts/v1/far.sh.md", text)
    shown: list[str] = []

    def no(_path: str, text: str) -> bool:
        shown.append(text)
        return False

    with pytest.raises(Refused, match="is not trusted"):
        jobs.trust_script(world.library, SCRIPT, no)
    assert shown == ['--- far.sh\n. "$(dirname "$0")/near.sh"\n\n--- near.sh\nexit 3\n']
    with pytest.raises(Refused):
        jobs.run(world.library, SCRIPT, [])
    jobs.trust_script(world.library, SCRIPT)
    assert jobs.run(world.library, SCRIPT, []) == 3
    jobs.trust_script(world.library, SCRIPT, no)
    assert len(shown) == 1, "it is as it was shown"
    (tmp_path / "t/near.sh").write_text("exit 4\n")
    with pytest.raises(Refused, match="is not trusted"):
        jobs.trust_script(world.library, SCRIPT, no)
    assert shown[1] == "--- near.sh\nexit 4\n"


def test_an_original_that_changed_after_it_was_copied_is_named_and_taken(
    world: World, birds: Path
) -> None:
    made = bring(world, birds, kind=Kind.SCRIPT).written[0]
    assert entries.show(world.library, made.id).notes == ()
    birds.write_text(STORKS)
    (stale,) = sources.stale(world.library.primary)
    assert (stale.handle, stale.path) == (made.handle, str(birds))
    assert any(
        "changed since it was read" in note for note in entries.show(world.library, made.id).notes
    )
    assert any(
        "changed since it was read" in note for note in world.search("count.sh herons").notes
    )
    assert entries.show(world.library, made.id).code == HERONS, "the copy is what runs"
    assert refreshing.refresh(world.library, [made.id])[0].changed
    shown = entries.show(world.library, made.id)
    assert (shown.body, shown.code) == ("Count the storks.\n", STORKS)
    assert list(sources.stale(world.library.primary)) == []
    with pytest.raises(Refused, match="has never been run"):
        jobs.run(world.library, made.id, [])


def test_a_snapshot_of_others_is_named_where_the_same_file_changed_here(
    world: World, tmp_path: Path
) -> None:
    doc = bring(world, put_file(tmp_path / "guide.md", "# Guide\n\nOld.\n")).written[0]
    (
        world.library.primary.store.state_dir / "trusted-sources.jsonl"
    ).unlink()  # as in the clone of somebody else
    assert list(sources.stale(world.library.primary)) == []
    (tmp_path / "guide.md").write_text("# Guide\n\nNew.\n")
    (stale,) = sources.stale(world.library.primary)
    assert stale.handle == doc.handle
    assert any(
        "changed since it was read" in note for note in entries.show(world.library, doc.id).notes
    )
    (tmp_path / "guide.md").unlink()
    assert list(sources.stale(world.library.primary)) == [], "it may be on another machine"


def test_a_script_kept_elsewhere_is_stale_by_its_text_or_by_its_age_where_that_is_not_known(
    world: World, tmp_path: Path
) -> None:
    side = f"---\nkind: script\ntitle: older.sh\npath: {tmp_path}/older.sh\n---\n"  # without a hash, as once written
    later = world.write("global/scripts/unversioned/older.sh.md", side).stat().st_mtime + 60
    for name in ("fresh", "older"):
        os.utime(put_file(tmp_path / f"{name}.sh", "#!/bin/sh\n"), (1, 1))
    bring(world, tmp_path / "fresh.sh", kind=Kind.SCRIPT, in_place=True)
    assert tuple(sources.stale(world.library.primary)) == ()
    for name in ("fresh", "older"):
        os.utime(tmp_path / f"{name}.sh", (later, later))
    assert [
        (one.title, "changed" in one.reason) for one in sources.stale(world.library.primary)
    ] == [("older.sh", True)]


def test_a_script_in_place_whose_file_is_gone_is_to_be_reviewed(
    world: World, tmp_path: Path
) -> None:
    side = f"---\nid: {SCRIPT}\nkind: script\ntitle: X\npath: {tmp_path}/gone.sh\n---\n"
    world.committed("global/scripts/unversioned/x.sh.md", side)
    (row,) = outdated.review(world.library)
    assert (row.entry.id, row.reason) == (SCRIPT, "source")
    assert row.detail == f"its source is gone: {tmp_path}/gone.sh"
    (problem,) = validation.validate(world.library, content=True).problems
    assert problem.path == "global/scripts/unversioned/x.sh.md"
