"""Taking over what another tool or repository kept: one commit for entries, proposals for rules, events as events."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.errors import AiLessonsError, InvalidEntry, Problem, UsageError
from ai_lessons.knowledge import frontmatter, layout, markdown
from ai_lessons.knowledge.bundle import beside
from ai_lessons.knowledge.entries import HANDLE_LENGTH, Kind, handle, stated_id
from ai_lessons.knowledge.relations import wrong_kinds
from ai_lessons.learning import events
from ai_lessons.learning.fold import DEFINITIONS
from ai_lessons.library import secret_scan
from ai_lessons.library.gate import checked
from ai_lessons.library.import_sources import read_source
from ai_lessons.library.proposal_context import desk
from ai_lessons.library.proposing import make
from ai_lessons.library.reports import Imported, Suggested, Written
from ai_lessons.repository.approval.rule_files import BATCH
from ai_lessons.repository.events import PART_BYTES, EventLog
from ai_lessons.repository.store import Applied, Change

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet
    from pathlib import Path

    from ai_lessons.knowledge.bundle import Bundle, Item
    from ai_lessons.knowledge.entries import Entry
    from ai_lessons.learning.events import Event
    from ai_lessons.library.opened import Library
    from ai_lessons.library.session import RepositorySession

_EVENT_ID = re.compile(rb'"id": ?"([0-7][0-9A-HJKMNP-TV-Z]{25})"')


@dataclass(frozen=True, slots=True)
class Ported(Imported):
    """What an import of another tool's file did, or would do (`dry_run`).

    `relations`, `params` and `events` count what came along; `queued` are rules, which wait as proposals; `batch` names
    several of them together.
    """

    relations: int = 0
    params: int = 0
    events: int = 0
    queued: tuple[Suggested, ...] = ()
    batch: str = ""
    dry_run: bool = False


class Arrival(NamedTuple):
    """An item that was found to be this entry."""

    item: Item
    entry: Entry


def import_file(
    library: Library, file: Path, form: str, *, project: str | None = None, dry_run: bool = False
) -> Ported:
    """Take over what a file or folder of another tool holds: entries in one commit, rules as proposals.

    `form` is one of `import_sources.FORMS`. What is here already stays as it is; damaged parts are left out and named.
    Raises: as `import_sources.read_source`. InvalidEntry: also where nothing of it can be read.
    """
    parts = library.primary
    parts.refuse_other_formats()
    bundle = read_source(file, form, project, parts.options)
    sorting = _Sorting(parts)
    for item in parts.options.each("reading", bundle.items):
        sorting.take(item)
    sorting.skip_wrong_links()
    skipped = [*bundle.damaged, *sorting.skipped]
    if skipped and not bundle.items:
        raise InvalidEntry([Problem(file.name, f"{where}: {reason}") for where, reason in skipped[:20]])
    fresh = sorting.fresh
    arrived = {entry.id for _, entry in (*fresh, *sorting.rules)}
    came, turned, notes = _bring_events(parts, bundle, arrived, dry_run=dry_run)
    applied = Applied(None) if dry_run or not fresh else _write(parts, fresh, file.name)
    if dry_run:
        written = tuple(Written(e.id, handle(e.kind, e.id), e.kind, e.title, item.path, None) for item, e in fresh)
    else:
        parsed = {one.item.path: (one.item.data, one.entry) for one in fresh if one.item.side is None}
        written = parts.written([one.entry.id for one in fresh], applied, parsed=parsed) if fresh else ()
    batch = frontmatter.new_id(parts.options.now())[-HANDLE_LENGTH:]
    origin = [("Imported-from", secret_scan.masked(file.name)), (BATCH, batch)]
    queued, known, unproposed = _propose_rules(parts, sorting.rules, origin, dry_run=dry_run)
    return Ported(
        written=written,
        unchanged=sorting.unchanged + known,
        skipped=(*skipped, *unproposed),
        relations=sum(len(entry.links) for _, entry in fresh),
        params=turned,
        events=came,
        queued=tuple(queued),
        batch=batch if len(queued) > 1 else "",
        commit=applied.commit,
        dry_run=dry_run,
        notes=(*notes, *applied.told),
    )


# --- entries ---


class _Sorting:
    """Says of each item what becomes of it. Rules never reach the working tree from here."""

    def __init__(self, parts: RepositorySession) -> None:
        self._parts = parts
        self._known = {place.id for place in parts.current().locations()}
        self._taken: set[str] = set()
        self._seen: set[str] = set()
        self.fresh: list[Arrival] = []
        self.rules: list[Arrival] = []
        self.skipped: list[tuple[str, str]] = []
        self.unchanged = 0

    def skip_wrong_links(self) -> None:
        """Skip every entry with a link between kinds that its relation does not join, once all kinds are known."""
        arrived = [*self.fresh, *self.rules]
        targets = {link.target for one in arrived for link in one.entry.links}
        kinds = {light.id: light.kind for light in self._parts.catalog.many(targets).values()}
        kinds |= {one.entry.id: one.entry.kind for one in arrived}
        for one in arrived:
            links = [link for link in one.entry.links if link.target in kinds]
            wrong = [wrong_kinds(link.relation, one.entry.kind, kinds[link.target]) for link in links]
            if any(wrong):
                (self.rules if one.entry.kind is Kind.RULE else self.fresh).remove(one)
                self.skipped.append((one.item.where, next(filter(None, wrong))))

    def take(self, item: Item) -> None:
        try:
            layout.check_path(item.path)
            entry = checked(item.path, item.data, item.side)
            if entry.id in self._seen:
                raise UsageError("it has the id of another one in the same file")
            self._seen.add(entry.id)
            if entry.kind is Kind.RULE:
                self.rules.append(_stated(item, entry))
            elif entry.id in self._known:
                self.unchanged += 1
            else:
                self.fresh.append(self._placed(item, entry))
        except AiLessonsError as error:
            self.skipped.append((item.where, error.message))

    def _placed(self, item: Item, entry: Entry) -> Arrival:
        if self._free(item):
            return Arrival(item, entry)
        moved = item._replace(path=beside(item.path, entry.id))
        if entry.derived or not self._free(moved):
            raise UsageError("another file is in its place")
        return Arrival(moved, checked(moved.path, moved.data, moved.side))

    def _free(self, item: Item) -> bool:
        wanted = {item.path, layout.side_of(item.path)} if item.side is not None else {item.path}
        folded = {path.casefold() for path in wanted}
        if folded & self._taken or any(map(self._parts.store.exists, wanted)):
            return False
        self._taken |= folded
        return True


def _stated(item: Item, entry: Entry) -> Arrival:
    """A rule that says its id: a proposal is about an id, not about a place."""
    if not entry.derived and stated_id(entry.fields.get("id")):
        return Arrival(item, entry)
    data = markdown.edit(item.data.decode(), frontmatter.identity(entry)).encode()
    return Arrival(item._replace(data=data), checked(item.path, data))


def _write(parts: RepositorySession, fresh: Sequence[Arrival], name: str) -> Applied:
    first, one = fresh[0].entry, len(fresh) == 1
    subject = f"Add {first.kind}: {first.title}" if one else f"Import {len(fresh)} entries from {name}"
    parts.options.progress("writing", 0, len(fresh))
    changes: list[Change] = []
    for item, _ in fresh:
        changes.append(Change(item.path, item.data, executable=item.executable or None, expect=None))
        changes += [Change(layout.side_of(item.path), item.side, expect=None)] if item.side is not None else []
    applied = parts.write(subject, changes, [("Entry", first.id)] if one else [])
    parts.options.progress("writing", len(fresh), len(fresh))
    return applied


# --- rules ---


def _propose_rules(
    parts: RepositorySession, rules: Sequence[Arrival], origin: Sequence[tuple[str, str]], *, dry_run: bool
) -> tuple[list[Suggested], int, list[tuple[str, str]]]:
    """Proposals for rules that are neither approved, proposed nor turned down; how many were; what failed, and why."""
    if not rules:
        return [], 0, []
    # by what tells their branches apart, as they are listed where their commits are of the same second
    rules = sorted(rules, key=lambda one: one.entry.id[-HANDLE_LENGTH:])
    if parts.rules.ref() is None:
        if dry_run:
            would_be = (Suggested(e.id, handle(Kind.RULE, e.id), e.title, e.path, "", "") for _, e in rules)
            return list(would_be), 0, []
        reason = "there is no approval branch yet: commit something, then import again"
        return [], 0, [(one.item.where, reason) for one in rules]
    made: list[Suggested] = []
    skipped = []
    with desk(parts) as at:
        rejected = {one.entry for one in at.rejections}
        unknown = [one for one in rules if one.entry.id not in rejected and not at.trunk.places(one.entry.id)]
        new = [one for one in unknown if not at.about(one.entry.id)]
        for one in parts.options.each("proposing", new):
            subject, files = f"Propose rule: {one.entry.title}", {one.item.path: one.item.data}
            try:
                made.append(make(at, one.entry, files, subject, trailers=origin, dry_run=dry_run))
            except AiLessonsError as error:
                skipped.append((one.item.where, error.message))
    return made, len(rules) - len(new), skipped


# --- events ---


def _bring_events(
    parts: RepositorySession, bundle: Bundle, arrived: AbstractSet[str], *, dry_run: bool
) -> tuple[int, int, tuple[str, ...]]:
    """Write down the events of a bundle that are not here yet: how many, about how many parameters, and notes."""
    known = arrived | {place.id for place in parts.catalog.locations()}
    wanted = []
    for said in bundle.events:
        one = events.read_line(json.dumps(said))
        if one and one.event in {*events.USES, *events.TURNS} and (one.entry in known or one.entry in DEFINITIONS):
            wanted.append(one._replace(note="") if secret_scan.secrets_in(one.note) else one)
    log = EventLog(parts.store.root, parts.store.state_dir)
    there = {name.decode() for file in log.files() for name in _EVENT_ID.findall(file.read())} if wanted else set()
    new = {one.id: one for one in wanted if one.id not in there}
    if new and not parts.usages.recording and not dry_run:
        return 0, 0, ("this repository records no events, so none were taken over",)
    if not dry_run:
        _append(log, sorted(new.values()))
    return len(new), len({one.entry for one in new.values() if one.event in events.TURNS}), ()


def _append(log: EventLog, new: Sequence[Event]) -> None:
    """By months, in pieces of which none is larger than a part of a log."""
    for month in sorted({one.at[:7] for one in new}):
        piece: list[bytes] = []
        size = 0
        for line in (events.line_of(one) for one in new if one.at[:7] == month):
            if size + len(line) > PART_BYTES:
                log.append(piece, month)
                piece, size = [], 0
            piece.append(line)
            size += len(line)
        log.append(piece, month)
