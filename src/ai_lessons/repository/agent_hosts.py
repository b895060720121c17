"""A table of agent hosts: where a text reaches their agents, and our entries in their settings."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.errors import AiLessonsError, NotFound
from ai_lessons.knowledge import texts
from ai_lessons.repository import outside
from ai_lessons.repository.agent_files import holds_ours

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Json = dict[str, Any]

PROGRAM, SERVER = "ai-lessons-mcp", "ai-lessons"
MARK = "ai-lessons admin agent-hook"  # In every command of ours, but for quotes, in any version
LARGEST = 64 << 20  # Bytes of a file of settings: `~/.claude.json` grows to several MB


class HostKind(NamedTuple):
    """A make of host. Names of files are below the user's folder of it (`~`), or below the project (`./`).

    `events`: those by which a text gets to the agent when a session starts, and around an edit. `hooks`, `servers` and
    `instructions` are files, with `#` and the key of a table. `transcripts`: a glob below the user's folder.
    """

    id: str
    name: str
    programs: tuple[str, ...]
    folder: str
    variable: str
    projects: tuple[str, ...]
    events: tuple[str, str]
    hooks: tuple[str, ...]
    servers: tuple[str, ...]
    instructions: tuple[str, ...]
    transcripts: str = ""


KINDS = (
    HostKind(
        "claude-code", "Claude Code", ("claude",), ".claude", "CLAUDE_CONFIG_DIR", (".claude",),
        ("SessionStart", "PreToolUse"),
        ("~settings.json#hooks", "./.claude/settings.json#hooks", "./.claude/settings.local.json#hooks"),
        ("~../.claude.json#mcpServers", "./.mcp.json#mcpServers"),
        ("~CLAUDE.md", "./CLAUDE.md", "./.claude/CLAUDE.md", "./CLAUDE.local.md"),
        "projects/**/*.jsonl",
    ),
    HostKind(
        "codex", "Codex", ("codex",), ".codex", "CODEX_HOME", (".codex",),
        ("SessionStart", "PreToolUse"),
        ("~hooks.json#hooks", "~config.toml#hooks", "./.codex/hooks.json#hooks", "./.codex/config.toml#hooks"),
        ("~config.toml#mcp_servers", "./.codex/config.toml#mcp_servers"),
        ("~AGENTS.md", "./AGENTS.md"),
        "sessions/**/rollout-*.jsonl",
    ),
    HostKind(
        "cursor", "Cursor", ("cursor", "cursor-agent"), ".cursor", "", (".cursor",),
        ("sessionStart", "preToolUse"),
        ("~hooks.json#hooks", "./.cursor/hooks.json#hooks"),
        ("~mcp.json#mcpServers", "./.cursor/mcp.json#mcpServers"),
        ("./AGENTS.md", "./.cursorrules"),
        "projects/*/agent-transcripts/**/*.jsonl",
    ),
    HostKind(
        "gemini", "Gemini CLI", ("gemini",), ".gemini", "", (".gemini",),
        ("SessionStart", "AfterTool"),
        ("~settings.json#hooks", "./.gemini/settings.json#hooks"),
        ("~settings.json#mcpServers", "./.gemini/settings.json#mcpServers"),
        ("~GEMINI.md", "./GEMINI.md"),
        "tmp/*/chats/**/*.json*",
    ),
    HostKind(
        "opencode", "opencode", ("opencode",), ".config/opencode", "", (".opencode", "opencode.json"),
        ("", ""),
        (),
        ("~opencode.json#mcp", "./opencode.json#mcp"),
        ("~AGENTS.md", "./AGENTS.md"),
        "../../.local/share/opencode/opencode.db",
    ),
    HostKind(
        "windsurf", "Windsurf", ("windsurf",), ".codeium/windsurf", "", (".windsurf",),
        ("", "pre_write_code"),
        ("~hooks.json#hooks", "./.windsurf/hooks.json#hooks"),
        ("~mcp_config.json#mcpServers",),
        ("./AGENTS.md", "./.windsurfrules"),
    ),
    HostKind(
        "copilot", "GitHub Copilot", ("copilot",), ".copilot", "", (".github/copilot-instructions.md", ".github/hooks"),
        ("sessionStart", "preToolUse"),
        ("~settings.json#hooks", "./.github/hooks/*.json#hooks"),
        ("~mcp-config.json#mcpServers",),
        ("./AGENTS.md", "./.github/copilot-instructions.md"),
    ),
)  # fmt: skip


class Target(NamedTuple):
    """A `way` (session-start, edit, instructions, mcp) to an agent; `there`: the file exists, `ours`: it has our part.

    `runs`: what the host starts, if the settings are the user's own: those of a project may come with a clone.
    `answered`: the output when that was run, `works`: whether it was an answer of ours.
    """

    way: str
    place: str
    there: bool
    ours: bool
    runs: tuple[str, ...] = ()
    answered: str = ""
    works: bool | None = None


class Host(NamedTuple):
    """A host on this machine. `found`: its traces; `hooks`: by file of hooks the events configured in it."""

    id: str
    name: str
    found: tuple[str, ...]
    hooks: Mapping[str, tuple[str, ...]]
    targets: tuple[Target, ...]
    unreadable: tuple[str, ...]


class Where(NamedTuple):
    """The user's home, the search path of programs, folders by environment variable, and the project.

    `environ`: the environment of a program of a host when it is tried.
    """

    home: Path
    path: str
    folders: Mapping[str, str]
    project: Path
    environ: Mapping[str, str] = MappingProxyType({})


def find_hosts(where: Where) -> tuple[Host, ...]:
    """The hosts that have a program on the path, a folder of the user's, or files in the project."""
    return tuple(host for kind in KINDS if (host := _HostFinder(kind, where).host()) is not None)


