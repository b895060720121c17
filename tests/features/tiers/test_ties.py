import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.features.tiers.evaluation import (
    EvaluationFinding,
    EvaluationReport,
    render,
    specific,
    ties,
)


@pytest.mark.parametrize(
    ("severities", "recommendation"),
    [
        ((), "approve"),
        (("note",), "approve"),
        (("note", "warning"), "revise"),
        (("warning", "stop", "note"), "reject"),
    ],
)
def test_the_gravest_finding_decides_the_recommendation(
    severities: tuple[str, ...], recommendation: str
) -> None:
    found = tuple(EvaluationFinding("duplicates", one, "close to L-1") for one in severities)
    assert EvaluationReport(found).recommendation == recommendation


def test_what_ties_it_to_one_place_is_named_by_sort_with_its_first_line() -> None:
    text = "# A\n\nIn /home/ada/x and /home/ada/y.\nOf the Shop. /home/bo/z C:\\Users\\bo"
    assert [(one.message, one.where) for one in specific({"a.md": text}, ("shop", "go"))] == [
        ("path of one machine (4): /home/ada/x, /home/ada/y, /home/bo/z, C:\\Users\\bo", "a.md:3"),
        ("name of a project: Shop", "a.md:4"),
    ]


def test_it_is_short_markdown_for_a_message() -> None:
    report = EvaluationReport(tuple(specific({"a.md": "\n\nSee \x1b[31m /home/ada\n"}, ())))
    assert (
        render(report)
        == "Evaluation: revise\n\n- warning, specificity: path of one machine: /home/ada (a.md:3)\n"
    )
    assert render(EvaluationReport()).endswith("- nothing was found that speaks against it\n")


@given(st.text(max_size=2000), st.text(max_size=60))
def test_every_line_about_any_entry_is_short_and_printable(body: str, name: str) -> None:
    found = [
        EvaluationFinding("secrets", "stop", body, name),
        *specific({"a.md": body, name: name}, [name]),
    ]
    assert all(
        line.isprintable() and len(line) < 800
        for line in render(EvaluationReport(tuple(found))).splitlines()
    )


PATH, PROJECT = "path of one machine", "name of a project"


def found(text: str) -> list[tuple[str, str]]:
    return [(one.sort, one.value) for one in ties(text, ["shopfront", "ci"])]


@pytest.mark.parametrize(
    ("text", "sort", "value"),
    [
        ("it is in /home/lovelace/work/x.py.", PATH, "/home/lovelace/work/x.py"),
        (r"C:\Users\ada\notes.txt", PATH, r"C:\Users\ada\notes.txt"),
        ("file:///Users/ada/x", PATH, "/Users/ada/x"),
        ("in Shopfront it fails", PROJECT, "Shopfront"),
    ],
)
def test_what_ties_a_text_to_one_place_is_found(text: str, sort: str, value: str) -> None:
    assert (sort, value) in found(text)


@pytest.mark.parametrize(
    "text",
    [
        "/home/user/x, /Users/you/y, /home/runner/x, /etc/hosts, /usr/bin, ~/.ssh/config, PUT /workflows/home/x",
        "https://site.org/home/ada and $HOME/x and /mnt/c/Windows",
        "the shopfronts, ci and ACMEXIO",
    ],
)
def test_what_stands_in_every_example_is_left_alone(text: str) -> None:
    assert found(text) == []


@given(st.text(max_size=400), st.lists(st.text(max_size=12), max_size=3))
def test_values_are_those_of_the_text_in_their_order(text: str, names: list[str]) -> None:
    start = 0
    for one in ties(text, names):
        assert one.value
        assert text.startswith(one.value, one.start)
        assert one.start >= start
        start = one.start
