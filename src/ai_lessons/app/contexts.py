"""Rules and lessons for a project, tags, files or a failure; effects of links on results."""

from __future__ import annotations

import os
import re
from itertools import combinations
from pathlib import Path
from random import Random
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons import app
from ai_lessons.app.answers import Answer, Context, ContextQuery, Hit, Query, Related
from ai_lessons.app.authorship import may_silence
from ai_lessons.errors import Conflict
from ai_lessons.git import files
from ai_lessons.learning import statistics
from ai_lessons.learning.selection import FEW, Candidate, NotShown, Thresholds, choose, fitting
from ai_lessons.learning.statistics import ABLATION, ASSESSMENT, BUDGET, CONFIDENCE, SIMILARITY, Event
from ai_lessons.model import command_patterns as commands
from ai_lessons.model import expression, transcripts
from ai_lessons.model.anchors import LARGEST, SILENCED, Anchor, anchors_of, brings, definition
from ai_lessons.model.entries import (
    GLOBAL_PROJECT,
    KINDS,
    LESSONS,
    Confidence,
    EntrySummary,
    Filter,
    Kind,
    Moment,
    Relation,
    Source,
    Status,
    json_fields,
)
from ai_lessons.model.layout import BELOW, EXACT, any_match, globs, specificity
from ai_lessons.model.lessons import trust
from ai_lessons.model.links import ACYCLIC, GraphStep, Line, clusters, derived_from, drawing
from ai_lessons.search import terms
from ai_lessons.search.ranking import context_boost, context_weights

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from ai_lessons.app.workspace import Library, Reading
    from ai_lessons.model.links import Edge
    from ai_lessons.search.catalog import CatalogReader

SPARE = 20  # Results asked for beyond the limit, for those that take the places of superseded ones


SEE_ALSO = 3  # Results that are asked for what is related to them, and related entries that are named
CHAIN = 20  # Steps along `supersedes`, or back over `derived_from`: no chain is longer, but a pulled one may be


def edges_of(catalog: CatalogReader, entry_id: str, relation: str) -> list[Edge]:
    """The links of a relation that start or end at an entry."""
    return [edge for edge in catalog.edges(entry_id) if edge.relation == relation]


def judged(repo: Reading, summaries: Sequence[EntrySummary], *, unasked: bool = False) -> list[EntrySummary]:
    """The entries with what became of the code they speak of: see `anchors.judge`, which is loaded where one does."""
    speaking = any(summary.about for summary in summaries)
    return app.anchors.judge(repo, summaries, unasked=unasked) if speaking else list(summaries)


def drop_superseded(repo: Reading, query: Query, hits: Sequence[Hit]) -> list[Hit]:
    """The best hits, as many as asked for, without superseded ones (`query.every`: these with less score)."""
    kept: list[Hit] = []
    farther = farther_copies(repo, [hit.entry for hit in hits])
    for hit in nearer_first(repo, hits):
        if not query.every and len(kept) == query.limit:
            break
        if hit.entry.id in farther:
            continue
        # a rule is in force until a person withdraws it, whatever links to it
        old = hit.entry.kind is not Kind.RULE and superseded_by(repo, hit.entry.id) is not None
        if not old:
            kept.append(hit)
        elif query.every:  # shown all the same, with half of its score, so that what supersedes it comes first
            factors = {**hit.factors, "superseded": 0.5} if hit.factors else hit.factors
            entry = hit.entry._replace(score=(hit.entry.score or 0.0) * 0.5)
            kept.append(hit._replace(entry=entry, factors=factors))
    if query.every:
        kept.sort(key=lambda hit: -(hit.entry.score or 0.0))
    return kept[: query.limit]


def nearer_first(repo: Reading, hits: Sequence[Hit]) -> list[Hit]:
    """The same hits; of two that contradict each other over tiers the nearer stands first."""
    ordered = list(hits)
    if len(repo.every) == 1:
        return ordered
    summaries = [hit.entry for hit in hits]
    for a, b in contradictions(repo, summaries):
        first, second = sorted((a, b), key=lambda summary: repo.tier_distance(summary.tier))
        places = {hit.entry.id: place for place, hit in enumerate(ordered)}
        if places[first.id] > places[second.id]:
            ordered.insert(places[second.id], ordered.pop(places[first.id]))
    return ordered


def usages_of(repo: Reading, summaries: Sequence[EntrySummary]) -> dict[str, statistics.UsageTally]:
    """How entries have done, by id; the repository of each is asked."""
    usages: dict[str, statistics.UsageTally] = {}
    for place in repo.every:
        usages |= place.usages.several([summary for summary in summaries if summary.tier == place.options.tier])
    return usages


def silent(repo: Reading, summaries: Collection[EntrySummary]) -> dict[str, str]:
    """Why entries are not shown unasked, by id; the repository of each is asked."""
    reasons: dict[str, str] = {}
    for place in repo.every:
        reasons |= place.usages.silent(summary for summary in summaries if summary.tier == place.options.tier)
    return reasons


