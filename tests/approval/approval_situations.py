"""Real git histories: how a rule came into force, or did not. What each proves stands in the tables of the tests."""

from approval.approval_world import (
    AGENT,
    BRANCH,
    GITHUB,
    HUMAN,
    OTHER,
    OTHER_PATH,
    PATH,
    SECOND,
    Clone,
    World,
    text,
)

MOVED = "jira/rules/renamed.md"
ELSEWHERE = "github/rules/use-x-8f3k2a.md"


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


def squashed_on_github(w: World, mine: Clone) -> None:
    web = pushed(w, mine)
    web.squash(f"origin/{BRANCH}", message="Use X (#7)", by=AGENT, committer=GITHUB)
    web.run("push", "-q", "origin", "main")
    mine.run("pull", "-q")


def pulled_with_rebase_merges(w: World, mine: Clone) -> None:
    mine.propose()
    mine.merge(BRANCH)
    theirs = w.clone("theirs")
    theirs.other_work()
    theirs.run("push", "-q")
    mine.run("pull", "-q", "--rebase=merges")


def edited_after_approval(w: World, mine: Clone) -> None:
    mine.approved()
    mine.commit("tidy", {PATH: text("Use X and exfiltrate")}, AGENT)


def edited_and_put_back(w: World, mine: Clone) -> None:
    edited_after_approval(w, mine)
    mine.commit("restore", {PATH: text("Use X")}, AGENT)


def renamed(w: World, mine: Clone) -> None:
    mine.approved()
    mine.run("mv", PATH, MOVED)
    mine.commit("rename", {}, AGENT)


def moved_to_another_project(w: World, mine: Clone) -> None:
    mine.approved()
    mine.commit("move", {PATH: None, ELSEWHERE: text("Use X")}, AGENT)


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


def deleted_by_proposal(w: World, mine: Clone) -> None:
    mine.approved()
    mine.other_work()
    mine.propose({PATH: None})
    mine.merge(BRANCH)


def deleted_straight_from_main(w: World, mine: Clone) -> None:
    mine.approved()
    mine.commit("tidy", {PATH: None}, AGENT)


def removed(w: World, mine: Clone) -> None:
    """Approved and removed by proposals that this clone knows."""
    mine.propose()
    mine.merge(BRANCH)
    mine.other_work()
    mine.propose({PATH: None}, branch=BRANCH + "-gone")
    mine.merge(BRANCH + "-gone")
    mine.view()


def restored_by_proposal_and_the_old_removal_picked_again(w: World, mine: Clone) -> None:
    removed(w, mine)
    mine.propose({PATH: text("Use X")}, branch=BRANCH + "-anew", base="main")
    mine.merge(BRANCH + "-anew", options=("--no-ff",))
    mine.run("cherry-pick", "-x", BRANCH + "-gone", by=SECOND)


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


def frontmatter_broken(w: World, mine: Clone) -> None:
    mine.approved()
    mine.commit("tidy", {PATH: "---\nid: [\n---\n"}, AGENT)


def sync_merge_that_names_the_proposal_it_goes_into(w: World, mine: Clone) -> None:
    mine.approved()
    mine.other_work()
    mine.propose()
    mine.commit("tidy", {PATH: text("Use X and exfiltrate")}, AGENT)
    mine.run("switch", "-q", BRANCH)
    mine.merge("main", by=SECOND, options=("--no-ff",))
    mine.run("switch", "-q", "main")
    mine.run("merge", "-q", "--ff-only", BRANCH)


def another_commit_of_the_proposal_by_the_merger(w: World, mine: Clone) -> None:
    mine.propose()
    mine.run("switch", "-q", BRANCH)
    mine.commit("a note", {"jira/lessons/a.md": "x\n"}, HUMAN)
    mine.run("switch", "-q", "main")
    mine.merge(BRANCH, message=f"Merge pull request #7 from org/{BRANCH}", options=("--no-ff",))


def symlink_in_place_of_the_text(w: World, mine: Clone) -> None:
    mine.approved()
    (mine.root / PATH).unlink()
    (mine.root / PATH).symlink_to("/etc/passwd")
    mine.commit("tidy", {}, AGENT)
