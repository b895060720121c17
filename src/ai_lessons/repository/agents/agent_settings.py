"""Our hooks and our server in the settings of Claude Code in one project: `.claude/settings.json` and `.mcp.json`.

Only entries of ours are added and removed. What we changed is noted in the user's state folder, so that a file that
nobody else has touched since gets back its bytes; one that was touched loses our entries and keeps its indentation.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.repository.agents.agent_files import replace
from ai_lessons.repository.files import translated

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

SETTINGS, SERVERS = ".claude/settings.json", ".mcp.json"
FOLDER = "agent-settings"
MARK = "ai-lessons admin agent-hook"
"""What a command of ours holds, in every version."""

SERVER = "ai-lessons"
_INDENT = re.compile(rb"\n([ \t]+)\"")

Json = dict[str, Any]


class Wanted(NamedTuple):
    """What goes into the two files: groups of hooks by event, and servers by name, as the plugin has them."""

    hooks: Mapping[str, list[Json]]
    servers: Mapping[str, Json]


def wanted(plugin: Path) -> Wanted:
    """What the plugin folder says.

    Raises:
        StorageFailed: it cannot be read.
    """
    with translated(str(plugin)):
        hooks = json.loads((plugin / "hooks/hooks.json").read_bytes())["hooks"]
        servers = json.loads((plugin / ".mcp.json").read_bytes())["mcpServers"]
    return Wanted(hooks, servers)


def with_hooks(settings: Json, hooks: Mapping[str, list[Json]]) -> Json:
    """Settings with our hooks behind those that are there, and no older ones of ours."""
    clean = without_hooks(settings)
    groups = dict(_table(clean.get("hooks")))
    for event, ours in hooks.items():
        groups[event] = [*_list(groups.get(event)), *ours]
    return clean | {"hooks": groups}


def without_hooks(settings: Json) -> Json:
    """Settings without our hooks; what was empty before stays, what is empty only now goes."""
    if not _ours_in(_table(settings.get("hooks"))):
        return settings
    groups: Json = {}
    for event, there in _table(settings.get("hooks")).items():
        left = [group for group in map(_without_calls, _list(there)) if group is not None]
        if left or not _list(there):
            groups[event] = left if isinstance(there, list) else there
    return _with(settings, "hooks", groups)


def _without_calls(group: Any) -> Any:
    """A group without our calls, or None where it had only those."""
    calls = _list(_table(group).get("hooks"))
    left = [call for call in calls if not _is_ours(call)]
    return group if len(left) == len(calls) else group | {"hooks": left} if left else None


def is_current(settings: Json, hooks: Mapping[str, list[Json]]) -> bool:
    """Whether our hooks are there as this version has them, and nothing else of ours, wherever they stand."""
    groups = _table(settings.get("hooks"))
    there = all(group in _list(groups.get(event)) for event, ours in hooks.items() for group in ours)
    return there and _ours_in(groups) == _ours_in(hooks)


def _ours_in(groups: Mapping[str, Any]) -> int:
    every = [group for there in groups.values() for group in _list(there)]
    return sum(_is_ours(call) for group in every for call in _list(_table(group).get("hooks")))


def with_servers(settings: Json, servers: Mapping[str, Json]) -> Json:
    """The same for `.mcp.json`."""
    return settings | {"mcpServers": _table(settings.get("mcpServers")) | dict(servers)}


def without_servers(settings: Json) -> Json:
    """The same for `.mcp.json`."""
    there = _table(settings.get("mcpServers"))
    if SERVER not in there:
        return settings
    return _with(settings, "mcpServers", {name: one for name, one in there.items() if name != SERVER})


def _with(settings: Json, key: str, value: Json) -> Json:
    return settings | {key: value} if value else {name: one for name, one in settings.items() if name != key}


def _is_ours(call: Any) -> bool:
    return MARK in str(_table(call).get("command", ""))


def _table(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def carry_out(top: Path, plugin: Path, state_dir: Path, job: str) -> tuple[str, ...]:
    """Install, uninstall or look at (`status`) our entries in the code repository at `top`; a line for each file.

    Raises:
        StorageFailed: a file cannot be read or written.
    """
    ours = wanted(plugin)
    return tuple(f"{name}: {_one(top / name, name, ours, state_dir, job)}" for name in (SETTINGS, SERVERS))


def _one(file: Path, name: str, ours: Wanted, state_dir: Path, job: str) -> str:
    with translated(str(file), writing=True):
        if file.is_symlink():
            return "left alone, it is a link"
        there = file.read_bytes() if file.exists() else None
    settings = parsed(there)
    if settings is None:
        return "left alone, it is no JSON object: mend it first"
    if name == SETTINGS:
        install = settings if is_current(settings, ours.hooks) else with_hooks(settings, ours.hooks)
    else:
        install = with_servers(settings, ours.servers)
    remove = without_hooks(settings) if name == SETTINGS else without_servers(settings)
    if job == "status":
        return "not there" if remove == settings else "there" if install == settings else "there, of another version"
    if job == "install":
        if install == settings:
            return "already there"
        new = _rendered(install, there)
        _note(_noted(state_dir, file), there, remove == settings, new)
        replace_or_remove(file, new)
        return "written" if there is None else "added" if remove == settings else "brought up to date"
    if remove == settings:
        return "not there"
    before = _before(_noted(state_dir, file), there)
    data = before[0] if before else _rendered(remove, there) if remove else None
    replace_or_remove(file, data)
    _noted(state_dir, file).unlink(missing_ok=True)
    return "removed" if data is None else "taken out"


def parsed(data: bytes | None) -> Json | None:
    """A file's settings; empty where there is no file or nothing in it, None where it holds anything else."""
    if data is None or not data.strip():
        return {}
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _rendered(settings: Json, there: bytes | None) -> bytes:
    indent = _INDENT.search(there or b"")
    text = json.dumps(settings, indent=indent[1].decode() if indent else 2, ensure_ascii=False) + "\n"
    return text.encode("utf-8", "surrogatepass")


