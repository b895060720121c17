"""Events of all sorts, for property tests."""

import random
from collections import Counter
from collections.abc import Iterable

from hypothesis import strategies as st

from ai_lessons.model.events import TURNS, USES, Event
from ai_lessons.model.tallies import Tallies

ENTRIES = ["01JD3Z8QK5W7M2X9V4T68F3K2A", "01JD3Z8QK5W7M2X9V4T6QQQ111", "01JD3Z8QK5W7M2X9V4T64T7QZM"]
IDS = [f"01JD3Z8QK5W7M2X9V4T6AAAA{n:02d}" for n in range(12)]
TIMES = ["2026-11-21T20:14:00Z", "2026-11-22T08:00:59Z", "2027-01-01T00:00:00Z"]

uses = st.builds(
    Event, id=st.sampled_from(IDS), at=st.sampled_from(TIMES), event=st.sampled_from(USES),
    entry=st.sampled_from(ENTRIES), session=st.sampled_from(["", "s1", "a/b:c@d+e-f.g_h"]),
    edge=st.dictionaries(st.sampled_from(["injection_budget", "confidence_threshold"]), st.floats(0, 1), max_size=2),
    note=st.text(max_size=20),
)  # fmt: skip
turns = st.builds(
    Event, id=st.sampled_from(IDS), at=st.sampled_from(TIMES), event=st.sampled_from(TURNS),
    entry=st.sampled_from(["injection_budget", "confidence_threshold"]), value=st.none() | st.floats(0, 1),
    weight=st.none() | st.floats(0, 5),
)  # fmt: skip


def chance(seed: int) -> random.Random:
    """Dice that fall the same way in every run."""
    return random.Random(seed)  # noqa: S311 - no keys are made of it


def fold_uses(events: Iterable[Event]) -> dict[str, Tallies]:
    """The tallies of every entry. An id that comes again is the same event; with other words, neither counts.

    What spoke against an entry counts from when it was restored, and where it came unused from when it last helped.
    """
    known: dict[str, tuple[str, ...]] = {}
    void: set[str] = set()
    for row in ((each.id, each.at, each.event, each.entry, each.session) for each in events):
        if known.setdefault(row[0], row) != row:
            void.add(row[0])
    counts: Counter[tuple[str, str]] = Counter()
    last: dict[str, str] = {}
    valid = [row for row in known.values() if row[0] not in void]

    def newest(entry: str, *words: str) -> str:
        return max((row[0] for row in valid if row[3] == entry and row[2] in words), default="")

    unused: dict[str, set[str]] = {}
    for event_id, at, event, entry, session in valid:
        undone = event in {"ignored", "contradicted", "recurred"} and event_id < newest(
            entry, "restored"
        )
        counts[entry, event] += not undone
        last[entry] = max(last.get(entry, ""), "" if event == "left_out" else at)
        came = (
            event == "injected"
            and session
            and event_id > newest(entry, "helpful", "followed", "held", "restored")
        )
        unused.setdefault(entry, set()).update([session] if came else [])
    return {
        entry: Tallies._make(
            (*(counts[entry, word] for word in USES), last[entry], len(unused[entry]), 0, None)
        )
        for entry in last
    }
