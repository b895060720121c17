"""Evaluates entries, and promotes them to another tier, under the policies of enterprises."""

from __future__ import annotations

import json
import os
import re
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from ai_lessons.app import policies, proposals, secrets
from ai_lessons.app.answers import Suggested, Written
from ai_lessons.app.editing import COMPARED, opposed
from ai_lessons.app.lessons import refuse_wrong
from ai_lessons.app.link_effects import weakest_origin
from ai_lessons.app.policies import Move, PolicyDecision, code_in, counting
from ai_lessons.app.running import content, interpreter_of
from ai_lessons.app.trust import Trust
from ai_lessons.app.write_checks import checked
from ai_lessons.approval.proposals import file_at
from ai_lessons.connectors.exporters import beside
from ai_lessons.errors import AiLessonsError, Refused, UsageError
from ai_lessons.git.plumbing import identity
from ai_lessons.git.store import Change
from ai_lessons.learning import statistics
from ai_lessons.model import (
    ENTERPRISE,
    PROJECT,
    USER,
    config,
    expression,
    frontmatter,
    layout,
    lessons,
    markdown,
)
from ai_lessons.model.entries import (
    GLOBAL_PROJECT,
    LESSONS,
    Entry,
    EntrySummary,
    Filter,
    Kind,
    Link,
    Relation,
    json_fields,
)
from ai_lessons.model.frontmatter import read_entry
from ai_lessons.model.lessons import original_of, promoted
from ai_lessons.model.texts import first_of, one_line
from ai_lessons.model.yaml_edit import REMOVE
from ai_lessons.search.terms import ALIKE, likeness

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ai_lessons.app.workspace import Library, RepositorySession


# Characters of a line of what others wrote and we repeat
LONGEST = 300

_NOT_EXAMPLE = (
    r"(?!(?:user|you|your|me|my|name|example|some|runner|app|project|repo|path)\b)[\w.-]{1,40}"
)
_UNIX = expression(
    rf"(?<![\w.~$}}-])/(?:home|Users)/{_NOT_EXAMPLE}(?:/[\w.@+%-]{{1,80}}){{0,12}}/?"
)
_WINDOWS = expression(
    rf"(?<!\w)[A-Z]:\\{{1,2}}Users\\{{1,2}}{_NOT_EXAMPLE}(?:\\{{1,2}}[\w.@+ -]{{1,80}}){{0,12}}",
    re.IGNORECASE,
)


class Tie(NamedTuple):
    """Text at `start` that belongs to one machine or project; `sort` names which."""

    sort: str
    value: str
    start: int


def ties(text: str, projects: Iterable[str] = ()) -> list[Tie]:
    """Paths of a home folder and these names of projects (of three letters or more), in their order; linear time."""
    result = []
    for shape in (_UNIX, _WINDOWS):
        for match in shape.finditer(text):
            result.append(Tie("path of one machine", match[0].rstrip(".%"), match.start()))
    folded = text.casefold()
    for words in {tuple(name.split()) for name in projects if len(name.strip()) >= 3}:
        if words[0].casefold() in folded:
            spaced = r"\s+".join(map(re.escape, words))
            matches = re.finditer(rf"(?<!\w){spaced}(?!\w)", text, re.IGNORECASE)
            result += [Tie("name of a project", match[0], match.start()) for match in matches]
    return sorted(result, key=lambda tie: tie.start)


Recommendation = Literal["approve", "revise", "reject"]
NOTE, WARNING, STOP = "note", "warning", "stop"
_FOLLOWS: Final[Mapping[str, Recommendation]] = {STOP: "reject", WARNING: "revise"}


class EvaluationFinding(NamedTuple):
    """A finding (`message`, without full stop); `where` is `path:line`, or empty.

    `check` is secrets, duplicates, contradictions or specificity. `severity`: a `note` is to be
    known, a `warning` asks for a revision, a `stop` speaks against it.
    """

    check: str
    severity: str
    message: str
    where: str = ""

    @property
    def line(self) -> str:
        """`warning, specificity: … (path:line)`; what others wrote makes no lines of its own."""
        if self.severity == NOTE:
            severity = ""
        else:
            severity = f"{self.severity}, "
        message, where = one_line(self.message, LONGEST), one_line(self.where, LONGEST)
        return f"{severity}{self.check}: {message}" + (f" ({where})" if where else "")


