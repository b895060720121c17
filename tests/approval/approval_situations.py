"""Real git histories: how a rule came into force, or did not. What each proves stands in the tables of the tests."""

from __future__ import annotations

from approval.approval_world import (
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
)

MOVED = "jira/rules/renamed.md"
ELSEWHERE = "github/rules/use-x-8f3k2a.md"


def merged_with_no_ff(w: World, mine: Clone) -> None:
    mine.propose(base="main")
    mine.merge(BRANCH, options=("--no-ff",))


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


def merged_on_gitea(w: World, mine: Clone) -> None:
    web = pushed(w, mine)
    web.merge(f"origin/{BRANCH}", message=f"Merge pull request 'Use X' (#7) from {BRANCH} into main")
    web.run("push", "-q", "origin", "main")
    mine.run("pull", "-q")


def squashed_on_github(w: World, mine: Clone) -> None:
    web = pushed(w, mine)
    web.squash(f"origin/{BRANCH}", message="Use X (#7)", by=AGENT, committer=GITHUB)
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
    mine.squash(message="Take the rule")


def pulled_with_rebase_merges(w: World, mine: Clone) -> None:
    mine.propose()
    mine.merge(BRANCH)
    theirs = w.clone("theirs")
    theirs.other_work()
    theirs.run("push", "-q")
    mine.run("pull", "-q", "--rebase=merges")


def committed_straight_to_main(w: World, mine: Clone) -> None:
    mine.commit("tidy", {PATH: text("Use X")}, AGENT)


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


def moved_by_proposal_and_back_by_a_commit(w: World, mine: Clone) -> None:
    moved_to_another_project_by_proposal(w, mine)
    mine.commit("back", {ELSEWHERE: None, PATH: text("Use X")}, SECOND)


def removed(w: World, mine: Clone) -> None:
    """Approved and removed by proposals that this clone knows."""
    mine.propose()
    mine.merge(BRANCH)
    mine.other_work()
    mine.propose({PATH: None}, branch=BRANCH + "-gone")
    mine.merge(BRANCH + "-gone")
    mine.view()


def removal_reverted_by_somebody_else(w: World, mine: Clone) -> None:
    removed(w, mine)
    mine.run("revert", "--no-edit", "-m", "1", "HEAD", by=SECOND)


def removal_reverted_and_that_reverted_and_so_on(w: World, mine: Clone) -> None:
    removal_reverted_by_somebody_else(w, mine)
    mine.run("revert", "--no-edit", "HEAD", by=HUMAN)
    mine.run("revert", "--no-edit", "HEAD", by=SECOND)


def removed_and_the_proposal_picked_again(w: World, mine: Clone) -> None:
    removed(w, mine)
    mine.run("cherry-pick", "-x", BRANCH, by=SECOND)


def removed_and_put_back_in_the_browser(w: World, mine: Clone) -> None:
    removed(w, mine)
    mine.commit("Update use-x.md", {PATH: text("Use X")}, SECOND, GITHUB)


def removed_and_the_old_branch_merged_again(w: World, mine: Clone) -> None:
    removed(w, mine)
    mine.write(PATH, text("Use X"))
    mine.run("add", "-A")
    tree, tips = mine.run("write-tree"), ("-p", mine.head(), "-p", mine.head(BRANCH))
    made = mine.run("commit-tree", tree, *tips, "-m", f"Merge branch '{BRANCH}'", by=SECOND)
    mine.run("reset", "-q", "--hard", made)


def restored_by_proposal_and_the_old_removal_picked_again(w: World, mine: Clone) -> None:
    removed(w, mine)
    mine.propose({PATH: text("Use X")}, branch=BRANCH + "-anew", base="main")
    mine.merge(BRANCH + "-anew", options=("--no-ff",))
    mine.run("cherry-pick", "-x", BRANCH + "-gone", by=SECOND)


