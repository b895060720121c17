"""What jobs that read take and give: frozen values; those of other jobs are in `reports`, as each costs every start."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ai_lessons.knowledge.entries import KINDS, Kind, Light, Status
from ai_lessons.knowledge.json_fields import json_fields, record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ai_lessons.index.catalog_reading import Tally
    from ai_lessons.knowledge.passages import TextSection
    from ai_lessons.learning.choose import LeftOut
    from ai_lessons.learning.fold import ParameterState, UsageTally
    from ai_lessons.learning.outcomes import Earlier
    from ai_lessons.repository.history import FileRevision

    Count: TypeAlias = Tally  # A tag, version or project, with the number of entries of each kind that carry it

    Revision: TypeAlias = FileRevision
    Usage: TypeAlias = UsageTally
    Parameter: TypeAlias = ParameterState
    ToldEarlier: TypeAlias = Earlier
    Left: TypeAlias = LeftOut


class Query(NamedTuple):
    """A search. `kinds` empty means all; `context_tags` maps a tag to its weight or None for the default.

    `text` may hold phrases and filters, as `knowledge.queries` has it, unless it is `plain`.
    `versions` are releases, ranges and names as `knowledge.versions.score` has it, or `auto`.
    `approvals` asks who approved the rules that are found, `every` for what is superseded, too.
    `scopes` are what a lesson may state as its scope ("" for nothing), if only some shall be found.
    `typing`: a person types it and sees each answer, so files are looked at every few seconds, and nothing is prompted.
    """

    text: str
    kinds: frozenset[Kind] = frozenset()
    versions: Sequence[str] = ()
    project: str | None = None
    tags: Sequence[str] = ()
    context_tags: Mapping[str, float | None] = MappingProxyType({})
    limit: int = 10
    explain: bool = False
    approvals: bool = False
    plain: bool = False
    every: bool = False
    scopes: frozenset[str] = frozenset()
    typing: bool = False


class Hit(NamedTuple):
    """One result: the entry (with `score` and `snippet` set) and, if asked for, the factors of the score.

    `also_in`: the other versions of the same page that were found, newest first. `section`: the number of the section
    of a long text in which the best passage begins; 0 for none.
    """

    entry: Light
    heading: str = ""
    factors: Mapping[str, float] = MappingProxyType({})
    also_in: tuple[str, ...] = ()
    section: int = 0

    def as_json(self) -> dict[str, Any]:
        """The entry with its score and heading, and what else there is."""
        extra = {"factors": self.factors, "also_in": self.also_in, "section": self.section}
        data = self.entry.as_json(scored=True) | {"heading": self.heading}
        return data | {key: value for key, value in extra.items() if value}


class Answer(NamedTuple):
    """What a search found, best first. `notes` is what the user should know about this answer.

    `approvals` is by rule id, if it was asked for. `coverage` is the share of passages that have a vector. `weak`:
    nothing stored comes near the question, and these are only the nearest. `near_kinds`: the kinds of which
    something comes near, shown or not.
    """

    query: str
    hits: tuple[Hit, ...] = ()
    prompt: str = ""
    notes: tuple[str, ...] = ()
    approvals: Mapping[str, Approval] = MappingProxyType({})
    coverage: float = 1.0
    weak: bool = False
    near_kinds: frozenset[Kind] = frozenset()

    @property
    def groups(self) -> dict[Kind, tuple[Hit, ...]]:
        """The hits of every kind; the kind whose best is found first stands first."""
        kinds = dict.fromkeys((*(hit.entry.kind for hit in self.hits), *KINDS))
        return {kind: tuple(hit for hit in self.hits if hit.entry.kind is kind) for kind in kinds}

    def as_json(self) -> dict[str, Any]:
        """The hits in a group for each kind; `order` names the groups that have any, the best first."""
        groups = self.groups
        data: dict[str, Any] = {"query": self.query, "order": [kind.folder for kind, hits in groups.items() if hits]}
        data |= {kind.folder: groups[kind] for kind in KINDS}
        data |= {"prompt": self.prompt, "notes": self.notes, "coverage": self.coverage}
        return data | {"weak": True} if self.weak else data

    def for_agents(self) -> dict[str, Any]:
        """With the approval of each rule; without the query, and without a coverage that is complete."""
        left_out = {"query", "coverage"} if self.coverage == 1 else {"query"}
        data = {key: value for key, value in self.as_json().items() if key not in left_out}
        return data | {
            kind.folder: [_for_agents(hit.as_json(), self.approvals) for hit in data[kind.folder]] for kind in KINDS
        }

    @property
    def rules(self) -> tuple[Hit, ...]:
        """The rules."""
        return self.groups[Kind.RULE]

    @property
    def scripts(self) -> tuple[Hit, ...]:
        """The scripts."""
        return self.groups[Kind.SCRIPT]

    @property
    def lessons(self) -> tuple[Hit, ...]:
        """The lessons."""
        return self.groups[Kind.LESSON]

    @property
    def docs(self) -> tuple[Hit, ...]:
        """The docs."""
        return self.groups[Kind.DOC]


@json_fields("relation", "direction", "target", "weight", "depth", "entry")
class Related(NamedTuple):
    """An entry reached over the graph. `outgoing` is the direction in which the link was written."""

    entry: Light | None
    target: str
    relation: str
    outgoing: bool
    weight: float | None = None
    depth: int = 1

    @property
    def direction(self) -> str:
        """`out` or `in`."""
        return "out" if self.outgoing else "in"

    def for_agents(self) -> dict[str, Any]:
        """Of the entry only how to call it."""
        entry = {"handle": self.entry.handle, "title": self.entry.title} if self.entry else None
        return record(self) | {"entry": entry}


class Approval(NamedTuple):
    """Who approved a rule that is in force. Times are ISO 8601 in UTC, people `Name <address>`.

    `evidence`: 1 a commit on the branch, 2 a merge of its proposal, 3 signed; `how`: the way in one word.
    `unapproved_change`: unified diff from the text in force to the working tree, else to the approval branch; or empty.
    """

    approved_by: str
    approved_at: str
    suggested_by: str
    commit: str
    evidence: int
    how: str
    unapproved_change: str = ""
    in_force: bool = True


@json_fields(entry=True)
class Why(NamedTuple):
    """Where an entry comes from, in sentences, and how it has done."""

    entry: Light
    approval: Approval | None
    lines: tuple[str, ...]
    usage: Usage


class ContextQuery(NamedTuple):
    """What one is about to do, to files of `paths`. `budget`: how many entries may come (None: as has proved best).

    `error`: what a command said that failed, below its line (`$ git push`) where that is known; then nothing else
    counts.
    """

    project: str | None = None
    context_tags: Mapping[str, float | None] = MappingProxyType({})
    paths: Sequence[str] = ()
    query: str = ""
    budget: int | None = None
    error: str = ""
    approvals: bool = False


@json_fields("rules", "lessons", "notes", optional=("left_out",))
class Context(NamedTuple):
    """What is told to who asks, or at a moment of a session: best first, why each, what beyond its line, by id.

    `left_out` fitted and did not come. `edges`: by lesson the parameters (and their positions, 0 to 1) whose bar it
    passed only just. `ran_next`: what worked after a failure like this one in transcripts, where no entry helps.
    `project`: that of the folder; `pending`: how many proposals wait.
    """

    entries: tuple[Light, ...] = ()
    why: Mapping[str, str] = MappingProxyType({})
    texts: Mapping[str, str] = MappingProxyType({})
    approvals: Mapping[str, Approval] = MappingProxyType({})
    left_out: tuple[Left, ...] = ()
    edges: Mapping[str, Mapping[str, float]] = MappingProxyType({})
    notes: tuple[str, ...] = ()
    ran_next: str = ""
    project: str | None = None
    pending: int = 0

    @property
    def rules(self) -> tuple[Light, ...]:
        """The rules."""
        return tuple(entry for entry in self.entries if entry.kind is Kind.RULE)

    @property
    def lessons(self) -> tuple[Light, ...]:
        """The lessons."""
        return tuple(entry for entry in self.entries if entry.kind is Kind.LESSON)

    def for_agents(self) -> dict[str, Any]:
        """With the approval of each rule."""
        groups = {"rules": self.rules, "lessons": self.lessons}
        return record(self) | {
            name: [_for_agents(entry.as_json(), self.approvals) for entry in entries]
            for name, entries in groups.items()
        }


def _for_agents(data: dict[str, Any], approvals: Mapping[str, Approval]) -> dict[str, Any]:
    """A result without what nearly all results have; of a rule its approval, and no snippet beside its reason."""
    usual = {"tier": "user", "status": Status.ACTIVE}
    data = {key: value for key, value in data.items() if usual.get(key) != value}
    if data["kind"] == Kind.RULE:
        del data["snippet"]
        data["approval"] = approvals.get(data["id"])
    return data


class Shown(NamedTuple):
    """All about one entry (`approval`: of rules, `usage`: of lessons); with a `section` `body` is only that.

    `silent`: why it is told to nobody who does not ask.
    """

    entry: Light
    body: str
    raw: str
    frontmatter: Mapping[str, Any]
    code: str = ""
    related: tuple[Related, ...] = ()
    sections: tuple[TextSection, ...] = ()
    section: int | None = None
    notes: tuple[str, ...] = ()
    approval: Approval | None = None
    usage: Usage | None = None
    silent: str = ""

    def as_json(self) -> dict[str, Any]:
        """The entry, its text, and what its kind has: the code of a script, the approval of a rule, else its usage."""
        data = self.entry.as_json(scored=True)
        for name in ("body", "frontmatter", "related", "sections", "section", "notes"):
            data[name] = getattr(self, name)
        if self.entry.kind is Kind.RULE:
            data["approval"] = self.approval
        elif self.usage:
            data["usage"] = self.usage
        if self.entry.kind is Kind.SCRIPT:
            data["code"] = self.code
        return data | {"silent": self.silent} if self.silent else data


class Listing(NamedTuple):
    """Entries of a list, and what was left out (unreadable files). `silent`: by id, why an entry is told no more."""

    entries: tuple[Light, ...]
    total: int
    notes: tuple[str, ...] = ()
    silent: Mapping[str, str] = MappingProxyType({})

    def as_json(self) -> list[dict[str, Any]]:
        """The entries alone, each with why it is silent, if it is."""
        silent = self.silent
        return [
            entry.as_json() | ({"silent": silent[entry.id]} if entry.id in silent else {}) for entry in self.entries
        ]
