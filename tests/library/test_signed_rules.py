"""The policy `signed` through the library: real keys, real repositories, and nothing in force that nobody signed."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ai_lessons.errors import NotFound, Refused
from ai_lessons.library import audit, browsing, proposing, review, signing
from ai_lessons.library.reports import Decided, RuleDraft, Suggested
from library.world import World, lesson, options
from real_world import Git

SETTINGS = ".ai-lessons/config.yaml"
SIGNERS = ".ai-lessons/allowed_signers"
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
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(key)], check=True)
        self.git(self.root, "config", "user.signingkey", str(key))
        self.git(self.root, "config", "user.email", f"{name}@example.com")
        return f"{name}@example.com {key.with_suffix('.pub').read_text()}"

    def policy(self, signers: str, threshold: int = 1) -> None:
        self.write(SETTINGS, f"format: 1\napproval:\n  require: signed\n  threshold: {threshold}\n")
        self.committed(SIGNERS, signers, message="policy")

    def suggest(self, title: str = TITLE) -> Suggested:
        return proposing.suggest_rule(self.fresh(agent="some agent"), RuleDraft(title, "PUT replaces all", "Do it."))

    def approve(self, ref: str, **more: Any) -> Decided:
        return review.approve_rule(self.fresh(**more), ref, sign=True)

    def in_force(self, **more: Any) -> list[str]:
        return [one.title for one in browsing.list_entries(self.fresh(**more)).entries if one.kind == "rule"]

    def notes(self) -> str:
        return "\n".join(browsing.list_entries(self.fresh()).notes)

    def trust(self) -> None:
        audit.trust_keys(self.fresh(), yes)

    def problems(self) -> list[str]:
        return [row.problem for row in audit.audit(self.fresh()).rows if row.problem]

    def alarms(self) -> str:
        return "\n".join(audit.audit(self.fresh()).alarms)

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
    """The policy is on, and Alice's key is the only one on the list."""
    team.policy(team.has_key("alice"))
    return team


def clone(team: Team, name: str) -> Team:
    """Another person's clone, with folders of their own."""
    folder = team.folder / name
    folder.mkdir()
    team.git(folder, "clone", "-q", str(team.root), "repo")
    return Team(folder / "repo", team.git, options(folder), name=name)


def test_a_merge_without_a_signature_is_an_unapproved_change(alice: Team) -> None:
    alice.trust()
    made = alice.suggest()
    done = review.approve_rule(alice.fresh(), made.handle)
    assert f"approve-rule {made.handle} --sign" in "\n".join(done.notes)
    assert alice.in_force() == []
    assert alice.problems() == [f"a text at {made.path} is on main without approval: there is no signed record"]
    (waiting,) = review.pending_rules(alice.fresh(), unsigned=True)
    assert (waiting.id, waiting.change, waiting.path, waiting.body) == (made.id, "unsigned", made.path, "Do it.\n")
    assert not alice.approve(made.handle).notes
    assert (alice.in_force(), alice.problems(), alice.status()) == ([TITLE], [], "")
    assert review.pending_rules(alice.fresh(), unsigned=True) == ()
    with pytest.raises(NotFound):
        alice.approve(made.handle)


def test_a_signed_approval_is_in_force_once_the_keys_are_trusted(alice: Team) -> None:
    done = alice.approve(alice.suggest().handle)
    assert "ai-lessons admin trust-keys" in "\n".join(done.notes)
    assert alice.in_force() == []
    assert "ai-lessons admin trust-keys" in alice.notes()
    asked: list[tuple[str, list[str]]] = []

    def refusing(question: str, keys: list[str]) -> bool:
        asked.append((question, keys))
        return False

    assert alice.in_force(ask_keys=refusing) == []
    assert alice.in_force(agent="some agent", ask_keys=yes) == []
    assert alice.in_force(ask_keys=yes) == [TITLE]
    ((question, keys),) = asked
    assert "Trust these keys" in question
    assert [key.split()[1] for key in keys] == ["alice@example.com"]
    assert keys[0].startswith("SHA256:")
    (file,) = alice.pinned()
    root = alice.git(alice.root, "rev-list", "--max-parents=0", "main")
    assert (file.name, file.stat().st_mode & 0o777) == (f"{root}.allowed", 0o600)
    shown = browsing.show(alice.fresh(), done.handle).approval
    assert shown is not None
    assert (shown.evidence, shown.how, shown.approved_by) == (3, "signed", "alice@example.com")


