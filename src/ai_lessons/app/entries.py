"""Entries as they are: shown, listed, counted, and what is near to one.

Begin with `show` and `list_entries`.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ai_lessons import app
from ai_lessons.app.answers import Listing, Shown
from ai_lessons.errors import NotFound
from ai_lessons.model.entries import UNVERSIONED, Filter, Kind, Relation, Status
from ai_lessons.model.lessons import ScopePlace, place_of
from ai_lessons.model.texts import may_have_headings
from ai_lessons.model.versions import newest_first
from ai_lessons.search.catalog_reader import Tally

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ai_lessons.app.answers import Related, Usage
    from ai_lessons.app.workspace import Library, Reading, RepositorySession
    from ai_lessons.model.chunks import TextSection as Cut
    from ai_lessons.model.entries import EntrySummary


def show(
    library: Library, ref: str, *, section: int | None = None, heading: str | None = None
) -> Shown:
    """One entry whole, or one section, by number (from 1) or words of its heading.

    Raises NotFound, AmbiguousName.
    """
    repo, summary = library.holding(ref)
    catalog = library.reading.catalog
    entry, raw = app.history_of_entries.contents_of(repo, summary)
    if summary.kind is not Kind.SCRIPT:
        text = entry.body
    else:
        text = entry.body or entry.code
    sections: tuple[Cut, ...] = ()
    chosen, lines = None, list[str]()
    if may_have_headings(text):
        from ai_lessons.model import chunks

        sections, lines = chunks.sections(text), chunks.lines_of(text)
    if section is not None or heading is not None:
        chosen = _choose(sections, section, heading, summary.title)
        text = "".join(lines[chosen.start - 1 : chosen.end])
    notes = (*_notes(library, repo, summary), *app.edited_files.doubts(repo, summary, raw))
    approval, kept = None, None
    if summary.kind is Kind.RULE:
        approval = app.history_of_entries.approval_of(repo, summary)
        kept = repo.learned.kept([summary]).get(summary.id)
    usage, silent = None, ""
    if summary.kind is Kind.LESSON:
        usage = _usage_of(repo, summary)
        silent = repo.learned.silent([summary]).get(summary.id, "")
    return Shown(
        entry=app.link_effects.vouched(
            library.reading, app.notes.with_verdicts(library.reading, [summary])[0]
        ),
        body=text,
        raw=raw,
        frontmatter=entry.fields,
        code=entry.code,
        related=app.link_effects.around(catalog, summary.id),
        sections=sections,
        section=chosen.number if chosen else None,
        notes=notes,
        approval=approval,
        kept=kept,
        usage=usage,
        silent=silent,
    )


def _notes(library: Library, repo: RepositorySession, summary: EntrySummary) -> tuple[str, ...]:
    """What is to be known beside an entry."""
    notes: list[str] = []
    if summary.kind is Kind.RULE:
        notes += repo.rules.notes
    return (*notes, *app.notes.notes_whole(library, summary))


def _usage_of(repo: RepositorySession, lesson: EntrySummary) -> Usage:
    """How a lesson has done here, and what another tool counted of it where an import brought that."""
    usage = repo.learned.of(lesson)
    return usage._replace(elsewhere=app.counted_elsewhere.of_entries(repo.events).get(lesson.id))


def difference(path: str, old: str, new: str) -> str:
    """How two texts differ, as a unified diff."""
    # a list shows no difference
    from ai_lessons.git.history import unified

    return unified(path, old.encode(), new.encode())


def list_entries(
    library: Library,
    *,
    kinds: Collection[Kind] = (),
    project: str | None = None,
    tag: str | None = None,
    category: str | None = None,
    versions: Sequence[str] = (),
    status: str | None = "active",
    sort: str = "newest",
    limit: int | None = None,
    silent: bool = False,
    every: bool = False,
    scope: str | None = None,
    origin: str | None = None,
) -> Listing:
    """Entries by filters, as `Filter` sorts.

    `status` None: any, and (also with `every`) the superseded.

    `scope`, `origin`: those of lessons. `silent`: only what is told to nobody who does not ask,
    why, of any status.
    """
    catalog = library.reading.current()
    at = place_of(scope) if scope else ScopePlace(project or "")
    query = Filter(
        kinds=frozenset(kinds),
        project=at.project or None,
        scopes=at.scopes,
        tags=(tag,) if tag else (),
        category=category,
        versions=tuple(versions),
        status=Status(status) if status is not None else None,
        sort=sort,
        limit=limit or 0,
        without=_superseded(library.reading)
        if status == Status.ACTIVE and not every
        else frozenset(),
    )
    if silent:
        return _silent_ones(
            library.reading, query._replace(status=None, without=frozenset(), limit=0), limit
        )
    entries = tuple(
        summary for summary in catalog.select(query) if origin in {None, summary.stated.from_}
    )
    total = len(entries) if limit is None else catalog.count(query)
    asked = (
        {} if entries else {"project": (project or "",), "tag": (tag or "",), "version": versions}
    )
    return Listing(
        entries, total, (*library.reading.notes(), *app.versions_asked.not_here(catalog, asked))
    )


def _silent_ones(reading: Reading, query: Filter, limit: int | None) -> Listing:
    """Those of a query that are told to nobody who does not ask, with the reasons."""
    summaries = reading.catalog.select(query)
    why = app.link_effects.silent(reading, summaries)
    quiet = tuple(summary for summary in summaries if summary.id in why)
    return Listing(quiet[:limit], len(quiet), tuple(reading.notes()), why)


def _superseded(reading: Reading) -> frozenset[str]:
    """The ids of superseded entries.

    Where no link says so a list need not load what follows such links.
    """
    if all(edge.relation != Relation.SUPERSEDES for edge in reading.catalog.edges()):
        return frozenset()
    return app.link_effects.superseded(reading)


def tags(library: Library) -> tuple[Tally, ...]:
    """Every tag with its entries counted, most used first."""
    return tuple(library.reading.current().tags())


def versions(library: Library, project: str | None = None) -> tuple[Tally, ...]:
    """Every version with its docs and scripts counted, the newest first, names and `unversioned` last.

    Raises NotFound: no such project.
    """
    catalog = library.reading.current()
    if project is not None and (
        unknown := app.versions_asked.not_here(catalog, {"project": (project,)})
    ):
        raise NotFound("project", project, hint=unknown[0].partition(": ")[2])
    resources = catalog.select(
        Filter(kinds=frozenset(kind for kind in Kind if kind.is_resource), project=project)
    )
    plain = Counter(summary.kind.value for summary in resources if not summary.versions)
    unversioned = (Tally(UNVERSIONED, plain.total(), dict(plain)),) if plain else ()
    tallies = {tally.name: tally for tally in catalog.versions(project)}
    return (*(tallies[name] for name in newest_first(tallies)), *unversioned)


def projects(library: Library) -> tuple[Tally, ...]:
    """Every project with its entries counted."""
    return tuple(library.reading.current().projects())


def related(library: Library, ref: str, depth: int = 1) -> tuple[Related, ...]:
    """Entries reached over links within `depth` steps, either way, nearest first; each once."""
    catalog = library.reading.current()
    return app.link_effects.around(catalog, library.reading.resolve(ref).id, depth)


def complete(library: Library, prefix: str, what: str) -> Sequence[tuple[str, str]]:
    """Completions of `prefix` with a word of help each; `what` is id, project, tag or version."""
    return library.reading.current().complete(what, prefix)


def _choose(sections: Sequence[Cut], number: int | None, heading: str | None, title: str) -> Cut:
    """The section of that number, or the first whose heading is, else holds, the words."""
    words = (heading or "").casefold().strip()
    if number is not None:
        fitting = [cut for cut in sections if cut.number == number]
    else:
        fitting = [cut for cut in sections if words in cut.heading.casefold()]
    if fitting:
        return min(fitting, key=lambda cut: cut.heading.casefold() != words)
    headings = ", ".join(f"{cut.number} {cut.heading}" for cut in sections[:12])
    raise NotFound(
        f"section of {title!r}", str(number if number is not None else heading),
        hint=f"it has: {headings}" if headings else "it has no headings: show it whole",
    )  # fmt: skip