@json_fields("recommendation", "findings")
class EvaluationReport(NamedTuple):
    """The findings about an entry."""

    findings: tuple[EvaluationFinding, ...] = ()

    @property
    def recommendation(self) -> Recommendation:
        """By the gravest finding; a person decides."""
        severities = set()
        for finding in self.findings:
            severities.add(finding.severity)
        return next(
            (follows for severity, follows in _FOLLOWS.items() if severity in severities), "approve"
        )


def specific(files: Mapping[str, str], projects: Sequence[str]) -> Iterator[EvaluationFinding]:
    """One finding for each sort of tie in these texts (by path), at the place of the first."""
    values: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for path, text in files.items():
        for tie in ties(text, projects):
            values[tie.sort].setdefault(
                tie.value, f"{path}:{text.count(chr(10), 0, tie.start) + 1}"
            )
    for sort, places in values.items():
        named = first_of([one_line(value, 80) for value in places], 6)
        if len(places) == 1:
            what = sort
        else:
            what = f"{sort} ({len(places)})"
        yield EvaluationFinding(
            "specificity", WARNING, f"{what}: {named}", next(iter(places.values()))
        )


def render(report: EvaluationReport) -> str:
    """Short Markdown for a commit message: the recommendation, and a line for each finding."""
    lines = [f"- {finding.line}" for finding in report.findings] or [
        "- nothing was found that speaks against it"
    ]
    return "\n".join([f"Evaluation: {report.recommendation}", "", *lines]) + "\n"


_NEGATIVE: Final = expression(r"(?:never|do not|don['\u2019]?t|must not|avoid)\s+", re.IGNORECASE)

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

    A `copy`, or a `proposal` (also to release it).

    `policy`: the policy that decides. `decided_in`: the tier whose people decide, if any.
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


LEFT_BEHIND = ("promoted_to", "reason", "reviewed", "scope", "proves", "path", config.RELEASED)
"""Keys of the original that its copy does not get."""

_OWN = frozenset(
    (*LEFT_BEHIND, "id", "kind", "title", "created", "source", "links", "status", "allow_secrets")
)


def digest(entry: Entry) -> str:
    """A digest of what an entry says, without what a copy says of itself."""
    fields = {}
    for key, value in entry.fields.items():
        if key not in _OWN:
            fields[str(key)] = value
    parts = (entry.kind.value, entry.title, entry.body.strip(), entry.code, fields)
    return sha256(
        json.dumps(parts, sort_keys=True, default=str).encode("utf-8", "surrogatepass")
    ).hexdigest()[:16]


def releases(entry: Entry) -> dict[str, str]:
    """The tiers that an entry may go to, each with the digest of the text that was meant."""
    stated = entry.fields.get(config.RELEASED)
    if isinstance(stated, list):
        rows = [row for row in stated if isinstance(row, dict)]
    else:
        rows = []
    releases: dict[str, str] = {}
    for row in rows:
        for tier, name in row.items():
            releases[str(tier)] = str(name)
    return releases


def lets_go(entry: Entry, original: Entry, target: str) -> bool:
    """Whether an entry of the enterprise is the same text, and says that this may go to that tier."""
    return digest(original) == digest(entry) == releases(entry).get(target)


def released(repo: RepositorySession, original: Entry, target: str) -> bool:
    """Whether the approval branch (and the remote's, if known) has exactly this text and says that it may go there.

    Raises UnsupportedRepository: the history cannot be read.
    """
    branches = counting(repo)
    repo.current()

    def says_so(commit: str, path: str) -> bool:
        files = {}
        for name in (path, layout.side_of(path)):
            files[name] = file_at(repo.store.worktree, commit, name)
        entry = proposals.entry_of(
            path, {name: data for name, data in files.items() if data is not None}
        )
        return entry is not None and lets_go(entry, original, target)

    paths = []
    for summary in repo.catalog.many(proposals.copies(repo, original)).values():
        paths.append(summary.path)
    return bool(branches) and any(
        all(says_so(commit, path) for _, commit in branches) for path in paths
    )


