"""The policy `signed` on real histories: records on the branch decide, and history only says how texts got there."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ai_lessons.repository.approval import record_chain
from ai_lessons.repository.approval.approval_types import BranchView, Verdict
from ai_lessons.repository.approval.record_chain import NAMESPACE, Record, text_digest
from ai_lessons.repository.approval.signed import record_paths, with_signatures
from ai_lessons.repository.approval.signers import Signer, parse_signers
from ai_lessons.repository.approval.ssh_signatures import sign
from ai_lessons.repository.worktree import locate
from repository.approval_world import AGENT, BRANCH, PATH, RULE, Clone, text, world

CONFIG = {".ai-lessons/config.yaml": "format: 1\napproval:\n  require: signed\n"}
REPOSITORY = "the one"
MOVED = "jira/rules/moved.md"


@dataclass
class Signing:
    """A clone whose rules are approved with alice's key."""

    clone: Clone
    key: Path
    signers: tuple[Signer, ...]
    last: Record | None = None
    count: int = 0

    def decide(
        self, words: str, decision: str = "approve", path: str = PATH, at: float | None = None
    ) -> dict[str, str]:
        """A record's files about a text."""
        self.count += 1
        previous = self.last.digest if self.last else None
        moment = datetime.fromtimestamp(at or self.clone.clock[0], UTC)
        said = f"{moment:%Y-%m-%dT%H:%M:%SZ}"
        record = Record(REPOSITORY, RULE, path, text_digest(text(words).encode()), decision, previous, said)  # type: ignore[arg-type]
        self.last = record
        paths = record_paths(RULE, f"01JD3Z8QK5W7M2X9V4T68F3K{self.count:02d}", "alice")
        signature = sign(record.canonical(), str(self.key), NAMESPACE)
        return dict(zip(paths, (record.canonical().decode(), signature), strict=True))

    def view(self, threshold: int = 1) -> BranchView:
        worktree = locate(self.clone.root)
        now, view = float(self.clone.clock[0]), self.clone.view()
        return with_signatures(worktree, view, self.signers, repository=REPOSITORY, now=now, threshold=threshold)

    def verdict(self) -> Verdict:
        return self.view().verdicts[RULE]

    def served(self) -> str | None:
        verdict = self.verdict()
        return self.clone.run("cat-file", "blob", verdict.blob).splitlines()[-1] if verdict.blob else None


@pytest.fixture
def signing(tmp_path: Path) -> Signing:
    _, mine = world(tmp_path)
    mine.commit("settings", dict(CONFIG))
    key = tmp_path / "alice"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    return Signing(mine, key, parse_signers(f"alice@x {key.with_suffix('.pub').read_text()}"))


def test_a_merge_alone_puts_nothing_in_force(signing: Signing) -> None:
    signing.clone.approved()
    assert signing.clone.served() is None
    verdict = signing.verdict()
    assert (verdict.in_force, verdict.evidence.reason) == (False, "there is no signed record")
    assert [arrival.path for arrival in verdict.unapproved] == [PATH]


def test_a_signed_record_does_and_says_who_and_when(signing: Signing) -> None:
    signing.clone.approved()
    signing.clone.commit("Approve rule: Use X", signing.decide("Use X"))
    verdict = signing.verdict()
    assert signing.served() == "Use X"
    evidence = verdict.evidence
    assert (evidence.level, evidence.how, evidence.by and evidence.by.email) == (3, "signed", "alice@x")
    assert (evidence.at, verdict.unapproved) == (signing.last and signing.last.seconds, ())


def test_it_survives_squash_and_a_rewritten_history(signing: Signing) -> None:
    mine = signing.clone
    mine.propose({PATH: text("Use X"), **signing.decide("Use X")})
    mine.run("merge", "-q", "--squash", BRANCH)
    mine.commit("squashed", {})
    mine.run("branch", "-D", BRANCH)
    assert signing.served() == "Use X"


@pytest.mark.parametrize(
    ("change", "path"),
    [({PATH: text("Use Z")}, PATH), ({PATH: None, MOVED: text("Use X")}, MOVED), ({PATH: None}, PATH)],
    ids=["edited", "moved", "removed"],
)
def test_the_text_that_was_signed_stays_in_force(signing: Signing, change: dict[str, str | None], path: str) -> None:
    mine = signing.clone
    mine.commit("rule", {PATH: text("Use X"), **signing.decide("Use X")})
    mine.commit("tidy", change, AGENT)
    verdict = signing.verdict()
    assert (signing.served(), verdict.path) == ("Use X", PATH)
    assert [(one.path, one.evidence.level) for one in verdict.unapproved] == [(path, 1)]


def test_a_second_signed_text_replaces_the_first_and_the_first_put_back_does_not_count(signing: Signing) -> None:
    mine = signing.clone
    mine.commit("rule", {PATH: text("Use X"), **signing.decide("Use X")})
    mine.commit("rule", {PATH: text("Use Y"), **signing.decide("Use Y")})
    assert signing.served() == "Use Y"
    mine.commit("downgrade", {PATH: text("Use X")}, AGENT)
    assert signing.served() == "Use Y"