def farther_copies(repo: Reading, summaries: Iterable[EntrySummary]) -> set[str]:
    """The ids of these that a nearer tier has as well: one was promoted from the other, or both from a third."""
    titled: dict[str, list[EntrySummary]] = {}
    for summary in summaries:
        titled.setdefault(summary.title, []).append(summary)

    def origins(summary: EntrySummary) -> set[str]:
        return {summary.id, *derived_from(repo.catalog.edges(summary.id), summary.id)}

    pairs = (pair for same in titled.values() for pair in combinations(same, 2))
    twice = ((a, b) for a, b in pairs if a.tier != b.tier and origins(a) & origins(b))
    return {max(pair, key=lambda summary: repo.tier_distance(summary.tier)).id for pair in twice}


def origins(catalog: CatalogReader, entry_id: str) -> list[GraphStep]:
    """What an entry is derived from, over up to `CHAIN` links, the nearest first; each once."""
    steps, seen, border = list[GraphStep](), {entry_id}, [entry_id]
    for depth in range(1, CHAIN + 1):
        edges = (x for name in border for x in edges_of(catalog, name, Relation.DERIVED_FROM) if x.source == name)
        ring = {edge.target: edge for edge in edges if edge.target not in seen}
        steps += [GraphStep(x.target, x.relation, True, x.weight, depth, x.source) for x in ring.values()]  # noqa: FBT003
        seen.update(ring)
        border = list(ring)
    return steps


def weakest_origin(repo: Reading, summary: EntrySummary) -> EntrySummary | None:
    """The lesson that can be trusted least of those that an entry is derived from; None where none is below it."""
    ids = [step.target for step in origins(repo.catalog, summary.id)]
    summaries = [summary, *(repo.catalog.many(ids).values() if ids else ())]
    weakest = min((each for each in summaries if each.kind is Kind.LESSON), key=trust, default=summary)
    return None if weakest.id == summary.id else weakest


def vouched(repo: Reading, summary: EntrySummary) -> EntrySummary:
    """The entry with the weakest of its origins: a copy is no surer than what it was made of."""
    weakest = weakest_origin(repo, summary)
    if weakest is None:
        return summary
    stated = {key: getattr(weakest, key) for key in KINDS[weakest.kind].in_results}
    named = {"id": weakest.id, "handle": weakest.handle, "title": weakest.title, "tier": weakest.tier}
    return summary._replace(weakest=named | stated)


def superseded_by(repo: Reading, entry_id: str, summary: EntrySummary | None = None) -> EntrySummary | None:
    """The newest active entry that takes the place of this one (`summary`, if known); None if it stands.

    Follows up to `CHAIN` links; of a firm lesson only those count that may silence one.
    """
    newest: EntrySummary | None = None
    seen, border = {entry_id}, [entry_id]
    summaries = {entry_id: summary} if summary else {}
    for _ in range(CHAIN):
        edges = (x for old in border for x in edges_of(repo.catalog, old, Relation.SUPERSEDES) if x.target == old)
        steps = [(edge.source, edge.target) for edge in edges if edge.source not in seen]
        if not steps:
            break
        summaries |= repo.catalog.many({end for step in steps for end in step if end not in summaries})
        newer = [source for source, old in steps if may_silence(repo.every, source, old, summaries)]
        seen.update(newer)
        active = [summaries[source] for source in newer if source in summaries and _is_active(summaries[source])]
        newest = active[0] if active else newest
        border = newer
    return newest


def superseded(repo: Reading) -> frozenset[str]:
    """The ids of all entries that something active takes the place of; never of rules: what is approved holds."""
    old = {edge.target for edge in repo.catalog.edges() if edge.relation == Relation.SUPERSEDES}
    summaries = repo.catalog.many(old) if old else {}
    return frozenset(x.id for x in summaries.values() if x.kind is not Kind.RULE and superseded_by(repo, x.id, x))


def _is_active(summary: EntrySummary) -> bool:
    return summary.status != Status.WRONG


def contradictions(repo: Reading, summaries: Iterable[EntrySummary]) -> list[tuple[EntrySummary, EntrySummary]]:
    """Pairs of these entries that contradict each other, in their order."""
    shown = {summary.id: summary for summary in summaries}
    edges = (edge for entry_id in shown for edge in edges_of(repo.catalog, entry_id, Relation.CONTRADICTS))
    pairs = {frozenset((edge.source, edge.target)) for edge in edges}
    return [(a, b) for a, b in combinations(shown.values(), 2) if frozenset((a.id, b.id)) in pairs]


def warnings(repo: Reading, summaries: Iterable[EntrySummary]) -> list[str]:
    """A sentence for each pair of results that contradict each other: both are never shown without saying so."""
    sentences = []
    for a, b in contradictions(repo, summaries):
        near = min(a, b, key=lambda summary: repo.tier_distance(summary.tier))
        why = "" if a.tier == b.tier else f": [{near.handle}] of the {near.tier} tier is nearer, so it counts"
        sentences.append(f"[{a.handle}] and [{b.handle}] contradict each other{why}")
    return sentences


