"""Evaluates an entry for another repository: its text, and what is there already."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.knowledge.evaluation import Facts, Secret, examine
from ai_lessons.knowledge.specifics import NO_NAMES, Names
from ai_lessons.library.promotion import similar_entries
from ai_lessons.library.secrets import secret_scan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ai_lessons.knowledge.entries import Entry
    from ai_lessons.knowledge.evaluation import Report
    from ai_lessons.library.parts import Parts


def evaluate(target: Parts, entry: Entry, files: Mapping[str, str], names: Names = NO_NAMES) -> Report:
    """The report on an entry for the repository `target`; `files` are its texts as they shall be, by path.

    `names` are those that belong to where the entry comes from. Writes nothing there but what is derived.
    """
    target.current()
    facts = Facts(
        names=names,
        secrets=_secrets(entry, files),
        similar=similar_entries.near(target, entry),
        contradictions=tuple(similar_entries.contradictions(target, entry)),
    )
    return examine(entry, files, facts)


def _secrets(entry: Entry, files: Mapping[str, str]) -> list[Secret]:
    may_stay = secret_scan.allowed(entry.fields)
    return [
        Secret(path, one.line, one.sort, one.fingerprint in may_stay)
        for path, text in files.items()
        for one in secret_scan.secrets_in(text)
    ]
