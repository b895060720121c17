"""What hooks learn from what happens after an entry was told."""

from __future__ import annotations

import json
import os
from pathlib import Path

from interfaces.agent_host import Host, add
from interfaces.test_agent_moments import FAILURE, SAID, fails, lesson, stated, works
from interfaces.world import Run, run_inside
from real_world import Git, put_file

__all__ = ["lesson", "stated"]


def usage(run: Run, ref: str) -> dict[str, float]:
    found: dict[str, float] = json.loads(run("recall", "show", ref, "--json").out)["usage"]
    return found


def test_nothing_is_told_after_a_success_whatever_it_printed(
    host: Host, lesson: str, run: Run
) -> None:
    for session, answer in (
        ("a", SAID),
        ("b", {"stdout": SAID, "stderr": SAID, "interrupted": False}),
    ):
        done = {"session_id": session, "tool_response": answer}
        assert host.hear("make_test_done", tool_input={"command": "git push | tail"}, **done) == ""
        assert lesson in fails(host, SAID, session_id=session)
        does = {"command": "git push --set-upstream origin main | tail"}
        assert host.hear("make_test_done", tool_input=does, **done) == ""
        assert usage(run, lesson)["seen_helpful"] == 0, "it may have failed behind the pipe"


def test_what_works_after_it_was_told_has_helped(host: Host, lesson: str, run: Run) -> None:
    fails(host, SAID)
    works(host, "git push --set-upstream origin main")
    after = usage(run, lesson)
    assert (after["seen_helpful"], after["times_helpful"], after["alpha"]) == (1, 0, 2.4)
    works(host, "git push --set-upstream origin main")
    assert usage(run, lesson) == after
    assert "git push" not in works(host, "ls")


def test_what_works_in_another_way_says_nothing(host: Host, lesson: str, run: Run) -> None:
    fails(host, SAID)
    for command in (
        "make test",
        "git push -u mine HEAD",
        "git push --force",
        "git push origin main",
        "git status",
    ):
        works(host, command)
        after = usage(run, lesson)
        assert [
            after[name] for name in ("times_injected", "seen_helpful", "seen_again", "alpha")
        ] == [1, 0, 0, 1.4]


def test_what_was_followed_and_failed_again_speaks_against_it_once(
    host: Host, lesson: str, run: Run
) -> None:
    does = "git push --set-upstream origin main"
    fails(host, SAID)
    fails(host, SAID)
    fails(host, "fatal: bad config line 3 in file .git/config", does)
    assert usage(run, lesson)["seen_again"] == 0, "it was not followed, or failed in another way"
    for _ in range(3):
        fails(host, SAID, f"cd shop && {does} --quiet")
    after = usage(run, lesson)
    assert (after["seen_again"], after["times_contradicted"], round(after["beta"], 3)) == (
        1,
        0,
        0.975,
    )


def test_what_was_told_before_the_command_is_told_once_more_at_its_failure_and_judged_once(
    host: Host, stated: str, run: Run
) -> None:
    assert stated in host.hear("before_git_push")
    assert stated in fails(host, SAID)
    assert fails(host, SAID) == ""
    works(host, "git push --set-upstream origin main")
    assert (usage(run, stated)["seen_helpful"], usage(run, stated)["seen_again"]) == (1, 0)
    assert stated in host.hear("before_git_push", session_id="it fails as the entry keeps")
    fails(
        host, SAID, "git push --set-upstream origin main", session_id="it fails as the entry keeps"
    )
    assert usage(run, stated)["seen_again"] == 1


def test_sessions_with_a_wrong_lesson_leave_it_lower(host: Host, knowledge: Path, run: Run) -> None:
    body = FAILURE.replace("git push --set-upstream origin main`", "git push --force`")
    add(knowledge, "git/lessons/up.md", "7PPPPP", "A new branch has no upstream", body=body)
    before = usage(run, "L-7PPPPP")["confidence"]
    for n in range(3):
        assert "L-7PPPPP" in fails(host, SAID, session_id=f"s{n}")
        fails(host, SAID, "git push --force", session_id=f"s{n}")
        works(host, "git push --set-upstream origin main", session_id=f"s{n}")
    assert usage(run, "L-7PPPPP")["confidence"] < before
    assert fails(host, SAID, session_id="later") == ""


def test_a_user_who_takes_back_what_was_told_since_his_last_prompt_speaks_against_it(
    host: Host, lesson: str, run: Run
) -> None:
    prompt = {"hook_event_name": "UserPromptSubmit", "prompt": "push it"}
    host.hear("stop", **prompt)
    fails(host, SAID)
    for said in (
        "Stop the dev server when you are done.",
        "No problem",
        "no",
        "Don't forget: git push, then the docs",
    ):
        host.hear("stop", **prompt | {"prompt": said})
        assert usage(run, lesson)["seen_again"] == 0
    fails(host, SAID, session_id="another")
    taken_back = prompt | {
        "prompt": "no, that is a fork: never git push to origin",
        "session_id": "another",
    }
    for _ in range(2):
        host.hear("stop", **taken_back)
        assert usage(run, lesson)["seen_again"] == 1


