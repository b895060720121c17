"""Our hooks and our server in a user's settings of agent hosts: planned first, then written."""

from __future__ import annotations

import json
import shlex
import subprocess
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
    find_hosts,
    is_our_call,
    parsed,
    place_of,
)
from ai_lessons.repository.files import translated
from ai_lessons.repository.history import unified

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

HOOKS = "hooks"
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
    """A change of one file of a host; `done`: in words. `before`, `after` None: no file. The same: no change."""

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
    changes: list[HostChange] = []
    kinds = {kind.id: kind for kind in KINDS}
    for host in find_hosts(where):
        by_plugin = any(target.place.startswith("plugin ") for target in host.targets)
        if host.id in (names or kinds) and (job == "uninstall" or not by_plugin):
            changes += _of_kind(kinds[host.id], where, plugin, job)
    return tuple(changes)


def _of_kind(kind: HostKind, where: Where, plugin: Path, job: str) -> Iterator[HostChange]:
    tables: dict[Path, Json] = {}
    if kind.id in HEARS:
        with translated(str(plugin)):
            stated: Json = json.loads((plugin / SOURCE).read_bytes())[HOOKS]
        events = HEARS[kind.id] or {event: (event, "") for event in stated}
        ours = {name: _groups(kind, stated[event], tools) for event, (name, tools) in events.items() if event in stated}
        file = place_of(kind, where, kind.hooks[0].partition("#")[0])
        tables[file] = {HOOKS: ours, **(_CURSOR if kind.id == "cursor" else {})}
    name, _, key = kind.servers[0].partition("#")
    tables.setdefault(place_of(kind, where, name), {})[key] = {SERVER: _server(kind)}
    for place, ours in tables.items():
        real = outside.kept(place)
        try:
            content = _bytes(real)
        except InvalidEntry as error:
            yield HostChange(kind.name, real, f"left alone, {error.problems[0].message}", None, None)
            continue
        toml = place.suffix == ".toml"
        yield _change_toml(kind, real, content, job) if toml else _change(kind, real, content, job, ours)


def _groups(kind: HostKind, groups: list[Json], tools: str) -> list[Json]:
    """The calls of an event in the form of the host: Cursor has no groups, Gemini CLI counts milliseconds."""
    matcher, second = {"matcher": tools} if tools else {}, 1000 if kind.id == "gemini" else 1
    calls = [(group, {**call, **_call(kind)}) for group in groups for call in group["hooks"]]
    if kind.id == "cursor":
        return [{**matcher, "command": call["command"], "timeout": call["timeout"]} for _, call in calls]
    return [{**group, **matcher, "hooks": [{**call, "timeout": call["timeout"] * second}]} for group, call in calls]


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
    copilot: Json = {"type": "local", "args": [], "tools": ["*"]} if kind.id == "copilot" else {}
    return {**copilot, "command": program, "env": env}


SECONDS = 30.0  # until a program of a host that is tried counts as hung
_GREETING = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "ai-lessons", "version": "0"}}
_INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": _GREETING}


def tried(hosts: Sequence[Host], where: Where, event: bytes) -> tuple[Host, ...]:
    """The hosts with the answers of our programs that their settings name: a hook is given the `event`.

    They run as the host would run them, each once.
    """
    answers: dict[tuple[str, ...], tuple[str, bool]] = {}

    def answered(target: Target) -> Target:
        if not target.runs:
            return target
        if target.runs not in answers:
            request = json.dumps(_INITIALIZE).encode() + b"\n" if target.way == "mcp" else event
            answers[target.runs] = _answer(target.runs, where, request)
        answer, works = answers[target.runs]
        return target._replace(answered=answer, works=works)

    return tuple(host._replace(targets=tuple(map(answered, host.targets))) for host in hosts)


