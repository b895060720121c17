"""What jobs about proposals look at: approval branch, what waits, what was turned down, and what it is called."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING

from ai_lessons.errors import AmbiguousName, Conflict, InvalidEntry, NotFound, Refused
from ai_lessons.index.catalog_reading import Filter
from ai_lessons.knowledge.entries import HANDLE_LENGTH, Entry, Kind, handle, shared_tail
from ai_lessons.knowledge.reading import read_entry
from ai_lessons.library.rule_warnings import Said, said
from ai_lessons.repository import deciding, proposals
from ai_lessons.repository import trunk as trunks
from ai_lessons.repository.objects import opened

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ai_lessons.library.parts import Parts
    from ai_lessons.repository.proposals import Repository, Waiting
    from ai_lessons.repository.rejections import Rejection
    from ai_lessons.repository.trunk import Trunk
    from ai_lessons.repository.verdicts import Person

IN_FORCE, PENDING = "in force", "proposed"


class Desk:
    """One look at the rules of a repository; nothing is asked twice. The catalog is up to date."""

    def __init__(self, parts: Parts, repo: Repository, trunk: Trunk) -> None:
        self.parts, self.repo, self.trunk = parts, repo, trunk

    @cached_property
    def rejections(self) -> list[Rejection]:
        """Every proposal that was turned down."""
        return deciding.rejected(self.trunk)

    @cached_property
    def waiting(self) -> list[Waiting]:
        """Every open proposal, oldest first."""
        return proposals.waiting(self.repo, self.trunk, {one.commit for one in self.rejections})

    def find(self, ref: str) -> Waiting:
        """The open proposal that a branch, handle, id, end of an id or path names.

        Raises:
            NotFound: none. AmbiguousName: several are about that rule.
        """
        wanted = ref.strip()
        by_branch = [one for one in self.waiting if wanted == one.branch]
        by_name = [one for one in self.waiting if wanted == one.name]
        found = by_branch or by_name or self._by_rule(wanted)
        if len(found) > 1:
            raise AmbiguousName(wanted, [one.branch for one in found])
        if not found:
            known = [self.handle(one.rule) for one in self.waiting]
            hint = "" if known else "no proposal waits: ai-lessons admin pending-rules"
            raise NotFound("open proposal", ref, suggestions=known[:5], hint=hint)
        return found[0]

    def _by_rule(self, wanted: str) -> list[Waiting]:
        end = wanted.upper().removeprefix(f"{Kind.RULE.letter}-")
        path = self.parts.inside(wanted) or wanted
        by_path = [one for one in self.waiting if any(path == piece.path for piece in one.pieces)]
        return by_path or [one for one in self.waiting if len(end) >= 4 and one.rule.endswith(end)]

    def handle(self, rule: str) -> str:
        """What people call a rule, proposed ones included."""
        others = [one.rule for one in self.waiting if one.rule != rule]
        length = max([HANDLE_LENGTH, *(shared_tail(rule, other) + 1 for other in others)])
        while length < len(rule) and self._taken(rule, length):
            length += 1
        return handle(Kind.RULE, rule, length)

    def _taken(self, rule: str, length: int) -> bool:
        try:
            return self.parts.catalog.resolve(rule[-length:]).id != rule
        except AmbiguousName:
            return True
        except NotFound:
            return False

    def text(self, one: Waiting) -> bytes:
        """The text that a proposal ends with; of a removal the one that goes."""
        blob = one.piece.new or one.piece.old
        return proposals.text_of(self.repo, blob) if blob else b""

    def entry(self, one: Waiting) -> Entry | None:
        """The rule as proposed; None where its text cannot be read."""
        try:
            return read_entry(one.piece.path, self.text(one))
        except InvalidEntry:
            return None

    def title(self, one: Waiting) -> str:
        """The proposed title, else the branch."""
        entry = self.entry(one)
        return entry.title if entry else one.branch

    def in_force(self) -> list[Said]:
        """Every rule in force, for comparison."""
        catalog = self.parts.catalog
        lights = catalog.select(Filter(kinds=frozenset({Kind.RULE}), status=None))
        self.parts.expect([light.id for light in lights])
        return [said(self.parts.load(light.id)[0], light.handle, IN_FORCE) for light in lights]

    def others(self) -> list[Said]:
        """Every rule in force or proposed, for comparison; a rule in force with proposals stands there once."""
        rules = {one.id: one for one in self.in_force()}
        for one in self.waiting:
            entry = self.entry(one)
            if entry and one.sort != "removal":
                rules.setdefault(one.rule, said(entry, self.handle(one.rule), PENDING))
        return list(rules.values())

    def text_in_force(self, rule: str) -> tuple[str, str]:
        """Path and text of a rule in force; two empty texts if it is not."""
        try:
            place = self.parts.catalog.locate(rule)
        except NotFound:
            return "", ""
        return (place.path, self.parts.load(rule)[1]) if place.approved else ("", "")


@contextmanager
def desk(parts: Parts) -> Iterator[Desk]:
    """Open everything that jobs about proposals need.

    Raises:
        NotFound: there is no approval branch, or nothing on it. UnsupportedRepository: git's history cannot be read.
    """
    parts.current()
    ref = parts.rules.ref()
    if ref is None:
        raise NotFound("approval branch in", str(parts.store.root), hint="commit something on a branch called main")
    with opened(parts.store.worktree) as repo:
        yield Desk(parts, repo, trunks.look(parts.store.worktree, ref))


def refuse_agents(parts: Parts, what: str) -> None:
    """Deciding about rules is for people.

    Raises:
        Refused: an agent is calling.
    """
    if parts.options.agent:
        raise Refused(
            f"an agent cannot {what} a rule: a person does", hint="ask the user: ai-lessons admin review-rules"
        )


def refuse_changed(now: str, shown: str | None) -> None:
    """What is decided about is what was shown, to the commit; None: nothing was shown.

    Raises:
        Conflict: it is another one by now.
    """
    if shown is not None and now != shown:
        raise Conflict("the proposal was changed while you read it; nothing was decided", hint="look at it again")


def name(people: Sequence[Person]) -> str:
    """`Name <address>` of the first, and of the others."""
    return ", ".join(f"{one.name} <{one.email}>" for one in people)


def moment(seconds: int) -> str:
    """ISO 8601 in UTC; empty for 0."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if seconds else ""
