"""What to know before one begins: rules in force and lessons for a project, some tags, or files about to be edited.

Comes from the catalog alone, so that a hook can ask before every edit; the index is loaded only for words to search.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ai_lessons.errors import UsageError
from ai_lessons.index.catalog_reading import Filter
from ai_lessons.index.ranking import context_boost, context_weights
from ai_lessons.knowledge.entries import GLOBAL_PROJECT, Confidence, Kind
from ai_lessons.knowledge.globs import any_match, stated
from ai_lessons.library.answers import Context, Query
from ai_lessons.library.injecting import Injecting, record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ai_lessons.knowledge.entries import Light
    from ai_lessons.library.answers import Approval, ContextQuery
    from ai_lessons.library.opened import Library, Reading

LOOKED_AT = 500
"""Newest lessons of a project or tag among which the surest are chosen."""

_BY_PATH, _BY_PROJECT, _BY_GLOBAL = 2.0, 1.0, 0.5
"""What the reasons weigh, beside the tags: a file names an entry by itself, `global` rules hold everywhere a little."""

_SURE = {word.value: place for place, word in enumerate(Confidence)}


def context(library: Library, query: ContextQuery) -> Context:
    """Rules in force and lessons for what one is about to do. Without words to search for it loads no index.

    Rules come first, but no more than half of the budget while there are lessons for the rest. What came is recorded.
    An entry comes for one of these reasons: `applies_to` names one of the files, it lies in the project, it carries a
    context tag, or (rules) it is global. With nothing but files asked for only the first one counts, and an entry that
    says what files it is about never comes for others. With words to search for, lessons come by file or by the search.
    With nothing asked for at all the project is `global`. Of the lessons come those that pass what was learned, see
    `learning.choose`. Raises UsageError: a budget below 1.
    """
    parts = library.reading
    parts.current()
    found = context_of(parts, query)
    return found._replace(notes=(*found.notes, *record(parts, found)))


def context_of(parts: Reading, query: ContextQuery) -> Context:
    """The same from the catalog as it was last brought up to date, for a job that asks more than once.

    What came is not written down: that is for whoever shows it, by `injecting.record`.
    """
    if query.budget is not None and query.budget < 1:
        raise UsageError(f"a budget of {query.budget} leaves room for nothing", hint="--budget 10")
    injecting = Injecting(parts, query.budget)
    asked = _Asked(parts, query, injecting.budget)
    rules = asked.rules()
    lessons, left_out, edges = injecting.choose(asked.lessons(), query, len(rules))
    chosen = tuple(rules[: injecting.budget - len(lessons)])
    notes = parts.notes()
    if len(rules) > len(chosen):
        notes.append(f"{len(rules) - len(chosen)} more rules apply, beyond the budget of {injecting.budget}")
    return Context(
        chosen,
        tuple(lessons),
        (*notes, *(injecting.question() if lessons else ())),
        _approvals(parts, chosen) if query.approvals else {},
        tuple(left_out),
        edges,
    )


def _approvals(parts: Reading, rules: Sequence[Light]) -> dict[str, Approval]:
    from ai_lessons.library.provenance import approvals_of

    return approvals_of(parts, rules)


class _Asked:
    """One question, and what there is for it."""

    def __init__(self, parts: Reading, query: ContextQuery, budget: int) -> None:
        self._parts, self._query, self._budget = parts, query, budget
        self._paths = [_in_project(path, parts.options.cwd) for path in query.paths]
        # the settings are worth loading YAML only where there are tags that may have other names
        self._aliases = parts.reading_config.tag_aliases if query.context_tags else {}
        self._weights = context_weights(query.context_tags, self._aliases)
        anything = query.paths or query.context_tags or query.query.strip()
        self._project = query.project or (None if anything else GLOBAL_PROJECT)
        self._only_paths = not (self._project or query.context_tags or query.query.strip())

    def rules(self) -> list[Light]:
        """The rules that apply, nearest first."""
        if not self._parts.rules.count:
            return []
        catalog, kinds = self._parts.catalog, frozenset({Kind.RULE})
        known = catalog.with_globs(kinds) if self._only_paths else catalog.select(Filter(kinds=kinds))
        found = self._nearest(known)
        if self._query.query.strip():
            here = {light.id for light in found}
            surfacing = (light for light in self._searched(frozenset()) if light.kind is Kind.RULE)
            found += [light for light in surfacing if light.id not in here and self._may_come(light)]
        return found

    def lessons(self) -> list[Light]:
        """The lessons, nearest first, then the surest, then the newest."""
        catalog, kinds = self._parts.catalog, frozenset({Kind.LESSON})
        found = {light.id: light for light in catalog.with_globs(kinds)} if self._paths else {}
        if self._query.query.strip():
            named = self._nearest(light for light in found.values() if self._names_a_path(light))
            here = {light.id for light in named}
            return named + [light for light in self._searched(kinds) if light.id not in here and self._may_come(light)]
        for wanted in self._filters(kinds):
            found |= {light.id: light for light in catalog.select(wanted)}
        return self._nearest(found.values())

    def _filters(self, kinds: frozenset[Kind]) -> Iterator[Filter]:
        if self._project:
            yield Filter(kinds=kinds, project=self._project, limit=LOOKED_AT)
        for tag in self._spellings():
            yield Filter(kinds=kinds, tags=(tag,), limit=LOOKED_AT)

    def _spellings(self) -> Iterator[str]:
        """The context tags under all their names."""
        for tag, weight in self._weights.items():
            if weight > 0:
                yield tag
                yield from (alias for alias, name in self._aliases.items() if name == tag)

    def _nearest(self, lights: Iterable[Light]) -> list[Light]:
        scored = [light._replace(score=score) for light in lights if (score := self._score(light)) > 0]
        scored.sort(key=lambda light: (str(light.details.get("created") or ""), light.id), reverse=True)
        scored.sort(key=lambda light: (-(light.score or 0), -_SURE.get(light.details.get("confidence") or "", 2)))
        return scored

    def _score(self, light: Light) -> float:
        """How much speaks for the entry, 0 if nothing does."""
        if not self._may_come(light):
            return 0.0
        score = _BY_PATH * self._names_a_path(light)
        if self._only_paths:
            return score
        score += context_boost(self._weights, frozenset(light.tags), self._aliases) - 1
        score += _BY_PROJECT * (light.project == self._project)
        holds_everywhere = light.kind is Kind.RULE and light.project == GLOBAL_PROJECT
        return score + _BY_GLOBAL * (holds_everywhere and light.project != self._project)

    def _may_come(self, light: Light) -> bool:
        return not self._paths or not stated(light.details.get("applies_to")) or self._names_a_path(light)

    def _names_a_path(self, light: Light) -> bool:
        return any_match(stated(light.details.get("applies_to")), self._paths)

    def _searched(self, kinds: frozenset[Kind]) -> list[Light]:
        from ai_lessons.library.searching import find

        query = self._query
        asked = Query(query.query, kinds, project=query.project, limit=self._budget, plain=True)
        hits, _ = find(self._parts, asked._replace(context_tags=query.context_tags))
        return [hit.entry for hit in hits]


def _in_project(path: str, cwd: Path) -> str:
    """A file of the caller's as its own project sees it: from the folder that holds `.git`, else from `cwd`."""
    whole = Path(os.path.normpath(cwd / os.path.expanduser(path)))
    root = next((folder for folder in whole.parents if (folder / ".git").exists()), cwd)
    if whole.is_relative_to(root):
        return whole.relative_to(root).as_posix()
    return whole.as_posix().lstrip("/")
