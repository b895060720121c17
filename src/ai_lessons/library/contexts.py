"""Rules in force and lessons for a project, tags, files, a command or a failure."""

from __future__ import annotations

import os
import re
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from ai_lessons import library
from ai_lessons.index.catalog_reading import Filter
from ai_lessons.index.ranking import context_boost, context_weights
from ai_lessons.index.rows import PassageFilter
from ai_lessons.knowledge import failures
from ai_lessons.knowledge.command_patterns import (
    Called,
    Form,
    blamed_call,
    fits,
    named_forms,
    seen_in,
    when_and_does,
)
from ai_lessons.knowledge.entries import GLOBAL_PROJECT, Confidence, Kind, Light, Moment
from ai_lessons.knowledge.globs import EXACT, any_match, specificity, stated
from ai_lessons.learning.choose import FEW, Bars, Fit, tell
from ai_lessons.learning.events import INJECTED, LEFT_OUT, Event
from ai_lessons.learning.fold import ABLATION, ASSESSMENT, BUDGET, CONFIDENCE, SIMILARITY
from ai_lessons.library.answers import Answer, Context, ContextQuery, Query
from ai_lessons.library.relating import giving_way
from ai_lessons.repository import outside

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from ai_lessons.library.opened import Library, Reading

LOOKED_AT = 500  # Newest lessons of a project or tag among which the surest are chosen
_COMMAND = 200  # Characters of a command line that are searched for
NOT_KEPT = (
    "No lesson keeps a failure like this one. Once you have solved it, add one, with the command and its output in a "
    "fenced block (`$ command`, then the output). If it stays unsolved, begin its title with [UNSOLVED]."
)
_LIKELIEST = 10  # Entries that may help with a failure, among which is chosen
_BY_PATH, _BY_PROJECT, _BY_GLOBAL = 2.0, 1.0, 0.5  # What the reasons weigh, beside the tags

_SURE = {word.value: place for place, word in enumerate(Confidence)}
_ABOUT_RUNNING = re.compile(r"WHEN (?:inside `[^`]+`, )?running `")


def context(opened: Library, query: ContextQuery, ask: Callable[..., Context] | None = None) -> Context:
    """Rules in force and lessons for what one is about to do; what came is recorded. Only words load an index.

    An entry comes because `applies_to` names one of the files (the only reason where only files are asked for), by its
    project or a context tag, or as a global rule; of lessons those that `learning.choose` lets pass.
    `ask` does the job `context`, elsewhere perhaps.
    """
    result = ask("context", query) if ask else find_context(opened, query)
    return result._replace(notes=(*result.notes, *opened.record(came(result))))


def came(result: Context) -> list[Event]:
    """That these entries came, and which were left out on purpose, to measure whether it makes a difference."""
    events = [Event("", "", INJECTED, light.id, edge=result.edges.get(light.id, {})) for light in result.entries]
    omitted = (left.entry.id for left in result.left_out if left.reason == "ablation")
    return events + [Event("", "", LEFT_OUT, entry_id) for entry_id in omitted]


def find_context(opened: Library, query: ContextQuery) -> Context:
    """As `context`, but nothing is recorded."""
    repo = opened.reading
    repo.current()
    if query.error.strip():
        result = helping(repo, query.error, query.budget)
        entries = [*result.entries]
        for n, light in enumerate(entries):  # each with its pattern and its text
            parts = str(light.details.get("pattern") or ""), " ".join(result.texts.get(light.id, "").split())
            entries[n] = light._replace(snippet=" | ".join(filter(None, parts)) or light.snippet)
        return result._replace(entries=tuple(entries))
    injecting = Injecting(repo, query.budget)
    asked = _Asked(repo, query, injecting.budget)
    rules = asked.rules()
    near = asked.lessons()[: NEAREST + 3 * injecting.budget]
    similar = similarities(repo, query.query) if near and query.query.strip() else {}
    fits = [Fit(light, level=light.score or 0.0, similarity=similar.get(light.id)) for light in near]
    result = injecting.tell(None, fits, None, query.project, rules=len(rules))
    chosen = rules[: injecting.budget - len(result.entries)]
    notes = [*result.notes]
    if len(rules) > len(chosen):
        notes.append(f"{len(rules) - len(chosen)} more rules apply, beyond the budget of {injecting.budget}")
    return result._replace(
        entries=(*chosen, *result.entries),
        notes=(*notes, *(injecting.question() if result.entries else ())),
        approvals=library.provenance.approvals_of(repo, chosen) if query.approvals else {},
    )