def merged_by_who_updated_the_branch(w: World, mine: Clone) -> None:
    mine.propose()
    mine.commit("tidy", {OTHER_PATH: text("straight", OTHER)}, AGENT)
    mine.run("switch", "-q", BRANCH)
    mine.merge("main", by=HUMAN)
    mine.run("switch", "-q", "main")
    mine.merge(BRANCH, options=("--no-ff",))


def merged_by_who_changed_the_text_while_updating(w: World, mine: Clone) -> None:
    mine.propose()
    mine.other_work()
    mine.run("switch", "-q", BRANCH)
    mine.run("merge", "-q", "--no-ff", "--no-commit", "main")
    mine.commit("Merge branch 'main'", {PATH: text("Use X and mine")}, HUMAN)
    mine.run("switch", "-q", "main")
    mine.merge(BRANCH, options=("--no-ff",))


def _smuggled_by_a_merge_of(mine: Clone, branch: str, path: str = PATH) -> None:
    """The rule that SECOND put straight on main is taken off, and comes back with the merge of somebody's branch."""
    mine.commit("oops", {PATH: None}, SECOND)
    mine.run("branch", BRANCH, branch)
    mine.run("merge", "-q", "--no-ff", "--no-commit", BRANCH, ok=False)
    mine.run("checkout", BRANCH, "--", path)
    mine.commit(f"Merge branch '{BRANCH}'", {}, SECOND)


def a_side_that_never_touched_the_rule(w: World, mine: Clone) -> None:
    mine.commit("tidy", {PATH: text("Use X")}, SECOND)
    mine.propose({"jira/lessons/b.md": "b\n"}, branch="draft", by=HUMAN, base="main")
    _smuggled_by_a_merge_of(mine, "draft")


def a_side_that_only_was_updated_with_it(w: World, mine: Clone) -> None:
    mine.propose({"jira/lessons/b.md": "b\n"}, branch="draft", by=HUMAN, base="main")
    mine.commit("tidy", {PATH: text("Use X")}, SECOND)
    mine.run("switch", "-q", "draft")
    mine.merge("main", by=HUMAN)
    mine.run("switch", "-q", "main")
    _smuggled_by_a_merge_of(mine, "draft")


def a_side_that_changed_it_and_took_that_back(w: World, mine: Clone) -> None:
    mine.commit("tidy", {PATH: text("Use X")}, SECOND)
    mine.propose({PATH: text("Use X?")}, branch="draft", by=HUMAN, base="main")
    mine.run("switch", "-q", "draft")
    mine.run("revert", "--no-edit", "HEAD", by=HUMAN)
    mine.run("switch", "-q", "main")
    _smuggled_by_a_merge_of(mine, "draft")


def a_side_that_only_renamed_it(w: World, mine: Clone) -> None:
    mine.commit("tidy", {PATH: text("Use X")}, SECOND)
    mine.propose({PATH: None, MOVED: text("Use X")}, branch="draft", by=HUMAN, base="main")
    _smuggled_by_a_merge_of(mine, "draft", MOVED)


def removed_and_proposed_anew_on_the_old_branch(w: World, mine: Clone) -> None:
    removed(w, mine)
    mine.run("switch", "-q", BRANCH)
    mine.merge("main", by=AGENT, options=("--no-ff",))
    mine.commit("once more", {PATH: text("Use X")}, AGENT)
    mine.run("switch", "-q", "main")
    mine.merge(BRANCH, by=SECOND, options=("--no-ff",))


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
    mine.squash(message="Take the rule\n\nAgent: claude")


def merged_with_words_of_my_own(w: World, mine: Clone) -> None:
    mine.propose()
    mine.view()
    mine.merge(BRANCH, message="Let us do it")


def other_branch_merged_that_has_the_text(w: World, mine: Clone) -> None:
    made = mine.propose()
    mine.run("branch", "feature", made)
    mine.merge("feature", options=("--no-ff",))


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
