"""The policy `signed` through the library: real keys, real repositories, nothing in force without a signed merge."""

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ai_lessons.app import entries, pending_rules, pinned_signers, proposals, review, rule_audit
from ai_lessons.app.pinned_signers import PinnedList
from ai_lessons.app.review import Decided
from ai_lessons.app.written import RuleDraft, Suggested
from ai_lessons.errors import NotFound, Refused, UsageError
from app.world import World, lesson, options
from real_world import Git

SETTINGS = ".ai-lessons/config.yaml"
TITLE = "GET before PUT"


def yes(*_: object) -> bool:
    return True


def no(*_: object) -> bool:
    return False


@dataclass
class Team(World):
    """A repository whose rules need signatures, and people with keys."""

    name: str = "alice"

    @property
    def folder(self) -> Path:
        return self.root.parent

    def has_key(self, name: str) -> str:
        """Make a key, let git here sign with it, and give its line for the list of signers."""
        key = self.folder / f"key-{name}"
        if not key.exists():
            subprocess.run(
                ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(key)],
                check=True,
            )
        settings = {
            "user.signingkey": str(key),
            "gpg.format": "ssh",
            "user.email": f"{name}@example.com",
        }
        for setting, value in settings.items():
            self.git(self.root, "config", setting, value)
        return f"{name}@example.com {key.with_suffix('.pub').read_text()}"

    def suggest(self, title: str = TITLE) -> Suggested:
        return proposals.suggest_rule(
            self.fresh(agent="some agent"), RuleDraft(title, "PUT replaces all", "Do it.")
        )

    def approve(self, ref: str, **more: Any) -> Decided:
        return review.approve_rule(self.fresh(**more), ref)

    def in_force(self, **more: Any) -> list[str]:
        return [
            one.title
            for one in entries.list_entries(self.fresh(**more)).entries
            if one.kind == "rule"
        ]

    def notes(self) -> str:
        return "\n".join(entries.list_entries(self.fresh()).notes)

    def trust(self, *lines: str) -> PinnedList:
        """Pin exactly these lines."""
        file = self.folder / "team.signers"
        file.write_text("".join(lines))
        return pinned_signers.signers(self.fresh(), file, yes)

    def problems(self) -> list[str]:
        return [row.problem for row in rule_audit.audit(self.fresh()).rows if row.problem]

    def alarms(self) -> str:
        return "\n".join(rule_audit.audit(self.fresh()).alarms)

    def pinned(self) -> list[Path]:
        return sorted((self.options.config_dir / "signers").glob("*"))


@pytest.fixture
def team(git_repo: Path, git: Git, tmp_path: Path) -> Iterator[Team]:
    made = Team(git_repo, git, options(tmp_path))
    made.committed("global/lessons/one.md", lesson())
    yield made
    made.close()


@pytest.fixture
def alice(team: Team) -> Team:
    """The policy is on, and Alice has a key that nobody pinned yet."""
    team.committed(SETTINGS, "format: 1\napproval:\n  require: signed\n", message="policy")
    team.has_key("alice")
    return team


def test_where_the_policy_asks_for_it_the_approval_is_a_signed_merge_that_git_verifies(
    alice: Team,
) -> None:
    alice.trust(alice.has_key("alice"))
    made = alice.suggest()
    done = alice.approve(made.handle)
    assert (done.notes, alice.in_force(), alice.problems(), alice.status()) == ((), [TITLE], [], "")
    (file,) = alice.pinned()
    alice.git(alice.root, "config", "gpg.ssh.allowedSignersFile", str(file))
    alice.git(alice.root, "verify-commit", done.commit)
    shown = entries.show(alice.fresh(), made.handle).approval
    assert shown is not None
    assert (shown.evidence, shown.how, shown.approved_by) == (3, "signed", "alice@example.com")


def test_without_a_key_nothing_is_approved_and_the_hint_says_how_to_name_one(alice: Team) -> None:
    alice.git(alice.root, "config", "user.signingkey", "/no/such/key")
    made, tip = alice.suggest(), alice.git(alice.root, "rev-parse", "main")
    with pytest.raises(Refused, match="could not sign") as none:
        alice.approve(made.handle)
    assert "git config --global user.signingkey" in none.value.hint
    assert [one.id for one in pending_rules.pending_rules(alice.fresh())] == [made.id]
    assert alice.git(alice.root, "rev-parse", "main") == tip