def helping_or_found(opened: Library, query: Query, ask: Callable[..., Any]) -> Context | Answer:
    """What helps with the failure that a query shows; else, or where it shows none, what a search finds.

    Then a failure is searched for by its command and the line that tells most, with few results.
    `ask` does the jobs `context` and `search`, elsewhere perhaps.
    """
    error, alone = failures.shown_in(query.text)
    if error and not (query.versions or query.kinds - {Kind.LESSON, Kind.RULE}):
        helps = context(opened, ContextQuery(error=error, approvals=query.approvals), ask)
        if helps.entries:
            return helps
    else:
        alone = False
    if alone:
        command, output = failures.parted(error)
        words = f"{command[:_COMMAND]} {failures.headline(output)}".strip()
        query = query._replace(text=words, plain=True, limit=min(query.limit, FEW + 1))
    answer: Answer = ask("search", query)
    return answer._replace(prompt=NOT_KEPT) if alone else answer


def helping(
    repo: Reading,
    error: str,
    most: int | None = None,
    shown_ids: Collection[str] | None = None,
    folders: Sequence[str] = (),
    *,
    words: bool = False,
) -> Context:
    """What helps with a failure, the surest first: entries that keep one like it. `words`: without the index.

    The score of an entry is the chance that it helps: see `failures.chance`; where it says of the command that it
    fails, how surely. `shown_ids` None: a person asked. `folders` as for `telling.before_a_tool`.
    """
    command, output = failures.parted(error)
    kept, shape = repo.catalog.failures(), failures.shape(output)
    weights, alike = failures.rarity([words for _, words in kept]), dict[str, float]()
    for entry_id, stored_shape in kept:
        alike[entry_id] = max(alike.get(entry_id, 0.0), failures.alike(shape, stored_shape, weights))
    similar: dict[str, float] = {}
    if alike and not words:
        repo.indexing.refresh()
        telling = f"{command}\n{failures.telling(output)}"
        similar = similarities(repo, telling, frozenset({Kind.LESSON, Kind.RULE}))
    chances = {entry_id: failures.chance(much, similar.get(entry_id)) for entry_id, much in alike.items()}
    about = about_command(repo, blamed_call(error, folders[0] if folders else ""), folders)
    for light in about:
        seen = seen_in(light.details)
        chances[light.id] = max(chances.get(light.id, 0.0), seen.chance() if seen else failures.BAR)
    # what is known to hold for some commands helps with no other one, however alike the messages are
    for light in repo.catalog.about_commands() if shown_ids is not None else ():
        pattern = str(light.details.get("pattern") or "")  # about running it, and not about one way in which it fails
        if light not in about and seen_in(light.details) and _ABOUT_RUNNING.match(pattern):
            chances.pop(light.id, None)
    likeliest = sorted(chances, key=lambda entry_id: -chances[entry_id])[:_LIKELIEST]
    lights_by_id = repo.catalog.many(likeliest)
    lights = [
        lights_by_id[entry_id]._replace(score=chances[entry_id]) for entry_id in likeliest if entry_id in lights_by_id
    ]
    fits = [
        Fit(light, f"keeps a failure like this one ({light.score:.2f})", chance=light.score or 0.0) for light in lights
    ]
    return Injecting(repo, None, most or FEW).tell(Moment.TOOL_FAILED, fits, shown_ids)


