"""`admin forget --plan` says where a text is, wherever git or we keep it, and changes nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from features.forget.conftest import ENTRY, HANDLE, PATH, SECRET, TEXT, Secret
from interfaces.world import LESSON
from real_world import commit_all, put_file


def test_a_text_that_is_nowhere_needs_nothing(secret: Secret) -> None:
    answer = secret.plan("-", text="nobody ever wrote this\n")
    assert answer["places"] == answer["steps"] == []
    assert "nowhere" in secret.run("admin", "forget", "-", "--plan", text="nobody wrote this").out


def test_files_branches_and_remotes_are_named(secret: Secret) -> None:
    secret.git(secret.root, "branch", "proposals/acme")
    secret.git(secret.root, "tag", "v1")
    places = {place["what"]: place for place in secret.plan(HANDLE)["places"]}
    assert places["files now"]["names"] == [PATH]
    history = places["history"]
    assert history["names"] == [
        "refs/heads/main",
        "refs/heads/proposals/acme",
        "refs/remotes/origin/main",
        "refs/tags/v1",
    ]
    # two versions, and the message that says the title
    assert history["number"] == 3
    assert history["removed_by"] == "commands"


def test_what_only_reflogs_stashes_and_the_index_hold_is_found(secret: Secret) -> None:
    root, git = secret.root, secret.git
    git(root, "switch", "-qc", "away", "HEAD~2")
    put_file(root / "acme/lessons/left.md", "# A\n\nreflog-only words\n")
    commit_all(git, root, "left")
    git(root, "switch", "-q", "main")
    git(root, "branch", "-qD", "away")
    assert secret.places("-", text="reflog-only words") == {
        "reflog, stashes, index or what git has not dropped": 1
    }
    put_file(root / PATH, TEXT + "\nstashed-only words\n")
    git(root, "stash", "-q")
    assert secret.plan("-", text="stashed-only words")["places"][0]["names"] == ["refs/stash"]
    put_file(root / PATH, TEXT + "\nstaged-only words\n")
    git(root, "add", PATH)
    git(root, "checkout", "-q", "HEAD", "--", ".")
    assert secret.places("-", text="staged-only words") == {
        "reflog, stashes, index or what git has not dropped": 1
    }


def test_an_entry_that_was_deleted_is_known_by_its_handle(secret: Secret) -> None:
    assert secret.run("delete", HANDLE, "--yes").code == 0
    answer = secret.plan(HANDLE)
    assert answer["target"] == HANDLE
    assert answer["places"][0]["what"] == "history"
    assert secret.plan(ENTRY)["target"] == HANDLE


def test_a_handle_of_no_entry_is_no_text(secret: Secret) -> None:
    done = secret.run("admin", "forget", "L-ZZZZZZ", "--plan")
    assert done.code == 3
    assert "here or in any commit" in done.err


def test_lines_of_it_in_other_files_are_named_and_not_rewritten(secret: Secret) -> None:
    line = "pays by contract 4711-blue, thirty days after the date."
    put_file(secret.root / "AGENTS.md", f"The customer {line}\n")
    commit_all(secret.git, secret.root, "export")
    answer = secret.plan(HANDLE)
    places = {place["what"]: place for place in answer["places"]}
    assert places["lines of it in other files"]["names"] == ["AGENTS.md"]
    rewriting = [c for step in answer["steps"] for c in step["commands"] if "filter-repo" in c]
    assert len(rewriting) == 1
    assert "AGENTS.md" not in rewriting[0]
    assert PATH in rewriting[0]


def test_caches_and_old_versions_of_the_index_are_found(secret: Secret) -> None:
    assert secret.run("search", "Acme").code == 0
    places = secret.places(HANDLE)
    assert places["versions of the index"] >= 1
    assert places["caches, logs and records"] == 1


def test_what_was_told_typed_and_exported_is_found(
    secret: Secret, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Path.home()
    put_file(home / ".claude/projects/-x/1.jsonl", f'{{"text": "{SECRET}"}}\n')
    put_file(home / ".claude/skills/acme/SKILL.md", f"# Acme\n\n{SECRET}\n")
    put_file(home / ".bash_history", f"grep '{SECRET}' x\n")
    project = put_file(home / "code/CLAUDE.md", f"{SECRET}\n").parent
    secret.git(project, "init", "-q")
    monkeypatch.chdir(project)
    places = secret.plan("-", text=SECRET)["places"]
    by_hand = {
        place["what"]: place["names"] for place in places if place["removed_by"] == "by hand"
    }
    assert by_hand == {
        "transcripts of agents": [str(home / ".claude/projects/-x/1.jsonl")],
        "instructions for agents": [str(home / ".claude/skills/acme/SKILL.md")],
        "histories of the shell": [str(home / ".bash_history")],
        "files of this project": [str(project / "CLAUDE.md")],
    }


def test_another_tier_is_looked_into(secret: Secret, tmp_path: Path) -> None:
    other = tmp_path / "acme-knowledge"
    secret.git(tmp_path, "clone", "-q", str(secret.hub), str(other))
    put_file(
        Path(os.environ["HOME"]) / ".config/ai-lessons/config.toml",
        f'[enterprise]\nacme = "{other}"\n',
    )
    where = {place["where"] for place in secret.plan("-", text=SECRET)["places"]}
    assert {str(secret.root), str(other)} <= where


def test_a_plan_changes_nothing(secret: Secret) -> None:
    assert secret.run("search", "Acme").code == 0
    before = _files(secret.root)
    secret.plan(HANDLE)
    secret.plan("-", text=SECRET)
    assert _files(secret.root) == before


def _files(root: Path) -> dict[str, bytes]:
    files = {}
    for file in root.rglob("*"):
        if file.is_file() and "catalog" not in file.name:
            files[str(file)] = file.read_bytes()
    return files


def test_a_text_is_never_printed_nor_named_in_a_command(secret: Secret) -> None:
    for flags in ([], ["--json"]):
        done = secret.run("admin", "forget", "-", "--plan", *flags, text=SECRET)
        assert done.code == 0
        assert SECRET not in done.out + done.err


def test_a_text_on_the_command_line_comes_with_a_warning(secret: Secret) -> None:
    done = secret.run("admin", "forget", SECRET, "--plan")
    assert "with - it is read from standard input" in done.err
    assert SECRET not in done.out + done.err


def test_encrypted_versions_are_said_to_be_unseen(secret: Secret) -> None:
    put_file(secret.root / ".gitattributes", "acme/** filter=git-crypt\n")
    commit_all(secret.git, secret.root, "attributes")
    notes = " ".join(secret.plan("-", text=SECRET)["notes"])
    assert "1 files" in notes
    assert "filter of git, such as git-crypt" in notes


def test_edits_that_a_rewrite_would_lose_are_counted(secret: Secret) -> None:
    put_file(secret.root / PATH, TEXT)
    secret.git(secret.root, "stash", "-q")
    put_file(secret.root / "README.md", "# Changed\n")
    titles = " ".join(step["title"] for step in secret.plan(HANDLE)["steps"])
    assert "edited files that would be lost: 1" in titles
    assert "stashes get lost" in titles


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("git@github.com:acme/knowledge.git", "GitHub"),
        ("https://gitlab.acme.org/team/knowledge.git", "housekeeping?task=prune"),
        ("ssh://git@git.acme.org:2222/srv/knowledge.git", "on the server of origin (git.acme.org)"),
    ],
)
def test_what_the_server_of_the_remote_has_to_do_is_said(
    secret: Secret, address: str, words: str
) -> None:
    secret.git(secret.root, "remote", "set-url", "origin", address)
    said = []
    for step in secret.plan(HANDLE)["steps"]:
        said += [step["title"], *step["commands"]]
    assert words in "\n".join(said)


def test_a_damaged_object_is_said(secret: Secret) -> None:
    blob = secret.git(secret.root, "rev-parse", f"HEAD:{PATH}")
    file = secret.root / ".git/objects" / blob[:2] / blob[2:]
    file.chmod(0o644)
    file.write_bytes(b"not zlib")
    done = secret.run("admin", "forget", "-", "--plan", text=SECRET)
    assert done.code == 1
    assert "cannot be read" in done.err


def test_other_entries_are_left_alone(secret: Secret) -> None:
    assert secret.run("search", "workflows").code == 0
    places = secret.plan(HANDLE)["places"]
    assert all(LESSON not in str(place) for place in places)
    assert len(places) == 4


def test_branches_and_files_that_are_named_after_it_are_found(secret: Secret) -> None:
    git, root = secret.git, secret.root
    branch = f"rules/{HANDLE}-how-the-customer-acme-pays-its-invoices"
    git(root, "branch", branch)
    git(root, "push", "-q", "origin", branch)
    answer = secret.plan(HANDLE)
    places = {place["what"]: place["names"] for place in answer["places"]}
    assert places["names of branches and files"] == [
        f"refs/heads/{branch}",
        f"refs/remotes/origin/{branch}",
    ]
    (step,) = [step for step in answer["steps"] if "named after it" in step["title"]]
    secret.carry_out(step)
    assert "acme-pays-its" not in git(root, "for-each-ref") + git(secret.hub, "for-each-ref")
    put_file(root / "global/docs/unversioned/contract-4711-blue.md", "# Nothing\n")
    commit_all(git, root, "a name")
    places = {place["what"]: place["names"] for place in secret.plan("-", text=SECRET)["places"]}
    assert places["names of branches and files"] == [
        "global/docs/unversioned/contract-4711-blue.md"
    ]