def test_asked_for_by_hand_a_merge_is_signed_under_another_policy_too(team: Team) -> None:
    team.has_key("alice")
    done = review.approve_rule(team.fresh(), team.suggest().handle, sign=True)
    assert "BEGIN SSH SIGNATURE" in team.git(team.root, "cat-file", "commit", done.commit)
    assert team.in_force() == [TITLE]


def test_the_first_look_of_a_person_asks_whether_those_who_signed_count(alice: Team) -> None:
    done = alice.approve(alice.suggest().handle)
    assert "ai-lessons admin signers" in "\n".join(done.notes)
    assert alice.in_force() == []
    assert "ai-lessons admin signers" in alice.notes()
    assert alice.in_force(ask_keys=no) == []
    assert alice.in_force(agent="some agent", ask_keys=yes) == []
    assert alice.in_force(ask_keys=yes) == [TITLE]
    (file,) = alice.pinned()
    root = alice.git(alice.root, "rev-list", "--max-parents=0", "main")
    assert (f"list: {root}\n" in file.read_text(), file.stat().st_mode & 0o777) == (True, 0o600)


def test_pinning_is_for_people_who_said_yes_and_the_list_can_be_read(alice: Team) -> None:
    file = alice.folder / "team.signers"
    file.write_text(alice.has_key("alice"))
    with pytest.raises(Refused, match="agent"):
        pinned_signers.signers(alice.fresh(agent="x"), file, yes)
    for ask in (None, no):
        with pytest.raises(Refused):
            pinned_signers.signers(alice.fresh(), file, ask)
    assert alice.pinned() == []
    made = alice.trust(file.read_text())
    assert (len(made.keys), made.added, made.removed) == (1, made.keys, ())
    assert pinned_signers.signers(alice.fresh(agent="x"), None, None).keys == made.keys
    with pytest.raises(UsageError, match="names no signer"):
        alice.trust("nobody\n")
    other = alice.trust(alice.has_key("bob"))
    assert (len(other.added), other.removed) == (1, made.keys)


def test_what_was_merged_without_a_good_signature_waits_and_is_approved_by_a_signed_merge(
    alice: Team,
) -> None:
    alice.trust(alice.has_key("alice"))
    made = alice.suggest()
    alice.git(alice.root, "merge", "-q", "--no-ff", "--no-edit", made.branch)
    assert alice.in_force() == []
    assert alice.problems()[0].endswith(": no approval of it is signed")
    (waiting,) = pending_rules.pending_rules(alice.fresh())
    assert (waiting.id, waiting.change, waiting.path, waiting.body) == (
        made.id,
        "standing",
        made.path,
        "Do it.\n",
    )
    before = alice.read(made.path)
    assert alice.approve(made.id).notes == ()
    assert (alice.in_force(), alice.problems(), alice.status(), alice.read(made.path)) == (
        [TITLE],
        [],
        "",
        before,
    )
    assert pending_rules.pending_rules(alice.fresh()) == ()
    with pytest.raises(NotFound):
        alice.approve(made.id)


def test_before_a_key_leaves_the_rules_that_would_change_are_named_and_can_be_approved_again(
    alice: Team,
) -> None:
    lines = [alice.has_key("bob"), alice.has_key("alice")]
    alice.trust(*lines)
    made = alice.suggest()
    alice.approve(made.handle)
    asked = []

    def asking(question: str, _keys: list[str]) -> bool:
        asked.append(question)
        return True

    file = alice.folder / "team.signers"
    file.write_text(lines[0])
    pinned = pinned_signers.signers(alice.fresh(), file, asking)
    assert f"{made.path} is not in force any more" in asked[0]
    assert "review-rules" in "\n".join(pinned.notes)
    assert (alice.in_force(), alice.alarms()) == ([], "")
    alice.has_key("bob")
    alice.approve(made.id)
    assert alice.in_force() == [TITLE]


def test_approvals_for_a_list_of_another_name_are_told_and_count_once_that_is_said(
    alice: Team,
) -> None:
    line = alice.has_key("alice")
    alice.git(alice.root, "remote", "add", "origin", "git@forge.example:acme/kb.git")
    alice.trust(line)
    alice.approve(alice.suggest().handle)
    folder = alice.folder / "bob"
    folder.mkdir()
    alice.git(folder, "clone", "-q", str(alice.root), "repo")
    bob = Team(folder / "repo", alice.git, options(folder), name="bob")  # another person's folders
    bob.trust(line)
    assert bob.in_force() == []
    assert "for the list of signers forge.example/acme/kb/main" in bob.problems()[0]
    pinned_signers.signers(
        bob.fresh(), alice.folder / "team.signers", yes, name="forge.example/acme/kb/main"
    )
    assert len(bob.pinned()) == 1, "under its earlier name it would be found as well"
    assert bob.in_force() == [TITLE]


