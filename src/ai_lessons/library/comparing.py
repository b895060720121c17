"""Checks of an entry against others by words: near duplicates, contradictions, secrets."""

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
        """How messages call it."""
        return f"{self.handle} {self.title!r} ({self.state})"

    @property
    def text(self) -> str:
        """All of it."""
        return f"{self.title}\n{self.rationale}\n{self.body}"


def comparable(entry: Entry, handle: str = "", state: str = "") -> Said:
    """An entry's text for comparison."""
    text = f"{entry.body}\n{entry.code}" if entry.code else entry.body
    return Said(entry.id, handle, entry.title, entry.rationale, text, state)


def alike(text: Said, texts: Iterable[Said]) -> tuple[str, ...]:
    """Names of up to `TOLD` entries that say much the same, each with how much (0 to 1), most alike first."""
    scored = [(-score, other.name) for other in texts if other.id != text.id and (score := likeness(text, other))]
    return tuple(f"{name}, {-score:.2f}" for score, name in sorted(scored)[:TOLD])


def likeness(text: Said, other: Said) -> float:
    """How alike two texts (titles, where the other is only that) are, 0 to 1; 0.0: not to be called so."""
    title_words, other_words = words(text.title), words(other.title)
    shorter = min(len(title_words), len(other_words))
    # two words in common of two say little, so a short title has to be the same
    is_clear = shorter > 2 or (shorter and title_words == other_words)
    title = len(title_words & other_words) / shorter if is_clear else 0.0
    full = overlap(text.text, other.text) if other.body or other.rationale else 0.0
    return 0.0 if title < ALIKE and full < ALIKE_IN_FULL else max(title, full)


@lru_cache(maxsize=1 << 15)
def words(text: str) -> frozenset[str]:
    """The words of a text that say something, singular and plural as one."""
    matches = (word.casefold() for word in _WORD.findall(text))
    return frozenset(_PLURAL.sub("", word) for word in matches if word not in _FILLERS)


def same(text: Said, other: Said) -> bool:
    """True for the same words in the same order, whatever id, date and tags say."""
    return _WORD.findall(text.text.casefold()) == _WORD.findall(other.text.casefold())


def says_the_same(entry: Entry, other: Entry) -> bool:
    """Whether two entries teach the same, word for word, whatever their ids, tags and dates."""

    def parts(entry: Entry) -> tuple[object, ...]:
        rationale = str(entry.fields.get("rationale") or "")
        return entry.kind, entry.title, entry.pattern, rationale, entry.body.strip(), entry.code

    return parts(entry) == parts(other)


def contradicted(repo: RepositorySession, entry: Entry) -> list[str]:
    """The ids that an entry contradicts by a link of either side."""
    ids = [link.target for link in entry.links if link.relation == Relation.CONTRADICTS]
    edges = [edge for edge in repo.catalog.edges(entry.id) if edge.relation == Relation.CONTRADICTS]
    ids += [edge.source if edge.target == entry.id else edge.target for edge in edges]
    return list(dict.fromkeys(ids))


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
    findings = list(_secrets(entry, files))
    findings += (EvaluationFinding("duplicates", STOP, f"the same is there already: {name}") for name in same)
    if not same:
        near = alike(comparable(entry), _like(target, entry))
        findings += (EvaluationFinding("duplicates", WARNING, f"much like {name}") for name in near)
        findings += (EvaluationFinding("contradictions", WARNING, sentence) for sentence in _opposed(target, entry))
    findings += specific(files, projects)
    return EvaluationReport(tuple(finding._replace(message=one_line(finding.message, LONGEST)) for finding in findings))


def _secrets(entry: Entry, files: Mapping[str, str]) -> Iterator[EvaluationFinding]:
    may_stay = secret_scan.allowed(entry.fields)
    for path, text in files.items():
        for secret in secret_scan.secrets_in(text):
            allowed = secret.fingerprint in may_stay
            what = f"holds what looks like a secret ({secret.sort})" + (", which its file allows" if allowed else "")
            yield EvaluationFinding("secrets", NOTE if allowed else STOP, what, f"{path}:{secret.line}")


