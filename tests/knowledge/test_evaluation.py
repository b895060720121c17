from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.knowledge import markdown
from ai_lessons.knowledge.evaluation.examining import Facts, Secret, Similar, examine
from ai_lessons.knowledge.evaluation.report import (
    Check,
    Finding,
    Flag,
    Opinion,
    Recommendation,
    Report,
    Severity,
    as_data,
    judged,
    read_opinion,
    render,
    with_fault,
    with_opinion,
)
from ai_lessons.knowledge.evaluation.specifics import Names
from ai_lessons.knowledge.reading import read_entry

PATTERN = {"when": "updating a workflow", "do": "GET it first", "because": "PUT deletes what the payload omits"}
BODY = "Seen with version 9.12 of the server: `PUT /workflows` answers 200 and the statuses are gone. " * 3


def of_lesson(body: str = BODY, facts: Facts = Facts(), **fields: Any) -> Report:  # noqa: B008
    said = {"title": "PUT replaces", "kind": "lesson", "source": "tested", "confidence": "high", "pattern": PATTERN}
    text = markdown.render(said | fields, body)
    entry = read_entry("jira/lessons/a.md", text.encode())
    return examine(entry, {entry.path: text}, facts)


def told(report: Report) -> list[tuple[str, str]]:
    return [(one.check.value, one.severity.value) for one in report.findings]


def test_a_good_lesson_is_approved_without_a_finding() -> None:
    report = of_lesson(facts=Facts(by_words=False))
    assert (report.recommendation, report.findings, report.reasons) == (Recommendation.APPROVE, (), ())
    assert (report.generalizability, report.quality, report.confidence) == (1.0, 0.98, 0.93)


def test_a_secret_stops_it_unless_its_file_allows_it() -> None:
    report = of_lesson(facts=Facts(secrets=[Secret("a.md", 7, "AWS Access Key")]))
    assert (report.recommendation, report.confidence) == (Recommendation.REJECT, 0.95)
    assert report.risk_flags == (Flag.CONTAINS_SECRETS,)
    assert report.findings[0].where == "a.md:7"
    allowed = of_lesson(facts=Facts(secrets=[Secret("a.md", 7, "AWS Access Key", allowed=True)]))
    assert allowed.recommendation is Recommendation.APPROVE
    assert told(allowed) == [("secrets", "note")]


@pytest.mark.parametrize(
    ("facts", "recommendation", "reason"),
    [
        (Facts(similar=[Similar("L-8F3K2A 'x'", 0.93)]), "revise", "much like L-8F3K2A 'x' (0.93)"),
        (Facts(similar=[Similar("L-8F3K2A", 1.0, same=True)]), "reject", "the same is there already: L-8F3K2A"),
        (Facts(contradictions=["it contradicts R-1 (in force)"]), "revise", "it contradicts R-1 (in force)"),
        (Facts(names=Names(projects=("workflows",))), "revise", "name of a project: workflows"),
    ],
)
def test_what_the_caller_found_out_counts(facts: Facts, recommendation: str, reason: str) -> None:
    report = of_lesson(facts=facts)
    assert (report.recommendation.value, report.reasons) == (recommendation, (reason,))


@pytest.mark.parametrize(
    ("body", "check", "severity"),
    [
        ("Ask ada@engine.dev. ", "specificity", "warning"),
        ("It is SHOP-17. ", "specificity", "note"),
        ("curl https://x.dev/i | sh ", "risk", "warning"),
        ("All rights reserved. ", "license", "warning"),
        ("Copyright 2019 Acme. ", "license", "note"),
        ("a@b.dev, c@d.dev, e@f.dev ", "risk", "warning"),
    ],
)
def test_what_stands_in_the_text_counts(body: str, check: str, severity: str) -> None:
    report = of_lesson(body + BODY)
    assert (check, severity) in told(report)
    assert (report.recommendation is Recommendation.REVISE) == (severity == "warning")


def test_each_thing_that_ties_it_down_lowers_it_up_to_three_of_a_sort() -> None:
    body = "a@x.dev b@x.dev c@x.dev d@x.dev at 10.42.7.19 "
    assert of_lesson(body).generalizability == round(0.75**3 * 0.9, 2)


def test_a_lesson_marked_wrong_is_not_promoted() -> None:
    assert of_lesson(status="wrong").recommendation is Recommendation.REJECT


def test_a_lesson_that_says_nothing_asks_for_more() -> None:
    report = of_lesson("It broke.\n", pattern=None, source="hearsay", confidence="low")
    assert report.quality < 0.2
    assert [one.message for one in report.findings] == [
        "does not say why: a pattern (when, do, because) or a reason is missing",
        "says little",
        "gives no evidence: no link, address, command or version",
        "its source is hearsay",
        "its author's confidence is low",
    ]
    assert report.reasons == (f"quality {report.quality:.2f} is below 0.50",)


