"""What a command says of an entry that was told, and what a user's prompt does."""

import pytest

from ai_lessons.learning.selection import ShownEntry, carried_out, corrects, judged, same_job
from ai_lessons.learning.statistics import FOLLOWED, RECURRED

PYTHON3 = "WHEN running `python` here -> DO use `python3` -> BECAUSE `python` is Python 2"
UPSTREAM = "WHEN a branch is new -> DO `git push -u origin <branch>` -> BECAUSE it has no upstream"
INSTEAD = "WHEN a -> DO use `python3` instead of `python` -> BECAUSE b"
WITHOUT = "WHEN in testbed -> DO run it without `cd testbed` -> BECAUSE you are there"
MODULE = "WHEN testing -> DO run `python -m pytest` -> BECAUSE the path is set"
BOTH = "WHEN a -> DO run `npm ci && npm test` -> BECAUSE b"


@pytest.mark.parametrize(
    ("does", "command", "done"),
    [
        (PYTHON3, "python3 x.py", True), (PYTHON3, "cd shop && A=1 /usr/bin/python3 -c 'print(1)'", True),
        (PYTHON3, "uv run --with x python3 x.py", True), (PYTHON3, "python x.py", False),
        (INSTEAD, "python3 x.py", True), (INSTEAD, "python x.py", False), (MODULE, "python -m pytest -q", True),
        (MODULE, "env A=1 python -q -m pytest", True), (MODULE, "python -c 'print(1)'", False),
        (MODULE, "python", False), (UPSTREAM, "git push origin till -u", True),
        (UPSTREAM, "git -C shop push -u origin till", True), (UPSTREAM, "git push --force", False),
        (UPSTREAM, "git push", False), (BOTH, "npm ci && npm test -- -x", True), (BOTH, "npm test", False),
        ("Set it once: `git push -u origin HEAD`.", "git push -u origin HEAD", True),
        ("Never `git push --force`; `git pull` first.", "git push --force", False),
        ("Never `git push --force`; `git pull` first.", "git pull --rebase", True),
        ("WHEN a -> DO use `pytest` -> BECAUSE b", "poetry add pytest", False),
        ("WHEN a -> DO NOT `git push --force` -> BECAUSE b", "git push --force", False),
        ("WHEN a -> DON'T run `make` -> BECAUSE b", "make", False),
        ("WHEN a -> DO read the docs -> BECAUSE `make` is slow", "make", False), ("", "make", False),
        (PYTHON3, "", False),
    ],
)  # fmt: skip
def test_an_entry_is_carried_out_by_a_command_that_begins_as_it_says(does: str, command: str, done: bool) -> None:
    assert carried_out(does, command) is done


def test_what_is_to_be_left_out_is_carried_out_by_the_same_command_without_it() -> None:
    assert carried_out(WITHOUT, "pytest -q", "cd testbed && pytest -q")
    assert not carried_out(WITHOUT, "cd testbed && pytest -q", "cd testbed && pytest -q")
    assert not carried_out(WITHOUT, "ls", "cd testbed && pytest -q")
    assert not carried_out(WITHOUT, "pytest -q", "pytest -q")


def told(does: str = UPSTREAM, title: str = "A branch has no upstream", **more: object) -> ShownEntry:
    return ShownEntry("id", "L-1", title, "tool-failed", "why", does=does, **more)  # type: ignore[arg-type]


def test_a_command_tells_something_only_if_it_carries_the_entry_out() -> None:
    one = told(shape=["fatal", "has", "no", "upstream", "branch"])
    assert judged(one, "git push -u origin till", None).outcome == FOLLOWED
    assert judged(one, "git push", None) == judged(one, "git push", {*one.shape}) == one
    assert judged(one, "git push -u origin till", {*one.shape, "current"}).outcome == RECURRED
    otherwise = judged(one, "git push -u origin till", {"permission", "denied"})
    assert otherwise.outcome == ""
    assert judged(otherwise, "git status", None).outcome == ""
    assert judged(otherwise, "git push origin till", None).outcome == RECURRED, "another command did its job"
    assert judged(one, "git push -u origin till", {"permission", "denied"}, kept=True).outcome == RECURRED
    assert judged(told(), "git push -u origin till", frozenset()).outcome == ""
    settled = one._replace(outcome=RECURRED)
    assert judged(settled, "git push -u origin till", None) == settled, "once a session"


@pytest.mark.parametrize(
    ("failed", "command", "same"),
    [
        ("git push", "git push -u origin HEAD", True), ("python a.py", "python3 a.py", True),
        ("cd testbed && pytest -q", "pytest -q", True), ("pytest -x", "uv run pytest -x", True),
        ("pytest -x", "python -m pytest -x", True), ("npm install left", "pnpm install left", True),
        ("mcp__jira__create", "mcp__jira__create", True), ("python a.py", "python -c 'print(1)'", False),
        ("python a.py", "cat a.py", False), ("python a.py", "git add a.py", False), ("python a.py", "rm a.py", False),
        ("make test", "make lint", False), ("make test", "ls", False),
    ],
)  # fmt: skip
def test_the_job_of_a_command_is_done_by_the_same_attempt_or_its_words_behind_another_program(
    failed: str, command: str, same: bool
) -> None:
    assert same_job(failed, command) is same


SERVER = told(
    "WHEN testing -> DO start the staging server with `make serve` -> BECAUSE b", "The staging server is first"
)


@pytest.mark.parametrize(
    ("prompt", "no"),
    [
        ("no, don't use make serve here", True), ("Please never run `make serve`.", True),
        ("No. make serve is wrong here.", True), ("That's wrong: make serve needs docker", True),
        ("`make serve` does not work on this machine", True), ("don't start the staging server", True), ("No", False),
        ("Stop the staging server when you are done.", False), ("No problem, start the staging server", False),
        ("Don't forget to run `make serve`", False), ("do not touch the docs. Then run `make serve`", False),
        ("use make serve", False), ("now the docs", False), ("", False),
    ],
)  # fmt: skip
def test_a_prompt_takes_back_what_it_says_no_to_and_names(prompt: str, no: bool) -> None:
    assert corrects(prompt, SERVER) is no