def _like(repo: RepositorySession, entry: Entry) -> Iterator[Said]:
    """Entries of the same kind that may say much the same: its copies, and those whose titles are like its own."""
    lights = {light.id: light for light in repo.catalog.select(Filter(kinds=frozenset({entry.kind}), status=None))}
    titled = [light.id for light in lights.values() if relating.alike(light.title, entry.title)]
    for entry_id in dict.fromkeys([*copies(repo, entry), *titled[:COMPARED]]):
        with suppress(AiLessonsError):  # removed or broken since the catalog looked
            if light := lights.get(entry_id):
                yield comparable(repo.load(entry_id)[0], light.handle, light.tier)


def refuse_repetition(opened: Library, draft: LessonDraft) -> None:
    """Raises Conflict: an active lesson says nearly the same as this draft."""
    repo = opened.primary
    repo.current()
    active = repo.catalog.select(Filter(kinds=frozenset({Kind.LESSON})))
    text = "\n".join(filter(None, (draft.title, draft.content, draft.when, draft.do, draft.dont, draft.because)))
    for light in [light for light in active if relating.alike(light.title, draft.title)][:COMPARED]:
        share = overlap(text, _text(repo, light.id))
        if share >= REPEATED:
            hint = f"update it: `ai-lessons contribute update {light.handle}`; or add this one with --anyway"
            raise Conflict(_much_like(light, share), hint=hint)


def repetitions(repo: RepositorySession) -> dict[str, str]:
    """Which active lessons and rules say nearly the same as an older one: by id, a sentence that names the older."""
    query, gone = Filter(kinds=frozenset({Kind.LESSON, Kind.RULE}), sort="created"), relating.superseded(repo)
    lights = [light for light in repo.catalog.select(query) if light.id not in gone]
    common = Counter(word for light in lights for word in words(light.title))
    holding: defaultdict[tuple[Kind, str], list[Light]] = defaultdict(list)
    text, repeated = cache(partial(_text, repo)), {}
    for light in lights:
        title = sorted(words(light.title), key=lambda word: (common[word], word))
        # titles with half of their words in common have one of the rarer half in common
        telling = [(light.kind, word) for word in title[: len(title) // 2 + 1]]
        older = {other.id: other for word in telling for other in holding[word][-COMPARED:]}
        near = [other for other in older.values() if relating.alike(other.title, light.title)]
        share, first = max(((overlap(text(light.id), text(other.id)), other) for other in near), default=(0.0, light))
        if share >= REPEATED:
            repeated[light.id] = _much_like(first, share)
        for word in telling:
            holding[word].append(light)
    return repeated


def _text(repo: RepositorySession, entry_id: str) -> str:
    entry = repo.load(entry_id)[0]
    return f"{entry.title}\n{entry.opening}\n{entry.body}"


def overlap(text: str, other: str) -> float:
    """Words in common of all words of two texts, 0 to 1; 0.0 where they are too few to tell."""
    text_words, other_words = words(text), words(other)
    common = len(text_words & other_words)
    return common / len(text_words | other_words) if common >= TELLING else 0.0


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
    linked = catalog.many(contradicted(repo, entry))
    for light in linked.values():
        yield f"it contradicts {_name(light)}"
    if pattern is None:
        return
    for light in relating.opposed(catalog.select(Filter(kinds=frozenset({Kind.LESSON}))), pattern):
        if light.id not in linked:
            yield f"{_name(light)} says the opposite for the same case"
    for light in catalog.select(Filter(kinds=frozenset({Kind.RULE}), status=None)):
        begins = _NEGATIVE.match(light.title)
        differs = bool(begins) is not pattern.negative  # one forbids, the other demands
        action = light.title[begins.end() :] if begins else light.title
        if light.id not in linked and differs and relating.alike(action, pattern.action):
            yield f"{_name(light)} says the opposite"


def _name(light: Light) -> str:
    state = "in force" if light.kind is Kind.RULE else light.kind.value
    return f"{light.handle} {light.title!r} ({state})"
