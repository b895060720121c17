"""Agent hosts as one table: how a text reaches their agents, and our entries in their settings."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ai_lessons.errors import AiLessonsError, Conflict, InvalidEntry, NotFound
from ai_lessons.git import external_files, hooks, processes
from ai_lessons.git.files import translated
from ai_lessons.git.history import unified
from ai_lessons.git.hooks import holds_ours
from ai_lessons.model import Where, agent_hosts, expression, texts
from ai_lessons.model.entries import json_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ai_lessons.model.agent_hosts import AgentHost, HostSettings

    Ours: TypeAlias = Callable[[tuple[str | int, ...], Any], bool]

_SPACE = expression(r"[ \t\r\n]*")
_INDENT = expression(r"\n([ \t]+)\"")
_DECODER = json.JSONDecoder()
_STRING = r'("(?:[^"\\\n]|\\.)*+"?)'
_COMMENT = expression(rf"{_STRING}|//[^\r\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_LAST_COMMA = expression(rf"{_STRING}|,(?=\s*[}}\]])")


def _plain(text: str) -> str:
    """JSON of the same length.

    Blanks in place of comments, of commas behind the last value and of a mark of UTF-8.

    Hosts read settings with these, and people write them.
    """
    if text.startswith("\ufeff"):
        text = " " + text[1:]
    text = _COMMENT.sub(lambda match: match[1] or re.sub(r"[^\r\n]", " ", match[0]), text)
    return _LAST_COMMA.sub(lambda match: match[1] or " ", text)


class JsonValue(NamedTuple):
    """A value from `start` to `end` of the text, and its parts by key or place.

    `since` ends what stands before it.
    """

    since: int
    start: int
    end: int
    parts: Mapping[str | int, JsonValue]


def with_added(text: str, additions: Mapping[str, Any]) -> str:
    """The text of a table with what `more` has.

    Tables are joined, elements of lists put behind those that are there.

    Raises ValueError: it is no table, or something else stands in the place of a table or list of
    `more`.
    """
    indent = _INDENT.search(text)
    step, feed = indent[1] if indent else "  ", "\r\n" if "\r\n" in text else "\n"
    if not text.strip():
        return json.dumps(additions, indent=step, ensure_ascii=False).replace("\n", feed)
    plain = _plain(text)
    if not plain.strip():
        raise ValueError("nothing but comments")
    whole = _read(plain, _skip(plain, 0))
    spots = sorted(_insertions(plain, whole, additions, (feed, step), 1), key=lambda spot: spot[0])
    for at, new in reversed(spots):
        text = text[:at] + new + text[at:]
    return text


def _insertions(
    text: str, part: JsonValue, additions: Any, style: tuple[str, str], depth: int
) -> Iterator[tuple[int, str]]:
    """What to put where; of one place all at once."""
    if text[part.start] != ("{" if isinstance(additions, dict) else "["):
        raise ValueError(f"{text[part.start : part.end]:.40} stands in the way")
    feed, step = style
    new = []
    for key, value in (
        additions.items() if isinstance(additions, dict) else ((None, value) for value in additions)
    ):
        if key is not None and key in part.parts:
            yield from _insertions(text, part.parts[key], value, style, depth + 1)
        else:
            if key is None:
                name = ""
            else:
                name = json.dumps(key, ensure_ascii=False) + ": "
            lines = json.dumps(value, indent=step, ensure_ascii=False).split("\n")
            new.append(f"{feed}{step * depth}{name}" + f"{feed}{step * depth}".join(lines))
    if new:
        last = max((value_part.end for value_part in part.parts.values()), default=part.start + 1)
        yield last, ("," if part.parts else "") + ",".join(new)


def without(text: str, ours: Ours) -> str:
    """The text without the parts that are ours by path and value.

    What `with_added` has put in goes to the byte.

    A table or list that spans lines goes when nothing is left in it; `{}`, as people write it, was
    there before. Empty: nothing is left. Raises ValueError: the text is no JSON.
    """
    plain = _plain(text)
    if not plain.strip():
        return text
    whole = _read(plain, _skip(plain, 0))
    gone = list(_cuts((text, plain), whole, json.loads(plain), ours, ()))
    if (whole.start, whole.end) in gone and not _comments((text, plain), 0, len(text)):
        return ""
    for start, end in reversed(gone):
        text = text[:start] + text[end:]
    return text


def _comments(forms: tuple[str, str], start: int, end: int) -> bool:
    """Whether there are comments in a span of the text."""
    return forms[0][start:end].replace(",", " ") != forms[1][start:end].replace(",", " ")


def _cuts(
    forms: tuple[str, str], part: JsonValue, value: Any, ours: Ours, path: tuple[str | int, ...]
) -> Iterator[tuple[int, int]]:
    """Spans to cut, in the order of the text (and of its plain form).

    The whole value where nothing is left in it.
    """
    cuts: list[tuple[int, int]] = []
    text, (end, stays) = forms[1], (part.start + 1, False)
    for key, inner in part.parts.items():
        below = (*path, key)
        whole = [(inner.start, inner.end)]
        if ours(below, value[key]):
            inner_cuts = whole
        else:
            inner_cuts = list(_cuts(forms, inner, value[key], ours, below))
        if inner_cuts != whole:
            cuts, stays = [*cuts, *inner_cuts], True
        elif stays:
            comma = _skip(text, inner.since)
            name = _skip(text, comma + 1)
            # the user's
            kept = _comments(forms, inner.since, name)
            cuts += [(comma, comma + 1), (name, inner.end)] if kept else [(inner.since, inner.end)]
        else:
            # nothing stays before it, so the comma behind it goes with it
            comma, name = _skip(text, inner.end), _skip(text, end)
            if _comments(forms, end, name):
                begin = name
            else:
                begin = end
            cuts.append((begin, comma + 1 if text[comma] == "," else inner.end))
            end = cuts[-1][1]
    emptied = cuts and not stays and "\n" in text[end : part.end]
    emptied = (
        emptied
        and not _comments(forms, part.start, cuts[0][0])
        and not _comments(forms, cuts[-1][1], part.end)
    )
    yield from [(part.start, part.end)] if emptied else cuts


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    if match:
        return match.end()
    return at


def _read(text: str, at: int, since: int = 0) -> JsonValue:
    """The value at this place. Raises ValueError."""
    if text[at : at + 1] not in {"{", "["}:
        return JsonValue(since, at, _DECODER.raw_decode(text, at)[1], {})
    parts: dict[str | int, JsonValue] = {}
    end = at + 1
    while text[here := _skip(text, end)] not in "}]":
        if text[here] == ",":
            here = _skip(text, here + 1)
        key: str | int = len(parts)
        if text[at] == "{":
            key, colon = _DECODER.raw_decode(text, here)
            here = _skip(text, _skip(text, colon) + 1)
        if key in parts:
            raise ValueError(f"{key!r} is stated twice")
        parts[key] = _read(text, here, end)
        end = parts[key].end
    return JsonValue(since, at, here + 1, parts)


Json = dict[str, Any]

PROGRAM, SERVER = "ai-lessons-mcp", "ai-lessons"
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
        host = _HostFinder(kind, settings, where).host()
        if host is not None:
            hosts.append(host)
    return tuple(hosts)


class _HostFinder:
    """Finds what shows that a host is installed, and where our hooks and server go in its settings."""

    def __init__(self, kind: AgentHost, settings: HostSettings, where: Where) -> None:
        self._kind, self._settings = kind, settings
        self._where, self._project = where, _project(where)
        self._unreadable: list[str] = []
        self._plugin = ""

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
        self._plugin = self._enabled_plugin()
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

    def _by_hooks(self, hooks: Mapping[Path, Json]) -> Iterator[Target]:
        """A text at the start and around an edit.

        Through the plugin, or else through a file of hooks.
        """
        module, _ = self._settings.module
        if module:
            file = place_of(self._settings, self._where, module)
            installed = (self._bytes(file) or b"").startswith(_MODULE_BEGINS)
            yield from (
                Target(way, self._shown(file), file.exists(), installed)
                for way in ("session-start", "edit")
            )
        for way, event in zip(("session-start", "edit"), self._settings.events, strict=True):
            if not event:
                continue
            if self._plugin:
                yield Target(way, self._plugin, there=True, ours=True)
            ours = {
                file: call
                for file, table in hooks.items()
                for call in _calls(table.get(event))
                if is_our_call(call)
            }
            for file in ours or ([] if self._plugin else list(hooks)[:1]):
                if ours:
                    runs = self._runs(file, _argv(ours[file]))
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
        if self._plugin:
            yield Target("mcp", self._plugin, there=True, ours=True)
        for name in self._settings.servers:
            for file, table in self._tables(name):
                ours = []
                for key, server in table.items():
                    if PROGRAM in json.dumps(server, default=str) or key == SERVER:
                        ours.append(server)
                if file.exists() or not self._plugin:
                    if ours:
                        runs = self._runs(file, _argv(ours[0], shell=False))
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


def _calls(groups: Any) -> Iterator[Any]:
    """The calls of an event: those in its groups, and what stands in place of a group."""
    for group in groups if isinstance(groups, list) else ():
        inner = None
        if isinstance(group, dict):
            inner = group.get("hooks")
        yield from inner if isinstance(inner, list) else [group]


def is_our_call(call: Any) -> bool:
    """Whether a call of a host's hooks is one of ours, in the form of any version."""
    return MARK in " ".join(_argv(call)).replace("'", "").replace('"', "")


