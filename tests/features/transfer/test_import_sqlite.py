"""The predecessor's database, made here by its documented schema."""

import sqlite3
from pathlib import Path

import pytest

from ai_lessons.app import entries, pending_rules
from ai_lessons.errors import InvalidEntry
from ai_lessons.features.transfer import jobs
from ai_lessons.git import databases
from ai_lessons.model.entries import Kind
from app.world import World

DOC, SCRIPT, RULE, LESSON = (
    f"01JD3Z8QK5W7M2X9V4T6{end}" for end in ("DDDD11", "SSSS22", "RRRR33", "XXXX44")
)

SCHEMA = f"""
CREATE TABLE lessons (id VARCHAR PRIMARY KEY, title VARCHAR NOT NULL, content TEXT, confidence VARCHAR, source VARCHAR,
    created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, updated_at TIMESTAMP);
CREATE TABLE lesson_tags (lesson_id VARCHAR, tag VARCHAR, PRIMARY KEY (lesson_id, tag));
CREATE TABLE lesson_contexts (lesson_id VARCHAR, context VARCHAR);
CREATE TABLE edges (from_id VARCHAR, to_id VARCHAR, relation VARCHAR);
CREATE TABLE resources (id VARCHAR PRIMARY KEY, type VARCHAR NOT NULL, title VARCHAR NOT NULL, path VARCHAR, content BLOB,
    content_hash VARCHAR, source_ref VARCHAR, indexed_at TIMESTAMP,
    created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP);
CREATE TABLE resource_versions (resource_id VARCHAR NOT NULL, version VARCHAR NOT NULL, PRIMARY KEY (resource_id, version),
    FOREIGN KEY (resource_id) REFERENCES resources(id) ON DELETE CASCADE);
CREATE TABLE resource_chunks (id VARCHAR PRIMARY KEY, resource_id VARCHAR NOT NULL, chunk_index INTEGER NOT NULL,
    title VARCHAR, content TEXT NOT NULL);
CREATE TABLE rules (id VARCHAR PRIMARY KEY, title VARCHAR NOT NULL, content TEXT NOT NULL, rationale TEXT NOT NULL,
    approved BOOLEAN DEFAULT FALSE, approved_at TIMESTAMP, approved_by VARCHAR, suggested_by VARCHAR,
    created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP);
CREATE TABLE rule_tags (rule_id VARCHAR NOT NULL, tag VARCHAR NOT NULL, PRIMARY KEY (rule_id, tag));
CREATE TABLE rule_links (rule_id VARCHAR NOT NULL, target_id VARCHAR NOT NULL, target_type VARCHAR NOT NULL);
INSERT INTO lessons VALUES ('{LESSON}', 'PUT replaces the workflow', 'Seen twice.', 'high', 'tested', '2025-05-01 10:00:00', NULL),
    ('17', 'An old one', NULL, NULL, 'somewhere', '2025-05-02', NULL), ('18', '', 'x', NULL, NULL, NULL, NULL);
INSERT INTO lesson_tags VALUES ('{LESSON}', 'workflows'), ('{LESSON}', 'jira-api');
INSERT INTO lesson_contexts VALUES ('{LESSON}', 'jira cloud');
INSERT INTO resources (id, type, title, path, content, source_ref, created_at) VALUES
    ('{DOC}', 'doc', 'Workflows API', '~/.ai/reference/jira-api/docs/v3/WorkflowsApi.md', '# Workflows', 'abc123', '2025-05-01 10:00:00'),
    ('{SCRIPT}', 'script', 'Update', '/home/a/.ai/reference/jira-api/scripts/shared/up.sh', X'23212F62696E2F73680A', NULL, '2025-05-01 10:00:00'),
    ('elsewhere', 'script', 'Kept', '/opt/kept.sh', NULL, NULL, '2025-05-01 10:00:00');
INSERT INTO resource_versions VALUES ('{DOC}', 'v3'), ('{SCRIPT}', 'v2'), ('{SCRIPT}', 'v3'), ('elsewhere', 'unversioned');
INSERT INTO rules (id, title, content, rationale, approved, approved_by, created_at) VALUES
    ('{RULE}', 'GET before PUT', 'Always.', 'PUT replaces all', TRUE, 'ana', '2025-05-03 10:00:00');
INSERT INTO rule_tags VALUES ('{RULE}', 'jira-api');
INSERT INTO rule_links VALUES ('{RULE}', '{LESSON}', 'lesson'), ('{RULE}', '{SCRIPT}', 'resource');
INSERT INTO edges VALUES ('{LESSON}', '{DOC}', 'has_doc'), ('{LESSON}', 'nobody', 'related_to'), ('17', '{LESSON}', 'supersedes');
"""  # noqa: E501, S608  # rows are easier to read whole; constants of ours


@pytest.fixture
def database(tmp_path: Path) -> Path:
    file = tmp_path / "knowledge.db"
    with sqlite3.connect(file) as db:
        db.executescript(SCHEMA)
    db.close()
    return file


