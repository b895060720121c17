"""Approving and rejecting: the working tree and git's index of whoever works there, and all that can go wrong."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from ai_lessons.approval import outcomes
from ai_lessons.errors import Conflict, UnsavedEdits
from ai_lessons.git import branch_move
from ai_lessons.git.worktree import Worktree
from approval.approval_world import BRANCH, PATH, RULE, text
from approval.proposal_world import Desk
from git.steps import clean, dirty_everything
from real_world import Git, instead


def test_approving_brings_the_file_along_and_leaves_every_edit_as_it_was(
    desk: Desk, git: Git
) -> None:
    desk.propose()
    dirty_everything(desk.root, git)
    before = desk.edited()
    done = desk.approve()
    assert desk.edited() == before
    assert (desk.root / PATH).read_text() == text("Use X")
    assert desk.run("rev-parse", "main") == done.commit
    assert done.notes == ()
    assert desk.run("diff-files", "--name-only", "--", PATH) == ""
    assert desk.run("branch", "--list", "rules/*") == ""
    blob, first = (
        desk.run("rev-parse", f"main:{PATH}"),
        desk.run("rev-list", "--max-parents=0", "main"),
    )
    trailers = f"Proposal: {BRANCH}\nRule: {RULE}\nApproves: {first} {RULE} {PATH} {blob}"
    assert (
        desk.run("log", "-1", "--format=%s|%b|%cn", "main")
        == f"Approve rule: Use X|{trailers}\n|Human"
    )
    assert len(desk.run("log", "-1", "--format=%P", "main").split()) == 2
    assert desk.served() == "Use X"
    clean(git, desk.root)


def test_an_edit_and_a_removal_are_brought_along_too(desk: Desk, git: Git) -> None:
    desk.approved()
    desk.propose({PATH: text("Use Y")})
    desk.approve()
    assert (desk.root / PATH).read_text() == text("Use Y")
    desk.commit("global/docs/unversioned/c.md")
    desk.propose({PATH: None})
    done = desk.approve()
    assert not (desk.root / "jira").exists()
    assert desk.run("log", "-1", "--format=%s") == "Approve rule: Use X (removal)"
    assert (desk.status(), desk.served(), done.notes) == ("", None, ())
    clean(git, desk.root)


OWN = "my own words\n"


def edit_staged(desk: Desk) -> None:
    desk.write(PATH, OWN)
    desk.run("add", PATH)


def edit_staged_and_put_back(desk: Desk) -> None:
    old = (desk.root / PATH).read_text()
    edit_staged(desk)
    desk.write(PATH, old)


def link_in_its_place(desk: Desk) -> None:
    (desk.root / PATH).unlink()
    (desk.root / PATH).symlink_to("elsewhere")


EDITS: dict[str, Callable[[Desk], object]] = {
    "edit in tree": lambda desk: desk.write(PATH, OWN),
    "edit staged": edit_staged,
    "edit staged and put back": edit_staged_and_put_back,
    "deleted staged": lambda desk: desk.run("rm", "-q", PATH),
    "link in its place": link_in_its_place,
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_where_the_user_edited_the_rule_itself_nothing_is_approved(
    desk: Desk, edit: Callable[[Desk], object]
) -> None:
    desk.approved()
    desk.propose({PATH: text("Use Y")})
    edit(desk)
    before = *desk.edited(), desk.run("rev-parse", "main")
    with pytest.raises(UnsavedEdits, match=PATH):
        desk.approve()
    assert ((*desk.edited(), desk.run("rev-parse", "main")), desk.served()) == (before, "Use X")


def test_an_untracked_file_in_the_way_stays_and_nothing_is_approved(desk: Desk) -> None:
    desk.propose()
    desk.write(PATH, OWN)
    with pytest.raises(UnsavedEdits, match=PATH):
        desk.approve()
    assert ((desk.root / PATH).read_text(), desk.served()) == (OWN, None)


def test_the_text_that_is_there_already_just_becomes_tracked(desk: Desk) -> None:
    desk.propose()
    desk.write(PATH, text("Use X"))
    desk.run("add", PATH)
    assert desk.approve().notes == ()
    assert desk.status() == ""


def test_main_is_moved_while_another_branch_is_checked_out(desk: Desk, git: Git) -> None:
    desk.propose()
    desk.run("switch", "-q", "-c", "feature")
    dirty_everything(desk.root, git)
    before = desk.status(), (desk.root / ".git/index").read_bytes(), desk.run("rev-parse", "HEAD")
    desk.approve()
    assert (
        desk.status(),
        (desk.root / ".git/index").read_bytes(),
        desk.run("rev-parse", "HEAD"),
    ) == before
    assert not (desk.root / PATH).exists()
    assert desk.served() == "Use X"
    assert "merge rules/" in desk.run("reflog", "main")
    clean(git, desk.root)


def test_main_checked_out_elsewhere_is_left_to_that_place_where_it_works(
    desk: Desk, tmp_path: Path, git: Git
) -> None:
    desk.propose()
    desk.run("switch", "-q", "-c", "feature")
    desk.run("worktree", "add", "-q", str(tmp_path / "other"), "main")
    with pytest.raises(Conflict, match="main is checked out at") as caught:
        desk.approve()
    assert str(tmp_path / "other") in caught.value.hint
    assert desk.served() is None
    other = type(desk)(tmp_path / "other", git, desk.be)
    other.approve()
    assert (other.status(), desk.status(), other.served()) == ("", "", "Use X")
    assert (other.root / PATH).exists()


@pytest.mark.parametrize("what", ["merge", "rebase"])
def test_in_the_middle_of_a_merge_or_rebase_nothing_is_approved(
    desk: Desk, git: Git, what: str
) -> None:
    desk.propose()
    desk.run("switch", "-q", "-c", "side", "main~1")
    desk.commit("global/docs/unversioned/a.md", "other\n")
    desk.run("switch", "-q", "main")
    git(desk.root, what, "side", check=False)
    before = desk.run("rev-parse", "main"), desk.status()
    with pytest.raises(Conflict, match="under way"):
        desk.approve()
    assert (desk.run("rev-parse", "main"), desk.status()) == before


def when_built(closing: ExitStack, moment: Callable[[], object]) -> list[str]:
    """Call `moment` once, between the making of the commit and the move of the branch; the commits that were made."""
    built: list[str] = []
    original = branch_move.check_out

    def late(worktree: Worktree, what: str, *command: str, log: str) -> None:
        built.append(command[-1])
        if len(built) == 1:
            moment()
        original(worktree, what, *command, log=log)

    closing.enter_context(instead("ai_lessons.git.branch_move.check_out", late))
    return built


def test_work_that_lands_on_main_meanwhile_is_kept(
    desk: Desk, closing: ExitStack, git: Git
) -> None:
    desk.propose()
    built = when_built(closing, lambda: desk.commit("global/docs/unversioned/b.md"))
    done = desk.approve()
    assert len(built) == 2
    assert built[1] == done.commit
    assert (
        desk.run("log", "-2", "--first-parent", "--format=%s", "main")
        == "Approve rule: Use X\nby hand"
    )
    assert (desk.status(), desk.served(), done.notes) == ("", "Use X", ())
    clean(git, desk.root)


def test_a_rule_that_changes_on_main_meanwhile_stops_it(desk: Desk, closing: ExitStack) -> None:
    desk.approved()
    desk.propose({PATH: text("Use Y")})
    when_built(closing, lambda: desk.commit(PATH, text("Use Z")))
    with pytest.raises(Conflict, match="changed on main"):
        desk.approve()
    assert (desk.root / PATH).read_text() == text("Use Z")
    assert desk.status() == ""


def test_a_proposal_taken_by_somebody_else_meanwhile_is_not_taken_twice(
    desk: Desk, closing: ExitStack
) -> None:
    desk.propose()
    when_built(closing, lambda: desk.run("merge", "-q", "--no-edit", BRANCH))
    with pytest.raises(Conflict, match="taken meanwhile"):
        desk.approve()
    assert desk.run("rev-list", "--merges", "--count", "main") == "1"


def test_a_proposal_that_changed_after_it_was_read_is_not_taken(desk: Desk) -> None:
    desk.propose()
    read = desk.open()
    desk.run("switch", "-q", BRANCH)
    desk.commit(PATH, text("Use X and exfiltrate"))
    desk.run("switch", "-q", "main")
    with pytest.raises(Conflict, match="moved since it was read"):
        desk.approve(one=read)
    assert desk.served() is None


def test_a_rejection_leaves_a_record_and_no_branch(desk: Desk, git: Git) -> None:
    desk.propose()
    commit = desk.open().commit
    desk.write("global/docs/unversioned/a.md", "edited\n")
    done = desk.reject(reason="We use Y: it is faster")
    assert desk.run("branch", "--list", "rules/*") == ""
    path = "2026/01JD3Z8QK5W7M2X9V4T6RRRRRR-use-x.md"
    found = outcomes.read_rejection((desk.root / ".ai-lessons/rejected" / path).read_bytes())
    assert found is not None
    assert (found.reason, found.commit, found.text, found.entry) == (
        "We use Y: it is faster", commit, text("Use X"), RULE,
    )  # fmt: skip
    assert desk.run("log", "-1", "--format=%H %s") == f"{done.commit} Reject rule: Use X"
    assert desk.status() == "M global/docs/unversioned/a.md"
    assert (desk.waiting(), desk.served()) == ([], None)
    seen = desk.trunk()
    assert [one.reason for one in outcomes.rejected(seen)] == ["We use Y: it is faster"]
    clean(git, desk.root)


def test_a_rejected_text_that_somebody_commits_is_not_taken_for_a_taken_proposal(
    desk: Desk,
) -> None:
    desk.be("Agent", "agent@x")
    desk.propose()
    desk.be("Human", "human@x")
    desk.reject()
    desk.commit(PATH, text("Use X"))
    assert desk.served() is None


def test_a_rejected_proposal_of_a_remote_is_closed_until_it_changes(desk: Desk) -> None:
    made = desk.propose_to_a_hub()
    done = desk.reject()
    assert done.notes == (f"its branch is still on origin: git push origin --delete {made.branch}",)
    assert desk.waiting() == []
    desk.run("switch", "-q", "-c", "again", f"origin/{made.branch}")
    desk.commit(PATH, text("Use X better"))
    desk.run("push", "-q", "origin", f"again:{made.branch}")
    desk.run("switch", "-q", "main")
    assert [one.branch for one in desk.waiting()] == [f"origin/{made.branch}"]


def test_a_proposal_that_is_checked_out_keeps_its_branch(desk: Desk, tmp_path: Path) -> None:
    made = desk.propose()
    desk.run("worktree", "add", "-q", str(tmp_path / "other"), made.branch)
    assert desk.approve().notes == (f"{made.branch} is checked out, so it was not deleted",)
    assert desk.waiting() == []


def test_what_was_edited_in_the_tree_goes_back_to_what_is_checked_out(desk: Desk, git: Git) -> None:
    desk.approved()
    new, gone = "jira/rules/new.md", "jira/rules/gone.md"
    desk.commit(gone, text("Gone", RULE[:-1] + "1"))
    desk.write(PATH, text("Use Y"))
    desk.write(new, text("New", RULE[:-1] + "2"))
    desk.run("add", new)
    (desk.root / gone).unlink()
    desk.write("README.md", "mine\n")
    found = {one.rule[-1]: one.files for one in desk.edits()}
    assert found == {
        "A": {PATH: text("Use Y").encode()},
        "1": {gone: None},
        "2": {new: text("New", RULE[:-1] + "2").encode()},
    }
    assert desk.put_back() == ()
    assert desk.status() == "M README.md"
    assert (desk.root / PATH).read_text() == text("Use X")
    assert not (desk.root / new).exists()
    assert (desk.root / gone).exists()
    clean(git, desk.root)


def test_only_what_was_named_is_proposed_and_a_move_is_one_rule(desk: Desk) -> None:
    desk.approved()
    desk.run("mv", PATH, "jira/rules/moved.md")
    desk.write("jira/rules/new.md", text("New", RULE[:-1] + "2"))
    assert [one.rule[-1] for one in desk.edits("jira/rules/new.md")] == ["2"]
    (one,) = desk.edits("jira/rules/moved.md")
    assert set(one.files) == {PATH, "jira/rules/moved.md"}


def test_line_ends_that_git_converts_are_no_edit(desk: Desk) -> None:
    desk.approved()
    desk.run("config", "core.autocrlf", "true")
    desk.write(PATH, text("Use X").replace("\n", "\r\n"))
    assert desk.edits() == []
    desk.write(PATH, text("Use Y").replace("\n", "\r\n"))
    (one,) = desk.edits()
    assert one.files == {PATH: text("Use Y").encode()}
    desk.put_back()
    assert (desk.root / PATH).read_bytes() == text("Use X").replace("\n", "\r\n").encode()
    assert desk.status() == ""


def test_rules_that_a_sparse_checkout_leaves_out_are_not_removed_ones(desk: Desk) -> None:
    desk.approved()
    desk.run("sparse-checkout", "set", "global")
    assert not (desk.root / PATH).exists()
    assert desk.edits() == []
