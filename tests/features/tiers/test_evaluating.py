from collections.abc import Iterator

import pytest

from ai_lessons.app import proposals, review
from ai_lessons.app.secrets import secrets_in
from ai_lessons.app.workspace import RepositorySession
from ai_lessons.app.written import RuleDraft
from ai_lessons.features.tiers.evaluation import EvaluationReport, evaluate
from ai_lessons.model.frontmatter import read_entry
from app.world import LESSON, OTHER, World, lesson

PATTERN = "\n  when: updating a workflow\n  {}: GET it first\n  because: PUT deletes what the payload omits"
BODY = "Seen with version 9.12: `PUT /workflows` answers 200 and the statuses that it did not name are gone.\n"
KEY = "AKIA" + "Q7ZJ4R2MXP5KTN3W"


@pytest.fixture
def target(world: World) -> Iterator[RepositorySession]:
    made = RepositorySession(world.root, world.options)
    yield made
    made.close()


def evaluated(target: RepositorySession, text: str) -> EvaluationReport:
    entry = read_entry("jira/lessons/a.md", text.encode())
    return evaluate(target, entry, {entry.path: text})


def text_of(do: str = "do", title: str = "PUT replaces the workflow", body: str = BODY) -> str:
    return lesson(
        OTHER, title, body, source="tested", confidence="high", pattern=PATTERN.format(do)
    )


def test_what_is_new_here_is_approved_and_what_says_much_the_same_found(
    target: RepositorySession, world: World
) -> None:
    report = evaluated(target, text_of())
    assert (report.recommendation, report.findings) == ("approve", ())
    same = text_of(title="PUT replaces the whole workflow", body="Twice.\n")
    world.write("web/lessons/b.md", same.replace(OTHER, LESSON))
    report = evaluated(target, text_of())
    assert report.findings[0].message.startswith(
        "close to L-8F3K2A 'PUT replaces the whole workflow' (user), "
    )
    assert report.recommendation == "revise"


def test_an_opposite_lesson_and_a_rule_that_forbids_it_are_found(
    target: RepositorySession, world: World
) -> None:
    world.committed(
        "web/lessons/b.md", text_of("dont", "Never ask twice", "Other.\n").replace(OTHER, LESSON)
    )
    made = proposals.suggest_rule(world.library, RuleDraft("Never GET it first", "It is slow."))
    review.approve_rule(world.library, made.id)
    said = [one.message for one in evaluated(target, text_of()).findings]
    assert [one for one in said if "opposite" in one] == [
        "L-8F3K2A 'Never ask twice' (lesson) says the opposite for the same case",
        f"{made.handle} 'Never GET it first' (in force) says the opposite",
    ]


def test_a_contradiction_that_is_linked_is_named_once(
    target: RepositorySession, world: World
) -> None:
    world.write(
        "web/lessons/b.md", text_of("dont", "Never ask twice", "Other.\n").replace(OTHER, LESSON)
    )
    text = text_of().replace("created:", f"links:\n  - contradicts: {LESSON}\ncreated:")
    said = [one.message for one in evaluated(target, text).findings if "Never ask" in one.message]
    assert said == ["it contradicts L-8F3K2A 'Never ask twice' (lesson)"]


def test_a_secret_is_found_and_not_repeated_unless_its_file_allows_it(
    target: RepositorySession,
) -> None:
    text = text_of(body=f"{BODY}{KEY}\n")
    report = evaluated(target, text)
    assert report.recommendation == "reject"
    assert (
        report.findings[0].where
        == f"jira/lessons/a.md:{text[: text.index(KEY)].count(chr(10)) + 1}"
    )
    assert KEY not in repr(report)
    mark = secrets_in(KEY)[0].fingerprint
    allowed = evaluated(
        target, text.replace("created:", f"allow_secrets:\n  - {mark}: an example\ncreated:")
    )
    assert [(one.check, one.severity) for one in allowed.findings] == [("secrets", "note")]