class _HostFinder:
    """Finds the traces and the targets of one make of host."""

    def __init__(self, kind: HostKind, where: Where) -> None:
        self._kind, self._where = kind, where
        self._unreadable: list[str] = []
        self._plugin = ""

    def host(self) -> Host | None:
        """None if there is no trace of it."""
        kind = self._kind
        programs = (shutil.which(name, path=self._where.path) for name in kind.programs)
        places = [Path(program) for program in programs if program]
        places += [place for place in (_folder(kind, self._where),) if place.is_dir()]
        places += [place for name in kind.projects if (place := self._where.project / name).exists()]
        if not places:
            return None
        hooks = {
            file: {event: groups for event, groups in table.items() if isinstance(groups, list) and groups}
            for name in kind.hooks
            for file, table in self._tables(name)
        }
        self._plugin = self._enabled_plugin()
        targets = (*self._by_hooks(hooks), *self._instructions(), *self._servers())
        events = {self._shown(file): tuple(table) for file, table in hooks.items() if table}
        traces = tuple(map(self._shown, places))
        return Host(kind.id, kind.name, traces, events, targets, tuple(dict.fromkeys(self._unreadable)))

    def _enabled_plugin(self) -> str:
        """Our plugin, as the host names it; empty if it is not enabled."""
        enabled: Json = {}
        for name in self._kind.hooks if self._kind.id == "claude-code" else ():
            for _, table in self._tables(name.replace("#hooks", "#enabledPlugins")):
                enabled |= table
        return next((f"plugin {name}" for name, on in enabled.items() if name.startswith(f"{SERVER}@") and on), "")

    def _by_hooks(self, hooks: Mapping[Path, Json]) -> Iterator[Target]:
        """A text at the start and around an edit: through the plugin, or else through a file of hooks."""
        for way, event in zip(("session-start", "edit"), self._kind.events, strict=True):
            if not event:
                continue
            if self._plugin:
                yield Target(way, self._plugin, there=True, ours=True)
            ours = {
                file: call for file, table in hooks.items() for call in _calls(table.get(event)) if is_our_call(call)
            }
            for file in ours or ([] if self._plugin else list(hooks)[:1]):
                runs = self._runs(file, _argv(ours[file])) if ours else ()
                yield Target(way, self._shown(file), there=file.exists(), ours=bool(ours), runs=runs)

    def _instructions(self) -> Iterator[Target]:
        for name in self._kind.instructions:
            file = place_of(self._kind, self._where, name)
            data = self._bytes(file)
            if data is not None or name == "./AGENTS.md":
                yield Target("instructions", self._shown(file), data is not None, holds_ours(data or b""))

    def _servers(self) -> Iterator[Target]:
        if self._plugin:
            yield Target("mcp", self._plugin, there=True, ours=True)
        for name in self._kind.servers:
            for file, table in self._tables(name):
                ours = [
                    server
                    for key, server in table.items()
                    if PROGRAM in json.dumps(server, default=str) or key == SERVER
                ]
                if file.exists() or not self._plugin:
                    runs = self._runs(file, _argv(ours[0], shell=False)) if ours else ()
                    yield Target("mcp", self._shown(file), file.exists(), bool(ours), runs)

    def _tables(self, name: str) -> Iterator[tuple[Path, Json]]:
        """The table under the key after `#` of every file that the name stands for; an empty one for no file."""
        name, _, key = name.partition("#")
        place = place_of(self._kind, self._where, name)
        for file in sorted(place.parent.glob(place.name)) if "*" in place.name else [place]:
            settings = parsed(self._bytes(file), toml=file.suffix == ".toml")
            if settings is None:
                self._unreadable.append(self._shown(file))
            table = (settings or {}).get(key)
            yield file, table if isinstance(table, dict) else {}

    def _runs(self, file: Path, argv: tuple[str, ...]) -> tuple[str, ...]:
        """The command, if the file is the user's own: what came with the clone of a project is not run by us."""
        names = [name.partition("#")[0] for name in (*self._kind.hooks, *self._kind.servers) if name.startswith("~")]
        return argv if file in {place_of(self._kind, self._where, name) for name in names} else ()

    def _bytes(self, file: Path) -> bytes | None:
        project = self._where.project
        cloned = file.is_relative_to(project) and not self._where.home.is_relative_to(project)
        try:
            return outside.read(file, LARGEST, within=project if cloned else None)[0]
        except NotFound:
            return None
        except AiLessonsError:
            self._unreadable.append(self._shown(file))
            return None

    def _shown(self, place: Path) -> str:
        if place.is_relative_to(self._where.project):
            return place.relative_to(self._where.project).as_posix()
        if place.is_relative_to(self._where.home):
            return "~/" + place.relative_to(self._where.home).as_posix()
        return str(place)


