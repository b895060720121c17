"""Attacks on approval, on real git histories: what each brings in force under every policy, as docs/security.md says.

Every attack is made once and judged under each policy, as a clone judges that knew this policy before.
"""

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ai_lessons.approval import inputs, state
from ai_lessons.approval.state import derive
from ai_lessons.errors import UnsupportedRepository
from ai_lessons.git import commits as git_commits
from ai_lessons.git.worktree import locate
from ai_lessons.model.approval import APPROVES, NO_SIGNERS, ApprovalLine, ApprovalPolicy, BranchView
from approval.approval_world import (
    BRANCH,
    HUMAN,
    OTHER,
    OTHER_BRANCH,
    OTHER_PATH,
    PATH,
    RULE,
    Clone,
    Who,
    text,
    world,
)

PAGE = Path(__file__).parents[1] / "docs" / "security.md"
NAMED = 10  # Where more attacks end in the same way, the page counts them
MALLORY = ("Mallory", "mallory@x")
FRIEND = ("Friend", "friend@x")
FORGE = ("GitHub", "noreply@github.com")
SETTINGS = ".ai-lessons/config.yaml"
MAIN, REMOTE = "refs/heads/main", "refs/remotes/origin/main"
POLICIES = {
    "merge": ApprovalPolicy("merge"),
    "merge, distinct": ApprovalPolicy("merge", distinct=True),
    "forge": ApprovalPolicy("forge"),
    "signed": ApprovalPolicy("signed"),
}


@dataclass
class Victim:
    """A clone with one approved rule, "Good", and the attacker's hand in it. Human signs what he commits."""

    clone: Clone
    ref: str = MAIN

    def write(
        self, evil: str = "Evil", rule: str = OTHER, path: str = OTHER_PATH
    ) -> dict[str, str | None]:
        """A rule of the attacker's."""
        return {path: text(evil, rule)}

    def propose(self, evil: str = "Evil") -> None:
        """A proposal of the attacker's rule, which no one has taken."""
        self.clone.propose(self.write(evil), branch=OTHER_BRANCH, by=MALLORY, base="main")

    def branch(self, name: str = OTHER_BRANCH, base: str = "main") -> None:
        self.clone.run("switch", "-q", "-c", name, base)

    def main(self) -> None:
        self.clone.run("switch", "-q", "main")

    def raw_commit(self, head: bytes, message: str, *parents: str) -> str:
        """A commit object with these lines in its header, which git would not write; main points to it."""
        tree = self.clone.run("write-tree")
        known = b"".join(f"parent {parent}\n".encode() for parent in parents)
        data = f"tree {tree}\n".encode() + known + head + b"\n" + message.encode() + b"\n"
        made = subprocess.run(
            ["git", "hash-object", "-t", "commit", "-w", "--stdin", "--literally"],
            cwd=self.clone.root, input=data, capture_output=True, check=True,
        ).stdout.decode().strip()  # fmt: skip
        self.clone.run("reset", "-q", "--hard", made)
        return made

    def judged(self, policy: ApprovalPolicy) -> BranchView:
        """The branch as a clone sees it that knew this policy."""
        worktree = locate(self.clone.root)
        ref = REMOTE if policy.require == "forge" else self.ref
        inputs.save(
            worktree.state_dir, inputs.load(worktree.state_dir)._replace(policies={ref: policy})
        )
        state.note_file(worktree, ref).unlink(missing_ok=True)
        # where a list is pinned the policy is `signed`, whatever the branch says
        return derive(
            worktree, ref, self.clone.pinned() if policy.require == "signed" else NO_SIGNERS
        )

    def served(self, policy: ApprovalPolicy) -> set[str]:
        """The last lines of the rules in force."""
        blobs = [
            one.blob for one in self.judged(policy).verdicts.values() if one.in_force and one.blob
        ]
        return {self.clone.run("cat-file", "blob", blob).splitlines()[-1] for blob in blobs}


