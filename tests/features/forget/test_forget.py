"""`admin forget` removes a text from what is ours, looks again, and its commands remove it from the rest."""

from __future__ import annotations

import json
import os
import urllib.request
from pathlib import Path
from typing import Any

import pexpect
import pytest

from app.test_shared_index import reach, server
from app.world import CountingEmbedder
from features.forget.conftest import HANDLE, PATH, SECRET, TEXT, Secret, everything
from interfaces.a_terminal import Spawn
from real_world import Git, commit_all, failing, put_file

__all__ = ["server"]

PACKS = "refs/ai-lessons/vectors/bge-small-en-v1-5-int8/packs"


def of_git(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """The steps that rewrite, send and let go: not those for other machines or terminals."""
    titles = (
        "rewrite",
        "send it",
        "let the repository",
        "let git",
        "delete what",
        "remove vectors",
    )
    return [step for step in answer["steps"] if step["title"].startswith(titles)]


def on_the_disk(root: Path, text: str = SECRET) -> list[str]:
    """The files of ours, of whatever form, whose bytes hold it."""
    found = []
    for folder in (root / ".git/ai-lessons", Path.home() / ".cache", Path.home() / ".local"):
        for file in folder.rglob("*"):
            if file.is_file() and text.encode() in file.read_bytes():
                found.append(str(file))
    return found


def test_what_is_ours_is_removed_and_looked_at_again(secret: Secret) -> None:
    assert secret.run("search", "Acme").code == 0
    assert secret.run("delete", HANDLE, "--yes").code == 0
    answer = secret.forget(HANDLE)
    assert [place["what"] for place in answer["places"]] == ["history"]
    assert any("catalog.sqlite: rebuilt" in sentence for sentence in answer["done"])
    assert any("made the index" in sentence for sentence in answer["done"])
    assert on_the_disk(secret.root) == []
    # what stays is found as before
    assert "[L-8F3K2A]" in secret.run("search", "workflows").out


def test_a_second_time_there_is_nothing_more_to_do(secret: Secret) -> None:
    assert secret.run("search", "Acme").code == 0
    assert secret.run("delete", HANDLE, "--yes").code == 0
    secret.forget(HANDLE)
    again = secret.forget(HANDLE)
    assert again["done"] == []
    assert [place["what"] for place in again["places"]] == ["history"]


def test_what_a_file_still_holds_is_said_to_come_back(secret: Secret) -> None:
    assert secret.run("search", "Acme").code == 0
    answer = secret.forget(HANDLE)
    assert {place["what"] for place in answer["places"]} >= {"files now", "versions of the index"}
    assert answer["steps"][0]["commands"] == [
        f"ai-lessons --repo {secret.root} delete {HANDLE} --yes"
    ]


def test_records_of_sessions_logs_and_kept_writes_lose_it(secret: Secret) -> None:
    state = Path.home() / ".local/state/ai-lessons"
    quoted = 'the "blue" contract 4711-blue of M\u00fcller'
    session = put_file(
        state / "agent-sessions/a.json", json.dumps({"told": [quoted], "other": "stays"})
    )
    log = put_file(state / "edits/edit-1.md", f"# Draft\n\n{quoted}\n")
    kept = put_file(secret.root / ".git/ai-lessons/journal/0-a.kept", b"{}\n" + quoted.encode())
    waiting = put_file(
        secret.root / ".git/ai-lessons/journal/0-b.writing", b"{}\n" + quoted.encode()
    )
    answer = secret.forget("-", text=quoted)
    assert json.loads(session.read_text()) == {"told": ["[forgotten]"], "other": "stays"}
    assert log.read_text() == "# Draft\n\n[forgotten]\n"
    assert not kept.exists()
    # a write that waits for its commit is not ours to destroy
    assert waiting.exists()
    assert [place["what"] for place in answer["places"]] == ["writes without a commit"]


def test_messages_that_git_keeps_are_removed(secret: Secret) -> None:
    put_file(secret.root / ".git/COMMIT_EDITMSG", f"About {SECRET}\n")
    secret.forget("-", text=SECRET)
    assert not (secret.root / ".git/COMMIT_EDITMSG").exists()


def test_vectors_go_from_the_cache_and_from_packs(
    secret: Secret, embedder: CountingEmbedder
) -> None:
    assert secret.run("admin", "reindex").code == 0
    assert secret.run("admin", "sync").code == 0
    secret.git(
        secret.root,
        "fetch",
        "-q",
        "origin",
        "+refs/ai-lessons/vectors/*:refs/ai-lessons/remotes/origin/*",
    )
    assert secret.run("delete", HANDLE, "--yes").code == 0
    places = secret.places(HANDLE)
    assert places["vectors in the cache"] >= 1
    assert places["packs of vectors"] == 1
    answer = secret.forget(HANDLE)
    left = {place["what"] for place in answer["places"]}
    assert left == {"history"}
    vectors = [step for step in answer["steps"] if step["title"].startswith("remove vectors")]
    assert secret.git(secret.hub, "for-each-ref", PACKS) != ""
    secret.carry_out(*vectors)
    assert secret.git(secret.hub, "for-each-ref", PACKS) == ""
    # others' vectors are still there: nothing has to be computed again
    embedder.asked.clear()
    assert secret.run("admin", "reindex").code == 0
    assert embedder.asked == []


def test_the_commands_for_an_entry_remove_it_from_every_clone(
    secret: Secret, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, git = secret.root, secret.git
    other = tmp_path / "other"
    git(tmp_path, "clone", "-q", str(secret.hub), str(other))
    git(root, "branch", "idea", "HEAD~1")
    git(root, "push", "-q", "origin", "idea")
    git(root, "tag", "-a", "v1", "-m", "How the customer Acme pays its invoices")
    git(root, "push", "-q", "origin", "v1")
    put_file(root / PATH, TEXT + "\nstashed\n")
    git(root, "stash", "-q")
    assert secret.run("delete", HANDLE, "--yes").code == 0
    git(root, "push", "-q", "origin", "main")
    answer = secret.forget(HANDLE)
    for step in of_git(answer):
        secret.carry_out(step)
    assert secret.run("admin", "forget", HANDLE, "--plan").code == 3
    assert secret.places("-", text=SECRET) == {}
    for repository in (root, secret.hub):
        assert SECRET.encode() not in everything(repository)
        assert b"How the customer Acme pays" not in everything(repository)
    # the rest of history is there, on the remote, too
    assert git(secret.hub, "show", "main:README.md") == "# Knowledge"
    assert git(secret.hub, "rev-parse", "main") == git(root, "rev-parse", "main")
    assert "fsck" not in git(root, "fsck", "--strict")

    # in the other clone, at a terminal: answered there by `--yes`
    (elsewhere,) = [step for step in answer["steps"] if step["title"].startswith("in every other")]
    asking = ("admin forget", "admin audit --acknowledge")
    commands = [
        f"{command} --yes" if command.endswith((HANDLE, "--acknowledge")) else command
        for command in elsewhere["commands"]
    ]
    assert all(any(words in command for command in commands) for words in asking)
    monkeypatch.setenv("AI_LESSONS_REPO", str(other))
    theirs = Secret(other, secret.hub, secret.run, git)
    theirs.carry_out({"commands": commands})
    assert SECRET.encode() not in everything(other)
    assert git(other, "rev-parse", "main") == git(root, "rev-parse", "main")


def test_the_commands_for_a_text_replace_it_in_every_version(secret: Secret) -> None:
    root, git = secret.root, secret.git
    put_file(root / "global/docs/unversioned/more.md", f"# More\n\nAs in {SECRET}.\n")
    commit_all(git, root, f"About {SECRET}")
    git(root, "push", "-q", "origin", "main")
    answer = secret.plan("-", text=SECRET)
    for step in of_git(answer):
        secret.carry_out(step, typed=f"{SECRET}\n")
    for repository in (root, secret.hub):
        assert SECRET.encode() not in everything(repository)
    assert "pays by [forgotten], thirty days" in (root / PATH).read_text()
    assert git(root, "log", "-1", "--format=%s") == "About [forgotten]"
    assert secret.forget("-", text=SECRET)["places"] == []
    assert on_the_disk(root) == []
    assert secret.run("show", HANDLE).code == 0


def test_signs_of_the_shell_in_a_text_and_a_title_are_no_commands(secret: Secret) -> None:
    text = 'it\'s $HOME `id` ==> "x" \\n %s'
    put_file(
        secret.root / PATH, TEXT.replace(SECRET, text).replace("How the", "It's $(id) how the")
    )
    commit_all(secret.git, secret.root, "It's $(id) how the customer Acme pays its invoices")
    for step in of_git(secret.plan("-", text=text)):
        secret.carry_out(step, typed=text + "\n")
    assert text.encode() not in everything(secret.root)
    for step in of_git(secret.plan(HANDLE)):
        secret.carry_out(step)
    assert b"how the customer" not in everything(secret.root)


def test_what_only_git_keeps_for_a_while_needs_no_rewriting(secret: Secret) -> None:
    git, root = secret.git, secret.root
    git(root, "switch", "-qc", "away")
    put_file(root / "acme/lessons/left.md", "# A\n\nreflog-only words\n")
    commit_all(git, root, "left")
    git(root, "switch", "-q", "main")
    git(root, "branch", "-qD", "away")
    steps = of_git(secret.plan("-", text="reflog-only words"))
    assert "filter-repo" not in str(steps)
    for step in steps:
        secret.carry_out(step)
    assert secret.places("-", text="reflog-only words") == {}


def test_without_a_terminal_a_person_says_yes(secret: Secret) -> None:
    done = secret.run("admin", "forget", HANDLE)
    assert done.code == 8
    assert "--yes" in done.err


def test_a_person_is_shown_the_places_and_asked(secret: Secret, spawn: Spawn) -> None:
    assert secret.run("search", "Acme").code == 0
    child = spawn("admin", "forget", HANDLE)
    child.expect("versions of the index")
    child.expect("Remove it from what is ours")
    child.sendline("n")
    child.expect("nothing was removed")
    child.wait()
    assert child.exitstatus == 8
    assert secret.places(HANDLE)["versions of the index"] >= 1


def test_at_a_terminal_a_text_is_asked_for_and_not_shown(secret: Secret, spawn: Spawn) -> None:
    kept = put_file(Path.home() / ".local/state/ai-lessons/edits/edit-1.md", SECRET)
    child = spawn("admin", "forget", "-")
    child.expect("The text")
    child.sendline(SECRET)
    child.expect("Remove it from what is ours")
    assert SECRET not in (child.before or "")
    child.sendline("y")
    child.expect("replaced")
    child.expect(pexpect.EOF)
    assert SECRET not in (child.before or "")
    assert kept.read_text() == "[forgotten]"


def test_an_agent_may_look_and_not_forget(secret: Secret, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AI_LESSONS_AGENT", "claude-code")
    done = secret.run("admin", "forget", SECRET, "--yes")
    assert done.code == 8
    assert "an agent cannot forget texts" in done.err
    assert SECRET not in done.out + done.err
    assert secret.run("admin", "forget", HANDLE, "--plan").code == 0


def test_a_bug_writes_the_text_into_no_report(secret: Secret) -> None:
    with failing("ai_lessons.features.forget.traces.look", RuntimeError(SECRET)):
        done = secret.run("admin", "forget", SECRET, "--plan")
    assert done.code == 70
    assert SECRET not in done.out + done.err
    # of what was written the catalog alone has it, as the entry does
    assert [os.path.basename(file) for file in on_the_disk(secret.root)] == ["catalog.sqlite"]


def test_a_file_that_cannot_be_written_is_named(secret: Secret) -> None:
    log = put_file(Path.home() / ".local/state/ai-lessons/edits/edit-1.md", SECRET)
    with failing("ai_lessons.features.forget.own_files.replace_file", OSError(28, "No space left")):
        done = secret.run("admin", "forget", "-", "--yes", text=SECRET)
    assert done.code == 1
    assert "edit-1.md" in done.err
    assert log.read_text() == SECRET
    # and then it goes on
    secret.forget("-", text=SECRET)
    assert log.read_text() == "[forgotten]"


def test_a_folder_of_a_bigger_repository_is_forgotten_in_all_of_it(
    tmp_path: Path, secret: Secret, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = tmp_path / "shop"
    git(tmp_path, "init", "-q", str(code))
    put_file(code / "main.py", "print(1)\n")
    commit_all(git, code, "code")
    monkeypatch.chdir(code)
    monkeypatch.delenv("AI_LESSONS_REPO")
    assert secret.run("admin", "init", ".ai/reference", "--no-hooks").code == 0
    put_file(code / ".ai/reference" / PATH, TEXT)
    commit_all(git, code, "knowledge, and code")
    git(code, "rm", "-q", f".ai/reference/{PATH}")
    git(code, "commit", "-qm", "without")
    shop = Secret(code, secret.hub, secret.run, git)
    for step in of_git(shop.forget(HANDLE)):
        shop.carry_out(step)
    assert SECRET.encode() not in everything(code)
    assert git(code, "show", "HEAD:main.py") == "print(1)"
    assert (code / ".ai/reference/.ai-lessons/config.yaml").exists()


def test_an_index_in_a_bucket_loses_its_old_versions(
    secret: Secret, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reach(monkeypatch, server)
    with urllib.request.urlopen(urllib.request.Request(f"{server}/forget", method="PUT")):  # noqa: S310 - loopback
        pass
    monkeypatch.setenv("AI_LESSONS_INDEX_DIR", "s3://forget/index")
    assert secret.run("admin", "reindex").code == 0
    assert secret.run("delete", HANDLE, "--yes").code == 0
    assert secret.run("admin", "reindex").code == 0
    assert secret.places(HANDLE)["versions of the index"] >= 1
    answer = secret.forget(HANDLE)
    assert [place["what"] for place in answer["places"]] == ["history"]
    commands = [command for step in answer["steps"] for command in step["commands"]]
    assert any("--bucket forget --prefix index/" in command for command in commands)


def test_an_index_that_cannot_be_reached_is_said(
    secret: Secret, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AI_LESSONS_INDEX_DIR", "s3://nowhere/index")
    reach(monkeypatch, "http://127.0.0.1:9")
    notes = " ".join(secret.plan(HANDLE)["notes"])
    assert "the index at s3://nowhere/index cannot be read" in notes
