"""Promotion: an entry goes to another tier, as a copy at once or as a proposal for the people there.

Whether it may leave is asked of the enterprises concerned, see `governing`; what it is worth there is evaluated; rules
are in force only where a person approved them, so they always become proposals.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ai_lessons.errors import Conflict, Refused, UsageError
from ai_lessons.index.catalog_reading import Filter
from ai_lessons.knowledge.entries import Kind, Status
from ai_lessons.knowledge.evaluation import EvaluationReport, Facts, Similar, examine, plain, render
from ai_lessons.knowledge.generic import diff
from ai_lessons.knowledge.governance import PolicyVerdict
from ai_lessons.knowledge.origins import original_of
from ai_lessons.learning import fold
from ai_lessons.library import governing
from ai_lessons.library.checking import checked
from ai_lessons.library.comparing import copies, evaluate, said, says_the_same
from ai_lessons.library.options import ENTERPRISE
from ai_lessons.library.policies import Move
from ai_lessons.library.promotion_copy import (
    Carried,
    Coming,
    Placed,
    carried,
    names_of,
    place_of,
    placed,
    scope_of,
    stripped,
)
from ai_lessons.library.proposal_context import desk
from ai_lessons.library.proposing import make, rejected_before
from ai_lessons.library.rule_answers import ASKED, COPIED, PRESENT, PROPOSED, REFUSED, Promoted, PromotionRequest
from ai_lessons.repository.commit_builder import author_here

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_lessons.knowledge.entries import Light
    from ai_lessons.knowledge.evaluation import Names
    from ai_lessons.library.opened import Library
    from ai_lessons.library.session import RepositorySession

TRAILER = "Promoted-from"


def promote(library: Library, ref: str, to: str, wanted: PromotionRequest | None = None) -> Promoted:
    """Bring an entry to another tier. What is there already in the same words is not brought again.

    Raises:
        UsageError: it is there, or that is no tier. NotFound: no such entry or tier, or nothing to propose on.
        Conflict: it is marked wrong. Refused: a policy forbids it; an agent would copy; no person looked at its
        generic form; a script has none; git has no name for the user. InvalidEntry: it breaks the format, or holds a
        secret.
    """
    wanted = wanted or PromotionRequest()
    if "/" in to:
        raise UsageError(f"{to!r} is no tier", hint="skills and tools are for: lesson promote ID --to=" + to)
    source = library.holding(ref)
    light = source.resolve(ref)
    target = _target(library, source, light, to)
    if light.details.get("status") == Status.WRONG:
        raise Conflict(
            f"{light.handle} is marked wrong, so it is not promoted",
            hint=f"if it is right after all: ai-lessons contribute update {light.handle} --status active",
        )
    if source.options.tier.startswith(ENTERPRISE) and not wanted.person:
        raise Refused(
            f"{light.handle} is the enterprise's, and a person takes it out",
            hint=f"ask the user to run: ai-lessons contribute promote {light.handle} --to {to}",
        )
    return _Way(library, source, target, light, wanted).go()


def _target(tiers: Library, source: RepositorySession, light: Light, to: str) -> RepositorySession:
    """The repository it shall go to, its catalog up to date."""
    target = tiers.open(to)
    if target.store.root == source.store.root:
        raise UsageError(f"{light.handle} is in the {source.options.tier} tier already", hint="ai-lessons admin tiers")
    target.refuse_other_formats()
    target.current()
    return target


class _Way:
    """One promotion."""

    def __init__(
        self,
        tiers: Library,
        source: RepositorySession,
        target: RepositorySession,
        light: Light,
        wanted: PromotionRequest,
    ) -> None:
        self._tiers, self._source, self._target, self._wanted = tiers, source, target, wanted
        self._light = light
        self._from, self._to = source.options.tier, target.options.tier

    def go(self) -> Promoted:
        wanted = self._wanted
        plan, move, copy = self._plan()
        if wanted.dry_run or plan.outcome == PRESENT:
            return replace(plan, dry_run=wanted.dry_run)
        if plan.outcome == COPIED and not wanted.person:
            raise Refused(
                f"an agent only proposes, and {self._light.handle} would be copied to {self._to} at once",
                hint=f"ask the user to run: ai-lessons contribute promote {self._light.handle} --to {self._to}",
            )
        self._check(copy)
        if plan.generic and not wanted.yes and not (wanted.ask and wanted.ask(plan)):
            why = f" ({plan.policy})" if plan.policy else ""
            raise Refused(
                f"{self._light.handle} goes to {self._to} in its generic form only, and no person looked at it{why}",
                hint=f"ai-lessons contribute promote {self._light.handle} --to {self._to} --generic --dry-run shows it,"
                " --yes takes it",
            )
        verdict = governing.allow(self._tiers, move)
        if verdict is PolicyVerdict.NEEDS_RELEASE:
            return replace(plan, outcome=ASKED, suggested=governing.request_release(self._tiers, move))
        if verdict is PolicyVerdict.GENERIC and not plan.generic:
            raise Conflict(
                f"the policies of {plan.policy or 'the enterprise'} were changed meanwhile", hint="try again"
            )
        with governing.admitted(self._target):  # the guard of the user's repository knows of no release
            return self._brought(copy, plan)

    def _plan(self) -> tuple[Promoted, Move, Placed]:
        """What would be done, decided without doing any of it."""
        original = carried(self._source, self._light)
        move = Move(original.entry, original.whole, self._from, self._to)
        ruling = governing.ruling(self._tiers, move)
        form, replaced = original, tuple[str, ...]()
        strip = self._wanted.generic or ruling.verdict is PolicyVerdict.GENERIC
        if strip:
            strict = names_of(self._source, self._target, original.entry, self._wanted.names, strict=True)
            form, replaced = stripped(original, strict)
            move = move._replace(text=form.whole)
            if governing.has_code(form.entry.kind, form.whole):
                raise Refused(f"the generic form of {self._light.handle} holds code still", hint="take it out by hand")
            ruling = governing.ruling(self._tiers, move)
        if ruling.verdict is PolicyVerdict.REFUSED and not self._wanted.dry_run:
            governing.allow(self._tiers, move)  # what may not go needs no evaluation, which takes the longest
        copy = self._copy(form, generic=strip)
        known = self._known(copy)
        names = names_of(self._source, self._target, original.entry, self._wanted.names)
        outcome = self._outcome(ruling.verdict, present=bool(known))
        plan = Promoted(
            entry=self._light,
            source=self._from,
            target=self._to,
            outcome=outcome,
            report=self._report(copy, names, known),
            generic=strip,
            replaced=replaced,
            diff=diff(original.text, form.text, original.entry.file) if strip else "",
            dropped=copy.dropped,
            policy=ruling.reason,
            decided_in={PROPOSED: self._to, ASKED: ruling.asks}.get(outcome, ""),
            notes=(*ruling.notes, *known, *(self._turned_down(copy) if outcome == PROPOSED else ())),
        )
        return plan, move, copy

    def _copy(self, form: Carried, *, generic: bool) -> Placed:
        person = author_here(self._source.store.worktree).partition(" <")[0]
        scope = scope_of(form.entry, self._from, place_of(self._source), person, generic_form=generic)
        now = self._tiers.options.now()
        coming = Coming(self._from, scope, now, self._start(), self._wanted.allow_secrets)
        linked = self._source.catalog.many(link.target for link in form.entry.links)
        return placed(form, self._target, coming, self._light, linked)

    def _report(self, copy: Placed, names: Names, known: Sequence[str]) -> EvaluationReport:
        if known:  # nothing is compared that is known to be there
            return examine(
                copy.entry, copy.texts, Facts(names, similar=[Similar(one, 1.0, same=True) for one in known])
            )
        return evaluate(self._target, copy.entry, copy.texts, names)

    def _turned_down(self, copy: Placed) -> list[str]:
        """What a dry run says beforehand; a proposal that is made says it itself."""
        if not self._wanted.dry_run or self._target.rules.ref() is None:
            return []
        with desk(self._target) as at:
            before = rejected_before(at, said(copy.entry, "", ""))
        return [f"the same was rejected {before}"] if before else []

    def _start(self) -> tuple[float, float] | None:
        """Where a lesson begins that did well or badly: as one that is derived from it would here."""
        light = self._light
        told = self._source.usages.tallies([light.id]).get(light.id)
        own = fold.prior(light.details.get("confidence"))
        start = light.details.get("start")
        if light.kind is Kind.LESSON and told is not None and told.outcomes:
            used = self._source.usages.of(light)
            start = fold.inherited(own, [fold.UsageTally(told, used.alpha, used.beta)])
        if not isinstance(start, float):
            return None
        return fold.PRIOR_STRENGTH * start, fold.PRIOR_STRENGTH * (1 - start)

    @property
    def _proposes(self) -> bool:
        return self._to.startswith(ENTERPRISE) or self._light.kind is Kind.RULE

    def _outcome(self, verdict: PolicyVerdict, *, present: bool) -> str:
        if verdict is PolicyVerdict.REFUSED:
            return REFUSED
        if present:
            return PRESENT
        if verdict is PolicyVerdict.NEEDS_RELEASE:
            return ASKED
        return PROPOSED if self._proposes else COPIED

    def _there(self, copy: Placed) -> Light | None:
        """What says the same over there already."""
        target, entry = self._target, copy.entry
        titled = target.catalog.select(Filter(kinds=frozenset({entry.kind}), status=None))
        known = target.catalog.many(copies(target, entry))
        candidates = {one.id: one for one in titled if one.title == entry.title} | known
        same = (one for one in candidates.values() if says_the_same(target.load(one.id)[0], entry))
        return next(same, None)

    def _waiting(self, copy: Placed) -> str:
        """The branch on which the same waits for a person already; empty if on none."""
        if not self._proposes or self._target.rules.ref() is None:
            return ""
        with desk(self._target) as at:
            for one in at.waiting:
                there = at.entry(one)
                if (
                    there
                    and original_of(there.fields.get("source")) == self._light.id
                    and says_the_same(there, copy.entry)
                ):
                    return one.branch
        return ""

    def _known(self, copy: Placed) -> list[str]:
        """Where the same is over there already, if it is: then nothing has to be done."""
        there = self._there(copy)
        if there is not None:
            return [f"{there.handle} {there.title} ({self._to}) says the same already"]
        branch = self._waiting(copy)
        return [f"{branch} ({self._to}) proposes the same already"] if branch else []

    def _check(self, copy: Placed) -> None:
        path, data = next(iter(copy.files.items()))
        checked(path, data, copy.files.get(copy.entry.side_path or ""))

    def _brought(self, copy: Placed, plan: Promoted) -> Promoted:
        reason = plain(self._wanted.reason)
        trailers = [(TRAILER, f"{self._from} {self._light.id}")]
        subject = f"Promote {copy.entry.kind}: {copy.entry.title}"
        if not self._proposes:
            trailers = [("Entry", copy.entry.id), *trailers, *([("Reason", reason)] if reason else [])]
            applied = self._target.write(subject, copy.changes, trailers)
            return replace(plan, written=self._target.written_one(copy.entry, applied))
        said = f"Reason: {reason}\n\n" if reason else ""
        report = said + render(plan.report) + self._told(plan)
        with desk(self._target) as at:
            made = make(
                at, copy.entry, copy.files, subject, report=report, trailers=trailers, executable=copy.executable
            )
        return replace(plan, suggested=made)

    def _told(self, plan: Promoted) -> str:
        rows = [f"- left behind: {plain(one)}" for one in plan.dropped]
        rows += ["- in its generic form, without code and names"] if plan.generic else []
        return "".join(f"{row}\n" for row in rows)
