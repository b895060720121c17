"""Checks on commands and on what was done, at the events of hosts: what is told, asked, refused, held, written down."""

import json
from pathlib import Path
from typing import Any

import pytest

from interfaces.agent_host import Host
from interfaces.rules_with_checks import MISE, Session
from interfaces.world import Run, run_inside
from real_world import Git, commit_all, put_file

COMMIT = {
    "command": "git commit",
    "unless_said": r"\bcommit",
    "bad": "git commit -m x",
    "good": "git status",
}
TESTS = {"changed": "src/**/*.go", "unless_changed": "**/*_test.go", "bad": ["src/a.go"]}
TESTS |= {"good": ["src/a.go", "src/a_test.go"], "enforce": "ask"}
LINT = {"changed": "**/*.go", "ran": "make lint", "bad": ["a.go"], "enforce": "deny"}


def decided(answer: dict[str, Any]) -> tuple[str, str]:
    """What the host shall do, and why, in whatever form it takes."""
    inner = answer | answer.get("hookSpecificOutput", {})
    word = inner.get("permissionDecision") or inner.get("permission") or inner.get("decision") or ""
    keys = (
        "permissionDecisionReason",
        "additionalContext",
        "additional_context",
        "agent_message",
        "reason",
    )
    return word, next((inner[key] for key in (*keys, "followup_message") if inner.get(key)), "")


def test_a_command_that_breaks_a_rule_is_told_asked_or_refused_with_what_to_run(
    host: Host, rules: Any
) -> None:
    handle = rules("Tests run through mise", MISE)
    session = Session(host)
    word, why = decided(session.before("cd src && go test ./..."))
    assert (word, f"- this command breaks {handle}: Tests run through mise. Run `mise run test` instead." in why) == (
        "", True,
    )  # fmt: skip
    assert "It hurt" in why
    for line in ("mise run test", "grep -rn 'go test' src", "cat <<'X'\ngo test\nX", "go build"):
        assert session.before(line) == {}, line
    rules(
        "Never push by force",
        {
            "command": "git push --force",
            "bad": "git push --force",
            "good": "git push",
            "enforce": "deny",
        },
    )
    rules(
        "No tags", {"command": "git tag", "bad": "git tag x", "good": "git push", "enforce": "ask"}
    )
    assert decided(session.before("git push --force"))[0] == "deny"
    assert decided(session.before("git tag v1"))[0] == "ask"
    assert decided(session.before("git tag v1 && git push --force"))[0] == "deny"


@pytest.mark.parametrize(
    ("make", "asks", "denies", "told_after"),
    [
        ("claude", "ask", "deny", False), ("codex", "", "deny", False), ("qwen", "ask", "deny", False),
        ("gemini", "", "deny", True), ("copilot", "ask", "deny", False), ("vscode", "ask", "deny", False),
        ("cursor", "ask", "deny", False), ("codebuddy", "ask", "deny", False),
    ],
)  # fmt: skip
def test_every_host_asks_and_refuses_a_command_in_its_own_form(
    host: Host, rules: Any, make: str, asks: str, denies: str, *, told_after: bool
) -> None:
    rules(
        "No tags", {"command": "git tag", "bad": "git tag x", "good": "git push", "enforce": "ask"}
    )
    rules("Tests run through mise", MISE | {"enforce": "deny"})
    session = Session(host, make)
    asked = session.before("git tag v1")
    assert decided(asked)[0] == asks
    if told_after:
        assert asked == {}
        assert "this command breaks" in decided(session.after("git tag v1"))[1]
        assert session.after("git tag v1") == {}, "it is told once"
    else:
        assert "this command breaks" in decided(asked)[1]
    word, why = decided(session.before("go test"))
    assert (word, "mise run test" in why) == (denies, True)


def test_what_a_host_takes_no_text_for_is_told_beside_the_result(host: Host, rules: Any) -> None:
    rules("Tests run through mise", MISE)
    for make in ("gemini", "qwen", "codebuddy"):
        session = Session(host, make, make)
        assert session.before("go test") == {}
        assert "Run `mise run test` instead" in decided(session.after("go test"))[1]