def see_also(repo: Reading, summaries: Sequence[EntrySummary]) -> list[str]:
    """A sentence that names what is related to the best results and is not among them; none without such a link."""
    shown = {summary.id for summary in summaries}
    handles: dict[str, str] = {}
    for summary in summaries[:SEE_ALSO]:
        for edge in edges_of(repo.catalog, summary.id, Relation.RELATED_TO):
            handles.setdefault(edge.target if edge.source == summary.id else edge.source, summary.handle)
    related = repo.catalog.many(handles.keys() - shown) if handles else {}
    standing = [related[x] for x in handles if x in related and _is_active(related[x]) and not superseded_by(repo, x)]
    sentences = [f"{summary.handle} {summary.title} (related to {handles[summary.id]})" for summary in standing]
    return [f"see also: {'; '.join(sentences[:SEE_ALSO])}"] if sentences else []


def suppressed(repo: Reading, summaries: Sequence[EntrySummary], project: str | None) -> dict[str, tuple[str, str]]:
    """Which of these lessons are left out because of a link to another one of them: by id, a word and a sentence.

    They come the nearest first, in each place the surest first.
    """
    away: dict[str, tuple[str, str]] = {}
    by_id = {summary.id: summary for summary in summaries}
    for summary in summaries:
        if newer := superseded_by(repo, summary.id):
            away[summary.id] = "superseded", f"superseded by [{newer.handle}]"
    # a general lesson is left out beside the one that specializes it
    for summary in summaries:
        for edge in edges_of(repo.catalog, summary.id, Relation.SPECIALIZES):
            special = edge.source == summary.id and edge.target in by_id
            special = special and summary.id not in away and edge.target not in away
            if special and may_silence(repo.every, summary.id, edge.target, by_id):
                away[edge.target] = "specialized", f"[{summary.handle}] says it for this case"
    for first, second in contradictions(repo, summaries):
        if first.id in away or second.id in away:
            continue
        # Of two that contradict each other the nearer one stays: by tier, then by project (this one, what holds
        # everywhere, another one), else the first.
        steps = {GLOBAL_PROJECT: 1} | {project: 0}
        far, near = ((repo.tier_distance(x.tier), steps.get(x.project, 2)) for x in (first, second))
        wins, loses = (second, first) if far > near else (first, second)
        if not may_silence(repo.every, wins.id, loses.id, by_id):
            wins, loses = loses, wins
        away[loses.id] = "contradicts", f"contradicts [{wins.handle}], which is nearer or surer"
    return away


def refuse_circle(repo: Reading, start: EntrySummary, relation: str, end: EntrySummary) -> None:
    """Raises Conflict: the edge would close a circle of a relation that makes no sense in one."""
    if relation not in ACYCLIC:
        return
    reached = [end.id]
    for entry_id in reached:  # it grows on the way
        ends = {edge.target for edge in edges_of(repo.catalog, entry_id, relation) if edge.source == entry_id}
        reached += ends.difference(reached)
    if start.id in reached:
        raise Conflict(
            f"{end.handle} {relation.replace('_', ' ')} {start.handle} already, if over others: this closes a circle",
            hint=f"ai-lessons recall related {end.handle} --depth 3",
        )


def related_of(catalog: CatalogReader, steps: Collection[GraphStep]) -> tuple[Related, ...]:
    """What these steps over the graph lead to."""
    summaries = catalog.many(step.target for step in steps)
    return tuple(
        Related(summaries.get(step.target), step.target, step.relation, step.outgoing, step.weight, step.depth)
        for step in steps
    )


@json_fields(hidden=("confidence", "left_out"))
class Graph(NamedTuple):
    """Entries, the links between them and to `missing` ids; `clusters`: ids that hang together over `related_to`.

    `left_out`: entries that were one too many.
    """

    entries: tuple[EntrySummary, ...] = ()
    missing: tuple[str, ...] = ()
    links: tuple[Line, ...] = ()
    notes: tuple[str, ...] = ()
    clusters: tuple[tuple[str, ...], ...] = ()
    confidence: Mapping[str, float] = MappingProxyType({})
    left_out: int = 0


def graph(
    opened: Library, refs: Sequence[str] = (), *, depth: int = 1, most: int = 200, project: str | None = None
) -> Graph:
    """What is linked within `depth` steps of these entries, or everything (of a project, and what is linked with it).

    `confidence` is by lesson, as it was learned. Raises NotFound, AmbiguousName.
    """
    repo = opened.reading
    catalog = repo.current()
    starts = [repo.resolve(ref).id for ref in refs]
    edges = catalog.edges()
    if project:
        inside = {summary.id for summary in catalog.select(Filter(project=project, status=None))}
        edges = [edge for edge in edges if {edge.source, edge.target} & inside]
    drawn = drawing(edges, starts, depth=depth, most=most)
    summaries = catalog.many(drawn.ids)
    notes = repo.notes()
    if drawn.left_out:
        every = len(drawn.ids) + drawn.left_out
        notes.append(f"{drawn.left_out} of {every} left out: --limit {every} shows all")
    joined = [(line.source, line.target) for line in drawn.lines if line.relation == Relation.RELATED_TO]
    missing = tuple(name for name in drawn.ids if name not in summaries)
    entries = tuple(summaries[name] for name in drawn.ids if name in summaries)
    groups = clusters(pair for pair in joined if {*pair} <= summaries.keys())
    lessons = [summary for summary in entries if summary.kind is Kind.LESSON]
    confidence = {lesson: used.confidence for lesson, used in usages_of(repo, lessons).items()}
    return Graph(entries, missing, drawn.lines, tuple(notes), groups, confidence, drawn.left_out)


