"""What is known of a place in code: of a file, a folder, a symbol, a command, or of lines that change."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.app.notes import Touched
from ai_lessons.errors import AiLessonsError
from ai_lessons.features.anchors import definitions, verdicts
from ai_lessons.features.anchors.anchors import Anchor, parse, sorted_out
from ai_lessons.features.anchors.code_folder import CodeFolder, code_around
from ai_lessons.features.anchors.facts import anchors_in, with_facts
from ai_lessons.features.anchors.fingerprints import CodeVerdict
from ai_lessons.features.anchors.resolving import anchor_as_typed
from ai_lessons.features.anchors.sentences import AnchorVerdict
from ai_lessons.git import external_files
from ai_lessons.model import layout
from ai_lessons.model.entries import EntrySummary, Filter, Kind, json_fields
from ai_lessons.model.names import COMMANDS, names_of_summary

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from ai_lessons.app.workspace import Library, Reading


@json_fields("anchor", "verdict", "detail", entry=True)
class EntryAbout(NamedTuple):
    """An entry that speaks of a place, with the anchors that say so and what became of them."""

    entry: EntrySummary
    anchor: str
    verdict: CodeVerdict
    detail: str = ""


def about(library: Library, place: str) -> tuple[EntryAbout, ...]:
    """The active entries that speak of a place, each once.

    A place is a file, a folder and what is below it, a symbol in a file, or a command.

    Raises UsageError: it names no place.
    """
    reading = library.reading
    reading.current()
    _, _, commands = sorted_out([place])
    if commands:
        return tuple(_about_a_command(reading, commands[0]))
    cwd = library.primary.options.cwd
    top = external_files.top_of(cwd)
    asked_places = _by_each_name(anchor_as_typed(place, cwd, top), top)
    hits = _with_globs_for(reading, asked_places) + _with_anchors_for(reading, asked_places)
    by_entry: dict[str, list[EntryAbout]] = {}
    for hit in hits:
        by_entry.setdefault(hit.entry.id, []).append(hit)
    # an entry that names a place by glob and by anchor is shown once
    return tuple(map(_joined, by_entry.values()))


def _about_a_command(reading: Reading, asked: str) -> list[EntryAbout]:
    """The active entries that speak of a command."""
    hits: list[EntryAbout] = []
    for summary in with_facts(reading, reading.catalog.select(Filter())):
        for command in names_of_summary(summary).get(COMMANDS, ()):
            if _goes_on(command, asked) or _goes_on(asked, command):
                hits.append(EntryAbout(summary, f"command: {command}", CodeVerdict.HOLDS))
    return hits


def _goes_on(command: str, beginning: str) -> bool:
    """Whether a command has these words, and perhaps others behind them."""
    return f"{command} ".startswith(f"{beginning} ")


def _with_globs_for(reading: Reading, asked_places: Sequence[Anchor]) -> list[EntryAbout]:
    """The rules and lessons whose globs name a place; a symbol in a file is named by none."""
    paths: list[str] = []
    for asked in asked_places:
        if not asked.symbol:
            paths.append(asked.path)
    hits: list[EntryAbout] = []
    if not paths:
        return hits
    for summary in reading.catalog.with_globs(frozenset({Kind.RULE, Kind.LESSON})):
        for glob in layout.stated(summary.stated.applies_to):
            if layout.any_match([glob], paths):
                hits.append(EntryAbout(summary, glob, CodeVerdict.HOLDS))
    return hits


def _with_anchors_for(reading: Reading, asked_places: Sequence[Anchor]) -> list[EntryAbout]:
    """The active entries whose anchors name a place, as it was or as it is called by now."""
    hits: list[EntryAbout] = []
    summaries, looked = verdicts.active(reading)
    for summary in summaries:
        rows = {row.anchor: row for row in looked.get(summary.id, ())}
        for anchor in anchors_in(summary):
            row = rows.get(str(anchor), AnchorVerdict(str(anchor), CodeVerdict.ELSEWHERE))
            names = [anchor]
            if row.place:
                names.append(parse(row.place))
            if any(_concerns(name, asked) for name in names for asked in asked_places):
                hits.append(EntryAbout(summary, str(anchor), row.verdict, row.detail))
    return hits


def _by_each_name(asked: Anchor, top: Path | None) -> list[Anchor]:
    """A place as it is called, and as it lies in the code, where a link leads to it."""
    if asked.package or top is None:
        return [asked]
    real = os.path.realpath(top / asked.path)
    name = os.path.relpath(real, os.path.realpath(top))
    if asked.path.endswith("/"):
        name += "/"
    if name.startswith("..") or name == asked.path:
        return [asked]
    return [asked, asked._replace(path=name)]


def _joined(hits: Sequence[EntryAbout]) -> EntryAbout:
    """An entry with all that it names there, and what became of the first of these that changed."""
    worst = hits[0]
    for hit in hits:
        if hit.verdict is not CodeVerdict.HOLDS:
            worst = hit
            break
    names = dict.fromkeys(hit.anchor for hit in hits)
    return worst._replace(anchor=", ".join(names))


def _concerns(anchor: Anchor, asked: Anchor) -> bool:
    """Whether an anchor is about a place, what is in it, or what it is in."""
    if anchor.package or asked.package:
        return anchor.package == asked.package
    path, asked_path = f"{anchor.path.rstrip('/')}/", f"{asked.path.rstrip('/')}/"
    if path != asked_path:
        is_inside = path.startswith(asked_path)
        is_around = asked_path.startswith(path) and not anchor.symbol
        return is_inside or is_around
    if not (anchor.symbol and asked.symbol):
        return True
    symbol, asked_symbol = f"{anchor.symbol}.", f"{asked.symbol}."
    return symbol.startswith(asked_symbol) or asked_symbol.startswith(symbol)


def touched(library: Library, changed: Mapping[str, Iterable[int]]) -> list[Touched]:
    """The active entries that speak of what a change touches, by path and line.

    Each once for each of its anchors. `changed` is as `app.notes.touched` takes it.
    """
    reading = library.reading
    reading.current()
    lines_by_path = {path: {*lines} for path, lines in changed.items()}
    code = code_around(library.primary)
    hits = []
    summaries, looked = verdicts.active(reading)
    for summary in summaries:
        for row in looked.get(summary.id, ()):
            hits += _touched_by(summary, row, lines_by_path, code)
    hits.sort(key=lambda hit: (hit.path, hit.line, hit.entry.id))
    first_hits: dict[tuple[str, str], Touched] = {}
    for hit in hits:
        first_hits.setdefault((hit.entry.id, hit.what), hit)
    return list(first_hits.values())


def _touched_by(
    summary: EntrySummary,
    row: AnchorVerdict,
    changed: Mapping[str, set[int]],
    code: CodeFolder | None,
) -> list[Touched]:
    """Where a change touches what one anchor names."""
    anchor = parse(row.anchor)
    if row.verdict is CodeVerdict.ELSEWHERE or anchor.package:
        return []
    became = ""
    if row.verdict is not CodeVerdict.HOLDS:
        became = row.detail
    hits = []
    for path, lines in changed.items():
        if not _concerns(anchor, Anchor(path)):
            continue
        line = _touched_line(code, anchor, path, lines)
        if not line and row.verdict is not CodeVerdict.HOLDS:
            # what changed is about this file, wherever in it the change is
            line = min(lines, default=1)
        if line:
            hits.append(Touched(summary, row.anchor, line, path, became))
    return hits


def _touched_line(code: CodeFolder | None, anchor: Anchor, path: str, lines: set[int]) -> int:
    """The first of these lines that is of the anchor's; 0: none of them is."""
    if not anchor.symbol or anchor.path != path:
        return min(lines, default=1)
    part = None
    if code is not None:
        with suppress(AiLessonsError):
            part = definitions.definition(path, code.text(path), anchor.symbol)
    if part is None:
        return 0
    inside = set()
    for line in lines:
        if any(first <= line <= last for first, last in part.lines):
            inside.add(line)
    return min(inside, default=0)