def about_command(repo: Reading, calls: Sequence[Called], folders: Sequence[str]) -> list[Light]:
    """The rules and lessons that name one of these commands, and hold everywhere or in one of the folders."""
    likely = repo.catalog.about_commands() if calls else []
    here = {GLOBAL_PROJECT}
    for place in map(Path, folders if likely else ()):
        names = (*outside.names_of(place), place.name)
        here |= {light.project for light in likely if any(outside.same_name(light.project, name) for name in names)}
    # `cd shop` inside of `shop` is right where there is a `shop` in it, as in many packages
    cwd = folders[0] if folders else None
    below = {name for _, name in calls if name and cwd is not None and os.path.lexists(os.path.join(cwd, name))}
    forms = {light.id: [form for form in named_commands(light) if form.inside not in below] for light in likely}
    return [light for light in likely if light.project in here and fits(forms[light.id], calls)]


def named_commands(light: Light) -> tuple[Form, ...]:
    """The commands that an entry names: a lesson in its WHEN, a rule in its title, with more than their program."""
    if light.kind is Kind.RULE:
        return tuple(form for form in named_forms(light.title) if len(form.words) > 1)
    return named_forms(when_and_does(str(light.details.get("pattern") or ""))[0])


def fit(light: Light, why: str, project: str | None, *, level: float = EXACT, chance: float = 1.0) -> Fit:
    """An entry that may be told in this project; what is of it, and of nobody's enterprise, is one's own."""
    nearness = 0.5 * (light.project == project) + 0.25 * (light.tier in {"user", "project"})
    return Fit(light, why, level=level, chance=chance, closeness=nearness)


def holding(repo: Reading, project: str | None) -> list[Light]:
    """The rules and lessons that hold in a project and everywhere, nearest first; the score says how near.

    Nothing is left out yet. The catalog is up to date.
    """
    asked = _Asked(repo, ContextQuery(project=project), 0)
    return [*asked.rules(), *asked.lessons()[:NEAREST]]


def naming(repo: Reading, paths: Sequence[str]) -> list[tuple[Light, int]]:
    """The rules and lessons whose `applies_to` names one of these files, and how closely: see `globs.specificity`.

    Nothing is left out yet. The catalog is up to date.
    """
    files = [_in_project(path, repo.options.cwd) for path in paths]
    lights = repo.catalog.with_globs(frozenset({Kind.RULE, Kind.LESSON}))
    pairs = ((light, stated(light.details.get("applies_to"))) for light in lights)
    return [(light, specificity(globs, files)) for light, globs in pairs if any_match(globs, files)]