def _answer(argv: tuple[str, ...], where: Where, request: bytes) -> tuple[str, bool]:
    """The answer of a program, and whether it is one of ours."""
    try:
        done = programs.run(argv, env=where.environ, timeout=SECONDS, cwd=where.home, stdin=request)
    except subprocess.TimeoutExpired:
        return f"no answer within {SECONDS:.0f} seconds", False
    except OSError as error:
        return f"{argv[0]}: {error.strerror}", False
    line, _, _ = done.stdout.decode("utf-8", "replace").strip().partition("\n")
    if done.returncode or not line:
        why = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        program, _, _ = (argv[2] if argv[:2] == ("sh", "-c") else argv[0]).partition(" ")
        cause = "" if "/" in program else " with the search path of a host, which its command depends on"
        return f"nothing came back{cause}{f': {why}' if why else ''}", False
    if request.startswith(b'{"jsonrpc"'):
        server = ((parsed(line.encode()) or {}).get("result") or {}).get("serverInfo") or {}
        return f"{server.get('name', 'no server')} {server.get('version', '')}".strip(), bool(server)
    return line, line.startswith("reads ")


def carry_out(changes: Sequence[HostChange]) -> None:
    """Write what was decided. Raises Conflict: a file has changed since then. StorageFailed."""
    for change in changes:
        if change.before == change.after:
            continue
        with translated(str(change.file), writing=True):
            if _bytes(change.file) != change.before:
                raise Conflict(f"{change.file} has changed meanwhile", hint="run the command again")
            if change.after is not None:
                outside.write(change.file, change.after)
            else:
                change.file.unlink()


def _bytes(file: Path) -> bytes | None:
    return outside.read(file, LARGEST)[0] if file.exists() else None


def _change(kind: HostKind, file: Path, content: bytes | None, job: str, ours: Json) -> HostChange:
    """What a job does to a JSON file with tables of hooks and servers, ours by key."""
    try:
        settings = parsed(content)
        if settings is None:
            raise ValueError(file)
        text = (content or b"").decode()
        clean = (
            without(text, lambda path, value: any(_is_ours(key, path, value) for key in ours)) if text.strip() else text
        )
        if parsed(clean.encode()) == _CURSOR and list(settings) == [HOOKS, *_CURSOR]:
            clean = ""  # written by us: what other files state first, ours states last
        here = parsed(clean.encode()) or {}
        full = with_added(clean, {key: value for key, value in ours.items() if key not in _CURSOR or key not in here})
        full = text if parsed(full.encode()) == parsed(content) else full
    except (ValueError, RecursionError):
        return HostChange(kind.name, file, _LEFT, content, content)
    held = clean != text
    if job == "install":
        new = "written" if content is None else "brought up to date" if held else "added"
        # a file of our own ends in a line feed, by which it is known when it goes
        after = (f"{full}\n" if content is None else full).encode()
        return HostChange(kind.name, file, "already there" if full == text else new, content, after)
    says = "not there" if not held else "taken out" if clean or not text.endswith("\n") else "removed"
    return HostChange(kind.name, file, says, content, None if says == "removed" or content is None else clean.encode())


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


def _change_toml(kind: HostKind, file: Path, content: bytes | None, job: str) -> HostChange:
    """What a job does to a TOML file with a table of servers: a part of ours at its end."""
    settings = parsed(content, toml=True)
    if settings is None:
        return HostChange(kind.name, file, "left alone, it is no TOML: mend it first", content, content)
    program = json.dumps(programs.own(PROGRAM), ensure_ascii=False)
    server = f'[mcp_servers.{SERVER}]\ncommand = {program}\nenv = {{ AI_LESSONS_AGENT = "{kind.id}" }}'
    plan = agent_files.plan(content, job, server, _TOML)
    if SERVER in (settings.get("mcp_servers") or {}) and plan.says == "added":
        return HostChange(kind.name, file, "left alone, it names a server ai-lessons of its own", content, content)
    return HostChange(kind.name, file, plan.says, content, plan.data)
