"""What hooks tell at a failure, at a prompt and before an edit, and what they learn from what happens next."""

import json
import os
from pathlib import Path

import pytest

from interfaces.agent_host import Host, add
from interfaces.mcp_world import inside
from interfaces.world import Run, run_inside
from real_world import Git, put_file

FAILURE = """Set the upstream once: `git push --set-upstream origin main`.

```
$ git push
fatal: The current branch topic has no upstream branch.
To push the current branch and set the remote as upstream, use
```
"""
SAID = """fatal: The current branch main has no upstream branch.
To push the current branch and set the remote as upstream, use

    git push --set-upstream origin main
"""


@pytest.fixture
def lesson(knowledge: Path) -> str:
    add(knowledge, "git/lessons/up.md", "7PPPPP", "A new branch has no upstream", body=FAILURE)
    return "L-7PPPPP"


def fails(host: Host, said: str, command: str = "git push", **changes: object) -> str:
    error = f"Exit code 128\n{said}"
    return host.hear("git_push_failed", tool_input={"command": command}, error=error, **changes)


def works(host: Host, command: str, **changes: object) -> str:
    return host.hear("make_test_done", tool_input={"command": command}, **changes)


def usage(run: Run, ref: str) -> dict[str, float]:
    found: dict[str, float] = json.loads(run("recall", "show", ref, "--json").out)["usage"]
    return found


def test_the_lesson_that_keeps_the_same_failure_is_told_at_once_with_what_to_do(host: Host, lesson: str) -> None:
    told = fails(host, SAID)
    assert f"- [{lesson}] A new branch has no upstream | Set the upstream once: `git push --set-upstream" in told
    assert len(told) <= 900
    assert fails(host, SAID) == ""


@pytest.mark.parametrize(
    "said",
    [
        "",
        "fatal: not a git repository (or any of the parent directories): .git",
        "error: src refspec main does not match any",
    ],
)
def test_a_failure_that_no_lesson_is_about_tells_nothing(host: Host, lesson: str, said: str) -> None:
    assert fails(host, said) == ""


@pytest.mark.parametrize(
    ("answer", "fails"),
    [
        (SAID, True),
        ({"stdout": "", "stderr": SAID}, True),
        ({"output": SAID, "exit_code": 128}, True),
        ({"output": SAID, "exit_code": 0}, False),
        (f"Exit code: 0\n{SAID}", False),
    ],
)
def test_a_host_without_an_event_for_failures_is_understood(
    host: Host, lesson: str, answer: object, fails: bool
) -> None:
    event = {"tool_name": "shell", "tool_input": {"command": "git push"}, "tool_response": answer, "turn_id": "t"}
    assert (lesson in host.hear("make_test_done", **event)) is fails


@pytest.mark.parametrize("answer", [SAID, {"stdout": SAID, "stderr": SAID, "interrupted": False}])
def test_nothing_is_told_after_a_success_whatever_it_printed(host: Host, lesson: str, run: Run, answer: object) -> None:
    assert host.hear("make_test_done", tool_input={"command": "git push | tail"}, tool_response=answer) == ""
    assert lesson in fails(host, SAID)
    done = {"tool_input": {"command": "git push --set-upstream origin main | tail"}, "tool_response": answer}
    assert host.hear("make_test_done", **done) == ""
    assert usage(run, lesson)["seen_helpful"] == 0, "it may have failed behind the pipe"


def test_agents_without_hooks_ask(host: Host, lesson: str, run: Run) -> None:
    (host.code / "said.txt").write_text(f"$ git push\n{SAID}")
    found = json.loads(run("recall", "context", "--error", str(host.code / "said.txt"), "--json").out)
    assert [one["handle"] for one in found["lessons"]] == [lesson]
    assert json.loads(run("recall", "context", "--error", "-", "--json", text=SAID).out)["lessons"] == found["lessons"]


def test_a_message_that_a_lesson_names_counts_as_its_failure(host: Host, knowledge: Path) -> None:
    pattern = (
        "pattern:\n  when: 'psql says \"remaining connection slots are reserved for roles\"'\n  do: use the pooler\n"
    )
    add(knowledge, "db/lessons/p.md", "7PSQKK", "Connections run out", f"{pattern}  because: there are 100\n")
    said = "psql: FATAL:  remaining connection slots are reserved for roles"
    assert "use the pooler" in fails(host, said, "psql -c 'select 1'")