def words(clone: Clone, branch: str, rule: str, path: str) -> str:
    """What `approve-rule` writes into the merge of a proposal, which counts under every policy."""
    line = ApprovalLine(
        clone.pinned().line_name(), rule, path, clone.run("rev-parse", f"{branch}:{path}")
    )
    return f"Approve rule: Use X\n\n{APPROVES}: {line}"


def approve(clone: Clone, branch: str, rule: str, path: str, by: Who = HUMAN) -> None:
    clone.merge(branch, by=by, options=("--no-ff",), message=words(clone, branch, rule, path))


@pytest.fixture
def victim(tmp_path: Path) -> Victim:
    _, mine = world(tmp_path)
    mine.pinned(mine.has_key())
    mine.propose({PATH: text("Good")})
    approve(mine, BRANCH, RULE, PATH)
    mine.run("branch", "-D", BRANCH)
    mine.run("push", "-q")
    found = Victim(mine)
    for policy in POLICIES.values():
        assert found.served(policy) == {"Good"}
    return found


# --- the attacks: each leaves main as the victim has it after a pull ---


def a_commit_straight_to_main(v: Victim) -> None:
    v.clone.commit("tidy", v.write(), MALLORY)


def an_edit_of_an_approved_rule(v: Victim) -> None:
    v.clone.commit("tidy", v.write(rule=RULE, path=PATH), MALLORY)


def a_commit_hidden_behind_a_merge_of_something_else(v: Victim) -> None:
    v.branch("feature")
    v.clone.commit("tidy", {**v.write(), "x/lessons/a.md": "a\n"}, MALLORY)
    v.main()
    v.clone.merge("feature", options=("--no-ff",))


def an_own_proposal_merged(v: Victim) -> None:
    v.propose()
    v.clone.merge(OTHER_BRANCH, by=MALLORY, options=("--no-ff",))


def a_text_born_inside_a_merge_of_the_proposal(
    v: Victim, branch: str = OTHER_BRANCH, rule: str = OTHER, path: str = OTHER_PATH
) -> None:
    v.branch("side")
    v.clone.commit("side", {"x/lessons/a.md": "a\n"}, MALLORY)
    v.branch(branch)
    v.clone.commit("start", {"x/lessons/b.md": "b\n"}, MALLORY)
    v.clone.run("merge", "-q", "--no-ff", "--no-commit", "side", by=MALLORY)
    v.clone.commit("Merge branch 'side'", v.write(rule=rule, path=path), MALLORY)
    v.main()
    v.clone.merge(branch, by=MALLORY, options=("--no-ff",))


def an_edit_born_inside_a_merge_of_its_proposal(v: Victim) -> None:
    a_text_born_inside_a_merge_of_the_proposal(v, BRANCH, RULE, PATH)


def a_proposal_of_another_person_amended_and_merged(v: Victim) -> None:
    v.branch()
    v.clone.commit("propose", v.write("Harmless"), HUMAN)
    v.clone.write(OTHER_PATH, text("Evil", OTHER))
    v.clone.run("add", "-A")
    v.clone.run("commit", "-q", "--amend", "--no-edit", by=HUMAN, committer=MALLORY)
    v.main()
    v.clone.merge(OTHER_BRANCH, by=MALLORY, options=("--no-ff",))


def a_commit_added_to_the_proposal_of_another_and_merged(v: Victim) -> None:
    v.branch()
    v.clone.commit("propose", v.write("Harmless"), HUMAN)
    v.clone.commit("better", v.write(), MALLORY)
    v.main()
    v.clone.merge(OTHER_BRANCH, by=("Mallory", "MALLORY@X"), options=("--no-ff",))


def _squashed(v: Victim, message: str, by: Who) -> None:
    v.propose()
    v.judged(POLICIES["merge"])
    v.clone.squash(OTHER_BRANCH, message, by)


def a_squash_of_the_own_proposal(v: Victim) -> None:
    _squashed(v, "Take it", MALLORY)