class _Asked:
    """One question, and what there is for it."""

    def __init__(self, repo: Reading, query: ContextQuery, budget: int) -> None:
        self._repo, self._query, self._budget = repo, query, budget
        self._paths = [_in_project(path, repo.options.cwd) for path in query.paths]
        # the settings are worth loading YAML only where there are tags that may have other names
        self._aliases = repo.reading_config.tag_aliases if query.context_tags else {}
        self._weights = context_weights(query.context_tags, self._aliases)
        anything = query.paths or query.context_tags or query.query.strip()
        self._project = query.project or (None if anything else GLOBAL_PROJECT)
        self._only_paths = not (self._project or query.context_tags or query.query.strip())

    def rules(self) -> list[Light]:
        """The rules that apply, nearest first."""
        if not any(place.rules.count for place in self._repo.every):
            return []
        catalog, kinds = self._repo.catalog, frozenset({Kind.RULE})
        lights = catalog.with_globs(kinds) if self._only_paths else catalog.select(Filter(kinds=kinds))
        return self._with_searched(self._nearest(lights), frozenset(), Kind.RULE)

    def lessons(self) -> list[Light]:
        """The lessons, nearest first, then the surest, then the newest."""
        catalog, kinds = self._repo.catalog, frozenset({Kind.LESSON})
        candidates = {light.id: light for light in catalog.with_globs(kinds)} if self._paths else {}
        if self._query.query.strip():
            named = self._nearest(light for light in candidates.values() if self._names_a_path(light))
            return self._with_searched(named, kinds, Kind.LESSON)
        filters = []
        if self._project:
            filters.append(Filter(kinds=kinds, project=self._project, limit=LOOKED_AT))
            filters.append(Filter(kinds=kinds, project=GLOBAL_PROJECT, sort="firm", limit=LOOKED_AT))
        tags = {tag for tag, weight in self._weights.items() if weight > 0}
        tags |= {alias for alias, tag in self._aliases.items() if tag in tags}
        filters += [Filter(kinds=kinds, tags=(tag,), limit=LOOKED_AT) for tag in sorted(tags)]
        for query in filters:
            candidates |= {light.id: light for light in catalog.select(query)}
        return self._nearest(candidates.values())

    def _nearest(self, lights: Iterable[Light]) -> list[Light]:
        scored = [light._replace(score=score) for light in lights if (score := self._score(light)) > 0]
        scored.sort(key=lambda light: (str(light.details.get("created") or ""), light.id), reverse=True)
        scored.sort(key=lambda light: (-(light.score or 0), -_SURE.get(light.details.get("confidence") or "", 2)))
        return scored

    def _score(self, light: Light) -> float:
        """How much speaks for the entry, 0 if nothing does."""
        if not self._may_come(light):
            return 0.0
        rule = light.kind is Kind.RULE
        # a rule of another project is not about this one's file of the same name
        here = not rule or self._project in {None, light.project} or light.project == GLOBAL_PROJECT
        score = _BY_PATH * (here and self._names_a_path(light))
        if self._only_paths:
            return score
        score += context_boost(self._weights, frozenset(light.tags), self._aliases) - 1
        score += _BY_PROJECT * (light.project == self._project)
        holds_everywhere = light.project == GLOBAL_PROJECT and (rule or light.details.get("firm"))
        return score + _BY_GLOBAL * bool(holds_everywhere and light.project != self._project)

    def _may_come(self, light: Light) -> bool:
        return not self._paths or not stated(light.details.get("applies_to")) or self._names_a_path(light)

    def _names_a_path(self, light: Light) -> bool:
        return any_match(stated(light.details.get("applies_to")), self._paths)

    def _with_searched(self, lights: list[Light], kinds: frozenset[Kind], kind: Kind) -> list[Light]:
        """These, and those of a kind that a search among `kinds` finds by the words of the query, if it has any."""
        query = self._query
        if not query.query.strip():
            return lights
        search = Query(query.query, kinds, project=query.project, limit=self._budget, plain=True)
        result = library.searching.find(self._repo, search._replace(context_tags=query.context_tags))
        ids = {light.id for light in lights}
        hits = () if result.weak else (hit.entry for hit in result.hits)
        return lights + [x for x in hits if x.kind is kind and x.id not in ids and self._may_come(x)]


def _in_project(path: str, cwd: Path) -> str:
    """A file of the caller's as its own project sees it: from the folder that holds `.git`, else from `cwd`."""
    whole = Path(os.path.normpath(cwd / os.path.expanduser(path)))
    root = next((folder for folder in whole.parents if (folder / ".git").exists()), cwd)
    return (whole.relative_to(root) if whole.is_relative_to(root) else whole).as_posix().lstrip("/")


NEAREST = 60  # Nearest lessons among which are chosen, beside three times the budget

ASKING = "say afterwards how these did: ai-lessons contribute feedback ID helpful|ignored|contradicted"
DEPTH = 100
OFTEN = 10  # Times that a lesson was told before it is left out on purpose: one that is hardly known measures nothing