def test_what_works_after_it_was_told_has_helped(host: Host, lesson: str, run: Run) -> None:
    fails(host, SAID)
    works(host, "git push --set-upstream origin main")
    after = usage(run, lesson)
    assert (after["seen_helpful"], after["times_helpful"], after["alpha"]) == (1, 0, 2.4)
    works(host, "git push --set-upstream origin main")
    assert usage(run, lesson) == after
    assert "git push" not in works(host, "ls")


@pytest.mark.parametrize(
    "command", ["git push -u upstream HEAD", "git push --force", "git push origin main", "git status", "python x.py"]
)
def test_what_works_in_another_way_says_nothing(host: Host, lesson: str, run: Run, command: str) -> None:
    fails(host, SAID)
    works(host, command)
    after = usage(run, lesson)
    assert (after["seen_helpful"], after["seen_again"], after["alpha"]) == (0, 0, 1.4)


def test_what_was_followed_and_failed_again_speaks_against_it_once(host: Host, lesson: str, run: Run) -> None:
    does = "git push --set-upstream origin main"
    fails(host, SAID)
    fails(host, SAID)
    fails(host, "fatal: bad config line 3 in file .git/config", does)
    assert usage(run, lesson)["seen_again"] == 0, "it was not followed, or failed in another way"
    for _ in range(3):
        fails(host, SAID, f"cd shop && {does} --quiet")
    after = usage(run, lesson)
    assert (after["seen_again"], after["times_contradicted"], round(after["beta"], 3)) == (1, 0, 0.975)


STATED = """from: user
pattern:
  when: running `git push`
  do: run `git push --set-upstream origin main`
  because: a new branch has no upstream
"""


@pytest.fixture
def stated(knowledge: Path) -> str:
    """The same lesson, told before the command that it names."""
    add(knowledge, "global/lessons/up.md", "7PPPPP", "A new branch has no upstream", STATED, FAILURE)
    return "L-7PPPPP"


def test_what_was_told_before_and_fails_as_the_entry_keeps_speaks_against_it(host: Host, stated: str, run: Run) -> None:
    lesson = stated
    assert lesson in host.hear("before_git_push")
    fails(host, SAID, "git push --set-upstream origin main")
    assert usage(run, lesson)["seen_again"] == 1


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


def test_a_lesson_that_was_told_and_not_used_counts_neither_way(host: Host, lesson: str, run: Run) -> None:
    fails(host, SAID)
    works(host, "make test")
    after = usage(run, lesson)
    assert (after["times_injected"], after["seen_helpful"], after["seen_again"]) == (1, 0, 0)


def test_a_user_who_takes_back_what_was_told_since_his_last_prompt_speaks_against_it(
    host: Host, lesson: str, run: Run
) -> None:
    prompt = {"hook_event_name": "UserPromptSubmit", "prompt": "push it"}
    host.hear("stop", **prompt)
    fails(host, SAID)
    for said in ("Stop the dev server when you are done.", "No problem", "no", "Don't forget: git push, then the docs"):
        host.hear("stop", **prompt | {"prompt": said})
        assert usage(run, lesson)["seen_again"] == 0
    fails(host, SAID, session_id="another")
    for _ in range(2):
        host.hear(
            "stop", **prompt | {"prompt": "no, that is a fork: never git push to origin", "session_id": "another"}
        )
        assert usage(run, lesson)["seen_again"] == 1


def test_a_check_that_passes_after_an_edit_says_nothing_of_what_was_told_before_it(
    host: Host, knowledge: Path, run: Run
) -> None:
    add(knowledge, "python/lessons/c.md", "7BBBBB", "Mind the gap", 'applies_to:\n  - "workflows/a.py"\n')
    assert "L-7BBBBB" in host.hear("before_edit")
    works(host, "make lint")
    assert usage(run, "L-7BBBBB")["seen_helpful"] == 0


def test_learning_from_sessions_can_be_switched_off(host: Host, lesson: str, run: Run, hermetic: Path) -> None:
    file = put_file(hermetic / ".config/ai-lessons/config.toml", "[agents]\noutcomes = false\nmax_chars = 300\n")
    assert len(fails(host, SAID)) <= 300
    works(host, "git push")
    assert usage(run, lesson)["seen_helpful"] == 0
    file.write_text("[agents]\nmax_chars = true\n")
    assert run("recall", "list").code == 2


