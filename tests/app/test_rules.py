"""Rules through the library: suggested by agents, decided by people, served only then."""

import time
from typing import Any

import pytest

from ai_lessons.app import editing, entries, health, pending, pending_rules, proposals, review
from ai_lessons.app.written import RuleDraft, Suggested
from ai_lessons.errors import AmbiguousName, Conflict, InvalidEntry, NotFound, UsageError
from app.world import LESSON, World, lesson
from real_world import failing, instead

AGENT = {"agent": "some agent", "session": "s1"}


@pytest.fixture
def world(world: World) -> World:
    """Two commits on main, and an agent that has an address of its own."""
    world.committed("global/lessons/one.md", lesson())
    return world


def suggest(
    world: World, title: str = "GET before PUT", rationale: str = "PUT replaces all", **more: Any
) -> Suggested:
    return proposals.suggest_rule(world.fresh(**AGENT), RuleDraft(title, rationale, **more))


def approved(world: World, title: str = "GET before PUT", **more: Any) -> Suggested:
    made = suggest(world, title, **more)
    review.approve_rule(world.fresh(), made.handle)
    return made


def rules(world: World) -> list[str]:
    return [
        summary.title
        for summary in entries.list_entries(world.fresh()).entries
        if summary.kind == "rule"
    ]


def test_stats_tell_how_long_an_approval_took(world: World) -> None:
    assert health.stats(world.fresh()).approval_lead_time is None
    now = time.time()
    with instead("time.time", lambda: now - 2 * 3600):
        made = suggest(world)
    with instead("time.time", lambda: now):
        review.approve_rule(world.fresh(), made.handle)
    assert health.stats(world.fresh()).approval_lead_time == 2 * 3600


def test_the_branch_is_judged_once_until_it_moves(world: World) -> None:
    approved(world)
    in_force = world.fresh().primary.rules
    first = in_force.view()
    assert in_force.view() is first
    approved(world, "Never force-push", rationale="It loses the commits of others")
    assert first is not None
    assert len(first.verdicts) == 1
    moved = in_force.view()
    assert moved is not None
    assert len(moved.verdicts) == 2


@pytest.mark.parametrize("name", ["handle", "id", "branch", "path", "end"])
def test_a_proposal_answers_to_many_names(world: World, name: str) -> None:
    made = suggest(world)
    ref = made.id[-8:].lower() if name == "end" else getattr(made, name)
    assert review.approve_rule(world.fresh(), ref).id == made.id


def test_names_that_mean_nothing_or_too_much_are_refused(world: World) -> None:
    with pytest.raises(NotFound) as nothing:
        review.approve_rule(world.fresh(), "R-ZZZZZZ")
    assert "no proposal waits" in nothing.value.hint
    made = approved(world)
    for title in ("GET first", "GET always"):
        editing.update(world.fresh(), made.handle, title=title)
    with pytest.raises(AmbiguousName) as both:
        review.approve_rule(world.fresh(), made.handle)
    assert f"rules/{made.handle}-get-first" in both.value.hint
    with pytest.raises(NotFound) as near:
        review.approve_rule(world.fresh(), "always get it")
    assert near.value.suggestions[0] == f"{made.handle} (GET always)"


def test_another_project_is_a_proposal_that_moves_the_file(world: World) -> None:
    made = approved(world)
    editing.update(world.fresh(), made.handle, project="jira-api")
    (one,) = pending_rules.pending_rules(world.fresh())
    review.approve_rule(world.fresh(), one.branch)
    assert world.status() == ""
    assert not (world.root / made.path).exists()
    assert (world.root / made.path.replace("global/", "jira-api/")).exists()
    assert rules(world) == ["GET before PUT"]


def test_a_removal_is_a_proposal(world: World) -> None:
    made = approved(world)
    lesson_made = world.add("A lesson")
    one, two = editing.delete(world.fresh(), [made.handle, lesson_made.handle])
    assert one.proposed_on
    assert two.title == "A lesson"
    assert rules(world) == ["GET before PUT"]
    (waiting,) = pending_rules.pending_rules(world.fresh())
    assert (waiting.change, waiting.added, waiting.title) == ("removal", 0, "GET before PUT")
    done = review.approve_rule(world.fresh(), made.handle)
    assert not (world.root / made.path).exists()
    assert rules(world) == []
    assert (
        world.git(world.root, "log", "-1", "--format=%s", done.commit)
        == "Approve rule: GET before PUT (removal)"
    )
    assert world.status() == ""


def test_rejecting_keeps_text_and_reason_and_meets_the_next_suggestion(world: World) -> None:
    made = suggest(world, content="Send all.", tags=["jira"])
    done = review.reject_rule(world.fresh(), made.handle, reason="too\nbroad")
    assert done.path.startswith(".ai-lessons/rejected/2026/")
    assert "reason: too broad" in world.read(done.path)
    assert done.commit == world.git(world.root, "rev-parse", "main")
    assert pending_rules.pending_rules(world.fresh()) == ()
    again = suggest(world, content="Send  all.", tags=["other"])
    assert again.warnings == ("the same was rejected on 2026-11-21: too broad",)
    (one,) = pending_rules.pending_rules(world.fresh())
    assert one.rejected_before == "on 2026-11-21: too broad"
    assert suggest(world, "Something else entirely", "other words").warnings == ()