def replace_or_remove(file: Path, data: bytes | None) -> None:
    """The file with this content, or none; a folder of ours that is empty then goes too."""
    with translated(str(file), writing=True):
        if data is not None:
            replace(file, data)
            return
        file.unlink(missing_ok=True)
        if file.parent.name == ".claude" and not any(file.parent.iterdir()):
            file.parent.rmdir()


def _noted(state_dir: Path, file: Path) -> Path:
    return state_dir / FOLDER / f"{sha256(str(file).encode('utf-8', 'surrogateescape')).hexdigest()[:32]}.json"


def _note(place: Path, there: bytes | None, first: bool, new: bytes) -> None:
    """Keep what the file held before our first entry, and how it looks with it."""
    earlier = None if first else _before(place, there)
    before = earlier[0] if earlier else there if first else None
    if not first and earlier is None:
        place.unlink(missing_ok=True)  # somebody else changed it: its bytes before us are not to be had
        return
    kept = None if before is None else b64encode(before).decode()
    with translated(str(place), writing=True):
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        place.write_text(json.dumps({"before": kept, "after": sha256(new).hexdigest()}))


def _before(place: Path, there: bytes | None) -> tuple[bytes | None] | None:
    """What the file held before us (None inside: it was not there), if it is still as we left it."""
    try:
        noted = json.loads(place.read_bytes())
        if there is None or noted["after"] != sha256(there).hexdigest():
            return None
        return (None if noted["before"] is None else b64decode(noted["before"]),)
    except (
        OSError,
        ValueError,
        KeyError,
        TypeError,
    ):  # never noted here, or damaged
        return None


def configured_events(settings: Json) -> Iterable[str]:
    """Events for which any hook is configured."""
    return [event for event, there in _table(settings.get("hooks")).items() if there]
