"""The sums of event logs: the same as folding all of them, whatever happens to the files in between."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ai_lessons.features.learning.cache import OF_A_CLONE, OF_OTHERS, UsageCache
from ai_lessons.git.event_log import LogFile
from ai_lessons.model.events import USES, Event, line_of, read_lines
from ai_lessons.model.tallies import Tallies
from features.learning.events_world import ENTRIES, IDS, TIMES, fold_uses, turns, uses


class Logs:
    """Files of events that remember how often each was read."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.changes = 0
        self.stamps: dict[str, tuple[int, int, int]] = {}
        self.reads: Counter[str] = Counter()

    def put(self, name: str, data: bytes) -> None:
        self.files[name] = data
        self.changes += 1
        self.stamps[name] = (self.changes, len(data), 1)

    def add(self, name: str, *events: Event) -> None:
        self.put(name, self.files.get(name, b"") + b"".join(map(line_of, events)))

    def __iter__(self) -> Iterator[Log]:
        for name in self.files:
            log = Log(name, self.stamps[name], Path(), name, clone=name.rpartition("/")[0])
            log.logs = self
            yield log


class Log(LogFile):
    """One of them, as it was when it was looked at."""

    logs: Logs

    def read(self) -> bytes:
        self.logs.reads[self.name] += 1
        return self.logs.files[self.name]


OTHER = "01JD3Z8QK5W7M2X9V4T6ZZZ999"


def said(number: int, word: str = "helpful", entry: str = ENTRIES[0]) -> Event:
    return Event(f"01JD3Z8QK5W7M2X9V4T6BB{number:04d}", TIMES[0], word, entry)


def test_of_other_clones_a_few_events_of_a_kind_count_however_many_they_push(
    cache: UsageCache, logs: Logs
) -> None:
    logs.add("own", *(said(n) for n in range(30)))
    logs.add("one/a", *(said(100 + n, "contradicted") for n in range(50)))
    assert sums(cache, logs)[ENTRIES[0]][1:4] == (30, 0, OF_A_CLONE)
    for clone in range(10):
        logs.add(f"c{clone}/a", *(said(1000 + 10 * clone + n, "contradicted") for n in range(10)))
    assert sums(cache, logs)[ENTRIES[0]][1:4] == (30, 0, OF_OTHERS)
    assert cache.tallies()[ENTRIES[0]].local == Tallies(helpful=30)


def test_nobody_takes_an_event_of_this_clone_away_by_saying_something_else_of_its_id(
    cache: UsageCache, logs: Logs
) -> None:
    logs.add("other/a", said(1, "contradicted", OTHER), said(2))
    assert OTHER in sums(cache, logs)
    logs.add("own", said(1), said(2))
    assert sums(cache, logs).keys() == {ENTRIES[0]}
    logs.add("other/b", said(1, "ignored"), said(2, "contradicted", OTHER))
    assert sums(cache, logs) == {ENTRIES[0]: Tallies(helpful=2, last_used=TIMES[0])}
    logs.put("other/b", b"")
    assert sums(cache, logs) == {ENTRIES[0]: Tallies(helpful=2, last_used=TIMES[0])}


def test_only_this_clone_says_how_parameters_stand(cache: UsageCache, logs: Logs) -> None:
    observed = Event(IDS[0], TIMES[0], "observed", "injection_budget", value=1.0, weight=1.0)
    logs.add("other/a", observed)
    cache.refresh(logs)
    assert cache.turns() == []
    logs.add("own", observed)
    cache.refresh(logs)
    assert cache.turns() == [observed]


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[UsageCache]:
    made = UsageCache(tmp_path / "state/usage.sqlite")
    yield made
    made.close()


@pytest.fixture
def logs() -> Logs:
    return Logs()


def sums(cache: UsageCache, logs: Logs) -> dict[str, Tallies]:
    cache.refresh(logs)
    return {
        entry: row._replace(local=None)
        for entry, row in cache.tallies().items()
        if any(row[: len(USES)])
    }


def expected(logs: Logs) -> dict[str, Tallies]:
    every = (read_lines(data[: data.rfind(b"\n") + 1])[0] for data in logs.files.values())
    return fold_uses(event for events in every for event in events)


