"""What became of the code and the versions that entries speak of, by entry.

`code_folder` looks at the code. `places` has what is known of a place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.app.outdated import Outdated
from ai_lessons.app.written import Stale
from ai_lessons.features.anchors.code_folder import UNASKED, code_around
from ai_lessons.features.anchors.facts import NAME, anchors_in
from ai_lessons.features.anchors.fingerprints import SILENCED, CodeVerdict
from ai_lessons.features.anchors.sentences import AnchorVerdict
from ai_lessons.model.entries import Beside, EntrySummary, Filter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ai_lessons.app.workspace import Reading, RepositorySession
    from ai_lessons.features.anchors.anchors import Anchor

# Anchors whose history one look reads at most; the next look reads that of the others
_QUESTIONS = 20
_OUTDATED = frozenset({CodeVerdict.CHANGED, *SILENCED})
_NOT_COMPARED = "not compared: that code is not here"

# by the id of the entry, a row for each anchor
Looked = dict[str, list[AnchorVerdict]]


def look_at(
    reading: Reading,
    summaries: Sequence[EntrySummary],
    *,
    unasked: bool = False,
    questions: int | None = None,
) -> Looked:
    """What became of each anchor of these entries.

    Left out: entries without anchors, and those whose code is not around the caller.
    `unasked`: history is asked little, else so many `questions` (None: all that there are).
    """
    by_repository: dict[int, list[EntrySummary]] = {}
    for summary in summaries:
        if anchors_in(summary):
            repository = reading.of(summary.id)
            by_repository.setdefault(id(repository), []).append(summary)
    if unasked:
        questions = UNASKED
    looked: Looked = {}
    for group in by_repository.values():
        looked |= _look_from(reading.of(group[0].id), group, questions)
    return looked


def _look_from(
    repository: RepositorySession, group: Iterable[EntrySummary], questions: int | None
) -> Looked:
    """As `look_at`, of entries of one repository."""
    code = code_around(repository, questions)
    if code is None:
        return {}
    owners: list[str] = []
    anchors_with_project: list[tuple[Anchor, str]] = []
    for summary in group:
        for anchor in anchors_in(summary):
            owners.append(summary.id)
            anchors_with_project.append((anchor, summary.project))
    # all at once: git starts once for all of them
    rows = code.look_at(anchors_with_project)
    code.close()
    looked: Looked = {}
    for entry_id, row in zip(owners, rows, strict=True):
        looked.setdefault(entry_id, []).append(row)
    return looked


def beside(
    reading: Reading, shown: Sequence[EntrySummary], *, unasked: bool = False
) -> dict[str, Beside]:
    """The verdicts on entries that are shown; of those whose code is not here no more than that."""
    looked = look_at(reading, shown, unasked=unasked)
    verdicts = {}
    for summary in shown:
        if summary.id in looked:
            verdicts[summary.id] = as_beside(looked[summary.id])
        else:
            away = [(str(anchor), _NOT_COMPARED) for anchor in anchors_in(summary)]
            verdicts[summary.id] = Beside(details=away)
    return verdicts


def as_beside(rows: Sequence[AnchorVerdict]) -> Beside:
    """What became of the anchors of one entry. The worst stands for all."""
    details = []
    for row in rows:
        details.append((row.anchor, row.detail))
    worst = max(rows, key=lambda row: row.verdict.rank)
    if worst.verdict is CodeVerdict.ELSEWHERE:
        return Beside(details=details)
    silences = worst.verdict in SILENCED
    return Beside(worst.verdict.value, worst.detail, silences, details)


def active(reading: Reading) -> tuple[list[EntrySummary], Looked]:
    """The active entries that speak of code, with their verdicts on them, and what became of it."""
    summaries = with_anchors(reading)
    looked = look_at(reading, summaries, questions=_QUESTIONS)
    judged = []
    for summary in summaries:
        if summary.id in looked:
            judged.append(summary._replace(beside=as_beside(looked[summary.id])))
        else:
            judged.append(summary)
    return judged, looked


def with_anchors(reading: Reading) -> list[EntrySummary]:
    """The active entries that state anchors, the newest first."""
    if not reading.catalog.facts(NAME):
        # no need to read all entries
        return []
    return [summary for summary in reading.catalog.select(Filter()) if anchors_in(summary)]


def outdated(repository: RepositorySession) -> Iterator[Outdated]:
    """Active entries whose code changed or is gone, or whose versions are not in use.

    Those come first whose code changed most often: they are most likely wrong.
    """
    repository.current()
    for summary, _ in _outdated(repository):
        yield Outdated(summary, "about", summary.beside.warning)


def _outdated(reading: Reading) -> list[tuple[EntrySummary, list[AnchorVerdict]]]:
    summaries, looked = active(reading)
    rows = []
    for summary in summaries:
        if summary.beside.verdict in _OUTDATED:
            rows.append((summary, looked[summary.id]))
    rows.sort(key=lambda row: -sum(verdict.changes for verdict in row[1]))
    return rows


def stale(repository: RepositorySession) -> Iterator[Stale]:
    """Each anchor that `outdated` is about, as a list of stale sources has it."""
    repository.current()
    for summary, verdicts in _outdated(repository):
        for row in verdicts:
            if row.verdict in _OUTDATED:
                yield Stale(summary.handle, summary.title, row.anchor, row.detail)


def elsewhere(repository: RepositorySession) -> list[str]:
    """The names of the code that active entries speak of and that is not here."""
    summaries, _ = active(repository)
    names = set()
    for summary in summaries:
        if summary.beside.verdict:
            continue
        for anchor in anchors_in(summary):
            # a package is in no folder
            if not anchor.package:
                names.add(anchor.repository or summary.project)
    return sorted(names)