def test_with_nothing_new_nothing_is_judged_again(alice: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    alice.trust()
    alice.approve(alice.suggest().handle)
    assert alice.in_force() == [TITLE]
    monkeypatch.setattr("ai_lessons.library.signing.Signatures.judge", no)
    assert alice.in_force() == [TITLE]


def test_trusting_is_for_people_who_said_yes(alice: Team) -> None:
    with pytest.raises(Refused, match="agent"):
        audit.trust_keys(alice.fresh(agent="x"), yes)
    with pytest.raises(Refused):
        audit.trust_keys(alice.fresh(), None)
    with pytest.raises(Refused):
        audit.trust_keys(alice.fresh(), no)
    assert alice.pinned() == []
    told = audit.trust_keys(alice.fresh(), yes)
    assert (len(told.keys), told.added, told.removed) == (1, told.keys, ())


def test_another_person_verifies_offline_in_a_clone(alice: Team) -> None:
    alice.trust()
    made = alice.suggest()
    alice.approve(made.handle)
    bob = clone(alice, "bob")
    assert bob.in_force() == []
    bob.trust()
    assert bob.in_force() == [TITLE]


def test_openssh_accepts_the_record(alice: Team) -> None:
    alice.trust()
    made = alice.suggest()
    alice.approve(made.handle)
    folder = alice.root / ".ai-lessons/approvals" / made.id
    (record,) = folder.glob("*.json")
    (signature,) = folder.glob("*.sig")
    (pinned,) = alice.pinned()
    command = [
        "ssh-keygen",
        "-Y",
        "verify",
        "-f",
        str(pinned),
        "-I",
        "alice@example.com",
        "-n",
        "ai-lessons-approval@v1",
    ]
    done = subprocess.run([*command, "-s", str(signature)], input=record.read_bytes(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


def test_what_was_not_signed_changes_nothing(alice: Team) -> None:
    alice.trust()
    made = alice.suggest()
    alice.approve(made.handle)
    alice.committed(made.path, alice.read(made.path).replace("Do it.", "Do not."), message="tamper")
    assert "Do it." in str(browsing.show(alice.fresh(), made.handle).body)
    assert len(alice.problems()) == 1
    alice.git(alice.root, "revert", "--no-edit", "HEAD")
    assert alice.problems() == []
    moved = alice.root / "other/rules" / made.path.rpartition("/")[2]
    moved.parent.mkdir(parents=True)
    alice.git(alice.root, "mv", made.path, str(moved))
    alice.commit("move")
    assert alice.in_force() == [TITLE]
    assert len(alice.problems()) == 1


def test_a_key_that_is_not_on_the_list_approves_nothing(alice: Team) -> None:
    alice.trust()
    alice.has_key("mallory")
    done = alice.approve(alice.suggest().handle)
    assert "not trusted" in "\n".join(done.notes)
    assert alice.in_force() == []


def test_a_changed_list_counts_once_a_person_trusts_it_whoever_signed_it(alice: Team) -> None:
    alice.trust()
    first = alice.root / SIGNERS
    line = alice.has_key("bob")
    alice.committed(SIGNERS, first.read_text() + line, message="let me in")
    key = alice.folder / "key-alice"
    subprocess.run(["ssh-keygen", "-q", "-Y", "sign", "-n", "ai-lessons-signers@v1", "-f", key, first], check=True)
    alice.commit("sign the list")
    done = alice.approve(alice.suggest().handle)
    assert alice.in_force() == []
    assert "trust-keys" in "\n".join(done.notes)
    alice.trust()
    assert alice.in_force() == [TITLE]


def test_a_signer_who_was_removed_stays_so_in_whatever_order_the_history_has_the_lists(alice: Team) -> None:
    only_alice = alice.read(SIGNERS)
    alice.committed(SIGNERS, only_alice + alice.has_key("bob"), message="let bob in")
    alice.trust()
    alice.committed(SIGNERS, only_alice, message="bob has left")
    alice.trust()
    alice.committed(SIGNERS, only_alice + f"{alice.folder.joinpath('key-bob.pub').read_text()}", message="me again")
    alice.approve(alice.suggest().handle)
    assert alice.in_force() == []


def test_revoked_is_out_of_force_and_can_be_approved_again(alice: Team) -> None:
    alice.trust()
    made = alice.suggest()
    alice.approve(made.handle)
    with pytest.raises(Refused, match="agent"):
        signing.revoke_rule(alice.fresh(agent="x"), made.handle)
    done = signing.revoke_rule(alice.fresh(), made.handle)
    assert (done.id, done.path, done.notes) == (made.id, made.path, ())
    assert alice.in_force() == []
    assert "revoked by alice@example.com" in alice.problems()[0]
    alice.approve(made.handle)
    assert alice.in_force() == [TITLE]


def test_a_removal_that_is_signed_takes_the_rule_out(alice: Team) -> None:
    alice.trust()
    made = alice.suggest()
    alice.approve(made.handle)
    gone = proposing.removal(alice.fresh().writing(made.handle)[0], made.id)
    alice.approve(gone.handle)
    assert alice.in_force() == []
    assert audit.audit(alice.fresh()).ok


def test_only_a_policy_with_signatures_has_something_to_revoke(team: Team) -> None:
    made = team.suggest()
    review.approve_rule(team.fresh(), made.handle)
    with pytest.raises(Refused, match="not signed"):
        signing.revoke_rule(team.fresh(), made.handle)


def test_two_people_have_to_sign_where_two_are_asked_for(team: Team) -> None:
    alice, bob = team.has_key("alice"), team.has_key("bob")
    team.policy(alice + bob, threshold=2)
    team.trust()
    made = team.suggest()
    assert "1 of 2 people have signed" in "\n".join(team.approve(made.handle).notes)
    assert team.in_force() == []
    with pytest.raises(Refused, match="signed this already"):
        team.approve(made.handle)
    team.git(team.root, "config", "user.signingkey", str(team.folder / "key-alice"))
    team.git(team.root, "config", "user.email", "alice@example.com")
    assert not team.approve(made.handle).notes
    assert team.in_force() == [TITLE]
    assert len(list((team.root / ".ai-lessons/approvals" / made.id).iterdir())) == 3
    assert "2 people" in "\n".join(signing.revoke_rule(team.fresh(), made.handle).notes)
    assert team.in_force() == [TITLE]


def test_after_asking_for_more_people_the_others_add_their_signatures(alice: Team) -> None:
    alice.trust()
    made = alice.suggest()
    alice.approve(made.handle)
    alice.write(SIGNERS, alice.read(SIGNERS) + alice.has_key("bob"))
    alice.committed(SETTINGS, "format: 1\napproval:\n  require: signed\n  threshold: 2\n", message="two from now on")
    alice.trust()
    assert alice.in_force() == []
    assert not alice.approve(made.handle).notes
    assert (alice.in_force(), alice.alarms()) == ([TITLE], "")


def test_an_agent_that_holds_the_key_signs(alice: Team, monkeypatch: pytest.MonkeyPatch, hermetic: Path) -> None:
    alice.trust()
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


def test_without_a_key_the_hint_says_how_to_name_one(alice: Team) -> None:
    alice.git(alice.root, "config", "--unset", "user.signingkey")
    made = alice.suggest()
    with pytest.raises(Refused) as none:
        alice.approve(made.handle)
    assert "git config --global user.signingkey" in none.value.hint
    alice.git(alice.root, "config", "user.signingkey", "/no/such/key")
    with pytest.raises(Refused, match="no key at"):
        alice.approve(made.handle)
    assert [one.id for one in review.pending_rules(alice.fresh())] == [made.id]


def test_decisions_that_were_taken_back_are_an_alarm_until_a_person_has_looked(alice: Team) -> None:
    alice.trust()
    made = alice.suggest()
    alice.approve(made.handle)
    assert alice.in_force() == [TITLE]
    alice.git(alice.root, "rm", "-rq", ".ai-lessons/approvals")
    alice.commit("tidy")
    assert (alice.in_force(), alice.alarms()) == ([TITLE], ""), "a record that was deleted keeps its effect"
    alice.git(alice.root, "reset", "-q", "--hard", "HEAD~3")
    assert alice.in_force() == []
    assert "are gone" in alice.alarms()
    with pytest.raises(Refused, match="agent"):
        audit.acknowledge(alice.fresh(agent="x"), yes)
    with pytest.raises(Refused):
        audit.acknowledge(alice.fresh(), None)
    with pytest.raises(Refused):
        audit.acknowledge(alice.fresh(), no)
    assert "are gone" in alice.alarms()
    assert audit.acknowledge(alice.fresh(), yes).alarms == ()
    assert (alice.alarms(), alice.in_force()) == ("", [])


def test_rewritten_history_and_a_weaker_policy_are_alarms_until_acknowledged(alice: Team) -> None:
    alice.trust()
    alice.approve(alice.suggest().handle)
    assert alice.in_force() == [TITLE]
    alice.write(SETTINGS, "format: 1\n")
    alice.git(alice.root, "add", "-A")
    alice.git(alice.root, "commit", "-q", "--amend", "-m", "rewritten")
    said = alice.alarms()
    assert ("was rewritten" in said, "the policy on the approval branch was changed" in said) == (True, True)
    assert audit.acknowledge(alice.fresh(), yes).alarms == ()
    assert alice.alarms() == ""


def test_a_history_with_another_first_commit_is_an_alarm_and_no_question(alice: Team) -> None:
    alice.trust()
    alice.approve(alice.suggest().handle)
    assert alice.in_force() == [TITLE]
    alice.write(SIGNERS, alice.has_key("mallory"))
    alice.git(alice.root, "checkout", "-q", "--orphan", "new")
    alice.commit("all new")
    alice.git(alice.root, "branch", "-qf", "main")
    alice.git(alice.root, "checkout", "-q", "main")
    assert alice.in_force(ask_keys=yes) == []
    assert len(alice.pinned()) == 1
    assert "was rewritten" in alice.notes()
