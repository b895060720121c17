"""Commands that fail more often than not are learned from sessions, by what worked in their place."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.features.harvest.calls import Happened, happened
from ai_lessons.features.harvest.counts import CallCounts
from ai_lessons.features.harvest.patterns import CommandPattern, learn, texts
from ai_lessons.model.command_forms import called, fits, named_forms
from ai_lessons.model.transcripts import Step

OK, BAD = "", "Exit code 1\nSyntaxError: invalid syntax"
Row = tuple[str, str] | tuple[str, str, str]


def steps(*rows: Row) -> list[Step]:
    """Commands with their outputs: empty for one that worked. A third part is the folder that it was called in."""
    folders = [row[2] if len(row) > 2 else "/code/shop" for row in rows]
    return [
        Step("command", row[0], row[1], bool(row[1]), at, f"2026-11-01T10:00:{at:02}.000Z", folder)
        for at, (row, folder) in enumerate(zip(rows, folders, strict=True))
    ]


def session(name: str, *rows: Row, project: str = "shop") -> list[Happened]:
    return list(happened(steps(*rows), name, project, "claude-code", f"{name}.jsonl"))


def learned(sessions: Iterable[Iterable[Row]]) -> list[CommandPattern]:
    return learn([one for n, rows in enumerate(sessions) for one in session(f"s{n}", *rows)])


def said(pattern: CommandPattern) -> tuple[str, str]:
    _, when, do, _ = texts(pattern)
    return when, do


def test_a_program_that_fails_is_one_pattern_whatever_its_arguments() -> None:
    (pattern,) = learned(
        [
            (f"python task_{n}.py", BAD),
            (f"python -c 'print({n})'", BAD),
            (f"python3 task_{n}.py", OK),
        ]
        for n in range(3)
    )
    assert texts(pattern) == (
        "`python` fails here: use `python3`",
        "running `python`",
        "use `python3`",
        "SyntaxError: invalid syntax (failed 6 of 6 times, in 3 sessions; this worked in 6)",
    )
    assert pattern.before
    assert pattern.seen == CallCounts(6, 6, 3)


def test_a_command_that_names_the_folder_it_stands_in_is_one_pattern_for_all_programs() -> None:
    missing, inside = "no such file or directory: app", "/code/app"
    (pattern,) = learned(
        [
            ("cd app && make", f"(eval):cd:1: {missing}", inside),
            ("make", OK, inside),
            (
                "git -C app add -A",
                "fatal: cannot change to 'app': No such file or directory",
                inside,
            ),
            ("git add -A", OK, inside),
            ("cd app && make", OK, "/code"),
        ]
        for _ in range(5)
    )
    assert said(pattern) == (
        "inside `app`, running `cd app` or `git -C app`",
        "run the command without `cd app`: you are in that folder already",
    )
    assert fits(pattern.forms, called("cd ./app/ && ls", "/code/app"))
    assert not fits(pattern.forms, called("cd app && ls", "/code"))
    assert not fits(pattern.forms, called("cd .. && git -C app add -A", "/code/app"))


@pytest.mark.parametrize(
    ("rows", "when", "do"),
    [
        (
            [("ruff check", "zsh: command not found: ruff"), ("uv run ruff check", OK)],
            "running `ruff`",
            "run it as `uv run ruff`",
        ),
        (
            [("npm test", "Error: connect ECONNREFUSED 127.0.0.1:54"), ("docker compose up -d", OK), ("npm test", OK)],
            "`npm test` fails: Error: connect ECONNREFUSED 127.0.0.1:54",
            "run `docker compose up -d` first",
        ),
        (
            [("git push", "fatal: The current branch cart has no upstream branch."), ("git push -u origin HEAD", OK)],
            "`git push` fails: fatal: The current branch cart has no upstream branch.",
            "run `git push -u origin HEAD`",
        ),
        (
            [("pip install flask", "error: externally-managed-environment"), ("pip3 install flask", OK)],
            "running `pip`",
            "use `pip3`",
        ),
    ],
    ids=["another way to run it", "a step before", "options", "another program"],
)  # fmt: skip
def test_what_worked_next_is_said_by_its_difference(rows: list[Row], when: str, do: str) -> None:
    assert said(next(one for one in learned([rows] * 4) if one.does)) == (when, do)


@pytest.mark.parametrize(
    "what", ["git push --force", "git commit --no-verify", "pip install --break-system-packages"]
)
def test_what_destroys_or_skips_a_check_is_shown_and_never_drafted(what: str) -> None:
    command = " ".join(word for word in what.split() if not word.startswith("--"))
    patterns = learned([[(command, "error: the remote end refused this time"), (what, OK)]] * 3)
    assert all(one.does is None for one in patterns)
    assert what in {line for one in patterns for line in one.done}


def test_what_fails_as_often_as_not_or_in_one_session_is_told_before_no_command() -> None:
    often = [("make", "make: *** the build is broken"), ("make", OK), ("gmake", OK)]
    (as_often,) = learned([often] * 4)
    assert not as_often.before
    assert said(as_often)[0] == "`make` fails: make: *** the build is broken"
    once = [("python a.py", BAD)] * 9 + [("python3 a.py", OK)]
    assert learned([once]) == []
    assert learned([once] * 2) != []


def test_a_look_that_finds_nothing_is_no_pattern() -> None:
    looks = [("ls build", "ls: build: No such file or directory"), ("ls -la", OK)]
    assert learned([looks] * 5) == []
    tries = [("make build", "make: build: No such file or directory"), ("ls -la", OK)]
    assert [pattern.before for pattern in learned([tries] * 5)] == [False]


def test_specific_forms_count_only_what_a_general_one_does_not_explain() -> None:
    rows = [
        ("python -m pytest", BAD),
        ("python3 -m pytest", OK),
        ("python x.py", BAD),
        ("python3 x.py", OK),
    ]
    assert [str(one.forms[0]) for one in learned([rows] * 4)] == ["python"]


def test_a_machine_that_changed_is_believed_after_a_few_calls() -> None:
    seen = CallCounts(calls=400, failures=300, sessions=90)
    assert seen.chance() > 0.7
    assert seen.chance(passed=8) < 0.5
    assert seen.chance(failed=5) > seen.chance()


WORD = st.text("abcdefghijklmnopqrstuvwxyz-./", min_size=1, max_size=12)
ARGUMENTS = st.lists(WORD, min_size=1, max_size=4)


@given(ARGUMENTS, st.sampled_from(["/code/app", "/code/shop/web"]))
def test_a_draft_says_its_commands_in_a_form_that_is_read_back(
    arguments: list[str], folder: str
) -> None:
    rest = " ".join(arguments)
    rows: list[Row] = [(f"python {rest}", BAD, folder), (f"python3 {rest}", OK, folder)]
    (pattern,) = learned([rows] * 3)
    assert pattern.before
    _, when, _, _ = texts(pattern)
    assert set(named_forms(when)) == set(pattern.forms)


def test_without_a_cd_what_is_to_be_left_out_is_named() -> None:
    rows = [
        ("git -C app add x", "fatal: cannot change to 'app': No such file", "/code/app"),
        ("git add x", OK, "/code/app"),
    ]
    (pattern,) = learned([rows] * 4)
    assert said(pattern)[1] == "run the command without `-C app`: you are in that folder already"


def test_two_sessions_in_which_it_always_failed_are_enough() -> None:
    (pattern,) = learned([[("python a.py", BAD), ("python3 a.py", OK)]] * 2)
    assert pattern.before
