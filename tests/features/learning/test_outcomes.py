"""What a command says of an entry that was told, and what a user's prompt does."""

import json
from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.features.learning import confidence, parameters
from ai_lessons.features.learning.confidence import usage
from ai_lessons.features.learning.effect import effect, measured
from ai_lessons.features.learning.parameters import BUDGET, CONFIDENCE
from ai_lessons.model import events as events_of_a_log
from ai_lessons.model import tallies
from ai_lessons.model.entries import ulid
from ai_lessons.model.events import Event, line_of, read_line, read_lines
from ai_lessons.model.outcomes import ShownEntry, after_command, carried_out, corrects, same_job
from ai_lessons.model.tallies import Tallies
from features.learning.events_world import ENTRIES, IDS, TIMES, chance, turns, uses

PYTHON3 = "WHEN running `python` here -> DO use `python3` -> BECAUSE `python` is Python 2"
UPSTREAM = "WHEN a branch is new -> DO `git push -u origin <branch>` -> BECAUSE it has no upstream"
INSTEAD = "WHEN a -> DO use `python3` instead of `python` -> BECAUSE b"
WITHOUT = "WHEN in testbed -> DO run it without `cd testbed` -> BECAUSE you are there"
MODULE = "WHEN testing -> DO run `python -m pytest` -> BECAUSE the path is set"
BOTH = "WHEN a -> DO run `npm ci && npm test` -> BECAUSE b"


@pytest.mark.parametrize(
    ("does", "command", "done"),
    [
        (PYTHON3, "python3 x.py", True), (PYTHON3, "cd shop && A=1 /usr/bin/python3 -c 'print(1)'", True),
        (PYTHON3, "uv run --with x python3 x.py", True), (PYTHON3, "python x.py", False),
        (INSTEAD, "python3 x.py", True), (INSTEAD, "python x.py", False), (MODULE, "python -m pytest -q", True),
        (MODULE, "env A=1 python -q -m pytest", True), (MODULE, "python -c 'print(1)'", False),
        (MODULE, "python", False), (UPSTREAM, "git push origin till -u", True),
        (UPSTREAM, "git -C shop push -u origin till", True), (UPSTREAM, "git push --force", False),
        (UPSTREAM, "git push", False), (BOTH, "npm ci && npm test -- -x", True), (BOTH, "npm test", False),
        ("Set it once: `git push -u origin HEAD`.", "git push -u origin HEAD", True),
        ("Never `git push --force`; `git pull` first.", "git push --force", False),
        ("Never `git push --force`; `git pull` first.", "git pull --rebase", True),
        ("WHEN a -> DO use `pytest` -> BECAUSE b", "poetry add pytest", False),
        ("WHEN a -> DO NOT `git push --force` -> BECAUSE b", "git push --force", False),
        ("WHEN a -> DON'T run `make` -> BECAUSE b", "make", False),
        ("WHEN a -> DO read the docs -> BECAUSE `make` is slow", "make", False), ("", "make", False),
        (PYTHON3, "", False),
    ],
)  # fmt: skip
def test_an_entry_is_carried_out_by_a_command_that_begins_as_it_says(
    does: str, command: str, done: bool
) -> None:
    assert carried_out(does, command) is done


def test_what_is_to_be_left_out_is_carried_out_by_the_same_command_without_it() -> None:
    assert carried_out(WITHOUT, "pytest -q", "cd testbed && pytest -q")
    assert not carried_out(WITHOUT, "cd testbed && pytest -q", "cd testbed && pytest -q")
    assert not carried_out(WITHOUT, "ls", "cd testbed && pytest -q")
    assert not carried_out(WITHOUT, "pytest -q", "pytest -q")


def told(
    does: str = UPSTREAM, title: str = "A branch has no upstream", **more: object
) -> ShownEntry:
    return ShownEntry("id", "L-1", title, "tool-failed", "why", does=does, **more)  # type: ignore[arg-type]