class Injecting:
    """One context being put together. In a session the same question is answered the same way."""

    def __init__(self, repo: Reading, budget: int | None, most: int | None = None) -> None:
        """`budget` None: as many entries as has proved best, and not more than `most`."""
        self._repo, self._parameters = repo, repo.every[0].usages.parameters()
        self._session = repo.options.session or ""
        draw, names = self._chance("bars").betavariate, (BUDGET, CONFIDENCE, SIMILARITY)
        positions = {name: self._parameters[name].sample(draw) for name in names}
        self.budget = int(self._at(BUDGET, positions)) if budget is None else budget
        if budget is not None or (most and most <= self.budget):
            del positions[BUDGET]  # the caller said how many: what comes last then says nothing about the parameter
        self.budget = min(self.budget, most or self.budget)
        self._bars = Bars(self.budget, self._at(CONFIDENCE, positions), self._at(SIMILARITY, positions), positions)

    def _chance(self, what: str) -> Random:
        """Chance that is the same all through a session."""
        return Random(f"{self._session}/{what}") if self._session else Random()  # noqa: S311 - picks lessons, no keys

    def _at(self, name: str, positions: Mapping[str, float]) -> float:
        return self._parameters[name].at(positions[name])

    def tell(
        self,
        moment: Moment | None,
        fits: Sequence[Fit],
        shown_ids: Collection[str] | None,
        project: str | None = None,
        *,
        rules: int = 0,
    ) -> Context:
        """What is told of these at a moment of a session, with its texts; `choose.tell` decides.

        `rules`: so many come beside them, and take at most half of the budget while lessons are left.
        """
        usages = self._repo.usages.several([candidate.entry for candidate in fits])
        every = [candidate._replace(usage=usages[candidate.entry.id]) for candidate in fits]
        could = tell(moment, every, shown_ids, self._bars._replace(budget=len(every) + 1)).chosen
        lessons = [candidate.entry for candidate in could if candidate.entry.kind is Kind.LESSON]
        often = [light for light in lessons if usages[light.id].tallies.injected >= OFTEN]
        away = giving_way(self._repo, lessons, project)
        every = [candidate._replace(against=away.get(candidate.entry.id)) for candidate in every]
        beside = min(rules, max((self.budget + 1) // 2, self.budget - (len(lessons) - len(away))))
        bars = self._bars._replace(budget=self.budget - beside)
        choice = tell(moment, every, shown_ids, bars, self._ablation(often).__contains__)
        why = {candidate.entry.id: candidate.why for candidate in choice.chosen}
        approved = [candidate.entry for candidate in choice.chosen if candidate.entry.kind is Kind.RULE]
        return Context(
            tuple(candidate.entry for candidate in choice.chosen),
            why,
            self._repo.catalog.openings(why),
            library.provenance.approvals_of(self._repo, approved) if approved else {},
            choice.left_out,
            choice.edges,
            tuple(self._repo.notes()),
        )

    def _ablation(self, lessons: Sequence[Light]) -> frozenset[str]:
        """Lessons to leave out on purpose. Only in a session with a name that is recorded: else it measures nothing."""
        if not (lessons and self._session and all(place.usages.recording for place in self._repo.every)):
            return frozenset()
        rate = self._parameters[ABLATION].value
        return frozenset(light.id for light in lessons if self._chance(f"without {light.id}").random() < rate)

    def question(self) -> list[str]:
        """In some sessions, the request to say how the lessons did."""
        rate = self._parameters[ASSESSMENT].value
        return [ASKING] if self._session and self._chance("question").random() < rate else []


def similarities(repo: Reading, words: str, kinds: frozenset[Kind] = frozenset({Kind.LESSON})) -> dict[str, float]:
    """Cosine similarity of the best passage of each entry that the vectors found."""
    filter_ = PassageFilter(kinds=frozenset(kind.value for kind in kinds))
    best: dict[str, float] = {}
    for hit in repo.indexing.begin(words, filter_, DEPTH)().vectors:
        best[hit.entry_id] = max(hit.score, best.get(hit.entry_id, -1.0))
    return best