def test_revoked_is_out_of_force(signing: Signing) -> None:
    mine = signing.clone
    mine.commit("rule", {PATH: text("Use X"), **signing.decide("Use X")})
    mine.commit("revoke", dict(signing.decide("Use X", "revoke")))
    assert signing.served() is None
    assert "revoked by alice@x" in signing.verdict().evidence.reason


@pytest.mark.parametrize("decision", ["approve", "revoke"])
def test_a_record_that_was_deleted_keeps_its_effect_in_a_fresh_clone_too(signing: Signing, decision: str) -> None:
    mine = signing.clone
    mine.commit("rule", {PATH: text("Use X"), **signing.decide("Use X")})
    second = signing.decide("Use Y", decision)
    mine.commit("rule", {PATH: text("Use Y"), **second})
    mine.commit("downgrade", {PATH: text("Use X"), **dict.fromkeys(second)}, AGENT)
    for _ in range(2):
        assert signing.served() == ("Use Y" if decision == "approve" else None)
        shutil.rmtree(locate(mine.root).state_dir)


def test_a_record_left_out_by_a_merge_keeps_its_effect(signing: Signing) -> None:
    mine = signing.clone
    mine.commit("rule", {PATH: text("Use X"), **signing.decide("Use X")})
    mine.run("switch", "-q", "-c", "old")
    mine.commit("other", {"jira/lessons/x.md": "x\n"}, AGENT)
    mine.run("switch", "-q", "main")
    mine.commit("revoke", dict(signing.decide("Use X", "revoke")))
    mine.run("switch", "-q", "old")
    mine.run("merge", "-q", "-s", "ours", "--no-edit", "main", by=AGENT)
    mine.run("branch", "-f", "main", "old")
    mine.run("switch", "-q", "main")
    assert not list((mine.root / ".ai-lessons/approvals" / RULE).glob("*02.json"))
    assert signing.served() is None


def test_an_expired_key_approves_nothing_by_dating_it_back(signing: Signing) -> None:
    mine = signing.clone
    expiry = mine.clock[0] + 600
    first = signing.decide("Use X", at=mine.clock[0])
    mine.commit("rule", {PATH: text("Use X"), **first})
    signing.signers = tuple(one._replace(valid_before=float(expiry)) for one in signing.signers)
    assert signing.served() == "Use X"
    mine.clock[0] += 7 * 24 * 3600
    mine.commit("work", {"jira/lessons/x.md": "x\n"})
    mine.commit("rule", {PATH: text("Use Y"), **signing.decide("Use Y", at=expiry - 60)})
    assert signing.served() == "Use X"


def test_an_expired_key_approves_nothing_by_a_history_in_an_order_of_its_own(signing: Signing) -> None:
    mine = signing.clone
    expiry = mine.clock[0] + 600
    mine.commit("rule", {PATH: text("Use X"), **signing.decide("Use X", at=mine.clock[0])})
    signing.signers = tuple(one._replace(valid_before=float(expiry)) for one in signing.signers)
    assert signing.served() == "Use X"
    old, now = mine.head("main~1"), expiry + 7 * 24 * 3600
    mine.clock[0] = now
    mine.commit("work", {"jira/lessons/x.md": "x\n"})
    mine.run("switch", "-q", "-c", "before", old)
    mine.clock[0] = expiry - 300
    mine.commit("work", {"jira/lessons/y.md": "y\n"}, AGENT)
    mine.commit("rule", {PATH: text("Use Y"), **signing.decide("Use Y", at=expiry - 60)}, AGENT)
    mine.run("merge", "-q", "-s", "ours", "--no-edit", "main", by=AGENT)
    mine.run("branch", "-f", "main", "before")
    mine.run("switch", "-q", "main")
    mine.clock[0] = now
    assert signing.served() == "Use X"
    shutil.rmtree(locate(mine.root).state_dir)
    assert signing.served() is None, "a fresh clone cannot know what was approved in time"


def test_junk_beside_a_record_changes_nothing(signing: Signing) -> None:
    mine = signing.clone
    mine.commit("rule", {PATH: text("Use X"), **signing.decide("Use X")})
    folder = f".ai-lessons/approvals/{RULE}"
    (record,) = (mine.root / folder).glob("*.json")
    junk = {f"{folder}/{record.stem}.a{number:03d}.sig": "junk" for number in range(70)}
    copies = {f"{folder}/0{number:02d}.json": record.read_text() for number in range(70)}
    mine.commit("junk", {**junk, **copies}, AGENT)
    assert signing.served() == "Use X"


def test_a_key_that_is_taken_away_takes_its_approvals_along(signing: Signing) -> None:
    signing.clone.commit("rule", {PATH: text("Use X"), **signing.decide("Use X")})
    assert signing.served() == "Use X"
    signing.signers = ()
    assert signing.served() is None


def test_more_people_asked_for_than_signed(signing: Signing) -> None:
    signing.clone.commit("rule", {PATH: text("Use X"), **signing.decide("Use X")})
    assert not signing.view(threshold=2).verdicts[RULE].in_force


def test_asking_again_gives_the_same_without_checking_again(signing: Signing, monkeypatch: pytest.MonkeyPatch) -> None:
    signing.clone.commit("rule", {PATH: text("Use X"), **signing.decide("Use X")})
    first = signing.view()
    monkeypatch.setattr(record_chain, "chains", None)
    assert signing.view() == first
