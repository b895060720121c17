"""What jobs that write take and give, and what is proposed. Frozen values."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.model.entries import EntrySummary, Kind, json_fields, record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Stale(NamedTuple):
    """A doc or script whose external file changed since it was read, or is gone."""

    handle: str
    title: str
    path: str
    reason: str


@json_fields(
    hidden=("kind", "title", "tier", "origin"),
    optional=("proposed_on", "change", "target", "notes"),
)
class Written(NamedTuple):
    """One entry that was written.

    `commit` is None while the write waits for one; `tier` is of which repository.

    `proposed_on`: the branch on which a change of a rule is only proposed.
    Of the jobs of `lesson`: `change` (added, confirmed, wrong, promoted, unchanged), `target` where
    it also stands, and `origin`, who states it.
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
    proposed_on: str = ""


class LessonDraft(NamedTuple):
    """What a new lesson says. `when`, `do` or `dont`, and `because` come together or not at all.

    `further`: keys of frontmatter that features read.

    `options`: what features take of a new entry, by name, see `additions.NewText`. `scope` is
    stated as groove writes one, where the project does not say it: `user:NAME`, `project:PATH`.
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
    further: Mapping[str, Any] = MappingProxyType({})
    options: Mapping[str, Any] = MappingProxyType({})
    allow_secrets: Sequence[tuple[str, str]] = ()


class Skipped(NamedTuple):
    """A file or entry that was left alone, and why."""

    path: str
    reason: str


class Refreshed(NamedTuple):
    """One doc looked at again.

    `changed` says its file was rewritten; `diff` is a unified diff of the body.
    """

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


class Imported(NamedTuple):
    """What an import did."""

    written: tuple[Written, ...]
    unchanged: int
    skipped: tuple[Skipped, ...]
    commit: str | None
    notes: tuple[str, ...] = ()


class RuleDraft(NamedTuple):
    """What a new rule says.

    `links` are (relation, reference); no relation: the one that fits the kind of entry.

    `options` are as in `LessonDraft`.
    """

    title: str
    rationale: str
    content: str = ""
    tags: Sequence[str] = ()
    project: str = ""
    applies_to: Sequence[str] = ()
    links: Sequence[tuple[str, str]] = ()
    options: Mapping[str, Any] = MappingProxyType({})
    allow_secrets: Sequence[tuple[str, str]] = ()


class PastSessions(NamedTuple):
    """In how many `sessions` of this machine a proposal would have been `told`, and about so many characters in all.

    Of these, `said`: a person said it again there; `edits`, `commands`: what it names was edited or run. `apart`:
    sessions that it came from, which count in none of these. `checked`: sessions in which its checks of commands and of
    what was done were played; then `commands` has those in which they would have spoken.
    """

    sessions: int
    told: int
    said: int
    edits: int
    commands: int
    characters: int
    apart: int
    checked: int = 0


@json_fields(hidden=("notes",), optional=("past",))
class Suggested(NamedTuple):
    """A proposal that was made.

    `warnings` is what speaks against it, and what the user should know.

    `past`: what past sessions on this machine say of it. `notes`: how options were understood.
    """

    id: str
    handle: str
    title: str
    path: str
    branch: str
    commit: str
    warnings: tuple[str, ...] = ()
    past: PastSessions | None = None
    notes: tuple[str, ...] = ()


class ProposedFile(NamedTuple):
    """A file that a proposal changes.

    Its text in force or on the approval branch, and as proposed (None: no file).

    Bytes that are no UTF-8 are escapes; of a binary file stand its size and its SHA-256.
    """

    path: str
    old: str | None
    new: str | None


@json_fields(hidden=("files",))
class Pending(NamedTuple):
    """A proposal that waits for a person.

    `kind`: of the entry, or `release`. `change`: new, edit, removal, or standing (on the approval
    branch already, without approval; `commit` is its blob id). `added`, `removed`: lines of `diff`,
    against the text in force. `conflicts`: why it cannot be taken, or what it contradicts.
    `rejected_before`: when and why the same text was turned down. `evidence`: what it links.
    `report`: what the proposer says. `batch`: names the import that proposed it together with
    others. `applies_to`: globs of files. `files`: all that is approved with it, whole. `effects`:
    what its checks will do.
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
    evidence: tuple[EntrySummary, ...]
    path: str = ""
    report: str = ""
    batch: str = ""
    applies_to: tuple[str, ...] = ()
    files: tuple[ProposedFile, ...] = ()
    effects: tuple[str, ...] = ()

    def for_agents(self) -> dict[str, Any]:
        """Without the body of what is new, which is in the diff."""
        data = record(self)
        if self.change == "new":
            del data["body"]
        return data
