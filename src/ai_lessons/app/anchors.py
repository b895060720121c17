"""What became of the code and the versions that entries speak of, by entry and by place.

`code_folder` looks at the code, `anchor_writing` finds what a new entry speaks of, and
`anchor_renewal` looks again for a person who says that an entry still holds.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.app.anchor_writing import anchor_as_typed
from ai_lessons.app.answers import Stale
from ai_lessons.app.code_folder import UNASKED, AnchorVerdict, CodeFolder, code_around
from ai_lessons.errors import AiLessonsError
from ai_lessons.git import external_files
from ai_lessons.model import anchors, definitions, layout
from ai_lessons.model.anchors import Anchor, Verdict, anchors_of
from ai_lessons.model.entries import EntrySummary, Filter, Kind, json_fields

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from ai_lessons.app.workspace import Library, Reading, RepositorySession

_OUTDATED = frozenset({Verdict.CHANGED, *anchors.SILENCED})


@json_fields("anchor", "verdict", "detail", entry=True)
class EntryAbout(NamedTuple):
    """An entry that speaks of a place, with the anchors that say so and what became of them."""

    entry: EntrySummary
    anchor: str
    verdict: Verdict
    detail: str = ""


def judge(
    reading: Reading,
    summaries: Sequence[EntrySummary],
    *,
    unasked: bool = False,
    questions: int | None = None,
) -> list[EntrySummary]:
    """The entries, those that state anchors with `verdict` (of the worst), `warning` and `anchors`.

    Where the caller's folder is not their code they stay as they are. `unasked`: history is asked
    little, else so many `questions` (None: all that there are).
    """
    by_repo: dict[int, list[EntrySummary]] = {}
    for summary in summaries:
        if anchors_of(summary.about):
            by_repo.setdefault(id(reading.of(summary.id)), []).append(summary)
    looked: dict[str, list[AnchorVerdict]] = {}
    for group in by_repo.values():
        if code := code_around(reading.of(group[0].id), UNASKED if unasked else questions):
            owners: list[str] = []
            questions_to_git: list[tuple[Anchor, str]] = []
            for summary in group:
                for anchor in anchors_of(summary.about):
                    owners.append(summary.id)
                    questions_to_git.append((anchor, summary.project))
            # all at once: git starts once for all of them
            for entry_id, verdict in zip(owners, code.look_at(questions_to_git), strict=True):
                looked.setdefault(entry_id, []).append(verdict)
            code.close()
    judged = []
    for summary in summaries:
        rows = looked.get(summary.id, [])
        worst = max(rows, key=lambda row: row.verdict.rank, default=None)
        if worst and worst.verdict is not Verdict.ELSEWHERE:
            warned = summary._replace(
                verdict=worst.verdict.value, warning=worst.detail, anchors=rows
            )
            judged.append(warned)
        else:
            judged.append(summary)
    return judged


def _judged(reading: Reading) -> list[EntrySummary]:
    """The active entries that speak of code, as `judge` has them."""
    summaries = []
    for summary in reading.catalog.select(Filter()):
        if summary.about:
            summaries.append(summary)
    # the next look reads the history of the rest
    return judge(reading, summaries, questions=20)


def outdated(reading: Reading) -> list[EntrySummary]:
    """Active entries that speak of code here that changed or is gone, or of versions not in use, most changed first."""
    summaries: list[EntrySummary] = []
    for summary in _judged(reading):
        if summary.verdict in _OUTDATED:
            summaries.append(summary)
    # what changed most often is most likely wrong
    return sorted(summaries, key=lambda summary: -sum(row.changes for row in summary.anchors))


def unmatched(repo: RepositorySession, applies_to: object, project: str) -> list[str]:
    """Notes for a person who writes globs that name no file of the code here."""
    code = None
    if layout.globs(applies_to):
        code = code_around(repo)
    if code:
        return code.unmatched(applies_to, project)
    return []


def elsewhere(reading: Reading) -> list[str]:
    """The names of the code that active entries speak of and that is not here, so nothing is known of them."""
    summaries = []
    for summary in _judged(reading):
        if not summary.verdict:
            summaries.append(summary)
    names = set()
    for summary in summaries:
        for anchor in anchors_of(summary.about):
            # a package is in no folder
            if not anchor.package:
                names.add(anchor.repository or summary.project)
    return sorted(names)


def stale(reading: RepositorySession) -> list[Stale]:
    """What `outdated` has, as a list of stale sources has it."""
    reading.current()
    results: list[Stale] = []
    for summary in outdated(reading):
        for row in summary.anchors:
            if row.verdict in _OUTDATED:
                results.append(Stale(summary.handle, summary.title, row.anchor, row.detail))
    return results


def about(library: Library, place: str) -> tuple[EntryAbout, ...]:
    """The active entries that speak of a file, a folder and what is below it, a symbol in a file, or a command.

    Raises UsageError: it names no place.
    """
    reading = library.reading
    reading.current()
    cwd = library.primary.options.cwd
    _, _, commands = anchors.sorted_out([place])
    if commands:
        return tuple(_about_a_command(reading, commands[0]))
    asked_places = _by_each_name(
        anchor_as_typed(place, cwd, external_files.top_of(cwd)), external_files.top_of(cwd)
    )
    hits = _with_globs_for(reading, asked_places)
    for summary in _judged(reading):
        verdicts = {row.anchor: row for row in summary.anchors}
        for anchor in anchors_of(summary.about):
            row = verdicts.get(str(anchor), AnchorVerdict(str(anchor), Verdict.ELSEWHERE))
            spoken_of = [anchor, *([anchors.parse(row.place)] if row.place else [])]
            if any(_concerns(each, asked) for each in spoken_of for asked in asked_places):
                hits.append(EntryAbout(summary, str(anchor), row.verdict, row.detail))
    by_entry: dict[str, list[EntryAbout]] = {}
    for hit in hits:
        by_entry.setdefault(hit.entry.id, []).append(hit)
    # an entry that names a place by glob and by anchor is shown once
    return tuple(map(_as_one, by_entry.values()))


def _about_a_command(reading: Reading, asked: str) -> list[EntryAbout]:
    """The active entries that speak of a command."""
    hits: list[EntryAbout] = []
    for summary in reading.catalog.select(Filter()):
        for command in anchors.commands_of(summary.about):
            if _same(command, asked):
                hits.append(EntryAbout(summary, f"command: {command}", Verdict.HOLDS))
    return hits


def _with_globs_for(reading: Reading, asked_places: Sequence[Anchor]) -> list[EntryAbout]:
    """The rules and lessons whose globs name a place; a symbol in a file is named by none."""
    paths: list[str] = []
    for asked in asked_places:
        if not asked.symbol:
            paths.append(asked.path)
    hits: list[EntryAbout] = []
    if not paths:
        return hits
    for summary in reading.catalog.about_files(frozenset({Kind.RULE, Kind.LESSON})):
        for glob in layout.stated(summary.applies_to):
            if layout.any_match([glob], paths):
                hits.append(EntryAbout(summary, glob, Verdict.HOLDS))
    return hits


def _by_each_name(asked: Anchor, top: Path | None) -> list[Anchor]:
    """A place as it is called, and as it lies in the code, where a link leads to it."""
    if asked.package or top is None:
        return [asked]
    real = os.path.realpath(top / asked.path)
    name = os.path.relpath(real, os.path.realpath(top)) + "/" * asked.path.endswith("/")
    if name.startswith("..") or name == asked.path:
        return [asked]
    return [asked, asked._replace(path=name)]


def _as_one(hits: Sequence[EntryAbout]) -> EntryAbout:
    """One entry once, with all that it names there, and what became of the first of these that changed."""
    worst = next((hit for hit in hits if hit.verdict is not Verdict.HOLDS), hits[0])
    return worst._replace(anchor=", ".join(dict.fromkeys(hit.anchor for hit in hits)))


def _same(stated: str, asked: str) -> bool:
    """Whether one of two commands goes on where the other ends."""
    return f"{stated} ".startswith(f"{asked} ") or f"{asked} ".startswith(f"{stated} ")


def _concerns(anchor: Anchor, asked: Anchor) -> bool:
    """Whether an anchor is about a place, what is in it, or what it is in."""
    if anchor.package or asked.package:
        return anchor.package == asked.package
    a, b = f"{anchor.path.rstrip('/')}/", f"{asked.path.rstrip('/')}/"
    if a != b:
        return a.startswith(b) or (b.startswith(a) and not anchor.symbol)
    first, second = f"{anchor.symbol}.", f"{asked.symbol}."
    return (
        not (anchor.symbol and asked.symbol) or first.startswith(second) or second.startswith(first)
    )


class Touched(NamedTuple):
    """An entry that speaks of what a change touches, by which anchor, and where that is."""

    entry: EntrySummary
    anchor: str
    line: int
    path: str


def entries_about(library: Library, changed: Mapping[str, Iterable[int]]) -> list[Touched]:
    """The active entries that speak of what a change touches, each once for each of its anchors, by path and line.

    `changed` has the lines of each file, as it is now and from 1; a file without lines was removed or renamed.
    """
    reading = library.reading
    reading.current()
    touched = {path: {*lines} for path, lines in changed.items()}
    code = code_around(library.primary)
    hits = []
    for summary in _judged(reading):
        for row in summary.anchors:
            anchor = anchors.parse(row.anchor)
            for path, lines in touched.items():
                if (
                    row.verdict is not Verdict.ELSEWHERE
                    and not anchor.package
                    and _concerns(anchor, Anchor(path))
                ):
                    line = _touched_line(code, anchor, path, lines)
                    if line or row.verdict is not Verdict.HOLDS:
                        hits.append(
                            Touched(summary, row.anchor, line or min(lines, default=1), path)
                        )
    hits.sort(key=lambda hit: (hit.path, hit.line, hit.entry.id))
    return list({(hit.entry.id, hit.anchor): hit for hit in reversed(hits)}.values())[::-1]


def _touched_line(code: CodeFolder | None, anchor: Anchor, path: str, lines: set[int]) -> int:
    """The first of these lines that is of the anchor's; 0: none of them is."""
    if not anchor.symbol or anchor.path != path:
        return min(lines, default=1)
    part = None
    with suppress(AiLessonsError):
        part = None
        if code:
            part = definitions.definition(path, code.text(path), anchor.symbol)
    if part:
        spans = part.lines
    else:
        spans = ()
    return min(
        (line for line in lines for first, last in spans if first <= line <= last), default=0
    )
