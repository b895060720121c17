"""What jobs that write, propose or decide take and give, and jobs of upkeep give. Frozen values, no behaviour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ai_lessons.knowledge.json_fields import json_fields, record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ai_lessons.errors import Problem
    from ai_lessons.index import rows
    from ai_lessons.knowledge.entries import Kind, Light
    from ai_lessons.knowledge.evaluation import EvaluationReport
    from ai_lessons.learning.choose import Effect
    from ai_lessons.learning.fold import UsageTally
    from ai_lessons.repository.proposal_records import TakenProposal

    IndexStatus: TypeAlias = rows.IndexStatus
    Indexed: TypeAlias = rows.IndexRefresh  # What a refresh of the index did, and what is still without a vector


class Initialised(NamedTuple):
    """What `init` did. `created` False means the repository was already there and complete."""

    path: str
    created: bool
    adopted: int
    hooks: tuple[str, ...]
    commit: str | None
    notes: tuple[str, ...] = ()


class Report(NamedTuple):
    """Outcome of `validate`: every problem left, what `--fix` mended, and how many files were read.

    `notes` name files that no job takes care of, which is no problem of any file.
    """

    problems: tuple[Problem, ...]
    fixed: tuple[str, ...]
    files: int
    notes: tuple[str, ...] = ()


class Check(NamedTuple):
    """One line of `doctor`: `state` is ok, warning or error; `remedy` the command or action that mends it."""

    name: str
    state: str
    detail: str
    remedy: str = ""


class Judged(NamedTuple):
    """An entry of which a user or agent said how it did."""

    handle: str
    title: str
    helpful: int
    ignored: int
    contradicted: int
    confidence: float


class Stats(NamedTuple):
    """Sizes (bytes) and counts; `clusters`: sizes of groups that `related_to` joins; `ablation` None: not known yet.

    `approval_lead_time`: median seconds from the last commit of a proposal to the merge that approved it; None: no
    rule in force came by a merge.
    """

    entries: Mapping[str, int]
    projects: int
    tags: int
    files: int
    unreadable: int
    bytes: int
    catalog_bytes: int
    index_bytes: int
    passages: int
    vectors: int
    pending: int
    taken_away: int
    commits_30_days: int
    oldest: str | None
    newest: str | None
    most_useful: tuple[Judged, ...] = ()
    least_useful: tuple[Judged, ...] = ()
    damaged_events: int = 0
    ablation: Effect | None = None
    clusters: tuple[int, ...] = ()
    approval_lead_time: int | None = None


class Stale(NamedTuple):
    """A doc or script whose external file changed since it was read, or is gone."""

    handle: str
    title: str
    path: str
    reason: str


@json_fields(entry=True)
class Outdated(NamedTuple):
    """An entry to look at again. `reason`: review_by, asked, applies_to, repeats, source, failing, or never_helpful."""

    entry: Light
    reason: str
    detail: str


class ModelState(NamedTuple):
    """Where the embedding model is, if anywhere."""

    name: str
    present: bool
    path: str | None
    source: str | None


@json_fields(hidden=("kind", "title", "tier", "origin"), optional=("change", "target", "notes"))
class Written(NamedTuple):
    """One entry that was written. `commit` is None while the write waits for one; `tier` is of which repository.

    Of the jobs of `lesson`: `change` (added, confirmed, wrong, promoted, unchanged), `target` where it also stands, and
    `origin`, who states it.
    """

    id: str
    handle: str
    kind: Kind
    title: str
    path: str
    commit: str | None
    notes: tuple[str, ...] = ()
    tier: str = ""
    change: str = ""
    origin: str = ""
    target: str = ""


class LessonDraft(NamedTuple):
    """What a new lesson says. `when`, `do` or `dont`, and `because` come together or not at all.

    `seen` counts the calls, failures and sessions that a lesson about a command rests on.

    `scope` is stated as groove writes one, where the project does not say it: `user:NAME`, `project:PATH`.
    """

    title: str
    content: str = ""
    tags: Sequence[str] = ()
    project: str = ""
    scope: str | None = None
    confidence: str = "medium"
    source: str = "observed"
    origin: str = "user"
    category: str | None = None
    contexts: Sequence[str] = ()
    applies_to: Sequence[str] = ()
    links: Sequence[tuple[str, str]] = ()
    when: str | None = None
    do: str | None = None
    dont: str | None = None
    because: str | None = None
    seen: Mapping[str, int] | None = None
    allow_secrets: Sequence[tuple[str, str]] = ()


class ResourceDraft(NamedTuple):
    """What to import: `paths` are files, folders (with `recursive`) or globs of the caller's file system.

    `urls` are pages, or (with `recursive`) sitemaps; of private addresses only with `allow_private`.
    """

    kind: Kind
    paths: Sequence[str] = ()
    title: str | None = None
    versions: Sequence[str] = ()
    project: str | None = None
    tags: Sequence[str] = ()
    recursive: bool = False
    in_place: bool = False
    allow_secrets: Sequence[tuple[str, str]] = ()
    urls: Sequence[str] = ()
    allow_private: bool = False


class Skipped(NamedTuple):
    """A file or entry that was left alone, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did."""

    written: tuple[Written, ...]
    unchanged: int
    skipped: tuple[Skipped, ...]
    commit: str | None
    notes: tuple[str, ...] = ()


class PassagePreview(NamedTuple):
    """How one passage of a file would be cut: its heading path, size in estimated tokens and first words."""

    path: str
    heading: str
    tokens: int
    text: str


class Refreshed(NamedTuple):
    """One doc looked at again. `changed` says its file was rewritten; `diff` is a unified diff of the body."""

    handle: str
    title: str
    path: str
    changed: bool = False
    old_ref: str | None = None
    new_ref: str | None = None
    added: int = 0
    removed: int = 0
    diff: str = ""
    warning: str = ""


@json_fields(entry=True)
class Feedback(NamedTuple):
    """What was said of an entry, and how it stands with that."""

    entry: Light
    outcome: str
    usage: UsageTally
    notes: tuple[str, ...] = ()

    def for_agents(self) -> dict[str, Any]:
        """Of the entry only how to call it."""
        entry = {"id": self.entry.id, "handle": self.entry.handle, "title": self.entry.title}
        return entry | {"outcome": self.outcome, "usage": self.usage, "notes": self.notes}


class RuleDraft(NamedTuple):
    """What a new rule says. `links` are (relation, reference); no relation: the one that fits the kind of entry."""

    title: str
    rationale: str
    content: str = ""
    tags: Sequence[str] = ()
    project: str = ""
    applies_to: Sequence[str] = ()
    links: Sequence[tuple[str, str]] = ()
    allow_secrets: Sequence[tuple[str, str]] = ()


class Suggested(NamedTuple):
    """A proposal that was made. `warnings` is what speaks against it, and what the user should know."""

    id: str
    handle: str
    title: str
    path: str
    branch: str
    commit: str
    warnings: tuple[str, ...] = ()


class ProposedFile(NamedTuple):
    """A file that a proposal changes: its text in force or on the approval branch, and as proposed (None: no file).

    Bytes that are no UTF-8 are escapes; of a binary file stand its size and its SHA-256.
    """

    path: str
    old: str | None
    new: str | None


@json_fields(hidden=("files",))
class Pending(NamedTuple):
    """A proposal that waits for a person.

    `kind`: of the entry, or `release`. `change`: new, edit, removal, or unsigned (a text on the approval branch that
    lacks a good signature; `commit` is its blob id). `added`, `removed`: lines of `diff`, against the text in force.
    `conflicts`: why it cannot be taken, or what it contradicts. `rejected_before`: when and why the same text was
    turned down. `evidence`: what it links. `report`: what the proposer says. `left_out` (on the last): not listed.
    `batch`: names the import that proposed it together with others. `applies_to`: globs of files. `files`: all that is
    approved with it, whole.
    """

    id: str
    handle: str
    title: str
    branch: str
    remote: bool
    kind: str
    change: str
    suggested_by: str
    suggested_at: str
    commit: str
    added: int
    removed: int
    conflicts: tuple[str, ...]
    similar: tuple[str, ...]
    rejected_before: str
    diff: str
    body: str
    rationale: str
    tags: tuple[str, ...]
    evidence: tuple[Light, ...]
    path: str = ""
    report: str = ""
    left_out: tuple[str, ...] = ()
    batch: str = ""
    applies_to: tuple[str, ...] = ()
    files: tuple[ProposedFile, ...] = ()

    def for_agents(self) -> dict[str, Any]:
        """Without the body of what is new, which is in the diff."""
        data = record(self)
        if self.change == "new":
            del data["body"]
        return data


class Decided(NamedTuple):
    """What a person decided, in `commit`, on the proposal of `branch`; at `path` lies the entry or the rejection."""

    id: str
    handle: str
    title: str
    path: str
    branch: str
    commit: str
    notes: tuple[str, ...] = ()


class PinnedList(NamedTuple):
    """Whose signatures approve rules, pinned in `file`: a line for each key (fingerprint, principals, type)."""

    file: str
    keys: tuple[str, ...]
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class AuditRow(NamedTuple):
    """A rule of the approval branch, its `evidence` (0 to 3), the way in one word, and what lacks evidence there."""

    id: str
    handle: str
    title: str
    path: str
    in_force: bool
    evidence: int
    how: str
    approved_by: str
    approved_at: str
    suggested_by: str
    commit: str
    problem: str = ""


class Audit(NamedTuple):
    """Every rule with its evidence, and other proposals that were taken; not `ok` with a violation or an alarm."""

    rows: tuple[AuditRow, ...]
    alarms: tuple[str, ...]
    ok: bool
    taken: tuple[TakenProposal, ...] = ()


# What becomes of it: a copy, a proposal, a proposal to release it, or nothing because it is there
COPIED, PROPOSED, ASKED, PRESENT = "copied", "proposed", "asked", "present"


class PromotionRequest(NamedTuple):
    """How to promote; `reason` is for those who decide. `person`: may copy at once, also out of an enterprise."""

    reason: str = ""
    person: bool = True
    allow_secrets: Sequence[tuple[str, str]] = ()


@json_fields(
    "id", "handle", "title", "from_", "to", "outcome", "copy", "proposal", "evaluation", "policy", "decided_in", "notes"
)
class Promoted(NamedTuple):
    """What became of an entry that goes from one tier to another: a `copy`, or a `proposal` (also to release it).

    `policy`: the policy that decides. `decided_in`: the tier whose people decide, if any.
    """

    entry: Light
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
