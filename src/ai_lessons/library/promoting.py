"""Promotion: an entry goes to another tier, as a copy at once or as a proposal for the people there (rules always)."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.errors import Refused, UsageError
from ai_lessons.index.catalog_reading import Filter
from ai_lessons.knowledge import frontmatter, layout, markdown, origins
from ai_lessons.knowledge.bundle import beside
from ai_lessons.knowledge.entries import GLOBAL_PROJECT, Entry, Kind, Light, Link, Relation
from ai_lessons.knowledge.evaluation import LONGEST, render, ties
from ai_lessons.knowledge.frontmatter import read_entry
from ai_lessons.knowledge.governance import RELEASED, PolicyVerdict
from ai_lessons.knowledge.markdown import REMOVE
from ai_lessons.knowledge.origins import original_of, promoted
from ai_lessons.knowledge.texts import one_line
from ai_lessons.knowledge.tiers import ENTERPRISE, PROJECT, USER
from ai_lessons.learning import fold
from ai_lessons.library import secret_scan
from ai_lessons.library.comparing import copies, evaluate, promoted_from, says_the_same
from ai_lessons.library.gate import checked
from ai_lessons.library.governing import LEFT_BEHIND, Move, PolicyDecision, code_in, decide, digest, lets_go, releases
from ai_lessons.library.lessons import refuse_wrong
from ai_lessons.library.proposal_context import ProposalContext, desk
from ai_lessons.library.proposing import make
from ai_lessons.library.reports import ASKED, COPIED, PRESENT, PROPOSED, Promoted, PromotionRequest, Suggested
from ai_lessons.library.running import content, interpreter_of
from ai_lessons.repository.git import identity
from ai_lessons.repository.store import Change
from ai_lessons.repository.trust import Trust

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ai_lessons.library.opened import Library
    from ai_lessons.library.session import RepositorySession

_SOURCE = re.compile(r"^source:[ \t]*\r?\n(?:[ \t]+[^\n]*\n)+", re.MULTILINE)


class SourceEntry(NamedTuple):
    """An entry with the text of the file that holds its frontmatter, and of a script the bytes of its code.

    A script's code is in `entry` also where it lies outside of the repository.
    """

    entry: Entry
    text: str
    code: bytes | None = None
    executable: bool = False

    @property
    def whole(self) -> str:
        """All its files as one text: what a policy looks at, and what a person releases."""
        return self.text if self.code is None else f"{self.text}\n{self.entry.code}"


class TargetCopy(NamedTuple):
    """The copy as it shall be: its files by path, and which of them can be run."""

    entry: Entry
    files: Mapping[str, bytes]
    executable: tuple[str, ...] = ()

    @property
    def texts(self) -> dict[str, str]:
        """What the files say, with empty lines for what we wrote of where it comes from: no author can revise it."""
        file = self.entry.side_path or self.entry.path
        texts = {path: data.decode("utf-8", "replace") for path, data in self.files.items()}
        texts[file] = _SOURCE.sub(lambda match: "\n" * match[0].count("\n"), texts[file], count=1)
        return texts


def source_entry(repo: RepositorySession, light: Light) -> SourceEntry:
    """An entry with its files, also the code outside. Raises NotFound, StorageFailed; Refused: that is not trusted."""
    entry, text = repo.load(light.id)
    identity = frontmatter.identity(entry) if entry.derived or not text else {}
    text = markdown.edit(text, identity)
    if entry.kind is not Kind.SCRIPT:
        return SourceEntry(entry, text)
    file, code = content(repo, entry)
    trusted = file.is_relative_to(repo.store.root) or Trust(repo.options.state_dir).knows(code, interpreter_of(entry))
    if not trusted:  # a pulled file may name any path
        raise Refused(
            f"{light.handle} names a file outside its repository that this machine does not trust: {file}",
            hint=f"read it, then allow it: ai-lessons admin trust-script {light.handle}",
        )
    entry = entry._replace(code=code.decode("utf-8", "replace"))
    return SourceEntry(entry, text, code, os.access(file, os.X_OK))


def _files(path: str, text: str, code: bytes | None) -> dict[str, bytes]:
    """The files of an entry at `path`; the last one has its frontmatter."""
    return {path: text.encode()} if code is None else {path: code, layout.side_of(path): text.encode()}


def _path(entry: Entry, target: RepositorySession, entry_id: str, created: str) -> str:
    """Where new entries of its kind go; a resource to where it lies now, beside what is there."""
    project = entry.project or GLOBAL_PROJECT
    if not entry.kind.is_resource:
        return layout.new_path(entry.kind, project, entry.title, entry_id, created)
    path = entry.path
    if layout.place(path) is None or f"/{entry.kind.folder}/" not in path:
        path = layout.resource_path(entry.kind, project, entry.versions, path.rpartition("/")[2])
    if entry.kind is Kind.DOC and not layout.is_markdown(path):
        path += ".md"  # only Markdown can say where it comes from
    taken = any(map(target.store.exists, (path, layout.side_of(path))))
    return beside(path, entry_id) if taken else path


def _links(entry: Entry, target: RepositorySession) -> list[Link]:
    """The links of the copy that lead to something in the target, the one to its original last."""
    kept = []
    for link in entry.links:
        lights = target.catalog.many([link.target, *promoted_from(target, link.target)])
        kept += [link._replace(target=link.target if link.target in lights else copy) for copy in list(lights)[:1]]
    return list(dict.fromkeys([*kept, Link(Relation.DERIVED_FROM.value, entry.id)]))


def scope_of(repo: RepositorySession, entry: Entry) -> str:
    """The scope that the original has, as groove writes one."""
    stated, tier = entry.fields.get("scope"), repo.options.tier
    if isinstance(stated, str) and origins.is_scope(stated):
        return stated
    if tier == PROJECT:
        return f"{origins.PROJECT}:{place_of(repo)}"
    person = (identity(repo.store.worktree, "AUTHOR") or "").partition(" <")[0]
    return f"{origins.USER}:{person or 'unknown'}" if tier == USER else origins.GLOBAL


def place_of(repo: RepositorySession) -> str:
    """What the code project around a project's repository, or the enterprise of a tier, is called; else empty."""
    root, tier = repo.store.root, repo.options.tier
    if tier == PROJECT:
        return (root.parent.parent if root.parent.name == ".ai" else root).name
    return tier.removeprefix(ENTERPRISE) if tier.startswith(ENTERPRISE) else ""


