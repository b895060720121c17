"""What a proposal would do once it is approved, as far as features know."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons import extensions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ai_lessons.app.workspace import Library
    from ai_lessons.app.written import Pending
    from ai_lessons.model.entries import Entry
    from ai_lessons.model.transcripts import Transcript

    # whether an entry would have spoken in a session; None: the session does not tell
    Speaks = Callable[[Transcript], bool | None]


def stated(entry: Entry) -> tuple[str, ...]:
    """What an entry will do, a sentence each."""
    sentences: list[str] = []
    for place in _places("stated", entry):
        effects_of: Callable[[Entry], Iterable[str]] = extensions.load(place)
        sentences += effects_of(entry)
    return tuple(sentences)


def in_sessions(entry: Entry) -> list[Speaks]:
    """What tells of a past session whether the entry would have spoken there."""
    judges: list[Speaks] = []
    for place in _places("sessions", entry):
        judge_of: Callable[[Entry], Speaks | None] = extensions.load(place)
        judge = judge_of(entry)
        if judge is not None:
            judges.append(judge)
    return judges


def in_code(library: Library, proposals: Sequence[Pending]) -> tuple[Pending, ...]:
    """The proposals, each saying among its effects what it would do in the code around.

    Looking takes a second or two, so that only a person who decides is told.
    """
    weighed = tuple(proposals)
    for feature in extensions.rows():
        place = feature.effects.get("code")
        if place:
            tell: Callable[[Library, Sequence[Pending]], tuple[Pending, ...]]
            tell = extensions.load(feature.place(place))
            weighed = tell(library, weighed)
    return weighed


def unproven(entry: Entry) -> list[str]:
    """Why something that the entry states could not be tried here."""
    reasons: list[str] = []
    for _, unproven_of in extensions.concerning("unproven", entry.fields):
        reason: str = unproven_of(entry)
        if reason:
            reasons.append(reason)
    return reasons


def _places(name: str, entry: Entry) -> Iterator[str]:
    """The places of this name of the features that read a key of the entry."""
    for feature in extensions.rows():
        place = feature.effects.get(name)
        if place and any(key in entry.fields for key in feature.keys):
            yield feature.place(place)
