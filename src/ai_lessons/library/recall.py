"""Jobs that read: search, show, list, the graph, history, and running a script."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ai_lessons.errors import NotFound, UsageError
from ai_lessons.index.catalog_reading import Filter
from ai_lessons.knowledge.entries import UNVERSIONED, Kind, Status
from ai_lessons.knowledge.texts import may_have_headings
from ai_lessons.library.answers import Answer, Count, Listing, Query, Related, Revision, Section, Shown

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from pathlib import Path

    from ai_lessons.index.catalog_reading import Tally
    from ai_lessons.knowledge.entries import Light
    from ai_lessons.knowledge.passages import TextSection as Cut
    from ai_lessons.library.answers import Approval, Context, ContextQuery, Why
    from ai_lessons.library.graphs import Graph
    from ai_lessons.library.parts import Parts
    from ai_lessons.library.running import Ran
    from ai_lessons.library.tiers.catalogs import Reader
    from ai_lessons.library.tiers.opened import Reading, Tiers


class Recall:
    """Every job brings the catalog up to date first: what is on disk now is what it answers from."""

    def __init__(self, tiers: Tiers) -> None:
        self._tiers = tiers

    @property
    def _parts(self) -> Reading:
        """The repository, or all that are read from here as one."""
        return self._tiers.reading

    def search(self, query: Query) -> Answer:
        """Entries that fit the query, best first, in their four groups.

        With no embedding model, or while vectors are still missing, full text answers and `notes` says so.
        """
        from ai_lessons.index.ranking import gap_prompt
        from ai_lessons.library.searching import find

        hits, notes = find(self._parts, query)
        groups = {kind: tuple(hit for hit in hits if hit.entry.kind is kind) for kind in Kind}
        return Answer(
            query=query.text,
            rules=groups[Kind.RULE],
            scripts=groups[Kind.SCRIPT],
            lessons=groups[Kind.LESSON],
            docs=groups[Kind.DOC],
            prompt=gap_prompt(*(len(groups[k]) for k in (Kind.RULE, Kind.SCRIPT, Kind.LESSON, Kind.DOC))),
            notes=tuple(notes),
            approvals=self._approvals(hit.entry for hit in groups[Kind.RULE]) if query.approvals else {},
        )

    def show(self, ref: str, *, section: int | None = None, heading: str | None = None) -> Shown:
        """One entry whole, or one section of it by number (from 1) or heading (first that holds the words).

        Raises:
            NotFound: no such entry or section; AmbiguousName: several entries answer to `ref`.
        """
        from ai_lessons.library.showing import contents_of

        parts = self._tiers.holding(ref)
        light = parts.resolve(ref)
        entry = contents_of(parts, light)
        text = entry.body if light.kind is not Kind.SCRIPT else entry.body or entry.code
        found = _sections(text)
        chosen = None
        if section is not None or heading is not None:
            chosen = _choose(found, section, heading, light.title)
            text = _cut_out(text, chosen)
        return Shown(
            entry=light,
            body=text,
            raw=entry.raw,
            frontmatter=entry.fields,
            code=entry.code,
            related=_neighbours(self._parts.catalog, light.id, 1),
            sections=tuple(Section(s.number, s.heading, s.level, s.end - s.start + 1) for s in found),
            section=chosen.number if chosen else None,
            notes=parts.rules.notes if light.kind is Kind.RULE else (),
            approval=_approval(parts, light) if light.kind is Kind.RULE else None,
            usage=parts.usages.of(light) if light.kind is Kind.LESSON else None,
        )

    def _approvals(self, rules: Iterable[Light]) -> dict[str, Approval]:
        from ai_lessons.library.provenance import approvals_of

        return approvals_of(self._parts, rules)

    def list(
        self,
        *,
        kinds: Collection[Kind] = (),
        project: str | None = None,
        tag: str | None = None,
        versions: Sequence[str] = (),
        status: str | None = "active",
        sort: str = "newest",
        limit: int | None = None,
    ) -> Listing:
        """Entries that pass the filters. `sort` newest, title, path or created.

        `status` None means every status, and what is superseded, which active entries leave out.
        """
        from ai_lessons.library.relating import superseded

        catalog = self._parts.current()
        wanted = Filter(
            kinds=frozenset(kinds),
            project=project,
            tags=(tag,) if tag else (),
            versions=tuple(versions),
            status=_status(status),
            sort=sort,
            limit=limit,
            without=superseded(self._parts) if status == Status.ACTIVE else frozenset(),
        )
        entries = tuple(catalog.select(wanted))
        total = len(entries) if limit is None else catalog.count(wanted)
        return Listing(entries, total, tuple(self._parts.notes()))

    def tags(self) -> tuple[Count, ...]:
        """Every tag with its entries counted, most used first."""
        return _counts(self._parts.current().tags())

    def versions(self) -> tuple[Count, ...]:
        """Every version, `unversioned` included, with its docs and scripts counted."""
        catalog = self._parts.current()
        resources = catalog.select(Filter(kinds=frozenset(kind for kind in Kind if kind.is_resource)))
        plain = Counter(light.kind.value for light in resources if not light.versions)
        rest = (Count(UNVERSIONED, plain.total(), dict(plain)),) if plain else ()
        return tuple(sorted((*_counts(catalog.versions()), *rest), key=lambda count: (-count.total, count.name)))

    def projects(self) -> tuple[Count, ...]:
        """Every project with its entries counted."""
        return _counts(self._parts.current().projects())

    def related(self, ref: str, depth: int = 1) -> tuple[Related, ...]:
        """Entries reached over links within `depth` steps, either way, nearest first; each once."""
        catalog = self._parts.current()
        return _neighbours(catalog, self._parts.resolve(ref).id, depth)

    def graph(self, refs: Sequence[str] = (), *, depth: int = 1, most: int = 200) -> Graph:
        """What is linked within `depth` steps of these entries, or everything that is; at most so many entries.

        Raises:
            NotFound: no such entry; AmbiguousName: several entries answer to one of `refs`.
        """
        from ai_lessons.library.graphs import graph

        return graph(self._parts, refs, depth, most)

    def context(self, query: ContextQuery) -> Context:
        """Rules in force and lessons for what one is about to do. Without words to search for it loads no index."""
        from ai_lessons.library.contexts import context

        return context(self._parts, query)

    def why(self, ref: str) -> Why:
        """Who said it, from what, who approved it.

        Raises:
            NotFound: no such entry; AmbiguousName: several entries answer to `ref`.
        """
        from ai_lessons.library.provenance import why

        parts = self._tiers.holding(ref)
        return why(parts, parts.resolve(ref), self._parts.catalog)

    def log(self, ref: str) -> tuple[Revision, ...]:
        """The commits that touched the entry's file, newest first, followed through renames."""
        parts = self._tiers.holding(ref)
        found = parts.history.log(_file(parts, ref))
        return tuple(Revision(r.commit, r.author, r.when, r.subject, r.path, dict(r.trailers)) for r in found)

    def diff(self, ref: str, rev: str | None = None) -> str:
        """Unified diff of the entry: the file on disk against its last commit, or against `rev`."""
        parts = self._tiers.holding(ref)
        path, store = _file(parts, ref), parts.store
        if rev is None and store.head().commit is None:
            from ai_lessons.repository.history import unified

            return unified(path, None, store.read(path))
        return parts.history.diff(path, rev or "HEAD")

    def run(self, ref: str, args: Sequence[str], *, cwd: Path | None = None, timeout: float | None = None) -> int:
        """Run a script with the caller's terminal and return its exit code (124: timed out after `timeout` seconds).

        Raises:
            Refused: its content was never added or run on this machine and nobody could be asked.
            NotFound: not a script, or its file or interpreter is gone.
        """
        from ai_lessons.library.running import run_script

        parts = self._tiers.holding(ref)
        return run_script(parts, parts.resolve(ref), args, cwd=cwd, timeout=timeout)

    def run_captured(
        self,
        ref: str,
        args: Sequence[str],
        *,
        cwd: Path | None = None,
        timeout: float | None = None,
        interrupted: Callable[[], None] = lambda: None,
    ) -> Ran:
        """Run a script without a terminal: nothing to read, its output is in the answer.

        `interrupted` is called again and again while it runs; what it raises ends the script and goes on.

        Raises:
            As `run` does.
        """
        from ai_lessons.library.running import run_captured

        parts = self._tiers.holding(ref)
        return run_captured(parts, parts.resolve(ref), args, cwd=cwd, timeout=timeout, interrupted=interrupted)

    def complete(self, prefix: str, what: str) -> Sequence[tuple[str, str]]:
        """Completions of `prefix` with a word of help each; `what` is id, project, tag or version."""
        return self._parts.current().complete(what, prefix)


