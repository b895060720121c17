"""What administrators state of a company's repository counts as acknowledged, and nobody's word beside it."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from features.company.conftest import Place
from interfaces.world import Outcome, run_inside
from real_world import Git, commit_all, put_file

OWNED = """
[enterprise.acme]
sync_url = "{url}"
owners = ["forge.example/acme"]
path = "{path}"
{more}
"""


@dataclass(frozen=True)
class Shared:
    """A repository of knowledge with one approved rule: at its curator's, on the hub, and cloned."""

    curator: Path
    hub: Path
    here: Path
    code: Path
    place: Place

    def state(self, more: str = "") -> None:
        """Write the administrators' file."""
        self.place(OWNED.format(url=self.hub, path=self.here, more=more))

    def ours(self, *words: str) -> Outcome:
        """Run the program on the company's tier."""
        return run_inside(["--tier", "enterprise:acme", *words], self.code)

    def in_force(self) -> bool:
        """Whether the rule is told."""
        return "Send a cart whole" in self.ours("search", "cart").out

    def alarms(self) -> str:
        done = self.ours("admin", "audit")
        return done.out + done.err

    def set_policy(self, git: Git, line: str) -> None:
        """The curator changes the settings on the approval branch, and everybody gets it."""
        put_file(self.curator / ".ai-lessons/config.yaml", f"format: 1\napproval:\n  {line}\n")
        commit_all(git, self.curator, "Change the policy")
        git(self.curator, "push", "-q", "origin", "main")
        git(self.here, "pull", "-q")


@pytest.fixture
def shared(tmp_path: Path, git: Git, place: Place, monkeypatch: pytest.MonkeyPatch) -> Shared:
    # a search downloads no model
    monkeypatch.setenv("AI_LESSONS_OFFLINE", "1")
    curator, hub, here, code = (tmp_path / name for name in ("curator", "hub.git", "here", "shop"))
    assert run_inside(["admin", "init", str(curator), "--no-hooks"], tmp_path).code == 0
    suggest = ["contribute", "suggest-rule", "--title", "Send a cart whole", "--rationale", "PUT replaces it"]  # fmt: skip
    assert run_inside(["--repo", ".", *suggest, "--approve", "--yes"], curator).code == 0
    git(tmp_path, "clone", "-q", "--bare", str(curator), str(hub))
    git(curator, "remote", "add", "origin", str(hub))
    git(tmp_path, "clone", "-q", str(hub), str(here))
    git(tmp_path, "init", "-q", str(code))
    git(code, "remote", "add", "origin", "git@forge.example:acme/shop")
    return Shared(curator, hub, here, code, place)


def test_a_policy_that_was_weakened_needs_nobodys_word_where_administrators_state_it(
    shared: Shared, git: Git
) -> None:
    shared.state()
    shared.set_policy(git, "require: signed")
    assert not shared.in_force()
    shared.set_policy(git, "require: merge")
    assert "signed became merge" in shared.alarms()
    assert not shared.in_force()
    shared.state('require = "merge"')
    assert "became" not in shared.alarms()
    assert shared.in_force()


def test_a_policy_is_never_weaker_than_administrators_state(shared: Shared, git: Git) -> None:
    shared.state('require = "signed"')
    assert not shared.in_force()
    assert "the policy on the approval branch is merge, and " in shared.alarms()
    assert "states signed; here it is signed" in shared.alarms()
    # a person's word changes nothing about it
    shared.ours("admin", "audit", "--acknowledge", "--yes")
    assert "states signed" in shared.alarms()
    assert not shared.in_force()


def test_a_policy_that_is_stricter_than_stated_holds_without_a_word(
    shared: Shared, git: Git
) -> None:
    shared.state('require = "merge"')
    assert shared.in_force()
    shared.set_policy(git, "distinct: true")
    assert "here it" not in shared.alarms()
    assert not shared.in_force()


