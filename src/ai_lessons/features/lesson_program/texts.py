"""Answers of the program `lesson` as text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ai_lessons.interfaces.output import View, clean, line, table
from ai_lessons.model.entries import GLOBAL_PROJECT, EntrySummary, pattern_of
from ai_lessons.model.lessons import named, title_of
from ai_lessons.model.texts import entry_lines, scalar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_lessons.app.answers import Answer, Shown
    from ai_lessons.app.written import Written
    from ai_lessons.features.lesson_program.jobs import Loaded

FIRM = "[firm]"


def says(entry: EntrySummary) -> str:
    """The pattern of a lesson; a lesson of free text is told by its title."""
    return entry.stated.pattern or entry.title


def rows(entries: Sequence[EntrySummary], view: View, *, every: bool = False) -> str:
    """One line a lesson; with `every` its status, too."""
    columns = ["ID", "SCOPE", "FROM", "PATTERN"]
    if every:
        columns.insert(3, "STATUS")
    cells = []
    for entry in entries:
        row = [
            entry.handle,
            named(entry.project, entry.stated.scope),
            entry.stated.from_,
            says(entry),
        ]
        if every:
            row.insert(3, entry.status)
        cells.append(row)
    return table(columns, cells, view, "No lessons.")


def search_results(answer: Answer, view: View) -> str:
    """What a search found, best first, in the form of a list."""
    if not answer.lessons:
        return f'Nothing found for "{line(answer.query)}".'
    return rows([hit.entry for hit in answer.lessons], view)


def loaded(value: Loaded, _view: View) -> str:
    """Markdown for an agent's context. `[firm]` marks what a person stated."""
    blocks = [f"## Lessons ({value.active} active)"]
    shown = 0
    for group in value.groups:
        if group.scope == GLOBAL_PROJECT:
            name = "Global"
        else:
            name = line(group.scope)
        items = [f"### {name}"]
        for entry in group.lessons:
            # no text gives itself the mark
            words = line(says(entry)).replace(FIRM, "(firm)")
            items.append(f"- {words}{_standing(entry)}")
        blocks.append("\n".join(items))
        shown += len(group.lessons)
    left_out = value.active - shown
    if left_out:
        blocks.append(
            f"{left_out} more are left out: `lesson load --limit 0` has all, `lesson "
            "search` finds one"
        )
    return "\n\n".join(blocks)


def _standing(entry: EntrySummary) -> str:
    """Who stated a lesson that claims to be a person's.

    Nothing where git's history does not tell.
    """
    if entry.origin.firm:
        return f" {FIRM}"
    if entry.stated.from_ == "user" and entry.origin.stated_by:
        return f" [stated by {line(entry.origin.stated_by)}]"
    return ""


def lesson_shown(value: Shown, _view: View) -> str:
    """One lesson as YAML."""
    entry = value.entry
    head = {
        "id": entry.handle,
        "scope": named(entry.project, entry.stated.scope),
        "from": entry.stated.from_,
        "status": entry.status,
    }
    lines = [f"{key}: {scalar(text)}" for key, text in head.items() if text]
    if entry.created:
        lines.append(f"created: {entry.created[:10]}")
    for key in ("reason", "promoted_to"):
        if value.frontmatter.get(key):
            lines += entry_lines(key, value.frontmatter[key])
    pattern = pattern_of(value.frontmatter)
    if pattern:
        lines.append(f"pattern: {_quoted(' '.join(str(pattern).split()))}")
        lines.append("parsed:")
        for key, text in pattern.as_json().items():
            lines.append(f"  {key}: {text if key == 'action' else _quoted(text)}")
    if not pattern or entry.title != title_of(pattern):
        lines += entry_lines("title", entry.title)
    if value.body.strip():
        lines += entry_lines("text", value.body)
    return clean("\n".join(lines))


def _quoted(text: str) -> str:
    """In double quotes, which YAML and JSON read alike."""
    return json.dumps(text, ensure_ascii=False)


def added(value: Written, view: View) -> str:
    """A lesson that was stated."""
    handle, title = line(value.handle), line(value.title)
    if value.change == "added":
        first = f"Added lesson {handle} (from {value.origin}): {title}"
    elif value.change == "confirmed":
        first = f"Lesson {handle} was there, and is firm now: {title}"
    else:
        first = f"Lesson {handle} is there already: {title}"
    return f"{first}\n  path: {view.place(value.path, value.tier)}"


def marked_wrong(value: Written, _view: View) -> str:
    """A lesson that left the results."""
    handle = line(value.handle)
    if value.change == "unchanged":
        return f"Lesson {handle} is marked wrong already"
    return f"Deleted lesson {handle}"


def promoted(value: Written, view: View) -> str:
    """A lesson that stands in a skill or a tool now."""
    place = view.place(value.target)
    if value.change == "unchanged":
        return f"Lesson {line(value.handle)} stands in {place} already"
    return f"Promoted lesson {line(value.handle)} to {place}"
