"""Knowledge on its way in and out: what another tool or repository kept, one JSON document, rules for agents to read.

What comes in is one commit for entries, proposals for rules, events as events.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.errors import AiLessonsError, InvalidEntry, Problem, StorageFailed, UsageError
from ai_lessons.index.catalog_reading import Filter
from ai_lessons.knowledge import agent_rules, bundle, frontmatter, layout, markdown
from ai_lessons.knowledge.bundle import Item, beside
from ai_lessons.knowledge.entries import GLOBAL_PROJECT, HANDLE_LENGTH, Kind, handle, stated_id
from ai_lessons.knowledge.relations import wrong_kinds
from ai_lessons.library import secret_scan
from ai_lessons.library.gate import checked, project_name
from ai_lessons.library.import_sources import read_source
from ai_lessons.library.proposal_context import desk
from ai_lessons.library.proposing import make
from ai_lessons.library.reports import Imported, Suggested, Written
from ai_lessons.library.usage import all_events, take_over
from ai_lessons.repository import agent_files
from ai_lessons.repository.approval.rule_files import BATCH
from ai_lessons.repository.files import replace_file, translated
from ai_lessons.repository.store import Applied, Change

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ai_lessons.knowledge.entries import Entry
    from ai_lessons.library.opened import Library
    from ai_lessons.library.session import RepositorySession


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
    came, turned, notes = take_over(parts, bundle.events, arrived, dry_run=dry_run)
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


# --- out ---

GROOVE, AGENTS, CLAUDE = "groove", "agents-md", "claude-rules"
FORMS = (GROOVE, AGENTS, CLAUDE)


class Exported(NamedTuple):
    """What was given away: `files` (path, what was done), else the `document`, and `skipped` (path, reason)."""

    form: str
    files: tuple[tuple[str, str], ...]
    lessons: int = 0
    rules: int = 0
    docs: int = 0
    scripts: int = 0
    events: int = 0
    skipped: tuple[tuple[str, str], ...] = ()
    document: dict[str, Any] | None = None
    notes: tuple[str, ...] = ()


def export_file(library: Library, file: Path | None, form: str = "groove", *, project: str | None = None) -> Exported:
    """Write `groove`, one JSON document (None: hand it back), or the rules in force: `agents-md`, `claude-rules`.

    Raises UsageError: no such form. StorageFailed: the place cannot be written, or is no plain file or folder.
    """
    parts = library.primary
    if project:
        project_name(project)
    if form == GROOVE:
        return _export_all(parts, file, project)
    if form not in FORMS:
        raise UsageError(f"no form {form!r}", hint="one of: " + ", ".join(FORMS))
    if file is None:
        raise UsageError(f"{form} is written into files of yours", hint="name the file or folder in place of -")
    lights = parts.current().select(Filter(kinds=frozenset({Kind.RULE}), status=None))
    wanted = [one for one in lights if project is None or one.project in {project, GLOBAL_PROJECT}]
    wanted.sort(key=lambda one: (one.project != GLOBAL_PROJECT, one.project, one.title.casefold(), one.id))
    parts.expect([one.id for one in wanted])
    rules = [(one.handle, parts.load(one.id)[0]) for one in wanted]
    with translated(str(file), writing=True):
        if form == CLAUDE:
            done = _claude_rules(file, rules)
        else:
            job, text = ("install", agent_rules.agents_md(rules)) if rules else ("uninstall", "")
            done = ((str(file), agent_files.carry_out(file, job, text, agent_files.marks(agent_rules.NAME))),)
    return Exported(form, done, rules=len(rules), notes=tuple(parts.notes()))


def _export_all(parts: RepositorySession, file: Path | None, project: str | None) -> Exported:
    found, skipped = _entries(parts, project)
    document = _document(parts, found)
    counts = {f"{kind.value}s": sum(entry.kind is kind for entry, _ in found) for kind in Kind}
    done: tuple[tuple[str, str], ...] = ()
    if file is not None:
        if file.is_symlink() or (file.exists() and not file.is_file()):
            raise StorageFailed(f"{file} is no plain file", hint="name another file")
        with translated(str(file), writing=True):
            there = file.exists()
            replace_file(file, bundle.dump(document))
        done = ((str(file), "replaced" if there else "written"),)
    return Exported(
        GROOVE, done, **counts, events=len(document["events"]), skipped=tuple(skipped),
        document=document if file is None else None, notes=tuple(parts.notes()),
    )  # fmt: skip


def _entries(parts: RepositorySession, project: str | None) -> tuple[list[tuple[Entry, Item]], list[tuple[str, str]]]:
    """Every entry with its file by their ids, and those that cannot be read with the reason."""
    lights = sorted(parts.current().select(Filter(project=project, status=None)), key=lambda light: light.id)
    parts.expect([light.id for light in lights])
    found, skipped = [], []
    for light in parts.options.each("reading", lights):
        try:
            entry, text = parts.load(light.id)
            place = parts.catalog.locate(light.id)
            if entry.kind is Kind.RULE:  # as it is in force
                file = Item("", entry.path, text.encode())
            elif place.hash is None and place.side_path:  # the script itself lies elsewhere
                file = Item("", place.side_path, parts.store.read(place.side_path))
            else:
                side, data = text.encode() if place.side_path else None, parts.store.read(entry.path)
                file = Item("", entry.path, data, side, parts.executable(entry.path))
            found.append((entry, file))
        except AiLessonsError as error:
            skipped.append((light.path, error.message))
    return found, skipped


def _document(parts: RepositorySession, found: Sequence[tuple[Entry, Item]]) -> dict[str, Any]:
    lessons = [(entry, file) for entry, file in found if entry.kind is Kind.LESSON]
    usages = parts.usages.several(list(parts.catalog.many([entry.id for entry, _ in lessons]).values()))
    others = ((entry, file) for entry, file in found if entry.kind is not Kind.LESSON)
    return {
        "version": bundle.VERSION,
        "exported_at": frontmatter.stamp(parts.options.now()),
        "learnings": [bundle.learning(entry, file, usages[entry.id]) for entry, file in lessons],
        "params": [],  # the events say how they were moved
        "relations": bundle.relations([entry for entry, _ in found], [entry.id for entry, _ in lessons]),
        "files": [{"kind": entry.kind.value, **bundle.kept(file)} for entry, file in others],
        "events": all_events(parts, {entry.id for entry, _ in found}),
    }


def _claude_rules(folder: Path, rules: Sequence[tuple[str, Entry]]) -> tuple[tuple[str, str], ...]:
    """One file a rule, because each says for which files it is loaded; those of rules no longer in force go."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise StorageFailed(f"{folder} is no folder", hint="name a folder such as .claude/rules")
    wanted = {agent_rules.claude_name(rule): agent_rules.claude_rule(handle, rule) for handle, rule in rules}
    there = {one.name for one in folder.glob(f"{agent_rules.PREFIX}*.md")} if folder.exists() else set()
    done = [_claude_file(folder / name, wanted.get(name)) for name in [*wanted, *sorted(there - wanted.keys())]]
    return tuple(one for one in done if one)


def _claude_file(file: Path, text: str | None) -> tuple[str, str] | None:
    """One file as it shall be (None: gone), and what was done. A file that is not ours as a whole is left alone."""
    if file.is_symlink():
        return str(file), "left alone, it is a link"
    old = file.read_bytes() if file.exists() else None
    if old is not None and not agent_rules.is_ours(old):
        return str(file), "left alone, it is not ours"
    if text is None:
        file.unlink()
        return str(file), "removed"
    if old == text.encode():
        return str(file), "already there"
    replace_file(file, text.encode())
    return str(file), "written" if old is None else "brought up to date"
