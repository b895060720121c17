"""Knowledge on its way in, as another tool or repository kept it: one commit for entries, proposals for rules."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import starmap
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.errors import InvalidEntry, Problem, UsageError
from ai_lessons.knowledge import frontmatter, layout, markdown
from ai_lessons.knowledge.bundle import ADDED, KNOWN, QUEUED, SKIPPED, Bundle, Item, beside, noting
from ai_lessons.knowledge.entries import HANDLE_LENGTH, Entry, Kind, handle, stated_id
from ai_lessons.knowledge.relations import wrong_kinds
from ai_lessons.library import secret_scan
from ai_lessons.library.gate import Planned, checked, new_files
from ai_lessons.library.import_sources import read_source
from ai_lessons.library.proposal_context import desk
from ai_lessons.library.proposing import make
from ai_lessons.library.reports import Imported, Skipped, Suggested, Written
from ai_lessons.repository.approval.rule_files import BATCH

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ai_lessons.library.opened import Library
    from ai_lessons.library.session import RepositorySession


class Seen(NamedTuple):
    """A part of a source, and what became of it: one of `FATES`; `about`: its handle, its like or the reason."""

    where: str
    became: str
    about: str = ""


@dataclass(frozen=True, slots=True)
class Ported(Imported):
    """What an import of another tool's file did, or would do (`dry_run`).

    `relations`, `params` and `events` count what came along; `queued` are rules, which wait as proposals; `batch` names
    several of them together; `seen` says of each part, or file that holds none, what became of it.
    """

    relations: int = 0
    params: int = 0
    events: int = 0
    queued: tuple[Suggested, ...] = ()
    batch: str = ""
    seen: tuple[Seen, ...] = ()
    dry_run: bool = False


class Arrival(NamedTuple):
    """An item that was found to be this entry."""

    item: Item
    entry: Entry


def import_files(
    library: Library,
    files: Sequence[Path],
    form: str,
    *,
    project: str | None = None,
    split_up: bool = False,
    dry_run: bool = False,
) -> Ported:
    """Take over what files or folders of another tool hold: entries in one commit, rules as proposals.

    `form` is one that `import_sources` reads; `split_up` makes a rule of each section. What is here already stays as it
    is; damaged parts are left out and named. Raises: as `import_sources.read_source`. InvalidEntry: also where nothing
    of it can be read.
    """
    repo = library.primary
    repo.refuse_other_formats()
    bundle = read_source(files, form, project, repo.options, split_up=split_up)
    name = files[0].name if len(files) == 1 else f"{files[0].name} and {len(files) - 1} more"
    sorting = _Sorting(repo)
    for item in repo.options.each("reading", bundle.items):
        sorting.take(item)
    sorting.skip_wrong_links()
    skipped = [*bundle.damaged, *sorting.skipped]
    if skipped and not bundle.items:
        raise InvalidEntry([Problem(name, f"{where}: {reason}") for where, reason in skipped[:20]])
    fresh = sorting.fresh
    arrived = {entry.id for _, entry in (*fresh, *sorting.rules)}
    events, turned, notes = repo.usages.take_over(bundle.events, arrived, dry_run=dry_run)
    done = _write(repo, fresh, name, dry_run=dry_run)
    batch = frontmatter.new_id(repo.options.now())[-HANDLE_LENGTH:]
    origin = [("Imported-from", secret_scan.masked(name)), (BATCH, batch)]
    queued, unproposed = _propose_rules(repo, sorting.rules, origin, dry_run=dry_run)
    skipped += unproposed
    seen = _seen(sorting, bundle, skipped, [*done.written, *queued])
    return Ported(
        written=done.written,
        unchanged=sum(one.became == KNOWN for one in seen),
        skipped=tuple(starmap(Skipped, skipped)),
        relations=sum(len(entry.links) for _, entry in fresh),
        params=turned,
        events=events,
        queued=tuple(queued),
        batch=batch if len(queued) > 1 else "",
        seen=seen,
        commit=done.commit,
        dry_run=dry_run,
        notes=(*notes, *done.notes),
    )


def _seen(
    sorting: _Sorting, bundle: Bundle, skipped: Sequence[tuple[str, str]], reported: Sequence[Written | Suggested]
) -> tuple[Seen, ...]:
    """Every part of the source once, in its order."""
    left_out, ids = {where for where, _ in skipped}, {report.id for report in reported}
    rows = [Seen(*part) for part in bundle.left] + [Seen(where, SKIPPED, about) for where, about in skipped]
    for item, entry in (*sorting.fresh, *sorting.rules, *sorting.known):
        fate = (QUEUED if entry.kind is Kind.RULE else ADDED) if entry.id in ids else KNOWN
        if fate != KNOWN or item.where not in left_out:
            rows.append(Seen(item.where, fate, handle(entry.kind, entry.id)))
    return tuple(sorted(rows))


# --- entries ---


class _Sorting:
    """Says of each item what becomes of it. Rules never reach the working tree from here."""

    def __init__(self, repo: RepositorySession) -> None:
        self._repo = repo
        self._here = {place.id for place in repo.current().locations()}
        self._taken: set[str] = set()
        self._seen: set[str] = set()
        self.fresh: list[Arrival] = []
        self.rules: list[Arrival] = []
        self.skipped: list[tuple[str, str]] = []
        self.known: list[Arrival] = []

    def skip_wrong_links(self) -> None:
        """Skip every entry with a link between kinds that its relation does not join, once all kinds are known."""
        arrived = [*self.fresh, *self.rules]
        targets = {link.target for arrival in arrived for link in arrival.entry.links}
        kinds = {light.id: light.kind for light in self._repo.catalog.many(targets).values()}
        kinds |= {arrival.entry.id: arrival.entry.kind for arrival in arrived}
        for arrival in arrived:
            links = [link for link in arrival.entry.links if link.target in kinds]
            wrong = [wrong_kinds(link.relation, arrival.entry.kind, kinds[link.target]) for link in links]
            if any(wrong):
                (self.rules if arrival.entry.kind is Kind.RULE else self.fresh).remove(arrival)
                self.skipped.append((arrival.item.where, next(filter(None, wrong))))

    def take(self, item: Item) -> None:
        with noting(item.where, self.skipped):
            layout.check_path(item.path)
            entry = checked(item.path, item.data, item.side)
            if entry.id in self._seen:
                raise UsageError("it has the id of another one in the same file")
            self._seen.add(entry.id)
            if entry.kind is Kind.RULE:
                self.rules.append(_with_id(item, entry))
            elif entry.id in self._here:
                self.known.append(Arrival(item, entry))
            else:
                self.fresh.append(self._placed(item, entry))

    def _placed(self, item: Item, entry: Entry) -> Arrival:
        if self._free(item):
            return Arrival(item, entry)
        moved = item._replace(path=beside(item.path, entry.id))
        if entry.derived or not self._free(moved):
            raise UsageError("another file is in its place")
        return Arrival(moved, checked(moved.path, moved.data, moved.side))

    def _free(self, item: Item) -> bool:
        paths = {item.path, layout.side_of(item.path)} if item.side is not None else {item.path}
        folded = {path.casefold() for path in paths}
        if folded & self._taken or any(map(self._repo.store.exists, paths)):
            return False
        self._taken |= folded
        return True


def _with_id(item: Item, entry: Entry) -> Arrival:
    """A rule that says its id: a proposal is about an id, not about a place."""
    if not entry.derived and stated_id(entry.fields.get("id")):
        return Arrival(item, entry)
    data = markdown.edit(item.data.decode(), frontmatter.identity(entry)).encode()
    return Arrival(item._replace(data=data), checked(item.path, data))


def _write(repo: RepositorySession, fresh: Sequence[Arrival], name: str, *, dry_run: bool) -> Imported:
    if dry_run:
        would_be = (Written(e.id, handle(e.kind, e.id), e.kind, e.title, item.path, None) for item, e in fresh)
        return Imported(tuple(would_be), 0, (), None)
    planned = [
        Planned(entry, new_files(item.path, item.data, item.side, runs=item.executable or None))
        for item, entry in fresh
    ]
    return repo.bring(planned, f"Import {len(fresh)} entries from {name}")


# --- rules ---


def _propose_rules(
    repo: RepositorySession, rules: Sequence[Arrival], origin: Sequence[tuple[str, str]], *, dry_run: bool
) -> tuple[list[Suggested], list[tuple[str, str]]]:
    """Proposals for rules that are neither approved, proposed nor turned down; what failed, and why."""
    if not rules:
        return [], []
    # by what tells their branches apart, as they are listed where their commits are of the same second
    rules = sorted(rules, key=lambda arrival: arrival.entry.id[-HANDLE_LENGTH:])
    if repo.rules.ref() is None:
        if dry_run:
            would_be = (Suggested(e.id, handle(Kind.RULE, e.id), e.title, e.path, "", "") for _, e in rules)
            return list(would_be), []
        reason = "there is no approval branch yet: commit something, then import again"
        return [], [(arrival.item.where, reason) for arrival in rules]
    made: list[Suggested] = []
    skipped: list[tuple[str, str]] = []
    with desk(repo) as at:
        rejected = {rejection.entry for rejection in at.rejections}
        unknown = [
            arrival for arrival in rules if arrival.entry.id not in rejected and not at.trunk.places(arrival.entry.id)
        ]
        new = [arrival for arrival in unknown if not at.about(arrival.entry.id)]
        for arrival in repo.options.each("proposing", new):
            subject, files = f"Propose rule: {arrival.entry.title}", {arrival.item.path: arrival.item.data}
            with noting(arrival.item.where, skipped):
                made.append(make(at, arrival.entry, files, subject, trailers=origin, dry_run=dry_run))
    return made, skipped
