"""What speaks against an entry before a person reads it, by words: much the same elsewhere, the opposite, a secret."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from contextlib import suppress
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Final, NamedTuple

from ai_lessons.errors import AiLessonsError, Conflict
from ai_lessons.index.catalog_reading import Filter
from ai_lessons.knowledge import origins
from ai_lessons.knowledge.entries import Entry, Kind, Light, Relation
from ai_lessons.knowledge.evaluation import LONGEST, NOTE, STOP, WARNING, EvaluationFinding, EvaluationReport, specific
from ai_lessons.knowledge.texts import one_line
from ai_lessons.library import relating, secret_scan

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ai_lessons.library.opened import Library
    from ai_lessons.library.reports import LessonDraft
    from ai_lessons.library.session import RepositorySession

ALIKE: Final = 0.6  # Share of the words of the shorter title in common, from which on two entries are called alike
ALIKE_IN_FULL: Final = 0.5  # The same (words in common of all words) for title, rationale and text together
REPEATED: Final = 0.8  # Words in common of all words of two entries, from which on one repeats the other
TELLING: Final = 5  # as many words at least: fewer say little
COMPARED: Final = 20  # Entries of another repository that are read and compared

TOLD: Final = 5  # So many entries that are much alike are named

_WORD: Final = re.compile(r"[^\W_]+")
_FILLERS: Final = frozenset(
    _WORD.findall(
        "a an and any are as at be by do for from in into is it its no not of on one or so than that the then this to"
        " use when with you your always never every must should only"
    )
)
_PLURAL: Final = re.compile(r"(?<=..[^s])s$")
_NEGATIVE: Final = re.compile(r"(?:never|do not|don['\u2019]?t|must not|avoid)\s+", re.IGNORECASE)


class Said(NamedTuple):
    """An entry as it is compared; `state` says what it is to others, such as `in force`."""

    id: str
    handle: str
    title: str
    rationale: str
    body: str
    state: str

    @property
    def name(self) -> str:
        """How people are told which one it is."""
        return f"{self.handle} {self.title!r} ({self.state})"

    @property
    def text(self) -> str:
        """All of it."""
        return f"{self.title}\n{self.rationale}\n{self.body}"


def said(entry: Entry, handle: str, state: str) -> Said:
    """An entry's text for comparison."""
    text = f"{entry.body}\n{entry.code}" if entry.code else entry.body
    return Said(entry.id, handle, entry.title, entry.rationale, text, state)


def alike(one: Said, others: Iterable[Said]) -> tuple[str, ...]:
    """Names of up to `TOLD` entries that say much the same, each with how much (0 to 1), most alike first."""
    scored = [(-score, other.name) for other in others if other.id != one.id and (score := likeness(one, other))]
    return tuple(f"{name}, {-score:.2f}" for score, name in sorted(scored)[:TOLD])


def likeness(one: Said, other: Said) -> float:
    """How alike two texts (titles, where the other is only that) are, 0 to 1; 0.0: not to be called so."""
    here, there = words(one.title), words(other.title)
    shorter = min(len(here), len(there))
    # two words in common of two say little, so a short title has to be the same
    title = len(here & there) / shorter if shorter > 2 or (here == there and here) else 0.0
    full = overlap(one.text, other.text) if other.body or other.rationale else 0.0
    return 0.0 if title < ALIKE and full < ALIKE_IN_FULL else max(title, full)


@lru_cache(maxsize=1 << 15)
def words(text: str) -> frozenset[str]:
    """The words of a text that say something, singular and plural as one."""
    found = (word.casefold() for word in _WORD.findall(text))
    return frozenset(_PLURAL.sub("", word) for word in found if word not in _FILLERS)


def same(one: Said, other: Said) -> bool:
    """True for the same words in the same order, whatever id, date and tags say."""
    mine, theirs = ([word.casefold() for word in _WORD.findall(x.text)] for x in (one, other))
    return mine == theirs


def says_the_same(one: Entry, other: Entry) -> bool:
    """Whether two entries teach the same, word for word, whatever their ids, tags and dates."""
    mine, theirs = (
        (x.kind, x.title, x.pattern, str(x.fields.get("rationale") or ""), x.body.strip(), x.code) for x in (one, other)
    )
    return mine == theirs


def contradicted(repo: RepositorySession, entry: Entry) -> list[str]:
    """The ids that an entry contradicts by a link of either side."""
    found = [link.target for link in entry.links if link.relation == Relation.CONTRADICTS]
    edges = [edge for edge in repo.catalog.edges(entry.id) if edge.relation == Relation.CONTRADICTS]
    found += [edge.source if edge.target == entry.id else edge.target for edge in edges]
    return list(dict.fromkeys(found))


def evaluate(
    target: RepositorySession,
    entry: Entry,
    files: Mapping[str, str],
    projects: Sequence[str] = (),
    same: Sequence[str] = (),
) -> EvaluationReport:
    """The report on an entry of `projects` for the repository `target`; `files`: its new texts, by path.

    `same`: what is known to say the same there; then nothing else is compared with it.
    """
    target.current()
    found = list(_secrets(entry, files))
    found += (EvaluationFinding("duplicates", STOP, f"the same is there already: {one}") for one in same)
    if not same:
        near = alike(said(entry, "", ""), _like(target, entry))
        found += (EvaluationFinding("duplicates", WARNING, f"much like {one}") for one in near)
        found += (EvaluationFinding("contradictions", WARNING, said) for said in _opposed(target, entry))
    found += specific(files, projects)
    return EvaluationReport(tuple(one._replace(message=one_line(one.message, LONGEST)) for one in found))


