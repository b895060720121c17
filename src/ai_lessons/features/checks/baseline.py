"""Findings that are known, in a file: only others are reported."""

from __future__ import annotations

import json
import os
from collections import Counter
from operator import eq
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.errors import NotFound, UsageError
from ai_lessons.features.checks.findings import mark_of
from ai_lessons.features.checks.reading import file_text
from ai_lessons.git import external_files

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ai_lessons.features.checks.findings import Finding

# marks of the lines above and below
Near = tuple[str, str]
_VERSION = 1


class Place(NamedTuple):
    """What a finding is known by: its rule, the mark of its text, its file."""

    rule: str
    mark: str
    path: str


def place_of(finding: Finding) -> Place:
    """By what a finding is known."""
    return Place(finding.id, finding.mark, finding.path)


class Baseline:
    """Known findings: of each place those with their neighbours, and how many without."""

    def __init__(self) -> None:
        self._near: dict[Place, list[Near]] = {}
        self._counts: Counter[Place] = Counter()

    def add(self, place: Place, count: int, near: Sequence[Near]) -> None:
        """So many findings of a text; where each stands, as far as that is known."""
        self._near.setdefault(place, []).extend(near[:count])
        self._counts[place] += count - len(near[:count])

    def fresh(self, findings: Sequence[Finding], top: Path) -> list[Finding]:
        """The findings that are not known.

        One is known where its neighbours are those of a known one, or one of them is. What is left
        of a text is taken for known while there are known ones whose neighbours are gone from the
        file: the code around them was written anew. A known finding whose neighbours still stand
        without it was mended, and hides no other one.
        """
        left = {place: [*near] for place, near in self._near.items()}
        counts = self._counts.copy()
        unmatched = _without_fitting(findings, left, eq)
        unmatched = _without_fitting(unmatched, left, _half_the_same)
        lines = _LinesOfFiles(top)
        fresh = []
        for finding in unmatched:
            place = place_of(finding)
            moved = _first_moved(left.get(place, ()), lines, finding.path)
            if moved is not None:
                left[place].remove(moved)
            elif counts[place] > 0:
                counts[place] -= 1
            else:
                fresh.append(finding)
        return fresh


class _LinesOfFiles:
    """The marks of the lines of files, as they are now."""

    def __init__(self, top: Path) -> None:
        self._top = top
        self._marks: dict[str, set[str]] = {}

    def of(self, path: str) -> set[str]:
        """Those of one file, which is read once."""
        if path not in self._marks:
            text = file_text(self._top, path).text or ""
            self._marks[path] = {mark_of(row) for row in text.split("\n")}
        return self._marks[path]


def _without_fitting(
    findings: Sequence[Finding], left: dict[Place, list[Near]], fits: Callable[[Near, Near], bool]
) -> list[Finding]:
    """The findings whose neighbours fit those of no known one; what fits is taken from `left`."""
    remaining = []
    for finding in findings:
        known_near = left.get(place_of(finding), [])
        for near in known_near:
            if fits(near, finding.near):
                known_near.remove(near)
                break
        else:
            remaining.append(finding)
    return remaining


def _half_the_same(near: Near, other: Near) -> bool:
    above, below = near
    return (above != "" and above == other[0]) or (below != "" and below == other[1])


def _first_moved(places: Sequence[Near], lines: _LinesOfFiles, path: str) -> Near | None:
    """The first of the known neighbours of which neither stands in the file any more."""
    for near in places:
        if not lines.of(path).intersection(near):
            return near
    return None


def known_before(cwd: Path, file: str, since: str, *, write: bool) -> Baseline:
    """What a baseline has; nothing without one, and where it is written anew.

    Raises NotFound, UsageError.
    """
    if write and (since or not file):
        hint = "--baseline FILE --write-baseline, without --since"
        raise UsageError("a baseline holds what stands in all lines", hint=hint)
    if file and not write:
        return _read(cwd / file)
    return Baseline()


def _read(file: Path) -> Baseline:
    """The findings that are known. Raises NotFound, UsageError."""
    baseline = Baseline()
    try:
        stated = json.loads(external_files.read(file)[0])
        if stated["version"] != _VERSION:
            raise ValueError(stated["version"])
        for row in stated["findings"]:
            near = []
            # one of an older program says only how often
            for above, below in row.get("near", ()):
                near.append((str(above), str(below)))
            place = Place(row["rule"], row["line"], row["path"])
            baseline.add(place, int(row["count"]), near)
    except NotFound as error:
        raise NotFound(
            "baseline", str(file), hint="make it of what is found now: add --write-baseline"
        ) from error
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise UsageError(
            f"{file} is no baseline of findings", hint="make it anew: --write-baseline"
        ) from error
    return baseline


def write(file: Path, top: Path, findings: Sequence[Finding]) -> Baseline:
    """Write what is known from now on, and return it. Raises UsageError."""
    is_inside = Path(os.path.normpath(file)).is_relative_to(top)
    if is_inside and not file.parent.resolve().is_relative_to(top.resolve()):
        hint = "name the file that it leads to"
        raise UsageError(f"{file.parent} leads out of {top} by a link", hint=hint)
    places: dict[Place, list[Near]] = {}
    for finding in findings:
        places.setdefault(place_of(finding), []).append(finding.near)
    baseline = Baseline()
    rows = []
    for place, near in sorted(places.items(), key=_by_path):
        baseline.add(place, len(near), near)
        rows.append({
            "path": place.path,
            "rule": place.rule,
            "line": place.mark,
            "count": len(near),
            "near": sorted(near),
        })  # fmt: skip
    text = json.dumps({"version": _VERSION, "findings": rows}, indent=1)
    external_files.write(file, f"{text}\n".encode())
    return baseline


def _by_path(item: tuple[Place, list[Near]]) -> tuple[str, str, str]:
    place, _ = item
    return place.path, place.rule, place.mark
