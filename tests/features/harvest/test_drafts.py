"""Drafts out of what happened and was said in sessions."""

from __future__ import annotations

import pytest

from ai_lessons.app.quoting import without_people
from ai_lessons.features.harvest.calls import happened
from ai_lessons.features.harvest.effects import in_sessions, measured
from ai_lessons.model.transcripts import Transcript
from features.harvest.made_sessions import FATAL, STATED, Session, proposed, thrice
from features.harvest.test_transcripts import PATHSPEC, recorded

__all__ = ["recorded"]


def test_what_a_real_host_kept_gives_one_candidate(recorded: Transcript) -> None:
    (one,) = proposed(recorded)
    assert one.title == f"`git push`: {FATAL}"
    assert (one.sort, one.do, one.sessions) == ("failure", "run `git push -u origin HEAD`", 1)
    assert one.content.startswith(f"~~~\n$ git push\n{FATAL}\n")
    (seen,) = one.evidence
    assert (seen.host, seen.date) == (recorded.host, recorded.steps[0].at[:10])
    assert seen.place.startswith(f"{recorded.file}:")


def test_a_command_that_failed_and_worked_in_another_form_is_one_draft_of_many_sessions() -> None:
    same = thrice("git push", FATAL, "git push -u origin HEAD")
    (one,) = proposed(*same)
    assert (one.sort, one.project, one.seen.sessions, len(one.evidence)) == (
        "failure",
        "shop",
        3,
        3,
    )
    assert (one.do, one.because) == (
        "run `git push -u origin HEAD`",
        "it failed in 3 sessions; this worked in 3",
    )
    assert one.id == proposed(same[0])[0].id


@pytest.mark.parametrize("worked", ["pytest tests/b.py", "git push", "npm ci"])
def test_the_same_form_or_another_thing_is_no_other_form(worked: str) -> None:
    assert proposed(Session().runs("pytest tests/a.py", "1 failed").runs(worked)) == []
    assert proposed(Session().runs("git push", FATAL).runs("git push")) == []


def test_a_failure_that_came_back_in_another_session_is_a_draft_without_an_answer() -> None:
    once = Session("s1").runs("git checkout a", PATHSPEC)
    again = Session("s2", "2026-11-21").runs("git checkout b", PATHSPEC.replace("'a'", "'b'"))
    assert proposed(once) == []
    (one,) = proposed(once, again)
    assert (one.do, one.seen.sessions) == ("", 2)
    assert [seen.date for seen in one.evidence] == ["2026-11-21", "2026-11-20"]


def test_nothing_of_a_task_and_no_text_of_a_file_stands_in_a_draft() -> None:
    output = '  File "secret_plan.py", line 3\n    print(f"{customer}")\n          ^\nSyntaxError: invalid syntax'
    rows = [
        Session(f"s{n}")
        .runs(f"python plans/secret_plan_{n}.py", output)
        .runs(f"python3 plans/secret_plan_{n}.py")
        for n in range(3)
    ]
    (one,) = proposed(*rows)
    assert one.when == "running `python`"
    assert not [
        word
        for word in ("secret_plan", "customer", "print")
        if word in str(one._replace(done=(), evidence=()))
    ]


def test_a_fact_of_the_machine_or_of_several_projects_holds_everywhere() -> None:
    missing = thrice("ruff check", "command not found: ruff", "uv run ruff check")
    assert [one.project for one in proposed(*missing)] == ["global"]


def test_of_a_pipe_the_output_tells_whether_it_failed() -> None:
    went = Session().runs("git push", FATAL)
    went.call("Bash", {"command": "git push origin | tail -3"}, FATAL)
    assert proposed(went) == []
    worked = (
        Session()
        .runs("git push", FATAL)
        .call("Bash", {"command": "git push -u origin | cat"}, "done")
    )
    assert len(proposed(worked)) == 1


def test_what_would_have_changed_most_comes_first_and_counts_only_later_sessions() -> None:
    rows = [
        Session(f"s{n}", f"2026-11-0{n + 1}")
        .runs("python a.py", "SyntaxError: x")
        .runs("python3 a.py")
        for n in range(5)
    ]
    rows[0].says(STATED).edits("tox.ini").runs("git push", FATAL).runs("git push -u origin HEAD")
    first, *others = proposed(*rows)
    assert (first.sort, first.warned, first.told) == ("pattern", 3, 6)
    assert sorted(one.sort for one in others) == ["failure", "stated"]
    ended = [
        row
        for one in rows
        for row in happened(one.transcript.steps, one.transcript.session, "", "", "")
    ]
    effect = measured(in_sessions(ended), [first.effect])
    assert (effect.sessions, effect.failures, effect.met, effect.warned, effect.told) == (
        5,
        6,
        4,
        3,
        6,
    )


@pytest.mark.parametrize(
    "text",
    [
        STATED,
        "From now on we should never edit a migration that is merged, because it was run in production",
        "Remember that we always run the tests with a database",
        "Nein, wir benutzen hier immer pnpm statt npm, weil sonst die Sperrdatei nicht stimmt",
        "Non, nous devons toujours utiliser pnpm plutôt que npm, parce que sinon le verrou ne correspond pas",
        "No, debemos usar siempre pnpm en lugar de npm, porque si no el archivo no coincide",
        "不要用 npm。我们应该总是使用 pnpm。因为否则锁文件不对",
    ],
)
def test_what_a_person_stated_is_quoted_with_what_was_edited_after(text: str) -> None:
    (one,) = proposed(Session("s1").runs("npm test").says(text).edits("a.py"))
    (quote,) = one.quotes
    assert (one.sort, one.do, quote.session, quote.text, quote.pasted) == (
        "stated",
        "",
        "s1",
        text,
        False,
    )
    assert quote.at.startswith("2026-11-20T")
    assert one.edited == ("a.py",)


