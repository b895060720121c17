"""Every example of every help page really runs, as it stands there."""

import json
import re
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

from a_server import Reply, Site, serving
from ai_lessons import extensions
from ai_lessons.interfaces import agent_hook
from ai_lessons.interfaces.cli.command import Command
from interfaces.test_help import COMMANDS
from interfaces.world import FILES, PROGRAM, PROPOSAL, Run, environment, program_in
from real_world import Git, commit_all, put_file, put_program

EXAMPLES = [
    example
    for path, command in COMMANDS.items()
    if isinstance(command, Command)
    for example in command.typed(" ".join(("ai-lessons", *path)))
    # a kind that no feature here adds
    if "--type script" not in example or "script" in extensions.named("planners")
]
UNREACHABLE, REFUSED = 7, 8
"""`model pull` in a test that has no network."""


@pytest.fixture
def desk(knowledge: Path, git: Git, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder we stand in: the files that the examples name, a hub, and an editor called nano; each a copy."""
    desk, made = knowledge.parent, tmp_path_factory.getbasetemp() / "desk"
    if not made.exists():
        prepare(desk, knowledge, git)
        shutil.copytree(desk, made, symlinks=True)
    else:
        shutil.rmtree(knowledge)
        shutil.copytree(made, desk, symlinks=True, dirs_exist_ok=True)
        git(knowledge, "remote", "set-url", "origin", str(desk / "knowledge.git"))
        git(desk / "knowledge.git", "remote", "set-url", "origin", str(knowledge))
    return desk


def prepare(desk: Path, knowledge: Path, git: Git) -> None:
    git(desk, "init", "-q")
    lesson = {
        "id": "001",
        "created": "2024-02-10",
        "when": "a",
        "action": "do",
        "do": "b",
        "because": "c",
    }
    for name, text in {
        "WorkflowsApi.md": "# Workflows API\n\nTransitions.\n",
        "notes.md": "# Notes\n\nReset it on Mondays.\n",
        "notes/one.md": "# One\n\nFirst note.\n",
        "update-workflow.sh": "#!/bin/sh\necho updated\n",
        "lessons.jsonl": json.dumps(lesson),
        "failed.txt": "$ make test\nmake: *** No rule to make target 'test'.  Stop.\n",
        "uv.lock": f'[[package]]\nname = "click"\nversion = "{version("click")}"\n',
        "v1/retries.md": "# Retries of v1\n\nOne.\n",
        "v2/retries.md": "# Retries of v2\n\nOne.\n",
        "AGENTS.md": "# Build\n\nWith make.\n",
        "text.txt": "two statuses were gone",
        "knowledge.json": '{"version": 1, "exported_at": "", "learnings": [], "files": [], "events": []}\n',
        "event.json": '{"hook_event_name": "SessionStart", "session_id": "one", "source": "startup"}',
    }.items():
        put_file(desk / name, text)
    git(desk, "add", "WorkflowsApi.md")
    git(desk, "commit", "-qm", "Because it was slow")
    git(desk, "clone", "-q", "--bare", str(knowledge), "knowledge.git")
    git(knowledge, "remote", "add", "origin", str(desk / "knowledge.git"))
    (desk / "updates").write_text(
        f"{'0' * 40} {git(knowledge, 'rev-parse', 'HEAD')} refs/heads/topic\n"
    )
    program_in(desk / "bin")
    put_program(desk / "bin/nano", '#!/bin/sh\nprintf "More.\\n" >> "$1"\n')


@pytest.fixture
def project_and_enterprise(
    desk: Path, knowledge: Path, hermetic: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The knowledge is that of the code project we stand in, beside a repository of the user's and one of acme."""
    monkeypatch.delenv("AI_LESSONS_REPO")
    (desk / ".ai").mkdir()
    knowledge.rename(desk / ".ai/reference")
    for place in (hermetic / ".ai/reference", hermetic / "acme"):
        assert run("--repo", place, "admin", "init", "--no-hooks").code == 0
    put_file(hermetic / ".config/ai-lessons/config.toml", '[enterprise]\nacme = "~/acme"\n')


@pytest.fixture
def site() -> Iterator[Site]:
    """A web server with one page."""
    with serving() as one:
        one.replies["/retries.html"] = Reply(
            b"<main><h1>Retries</h1><p>The wait doubles.</p></main>"
        )
        yield one


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_runs(
    example: str,
    desk: Path,
    hermetic: Path,
    run: Run,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    git: Git,
) -> None:
    if "run S-9XW2RB" in example:
        assert run("admin", "trust-script", "S-9XW2RB").code == 0
    if "R-" in example:
        request.getfixturevalue("proposal")
    for title in ("One", "Two") if "admin undo" in example else ():
        assert (
            run("contribute", "add-lesson", "--title", title, "--content", "To be taken back.").code
            == 0
        )
    if "team.signers" in example:
        example = example.replace("team.signers", str(request.getfixturevalue("signed")))
    if "promote" in example:
        request.getfixturevalue("project_and_enterprise")
    if "hosts" in example:
        if not extensions.hosts():
            pytest.skip("without hosts")
        (hermetic / ".cursor").mkdir()
        example += " --yes" if "--" in example else ""  # which a person says on a terminal
    if "admin report" in example:
        for form, file in (("json", "reports/shop.json"), ("sarif", "shop.sarif")):
            put_file(desk / file, run("check", "--format", form).out)
    if "forget L-" in example:
        example += " --yes"
    if "docs/adr" in example:
        put_file(desk / "docs/adr/0001-queue.md", "# 1. Queue\n\n## Status\n\nAccepted\n")
    if "--since origin/main" in example:
        put_file(desk / "src/shop.py", "total = 0\n")
        git(desk, "init", "-q")
        commit_all(git, desk, "Begin")
        git(desk, "update-ref", "refs/remotes/origin/main", "HEAD")
    if "--from ~/code/shop" in example:
        put_file(hermetic / "code/shop/cart.py", "total = 0\n")
        git(hermetic / "code/shop", "init", "-q")
        commit_all(git, hermetic / "code/shop", "Begin")
        git(hermetic / "code/shop", "branch", "entire/checkpoints/v1")
    if "why-told" in example:
        event = {"hook_event_name": "UserPromptSubmit", "session_id": "00893aaf", "prompt": "go on"}
        assert agent_hook.run(data=json.dumps(event).encode()) == ""
    if "index pull" in example:
        assert run("admin", "index", "push", str(desk / "knowledge-index")).code == 0
    if "merge-file" in example:  # git names three temporary files
        example = re.sub(r"%[OAB]", str(desk / "WorkflowsApi.md"), example)
    example = example.replace("/srv/git", str(desk))
    if "--url" in example:
        site = request.getfixturevalue("site")
        monkeypatch.delenv("AI_LESSONS_OFFLINE")
        example = f"{example.replace('https://example.org', site.url)} --allow-private"
    words = shlex.split(example)
    if words[1] == "look":  # it stays until Ctrl-C
        with subprocess.Popen(
            [*PROGRAM, *words[1:]], stdout=subprocess.PIPE, env=environment(), cwd=desk
        ) as page:
            assert page.stdout
            assert page.stdout.readline().startswith(b"http://127.0.0.1:")
            page.send_signal(signal.SIGINT)
            code, err = page.wait(20), ""
    elif words[1] == "lsp":  # an editor ends it
        goodbye = b"".join(
            b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
            for body in (b'{"id":1,"method":"shutdown"}', b'{"method":"exit"}')
        )
        code, err = (
            subprocess.run(
                [*PROGRAM, *words[1:]], input=goodbye, env=environment(), check=False
            ).returncode,
            "",
        )
    elif words[0] == "ai-lessons" and not set(words) & {"|", ">>", "<"}:
        done = run(*words[1:])
        code, err = done.code, done.err
    else:
        path = f"{desk / 'bin'}:{environment()['PATH']}"
        hub = {"GIT_DIR": str(desk / "knowledge.git")} if "hook" in example else {}
        shell = subprocess.run(
            ["bash", "-o", "pipefail", "-c", example], capture_output=True, text=True, check=False, cwd=desk,
            env=environment(PATH=path, **hub),
        )  # fmt: skip
        code, err = shell.returncode, shell.stderr
    allowed = {0, UNREACHABLE} if "model pull" in example else {0}
    if "--from-reviews" in example:
        # no forge is asked here
        allowed = {UNREACHABLE}
    if "refresh D-" in example:
        allowed = {
            REFUSED
        }  # the doc came with the repository, and nobody is asked here whether its source may be read
    assert code in allowed, err


def test_examples_name_only_entries_that_the_tests_have() -> None:
    words = (word.partition("=")[0] for example in EXAMPLES for word in example.split())
    named = {word for word in words if word[:2] in {"L-", "D-", "S-", "R-"}}
    known = "".join((FILES | PROPOSAL).values())
    assert {handle for handle in named if handle[2:] not in known} == set()