def test_a_command_tells_something_only_if_it_carries_the_entry_out() -> None:
    one = told(shape=["fatal", "has", "no", "upstream", "branch"])
    assert after_command(one, "git push -u origin till", None).outcome == "followed"
    assert (
        after_command(one, "git push", None) == after_command(one, "git push", {*one.shape}) == one
    )
    assert (
        after_command(one, "git push -u origin till", {*one.shape, "current"}).outcome == "recurred"
    )
    otherwise = after_command(one, "git push -u origin till", {"permission", "denied"})
    assert otherwise.outcome == ""
    assert after_command(otherwise, "git status", None).outcome == ""
    assert after_command(otherwise, "git push origin till", None).outcome == "recurred", (
        "another command did its job"
    )
    assert (
        after_command(one, "git push -u origin till", {"permission", "denied"}, kept=True).outcome
        == "recurred"
    )
    assert after_command(told(), "git push -u origin till", frozenset()).outcome == ""
    settled = one._replace(outcome="recurred")
    assert after_command(settled, "git push -u origin till", None) == settled, "once a session"


def test_a_lesson_that_failed_as_it_says_is_not_followed_by_another_form_that_worked() -> None:
    shown = ShownEntry(
        "1", "L-1", "Install", "before", "names it", "npm ci", (), "DO run `npm install`"
    )
    tried = after_command(shown, "npm install", {"could", "not", "resolve"})
    assert tried.outcome == ""
    assert after_command(tried, "npm install --legacy-peer-deps", None).outcome == "recurred"
    assert after_command(tried, "npm  install", None).outcome == "followed", (
        "the same, once something else was mended"
    )
    assert after_command(shown, "npm install --legacy-peer-deps", None).outcome == "followed"
    five = usage(Tallies(recurred=5), 0.5)
    assert five.confidence < 0.3


@pytest.mark.parametrize(
    ("failed", "command", "same"),
    [
        ("git push", "git push -u origin HEAD", True), ("python a.py", "python3 a.py", True),
        ("cd testbed && pytest -q", "pytest -q", True), ("pytest -x", "uv run pytest -x", True),
        ("pytest -x", "python -m pytest -x", True), ("npm install left", "pnpm install left", True),
        ("mcp__jira__create", "mcp__jira__create", True), ("python a.py", "python -c 'print(1)'", False),
        ("python a.py", "cat a.py", False), ("python a.py", "git add a.py", False), ("python a.py", "rm a.py", False),
        ("make test", "make lint", False), ("make test", "ls", False),
    ],
)  # fmt: skip
def test_the_job_of_a_command_is_done_by_the_same_attempt_or_its_words_behind_another_program(
    failed: str, command: str, same: bool
) -> None:
    assert same_job(failed, command) is same


SERVER = told(
    "WHEN testing -> DO start the staging server with `make serve` -> BECAUSE b",
    "The staging server is first",
)


@pytest.mark.parametrize(
    ("prompt", "no"),
    [
        ("no, don't use make serve here", True), ("Please never run `make serve`.", True),
        ("No. make serve is wrong here.", True), ("That's wrong: make serve needs docker", True),
        ("`make serve` does not work on this machine", True), ("don't start the staging server", True), ("No", False),
        ("Stop the staging server when you are done.", False), ("No problem, start the staging server", False),
        ("Don't forget to run `make serve`", False), ("do not touch the docs. Then run `make serve`", False),
        ("use make serve", False), ("now the docs", False), ("", False),
    ],
)  # fmt: skip
def test_a_prompt_takes_back_what_it_says_no_to_and_names(prompt: str, no: bool) -> None:
    assert corrects(prompt, SERVER) is no


# --- counts to numbers, by the rules of the specification ---


some = st.integers(0, 50)
counts = st.builds(Tallies, some, some, some, some, some, some, some, some, some, some, some)


