"""Adds up reports of CI and the events of the repositories that are read here. Begin with `report`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.errors import AiLessonsError, InvalidEntry, Problem, Refused
from ai_lessons.features.reports import page
from ai_lessons.features.reports.reading import LARGEST, NoReport, runs_in
from ai_lessons.features.reports.sums import Sums
from ai_lessons.git import external_files
from ai_lessons.model.entries import Filter, Kind
from ai_lessons.model.events import read_lines

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ai_lessons.app.workspace import Library
    from ai_lessons.features.reports.reading import CheckRun
    from ai_lessons.features.reports.sums import RulesReport


def report(library: Library, names: Sequence[str], html: str = "") -> RulesReport:
    """What rules did in the runs that these files report, and in the sessions of all repositories here.

    `html`: also write it as a page into this file. Raises NotFound: no such file. InvalidEntry:
    what is wrong with all files that are no reports; then nothing is added up. Refused: the page
    would replace a file that is not ours.
    """
    repo = library.reading
    target = repo.options.cwd / html
    if html:
        _refuse_replacing(target)
    sums = Sums()
    sums.add_runs(_runs(library, names))
    titles: dict[str, str] = {}
    damaged = 0
    for place in repo.every:
        place.current()
        for rule in place.catalog.select(Filter(kinds=frozenset({Kind.RULE}))):
            titles[rule.id] = rule.title
        for file in place.events.log.files():
            events, unread = read_lines(file.read())
            damaged += unread
            sums.add_events(events, str(place.store.root))
    made = sums.report(titles)
    notes = [*repo.notes()]
    if damaged:
        notes.append(f"{damaged:,} lines of the logs of events cannot be read")
    if made.repeated:
        notes.append(f"{made.repeated:,} left out: of the reports on one commit the last counts")
    if html:
        external_files.write(target, page.drawn(made).encode())
        notes.append(f"written to {html}")
    return made._replace(notes=tuple(notes))


def _runs(library: Library, names: Sequence[str]) -> list[CheckRun]:
    """What all of the files report. Raises NotFound, InvalidEntry."""
    options = library.reading.options
    runs: list[CheckRun] = []
    problems: list[Problem] = []
    files = external_files.expand(names, options.cwd, recursive=False)
    for file in options.each("reading reports", files):
        try:
            runs += runs_in(external_files.read(file.path, LARGEST)[0])
        except NoReport as error:
            problems.append(Problem(str(file.path), f"no report of `ai-lessons check`: {error}"))
        except AiLessonsError as error:
            problems.append(Problem(str(file.path), error.message))
    if problems:
        hint = "leave them out, or make them anew: ai-lessons check --format json"
        raise InvalidEntry(problems, hint=hint)
    return runs


def _refuse_replacing(file: Path) -> None:
    """Refuse to replace a file that is no page of ours."""
    if file.exists() and page.MARK not in external_files.beginning(file):
        raise Refused(
            f"{file} is no page that this command made, so it stays", hint="name another file"
        )
