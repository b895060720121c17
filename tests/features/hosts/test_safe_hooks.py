"""Every hook that a host starts, ours in the tree and installed: it runs nothing of an event, and never refuses.

Some hosts ignore `args`, and give the event to the bare command. Any exit code but 0 denies the tool in Copilot, 2
blocks the prompt in most hosts.
"""

import json
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ai_lessons.connectors.agent_hosts import is_our_call, kinds, place_of
from ai_lessons.connectors.host_changes import carry_out, for_user
from ai_lessons.model import Where
from interfaces.agent_host import Host
from interfaces.world import PROGRAM, environment
from real_world import put_file

TOP = Path(__file__).parents[3]
FILES = sorted(  # those that hosts read, in folders whose names may begin with a dot
    file
    for file in [
        *TOP.glob("*.json"),
        *TOP.glob(".*-plugin/*.json"),
        *(TOP / "hooks").rglob("*.json"),
    ]
    if isinstance(json.loads(file.read_bytes()).get("hooks"), dict)
)


class Call(NamedTuple):
    """A call of a hook, and the folder of its plugin."""

    call: Any
    plugin: Path


def calls(node: Any) -> Iterator[Any]:
    """Everything with a command below a table of hooks."""
    if isinstance(node, dict) and ("command" in node or "bash" in node):
        yield node
    for inner in (
        node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    ):
        yield from calls(inner)


def in_tree() -> list[Call]:
    found = [
        (call, file) for file in FILES for call in calls(json.loads(file.read_bytes())["hooks"])
    ]
    return [
        Call(call, file.parents[1] if file.parent.name == "hooks" else file.parent)
        for call, file in found
    ]


def installed(home: Path) -> list[Call]:
    for _, settings in kinds():
        (home / settings.folder).mkdir(parents=True, exist_ok=True)
    carry_out(for_user(Where(home, home / "code"), TOP / "hooks/claude-code", (), "install"))
    tables = [json.loads(file.read_bytes()).get("hooks") for file in home.rglob("*.json")]
    return [Call(call, home) for table in tables if table for call in calls(table)]


def commands(tmp_path: Path) -> set[tuple[str, Path]]:
    return {
        (call.call["command"], call.plugin) for call in [*in_tree(), *installed(tmp_path / "home")]
    }


def test_every_call_of_every_file_is_one_string_that_ends_with_0(tmp_path: Path) -> None:
    assert {file.relative_to(TOP).parts[1] for file in FILES} >= {
        "claude-code",
        "codex",
        "cursor",
        "hooks.json",
    }
    every = [*in_tree(), *installed(tmp_path)]
    hearing = [settings for _, settings in kinds() if settings.hears]
    assert len(hearing) == 7
    places = [
        place_of(settings, Where(tmp_path, tmp_path), settings.hooks[0].partition("#")[0])
        for settings in hearing
    ]
    assert [place for place in places if not place.exists()] == []
    assert {len(call.call.keys() & {"args", "bash", "powershell"}) for call in every} == {0}
    assert {call.call["command"][-10:] for call in every} == {" || exit 0"}
    assert all(is_our_call(call.call) for call in every)


def hostile(mark: Path, indent: int | None = None) -> str:
    """An event whose prompt is a program in a shell."""
    prompt = f"Explain `touch {mark}` $(touch {mark}) ; touch {mark}\ntouch {mark}\n"
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": "/", "prompt": prompt}
    return json.dumps(event | {"tool_input": {"command": prompt}}, indent=indent)


@pytest.mark.parametrize(
    "body", [None, "exit 1", "exit 2", "kill -9 $$", "cat >/dev/null; kill -9 $$", "moved"]
)
def test_whatever_becomes_of_the_program_a_hook_ends_with_0_and_runs_nothing_of_the_event(
    tmp_path: Path, body: str | None
) -> None:
    programs, mark = tmp_path / "programs", tmp_path / "mark"
    fake = body not in {None, "moved"}
    if fake:
        put_file(programs / "ai-lessons", f"#!/bin/sh\n{body}\n").chmod(0o755)
    for shown, plugin in commands(tmp_path):
        own = shlex.split(shown)[0]
        command = (
            shown.replace(own, f"{programs if fake else '/gone'}/ai-lessons")
            if own.startswith("/")
            else shown
        )
        folder = "/gone" if body == "moved" else str(plugin)
        roots = dict.fromkeys(("CLAUDE_PLUGIN_ROOT", "PLUGIN_ROOT", "CURSOR_PLUGIN_ROOT"), folder)
        env = {"HOME": str(tmp_path), "PATH": f"{programs}:/usr/bin:/bin", **roots}
        for indent in (None, 0):
            done = subprocess.run(
                ["sh", "-c", command],
                input=hostile(mark, indent).encode(),
                env=env,
                capture_output=True,
                check=False,
            )
            assert (done.returncode, done.stdout, mark.exists()) == (0, b"", False), command


def test_with_the_program_there_an_event_is_data(host: Host, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    for command, plugin in commands(tmp_path):
        child = host.start(hostile(mark), command, CLAUDE_PLUGIN_ROOT=str(plugin))
        assert (child.communicate(timeout=120)[1], child.returncode, mark.exists()) == (
            b"",
            0,
            False,
        ), command


@pytest.mark.parametrize("fault", ["a full disk", "a usage error"])
def test_neither_a_full_disk_nor_a_usage_error_refuses_anything(
    host: Host, tmp_path: Path, fault: str
) -> None:
    event = host.event("session_start")
    assert host.hear("session_start")
    for command, plugin in commands(tmp_path):
        wrong = command.replace("agent-hook", "agent-hook --no-such-option")
        line = f"({command}) >/dev/full 2>/dev/full" if fault == "a full disk" else wrong
        child = host.start(event, line, CLAUDE_PLUGIN_ROOT=str(plugin))
        assert (child.communicate(timeout=120)[0], child.returncode) == (b"", 0), line


def test_the_command_itself_ends_with_0_when_a_host_calls_it_whatever_it_is_given(
    knowledge: Path,
) -> None:
    for words in (
        ("admin", "agent-hook", "--no-such-option"),
        ("--no-such-option", "admin", "agent-hook"),
    ):
        argv = (*PROGRAM, *words)
        done = subprocess.run(
            argv, input="{}", env=environment(), capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout, done.stderr == "") == (0, "", False), words
    command = shlex.join([*PROGRAM, "admin", "agent-hook"]) + " <&-"  # without standard input
    assert (
        subprocess.run(
            ["sh", "-c", command], env=environment(), check=True, capture_output=True
        ).stdout
        == b""
    )
