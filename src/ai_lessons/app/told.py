"""What is told at a moment of a session: the one answer that a hook gives, apart because it loads no other."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.model.entries import EntrySummary, Kind, Status, json_fields, record

if TYPE_CHECKING:
    from ai_lessons.model.outcomes import NotShown


class Approval(NamedTuple):
    """Who approved a rule that is in force. Times are ISO 8601 in UTC, people `Name <address>`.

    `evidence`: 1 a commit on the branch, 2 a merge of its proposal, 3 signed; `how`: the way in one
    word. `unapproved_change`: unified diff from the text in force to the working tree, else to the
    approval branch; or empty.
    """

    approved_by: str
    approved_at: str
    suggested_by: str
    commit: str
    evidence: int
    how: str
    unapproved_change: str = ""
    in_force: bool = True


@json_fields("rules", "lessons", "notes", optional=("left_out",))
class Context(NamedTuple):
    """What is told to who asks, or at a moment of a session.

    Best first, why each, what beyond its line, by id.

    `left_out` fitted and did not come. `edges`: by lesson the parameters (and their positions, 0 to
    1) whose bar it passed only just. `ran_next`: what transcripts say where no entry does: what
    worked after such a failure, or what nobody got past. `project`: that of the folder; `pending`:
    how many proposals wait. `breaks`: the rules that an edit breaks, each with what its check
    enforces (ask, deny or nothing).
    """

    entries: tuple[EntrySummary, ...] = ()
    why: Mapping[str, str] = MappingProxyType({})
    texts: Mapping[str, str] = MappingProxyType({})
    approvals: Mapping[str, Approval] = MappingProxyType({})
    left_out: "tuple[NotShown, ...]" = ()
    edges: Mapping[str, Mapping[str, float]] = MappingProxyType({})
    notes: tuple[str, ...] = ()
    ran_next: str = ""
    project: str | None = None
    pending: int = 0
    breaks: Mapping[str, str] = MappingProxyType({})

    @property
    def rules(self) -> tuple[EntrySummary, ...]:
        """The rules."""
        return tuple(entry for entry in self.entries if entry.kind is Kind.RULE)

    @property
    def lessons(self) -> tuple[EntrySummary, ...]:
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
    """A result without what nearly all results have.

    Of a rule its approval, and no snippet beside its reason.
    """
    usual = {"tier": "user", "status": Status.ACTIVE}
    data = {key: value for key, value in data.items() if usual.get(key) != value}
    if data["kind"] == Kind.RULE:
        del data["snippet"]
        data["approval"] = approvals.get(data["id"])
    return data