def decide(library: Library, move: Move) -> PolicyDecision:
    """As `policies.decide`, with the releases that stand on approval branches."""
    return policies.decide(library, move, released)


_SOURCE = expression(r"^source:[ \t]*\r?\n(?:[ \t][^\n]*\n)+", re.MULTILINE)


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
        if self.code is None:
            return self.text
        return f"{self.text}\n{self.entry.code}"


class TargetCopy(NamedTuple):
    """The copy as it shall be: its files by path, and which of them can be run."""

    entry: Entry
    files: Mapping[str, bytes]
    executable: tuple[str, ...] = ()

    @property
    def texts(self) -> dict[str, str]:
        """What the files say, with empty lines for what we wrote of where it comes from.

        No author can revise it.
        """
        file = self.entry.side_path or self.entry.path
        texts = {}
        for path, data in self.files.items():
            texts[path] = data.decode("utf-8", "replace")
        texts[file] = _SOURCE.sub(lambda match: "\n" * match[0].count("\n"), texts[file], count=1)
        return texts


def source_entry(repo: RepositorySession, summary: EntrySummary) -> SourceEntry:
    """An entry with its files, also the code outside.

    Raises NotFound, StorageFailed; Refused: that is not trusted.
    """
    entry, text = repo.load(summary.id)
    if entry.derived or not text:
        identity = frontmatter.identity(entry)
    else:
        identity = {}
    text = markdown.edit(text, identity)
    if entry.kind is not Kind.SCRIPT:
        return SourceEntry(entry, text)
    file, code = content(repo, entry)
    trusted = file.is_relative_to(repo.store.root) or Trust(repo.options.state_dir).knows(
        code, interpreter_of(entry)
    )
    if not trusted:
        # a pulled file may name any path
        raise Refused(
            (
                f"{summary.handle} names a file outside its repository that this machine does "
                f"not trust: {file}"
            ),
            hint=f"read it, then allow it: ai-lessons admin trust-script {summary.handle}",
        )
    entry = entry._replace(code=code.decode("utf-8", "replace"))
    return SourceEntry(entry, text, code, os.access(file, os.X_OK))


def _files(path: str, text: str, code: bytes | None) -> dict[str, bytes]:
    """The files of an entry at `path`; the last one has its frontmatter."""
    if code is None:
        return {path: text.encode()}
    return {path: code, layout.side_of(path): text.encode()}


def _path(entry: Entry, target: RepositorySession, entry_id: str, created: str) -> str:
    """Where new entries of its kind go; a resource to where it lies now, beside what is there."""
    project = entry.project or GLOBAL_PROJECT
    if not entry.kind.is_resource:
        return layout.new_path(entry.kind, project, entry.title, entry_id, created)
    path = entry.path
    if layout.place(path) is None or f"/{entry.kind.folder}/" not in path:
        path = layout.resource_path(entry.kind, project, entry.versions, path.rpartition("/")[2])
    if entry.kind is Kind.DOC and not layout.is_markdown(path):
        # only Markdown can say where it comes from
        path += ".md"
    taken = any(map(target.store.exists, (path, layout.side_of(path))))
    if taken:
        return beside(path, entry_id)
    return path


def _links(entry: Entry, target: RepositorySession) -> list[Link]:
    """The links of the copy that lead to something in the target, the one to its original last."""
    kept = []
    for link in entry.links:
        summaries = target.catalog.many(
            [link.target, *proposals.promoted_from(target, link.target)]
        )
        kept += [
            link._replace(target=link.target if link.target in summaries else copy)
            for copy in list(summaries)[:1]
        ]
    return list(dict.fromkeys([*kept, Link(Relation.DERIVED_FROM.value, entry.id)]))


def scope_of(repo: RepositorySession, entry: Entry) -> str:
    """The scope that the original has, as groove writes one."""
    stated, tier = entry.fields.get("scope"), repo.options.tier
    if isinstance(stated, str) and lessons.is_scope(stated):
        return stated
    if tier == PROJECT:
        return f"{lessons.PROJECT}:{place_of(repo)}"
    person = (identity(repo.store.worktree, "AUTHOR") or "").partition(" <")[0]
    if tier == USER:
        return f"{lessons.USER}:{person or 'unknown'}"
    return lessons.GLOBAL


