"""What to know before one begins: rules in force and lessons for a project, tags or files, from the catalog alone."""

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
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

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


def context(opened: Library, query: ContextQuery, ask: Callable[..., Context] | None = None) -> Context:
    """Rules in force and lessons for what one is about to do; what came is recorded. Only words load an index.

    An entry comes because `applies_to` names one of the files (the only reason where only files are asked for), by its
    project or a context tag, or as a global rule; of lessons those that `learning.choose` lets pass.
    `ask` does the job `context`, elsewhere perhaps.
    """
    found = ask("context", query) if ask else known(opened, query)
    return found._replace(notes=(*found.notes, *library.usage.record(opened, came(found))))


def _answer(light: Light, found: Context) -> str:
    """What a lesson says of a failure: its pattern and how its text begins."""
    text, pattern = " ".join(found.texts.get(light.id, "").split()), str(light.details.get("pattern") or "")
    return " | ".join(filter(None, (pattern, text))) or light.snippet


def came(found: Context) -> list[Event]:
    """That these entries came, and which were left out on purpose, to measure whether it makes a difference."""
    told = [Event("", "", INJECTED, one.id, edge=found.edges.get(one.id, {})) for one in found.entries]
    return [*told, *(Event("", "", LEFT_OUT, one.entry.id) for one in found.left_out if one.reason == "ablation")]