def _secrets(entry: Entry, files: Mapping[str, str]) -> Iterator[EvaluationFinding]:
    may_stay = secret_scan.allowed(entry.fields)
    for path, text in files.items():
        for one in secret_scan.secrets_in(text):
            allowed = one.fingerprint in may_stay
            what = f"holds what looks like a secret ({one.sort})" + (", which its file allows" if allowed else "")
            yield EvaluationFinding("secrets", NOTE if allowed else STOP, what, f"{path}:{one.line}")


def _like(repo: RepositorySession, entry: Entry) -> Iterator[Said]:
    """Entries of the same kind that may say much the same: its copies, and those whose titles are like its own."""
    lights = {one.id: one for one in repo.catalog.select(Filter(kinds=frozenset({entry.kind}), status=None))}
    titled = [one.id for one in lights.values() if relating.alike(one.title, entry.title)]
    for light in [lights[one] for one in dict.fromkeys([*copies(repo, entry), *titled[:COMPARED]]) if one in lights]:
        with suppress(AiLessonsError):  # removed or broken since the catalog looked
            yield said(repo.load(light.id)[0], light.handle, light.tier)


def refuse_repetition(opened: Library, draft: LessonDraft) -> None:
    """Raises Conflict: an active lesson says nearly the same as this draft."""
    repo = opened.primary
    repo.current()
    active = repo.catalog.select(Filter(kinds=frozenset({Kind.LESSON})))
    mine = "\n".join(filter(None, (draft.title, draft.content, draft.when, draft.do, draft.dont, draft.because)))
    for light in [one for one in active if relating.alike(one.title, draft.title)][:COMPARED]:
        share = overlap(mine, _text(repo, light.id))
        if share >= REPEATED:
            hint = f"update it: `ai-lessons contribute update {light.handle}`; or add this one with --anyway"
            raise Conflict(_much_like(light, share), hint=hint)


def repetitions(repo: RepositorySession) -> dict[str, str]:
    """Which active lessons and rules say nearly the same as an older one: by id, a sentence that names the older."""
    wanted, gone = Filter(kinds=frozenset({Kind.LESSON, Kind.RULE}), sort="created"), relating.superseded(repo)
    lights = [light for light in repo.catalog.select(wanted) if light.id not in gone]
    common = Counter(word for light in lights for word in words(light.title))
    holding: defaultdict[tuple[Kind, str], list[Light]] = defaultdict(list)
    text, found = cache(partial(_text, repo)), {}
    for light in lights:
        title = sorted(words(light.title), key=lambda word: (common[word], word))
        # titles with half of their words in common have one of the rarer half in common
        telling = [(light.kind, word) for word in title[: len(title) // 2 + 1]]
        older = {one.id: one for word in telling for one in holding[word][-COMPARED:]}
        near = [one for one in older.values() if relating.alike(one.title, light.title)]
        share, first = max(((overlap(text(light.id), text(one.id)), one) for one in near), default=(0.0, light))
        if share >= REPEATED:
            found[light.id] = _much_like(first, share)
        for word in telling:
            holding[word].append(light)
    return found


def _text(repo: RepositorySession, entry_id: str) -> str:
    entry = repo.load(entry_id)[0]
    return f"{entry.title}\n{entry.opening}\n{entry.body}"


def overlap(one: str, other: str) -> float:
    """Words in common of all words of two texts, 0 to 1; 0.0 where they are too few to tell."""
    mine, theirs = words(one), words(other)
    return len(mine & theirs) / len(mine | theirs) if len(mine & theirs) >= TELLING else 0.0


def _much_like(light: Light, share: float) -> str:
    return f"much like {light.handle} {light.title!r}, {share:.2f}: update it?"


def copies(repo: RepositorySession, entry: Entry) -> list[str]:
    """The ids under which an entry may stand here: those promoted from it, what it was promoted from, its own."""
    original = origins.original_of(entry.fields.get("source"))
    return [*promoted_from(repo, entry.id), *([original] if original else []), entry.id]


def promoted_from(repo: RepositorySession, entry_id: str) -> list[str]:
    """The ids of what here is derived from an entry."""
    edges = repo.catalog.edges(entry_id)
    return [edge.source for edge in edges if edge.relation == Relation.DERIVED_FROM and edge.target == entry_id]


def _opposed(repo: RepositorySession, entry: Entry) -> Iterator[str]:
    """Sentences about what here says the opposite: by a link of either, or for the same case in the same words."""
    catalog, pattern = repo.catalog, entry.pattern
    known = catalog.many(contradicted(repo, entry))
    for light in known.values():
        yield f"it contradicts {_name(light)}"
    if pattern is None:
        return
    for light in relating.opposed(catalog.select(Filter(kinds=frozenset({Kind.LESSON}))), pattern):
        if light.id not in known:
            yield f"{_name(light)} says the opposite for the same case"
    for light in catalog.select(Filter(kinds=frozenset({Kind.RULE}), status=None)):
        begins = _NEGATIVE.match(light.title)
        differs = bool(begins) is not pattern.negative  # one forbids, the other demands
        action = light.title[begins.end() :] if begins else light.title
        if light.id not in known and differs and relating.alike(action, pattern.action):
            yield f"{_name(light)} says the opposite"


def _name(light: Light) -> str:
    state = "in force" if light.kind is Kind.RULE else light.kind.value
    return f"{light.handle} {light.title!r} ({state})"
