"""The check that fits what a rule says in words."""

import pytest

from ai_lessons.features.checks.fitting import fitting
from ai_lessons.features.checks.forms import faults


@pytest.mark.parametrize(
    ("title", "form", "named"),
    [
        ("Run `mise run test`, not `go test`", "command", "go test"),
        ("Use `uv add` instead of `pip install`", "command", "pip install"),
        ("Never `git push --force`", "command", "git push --force"),
        ("Don\u2019t run `npm install`", "command", "npm install"),
        ("Tests come with the change", "changed", ["lib/**"]),
        ("New features need tests", "changed", ["lib/**"]),
        ("Before you hand over run `make lint`", "ran", "make lint"),
    ],
)
def test_a_rule_that_names_a_command_or_a_habit_gets_a_check_that_proves_itself(
    title: str, form: str, named: object
) -> None:
    for words in ((title, ""), ("House rules", f"We agreed.\n\n- {title}.")):
        check = fitting(*words, files=("lib/**",))
        assert check is not None
        assert check[form] == named
        assert not list(faults({"check": check}))


@pytest.mark.parametrize(
    "title",
    [
        "FORBIDDEN: `except Exception`",
        "Keep comments brief",
        "Use `git rebase`",
        "Never trust `x; rm -rf /`",
        "The tests are slow",
    ],
)
def test_what_names_none_gets_none(title: str) -> None:
    assert fitting(title, "") is None