@pytest.mark.parametrize(
    ("path", "text", "quality"),
    [
        ("jira/docs/v3/a.md", f"# API\n\n{BODY * 2}", 0.8),
        ("jira/docs/v3/a.md", "x\n", 0.0),
        ("jira/scripts/v3/run.sh", "#!/bin/sh\n# Brings the workflow back to what it was.\nexit 0\n", 0.8),
        ("jira/scripts/v3/run", "exit 0\n", 0.0),
    ],
)
def test_docs_and_scripts_have_measures_of_their_own(path: str, text: str, quality: float) -> None:
    entry = read_entry(path, text.encode())
    assert examine(entry, {path: text}).quality == pytest.approx(quality, abs=0.02)


def test_an_approval_is_less_sure_where_nobody_compared_meanings() -> None:
    assert of_lesson(facts=Facts(by_words=True)).confidence < of_lesson(facts=Facts(by_words=False)).confidence


def report_of(recommendation: Recommendation = Recommendation.APPROVE) -> Report:
    severity = Severity.NOTE if recommendation is Recommendation.APPROVE else Severity.WARNING
    return judged("t", "lesson", [Finding(Check.QUALITY, severity, "says little")], 0.9, 0.9)


@pytest.mark.parametrize(
    ("mine", "theirs", "both"),
    [("approve", "reject", "reject"), ("revise", "approve", "revise"), ("approve", "approve", "approve")],
)
def test_the_stricter_of_two_opinions_counts(mine: str, theirs: str, both: str) -> None:
    opinion = Opinion(recommendation=Recommendation(theirs), confidence=1.0, generalizability=0.5)
    report = with_opinion(report_of(Recommendation(mine)), opinion, "the evaluator")
    assert report.recommendation.value == both
    assert report.generalizability == 0.7
    assert (report.confidence == 1.0) == (mine == theirs)
    assert ("the evaluator says reject" in report.reasons) == (theirs == "reject")


def test_what_an_evaluator_adds_is_said_to_be_its_own() -> None:
    data = {"conflicts": ["L-1"], "risk_flags": ["license_conflict", "x"], "notes": "shorten it", "confidence": "high"}
    report = with_opinion(report_of(), read_opinion(data), "the evaluator")
    assert report.risk_flags == (Flag.LICENSE_CONFLICT,)
    assert render(report).endswith(
        "- quality: says little\n- evaluator: the evaluator: shorten it\n"
        "- warning, evaluator: the evaluator sees a conflict: L-1\n"
        "- warning, evaluator LicenseConflict: the evaluator raises a flag\n"
    )


def test_an_evaluator_that_failed_changes_nothing_else() -> None:
    report = with_fault(report_of(), "it printed no JSON\nSigned-off-by: x")
    assert report.recommendation is Recommendation.APPROVE
    assert report.findings[-1].message == "the evaluator failed: it printed no JSON Signed-off-by: x"


def test_it_is_short_markdown_for_a_message() -> None:
    report = of_lesson("\n\nSee \x1b[31m http://buildbox:8080/x\n" + BODY)
    assert render(report) == (
        f"Evaluation: revise, confidence {report.confidence:.2f} (generalizability 0.75, quality 0.98)\n\n"
        "- warning, specificity: host: buildbox (jira/lessons/a.md:13)\n"
    )
    assert render(judged("t", "doc", [], 1, 1)).endswith("- nothing was found that speaks against it\n")


def test_as_data_it_has_the_keys_of_the_specification_first() -> None:
    data = as_data(of_lesson())
    assert list(data)[:6] == [
        "generalizability", "quality", "conflicts", "risk_flags", "recommendation", "confidence",
    ]  # fmt: skip
    assert json.loads(json.dumps(data)) == data


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
KEYS = st.sampled_from(
    ["generalizability", "quality", "conflicts", "risk_flags", "recommendation", "confidence", "notes"]
)


@given(st.dictionaries(KEYS, ANY))
def test_whatever_an_evaluator_says_is_bounded(data: dict[str, Any]) -> None:
    report = with_opinion(report_of(), read_opinion(data), "it")
    assert all(0 <= one <= 1 for one in (report.generalizability, report.quality, report.confidence))
    assert all(line.isprintable() and len(line) < 400 for line in render(report).splitlines())


@given(st.text(max_size=300), st.text(max_size=60), ANY, ANY)
def test_whatever_an_entry_holds_its_measures_are_within_bounds(
    body: str, name: str, source: Any, pattern: Any
) -> None:
    entry = read_entry("a/lessons/a.md", b"x")._replace(
        title=name, body=body, fields={"source": source, "confidence": pattern, "pattern": pattern}
    )
    facts = Facts(Names((name,)), [Secret(name, 1, name)], [Similar(name, 2.0)], [body])
    report = examine(entry, {"a.md": body, name: name}, facts)
    assert 0 <= report.generalizability <= 1
    assert 0 <= report.quality <= 1
    assert 0.5 <= report.confidence <= 1
    assert all(line.isprintable() and len(line) < 800 for line in render(report).splitlines())
