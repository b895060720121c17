"""Adds up what rules did, by month: in runs of `check`, and in sessions of agents. Pure."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.model.entries import Kind, handle
from ai_lessons.model.events import ALLOWED, BROKEN, IN_SCOPE, STOPPED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ai_lessons.features.reports.reading import CheckRun
    from ai_lessons.model.events import Event

_WORDS = frozenset((IN_SCOPE, BROKEN, STOPPED, ALLOWED))


class RuleFigures(NamedTuple):
    """In how many runs of CI and sessions of agents what happened to a rule in a month.

    `stopped`: broken, and it failed the run, or the host was to ask or refuse. `would_stop`:
    broken, and nothing stopped it. An empty `month` is all of them. `projects`: of the code in
    which runs saw it.
    """

    month: str
    id: str
    handle: str
    title: str
    projects: int
    in_scope: int
    broken: int
    stopped: int
    would_stop: int
    allowed: int


class RulesReport(NamedTuple):
    """What rules did: `totals`, and `by_month` the newest first, the most broken rules first.

    `runs` and `sessions` are how many were added up, in how many `projects`. `repeated` runs were
    those of a commit that was counted already.
    """

    totals: tuple[RuleFigures, ...]
    by_month: tuple[RuleFigures, ...]
    runs: int
    projects: int
    sessions: int
    repeated: int = 0
    notes: tuple[str, ...] = ()


class _Seen:
    """The runs and sessions in which what happened to a rule in a month, each by its name."""

    def __init__(self) -> None:
        self.by_word: dict[str, set[str]] = {word: set() for word in _WORDS}
        self.projects: set[str] = set()


class Sums:
    """Runs and sessions on their way into a report."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], _Seen] = defaultdict(_Seen)
        self._titles: dict[str, tuple[str, str]] = {}
        self._runs: dict[object, CheckRun] = {}
        self._sessions: set[str] = set()
        self._events: set[str] = set()
        self._repeated = 0

    def add_runs(self, runs: Iterable[CheckRun]) -> None:
        """Add runs; of those of one commit of a project the last counts."""
        for run in runs:
            key: object = run
            if run.revision:
                key = run.project, run.revision
            before = self._runs.get(key)
            self._repeated += before is not None
            if before is None or before.at <= run.at:
                self._runs[key] = run

    def add_events(self, events: Iterable[Event], log: str) -> None:
        """Add what happened in sessions; `log` tells those of one repository from another's."""
        for event in events:
            if event.event not in _WORDS or event.id in self._events:
                continue
            self._events.add(event.id)
            session = f"{log} {event.session or event.id}"
            self._sessions.add(session)
            self._seen[event.at[:7], event.entry].by_word[event.event].add(session)

    def report(self, titles: Mapping[str, str]) -> RulesReport:
        """What was added, with the titles of rules that are known here."""
        for number, run in enumerate(self._runs.values()):
            self._add_run(run, f"run {number}")
        for rule, title in titles.items():
            self._titles[rule] = ("", title)
        totals: dict[str, _Seen] = defaultdict(_Seen)
        by_month = []
        for (month, rule), seen in self._seen.items():
            by_month.append(self._figures(month, rule, seen))
            totals[rule].projects |= seen.projects
            for word, names in seen.by_word.items():
                totals[rule].by_word[word] |= names
        all_months = [self._figures("", rule, seen) for rule, seen in totals.items()]
        by_month.sort(key=_order)
        by_month.sort(key=lambda row: row.month, reverse=True)
        return RulesReport(
            tuple(sorted(all_months, key=_order)),
            tuple(by_month),
            runs=len(self._runs),
            projects=len({run.project for run in self._runs.values()}),
            sessions=len(self._sessions),
            repeated=self._repeated,
        )

    def _add_run(self, run: CheckRun, name: str) -> None:
        for rule in run.rules:
            # the newest title
            self._titles[rule.id] = max(self._titles.get(rule.id, ("", "")), (run.at, rule.title))
            if not rule.in_scope and not rule.broken:
                continue
            seen = self._seen[run.month, rule.id]
            seen.projects.add(run.project)
            seen.by_word[IN_SCOPE].add(name)
            if rule.allowed:
                seen.by_word[ALLOWED].add(name)
            if rule.broken:
                seen.by_word[BROKEN].add(name)
            if rule.broken and not run.warn:
                seen.by_word[STOPPED].add(name)

    def _figures(self, month: str, rule: str, seen: _Seen) -> RuleFigures:
        broken, stopped = seen.by_word[BROKEN], seen.by_word[STOPPED]
        # a log may lack the first of a session's events
        in_scope = seen.by_word[IN_SCOPE] | broken | seen.by_word[ALLOWED]
        _, title = self._titles.get(rule, ("", ""))
        return RuleFigures(
            month,
            rule,
            handle(Kind.RULE, rule),
            title,
            projects=len(seen.projects),
            in_scope=len(in_scope),
            broken=len(broken),
            stopped=len(stopped),
            would_stop=len(broken - stopped),
            allowed=len(seen.by_word[ALLOWED]),
        )


def _order(row: RuleFigures) -> tuple[int, int, str]:
    """A key that sorts rules: the most broken first."""
    return -row.broken, -row.in_scope, row.id