def test_a_command_that_a_person_asked_for_breaks_nothing(
    host: Host, rules: Any, knowledge: Path
) -> None:
    rules("No commit unless asked", COMMIT | {"enforce": "ask"})
    session, other = Session(host), Session(host, name="t")
    session.hear("UserPromptSubmit", prompt="Make the total round once.")
    assert decided(session.before("git add -A && git commit -m x"))[0] == "ask"
    for prompt in ("Make the total round once and commit it.", "Thanks."):
        other.hear("UserPromptSubmit", prompt=prompt)
    assert other.before("git commit -m x") == {}
    logs = "".join(file.read_text() for file in (knowledge / ".git/ai-lessons").rglob("*.jsonl"))
    counts = {
        word: logs.count(f'"event":"{word}"')
        for word in ("in_scope", "broken", "stopped", "allowed")
    }
    assert counts == {"in_scope": 2, "broken": 1, "stopped": 1, "allowed": 1}


ENDING = ["claude", "codex", "qwen", "gemini", "copilot", "vscode", "cursor", "codebuddy"]


@pytest.mark.parametrize("make", ENDING)
def test_the_end_is_held_once_and_then_the_person_is_told(
    host: Host, rules: Any, make: str
) -> None:
    handle = rules("Tests come with the change", TESTS)
    session = Session(host, make)
    session.edit("src/a.go", "package b\n")
    held = session.stop()
    inner = held.get("hookSpecificOutput", held)
    assert inner.get("decision", "block") == "block"
    assert (
        f"{handle}: Tests come with the change: `a.go` changed and no test `**/*_test.go` did"
        in decided(held)[1]
    )
    again = session.stop(stop_hook_active=True)
    assert decided(again) == ("", "")
    assert again.get("systemMessage", "").startswith(
        "" if make == "cursor" else f"ai-lessons: {handle}: "
    )
    assert session.stop(stop_hook_active=True) == {}, "nothing is said a third time"


@pytest.mark.parametrize("make", ["gemini", "qwen", "copilot", "codebuddy"])
def test_why_an_end_was_held_is_no_word_of_the_person_where_the_host_gives_it_back(
    host: Host, rules: Any, make: str
) -> None:
    rules("No commit unless asked", COMMIT | {"enforce": "ask"})
    rules("Tests come before you commit", TESTS)
    session = Session(host, make)
    session.edit("src/a.go", "package b\n")
    why = decided(session.stop())[1]
    assert "commit" in why
    for given_back in (why, f"Stop hook: {why}"):
        assert session.hear("UserPromptSubmit", prompt=given_back) == {}
    explained = run_inside(
        ["admin", "agent-hook", "--explain"],
        host.code,
        json.dumps({
            "hook_event_name": "PreToolUse", "session_id": "s", "cwd": str(host.code), "tool_name": "Bash",
            "tool_input": {"command": "git commit -m x"},
        }),
    ).out  # fmt: skip
    assert "No commit unless asked: this command breaks it (ask)" in explained


def test_a_rule_that_only_tells_says_it_to_the_person_and_holds_nothing(
    host: Host, rules: Any
) -> None:
    rules("Tests come with the change", TESTS | {"enforce": "tell"})
    session = Session(host)
    session.edit("src/a.go", "package b\n")
    assert session.stop().keys() == {"systemMessage"}
    assert session.stop() == {}


