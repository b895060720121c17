from __future__ import annotations

import json
from pathlib import Path

import pytest

from ai_lessons.doors.cli.transfer import guess
from ai_lessons.errors import UsageError
from doors.world import Run

LESSON = "L-8F3K2A"


def test_an_export_to_a_pipe_is_the_document_and_nothing_else(run: Run, knowledge: Path) -> None:
    done = run("admin", "export", "-")
    document = json.loads(done.out)
    assert (done.code, document["version"], len(document["learnings"]), done.err) == (0, 1, 1, "")
    assert run("admin", "export", "k.json").out == (
        f"{knowledge.parent / 'k.json'}: written\n1 lesson, 0 rules, 2 docs, 1 script, 0 events\n"
    )
    assert json.loads((knowledge.parent / "k.json").read_text())["learnings"] == document["learnings"]


def test_an_import_tells_what_it_did_and_what_it_left_out(run: Run, knowledge: Path) -> None:
    (knowledge.parent / "AGENTS.md").write_text("# Build\n\nWith make.\n")
    text = run("admin", "import", "AGENTS.md", "--dry-run").out
    assert text.startswith("0 entries added, 0 here already, 0 skipped, 0 relations, 0 events, 1 rule proposed")
    assert text.endswith("Nothing was written. Without --dry-run this is what would be done.\n")
    data = json.loads(run("admin", "import", "AGENTS.md", "--json").out)
    assert set(data) == {
        "written", "unchanged", "skipped", "relations", "params", "events", "queued", "batch", "seen", "commit",
        "dry_run", "notes",
    }  # fmt: skip
    assert [one["title"] for one in data["queued"]] == ["Build"]
    (knowledge.parent / "bad.json").write_text('{"version": 1, "learnings": [7, 8]}')
    done = run("admin", "import", "bad.json")
    assert (done.code, "learning 1: not an object" in done.err) == (4, True)


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("k.json", "groove"),
        ("lessons.jsonl", "lessons-jsonl"),
        ("knowledge.db", "ai-lessons-sqlite"),
        ("AGENTS.md", "agents-md"),
        (".cursorrules", "agents-md"),
        ("x/.cursor/rules", "agents-md"),
        ("db.mdc", "agents-md"),
        ("note.md", "markdown"),
        (".", "markdown"),
    ],
)
def test_a_name_says_what_a_file_is(name: str, form: str) -> None:
    assert guess(Path(name)) == form


def test_a_name_that_says_nothing_is_asked_about(run: Run, knowledge: Path) -> None:
    with pytest.raises(UsageError, match="does not say what it is"):
        guess(Path("backup.tar"))
    assert run("admin", "import", "x.jsonl", "--project", "x", "--dry-run").code == 3


def test_there_is_nothing_to_migrate_in_the_newest_format(run: Run, knowledge: Path) -> None:
    assert run("admin", "migrate").out == "This repository has format 1, the newest one: nothing to migrate.\n"
