"""What real git histories prove about a rule, beside what `histories/` holds: level, how, by whom, what waits."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ai_lessons.model.approval import Verdict
from ai_lessons.model.layout import derived_id
from approval import approval_situations as at
from approval.approval_world import BRANCH, PATH, SECOND, Clone, World, text, world

TABLE = [
    # the situation, the words in force, the level, how, and the address of who approved
    (at.merged_on_github_then_pulled, "Use X", 2, "merge", "human@x"),
    (at.squashed_on_github, "Use X", 2, "squash", "noreply@github.com"),
    (at.pulled_with_rebase_merges, "Use X", 2, "merge", "human@x"),
    (at.renamed_on_main_and_edited_by_proposal, "Use Y", 2, "merge", "human@x"),
    (at.copied, "Use X", 2, "merge", "human@x"),
    # its side holds a merge of main, too, so it has to be a pull request, or approve-rule
    (at.removed_and_proposed_anew_on_the_old_branch, None, 1, "direct", None),
    (at.restored_by_proposal_and_the_old_removal_picked_again, "Use X", 2, "merge", "human@x"),
    (at.frontmatter_broken, "Use X", 2, "merge", "human@x"),
    (at.sync_merge_that_names_the_proposal_it_goes_into, "Use X", 2, "merge", "human@x"),
    (at.symlink_in_place_of_the_text, "Use X", 2, "merge", "human@x"),
]


def judged(clone: Clone) -> Verdict:
    verdict = clone.verdict()
    assert verdict is not None
    return verdict


@pytest.mark.parametrize(
    ("situation", "words", "level", "how", "by"), TABLE, ids=[row[0].__name__ for row in TABLE]
)
def test_the_verdict_on_a_rule_after_a_history(
    tmp_path: Path,
    situation: Callable[[World, Clone], None],
    words: str | None,
    level: int,
    how: str,
    by: str | None,
) -> None:
    w, mine = world(tmp_path)
    situation(w, mine)
    verdict = judged(mine)
    evidence = verdict.evidence
    assert (mine.served(), evidence.level, evidence.how, evidence.by and evidence.by.email) == (
        words,
        level,
        how,
        by,
    )
    assert verdict.in_force is (words is not None)


DISTINCT = [
    # the same under `approval.distinct: true`
    (at.squashed_on_github, None, 1, "direct"),
    # nothing but a merge proves that another person took it
    (at.another_commit_of_the_proposal_by_the_merger, "Use X", 2, "merge"),
    (at.merged_on_github_then_pulled, "Use X", 2, "merge"),
    (at.merged_by_who_changed_the_text_while_updating, None, 1, "direct"),
    (at.a_side_that_changed_it_and_took_that_back, None, 1, "direct"),
    (at.a_side_that_only_renamed_it, None, 1, "direct"),
]


@pytest.mark.parametrize(
    ("situation", "words", "level", "how"), DISTINCT, ids=[row[0].__name__ for row in DISTINCT]
)
def test_the_verdict_where_another_person_has_to_approve(
    tmp_path: Path,
    situation: Callable[[World, Clone], None],
    words: str | None,
    level: int,
    how: str,
) -> None:
    w, mine = world(tmp_path)
    mine.commit("settings", {".ai-lessons/config.yaml": "format: 1\napproval:\n  distinct: true\n"})
    mine.run("push", "-q")
    situation(w, mine)
    verdict = judged(mine)
    assert (mine.served(), verdict.evidence.level, verdict.evidence.how) == (words, level, how)


BESIDE = [
    # what stands on the branch without evidence: path, is there a text, how
    (at.edited_after_approval, [(PATH, True, "direct")]),
    (at.edited_and_put_back, []),
    (at.renamed, []),
    (at.moved_to_another_project, [(at.ELSEWHERE, True, "direct")]),
    (at.copied_and_changed, [(at.MOVED, True, "direct")]),
    (at.deleted_by_proposal, []),
    (at.deleted_straight_from_main, [(PATH, False, "direct")]),
]


@pytest.mark.parametrize(("situation", "beside"), BESIDE, ids=[row[0].__name__ for row in BESIDE])
def test_what_stands_there_without_evidence(
    tmp_path: Path, situation: Callable[[World, Clone], None], beside: list[tuple[str, bool, str]]
) -> None:
    w, mine = world(tmp_path)
    situation(w, mine)
    verdict = judged(mine)
    assert [
        (one.path, one.blob is not None, one.evidence.how) for one in verdict.unapproved
    ] == beside


def test_who_suggested_and_when_and_where_are_told(tmp_path: Path) -> None:
    w, mine = world(tmp_path)
    at.merged_on_github_then_pulled(w, mine)
    verdict = judged(mine)
    evidence = verdict.evidence
    merge = mine.run("log", "--format=%H %ct", "--grep=pull request", "main").split()
    assert [person.email for person in evidence.suggested_by] == ["agent@x"]
    assert (evidence.commit, evidence.at) == (merge[0], int(merge[1]))
    assert evidence.reason == f"it names a pull request: Merge pull request #7 from org/{BRANCH}"
    assert (verdict.path, mine.run("cat-file", "blob", verdict.blob or "")) == (
        PATH,
        text("Use X").strip(),
    )


def test_everybody_who_wrote_on_the_proposal_suggested_it(mine: Clone) -> None:
    mine.propose()
    mine.run("switch", "-q", BRANCH)
    mine.commit("better words", {PATH: text("Use X well")}, SECOND)
    mine.run("switch", "-q", "main")
    mine.merge(BRANCH)
    verdict = judged(mine)
    assert [person.email for person in verdict.evidence.suggested_by] == ["second@x", "agent@x"]


def test_a_rule_without_an_id_is_the_one_at_its_place(mine: Clone) -> None:
    rule = derived_id(PATH)
    mine.propose({PATH: "Use X\n"}, branch=f"rules/R-{rule[-6:]}-use-x")
    mine.merge(f"rules/R-{rule[-6:]}-use-x")
    assert mine.served(rule) == "Use X"
    mine.run("mv", PATH, at.MOVED)
    mine.commit("rename", {})
    assert mine.served(rule) == "Use X", (
        "its place is its identity, so it was removed without evidence"
    )
    assert mine.served(derived_id(at.MOVED)) is None


def test_other_branches_and_the_working_tree_change_nothing(mine: Clone) -> None:
    mine.approved()
    mine.run("switch", "-q", "-c", "feature")
    mine.commit("edit", {PATH: text("Use Z")})
    mine.write(PATH, text("Use W"))
    mine.run("add", "-A")
    assert mine.served() == "Use X"


def test_nothing_on_a_proposal_branch_is_a_rule_of_the_branch(mine: Clone) -> None:
    mine.propose()
    assert mine.verdict() is None
