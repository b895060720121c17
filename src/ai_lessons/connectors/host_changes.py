"""Our entries in the settings of agent hosts: put in, taken out, and tried.

Begin with `for_user`.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.connectors.agent_hosts import (
    BY_OTHERS,
    LARGEST,
    MODULE_BEGINS,
    PROGRAM,
    SERVER,
    HostFinder,
    is_our_call,
    kinds,
    parsed,
    place_of,
)
from ai_lessons.connectors.json_comments import with_added, without
from ai_lessons.errors import Conflict, InvalidEntry
from ai_lessons.git import external_files, hooks, processes
from ai_lessons.git.files import translated
from ai_lessons.git.history import unified
from ai_lessons.model import expression
from ai_lessons.model.entries import json_fields

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from ai_lessons.connectors.agent_hosts import Host, Json, Target
    from ai_lessons.model import Where
    from ai_lessons.model.agent_hosts import AgentHost, HostSettings

HOOKS = "hooks"
# the plugin's file, which holds our part
SOURCE = "hooks/hooks.json"
_HOOK = ("admin", "agent-hook")
_ENDS_WELL = expression(r"\|\| (exit 0|true)\s*\Z")
_TOML = hooks.marks("ai-lessons", "# {}")
_LEFT = "left alone, it is no JSON object: mend it first"


@json_fields("host", "file", "done", "diff")
class HostChange(NamedTuple):
    """A change of one file of a host; `done`: in words. `before`, `after` None: no file.

    The same: no change.
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
    changes: list[HostChange] = []
    for kind, settings in kinds():
        host = HostFinder(kind, settings, where).host()
        if host is None or (names and kind.id not in names):
            continue
        by_others = {target.way for target in host.targets if target.place.startswith(BY_OTHERS)}
        if job == "uninstall":
            by_others = set()
        changes += _of_kind(kind, settings, where, plugin, job, by_others)
    return tuple(changes)


def _of_kind(
    kind: AgentHost,
    settings: HostSettings,
    where: Where,
    plugin: Path,
    job: str,
    by_others: Collection[str],
) -> Iterator[HostChange]:
    """The changes of one host, but for the ways that our plugin or administrators have opened."""
    tables: dict[Path, Json] = {}
    if settings.hears and "session-start" not in by_others:
        with translated(str(plugin)):
            stated: Json = json.loads((plugin / SOURCE).read_bytes())[HOOKS]
        ours = hook_table(settings, stated, _call(kind, settings))
        file = place_of(settings, where, settings.hooks[0].partition("#")[0])
        tables[file] = {HOOKS: ours, **settings.head}
    module, source = settings.module
    if module:
        place = place_of(settings, where, module)
        yield _change_module(kind, place, plugin.parent / source, job)
    if "mcp" not in by_others:
        name, _, key = settings.servers[0].partition("#")
        tables.setdefault(place_of(settings, where, name), {})[key] = {SERVER: _server(kind)}
    for place, ours in tables.items():
        real = external_files.kept(place)
        try:
            content = _bytes(real)
        except InvalidEntry as error:
            yield HostChange(
                kind.name, real, f"left alone, {error.problems[0].message}", None, None
            )
            continue
        toml = place.suffix == ".toml"
        yield (
            _change_toml(kind, real, content, job)
            if toml
            else _change(kind, real, content, job, ours, settings.head)
        )


def hook_table(settings: HostSettings, stated: Json, command: Json) -> Json:
    """The events of the plugin (`stated`) that a host has, in its form, each with this command."""
    by_key = {}
    for event, (name, tools) in settings.hears.items():
        if event in stated:
            by_key[name] = _groups(settings, stated[event], tools, command)
    return by_key


def _groups(settings: HostSettings, groups: list[Json], tools: str, command: Json) -> list[Json]:
    """The calls of an event in the form of the host."""
    matcher = {"matcher": tools} if tools else {}
    calls = []
    for group in groups:
        for call in group["hooks"]:
            timeout = call["timeout"] * settings.second
            if settings.grouped:
                ours = {"type": call["type"], **command, "timeout": timeout}
                calls.append({**group, **matcher, "hooks": [ours]})
            else:
                calls.append({**matcher, "command": command["command"], "timeout": timeout})
    return calls


def _call(kind: AgentHost, settings: HostSettings) -> Json:
    """How a host calls our hook."""
    if settings.named:
        named = f"AI_LESSONS_AGENT={kind.id} "
    else:
        named = ""
    # The absolute path, because hosts have a search path of their own. One string, because some
    # hosts ignore `args` and give the event to a bare shell as its program. Exit code 0, because
    # hosts take any other for a refusal.
    return {
        "command": f"{named}{shlex.join([processes.program_path('ai-lessons'), *_HOOK])} || exit 0"
    }


def _server(kind: AgentHost) -> Json:
    return kind.server(processes.program_path(PROGRAM), {"AI_LESSONS_AGENT": kind.id})


# what a program has that no shell started
HOST_PATH = "/usr/bin:/bin"
_GREETING = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "ai-lessons", "version": "0"},
}
_INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": _GREETING}


def tried(hosts: Sequence[Host], where: Where, event: bytes) -> tuple[Host, ...]:
    """The hosts with the answers of our programs that their settings name.

    A hook is given the `event`.

    They run as the host would run them, each once.
    """
    answers: dict[tuple[str, ...], tuple[str, bool]] = {}

    def answered(target: Target) -> Target:
        if not target.runs:
            return target
        if target.way != "mcp" and not (
            target.runs[0] == "sh" and _ENDS_WELL.search(target.runs[-1])
        ):
            return target._replace(
                answered="an older form, whose failure some hosts take for a refusal", works=False
            )
        if target.runs not in answers:
            if target.way == "mcp":
                request = json.dumps(_INITIALIZE).encode() + b"\n"
            else:
                request = event
            answers[target.runs] = _answer(target.runs, where, request)
        answer, works = answers[target.runs]
        return target._replace(answered=answer, works=works)

    results = []
    for host in hosts:
        results.append(host._replace(targets=tuple(map(answered, host.targets))))
    return tuple(results)


