"""What jobs take and give.

Frozen values, among them the findings about an entry before it is promoted.
"""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ai_lessons.app.told import Approval as Approval  # noqa: PLC0414  # as the others
from ai_lessons.app.told import Context as Context  # noqa: PLC0414
from ai_lessons.model.entries import KINDS, EntrySummary, Filter, Kind, json_fields, record

if TYPE_CHECKING:
    from ai_lessons.app.learned import KeptRule
    from ai_lessons.git.history import FileRevision
    from ai_lessons.model.chunks import TextSection
    from ai_lessons.model.outcomes import NotShown, ShownEntry
    from ai_lessons.model.tallies import Counted, UsageTally
    from ai_lessons.search import rows
    from ai_lessons.search.catalog_reader import Tally

    # A tag, version or project, with the number of entries of each kind that carry it
    Count: TypeAlias = Tally
    Revision: TypeAlias = FileRevision
    CountedElsewhere: TypeAlias = Counted
    Usage: TypeAlias = UsageTally
    ToldEarlier: TypeAlias = ShownEntry
    Left: TypeAlias = NotShown
    IndexStatus: TypeAlias = rows.IndexStatus
    # What a refresh of the index did, and what is still without a vector
    Indexed: TypeAlias = rows.IndexRefresh


class Query(NamedTuple):
    """A search, and what it may find.

    `context_tags` maps a tag to its weight or None for the default.
    `text` may hold phrases and filters, as `catalog.parse_query` has it, unless it is `plain`.
    The filters' `versions` are releases, ranges and names as `model.versions.score` has it, or
    `auto`. `approvals` asks who approved the rules that are found, `every` for what is superseded,
    too. `limit`: the most results; 0 for five, and up to ten where they are near the best.
    `typing`: a person types it and sees each answer, so files are looked at every few seconds, and
    nothing is prompted. `connection`: of the clients of one process, the one that asks, where that
    is known.
    """

    text: str
    filters: Filter = Filter()
    context_tags: Mapping[str, float | None] = {}
    limit: int = 0
    explain: bool = False
    approvals: bool = False
    plain: bool = False
    every: bool = False
    typing: bool = False
    connection: str = ""


class Hit(NamedTuple):
    """One result: the entry (with `score` and `snippet` set) and, if asked for, the factors of the score.

    `also_in`: the other versions of the same page that were found, newest first. `section`: the number of the section
    of a long text in which the best passage begins; 0 for none. `weak`: it may be an answer, and is not surely one.
    """

    entry: EntrySummary
    heading: str = ""
    factors: Mapping[str, float] = MappingProxyType({})
    also_in: tuple[str, ...] = ()
    section: int = 0
    weak: bool = False

    def as_json(self) -> dict[str, Any]:
        """The entry with its score and heading, and what else there is."""
        extra = {
            "factors": self.factors,
            "also_in": self.also_in,
            "section": self.section,
            "weak": self.weak,
        }
        data = self.entry.as_json(scored=True) | {"heading": self.heading}
        return data | {key: value for key, value in extra.items() if value}

    def for_agents(self, approvals: Mapping[str, Approval]) -> dict[str, Any]:
        """Handle, title, score and the sentence that answers.

        Of a rule its reason and who approved it.
        """
        entry, rule = self.entry, self.entry.kind is Kind.RULE
        data: dict[str, Any] = {
            "id": entry.id,
            "handle": entry.handle,
            "title": entry.title,
            "project": entry.project,
        }
        data["score"] = round(entry.score or 0.0, 2)
        data |= {"rationale": entry.rationale} if rule else {"snippet": entry.snippet}
        if rule and (approval := approvals.get(entry.id)):
            data["approval"] = {
                "approved_by": approval.approved_by,
                "approved_at": approval.approved_at,
            }
        extra = {
            "tier": "" if entry.tier == "user" else entry.tier, "versions": entry.versions, "also_in": self.also_in,
            "section": self.section, "warning": entry.beside.warning,
            "stated_by": entry.origin.stated_by, "weakest": entry.origin.weakest,
            "factors": self.factors, "weak": self.weak, "status": entry.status if entry.kind is Kind.DOC else "",
        }  # fmt: skip
        return data | {key: value for key, value in extra.items() if value}


