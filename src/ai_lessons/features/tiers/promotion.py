"""Promotes entries to another tier, under the policies of enterprises.

`copies` makes the copy, `releases` says what an enterprise lets go, and `evaluation`
reports what speaks against an entry.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.app import alike_entries, proposal_context, proposals, secrets
from ai_lessons.app.lessons import refuse_wrong
from ai_lessons.app.link_effects import weakest_origin
from ai_lessons.app.write_checks import checked
from ai_lessons.app.written import Suggested, Written
from ai_lessons.errors import Refused, UsageError
from ai_lessons.features.tiers.copies import (
    SourceEntry,
    TargetCopy,
    copy_files,
    copy_links,
    copy_path,
    place_of,
    scope_of,
    source_entry,
)
from ai_lessons.features.tiers.evaluation import (
    LONGEST,
    EvaluationReport,
    evaluate,
    render,
    ties,
)
from ai_lessons.features.tiers.governance import PolicyVerdict
from ai_lessons.features.tiers.policies import Move, PolicyDecision, code_in
from ai_lessons.features.tiers.releases import LEFT_BEHIND, decide, digest, lets_go, releases_of
from ai_lessons.git.plumbing import identity
from ai_lessons.git.store import Change
from ai_lessons.model import ENTERPRISE, frontmatter, lessons, markdown
from ai_lessons.model.entries import (
    GLOBAL_PROJECT,
    RELEASED,
    Entry,
    EntrySummary,
    Filter,
    Kind,
    json_fields,
)
from ai_lessons.model.frontmatter import read_entry
from ai_lessons.model.lessons import original_of, promoted
from ai_lessons.model.texts import one_line
from ai_lessons.model.yaml_edit import REMOVE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_lessons.app.workspace import Library, RepositorySession

# What becomes of it: a copy, a proposal, a proposal to release it, or nothing because it is there
COPIED, PROPOSED, ASKED, PRESENT = "copied", "proposed", "asked", "present"


class PromotionRequest(NamedTuple):
    """How to promote; `reason` is for those who decide.

    `person`: may copy at once, also out of an enterprise.
    """

    reason: str = ""
    person: bool = True
    allow_secrets: Sequence[tuple[str, str]] = ()


@json_fields(
    "id",
    "handle",
    "title",
    "from_",
    "to",
    "outcome",
    "copy",
    "proposal",
    "evaluation",
    "policy",
    "decided_in",
    "notes",
)
class Promoted(NamedTuple):
    """What became of an entry that goes from one tier to another.

    It has a `copy`, or a `proposal` (also one to release it). `policy`: the policy that decides.
    `decided_in`: the tier whose people decide, if any.
    """

    entry: EntrySummary
    from_: str
    to: str
    outcome: str
    evaluation: EvaluationReport
    copy: Written | None = None
    proposal: Suggested | None = None
    policy: str = ""
    decided_in: str = ""
    notes: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The id of the entry."""
        return self.entry.id

    @property
    def handle(self) -> str:
        """The handle of the entry."""
        return self.entry.handle

    @property
    def title(self) -> str:
        """The title of the entry."""
        return self.entry.title


TRAILER = "Promoted-from"


def promote(
    library: Library, ref: str, to: str, request: PromotionRequest | None = None
) -> Promoted:
    """Bring an entry to another tier. What is there already in the same words is not brought again.

    Raises UsageError: it is there, or that is no tier. NotFound: no such entry or tier, or nothing
    to propose on.
    Conflict: it is marked wrong. Refused: a policy forbids it; an agent would copy; git has no name
    for the user.
    InvalidEntry: it breaks the format, or holds a secret.
    """
    source, summary = library.holding(ref)
    target = library.open(to)
    if target.store.root == source.store.root:
        raise UsageError(
            f"{summary.handle} is in the {source.options.tier} tier already",
            hint="ai-lessons admin tiers",
        )
    target.refuse_other_formats()
    target.current()
    refuse_wrong(summary)
    return _Promotion(library, source, target, summary, request or PromotionRequest()).carry_out()


