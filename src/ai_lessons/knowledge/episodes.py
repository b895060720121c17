"""What in a session may become a lesson, and the draft of that lesson: found among the steps of transcripts. Pure."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.knowledge import failures
from ai_lessons.knowledge.failures import Shape, attempts, is_check, simple_commands

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ai_lessons.knowledge.transcripts import Step, Transcript

    Failure = tuple[str, Shape]

SAME = 0.7  # How alike two failures are that count as one, although each names another thing; see `failures.alike`
_FORM = 0.6  # The share of its words that the form of a command that works has in common with the one that failed
_COMPARED = 50  # Kinds of failures of one program with which another one is compared, newest first
_SAID, _FIRST, _PUT = 400, 80, 600  # Characters kept of what a user said, its first sentence, and an edit

_ENOUGH = 3  # Words of a message, without names and numbers, from which it can be told from others
_SORTS = ("fixed", "corrected", "failed", "edited")  # Of as many sessions, what is likeliest a lesson comes first

_CORRECTION = re.compile(
    r"(?i)\A(?:no[,.!: ]|nope\b|don['\u2019]?t\b|do not\b|stop\b|wrong\b|that['\u2019]?s (?:not|wrong)|actually\b|"
    r"never\b|please (?:don['\u2019]?t|use)\b|not like that)|\b(?:use|run|try|prefer)\b.{1,60}\b(?:instead|not)\b|"
    r"\binstead of\b|\bI (?:said|told you|asked)\b"
)
_HOST = re.compile(
    r"(?i)tool_use_error|user doesn't want to (?:proceed|take this action)|interrupted by (?:the )?user|"
    r"requires? approval|permission to use|was (?:blocked|denied) by|cancelled: parallel tool call|"
    r"running in (?:the )?background|hook (?:error|blocked)"
)
"""What a host says in the place of a command's output: no lesson about the command."""


class Episode(NamedTuple):
    """Something that happened once. `sort`: `fixed`, `failed`, `edited` or `corrected`.

    `command` and `output` (its telling lines) of what failed; `then` is what worked next, was written next, or said.
    """

    sort: str
    command: str
    output: str
    then: str
    file: str
    host: str
    session: str
    cwd: str
    place: str
    at: str


class Evidence(NamedTuple):
    """Where it happened: `place` is file:line of the transcript."""

    host: str
    session: str
    place: str
    date: str


class Candidate(NamedTuple):
    """A lesson that a person could write, in how many sessions it was seen, and where, newest first.

    `do` is empty where only a person can say what helps.
    """

    id: str
    sort: str
    project: str
    title: str
    when: str
    do: str
    because: str
    content: str
    applies_to: tuple[str, ...]
    sessions: int
    evidence: tuple[Evidence, ...]


def episodes(of: Transcript) -> Iterator[Episode]:
    """What happened in a session, in order of time."""
    open_: dict[str, tuple[int, Step]] = {}
    edits: list[tuple[int, Step]] = []

    def made(sort: str, step: Step, then: str = "", file: str = "") -> Episode:
        output, place = failures.telling(step.output), f"{of.file}:{step.line}"
        return Episode(sort, step.text, output, then, file, of.host, of.session, of.cwd, place, step.at)

    for at, step in enumerate(of.steps):
        if step.sort == "edit":
            edits.append((at, step))
        elif step.sort == "said":
            before = of.steps[at - 1] if at else step
            if before.sort != "said" and len(step.text) <= _SAID and _CORRECTION.search(step.text):
                file = before.text if before.sort == "edit" else ""
                yield made("corrected", before._replace(output=""), step.text, file)
        elif step.failed and not _HOST.search(step.output):
            for key in _forms(step.text):
                if open_.setdefault(key, (at, step))[1].output != step.output or open_[key][0] == at:
                    yield made("failed", step)
        elif step.failed is False:
            for key, words in _forms(step.text).items():
                since, first = open_.pop(key, (-1, step))
                after = [edit for place, edit in edits if place > since]
                if since < 0:
                    continue
                before_that = {edit.text for place, edit in edits if place < since}
                again = next((edit for edit in after if edit.text in before_that), None)
                if again:
                    yield made("edited", first, again.output[:_PUT], again.text)
                elif not after and _another_form(_forms(first.text)[key], words):
                    yield made("fixed", first, step.text)


def _forms(command: str) -> dict[str, tuple[str, ...]]:
    """The words of each attempt that a command line makes, by what `commands.attempts` calls it."""
    return {key: tuple(words) for words in simple_commands(command) for key in attempts(" ".join(words))}


def program_of(command: str) -> str:
    """What a command line is taken to be about: its first attempt, or all of it."""
    return next(iter(_forms(command)), command)


def _another_form(failed: Sequence[str], worked: Sequence[str]) -> bool:
    shared = len(set(failed) & set(worked)) / min(len(set(failed)), len(set(worked)))
    return failed != worked and shared >= _FORM