def known(opened: Library, query: ContextQuery) -> Context:
    """The same, and nothing is written down."""
    repo = opened.reading
    repo.current()
    if query.error.strip():
        found = helping(repo, query.error, query.budget)
        return found._replace(entries=tuple(one._replace(snippet=_answer(one, found)) for one in found.entries))
    injecting = Injecting(repo, query.budget)
    asked = _Asked(repo, query, injecting.budget)
    rules = asked.rules()
    near = asked.lessons()[: NEAREST + 3 * injecting.budget]
    similar = similarities(repo, query.query) if near and query.query.strip() else {}
    fits = [Fit(one, level=one.score or 0.0, similarity=similar.get(one.id)) for one in near]
    found = injecting.tell(None, fits, None, query.project, rules=len(rules))
    chosen = rules[: injecting.budget - len(found.entries)]
    notes = [*found.notes]
    if len(rules) > len(chosen):
        notes.append(f"{len(rules) - len(chosen)} more rules apply, beyond the budget of {injecting.budget}")
    return found._replace(
        entries=(*chosen, *found.entries),
        notes=(*notes, *(injecting.question() if found.entries else ())),
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
    found: Answer = ask("search", query)
    return found._replace(prompt=NOT_KEPT) if alone else found


def helping(
    repo: Reading,
    error: str,
    most: int | None = None,
    told: Collection[str] | None = None,
    folders: Sequence[str] = (),
    *,
    words: bool = False,
) -> Context:
    """What helps with a failure, the surest first: entries that keep one like it. `words`: without the index.

    The score of an entry is the chance that it helps: see `failures.chance`; where it says of the command that it
    fails, how surely. `told` None: a person asked. `folders` as for `telling.before_a_tool`.
    """
    command, output = failures.parted(error)
    kept, said = repo.catalog.failures(), failures.shape(output)
    weights, alike = failures.rarity([words for _, words in kept]), dict[str, float]()
    for entry_id, one in kept:
        alike[entry_id] = max(alike.get(entry_id, 0.0), failures.alike(said, one, weights))
    similar: dict[str, float] = {}
    if alike and not words:
        repo.indexing.refresh()
        telling = f"{command}\n{failures.telling(output)}"
        similar = similarities(repo, telling, frozenset({Kind.LESSON, Kind.RULE}))
    chances = {one: failures.chance(much, similar.get(one)) for one, much in alike.items()}
    about = about_command(repo, blamed_call(error, folders[0] if folders else ""), folders)
    for light in about:
        seen = seen_in(light.details)
        chances[light.id] = max(chances.get(light.id, 0.0), seen.chance() if seen else failures.BAR)
    # what is known to hold for some commands helps with no other one, however alike the messages are
    for light in repo.catalog.about_commands() if told is not None else ():
        if light not in about and seen_in(light.details) and _is_before(light):
            chances.pop(light.id, None)
    likeliest = sorted(chances, key=lambda one: -chances[one])[:_LIKELIEST]
    known = repo.catalog.many(likeliest)
    lights = [known[one]._replace(score=chances[one]) for one in likeliest if one in known]
    fits = [Fit(one, f"keeps a failure like this one ({one.score:.2f})", chance=one.score or 0.0) for one in lights]
    return Injecting(repo, None, most or FEW).tell(Moment.TOOL_FAILED, fits, told)


def about_command(repo: Reading, calls: Sequence[Called], folders: Sequence[str]) -> list[Light]:
    """The rules and lessons that name one of these commands, and hold everywhere or in one of the folders."""
    likely = repo.catalog.about_commands() if calls else []
    here = {GLOBAL_PROJECT}
    for place in map(Path, folders if likely else ()):
        names = (*outside.names_of(place), place.name)
        here |= {one.project for one in likely if any(outside.same_name(one.project, name) for name in names)}
    # `cd shop` inside of `shop` is right where there is a `shop` in it, as in many packages
    there = {name for _, name in calls for cwd in folders[:1] if name and os.path.lexists(os.path.join(cwd, name))}
    forms = {one.id: [form for form in named_commands(one) if form.inside not in there] for one in likely}
    return [one for one in likely if one.project in here and fits(forms[one.id], calls)]


def _is_before(light: Light) -> bool:
    """Whether a lesson is about running a command, and not about one way in which it fails."""
    return bool(re.match(r"WHEN (?:inside `[^`]+`, )?running `", str(light.details.get("pattern") or "")))


def named_commands(light: Light) -> tuple[Form, ...]:
    """The commands that an entry names: a lesson in its WHEN, a rule in its title, with more than their program."""
    if light.kind is Kind.RULE:
        return tuple(form for form in named_forms(light.title) if len(form.words) > 1)
    return named_forms(when_and_does(str(light.details.get("pattern") or ""))[0])


def fit(light: Light, why: str, project: str | None, *, level: float = EXACT, chance: float = 1.0) -> Fit:
    """An entry that may be told in this project; what is of it, and of nobody's enterprise, is one's own."""
    own = 0.5 * (light.project == project) + 0.25 * (light.tier in {"user", "project"})
    return Fit(light, why, level=level, chance=chance, closeness=own)


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
    known = repo.catalog.with_globs(frozenset({Kind.RULE, Kind.LESSON}))
    globs = ((one, stated(one.details.get("applies_to"))) for one in known)
    return [(one, specificity(said, files)) for one, said in globs if any_match(said, files)]


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
        if not any(one.rules.count for one in self._repo.every):
            return []
        catalog, kinds = self._repo.catalog, frozenset({Kind.RULE})
        known = catalog.with_globs(kinds) if self._only_paths else catalog.select(Filter(kinds=kinds))
        found = self._nearest(known)
        if self._query.query.strip():
            here = {light.id for light in found}
            surfacing = (light for light in self._searched(frozenset()) if light.kind is Kind.RULE)
            found += [light for light in surfacing if light.id not in here and self._may_come(light)]
        return found

    def lessons(self) -> list[Light]:
        """The lessons, nearest first, then the surest, then the newest."""
        catalog, kinds = self._repo.catalog, frozenset({Kind.LESSON})
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
            yield Filter(kinds=kinds, project=GLOBAL_PROJECT, sort="firm", limit=LOOKED_AT)
        for tag in (tag for tag, weight in self._weights.items() if weight > 0):
            for name in (tag, *(alias for alias, name in self._aliases.items() if name == tag)):
                yield Filter(kinds=kinds, tags=(name,), limit=LOOKED_AT)

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

    def _searched(self, kinds: frozenset[Kind]) -> list[Light]:
        query = self._query
        asked = Query(query.query, kinds, project=query.project, limit=self._budget, plain=True)
        found = library.searching.find(self._repo, asked._replace(context_tags=query.context_tags))
        return [] if found.weak else [hit.entry for hit in found.hits]


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
        told: Collection[str] | None,
        project: str | None = None,
        *,
        rules: int = 0,
    ) -> Context:
        """What is told of these at a moment of a session, with its texts; `choose.tell` decides.

        `rules`: so many come beside them, and take at most half of the budget while lessons are left.
        """
        usages = library.usage.several(self._repo, [one.entry for one in fits])
        every = [one._replace(usage=usages[one.entry.id]) for one in fits]
        could = tell(moment, every, told, self._bars._replace(budget=len(every) + 1)).chosen
        lessons = [one.entry for one in could if one.entry.kind is Kind.LESSON]
        often = [one for one in lessons if usages[one.id].tallies.injected >= OFTEN]
        away = giving_way(self._repo, lessons, project)
        every = [one._replace(against=away.get(one.entry.id)) for one in every]
        beside = min(rules, max((self.budget + 1) // 2, self.budget - (len(lessons) - len(away))))
        bars = self._bars._replace(budget=self.budget - beside)
        choice = tell(moment, every, told, bars, self._ablation(often).__contains__)
        why = {one.entry.id: one.why for one in choice.chosen}
        approved = [one.entry for one in choice.chosen if one.entry.kind is Kind.RULE]
        return Context(
            tuple(one.entry for one in choice.chosen),
            why,
            self._repo.catalog.openings(why),
            library.provenance.approvals_of(self._repo, approved) if approved else {},
            choice.left_out,
            choice.edges,
            tuple(self._repo.notes()),
        )

    def _ablation(self, lessons: Sequence[Light]) -> frozenset[str]:
        """Lessons to leave out on purpose. Only in a session with a name that is recorded: else it measures nothing."""
        if not (lessons and self._session and all(one.usages.recording for one in self._repo.every)):
            return frozenset()
        rate = self._parameters[ABLATION].value
        return frozenset(light.id for light in lessons if self._chance(f"without {light.id}").random() < rate)

    def question(self) -> list[str]:
        """In some sessions, the request to say how the lessons did."""
        rate = self._parameters[ASSESSMENT].value
        return [ASKING] if self._session and self._chance("question").random() < rate else []


def similarities(repo: Reading, words: str, kinds: frozenset[Kind] = frozenset({Kind.LESSON})) -> dict[str, float]:
    """Cosine similarity of the best passage of each entry that the vectors found."""
    wanted = PassageFilter(kinds=frozenset(kind.value for kind in kinds))
    best: dict[str, float] = {}
    for hit in repo.indexing.begin(words, wanted, DEPTH)().vectors:
        best[hit.entry_id] = max(hit.score, best.get(hit.entry_id, -1.0))
    return best