def a_fast_forward_to_the_own_proposal(v: Victim) -> None:
    v.propose()
    v.clone.run("merge", "-q", "--ff-only", OTHER_BRANCH)


def a_squash_in_which_an_agent_says_so(v: Victim) -> None:
    _squashed(v, "Take it\n\nagent: claude", HUMAN)


def a_merge_in_which_an_agent_says_so(v: Victim) -> None:
    v.propose()
    v.clone.merge(
        OTHER_BRANCH,
        options=("--no-ff",),
        message=f"Merge branch '{OTHER_BRANCH}'\n\nAgent: claude",
    )


def a_text_changed_inside_the_merge(v: Victim) -> None:
    v.propose("Harmless")
    v.clone.run("merge", "-q", "--no-ff", "--no-commit", OTHER_BRANCH)
    v.clone.commit(f"Merge branch '{OTHER_BRANCH}'", v.write(), HUMAN)


def a_second_rule_in_the_proposal(v: Victim) -> None:
    third = "01JD3Z8QK5W7M2X9V4T6TTTTTT"
    v.branch()
    v.clone.commit(
        "propose", {**v.write("Harmless"), "jira/rules/t.md": text("Evil", third)}, MALLORY
    )
    v.main()
    v.clone.merge(OTHER_BRANCH, options=("--no-ff",))


def a_merge_that_only_claims_to_be_one(v: Victim) -> None:
    v.clone.commit(f"Merge branch '{OTHER_BRANCH}'", v.write(), MALLORY)


def a_second_parent_late_in_the_header(v: Victim) -> None:
    tip = v.clone.head()
    v.clone.write(OTHER_PATH, text("Evil", OTHER))
    v.clone.run("add", "-A")
    people = (
        b"author Human <human@x> 1770000000 +0000\ncommitter Human <human@x> 1770000000 +0000\n"
    )
    v.raw_commit(people + f"parent {tip}\n".encode(), f"Merge branch '{OTHER_BRANCH}'", tip)


def _odd_merge(v: Victim, name: bytes, more: bytes = b"") -> None:
    v.branch()
    v.clone.commit("propose", v.write(), MALLORY)
    proposal = v.clone.head()
    v.main()
    tip = v.clone.head()
    v.clone.run("merge", "-q", "--no-ff", "--no-commit", OTHER_BRANCH)
    who = name + b" <human@x> 1770000000 +0000\n"
    v.raw_commit(
        b"author " + who + b"committer " + who + more,
        f"Merge branch '{OTHER_BRANCH}'",
        tip,
        proposal,
    )


def a_merge_with_bytes_that_are_no_text(v: Victim) -> None:
    _odd_merge(v, b"H\xff")


def a_merge_in_an_encoding_that_hides_its_words(v: Victim) -> None:
    _odd_merge(v, b"H", b"encoding utf-7\n")


def a_commit_replaced_by_another(v: Victim) -> None:
    v.propose()
    tip = v.clone.head()
    v.clone.merge(OTHER_BRANCH, options=("--no-ff",))
    made = v.clone.head()
    v.clone.run("reset", "-q", "--hard", tip)
    v.clone.commit("tidy", {"x/lessons/c.md": "c\n"})
    v.clone.run("replace", v.clone.head(), made)


def a_policy_that_asks_for_something_else(v: Victim) -> None:
    v.clone.commit(
        "use the forge",
        {SETTINGS: "format: 1\napproval:\n  require: forge\n", **v.write()},
        MALLORY,
    )


def a_policy_that_asks_for_less(v: Victim) -> None:
    v.clone.commit(
        "policy", {SETTINGS: "format: 1\napproval:\n  require: merge\n  distinct: false\n"}, MALLORY
    )
    an_own_proposal_merged(v)


def settings_that_cannot_be_read(v: Victim) -> None:
    v.clone.commit("policy", {SETTINGS: "format: [\n", **v.write()}, MALLORY)


def a_removal_by_a_commit(v: Victim) -> None:
    v.clone.commit("tidy", {PATH: None}, MALLORY)