def test_an_end_is_not_held_where_the_rule_is_kept_or_nothing_was_done(
    host: Host, rules: Any, git: Git
) -> None:
    rules("Tests come with the change", TESTS)
    kept = Session(host, name="kept")
    kept.edit("src/a.go", "package b\n")
    kept.edit("src/a_test.go", "package b\n")
    assert kept.stop() == {}
    reads = Session(host, name="reads")
    put_file(host.code / "src/a.go", "package c // by a person\n")
    reads.call("cat src/a.go")
    reads.call("git pull")
    assert reads.stop() == {}, "a session without an edit is never held"
    undone = Session(host, name="undone")
    undone.edit("src/a.go", "package d\n")
    put_file(host.code / "src/a.go", "package c // by a person\n")
    assert undone.stop() == {}, "what is as it was before is no change"
    aside = Session(host, name="aside")
    aside.edit("build/src/x.go", "package x\n")
    outside = host.code.parent / "src/y.go"
    aside.hear(
        "PreToolUse",
        tool_name="Write",
        tool_input={"file_path": str(outside), "content": "package y\n"},
    )
    put_file(outside, "package y\n")
    assert aside.stop() == {}, "what git ignores, and what is elsewhere, is no file of the project"
    busy = Session(host, name="busy")
    busy.edit("src/a.go", "package e\n")
    assert busy.stop(background_tasks=[{"id": 1}]) == {}, "it is not at its end"
    git(host.code, "checkout", "-q", "--", ".")


def test_a_file_that_a_command_wrote_is_an_edit_too(host: Host, rules: Any, git: Git) -> None:
    rules("Tests come with the change", TESTS)
    session = Session(host)
    session.before("sed -i s/a/b/ src/a.go && git commit -qam x")
    put_file(host.code / "src/a.go", "package b\n")
    commit_all(git, host.code, "by the session")
    session.after("sed -i s/a/b/ src/a.go && git commit -qam x")
    assert decided(session.stop())[0] == "block"


def test_only_a_command_that_succeeded_after_the_last_edit_keeps_a_rule(
    host: Host, rules: Any
) -> None:
    rules("Lint before handing over", LINT)
    early, late, failed = (Session(host, name=name) for name in ("early", "late", "failed"))
    early.call("make lint")
    early.edit("src/a.go", "package b\n")
    word, why = decided(early.stop())
    assert (word, "`a.go` changed and `make lint` did not succeed since" in why) == ("block", True)
    late.edit("src/a.go", "package c\n")
    late.call("make fmt && make lint")
    assert late.stop() == {}
    failed.edit("src/a.go", "package d\n")
    failed.call("make lint", worked=False)
    assert decided(failed.stop())[0] == "block"


