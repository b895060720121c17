"""Agent hosts of this machine: which are there, what of ours their settings hold, where they keep transcripts.

Begin with `find_hosts`; what differs between hosts is in `model.agent_hosts`.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.connectors.json_comments import plain_json
from ai_lessons.errors import AiLessonsError, NotFound
from ai_lessons.git import external_files
from ai_lessons.git.hooks import holds_ours
from ai_lessons.model import agent_hosts, texts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ai_lessons.model import Where
    from ai_lessons.model.agent_hosts import AgentHost, HostSettings

Json = dict[str, Any]

# how a module begins that we wrote, as a host of JavaScript takes it
MODULE_BEGINS = b"// Made by `ai-lessons admin hosts --install`"
PROGRAM, SERVER = "ai-lessons-mcp", "ai-lessons"
# below which administrators place settings for everybody
ROOT = Path("/")
# how a place begins that needs no settings of the user beside it
BY_OTHERS = ("plugin ", "managed ")
# In every command of ours, but for quotes, in any version
MARK = "ai-lessons admin agent-hook"
# Bytes of a file of settings: `~/.claude.json` grows to several MB
LARGEST = 64 << 20


def kinds() -> Iterator[tuple[AgentHost, HostSettings]]:
    """The hosts that we know how to set up."""
    for kind in agent_hosts.every():
        if kind.settings is not None:
            yield kind, kind.settings


class Target(NamedTuple):
    """A `way` (session-start, edit, instructions, mcp) to an agent.

    `there`: the file exists, `ours`: it has our part.

    `runs`: what the host starts, if the settings are the user's own: those of a project may come
    with a clone. `answered`: the output when that was run, `works`: whether it was an answer of
    ours.
    """

    way: str
    place: str
    there: bool
    ours: bool
    runs: tuple[str, ...] = ()
    answered: str = ""
    works: bool | None = None


class Host(NamedTuple):
    """A host on this machine.

    `found`: its traces; `hooks`: by file of hooks the events configured in it.
    """

    id: str
    name: str
    found: tuple[str, ...]
    hooks: Mapping[str, tuple[str, ...]]
    targets: tuple[Target, ...]
    unreadable: tuple[str, ...]


def find_hosts(where: Where) -> tuple[Host, ...]:
    """The hosts that have a program on the path, a folder of the user's, or files in the project."""
    hosts = []
    for kind, settings in kinds():
        host = HostFinder(kind, settings, where).host()
        if host is not None:
            hosts.append(host)
    return tuple(hosts)


class HostFinder:
    """Finds what shows that a host is installed, and where our hooks and server go in its settings."""

    def __init__(self, kind: AgentHost, settings: HostSettings, where: Where) -> None:
        self._kind, self._settings = kind, settings
        self._where, self._project = where, _project(where)
        self._unreadable: list[str] = []
        # by which of our plugin and the administrators' files hooks and server come, as places
        self._hooks_by = self._server_by = ""

    def host(self) -> Host | None:
        """None if there is no trace of it."""
        kind, settings = self._kind, self._settings
        programs = (
            shutil.which(name, path=self._where.environ.get("PATH", ""))
            for name in settings.programs
        )
        places = []
        for program in programs:
            if program:
                places.append(Path(program))
        places += [place for place in (_folder(settings, self._where),) if place.is_dir()]
        places += [place for name in settings.projects if (place := self._project / name).exists()]
        if not places:
            return None
        hooks = {}
        for name in settings.hooks:
            for file, table in self._tables(name):
                hooks[file] = {
                    event: groups
                    for event, groups in table.items()
                    if isinstance(groups, list) and groups
                }
        plugin = self._enabled_plugin()
        self._hooks_by = plugin or self._managed(MARK)
        self._server_by = plugin or self._managed(PROGRAM)
        targets = (*self._by_hooks(hooks), *self._instructions(), *self._servers())
        events = {self._shown(file): tuple(table) for file, table in hooks.items() if table}
        traces = tuple(map(self._shown, places))
        return Host(
            kind.id, kind.name, traces, events, targets, tuple(dict.fromkeys(self._unreadable))
        )

    def _enabled_plugin(self) -> str:
        """Our plugin, as the host names it; empty if it is not enabled."""
        enabled: Json = {}
        if self._settings.plugins:
            for name in self._settings.hooks:
                file = name.partition("#")[0]
                for _, table in self._tables(f"{file}#{self._settings.plugins}"):
                    enabled |= table
        return next(
            (
                f"plugin {name}"
                for name, on in enabled.items()
                if name.startswith(f"{SERVER}@") and on
            ),
            "",
        )

    def _managed(self, mark: str) -> str:
        """The file of administrators that has this part of ours; empty for none."""
        for place in self._settings.managed:
            path = place.partition("#")[0]
            if mark.encode() in (self._bytes(ROOT / path) or b""):
                return f"managed /{path}"
        return ""

    def _by_hooks(self, hooks: Mapping[Path, Json]) -> Iterator[Target]:
        """A text at the start and around an edit.

        Through the plugin, or else through a file of hooks.
        """
        module, _ = self._settings.module
        if module:
            file = place_of(self._settings, self._where, module)
            installed = (self._bytes(file) or b"").startswith(MODULE_BEGINS)
            yield from (
                Target(way, self._shown(file), file.exists(), installed)
                for way in ("session-start", "edit")
            )
        for way, event in zip(("session-start", "edit"), self._settings.events, strict=True):
            if not event:
                continue
            if self._hooks_by:
                yield Target(way, self._hooks_by, there=True, ours=True)
            ours = {
                file: call
                for file, table in hooks.items()
                for call in calls_in(table.get(event))
                if is_our_call(call)
            }
            for file in ours or ([] if self._hooks_by else list(hooks)[:1]):
                if ours:
                    runs = self._runs(file, argv_of(ours[file]))
                else:
                    runs = ()
                yield Target(
                    way, self._shown(file), there=file.exists(), ours=bool(ours), runs=runs
                )

    def _instructions(self) -> Iterator[Target]:
        for name in self._settings.instructions:
            file = place_of(self._settings, self._where, name)
            data = self._bytes(file)
            if data is not None or name == "./AGENTS.md":
                yield Target(
                    "instructions", self._shown(file), data is not None, holds_ours(data or b"")
                )

    def _servers(self) -> Iterator[Target]:
        if self._server_by:
            yield Target("mcp", self._server_by, there=True, ours=True)
        for name in self._settings.servers:
            for file, table in self._tables(name):
                ours = []
                for key, server in table.items():
                    if PROGRAM in json.dumps(server, default=str) or key == SERVER:
                        ours.append(server)
                if file.exists() or not self._server_by:
                    if ours:
                        runs = self._runs(file, argv_of(ours[0], shell=False))
                    else:
                        runs = ()
                    yield Target("mcp", self._shown(file), file.exists(), bool(ours), runs)

    def _tables(self, name: str) -> Iterator[tuple[Path, Json]]:
        """The table under the key after `#` of every file that the name stands for.

        An empty one for no file.
        """
        name, _, key = name.partition("#")
        place = place_of(self._settings, self._where, name)
        for file in sorted(place.parent.glob(place.name)) if "*" in place.name else [place]:
            settings = parsed(self._bytes(file), toml=file.suffix == ".toml")
            if settings is None:
                self._unreadable.append(self._shown(file))
            table = (settings or {}).get(key)
            yield file, table if isinstance(table, dict) else {}

    def _runs(self, file: Path, argv: tuple[str, ...]) -> tuple[str, ...]:
        """The command, if the file is the user's own.

        What came with the clone of a project is not run by us.
        """
        names = []
        for name in (*self._settings.hooks, *self._settings.servers):
            if name.startswith("~"):
                names.append(name.partition("#")[0])
        if file in {place_of(self._settings, self._where, name) for name in names}:
            return argv
        return ()

    def _bytes(self, file: Path) -> bytes | None:
        project = self._project
        cloned = file.is_relative_to(project) and not self._where.home.is_relative_to(project)
        try:
            return external_files.read(file, LARGEST, within=project if cloned else None)[0]
        except NotFound:
            return None
        except AiLessonsError:
            self._unreadable.append(self._shown(file))
            return None

    def _shown(self, place: Path) -> str:
        if place.is_relative_to(self._project):
            return place.relative_to(self._project).as_posix()
        if place.is_relative_to(self._where.home):
            return "~/" + place.relative_to(self._where.home).as_posix()
        return str(place)


