"""What features say of entries that are shown.

Sentences below an answer, and a verdict beside an entry.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons import extensions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from ai_lessons.app.workspace import Library, Reading
    from ai_lessons.model.entries import EntrySummary


class Beside(NamedTuple):
    """What a feature finds of one entry.

    A `verdict` in one word, and the same as a sentence (`warning`).
    """

    verdict: str
    warning: str = ""


def notes_on(library: Library, shown: Sequence[EntrySummary]) -> list[str]:
    """The sentences of features below an answer that shows these entries."""
    sentences: list[str] = []
    for notes, entries in _asked("notes", library.reading, shown):
        notes_of: Callable[[Library, list[EntrySummary]], Iterable[str]] = notes
        sentences += notes_of(library, entries)
    return sentences


def with_verdicts(
    reading: Reading, shown: Sequence[EntrySummary], *, unasked: bool = False
) -> list[EntrySummary]:
    """The entries with the verdicts of features on them.

    `unasked`: a hook asks, which has no time to look for long.
    """
    verdicts: dict[str, Beside] = {}
    for judge, entries in _asked("beside", reading, shown):
        beside_of: Callable[..., Mapping[str, Beside]] = judge
        verdicts |= beside_of(reading, entries, unasked=unasked)
    judged = []
    for summary in shown:
        beside = verdicts.get(summary.id)
        if beside is None:
            judged.append(summary)
        else:
            judged.append(summary._replace(verdict=beside.verdict, warning=beside.warning))
    return judged


def _asked(
    what: str, reading: Reading, shown: Sequence[EntrySummary]
) -> Iterator[tuple[Callable[..., Any], list[EntrySummary]]]:
    """What the features add of which the catalog keeps facts on these entries, with those.

    No other is loaded.
    """
    for feature in extensions.rows():
        place = getattr(feature, what)
        if not place:
            continue
        facts = reading.catalog.facts(feature.name)
        entries = []
        for summary in shown:
            if summary.id in facts:
                entries.append(summary)
        if entries:
            yield extensions.load(feature.place(place)), entries