@dataclass(frozen=True, slots=True)
class _Promotion:
    """One promotion."""

    library: Library
    source: RepositorySession
    target: RepositorySession
    summary: EntrySummary
    request: PromotionRequest

    def carry_out(self) -> Promoted:
        to = self.target.options.tier
        original = source_entry(self.source, self.summary)
        weakest = None
        if self.summary.kind is Kind.LESSON:
            weakest = weakest_origin(self.library.reading, self.summary)
        copy = self._copy(original, self.target, weakest)
        code = original.code is not None or any(map(code_in, copy.files, copy.files.values()))
        move = Move(original.entry, self.source.options.tier, to, code, self._ties(original))
        decision = decide(self.library, move)
        plan = self._plan(copy, decision)
        if plan.outcome == PRESENT:
            return plan
        # a proposal waits for a person anyway; what leaves an enterprise is gone at once
        needs_a_person = plan.outcome == COPIED or self.source.options.tier.startswith(ENTERPRISE)
        if needs_a_person and not self.request.person:
            hint = f"ask the user to run: ai-lessons contribute promote {self.summary.handle} --to {to}"
            raise Refused(
                f"an agent only proposes: a person takes {self.summary.handle} to {to}", hint=hint
            )
        path, data = next(iter(copy.files.items()))
        checked(path, data, copy.files.get(copy.entry.side_path or ""))
        if plan.outcome == ASKED:
            return plan._replace(proposal=self._ask(original, decision))
        return self._write(copy, plan)

    def _copy(
        self, original: SourceEntry, target: RepositorySession, weakest: EntrySummary | None = None
    ) -> TargetCopy:
        """The copy under an id of its own, which says where it comes from.

        The target's catalog must be up to date. Links lead to what is there; others are named. Of
        a lesson it is no surer than the `weakest` of its origins.
        """
        source, entry, fields = self.source, original.entry, original.entry.fields
        now = source.options.now()
        entry_id, created = frontmatter.new_id(now), frontmatter.stamp(now)
        changes: dict[str, Any] = {}
        for key in LEFT_BEHIND:
            if key in fields:
                changes[key] = REMOVE
        changes |= {
            "id": entry_id,
            "kind": entry.kind.value,
            "title": entry.title,
            "created": created,
        }
        if weakest:
            changes |= lessons.weakened(fields, weakest)
        stated = changes.get("source", fields.get("source"))
        changes["source"] = promoted(
            stated,
            entry.id,
            scope_of(source, entry),
            source.options.tier,
            source.learned.start_of_copy(self.summary),
        )
        changes["links"] = frontmatter.link_items(copy_links(entry, target))
        if entry.kind is Kind.LESSON:
            changes |= {"status": "active"}
        changes |= secrets.fields(self.request.allow_secrets, existing=fields, text=original.whole)
        path = copy_path(entry, target, entry_id, created)
        files = copy_files(path, markdown.edit(original.text, changes), original.code)
        return TargetCopy(
            read_entry(path, *files.values()), files, (path,) if original.executable else ()
        )

    def _ask(self, original: SourceEntry, decision: PolicyDecision) -> Suggested:
        """Propose to the enterprise's people that they let exactly this text go; once.

        Raises as `make`. NotFound: the enterprise's repository is not on this machine.
        """
        enterprise, to = self.library.open(decision.enterprise), self.target.options.tier
        enterprise.current()
        copy = self._to_release(original, enterprise)
        by = self.library.options.author
        if not by:
            by = identity(self.library.primary.store.worktree, "AUTHOR") or "A person"
        report = (
            f"{by} asks to let {self.summary.kind} {self.summary.id} go from {self.source.options.tier} to {to},\n"
            f"exactly as it stands here. {decision.stated}.\n\n"
            "Who takes this lets all people here do so with this text."
        )
        with proposal_context.open_proposals(enterprise) as at:
            for waiting in at.waiting:
                entry, branch = at.entry(waiting), waiting.branch
                if entry and lets_go(entry, original.entry, to):
                    note = f"asked for already: {branch} waits for a person"
                    handle = at.called(waiting)
                    return Suggested(
                        waiting.entry,
                        handle,
                        entry.title,
                        waiting.path,
                        branch,
                        waiting.commit,
                        (note,),
                    )
            return self._propose(at, copy, f"Release to {to}: {copy.entry.title}", report)

    def _propose(
        self,
        at: proposal_context.ProposalContext,
        copy: TargetCopy,
        subject: str,
        report: str,
        *,
        decided: bool = False,
    ) -> Suggested:
        return proposals.make(
            at, copy.entry, copy.files, subject,
            report=report, trailers=[self._trailer], executable=copy.executable, decided=decided,
        )  # fmt: skip

    @property
    def _trailer(self) -> tuple[str, str]:
        return TRAILER, f"{self.source.options.tier} {self.summary.id}"

    def _to_release(self, original: SourceEntry, enterprise: RepositorySession) -> TargetCopy:
        """The entry over there that is the same, else a copy of it, with the tier named to which it may go."""
        text = digest(original.entry)
        summaries = enterprise.catalog.many(
            alike_entries.copies(enterprise, original.entry)
        ).values()
        same = None
        for summary in summaries:
            # of a script perhaps only the file beside it is there
            if summary.kind is Kind.SCRIPT and not enterprise.store.exists(summary.path):
                continue
            near = source_entry(enterprise, summary)
            if digest(near.entry) == text:
                same = near
                break
        if same is None:
            copy = self._copy(original, enterprise)
        else:
            path = same.entry.path
            copy = TargetCopy(
                same.entry,
                copy_files(path, same.text, same.code),
                (path,) if same.executable else (),
            )
        file = list(copy.files)[-1]
        named = {**releases_of(copy.entry), self.target.options.tier: text}
        rows = {RELEASED: [{tier: name} for tier, name in sorted(named.items())]}
        return copy._replace(
            files={**copy.files, file: markdown.edit(copy.files[file].decode(), rows).encode()}
        )

    def _ties(self, original: SourceEntry) -> tuple[str, ...]:
        """The paths and projects in the entry that belong to one place.

        Its own project is one of them unless the target knows that, too.
        """
        projects, project = [place_of(self.source)], original.entry.project
        same = Filter(project=project, status=None, limit=1)
        if project not in {"", GLOBAL_PROJECT} and not self.target.catalog.select(same):
            projects.append(project)
        text = f"{original.entry.project}\n{original.whole}"
        return tuple(
            dict.fromkeys(f"{tie.sort} ({one_line(tie.value, 80)})" for tie in ties(text, projects))
        )

    def _plan(self, copy: TargetCopy, decision: PolicyDecision) -> Promoted:
        """What is to be done, decided without doing any of it."""
        same = self._same_there(copy)
        if same:
            # also what would need a release: it was let go before
            outcome = PRESENT
        elif decision.verdict is PolicyVerdict.NEEDS_RELEASE:
            outcome = ASKED
        elif self._proposes:
            outcome = PROPOSED
        else:
            outcome = COPIED
        decided_in = {PROPOSED: self.target.options.tier, ASKED: decision.enterprise}
        return Promoted(
            entry=self.summary,
            from_=self.source.options.tier,
            to=self.target.options.tier,
            outcome=outcome,
            evaluation=evaluate(self.target, copy.entry, copy.texts, [place_of(self.source)], same),
            policy=decision.sentence,
            decided_in=decided_in.get(outcome, ""),
            notes=(*decision.notes, *same),
        )

    @property
    def _proposes(self) -> bool:
        return self.target.options.tier.startswith(ENTERPRISE) or self.summary.kind is Kind.RULE

    def _same_there(self, copy: TargetCopy) -> list[str]:
        """Where the same is over there already, if it is: then nothing has to be done."""
        target, entry = self.target, copy.entry
        summaries = target.catalog.select(
            Filter(kinds=frozenset({entry.kind}), title=entry.title, status=None)
        )
        near = {summary.id: summary for summary in summaries}
        for summary in (near | target.catalog.many(alike_entries.copies(target, entry))).values():
            if _says_the_same(target.load(summary.id)[0], entry):
                return [
                    (
                        f"{summary.handle} {summary.title} ({target.options.tier}) says the "
                        "same already"
                    )
                ]
        if not self._proposes or target.rules.ref() is None:
            return []
        with proposal_context.open_proposals(target) as at:
            for waiting in at.waiting:
                proposed = at.entry(waiting)
                ours = proposed and original_of(proposed.fields.get("source")) == self.summary.id
                if proposed and ours and _says_the_same(proposed, entry):
                    return [f"{waiting.branch} ({target.options.tier}) proposes the same already"]
        return []

    def _write(self, copy: TargetCopy, plan: Promoted) -> Promoted:
        reason = one_line(self.request.reason, LONGEST)
        subject = f"Promote {copy.entry.kind}: {copy.entry.title}"
        if not self._proposes:
            trailers = [("Entry", copy.entry.id), self._trailer]
            if reason:
                trailers.append(("Reason", reason))
            runs = copy.executable
            changes = []
            for path, data in copy.files.items():
                changes.append(Change(path, data, executable=path in runs or None, expect=None))
            applied = self.target.write(subject, changes, trailers, decided=True)
            return plan._replace(copy=self.target.written_one(copy.entry, applied))
        report = render(plan.evaluation)
        if reason:
            # the people who decide read the commit's message alone
            report = f"Reason: {reason}\n\n{report}"
        with proposal_context.open_proposals(self.target) as at:
            return plan._replace(proposal=self._propose(at, copy, subject, report, decided=True))


def _says_the_same(entry: Entry, other: Entry) -> bool:
    """Whether two entries teach the same, word for word, whatever their ids, tags and dates."""

    def parts(entry: Entry) -> tuple[object, ...]:
        return (
            entry.kind,
            entry.title,
            entry.pattern,
            entry.rationale,
            entry.body.strip(),
            entry.code,
        )

    return parts(entry) == parts(other)
