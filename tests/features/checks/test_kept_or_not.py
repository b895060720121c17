"""In how many sessions a rule was in scope, told, broken, stopped and allowed, and what that asks a person."""

import itertools
import json
import shlex
from datetime import UTC, datetime, timedelta

import pytest

from ai_lessons.app import entries, health, outdated, proposals, review
from ai_lessons.app.written import RuleDraft
from ai_lessons.features.learning import jobs as learning_jobs
from ai_lessons.features.learning.kept import line_of
from ai_lessons.model.entries import ulid
from ai_lessons.model.events import (
    ALLOWED,
    BROKEN,
    IGNORED,
    IN_SCOPE,
    INJECTED,
    NEEDED,
    STOPPED,
    TOLD,
    USES,
    Event,
    read_lines,
)
from ai_lessons.model.events import line_of as event_line
from ai_lessons.model.tallies import LEAST, RuleSessions
from app.world import LESSON, World, lesson

DENYING = {"regex": "put\\(", "bad": "put(1)", "good": "get(1)", "enforce": "deny"}
TELLING = {**DENYING, "enforce": "tell"}
BEGIN, NUMBERS = datetime(2026, 11, 21, tzinfo=UTC), itertools.count()
SEEN = (IN_SCOPE, BROKEN, STOPPED, ALLOWED)


@pytest.fixture
def world(world: World) -> World:
    world.committed("global/lessons/one.md", lesson())
    return world


def a_rule(
    world: World, title: str = "GET before PUT", check: dict[str, str] | None = TELLING
) -> str:
    draft = RuleDraft(title, "PUT replaces all", options={"check": check})
    made = proposals.suggest_rule(world.fresh(), draft)
    review.approve_rule(world.fresh(), made.handle)
    return made.id


def happened(world: World, rule: str, session: str, *words: str) -> None:
    """These events in a session, a second each after the one before."""
    events = []
    for second, word in enumerate(words):
        at = BEGIN + timedelta(seconds=second)
        name = ulid(int(at.timestamp() * 1000), next(NUMBERS).to_bytes(10, "big"))
        events.append(Event(name, f"{at:%Y-%m-%dT%H:%M:%SZ}", word, rule, session))
    world.fresh().primary.events.record(events)


def sessions(world: World, rule: str) -> RuleSessions:
    summary = entries.show(world.fresh(), rule).entry
    kept = world.fresh().primary.learned.kept([summary])
    return kept[rule].sessions if kept else RuleSessions()


def line(world: World, rule: str) -> str:
    kept = entries.show(world.fresh(), rule).kept
    return kept.line if kept else ""


def reviewed(world: World) -> list[tuple[str, str, str]]:
    return [
        (finding.entry.id, finding.reason, finding.detail)
        for finding in outdated.review(world.fresh())
    ]


@pytest.mark.parametrize(
    ("words", "counted"),
    [
        ([INJECTED], RuleSessions(told=1)),
        ([TOLD], RuleSessions(told=1)),
        (
            [TOLD, IN_SCOPE, INJECTED, BROKEN],
            RuleSessions(in_scope=1, told=1, broken=1, broken_told=1),
        ),
        ([IN_SCOPE], RuleSessions(in_scope=1, untold=1)),
        ([INJECTED, IN_SCOPE], RuleSessions(in_scope=1, told=1)),
        ([IN_SCOPE, BROKEN], RuleSessions(in_scope=1, untold=1, broken=1)),
        ([INJECTED, IN_SCOPE, BROKEN], RuleSessions(in_scope=1, told=1, broken=1, broken_told=1)),
        ([IN_SCOPE, INJECTED, BROKEN], RuleSessions(in_scope=1, told=1, broken=1)),
        ([IN_SCOPE, BROKEN, STOPPED], RuleSessions(in_scope=1, untold=1, broken=1, stopped=1)),
        ([IN_SCOPE, ALLOWED], RuleSessions(in_scope=1, untold=1, allowed=1)),
        ([IGNORED], RuleSessions(ignored=1)),
        ([NEEDED], RuleSessions()),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, list) else "",
)
def test_each_event_changes_its_figure_once_a_session(
    world: World, words: list[str], counted: RuleSessions
) -> None:
    rule = a_rule(world)
    assert sessions(world, rule) == RuleSessions()
    happened(world, rule, "a", *words)
    happened(world, rule, "a", *words)
    assert sessions(world, rule) == counted
    happened(world, rule, "b", *words)
    assert sessions(world, rule) == RuleSessions(*(2 * number for number in counted))


def test_what_an_import_brings_or_another_clone_saw_does_not_count(world: World) -> None:
    rule = a_rule(world)
    happened(world, rule, "import/a", *SEEN)
    event = Event(ulid(1, bytes(10)), "2026-11-21T00:00:00Z", BROKEN, rule, "b")
    world.write(".ai-lessons/events/f00dbabe/2026-11.jsonl", event_line(event))
    assert sessions(world, rule) == RuleSessions()


