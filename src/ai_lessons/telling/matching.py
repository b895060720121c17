"""Which rules and lessons are about a text, a file, an edit, a command or a failure, and how surely."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ai_lessons import app
from ai_lessons.git import external_files
from ai_lessons.git.external_files import names_in_project
from ai_lessons.model import command_forms, expression, failures
from ai_lessons.model.command_forms import named_commands
from ai_lessons.model.entries import GLOBAL_PROJECT, EntrySummary, Kind, Source
from ai_lessons.model.layout import EXACT, any_match, globs, specificity
from ai_lessons.search import terms

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from ai_lessons.app.workspace import Reading

# How closely an entry names what is edited, where it names more than the file: a feature may know
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
    repo: Reading, paths: Sequence[str], here: Collection[str]
) -> dict[str, tuple[EntrySummary, int]]:
    """The rules and lessons whose globs name one of these files, by id, and how closely.

    A rule holds in its own project (`here`); a lesson about all files of a kind in each. See
    `layout.specificity`. Nothing is left out yet. The catalog is up to date.
    """
    within: list[str] = []
    for path in paths:
        within += names_in_project(path, repo.options.cwd)
    named = {}
    for summary in repo.catalog.with_globs(frozenset({Kind.RULE, Kind.LESSON})):
        if summary.kind is not Kind.LESSON and summary.project not in here:
            continue
        patterns = globs(summary.stated.applies_to)
        if any_match(patterns, within):
            named[summary.id] = summary, specificity(patterns, within)
    return named


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
        app.gathering.refresh(repo)
        telling = f"{command}\n{failures.telling(output)}"
        similar = app.gathering.similarities(repo, telling, frozenset({Kind.LESSON, Kind.RULE}))
    chances = {
        entry_id: failures.chance(much, similar.get(entry_id)) for entry_id, much in alike.items()
    }
    # an entry that quotes a line of the output in full is about this failure, whatever else was
    # printed
    return chances | dict.fromkeys(failures.quoted_in(output, kept), failures.chance(1.0))


def is_tried(summary: EntrySummary, calls: Sequence[command_forms.Called]) -> bool:
    """Whether an entry was tested, and its WHEN names one of these commands with more than the program."""
    named = []
    for form in command_forms.forms_of(summary.stated.pattern):
        if len(form.words) > 1:
            named.append(form)
    return summary.stated.source == Source.TESTED and command_forms.fits(named, calls)


def of_other_commands(repo: Reading, about: Collection[str]) -> list[str]:
    """Lessons that features tell of one command (WHEN running `npm …`), which are not `about` this one.

    They help with no other command, though `not found` and the like are printed by many.
    """
    names = []
    for summary in repo.catalog.about_commands():
        of_a_command = summary.told_by and _ABOUT_RUNNING.match(summary.stated.pattern)
        if of_a_command and summary.id not in about:
            names.append(summary.id)
    return names
