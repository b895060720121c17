"""Our hooks and our server in a user's settings of agent hosts: decided first, then written."""

from __future__ import annotations

import json
import shlex
import subprocess
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.errors import Conflict, InvalidEntry
from ai_lessons.knowledge.json_fields import json_fields
from ai_lessons.knowledge.json_text import with_added, without
from ai_lessons.repository import agent_files, outside, programs
from ai_lessons.repository.agent_hosts import (
    KINDS,
    LARGEST,
    PROGRAM,
    SERVER,
    Host,
    HostKind,
    Json,
    Target,
    Where,
    by_path_only,
    is_our_call,
    look,
    parsed,
    place_of,
)
from ai_lessons.repository.files import translated
from ai_lessons.repository.history import unified

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

HOOKS, SERVERS = "hooks", "mcpServers"
SOURCE = "hooks/hooks.json"  # of the plugin, where our part stands
_CODEX = ("SessionStart", "SubagentStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop")
HEARS: Mapping[str, Mapping[str, tuple[str, str]] | None] = {
    "claude-code": None,
    "codex": {event: (event, "") for event in _CODEX},
    "gemini": {
        "SessionStart": ("SessionStart", ""),
        "UserPromptSubmit": ("BeforeAgent", ""),
        "PostToolUse": ("AfterTool", "^(run_shell_command|read_file|replace|write_file|mcp_.*)$"),
        "Stop": ("AfterAgent", ""),
    },
    "cursor": {
        "SessionStart": ("sessionStart", ""),
        "UserPromptSubmit": ("beforeSubmitPrompt", ""),
        "PreToolUse": ("preToolUse", "^(Shell|Read|Write|StrReplace|Edit|MCP:.*)$"),
        "PostToolUse": ("postToolUse", "^(Shell|MCP:.*)$"),
        "PostToolUseFailure": ("postToolUseFailure", "^(Shell|MCP:.*)$"),
    },
}
"""The hosts that call our hook: events of the plugin (None: all), the host's name for each and its tools, or ours."""

_EXEC_FORM = frozenset({"claude-code"})  # hosts that take a program and its `args`, without a shell (since 2.1.139)
_HOOK = ("admin", "agent-hook")
_CURSOR = {"version": 1}  # without which Cursor reads no file of hooks
_TOML = agent_files.marks("ai-lessons", "# {}")
_LEFT = "left alone, it is no JSON object: mend it first"


@json_fields("host", "file", "done", "diff")
class HostChange(NamedTuple):
    """What becomes of one file of a host, and what is `done` to it, in words. `before` None: it was not there.

    `after` None: it goes, or never was. Nothing is done where the two are the same.
    """

    host: str
    file: Path
    done: str
    before: bytes | None
    after: bytes | None

    @property
    def diff(self) -> str:
        """What changes, as a unified diff; empty where nothing does."""
        return unified(str(self.file).lstrip("/"), self.before, self.after)


def for_user(where: Where, plugin: Path, names: Sequence[str], job: str) -> tuple[HostChange, ...]:
    """What installing, or uninstalling, does to the user's settings of the hosts that are found (of those names).

    Raises StorageFailed: a file cannot be read.
    """
    found = {host.id: host for host in look(where)}
    kinds = [kind for kind in KINDS if kind.id in found and kind.id in (names or found)]
    by_plugin = {name for name, host in found.items() if any(one.place.startswith("plugin ") for one in host.targets)}
    return tuple(
        change
        for kind in kinds
        if job == "uninstall" or kind.id not in by_plugin
        for change in _of_kind(kind, where, plugin, job)
    )


