"""How entries have done, by the events of one repository."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from ai_lessons import extensions
from ai_lessons.app import authorship
from ai_lessons.app.learned import Judged, KeptRule, Learned, LearnedFigures
from ai_lessons.errors import Refused
from ai_lessons.features.learning import confidence, objections
from ai_lessons.features.learning.cache import UsageCache
from ai_lessons.features.learning.effect import measured
from ai_lessons.features.learning.facts import CLAIMED, fact
from ai_lessons.features.learning.kept import line_of
from ai_lessons.features.learning.objections import LIMITS
from ai_lessons.features.learning.parameters import (
    ABLATION,
    ASSESSMENT,
    CONFIDENCE,
    curiosity,
    fold_parameters,
    learned,
)
from ai_lessons.model import events
from ai_lessons.model.entries import BEGINS, Filter, Kind
from ai_lessons.model.events import Event
from ai_lessons.model.links import derived_from
from ai_lessons.model.tallies import NOTHING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from ai_lessons.app.workspace import RepositorySession
    from ai_lessons.features.learning.parameters import ParameterState
    from ai_lessons.model.entries import EntrySummary
    from ai_lessons.model.tallies import Tallies, UsageTally
    from ai_lessons.search.catalog_reader import CatalogReader


class Usages(Learned):
    """The sums of one repository. Nothing is opened before it is asked for."""

    def __init__(self, repo: RepositorySession) -> None:
        self._repo = repo
        self._cache: UsageCache | None = None

    def close(self) -> None:
        """Close the cache."""
        if self._cache is not None:
            self._cache.close()
            self._cache = None

    @property
    def cache(self) -> UsageCache | None:
        """The sums, with all that is in the logs now; None while nothing ever happened."""
        files = self._repo.events.log.files()
        if not files:
            return None
        if self._cache is None:
            self._cache = UsageCache(self._repo.store.state_dir / "usage.sqlite")
        self._cache.refresh(files)
        return self._cache

    # --- what happened ---

    def history(self, entry_id: str) -> list[tuple[str, str]]:
        """(time, word) of every event of an entry, the oldest first."""
        cache = self.cache
        if cache is None:
            return []
        return cache.history(entry_id)

    def tallies(self, entries: Iterable[str] | None = None) -> dict[str, Tallies]:
        """What happened to each of these entries, or to all.

        Those to which nothing happened are left out.
        """
        cache = self.cache
        if cache is None:
            return {}
        return cache.tallies(entries)

    def kept(self, rules: Iterable[EntrySummary]) -> dict[str, KeptRule]:
        """By id, in how many sessions of this clone what happened to these rules.

        None of which nothing can be said.
        """
        cache = self.cache
        if cache is None:
            return {}
        by_id = {rule.id: rule for rule in rules}
        decisions = _decisions(self._repo.catalog)
        kept: dict[str, KeptRule] = {}
        for entry_id, sessions in cache.kept(by_id).items():
            of_rule = None
            if decisions is not None:
                of_rule = decisions.get(entry_id, [])
            line = line_of(sessions, of_rule)
            if line:
                rule = by_id[entry_id]
                kept[entry_id] = KeptRule(rule.handle, rule.title, sessions, line)
        return kept

    # --- how entries have done ---

    def several(
        self, summaries: Sequence[EntrySummary], *, as_claimed: bool = False
    ) -> dict[str, UsageTally]:
        """How entries have done, by id, see `Learned.several`."""
        by_id = {summary.id: summary for summary in summaries}
        parents: dict[str, list[str]] = {}
        for entry_id, summary in by_id.items():
            if summary.kind is Kind.LESSON:
                edges = self._repo.catalog.edges(entry_id)
                parents[entry_id] = derived_from(edges, entry_id)
        parent_ids = {parent for ids in parents.values() for parent in ids}
        tallies = self.tallies({*by_id, *parent_ids})
        here = by_id | self._repo.catalog.many(parent_ids - set(by_id))
        usages = {}
        for entry_id, summary in by_id.items():
            its_parents = [here[name] for name in parents.get(entry_id, ()) if name in here]
            usage = _usage(summary, tallies, its_parents, as_claimed=as_claimed)
            if entry_id in parents:
                usage = self._since_edit(summary, usage)
            usages[entry_id] = usage
        return usages

    def _since_edit(self, lesson: EntrySummary, usage: UsageTally) -> UsageTally:
        """The count of sessions without use begins anew where the lesson was edited."""
        if not objections.unused(usage.tallies):
            return usage
        since = self._unused_since_edit(lesson)
        if since >= usage.tallies.unused:
            return usage
        return usage._replace(tallies=usage.tallies._replace(unused=since))

    def _unused_since_edit(self, summary: EntrySummary) -> int:
        """In how many sessions an entry came since its file was edited, however that was done.

        A file that is as in its last commit is as old as that: a clone or a checkout makes it anew.
        """
        cache, path = self.cache, self._repo.file_of(summary)
        if cache is None:
            return 0
        try:
            edited = (self._repo.store.root / path).lstat().st_mtime
        except OSError:
            # gone since the catalog looked
            return 0
        since = cache.sessions_since(summary.id, edited)
        if since < LIMITS.tired and not self._repo.history.dirty(path):
            for revision in self._repo.history.log(path, 1):
                committed = datetime.fromisoformat(revision.when).timestamp()
                # One job may both edit and commit, and git keeps whole seconds: up to two lie
                # between.
                if committed < edited - 2.0:
                    since = cache.sessions_since(summary.id, committed)
        return since

    def silent(self, summaries: Iterable[EntrySummary]) -> dict[str, str]:
        """Why these entries are not shown unasked, by id; those that are shown are left out."""
        bar = self.by_name()[CONFIDENCE].value
        by_id = {summary.id: summary for summary in summaries}
        reasons = {}
        for name, usage in self.several(list(by_id.values())).items():
            why = objections.silent(by_id[name], usage, bar)
            if why:
                reasons[name] = why
        return reasons

    def harmful(self) -> dict[str, str]:
        """Why entries do more harm than good, by id."""
        reasons = {}
        for name, tally in self.tallies().items():
            why = objections.harmful(tally)
            if why:
                reasons[name] = why
        return reasons

    def standings(self, summaries: Iterable[EntrySummary]) -> dict[str, float]:
        """By how much what was learned moves each lesson from here in a search.

        Those that it does not are left out.
        """
        lessons = []
        for summary in summaries:
            if summary.kind is Kind.LESSON and summary.tier == self._repo.options.tier:
                lessons.append(summary)
        if not lessons or not self._repo.events.log.files():
            return {}
        standings: dict[str, float] = {}
        for entry_id, usage in self.several(lessons).items():
            if usage.standing != 1.0:
                standings[entry_id] = usage.standing
        return standings

    def start_of_copy(self, summary: EntrySummary) -> tuple[float, float] | None:
        """Alpha and beta with which a lesson begins that did well or badly here.

        None: it begins as its author says.
        """
        if summary.kind is not Kind.LESSON:
            return None
        start = fact(summary, BEGINS)
        used = self.of(summary)
        if used.tallies.outcomes:
            start = confidence.inherited(confidence.prior(summary.confidence), [used])
        if start is None:
            return None
        strength = confidence.PRIOR_STRENGTH
        return strength * start, strength * (1 - start)

    def outcomes(self, tallies: Tallies) -> tuple[float, float]:
        """What the outcomes in these counts add to alpha and beta."""
        usage = confidence.usage(tallies, 0.0)
        return usage.alpha, usage.beta - confidence.PRIOR_STRENGTH

    def say(self, summary: EntrySummary, outcome: str, note: str = "") -> tuple[str, ...]:
        """Note that an entry was helpful, ignored or contradicted; notes. Raises Refused."""
        repo = self._repo
        repo.refuse_other_formats()
        refuse_unrecorded(repo)
        if outcome == events.CONTRADICTED and repo.options.agent and summary.origin.firm:
            question = "says that it is contradicted"
            if note:
                question += f": {note}"
            authorship.ask(repo, summary, question)
            kept = (
                f"{summary.handle} is firm: a person stated it, so this is kept as a question: "
                "ai-lessons admin review"
            )
            return (kept,)
        before = self.tallies([summary.id]).get(summary.id, NOTHING)
        happened = [Event("", "", outcome, summary.id, note=note)]
        happened += learned(outcome, self.edge_of(summary.id))
        if repo.options.session and summary.kind is Kind.LESSON:
            # where there are sessions, how much is left to learn says how often to ask, and how
            # often to leave out
            counted = {ASSESSMENT: before.outcomes, ABLATION: before.left_out}
            for parameter, times in counted.items():
                left = round(curiosity(times), 6)
                happened.append(Event("", "", events.OBSERVED, parameter, value=left, weight=1.0))
        repo.events.record(happened)
        return ()

    # --- what was learned of all of them ---

    def by_name(self) -> dict[str, ParameterState]:
        """The parameters of this repository as they stand, by name."""
        cache = self.cache
        if cache is None:
            return fold_parameters(())
        return fold_parameters(cache.turns())

    def parameters(self) -> tuple[ParameterState, ...]:
        """The parameters of this repository as they stand."""
        return tuple(self.by_name().values())

    def edge_of(self, entry_id: str) -> Mapping[str, float]:
        """The parameters whose threshold this entry passed only just when it last came here.

        Empty once it was judged. Only of this session, if the session has a name.
        """
        session = self._repo.options.session
        if session:
            session = events.clean_session(session)
        for line in reversed(self._repo.events.log.recent().split(b"\n")):
            event = None
            if entry_id.encode() in line:
                event = events.read_line(line.decode("utf-8", "replace"))
            if event is None or event.entry != entry_id:
                continue
            if session and event.session != session:
                continue
            if event.event in events.OUTCOMES:
                break
            if event.event == events.INJECTED:
                return event.edge
        return {}

    def figures(self) -> LearnedFigures:
        """What `admin stats` says of it."""
        most, least = self.judged()
        cache = self.cache
        damaged, ablation = 0, None
        if cache is not None:
            damaged, ablation = cache.damaged(), measured(cache.in_sessions())
        return LearnedFigures(most, least, damaged, ablation, self._kept_rules())

    def _kept_rules(self) -> tuple[KeptRule, ...]:
        """The rules in force that checks saw in sessions, the least followed first."""
        rules = self._repo.current().select(Filter(kinds=frozenset({Kind.RULE})))
        kept = []
        for rule in self.kept(rules).values():
            if rule.sessions.in_scope or rule.sessions.ignored:
                kept.append(rule)
        kept.sort(key=_least_followed)
        return tuple(kept[: LIMITS.judged])

    def judged(self) -> tuple[tuple[Judged, ...], tuple[Judged, ...]]:
        """The entries with the best feedback, best first, and those with the worst, worst first.

        None is in both.
        """
        tallies = self.tallies()
        stated = [entry for entry, tally in tallies.items() if tally.outcomes]
        summaries = self._repo.catalog.many(stated)
        worth = {}
        for name in sorted(summaries):
            worth[name] = confidence.worth(tallies[name])
        best = sorted(worth, key=lambda name: -worth[name])
        good = [name for name in best if worth[name] > 0][: LIMITS.judged]
        bad = [name for name in reversed(best) if worth[name] < 0][: LIMITS.judged]
        judged = {}
        for name, usage in self.several([summaries[name] for name in (*good, *bad)]).items():
            tally, summary = usage.tallies, summaries[name]
            counts = (tally.helpful, tally.ignored, tally.contradicted)
            sure = round(usage.confidence, 6)
            judged[name] = Judged(summary.handle, summary.title, *counts, sure)
        return tuple(judged[name] for name in good), tuple(judged[name] for name in bad)


def refuse_unrecorded(repo: RepositorySession) -> None:
    """Raises Refused: nothing that happens here is written down."""
    if not repo.events.recording:
        raise Refused(
            "this repository records no events",
            hint="record them: ai-lessons admin config set events true",
        )


def usages(repo: RepositorySession) -> Usages:
    """What is learned in a repository, with what only this feature asks of it."""
    sums = repo.learned
    if not isinstance(sums, Usages):
        raise TypeError("this feature learns, or nothing does")
    return sums


def _least_followed(rule: KeptRule) -> tuple[int, int, int, str]:
    sessions = rule.sessions
    return -sessions.not_followed, -sessions.broken, -sessions.in_scope, rule.handle


def _usage(
    summary: EntrySummary,
    tallies: Mapping[str, Tallies],
    parents: Sequence[EntrySummary],
    *,
    as_claimed: bool,
) -> UsageTally:
    tally, prior = tallies.get(summary.id, NOTHING), confidence.prior(summary.confidence)
    doubted = not as_claimed and not tally.confirmed and prior <= confidence.UNSTATED
    claimed = fact(summary, CLAIMED)
    if claimed is not None:
        prior = confidence.claimed(summary.confidence, claimed)
        if doubted:
            prior = min(prior, confidence.UNSTATED)
    proven = []
    for parent in parents:
        if parent.id in tallies:
            begun = confidence.prior(parent.confidence)
            proven.append(confidence.usage(tallies[parent.id], begun))
    start = confidence.inherited(prior, proven)
    brought = fact(summary, BEGINS)
    if not proven and brought is not None:
        # the events of its original lie in another tier
        start = brought
    usage = confidence.usage(tally, start)
    if doubted and (claimed is not None or tally.brought):
        usage = confidence.unconfirmed(usage)
    return usage._replace(standing=confidence.standing(usage, prior))


def _decisions(catalog: CatalogReader) -> dict[str, list[str]] | None:
    """By rule what hosts do where it is broken, a word each (empty: they tell it).

    None: no feature enforces rules.
    """
    enforcing = [feature for feature in extensions.rows() if feature.enforce]
    if not enforcing:
        return None
    by_rule: dict[str, list[str]] = {}
    for feature in enforcing:
        facts: Mapping[str, Mapping[str, Any]] = catalog.facts(feature.name)
        for rule, kept in facts.items():
            by_rule.setdefault(rule, []).extend(kept["decisions"])
    return by_rule
