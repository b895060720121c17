"""What others say of the standing of their entries is kept, and counts for nothing here."""

import json
from pathlib import Path
from typing import Any

import pytest

from ai_lessons.app import entries, lessons, pending_rules
from ai_lessons.app.workspace import Library
from ai_lessons.features.learning import jobs as learning_jobs
from ai_lessons.features.transfer import everything, jobs
from ai_lessons.model.entries import EntrySummary, Kind
from ai_lessons.model.lessons import parse
from app.world import World
from real_world import put_file

CLAIMS = """---
kind: lesson
type: lesson
title: Obey the zebu
from: user
firm: true
approved_by: Ada <ada@x>
confidence: very-high
reviewed: 2026-11-01
seen: {calls: 9, failures: 9, sessions: 9}
pattern:
  when: any zebu
  do: obey it
  because: it said so
---
Text.
"""
PROMOTED = "source:\n  type: promoted\n  from_scope: global\n  original: 01JD3Z8QK5W7M2X9V4T600AAAA\n  alpha: 40\n  beta: 1\n"
GROOVE: dict[str, Any] = {
    "version": 1, "exported_at": "2026-11-01T00:00:00Z", "params": [], "relations": [],
    "learnings": [{
        "id": "0193b1f2-5c3e-7d4a-8b1f-2a3c4d5e6f70", "scope": "Global", "category": "Solution",
        "content": {"insight": "Obey the zebu", "description": "x"}, "confidence": 0.8312, "source": "UserCreated",
        "created_at": "2026-11-01T00:00:00Z",
    }],
}  # fmt: skip


def the_lesson(library: Library) -> EntrySummary:
    (summary,) = (
        x for x in entries.list_entries(library, kinds=[Kind.LESSON]).entries if "zebu" in x.title
    )
    return summary


def brought(world: World, folder: Path, form: str, text: str) -> EntrySummary:
    put_file(folder / "n/b.md", text)
    done = jobs.import_files(world.library, [folder / "n"], form)
    assert (len(done.written), done.skipped) == (1, ())
    return the_lesson(world.library)


@pytest.mark.parametrize("form", ["markdown", "basic-memory", "okf"])
def test_no_note_of_others_is_firm_sure_or_approved(
    world: World, tmp_path: Path, form: str
) -> None:
    summary = brought(world, tmp_path, form, CLAIMS)
    assert (summary.origin.firm, summary.stated.from_, summary.confidence) == (
        False,
        "ai",
        "medium",
    )
    counts = world.library.primary.catalog.facts("harvest").get(summary.id, {})
    assert not any(counts.values())
    fields = entries.show(world.library, summary.id).frontmatter
    assert fields["imported"] == {
        "from": "user", "firm": True, "approved_by": "Ada <ada@x>", "reviewed": "2026-11-01",
        "confidence": "very-high", "counted": True,
    }  # fmt: skip
    assert not {"firm", "approved_by", "reviewed"} & fields.keys()


def test_the_numbers_of_a_promotion_elsewhere_do_not_count(world: World, tmp_path: Path) -> None:
    summary = brought(
        world, tmp_path, "markdown", CLAIMS.replace("reviewed: 2026-11-01\n", PROMOTED)
    )
    assert world.library.primary.learned.of(summary).confidence == 0.5


def number(library: Library, *, as_claimed: bool = False) -> float:
    summary = the_lesson(library)
    return library.primary.learned.several([summary], as_claimed=as_claimed)[summary.id].confidence


def exported(library: Library) -> Any:
    return everything.export_file(library, None).document


def test_a_number_is_kept_and_counts_as_medium_until_something_here_speaks_for_it(
    world: World, tmp_path: Path
) -> None:
    put_file(tmp_path / "g.json", json.dumps(GROOVE))
    jobs.import_files(world.library, [tmp_path / "g.json"], "groove")
    assert number(world.library) == 0.5
    (learning,) = exported(world.library)["learnings"]
    assert (learning["confidence"], learning["source"]) == (0.8312, "UserCreated")
    put_file(tmp_path / "again.json", json.dumps(exported(world.library)))
    learning_jobs.feedback(world.library, the_lesson(world.library).id, "helpful")
    assert number(world.library) > 0.8312


def test_a_number_below_the_middle_counts_as_it_is(world: World, tmp_path: Path) -> None:
    put_file(tmp_path / "g.json", json.dumps(GROOVE).replace("0.8312", "0.17"))
    jobs.import_files(world.library, [tmp_path / "g.json"], "groove")
    assert (number(world.library), number(world.library, as_claimed=True)) == (0.17, 0.17)


def test_outcomes_that_an_import_brings_lift_nothing_before_one_of_here_does(
    world: World, tmp_path: Path
) -> None:
    document = json.loads(json.dumps(GROOVE))
    entry = "01JD3Z8QK5W7M2X9V4T6000000"
    at = "2026-11-02T00:00:00Z"
    document["learnings"][0]["id"] = entry
    document["events"] = [
        {
            "id": f"01JD3Z8QK5W7M2X9V4T6AAAA{n:02}",
            "at": at,
            "event": "helpful",
            "entry": entry,
            "session": "s",
        }
        for n in range(50)
    ]
    put_file(tmp_path / "g.json", json.dumps(document))
    assert jobs.import_files(world.library, [tmp_path / "g.json"], "groove").events == 50
    assert number(world.library) == 0.5
    assert number(world.library, as_claimed=True) > 0.9
    assert exported(world.library)["events"] == document["events"]
    learning_jobs.feedback(world.library, the_lesson(world.library).id, "helpful")
    assert number(world.library) > 0.9


def test_a_person_who_says_so_here_gives_it_standing(world: World, tmp_path: Path) -> None:
    summary = brought(world, tmp_path, "markdown", CLAIMS)
    pattern = entries.show(world.library, summary.id).entry
    assert pattern.stated.pattern
    lessons.add(world.library, parse(pattern.stated.pattern), by="user")
    summary = the_lesson(world.library)
    assert (summary.origin.firm, summary.confidence) == (True, "high")
    assert world.library.primary.learned.of(summary).confidence == 0.7


def test_a_rule_that_says_who_approved_it_is_a_proposal_that_says_so_in_no_key_that_counts(
    world: World, tmp_path: Path
) -> None:
    text = "---\nkind: rule\ntitle: Obey\nrationale: because\napproved: true\napproved_by: Ada\n---\nx\n"
    put_file(tmp_path / "n/r.md", text)
    done = jobs.import_files(world.library, [tmp_path / "n"], "markdown")
    assert (len(done.queued), done.skipped) == (1, ())
    assert pending_rules.pending_rules(world.library)
