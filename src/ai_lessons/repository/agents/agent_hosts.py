"""Which agent hosts are on this machine, which hooks they have, and where a text can reach their agents.

Everything is looked up anew at every call and nothing is kept, so that a hook or a file that was changed a moment ago
counts. Only reads; a file that cannot be read is named and changes nothing else.

Places and names after the documentation of the hosts as of November 2026.
"""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.repository.agents.agent_files import holds_ours
from ai_lessons.repository.agents.agent_settings import MARK, SERVER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

PROGRAM = "ai-lessons-mcp"


class HostKind(NamedTuple):
    """One make of host. Names of files are below the user's folder of it (`~`), or below the project (`./`).

    `events` are those by which a text gets to the agent when a session starts, and around an edit. `hooks`, `servers`
    and `instructions` are files; those of `hooks` and `servers` hold tables under the keys named after `#`.
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


KINDS = (
    HostKind(
        "claude-code", "Claude Code", ("claude",), ".claude", "CLAUDE_CONFIG_DIR", (".claude",),
        ("SessionStart", "PreToolUse"),
        ("~settings.json#hooks", "./.claude/settings.json#hooks", "./.claude/settings.local.json#hooks"),
        ("~../.claude.json#mcpServers", "./.mcp.json#mcpServers"),
        ("~CLAUDE.md", "./CLAUDE.md", "./.claude/CLAUDE.md", "./CLAUDE.local.md"),
    ),
    HostKind(
        "codex", "Codex", ("codex",), ".codex", "CODEX_HOME", (".codex",),
        ("SessionStart", "PreToolUse"),
        ("~hooks.json#hooks", "~config.toml#hooks", "./.codex/hooks.json#hooks", "./.codex/config.toml#hooks"),
        ("~config.toml#mcp_servers", "./.codex/config.toml#mcp_servers"),
        ("~AGENTS.md", "./AGENTS.md"),
    ),
    HostKind(
        "cursor", "Cursor", ("cursor", "cursor-agent"), ".cursor", "", (".cursor",),
        ("sessionStart", "preToolUse"),
        ("~hooks.json#hooks", "./.cursor/hooks.json#hooks"),
        ("~mcp.json#mcpServers", "./.cursor/mcp.json#mcpServers"),
        ("./AGENTS.md", "./.cursorrules"),
    ),
    HostKind(
        "gemini", "Gemini CLI", ("gemini",), ".gemini", "", (".gemini",),
        ("SessionStart", "BeforeTool"),
        ("~settings.json#hooks", "./.gemini/settings.json#hooks"),
        ("~settings.json#mcpServers", "./.gemini/settings.json#mcpServers"),
        ("~GEMINI.md", "./GEMINI.md"),
    ),
    HostKind(
        "opencode", "opencode", ("opencode",), ".config/opencode", "", (".opencode", "opencode.json"),
        ("", ""),
        (),
        ("~opencode.json#mcp", "./opencode.json#mcp"),
        ("~AGENTS.md", "./AGENTS.md"),
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
    """One way to an agent. `way`: session-start, edit, instructions or mcp.

    `place` is the file (or plugin), `there` says whether it exists, `ours` whether it holds something of ours.
    """

    way: str
    place: str
    there: bool
    ours: bool


class Host(NamedTuple):
    """A host that was found. `found` says by what; `hooks` maps each file of hooks to the events configured in it."""

    id: str
    name: str
    found: tuple[str, ...]
    hooks: Mapping[str, tuple[str, ...]]
    targets: tuple[Target, ...]
    unreadable: tuple[str, ...]


class Where(NamedTuple):
    """What a look depends on: the user's home, the search path of programs, overruled folders, and the project."""

    home: Path
    path: str
    folders: Mapping[str, str]
    project: Path


def look(where: Where) -> tuple[Host, ...]:
    """The hosts that have a program on the path, a folder of the user's, or files in the project."""
    return tuple(host for kind in KINDS if (host := _Look(kind, where).host()) is not None)


