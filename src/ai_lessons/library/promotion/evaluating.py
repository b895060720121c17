"""Evaluates an entry for another repository: its text, and what there says much the same, or the opposite.

Entries are found by meaning where the search index can be opened, else by the words of titles; what comes near is read
and compared.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ai_lessons.errors import AiLessonsError
from ai_lessons.index.catalog_reading import Filter
from ai_lessons.knowledge import origins
from ai_lessons.knowledge.entries import Kind, Relation
from ai_lessons.knowledge.evaluation import NO_NAMES, Facts, Names, SecretFinding, Similar, examine
from ai_lessons.library import secret_scan
from ai_lessons.library.relating import alike, opposed
from ai_lessons.library.rules.rule_warnings import likeness, said, words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ai_lessons.knowledge.entries import Entry, Light, Pattern
    from ai_lessons.knowledge.evaluation import EvaluationReport
    from ai_lessons.library.rules.rule_warnings import Said
    from ai_lessons.library.session import Parts

LOOKED_AT = 20
"""Entries that are read and compared."""

TOLD = 5

COMPARED = 4000
"""Characters of a body whose words are compared."""

TITLE, TEXT, MEANING = 0.65, 0.5, 0.89
"""Words in common of all words of title or text, and cosine similarity, from which on two entries are called alike."""

_NEGATIVE = re.compile(r"(?:never|do not|don['\u2019]?t|must not|avoid)\s+", re.IGNORECASE)


def evaluate(target: Parts, entry: Entry, files: Mapping[str, str], names: Names = NO_NAMES) -> EvaluationReport:
    """The report on an entry for the repository `target`; `files` are its texts as they shall be, by path.

    `names` are those that belong to where the entry comes from. Writes nothing there but what is derived.
    """
    target.current()
    facts = Facts(
        names=names,
        secrets=_secrets(entry, files),
        similar=near(target, entry),
        contradictions=tuple(contradictions(target, entry)),
    )
    return examine(entry, files, facts)


def _secrets(entry: Entry, files: Mapping[str, str]) -> list[SecretFinding]:
    may_stay = secret_scan.allowed(entry.fields)
    return [
        SecretFinding(path, one.line, one.sort, one.fingerprint in may_stay)
        for path, text in files.items()
        for one in secret_scan.secrets_in(text)
    ]


def near(parts: Parts, entry: Entry) -> tuple[Similar, ...]:
    """Entries of the same kind that say much the same, most alike first. The catalog is up to date."""
    closeness = _by_meaning(parts, entry)
    lights = parts.catalog.select(Filter(kinds=frozenset({entry.kind}), status=None))
    mine = said(entry, "", "")
    titled = [one for one in lights if alike(one.title, entry.title)]
    ids = [*copies(parts, entry), *closeness, *(one.id for one in titled[:LOOKED_AT])]
    by_id = {one.id: one for one in lights}
    found = []
    for light in (by_id[one] for one in dict.fromkeys(ids) if one in by_id):
        try:
            there, _ = parts.load(light.id)
        except AiLessonsError:
            continue  # removed or broken since the catalog looked
        other = said(there, light.handle, light.tier)
        if says_the_same(entry, there):
            found.append(Similar(other.name, 1.0, same=True))
        elif score := _likeness(mine, other, closeness.get(light.id, 0.0), entry.kind):
            found.append(Similar(other.name, score))
    return tuple(sorted(found, key=lambda one: (not one.same, -one.likeness))[:TOLD])


def _likeness(mine: Said, other: Said, closeness: float, kind: Kind) -> float:
    """How alike two entries are, 0 to 1; 0.0 for those that are not to be called so.

    Rules are few and short, so less is enough for them. The bars for the others are those at which, of 120 notes held
    against 1,751 of the same author, 8 were called alike, 7 of them rightly.
    """
    if kind is Kind.RULE:
        return likeness(mine, other, closeness)
    here, there = words(mine.title), words(other.title)
    title = _shared(here, there) if min(len(here), len(there)) > 2 or here == there else 0.0
    full = _shared(*(words(f"{one.title} {one.body[:COMPARED]}") for one in (mine, other)))
    return max(title, full, closeness) if title >= TITLE or full >= TEXT or closeness >= MEANING else 0.0


def _shared(one: frozenset[str], other: frozenset[str]) -> float:
    """Words in common of all words (Jaccard)."""
    return len(one & other) / len(one | other) if one | other else 0.0


def copies(parts: Parts, entry: Entry) -> list[str]:
    """The ids under which an entry may stand here: those promoted from it, what it was promoted from, its own."""
    edges = parts.catalog.edges(entry.id)
    made = [edge.source for edge in edges if edge.relation == Relation.DERIVED_FROM and edge.target == entry.id]
    original = origins.original_of(entry.fields.get("source"))
    return [*made, *([original] if original else []), entry.id]


def says_the_same(one: Entry, other: Entry) -> bool:
    """Whether two entries teach the same, word for word, whatever their ids, tags and dates."""
    mine, theirs = (
        (x.kind, x.title, x.pattern, str(x.fields.get("rationale") or ""), x.body.strip(), x.code) for x in (one, other)
    )
    return mine == theirs


def _by_meaning(parts: Parts, entry: Entry) -> Mapping[str, float]:
    """Cosine similarity by id of what comes nearest; 0.0 for what is near by its words alone."""
    from ai_lessons.index import rows

    words = f"{entry.title}\n{entry.pattern or entry.fields.get('rationale') or entry.body[:1000] or entry.code[:1000]}"
    try:
        parts.indexing.refresh()
        found = parts.indexing.candidates(words, rows.PassageFilter(kinds=frozenset({entry.kind.value})), LOOKED_AT)
    except AiLessonsError:  # a damaged index is the next search's business
        return {}
    nearest = {hit.entry_id: hit.score for hit in reversed(found.vectors)}
    return {**{hit.entry_id: 0.0 for hit in found.text}, **nearest}


def contradictions(parts: Parts, entry: Entry) -> Iterator[str]:
    """Sentences about what here says the opposite: by a link of either, or for the same case in the same words."""
    catalog = parts.catalog
    edges = [edge for edge in catalog.edges(entry.id) if edge.relation == Relation.CONTRADICTS]
    linked = [link.target for link in entry.links if link.relation == Relation.CONTRADICTS]
    linked += [edge.source if edge.target == entry.id else edge.target for edge in edges]
    known = catalog.many(linked)
    for light in known.values():
        yield f"it contradicts {_name(light)}"
    pattern = entry.pattern
    if pattern is None:
        return
    lessons = catalog.select(Filter(kinds=frozenset({Kind.LESSON})))
    for light in opposed(lessons, pattern):
        if light.id not in known:
            yield f"{_name(light)} says the opposite for the same case"
    for light in catalog.select(Filter(kinds=frozenset({Kind.RULE}), status=None)):
        if light.id not in known and _against(light.title, pattern):
            yield f"{_name(light)} says the opposite"


def _against(title: str, pattern: Pattern) -> bool:
    """Whether a rule forbids what a pattern says to do, or demands what it forbids."""
    begins = _NEGATIVE.match(title)
    action = title[begins.end() :] if begins else title
    return bool(begins) is not pattern.negative and alike(action, pattern.action)


def _name(light: Light) -> str:
    standing = "in force" if light.kind is Kind.RULE else light.kind.value
    return f"{light.handle} {light.title!r} ({standing})"
