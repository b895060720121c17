"""What people said in sessions that may hold longer: quoted, put together, and which of it is sure."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.app.quoting import HIDDEN, cleaned, quoted, without_people
from ai_lessons.errors import AiLessonsError
from ai_lessons.features.harvest import corrections
from ai_lessons.model import expression, lessons
from ai_lessons.model.entries import json_fields
from ai_lessons.search import terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from ai_lessons.model.transcripts import Step, Transcript

# Files that were edited after a statement, and acts of the agent before it, that are shown
_FILES, _ACTS = 2, 4
# Characters of a command that is shown
_ACT = 80
# Weight from which on what was said is quoted: of 877 labelled prompts it quotes 167, 35 % rightly
BAR = 1.2
# what the agent did, in the sense that a person may correct it
_DONE = frozenset(("edit", "command", "stopped"))
# a name with one of these words is no person's
_NO_PERSON = expression(
    r"(?i)\b(?:bot|agent|claude|codex|gemini|copilot|cursor|github|gitlab|test|user|code|ci)\b"
)


class Statement(NamedTuple):
    """What the user of a session said that may hold longer.

    `before` is what the agent had done, `files` what it edited after. `pasted`: it hands on what
    another wrote. `much`: how much speaks for it. `corrects`: it is surely a correction of what the
    agent had done. `holds`: it would be sure if it were said in another session, too.
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


@json_fields(hidden=("link",), optional=("link",))
class Quote(NamedTuple):
    """Words of a person, when and in which session.

    What the agent had done before, and the files edited after.

    `pasted`: they hand on what another wrote. `link`: a reviewer wrote them there; then the session
    is the address of the pull request, and `edited` the file that they are about.
    """

    session: str
    at: str
    text: str
    pasted: bool = False
    before: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()
    link: str = ""


class _Turn(NamedTuple):
    """What a person said, what the agent had done since the turn before, and what it edited then."""

    said: Step
    before: Sequence[Step]
    edits: Sequence[str]


def statements_of(
    of: Transcript, project: str, people: re.Pattern[str] | None = None
) -> list[Statement]:
    """What the user of a session said that may hold longer: the few for which most speaks.

    `people`: their names.
    """
    turns = _turns(of.steps)
    # a session that is resumed may hold a prompt twice
    rows: dict[str, Statement] = {}
    for turn in turns:
        text = turn.said.text
        # one that is asked for a task says nothing else
        is_task = len(turns) == 1 and corrections.is_task(text)
        if text not in rows and not is_task and _weight(turn) >= BAR:
            rows[text] = _statement(of, turn, project, people)
    ordered = sorted(rows.values(), key=lambda row: (not row.corrects, -row.much))
    # Statements of a session that are quoted
    return ordered[:2]


def is_stated(text: str) -> bool:
    """Whether a person seems to state something, whatever is edited after."""
    # How much edits may add to that of the words
    return lessons.weight(text) >= BAR - 1.0


def _turns(steps: Sequence[Step]) -> list[_Turn]:
    """What a person said, each with what lies between it and the turns around it."""
    turns = []
    places = [at for at, step in enumerate(steps) if step.sort == "said"]
    # before the first a person corrects nothing
    before: Sequence[Step] = ()
    for place, end in pairwise([*places, len(steps)]):
        after = steps[place + 1 : end]
        edits = [step.text for step in after if step.sort == "edit"]
        turns.append(_Turn(steps[place], before, edits))
        before = after
    return turns


def _weight(turn: _Turn) -> float:
    return lessons.weight(turn.said.text, len(turn.edits))


def _statement(
    of: Transcript, turn: _Turn, project: str, people: re.Pattern[str] | None
) -> Statement:
    text = turn.said.text
    files = []
    for file in turn.edits:
        name = cleaned(file.removeprefix(f"{of.first_cwd}/"))
        if name not in files:
            files.append(name)
    acted = any(step.sort in _DONE for step in turn.before)
    return Statement(
        text=quoted(text, people),
        much=_weight(turn),
        pasted=lessons.is_pasted(text),
        files=tuple(files[:_FILES]),
        session=of.session,
        project=project,
        place=f"{of.file}:{turn.said.line}",
        at=turn.said.at,
        host=of.host,
        before=tuple(_acts(turn.before, of.first_cwd, people)),
        corrects=corrections.corrects(text, len(turn.edits), acted=acted),
        holds=corrections.may_hold(text),
    )


