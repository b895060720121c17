"""What was edited by hand is named and committed: `admin save --edits`, and what sync and doctor say of it."""

from pathlib import Path

import pytest

from interfaces.a_terminal import Spawn, finish, reply
from interfaces.world import Run
from real_world import Git, put_file

LESSON = "jira-api/lessons/2026-11/put-replaces-8F3K2A.md"
DOC = "jira-api/docs/v3/workflows-api.md"
NEW = "git/lessons/mine.md"


def edit(file: Path, text: str = "More.\n") -> None:
    file.write_text(file.read_text() + text)


def committed(git: Git, root: Path) -> set[str]:
    return set(git(root, "show", "--format=", "--name-status", "--no-renames").splitlines())


@pytest.fixture
def edited(knowledge: Path, git: Git) -> Path:
    """A lesson is edited, another made, and a doc is moved."""
    edit(knowledge / LESSON)
    put_file(knowledge / NEW, "# Mine\n\nMade in the editor.\n")
    (knowledge / DOC).rename(knowledge / DOC.replace("workflows-api", "workflows"))
    return knowledge


def test_what_was_edited_made_and_moved_by_hand_is_named_by_save_and_committed_where_that_is_asked_for(
    edited: Path, run: Run, git: Git
) -> None:
    before = git(edited, "rev-parse", "HEAD")
    told = run("admin", "save").out
    assert "committed" not in told
    assert f"in no commit (ai-lessons admin save --edits): {NEW}, " in told
    (files,) = (one for one in run("admin", "doctor", "--json").json if one["name"] == "files")
    assert (files["state"], LESSON in files["detail"]) == ("warning", True)
    assert files["remedy"].startswith("ai-lessons admin save --edits")
    assert git(edited, "rev-parse", "HEAD") == before
    put_file(edited / "notes.txt", "No entry.\n")
    done = run("admin", "save", "--edits")
    assert (done.code, done.out.splitlines()[0][:10]) == (0, "committed ")
    assert git(edited, "log", "-1", "--format=%s") == "Save edits: 4 files"
    assert committed(git, edited) == {
        f"M\t{LESSON}", f"A\t{NEW}", f"D\t{DOC}", f"A\t{DOC.replace('workflows-api', 'workflows')}",
    }  # fmt: skip
    assert git(edited, "status", "--porcelain") == "?? notes.txt"
    again = run("admin", "save", "--edits")
    assert (again.code, again.out.splitlines()[0]) == (0, "no entry was edited by hand")


def test_the_edit_of_a_rule_waits_for_its_proposal(
    knowledge: Path, proposal: str, run: Run, git: Git
) -> None:
    assert run("admin", "approve-rule", proposal, "--yes").code == 0
    (rule,) = knowledge.glob("jira-api/rules/*.md")
    edit(rule, "Or never.\n")
    edit(knowledge / LESSON)
    told = run("admin", "save", "--edits").out
    assert (
        f"rules in no commit (ai-lessons contribute propose): {rule.relative_to(knowledge)}" in told
    )
    assert committed(git, knowledge) == {f"M\t{LESSON}"}
    assert rule.read_text().endswith("Or never.\n")
    assert run("contribute", "propose").code == 0


def test_what_is_staged_in_part_stays_as_it_is_and_what_is_staged_whole_is_committed(
    knowledge: Path, run: Run, git: Git
) -> None:
    edit(knowledge / LESSON, "Staged.\n")
    git(knowledge, "add", LESSON)
    edit(knowledge / LESSON, "Not yet.\n")
    edit(knowledge / DOC, "Whole.\n")
    git(knowledge, "add", DOC)
    told = run("admin", "save", "--edits")
    assert f"staged in part or in conflict, so yours to commit: {LESSON}" in told.out
    assert committed(git, knowledge) == {f"M\t{DOC}"}
    assert git(knowledge, "status", "--porcelain") == f"MM {LESSON}"
    assert git(knowledge, "show", f":{LESSON}").endswith("Staged.")


def test_an_edit_that_is_invalid_or_holds_a_secret_commits_nothing(
    edited: Path, run: Run, git: Git
) -> None:
    for text, why in (
        ("---\nkind: lesson\ntitle: [\n---\nText.\n", "YAML"),
        ("# Notes\n\nkey: ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a\n", "looks like"),
    ):
        put_file(edited / "git/lessons/bad.md", text)
        before = git(edited, "rev-parse", "HEAD"), git(edited, "status", "--porcelain")
        done = run("admin", "save", "--edits")
        assert (done.code, why in done.err, "git/lessons/bad.md" in done.err) == (4, True, True), (
            done.err
        )
        assert (git(edited, "rev-parse", "HEAD"), git(edited, "status", "--porcelain")) == before


def test_at_a_terminal_it_names_the_files_and_asks(edited: Path, spawn: Spawn, git: Git) -> None:
    before = git(edited, "rev-parse", "HEAD")
    for answer, code in (("n", 8), ("y", 0)):
        child = spawn("admin", "save", "--edits")
        child.expect("put-replaces-8F3K2A.md")
        reply(child, r"Commit these files\? \[y/N\]: ", answer)
        assert finish(child)[0] == code
        assert (git(edited, "rev-parse", "HEAD") == before) == (answer == "n")


def test_in_a_folder_of_a_bigger_repository_commits_are_the_users(
    tmp_path: Path, run: Run, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tmp_path, "init", "-q", "shop")
    root = tmp_path / "shop/.ai/reference"
    assert run("--repo", root, "admin", "init").code == 0
    put_file(root / NEW, "# Mine\n\nText.\n")
    put_file(tmp_path / "shop/code.py", "pass\n")
    done = run("--repo", root, "admin", "save", "--edits")
    assert (done.code, "commits are yours to make here" in done.err) == (8, True)
    git(tmp_path / "shop", "config", "ai-lessons.autocommit", "true")
    assert run("--repo", root, "admin", "save", "--edits").code == 0
    assert committed(git, tmp_path / "shop") >= {f"A\t.ai/reference/{NEW}"}
    assert "?? code.py" in git(tmp_path / "shop", "status", "--porcelain")