def signed_rule(shared: Shared, git: Git, tmp_path: Path) -> str:
    """Approve the rule again by a signed merge; the line of the key."""
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    git(shared.curator, "config", "gpg.format", "ssh")
    git(shared.curator, "config", "user.signingkey", str(key))
    line = f"person@example.com {key.with_suffix('.pub').read_text()}"
    put_file(tmp_path / "list", line)
    pin = ["--repo", ".", "admin", "signers", str(tmp_path / "list"), "--yes"]
    assert run_inside(pin, shared.curator).code == 0
    suggest = ["contribute", "suggest-rule", "--title", "Send a cart signed", "--rationale", "It is"]  # fmt: skip
    approved = run_inside(["--repo", ".", *suggest, "--approve", "--yes"], shared.curator)
    assert approved.code == 0, approved.err
    git(shared.curator, "push", "-q", "origin", "main")
    git(shared.here, "pull", "-q")
    return line


def test_signers_that_administrators_state_count_and_no_others(
    shared: Shared, git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = signed_rule(shared, git, tmp_path)
    # another person, who has pinned nothing
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "bo"))
    shared.state('signers = "acme.signers"')
    list_file = put_file(Path.home() / "etc/ai-lessons/acme.signers", line)
    assert "Send a cart signed" in shared.ours("search", "signed").out
    assert "Send a cart whole" not in shared.ours("search", "cart").out
    assert str(list_file) in shared.ours("admin", "signers").out.replace("~", str(Path.home()))
    own = put_file(tmp_path / "own", line)
    refused = shared.ours("admin", "signers", str(own), "--yes")
    assert refused.code == 8
    assert "whose signatures count here" in refused.err
    # the list is read anew when it changes
    list_file.write_text(line.replace("ssh-ed25519 AAAA", "ssh-ed25519 AAAB"))
    assert "Send a cart signed" not in shared.ours("search", "signed").out
    list_file.unlink()
    assert "Send a cart signed" not in shared.ours("search", "signed").out


def test_the_forge_that_administrators_state_is_the_one_that_counts(
    shared: Shared, git: Git, tmp_path: Path
) -> None:
    shared.set_policy(git, "require: forge")
    shared.state('require = "forge"')
    assert shared.in_force()
    other = tmp_path / "other.git"
    git(tmp_path, "clone", "-q", "--bare", str(shared.hub), str(other))
    git(shared.here, "remote", "set-url", "origin", str(other))
    refused = shared.ours("admin", "audit")
    assert f"rules are in force as they stand on {shared.hub}, which " in refused.err
    shared.ours("admin", "audit", "--acknowledge", "--yes")
    assert "no remote here has that address" in shared.ours("admin", "audit").err
    git(shared.here, "remote", "set-url", "origin", str(shared.hub))
    assert shared.in_force()


def test_a_repository_that_is_no_clone_of_the_companys_opens_no_policy(
    shared: Shared, git: Git
) -> None:
    shared.state()
    personal = "governance:\n  personal_learning_during_enterprise: allow\n"
    put_file(shared.here / ".ai-lessons/config.yaml", f"format: 1\n{personal}")
    commit_all(git, shared.here, "Open")
    git(shared.here, "push", "-q", "origin", "main")
    home = Path.home()
    assert run_inside(["admin", "init", str(home / ".ai/reference")], home).code == 0
    add = ["--tier", "user", "contribute", "add-lesson", "--title", "Run it", "--content", "```\nmake\n```"]  # fmt: skip
    assert run_inside(["admin", "tiers"], shared.code).code == 0
    assert run_inside(add, shared.code).code == 0
    git(shared.here, "remote", "set-url", "origin", str(shared.here.parent / "mine.git"))
    refused = run_inside([*add[:-1], "```\nmake all\n```"], shared.code)
    assert refused.code == 8
    assert "has no remote" in refused.err
    assert "is not a clone of" in run_inside(["admin", "doctor"], shared.code).out