def _of_kind(kind: HostKind, where: Where, plugin: Path, job: str) -> Iterator[HostChange]:
    tables: dict[Path, Json] = {}
    if kind.id in HEARS:
        with translated(str(plugin)):
            stated: Json = json.loads((plugin / SOURCE).read_bytes())[HOOKS]
        known = HEARS[kind.id] or {event: (event, "") for event in stated}
        hooks = {name: _groups(kind, stated[event], tools) for event, (name, tools) in known.items() if event in stated}
        tables[place_of(kind, where, kind.hooks[0].partition("#")[0])] = {
            HOOKS: hooks,
            **(_CURSOR if kind.id == "cursor" else {}),
        }
    name, _, key = kind.servers[0].partition("#")
    file = place_of(kind, where, name)
    if file.suffix != ".toml":
        tables.setdefault(file, {})[key] = {SERVER: _server(kind)}
    for place, ours in tables.items():
        yield _in_place(kind, place, partial(_change, kind.name, ours, job))
    if file.suffix == ".toml":
        yield _in_place(kind, file, lambda file, there: _change_toml(kind, file, there, job))


def _in_place(kind: HostKind, file: Path, change: Callable[[Path, bytes | None], HostChange]) -> HostChange:
    """What `change` says of a file where it is kept: the user may have put a link in its place."""
    file = outside.kept(file)
    try:
        return change(file, _bytes(file))
    except InvalidEntry as error:
        return HostChange(kind.name, file, f"left alone, {error.problems[0].message}", None, None)


def _groups(kind: HostKind, groups: list[Json], tools: str) -> list[Json]:
    """The calls of an event in the form of the host: Cursor has no groups, Gemini CLI counts milliseconds."""
    matcher, second = {"matcher": tools} if tools else {}, 1000 if kind.id == "gemini" else 1
    ours = [
        {**group, **matcher, "hooks": [{**one, **_call(kind), "timeout": one["timeout"] * second}]}
        for group in groups
        for one in group["hooks"]
    ]
    if kind.id != "cursor":
        return ours
    return [
        {**matcher, "command": call["command"], "timeout": call["timeout"]} for one in ours for call in one["hooks"]
    ]


def _call(kind: HostKind) -> Json:
    """How a host calls our hook: by its absolute path, because hosts have a search path of their own."""
    program = programs.own("ai-lessons")
    if kind.id in _EXEC_FORM:
        return {"command": program, "args": [*_HOOK]}
    return {"command": shlex.join([program, *_HOOK])}


def _server(kind: HostKind) -> Json:
    env, program = {"AI_LESSONS_AGENT": kind.id}, programs.own(PROGRAM)
    if kind.id == "opencode":
        return {"type": "local", "command": [program], "environment": env, "enabled": True}
    more: Json = {"type": "local", "args": [], "tools": ["*"]} if kind.id == "copilot" else {}
    return {**more, "command": program, "env": env}


SECONDS = 30.0  # until a program of a host that is tried counts as hung
_GREETING = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "ai-lessons", "version": "0"}}
_INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": _GREETING}


def tried(hosts: Sequence[Host], where: Where, event: bytes) -> tuple[Host, ...]:
    """The hosts with what came back from each of our programs that their settings name: a hook is given the `event`.

    They run as the host would run them, each once.
    """
    found: dict[tuple[str, ...], tuple[str, bool]] = {}
    for target in (target for host in hosts for target in host.targets if target.runs):
        if target.runs not in found:
            asked = json.dumps(_INITIALIZE).encode() + b"\n" if target.way == "mcp" else event
            found[target.runs] = _answer(target.runs, where, asked)
    return tuple(
        host._replace(targets=tuple(_with(one, found.get(one.runs)) for one in host.targets)) for host in hosts
    )


def _with(target: Target, answer: tuple[str, bool] | None) -> Target:
    return target._replace(answered=answer[0], works=answer[1]) if answer else target


