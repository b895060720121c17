"""Groove's file: statistics, parameters and numbers of confidence come in as what another tool counted, and go out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ai_lessons.app import entries
from ai_lessons.app.workspace import Library
from ai_lessons.features.learning import jobs as learning_jobs
from ai_lessons.features.transfer import everything, jobs

if TYPE_CHECKING:
    from pathlib import Path

    from app.world import World

ID = "01JD3Z8QK5W7M2X9V4T6000000"
STATS = {
    "times_injected": 10, "times_helpful": 7, "times_ignored": 2, "times_contradicted": 1,
    "last_used": 1_790_000_000, "confidence_alpha": 8.0, "confidence_beta": 2.7,
}  # fmt: skip
PARAM = {
    "param_name": "injection_budget", "value": 0.4, "uncertainty": 0.2, "observations": 12, "prior_alpha": 2.0,
    "prior_beta": 3.0, "updated_at": "2026-11-01T00:00:00Z",
}  # fmt: skip


def groove(**learning: Any) -> dict[str, Any]:
    content = {"insight": "Retry with backoff", "description": "Wait twice as long each time."}
    stated: dict[str, Any] = {
        "id": ID,
        "scope": "Global",
        "category": "Solution",
        "content": content,
        "source": "UserCreated",
    }
    stated |= {"created_at": "2026-11-01T00:00:00Z", "confidence": 0.82, "usage_stats": STATS}
    params = [PARAM, {**PARAM, "param_name": "of_theirs"}]
    return {
        "version": 1,
        "exported_at": "2026-11-01",
        "learnings": [stated | learning],
        "params": params,
    }


def taken(library: Library, folder: Path, document: dict[str, Any]) -> jobs.Ported:
    (folder / "g.json").write_text(json.dumps(document))
    return jobs.import_files(library, [folder / "g.json"], "groove")


def exported(library: Library) -> dict[str, Any]:
    document = everything.export_file(library, None).document
    assert document is not None
    return document


def test_what_another_tool_counted_comes_in_apart_from_what_happens_here(
    world: World, tmp_path: Path
) -> None:
    done = taken(world.library, tmp_path, groove())
    assert done.notes[0].endswith("statistics of 1 lesson and 2 parameters")
    usage = entries.show(world.library, ID).usage
    assert usage is not None
    assert (usage.elsewhere, usage.tallies.helpful) == (
        (10, 7, 2, 1, 8.0, 2.7, "2026-09-21T14:13:20Z"),
        0,
    )
    assert usage.confidence == 0.5, "it ranks as medium"
    parameters = {state.name: state for state in learning_jobs.params(world.library)}
    assert parameters["injection_budget"].elsewhere == "0.4 after 12 outcomes"
    assert (parameters["injection_budget"].observations, parameters["injection_budget"].value) == (
        0,
        10,
    )


def test_it_goes_out_again_with_what_happened_since_and_comes_back_as_it_was(
    world: World, tmp_path: Path
) -> None:
    taken(world.library, tmp_path, groove())
    learning_jobs.feedback(world.library, ID, "helpful")
    document = exported(world.library)
    (learning,) = document["learnings"]
    stats = learning["usage_stats"]
    assert (stats["times_injected"], stats["times_helpful"], stats["times_contradicted"]) == (
        10,
        8,
        1,
    )
    assert (stats["confidence_alpha"], stats["confidence_beta"]) == (9.0, 2.7)
    assert learning["confidence"] > 0.82
    assert document["params"] == [
        {**PARAM, "param_name": name, "imported": True}
        for name in ("injection_budget", "of_theirs")
    ]
    world.close()
    (world.library.primary.store.state_dir / "events").rename(tmp_path / "gone")
    (world.root / entries.show(world.fresh(), ID).entry.path).unlink()
    again = taken(world.fresh(), tmp_path, document)
    assert (again.events, len(again.written)) == (1, 1)
    assert exported(world.fresh()) | {"exported_at": ""} == document | {"exported_at": ""}


def test_a_second_import_adds_nothing_and_newer_numbers_take_the_place_of_older_ones(
    world: World, tmp_path: Path
) -> None:
    taken(world.library, tmp_path, groove())
    before = exported(world.library)
    taken(world.library, tmp_path, groove())
    (log,) = (file for file in world.library.primary.events.log.files())
    assert log.read().count(b'"counted"') == 3
    assert exported(world.library) == before
    taken(world.library, tmp_path, groove(usage_stats={**STATS, "times_helpful": 9}))
    assert exported(world.library)["learnings"][0]["usage_stats"]["times_helpful"] == 9


def test_the_number_of_confidence_counts_whatever_word_the_file_says(
    world: World, tmp_path: Path
) -> None:
    made = world.add("Retry with backoff", confidence="low")
    document = exported(world.library)
    (world.root / made.path).unlink()
    (learning,) = document["learnings"]
    foreign = {**groove(), "learnings": [{**learning, "confidence": 0.82}]}
    taken(world.fresh(), tmp_path, foreign)
    assert exported(world.fresh())["learnings"][0]["confidence"] == 0.82


def test_numbers_that_are_none_are_named_and_the_lesson_comes(world: World, tmp_path: Path) -> None:
    document = groove(usage_stats={**STATS, "times_helpful": "many"})
    document["params"][0] = {**PARAM, "value": -1}
    done = taken(world.library, tmp_path, document)
    assert len(done.written) == 1
    reasons = [row.reason for row in done.skipped]
    assert reasons == [
        "times_helpful many is no number from 0 up",
        "value -1 is no number from 0 up",
    ]


def test_numbers_that_were_not_stated_go_out_as_those_of_the_confidence(
    world: World, tmp_path: Path
) -> None:
    stats = {"times_injected": 5, "times_helpful": 4}
    taken(world.library, tmp_path, groove(usage_stats=stats, confidence=0.7))
    (learning,) = exported(world.library)["learnings"]
    gone_out = learning["usage_stats"]
    assert (gone_out["times_injected"], gone_out["times_helpful"]) == (5, 4)
    # whoever reads them divides by their sum
    assert (gone_out["confidence_alpha"], gone_out["confidence_beta"]) == (1.4, 0.6)
    assert "confidence_alpha" not in gone_out["imported"]


def test_a_confidence_of_nothing_stays_one(world: World, tmp_path: Path) -> None:
    taken(world.library, tmp_path, groove(usage_stats=None, confidence=0.0))
    (learning,) = exported(world.library)["learnings"]
    assert learning["confidence"] == 0.0