def calls_in(groups: Any) -> Iterator[Any]:
    """The calls of an event: those in its groups, and what stands in place of a group."""
    for group in groups if isinstance(groups, list) else ():
        inner = None
        if isinstance(group, dict):
            inner = group.get("hooks")
        yield from inner if isinstance(inner, list) else [group]


def is_our_call(call: Any) -> bool:
    """Whether a call of a host's hooks is one of ours, in the form of any version."""
    return MARK in " ".join(argv_of(call)).replace("'", "").replace('"', "")


def argv_of(call: Any, *, shell: bool = True) -> tuple[str, ...]:
    """What a host starts for a hook, or for a server (no `shell`).

    Nothing for what is no command.
    """
    if isinstance(call, dict):
        table = call
    else:
        table = {}
    command, arguments = table.get("command") or table.get("bash"), table.get("args")
    if isinstance(command, list):
        return tuple(map(str, command))
    if not isinstance(command, str):
        return ()
    if isinstance(arguments, list):
        return (command, *map(str, arguments))
    if shell:
        return ("sh", "-c", command)
    return (command,)


def _project(where: Where) -> Path:
    return external_files.top_of(where.cwd) or where.cwd


def _folder(settings: HostSettings, where: Where) -> Path:
    overruled = None
    if settings.variable:
        overruled = where.environ.get(settings.variable)
    if overruled:
        return Path(overruled)
    return where.home / settings.folder


def place_of(settings: HostSettings, where: Where, name: str) -> Path:
    """Where the file lies that the settings of a host name."""
    folder = _folder(settings, where)
    if folder != where.home / settings.folder:
        # a folder of the user's choice holds everything
        name = name.replace("~../", "~")
    if name.startswith("~"):
        return Path(os.path.normpath(folder / name[1:]))
    return _project(where) / name[2:]


def transcripts(where: Where) -> list[tuple[Path, str]]:
    """Globs of what the hosts keep of their sessions, each behind the folder that it begins in."""
    globs = []
    for kind, settings in kinds():
        steps = kind.transcripts.count("../")
        if kind.transcripts:
            folder = os.path.normpath(_folder(settings, where) / ("../" * steps))
            globs.append((Path(folder), kind.transcripts[3 * steps :]))
    return globs


def databases() -> Iterator[str]:
    """The names of databases in which hosts keep transcripts; no other database is looked into."""
    for kind, _ in kinds():
        name = kind.transcripts.rpartition("/")[2]
        if name.endswith(".db"):
            yield name


def parsed(data: bytes | None, *, toml: bool = False) -> Json | None:
    """A file's settings; empty if nothing is in it, None if it cannot be read or holds no table."""
    if data is None or not data.strip():
        return {}
    try:
        if toml:
            settings = texts.toml(data.decode("utf-8-sig"))
        else:
            settings = json.loads(plain_json(data.decode()).strip() or "{}")
    except (ValueError, RecursionError):
        return None
    if isinstance(settings, dict):
        return settings
    return None