def _answer(argv: tuple[str, ...], where: Where, request: bytes) -> tuple[str, bool]:
    """The answer of a program, and whether it is one of ours."""
    try:
        # a first start reads every file of the repository; what takes longer hangs
        environ = {**where.environ, "PATH": HOST_PATH}
        done = processes.run(argv, env=environ, timeout=30.0, cwd=where.home, stdin=request)
    except subprocess.TimeoutExpired:
        return "no answer within 30 seconds", False
    except OSError as error:
        return f"{argv[0]}: {error.strerror}", False
    line, _, _ = done.stdout.decode("utf-8", "replace").strip().partition("\n")
    if done.returncode or not line:
        why = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        if argv[:2] == ("sh", "-c"):
            called = argv[2].partition("agent-hook")[0]
        else:
            called = argv[0]
        if "/" in called:
            cause = ""
        else:
            cause = " with the search path of a host, which its command depends on"
        return f"nothing came back{cause}{f': {why}' if why else ''}", False
    if request.startswith(b'{"jsonrpc"'):
        server = ((parsed(line.encode()) or {}).get("result") or {}).get("serverInfo") or {}
        return f"{server.get('name', 'no server')} {server.get('version', '')}".strip(), bool(
            server
        )
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
                external_files.write(change.file, change.after)
            else:
                change.file.unlink()


def _bytes(file: Path) -> bytes | None:
    if file.exists():
        return external_files.read(file, LARGEST)[0]
    return None


def _change(
    kind: AgentHost,
    file: Path,
    content: bytes | None,
    job: str,
    ours: Json,
    head: Mapping[str, Any],
) -> HostChange:
    """What a job does to a JSON file with tables of hooks and servers, ours by key."""
    try:
        settings = parsed(content)
        if settings is None:
            raise ValueError(file)
        text = (content or b"").decode()
        clean = (
            without(text, lambda path, value: any(is_ours(key, path, value) for key in ours))
            if text.strip()
            else text
        )
        if head and parsed(clean.encode()) == head and list(settings) == [HOOKS, *head]:
            # written by us: what other files state first, ours states last
            clean = ""
        here = parsed(clean.encode()) or {}
        full = with_added(
            clean,
            {key: value for key, value in ours.items() if key not in head or key not in here},
        )
        if parsed(full.encode()) == parsed(content):
            full = text
    except (ValueError, RecursionError):
        return HostChange(kind.name, file, _LEFT, content, content)
    held = clean != text
    if job == "install":
        if content is None:
            new = "written"
        elif held:
            new = "brought up to date"
        else:
            new = "added"
        # a file of our own ends in a line feed, by which it is known when it goes
        after = (f"{full}\n" if content is None else full).encode()
        return HostChange(kind.name, file, "already there" if full == text else new, content, after)
    if not held:
        says = "not there"
    elif clean or not text.endswith("\n"):
        says = "taken out"
    else:
        says = "removed"
    return HostChange(
        kind.name,
        file,
        says,
        content,
        None if says == "removed" or content is None else clean.encode(),
    )


def is_ours(key: str, path: Sequence[str | int], value: Any) -> bool:
    """Whether it is our server, one of our calls, or a group of nothing else."""
    if path[0] != key:
        return False
    if key != HOOKS:
        return list(path[1:]) == [SERVER]
    if len(path) == 3:
        calls = None
        if isinstance(value, dict):
            calls = value.get("hooks", [value])
        return isinstance(calls, list) and bool(calls) and all(map(is_our_call, calls))
    return len(path) == 5 and path[3] == "hooks" and is_our_call(value)


def _change_module(kind: AgentHost, file: Path, source: Path, job: str) -> HostChange:
    """What a job does to a module of ours, which is a file of its own."""
    with translated(str(source)):
        text = source.read_text("utf-8")
    program = (
        f"const PROGRAM = {json.dumps(processes.program_path('ai-lessons'), ensure_ascii=False)}\n"
    )
    new, content = re.sub(r"const PROGRAM = .*\n", lambda _: program, text).encode(), _bytes(file)
    if content is not None and not content.startswith(MODULE_BEGINS):
        return HostChange(kind.name, file, "left alone, it is another file", content, content)
    if job != "install":
        return HostChange(
            kind.name, file, "not there" if content is None else "removed", content, None
        )
    if content is None:
        says = "written"
    elif content == new:
        says = "already there"
    else:
        says = "brought up to date"
    return HostChange(kind.name, file, says, content, new)


def _change_toml(kind: AgentHost, file: Path, content: bytes | None, job: str) -> HostChange:
    """What a job does to a TOML file with a table of servers: a part of ours at its end."""
    settings = parsed(content, toml=True)
    if settings is None:
        return HostChange(
            kind.name, file, "left alone, it is no TOML: mend it first", content, content
        )
    program = json.dumps(processes.program_path(PROGRAM), ensure_ascii=False)
    server = (
        f'[mcp_servers.{SERVER}]\ncommand = {program}\nenv = {{ AI_LESSONS_AGENT = "{kind.id}" }}'
    )
    plan = hooks.plan(content, job, server, _TOML)
    if SERVER in (settings.get("mcp_servers") or {}) and plan.says == "added":
        return HostChange(
            kind.name, file, "left alone, it names a server ai-lessons of its own", content, content
        )
    return HostChange(kind.name, file, plan.says, content, plan.data)