TRAILER = "Promoted-from"


def promote(library: Library, ref: str, to: str, request: PromotionRequest | None = None) -> Promoted:
    """Bring an entry to another tier. What is there already in the same words is not brought again.

    Raises UsageError: it is there, or that is no tier. NotFound: no such entry or tier, or nothing to propose on.
    Conflict: it is marked wrong. Refused: a policy forbids it; an agent would copy; git has no name for the user.
    InvalidEntry: it breaks the format, or holds a secret.
    """
    source, light = library.holding(ref)
    target = library.open(to)
    if target.store.root == source.store.root:
        raise UsageError(f"{light.handle} is in the {source.options.tier} tier already", hint="ai-lessons admin tiers")
    target.refuse_other_formats()
    target.current()
    refuse_wrong(light)
    return _Promotion(library, source, target, light, request or PromotionRequest()).carry_out()


@dataclass(frozen=True, slots=True)
class _Promotion:
    """One promotion."""

    library: Library
    source: RepositorySession
    target: RepositorySession
    light: Light
    request: PromotionRequest

    def carry_out(self) -> Promoted:
        to = self.target.options.tier
        original = source_entry(self.source, self.light)
        copy = self._copy(original, self.target)
        code = original.code is not None or any(map(code_in, copy.files, copy.files.values()))
        move = Move(original.entry, self.source.options.tier, to, code, self._ties(original))
        decision = decide(self.library, move)
        plan = self._plan(copy, decision)
        if plan.outcome == PRESENT:
            return plan
        if not self.request.person and (plan.outcome == COPIED or self.source.options.tier.startswith(ENTERPRISE)):
            raise Refused(
                f"an agent only proposes: a person takes {self.light.handle} to {to}",
                hint=f"ask the user to run: ai-lessons contribute promote {self.light.handle} --to {to}",
            )
        path, data = next(iter(copy.files.items()))
        checked(path, data, copy.files.get(copy.entry.side_path or ""))
        if plan.outcome == ASKED:
            return plan._replace(proposal=self._ask(original, decision))
        return self._write(copy, plan)

    def _copy(self, original: SourceEntry, target: RepositorySession) -> TargetCopy:
        """The copy under an id of its own, which says where it comes from. The target's catalog is up to date.

        Links lead to what is there; others are named.
        """
        source, entry, fields = self.source, original.entry, original.entry.fields
        now = source.options.now()
        entry_id, created = frontmatter.new_id(now), frontmatter.stamp(now)
        changes: dict[str, Any] = {key: REMOVE for key in LEFT_BEHIND if key in fields}
        changes |= {"id": entry_id, "kind": entry.kind.value, "title": entry.title, "created": created}
        changes["source"] = promoted(
            fields.get("source"), entry.id, scope_of(source, entry), source.options.tier, self._start()
        )
        changes["links"] = frontmatter.link_items(_links(entry, target))
        changes |= {"status": "active"} if entry.kind is Kind.LESSON else {}
        changes |= secret_scan.fields(self.request.allow_secrets, existing=fields, text=original.whole)
        path = _path(entry, target, entry_id, created)
        files = _files(path, markdown.edit(original.text, changes), original.code)
        return TargetCopy(read_entry(path, *files.values()), files, (path,) if original.executable else ())

    def _ask(self, original: SourceEntry, decision: PolicyDecision) -> Suggested:
        """Propose to the enterprise's people that they let exactly this text go; once.

        Raises as `make`. NotFound: the enterprise's repository is not on this machine.
        """
        enterprise, to = self.library.open(decision.enterprise), self.target.options.tier
        enterprise.current()
        copy = self._to_release(original, enterprise)
        by = identity(self.library.primary.store.worktree, "AUTHOR") or "A person"
        report = (
            f"{by} asks to let {self.light.kind} {self.light.id} go from {self.source.options.tier} to {to},\n"
            f"exactly as it stands here. {decision.stated}.\n\n"
            "Who takes this lets all people here do so with this text."
        )
        with desk(enterprise) as at:
            for waiting in at.waiting:
                entry, branch = at.entry(waiting), waiting.branch
                if entry and lets_go(entry, original.entry, to):
                    note = f"asked for already: {branch} waits for a person"
                    handle = at.called(waiting)
                    return Suggested(waiting.entry, handle, entry.title, waiting.path, branch, waiting.commit, (note,))
            return self._propose(at, copy, f"Release to {to}: {copy.entry.title}", report)

    def _propose(
        self, at: ProposalContext, copy: TargetCopy, subject: str, report: str, *, decided: bool = False
    ) -> Suggested:
        return make(
            at, copy.entry, copy.files, subject,
            report=report, trailers=[self._trailer], executable=copy.executable, decided=decided,
        )  # fmt: skip

    @property
    def _trailer(self) -> tuple[str, str]:
        return TRAILER, f"{self.source.options.tier} {self.light.id}"

    def _to_release(self, original: SourceEntry, enterprise: RepositorySession) -> TargetCopy:
        """The entry over there that is the same, else a copy of it, with the tier named to which it may go."""
        text = digest(original.entry)
        lights = enterprise.catalog.many(copies(enterprise, original.entry)).values()
        readable = (x for x in lights if x.kind is not Kind.SCRIPT or enterprise.store.exists(x.path))
        near = (source_entry(enterprise, light) for light in readable)
        same = next((entry for entry in near if digest(entry.entry) == text), None)
        if same is None:
            copy = self._copy(original, enterprise)
        else:
            path = same.entry.path
            copy = TargetCopy(same.entry, _files(path, same.text, same.code), (path,) if same.executable else ())
        file = list(copy.files)[-1]
        named = {**releases(copy.entry), self.target.options.tier: text}
        rows = {RELEASED: [{tier: name} for tier, name in sorted(named.items())]}
        return copy._replace(files={**copy.files, file: markdown.edit(copy.files[file].decode(), rows).encode()})

    def _ties(self, original: SourceEntry) -> tuple[str, ...]:
        """What in the entry belongs to one place: paths and projects, also its own unless the target knows that."""
        projects = [place_of(self.source)]
        project = original.entry.project
        if project not in {"", GLOBAL_PROJECT} and not self.target.catalog.select(
            Filter(project=project, status=None, limit=1)
        ):
            projects.append(project)
        text = f"{original.entry.project}\n{original.whole}"
        return tuple(dict.fromkeys(f"{tie.sort} ({one_line(tie.value, 80)})" for tie in ties(text, projects)))

    def _plan(self, copy: TargetCopy, decision: PolicyDecision) -> Promoted:
        """What is to be done, decided without doing any of it."""
        same, asks = self._same_there(copy), decision.verdict is PolicyVerdict.NEEDS_RELEASE
        outcome = PRESENT if same else ASKED if asks else PROPOSED if self._proposes else COPIED
        decided_in = {PROPOSED: self.target.options.tier, ASKED: decision.enterprise}
        return Promoted(
            entry=self.light,
            from_=self.source.options.tier,
            to=self.target.options.tier,
            outcome=outcome,
            evaluation=evaluate(self.target, copy.entry, copy.texts, [place_of(self.source)], same),
            policy=decision.sentence,
            decided_in=decided_in.get(outcome, ""),
            notes=(*decision.notes, *same),
        )

    def _start(self) -> tuple[float, float] | None:
        """Alpha and beta with which a lesson begins that did well or badly; None: as its author says."""
        light = self.light
        used = self.source.usages.of(light) if light.kind is Kind.LESSON else None
        start = light.details.get("start")
        if used and used.tallies.outcomes:
            start = fold.inherited(fold.prior(light.details.get("confidence")), [used])
        if not isinstance(start, float):
            return None
        return fold.PRIOR_STRENGTH * start, fold.PRIOR_STRENGTH * (1 - start)

    @property
    def _proposes(self) -> bool:
        return self.target.options.tier.startswith(ENTERPRISE) or self.light.kind is Kind.RULE

    def _same_there(self, copy: TargetCopy) -> list[str]:
        """Where the same is over there already, if it is: then nothing has to be done."""
        target, entry = self.target, copy.entry
        lights = target.catalog.select(Filter(kinds=frozenset({entry.kind}), status=None))
        near = {light.id: light for light in lights if light.title == entry.title}
        for light in (near | target.catalog.many(copies(target, entry))).values():
            if says_the_same(target.load(light.id)[0], entry):
                return [f"{light.handle} {light.title} ({target.options.tier}) says the same already"]
        if not self._proposes or target.rules.ref() is None:
            return []
        with desk(target) as at:
            for waiting in at.waiting:
                proposed = at.entry(waiting)
                ours = proposed and original_of(proposed.fields.get("source")) == self.light.id
                if proposed and ours and says_the_same(proposed, entry):
                    return [f"{waiting.branch} ({target.options.tier}) proposes the same already"]
        return []

    def _write(self, copy: TargetCopy, plan: Promoted) -> Promoted:
        reason = one_line(self.request.reason, LONGEST)
        subject = f"Promote {copy.entry.kind}: {copy.entry.title}"
        if not self._proposes:
            trailers = [("Entry", copy.entry.id), self._trailer, *([("Reason", reason)] if reason else [])]
            runs = copy.executable
            changes = [
                Change(path, data, executable=path in runs or None, expect=None) for path, data in copy.files.items()
            ]
            applied = self.target.write(subject, changes, trailers, decided=True)
            return plan._replace(copy=self.target.written_one(copy.entry, applied))
        report = (f"Reason: {reason}\n\n" if reason else "") + render(plan.evaluation)
        with desk(self.target) as at:
            return plan._replace(proposal=self._propose(at, copy, subject, report, decided=True))