def _acts(steps: Iterable[Step], folder: str, people: re.Pattern[str] | None) -> list[str]:
    """The last acts of an agent, in short: `edited cart.py`, "ran `make test`, which failed"."""
    acts = [_act(step, folder) for step in steps if step.sort in _DONE]
    # of equal ones the last counts
    last = list(dict.fromkeys(reversed(acts)))[:_ACTS]
    return [without_people(cleaned(act), people) for act in reversed(last)]


def _act(step: Step, folder: str) -> str:
    if step.sort == "edit":
        return f"edited {step.text.removeprefix(f'{folder}/')}"
    command = " ".join(step.text[: 10 * _ACT].split())
    if len(command) > _ACT:
        command = f"{command[:_ACT]}{HIDDEN}"
    if step.sort == "command":
        failed = ", which failed" if step.failed else ""
        return f"ran `{command}`{failed}"
    if step.text:
        return f"was stopped at `{command}`"
    return "was stopped"


# --- the same thing said again ---


def grouped(rows: Iterable[Statement]) -> list[list[Statement]]:
    """The statements that say the same together, the newest first."""
    # two transcripts may hold one session
    once = {(row.at, row.text): row for row in rows}
    groups: list[tuple[set[str], list[Statement]]] = []
    for row in sorted(once.values(), key=lambda row: row.at):
        words = set(terms.terms(row.text))
        group = _group_with(words, groups)
        if group is None:
            groups.append((words, [row]))
        else:
            group.insert(0, row)
    return [group for _, group in groups]


def _group_with(
    words: set[str], groups: Iterable[tuple[set[str], list[Statement]]]
) -> list[Statement] | None:
    """The group whose first statement has most of these words."""
    for held, group in groups:
        every = max(len(words | held), 1)
        # Share of all words of two statements that are common, from which they say the same
        if len(words & held) >= 0.5 * every:
            return group
    return None


def is_sure(group: Sequence[Statement]) -> bool:
    """Whether a person is shown what was said.

    A correction, or said in two sessions by nobody but people.
    """
    if any(row.corrects for row in group):
        return True
    holding = [row for row in group if row.holds]
    for row in holding[1:]:
        first = holding[0]
        in_another = row.session != first.session
        if in_another and not corrections.is_repeated(row.text, first.text):
            return True
    return False


# --- people ---


def people_of(names: Iterable[str]) -> re.Pattern[str] | None:
    """What finds the people of these names, as git has them, by the whole name or a part of it.

    >>> people = people_of(["Ann Smith", "Claude Code", "root"])
    >>> people.sub("…", "Ann Smith said, and Ann knows, that Annual is fine")
    '… said, and … knows, that Annual is fine'
    """
    words = set()
    for name in names:
        if not name.istitle() or " " not in name or _NO_PERSON.search(name):
            continue
        words.add(name)
        for part in name.split():
            if len(part) > 2 and part.isalpha():
                words.add(part)
    if not words:
        return None
    # a whole name before its parts
    longest_first = sorted(sorted(words), key=len, reverse=True)
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, longest_first))})\b")


@lru_cache(maxsize=64)
def people_at(folder: Path) -> re.Pattern[str] | None:
    """What finds the people who committed to the repository at a folder."""
    # most transcripts hold nothing that a person said
    from ai_lessons.git import objects, plumbing

    # the names under which the last commits of all branches were made
    # Commits whose authors are people of a project
    words = "log", "--all", "--max-count=5000", "--format=%an%n%cn"
    try:
        listed = plumbing.output(objects.repository(folder), *words)
    except (AiLessonsError, OSError, ValueError):
        # no repository, or as of a path that no folder can have
        return None
    return people_of(frozenset(listed.decode("utf-8", "replace").splitlines()))
