"""The policy on the branch itself, what a clone remembers, and the alarms about the branch as a whole."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.approval import state
from ai_lessons.git.approval_branch import approval_folder
from ai_lessons.git.worktree import locate
from ai_lessons.model.approval import (
    ApprovalPolicy,
    merged_branches,
    parsed_id,
    rule_end,
    stated_id,
    trailers,
)
from approval.approval_world import AGENT, BRANCH, PATH, RULE, Clone, text

REMOTE = "refs/remotes/origin/main"


def config(**approval: str) -> dict[str, str | None]:
    lines = "".join(f"  {key}: {value}\n" for key, value in approval.items())
    return {".ai-lessons/config.yaml": f"format: 1\napproval:\n{lines}"}


def kinds(mine: Clone, ref: str = "refs/heads/main") -> list[str]:
    return [alarm.kind for alarm in mine.view(ref).alarms]


def test_the_policy_in_the_working_tree_or_on_another_branch_means_nothing(mine: Clone) -> None:
    mine.run("switch", "-q", "-c", "other")
    mine.commit("policy", config(require="signed"))
    mine.run("switch", "-q", "main")
    mine.write(".ai-lessons/config.yaml", "format: 1\napproval:\n  require: forge\n")
    assert mine.view().policy == ApprovalPolicy("merge")


def test_a_stricter_policy_holds_from_the_commit_that_states_it(mine: Clone) -> None:
    mine.propose(by=AGENT)
    mine.merge(BRANCH, by=AGENT)
    assert mine.served() == "Use X"
    mine.commit("policy", config(distinct="true"))
    assert mine.served() is None


def test_a_weaker_policy_is_an_alarm_and_does_not_hold_until_a_person_has_looked(
    mine: Clone,
) -> None:
    mine.commit("policy", config(require="signed"))
    mine.approved()
    assert mine.view().policy == ApprovalPolicy("signed")
    mine.commit("tidy", config(require="merge"), AGENT)
    for _ in range(2):
        assert (mine.view().policy, kinds(mine)) == (ApprovalPolicy("signed"), ["weakened"])
        assert mine.served() is None
    state.acknowledge(locate(mine.root), mine.view(), ApprovalPolicy("merge"))
    assert (mine.view().policy, kinds(mine), mine.served()) == (
        ApprovalPolicy("merge"),
        [],
        "Use X",
    )


@pytest.mark.parametrize("broken", ["approval: [", "approval:\n  require: nothing\n", "\0"])
def test_settings_that_cannot_be_read_fail_closed(mine: Clone, broken: str) -> None:
    mine.commit("tidy", {".ai-lessons/config.yaml": broken}, AGENT)
    mine.approved()
    assert (kinds(mine), mine.served()) == (["settings"], None)


def test_settings_broken_later_leave_the_policy_that_was_seen(mine: Clone) -> None:
    mine.approved()
    assert mine.served() == "Use X"
    mine.commit("tidy", {".ai-lessons/config.yaml": "approval: ["}, AGENT)
    assert (kinds(mine), mine.served()) == (["settings"], "Use X")


def test_on_a_protected_branch_of_a_forge_everything_counts_and_nothing_here_does(
    mine: Clone,
) -> None:
    mine.commit("policy", config(require="forge"))
    mine.commit("a rule by whatever way the forge allows", {PATH: text("Use X")}, AGENT)
    mine.run("push", "-q")
    mine.commit("a rule that the forge never saw", {PATH: text("Use Z")}, AGENT)
    verdict = mine.verdict(ref=REMOTE)
    assert verdict is not None
    assert (mine.served(ref=REMOTE), verdict.evidence.level) == ("Use X", 2)
    assert "protected branch origin/main" in verdict.evidence.reason
    mine.commit("gone", {PATH: None}, AGENT)
    mine.run("push", "-q")
    assert mine.served(ref=REMOTE) is None


def test_a_branch_set_back_is_rewritten_history_too_even_if_the_projection_was_thrown_away(
    mine: Clone,
) -> None:
    mine.approved()
    mine.view()
    mine.run("reset", "-q", "--hard", "HEAD~1")
    state.note_file(locate(mine.root), "refs/heads/main").unlink()
    assert kinds(mine) == ["rewritten"]


def test_no_branch_is_no_rules(mine: Clone) -> None:
    assert mine.view("refs/heads/nowhere").tip is None


def test_memory_that_was_damaged_is_no_memory(mine: Clone) -> None:
    mine.approved()
    mine.view()
    worktree = locate(mine.root)
    place = approval_folder(worktree.state_dir)
    (place / "remembered.json").write_text("[1")
    (place / "proposals.jsonl").write_bytes(b"\xff{}\n[]\n")
    assert (kinds(mine), mine.served()) == ([], "Use X")


MESSAGES = [
    # the message of a merge, and the branches that it brings to main (None: it does not say)
    ("Merge branch 'rules/R-AAAAAA-x' into 'main'", ("rules/R-AAAAAA-x",)),
    ("Merge branch 'rules/R-AAAAAA-x' into feature", ()),
    ("Merge branch 'main' into rules/R-AAAAAA-x", ()),
    ("Merge branch 'rules/R-AAAAAA-x' of https://host/a/b", ("rules/R-AAAAAA-x",)),
    ("Merge branches 'a', 'b' and 'rules/R-AAAAAA-x'", ("a", "b", "rules/R-AAAAAA-x")),
    ("Merge remote-tracking branch 'refs/remotes/origin/rules/R-AAAAAA-x'", ("rules/R-AAAAAA-x",)),
    ("Merge pull request #7 from org/rules/R-AAAAAA-x\n\ntitle", ("rules/R-AAAAAA-x",)),
    ("Merge pull request #7 from org/feat\n\nProposal: rules/R-AAAAAA-x", ("feat",)),
    ("Merge pull request 'from rules/R-AAAAAA-x into main' (#5) from feat into main", ("feat",)),
    ("Merge pull request 'x' (#5) from somebody:rules/R-AAAAAA-x into main", ("rules/R-AAAAAA-x",)),
    ("Merge pull request 'x' (#5) from rules/R-AAAAAA-x into other", ()),
    ("Merged in rules/R-AAAAAA-x (pull request #5)", ("rules/R-AAAAAA-x",)),
    ("Approve rule: x\n\nwhy\n\nProposal: rules/R-AAAAAA-x\nSession: 1", ("rules/R-AAAAAA-x",)),
    ("Approve rule: x\n\nProposal: rules/R-AAAAAA-x\n\nmore words", ()),
    ("Merge branch 'a' of x, branch 'rules/R-AAAAAA-x' of y", ()),
    ("Merge tag 'rules/R-AAAAAA-x'", ()),
    ("Merge commit 'abc'", None),
    ("see rules/R-AAAAAA-x", None),
]  # fmt: skip


@pytest.mark.parametrize(("message", "expected"), MESSAGES)
def test_what_a_merge_says_it_merged(message: str, expected: tuple[str, ...] | None) -> None:
    assert merged_branches(message, "main") == expected


@pytest.mark.parametrize(
    ("branch", "end"),
    [
        ("rules/R-8F3K2A-use-x", "8F3K2A"), ("rules/r-8f3k2a-use-x", "8F3K2A"), ("rules/8F3K2A-use-x", "8F3K2A"),
        (f"rules/{RULE}-use-x", RULE), ("rules/R-8F3K2A", "8F3K2A"), ("rules/R-8F3K2-use-x", None),
        ("rules/R-8F3K2A-use/x", None), ("feature/rules/R-8F3K2A-use-x", None), ("rules/use-x", None),
    ],
)  # fmt: skip
def test_which_rule_a_branch_names(branch: str, end: str | None) -> None:
    assert rule_end(branch) == end


@given(st.text())
def test_no_message_crashes_the_reader(message: str) -> None:
    merged_branches(message, "main")
    trailers(message)
    merged_branches(f"Merge branch '{message}'", "main")


IDS = st.sampled_from(
    [RULE, RULE.lower(), "0" * 26, f'"{RULE}"', "x", "", f"{RULE} # c", f"{RULE}\n  - a", "[", "|"]
)
KEYS = st.sampled_from(["id", "id ", "title", "tags", "links", '"id"', "ID", "a.b", "- id"])
VALUES = IDS | st.sampled_from(
    [
        "use: x",
        "'",
        '"',
        '"x: y"',
        "&a",
        "*a",
        "!t",
        "- a",
        "\n  - a\n  - b: c",
        "> x",
        "{",
        "\u2028id: x",
    ]
)
MATTERS = st.lists(st.tuples(KEYS, VALUES, st.sampled_from(["", " ", "  "])), max_size=5)


@given(MATTERS, st.sampled_from(["body\n", "---\n", "\0", ""]))
def test_the_short_way_to_an_id_never_differs_from_the_long_one(
    matter: list[tuple[str, str, str]], body: str
) -> None:
    lines = "".join(f"{indent}{key}: {value}\n" for key, value, indent in matter)
    data = f"---\n{lines}---\n{body}".encode()
    assert stated_id(data) == parsed_id(data)