def test_everything_of_it_arrives(world: World, database: Path) -> None:
    before = database.read_bytes()
    done = jobs.import_files(world.library, [database], "ai-lessons-sqlite")
    assert sorted(one.title for one in done.written) == [
        "An old one", "Kept", "PUT replaces the workflow", "Update", "Workflows API",
    ]  # fmt: skip
    assert [(one.id, one.title) for one in done.queued] == [(RULE, "GET before PUT")]
    assert sorted(reason for _, reason in done.skipped) == [
        "it has no title", "it leads nowhere, or means nothing",
    ]  # fmt: skip
    library = world.library
    lesson = entries.show(library, LESSON)
    assert lesson.entry.tags == ("jira-api", "workflows")
    assert {key: lesson.frontmatter[key] for key in ("confidence", "source", "created", "contexts")} == {
        "confidence": "medium", "source": "tested", "created": "2025-05-01T10:00:00Z", "contexts": ["jira cloud"],
    }  # fmt: skip
    assert {(one.relation, one.entry.title) for one in lesson.related if one.entry} == {
        ("has_doc", "Workflows API"),
        ("supersedes", "An old one"),
    }
    assert entries.show(library, DOC).entry.path == "jira-api/docs/v3/WorkflowsApi.md"
    script = entries.show(library, SCRIPT)
    assert (script.entry.path, script.code) == ("jira-api/scripts/shared/up.sh", "#!/bin/sh\n")
    assert (world.root / script.entry.path).stat().st_mode & 0o100
    (kept,) = [one for one in done.written if one.title == "Kept"]
    assert entries.show(library, kept.id).frontmatter["path"] == "/opt/kept.sh"
    (pending,) = pending_rules.pending_rules(world.library)
    assert "has_script" in pending.diff
    assert world.commits()[0] == "Import 5 entries from knowledge.db"
    assert database.read_bytes() == before
    assert [one.name for one in database.parent.glob("knowledge.db*")] == ["knowledge.db"]


def test_twice_adds_nothing_and_two_clones_agree_on_ids(world: World, database: Path) -> None:
    first = jobs.import_files(world.library, [database], "ai-lessons-sqlite", dry_run=True)
    done = jobs.import_files(world.library, [database], "ai-lessons-sqlite")
    assert [one.id for one in first.written] == [one.id for one in done.written]
    again = jobs.import_files(world.library, [database], "ai-lessons-sqlite")
    assert (again.written, again.queued, again.unchanged) == ((), (), 6)


def test_what_stands_only_in_its_log_is_read_too(world: World, database: Path) -> None:
    db = sqlite3.connect(database)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("INSERT INTO lessons (id, title) VALUES ('99', 'In the log')")
    db.commit()
    before = database.read_bytes()
    done = jobs.import_files(world.library, [database], "ai-lessons-sqlite")
    assert "In the log" in [one.title for one in done.written]
    assert database.read_bytes() == before
    db.close()


def test_a_damaged_database_is_a_clear_error(world: World, database: Path) -> None:
    data = database.read_bytes()
    pages = data[:8192] + b"\xa5" * (len(data) - 8192)
    for damaged in (b"hello", data[:16] + b"\xff" * 200, data[:5000], pages):
        database.write_bytes(damaged)
        with pytest.raises(
            InvalidEntry,
            match=r"knowledge\.db:1: (not a SQLite database|the database cannot be read)",
        ):
            jobs.import_files(world.library, [database], "ai-lessons-sqlite")
    assert world.status() == ""


def test_views_and_virtual_tables_are_not_asked(world: World, tmp_path: Path) -> None:
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id, 'x' AS title FROM n"
    with sqlite3.connect(tmp_path / "hostile.db") as db:
        db.execute(f"CREATE VIEW lessons AS {endless}")
    db.close()
    with pytest.raises(InvalidEntry, match="no database of ai-lessons"):
        jobs.import_files(world.library, [tmp_path / "hostile.db"], "ai-lessons-sqlite")


def test_a_table_that_computes_its_columns_without_end_is_cut_off(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(databases, "MOST_WORK", databases.Work(steps=1000, times=1))
    with sqlite3.connect(tmp_path / "slow.db") as db:
        db.execute("CREATE TABLE lessons (id TEXT, title TEXT)")
        db.executemany("INSERT INTO lessons VALUES (?, 'x')", [(str(n),) for n in range(10_000)])
    db.close()
    with pytest.raises(InvalidEntry, match="interrupted"):
        jobs.import_files(world.library, [tmp_path / "slow.db"], "ai-lessons-sqlite")


def test_paths_of_a_hostile_database_stay_inside(world: World, database: Path) -> None:
    with sqlite3.connect(database) as db:
        db.execute(
            "UPDATE resources SET path = '../.git/docs/../../hooks/docs/pre-commit', title = '../x' WHERE type = 'doc'"
        )
        db.execute("INSERT INTO resource_versions VALUES (?, '../..')", (DOC,))
        db.execute("DELETE FROM resource_versions WHERE version = 'v3'")
    db.close()
    done = jobs.import_files(world.library, [database], "ai-lessons-sqlite")
    paths = [one.path for one in done.written if one.kind is Kind.DOC]
    assert all(path.startswith("hooks/docs/") and ".." not in path.split("/") for path in paths)
    assert world.status() == ""
