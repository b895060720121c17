"""What hooks tell at a failure, at a prompt and before an edit, and what they learn from what happens next."""

import json
from pathlib import Path

import pytest

from interfaces.agent_host import Host, add
from interfaces.mcp_world import inside
from interfaces.world import Run, run_inside
from real_world import Git

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


OTHERS = (
    "", "fatal: not a git repository (or any of the parent directories): .git",
    "error: src refspec main does not match any",
)  # fmt: skip


def test_the_lesson_that_keeps_the_same_failure_is_told_at_once_with_what_to_do(
    host: Host, lesson: str
) -> None:
    assert [fails(host, other) for other in OTHERS] == [""] * 3
    told = fails(host, SAID)
    assert (
        f"- [{lesson}] A new branch has no upstream | Set the upstream once: `git push --set-upstream"
        in told
    )
    assert len(told) <= 900
    assert fails(host, SAID) == ""


@pytest.mark.plays("hosts")
def test_a_host_without_an_event_for_failures_is_understood(host: Host, lesson: str) -> None:
    for answer, failed in (
        (SAID, True),
        ({"stdout": "", "stderr": SAID}, True),
        ({"output": SAID, "exit_code": 128}, True),
        ({"output": SAID, "exit_code": 0}, False),
        (f"Exit code: 0\n{SAID}", False),
    ):
        event = {
            "tool_name": "shell",
            "tool_input": {"command": "git push"},
            "tool_response": answer,
            "turn_id": "t",
        }
        assert (lesson in host.hear("make_test_done", session_id=str(answer), **event)) is failed, (
            answer
        )


def test_agents_without_hooks_ask(host: Host, lesson: str, run: Run) -> None:
    (host.code / "said.txt").write_text(f"$ git push\n{SAID}")
    found = json.loads(
        run("recall", "context", "--error", str(host.code / "said.txt"), "--json").out
    )
    assert [one["handle"] for one in found["lessons"]] == [lesson]
    assert (
        json.loads(run("recall", "context", "--error", "-", "--json", text=SAID).out)["lessons"]
        == found["lessons"]
    )


def test_a_message_that_a_lesson_names_counts_as_its_failure(host: Host, knowledge: Path) -> None:
    pattern = "pattern:\n  when: 'psql says \"remaining connection slots are reserved for roles\"'\n  do: use the pooler\n"
    add(
        knowledge,
        "db/lessons/p.md",
        "7PSQKK",
        "Connections run out",
        f"{pattern}  because: there are 100\n",
    )
    said = "psql: FATAL:  remaining connection slots are reserved for roles"
    assert "use the pooler" in fails(host, said, "psql -c 'select 1'")


STATED = """from: user
pattern:
  when: running `git push`
  do: run `git push --set-upstream origin main`
  because: a new branch has no upstream
"""


@pytest.fixture
def stated(knowledge: Path) -> str:
    """The same lesson, told before the command that it names."""
    add(
        knowledge, "global/lessons/up.md", "7PPPPP", "A new branch has no upstream", STATED, FAILURE
    )
    return "L-7PPPPP"


def test_at_the_end_an_agent_is_asked_only_for_another_way_than_what_was_told(
    host: Host, lesson: str
) -> None:
    for command, asked in (
        ("git push --set-upstream origin main", ""),
        ("git push -u mine HEAD", "`git push` failed, then `git push -u mine HEAD` worked"),
        ("make other", ""),
    ):
        fails(host, SAID, session_id=command)
        works(host, command, session_id=command)
        told = host.hear("stop", session_id=command)
        assert (told.endswith(asked), told != "") == (True, asked != ""), told


@pytest.mark.plays("hosts")
def test_why_something_was_told_can_be_asked_afterwards(host: Host, lesson: str, run: Run) -> None:
    assert "no session" in run("recall", "sessions").out
    fails(host, SAID, session_id="s-1")
    works(host, "git push --set-upstream origin main", session_id="s-1")
    (told,) = json.loads(run("recall", "why-told", "s-1", "--json").out)
    assert (told["handle"], told["moment"], told["outcome"]) == (lesson, "tool-failed", "followed")
    assert told["why"].startswith("keeps a failure like this one (0.")
    assert f"{lesson}" in run("recall", "why-told", "s-1").out
    assert run("recall", "why-told").out == run("recall", "why-told", "s-1").out
    fails(host, SAID, session_id="s-2", transcript_path="", turn_id="t")
    assert "followed" not in run("recall", "why-told").out, "the last session"
    assert run("recall", "why-told", "nobody").code == 3
    last, first = json.loads(run("recall", "sessions", "--json").out)
    assert (first["session"], first["host"], first["folder"]) == (
        "s-1",
        "claude-code",
        str(host.code),
    )
    assert first["failures"] == 1
    assert (last["session"], last["host"], last["told"][0]["outcome"]) == ("s-2", "codex", "")
    assert [(one["handle"], one["outcome"]) for one in first["told"]] == [(lesson, "followed")]
    said = run("recall", "sessions").out
    assert f"s-1  claude-code  {host.code}" in said
    assert "followed since" in said