def _calls(groups: Any) -> Iterator[Any]:
    """The calls of an event: those in its groups, and what stands in place of a group."""
    for group in groups if isinstance(groups, list) else ():
        inner = group.get("hooks") if isinstance(group, dict) else None
        yield from inner if isinstance(inner, list) else [group]


def is_our_call(call: Any) -> bool:
    """Whether a call of a host's hooks is one of ours, in the form of any version."""
    return MARK in " ".join(_argv(call)).replace("'", "").replace('"', "")


def _argv(call: Any, *, shell: bool = True) -> tuple[str, ...]:
    """What a host starts for a hook, or for a server (no `shell`); nothing for what is no command."""
    table = call if isinstance(call, dict) else {}
    command, arguments = table.get("command") or table.get("bash"), table.get("args")
    if isinstance(command, list):
        return tuple(map(str, command))
    if not isinstance(command, str):
        return ()
    if isinstance(arguments, list):
        return (command, *map(str, arguments))
    return ("sh", "-c", command) if shell else (command,)


def _folder(kind: HostKind, where: Where) -> Path:
    overruled = where.folders.get(kind.variable) if kind.variable else None
    return Path(overruled) if overruled else where.home / kind.folder


def place_of(kind: HostKind, where: Where, name: str) -> Path:
    """Where the file lies that a row of the table names."""
    folder = _folder(kind, where)
    if folder != where.home / kind.folder:
        name = name.replace("~../", "~")  # a folder of the user's choice holds everything
    return Path(os.path.normpath(folder / name[1:])) if name.startswith("~") else where.project / name[2:]


def transcripts(where: Where) -> list[tuple[Path, str]]:
    """Globs of what the hosts keep of their sessions, each behind the folder that it begins in."""
    globs = []
    for kind in KINDS:
        steps = kind.transcripts.count("../")
        if kind.transcripts:
            folder = os.path.normpath(_folder(kind, where) / ("../" * steps))
            globs.append((Path(folder), kind.transcripts[3 * steps :]))
    return globs


def parsed(data: bytes | None, *, toml: bool = False) -> Json | None:
    """A file's settings; empty if nothing is in it, None if it cannot be read or holds no table."""
    if data is None or not data.strip():
        return {}
    try:
        settings = texts.toml(data.decode()) if toml else json.loads(data)
    except (ValueError, RecursionError):
        return None
    return settings if isinstance(settings, dict) else None