# --- many sessions ---


def candidates(
    found: Iterable[Episode], stored: Sequence[Shape], texts: Sequence[str], projects: Mapping[str, str]
) -> list[Candidate]:
    """One for each kind of episode that nothing stored is about, those of most sessions first, then the newest.

    Stored are the shapes of failures that entries keep, and the texts that entries begin with. `projects` names the
    project of each folder. A failure that nothing helped with counts from two sessions on, if it says enough
    and is no failing check: those fail for another reason each time. What was copied to another transcript is once.
    """
    made = []
    # a time to the millisecond is that of one event; one to the second may be that of two sessions
    once = {(one.sort, one.at, one.command, one.then, "." in one.at or one.session): one for one in found}
    for group in _grouped(sorted(once.values(), key=lambda one: (one.at, one.place))):
        first = next((one for one in reversed(group) if one.sort != "failed"), group[-1])
        sessions = len({one.session for one in group})
        shape = failures.shape(first.output)
        told = any(failures.alike(shape, one, {}) >= SAME for one in stored if first.output)
        told = told or (first.sort in {"fixed", "corrected"} and any(first.then in text for text in texts))
        if first.sort == "failed":
            vague = len(failures.said(failures.shape(failures.headline(first.output)))) < _ENOUGH
            told = told or vague or sessions < 2 or any(map(is_check, _forms(first.command)))
        if not told:
            made.append(_candidate(group, first, sessions, projects.get(first.cwd, "")))
    made.sort(key=lambda one: one.evidence[0].date, reverse=True)
    return sorted(made, key=lambda one: (-one.sessions, _SORTS.index(one.sort)))


def _grouped(found: Iterable[Episode]) -> list[list[Episode]]:
    """Episodes that are one kind: the same failure of the same program, or the same words of a user."""
    groups: dict[object, list[Episode]] = {}
    shapes: dict[str, list[tuple[Shape, list[Episode]]]] = {}
    for one in found:
        shape, program = failures.shape(one.output), program_of(one.command)
        mark = (program, failures.said(shape)) if shape else (one.sort, " ".join(one.then.lower().split()))
        if mark not in groups:
            others = shapes.setdefault(program, [])
            near = (group for other, group in reversed(others[-_COMPARED:]) if failures.alike(shape, other, {}) >= SAME)
            groups[mark] = next(near, []) if shape else []
            if not groups[mark] and shape:
                others.append((shape, groups[mark]))
        groups[mark].append(one)
    return list({id(group): group for group in groups.values()}.values())


def _candidate(group: Sequence[Episode], of: Episode, sessions: int, project: str) -> Candidate:
    line = _short(failures.headline(of.output) or "it failed", 160)
    count = f"in {sessions} sessions" if sessions > 1 else "in one session"
    fence = "~~~~~" if "~~~~" in of.output else "~~~~" if "~~~" in of.output else "~~~"
    block = f"{fence}\n$ {' '.join(of.command.split())}\n{of.output}\n{fence}\n" if of.output else ""
    program = _short(program_of(of.command), 40)
    when, do, because, content, files = f"`{_short(of.command)}` fails: {line}", "", "", block, tuple[str, ...]()
    title = f"{program}: {line}"
    if of.sort == "fixed":
        do = f"`{_short(of.then)}`"
        because = f"it worked after that failed, {count}"
    elif of.sort == "edited":
        title = f"{_name(of.file)} fails its check: {line}"
        when, files = f"editing {_name(of.file)}", (of.file.removeprefix(f"{of.cwd.rstrip('/')}/").lstrip("/"),)
        because = f"`{_short(of.command)}` failed after the first edit, {count}"
        content = f"{block}\nWhat was written then:\n\n~~~~~~\n{of.then}\n~~~~~~\n" if of.then else block
    elif of.sort == "corrected":
        title, do, because = _short(of.then, _FIRST), _short(of.then, _SAID), f"the user said so, {count}"
        when = f"editing {_name(of.file)}" if of.file else f"about to run `{_short(of.command)}`"
    else:
        because = f"it came back {count}"
    places = (Evidence(one.host, one.session, one.place, one.at[:10]) for one in reversed(group))
    oldest = group[0]
    name = [program, *sorted(failures.said(failures.shape(oldest.output)))] if oldest.output else [oldest.then]
    mark = sha256("\n".join(name).encode("utf-8", "replace")).hexdigest()[:8]
    evidence = tuple(dict.fromkeys(places))
    title = _short(title, _FIRST + 20)
    return Candidate(mark, of.sort, project, title, when, do, because, content, files, sessions, evidence)


def _short(text: str, most: int = 120) -> str:
    words = " ".join(text.split())
    return words if len(words) <= most else f"{words[: most - 1].rstrip()}…"


def _name(file: str) -> str:
    return file.rstrip("/").rpartition("/")[2]
