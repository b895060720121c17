"""What a harvest leaves for hooks: what ran next after a failure.

A hook loads this module at each failure, so it imports nothing that reads transcripts or drafts.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ai_lessons.git import external_files
from ai_lessons.git import files as git_files
from ai_lessons.model import command_forms
from ai_lessons.model import command_patterns as commands
from ai_lessons.model import failures as model_failures
from ai_lessons.model.entries import GLOBAL_PROJECT

if TYPE_CHECKING:
    from ai_lessons.app.workspace import Reading
    from ai_lessons.telling.offers import Occasion
    from ai_lessons.telling.pipeline import AgentEvent

# In the state folder
FOLDER = "harvest"
NEXT_STEP = "next.json"
# rows of project, WHEN and sentence
WALLS = "walls.json"


def ran_next(repo: Reading, occasion: Occasion) -> str:
    """What ran next, and worked, after a failure like this one in transcripts."""
    command, output = model_failures.parted(occasion.words)
    cwd = occasion.folders[0] if occasion.folders else ""
    shape = model_failures.shape(output)
    calls = command_forms.called(command, cwd)
    general = (
        row for row in next_steps(repo.options.state_dir / FOLDER) if commands.is_general(row[4])
    )
    if cwd:
        names = [GLOBAL_PROJECT, *external_files.names_of(Path(cwd)), Path(cwd).name]
    else:
        names = [GLOBAL_PROJECT]
    here = (row for row in general if any(external_files.same_name(row[1], name) for name in names))
    rows = []
    for row in here:
        if command_forms.fits(command_forms.named_forms(row[2]), calls):
            rows.append(row)
    shapes = [tuple(map(model_failures.shape, row[3].split("\n"))) for row in rows]
    weights = model_failures.rarity([line for lines in shapes for line in lines])
    near = (
        (max(model_failures.alike(shape, line, weights) for line in lines), row[5], row[4])
        for lines, row in zip(shapes, rows, strict=True)
    )
    much, sessions, then = max(near, default=(0.0, 0, ""))
    if model_failures.chance(much) < model_failures.BAR:
        return ""
    return (
        f"after this failure ran next, and worked, in {commands.count(sessions, 'session')}: {then}"
    )


Next = tuple[str, str, str, str, str, int]
"""What hooks may tell of a candidate.

Its id, project and WHEN, lines of the failure, what worked then, and how often.
"""


def next_steps(folder: Path) -> list[Next]:
    """What the last harvest wrote down for hooks; nothing before the first."""
    rows = git_files.read_json(folder / NEXT_STEP)
    # a row of an earlier version has no project
    if isinstance(rows, list):
        return [(a, b, c, d, e, n) for a, b, c, d, e, *n_ in rows for n in n_]
    return []


def wall_before(repo: Reading, occasion: Occasion) -> str:
    """What a command line runs into that nobody got past; empty where nothing is known."""
    if not occasion.command:
        return ""
    walls = _walls_at(repo.options.state_dir, occasion.command, occasion.folders[0])
    if walls:
        return walls[0][2]
    return ""


def lift_walls(state_dir: Path, event: AgentEvent) -> None:
    """A command worked: no wall is there any more."""
    if event.text:
        # a success that reads like a failure says nothing
        return
    passed = _walls_at(state_dir, event.command, str(event.cwd))
    if passed:
        file = state_dir / FOLDER / WALLS
        left = [row for row in git_files.read_json(file) if row not in passed]
        git_files.write_json(file, left)


def _walls_at(state_dir: Path, command: str, cwd: str) -> list[list[str]]:
    """The walls that a command line runs into in the project of a folder."""
    stored = git_files.read_json(state_dir / FOLDER / WALLS)
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
