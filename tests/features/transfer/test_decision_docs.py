"""Decision records on their way in: what holds is served, what does not is found by who asks for all."""

from pathlib import Path

from ai_lessons import extensions
from ai_lessons.app import entries
from ai_lessons.features.transfer import jobs
from ai_lessons.model.entries import Kind
from app.world import World
from real_world import put_files

# of another feature, which may be taken out
ADD = extensions.load("ai_lessons.features.intake.jobs:add_resources")
DRAFT = extensions.load("ai_lessons.features.intake.plan:ResourceDraft")
REFRESH = extensions.load("ai_lessons.features.intake.refreshing:refresh")

OLD = """# 2. Colours by colorama

Date: 2024-01-01

## Status

Superseded by [4. Drop colorama](0004-drop-colorama.md)

## Context

Windows shows no colours.

## Decision

We depend on colorama for colours on Windows.
"""
NEW = """# 4. Drop colorama

Date: 2025-01-01

## Status

Accepted

Supersedes [2. Colours](0002-colours.md)

## Context

Windows shows colours by itself.

## Decision

Windows shows colours without colorama: we no longer depend on it.
"""
TREE = {
    "adr/0002-colours.md": OLD.encode(),
    "adr/0004-drop-colorama.md": NEW.encode(),
    "adr/0005-kafka.md": b"# 5. Kafka for colours\n\n## Status\n\nProposed\n\n## Decision\n\nSend them over Kafka.\n",
    "adr/0006-paint.md": b"# 6. Paint colours\n\n## Status\n\nRejected\n\n## Decision\n\nPaint colours by hand.\n",
    "adr/README.md": b"# Decisions\n\nA list.\n",
}


def taken(world: World, folder: Path, *, rules: bool = False, dry_run: bool = False) -> jobs.Ported:
    return jobs.import_files(
        world.library, [folder], "adr", project="shop", rules=rules, dry_run=dry_run
    )


def titles(world: World, question: str, **more: bool) -> list[str]:
    return [hit.entry.title for hit in world.search(question, **more).docs]


def test_only_what_holds_is_found_unless_all_is_asked_for(world: World, tmp_path: Path) -> None:
    put_files(tmp_path, TREE)
    done = taken(world, tmp_path / "adr")
    assert (len(done.written), done.relations) == (4, 1)
    assert {part.where: part.about for part in done.seen if part.became == "not recognised"} == {
        "README.md": "no decision record"
    }
    assert any("2. Colours by colorama" in note and "search --all" in note for note in done.notes)
    question = "do we depend on colorama for colours on windows"
    assert titles(world, question)[0] == "4. Drop colorama"
    assert not {"2. Colours by colorama", "6. Paint colours"} & set(titles(world, question))
    assert {"2. Colours by colorama", "6. Paint colours"} <= set(
        titles(world, question, every=True)
    )
    listed = {
        summary.title: summary.status for summary in entries.list_entries(world.library).entries
    }
    assert listed == {"4. Drop colorama": "", "5. Kafka for colours": "proposed"}


def test_accepted_decisions_are_proposed_as_rules_that_link_their_record(
    world: World, tmp_path: Path
) -> None:
    world.committed("shop/docs/unversioned/a.md", "# A\n\nText.\n")
    put_files(tmp_path, TREE)
    assert [
        rule.title for rule in taken(world, tmp_path / "adr", rules=True, dry_run=True).queued
    ] == ["Drop colorama"]
    assert entries.list_entries(world.library, kinds={Kind.DOC}).total == 1
    done = taken(world, tmp_path / "adr", rules=True)
    assert [rule.title for rule in done.queued] == ["Drop colorama"]
    assert taken(world, tmp_path / "adr", rules=True).queued == ()


def test_a_second_import_takes_what_became_of_a_decision_and_nothing_else(
    world: World, tmp_path: Path
) -> None:
    before = OLD.replace("Superseded by [4. Drop colorama](0004-drop-colorama.md)", "Accepted")
    put_files(tmp_path, {"adr/0002-colours.md": before.encode()})
    (first,) = taken(world, tmp_path / "adr").written
    assert taken(world, tmp_path / "adr").written == ()
    assert titles(world, "colorama on windows") == ["2. Colours by colorama"]
    put_files(tmp_path, TREE)
    done = taken(world, tmp_path / "adr")
    assert first.id not in {written.id for written in done.written}
    assert any("brought up to date" in note and first.handle in note for note in done.notes)
    assert titles(world, "colorama on windows")[:1] == ["4. Drop colorama"]
    assert "2. Colours by colorama" not in titles(world, "colorama on windows")


def test_documents_that_are_decision_records_get_their_status_by_the_import(
    world: World, tmp_path: Path
) -> None:
    put_files(tmp_path, TREE)
    draft = DRAFT(kind=Kind.DOC, paths=(str(tmp_path / "adr"),), project="shop", recursive=True)
    added = ADD(world.library, draft)
    done = taken(world, tmp_path / "adr")
    assert done.written == ()
    assert any("brought up to date" in note for note in done.notes)
    assert "2. Colours by colorama" not in titles(world, "colorama on windows")
    again = ADD(world.library, draft)
    assert (again.written, again.unchanged) == ((), len(added.written))
    assert "2. Colours by colorama" not in titles(world, "colorama on windows")


def test_a_refresh_takes_the_status_that_the_file_states_now(world: World, tmp_path: Path) -> None:
    put_files(
        tmp_path, {"adr/0006-paint.md": TREE["adr/0006-paint.md"].replace(b"Rejected", b"Accepted")}
    )
    (written,) = taken(world, tmp_path / "adr").written
    put_files(tmp_path, TREE)
    REFRESH(world.library, [written.id])
    assert entries.show(world.library, written.id).frontmatter["status"] == "rejected"
    assert titles(world, "paint colours by hand") == []


def test_what_comes_in_two_forms_is_noticed(world: World, tmp_path: Path) -> None:
    put_files(tmp_path, TREE)
    notes = jobs.import_files(world.library, [tmp_path / "adr"], "markdown").notes
    assert not [note for note in notes if "the same text is here already" in note]
    draft = DRAFT(kind=Kind.DOC, paths=(str(tmp_path / "adr"),), project="shop", recursive=True)
    (note,) = [x for x in ADD(world.library, draft).notes if "the same text is here already" in x]
    assert "(global)" in note
    assert "and 2 more" in note