def a_clone_that_is_cut_off_at_the_merge(v: Victim) -> None:
    a_text_changed_inside_the_merge(v)
    v.clone.run("push", "-q")
    hub = v.clone.run("remote", "get-url", "origin")
    for place in ("refs/heads/main", "refs/remotes/origin/main", f"refs/heads/{OTHER_BRANCH}"):
        v.clone.run("update-ref", "-d", place)
    (v.clone.root / ".git" / "shallow").unlink(missing_ok=True)
    v.clone = replace(v.clone, root=v.clone.root.with_name("shallow"))
    subprocess.run(
        ["git", "clone", "-q", "--depth", "1", f"file://{hub}", str(v.clone.root)], check=True
    )


def a_forged_name_on_the_merge(v: Victim) -> None:
    v.propose()
    v.clone.keys.clear()
    approve(v.clone, OTHER_BRANCH, OTHER, OTHER_PATH)


def a_forged_address_of_a_forge(v: Victim) -> None:
    v.clone.commit("Use X (#7)", v.write(), MALLORY, FORGE)


def a_merge_with_the_signature_of_another(v: Victim) -> None:
    v.propose()
    v.clone.run("merge", "-q", "--no-ff", "--no-commit", OTHER_BRANCH)
    good = v.clone.run("cat-file", "commit", "main").encode() + b"\n"
    signature = re.search(rb"\ngpgsig [^\n]*\n(?: [^\n]*\n)*", good)
    assert signature
    who = b"Human <human@x> 1770000000 +0000\n"
    tip, proposal = v.clone.head(), v.clone.head(OTHER_BRANCH)
    head = b"author " + who + b"committer " + who + signature[0].lstrip(b"\n")
    v.raw_commit(head, words(v.clone, OTHER_BRANCH, OTHER, OTHER_PATH), tip, proposal)


def a_merge_signed_by_a_key_that_the_commit_brings(v: Victim) -> None:
    v.propose()
    line = v.clone.has_key(MALLORY)
    approve(v.clone, OTHER_BRANCH, OTHER, OTHER_PATH, MALLORY)
    v.clone.commit("let me in", {".ai-lessons/allowed_signers": line}, MALLORY)


def a_backdated_merge_of_a_signer_whose_key_expired(v: Victim) -> None:
    now, line = v.clone.clock[0], v.clone.has_key(FRIEND)
    (human,) = v.clone.pinned().read() or ()
    until = f"{datetime.fromtimestamp(now + 3600, UTC):%Y%m%d%H%M%SZ}"
    v.clone.pinned(
        human.line + "\n", f'{FRIEND[1]} valid-before="{until}" {line.partition(" ")[2]}'
    )
    v.propose()
    approve(v.clone, OTHER_BRANCH, OTHER, OTHER_PATH, FRIEND)
    v.clone.clock[0] = now + 7200


def a_merge_of_a_side_that_never_touched_the_rule(v: Victim) -> None:
    v.clone.commit("tidy", v.write(), MALLORY)
    v.branch("draft")
    v.clone.commit("lesson", {"x/lessons/a.md": "a\n"}, HUMAN)
    v.main()
    v.clone.commit("oops", {OTHER_PATH: None}, MALLORY)
    v.clone.run("branch", OTHER_BRANCH, "draft")
    v.clone.run("merge", "-q", "--no-ff", "--no-commit", OTHER_BRANCH, ok=False)
    v.clone.run("checkout", OTHER_BRANCH, "--", OTHER_PATH)
    v.clone.commit(f"Merge branch '{OTHER_BRANCH}'", {}, MALLORY)


def _taken(v: Victim, words: str | None, name: str) -> None:
    """A text of the other rule (None: its removal) proposed by one person and merged by another."""
    change = {OTHER_PATH: None} if words is None else v.write(words)
    v.clone.propose(change, branch=f"{OTHER_BRANCH}-{name}", by=FRIEND, base="main")
    v.clone.merge(f"{OTHER_BRANCH}-{name}", options=("--no-ff",))
    v.judged(POLICIES["merge"])