def test_a_rule_that_was_told_and_broken_comes_first_in_review_with_the_question(
    world: World,
) -> None:
    telling, denying = a_rule(world), a_rule(world, "Never put", DENYING)
    world.committed("global/lessons/two.md", lesson(LESSON[:-1] + "Z", review_by="2026-10-01"))
    happened(world, telling, "a", INJECTED, IN_SCOPE, BROKEN)
    happened(world, telling, "b", IN_SCOPE, BROKEN, STOPPED)
    for name in "cd":
        happened(world, denying, name, INJECTED, IN_SCOPE, BROKEN, STOPPED)
    happened(world, denying, "e", IN_SCOPE, ALLOWED)
    first, second, *others = reviewed(world)
    assert first == (
        denying,
        "not_followed",
        "in scope in 3 sessions, broken in 2 after it was told (told in 2, stopped in 2, allowed in 1)",
    )
    figures = "(told in 1, broken before it was told in 1, stopped in 1)"
    question = f"in scope in 2 sessions, broken in 1 after it was told: deny it? {figures}"
    assert second == (telling, "not_followed", question)
    assert {reason for _, reason, _ in others} == {"review_by", "repeats"}
    kept = health.stats(world.fresh()).kept
    assert [rule.line for rule in kept] == [first[2], second[2]]
    assert [rule.sessions.in_scope for rule in kept] == [3, 2]


def test_a_breach_of_what_was_not_told_accuses_nobody(world: World) -> None:
    rule = a_rule(world)
    happened(world, rule, "a", IN_SCOPE, BROKEN, INJECTED)
    assert (
        line(world, rule)
        == "in scope in 1 session, broken in 1, never after it was told (told in 1)"
    )
    assert reviewed(world) == []


def test_a_prompt_that_is_like_a_rule_is_no_evidence_against_it(world: World) -> None:
    rule = a_rule(world)
    for name in "abc":
        happened(world, rule, name, INJECTED, NEEDED, "unheeded")
    assert line(world, rule) == "told in 3 sessions"
    assert reviewed(world) == []
    assert health.stats(world.fresh()).kept == ()


def test_the_word_of_older_logs_counts_as_a_need(world: World) -> None:
    rule = a_rule(world)
    happened(world, rule, "a", "unheeded")
    assert world.fresh().primary.learned.tallies([rule])[rule].needed == 1
    assert "unheeded" not in USES
    row = json.dumps(
        {"id": ulid(1, bytes(10)), "at": "2026-11-21T00:00:00Z", "event": "unheeded", "entry": rule}
    )
    (event,), damaged = read_lines(row.encode())
    assert (event.event, damaged) == (NEEDED, 0)


def test_what_is_stated_of_a_rule_itself_counts(world: World) -> None:
    checked, unchecked = a_rule(world), a_rule(world, "Ask Ada", None)
    for rule in (checked, unchecked):
        learning_jobs.feedback(world.fresh(), rule, IGNORED)
        learning_jobs.feedback(world.fresh(), rule, IGNORED)
    assert line(world, checked) == "stated as not followed in 2 sessions: deny it?"
    assert line(world, unchecked) == "stated as not followed in 2 sessions: make it a check?"
    assert {reason for _, reason, _ in reviewed(world)} == {"not_followed"}


@pytest.fixture
def never_broken(world: World) -> tuple[World, str]:
    rule = a_rule(world)
    for number in range(LEAST.least_sessions - 1):
        told = [INJECTED] if number >= LEAST.least_untold else []
        happened(world, rule, str(number), *told, IN_SCOPE)
    return world, rule


def test_a_rule_that_is_kept_told_or_not_is_asked_about(never_broken: tuple[World, str]) -> None:
    world, rule = never_broken
    assert reviewed(world) == []
    happened(world, rule, "last", INJECTED, IN_SCOPE)
    (finding,) = reviewed(world)
    question = (
        "never broken in 20 sessions, told or not: need it be told at the start? (told in 15)"
    )
    assert finding == (rule, "never_broken", question)
    happened(world, rule, "more", IN_SCOPE, BROKEN)
    assert reviewed(world) == []


def test_a_rule_that_is_kept_where_it_is_told_is_not_asked_about() -> None:
    told = RuleSessions(
        in_scope=LEAST.least_sessions,
        untold=LEAST.least_untold - 1,
        told=LEAST.least_sessions - LEAST.least_untold + 1,
    )
    assert line_of(told, [""]) == "in scope in 20 sessions, never broken (told in 16)"


def test_a_rule_that_people_say_again_is_offered_the_check_that_its_words_name(
    world: World,
) -> None:
    rule = a_rule(world, "Run `mise run test`, not `go test`", None)
    a_rule(world, "Ask Ada", None)
    happened(world, rule, "a", NEEDED)
    assert reviewed(world) == []
    happened(world, rule, "b", NEEDED)
    ((entry, reason, detail),) = reviewed(world)
    why, _, command = detail.partition(": ")
    assert (entry, reason, why) == (
        rule,
        "check_fits",
        "2 sessions were about it, and nothing checks it",
    )
    words = shlex.split(command)
    assert words[:3] == ["ai-lessons", "contribute", "update"]
    assert (words[4], json.loads(words[5])["command"]) == ("--check", "go test")
