"""Our hooks and our server in the settings of Claude Code in one project: `.claude/settings.json` and `.mcp.json`.

Only entries of ours are added and removed. What a file held before is kept in the user's state folder, so that a file
that was not touched since gets back its bytes; one that was touched loses our entries and keeps its indentation.
"""

from __future__ import annotations

import json
import re
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from ai_lessons.repository.agents.agent_files import replace
from ai_lessons.repository.files import translated

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

HOOKS, SERVERS = "hooks", "mcpServers"
FILES = {".claude/settings.json": ("hooks/hooks.json", HOOKS), ".mcp.json": (".mcp.json", SERVERS)}
"""The files of a project: for each the file of the plugin that says what goes into it, and the key of the table."""

FOLDER = "agent-settings"
MARK = "ai-lessons admin agent-hook"
"""What a command of ours holds, in every version."""

SERVER = "ai-lessons"
_INDENT = re.compile(rb"\n([ \t]+)\"")
_NO_FILE, _FILE = b"-", b"+"

Json = dict[str, Any]


def added(settings: Json, key: str, ours: Json) -> Json:
    """Settings with our groups of hooks behind those that are there, or our server, and none of another version."""
    if _ours(key, settings.get(key)) == _ours(key, ours):
        return settings
    clean = taken_out(settings, key)
    table = dict(_table(clean.get(key)))
    for name, mine in ours.items():
        table[name] = [*_list(table.get(name)), *mine] if key == HOOKS else mine
    return clean | {key: table}


def taken_out(settings: Json, key: str) -> Json:
    """Settings without what is ours; what was empty before stays, what is empty only now goes."""
    if not _ours(key, settings.get(key)):
        return settings
    left: Json = {}
    for name, there in _table(settings.get(key)).items():
        kept = [group for one in there if (group := _without_calls(one))] if _ours(HOOKS, {name: there}) else there
        if not (key == SERVERS and name == SERVER) and (kept or kept == there):
            left[name] = kept
    return settings | {key: left} if left else {name: one for name, one in settings.items() if name != key}


def _ours(key: str, table: Any) -> list[Any]:
    """What in a table is ours, by name."""
    if key == SERVERS:
        return [one for name, one in _table(table).items() if name == SERVER]
    found = [(event, group) for event, groups in _table(table).items() for group in _list(groups)]
    return sorted((one for one in found if any(map(_is_ours, _calls(one[1])))), key=lambda one: one[0])


def _without_calls(group: Any) -> Any:
    """A group without our calls, or nothing where it had only those."""
    calls = _calls(group)
    left = [call for call in calls if not _is_ours(call)]
    return group if len(left) == len(calls) else group | {"hooks": left} if left else None


def _calls(group: Any) -> list[Any]:
    return _list(_table(group).get("hooks"))


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
    lines = []
    for name, (source, key) in FILES.items():
        with translated(str(plugin)):
            ours = json.loads((plugin / source).read_bytes())[key]
        with translated(str(top / name), writing=True):
            lines.append(f"{name}: {_one(top / name, key, ours, state_dir / FOLDER, job)}")
    return tuple(lines)


def _one(file: Path, key: str, ours: Json, kept: Path, job: str) -> str:
    if file.is_symlink():
        return "left alone, it is a link"
    there = file.read_bytes() if file.exists() else None
    settings = parsed(there)
    if settings is None:
        return "left alone, it is no JSON object: mend it first"
    with_ours, without = added(settings, key, ours), taken_out(settings, key)
    if job == "status":
        return "not there" if without == settings else "there" if with_ours == settings else "there, of another version"
    before = _before(kept, file, there)
    if job == "install":
        if with_ours == settings:
            return "already there"
        new = _rendered(with_ours, there)
        if without == settings:
            _keep(kept, file, new, _NO_FILE if there is None else _FILE + there)
        elif before:
            _keep(kept, file, new, before)
        _put(file, new)
        return "written" if there is None else "added" if without == settings else "brought up to date"
    if without == settings:
        return "not there"
    if before:
        data = None if before == _NO_FILE else before[len(_FILE) :]
    else:
        data = _rendered(without, there) if without else None
    _put(file, data)
    _note(kept, file, there or b"").unlink(missing_ok=True)
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


def _rendered(settings: Mapping[str, Any], there: bytes | None) -> bytes:
    indent = _INDENT.search(there or b"")
    text = json.dumps(settings, indent=indent[1].decode() if indent else 2, ensure_ascii=False) + "\n"
    return text.encode("utf-8", "surrogatepass")


def _put(file: Path, data: bytes | None) -> None:
    """The file with this content, or none; a folder of ours that is empty then goes too."""
    if data is not None:
        replace(file, data)
        return
    file.unlink(missing_ok=True)
    if file.parent.name == ".claude" and not any(file.parent.iterdir()):
        file.parent.rmdir()


def _note(kept: Path, file: Path, data: bytes) -> Path:
    """Where it is kept what a file held before us, by what it held when we had written it."""
    return kept / sha256(str(file).encode("utf-8", "surrogateescape") + b"\0" + data).hexdigest()[:32]


def _keep(kept: Path, file: Path, new: bytes, before: bytes) -> None:
    kept.mkdir(parents=True, exist_ok=True, mode=0o700)
    replace(_note(kept, file, new), before)


def _before(kept: Path, file: Path, there: bytes | None) -> bytes | None:
    """What the file held before us, behind a sign that says whether there was one, if it is still as we left it."""
    note = _note(kept, file, there or b"")
    return note.read_bytes() if there is not None and note.is_file() else None