def test_what_was_said_in_several_sessions_is_one_draft_and_comes_first() -> None:
    other = "From now on we should never edit a migration that is merged, because it was run"
    every = [Session("s0").says(other).edits("m.sql")]
    every += [
        Session(f"s{n}", f"2026-11-2{n}").says(STATED + "!" * n).edits("a.py") for n in (1, 2)
    ]
    first, second = proposed(*every)
    assert ([quote.session for quote in first.quotes], len(second.quotes)) == (["s2", "s1"], 1)
    assert first.because == "said in 2 sessions"


def test_of_one_session_few_are_quoted_and_a_pasted_comment_is_marked() -> None:
    many = Session()
    for name in "abcd":
        many.says(f"From now on we should never touch {name * 4}, because {name * 5} breaks").edits(
            "a.py"
        )
    assert sum(len(one.quotes) for one in proposed(many)) == 2
    comment = (
        "I got this feedback: we should use `rune` instead, because slicing by byte breaks names"
    )
    ((quote,),) = [one.quotes for one in proposed(Session().says(comment).edits("a.py"))]
    assert quote.pasted
    page = (
        f"See what the page says: {STATED} " + "It is so for each of the tools that we know. " * 15
    )
    ((quote,),) = [one.quotes for one in proposed(Session().says("Look").says(page).edits("a.py"))]
    assert quote.pasted


def test_a_correction_is_sure_and_says_what_the_agent_had_done_before_it() -> None:
    went = Session().says("Round the totals").edits("cart.py").runs("make test", "1 failed")
    went.call("Bash", {"command": "git push"}, REFUSED, failed=True).says(STATED).edits("tox.ini")
    (one,) = proposed(went)
    (quote,) = one.quotes
    assert (one.sure, quote.text, quote.edited) == (True, STATED, ("tox.ini",))
    assert quote.before == (
        "edited cart.py",
        "ran `make test`, which failed",
        "was stopped at `git push`",
    )


def test_a_task_is_sure_in_no_number_of_sessions_and_other_words_of_a_person_are() -> None:
    task = "Fix {}.py, we need it: never change other tests, because all of them should pass"
    tasks = [
        Session(f"s{name}").says(task.format(name)).edits("a.py")
        for name in ("cart", "shop", "till")
    ]
    assert {one.sure for one in proposed(*tasks)} == {False}
    long = Session().says("The totals must be rounded once, not twice. " * 12).edits("a.py")
    assert proposed(long) == [], "it is all that the session was asked"
    again = (
        Session("s2")
        .says("Use tox here instead of make: which test failed make always hides")
        .edits("tox.ini")
    )
    (one,) = proposed(Session("s1").says(STATED).edits("a.py"), again)
    assert (one.sure, one.sessions) == (True, 2)
    assert not proposed(again)[0].sure, "it is the first prompt of its session"


def test_a_session_that_is_kept_twice_is_quoted_once() -> None:
    went = Session().runs("make").says(STATED).edits("a.py").says(STATED).edits("a.py")
    ((quote,),) = [
        one.quotes
        for one in proposed(went, Session("copy").runs("make").says(STATED).edits("a.py"))
    ]
    assert quote.session == "copy"


def test_what_states_nothing_or_is_not_of_the_user_is_none() -> None:
    for text in (
        "Thanks, now the docs",
        "Stop the dev server.",
        f"<command-name>{STATED}</command-name>",
    ):
        assert proposed(Session().runs("npm test").says(text)) == []
    for mark in ("isSidechain", "isMeta"):
        assert proposed(Session().runs("npm test").says(STATED, **{mark: True})) == []


def test_people_are_left_out_of_what_is_quoted() -> None:
    assert without_people("mail ann@example.com or @ann-b, in /home/ann/x and @decorator.py") == (
        "mail … or …, in /home/…/x and ….py"
    )


REFUSED = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, …"


@pytest.mark.parametrize(
    "output",
    [
        REFUSED,
        f"Error: {REFUSED}",
        "[Request interrupted by user for tool use]",
        "Exit code 137\n[Request interrupted by user for tool use]\n=== RUN   TestCart",
        "Permission to use Bash with command terraform apply has been denied.",
    ],
)
def test_a_call_that_a_person_refused_or_interrupted_is_no_failed_command(output: str) -> None:
    went = Session().runs("terraform apply", output).edits("a.py", failed=output)
    assert [(step.sort, step.text) for step in went.transcript.steps] == [
        ("stopped", "terraform apply"), ("stopped", "/home/ann/shop/a.py"),
    ]  # fmt: skip
    assert proposed(*(Session(f"s{n}").runs("terraform apply", output) for n in range(3))) == []


def test_a_command_that_only_speaks_of_an_interruption_has_failed() -> None:
    for output in (
        "Error: aborted by the server",
        "KeyboardInterrupt: interrupted by user",
        "error: rejected by user",
    ):
        assert [step.sort for step in Session().runs("make test", output).transcript.steps] == [
            "command"
        ]


@pytest.mark.parametrize(
    ("failed", "worked"), [("mise run lint", "mise run test"), ("make lint", "make fmt")]
)
def test_an_unlike_command_is_no_way_out(failed: str, worked: str) -> None:
    drafted = proposed(*thrice(failed, "error: unused variable in the code", worked))
    assert [one.do for one in drafted] in ([], [""])


@pytest.mark.parametrize(
    "text", ["The user doesn't want to proceed with this tool use.", "<tool_use_error>x", "error 2"]
)
def test_what_the_host_says_in_the_place_of_an_output_or_what_says_little_is_no_failure(
    text: str,
) -> None:
    assert proposed(*thrice("git push", text, "git push -u origin")) == []
