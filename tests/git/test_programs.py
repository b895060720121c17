"""Programs that do not answer are ended with all that they started."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ai_lessons.errors import GitMissing, NotFound, StorageFailed
from ai_lessons.git import network, plumbing, processes
from ai_lessons.git.store import Change, Job, Store
from ai_lessons.git.worktree import locate
from real_world import Git, ends, put_program

NEVER_ANSWERS = '#!/bin/sh\nsh -c \'trap "" TERM HUP INT; echo $$ > "{note}"; sleep 300; sleep 300\' &\n{rest}\n'
"""What stands in for a signing program: a grandchild of ours asks somebody who is not there."""


LAST = "fatal: Could not read from remote repository.\n"
RIGHTS, UNTRUSTED = (
    "Please make sure you have the correct access rights",
    "Host key verification failed.",
)


@pytest.mark.parametrize(
    ("err", "reason", "advice"),
    [
        (f"git@x: Permission denied (publickey).\n{LAST}\n{RIGHTS}\nand the repository exists.\n",
         "git@x: Permission denied (publickey).", "ssh-add -l"),
        (f"@@@@@@@\n@  WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!  @\n@@@@@@@\n{UNTRUSTED}\n{LAST}",
         f"WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!; {UNTRUSTED}", "ssh-keygen -R"),
        ("Cloning into 'kb'...\nremote: Repository not found.\nfatal: repository 'https://x/kb.git/' not found\n",
         "remote: Repository not found.; fatal: repository 'https://x/kb.git/' not found", "may not read"),
        ("fatal: could not read Username for 'https://x': terminal prompts disabled\n",
         "fatal: could not read Username for 'https://x': terminal prompts disabled", "credential helper"),
        (f"ssh: Could not resolve hostname x: Name or service not known\n{LAST}",
         "ssh: Could not resolve hostname x: Name or service not known", "network"),
        ("ERROR: Permission to a/kb.git denied to ada.\n", "ERROR: Permission to a/kb.git denied to ada.", "right"),
        ("error: what is this\nhint: read more\n", "error: what is this", ""),
        (LAST, LAST.strip(), ""),
        ("", "git gave no reason", ""),
    ],
)  # fmt: skip
def test_the_lines_of_git_that_say_why_are_said_with_what_helps(
    err: str, reason: str, advice: str
) -> None:
    words, help_with = network.why(err)
    assert words == reason
    assert advice in help_with
    assert bool(advice) == bool(help_with)


def program(file: Path, rest: str) -> Path:
    return put_program(file, NEVER_ANSWERS.format(note=file.with_name("note"), rest=rest))


def is_gone(note: Path) -> bool:
    """Whether the grandchild that wrote its number there ends, for which it gets a moment."""
    while not note.exists() or not note.read_text().strip():
        time.sleep(0.01)
    return ends(int(note.read_text()))


@pytest.mark.parametrize("rest", ["wait", "exec sleep 300", "exit 0"])
def test_what_a_program_started_ends_with_it(tmp_path: Path, rest: str) -> None:
    made = program(tmp_path / "ask", rest)
    with pytest.raises(subprocess.TimeoutExpired):
        processes.run([str(made)], env=dict(os.environ), timeout=2)
    assert is_gone(tmp_path / "note")


def test_an_answer_comes_back_whole() -> None:
    done = processes.run(
        ["sh", "-c", "cat; echo err >&2; exit 3"],
        env=dict(os.environ),
        timeout=60,
        stdin=b"in" * 10**5,
    )
    assert (done.returncode, done.stdout, done.stderr) == (3, b"in" * 10**5, b"err\n")


def test_at_a_terminal_its_words_are_told_while_it_runs_and_come_back_all_the_same() -> None:
    heard: list[bytes] = []
    said = "echo one >&2; cat; echo two >&2"
    done = processes.run(
        ["sh", "-c", said], env=dict(os.environ), timeout=60, stdin=b"in", terminal=heard.append
    )
    assert (done.stdout, done.stderr, b"".join(heard)) == (b"in", b"one\ntwo\n", b"one\ntwo\n")


def test_git_that_hangs_ends_with_its_filter(git_repo: Path, git: Git, tmp_path: Path) -> None:
    slow = program(tmp_path / "filter", "wait")
    git(git_repo, "config", "filter.slow.clean", str(slow))
    (git_repo / ".gitattributes").write_text("*.md filter=slow\n")
    (git_repo / "a.md").write_text("# A\n")
    with pytest.raises(StorageFailed, match="did not end"):
        plumbing.run(locate(git_repo), "hash-object", "a.md", timeout=2)
    assert is_gone(tmp_path / "note")


def test_a_program_that_is_left_running_delays_nobody_and_leaves_no_zombie(tmp_path: Path) -> None:
    note, go = tmp_path / "note", tmp_path / "go"
    waits = f'while [ ! -e "{go}" ]; do sleep 0.01; done; echo $$ > "{note}"'
    processes.leave_running(["/bin/sh", "-c", waits], env=dict(os.environ), cwd=tmp_path)
    assert not note.exists()  # it waits for us, so we have not waited for it
    go.touch()
    assert is_gone(note)
    deadline = time.monotonic() + 30
    while Path(f"/proc/{note.read_text().strip()}").exists():
        assert time.monotonic() < deadline, "a zombie"
        time.sleep(0.01)


def test_without_git_a_write_is_there_and_waits_and_says_what_to_install(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setenv("PATH", "/nowhere")
        done = store.apply(Job("Add a.md", [Change("a.md", b"text\n")]))
        assert (done.commit, done.waiting) == (None, "there is no git program")
        with pytest.raises(GitMissing) as caught:
            plumbing.run(store.worktree, "status")
    assert "install git" in caught.value.hint
    assert len(store.save().commits) == 1


@pytest.mark.parametrize("called", ["ai-lessons", "lesson", "ai-lessons-mcp"])
def test_our_own_program_is_named_by_the_link_that_an_upgrade_keeps(
    tmp_path: Path, called: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ai-lessons", "lesson", "ai-lessons-mcp"):
        made = put_program(tmp_path / "venv 1.0/bin" / name, "#!/bin/sh\n")
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin" / name).symlink_to(made)
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "bin" / called)])
    monkeypatch.setattr(sys, "executable", python := str(tmp_path / "venv 1.0/bin/python"))
    assert processes.program_path("ai-lessons") == str(tmp_path / "bin/ai-lessons")
    monkeypatch.chdir(tmp_path / "bin")
    for start in (
        "-c",
        "-m",
        "",
    ):  # python without a program of ours: the folder in which we stand says nothing
        sys.argv[:], sys.executable = [start], python
        assert processes.program_path("ai-lessons") == str(tmp_path / "venv 1.0/bin/ai-lessons")
    sys.executable = str(tmp_path / "python")
    with pytest.raises(NotFound):
        processes.program_path("ai-lessons")