class Answer(NamedTuple):
    """What a search found, best first. `notes` is what the user should know about this answer.

    `approvals` is by rule id, if it was asked for. `coverage` is the share of passages that have a
    vector, below 1 as long as one is missing. `weak`: nothing is surely an answer, and these, if
    any, are the best three that may be one. `whole`: so many results were asked for, so that an
    agent gets them all. `bar`: the score that an answer needs here; `below`: how many results were
    left out because they have less. `nearest`: the title of the nearest, where nothing is near.
    """

    query: str
    hits: tuple[Hit, ...] = ()
    prompt: str = ""
    notes: tuple[str, ...] = ()
    approvals: Mapping[str, Approval] = MappingProxyType({})
    coverage: float = 1.0
    weak: bool = False
    whole: bool = False
    bar: float = 0.0
    below: int = 0
    nearest: str = ""

    @property
    def nothing(self) -> bool:
        """Whether nothing answers: then the first of the notes is the answer."""
        return not self.hits

    @property
    def paid(self) -> tuple[Hit, ...]:
        """What an agent reads: as many results as have room, at least one.

        None where nothing answers.
        """
        sentences = (
            hit.entry.rationale if hit.entry.kind is Kind.RULE else hit.entry.snippet
            for hit in self.hits
        )
        # about 50 characters stand around the title and the sentence of each result
        sizes = accumulate(
            len(hit.entry.title) + len(text or "") + 50
            for hit, text in zip(self.hits, sentences, strict=True)
        )
        # An agent that asks for no number of results gets 1,100 characters: room for five. With 950,
        # 1.2 % of the questions of LoCoMo lose the only result that answers, with these .4 %.
        if self.whole:
            most = len(self.hits)
        else:
            most = max(1, sum(size <= 1100 for size in sizes))
        return self.hits[:most]

    @property
    def groups(self) -> dict[Kind, tuple[Hit, ...]]:
        """The hits of every kind; the kind whose best is found first stands first."""
        kinds = dict.fromkeys((*(hit.entry.kind for hit in self.hits), *KINDS))
        groups: dict[Kind, tuple[Hit, ...]] = {}
        for kind in kinds:
            groups[kind] = tuple(hit for hit in self.hits if hit.entry.kind is kind)
        return groups

    def as_json(self) -> dict[str, Any]:
        """The hits in a group for each kind.

        `order` names the groups that have any, the best first.
        """
        groups = self.groups
        data: dict[str, Any] = {
            "query": self.query,
            "order": [kind.folder for kind, hits in groups.items() if hits],
        }
        data |= {kind.folder: groups[kind] for kind in KINDS}
        data |= {"prompt": self.prompt, "notes": self.notes, "coverage": self.coverage}
        data |= {"bar": self.bar, "below": self.below}
        if self.weak:
            return data | {"weak": True}
        return data

    def for_agents(self) -> dict[str, Any]:
        """What an agent pays for.

        Of each result what it says and how to call it, of a rule its approval.
        """
        left_out = {"query", "bar", "below"} | ({"coverage"} if self.coverage == 1 else set())
        data = {}
        for key, value in self.as_json().items():
            if key not in left_out:
                data[key] = value
        shown = self.paid
        data["order"] = list(dict.fromkeys(hit.entry.kind.folder for hit in shown))
        return data | {
            kind.folder: [hit.for_agents(self.approvals) for hit in shown if hit.entry.kind is kind]
            for kind in KINDS
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
    """An entry reached over the graph.

    `outgoing` is the direction in which the link was written.
    """

    entry: EntrySummary | None
    target: str
    relation: str
    outgoing: bool
    weight: float | None = None
    depth: int = 1

    @property
    def direction(self) -> str:
        """`out` or `in`."""
        if self.outgoing:
            return "out"
        return "in"

    def for_agents(self) -> dict[str, Any]:
        """Of the entry only how to call it."""
        entry = None
        if self.entry:
            entry = {"handle": self.entry.handle, "title": self.entry.title}
        return record(self) | {"entry": entry}


@json_fields(entry=True)
class Why(NamedTuple):
    """Where an entry comes from, in sentences, and how it has done."""

    entry: EntrySummary
    approval: Approval | None
    lines: tuple[str, ...]
    usage: "Usage"


class ContextQuery(NamedTuple):
    """What one is about to do, to files of `paths`.

    `budget`: how many entries may come (None: as has proved best).

    `error`: what a command said that failed, below its line (`$ git push`) where that is known;
    then nothing else counts.
    """

    project: str | None = None
    context_tags: Mapping[str, float | None] = MappingProxyType({})
    paths: Sequence[str] = ()
    query: str = ""
    budget: int | None = None
    error: str = ""
    approvals: bool = False


class Shown(NamedTuple):
    """All about one entry (`approval`: of rules, `usage`: of lessons).

    With a `section` `body` is only that.

    `silent`: why it is told to nobody who does not ask. `kept`: of rules, in how many sessions it
    was kept or not.
    """

    entry: EntrySummary
    body: str
    raw: str
    frontmatter: Mapping[str, Any]
    code: str = ""
    related: tuple[Related, ...] = ()
    sections: "tuple[TextSection, ...]" = ()
    section: int | None = None
    notes: tuple[str, ...] = ()
    approval: Approval | None = None
    usage: "Usage | None" = None
    silent: str = ""
    kept: "KeptRule | None" = None

    def as_json(self) -> dict[str, Any]:
        """The entry, its text, and what its kind has.

        The code of a script, the approval of a rule, else its usage.
        """
        data = self.entry.as_json(scored=True)
        for name in ("body", "frontmatter", "related", "sections", "section", "notes"):
            data[name] = getattr(self, name)
        if self.entry.kind is Kind.RULE:
            data["approval"] = self.approval
            if self.kept:
                data["kept"] = self.kept.sessions
        elif self.usage:
            data["usage"] = self.usage
        if self.entry.kind is Kind.SCRIPT:
            data["code"] = self.code
        if self.silent:
            return data | {"silent": self.silent}
        return data


class Listing(NamedTuple):
    """Entries of a list, and what was left out (unreadable files).

    `silent`: by id, why an entry is told no more.
    """

    entries: tuple[EntrySummary, ...]
    total: int
    notes: tuple[str, ...] = ()
    silent: Mapping[str, str] = MappingProxyType({})

    def as_json(self) -> list[dict[str, Any]]:
        """The entries alone, each with why it is silent, if it is."""
        silent = self.silent
        results: list[dict[str, Any]] = []
        for entry in self.entries:
            results.append(
                entry.as_json() | ({"silent": silent[entry.id]} if entry.id in silent else {})
            )
        return results