def test_a_check_that_passes_after_an_edit_says_nothing_of_what_was_told_before_it(
    host: Host, knowledge: Path, run: Run
) -> None:
    add(
        knowledge,
        "python/lessons/c.md",
        "7BBBBB",
        "Mind the gap",
        'applies_to:\n  - "workflows/a.py"\n',
    )
    assert "L-7BBBBB" in host.hear("before_edit")
    works(host, "make lint")
    assert usage(run, "L-7BBBBB")["seen_helpful"] == 0


def test_learning_from_sessions_can_be_switched_off(
    host: Host, lesson: str, run: Run, hermetic: Path
) -> None:
    file = put_file(
        hermetic / ".config/ai-lessons/config.toml", "[agents]\noutcomes = false\nmax_chars = 300\n"
    )
    assert len(fails(host, SAID)) <= 300
    works(host, "git push")
    assert usage(run, lesson)["seen_helpful"] == 0
    file.write_text("[agents]\nmax_chars = true\n")
    assert run("recall", "list").code == 2


def test_each_choice_is_explained_and_that_changes_nothing(
    host: Host, lesson: str, run: Run
) -> None:
    event = host.event("git_push_failed", error=f"Exit code 128\n{SAID}")
    done = run_inside(["admin", "agent-hook", "--explain"], host.code, event)
    assert done.out.startswith(
        f"told: {lesson} A new branch has no upstream: keeps a failure like this one (0."
    )
    again = run_inside(["admin", "agent-hook", "--explain"], host.code, event)
    assert again.out == done.out, "asking changes nothing"
    assert json.loads(run("recall", "sessions", "--json").out) == []
    assert usage(run, lesson)["times_injected"] == 0
    run_inside(["admin", "agent-hook"], host.code, event)
    done = run_inside(["admin", "agent-hook", "--explain"], host.code, event)
    assert done.out == f"not told: {lesson}: told earlier in this session\n"
    compact = host.event("session_start", source="compact", hook_event_name="SessionStart")
    run_inside(
        ["admin", "agent-hook", "--explain"],
        host.code,
        compact,
        CLAUDE_ENV_FILE=str(host.code / "env"),
    )
    assert not (host.code / "env").exists()
    assert fails(host, SAID) == ""


def test_a_lesson_that_was_silent_comes_back(host: Host, lesson: str, run: Run) -> None:
    assert told_in(host, 13, "a") == 12
    for back in (
        ("contribute", "update", lesson, "--status", "active"),
        ("admin", "review", "--keep", lesson),
        ("contribute", "feedback", lesson, "helpful"),
    ):
        assert run(*back).code == 0
        assert told_in(host, 13, back[1]) == 12, back


def test_what_silenced_a_lesson_does_not_count_once_it_is_brought_back(
    host: Host, lesson: str, run: Run
) -> None:
    for _ in range(3):
        run("contribute", "feedback", lesson, "contradicted")
    assert told_in(host, 1, "a") == 0
    assert "contradicted more often (3) than helpful (0)" in run("recall", "list", "--silent").out
    assert run("contribute", "update", lesson, "--status", "active").code == 0
    assert (told_in(host, 1, "b"), run("recall", "list", "--silent").out) == (1, "No entries.\n")
    assert usage(run, lesson)["times_contradicted"] == 0
    run("contribute", "update", lesson, "--status", "wrong")
    why = f"[{lesson}] A new branch has no upstream: hooks do not tell it any more: marked wrong"
    assert why in run("recall", "list", "--silent").out


def told_in(host: Host, sessions: int, name: str) -> int:
    """In how many sessions the lesson was told."""
    return sum("L-7PPPPP" in fails(host, SAID, session_id=f"{name}{n}") for n in range(sessions))


def test_what_was_told_in_twelve_sessions_without_use_is_told_again_when_it_is_edited_in_an_editor(
    host: Host, lesson: str, knowledge: Path, run: Run, git: Git
) -> None:
    file = knowledge / "git/lessons/up.md"
    git(knowledge, "add", "-A")
    git(knowledge, "commit", "-qm", "As it was", "--date", "2026-01-01T00:00:00Z")
    assert told_in(host, 14, "a") == 12
    why = "told in 12 sessions without use"
    assert json.loads(run("recall", "show", lesson, "--json").out)["silent"].startswith(why)
    assert f"hooks do not tell it any more: {why}" in run("recall", "show", lesson).out
    (one,) = json.loads(run("recall", "list", "--silent", "--json").out)
    assert (one["handle"], one["silent"][: len(why)]) == (lesson, why)
    assert f"contribute update {lesson} --status active" in run("recall", "list", "--silent").out
    assert json.loads(run("recall", "why-told", "a0", "--json").out)[0]["silent"].startswith(why)
    asked = run("recall", "context", "--error", "-", "--json", text=SAID).out
    assert [one["handle"] for one in json.loads(asked)["lessons"]] == [lesson], "who asks gets it"
    os.utime(file)
    assert told_in(host, 1, "b") == 0, "a file that was only written anew is not edited"
    file.write_text(file.read_text().replace("Set the upstream", "Say the upstream"))
    assert told_in(host, 14, "c") == 12
