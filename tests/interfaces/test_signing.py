"""Signed approvals through the commands: whom to trust is asked on a terminal, and nothing is trusted elsewhere."""

import subprocess
from pathlib import Path

import pytest

from interfaces.a_terminal import Spawn, finish, reply
from interfaces.world import Run
from real_world import Git

TITLE = "GET a workflow before you PUT it"


@pytest.fixture
def approved(run: Run, signed: Path, proposal: str) -> str:
    """The rule, approved with a signature; nobody has said yet whose keys count."""
    assert run("admin", "approve-rule", proposal, "--yes").code == 0
    return proposal


def test_without_a_terminal_nothing_is_trusted_and_a_note_names_the_command(
    run: Run, approved: str, signed: Path
) -> None:
    done = run("recall", "list", "--type", "rule")
    assert (TITLE in done.out, "ai-lessons admin signers" in done.err) == (False, True), done
    assert "No signers are pinned" in run("admin", "signers").out
    assert run("admin", "signers", str(signed)).code == 8
    told = run("admin", "signers", str(signed), "--yes")
    assert (told.code, "+ SHA256:" in told.out, "person@example.com" in told.out) == (0, True, True)
    assert TITLE in run("recall", "list", "--type", "rule").out
    assert len(run("admin", "signers", "--json").json["keys"]) == 1


def test_the_first_look_on_a_terminal_asks(spawn: Spawn, approved: str, run: Run) -> None:
    for answer in ("n", "y"):
        child = spawn("recall", "list", "--type", "rule")
        child.expect(r"SHA256:\S+ person@example.com \(ssh-ed25519\)")
        reply(child, r"Trust these keys to approve them\? \[y/N\]: ", answer)
        code, text = finish(child)
        assert (code, TITLE in text) == (0, answer == "y"), text
        assert (TITLE in run("recall", "list", "--type", "rule").out) is (answer == "y")


def merge(knowledge: Path, git: Git) -> None:
    """By git, and without a signature."""
    branch = git(knowledge, "branch", "--list", "rules/*", "--format=%(refname:short)")
    git(knowledge, "merge", "-q", "--no-ff", "--no-edit", branch)
    git(knowledge, "branch", "-D", branch)


def test_a_rule_that_was_merged_unsigned_is_shown_before_it_is_approved_and_offered_by_a_review(
    spawn: Spawn, run: Run, signed: Path, proposal: str, knowledge: Path, git: Git
) -> None:
    assert run("admin", "signers", str(signed), "--yes").code == 0
    merge(knowledge, git)
    child = spawn("admin", "approve-rule", proposal)
    child.expect("stands on the approval branch without approval")
    child.expect("Send back every status")
    reply(child, r"Approve R-5N1QTC\? \[y/N\]: ", "n")
    assert finish(child)[0] == 8
    child = spawn("admin", "review-rules")
    child.expect("stands on the approval branch without approval")
    child.expect(r"\[\?\]: ")
    child.send("r")
    child.expect("is on the approval branch already")
    child.expect(r"\[\?\]: ")
    child.send("a")
    code, text = finish(child)
    assert (code, "1 approved" in text) == (0, True), text
    assert TITLE in run("recall", "list", "--type", "rule").out
    assert run("admin", "audit").code == 0


def test_a_passphrase_is_asked_for_at_the_terminal(
    spawn: Spawn, run: Run, signed: Path, proposal: str, tmp_path: Path
) -> None:
    change = ["ssh-keygen", "-q", "-p", "-P", "", "-N", "open sesame", "-f", str(tmp_path / "key")]
    subprocess.run(change, check=True, capture_output=True)
    assert run("admin", "signers", str(signed), "--yes").code == 0
    assert "could not sign" in run("admin", "approve-rule", proposal, "--yes").err
    child = spawn("admin", "approve-rule", proposal, "--yes")
    child.expect("Enter passphrase")
    child.sendline("open sesame")
    code, text = finish(child)
    assert code == 0, text
    assert TITLE in run("recall", "list", "--type", "rule").out


def test_an_alarm_is_accepted_by_a_person(
    spawn: Spawn, run: Run, knowledge: Path, approved: str, signed: Path, git: Git
) -> None:
    assert run("admin", "signers", str(signed), "--yes").code == 0
    assert run("admin", "audit").code == 0
    subject, line = (git(knowledge, "log", "-1", f"--format={part}") for part in ("%s", "%b"))
    # what was approved stays so: our line below our own subject
    message = ("-m", f"{subject} again", "-m", line)
    git(knowledge, "commit", "-q", "--amend", "--no-verify", *message, "--reset-author", "-S")
    assert run("admin", "audit", "--acknowledge").code == 8
    assert "was rewritten" in run("admin", "audit").out
    child = spawn("admin", "audit", "--acknowledge")
    child.expect("was rewritten")
    reply(child, r"as it is now\? \[y/N\]: ", "y")
    assert finish(child)[0] == 0
    assert run("admin", "audit").code == 0


def test_a_forge_that_moved_is_taken_from_its_new_address_after_a_person_agreed(
    spawn: Spawn, run: Run, proposal: str, knowledge: Path, tmp_path: Path, git: Git
) -> None:
    assert run("admin", "approve-rule", proposal, "--yes").code == 0
    git(tmp_path, "clone", "-q", "--bare", str(knowledge), "old.git")
    git(knowledge, "remote", "add", "origin", str(tmp_path / "old.git"))
    assert run("admin", "config", "set", "approval.require", "forge").code == 0
    assert run("admin", "audit", "--acknowledge", "--yes").code == 0  # of the weaker policy
    git(knowledge, "push", "-q", "-u", "origin", "main")
    assert TITLE in run("recall", "list", "--type", "rule").out
    git(tmp_path, "clone", "-q", "--bare", "old.git", "new.git")
    git(knowledge, "remote", "set-url", "origin", str(tmp_path / "new.git"))
    done = run("admin", "audit")
    assert (
        done.code,
        "no remote here has that address" in done.err,
        "audit --acknowledge" in done.err,
    ) == (1, 1, 1)
    assert run("admin", "audit", "--acknowledge").code == 8
    child = spawn("admin", "audit", "--acknowledge")
    child.expect(r"new\.git is\r?\n|new is\r?\n")
    reply(child, r"as it is now\? \[y/N\]: ", "y")
    assert finish(child)[0] == 0
    assert run("admin", "audit").code == 0
    assert TITLE in run("recall", "list", "--type", "rule").out