@pytest.mark.parametrize(
    ("word", "start"),
    [
        ("very-low", 0.1),
        ("low", 0.3),
        ("medium", 0.5),
        ("high", 0.7),
        ("very-high", 0.9),
        ("sure", 0.5),
        (None, 0.5),
    ],
)
def test_a_lesson_starts_where_its_author_puts_it(word: object, start: float) -> None:
    used = usage(tallies.NOTHING, confidence.prior(word))
    assert used.confidence == pytest.approx(start)
    assert used.alpha + used.beta == pytest.approx(2)


def test_outcomes_count_as_the_specification_says_and_what_a_session_showed_less_than_what_somebody_said() -> (
    None
):
    used = usage(Tallies(helpful=7, ignored=2, contradicted=1), 0.5)
    assert [used.alpha, used.beta] == pytest.approx([8.0, 1 + 0.2 + 1.5])
    assert used.confidence == pytest.approx(8 / 10.7)
    used = usage(Tallies(followed=1, recurred=4), 0.5)
    assert [used.alpha, used.beta] == pytest.approx([1 + 1.0, 1 + 4 * 0.25 * 1.5])


@given(counts, st.sampled_from(list(confidence.PRIOR.values())))
def test_confidence_moves_the_way_the_outcome_says_and_stays_a_share(
    had: Tallies, start: float
) -> None:
    before = usage(had, start).confidence
    assert 0 < before < 1
    assert usage(had._replace(helpful=had.helpful + 1), start).confidence > before
    ignored = usage(had._replace(ignored=had.ignored + 1), start).confidence
    assert (
        usage(had._replace(contradicted=had.contradicted + 1), start).confidence < ignored < before
    )


@given(counts, st.sampled_from(list(confidence.PRIOR.values())))
def test_standing_stays_within_fifteen_percent(had: Tallies, start: float) -> None:
    used = usage(had, start)
    factor = confidence.standing(used, start)
    assert 0.85 <= factor <= 1.15
    assert (factor > 1) == (used.confidence > start)


# --- the effect of showing a lesson, told from chance ---


Rows = list[tuple[str, str, str]]


def session(name: str, lesson: str, *said: str) -> Rows:
    """A session in which a lesson was shown or left out, and other things happened to another entry."""
    return [(name, "lesson", lesson), *((name, f"other {n}", word) for n, word in enumerate(said))]


def test_sessions_with_and_without_are_compared() -> None:
    rows = [
        *session("a", "injected", "helpful"),
        *session("b", "injected", "script_ok", "script_ok", "contradicted"),
        *session("c", "injected", "script_failed"),
        *session("d", "left_out", "script_failed", "helpful"),
        *session("e", "left_out", "helpful"),
    ]
    found = measured(rows)
    assert found is not None
    assert (found.shown, found.left_out) == (3, 2)
    assert found.difference == pytest.approx(2 / 3 - 1 / 2)
    assert measured(list(reversed(rows))) == found


def test_an_effect_needs_sessions_of_both_sorts_and_an_interval_of_few_is_wide() -> None:
    assert effect(3, 5, 0, 0) is None
    few = effect(3, 4, 1, 2)
    assert few is not None
    assert few.low < 0 < few.difference < few.high
    many = effect(800, 1000, 60, 100)
    assert many is not None
    assert many.difference == pytest.approx(0.2)
    assert 0.1 < many.low < 0.2 < many.high < 0.31


def test_the_interval_of_an_effect_holds_the_truth_as_often_as_it_says() -> None:
    dice = chance(11)
    held = 0
    for _ in range(1500):
        shown, without = (
            sum(dice.random() < p for _ in range(n)) for p, n in ((0.8, 60), (0.65, 12))
        )
        found = effect(shown, 60, without, 12)
        held += found is not None and found.low <= 0.15 <= found.high
    assert held / 1500 >= 0.93


# --- lines of event logs: what is written is read back, and nothing that is read does harm ---


EVENT = Event(IDS[0], TIMES[0], "helpful", ENTRIES[0], edge={})
GOOD = line_of(EVENT)

odd = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def changed(**keys: object) -> bytes:
    """The good line with other values; None takes a key away."""
    said = json.loads(GOOD) | keys
    return (
        json.dumps({key: value for key, value in said.items() if value is not None}).encode()
        + b"\n"
    )


