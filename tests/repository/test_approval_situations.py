"""What real git histories prove about a rule. Each situation is a function; the verdicts stand in the table below."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from repository.approval_world import (
    AGENT,
    BRANCH,
    GITHUB,
    HUMAN,
    OTHER,
    OTHER_BRANCH,
    OTHER_PATH,
    PATH,
    RULE,
    SECOND,
    Clone,
    World,
    text,
    world,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MOVED = "jira/rules/renamed.md"
ELSEWHERE = "github/rules/use-x-8f3k2a.md"


def merged_with_no_ff(w: World, mine: Clone) -> None:
    mine.propose(base="main")
    mine.merge(BRANCH, options=("--no-ff",))


def merged_and_then_work_went_on(w: World, mine: Clone) -> None:
    merged_with_no_ff(w, mine)
    mine.other_work()


def plainly_merged_because_proposals_start_one_behind(w: World, mine: Clone) -> None:
    mine.propose()
    mine.merge(BRANCH)


def fast_forwarded(w: World, mine: Clone) -> None:
    mine.propose(base="main")
    mine.merge(BRANCH)


def agent_merged_its_own(w: World, mine: Clone) -> None:
    mine.propose()
    mine.merge(BRANCH, by=AGENT)


def agent_merged_under_my_name(w: World, mine: Clone) -> None:
    mine.propose()
    mine.merge(BRANCH, by=HUMAN)


def merge_that_says_an_agent_made_it(w: World, mine: Clone) -> None:
    mine.propose()
    mine.merge(BRANCH, message=f"Merge branch '{BRANCH}'\n\nAgent: claude\nSession: 1")


def working_alone(w: World, mine: Clone) -> None:
    mine.propose(by=HUMAN)
    mine.merge(BRANCH)


def pushed(w: World, mine: Clone) -> Clone:
    """The proposal is on the hub, and somebody looks at it on the forge."""
    mine.propose()
    mine.run("push", "-q", "origin", BRANCH)
    return w.clone("web")


def merged_on_github_then_pulled(w: World, mine: Clone) -> None:
    web = pushed(w, mine)
    pull_request = f"Merge pull request #7 from org/{BRANCH}\n\nUse X"
    web.run("merge", "-q", "--no-ff", "--no-commit", f"origin/{BRANCH}")
    web.run("commit", "-q", "-m", pull_request, by=HUMAN, committer=GITHUB)
    web.run("push", "-q", "origin", "main", f":{BRANCH}")
    mine.other_work()
    mine.run("pull", "-q", "--no-rebase", "--no-edit", by=SECOND)


def merged_on_gitlab(w: World, mine: Clone) -> None:
    web = pushed(w, mine)
    web.merge(f"origin/{BRANCH}", message=f"Merge branch '{BRANCH}' into 'main'\n\nUse X\n\nSee merge request org/x!7")
    web.run("push", "-q", "origin", "main")
    mine.run("pull", "-q")


def merged_on_gitea(w: World, mine: Clone) -> None:
    web = pushed(w, mine)
    web.merge(f"origin/{BRANCH}", message=f"Merge pull request 'Use X' (#7) from {BRANCH} into main")
    web.run("push", "-q", "origin", "main")
    mine.run("pull", "-q")


def squashed_on_github(w: World, mine: Clone) -> None:
    web = pushed(w, mine)
    web.run("merge", "-q", "--squash", f"origin/{BRANCH}")
    web.run("commit", "-q", "-m", "Use X (#7)", by=AGENT, committer=GITHUB)
    web.run("push", "-q", "origin", "main")
    mine.run("pull", "-q")


def squashed_on_github_in_a_fresh_clone(w: World, mine: Clone) -> None:
    squashed_on_github(w, mine)
    mine.run("branch", "-D", BRANCH)
    mine.run("update-ref", "-d", f"refs/remotes/origin/{BRANCH}")


def edited_in_the_browser(w: World, mine: Clone) -> None:
    mine.commit("Update use-x.md", {PATH: text("Use X")}, HUMAN, GITHUB)


def squashed_here(w: World, mine: Clone) -> None:
    mine.propose()
    mine.run("merge", "-q", "--squash", BRANCH)
    mine.run("commit", "-q", "-m", "Take the rule")


def squashed_here_working_alone(w: World, mine: Clone) -> None:
    mine.propose(by=HUMAN)
    mine.run("merge", "-q", "--squash", BRANCH)
    mine.run("commit", "-q", "--no-edit")


def squashed_here_alone_with_other_words(w: World, mine: Clone) -> None:
    mine.propose(by=HUMAN)
    mine.run("merge", "-q", "--squash", BRANCH)
    mine.run("commit", "-q", "-m", "Take the rule")


def rebased_on_the_forge(w: World, mine: Clone) -> None:
    web = pushed(w, mine)
    web.other_work()
    web.run("switch", "-q", "-c", "t", f"origin/{BRANCH}")
    web.run("rebase", "-q", "main")
    web.run("switch", "-q", "main")
    web.run("merge", "-q", "--ff-only", "t")
    web.run("push", "-q", "origin", "main")
    mine.run("pull", "-q")


def rebased_on_the_forge_and_the_branch_gone(w: World, mine: Clone) -> None:
    rebased_on_the_forge(w, mine)
    mine.run("branch", "-D", BRANCH)
    mine.run("update-ref", "-d", f"refs/remotes/origin/{BRANCH}")


def rebased_seen_and_then_the_branch_gone(w: World, mine: Clone) -> None:
    mine.propose()
    mine.view()
    mine.run("switch", "-q", BRANCH)
    mine.run("rebase", "-q", "main")
    mine.run("switch", "-q", "main")
    mine.run("merge", "-q", "--ff-only", BRANCH)
    mine.run("branch", "-D", BRANCH)


def cherry_picked(w: World, mine: Clone) -> None:
    mine.propose()
    mine.run("cherry-pick", BRANCH)


def cherry_picked_with_x_working_alone(w: World, mine: Clone) -> None:
    mine.propose(by=HUMAN)
    mine.run("cherry-pick", "-x", BRANCH)


def pulled_with_rebase_after_approving(w: World, mine: Clone) -> None:
    mine.propose()
    mine.merge(BRANCH)
    theirs = w.clone("theirs")
    theirs.other_work()
    theirs.run("push", "-q")
    mine.run("pull", "-q", "--rebase")
    assert mine.run("rev-list", "--merges", "main") == ""


def pulled_with_rebase_merges(w: World, mine: Clone) -> None:
    mine.propose()
    mine.merge(BRANCH)
    theirs = w.clone("theirs")
    theirs.other_work()
    theirs.run("push", "-q")
    mine.run("pull", "-q", "--rebase=merges")


def committed_straight_to_main(w: World, mine: Clone) -> None:
    mine.commit("tidy", {PATH: text("Use X")}, AGENT)


def pushed_straight_and_pulled_with_a_merge(w: World, mine: Clone) -> None:
    theirs = w.clone("theirs")
    theirs.commit("tidy", {PATH: text("Use X")}, AGENT)
    theirs.run("push", "-q")
    mine.other_work()
    mine.run("pull", "-q", "--no-rebase", "--no-edit")


def edited_after_approval(w: World, mine: Clone) -> None:
    mine.approved()
    mine.commit("tidy", {PATH: text("Use X and exfiltrate")}, AGENT)


def edited_and_put_back(w: World, mine: Clone) -> None:
    edited_after_approval(w, mine)
    mine.commit("restore", {PATH: text("Use X")}, AGENT)


def changed_inside_the_merge(w: World, mine: Clone) -> None:
    mine.propose()
    mine.run("merge", "-q", "--no-commit", BRANCH)
    mine.commit(f"Merge branch '{BRANCH}'", {PATH: text("Changed inside the merge")})


def approved_rule_changed_inside_the_merge_of_its_edit(w: World, mine: Clone) -> None:
    mine.approved()
    mine.other_work()
    mine.propose({PATH: text("Use Y")})
    mine.run("merge", "-q", "--no-commit", BRANCH)
    mine.commit(f"Merge branch '{BRANCH}'", {PATH: text("Use Z")})


def two_edits_that_merge_into_a_text_nobody_approved(w: World, mine: Clone) -> None:
    lines = "one\n\n\n\n\n\ntwo"
    mine.approved(lines)
    mine.other_work()
    mine.propose({PATH: text(lines.replace("one", "ONE"))}, branch=BRANCH)
    mine.propose({PATH: text(lines.replace("two", "TWO"))}, branch=BRANCH + "-again")
    mine.merge(BRANCH)
    mine.merge(BRANCH + "-again")


def renamed(w: World, mine: Clone) -> None:
    mine.approved()
    mine.run("mv", PATH, MOVED)
    mine.commit("rename", {}, AGENT)


def moved_to_another_project(w: World, mine: Clone) -> None:
    mine.approved()
    mine.commit("move", {PATH: None, ELSEWHERE: text("Use X")}, AGENT)


def moved_to_another_project_by_proposal(w: World, mine: Clone) -> None:
    mine.approved()
    mine.other_work()
    mine.propose({PATH: None, ELSEWHERE: text("Use X")})
    mine.merge(BRANCH)


def renamed_on_main_and_edited_by_proposal(w: World, mine: Clone) -> None:
    mine.approved("Use X" + "\n" * 30)
    mine.other_work()
    mine.propose({PATH: text("Use X" + "\n" * 30 + "Use Y")})
    mine.run("mv", PATH, MOVED)
    mine.commit("rename", {}, AGENT)
    mine.merge(BRANCH)


def copied(w: World, mine: Clone) -> None:
    mine.approved()
    mine.commit("copy", {MOVED: text("Use X")}, AGENT)


def copied_and_changed(w: World, mine: Clone) -> None:
    mine.approved()
    mine.commit("copy", {MOVED: text("Use X and exfiltrate")}, AGENT)


def smuggled(w: World, mine: Clone) -> None:
    mine.propose({PATH: text("Use X"), OTHER_PATH: text("smuggled", OTHER)})
    mine.merge(BRANCH)


def smuggled_with_an_id_of_the_same_end(w: World, mine: Clone) -> None:
    twin = RULE.replace("01JD", "01JE")
    mine.propose({PATH: text("Use X"), OTHER_PATH: text("smuggled", twin)})
    mine.merge(BRANCH)


def octopus(w: World, mine: Clone) -> None:
    mine.propose()
    mine.propose({OTHER_PATH: text("Other", OTHER)}, branch=OTHER_BRANCH)
    mine.merge(BRANCH, OTHER_BRANCH)


def octopus_that_brings_a_rule_by_the_wrong_branch(w: World, mine: Clone) -> None:
    mine.propose({"jira/rules/third.md": text("Third", RULE.replace("01JD", "01JF").replace("8F3K2A", "TTTTTT"))})
    mine.propose({OTHER_PATH: text("Other", OTHER), PATH: text("Use X")}, branch=OTHER_BRANCH)
    mine.merge(BRANCH, OTHER_BRANCH)


def deleted_by_proposal(w: World, mine: Clone) -> None:
    mine.approved()
    mine.other_work()
    mine.propose({PATH: None})
    mine.merge(BRANCH)


def deleted_by_proposal_and_put_back(w: World, mine: Clone) -> None:
    deleted_by_proposal(w, mine)
    mine.commit("restore", {PATH: text("Use X")}, AGENT)


def deleted_straight_from_main(w: World, mine: Clone) -> None:
    mine.approved()
    mine.commit("tidy", {PATH: None}, AGENT)


def whole_project_deleted(w: World, mine: Clone) -> None:
    mine.approved()
    mine.run("rm", "-rq", "jira")
    mine.commit("tidy", {}, AGENT)


def deleted_by_a_squashed_proposal(w: World, mine: Clone) -> None:
    mine.approved()
    mine.other_work()
    mine.propose({PATH: None})
    mine.run("merge", "-q", "--squash", BRANCH)
    mine.run("commit", "-q", "-m", "Drop the rule")


def deleted_inside_the_merge_of_a_branch_that_never_had_it(w: World, mine: Clone) -> None:
    mine.propose({"jira/lessons/x.md": "x\n"}, base="main~1")
    mine.approved(branch=BRANCH + "-itself")
    mine.run("merge", "-q", "--no-commit", BRANCH)
    mine.commit(f"Merge branch '{BRANCH}'", {PATH: None})


def second_text_approved(w: World, mine: Clone) -> None:
    mine.approved()
    mine.other_work()
    mine.approved("Use Y", by=SECOND)


def second_text_reverted(w: World, mine: Clone) -> None:
    second_text_approved(w, mine)
    mine.run("revert", "--no-edit", "-m", "1", "HEAD")


def second_text_reverted_then_put_back_by_an_edit(w: World, mine: Clone) -> None:
    second_text_reverted(w, mine)
    mine.commit("tidy", {PATH: text("Use Z")}, AGENT)


def first_approval_reverted(w: World, mine: Clone) -> None:
    mine.approved()
    mine.run("revert", "--no-edit", "-m", "1", "HEAD")


def id_changed_in_place(w: World, mine: Clone) -> None:
    mine.approved()
    mine.commit("tidy", {PATH: text("Use X", OTHER)}, AGENT)


def frontmatter_broken(w: World, mine: Clone) -> None:
    mine.approved()
    mine.commit("tidy", {PATH: "---\nid: [\n---\n"}, AGENT)


def merged_into_another_branch_first(w: World, mine: Clone) -> None:
    mine.propose()
    mine.run("switch", "-q", "-c", "feature")
    mine.merge(BRANCH, by=AGENT, options=("--no-ff",))
    mine.run("switch", "-q", "main")
    mine.merge("feature", options=("--no-ff",))


def main_merged_into_the_proposal(w: World, mine: Clone) -> None:
    mine.propose()
    mine.commit("tidy", {OTHER_PATH: text("straight", OTHER)}, AGENT)
    mine.run("switch", "-q", BRANCH)
    mine.merge("main", by=AGENT)
    mine.run("switch", "-q", "main")
    mine.merge(BRANCH, options=("--no-ff",))


def sync_merge_that_names_the_proposal_it_goes_into(w: World, mine: Clone) -> None:
    mine.approved()
    mine.other_work()
    mine.propose()
    mine.commit("tidy", {PATH: text("Use X and exfiltrate")}, AGENT)
    mine.run("switch", "-q", BRANCH)
    mine.merge("main", by=SECOND, options=("--no-ff",))
    mine.run("switch", "-q", "main")
    mine.run("merge", "-q", "--ff-only", BRANCH)


def amended_by_the_merger(w: World, mine: Clone) -> None:
    mine.propose()
    mine.run("switch", "-q", BRANCH)
    mine.write(PATH, text("Use X"))
    mine.run("commit", "-q", "--amend", "--no-edit", "--allow-empty", by=AGENT, committer=HUMAN)
    mine.run("switch", "-q", "main")
    mine.merge(BRANCH, options=("--no-ff",))


def born_inside_a_merge_of_the_proposal(w: World, mine: Clone) -> None:
    mine.run("switch", "-q", "-c", "side")
    mine.commit("side", {"jira/lessons/side.md": "x\n"}, AGENT)
    mine.run("switch", "-q", "-c", BRANCH, "main")
    mine.commit("start", {"jira/lessons/start.md": "x\n"}, AGENT)
    mine.run("merge", "-q", "--no-ff", "--no-commit", "side", by=HUMAN)
    mine.commit("Merge branch 'side'", {PATH: text("Use X")}, HUMAN)
    mine.run("switch", "-q", "main")
    mine.merge(BRANCH, options=("--no-ff",))


def another_commit_of_the_proposal_by_the_merger(w: World, mine: Clone) -> None:
    mine.propose()
    mine.run("switch", "-q", BRANCH)
    mine.commit("a note", {"jira/lessons/a.md": "x\n"}, HUMAN)
    mine.run("switch", "-q", "main")
    mine.merge(BRANCH, options=("--no-ff",))


def rebased_by_an_agent_under_another_name(w: World, mine: Clone) -> None:
    mine.propose()
    mine.run("merge", "-q", "--squash", BRANCH)
    mine.run("commit", "-q", "-m", "Take the rule\n\nAgent: claude")


def merged_with_words_of_my_own(w: World, mine: Clone) -> None:
    mine.propose()
    mine.view()
    mine.merge(BRANCH, message="Let us do it")


def merged_by_commit_id(w: World, mine: Clone) -> None:
    made = mine.propose()
    mine.view()
    mine.merge(made)


def merged_by_commit_id_and_named_afterwards(w: World, mine: Clone) -> None:
    made = mine.propose(branch="feat")
    mine.merge(made)
    mine.run("branch", BRANCH, made)


def other_branch_merged_that_has_the_text(w: World, mine: Clone) -> None:
    made = mine.propose()
    mine.run("branch", "feature", made)
    mine.merge("feature", options=("--no-ff",))


def approved_by_our_own_merge(w: World, mine: Clone) -> None:
    mine.propose()
    mine.merge(BRANCH, message=f"Approve rule: Use X\n\nProposal: {BRANCH}")


def title_that_pretends_to_be_an_approval(w: World, mine: Clone) -> None:
    mine.propose(branch="feat")
    mine.merge("feat", message=f"Merge pull request #7 from org/feat\n\nProposal: {BRANCH}")


def symlink_in_place_of_the_text(w: World, mine: Clone) -> None:
    mine.approved()
    (mine.root / PATH).unlink()
    (mine.root / PATH).symlink_to("/etc/passwd")
    mine.commit("tidy", {}, AGENT)


def hidden_in_a_merge_of_something_else(w: World, mine: Clone) -> None:
    mine.propose(branch="feat")
    mine.merge("feat", options=("--no-ff",))


TABLE = [
    # the situation, the words in force, the level, how, and the address of who approved
    (merged_with_no_ff, "Use X", 2, "merge", "human@x"),
    (merged_and_then_work_went_on, "Use X", 2, "merge", "human@x"),
    (plainly_merged_because_proposals_start_one_behind, "Use X", 2, "merge", "human@x"),
    (fast_forwarded, None, 1, "direct", None),
    (agent_merged_its_own, "Use X", 2, "self-merge", "agent@x"),  # `distinct` refuses it, below
    (agent_merged_under_my_name, "Use X", 2, "merge", "human@x"),  # only signatures stop a forged name
    (merge_that_says_an_agent_made_it, None, 1, "self-merge", "human@x"),
    (working_alone, "Use X", 2, "self-merge", "human@x"),
    (rebased_by_an_agent_under_another_name, None, 1, "direct", None),
    (merged_on_github_then_pulled, "Use X", 2, "merge", "human@x"),
    (merged_on_gitlab, "Use X", 2, "merge", "human@x"),
    (merged_on_gitea, "Use X", 2, "merge", "human@x"),
    (squashed_on_github, "Use X", 2, "squash", "noreply@github.com"),
    (squashed_on_github_in_a_fresh_clone, "Use X", 2, "squash", "noreply@github.com"),
    (edited_in_the_browser, None, 1, "direct", None),
    (squashed_here, "Use X", 2, "squash", "human@x"),
    (squashed_here_working_alone, "Use X", 2, "self-merge", "human@x"),
    (squashed_here_alone_with_other_words, None, 1, "direct", None),
    (rebased_on_the_forge, "Use X", 2, "rebase", "human@x"),
    (rebased_on_the_forge_and_the_branch_gone, None, 1, "direct", None),
    (rebased_seen_and_then_the_branch_gone, "Use X", 2, "rebase", "human@x"),
    (cherry_picked, "Use X", 2, "rebase", "human@x"),
    (cherry_picked_with_x_working_alone, "Use X", 2, "self-merge", "human@x"),
    (pulled_with_rebase_after_approving, "Use X", 2, "rebase", "human@x"),
    (pulled_with_rebase_merges, "Use X", 2, "merge", "human@x"),
    (committed_straight_to_main, None, 1, "direct", None),
    (pushed_straight_and_pulled_with_a_merge, None, 1, "direct", None),
    (edited_after_approval, "Use X", 2, "merge", "human@x"),
    (edited_and_put_back, "Use X", 2, "merge", "human@x"),
    (changed_inside_the_merge, None, 1, "evil-merge", None),
    (approved_rule_changed_inside_the_merge_of_its_edit, "Use X", 2, "merge", "human@x"),
    (two_edits_that_merge_into_a_text_nobody_approved, "two", 2, "merge", "human@x"),
    (renamed, "Use X", 2, "merge", "human@x"),
    (moved_to_another_project, "Use X", 2, "merge", "human@x"),
    (moved_to_another_project_by_proposal, "Use X", 2, "merge", "human@x"),
    (renamed_on_main_and_edited_by_proposal, "Use Y", 2, "merge", "human@x"),
    (copied, "Use X", 2, "merge", "human@x"),
    (copied_and_changed, "Use X", 2, "merge", "human@x"),
    (smuggled, "Use X", 2, "merge", "human@x"),
    (smuggled_with_an_id_of_the_same_end, None, 1, "direct", None),
    (octopus, "Use X", 2, "merge", "human@x"),
    (octopus_that_brings_a_rule_by_the_wrong_branch, None, 1, "direct", None),
    (deleted_by_proposal, None, 2, "merge", "human@x"),
    (deleted_by_proposal_and_put_back, None, 1, "direct", None),
    (deleted_straight_from_main, "Use X", 2, "merge", "human@x"),
    (whole_project_deleted, "Use X", 2, "merge", "human@x"),
    (deleted_by_a_squashed_proposal, None, 2, "squash", "human@x"),
    (deleted_inside_the_merge_of_a_branch_that_never_had_it, "Use X", 2, "merge", "human@x"),
    (second_text_approved, "Use Y", 2, "merge", "second@x"),
    (second_text_reverted, "Use X", 2, "merge", "human@x"),
    (second_text_reverted_then_put_back_by_an_edit, "Use X", 2, "merge", "human@x"),
    (first_approval_reverted, "Use X", 2, "merge", "human@x"),
    (id_changed_in_place, "Use X", 2, "merge", "human@x"),
    (frontmatter_broken, "Use X", 2, "merge", "human@x"),
    (merged_into_another_branch_first, None, 1, "direct", None),
    (main_merged_into_the_proposal, "Use X", 2, "merge", "human@x"),
    (sync_merge_that_names_the_proposal_it_goes_into, "Use X", 2, "merge", "human@x"),
    (merged_with_words_of_my_own, "Use X", 2, "merge", "human@x"),
    (merged_by_commit_id, "Use X", 2, "merge", "human@x"),
    (merged_by_commit_id_and_named_afterwards, None, 1, "direct", None),
    (other_branch_merged_that_has_the_text, None, 1, "direct", None),
    (approved_by_our_own_merge, "Use X", 2, "merge", "human@x"),
    (title_that_pretends_to_be_an_approval, None, 1, "direct", None),
    (symlink_in_place_of_the_text, "Use X", 2, "merge", "human@x"),
    (hidden_in_a_merge_of_something_else, None, 1, "direct", None),
]


@pytest.mark.parametrize(("situation", "words", "level", "how", "by"), TABLE, ids=[row[0].__name__ for row in TABLE])
def test_the_verdict(
    tmp_path: Path, situation: Callable[[World, Clone], None], words: str | None, level: int, how: str, by: str | None
) -> None:
    w, mine = world(tmp_path)
    situation(w, mine)
    verdict = mine.verdict()
    assert verdict is not None
    evidence = verdict.evidence
    assert (mine.served(), evidence.level, evidence.how, evidence.by and evidence.by.email) == (words, level, how, by)
    assert verdict.in_force is (words is not None)


DISTINCT = [
    # the same under `approval.distinct: true`
    (merged_with_no_ff, "Use X", 2, "merge"),
    (agent_merged_its_own, None, 1, "self-merge"),
    (working_alone, None, 1, "self-merge"),
    (squashed_on_github, None, 1, "squash"),
    # nothing but a merge proves that another person took it
    (squashed_here, None, 1, "direct"),
    (squashed_here_working_alone, None, 1, "self-merge"),
    (rebased_on_the_forge, None, 1, "direct"),
    (cherry_picked, None, 1, "direct"),
    (fast_forwarded, None, 1, "direct"),
    (amended_by_the_merger, None, 1, "self-merge"),
    (born_inside_a_merge_of_the_proposal, None, 1, "self-merge"),
    (another_commit_of_the_proposal_by_the_merger, None, 1, "self-merge"),
    (merged_on_github_then_pulled, "Use X", 2, "merge"),
]


@pytest.mark.parametrize(("situation", "words", "level", "how"), DISTINCT, ids=[row[0].__name__ for row in DISTINCT])
def test_the_verdict_where_another_person_has_to_approve(
    tmp_path: Path, situation: Callable[[World, Clone], None], words: str | None, level: int, how: str
) -> None:
    w, mine = world(tmp_path)
    mine.commit("settings", {".ai-lessons/config.yaml": "format: 1\napproval:\n  distinct: true\n"})
    mine.run("push", "-q")
    situation(w, mine)
    verdict = mine.verdict()
    assert verdict is not None
    assert (mine.served(), verdict.evidence.level, verdict.evidence.how) == (words, level, how)


BESIDE = [
    # what stands on the branch without evidence: path, is there a text, how
    (merged_with_no_ff, []),
    (edited_after_approval, [(PATH, True, "direct")]),
    (edited_and_put_back, []),
    (changed_inside_the_merge, [(PATH, True, "evil-merge")]),
    (approved_rule_changed_inside_the_merge_of_its_edit, [(PATH, True, "evil-merge")]),
    (two_edits_that_merge_into_a_text_nobody_approved, [(PATH, True, "evil-merge")]),
    (renamed, []),
    (moved_to_another_project, [(ELSEWHERE, True, "direct")]),
    (moved_to_another_project_by_proposal, []),
    (copied, []),
    (copied_and_changed, [(MOVED, True, "direct")]),
    (deleted_by_proposal, []),
    (deleted_by_proposal_and_put_back, [(PATH, True, "direct")]),
    (deleted_straight_from_main, [(PATH, False, "direct")]),
    (whole_project_deleted, [(PATH, False, "direct")]),
    (first_approval_reverted, [(PATH, False, "direct")]),
    (id_changed_in_place, [(PATH, False, "direct")]),
    (deleted_inside_the_merge_of_a_branch_that_never_had_it, [(PATH, False, "direct")]),
]


@pytest.mark.parametrize(("situation", "beside"), BESIDE, ids=[row[0].__name__ for row in BESIDE])
def test_what_stands_there_without_evidence(
    tmp_path: Path, situation: Callable[[World, Clone], None], beside: list[tuple[str, bool, str]]
) -> None:
    w, mine = world(tmp_path)
    situation(w, mine)
    verdict = mine.verdict()
    assert verdict is not None
    assert [(one.path, one.blob is not None, one.evidence.how) for one in verdict.unapproved] == beside


def test_who_suggested_and_when_and_where_are_told(tmp_path: Path) -> None:
    w, mine = world(tmp_path)
    merged_on_github_then_pulled(w, mine)
    verdict = mine.verdict()
    assert verdict is not None
    evidence = verdict.evidence
    merge = mine.run("log", "--format=%H %ct", "--grep=pull request", "main").split()
    assert [person.email for person in evidence.suggested_by] == ["agent@x"]
    assert (evidence.commit, evidence.at) == (merge[0], int(merge[1]))
    assert evidence.reason == f"Merge pull request #7 from org/{BRANCH}"
    assert (verdict.path, mine.run("cat-file", "blob", verdict.blob or "")) == (PATH, text("Use X").strip())


def test_everybody_who_wrote_on_the_proposal_suggested_it(tmp_path: Path) -> None:
    _, mine = world(tmp_path)
    mine.propose()
    mine.run("switch", "-q", BRANCH)
    mine.commit("better words", {PATH: text("Use X well")}, SECOND)
    mine.run("switch", "-q", "main")
    mine.merge(BRANCH)
    verdict = mine.verdict()
    assert verdict is not None
    assert [person.email for person in verdict.evidence.suggested_by] == ["second@x", "agent@x"]


def test_the_smuggled_rule_is_not_in_force_and_says_why(tmp_path: Path) -> None:
    w, mine = world(tmp_path)
    smuggled(w, mine)
    verdict = mine.verdict(OTHER)
    assert verdict is not None
    assert not verdict.in_force
    assert "another rule" in verdict.evidence.reason


def test_both_rules_of_an_octopus_are_in_force(tmp_path: Path) -> None:
    w, mine = world(tmp_path)
    octopus(w, mine)
    assert (mine.served(), mine.served(OTHER)) == ("Use X", "Other")


def test_a_rule_without_an_id_is_the_one_at_its_place(tmp_path: Path) -> None:
    from ai_lessons.knowledge.layout import derived_id

    _, mine = world(tmp_path)
    rule = derived_id(PATH)
    mine.propose({PATH: "Use X\n"}, branch=f"rules/R-{rule[-6:]}-use-x")
    mine.merge(f"rules/R-{rule[-6:]}-use-x")
    assert mine.served(rule) == "Use X"
    mine.run("mv", PATH, MOVED)
    mine.commit("rename", {})
    assert mine.served(rule) == "Use X", "its place is its identity, so it was removed without evidence"
    assert mine.served(derived_id(MOVED)) is None


def test_other_branches_and_the_working_tree_change_nothing(tmp_path: Path) -> None:
    _, mine = world(tmp_path)
    mine.approved()
    mine.run("switch", "-q", "-c", "feature")
    mine.commit("edit", {PATH: text("Use Z")})
    mine.write(PATH, text("Use W"))
    mine.run("add", "-A")
    assert mine.served() == "Use X"


def test_nothing_on_a_proposal_branch_is_a_rule_of_the_branch(tmp_path: Path) -> None:
    _, mine = world(tmp_path)
    mine.propose()
    assert mine.verdict() is None
