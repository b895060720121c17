"""Making and finding proposals: what they leave alone, what git makes of them, when they are closed."""

from pathlib import Path

import pytest

from ai_lessons.errors import Conflict, Refused
from approval.approval_world import BRANCH, OTHER, OTHER_PATH, PATH, RULE, text
from approval.proposal_world import STEM, Desk
from git.steps import clean, dirty_everything
from real_world import Git


def everything(desk: Desk) -> dict[str, object]:
    """All that a proposal must not touch."""
    git_dir = desk.root / ".git"
    return {
        "status": desk.status(),
        "files": {
            p: p.read_bytes() for p in desk.root.rglob("*") if p.is_file() and ".git" not in p.parts
        },
        "index": (git_dir / "index").read_bytes(),
        "HEAD": (git_dir / "HEAD").read_text(),
        "HEAD log": (git_dir / "logs" / "HEAD").read_text(),
        "main": desk.run("rev-parse", "main"),
    }


def test_a_proposal_leaves_working_tree_index_and_head_alone(desk: Desk, git: Git) -> None:
    dirty_everything(desk.root, git)
    desk.commit("global/docs/unversioned/b.md")
    before = everything(desk)
    made = desk.propose()
    assert everything(desk) == before
    assert made.branch == f"rules/{STEM}"
    assert desk.run("rev-parse", made.branch) == made.commit
    shown = desk.run("show", "--format=%s%n%an", "--name-status", made.branch).split("\n\n")
    assert shown == ["Propose rule: Use X\nHuman", f"A\t{PATH}"]
    assert desk.run("show", f"{made.branch}:{PATH}") == text("Use X").strip()
    clean(git, desk.root)


def test_it_is_based_one_commit_behind_so_that_a_plain_merge_makes_a_merge(desk: Desk) -> None:
    made = desk.propose()
    assert desk.run("rev-parse", f"{made.branch}~1") == desk.run("rev-parse", "main~1")
    assert made.notes == ()
    desk.run("merge", "-q", "--no-edit", made.branch)
    assert len(desk.run("rev-list", "--parents", "-1", "main").split()) == 3
    assert desk.served() == "Use X"


def test_on_a_single_commit_it_says_how_to_merge(git_repo: Path, git: Git, desk: Desk) -> None:
    desk.run("reset", "-q", "--hard", "main~1")
    made = desk.propose()
    assert "--no-ff" in made.notes[0]
    desk.run("merge", "-q", "--no-ff", "--no-edit", made.branch)
    assert desk.served() == "Use X"


def test_an_edit_is_based_where_the_text_is_what_it_is_now(desk: Desk) -> None:
    desk.be("Agent", "agent@x")
    desk.propose()
    desk.be("Human", "human@x")
    desk.approve()  # main is at the merge now, and its first parent does not have the rule
    made = desk.propose({PATH: text("Use Y")})
    desk.run("merge", "-q", "--no-edit", made.branch)
    assert desk.served() == "Use Y"


@pytest.mark.parametrize("way", ["merge", "no-ff", "squash", "approve"])
def test_every_way_to_take_a_proposal_closes_it_and_puts_it_in_force_if_it_is_known_for_one(
    desk: Desk, way: str
) -> None:
    desk.be("Agent", "agent@x")
    made = desk.propose(agent="some agent")
    desk.be("Human", "human@x")
    if way == "squash":
        desk.run("merge", "-q", "--squash", made.branch)
        desk.run("commit", "-qm", "Use X (#7)")
    elif way == "approve":
        desk.approve()
    else:
        desk.run("merge", "-q", "--no-edit", *(["--no-ff"] if way == "no-ff" else []), made.branch)
    assert desk.served() == (None if way == "squash" else "Use X")
    assert desk.waiting() == []
    verdict = desk.verdict()
    assert verdict is not None
    if way != "squash":
        assert verdict.evidence.by is not None
        assert (verdict.evidence.by.email, verdict.evidence.suggested_by[0].email) == (
            "human@x",
            "agent@x",
        )


def test_a_branch_name_that_is_taken_gets_a_number(desk: Desk) -> None:
    assert [desk.propose().branch, desk.propose({PATH: text("Use Y")}).branch] == [
        BRANCH,
        f"{BRANCH}-2",
    ]
    faults = [one.faults for one in desk.waiting()]
    assert faults == [
        (f"{BRANCH}{end} proposes something else for this rule",) for end in ("-2", "")
    ]


def test_of_two_proposals_for_one_rule_the_second_cannot_follow_the_first(desk: Desk) -> None:
    desk.approved()
    one = desk.propose({PATH: text("Use Y")})
    two = desk.propose({PATH: text("Use Z")})
    desk.approve(one.branch)
    with pytest.raises(Conflict, match="changed on main since it was proposed"):
        desk.approve(two.branch)
    assert desk.served() == "Use Y"


def test_two_new_texts_of_one_rule_at_two_places_are_not_both_taken(desk: Desk) -> None:
    one = desk.propose()
    two = desk.propose({"jira/rules/again-8f3k2a.md": text("Use Z")})
    desk.approve(one.branch)
    with pytest.raises(Conflict, match=f"stands at {PATH}"):
        desk.approve(two.branch)


def test_a_proposal_with_other_files_is_named_and_refused(desk: Desk) -> None:
    desk.propose({PATH: text("Use X"), OTHER_PATH: text("smuggled", OTHER), "README.md": "other\n"})
    assert sorted(desk.open().foreign) == ["README.md", OTHER_PATH]
    with pytest.raises(Refused, match="also changes"):
        desk.approve()
    assert desk.verdict() is None


