"""What speaks against a proposal before anybody has read it: values in, sentences out. Reads nothing.

Words decide, not vectors: suggesting must not pay for a model. Where the index is open anyway, closeness counts too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from ai_lessons.knowledge.entries import Relation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ai_lessons.knowledge.entries import Entry

ALIKE: Final = 0.6
"""Share of the words of the shorter title that two rules have in common, from which on they are called alike."""

ALIKE_IN_FULL: Final = 0.5
"""The same (words in common of all words) for title, rationale and text together."""

CLOSE: Final = 0.9
"""Cosine similarity from which on two texts are called alike."""

_WORD: Final = re.compile(r"[^\W_]+")
_FILLERS: Final = frozenset(
    _WORD.findall(
        "a an and any are as at be by do for from in into is it its no not of on one or so than that the then this to"
        " use when with you your always never every must should only"
    )
)


@dataclass(frozen=True, slots=True)
class Said:
    """A rule as it is compared: `standing` says what it is to others, such as `in force`."""

    id: str
    handle: str
    title: str
    rationale: str
    body: str
    standing: str

    @property
    def name(self) -> str:
        """How people are told which one it is."""
        return f"{self.handle} {self.title!r} ({self.standing})"


def said(entry: Entry, handle: str, standing: str) -> Said:
    """An entry's text for comparison."""
    text = f"{entry.body}\n{entry.code}" if entry.code else entry.body
    return Said(entry.id, handle, entry.title, str(entry.fields.get("rationale") or ""), text, standing)


def alike(one: Said, others: Iterable[Said], closeness: Mapping[str, float] | None = None) -> tuple[str, ...]:
    """Names of other entries that say much the same, most alike first. `closeness`: cosine similarity by id."""
    scored = [
        (score, other.name)
        for other in others
        if other.id != one.id and (score := likeness(one, other, (closeness or {}).get(other.id, 0.0)))
    ]
    return tuple(name for _, name in sorted(scored, key=lambda pair: (-pair[0], pair[1])))


def likeness(one: Said, other: Said, closeness: float) -> float:
    """How alike two texts are, 0 to 1; 0.0 for those that are not to be called so. `closeness`: cosine similarity.

    Where the other has nothing but a title, titles are compared.
    """
    here, there = words(one.title), words(other.title)
    shorter = min(len(here), len(there))
    # two words in common of two say little, so a short title has to be the same
    title = len(here & there) / shorter if shorter > 2 or (here == there and here) else 0.0
    full = 0.0
    if other.body or other.rationale:
        mine, theirs = words(_text(one)), words(_text(other))
        full = len(mine & theirs) / len(mine | theirs) if mine | theirs else 0.0
    if title < ALIKE and full < ALIKE_IN_FULL and closeness < CLOSE:
        return 0.0
    return max(title, full, closeness)


def _text(rule: Said) -> str:
    return f"{rule.title}\n{rule.rationale}\n{rule.body}"


@lru_cache(maxsize=1 << 15)
def words(text: str) -> frozenset[str]:
    """The words of a text that say something, singular and plural as one."""
    found = (word.casefold() for word in _WORD.findall(text))
    return frozenset(_stem(word) for word in found if word not in _FILLERS)


def _stem(word: str) -> str:
    """Plural and singular are one word."""
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def same(one: Said, other: Said) -> bool:
    """True for the same words in the same order, whatever id, date and tags say."""
    return _plain(_text(one)) == _plain(_text(other))


def _plain(text: str) -> tuple[str, ...]:
    return tuple(word.casefold() for word in _WORD.findall(text))


def contradictions(entry: Entry, known: Mapping[str, Said], edges: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Sentences about rules in force that this one contradicts by link. `edges` are pairs said by others, both ways."""
    stated = [link.target for link in entry.links if link.relation == Relation.CONTRADICTS]
    stated += [b if a == entry.id else a for a, b in edges if entry.id in {a, b}]
    for target in dict.fromkeys(stated):
        if target in known:
            yield f"it contradicts {known[target].name}"
