"""Notes that survive their process, and memories that do not grow without end."""

from __future__ import annotations

from pathlib import Path

from ai_lessons.git.store import BatchRecord, Journal, PendingChange, PendingCommit, new_name


def intent(subject: str = "Add") -> PendingCommit:
    return PendingCommit(
        new_name(),
        f"{subject}\n\nId: 1\n",
        1,
        3600,
        (PendingChange("a.md"), PendingChange("b", gone=True, executable=True)),
    )


def test_a_note_is_pending_from_ready_on_and_reads_back_as_it_was_written(tmp_path: Path) -> None:
    notes, one = Journal(tmp_path), intent()
    notes.begin(one, b"")
    assert (notes.pending(), notes.orphans()) == ([], [one])
    notes.ready(one.name)
    assert (notes.pending(), notes.orphans()) == ([one], [])
    assert one.subject == "Add"


def test_a_settled_job_is_forgotten_but_its_commit_is_remembered(tmp_path: Path) -> None:
    notes, one, empty = Journal(tmp_path), intent(), intent()
    for each in (one, empty):
        notes.begin(each, b"")
        notes.ready(each.name)
    notes.settle(BatchRecord("tip", {one.name: "commit", empty.name: ""}))
    assert notes.pending() == []
    assert (notes.commit_of(one.name), notes.commit_of(empty.name), notes.commit_of("?")) == ("commit", None, None)
    assert not notes.waits(one.name)


def test_damaged_notes_and_records_are_put_aside(tmp_path: Path) -> None:
    notes, one = Journal(tmp_path), intent()
    notes.begin(one, b"")
    notes.ready(one.name)
    notes.settle(BatchRecord("tip", {}))
    for folder in ("journal", "committed"):
        (tmp_path / folder / "0.json").write_text('{"half')
    assert notes.pending() == [one]
    assert notes.damaged() == ["0"]
    assert [record.head for record in notes.records()] == ["tip"]


def test_what_was_swept_away_is_kept_until_it_is_back_or_forgotten(tmp_path: Path) -> None:
    notes, one = Journal(tmp_path), intent()
    first = notes.sweep(one, {"a.md": b"aa"})
    second = notes.sweep(one, {"a.md": b"other"})
    assert [notes.content(job, "a.md") for job in notes.kept()] == [b"aa", b"other"]
    notes.ready(first.name)
    assert [job.name for job in notes.pending()] == [first.name]
    assert [job.name for job in notes.kept()] == [second.name]


def test_a_note_that_is_just_being_written_is_no_damage(tmp_path: Path) -> None:
    notes, one = Journal(tmp_path), intent()
    notes.begin(one, b"")
    (tmp_path / "journal" / f"{one.name}.writing").write_bytes(b"")
    assert (notes.orphans(), notes.damaged()) == ([], [])
    notes.drop_orphans()
    assert list((tmp_path / "journal").iterdir()) == []
