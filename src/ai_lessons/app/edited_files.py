"""What a person saved by hand.

Looked at as at a commit when it is read first, and named where it is shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.errors import AiLessonsError, InvalidEntry, Problem
from ai_lessons.model import layout
from ai_lessons.model.entries import Filter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ai_lessons.app.open_repository import OpenRepository
    from ai_lessons.model.entries import EntrySummary


def doubts(repo: OpenRepository, summary: EntrySummary, text: str) -> Iterator[str]:
    """A sentence on each thing that the file of an entry perhaps does not mean, and on secrets that are masked."""
    yield from masked([summary])
    # of a rule none are counted: it is shown as it is in force
    if not summary.doubts.doubtful:
        return
    from ai_lessons.model.checks import doubts as doubts_of

    try:
        problems = doubts_of(repo.load(summary.id)[0], text)
    except AiLessonsError:
        # it was removed in this moment
        return
    yield from map(str, problems)


def masked(summaries: Iterable[EntrySummary]) -> Iterator[str]:
    """A sentence on each of these entries that holds what looks like a secret."""
    for summary in summaries:
        if summary.doubts.masked:
            yield (
                f"[{summary.handle}] {summary.path} holds what looks like a secret, which is masked here: take it out"
                " (ai-lessons admin validate says what it is), and change it where it counts"
            )


def with_secrets(repo: OpenRepository) -> list[EntrySummary]:
    """The entries with values that are masked, as the catalog last read them."""
    secrets: list[EntrySummary] = []
    for summary in repo.catalog.select(Filter(status=None)):
        if summary.doubts.masked:
            secrets.append(summary)
    return secrets


def is_entry(path: str) -> bool:
    """Whether a Markdown file of the repository at this path is one of an entry."""
    return layout.is_markdown(path) and layout.place(path) is not None


def in_text(path: str, text: str) -> list[Problem]:
    """The same of a file as an editor has it, also of one that cannot be read yet."""
    from ai_lessons.app import secrets
    from ai_lessons.model import checks
    from ai_lessons.model.frontmatter import read_entry

    try:
        entry = read_entry(path, text.encode())
    except InvalidEntry as error:
        named = []
        for line, message in checks.text_doubts(text):
            named.append(Problem(path, message, line))
        return [*named, *error.problems]
    problems = [*checks.check_entry(entry, text), *checks.doubts(entry, text)]
    return [*problems, *secrets.problems(entry.fields, [(path, text)])]
