"""Which rules and lessons are about a text, a file, an edit, a command or a failure, and how surely."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from ai_lessons import app
from ai_lessons.git import external_files
from ai_lessons.git.external_files import names_in_project
from ai_lessons.model import command_forms, expression, failures
from ai_lessons.model.anchors import Anchor, anchors_of, brings
from ai_lessons.model.command_forms import named_commands
from ai_lessons.model.definitions import LARGEST, definition
from ai_lessons.model.edits import LINES
from ai_lessons.model.entries import GLOBAL_PROJECT, EntrySummary, Kind, Source
from ai_lessons.model.layout import BELOW, EXACT, any_match, globs, specificity
from ai_lessons.search import terms

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from ai_lessons.app.workspace import Reading
    from ai_lessons.model.edits import Edit

# How closely an entry names the symbol that is edited
SYMBOL = EXACT + 1
_ABOUT_RUNNING = expression(r"WHEN (?:inside `[^`]+`, )?running `")


def project_of(repo: Reading, cwd: Path) -> str | None:
    """The known project that the folder is.

    As its remote, its package or itself is called, in this order.
    """
    projects = []
    for tally in repo.catalog.projects():
        projects.append(tally.name)
    names = external_files.names_of(cwd)
    for name in names:
        if name in projects:
            return name
    for name in names:
        for project in projects:
            if external_files.same_name(project, name):
                return project
    return None


def commands_here(repo: Reading, folders: Sequence[str], told_by: str = "") -> list[EntrySummary]:
    """The rules and lessons about commands that hold everywhere or in one of the folders.

    Those that a feature tells, or (empty) that none does.
    """
    likely = []
    for summary in repo.catalog.about_commands():
        if summary.told_by == told_by:
            likely.append(summary)
    here = {GLOBAL_PROJECT}
    for place in map(Path, folders if likely else ()):
        names = (*external_files.names_of(place), place.name)
        here |= {
            summary.project
            for summary in likely
            if any(external_files.same_name(summary.project, name) for name in names)
        }
    results: list[EntrySummary] = []
    for summary in likely:
        if summary.project in here:
            results.append(summary)
    return results


def about_command(
    here: Iterable[EntrySummary], calls: Sequence[command_forms.Called], folders: Sequence[str]
) -> list[EntrySummary]:
    """Those of `commands_here` that name one of these commands."""
    # `cd shop` inside of `shop` is right where there is a `shop` in it, as in many packages
    cwd = None
    if folders:
        cwd = folders[0]
    below = set()
    for _, name in calls:
        if name and cwd is not None and os.path.lexists(os.path.join(cwd, name)):
            below.add(name)
    forms = (
        (summary, [form for form in named_commands(summary) if form.inside not in below])
        for summary in here
    )
    results: list[EntrySummary] = []
    for summary, named in forms:
        if command_forms.fits(named, calls):
            results.append(summary)
    return results


def about_inside(
    here: Iterable[EntrySummary], calls: Sequence[command_forms.Called], cwd: str
) -> list[EntrySummary]:
    """Those of `commands_here` that are about commands inside of a folder that these commands go into."""
    paths = []
    for words, _ in calls:
        if words[0] == "cd" and len(words) > 1:
            paths.append(os.path.join(cwd, words[1]))
    folders = ((command_forms.folder_name(path), path) for path in paths)
    entered = set()
    for name, path in folders:
        if name and not os.path.lexists(os.path.join(path, name)):
            entered.add(name)
    results: list[EntrySummary] = []
    for summary in here:
        if entered.intersection(form.inside for form in named_commands(summary)):
            results.append(summary)
    return results


def by_words(
    repo: Reading, text: str, bar: float, here: Collection[str]
) -> dict[str, EntrySummary]:
    """The rules and lessons of these projects that a text is about, by id and with their scores.

    Loads no index.
    """
    asked = terms.asked_for(text)
    if not asked:
        return {}
    scored = {}
    for entry, score in terms.scores(*repo.catalog.postings(asked)).items():
        if score >= bar:
            scored[entry] = score
    if scored:
        summaries = repo.catalog.many(scored)
    else:
        summaries = {}
    # what a feature tells, as before a command, is not told because a prompt has its words
    near = (
        summary for summary in summaries.values() if summary.project in here and not summary.told_by
    )
    words: dict[str, EntrySummary] = {}
    for summary in near:
        words[summary.id] = summary._replace(score=scored[summary.id])
    return words


def naming(
    repo: Reading, paths: Sequence[str], edits: Sequence[Edit], here: Collection[str]
) -> list[tuple[EntrySummary, int]]:
    """The rules and lessons that name one of these files or, of the projects `here`, what is edited; how closely.

    See `layout.specificity` for `applies_to`; `SYMBOL` for `about`. Nothing is left out yet. The catalog is up to date.
    """
    cwd = repo.options.cwd
    within = []
    for path in paths:
        for name in names_in_project(path, cwd):
            within.append(name)
    changed = [
        (name, edit) for edit in edits if edit.path for name in names_in_project(edit.path, cwd)
    ]
    named = []
    for summary in repo.catalog.about_files(frozenset({Kind.RULE, Kind.LESSON})):
        inside = summary.project in here
        # a lesson about all files of a kind holds in each project; a rule and what speaks of code,
        # in their own
        if inside or summary.kind is Kind.LESSON:
            patterns = globs(summary.applies_to)
        else:
            patterns = []
        if any_match(patterns, within):
            near = [specificity(patterns, within)]
        else:
            near = []
        levels = (
            names_code(anchor, within, changed)
            for anchor in (anchors_of(summary.about) if inside else ())
        )
        near += [level for level in levels if level is not None]
        if near:
            named.append((summary, max(near)))
    return named


def names_code(
    anchor: Anchor, paths: Sequence[str], changed: Sequence[tuple[str, Edit]]
) -> int | None:
    """How closely an anchor names what is edited; None: not at all."""
    if anchor.package:
        if any(brings(anchor.package, edit.path, edit.new) for _, edit in changed):
            return SYMBOL
        return None
    place = anchor.path.rstrip("/")
    if not place or not any(path == place or path.startswith(f"{place}/") for path in paths):
        return None
    if not anchor.symbol:
        if place in paths:
            return EXACT
        return BELOW
    edits = []
    for name, edit in changed:
        if name == place:
            edits.append(edit)
    if not edits or any(_changes(anchor, edit) for edit in edits):
        return SYMBOL
    return None


def _changes(anchor: Anchor, edit: Edit) -> bool:
    """Whether an edit touches a symbol: its definition, or by its name."""
    old, new = edit.old, edit.new
    before = external_files.beginning(Path(edit.path), None, LARGEST)
    part = None
    if before:
        part = definition(anchor.path, before, anchor.symbol)
    if part and part.lines and edit.is_whole:
        after = definition(anchor.path, new, anchor.symbol)
        return after is None or after.meaning != part.meaning
    if part and edit.how == LINES:
        return any(
            edit.first <= end and begin <= max(edit.first, edit.last) for begin, end in part.lines
        )
    if part and old:
        start = before.find(old)
    else:
        start = -1
    if part and start >= 0:
        first = before.count("\n", 0, start) + 1
        last = first + old.rstrip("\n").count("\n")
        if any(first <= end and begin <= last for begin, end in part.lines):
            return True
    name = re.escape(re.split(r"\.|::", anchor.symbol)[-1])
    return re.search(rf"(?<!\w){name}(?!\w)", f"{old}\n{new}") is not None


def chances_of_failure(repo: Reading, error: str, *, by_meaning: bool) -> dict[str, float]:
    """For each entry that keeps a failure, by id, the chance that it helps with this one."""
    command, output = failures.parted(error)
    kept, shape = repo.catalog.failures(), failures.shape(output)
    weights, alike = failures.rarity([words for _, words in kept]), dict[str, float]()
    for entry_id, stored_shape in kept:
        alike[entry_id] = max(
            alike.get(entry_id, 0.0), failures.alike(shape, stored_shape, weights)
        )
    similar: dict[str, float] = {}
    if alike and by_meaning:
        app.search.refresh(repo)
        telling = f"{command}\n{failures.telling(output)}"
        similar = app.search.similarities(repo, telling, frozenset({Kind.LESSON, Kind.RULE}))
    chances = {
        entry_id: failures.chance(much, similar.get(entry_id)) for entry_id, much in alike.items()
    }
    # an entry that quotes a line of the output in full is about this failure, whatever else was
    # printed
    return chances | dict.fromkeys(failures.quoted_in(output, kept), failures.chance(1.0))


def is_tried(summary: EntrySummary, calls: Sequence[command_forms.Called]) -> bool:
    """Whether an entry was tested, and its WHEN names one of these commands with more than the program."""
    named = []
    for form in command_forms.forms_of(summary.pattern):
        if len(form.words) > 1:
            named.append(form)
    return summary.source == Source.TESTED and command_forms.fits(named, calls)


def of_other_commands(repo: Reading, about: Collection[str]) -> list[str]:
    """Lessons that features tell of one command (WHEN running `npm …`), which are not `about` this one.

    They help with no other command, though `not found` and the like are printed by many.
    """
    names = []
    for summary in repo.catalog.about_commands():
        of_a_command = summary.told_by and _ABOUT_RUNNING.match(summary.pattern)
        if of_a_command and summary.id not in about:
            names.append(summary.id)
    return names