def test_before_an_edit_what_names_the_file_most_closely_comes_and_of_others_what_fits(
    host: Host, knowledge: Path
) -> None:
    globs = {
        "7AAAAA": "**/*.py",
        "7AAAAB": "workflows/**",
        "7AAAAC": "workflows/a.py",
        "7AAAAD": "a*.py",
    }
    for tail, glob in globs.items():
        add(
            knowledge,
            f"python/lessons/{tail}.md",
            tail,
            f"About {glob}",
            f'applies_to:\n  - "{glob}"\n',
        )
    for handles in (["L-7AAAAC"], []):
        told = host.hear("before_edit")
        assert [row[3:11] for row in told.splitlines() if row.startswith("- [")] == handles


def test_what_the_starter_set_brought_is_told_only_to_those_who_ask(
    host: Host, knowledge: Path, run: Run
) -> None:
    tags = 'tags:\n  - starter\napplies_to:\n  - "workflows/a.py"\n'
    add(knowledge, "jira-api/lessons/s.md", "7STTTT", "From the starter set", tags, FAILURE)
    assert host.hear("before_edit") == fails(host, SAID) == ""
    assert "starter set" not in host.hear("session_start")
    assert "L-7STTTT" in run("recall", "context", "--path", "workflows/a.py").out


def test_the_project_is_called_as_its_remote_or_its_package(
    host: Host, git: Git, tmp_path: Path
) -> None:
    code = tmp_path / "checkout-7"
    code.mkdir()
    git(code, "init", "-q")

    def begins(session: str) -> str:
        return host.hear("session_start", cwd=str(code), session_id=session)

    unnamed = (code / ".git/config").read_text()
    for file, text in (
        (
            "pyproject.toml",
            '[build-system]\nrequires = ["x"]\n[project]\nkeywords = ["a"]\nname = "jira.api"\n',
        ),
        ("package.json", '{"private": true, "name": "@team/jira-api"}'),
        ("Cargo.toml", '[package]\nname = "jira_api"\n'),
        ("go.mod", "module example.com/team/jira-api\n\ngo 1.24\n"),
        (".git/config", f'{unnamed}[remote "origin"]\n\turl = git@example.com:team/Jira-API.git\n'),
    ):
        assert "for the project" not in begins(f"before {file}")
        (code / file).write_text(text)
        assert "for the project jira-api" in begins(file)
        if file != ".git/config":
            (code / file).unlink()
    (code / "package.json").write_text("{" * 10_000)
    assert begins("damaged")


NO_LEASE = """\x1b[31mERROR\x1b[0m: tenant 'acme' has no quota lease; acquire one first
used ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8
```
{}
```
"""
OWED = [
    "--do",
    "run `./bin/lease acquire` first",
    "--because",
    "the quota is shared",
    "--source",
    "tested",
]
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
    assert (
        "$ ./deploy.sh staging\nERROR: tenant 'acme' has no quota lease; acquire one first\n"
        in kept
    )
    assert "ghp_" not in kept
    again = fails(host, NO_LEASE.replace("acme", "umbrella"), "./deploy.sh prod", session_id="s-2")
    assert f"[{handle}]" in again
    assert "run `./bin/lease acquire` first" in again
    assert fails(host, "ERROR: the disk is full", "./deploy.sh prod", session_id="s-3") == ""


def test_the_failure_that_a_lesson_is_about_is_taken_along_unless_it_has_its_own_or_is_a_persons(
    host: Host, run: Run
) -> None:
    fails(host, SAID, "git push", session_id="s-1")
    fails(host, "Error: Error acquiring the state lock", "terraform apply", session_id="s-1")
    fails(host, "fatal: bad object", "git gc", session_id="s-1")
    assert "$ terraform apply" in body(
        run, writes(host, "CI holds the lock", "`terraform apply` fails", **AGENT)
    )
    assert "$ git push\n" in body(
        run, writes(host, "Set the upstream branch", "pushing with git", **AGENT)
    )
    assert (
        body(run, writes(host, "Jira is slow on Mondays", "planning a sprint", **AGENT)).strip()
        == ""
    )

    mine = ["--content", "```\n$ git push\nfatal: no upstream\n```"]
    assert (
        body(run, writes(host, "Push with an upstream", "using `git push`", *mine, **AGENT)).count(
            "$ git push"
        )
        == 1
    )
    person = {"AI_LESSONS_SESSION": "s-1"}
    assert (
        body(run, writes(host, "A person pushes", "using `git push` by hand", **person)).strip()
        == ""
    )


def test_an_agent_in_no_known_session_takes_what_failed_in_its_folder_if_it_names_the_program(
    host: Host, run: Run
) -> None:
    fails(host, SAID, "git push", session_id="s-1")
    works(host, "git push", session_id="s-1")
    assert "$ git push\n" in body(
        run, writes(host, "A branch is new", "using `git push`", CLAUDECODE="1")
    )
    assert body(run, writes(host, "Sprints", "planning", CLAUDECODE="1")).strip() == ""


def test_over_mcp_the_session_of_the_servers_folder_is_taken_if_the_lesson_names_its_program(
    host: Host, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fails(host, SAID, "git push", session_id="s-1")
    fails(host, "fatal: bad object", "git push", session_id="s-2", cwd=str(tmp_path))
    monkeypatch.chdir(host.code)
    with inside(tmp_path / "log") as agent:
        done = agent.call(
            "add_lesson",
            title="A branch is new",
            when="`git push` fails",
            do="say -u",
            because="git",
        )
        assert "by which it is found at the same failure" in done["notes"][0]
        assert "has no upstream branch" in agent.reads("get_resource", id=done["handle"])
        other = agent.call(
            "add_lesson", title="Sprints", when="planning", do="wait", because="it is Monday"
        )
        assert "notes" not in other
