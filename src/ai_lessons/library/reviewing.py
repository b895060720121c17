"""Content that may have gone stale: what a person should look at again, and why.

An entry that was looked at (`reviewed`) rests for `REST` days, whatever is said of it; only a `review_by` that it was
given for a day after that look comes through.
"""

from __future__ import annotations

import os
from datetime import UTC, timedelta
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.errors import AiLessonsError, Problem
from ai_lessons.index.catalog_reading import Filter
from ai_lessons.knowledge.checks import day_of
from ai_lessons.knowledge.entries import Kind
from ai_lessons.knowledge.globs import matches, stated
from ai_lessons.knowledge.layout import side_of
from ai_lessons.knowledge.markdown import key_lines
from ai_lessons.learning.events import SCRIPT_FAILED, SCRIPT_OK
from ai_lessons.library import statements
from ai_lessons.library.health import stale_scripts
from ai_lessons.library.refreshing import is_known_source
from ai_lessons.library.relating import superseded_by
from ai_lessons.library.reports import Outdated
from ai_lessons.repository import code_repository, outside

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

    from ai_lessons.knowledge.entries import Light
    from ai_lessons.library.opened import Library
    from ai_lessons.library.session import Parts

REST = timedelta(days=180)
"""How long what was looked at is not asked about again."""

INJECTIONS = 10
"""A lesson that was shown so often and never helped is asked about."""

FAILURES = 3
"""A script whose last runs, so many, all failed is asked about."""


class ReviewReason(NamedTuple):
    """A reason to look again: a word, a sentence, and the key of the frontmatter that it is about, if it is one."""

    reason: str
    detail: str
    key: str = ""


def review(library: Library, injections: int = 10) -> tuple[Outdated, ...]:
    """Active entries that may have gone stale, the oldest first, once for each reason.

    `review_by` is past, `applies_to` names no file of the code one stands in, a source changed or is gone, the last
    runs of a script failed, a lesson was shown `injections` times and never helped. See `editing.keep`.
    """
    parts = library.primary
    looking = _Looking(parts, injections)
    return tuple(
        Outdated(light, one.reason, one.detail) for light, findings in looking.everything() for one in findings
    )


def problems(parts: Parts) -> list[Problem]:
    """The same as problems of files, each with its line where it is about one."""
    found = []
    for light, findings in _Looking(parts, INJECTIONS).everything():
        _, text = parts.load(light.id)
        lines = key_lines(text) if text else {}
        has_side = light.kind is Kind.SCRIPT and parts.store.exists(side_of(light.path))
        file = side_of(light.path) if has_side else light.path
        found += [Problem(file, f"to be reviewed: {one.detail}", lines.get(one.key, 0)) for one in findings]
    return found


class _Looking:
    """One look at everything. The folders and logs it asks are asked once."""

    def __init__(self, parts: Parts, injections: int) -> None:
        self._parts, self._injections = parts, injections
        self._today: date = parts.options.now().astimezone(UTC).date()

    def everything(self) -> Iterator[tuple[Light, list[ReviewReason]]]:
        """Entries with what there is to say of them, the oldest first."""
        catalog = self._parts.current()
        self._tallies = self._parts.usages.tallies()
        self._cache = self._parts.usages.cache
        self._asked = statements.questions(self._parts)
        self._gone = {one.handle: one for one in stale_scripts(self._parts)}
        self._code = code_repository.around(
            self._parts.options.cwd, self._parts.store.worktree.top, self._parts.store.root
        )
        for light in catalog.select(Filter(sort="created")):
            found = list(self._findings(light))
            if found and (light.kind is Kind.RULE or superseded_by(self._parts, light.id) is None):
                yield light, found

    def _findings(self, light: Light) -> Iterator[ReviewReason]:
        by, seen = day_of(light.details.get("review_by")), day_of(light.details.get("reviewed"))
        rests = seen is not None and self._today < seen + REST
        if by is not None and by <= self._today and not (rests and seen is not None and by <= seen):
            yield ReviewReason("review_by", f"it was to be reviewed by {by}", "review_by")
        yield from (
            ReviewReason("asked", f"an agent asks: {said}")
            for day, said in self._asked.get(light.id, ())
            if seen is None or str(seen) < day
        )
        if rests:
            return
        yield from self._dead_globs(light)
        if light.kind is Kind.DOC:
            yield from self._source(light)
        elif light.kind is Kind.LESSON:
            yield from self._never_helpful(light)
        elif light.kind is Kind.SCRIPT:
            if light.handle in self._gone:
                one = self._gone[light.handle]
                yield ReviewReason("source", f"{one.path}: {one.reason}", "path")
            yield from self._failing(light)

    def _dead_globs(self, light: Light) -> Iterator[ReviewReason]:
        """Only where the code is known that they are about."""
        patterns = stated(light.details.get("applies_to"))
        if patterns and self._code is not None and self._code.is_of(light.project):
            for pattern in patterns:
                if not any(matches(pattern, path) for path in self._code.files):
                    yield ReviewReason(
                        "applies_to", f"applies_to {pattern} names no file of {self._code.name}", "applies_to"
                    )

    def _source(self, light: Light) -> Iterator[ReviewReason]:
        """What was added elsewhere may be on the machine where it was read: here nothing is said, and nothing read."""
        source, hashed = light.details.get("source_path"), light.details.get("content_hash")
        if not source or not hashed or not is_known_source(self._parts, light.id, str(source)):
            return
        path = Path(os.path.expanduser(str(source)))
        if not path.is_absolute() or not path.parent.is_dir():
            return
        if not path.is_file():
            yield ReviewReason("source", f"its source is gone: {source}", "source_path")
            return
        try:
            data, _ = outside.read(path)
        except AiLessonsError:  # too large or not ours to read: `refresh-resource` tells
            return
        if f"sha256:{sha256(data).hexdigest()}" != hashed:
            yield ReviewReason("source", f"its source has changed: {source}", "content_hash")

    def _never_helpful(self, light: Light) -> Iterator[ReviewReason]:
        had = self._tallies.get(light.id)
        if had and not had.helpful and had.injected >= self._injections:
            yield ReviewReason("never_helpful", f"it was shown {had.injected} times and never helped")

    def _failing(self, light: Light) -> Iterator[ReviewReason]:
        had = self._tallies.get(light.id)
        if self._cache is None or had is None or had.script_failed < FAILURES:
            return
        if SCRIPT_OK not in self._cache.latest(light.id, (SCRIPT_OK, SCRIPT_FAILED), FAILURES):
            yield ReviewReason("failing", f"its last {FAILURES} runs failed")