def _approval(parts: Parts, rule: Light) -> Approval | None:
    from ai_lessons.library.provenance import approval_of

    return approval_of(parts, rule)


def _file(parts: Parts, ref: str) -> str:
    place = parts.catalog.locate(parts.resolve(ref).id)
    return place.path if place.hash is not None else place.side_path or place.path


def _sections(text: str) -> tuple[Cut, ...]:
    if not may_have_headings(text):
        return ()
    from ai_lessons.knowledge.passages import sections

    return sections(text)


def _cut_out(text: str, section: Cut) -> str:
    from ai_lessons.knowledge.passages import lines_of

    return "".join(lines_of(text)[section.start - 1 : section.end])


def _status(name: str | None) -> Status | None:
    if name is not None and name not in set(Status):
        raise UsageError(f"no status {name!r}", hint="one of: " + ", ".join(Status))
    return Status(name) if name is not None else None


def _choose(found: Sequence[Cut], number: int | None, heading: str | None, title: str) -> Cut:
    """The section of that number, or the first whose heading is, else holds, the words."""
    if number is not None:
        fitting = [cut for cut in found if cut.number == number]
    else:
        words = (heading or "").casefold().strip()
        fitting = sorted(
            (cut for cut in found if words in cut.heading.casefold()), key=lambda c: c.heading.casefold() != words
        )
    if fitting:
        return fitting[0]
    known = ", ".join(f"{cut.number} {cut.heading}" for cut in found[:12])
    raise NotFound(
        f"section of {title!r}", str(number if number is not None else heading),
        hint=f"it has: {known}" if known else "it has no headings: show it whole",
    )  # fmt: skip


def _counts(tallies: Sequence[Tally]) -> tuple[Count, ...]:
    return tuple(Count(tally.name, tally.total, tally.by_kind) for tally in tallies)


def _neighbours(catalog: Reader, start: str, depth: int) -> tuple[Related, ...]:
    edges = catalog.edges(None if depth > 1 else start)
    if not edges:
        return ()
    from ai_lessons.knowledge import relations

    reached = relations.reach(edges, start, depth)
    lights = catalog.many(step.target for step in reached)
    return tuple(
        Related(lights.get(step.target), step.target, step.relation, step.outgoing, step.weight, step.depth)
        for step in reached
    )