def test_an_agent_that_did_what_a_stored_lesson_says_is_let_go_at_the_end(host: Host, lesson: str) -> None:
    fails(host, SAID)
    works(host, "git push --set-upstream origin main")
    assert host.hear("stop") == ""


def test_an_agent_that_found_another_way_than_what_was_told_is_asked_for_it(host: Host, lesson: str) -> None:
    fails(host, SAID)
    works(host, "git push -u mine HEAD")
    assert host.hear("stop").startswith("`git push` failed, then `git push -u mine HEAD` worked")


def test_nobody_is_asked_how_what_was_told_did(host: Host, lesson: str) -> None:
    fails(host, SAID)
    works(host, "make other")
    assert host.hear("stop") == ""


def test_feedback_takes_many_at_once(host: Host, lesson: str, run: Run) -> None:
    done = json.loads(run("contribute", "feedback", f"{lesson}=helpful", "L-8F3K2A=ignored", "--json").out)
    assert [(one["handle"], one["outcome"]) for one in done] == [(lesson, "helpful"), ("L-8F3K2A", "ignored")]
    assert run("contribute", "feedback", f"{lesson}=helpful", "L-8F3K2A").code == 2
    assert run("contribute", "feedback", f"{lesson}=nice").code == 2


def test_why_something_was_told_can_be_asked_afterwards(host: Host, lesson: str, run: Run) -> None:
    fails(host, SAID, session_id="s-1")
    works(host, "git push --set-upstream origin main", session_id="s-1")
    (told,) = json.loads(run("recall", "why-told", "s-1", "--json").out)
    assert (told["handle"], told["moment"], told["outcome"]) == (lesson, "tool-failed", "followed")
    assert told["why"].startswith("keeps a failure like this one (0.")
    assert f"{lesson}" in run("recall", "why-told", "s-1").out
    assert run("recall", "why-told").out == run("recall", "why-told", "s-1").out
    fails(host, SAID, session_id="s-2")
    assert "followed" not in run("recall", "why-told").out, "the last session"
    assert run("recall", "why-told", "nobody").code == 3


def test_each_choice_is_explained_and_that_changes_nothing(host: Host, lesson: str, run: Run) -> None:
    event = host.event("git_push_failed", error=f"Exit code 128\n{SAID}")
    done = run_inside(["admin", "agent-hook", "--explain"], host.code, event)
    assert done.out.startswith(f"told: {lesson} A new branch has no upstream: keeps a failure like this one (0.")
    again = run_inside(["admin", "agent-hook", "--explain"], host.code, event)
    assert again.out == done.out, "asking changes nothing"
    assert json.loads(run("recall", "sessions", "--json").out) == []
    assert usage(run, lesson)["times_injected"] == 0
    run_inside(["admin", "agent-hook"], host.code, event)
    done = run_inside(["admin", "agent-hook", "--explain"], host.code, event)
    assert done.out == f"not told: {lesson}: told earlier in this session\n"
    compact = host.event("session_start", source="compact", hook_event_name="SessionStart")
    run_inside(["admin", "agent-hook", "--explain"], host.code, compact, CLAUDE_ENV_FILE=str(host.code / "env"))
    assert not (host.code / "env").exists()
    assert fails(host, SAID) == ""


def test_what_hooks_remember_of_sessions_is_listed(host: Host, lesson: str, run: Run) -> None:
    assert "no session" in run("recall", "sessions").out
    fails(host, SAID, session_id="s-1")
    works(host, "git push --set-upstream origin main", session_id="s-1")
    fails(host, "no such thing", session_id="s-2", transcript_path="", turn_id="t")
    last, first = json.loads(run("recall", "sessions", "--json").out)
    assert (first["session"], first["host"], first["folder"], first["failures"]) == (
        "s-1",
        "claude-code",
        str(host.code),
        1,
    )
    assert (last["session"], last["host"], last["told"]) == ("s-2", "codex", [])
    assert [(one["handle"], one["outcome"]) for one in first["told"]] == [(lesson, "followed")]
    said = run("recall", "sessions").out
    assert f"s-1  claude-code  {host.code}" in said
    assert "followed since" in said


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


