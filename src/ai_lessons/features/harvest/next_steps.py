"""What a harvest leaves for hooks at a failure: what ran next, and worked.

A hook loads this module at each failure, so it imports nothing that reads transcripts or drafts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.features.harvest.calls import is_general
from ai_lessons.features.harvest.walls import FOLDER, is_about, is_one_of, names_of
from ai_lessons.git import files as git_files
from ai_lessons.model import command_forms, failures
from ai_lessons.model.entries import GLOBAL_PROJECT
from ai_lessons.model.plain import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from ai_lessons.app.workspace import Reading
    from ai_lessons.telling.offers import Occasion

_NEXT_STEPS = "next.json"


class NextStep(NamedTuple):
    """What hooks may tell of a candidate: lines of the failure, what worked then, and how often."""

    id: str
    project: str
    when: str
    lines: str
    do: str
    sessions: int


def ran_next(repo: Reading, occasion: Occasion) -> str:
    """What ran next, and worked, after a failure like this one in transcripts; empty if nothing."""
    command, output = failures.parted(occasion.words)
    cwd = ""
    if occasion.folders:
        cwd = occasion.folders[0]
    calls = command_forms.called(command, cwd)
    names = [GLOBAL_PROJECT]
    if cwd:
        names += names_of(cwd)
    steps = []
    for step in next_steps(repo.options.state_dir):
        holds = is_general(step.do) and is_one_of(step.project, names)
        if holds and is_about(step.when, calls):
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
        if isinstance(row, list) and len(row) == len(NextStep._fields):
            steps.append(NextStep(*row))
    return steps


def write_next_steps(state_dir: Path, steps: Iterable[NextStep]) -> None:
    """Write down what hooks may tell after a failure."""
    git_files.write_json(state_dir / FOLDER / _NEXT_STEPS, list(steps))