LOOKED_AT = 500  # Newest lessons of a project or tag among which the surest are chosen
NOT_KEPT = (
    "No lesson keeps a failure like this one. Once you have solved it, add one, with the command and its output in a "
    "fenced block (`$ command`, then the output). If it stays unsolved, begin its title with [UNSOLVED]."
)
_BY_PATH, _BY_PROJECT, _BY_GLOBAL = 2.0, 1.0, 0.5  # What the reasons weigh, beside the tags

SYMBOL = EXACT + 1  # How closely an entry names the symbol that is edited
Edit = tuple[str, str, str]  # Path, old and new text

_SURE = {word.value: place for place, word in enumerate(Confidence)}
_ABOUT_RUNNING = expression(r"WHEN (?:inside `[^`]+`, )?running `")


def context(opened: Library, query: ContextQuery, ask: Callable[..., Context] | None = None) -> Context:
    """Rules in force and lessons for what one is about to do; what came is recorded. Only words load an index.

    An entry comes because `applies_to` names one of the files (the only reason where only files are asked for), by its
    project or a context tag, or as a global rule; of lessons those that `selection.choose` lets pass.
    `ask` does the job `context`, elsewhere perhaps.
    """
    result = ask("context", query) if ask else find_context(opened, query)
    return result._replace(notes=(*result.notes, *opened.record(injection_events(result))))


def injection_events(result: Context) -> list[Event]:
    """That these entries came, and which were left out on purpose, to measure whether it makes a difference."""
    edges = result.edges
    events = [
        Event("", "", statistics.INJECTED, summary.id, edge=edges.get(summary.id, {})) for summary in result.entries
    ]
    omitted = (left.entry.id for left in result.left_out if left.reason == "ablation")
    return events + [Event("", "", statistics.LEFT_OUT, entry_id) for entry_id in omitted]


def find_context(opened: Library, query: ContextQuery) -> Context:
    """As `context`, but nothing is recorded."""
    repo = opened.reading
    repo.current()
    if query.error.strip():
        result = helping(repo, query.error, query.budget)
        entries = [*result.entries]
        for n, summary in enumerate(entries):  # each with its pattern and its text
            parts = summary.pattern, " ".join(result.texts.get(summary.id, "").split())
            entries[n] = summary._replace(snippet=" | ".join(filter(None, parts)) or summary.snippet)
        return result._replace(entries=tuple(entries))
    injecting = Injecting(repo, query.budget)
    asked = _Asked(repo, query, injecting.budget)
    rules = asked.rules()
    # `tell` leaves out what is superseded, contradicted or gone, so it gets far more than it may choose
    near = asked.lessons()[: 60 + 3 * injecting.budget]
    similar = similarities(repo, query.query) if near and query.query.strip() else {}
    fits = [Candidate(summary, level=summary.score or 0.0, similarity=similar.get(summary.id)) for summary in near]
    result = injecting.tell(None, fits, None, query.project, rules=len(rules))
    chosen = judged(repo, rules[: injecting.budget - len(result.entries)])
    notes = [*result.notes]
    if len(rules) > len(chosen):
        notes.append(f"{len(rules) - len(chosen)} more rules apply, beyond the budget of {injecting.budget}")
    return result._replace(
        entries=(*chosen, *result.entries),
        notes=(*notes, *(injecting.question() if result.entries else ())),
        approvals=app.entries.approvals_of(repo, chosen) if query.approvals else {},
    )


