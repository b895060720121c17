"""Walls: commands that harvest knows to fail, and that nobody got past."""

from __future__ import annotations

from pathlib import Path

from ai_lessons.git import external_files, files
from ai_lessons.model import command_forms

# rows of project, WHEN and sentence
WALLS = Path("harvest/walls.json")


def walls_before(state_dir: Path, command: str, cwd: str) -> list[list[str]]:
    """What a command line runs into in the project of a folder."""
    stored = files.read_json(state_dir / WALLS)
    if isinstance(stored, list):
        rows = [row for row in stored if isinstance(row, list) and len(row) == 3]
    else:
        rows = []
    if not rows:
        return []
    names = [*external_files.names_of(Path(cwd)), Path(cwd).name]
    calls = command_forms.runs(command, cwd)
    walls = []
    for row in rows:
        near = any(external_files.same_name(row[0], name) for name in names)
        if near and command_forms.fits(command_forms.named_forms(row[1]), calls):
            walls.append(row)
    return walls


def lift_walls(state_dir: Path, command: str, cwd: str) -> None:
    """A command worked: no wall is there any more."""
    passed = walls_before(state_dir, command, cwd)
    if passed:
        rows = files.read_json(state_dir / WALLS)
        files.write_json(state_dir / WALLS, [row for row in rows if row not in passed])