def lines(*events: Event) -> bytes:
    return b"".join(map(line_of, events))


steps = st.lists(
    st.tuples(
        st.sampled_from(["a", "b"]), st.sampled_from(["add", "put", "drop", "tear"]), st.lists(uses)
    )
)


@settings(max_examples=25)
@given(steps)
def test_the_sums_are_those_of_all_files_whatever_happens_to_them(
    tmp_path_factory: pytest.TempPathFactory, history: list[tuple[str, str, list[Event]]]
) -> None:
    logs = Logs()
    cache = UsageCache(tmp_path_factory.mktemp("cache") / "usage.sqlite")
    try:
        for name, what, events in history:
            if what == "drop":
                logs.files.pop(name, None)
            elif what == "put":
                logs.put(name, lines(*events))
            elif what == "add":
                logs.add(name, *events)
            else:
                logs.put(name, logs.files.get(name, b"") + lines(*events)[:-3])
            assert sums(cache, logs) == expected(logs)
    finally:
        cache.close()


def test_a_log_that_grew_is_read_from_where_it_ended_and_others_not_at_all(
    cache: UsageCache, logs: Logs
) -> None:
    logs.add("a", said(0))
    logs.add("b", said(1))
    sums(cache, logs)
    logs.reads.clear()
    logs.add("b", said(2, "ignored"))
    cache.refresh(logs)
    assert logs.reads["a"] == 0
    assert cache.tallies()[ENTRIES[0]][1:3] == (2, 1)


def test_a_line_without_its_end_waits_for_it(cache: UsageCache, logs: Logs) -> None:
    whole = lines(said(0), said(1))
    logs.put("a", whole[:-5])
    assert sums(cache, logs)[ENTRIES[0]].helpful == 1
    assert cache.damaged() == 0
    logs.put("a", whole)
    assert sums(cache, logs)[ENTRIES[0]].helpful == 2


def test_damaged_lines_are_counted_over_all_logs(cache: UsageCache, logs: Logs) -> None:
    logs.put("a", b"nonsense\n" + lines(said(0)))
    logs.put("b", b"\xff\xfe\n{}\n")
    sums(cache, logs)
    assert cache.damaged() == 3


@given(st.lists(turns, max_size=8))
@settings(max_examples=8)
def test_turns_come_in_the_order_of_their_ids(
    tmp_path_factory: pytest.TempPathFactory, happened: list[Event]
) -> None:
    logs = Logs()
    logs.add("a", *happened)
    cache = UsageCache(tmp_path_factory.mktemp("cache") / "usage.sqlite")
    cache.refresh(logs)
    by_id: dict[str, list[Event]] = {}
    for each in happened:
        by_id.setdefault(each.id, []).append(each)
    assert cache.turns() == [
        by_id[i][0] for i in sorted(by_id) if by_id[i] == [by_id[i][0]] * len(by_id[i])
    ]
    cache.close()


def turn(number: int) -> Event:
    return Event(f"{number:026d}", TIMES[0], "observed", "injection_budget", value=0.5)


def test_turns_are_those_of_all_logs_whatever_happens_to_these(
    cache: UsageCache, logs: Logs
) -> None:
    logs.add("a", *(turn(n) for n in range(100, 200)))
    logs.add("a", turn(300))
    logs.add("b", turn(5))
    cache.refresh(logs)
    assert cache.turns() == [turn(n) for n in (5, *range(100, 200), 300)]
    logs.put("b", b"")
    cache.refresh(logs)
    assert cache.turns() == [turn(n) for n in (*range(100, 200), 300)]
    logs.add("b", turn(150)._replace(value=0.9))
    cache.refresh(logs)
    assert cache.turns() == [turn(n) for n in (*range(100, 150), *range(151, 200), 300)]


def test_where_nothing_can_be_written_the_sums_are_kept_in_memory(
    tmp_path: Path, logs: Logs
) -> None:
    logs.add("a", said(0))
    (tmp_path / "state").write_text("a file in the way")
    cache = UsageCache(tmp_path / "state/usage.sqlite")
    assert sums(cache, logs) == expected(logs)
    logs.add("a", said(1))
    assert sums(cache, logs) == expected(logs)
    cache.close()
