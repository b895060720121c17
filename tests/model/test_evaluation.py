import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.app.answers import EvaluationFinding, EvaluationReport, render, specific


@pytest.mark.parametrize(
    ("severities", "recommendation"),
    [((), "approve"), (("note",), "approve"), (("note", "warning"), "revise"), (("warning", "stop", "note"), "reject")],
)
def test_the_gravest_finding_decides_the_recommendation(severities: tuple[str, ...], recommendation: str) -> None:
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
    assert render(report) == "Evaluation: revise\n\n- warning, specificity: path of one machine: /home/ada (a.md:3)\n"
    assert render(EvaluationReport()).endswith("- nothing was found that speaks against it\n")


@given(st.text(max_size=2000), st.text(max_size=60))
def test_every_line_about_any_entry_is_short_and_printable(body: str, name: str) -> None:
    found = [EvaluationFinding("secrets", "stop", body, name), *specific({"a.md": body, name: name}, [name])]
    assert all(line.isprintable() and len(line) < 800 for line in render(EvaluationReport(tuple(found))).splitlines())