def _answer(argv: tuple[str, ...], where: Where, asked: bytes) -> tuple[str, bool]:
    """What a program says to this, and whether it is an answer of ours."""
    try:
        done = programs.run(argv, env=where.environ, timeout=SECONDS, cwd=where.home, stdin=asked)
    except subprocess.TimeoutExpired:
        return f"no answer within {SECONDS:.0f} seconds", False
    except OSError as error:
        return f"{argv[0]}: {error.strerror}", False
    said, _, _ = done.stdout.decode("utf-8", "replace").strip().partition("\n")
    if done.returncode or not said:
        why = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        bare = " with the search path of a host, which its command depends on" if by_path_only(argv) else ""
        return f"nothing came back{bare}{': ' * bool(why)}{why}", False
    if asked.startswith(b'{"jsonrpc"'):
        server = ((parsed(said.encode()) or {}).get("result") or {}).get("serverInfo") or {}
        return f"{server.get('name', 'no server')} {server.get('version', '')}".strip(), bool(server)
    return said, said.startswith("reads ")


def carry_out(changes: Sequence[HostChange]) -> None:
    """Write what was decided. Raises Conflict: a file has changed since then. StorageFailed."""
    for one in changes:
        if one.before == one.after:
            continue
        with translated(str(one.file), writing=True):
            if _bytes(one.file) != one.before:
                raise Conflict(f"{one.file} has changed meanwhile", hint="run the command again")
            if one.after is not None:
                outside.write(one.file, one.after)
            else:
                one.file.unlink()


def _bytes(file: Path) -> bytes | None:
    return outside.read(file, LARGEST)[0] if file.exists() else None


def _change(host: str, ours: Json, job: str, file: Path, there: bytes | None) -> HostChange:
    """What a job does to a JSON file with tables of hooks and servers, ours by key."""
    try:
        settings = parsed(there)
        if settings is None:
            raise ValueError(file)
        text = (there or b"").decode()
        clean = (
            without(text, lambda path, value: any(_is_ours(key, path, value) for key in ours)) if text.strip() else text
        )
        if parsed(clean.encode()) == _CURSOR and list(settings) == [HOOKS, *_CURSOR]:
            clean = ""  # written by us: what other files state first, ours states last
        here = parsed(clean.encode()) or {}
        full = with_added(clean, {key: value for key, value in ours.items() if key not in _CURSOR or key not in here})
        full = text if parsed(full.encode()) == parsed(there) else full
    except (ValueError, RecursionError):
        return HostChange(host, file, _LEFT, there, there)
    held = clean != text
    if job == "install":
        new = "written" if there is None else "brought up to date" if held else "added"
        # a file of our own ends in a line feed, by which it is known when it goes
        after = (full + "\n" * (there is None)).encode()
        return HostChange(host, file, "already there" if full == text else new, there, after)
    says = "not there" if not held else "taken out" if clean or not text.endswith("\n") else "removed"
    return HostChange(host, file, says, there, None if says == "removed" or there is None else clean.encode())


def _is_ours(key: str, path: Sequence[str | int], value: Any) -> bool:
    """Whether it is our server, one of our calls, or a group of nothing else."""
    if path[0] != key:
        return False
    if key != HOOKS:
        return list(path[1:]) == [SERVER]
    if len(path) == 3:
        calls = value.get("hooks", [value]) if isinstance(value, dict) else None
        return isinstance(calls, list) and bool(calls) and all(map(is_our_call, calls))
    return len(path) == 5 and path[3] == "hooks" and is_our_call(value)


def _change_toml(kind: HostKind, file: Path, there: bytes | None, job: str) -> HostChange:
    """What a job does to a TOML file with a table of servers: a part of ours at its end."""
    settings = parsed(there, toml=True)
    if settings is None:
        return HostChange(kind.name, file, "left alone, it is no TOML: mend it first", there, there)
    program = json.dumps(programs.own(PROGRAM), ensure_ascii=False)
    server = f'[mcp_servers.{SERVER}]\ncommand = {program}\nenv = {{ AI_LESSONS_AGENT = "{kind.id}" }}'
    plan = agent_files.plan(there, job, server, _TOML)
    if SERVER in (settings.get("mcp_servers") or {}) and plan.says == "added":
        return HostChange(kind.name, file, "left alone, it names a server ai-lessons of its own", there, there)
    return HostChange(kind.name, file, plan.says, there, plan.data)
