"""What goes out to the agents of other tools: rules in force, and lessons that a person stated for everybody.

And the same as skills, which the server over MCP serves.
"""

from __future__ import annotations

from contextlib import suppress
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from ai_lessons.app.lessons import is_firm
from ai_lessons.errors import NotFound
from ai_lessons.features.transfer import rule_files
from ai_lessons.model.entries import GLOBAL_PROJECT, Filter, Kind, Status
from ai_lessons.model.lessons import USER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ai_lessons.app.workspace import Library, RepositorySession
    from ai_lessons.features.transfer.rule_files import ExportedEntry
    from ai_lessons.model.entries import EntrySummary
    from ai_lessons.model.tallies import UsageTally

# Entries that are not written: path and reason.
LeftOut = list[tuple[str, str]]

# Characters of all skills that are served: what every host takes has 16 MiB
MOST_OF_SKILLS = 10_000_000
# Files of a skill: hosts take no more
MOST_FILES = 512


def chosen(
    repo: RepositorySession, project: str | None, globs: Sequence[str], most: int
) -> tuple[list[ExportedEntry], LeftOut]:
    """Handles and entries to write, and what has no room in `most` characters.

    The global come first, and those of each project by their titles. What is most specific and best
    proven gets room first.
    """
    summaries = _ranked(repo, project, globs)
    repo.expect([summary.id for summary in summaries])
    room = max(most - rule_files.FRAME, 0)
    entries: list[ExportedEntry] = []
    left_out: LeftOut = []
    for summary in summaries:
        try:
            entry, _ = repo.load(summary.id)
        except NotFound as error:
            # removed meanwhile, or the text in force is missing in git
            left_out.append((summary.path, error.message))
            continue
        # with the empty line before it
        size = len(rule_files.section(summary.handle, entry, 3)) + 2
        if size > room:
            reason = f"{size:,} characters, and {room:,} of {most:,} are left (--max-chars)"
            left_out.append((summary.path, reason))
            continue
        room -= size
        entries.append((summary.handle, entry))
    entries.sort(key=_place_in_text)
    return entries, left_out


def _place_in_text(exported: ExportedEntry) -> tuple[bool, str, str, str]:
    _, entry = exported
    of_project = entry.project != GLOBAL_PROJECT
    return of_project, entry.project, entry.title.casefold(), entry.id


def _ranked(
    repo: RepositorySession, project: str | None, globs: Sequence[str]
) -> list[EntrySummary]:
    """The entries that go out, those first that are to have room."""
    kinds = frozenset({Kind.RULE, Kind.LESSON})
    summaries = []
    for summary in repo.current().select(Filter(kinds=kinds, status=None)):
        of_project = project is None or summary.project in {project, GLOBAL_PROJECT}
        if of_project and _is_exported(summary, globs):
            summaries.append(summary)
    lessons = [summary for summary in summaries if summary.kind is Kind.LESSON]
    usages = repo.learned.several(lessons)
    return sorted(summaries, key=lambda summary: _rank(summary, usages))


def _rank(
    summary: EntrySummary, usages: Mapping[str, UsageTally]
) -> tuple[bool, bool, bool, float, str]:
    """Rules before lessons, the specific before what holds everywhere, and the well proven."""
    # a person has approved a rule
    proven = 1.0
    if summary.id in usages:
        proven = usages[summary.id].confidence
    return (
        summary.kind is not Kind.RULE,
        summary.project == GLOBAL_PROJECT,
        not summary.stated.applies_to,
        -proven,
        summary.id,
    )


def _is_exported(summary: EntrySummary, globs: Sequence[str]) -> bool:
    """Whether an entry goes to the agents of other tools.

    Its path or title fits one of the globs, where there are any.
    """
    if summary.kind is not Kind.RULE and not _is_for_all(summary):
        return False
    if not globs:
        return True
    for glob in globs:
        if fnmatchcase(summary.path, glob) or fnmatchcase(summary.title, glob):
            return True
    return False


def _is_for_all(lesson: EntrySummary) -> bool:
    return lesson.status != Status.WRONG and is_firm(lesson) and not is_personal(lesson)


def is_personal(lesson: EntrySummary) -> bool:
    """Whether a lesson is of one person alone."""
    return lesson.stated.scope.startswith(f"{USER}:")


def by_project(entries: Sequence[ExportedEntry]) -> dict[str, list[ExportedEntry]]:
    """The entries of each project, in their order."""
    groups: dict[str, list[ExportedEntry]] = {}
    for handle, entry in entries:
        groups.setdefault(entry.project, []).append((handle, entry))
    return groups


# --- skills ---


def skills(library: Library) -> dict[str, dict[str, bytes]]:
    """For each project with rules in force or firm lessons the files of a skill, by name, SKILL.md first."""
    with library.alone() as lone:
        repo = lone.primary
        entries, _ = chosen(repo, None, (), MOST_OF_SKILLS)
        groups = by_project(entries)
        served = {}
        for project, group in groups.items():
            path, text = rule_files.skill(project, group, groups)
            name, file = path.split("/")
            served[name] = {file: text.encode()} | _rules_of_skill(repo, group)
        return served


def _rules_of_skill(repo: RepositorySession, group: Sequence[ExportedEntry]) -> dict[str, bytes]:
    """The rules of a project as files beside its SKILL.md, with the bytes that were approved."""
    rules = [(handle, entry) for handle, entry in group if entry.kind is Kind.RULE]
    files = {}
    for handle, rule in rules[: MOST_FILES - 1]:
        data, _ = repo.files_of(repo.catalog.locate(rule.id))
        # a resource is text: other bytes cannot be served
        with suppress(UnicodeDecodeError):
            files[f"rules/{handle}.md"] = data.decode().encode()
    return files