class _Look:
    """One make of host on this machine, now."""

    def __init__(self, kind: HostKind, where: Where) -> None:
        self._kind, self._where = kind, where
        overruled = where.folders.get(kind.variable) if kind.variable else None
        self._folder = Path(overruled) if overruled else where.home / kind.folder
        self._unreadable: list[str] = []

    def host(self) -> Host | None:
        """None if there is no trace of it."""
        found = tuple(self._found())
        if not found:
            return None
        hooks = dict(self._hooks())
        targets = (*self._by_hooks(hooks), *self._instructions(), *self._servers())
        events = {self._shown(file): tuple(table) for file, table in hooks.items() if table}
        unreadable = tuple(dict.fromkeys(self._unreadable))
        return Host(self._kind.id, self._kind.name, found, events, targets, unreadable)

    def _found(self) -> Iterator[str]:
        for program in self._kind.programs:
            place = _program(program, self._where.path)
            if place:
                yield self._shown(place)
        if self._folder.is_dir():
            yield self._shown(self._folder)
        for name in self._kind.projects:
            if (self._where.project / name).exists():
                yield self._shown(self._where.project / name)

    def _hooks(self) -> Iterator[tuple[Path, dict[str, Any]]]:
        for name in self._kind.hooks:
            for file, table in self._tables(name):
                yield file, {event: there for event, there in table.items() if isinstance(there, list) and there}

    def _by_hooks(self, hooks: Mapping[Path, dict[str, Any]]) -> Iterator[Target]:
        """A text at the start and around an edit: through the plugin, or else through a file of hooks."""
        plugin = self._plugin()
        for way, event in zip(("session-start", "edit"), self._kind.events, strict=True):
            if not event:
                continue
            if plugin:
                yield Target(way, plugin, there=True, ours=True)
            ours = [file for file, table in hooks.items() if MARK in json.dumps(table.get(event), default=str)]
            for file in ours or ([] if plugin else list(hooks)[:1]):
                yield Target(way, self._shown(file), there=file.exists(), ours=bool(ours))

    def _plugin(self) -> str:
        """The plugin of ours that is switched on, as the host names it; empty if there is none."""
        if self._kind.id != "claude-code":
            return ""
        on: dict[str, Any] = {}
        for name in ("~settings.json", "./.claude/settings.json", "./.claude/settings.local.json"):
            for _, table in self._tables(f"{name}#enabledPlugins"):
                on |= table
        return next((f"plugin {name}" for name, state in on.items() if name.startswith(f"{SERVER}@") and state), "")

    def _instructions(self) -> Iterator[Target]:
        for name in self._kind.instructions:
            file = self._place(name)
            data = self._bytes(file)
            if data is not None or name == "./AGENTS.md":
                yield Target("instructions", self._shown(file), data is not None, holds_ours(data or b""))

    def _servers(self) -> Iterator[Target]:
        if plugin := self._plugin():
            yield Target("mcp", plugin, there=True, ours=True)
        for name in self._kind.servers:
            for file, table in self._tables(name):
                ours = any(PROGRAM in json.dumps(one, default=str) or key == SERVER for key, one in table.items())
                if file.exists() or not plugin:
                    yield Target("mcp", self._shown(file), file.exists(), ours)

    def _tables(self, name: str) -> Iterator[tuple[Path, dict[str, Any]]]:
        """The table under the key after `#` of every file that the name stands for; an empty one for no file."""
        name, _, key = name.partition("#")
        place = self._place(name)
        files: Sequence[Path] = sorted(place.parent.glob(place.name)) if "*" in place.name else [place]
        for file in files:
            table = self._read(file).get(key)
            yield file, table if isinstance(table, dict) else {}

    def _read(self, file: Path) -> dict[str, Any]:
        data = self._bytes(file)
        if not data or not data.strip():
            return {}
        try:
            found = tomllib.loads(data.decode()) if file.suffix == ".toml" else json.loads(data)
        except (ValueError, RecursionError):
            self._unreadable.append(self._shown(file))
            return {}
        return found if isinstance(found, dict) else {}

    def _bytes(self, file: Path) -> bytes | None:
        try:
            return file.read_bytes()
        except FileNotFoundError:
            return None
        except OSError:
            self._unreadable.append(self._shown(file))
            return None

    def _place(self, name: str) -> Path:
        if self._folder != self._where.home / self._kind.folder:
            name = name.replace("~../", "~")  # a folder of the user's choice holds everything
        if name.startswith("~"):
            return Path(os.path.normpath(self._folder / name[1:]))
        return self._where.project / name[2:]

    def _shown(self, place: Path) -> str:
        if place.is_relative_to(self._where.project):
            return place.relative_to(self._where.project).as_posix()
        if place.is_relative_to(self._where.home):
            return "~/" + place.relative_to(self._where.home).as_posix()
        return str(place)


def _program(name: str, path: str) -> Path | None:
    """Where the shell would find it. `shutil.which` would tell too, but loads every compression there is."""
    for folder in path.split(os.pathsep):
        place = Path(folder) / name
        if folder and place.is_file() and os.access(place, os.X_OK):
            return place
    return None