@given(st.lists(uses | turns))
def test_every_line_that_we_write_is_read_back(events: list[Event]) -> None:
    read, damaged = read_lines(b"".join(map(line_of, events)))
    assert damaged == 0
    assert [event[:5] for event in read] == [event[:5] for event in events]


@given(uses | turns)
def test_a_line_keeps_all_that_was_said(event: Event) -> None:
    read = read_line(line_of(event).decode())
    assert read is not None
    assert read._replace(edge={}) == event._replace(edge={})
    assert read.edge == pytest.approx(event.edge, abs=1e-6)


@given(st.binary(max_size=300))
def test_no_bytes_are_too_odd_to_read(data: bytes) -> None:
    events, damaged = read_lines(data)
    assert len(events) + damaged <= data.count(b"\n") + 1
    assert EVENT in read_lines(data + b"\n" + GOOD)[0]


@given(odd)
def test_no_json_is_too_odd_to_read(value: object) -> None:
    for line in (
        json.dumps(value),
        json.dumps({**json.loads(GOOD), "note": value}),
        json.dumps({"id": value}),
    ):
        events, damaged = read_lines(line.encode())
        assert len(events) + damaged <= 1


@pytest.mark.parametrize(
    "line",
    [
        b"{", b"[]\n", b'"text"\n', GOOD[:40], GOOD.rstrip() + b" " * 99_000 + b"\n", b"[" * 3000 + b"\n",
        changed(id="01JD3Z8QK5W7M2X9V4T68F3K2U"), changed(id="81JD3Z8QK5W7M2X9V4T68F3K2A"), changed(id=None),
        changed(at="2026-13-01T00:00:00Z"), changed(at="yesterday"), changed(entry="../../etc/passwd"),
        changed(entry=7), changed(event="HELPFUL"), changed(session=["s"]), changed(note={"a": 1}),
        changed(value=True), changed(value=1e300), changed(edge={"injection_budget": "all"}),
        GOOD.replace(b"}", b',"value":NaN}'), GOOD.replace(b"}", b',"value":1e999}'),
    ],
)  # fmt: skip
def test_a_damaged_or_hostile_line_is_counted_and_left_out(line: bytes) -> None:
    assert read_lines(GOOD + line) == ([EVENT], 1)


def test_a_word_of_a_newer_program_other_keys_order_and_spaces_are_no_damage() -> None:
    assert read_lines(changed(event="applauded") + GOOD)[1] == 0
    said = json.loads(GOOD) | {"mood": "good"}
    turned = json.dumps(dict(reversed(said.items()))).encode()
    assert read_lines(b"\n \r\n" + turned) == ([EVENT], 0)


def test_a_long_note_is_cut_so_that_its_line_can_be_read() -> None:
    line = line_of(
        Event(IDS[0], TIMES[0], "helpful", ENTRIES[0], session="s" * 900, note="\u2603" * 9000)
    )
    read = read_line(line.decode())
    assert read is not None
    assert len(read.note) == events_of_a_log.EVENT.note_length
    assert read_lines(line)[1] == 0


def test_ids_sort_by_time_and_are_ulids() -> None:
    early, late = ulid(1_700_000_000_000, b"\xff" * 10), ulid(1_700_000_000_001, b"\0" * 10)
    assert early < late
    assert early == "01HF7YAT00ZZZZZZZZZZZZZZZZ"
    assert ulid(0, b"\0" * 10) == "0" * 26


# --- parameters of the repository: the update of the specification, samples, and where outcomes lead ---


def said(name: str, word: str, value: float | None = None, weight: float | None = None) -> Event:
    return Event(IDS[0], TIMES[0], word, name, value=value, weight=weight)


def unlearned(_alpha: float, _beta: float) -> float:
    raise AssertionError("nothing was observed, so nothing is drawn")


