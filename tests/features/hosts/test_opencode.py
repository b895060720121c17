"""The module for opencode, in a JavaScript engine, as opencode calls it: its hooks, and a program that fails."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from interfaces.agent_host import Host, add
from interfaces.rules_with_checks import HANDLE, enforced
from interfaces.world import Run, environment
from real_world import put_file, put_program

MODULE = Path(__file__).parents[3] / "hooks/opencode/ai-lessons.js"
pytestmark = pytest.mark.skipif(
    shutil.which("node") is None, reason="no node here, which plays opencode"
)
PLAY = """
import { AiLessons } from "./ai-lessons.mjs"
const [directory, ...steps] = JSON.parse(process.argv[2])
const hooks = await AiLessons({ directory })
const done = []
for (const [name, input, output] of steps) {
  try { await hooks[name](input, output); done.push(output) } catch (error) { done.push(error.message) }
}
console.log(JSON.stringify(done))
process.exit(0)
"""
SESSION = {"sessionID": "ses_1"}


def play(
    host: Host, *steps: tuple[str, dict[str, Any], Any], programs: Path | None = None
) -> list[Any]:
    """What each hook made of its output, or the message of the error by which it refuses."""
    folder = host.code.parent / "opencode"
    module = MODULE.read_text()
    assert (
        ", 2000)" in module
    )  # Milliseconds for the program; a busy machine gets more, but one that hangs less
    put_file(
        folder / "ai-lessons.mjs", module.replace(", 2000)", ", 100)" if programs else ", 60_000)")
    )
    put_file(folder / "play.mjs", PLAY)
    node = os.path.realpath(shutil.which("node") or "")
    done = subprocess.run(
        [node, folder / "play.mjs", json.dumps([str(host.code), *steps])],
        env=environment(PATH=f"{programs or host.programs}:/usr/bin:/bin"), capture_output=True, text=True, check=True,
    )  # fmt: skip
    said: list[Any] = json.loads(done.stdout)
    return said


def tool(
    name: str, hook: str, args: dict[str, Any], output: str = "", end: int | None = None
) -> Any:
    before = {"args": args} if hook == "before" else {"output": output, "metadata": {"exit": end}}
    return (f"tool.execute.{hook}", SESSION | {"tool": name, "callID": "call_1"}, before)


def test_a_session_begins_with_the_rules_at_every_call_of_the_model(
    host: Host, approved: str
) -> None:
    step = ("experimental.chat.system.transform", SESSION, {"system": ["Be kind."]})
    for begun in play(host, step, step):
        assert begun["system"][0] == "Be kind."
        assert "L-8F3K2A" in begun["system"][1], "the rule names files, and waits for one"
    (untouched,) = play(host, ("experimental.chat.system.transform", {}, {"system": []}))
    assert untouched == {"system": []}


def test_what_is_known_of_a_file_comes_with_the_result_of_its_edit(
    host: Host, knowledge: Path
) -> None:
    add(
        knowledge,
        "python/lessons/c.md",
        "7BBBBB",
        "Mind the notes",
        'applies_to:\n  - "notes.txt"\n',
    )
    args = {"filePath": str(host.code / "notes.txt"), "oldString": "one", "newString": "two"}
    before, after = play(host, tool("edit", "before", args), tool("edit", "after", args, "Edited."))
    assert before == {"args": args}
    assert after["output"].startswith("Edited.\n\n")
    assert "[L-7BBBBB] Mind the notes" in after["output"]


def test_what_helps_comes_with_a_failure(host: Host, knowledge: Path) -> None:
    said = "fatal: No configured push destination.\nEither specify the URL from the command-line or configure a remote"
    add(
        knowledge,
        "git/lessons/c.md",
        "7BBBBB",
        "A remote is missing",
        body=f"~~~\n$ git push\n{said}\n~~~\nAdd one.\n",
    )
    args = {"command": "git push"}
    _, failed = play(host, tool("bash", "before", args), tool("bash", "after", args, said, 128))
    assert "[L-7BBBBB] A remote is missing" in failed["output"]


def test_the_lesson_that_is_missing_is_asked_for_when_a_command_worked(host: Host) -> None:
    failed, fixed = {"command": "git push"}, {"command": "git push -u origin HEAD"}
    *_, done = play(
        host, tool("bash", "before", failed), tool("bash", "after", failed, "fatal: no upstream branch", 128),
        tool("bash", "before", fixed), tool("bash", "after", fixed, "pushed", 0),
    )  # fmt: skip
    assert done["output"].startswith("pushed\n\nA command failed, then another worked")
    assert done["output"].endswith("\n`git push` failed, then `git push -u origin HEAD` worked")


def test_what_a_rule_forbids_is_refused_also_where_only_a_person_could_say(
    checked: Host,
    run: Run,
) -> None:
    put_file(checked.code / "workflows/a.py", "import requests\nx = 1\n")
    file = str(checked.code / "workflows/a.py")

    def edit(new: str) -> Any:
        return tool("edit", "before", {"filePath": file, "oldString": "x = 1", "newString": new})

    enforced(checked, run, "deny")
    refused, fine, unsure = play(
        checked,
        edit("requests.put(1)"),
        edit("x = 2"),
        edit(f"requests.put(1)  # ai-lessons: allow {HANDLE} because"),
    )
    assert f"breaks {HANDLE}" in refused
    assert fine["args"]["newString"] == "x = 2"
    assert isinstance(unsure, str)


@pytest.mark.parametrize(
    "body",
    [None, "exit 1", "exit 2", "kill -9 $$", "echo rubbish", "echo >/dev/full", "exec sleep 60"],
)
def test_whatever_becomes_of_the_program_nothing_is_refused_or_changed(
    host: Host, tmp_path: Path, body: str | None
) -> None:
    programs = tmp_path / "broken"
    if body is not None:
        put_program(programs / "ai-lessons", f"#!/bin/sh\n{body}\n")
    parts = [{"id": "p", "type": "text", "text": "Push this branch"}]
    steps = [
        ("experimental.chat.system.transform", SESSION, {"system": []}),
        ("chat.message", SESSION, {"parts": parts}),
        tool("bash", "before", {"command": "ls"}),
        tool("bash", "after", {"command": "ls"}, "a", 0),
        ("tool.execute.before", SESSION | {"tool": "bash"}, {}),
        ("tool.execute.after", SESSION | {"tool": "bash"}, None),
    ]
    assert play(host, *steps, programs=programs) == [output for _, _, output in steps]


def test_commands_of_a_session_say_whose_they_are(host: Host) -> None:
    (made,) = play(host, ("shell.env", SESSION, {"env": {"A": "1"}}))
    assert made["env"] == {"A": "1", "AI_LESSONS_AGENT": "opencode", "AI_LESSONS_SESSION": "ses_1"}