def helping_or_found(opened: Library, query: Query, ask: Callable[..., Any]) -> Context | Answer:
    """What helps with the failure that a query shows; else, or where it shows none, what a search finds.

    Then a failure is searched for by its command and the line that tells most, with few results.
    `ask` does the jobs `context` and `search`, elsewhere perhaps.
    """
    error, alone = transcripts.shown_in(query.text)
    if error and not (query.filters.versions or query.filters.kinds - {Kind.LESSON, Kind.RULE}):
        helps = context(opened, ContextQuery(error=error, approvals=query.approvals), ask)
        if helps.entries:
            return helps
    else:
        alone = False
    if alone:
        command, output = transcripts.parted(error)
        # a heredoc in the command line would drown the words of the message
        words = f"{command[:200]} {transcripts.headline(output)}".strip()
        query = query._replace(text=words, plain=True, limit=min(query.limit or FEW + 1, FEW + 1))
    answer: Answer = ask("search", query)
    return answer._replace(prompt=NOT_KEPT) if alone and answer.prompt else answer


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

    The score of an entry is the chance that it helps: see `transcripts.chance`; where it says of the command that it
    fails, how surely. `shown_ids` None: a person asked. `folders` as for `hints.before_a_tool`.
    """
    chances = _chances_of_failure(repo, error, by_meaning=not words)
    kept = set(chances)
    calls = commands.blamed_call(error, folders[0] if folders else "")
    about = about_command(commands_here(repo, folders) if calls else [], calls, folders)
    # An agent's lesson whose title names the command is no answer to every failure of it. One that keeps a failure is
    # about that failure.
    about = [x for x in about if x.kind is Kind.RULE or x.firm or x.seen or (x.id not in kept and _tried(x, calls))]
    for summary in about:
        seen = commands.seen_in(summary.seen)
        chances[summary.id] = max(chances.get(summary.id, 0.0), seen.chance() if seen else transcripts.BAR)
    # A lesson learned from calls of one command (WHEN running `npm …`) helps with no other one, though `not found` and
    # the like are printed by both.
    for summary in repo.catalog.about_commands() if shown_ids is not None else ():
        if summary not in about and commands.seen_in(summary.seen) and _ABOUT_RUNNING.match(summary.pattern):
            chances.pop(summary.id, None)
    # which of these ten is told depends on versions and outcomes, too
    likeliest = sorted(chances, key=lambda entry_id: -chances[entry_id])[:10]
    summaries = repo.catalog.many(likeliest)
    fits = []
    for entry_id in (each for each in likeliest if each in summaries):
        likely, summary = chances[entry_id], summaries[entry_id]._replace(score=chances[entry_id])
        fits.append(Candidate(summary, f"keeps a failure like this one ({likely:.2f})", chance=likely))
    return Injecting(repo, None, most or FEW).tell(Moment.TOOL_FAILED, fits, shown_ids)


def _chances_of_failure(repo: Reading, error: str, *, by_meaning: bool) -> dict[str, float]:
    """For each entry that keeps a failure, by id, the chance that it helps with this one."""
    command, output = transcripts.parted(error)
    kept, shape = repo.catalog.failures(), transcripts.shape(output)
    weights, alike = transcripts.rarity([words for _, words in kept]), dict[str, float]()
    for entry_id, stored_shape in kept:
        alike[entry_id] = max(alike.get(entry_id, 0.0), transcripts.alike(shape, stored_shape, weights))
    similar: dict[str, float] = {}
    if alike and by_meaning:
        app.search.refresh(repo)
        telling = f"{command}\n{transcripts.telling(output)}"
        similar = similarities(repo, telling, frozenset({Kind.LESSON, Kind.RULE}))
    chances = {entry_id: transcripts.chance(much, similar.get(entry_id)) for entry_id, much in alike.items()}
    # an entry that quotes a line of the output in full is about this failure, whatever else was printed
    return chances | dict.fromkeys(transcripts.quoted_in(output, kept), transcripts.chance(1.0))


def _tried(summary: EntrySummary, calls: Sequence[commands.Called]) -> bool:
    """Whether an entry was tested, and its WHEN names one of these commands with more than the program."""
    named = [form for form in commands.forms_of(summary.pattern) if len(form.words) > 1]
    return summary.source == Source.TESTED and commands.fits(named, calls)


def commands_here(repo: Reading, folders: Sequence[str]) -> list[EntrySummary]:
    """The rules and lessons about commands that hold everywhere or in one of the folders."""
    likely = repo.catalog.about_commands()
    here = {GLOBAL_PROJECT}
    for place in map(Path, folders if likely else ()):
        names = (*files.names_of(place), place.name)
        here |= {summary.project for summary in likely if any(files.same_name(summary.project, name) for name in names)}
    return [summary for summary in likely if summary.project in here]


def about_command(
    here: Iterable[EntrySummary], calls: Sequence[commands.Called], folders: Sequence[str]
) -> list[EntrySummary]:
    """Those of `commands_here` that name one of these commands."""
    # `cd shop` inside of `shop` is right where there is a `shop` in it, as in many packages
    cwd = folders[0] if folders else None
    below = {name for _, name in calls if name and cwd is not None and os.path.lexists(os.path.join(cwd, name))}
    forms = ((summary, [form for form in named_commands(summary) if form.inside not in below]) for summary in here)
    return [summary for summary, named in forms if commands.fits(named, calls)]


def about_inside(here: Iterable[EntrySummary], calls: Sequence[commands.Called], cwd: str) -> list[EntrySummary]:
    """Those of `commands_here` that are about commands inside of a folder that these commands go into."""
    paths = [os.path.join(cwd, words[1]) for words, _ in calls if words[0] == "cd" and len(words) > 1]
    folders = ((commands.folder_name(path), path) for path in paths)
    entered = {name for name, path in folders if name and not os.path.lexists(os.path.join(path, name))}
    return [summary for summary in here if entered.intersection(form.inside for form in named_commands(summary))]


def named_commands(summary: EntrySummary) -> tuple[commands.Form, ...]:
    """The commands that an entry names in `about`, WHEN, DO NOT or its title.

    A program alone counts in `about`, and in the WHEN of what rests on calls of it or of what a person stated.
    """
    pattern = summary.pattern
    texts = [item.get("command") for item in summary.about or () if isinstance(item, dict)]
    about = (form for text in texts if isinstance(text, str) for form in commands.named_forms(f"`{text}`"))
    refused = pattern.partition("-> DO NOT ")[2]
    spoken = () if summary.seen else commands.named_forms(f"{summary.title} {refused}")
    surely = bool(summary.seen or summary.firm)
    stated_when = [form for form in commands.forms_of(pattern) if surely or len(form.words) > 1]
    return (*about, *stated_when, *(form for form in spoken if len(form.words) > 1))


def fit(
    summary: EntrySummary, why: str, project: str | None, *, level: float = EXACT, chance: float = 1.0
) -> Candidate:
    """An entry that may be told in this project."""
    # Of entries that fit equally well those of this project come first, then the person's own before an enterprise's.
    nearness = 0.5 * (summary.project == project) + 0.25 * (summary.tier in {"user", "project"})
    return Candidate(summary, why, level=level, chance=chance, closeness=nearness)


def holding(repo: Reading, project: str | None) -> list[EntrySummary]:
    """The rules and lessons that hold in a project, and what people say holds everywhere. The catalog is up to date."""
    kinds = frozenset({Kind.RULE, Kind.LESSON})
    filters = [
        Filter(kinds=kinds, project=name, sort="firm", limit=LOOKED_AT)
        for name in dict.fromkeys((project, GLOBAL_PROJECT))
    ]
    summaries = [summary for query in filters if query.project for summary in repo.catalog.select(query)]
    return [x for x in summaries if x.project == project or x.kind is Kind.RULE or x.firm]


def by_words(repo: Reading, text: str, bar: float, here: Collection[str]) -> dict[str, EntrySummary]:
    """The rules and lessons of these projects that a text is about, by id and with their scores. Loads no index."""
    asked = terms.asked_for(text)
    if not asked:
        return {}
    scored = {entry: score for entry, score in terms.scores(*repo.catalog.postings(asked)).items() if score >= bar}
    summaries = repo.catalog.many(scored) if scored else {}
    # a lesson learned from calls of a command is told before that command, and not because a prompt has its words
    near = (summary for summary in summaries.values() if summary.project in here and not summary.seen)
    return {summary.id: summary._replace(score=scored[summary.id]) for summary in near}


def naming(
    repo: Reading, paths: Sequence[str], edits: Sequence[Edit], here: Collection[str]
) -> list[tuple[EntrySummary, int]]:
    """The rules and lessons that name one of these files or, of the projects `here`, what is edited; how closely.

    See `layout.specificity` for `applies_to`; `SYMBOL` for `about`. Nothing is left out yet. The catalog is up to date.
    """
    cwd = repo.options.cwd
    within = [in_project(path, cwd) for path in paths]
    changed = [(in_project(path, cwd), path, old, new) for path, old, new in edits]
    named = []
    for summary in repo.catalog.about_files(frozenset({Kind.RULE, Kind.LESSON})):
        inside = summary.project in here
        # a lesson about all files of a kind holds in each project; a rule and what speaks of code, in their own
        patterns = globs(summary.applies_to) if inside or summary.kind is Kind.LESSON else []
        near = [specificity(patterns, within)] if any_match(patterns, within) else []
        levels = (_names(anchor, within, changed) for anchor in (anchors_of(summary.about) if inside else ()))
        near += [level for level in levels if level is not None]
        if near:
            named.append((summary, max(near)))
    return named


def _names(anchor: Anchor, paths: Sequence[str], changed: Sequence[tuple[str, str, str, str]]) -> int | None:
    """How closely an anchor names what is edited; None: not at all."""
    if anchor.package:
        return SYMBOL if any(brings(anchor.package, path, new) for path, _, _, new in changed) else None
    place = anchor.path.rstrip("/")
    if not place or not any(path == place or path.startswith(f"{place}/") for path in paths):
        return None
    if not anchor.symbol:
        return EXACT if place in paths else BELOW
    edits = [edit for edit in changed if edit[0] == place]
    return SYMBOL if not edits or any(_changes(anchor, *edit[1:]) for edit in edits) else None


def _changes(anchor: Anchor, path: str, old: str, new: str) -> bool:
    """Whether an edit touches a symbol: its definition, or by its name."""
    before = files.beginning(Path(path), None, LARGEST)
    part = definition(anchor.path, before, anchor.symbol) if before else None
    if part and part.lines and not old:  # the whole file is written
        after = definition(anchor.path, new, anchor.symbol)
        return after is None or after.meaning != part.meaning
    start = before.find(old) if part and old else -1
    if part and start >= 0:
        first = before.count("\n", 0, start) + 1
        last = first + old.rstrip("\n").count("\n")
        if any(first <= end and begin <= last for begin, end in part.lines):
            return True
    name = re.escape(re.split(r"\.|::", anchor.symbol)[-1])
    return re.search(rf"(?<!\w){name}(?!\w)", f"{old}\n{new}") is not None


class _Asked:
    """One question, and what there is for it."""

    def __init__(self, repo: Reading, query: ContextQuery, budget: int) -> None:
        self._repo, self._query, self._budget = repo, query, budget
        self._paths = [in_project(path, repo.options.cwd) for path in query.paths]
        # the settings are worth loading YAML only where there are tags that may have other names
        self._aliases = repo.reading_config.tag_aliases if query.context_tags else {}
        self._weights = context_weights(query.context_tags, self._aliases)
        asks = bool(query.context_tags or query.query.strip())
        self._project = query.project or (None if asks or query.paths else GLOBAL_PROJECT)
        self._only_paths = not (self._project or asks)

    def rules(self) -> list[EntrySummary]:
        """The rules that apply, nearest first."""
        if not any(place.rules.count for place in self._repo.every):
            return []
        summaries = self._repo.catalog.select(Filter(kinds=frozenset({Kind.RULE})))
        return self._with_searched(self._nearest(summaries), frozenset(), Kind.RULE)

    def lessons(self) -> list[EntrySummary]:
        """The lessons, nearest first, then the surest, then the newest."""
        catalog, kinds = self._repo.catalog, LESSONS
        candidates = {summary.id: summary for summary in catalog.about_files(kinds)} if self._paths else {}
        if self._query.query.strip():
            named = self._nearest(summary for summary in candidates.values() if self._names_a_path(summary))
            return self._with_searched(named, kinds, Kind.LESSON)
        everywhere = Filter(kinds=kinds, project=GLOBAL_PROJECT, sort="firm", limit=LOOKED_AT)
        filters = [Filter(kinds=kinds, project=self._project, limit=LOOKED_AT), everywhere] if self._project else []
        tags = {tag for tag, weight in self._weights.items() if weight > 0}
        tags |= {alias for alias, tag in self._aliases.items() if tag in tags}
        filters += [Filter(kinds=kinds, tags=(tag,), limit=LOOKED_AT) for tag in sorted(tags)]
        for query in filters:
            candidates |= {summary.id: summary for summary in catalog.select(query)}
        return self._nearest(candidates.values())

    def _nearest(self, summaries: Iterable[EntrySummary]) -> list[EntrySummary]:
        scored = [summary._replace(score=score) for summary in summaries if (score := self._score(summary)) > 0]
        scored.sort(key=lambda summary: (summary.created, summary.id), reverse=True)
        scored.sort(key=lambda summary: (-(summary.score or 0), -_SURE.get(summary.confidence or "", 2)))
        return scored

    def _score(self, summary: EntrySummary) -> float:
        """How much speaks for the entry, 0 if nothing does."""
        if not self._may_come(summary):
            return 0.0
        rule = summary.kind is Kind.RULE
        # a rule of another project is not about this one's file of the same name
        here = not rule or self._project in {None, summary.project} or summary.project == GLOBAL_PROJECT
        score = _BY_PATH if here and self._names_a_path(summary) else 0.0
        if self._only_paths:
            return score
        score += context_boost(self._weights, frozenset(summary.tags), self._aliases) - 1
        if summary.project == self._project:
            score += _BY_PROJECT
        elif summary.project == GLOBAL_PROJECT and (rule or summary.firm):
            score += _BY_GLOBAL
        return score

    def _may_come(self, summary: EntrySummary) -> bool:
        return not self._paths or not globs(summary.applies_to) or self._names_a_path(summary)

    def _names_a_path(self, summary: EntrySummary) -> bool:
        about = (_names(anchor, self._paths, ()) is not None for anchor in anchors_of(summary.about))
        return any_match(globs(summary.applies_to), self._paths) or any(about)

    def _with_searched(self, summaries: list[EntrySummary], kinds: frozenset[Kind], kind: Kind) -> list[EntrySummary]:
        """These, and those of a kind that a search among `kinds` finds by the words of the query, if it has any."""
        query = self._query
        if not query.query.strip():
            return summaries
        search = Query(query.query, Filter(kinds, query.project), limit=self._budget, plain=True)
        result = app.search.find(self._repo, search._replace(context_tags=query.context_tags))
        ids = {summary.id for summary in summaries}
        hits = () if result.weak else (hit.entry for hit in result.hits)
        return summaries + [x for x in hits if x.kind is kind and x.id not in ids and self._may_come(x)]


def in_project(path: str, cwd: Path) -> str:
    """A file of the caller's as its own project sees it: from the folder that holds `.git`, else from `cwd`."""
    whole = Path(os.path.normpath(cwd / os.path.expanduser(path)))
    root = next((folder for folder in whole.parents if (folder / ".git").exists()), cwd)
    return (whole.relative_to(root) if whole.is_relative_to(root) else whole).as_posix().lstrip("/")