def _argv(call: Any, *, shell: bool = True) -> tuple[str, ...]:
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
            settings = json.loads(_plain(data.decode()).strip() or "{}")
    except (ValueError, RecursionError):
        return None
    if isinstance(settings, dict):
        return settings
    return None


HOOKS = "hooks"
# the plugin's file, which holds our part
SOURCE = "hooks/hooks.json"
_HOOK = ("admin", "agent-hook")
_ENDS_WELL = expression(r"\|\| (exit 0|true)\s*\Z")
_TOML = hooks.marks("ai-lessons", "# {}")
_MODULE_BEGINS = b"// Made by `ai-lessons admin hosts --install`"
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
        host = _HostFinder(kind, settings, where).host()
        if host is None or (names and kind.id not in names):
            continue
        by_plugin = any(target.place.startswith("plugin ") for target in host.targets)
        if job == "uninstall" or not by_plugin:
            changes += _of_kind(kind, settings, where, plugin, job)
    return tuple(changes)


def _of_kind(
    kind: AgentHost, settings: HostSettings, where: Where, plugin: Path, job: str
) -> Iterator[HostChange]:
    tables: dict[Path, Json] = {}
    if settings.hears:
        with translated(str(plugin)):
            stated: Json = json.loads((plugin / SOURCE).read_bytes())[HOOKS]
        ours = hook_table(settings, stated, _call(kind, settings))
        file = place_of(settings, where, settings.hooks[0].partition("#")[0])
        tables[file] = {HOOKS: ours, **settings.head}
    module, source = settings.module
    if module:
        place = place_of(settings, where, module)
        yield _change_module(kind, place, plugin.parent / source, job)
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
    if content is not None and not content.startswith(_MODULE_BEGINS):
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