def a_revert_of_the_removal_of_a_rule(v: Victim) -> None:
    _taken(v, "Evil", "first")
    _taken(v, None, "gone")
    v.clone.run("revert", "--no-edit", "-m", "1", "HEAD", by=MALLORY)


def a_proposal_taken_and_removed_picked_again(v: Victim) -> None:
    _taken(v, "Evil", "first")
    _taken(v, None, "gone")
    v.clone.run("cherry-pick", "-x", f"{OTHER_BRANCH}-first", by=MALLORY)


def an_older_approved_text_put_back_by_a_commit(v: Victim) -> None:
    _taken(v, "Evil", "first")
    _taken(v, "Better", "second")
    v.clone.commit("tidy", v.write(), MALLORY)


def _nested(v: Victim, rule: str, path: str, evil: str | None) -> None:
    """A branch with one lesson to see; its history has a proposal, the merge of that, and a commit that undoes it."""
    name = f"rules/R-{rule[-6:]}-x"
    v.branch("docs")
    v.branch(name, "docs")
    v.clone.commit("Propose rule", {path: None if evil is None else text(evil, rule)}, FRIEND)
    v.clone.run("switch", "-q", "docs")
    v.clone.merge(name, by=FRIEND, options=("--no-ff",))
    v.clone.run("checkout", "-q", "main", "--", path) if rule == RULE else (
        v.clone.root / path
    ).unlink()
    v.clone.commit("tidy", {"x/lessons/a.md": "a\n"}, MALLORY)
    v.main()
    v.clone.run("merge", "-q", "--no-ff", "--no-commit", "docs")
    v.clone.run(
        "commit", "-q", "-m", "Merge pull request #3 from mallory/docs", by=HUMAN, committer=FORGE
    )


def a_rule_hidden_in_a_pull_request(v: Victim) -> None:
    _nested(v, OTHER, OTHER_PATH, "Evil")


def an_edit_hidden_in_a_pull_request(v: Victim) -> None:
    _nested(v, RULE, PATH, "Evil")


def a_removal_hidden_in_a_pull_request(v: Victim) -> None:
    _nested(v, RULE, PATH, None)


def a_proposal_that_a_signer_rebased(v: Victim) -> None:
    v.propose()
    v.clone.commit("later", {"x/lessons/c.md": "c\n"})
    v.clone.run("rebase", "-q", "main", OTHER_BRANCH)
    v.main()
    v.clone.keys.clear()
    v.clone.merge(OTHER_BRANCH, by=MALLORY, options=("--no-ff",), message="Merge notes")


def a_trial_merge_that_a_signer_made(v: Victim) -> None:
    v.propose()
    v.branch("try", "main")
    v.clone.merge(OTHER_BRANCH, options=("--no-ff",))
    v.main()
    v.clone.commit("later", {"x/lessons/c.md": "c\n"})
    v.clone.keys.clear()
    v.clone.merge("try", by=MALLORY, options=("--no-ff",), message="Merge notes")


def a_line_that_a_signer_picked(v: Victim) -> None:
    v.propose()
    v.branch("try", "main")
    keys = dict(v.clone.keys)
    v.clone.keys.clear()
    approve(v.clone, OTHER_BRANCH, OTHER, OTHER_PATH, MALLORY)
    v.clone.keys.update(keys)
    v.main()
    v.clone.run("cherry-pick", "-m", "1", "try")


def a_rollback_by_a_merge_with_swapped_parents(v: Victim) -> None:
    _taken(v, "Evil", "first")
    old = v.clone.head()
    _taken(v, "Better", "second")
    new = v.clone.head()
    v.branch("back", old)
    v.clone.commit("note", {"x/lessons/b.md": "b\n"}, MALLORY)
    v.clone.run("merge", "-q", "-s", "ours", "-m", "Merge branch 'main' of hub", new, by=MALLORY)
    v.clone.run("branch", "-f", "main", "back")
    v.main()


