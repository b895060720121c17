"""A filter as a condition in the SQL of the index. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.search.tokens import pattern

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_lessons.model.entries import Filter


def quoted(value: str) -> str:
    """A string literal of SQL."""
    return "'" + value.replace("'", "''") + "'"


def one_of(column: str, values: Sequence[str]) -> str:
    """A condition that holds for no row if there are no values."""
    if values:
        return f"{column} IN ({', '.join(map(quoted, values))})"
    return "false"


def condition(asked: Filter) -> str:
    """A filter as SQL of the index, or "" if it lets everything pass.

    What else it asks for, the catalog knows.
    """
    parts: list[str] = []
    if asked.kinds:
        parts.append(one_of("kind", sorted(asked.kinds)))
    if asked.project is not None:
        parts.append(f"project = {quoted(asked.project)}")
    for tag in asked.tags:
        parts.append(f"array_has(tags, {quoted(tag)})")
    if asked.spelled is not None:
        fits = _fits(asked.spelled)
        if asked.spelled_in:
            # of these projects other versions are asked, below
            fits = f"{one_of('project', sorted(asked.spelled_in))} OR {fits}"
        parts.append(f"({fits})")
    for project, versions in sorted(asked.spelled_in.items()):
        parts.append(f"(project <> {quoted(project)} OR {_fits(versions)})")
    if asked.ids is not None:
        parts.append(one_of("entry_id", sorted(asked.ids)))
    # last, because it reads the text
    for phrase in asked.phrases:
        parts.append(f"regexp_like(fts_text, {quoted(pattern(phrase))})")
    return " AND ".join(parts)


def _fits(versions: frozenset[str]) -> str:
    # an entry that states no version fits any; of an empty list the length is NULL
    fits = "array_length(versions) IS NULL OR array_length(versions) = 0"
    if versions:
        spellings = ", ".join(map(quoted, sorted(versions)))
        fits += f" OR array_has_any(versions, [{spellings}])"
    return f"({fits})"