def place_of(repo: RepositorySession) -> str:
    """What the code project around a project's repository, or the enterprise of a tier, is called.

    Else empty.
    """
    root, tier = repo.store.root, repo.options.tier
    if tier == PROJECT:
        return (root.parent.parent if root.parent.name == ".ai" else root).name
    if tier.startswith(ENTERPRISE):
        return tier.removeprefix(ENTERPRISE)
    return ""


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
        if not self.request.person and (
            plan.outcome == COPIED or self.source.options.tier.startswith(ENTERPRISE)
        ):
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

        The target's catalog is up to date.

        Links lead to what is there; others are named. Of a lesson it is no surer than the `weakest`
        of its origins.
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
            stated, entry.id, scope_of(source, entry), source.options.tier, self._start()
        )
        changes["links"] = frontmatter.link_items(_links(entry, target))
        if entry.kind is Kind.LESSON:
            changes |= {"status": "active"}
        changes |= secrets.fields(self.request.allow_secrets, existing=fields, text=original.whole)
        path = _path(entry, target, entry_id, created)
        files = _files(path, markdown.edit(original.text, changes), original.code)
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
        by = identity(self.library.primary.store.worktree, "AUTHOR") or "A person"
        report = (
            f"{by} asks to let {self.summary.kind} {self.summary.id} go from {self.source.options.tier} to {to},\n"
            f"exactly as it stands here. {decision.stated}.\n\n"
            "Who takes this lets all people here do so with this text."
        )
        with proposals.open_proposals(enterprise) as at:
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
        at: proposals.ProposalContext,
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
        summaries = enterprise.catalog.many(proposals.copies(enterprise, original.entry)).values()
        readable = (
            x for x in summaries if x.kind is not Kind.SCRIPT or enterprise.store.exists(x.path)
        )
        near = (source_entry(enterprise, summary) for summary in readable)
        same = next((entry for entry in near if digest(entry.entry) == text), None)
        if same is None:
            copy = self._copy(original, enterprise)
        else:
            path = same.entry.path
            copy = TargetCopy(
                same.entry, _files(path, same.text, same.code), (path,) if same.executable else ()
            )
        file = list(copy.files)[-1]
        named = {**releases(copy.entry), self.target.options.tier: text}
        rows = {config.RELEASED: [{tier: name} for tier, name in sorted(named.items())]}
        return copy._replace(
            files={**copy.files, file: markdown.edit(copy.files[file].decode(), rows).encode()}
        )

    def _ties(self, original: SourceEntry) -> tuple[str, ...]:
        """What in the entry belongs to one place.

        Paths and projects, also its own unless the target knows that.
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
        same, asks = self._same_there(copy), decision.verdict is config.PolicyVerdict.NEEDS_RELEASE
        if self._proposes:
            outcome = PROPOSED
        else:
            outcome = COPIED
        if same or asks:
            if same:
                outcome = PRESENT
            else:
                outcome = ASKED
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

    def _start(self) -> tuple[float, float] | None:
        """Alpha and beta with which a lesson begins that did well or badly.

        None: as its author says.
        """
        summary = self.summary
        used = None
        if summary.kind is Kind.LESSON:
            used = self.source.usages.of(summary)
        start = summary.start
        if used and used.tallies.outcomes:
            start = statistics.inherited(statistics.prior(summary.confidence), [used])
        if not isinstance(start, float):
            return None
        return statistics.PRIOR_STRENGTH * start, statistics.PRIOR_STRENGTH * (1 - start)

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
        for summary in (near | target.catalog.many(proposals.copies(target, entry))).values():
            if _says_the_same(target.load(summary.id)[0], entry):
                return [
                    (
                        f"{summary.handle} {summary.title} ({target.options.tier}) says the "
                        "same already"
                    )
                ]
        if not self._proposes or target.rules.ref() is None:
            return []
        with proposals.open_proposals(target) as at:
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
            trailers = [
                ("Entry", copy.entry.id),
                self._trailer,
                *([("Reason", reason)] if reason else []),
            ]
            runs = copy.executable
            changes = []
            for path, data in copy.files.items():
                changes.append(Change(path, data, executable=path in runs or None, expect=None))
            applied = self.target.write(subject, changes, trailers, decided=True)
            return plan._replace(copy=self.target.written_one(copy.entry, applied))
        report = (f"Reason: {reason}\n\n" if reason else "") + render(plan.evaluation)
        with proposals.open_proposals(self.target) as at:
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


def evaluate(
    target: RepositorySession,
    entry: Entry,
    files: Mapping[str, str],
    projects: Sequence[str] = (),
    same: Sequence[str] = (),
) -> EvaluationReport:
    """The report on an entry of `projects` for the repository `target`.

    `files`: its new texts, by path.

    `same`: what is known to say the same there; then nothing else is compared with it.
    """
    target.current()
    findings = list(_secrets(entry, files))
    findings += (
        EvaluationFinding("duplicates", STOP, f"the same is there already: {name}") for name in same
    )
    if not same:
        near = proposals.alike(proposals.comparable(entry), _like(target, entry))
        findings += (EvaluationFinding("duplicates", WARNING, f"close to {name}") for name in near)
        findings += (
            EvaluationFinding("contradictions", WARNING, sentence)
            for sentence in _opposed(target, entry)
        )
    findings += specific(files, projects)
    return EvaluationReport(
        tuple(finding._replace(message=one_line(finding.message, LONGEST)) for finding in findings)
    )


def _secrets(entry: Entry, files: Mapping[str, str]) -> Iterator[EvaluationFinding]:
    may_stay = secrets.allowed(entry.fields)
    for path, text in files.items():
        for secret in secrets.secrets_in(text):
            allowed = secret.fingerprint in may_stay
            what = f"holds what looks like a secret ({secret.sort})" + (
                ", which its file allows" if allowed else ""
            )
            yield EvaluationFinding(
                "secrets", NOTE if allowed else STOP, what, f"{path}:{secret.line}"
            )


def _like(repo: RepositorySession, entry: Entry) -> Iterator[proposals.ComparableText]:
    """Entries of the same kind that may say much the same.

    Its copies, and those whose titles are like its own.
    """
    summaries = {
        summary.id: summary
        for summary in repo.catalog.select(Filter(kinds=frozenset({entry.kind}), status=None))
    }
    titled = [
        summary.id
        for summary in summaries.values()
        if likeness(summary.title, entry.title) >= ALIKE
    ]
    for entry_id in dict.fromkeys([*proposals.copies(repo, entry), *titled[:COMPARED]]):
        with suppress(AiLessonsError):
            # removed or broken since the catalog looked
            if summary := summaries.get(entry_id):
                yield proposals.comparable(repo.load(entry_id)[0], summary.handle, summary.tier)


def _opposed(repo: RepositorySession, entry: Entry) -> Iterator[str]:
    """Sentences about what here says the opposite.

    By a link of either, or for the same case in the same words.
    """
    catalog, pattern = repo.catalog, entry.pattern
    linked = catalog.many(proposals.contradicted(repo, entry))
    for summary in linked.values():
        yield f"it contradicts {_name(summary)}"
    if pattern is None:
        return
    for summary in opposed(catalog.select(Filter(kinds=LESSONS)), pattern):
        if summary.id not in linked:
            yield f"{_name(summary)} says the opposite for the same case"
    for summary in catalog.select(Filter(kinds=frozenset({Kind.RULE}), status=None)):
        begins = _NEGATIVE.match(summary.title)
        # one forbids, the other demands
        differs = bool(begins) is not pattern.negative
        if begins:
            action = summary.title[begins.end() :]
        else:
            action = summary.title
        if summary.id not in linked and differs and likeness(action, pattern.action) >= ALIKE:
            yield f"{_name(summary)} says the opposite"


def _name(summary: EntrySummary) -> str:
    if summary.kind is Kind.RULE:
        state = "in force"
    else:
        state = summary.kind.value
    return f"{summary.handle} {summary.title!r} ({state})"