NO, YES, GONE = "stopped", "in force", "stopped, the good rule too"
ATTACKS: list[tuple[Callable[[Victim], None], str, str, str, str]] = [
    # the attack; what comes of it under merge, distinct, forge (where nobody protects the branch), signed
    (a_commit_straight_to_main, NO, NO, YES, NO),
    (an_edit_of_an_approved_rule, NO, NO, YES, NO),
    (a_commit_hidden_behind_a_merge_of_something_else, NO, NO, YES, NO),
    (an_own_proposal_merged, YES, NO, YES, NO),
    (a_text_born_inside_a_merge_of_the_proposal, NO, NO, YES, NO),
    (an_edit_born_inside_a_merge_of_its_proposal, NO, NO, YES, NO),
    (a_proposal_of_another_person_amended_and_merged, YES, NO, YES, NO),
    (a_commit_added_to_the_proposal_of_another_and_merged, YES, NO, YES, NO),
    (a_squash_of_the_own_proposal, NO, NO, YES, NO),
    (a_fast_forward_to_the_own_proposal, NO, NO, YES, NO),
    (a_squash_in_which_an_agent_says_so, NO, NO, YES, NO),
    (a_merge_in_which_an_agent_says_so, NO, NO, YES, NO),
    (a_text_changed_inside_the_merge, NO, NO, YES, NO),
    (a_second_rule_in_the_proposal, NO, NO, YES, NO),
    (a_merge_that_only_claims_to_be_one, NO, NO, YES, NO),
    (a_second_parent_late_in_the_header, NO, NO, YES, NO),
    (a_merge_with_bytes_that_are_no_text, NO, NO, YES, NO),
    (a_merge_in_an_encoding_that_hides_its_words, NO, NO, YES, NO),
    (a_commit_replaced_by_another, NO, NO, NO, NO),
    (a_policy_that_asks_for_something_else, NO, NO, YES, NO),
    (a_policy_that_asks_for_less, YES, NO, YES, NO),
    (settings_that_cannot_be_read, NO, NO, YES, NO),
    (a_removal_by_a_commit, NO, NO, GONE, NO),
    (a_clone_that_is_cut_off_at_the_merge, GONE, GONE, YES, GONE),
    (a_merge_with_the_signature_of_another, YES, YES, YES, NO),
    (a_merge_signed_by_a_key_that_the_commit_brings, YES, NO, YES, NO),
    (a_backdated_merge_of_a_signer_whose_key_expired, YES, YES, YES, NO),
    (a_merge_of_a_side_that_never_touched_the_rule, NO, NO, YES, NO),
    (a_revert_of_the_removal_of_a_rule, NO, NO, YES, NO),
    (a_proposal_taken_and_removed_picked_again, NO, NO, YES, NO),
    (an_older_approved_text_put_back_by_a_commit, NO, NO, YES, NO),
    (a_forged_name_on_the_merge, YES, YES, YES, NO),
    (a_rule_hidden_in_a_pull_request, NO, NO, NO, NO),
    (an_edit_hidden_in_a_pull_request, NO, NO, NO, NO),
    (a_removal_hidden_in_a_pull_request, NO, NO, NO, NO),
    (a_proposal_that_a_signer_rebased, YES, NO, YES, NO),
    (a_trial_merge_that_a_signer_made, NO, NO, YES, NO),
    (a_line_that_a_signer_picked, NO, NO, YES, NO),
    (a_rollback_by_a_merge_with_swapped_parents, NO, NO, YES, NO),
    (a_forged_address_of_a_forge, YES, NO, YES, NO),
]


@pytest.mark.parametrize(
    ("attack", "expected"),
    [(row[0], row[1:]) for row in ATTACKS],
    ids=[r[0].__name__ for r in ATTACKS],
)
def test_what_an_attack_brings_in_force(
    victim: Victim, attack: Callable[[Victim], None], expected: tuple[str, ...]
) -> None:
    attack(victim)
    victim.clone.run("update-ref", REMOTE, MAIN)
    found = {}
    for name, policy in POLICIES.items():
        served = victim.served(policy)
        found[name] = YES if "Evil" in served else NO if "Good" in served else GONE
    assert found == dict(zip(POLICIES, expected, strict=True))


