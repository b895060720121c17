"""Walls: commands that a harvest found to fail, and that nobody got past.

A hook loads this module before each command, so it imports nothing that reads transcripts.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.git import external_files
from ai_lessons.git import files as git_files
from ai_lessons.model import command_forms

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ai_lessons.app.workspace import Reading
    from ai_lessons.model.command_forms import Called
    from ai_lessons.telling.offers import Occasion
    from ai_lessons.telling.pipeline import AgentEvent

# In the state folder
FOLDER = "harvest"
_FILE = "walls.json"


class Wall(NamedTuple):
    """A command that fails in a project, and that nobody got past."""

    project: str
    when: str
    sentence: str


def wall_before(repo: Reading, occasion: Occasion) -> str:
    """What a command line runs into that nobody got past; empty where nothing is known."""
    if not occasion.command:
        return ""
    for wall in _walls_at(repo.options.state_dir, occasion.command, occasion.folders[0]):
        return wall.sentence
    return ""


def lift_walls(state_dir: Path, event: AgentEvent) -> None:
    """A command worked: no wall is there any more."""
    # a success that reads like a failure says nothing
    if event.text or not event.command:
        return
    passed = _walls_at(state_dir, event.command, str(event.cwd))
    if passed:
        write_walls(state_dir, [wall for wall in _walls(state_dir) if wall not in passed])


def write_walls(state_dir: Path, walls: Iterable[Wall]) -> None:
    """Write down the walls that are known."""
    git_files.write_json(state_dir / FOLDER / _FILE, list(walls))


def _walls(state_dir: Path) -> list[Wall]:
    rows = git_files.read_json(state_dir / FOLDER / _FILE)
    walls = []
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, list) and len(row) == len(Wall._fields):
            walls.append(Wall(*row))
    return walls


def _walls_at(state_dir: Path, command: str, cwd: str) -> list[Wall]:
    """The walls that a command line runs into in the project of a folder."""
    walls = _walls(state_dir)
    if not walls:
        return []
    calls = command_forms.runs(command, cwd)
    names = names_of(cwd)
    met = []
    for wall in walls:
        if is_one_of(wall.project, names) and is_about(wall.when, calls):
            met.append(wall)
    return met


def names_of(cwd: str) -> list[str]:
    """The names that the project of a folder may go by."""
    folder = Path(cwd)
    return [*external_files.names_of(folder), folder.name]


def is_one_of(project: str, names: Iterable[str]) -> bool:
    """Whether a project goes by one of these names."""
    return any(external_files.same_name(project, name) for name in names)


def is_about(when: str, calls: Iterable[Called]) -> bool:
    """Whether the WHEN of a draft names one of these commands."""
    return command_forms.fits(command_forms.named_forms(when), calls)
