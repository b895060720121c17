import json
from pathlib import Path

import pytest

from ai_lessons.errors import UsageError
from ai_lessons.features.transfer.commands import guess, target_of
from ai_lessons.model.frontmatter import read_entry
from interfaces.world import Run


def test_an_export_to_a_pipe_is_the_document_and_nothing_else(run: Run, knowledge: Path) -> None:
    done = run("admin", "export", "-")
    document = json.loads(done.out)
    assert (done.code, document["version"], len(document["learnings"]), done.err) == (0, 1, 1, "")
    assert run("admin", "export", "k.json").out == (
        f"{knowledge.parent / 'k.json'}: written\n1 lesson, 0 rules, 2 docs, 1 script, 0 events\n"
    )
    assert (
        json.loads((knowledge.parent / "k.json").read_text())["learnings"] == document["learnings"]
    )


def test_an_import_tells_what_it_did_and_what_it_left_out(run: Run, knowledge: Path) -> None:
    (knowledge.parent / "AGENTS.md").write_text("# Build\n\nWith make.\n")
    text = run("admin", "import", "AGENTS.md", "--dry-run").out
    assert text.startswith("0 entries added, 1 rule proposed")
    assert text.endswith("Nothing was written. Without --dry-run this is what would be done.\n")
    told = run("admin", "import", "AGENTS.md").out
    assert (
        "What was taken in may stay: what an agent reads there word by word is told once." in told
    )
    assert "  rm AGENTS.md && ai-lessons admin export AGENTS.md\n" in told
    (knowledge.parent / "AGENTS.md").write_text("# Build\n\nWith ninja.\n")
    data = json.loads(run("admin", "import", "AGENTS.md", "--json").out)
    assert set(data) == {
        "written", "unchanged", "skipped", "relations", "params", "events", "queued", "batch", "seen", "old_files",
        "commit", "dry_run", "notes",
    }  # fmt: skip
    assert [one["title"] for one in data["queued"]] == ["Build"]
    (knowledge.parent / "bad.json").write_text('{"version": 1, "learnings": [7, 8]}')
    done = run("admin", "import", "bad.json")
    assert (done.code, "learning 1: not an object" in done.err) == (4, True)


def test_a_name_says_what_a_file_is_or_is_asked_about(run: Run, knowledge: Path) -> None:
    forms = {
        "k.json": "groove", "lessons.jsonl": "lessons-jsonl", "knowledge.db": "ai-lessons-sqlite", ".": "markdown",
        "AGENTS.md": "agents-md", "x/.cursor/rules": "agents-md", "note.md": "markdown",
    }  # fmt: skip
    assert {name: guess(Path(name)) for name in forms} == forms
    with pytest.raises(UsageError, match="does not show its form"):
        guess(Path("backup.tar"))
    assert run("admin", "import", "x.jsonl", "--project", "x", "--dry-run").code == 3
    targets = {
        "AGENTS.md": "agents-md", ".github/copilot-instructions.md": "copilot", ".cursor/rules": "cursor",
        ".windsurf/rules": "windsurf", ".claude/skills": "skills", ".qwen/team-memory": "qwen",
        "docs/solutions": "compound", "knowledge.json": "groove", "my-agents.md": "groove",
    }  # fmt: skip
    assert {name: target_of(Path("/home/you") / name) for name in targets} == targets


POLICY = """---
type: Policy
title: Margin standard
tags: [finance]
generated: { by: human:jo@acme, at: 2026-02-01T10:00:00Z }
verified: { by: human:jo@acme, at: 2026-06-15T09:00:00Z }
stale_after: 2026-12-31T00:00:00Z
---

# Definition

What COGS has.
"""


def test_a_bundle_of_the_open_format_goes_out_with_who_approved_and_comes_in_elsewhere(
    run: Run, knowledge: Path, proposal: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("admin", "approve-rule", proposal, "--yes").code == 0
    folder, elsewhere = knowledge.parent / "okf", knowledge.parent / "elsewhere"
    assert "1 lesson, 1 rule, 2 docs, 1 script" in run("admin", "export", "okf").out
    index = (folder / "index.md").read_text()
    assert index.startswith('---\nokf_version: "0.2"\n---\n\n# Lessons\n\n* [')
    concepts = {file.relative_to(folder).as_posix(): read_entry("a/docs/b.md", file.read_bytes()).fields
                for file in folder.glob("*/*.md")}  # fmt: skip
    assert all(f"]({name})" in index and fields["type"] for name, fields in concepts.items())
    (rule,) = [fields for fields in concepts.values() if fields["type"] == "Rule"]
    assert rule["verified"][0]["by"] == "human:person@example.com"
    (folder / "policy.md").write_text(POLICY)
    (folder / "log.md").write_text("# Log\n\n## 2026-02-01\n* **Creation**: the standard.\n")
    monkeypatch.setenv("AI_LESSONS_REPO", str(elsewhere))
    assert run("admin", "init", str(elsewhere)).code == 0
    came = json.loads(run("admin", "import", "okf", "--json").out)
    assert (len(came["queued"]), len(came["written"])) == (1, 5), "a rule is proposed, not in force"
    assert {seen["became"] for seen in came["seen"] if seen["where"] in {"index.md", "log.md"}} == {
        "not recognised"
    }
    policy = run("recall", "list", "--type", "doc", "--json").json
    (policy,) = [doc for doc in policy if doc["title"] == "Margin standard"]
    text = (elsewhere / policy["path"]).read_text()
    for row in ("type: Policy", "created: 2026-02-01T10:00:00Z", "review_by: 2026-12-31"):
        assert row in text


def test_a_file_of_a_person_keeps_its_text_in_an_export_without_a_form(
    run: Run, knowledge: Path
) -> None:
    for name in ("AGENTS.md", "CLAUDE.md", "README.md", "package.json"):
        (knowledge.parent / name).write_text("# my own\n")
    assert run("admin", "export", "AGENTS.md").code == 0
    assert run("admin", "export", "CLAUDE.md").code == 0
    done = run("admin", "export", "README.md")
    assert (done.code, "--replace" in done.err) == (8, True)
    assert run("admin", "export", "package.json", "--to", "groove").code == 8
    for name in ("AGENTS.md", "CLAUDE.md", "README.md", "package.json"):
        assert "# my own\n" in (knowledge.parent / name).read_text()
    assert run("admin", "export", "README.md", "--replace").code == 0
    assert json.loads((knowledge.parent / "README.md").read_text())["version"] == 1


def test_the_text_of_an_entry_is_read_from_no_device_and_through_no_link_out(
    run: Run, knowledge: Path
) -> None:
    code = knowledge.parent / "code"
    (code / ".git").mkdir(parents=True)
    (knowledge.parent / "secret.md").write_text("TOPSECRET")
    (code / "notes.md").symlink_to(knowledge.parent / "secret.md")
    for file, exit_code in ((code / "notes.md", 8), ("/dev/zero", 4), ("gone.md", 2)):
        assert run("contribute", "add-lesson", "--title", "T", "--file", file).code == exit_code
    pages = [page.read_text() for page in knowledge.rglob("*.md")]
    assert pages
    assert not any("TOPSECRET" in page for page in pages)