def named(attack: Callable[[Victim], None]) -> str:
    """The attack as the page calls it."""
    return re.sub("^(an?|the) ", "", attack.__name__.replace("_", " "))


def test_the_page_says_what_comes_of_the_attacks() -> None:
    by_outcome: dict[tuple[str, ...], list[str]] = {}
    for attack, *outcomes in ATTACKS:
        by_outcome.setdefault(tuple(outcomes), []).append(named(attack))
    lines = [f"| attacks | {' | '.join(POLICIES)} |", f"|{' --- |' * (1 + len(POLICIES))}"]
    for ends, attacks in sorted(by_outcome.items(), key=lambda row: len(row[1])):
        which = (
            "; ".join(attacks)
            if len(attacks) <= NAMED
            else f"{len(attacks)} others: {'; '.join(attacks[:3])}; …"
        )
        lines.append(f"| {which} | {' | '.join(ends)} |")
    table, page = "\n".join(lines) + "\n", PAGE.read_text()
    if os.environ.get("REWRITE_DOCS"):
        page = re.sub(r"\| attacks \|.*\n(?:\|.*\n)+", table, page)
        PAGE.write_text(page)
    assert table in page


# --- settings of git decide nothing ---

HOSTILE = [
    *(f"log.diffMerges={value}" for value in (
        "off", "none", "on", "m", "first-parent", "1", "separate", "remerge", "r",
        "combined", "c", "dense-combined", "cc",
    )),
    "log.showSignature=true", "log.mailmap=true", "log.follow=true", "log.date=relative", "log.decorate=full",
    "log.showRoot=false", "log.abbrevCommit=true", "log.excludeDecoration=*",
    "diff.renames=copies", "diff.noprefix=true",
    "diff.external=false", "diff.relative=true", "diff.ignoreSubmodules=all", "diff.orderFile=/dev/null",
    "core.quotePath=true", "core.abbrev=4", "core.commitGraph=false", "core.precomposeUnicode=true",
    "i18n.logOutputEncoding=UTF-16", "i18n.commitEncoding=latin1", "format.pretty=oneline", "color.ui=always",
    "core.pager=false", "grep.patternType=perl", "core.useReplaceRefs=true", "mailmap.blob=HEAD:README.md",
    "diff.algorithm=patience", "merge.log=true", "notes.displayRef=*",
]  # fmt: skip


def test_no_setting_of_git_changes_a_verdict(victim: Victim) -> None:
    a_text_changed_inside_the_merge(victim)
    victim.clone.write(".mailmap", "Mallory <mallory@x> <human@x>\n")
    expected = victim.judged(POLICIES["merge, distinct"])
    assert (expected.verdicts[RULE].in_force, expected.verdicts[OTHER].in_force) == (True, False)
    for setting in HOSTILE:
        name, _, value = setting.partition("=")
        victim.clone.run("config", name, value)
        assert victim.judged(POLICIES["merge, distinct"]) == expected, setting
        victim.clone.run("config", "--unset", name)


# --- commits that git would not write stop nobody ---

PIECES = st.sampled_from([
    b"author Human <human@x> 1770000000 +0000", b"committer Human <human@x> 1770000000 +0000", b"encoding latin1",
    b"encoding UTF-8", b"encoding nothing", b"gpgsig x\n y", b" more",
    b"parent 0123456789012345678901234567890123456789",
    b"commit \xff\xfe bad", b"author H <> 1 +0000", b"committer H <a@b> 99999999999999 +0000", b"x", b"",
    b"committer H <a@b> 5 +99999999", b"author H <a@b> -5 +0000", b"mergetag object x\n y", b"tree x", b"a b\x00c",
])  # fmt: skip


