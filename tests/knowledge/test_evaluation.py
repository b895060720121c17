from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.knowledge import markdown
from ai_lessons.knowledge.evaluation import (
    EvaluationReport,
    Facts,
    Recommendation,
    SecretFinding,
    Similar,
    examine,
    render,
)
from ai_lessons.knowledge.frontmatter import read_entry

BODY = "Seen with version 9.12 of the server: `PUT /workflows` answers 200 and the statuses are gone.\n"


def of_lesson(body: str = BODY, facts: Facts = Facts(), **fields: Any) -> EvaluationReport:  # noqa: B008
    text = markdown.render({"title": "PUT replaces", "kind": "lesson", **fields}, body)
    entry = read_entry("jira/lessons/a.md", text.encode())
    return examine(entry, {entry.path: text}, facts)


def told(report: EvaluationReport) -> list[tuple[str, str]]:
    return [(one.check.value, one.severity.value) for one in report.findings]


def test_a_lesson_in_which_nothing_is_found_is_approved() -> None:
    assert of_lesson() == EvaluationReport()
    assert of_lesson().recommendation is Recommendation.APPROVE


def test_a_secret_stops_it_unless_its_file_allows_it() -> None:
    report = of_lesson(facts=Facts(secrets=[SecretFinding("a.md", 7, "AWS Access Key")]))
    assert report.recommendation is Recommendation.REJECT
    assert report.findings[0].where == "a.md:7"
    allowed = of_lesson(facts=Facts(secrets=[SecretFinding("a.md", 7, "AWS Access Key", allowed=True)]))
    assert allowed.recommendation is Recommendation.APPROVE
    assert told(allowed) == [("secrets", "note")]


@pytest.mark.parametrize(
    ("facts", "recommendation", "message"),
    [
        (Facts(similar=[Similar("L-8F3K2A 'x'", 0.93)]), "revise", "much like L-8F3K2A 'x' (0.93)"),
        (Facts(similar=[Similar("L-8F3K2A", 1.0, same=True)]), "reject", "the same is there already: L-8F3K2A"),
        (Facts(contradictions=["it contradicts R-1 (in force)"]), "revise", "it contradicts R-1 (in force)"),
        (Facts(projects=("workflows",)), "revise", "name of a project: workflows"),
    ],
)
def test_what_the_caller_found_out_counts(facts: Facts, recommendation: str, message: str) -> None:
    report = of_lesson(facts=facts)
    assert (report.recommendation.value, report.findings[0].message) == (recommendation, message)


def test_what_ties_it_to_one_place_is_named_by_sort_with_its_first_line() -> None:
    facts = Facts(projects=("shop", "go"))
    report = of_lesson(f"{BODY}In /home/ada/x and /home/ada/y.\nOf the Shop. " + "/home/bo/z C:\\Users\\bo", facts)
    assert [(one.message, one.where) for one in report.findings] == [
        ("path of one machine (4): /home/ada/x, /home/ada/y, /home/bo/z, C:\\Users\\bo", "jira/lessons/a.md:6"),
        ("name of a project: Shop", "jira/lessons/a.md:7"),
    ]


def test_a_lesson_marked_wrong_is_not_promoted() -> None:
    assert of_lesson(status="wrong").recommendation is Recommendation.REJECT


def test_it_is_short_markdown_for_a_message() -> None:
    report = of_lesson("\n\nSee \x1b[31m /home/ada\n" + BODY)
    assert render(report) == (
        "Evaluation: revise\n\n- warning, specificity: path of one machine: /home/ada (jira/lessons/a.md:7)\n"
    )
    assert render(EvaluationReport()).endswith("- nothing was found that speaks against it\n")


@given(st.text(max_size=300), st.text(max_size=60))
def test_every_line_about_any_entry_is_short_and_printable(body: str, name: str) -> None:
    entry = read_entry("a/lessons/a.md", b"x")._replace(title=name, body=body)
    facts = Facts([name], [SecretFinding(name, 1, name)], [Similar(name, 2.0)], [body])
    report = examine(entry, {"a.md": body, name: name}, facts)
    assert report.recommendation is Recommendation.REJECT
    assert all(line.isprintable() and len(line) < 800 for line in render(report).splitlines())
