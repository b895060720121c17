"""Notes that survive their process, and memories that do not grow without end."""

from __future__ import annotations

from pathlib import Path

import pytest

from ai_lessons.git import store
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


def test_notes_come_oldest_first(tmp_path: Path) -> None:
    notes = Journal(tmp_path)
    written = [intent(str(n)) for n in range(5)]
    for one in reversed(written):
        notes.begin(one, b"")
        notes.ready(one.name)
    assert notes.pending() == written


def test_a_dropped_note_is_gone(tmp_path: Path) -> None:
    notes, one = Journal(tmp_path), intent()
    notes.begin(one, b"")
    notes.drop(one.name)
    assert (notes.pending(), notes.orphans()) == ([], [])


def test_a_settled_job_is_forgotten_but_its_commit_is_remembered(tmp_path: Path) -> None:
    notes, one, empty = Journal(tmp_path), intent(), intent()
    for each in (one, empty):
        notes.begin(each, b"")
        notes.ready(each.name)
    notes.settle(BatchRecord("tip", {one.name: "commit", empty.name: ""}))
    assert notes.pending() == []
    assert (notes.commit_of(one.name), notes.commit_of(empty.name), notes.commit_of("?")) == ("commit", None, None)
    assert not notes.waits(one.name)


def test_only_so_many_records_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "KEEP_RECORDS", 3)
    notes = Journal(tmp_path)
    for n in range(6):
        notes.settle(BatchRecord(str(n), {f"job{n}": "c"}))
    assert [record.head for record in notes.records()] == ["5", "4", "3"]


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


def test_the_bytes_of_a_job_are_known_until_it_is_settled(tmp_path: Path) -> None:
    notes = Journal(tmp_path)
    paths = (
        PendingChange("a.md", size=2),
        PendingChange("b", gone=True),
        PendingChange("c.md", size=0),
        PendingChange("d.md", size=3),
    )
    one = PendingCommit(new_name(), "Add\n", 1, 0, paths)
    notes.begin(one, b"aaddd")
    notes.ready(one.name)
    assert notes.pending() == [one]
    assert [notes.content(one, noted.path) for noted in paths] == [b"aa", None, b"", b"ddd"]
    (kept,) = (tmp_path / "journal").iterdir()
    kept.write_bytes(kept.read_bytes()[:-1])
    assert [notes.content(one, path) for path in ("a.md", "d.md")] == [b"aa", None]
    notes.settle(BatchRecord("tip", {one.name: "commit"}))
    assert [notes.content(one, path) for path in ("a.md", "d.md")] == [None, None]
    assert list((tmp_path / "journal").iterdir()) == []


def test_what_was_swept_away_is_kept_until_it_is_back_or_forgotten(tmp_path: Path) -> None:
    notes, one = Journal(tmp_path), intent()
    first = notes.sweep(one, {"a.md": b"aa"})
    second = notes.sweep(one, {"a.md": b"other"})
    assert [notes.content(job, "a.md") for job in notes.swept()] == [b"aa", b"other"]
    notes.ready(first.name)
    assert [job.name for job in notes.pending()] == [first.name]
    notes.drop(second.name)
    assert not notes.swept()


def test_a_note_that_is_just_being_written_is_no_damage(tmp_path: Path) -> None:
    notes, one = Journal(tmp_path), intent()
    notes.begin(one, b"")
    (tmp_path / "journal" / f"{one.name}.writing").write_bytes(b"")
    assert (notes.orphans(), notes.damaged()) == ([], [])
    notes.drop_orphans()
    assert list((tmp_path / "journal").iterdir()) == []
