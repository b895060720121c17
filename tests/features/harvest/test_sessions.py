"""Where transcripts are looked for."""

from pathlib import Path

from ai_lessons.features.harvest.sessions import transcripts
from ai_lessons.model import Where
from real_world import put_file


def test_transcripts_are_not_looked_for_behind_links(tmp_path: Path) -> None:
    put_file(tmp_path / "home/a.jsonl", "{}")
    kept = put_file(tmp_path / "kept/.hidden/b.jsonl", "{}")
    (tmp_path / "kept/docs").symlink_to(tmp_path / "home")
    where = Where(tmp_path, tmp_path)
    for folder in (tmp_path / "kept", kept):
        files = transcripts(where, tmp_path, str(folder))
        assert [file.name for file, _ in files] == ["b.jsonl"]