def headers() -> Iterator[st.SearchStrategy[list[bytes]]]:
    right = [
        b"author Human <human@x> 1770000000 +0000",
        b"committer Human <human@x> 1770000000 +0000",
    ]
    yield st.lists(PIECES | st.binary(max_size=20), max_size=5)
    yield st.lists(PIECES | st.binary(max_size=20), max_size=3).map(lambda more: right + more)


@settings(max_examples=25)
@given(st.one_of(*headers()), st.binary(max_size=60), st.booleans())
def test_whatever_stands_in_a_commit_it_is_read_with_the_parents_that_git_sees(
    tmp_path_factory: pytest.TempPathFactory, header: list[bytes], message: bytes, merge: bool
) -> None:
    root = tmp_path_factory.mktemp("odd")

    def run(*words: str, data: bytes = b"") -> str:
        done = subprocess.run(
            ["git", "-C", str(root), *words], capture_output=True, check=True, input=data
        )
        return done.stdout.decode().strip()

    run("init", "-q", "-b", "main")
    identity = ["-c", "user.name=Human", "-c", "user.email=human@x"]
    run(*identity, "commit", "-q", "--allow-empty", "-m", "one")
    run(*identity, "commit", "-q", "--allow-empty", "-m", "two")
    parents = [f"parent {run('rev-parse', name)}".encode() for name in ("HEAD", "HEAD~1")][
        : 1 + merge
    ]
    tree = f"tree {run('rev-parse', 'HEAD^{tree}')}".encode()
    data = b"\n".join([tree, *parents, *header]) + b"\n\n" + message
    made = run("hash-object", "-t", "commit", "-w", "--stdin", "--literally", data=data)
    listed = subprocess.run(
        ["git", "-C", str(root), "rev-list", "--parents", "-1", made],
        capture_output=True,
        check=False,
    )
    if listed.returncode:
        return  # git itself takes it for damaged, and no push would bring it
    run("update-ref", MAIN, made)
    worktree = locate(root)
    derive(worktree, MAIN)
    found = git_commits.commits(worktree, [made])[-1]
    assert [found.id, *found.parents] == listed.stdout.decode().split()
    assert found.info.odd or (found.info.author.email == found.info.committer.email == "human@x")


# --- missing evidence proves nothing ---


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_shallow_clone_keeps_only_what_it_can_prove_and_says_how_to_deepen(
    victim: Victim, tmp_path: Path, depth: int
) -> None:
    hub = victim.clone.run("remote", "get-url", "origin")
    root = tmp_path / "shallow"
    subprocess.run(
        ["git", "clone", "-q", "--depth", str(depth), f"file://{hub}", str(root)], check=True
    )
    view = derive(locate(root), MAIN)
    proven = (
        int(
            victim.clone.run("rev-list", "--count", "--merges", "-1", f"main~{depth - 1}..main")
            or 0
        )
        > 0
    )
    assert view.verdicts[RULE].in_force is proven
    (alarm,) = view.alarms
    assert (alarm.kind, "--unshallow" in alarm.hint, "--deepen" in alarm.hint) == (
        "shallow",
        True,
        True,
    )


@pytest.mark.parametrize("kind", ["blob:none", "tree:0"])
def test_a_partial_clone_reads_as_far_as_it_has_objects(
    victim: Victim, tmp_path: Path, kind: str
) -> None:
    hub = victim.clone.run("remote", "get-url", "origin")
    subprocess.run(["git", "-C", hub, "config", "uploadpack.allowFilter", "true"], check=True)
    root = tmp_path / "partial"
    subprocess.run(
        ["git", "clone", "-q", f"--filter={kind}", f"file://{hub}", str(root)], check=True
    )
    subprocess.run(["git", "-C", str(root), "remote", "set-url", "origin", "/nowhere"], check=True)
    if kind == "tree:0":
        with pytest.raises(UnsupportedRepository) as refused:
            derive(locate(root), MAIN)
        assert "--refetch" in refused.value.hint
    else:
        assert derive(locate(root), MAIN).verdicts[RULE].in_force
