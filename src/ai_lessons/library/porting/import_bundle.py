"""Taking over what another tool or repository kept: one commit for entries, proposals for rules, events as events.

What a format says is read elsewhere (`portable_…`); here it is checked, compared with what is there, and written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ai_lessons.errors import AiLessonsError, InvalidEntry, Problem, UsageError
from ai_lessons.knowledge import drafts, layout, markdown
from ai_lessons.knowledge.entries import Kind, handle
from ai_lessons.knowledge.portable.bundle import beside
from ai_lessons.knowledge.reading import stated_id
from ai_lessons.knowledge.relations import wrong_kinds
from ai_lessons.library.checking import checked
from ai_lessons.library.importing import told_of
from ai_lessons.library.porting.porting_events import bring_events
from ai_lessons.library.porting.porting_rules import Arrival, propose_rules
from ai_lessons.library.porting.porting_sources import read_source
from ai_lessons.library.reports import Written
from ai_lessons.repository.store import Applied

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from ai_lessons.knowledge.entries import Entry
    from ai_lessons.knowledge.portable.bundle import Bundle, Item
    from ai_lessons.library.opened import Library
    from ai_lessons.library.rules.rule_answers import Suggested
    from ai_lessons.library.session import Parts


@dataclass(frozen=True, slots=True)
class Ported:
    """What an import did, or would do (`dry_run`).

    `written` are the new entries, `unchanged` counts those that were here already, `skipped` names damaged parts with
    the reason. `relations` counts the links of the new entries, `params` the parameters and `events` the events that
    came along. `queued` are rules, which wait as proposals; `to_embed` counts entries that the next search embeds.
    """

    written: tuple[Written, ...]
    unchanged: int
    skipped: tuple[tuple[str, str], ...]
    relations: int
    params: int
    events: int
    queued: tuple[Suggested, ...]
    commit: str | None
    dry_run: bool = False
    notes: tuple[str, ...] = ()

    @property
    def to_embed(self) -> int:
        """Every new entry: an export carries no vectors."""
        return len(self.written)


def import_file(
    library: Library, file: Path, form: str, *, project: str | None = None, dry_run: bool = False
) -> Ported:
    """Take over what a file or folder of another tool holds: entries in one commit, rules as proposals.

    `groove`, `ai-lessons-sqlite`, `markdown` or `agents-md`. Twice adds nothing; what is here already stays as it
    is; damaged parts are left out and named. `dry_run` only says what would be done.

    Raises:
        NotFound: nothing there. InvalidEntry: not of that form, or nothing of it can be read. UsageError: no such
        form, or a project for one that says it itself. UnsupportedRepository: of a newer version.
    """
    parts = library.primary
    parts.refuse_other_formats()
    bundle = read_source(file, form, project, parts.options.now(), parts.options.progress)
    return bring_in(parts, bundle, file.name, dry_run=dry_run)


def bring_in(parts: Parts, bundle: Bundle, name: str, *, dry_run: bool) -> Ported:
    """Write what of a bundle is not here yet.

    Raises:
        InvalidEntry: there are damaged parts and nothing else.
    """
    sorting = _Sorting(parts)
    for number, item in enumerate(bundle.items):
        parts.options.progress("reading", number, len(bundle.items))
        sorting.take(item)
    parts.options.progress("reading", len(bundle.items), len(bundle.items))
    sorting.skip_wrong_links()
    skipped = [*bundle.damaged, *sorting.skipped]
    if skipped and not bundle.items:
        raise InvalidEntry([Problem(name, f"{where}: {reason}") for where, reason in skipped[:20]])
    fresh = sorting.fresh
    arrived = {entry.id for _, entry in (*fresh, *sorting.rules)}
    came = bring_events(parts, bundle, arrived, dry_run=dry_run)
    applied = Applied(None) if dry_run or not fresh else _write(parts, fresh, name)
    written = _planned(fresh) if dry_run else _written(parts, fresh, applied)
    rules = propose_rules(parts, sorting.rules, name, dry_run=dry_run)
    return Ported(
        written=written,
        unchanged=sorting.unchanged + rules.known,
        skipped=(*skipped, *rules.skipped),
        relations=sum(len(entry.links) for _, entry in fresh),
        params=came.params,
        events=came.events,
        queued=rules.made,
        commit=applied.commit,
        dry_run=dry_run,
        notes=(*came.notes, *told_of(applied)),
    )


class _Sorting:
    """Says of each item what becomes of it. Rules never reach the working tree from here."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._known = {place.id for place in parts.current().locations()}
        self._taken: set[str] = set()
        self._seen: set[str] = set()
        self.fresh: list[Arrival] = []
        self.rules: list[Arrival] = []
        self.skipped: list[tuple[str, str]] = []
        self.unchanged = 0

    def take(self, item: Item) -> None:
        try:
            self._take(item)
        except AiLessonsError as error:
            self.skipped.append((item.where, error.message))

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

    def _take(self, item: Item) -> None:
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

    def _placed(self, item: Item, entry: Entry) -> Arrival:
        if self._free(item):
            return Arrival(item, entry)
        if entry.derived:
            raise UsageError("another file is in its place, and it has no id of its own")
        moved = item._replace(path=beside(item.path, entry.id))
        if not self._free(moved):
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
    data = markdown.edit(item.data.decode(), drafts.identity(entry)).encode()
    return Arrival(item._replace(data=data), checked(item.path, data))


def _write(parts: Parts, fresh: Sequence[Arrival], name: str) -> Applied:
    first = fresh[0].entry
    what = f"{first.kind}: {first.title}" if len(fresh) == 1 else f"{len(fresh)} entries from {name}"
    subject = f"Add {what}" if len(fresh) == 1 else f"Import {what}"
    parts.options.progress("writing", 0, len(fresh))
    changes = [change for one in fresh for change in one.changes]
    applied = parts.write(subject, changes, [("Entry", first.id)] if len(fresh) == 1 else [])
    parts.options.progress("writing", len(fresh), len(fresh))
    return applied


def _written(parts: Parts, fresh: Sequence[Arrival], applied: Applied) -> tuple[Written, ...]:
    parsed: Mapping[str, tuple[bytes, Entry]] = {
        one.item.path: (one.item.data, one.entry) for one in fresh if one.item.side is None
    }
    return parts.written([one.entry.id for one in fresh], applied, parsed=parsed) if fresh else ()


def _planned(fresh: Sequence[Arrival]) -> tuple[Written, ...]:
    return tuple(Written(e.id, handle(e.kind, e.id), e.kind, e.title, item.path, None) for item, e in fresh)