@pytest.mark.parametrize("name", parameters.DEFINITIONS)
def test_a_parameter_starts_where_we_ship_it_and_is_not_sampled_before_something_was_observed(
    name: str,
) -> None:
    fresh = parameters.initial(name)
    assert fresh.value == pytest.approx(parameters.DEFINITIONS[name].start)
    assert fresh.sample(unlearned) == fresh.position
    assert (fresh.uncertainty, fresh.observations) == (1.0, 0)


def test_an_outcome_counts_as_the_specification_says() -> None:
    start = parameters.initial(CONFIDENCE)
    once = start.update(0.8, 1.0)
    assert once.alpha == pytest.approx(start.alpha + 0.8 / 2)
    assert once.beta == pytest.approx(start.beta + 0.2 / 2)
    assert (once.observations, once.uncertainty) == (1, 0.5)
    twice = once.update(0.0, 3.0)
    assert twice.alpha == once.alpha
    assert twice.beta == pytest.approx(once.beta + 3 / 1.5)
    assert twice.uncertainty == pytest.approx(1 / (1 + sqrt(2)))


@given(st.lists(turns, max_size=30))
def test_nothing_in_a_log_brings_a_parameter_out_of_its_range(events: list[Event]) -> None:
    for one in parameters.fold_parameters(events).values():
        about = parameters.DEFINITIONS[one.name]
        assert about.low <= one.low <= one.value <= one.high <= about.high
        assert one.alpha > 0
        assert one.beta > 0


@pytest.mark.parametrize(
    "event",
    [
        said("gravity", "observed", 0.5), said(BUDGET, "observed"), said(BUDGET, "observed", 1.5),
        said(BUDGET, "observed", 0.5, -1), said(BUDGET, "observed", 0.5, 1e6), said(BUDGET, "bounds", 9, 3),
        said(BUDGET, "applauded", 1),
    ],
)  # fmt: skip
def test_nonsense_changes_nothing(event: Event) -> None:
    assert parameters.fold_parameters([event]) == parameters.fold_parameters([])


@pytest.mark.parametrize(
    ("outcome", "name", "up"),
    [
        ("helpful", BUDGET, True), ("ignored", BUDGET, False), ("contradicted", BUDGET, False),
        ("helpful", CONFIDENCE, False), ("ignored", CONFIDENCE, True), ("contradicted", parameters.SIMILARITY, True),
    ],
)  # fmt: skip
def test_a_helpful_last_one_asks_for_more_and_another_for_less(
    outcome: str, name: str, up: bool
) -> None:
    (event,) = parameters.learned(outcome, {name: 0.4})
    assert event.value is not None
    assert (event.value > 0.4) == up
    assert abs(event.value - 0.4) <= parameters.REACH
    assert parameters.fold_parameters([event._replace(id=IDS[0])])[name].observations == 1


@given(st.floats(0, 1), st.sampled_from(["helpful", "ignored", "contradicted"]))
def test_what_is_learned_stays_in_range_and_weighs_what_the_lesson_was_worth(
    position: float, outcome: str
) -> None:
    for event in parameters.learned(outcome, {BUDGET: position, "gravity": 0.5}):
        assert event.entry == BUDGET
        assert event.value is not None
        assert 0 <= event.value <= 1
        assert event.weight == {"helpful": 1.0, "ignored": 0.1, "contradicted": 1.5}[outcome]


@pytest.mark.parametrize("worth_having", [4, 8, 15])
def test_the_budget_comes_to_rest_where_one_more_is_worth_nothing(worth_having: int) -> None:
    """A user to whom the first so many are helpful two times in three, and the others never."""
    dice = chance(7)
    one = parameters.initial(BUDGET)
    for _ in range(1500):
        position = one.sample(dice.betavariate)
        last = one.at(position)
        outcome = "helpful" if last <= worth_having and dice.random() < 2 / 3 else "contradicted"
        (event,) = parameters.learned(
            outcome if last > worth_having or outcome == "helpful" else "ignored",
            {BUDGET: position},
        )
        assert event.value is not None
        assert event.weight is not None
        one = one.update(event.value, event.weight)
    assert abs(one.value - worth_having) <= 1