def test_near_duplicates_in_force_and_pending_are_named(world: World) -> None:
    one = approved(world, "Send the whole workflow with PUT")
    two = suggest(world, "Send whole workflows with every PUT", "other words")
    (warning,) = two.warnings
    assert warning.startswith(
        f"close to {one.handle} 'Send the whole workflow with PUT' (in force), "
    )
    three = suggest(world, "PUT: send the whole workflow", "words")
    assert len(three.warnings) == 2
    pending = {p.id: p for p in pending_rules.pending_rules(world.fresh())}
    assert any("(proposed)" in name for name in pending[three.id].similar)
    assert suggest(world, "Wash your hands", "germs").warnings == ()


def test_contradictions_by_link_are_named(world: World) -> None:
    one = approved(world, "Send all")
    two = suggest(world, "Send a part", "less traffic", links=[("contradicts", one.handle)])
    assert two.warnings == (f"it contradicts {one.handle} 'Send all' (in force)",)
    (waiting,) = pending_rules.pending_rules(world.fresh())
    assert waiting.conflicts == two.warnings


def test_an_edit_of_a_proposal_is_a_second_commit_and_what_is_decided_about_is_what_was_shown(
    world: World,
) -> None:
    made = suggest(world)
    done = review.edit_proposal(
        world.fresh(), made.handle, lambda text, _: text.replace("GET before PUT", "GET first")
    )
    assert done is not None
    assert (done.title, done.branch) == ("GET first", made.branch)
    assert world.git(world.root, "rev-parse", f"{made.branch}~1") == made.commit
    assert review.edit_proposal(world.fresh(), made.handle, lambda text, _: text) is None
    with pytest.raises(InvalidEntry):
        review.edit_proposal(
            world.fresh(), made.handle, lambda text, _: text.replace("rationale", "x")
        )
    for decide in (review.approve_rule, review.reject_rule):
        with pytest.raises(Conflict, match="changed while you read it"):
            decide(world.fresh(), made.handle, expect=made.commit)
    assert rules(world) == []
    review.approve_rule(world.fresh(), made.handle, expect=done.commit)
    assert rules(world) == ["GET first"]


def test_edits_in_the_tree_become_proposals_and_the_approved_text_comes_back(world: World) -> None:
    made = approved(world)
    text = world.read(made.path)
    world.write(made.path, text.replace("PUT replaces all", "PUT replaces everything"))
    world.write("global/rules/by-hand.md", "---\ntitle: By hand\nrationale: because\n---\nDo it.\n")
    world.write("global/lessons/one.md", lesson(body="edited"))
    assert world.git(world.root, "add", "-A") == ""
    new, edit = proposals.propose(world.fresh(cwd=world.root))
    assert world.status() == "M  global/lessons/one.md"
    assert world.read(made.path) == text
    assert not (world.root / "global/rules/by-hand.md").exists()
    assert {p.branch: p.change for p in pending_rules.pending_rules(world.fresh())} == {
        edit.branch: "edit",
        new.branch: "new",
    }
    shown = world.git(world.root, "show", f"{new.branch}:global/rules/by-hand.md")
    assert f"\nid: {new.id}\n" in shown
    review.approve_rule(world.fresh(), edit.branch)
    review.approve_rule(world.fresh(), new.branch)
    assert sorted(rules(world)) == ["By hand", "GET before PUT"]
    assert proposals.propose(world.fresh()) == ()


def test_an_edit_that_breaks_the_format_or_takes_an_id_is_neither_proposed_nor_lost(
    world: World,
) -> None:
    one, two = approved(world, "First thing"), approved(world, "Second matter")
    text = world.read(one.path)
    copy = world.write("global/rules/copy.md", text + "Changed copy.\n")
    with pytest.raises(InvalidEntry, match="it has the id of"):
        proposals.propose(world.fresh(cwd=world.root))
    copy.unlink()
    world.write(one.path, text + "More.\n")
    world.write(two.path, world.read(two.path).replace("rationale", "reason"))
    with pytest.raises(InvalidEntry, match="rationale"):
        proposals.propose(world.fresh(cwd=world.root))
    assert len(world.status().splitlines()) == 2
    assert pending_rules.pending_rules(world.fresh()) == ()
    world.git(world.root, "checkout", "-q", "--", two.path)
    with (
        failing("ai_lessons.approval.decisions.put_back", Conflict("busy")),
        pytest.raises(Conflict),
    ):
        proposals.propose(world.fresh(cwd=world.root))
    (done,) = proposals.propose(world.fresh(cwd=world.root))
    assert [p.branch for p in pending_rules.pending_rules(world.fresh())] == [done.branch], (
        "a second try does not do it twice"
    )
    assert world.status() == ""


def test_a_rule_that_links_a_wrong_kind_is_neither_proposed_nor_approved(world: World) -> None:
    made = approved(world)
    wrong = f"links:\n  - has_script: {LESSON}\n---\n"
    world.write(made.path, world.read(made.path).replace("\n---\n", f"\n{wrong}"))
    with pytest.raises(
        UsageError, match="has_script leads from any entry to a script, not from a rule to a lesson"
    ):
        proposals.propose(world.fresh(cwd=world.root))
    world.git(world.root, "switch", "-qc", f"rules/{made.handle}-edit")
    world.commit("by hand")
    world.git(world.root, "switch", "-q", "main")
    with pytest.raises(UsageError, match="to a script"):
        review.approve_rule(world.fresh(), made.handle)


def test_nothing_of_this_works_without_an_approval_branch(world: World) -> None:
    world.git(world.root, "branch", "-m", "main", "other")
    with pytest.raises(NotFound, match="approval branch"):
        suggest(world)
    assert pending.count(world.fresh().primary) == 0
