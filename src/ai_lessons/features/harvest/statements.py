"""What people said in sessions that may hold longer.

Quoted without secrets and people, and which of it is sure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.app.quoting import HIDDEN, cleaned, quoted, without_people
from ai_lessons.features.harvest import corrections
from ai_lessons.model import expression, lessons
from ai_lessons.search import terms

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from ai_lessons.model.transcripts import Step, Transcript

# Statements of a session that are quoted
PER_SESSION = 2
# Files that were edited after a statement, and acts of the agent before it, that are shown
_FILES, _ACTS = 2, 4
# Characters of a command that is shown
_ACT = 80
# Share of all words of two statements that are common, from which they say the same
_COUNTED = 0.5
_NO_PERSON = expression(
    r"(?i)\b(?:bot|agent|claude|codex|gemini|copilot|cursor|github|gitlab|test|user|code|ci)\b"
)


class Statement(NamedTuple):
    """What the user of a session said that may hold longer, what the agent had done before, and what it edited after.

    `pasted`: it hands on what another wrote. `much`: how much speaks for it. `corrects`: it is surely a correction of
    what the agent had done. `holds`: it would be sure if it were said in another session, too.
    """

    text: str
    much: float
    pasted: bool
    files: tuple[str, ...]
    session: str
    project: str
    place: str
    at: str
    host: str
    before: tuple[str, ...] = ()
    corrects: bool = False
    holds: bool = False


class Quote(NamedTuple):
    """Words of a person, when and in which session.

    What the agent had done before, and the files edited after.

    `pasted`: they hand on what another wrote.
    """

    session: str
    at: str
    text: str
    pasted: bool = False
    before: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()


def statements_of(
    of: Transcript, project: str, people: re.Pattern[str] | None = None
) -> list[Statement]:
    """What the user of a session said that may hold longer: the few for which most speaks.

    `people`: their names.
    """
    turns = [at for at, step in enumerate(of.steps) if step.sort == "said"]
    rows = dict[str, Statement]()
    for number, at in enumerate(turns):
        step = of.steps[at]
        if number + 1 < len(turns):
            end = turns[number + 1]
        else:
            end = len(of.steps)
        if number:
            begin = turns[number - 1]
        else:
            begin = 0
        edits = []
        for later in of.steps[at + 1 : end]:
            if later.sort == "edit":
                edits.append(later.text)
        much = lessons.weight(step.text, len(edits))
        is_task = len(turns) == 1 and corrections.is_task(step.text)
        # a session that is resumed may hold a prompt twice
        if much < lessons.SAID_BAR or is_task or step.text in rows:
            continue
        if number:
            before = of.steps[begin + 1 : at]
        else:
            before = []
        acted = any(act.sort in {"edit", "command", "stopped"} for act in before)
        names = dict.fromkeys(cleaned(file.removeprefix(f"{of.first_cwd}/")) for file in edits)
        rows[step.text] = Statement(
            quoted(step.text, people), much, lessons.is_pasted(step.text), tuple(names)[:_FILES], of.session, project,
            f"{of.file}:{step.line}", step.at, of.host, tuple(_acts(before, of.first_cwd, people)),
            corrections.corrects(step.text, len(edits), acted=acted), corrections.may_hold(step.text),
        )  # fmt: skip
    ordered = sorted(rows.values(), key=lambda row: (not row.corrects, -row.much))
    return ordered[:PER_SESSION]


def _acts(steps: Iterable[Step], folder: str, people: re.Pattern[str] | None) -> list[str]:
    """The last acts of an agent, in short: `edited cart.py`, "ran `make test`, which failed"."""
    acts = list[str]()
    for step in steps:
        if step.sort == "edit":
            acts.append(f"edited {step.text.removeprefix(f'{folder}/')}")
        elif step.sort == "stopped":
            acts.append(f"was stopped at `{_short(step.text)}`" if step.text else "was stopped")
        elif step.sort == "command":
            acts.append(f"ran `{_short(step.text)}`" + (", which failed" if step.failed else ""))
    last = list(dict.fromkeys(reversed(acts)))[:_ACTS]
    results: list[str] = []
    for act in reversed(last):
        results.append(without_people(cleaned(act), people))
    return results


def _short(command: str) -> str:
    words = " ".join(command[: 10 * _ACT].split())
    if len(words) <= _ACT:
        return words
    return f"{words[:_ACT]}{HIDDEN}"


def grouped(rows: Iterable[Statement]) -> list[list[Statement]]:
    """The statements that say the same together, the newest first."""
    groups = list[tuple[set[str], list[Statement]]]()
    # two transcripts may hold one session
    once = {(row.at, row.text): row for row in rows}
    for row in sorted(once.values(), key=lambda row: row.at):
        words = set(terms.terms(row.text))
        for held, group in groups:
            if len(words & held) >= _COUNTED * max(len(words | held), 1):
                group.insert(0, row)
                break
        else:
            groups.append((words, [row]))
    return [group for _, group in groups]


def is_sure(group: Sequence[Statement]) -> bool:
    """Whether a person is shown what was said.

    A correction, or said in two sessions by nobody but people.
    """
    if any(row.corrects for row in group):
        return True
    typed = []
    for row in group:
        if row.holds:
            typed.append(row)
    return any(
        row.session != typed[0].session and not corrections.is_repeated(row.text, typed[0].text)
        for row in typed[1:]
    )


def people_of(names: Iterable[str]) -> re.Pattern[str] | None:
    """What finds the people of these names, as git has them, by the whole name or a part of it.

    >>> people_of(["Ann Smith", "Claude Code", "root"]).sub("…", "Ann Smith said, and Ann knows,
    that Annual is fine") '… said, and … knows, that Annual is fine'
    """
    whole = {
        name for name in names if name.istitle() and " " in name and not _NO_PERSON.search(name)
    }
    parts = {part for name in whole for part in name.split() if len(part) > 2 and part.isalpha()}
    words = sorted({*whole, *parts}, key=lambda name: -len(name))
    if words:
        return re.compile(rf"\b(?:{'|'.join(map(re.escape, words))})\b")
    return None


@lru_cache(maxsize=64)
def people_at(folder: Path) -> re.Pattern[str] | None:
    """What finds the people who committed to the repository at a folder."""
    from ai_lessons.git import objects

    return people_of(objects.authors(folder))