@pytest.mark.parametrize("command", ["helpful", "update", "review"])
def test_a_lesson_that_was_silent_comes_back(host: Host, lesson: str, run: Run, command: str) -> None:
    assert told_in(host, 13, "a") == 12
    back = {
        "helpful": ("contribute", "feedback", lesson, "helpful"),
        "update": ("contribute", "update", lesson, "--status", "active"),
        "review": ("admin", "review", "--keep", lesson),
    }[command]
    assert run(*back).code == 0
    assert told_in(host, 13, "b") == 12


def test_what_silenced_a_lesson_does_not_count_once_it_is_brought_back(host: Host, lesson: str, run: Run) -> None:
    for _ in range(3):
        run("contribute", "feedback", lesson, "contradicted")
    assert told_in(host, 1, "a") == 0
    assert "contradicted more often (3) than helpful (0)" in run("recall", "list", "--silent").out
    assert run("contribute", "update", lesson, "--status", "active").code == 0
    assert (told_in(host, 1, "b"), run("recall", "list", "--silent").out) == (1, "No entries.\n")
    assert usage(run, lesson)["times_contradicted"] == 0
    run("contribute", "update", lesson, "--status", "wrong")
    assert (
        f"[{lesson}] A new branch has no upstream: hooks do not tell it any more: marked wrong"
        in run("recall", "list", "--silent").out
    )


def test_before_an_edit_the_entry_that_names_the_file_comes_first(host: Host, knowledge: Path) -> None:
    for tail, glob in (
        ("7AAAAA", "**/*.py"),
        ("7AAAAB", "workflows/**"),
        ("7AAAAC", "workflows/a.py"),
        ("7AAAAD", "a*.py"),
    ):
        add(knowledge, f"python/lessons/{tail}.md", tail, f"About {glob}", f'applies_to:\n  - "{glob}"\n')
    told = host.hear("before_edit")
    assert [row[3:11] for row in told.splitlines() if row.startswith("- [")] == ["L-7AAAAC", "L-7AAAAB"]
    told = host.hear("before_edit")
    assert [row[3:11] for row in told.splitlines() if row.startswith("- [")] == ["L-7AAAAD"]


def test_what_the_starter_set_brought_is_told_only_to_those_who_ask(host: Host, knowledge: Path, run: Run) -> None:
    tags = 'tags:\n  - starter\napplies_to:\n  - "workflows/a.py"\n'
    add(knowledge, "jira-api/lessons/s.md", "7STTTT", "From the starter set", tags, FAILURE)
    assert host.hear("before_edit") == fails(host, SAID) == ""
    assert "starter set" not in host.hear("session_start")
    assert "L-7STTTT" in run("recall", "context", "--path", "workflows/a.py").out


@pytest.mark.parametrize(
    ("file", "text"),
    [
        (".git/config", '[core]\n\tbare = false\n[remote "origin"]\n\turl = git@example.com:team/Jira-API.git\n'),
        ("pyproject.toml", '[build-system]\nrequires = ["x"]\n[project]\nkeywords = ["a"]\nname = "jira.api"\n'),
        ("package.json", '{"private": true, "name": "@team/jira-api"}'),
        ("Cargo.toml", '[package]\nname = "jira_api"\n'),
        ("go.mod", "module example.com/team/jira-api\n\ngo 1.24\n"),
    ],
)
def test_the_project_is_called_as_its_remote_or_its_package(
    host: Host, git: Git, tmp_path: Path, file: str, text: str
) -> None:
    code = tmp_path / "checkout-7"
    code.mkdir()
    git(code, "init", "-q")
    assert "for the project" not in host.hear("session_start", cwd=str(code))
    (code / file).write_text(text)
    assert "for the project jira-api" in host.hear("session_start", cwd=str(code), session_id="another")
    (code / "package.json").write_text("{" * 10_000)
    assert host.hear("session_start", cwd=str(code), session_id="damaged")


def test_what_was_told_before_the_command_is_told_once_more_at_its_failure_and_judged_once(
    host: Host, stated: str, run: Run
) -> None:
    assert stated in host.hear("before_git_push")
    assert stated in fails(host, SAID)
    assert fails(host, SAID) == ""
    works(host, "git push --set-upstream origin main")
    assert usage(run, stated)["seen_helpful"] == 1