def test_a_removal_that_is_signed_takes_the_rule_out(alice: Team) -> None:
    alice.trust(alice.has_key("alice"))
    made = alice.suggest()
    alice.approve(made.handle)
    gone = proposals.removal(alice.fresh().writing(made.handle)[0], made.id)
    alice.approve(gone.handle)
    assert alice.in_force() == []
    assert rule_audit.audit(alice.fresh()).ok


def test_an_ssh_agent_that_holds_the_key_signs(
    alice: Team, monkeypatch: pytest.MonkeyPatch, hermetic: Path
) -> None:
    alice.trust(alice.has_key("alice"))
    key, socket = alice.folder / "key-alice", hermetic / "agent"
    agent = subprocess.Popen(["ssh-agent", "-D", "-a", str(socket)], stdout=subprocess.DEVNULL)
    try:
        while not socket.exists():
            assert agent.poll() is None
        monkeypatch.setenv("SSH_AUTH_SOCK", str(socket))
        subprocess.run(["ssh-add", "-q", str(key)], check=True)
        key.unlink()
        alice.git(alice.root, "config", "user.signingkey", str(key.with_suffix(".pub")))
        alice.approve(alice.suggest().handle)
    finally:
        agent.terminate()
        agent.wait()
    assert alice.in_force() == [TITLE]


def test_history_that_was_rolled_back_or_rewritten_and_a_weaker_policy_are_alarms_until_a_person_has_looked(
    alice: Team,
) -> None:
    alice.trust(alice.has_key("alice"))
    alice.approve(alice.suggest().handle)
    assert alice.in_force() == [TITLE]
    alice.git(alice.root, "reset", "-q", "--hard", "HEAD~1")
    assert alice.in_force() == []
    assert "was rewritten" in alice.alarms()
    for ask, who in ((yes, "x"), (None, None), (no, None)):
        with pytest.raises(Refused):
            rule_audit.acknowledge(alice.fresh(agent=who), ask)
    assert "was rewritten" in alice.alarms()
    assert rule_audit.acknowledge(alice.fresh(), yes).alarms == ()
    assert (alice.alarms(), alice.in_force()) == ("", [])
    alice.write(SETTINGS, "format: 1\n")
    alice.git(alice.root, "commit", "-q", "--amend", "-am", "rewritten")
    assert "was rewritten" in alice.alarms()
    assert "the policy on the approval branch was changed" in alice.alarms()
    assert rule_audit.acknowledge(alice.fresh(), yes).alarms == ()
    assert alice.alarms() == ""


def test_a_history_with_another_first_commit_is_an_alarm_and_no_question(alice: Team) -> None:
    alice.trust(alice.has_key("alice"))
    alice.approve(alice.suggest().handle)
    assert alice.in_force() == [TITLE]
    alice.has_key("mallory")
    alice.git(alice.root, "checkout", "-q", "--orphan", "new")
    alice.commit("all new")
    alice.git(alice.root, "branch", "-qf", "main")
    alice.git(alice.root, "checkout", "-q", "main")
    assert alice.in_force(ask_keys=yes) == []
    assert len(alice.pinned()) == 1
    assert "was rewritten" in alice.notes()


def test_a_repository_with_signed_records_says_that_its_rules_have_to_be_approved_again(
    alice: Team,
) -> None:
    alice.trust(alice.has_key("alice"))
    made = alice.suggest()
    record = f".ai-lessons/approvals/{made.id}/01JD3Z8QK5W7M2X9V4T68F3K01.json"
    alice.git(alice.root, "merge", "-q", "--no-ff", "--no-edit", made.branch)
    settings = "format: 1\napproval:\n  require: signed\n  threshold: 1\n"
    alice.write(SETTINGS, settings)
    alice.committed(record, "{}", message="sign")
    assert alice.in_force() == []
    assert ".ai-lessons/approvals/ holds signed records of an earlier version" in alice.notes()
    assert not rule_audit.audit(alice.fresh()).ok
    alice.approve(made.id)
    assert (alice.in_force(), "earlier version" in alice.notes(), alice.alarms()) == (
        [TITLE],
        False,
        "",
    )
    assert alice.read(record) == "{}"