def test_a_change_is_judged_as_a_whole_where_there_is_no_session(
    host: Host, rules: Any, run: Run, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle = rules("Tests come with the change", TESTS)
    lint = rules("Lint before handing over", LINT)
    put_file(host.code / "src/a.go", "package b\n")
    commit_all(git, host.code, "no test")
    monkeypatch.chdir(host.code)
    done = run("check", "--since", "HEAD~1")
    assert done.code == 1
    assert (
        f"src/a.go:1: {handle} Tests come with the change: `a.go` changed and no test" in done.out
    )
    assert (
        f"{lint} Lint before handing over: whether `make lint` ran is not seen here"
        in done.out + done.err
    )
    assert run("check").code == 0, "what stands there now says nothing of a change"
    put_file(host.code / "src/a_test.go", "package b\n")
    assert run("check", "--since", "HEAD~1").code == 0


def test_several_checks_of_one_rule_are_held_against_what_each_is_about(
    host: Host, rules: Any
) -> None:
    text = {
        "files": "**/*.go",
        "regex": "panic\\(",
        "bad": "panic(1)",
        "good": "return err",
        "enforce": "deny",
    }
    handle = rules("Keep the house in order", text, MISE | {"enforce": "ask"}, TESTS)
    session = Session(host)
    assert decided(session.before("go test"))[0] == "ask"
    edit = {
        "file_path": str(host.code / "src/a.go"),
        "old_string": "package a\n",
        "new_string": "panic(1)\n",
    }
    word, why = decided(session.hear("PreToolUse", tool_name="Edit", tool_input=edit))
    assert (word, f"this edit breaks {handle} at line 1" in why) == ("deny", True)
    session.edit("src/a.go", "package b\n")
    assert decided(session.stop())[0] == "block"


def test_explain_names_the_checks_of_commands_and_of_what_was_done_and_changes_nothing(
    host: Host, rules: Any
) -> None:
    mise = rules("Tests run through mise", MISE | {"enforce": "deny"})
    commit = rules("Commit when asked", COMMIT)
    tests = rules("A test comes with a change", TESTS)

    def explained(event: str, **fields: object) -> list[str]:
        data = {"hook_event_name": event, "session_id": "s", "cwd": str(host.code), **fields}
        done = run_inside(["admin", "agent-hook", "--explain"], host.code, json.dumps(data))
        assert (done.code, done.err) == (0, "")
        return done.out.splitlines()

    def before(command: str) -> list[str]:
        return explained("PreToolUse", tool_name="Bash", tool_input={"command": command})

    session = Session(host)
    assert (
        before("go test ./...")[0]
        == f"told: {mise} Tests run through mise: this command breaks it (deny)"
    )
    assert before("mise run test -- go test")[:1] != [
        f"told: {mise} Tests run through mise: this command breaks it"
    ]
    assert (
        before("git commit -m x")[0]
        == f"told: {commit} Commit when asked: this command breaks it (tell)"
    )
    session.hear("UserPromptSubmit", prompt="please commit it")
    assert before("git commit -m x")[0] == f"not told: {commit}: a person asked for this command"

    session.edit("src/a.go", "package b\n")
    held = (
        f"held: {tests} A test comes with a change: `a.go` changed and no test `**/*_test.go` did"
    )
    assert held in explained("Stop")
    assert held in explained("Stop"), "asking changes nothing"
    assert session.stop()["decision"] == "block"
    assert f"told to the person: {held.removeprefix('held: ')}" in explained("Stop")
    session.stop()
    assert f"not told: {tests}: told to the person earlier in this session" in explained("Stop")
    session.edit("src/a_test.go", "package b\n")
    assert f"not told: {tests}: its check finds nothing missing" in explained("Stop")


def lines_about(handle: str, run: Run) -> list[str]:
    """What a person reads of a rule at each place: the entry, the review, and the figures."""
    commands = (("recall", "show", handle), ("admin", "review", "--list"), ("admin", "stats"))
    return [run(*command).out for command in commands]


def test_whether_a_rule_was_kept_is_one_line_wherever_a_person_looks(
    host: Host, rules: Any, run: Run
) -> None:
    handle = rules("Tests run through mise", MISE)
    session = Session(host)
    session.hear("SessionStart", source="startup")
    session.before("go test ./...")
    line = "in scope in 1 session, broken in 1 after it was told: deny it? (told in 1)"
    for text in lines_about(handle, run):
        assert text.count(line) == 1, text
    shown = run("recall", "show", handle, "--json").json["kept"]
    assert (shown["in_scope"], shown["broken_told"], shown["stopped"]) == (1, 1, 0)


def test_a_prompt_like_a_rule_accuses_nobody(host: Host, rules: Any, run: Run) -> None:
    handle = rules("Tests run through mise", MISE)
    session = Session(host)
    session.hear("SessionStart", source="startup")
    for prompt in (
        "no, the tests shall not run through mise here",
        "tests run through mise, I said",
    ):
        session.hear("UserPromptSubmit", prompt=prompt)
    shown, reviewed, *others = lines_about(handle, run)
    assert "kept or not: told in 1 session\n" in shown
    assert handle not in reviewed
    for text in others:
        assert "broken" not in text


def test_what_is_told_at_a_breach_was_not_told_before_it(host: Host, rules: Any, run: Run) -> None:
    text = {"files": "**/*.go", "regex": "panic\\(", "bad": "panic(1)", "good": "return err"}
    handle = rules("Return errors", text)
    Session(host).edit("src/a.go", "panic(1)\n")
    shown = run("recall", "show", handle).out
    assert "in scope in 1 session, broken in 1, never after it was told (told in 1)" in shown