NO_LEASE = """\x1b[31mERROR\x1b[0m: tenant 'acme' has no quota lease; acquire one first
used ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8
```
{}
```
"""
OWED = ["--do", "run `./bin/lease acquire` first", "--because", "the quota is shared", "--source", "tested"]
AGENT = {"CLAUDECODE": "1", "AI_LESSONS_SESSION": "s-1"}


def writes(host: Host, title: str, when: str, *more: str, **environ: str) -> str:
    words = ["contribute", "add-lesson", "--title", title, "--when", when, *OWED, *more, "--json"]
    done = run_inside(words, host.code, **environ)
    assert done.code == 0, done.err
    return str(done.json["handle"])


def body(run: Run, handle: str) -> str:
    return str(run("recall", "show", handle, "--json").json["body"])


@pytest.mark.parametrize("when", ["`./deploy.sh` refuses to start", "rolling out"])
def test_a_lesson_written_as_the_reminder_asks_is_told_at_the_same_failure_in_the_next_session(
    host: Host, knowledge: Path, run: Run, when: str
) -> None:
    assert fails(host, NO_LEASE, "./deploy.sh staging", session_id="s-1") == ""
    works(host, "./bin/lease acquire && ./deploy.sh staging", session_id="s-1")
    assert "contribute add-lesson" in host.hear("stop", session_id="s-1")
    handle = writes(host, "Deploys need a quota lease", when, **AGENT)
    kept = body(run, handle)
    assert "$ ./deploy.sh staging\nERROR: tenant 'acme' has no quota lease; acquire one first\n" in kept
    assert "ghp_" not in kept
    again = fails(host, NO_LEASE.replace("acme", "umbrella"), "./deploy.sh prod", session_id="s-2")
    assert f"[{handle}]" in again
    assert "run `./bin/lease acquire` first" in again
    assert fails(host, "ERROR: the disk is full", "./deploy.sh prod", session_id="s-3") == ""


def test_of_several_failures_the_one_that_the_lesson_is_about_is_taken_along(host: Host, run: Run) -> None:
    fails(host, SAID, "git push", session_id="s-1")
    fails(host, "Error: Error acquiring the state lock", "terraform apply", session_id="s-1")
    fails(host, "fatal: bad object", "git gc", session_id="s-1")
    assert "$ terraform apply" in body(run, writes(host, "CI holds the lock", "`terraform apply` fails", **AGENT))
    assert "$ git push\n" in body(run, writes(host, "Set the upstream branch", "pushing with git", **AGENT))
    assert body(run, writes(host, "Jira is slow on Mondays", "planning a sprint", **AGENT)).strip() == ""


def test_a_lesson_keeps_its_own_failure_and_that_of_a_person_is_never_changed(host: Host, run: Run) -> None:
    fails(host, SAID, "git push", session_id="s-1")
    mine = ["--content", "```\n$ git push\nfatal: no upstream\n```"]
    assert body(run, writes(host, "Push with an upstream", "using `git push`", *mine, **AGENT)).count("$ git push") == 1
    person = {"AI_LESSONS_SESSION": "s-1"}
    assert body(run, writes(host, "A person pushes", "using `git push` by hand", **person)).strip() == ""


def test_an_agent_in_no_known_session_takes_what_failed_in_its_folder_if_it_names_the_program(
    host: Host, run: Run
) -> None:
    fails(host, SAID, "git push", session_id="s-1")
    works(host, "git push", session_id="s-1")
    assert "$ git push\n" in body(run, writes(host, "A branch is new", "using `git push`", CLAUDECODE="1"))
    assert body(run, writes(host, "Sprints", "planning", CLAUDECODE="1")).strip() == ""


def test_over_mcp_the_session_of_the_servers_folder_is_taken_if_the_lesson_names_its_program(
    host: Host, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fails(host, SAID, "git push", session_id="s-1")
    fails(host, "fatal: bad object", "git push", session_id="s-2", cwd=str(tmp_path))
    monkeypatch.chdir(host.code)
    with inside(tmp_path / "log") as agent:
        done = agent.call("add_lesson", title="A branch is new", when="`git push` fails", do="say -u", because="git")
        assert "by which it is found at the same failure" in done["notes"][0]
        assert "has no upstream branch" in agent.reads("get_resource", id=done["handle"])
        other = agent.call("add_lesson", title="Sprints", when="planning", do="wait", because="it is Monday")
        assert "notes" not in other
