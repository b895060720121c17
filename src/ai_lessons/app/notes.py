"""What features say of entries that are shown, and which entries they name at a change.

Sentences below an answer, a verdict beside an entry, entries that speak of lines of a file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons import extensions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from ai_lessons.app.workspace import Library, Reading
    from ai_lessons.model.entries import Beside, EntrySummary


class Touched(NamedTuple):
    """An entry that speaks of what a change touches: in which words, and where that is.

    `became`: what became of it, where it is not as it was.
    """

    entry: EntrySummary
    what: str
    line: int
    path: str
    became: str = ""


class Diagnostic(NamedTuple):
    """What is wrong in a file of code, at the lines `first` to `last`, counted from 1.

    `handle`: of the entry that says so. `exact`: the lines are those of one statement.
    """

    handle: str
    message: str
    first: int
    last: int
    severe: bool = False
    exact: bool = False


def described(key: str, fields: Mapping[str, Any]) -> list[str]:
    """Lines for people in the place of what a key of frontmatter states; none: as it stands."""
    place = extensions.named("described").get(key)
    if place is None:
        return []
    describe: Callable[[Mapping[str, Any]], list[str]] = extensions.load(place)
    return describe(fields)


def diagnostics(library: Library, path: str) -> Iterator[Diagnostic]:
    """What features find wrong in a file of the project around, as it is saved."""
    for _, look in extensions.added("diagnostics"):
        yield from look(library, path)


def notes_on(library: Library, shown: Sequence[EntrySummary]) -> list[str]:
    """The sentences of features below an answer that shows these entries."""
    sentences: list[str] = []
    for notes, entries in _asked("notes", library.reading, shown):
        notes_of: Callable[[Library, list[EntrySummary]], Iterable[str]] = notes
        sentences += notes_of(library, entries)
    return sentences


def notes_whole(library: Library, summary: EntrySummary) -> list[str]:
    """The sentences of features below an entry that is shown whole."""
    sentences = notes_on(library, [summary])
    for notes, _ in _asked("notes_whole", library.reading, [summary]):
        notes_of: Callable[[Library, EntrySummary], Iterable[str]] = notes
        sentences += notes_of(library, summary)
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
            judged.append(summary._replace(beside=beside))
    return judged


def touched(library: Library, changed: Mapping[str, Iterable[int]]) -> list[Touched]:
    """The entries that speak of what a change touches, as the features find them.

    `changed` has the lines of each file, as it is now and from 1. A file without lines was removed
    or renamed.
    """
    hits: list[Touched] = []
    for _, entries_at in extensions.added("touched"):
        hits += entries_at(library, changed)
    return hits


def keys_in_words(fields: Mapping[str, object]) -> dict[str, list[str]]:
    """What is stated under keys of features, in the words that a person reads."""
    words: dict[str, list[str]] = {}
    for key, place in extensions.named("shown").items():
        if key in fields:
            in_words: Callable[[object], Iterable[str]] = extensions.load(place)
            words[key] = list(in_words(fields[key]))
    return words


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
