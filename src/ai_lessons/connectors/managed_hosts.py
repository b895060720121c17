"""Settings of agent hosts that administrators place for everybody on a machine.

Begin with `managed_files`; where they belong each host says in `HostSettings.managed`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.connectors.agent_hosts import PROGRAM, SERVER, kinds
from ai_lessons.connectors.host_changes import HOOKS, SOURCE, hook_table
from ai_lessons.git import external_files
from ai_lessons.git.files import translated

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ai_lessons.connectors.agent_hosts import Json
    from ai_lessons.model.agent_hosts import AgentHost, HostSettings

BEGIN = "SessionStart"
# Seconds. The first start in code of a company waits for the clone of its repository
TO_CLONE = 120
# where a program is that was installed for one person, or for all
_PATH = 'PATH="$PATH:$HOME/.local/bin:/usr/local/bin:/opt/homebrew/bin"'
_FIRST = "ai-lessons sync --first -q </dev/null >/dev/null 2>&1"


class ManagedFile(NamedTuple):
    """A file of a host, below the root of a machine. `advice`: what to know before it is placed.

    `done`: in words, once it was to be written.
    """

    host: str
    path: str
    text: str
    advice: str = ""
    done: str = ""


def managed_files(plugin: Path, names: Sequence[str]) -> Iterator[ManagedFile]:
    """The files of each host (of those names) that has settings for everybody. Raises StorageFailed."""
    with translated(str(plugin)):
        stated: Json = json.loads((plugin / SOURCE).read_bytes())[HOOKS]
    for kind, settings in kinds():
        if names and kind.id not in names:
            continue
        for place, advice in settings.managed.items():
            path, _, key = place.partition("#")
            yield ManagedFile(kind.name, path, _text(kind, settings, path, key, stated), advice)


def place_files(folder: Path, files: Sequence[ManagedFile]) -> tuple[ManagedFile, ...]:
    """Write the files below a folder; what is there and says something else is left alone.

    Raises StorageFailed.
    """
    placed = []
    for file in files:
        target = folder / file.path
        done = "written"
        if target.exists():
            data, _ = external_files.read(target)
            done = "left alone, it is there and says something else"
            if data == file.text.encode():
                done = "as it was"
        else:
            with translated(str(target), writing=True):
                target.parent.mkdir(parents=True, exist_ok=True)
            external_files.write(target, file.text.encode())
        placed.append(file._replace(path=str(target), done=done))
    return tuple(placed)


def _text(kind: AgentHost, settings: HostSettings, path: str, key: str, stated: Json) -> str:
    """What stands in a file under this key."""
    if key == HOOKS:
        table = {HOOKS: _hooks(kind, settings, stated), **settings.head}
        return json.dumps(table, indent=2) + "\n"
    if Path(path).suffix == ".toml":
        environ = f'env = {{ AI_LESSONS_AGENT = "{kind.id}" }}'
        return f'[{key}.{SERVER}]\ncommand = "{PROGRAM}"\n{environ}\n'
    server = kind.server(PROGRAM, {"AI_LESSONS_AGENT": kind.id})
    return json.dumps({key: {SERVER: server}}, indent=2) + "\n"


def _hooks(kind: AgentHost, settings: HostSettings, stated: Json) -> Json:
    """The hooks of the plugin; the start of a session first clones what is missing."""
    program = "ai-lessons admin agent-hook"
    if settings.named:
        program = f"AI_LESSONS_AGENT={kind.id} {program}"
    is_there = f"{_PATH}; command -v ai-lessons >/dev/null"
    table = hook_table(settings, stated, {"command": f"{is_there} && {program} || exit 0"})
    begin, _ = settings.hears[BEGIN]
    for group in table[begin]:
        for call in group[HOOKS]:
            call["command"] = f"{is_there} && {{ {_FIRST}; {program}; }} || exit 0"
            call["timeout"] = TO_CLONE * settings.second
    key = settings.managed_command
    if not key:
        return table
    return {event: _without_groups(groups, key) for event, groups in table.items()}


def _without_groups(groups: Sequence[Json], key: str) -> list[Json]:
    """The calls of an event, each with the tools of its group and its command under this key."""
    calls: list[Json] = []
    for group in groups:
        alone = {name: value for name, value in group.items() if name != HOOKS}
        for call in group[HOOKS]:
            call[key] = call.pop("command")
            calls.append({**alone, **call})
    return calls
