"""What a harvest leaves for hooks: what ran next after a failure.

A hook loads this module at each failure, so it imports nothing that reads transcripts or drafts.
"""

from __future__ import annotations

from pathlib import Path

from ai_lessons.git import external_files
from ai_lessons.git import files as git_files
from ai_lessons.model import command_forms
from ai_lessons.model import command_patterns as commands
from ai_lessons.model import failures as model_failures
from ai_lessons.model.entries import GLOBAL_PROJECT

# In the state folder
FOLDER = "harvest"
NEXT_STEP = "next.json"


def ran_next(state_dir: Path, error: str, cwd: str = "") -> str:
    """What ran next, and worked, after a failure like this one (`$ command`, then its output) in transcripts."""
    command, output = model_failures.parted(error)
    shape = model_failures.shape(output)
    calls = command_forms.called(command, cwd)
    general = (row for row in next_steps(state_dir / FOLDER) if commands.is_general(row[4]))
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
