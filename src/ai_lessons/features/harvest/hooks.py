"""What a harvest leaves for hooks: what ran next after a failure, and what nobody got past (walls).

A hook loads this module at each failure, so it imports nothing that reads transcripts or drafts.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.features.harvest.calls import is_general
from ai_lessons.git import external_files
from ai_lessons.git import files as git_files
from ai_lessons.model import command_forms, failures
from ai_lessons.model.entries import GLOBAL_PROJECT
from ai_lessons.model.plain import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ai_lessons.app.workspace import Reading
    from ai_lessons.model.command_forms import Called
    from ai_lessons.telling.offers import Occasion
    from ai_lessons.telling.pipeline import AgentEvent

# In the state folder
FOLDER = "harvest"
_NEXT_STEPS = "next.json"
_WALLS = "walls.json"


class NextStep(NamedTuple):
    """What hooks may tell of a candidate: lines of the failure, what worked then, and how often."""

    id: str
    project: str
    when: str
    lines: str
    do: str
    sessions: int


class Wall(NamedTuple):
    """A command that fails in a project, and that nobody got past."""

    project: str
    when: str
    sentence: str


# --- what ran next ---


def ran_next(repo: Reading, occasion: Occasion) -> str:
    """What ran next, and worked, after a failure like this one in transcripts; empty if nothing."""
    command, output = failures.parted(occasion.words)
    cwd = ""
    if occasion.folders:
        cwd = occasion.folders[0]
    calls = command_forms.called(command, cwd)
    names = [GLOBAL_PROJECT]
    if cwd:
        names += _names_of(cwd)
    steps = []
    for step in next_steps(repo.options.state_dir):
        holds = is_general(step.do) and _is_one_of(step.project, names)
        if holds and _is_about(step.when, calls):
            steps.append(step)
    likeliest = _likeliest(steps, output)
    if likeliest is None:
        return ""
    sessions = count(likeliest.sessions, "session")
    return f"after this failure ran next, and worked, in {sessions}: {likeliest.do}"


def _likeliest(steps: Sequence[NextStep], output: str) -> NextStep | None:
    """What ran next after the failure that is most like this one, if it is like it at all."""
    shapes = []
    for step in steps:
        shapes.append([failures.shape(line) for line in step.lines.split("\n")])
    weights = failures.rarity([line for lines in shapes for line in lines])
    asked = failures.shape(output)
    best = None
    most = (0.0, 0, "")
    for step, lines in zip(steps, shapes, strict=True):
        alike = max(failures.alike(asked, line, weights) for line in lines)
        # of equally like ones the one that was met in most sessions
        rank = (alike, step.sessions, step.do)
        if rank > most:
            best, most = step, rank
    if failures.chance(most[0]) < failures.BAR:
        return None
    return best


def next_steps(state_dir: Path) -> list[NextStep]:
    """What the last harvest wrote down for hooks; nothing before the first."""
    rows = git_files.read_json(state_dir / FOLDER / _NEXT_STEPS)
    steps = []
    for row in rows if isinstance(rows, list) else ():
        # a row of an earlier version has no project
        if len(row) == len(NextStep._fields):
            steps.append(NextStep(*row))
    return steps


def write_next_steps(state_dir: Path, steps: Iterable[NextStep]) -> None:
    """Write down what hooks may tell after a failure."""
    git_files.write_json(state_dir / FOLDER / _NEXT_STEPS, list(steps))


# --- walls ---


def wall_before(repo: Reading, occasion: Occasion) -> str:
    """What a command line runs into that nobody got past; empty where nothing is known."""
    if not occasion.command:
        return ""
    for wall in _walls_at(repo.options.state_dir, occasion.command, occasion.folders[0]):
        return wall.sentence
    return ""


def lift_walls(state_dir: Path, event: AgentEvent) -> None:
    """A command worked: no wall is there any more."""
    if event.text:
        # a success that reads like a failure says nothing
        return
    passed = _walls_at(state_dir, event.command, str(event.cwd))
    if passed:
        write_walls(state_dir, [wall for wall in _walls(state_dir) if wall not in passed])


def write_walls(state_dir: Path, walls: Iterable[Wall]) -> None:
    """Write down the walls that are known."""
    git_files.write_json(state_dir / FOLDER / _WALLS, list(walls))


def _walls(state_dir: Path) -> list[Wall]:
    rows = git_files.read_json(state_dir / FOLDER / _WALLS)
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
    names = _names_of(cwd)
    met = []
    for wall in walls:
        if _is_one_of(wall.project, names) and _is_about(wall.when, calls):
            met.append(wall)
    return met


# --- where, and about which command ---


def _names_of(cwd: str) -> list[str]:
    """The names that the project of a folder may go by."""
    folder = Path(cwd)
    return [*external_files.names_of(folder), folder.name]


def _is_one_of(project: str, names: Iterable[str]) -> bool:
    return any(external_files.same_name(project, name) for name in names)


def _is_about(when: str, calls: Iterable[Called]) -> bool:
    """Whether the WHEN of a draft names one of these commands."""
    return command_forms.fits(command_forms.named_forms(when), calls)
