"""What drafts would have changed in the sessions that they come from. Pure."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.features.harvest.counts import LEAST_SESSIONS
from ai_lessons.model import failures

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ai_lessons.features.harvest.calls import Happened
    from ai_lessons.features.harvest.patterns import CommandPattern
    from ai_lessons.model.failures import Shape


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


def in_sessions(happened: Iterable[Happened]) -> list[list[Happened]]:
    """The calls by session, in the order of their first ones."""
    sessions: dict[str, list[Happened]] = defaultdict(list)
    for call in happened:
        sessions[call.session].append(call)
    return list(sessions.values())


def of_pattern(pattern: CommandPattern, calls: Iterable[Happened]) -> Effect:
    """What a draft of it changes, shown once before a command and once at a failure in later sessions.

    `calls`: those of its programs.
    """
    if pattern.does is None:
        return Effect()
    examples = in_sessions(sorted(pattern.examples, key=lambda call: call.at))
    # those before teach it
    later = examples[LEAST_SESSIONS:]
    if not pattern.before:
        helped = 0
        for session in later:
            if pattern.does in session[0].ways:
                helped += 1
        return Effect(helped=helped, told=len(later))
    warned = 0
    failed = set()
    for session in later:
        failed.add(session[0].session)
        warned += sum(call.failed for call in session)
    first = ""
    if len(examples) >= LEAST_SESSIONS:
        first = examples[LEAST_SESSIONS - 1][0].at
    passed = set()
    for call in calls:
        if call.at > first and call.fits(pattern.forms):
            passed.add(call.session)
    return Effect(warned=warned, told=2 * len(later) + len(passed - failed))


def measured(sessions: Sequence[Sequence[Happened]], of_drafts: Iterable[Effect]) -> Effect:
    """The figures of transcripts, and the sum of the effects of drafts."""
    number, met = _failures_met(sessions)
    warned = helped = tellings = 0
    for effect in of_drafts:
        warned += effect.warned
        helped += effect.helped
        tellings += effect.told
    return Effect(len(sessions), number, met, warned, helped, tellings)


def _failures_met(sessions: Iterable[Sequence[Happened]]) -> tuple[int, int]:
    """How many calls failed, and how many of them so as in an earlier session."""
    earlier: dict[str, list[Shape]] = defaultdict(list)
    number = met = 0
    for session in sessions:
        new = []
        for call in session:
            if call.failed:
                shape = failures.shape(failures.headline(call.output))
                new.append((call.words[0], shape))
        number += len(new)
        for program, shape in new:
            if any(is_same_failure(shape, other) for other in earlier[program]):
                met += 1
        for program, shape in new:
            if shape not in earlier[program]:
                # the newest kinds: one failure is compared with few
                earlier[program] = [*earlier[program], shape][-failures.COMPARED :]
    return number, met


def is_same_failure(shape: Shape, other: Shape) -> bool:
    """Whether two failures are of one kind, as the numbers of their words say."""
    return failures.alike(shape, other, {}) >= failures.SAME
