"""The three forms of a check: how each is stated, what proves it, and what is refused."""

from typing import Any

import pytest

from ai_lessons.features.checks.command_checks import CommandCheck
from ai_lessons.features.checks.done_checks import DoneCheck, Succeeded
from ai_lessons.features.checks.forms import checks_of, described, faults, of_texts, stored, to_run
from ai_lessons.model.markdown import parse, render

COMMAND = {
    "command": "go test",
    "unless": "mise run",
    "instead": "mise run test",
    "bad": "go test",
    "good": "mise run test",
}
ASKED = {
    "command": "git commit",
    "unless_said": r"\bcommit",
    "bad": "git commit -m x",
    "good": "git status",
}
TESTS = {
    "changed": "**/*.go",
    "unless_changed": "**/*_test.go",
    "bad": ["a.go"],
    "good": ["a.go", "a_test.go"],
}
LINT = {"changed": ["**/*.go"], "ran": "make lint", "bad": "a.go", "enforce": "ask"}
TEXT = {"regex": "x", "bad": "x", "good": "y", "enforce": "tell"}


def wrong(check: object) -> list[str]:
    return list(faults({"check": check}))


def test_each_form_proves_itself_and_a_rule_may_have_several() -> None:
    for check in (COMMAND, ASKED, TESTS, LINT, TEXT):
        assert wrong(check) == [], check
    every = {"check": [COMMAND, ASKED, TESTS, LINT, TEXT]}
    assert list(faults(every)) == []
    assert [type(check).__name__ for check in checks_of(every)] == [
        "CommandCheck", "CommandCheck", "DoneCheck", "DoneCheck", "TextCheck",
    ]  # fmt: skip
    assert [check.enforce for check in checks_of(every)] == ["", "", "", "ask", ""]
    assert len(of_texts(checks_of(every))) == 1
    written = parse(render({"id": "x", **every}, ""))[0]
    assert written["check"] == every["check"], (
        "a list of checks comes back from the file as it was written"
    )


def test_what_is_needed_to_run_a_check_comes_back_without_its_samples() -> None:
    fields = {"check": [COMMAND, TESTS, LINT]}
    kept = stored(to_run(fields))
    assert kept == tuple(check._replace(bad=(), good=()) for check in checks_of(fields))
    assert stored(None) == ()


@pytest.mark.parametrize(
    ("check", "words"),
    [
        (COMMAND | {"bad": "go build"}, "does not fire on check.bad 'go build'"),
        (COMMAND | {"good": "go test ./..."}, "fires on check.good 'go test ./...'"),
        (COMMAND | {"wrong": 1}, "unknown key 'wrong', besides command"),
        (COMMAND | {"command": "go test && ls"}, "is not one command"),
        (COMMAND | {"unless": "["}, "is none: missing ]"),
        (ASKED | {"unless_said": "("}, "is none: missing )"), (COMMAND | {"good": None}, "check.good is not text"),
        ({"command": "go test", "bad": "go test"}, "needs bad, a command that breaks the rule, and good"),
        (COMMAND | {"enforce": "shout"}, "is none of tell, ask, deny"), (COMMAND | {"changed": "*.go"}, "'changed'"),
        ({"changed": "*.go", "bad": ["a.go"]}, "neither unless_changed"),
        ({"changed": "*.go", "unless_changed": "*.md", "bad": "a.go"}, "needs bad, paths of files that break"),
        (TESTS | {"bad": ["a.py"]}, "does not fire where check.bad changed: a.py"),
        (TESTS | {"good": ["b.go"]}, "fires where check.good changed: b.go"),
        (LINT | {"ran": "a; b"}, "is not one command"),
        ({"prompt": "be kind"}, "unknown key 'prompt'"), ("x", "nor another form"), ([], "nor another form"),
        ([COMMAND, LINT | {"bad": "a.py"}], "(number 2 of check)"), ([TEXT] * 11, "more than 10"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_form_is_named(check: Any, words: str) -> None:
    assert any(words in fault for fault in wrong(check)), wrong(check)


def test_people_read_what_each_check_looks_for() -> None:
    assert described({"check": [COMMAND | {"enforce": "deny"}, TESTS]}) == [
        "command `go test` unless `mise run` instead `mise run test` (deny)", "breaks it: go test",
        "keeps it: mise run test", "changed `**/*.go` unless `**/*_test.go` changed", "breaks it: a.go",
        "keeps it: a.go, a_test.go",
    ]  # fmt: skip


def test_what_a_person_said_allows_a_command_in_any_case() -> None:
    (check,) = checks_of({"check": ASKED})
    assert isinstance(check, CommandCheck)
    assert check.breaks("git add -A && git commit -m x")
    assert check.was_asked_for(["Make it round.", "Commit it, please."])
    assert not check.was_asked_for(["Make it round."])
    assert not CommandCheck(("git commit",)).was_asked_for(["commit"])


def test_a_command_keeps_a_rule_that_ran_to_a_good_end_after_the_last_edit() -> None:
    check = DoneCheck(("**/*.go",), ran=("make lint",))
    edits = {"a.go": 2.0, "b.go": 5.0, "README.md": 9.0}
    assert check.broken_by(edits, []) == ["a.go", "b.go"]
    assert check.broken_by(edits, [Succeeded("make lint", 4.0)]) == ["a.go", "b.go"]
    assert check.broken_by(edits, [Succeeded("make fmt && make lint", 6.0)]) == []
    assert check.broken_by(edits, [Succeeded("make lint | tail", 6.0)]) == []
    assert check.broken_by(edits, [Succeeded("make lint | tail", 6.0, unsure=True)]) == [
        "a.go",
        "b.go",
    ]
    assert check.broken_by(edits, [Succeeded("echo make lint", 6.0)]) == ["a.go", "b.go"]
    assert check.broken_by({"README.md": 9.0}, []) == []
    assert check.sentence(["src/a.go", "b.go", "c.go"]) == (
        "`a.go`, `b.go` and 1 more changed and `make lint` did not succeed since"
    )


def test_other_files_that_changed_keep_a_rule() -> None:
    (check,) = checks_of({"check": TESTS})
    assert isinstance(check, DoneCheck)
    assert check.broken_by({"src/a.go": 1.0}, []) == ["src/a.go"]
    assert check.broken_by({"src/a.go": 1.0, "src/b_test.go": 0.5}, []) == []
    assert check.broken_by({"b_test.go": 0.5}, []) == []