def test_a_text_that_takes_another_rules_id_is_no_edit_of_that_rule(desk: Desk) -> None:
    desk.approved()
    desk.propose({PATH: text("Use X", OTHER)}, stem="R-ZZZZZZ-x")
    assert desk.waiting() == []
    desk.propose({PATH: text("Use X", OTHER), OTHER_PATH: text("Use X", OTHER)}, stem="R-ZZZZZZ-y")
    assert desk.open().foreign == (PATH,)


def test_a_branch_that_does_not_name_its_rule_says_how_to_rename_it(desk: Desk) -> None:
    desk.propose(stem="some-words")
    assert desk.open().faults == (
        f"the branch does not name its rule: git branch -m rules/some-words rules/R-{RULE[-6:]}",
    )
    desk.run("branch", "-m", "rules/some-words", f"rules/R-{RULE[-6:]}")
    desk.approve()
    assert desk.served() == "Use X"


def test_a_link_in_place_of_the_text_is_a_fault(desk: Desk) -> None:
    desk.approved()
    desk.run("switch", "-q", "-c", BRANCH, "main~1")
    (desk.root / PATH).unlink()
    (desk.root / PATH).symlink_to("/etc/passwd")
    desk.run("add", "-A")
    desk.run("commit", "-qm", "x")
    desk.run("switch", "-q", "main")
    with pytest.raises(Conflict, match="not a plain file"):
        desk.approve()


def test_a_branch_from_nowhere_is_a_fault(desk: Desk) -> None:
    desk.run("switch", "-q", "--orphan", BRANCH)
    desk.commit(PATH, text("Use X"))
    desk.run("switch", "-q", "main")
    with pytest.raises(Conflict, match="no commit in common"):
        desk.approve()


def test_work_on_main_and_merges_of_main_do_not_blur_a_proposal(desk: Desk) -> None:
    made = desk.propose()
    desk.commit("global/docs/unversioned/b.md")
    desk.run("switch", "-q", made.branch)
    desk.run("merge", "-q", "--no-edit", "main")
    desk.run("switch", "-q", "main")
    desk.commit("global/docs/unversioned/c.md")
    assert [piece.path for piece in desk.open().pieces] == [PATH]
    desk.approve()
    assert desk.served() == "Use X"


@pytest.mark.parametrize("others", [12, 11], ids=["one second", "a slow clock"])
def test_where_a_proposal_left_main_does_not_hang_on_clocks(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, others: int
) -> None:
    def commit(path: str, words: str, hour: int) -> None:
        monkeypatch.setenv("GIT_COMMITTER_DATE", f"2026-01-01T{hour}:00:00Z")
        desk.commit(path, words)

    for number in range(
        8
    ):  # commits of one second have no order but that of their ids, which are as good as random
        branch = f"rules/R-8F3K2A-use-{number}"
        commit("global/docs/unversioned/main.md", f"{number}\n", 12)
        desk.run("switch", "-qc", branch)
        commit(PATH, text(f"Use {number}"), 12)
        desk.run("switch", "-q", "main")
        for words in "ab":
            commit("global/docs/unversioned/others.md", f"{number}{words}\n", others)
        desk.run("switch", "-q", branch)
        desk.run("merge", "-q", "--no-edit", "main")
        desk.run("switch", "-q", "main")
        commit("global/docs/unversioned/later.md", f"{number}\n", 12)
        assert desk.open(branch).foreign == ()


def test_a_branch_of_other_things_is_no_proposal(desk: Desk) -> None:
    desk.propose({"global/docs/unversioned/new.md": "x\n"})
    assert desk.waiting() == []


def test_a_branch_called_rules_is_in_the_way(desk: Desk) -> None:
    desk.run("branch", "rules")
    with pytest.raises(Conflict, match="a branch called rules"):
        desk.propose()


def test_without_an_identity_nothing_is_proposed(
    desk: Desk, hermetic: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.delenv(f"GIT_{role}_NAME")
        monkeypatch.delenv(f"GIT_{role}_EMAIL")
    (hermetic / ".gitconfig").write_text("[user]\n\tuseConfigOnly = true\n")
    with pytest.raises(Refused, match="who you are"):
        desk.propose()
    assert desk.run("branch", "--list", "rules/*") == ""


def test_remote_proposals_are_found_and_told_once(desk: Desk) -> None:
    made = desk.propose_to_a_hub()
    assert [(one.branch, one.remote) for one in desk.waiting()] == [(made.branch, False)]
    desk.run("branch", "-D", made.branch)
    assert [(one.branch, one.remote) for one in desk.waiting()] == [(f"origin/{made.branch}", True)]
    done = desk.approve()
    assert done.notes == (f"its branch is still on origin: git push origin --delete {made.branch}",)
    assert (desk.served(), desk.waiting()) == ("Use X", [])


def test_packed_and_many_proposals_are_found(desk: Desk) -> None:
    for number in range(5):
        rule = f"{RULE[:-1]}{number}"
        desk.propose(
            {f"jira/rules/{number}.md": text(f"Use {number}", rule)}, stem=f"R-8F3K2{number}-x"
        )
    desk.run("pack-refs", "--all")
    desk.run("gc", "-q")
    assert len(desk.waiting()) == 5
    desk.approve("R-8F3K23-x")
    assert len(desk.waiting()) == 4
    assert desk.run("branch", "--list", "rules/R-8F3K23*") == ""