ASKING = "say afterwards how these did: ai-lessons contribute feedback ID helpful|ignored|contradicted"
DEPTH = 100  # bench.retrieval: passages asked of each half of the index, more only for more results


class Injecting:
    """One context being put together. In a session the same question is answered the same way."""

    def __init__(self, repo: Reading, budget: int | None, most: int | None = None) -> None:
        """`budget` None: as many entries as has proved best, and not more than `most`."""
        self._repo, self._parameters = repo, repo.every[0].usages.parameters()
        self._session = repo.options.session or ""
        draw = self._chance("bars").betavariate
        positions = {name: self._parameters[name].sample(draw) for name in (BUDGET, CONFIDENCE, SIMILARITY)}
        values = {name: self._parameters[name].at(position) for name, position in positions.items()}
        self.budget = int(values[BUDGET]) if budget is None else budget
        if budget is not None or (most and most <= self.budget):
            del positions[BUDGET]  # the caller said how many: what comes last then says nothing about the parameter
        self.budget = min(self.budget, most or self.budget)
        self._bars = Thresholds(self.budget, values[CONFIDENCE], values[SIMILARITY], positions)

    def _chance(self, what: str) -> Random:
        """Chance that is the same all through a session."""
        return Random(f"{self._session}/{what}") if self._session else Random()  # noqa: S311 - picks lessons, no keys

    def tell(
        self,
        moment: Moment | None,
        fits: Sequence[Candidate],
        shown_ids: Collection[str] | None,
        project: str | None = None,
        *,
        rules: int = 0,
    ) -> Context:
        """What is told of these at a moment of a session, with its texts; `selection.choose` decides.

        `rules`: so many come beside them, and take at most half of the budget while lessons are left.
        """
        usages = usages_of(self._repo, [candidate.entry for candidate in fits])
        every = [candidate._replace(usage=usages[candidate.entry.id]) for candidate in fits]
        ranked, left_out = fitting(moment, every, shown_ids, self._bars)
        could = [candidate.entry for candidate in ranked if candidate.entry.id not in (shown_ids or ())]
        lessons = [summary for summary in could if summary.kind is Kind.LESSON]
        # A lesson is left out on purpose only after it was told ten times: before, there is nothing to compare with.
        often = [summary for summary in lessons if usages[summary.id].tallies.injected >= 10]
        looked_at, gone = self._code_of(could, unasked=shown_ids is not None)
        away = suppressed(self._repo, [summary for summary in lessons if summary.id not in gone], project) | gone
        left_out += [NotShown(summary, *away[summary.id]) for summary in lessons if summary.id in away]
        ranked = [candidate for candidate in ranked if candidate.entry.id not in away]
        beside = min(rules, max((self.budget + 1) // 2, self.budget - (len(lessons) - len(away))))
        bars = self._bars._replace(budget=self.budget - beside)
        choice = choose(moment, ranked, bars, shown_ids or (), self._ablation(often).__contains__)
        entries = tuple(looked_at.get(candidate.entry.id, candidate.entry) for candidate in choice.chosen)
        why = {candidate.entry.id: candidate.why for candidate in choice.chosen}
        approved = [summary for summary in entries if summary.kind is Kind.RULE]
        approvals = app.entries.approvals_of(self._repo, approved) if approved else {}
        texts, notes = self._repo.catalog.openings(why), tuple(self._repo.notes())
        return Context(entries, why, texts, approvals, (*left_out, *choice.left_out), choice.edges, notes)

    def _code_of(
        self, could: Sequence[EntrySummary], *, unasked: bool
    ) -> tuple[dict[str, EntrySummary], dict[str, tuple[str, str]]]:
        """By id: entries with what became of their code, and why lessons are not told for that (word, sentence)."""
        most = 10 * self.budget  # each look reads code: ten for each entry that may come
        seen = judged(self._repo, could[:most], unasked=unasked)
        gone = {summary.id: ("budget", "too many fit to look at their code") for summary in could[most:]}
        gone |= {summary.id: (summary.verdict, summary.warning) for summary in seen if summary.verdict in SILENCED}
        # rules are told all the same, with the warning, and so is everything to a person who asks
        lessons = {summary.id for summary in could if summary.kind is Kind.LESSON and unasked}
        return {summary.id: summary for summary in seen}, {name: gone[name] for name in gone if name in lessons}

    def _ablation(self, lessons: Sequence[EntrySummary]) -> frozenset[str]:
        """Lessons to leave out on purpose: where the user wants that, in a session with a name that is recorded."""
        recorded = self._session and all(place.usages.recording for place in self._repo.every)
        if not (self._repo.options.measure and lessons and recorded):
            return frozenset()
        rate = self._parameters[ABLATION].value
        return frozenset(summary.id for summary in lessons if self._chance(f"without {summary.id}").random() < rate)

    def question(self) -> list[str]:
        """In some sessions, the request to say how the lessons did."""
        rate = self._parameters[ASSESSMENT].value
        return [ASKING] if self._session and self._chance("question").random() < rate else []


def similarities(repo: Reading, words: str, kinds: frozenset[Kind] = LESSONS) -> dict[str, float]:
    """Cosine similarity of the best passage of each entry that the vectors found."""
    filter_ = Filter(kinds=kinds)
    best: dict[str, float] = {}
    for hit in app.search.begin(repo, words, filter_, DEPTH)().vectors:
        best[hit.entry_id] = max(hit.score, best.get(hit.entry_id, -1.0))
    return best
