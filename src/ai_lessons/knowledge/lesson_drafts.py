"""Drafts of lessons from transcripts: patterns of failing commands, and what users corrected. Pure."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.knowledge import failures
from ai_lessons.knowledge.command_patterns import LEAST_SESSIONS, CommandPattern, Happened, Seen, count, learn, texts
from ai_lessons.knowledge.entries import GLOBAL_PROJECT
from ai_lessons.knowledge.failures import base_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ai_lessons.knowledge.failures import Shape
    from ai_lessons.knowledge.transcripts import Transcript

_SAID, _TITLE = 400, 100  # Characters of what a user said, and of a title
_PATTERN, _FAILURE, _CORRECTION = "pattern", "failure", "correction"
_CORRECTS = re.compile(
    r"(?i)\A(?:no[,.!: ]|nope\b|don['\u2019]?t\b|do not\b|wrong\b|that['\u2019]?s (?:not|wrong)|actually\b|"
    r"never\b|please (?:don['\u2019]?t|use)\b|not like that)|\b(?:use|run|try|prefer)\b.{1,60}\b(?:instead|not)\b|"
    r"\binstead of\b|\bI (?:said|told you|asked)\b"
)
_REMEMBER = re.compile(
    r"(?i)\A(?:please )?(?:remember|keep in mind|note(?: for (?:the future|next time))?)(?: that|[:,])?\s+(.+)",
    re.DOTALL,
)
_IN_PLACE = (
    re.compile(
        r"(?i)\b(?:use|run|try|prefer)\s+`?(?P<new>[\w./-]+)`?.{0,20}?"
        r"\b(?:instead of|rather than|not)\s+`?(?P<old>[\w./-]+)"
    ),
    re.compile(
        r"(?i)\b(?:don['\u2019]?t|do not|never|stop)\s+(?:use|run|call|using|running|calling)\s+`?(?P<old>[\w./-]+)`?"
        r"(?:.{0,20}?\buse\s+`?(?P<new>[\w./-]+))?"
    ),
    re.compile(r"(?i)\bnot\s+`?(?P<old>[\w./-]+)`?[,;.]\s+(?:but\s+)?(?:use\s+)?`?(?P<new>[\w./-]+)"),
)  # fmt: skip
_MISSING = re.compile(r"(?i)(?:command )?not found\b|is not recognized as")


class Remark(NamedTuple):
    """A remark of a user: a correction of the command or edit before it, or something to remember.

    `command` is the line before it, `file` the file that was edited before it.
    """

    text: str
    command: str
    file: str
    session: str
    project: str
    place: str
    at: str
    host: str


class Evidence(NamedTuple):
    """A place in a transcript: `place` is file:line."""

    host: str
    session: str
    place: str
    date: str


class Candidate(NamedTuple):
    """A draft of a lesson, what it rests on, and where that was seen, newest first.

    `sort`: pattern (a command that fails more often than not), failure, or correction. `do` is empty where only a
    person can say what helps; `done` has what was run after it and worked, also what may destroy. `warned`, `helped`
    and `told` say what the draft would have changed in the sessions after those that it could be learned from: failures
    that it would have been told before and at, and how often it would have been told.
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
    seen: Seen
    done: tuple[str, ...]
    evidence: tuple[Evidence, ...]
    warned: int = 0
    helped: int = 0
    told: int = 0

    @property
    def sessions(self) -> int:
        """In how many sessions it was seen."""
        return self.seen.sessions


class Effect(NamedTuple):
    """What transcripts hold and what lessons change in them.

    `met` of the `failures` are of a kind that an earlier session met; `told` counts tellings.
    """

    sessions: int = 0
    failures: int = 0
    met: int = 0
    warned: int = 0
    helped: int = 0
    told: int = 0


def remarks_of(of: Transcript, project: str) -> Iterator[Remark]:
    """The remarks of the user of a session that may be a lesson."""
    for at, step in enumerate(of.steps):
        if step.sort != "said" or len(step.text) > _SAID:
            continue
        before = of.steps[at - 1] if at else step
        if _REMEMBER.match(step.text) or (before.sort != "said" and _CORRECTS.search(step.text)):
            file = before.text if before.sort == "edit" else ""
            command = next((step.text for step in reversed(of.steps[:at]) if step.sort == "command"), "")
            yield Remark(step.text, command, file, of.session, project, f"{of.file}:{step.line}", step.at, of.host)


def drafts(
    happened: Sequence[Happened], remarks: Iterable[Remark], is_stored: Callable[[Candidate], bool]
) -> list[Candidate]:
    """One for each pattern that is not stored, those first that would have changed most, then by sessions and age."""
    ordered = sorted(happened, key=lambda call: call.at)
    drafted = [(_of_pattern(pattern), pattern) for pattern in learn(ordered)]
    drafted = [(draft, pattern) for draft, pattern in drafted if not is_stored(draft)]
    by_program: dict[str, list[Happened]] = defaultdict(list)
    for call in ordered if any(pattern.before for _, pattern in drafted) else ():
        by_program[base_name(call.words[0])].append(call)
    made = []
    for draft, pattern in drafted:
        programs = {form.words[0] for form in pattern.forms}
        made.append(_would_change(draft, pattern, [call for name in programs for call in by_program[name]]))
    made += [draft for draft in _of_remarks(remarks) if not is_stored(draft)]
    made.sort(key=lambda draft: draft.evidence[0].date, reverse=True)
    return sorted(made, key=lambda draft: (-(draft.warned + draft.helped), not draft.do, -draft.sessions))


def in_sessions(happened: Iterable[Happened]) -> list[list[Happened]]:
    """The calls by session, in the order of their first ones."""
    sessions: dict[str, list[Happened]] = defaultdict(list)
    for call in happened:
        sessions[call.session].append(call)
    return list(sessions.values())


def _of_pattern(pattern: CommandPattern) -> Candidate:
    title, when, do, because = texts(pattern)
    projects = {call.project for call in pattern.examples}
    machine = len(projects) > 1 or any(_MISSING.search(line) for line in pattern.messages)
    blocks = (f"~~~\n$ {pattern.forms[0]}\n{line}\n~~~\n" for line in pattern.messages)
    name = "\n".join(
        [*map(str, pattern.forms[:1]), pattern.forms[0].inside, *([] if pattern.before else pattern.messages[:1])]
    )
    return Candidate(
        sha256(name.encode("utf-8", "replace")).hexdigest()[:8],
        _PATTERN if pattern.before else _FAILURE,
        GLOBAL_PROJECT if machine else next(iter(projects)),
        _short(title), when, do, because, "\n".join(blocks), (), pattern.seen, pattern.done,
        _evidence(pattern.examples),
    )  # fmt: skip


def _evidence(examples: Iterable[Happened] | Iterable[Remark]) -> tuple[Evidence, ...]:
    return tuple(
        dict.fromkeys(Evidence(example.host, example.session, example.place, example.at[:10]) for example in examples)
    )


def _of_remarks(remarks: Iterable[Remark]) -> Iterator[Candidate]:
    """One draft for each remark, from all its sessions."""
    groups: dict[str, list[Remark]] = defaultdict(list)
    for remark in sorted(remarks, key=lambda remark: remark.at, reverse=True):
        groups[" ".join(remark.text.lower().split())].append(remark)
    for key, group in groups.items():
        newest, sessions = group[0], len({remark.session for remark in group})
        when, do = _meant(newest)
        files = (newest.file.lstrip("/"),) if newest.file and not newest.file.startswith("/") else ()
        yield Candidate(
            sha256(key.encode("utf-8", "replace")).hexdigest()[:8], _CORRECTION, newest.project, _short(do),
            when, do, f"the user said so, in {count(sessions, 'session')}", "", files, Seen(sessions=sessions), (),
            _evidence(group),
        )  # fmt: skip


def _meant(remark: Remark) -> tuple[str, str]:
    """WHEN and DO of a remark."""
    if remembered := _REMEMBER.match(remark.text):
        return f"working on {remark.project or 'anything'}", " ".join(remembered[1].split())
    text = " ".join(remark.text.split())
    programs = failures.programs(remark.command)
    for pattern in _IN_PLACE:
        match = pattern.search(text)
        if match and (match["old"] in programs or f" {match['old']}" in f" {remark.command}"):
            return f"running `{match['old']}`", f"use `{match['new']}`: {text}" if match["new"] else text
    if remark.file:
        return f"editing {remark.file.rpartition('/')[2]}", text
    return f"running `{next(iter(failures.attempts(remark.command)), '') or ' '.join(programs[:1])}`", text


# --- what lessons change ---


def _would_change(draft: Candidate, pattern: CommandPattern, calls: Sequence[Happened]) -> Candidate:
    """The draft with its effect, if shown once before a command and once at a failure in later sessions."""
    if pattern.does is None:
        return draft
    examples = in_sessions(sorted(pattern.examples, key=lambda call: call.at))
    late = [session[0].session for session in examples[LEAST_SESSIONS:]]  # those before teach it
    if not pattern.before:
        helped = sum(pattern.does in session[0].ways for session in examples[LEAST_SESSIONS:])
        return draft._replace(helped=helped, told=len(late))
    failed = [sum(call.failed for call in session) for session in examples[LEAST_SESSIONS:]]
    first = examples[LEAST_SESSIONS - 1][0].at if len(examples) >= LEAST_SESSIONS else ""
    passed = {call.session for call in calls if call.at > first and call.fits(pattern.forms)}.difference(late)
    return draft._replace(warned=sum(failed), told=2 * len(late) + len(passed))


def measured(sessions: Sequence[Sequence[Happened]], candidates: Iterable[Candidate]) -> Effect:
    """The figures of transcripts, and the sum of the effects of drafts."""
    shapes: dict[str, list[Shape]] = defaultdict(list)
    failed = met = 0
    for session in sessions:
        new: list[tuple[str, Shape]] = []
        for call in (call for call in session if call.failed):
            program, shape = call.words[0], failures.shape(failures.headline(call.output))
            failed += 1
            met += any(failures.alike(shape, other, {}) >= failures.SAME for other in shapes[program])
            new.append((program, shape))
        for program, shape in new:
            if shape not in shapes[program]:
                shapes[program] = [*shapes[program], shape][-failures.COMPARED :]
    changed = Counter[str]()
    for draft in candidates:
        changed.update(warned=draft.warned, helped=draft.helped, told=draft.told)
    return Effect(len(sessions), failed, met, changed["warned"], changed["helped"], changed["told"])


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _TITLE else f"{words[: _TITLE - 1].rstrip()}…"
