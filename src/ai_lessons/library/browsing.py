"""Jobs that read: one entry, lists and counts, what is linked, and the history of a file."""

from __future__ import annotations

from collections import Counter
from itertools import zip_longest
from typing import TYPE_CHECKING

from ai_lessons import library
from ai_lessons.errors import NotFound
from ai_lessons.index.catalog_reading import Filter, Tally
from ai_lessons.knowledge import relations
from ai_lessons.knowledge.entries import UNVERSIONED, Entry, Kind, Light, Status
from ai_lessons.knowledge.origins import ScopePlace, place_of
from ai_lessons.knowledge.texts import may_have_headings, texts_of
from ai_lessons.knowledge.versions import newest_first
from ai_lessons.library.answers import Listing, Related, Shown
from ai_lessons.library.relating import related_of, superseded
from ai_lessons.library.versions_asked import not_here
from ai_lessons.repository.store import blob_id

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ai_lessons.knowledge.passages import TextSection as Cut
    from ai_lessons.library.opened import Library
    from ai_lessons.library.session import RepositorySession
    from ai_lessons.repository.history import FileRevision


def show(opened: Library, ref: str, *, section: int | None = None, heading: str | None = None) -> Shown:
    """One entry whole, or one section, by number (from 1) or words of its heading. Raises NotFound, AmbiguousName."""
    repo, light = opened.holding(ref)
    catalog = opened.reading.catalog
    entry, raw = contents_of(repo, light)
    text = entry.body if light.kind is not Kind.SCRIPT else entry.body or entry.code
    sections: tuple[Cut, ...] = ()
    chosen, lines = None, list[str]()
    if may_have_headings(text):
        from ai_lessons.knowledge import passages

        sections, lines = passages.sections(text), passages.lines_of(text)
    if section is not None or heading is not None:
        chosen = _choose(sections, section, heading, light.title)
        text = "".join(lines[chosen.start - 1 : chosen.end])
    if light.kind is Kind.RULE:
        notes = repo.rules.notes
    else:  # most are kept here, and need no look elsewhere
        notes = tuple(library.health.told_of_scripts(opened, [light]) if light.details.get("path") else ())
    return Shown(
        entry=light,
        body=text,
        raw=raw,
        frontmatter=entry.fields,
        code=entry.code,
        related=related_of(catalog, relations.reach(catalog.edges(light.id), light.id)),
        sections=sections,
        section=chosen.number if chosen else None,
        notes=notes,
        approval=library.provenance.approval_of(repo, light) if light.kind is Kind.RULE else None,
        usage=repo.usages.of(light) if light.kind is Kind.LESSON else None,
        silent=repo.usages.silent([light]).get(light.id, "") if light.kind is Kind.LESSON else "",
    )


def difference(path: str, old: str, new: str) -> str:
    """How two texts differ, as a unified diff."""
    from ai_lessons.repository.history import unified  # a list shows no difference

    return unified(path, old.encode(), new.encode())


def list_entries(
    opened: Library,
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
    """Entries by filters, as `Filter` sorts; `status` None: any, and (also with `every`) the superseded.

    `scope` and `origin` are those of lessons.
    `silent`: only those that are told to nobody who does not ask, with the reasons, whatever their status.
    """
    catalog = opened.reading.current()
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
        limit=limit,
        without=superseded(opened.reading) if status == Status.ACTIVE and not every else frozenset(),
    )
    if silent:
        lights = catalog.select(query._replace(status=None, without=frozenset(), limit=None))
        why = opened.reading.usages.silent(lights)
        quiet = tuple(light for light in lights if light.id in why)
        return Listing(quiet[:limit], len(quiet), tuple(opened.reading.notes()), why)
    entries = tuple(light for light in catalog.select(query) if origin in {None, light.details.get("from")})
    total = len(entries) if limit is None else catalog.count(query)
    asked = {"project": (project or "",), "tag": (tag or "",), "version": versions}
    unknown = [] if entries else not_here(catalog, asked)
    return Listing(entries, total, (*opened.reading.notes(), *unknown))


def tags(opened: Library) -> tuple[Tally, ...]:
    """Every tag with its entries counted, most used first."""
    return tuple(opened.reading.current().tags())


def versions(opened: Library, project: str | None = None) -> tuple[Tally, ...]:
    """Every version with its docs and scripts counted, the newest first, names and `unversioned` last.

    Raises NotFound: no such project.
    """
    catalog = opened.reading.current()
    if project is not None and (unknown := not_here(catalog, {"project": (project,)})):
        raise NotFound("project", project, hint=unknown[0].partition(": ")[2])
    resources = catalog.select(Filter(kinds=frozenset(kind for kind in Kind if kind.is_resource), project=project))
    plain = Counter(light.kind.value for light in resources if not light.versions)
    unversioned = (Tally(UNVERSIONED, plain.total(), dict(plain)),) if plain else ()
    tallies = {tally.name: tally for tally in catalog.versions(project)}
    return (*(tallies[name] for name in newest_first(tallies)), *unversioned)


def projects(opened: Library) -> tuple[Tally, ...]:
    """Every project with its entries counted."""
    return tuple(opened.reading.current().projects())


def related(opened: Library, ref: str, depth: int = 1) -> tuple[Related, ...]:
    """Entries reached over links within `depth` steps, either way, nearest first; each once."""
    catalog, start = opened.reading.current(), opened.reading.resolve(ref).id
    edges = catalog.edges(None if depth > 1 else start)
    return related_of(catalog, relations.reach(edges, start, depth))


def log(opened: Library, ref: str) -> tuple[FileRevision, ...]:
    """The commits that touched the entry's file, newest first, followed through renames."""
    repo, light = opened.holding(ref)
    return repo.history.log(repo.file_of(light))


def diff(opened: Library, ref: str, rev: str | None = None) -> str:
    """Unified diff of the entry: the file on disk against its last commit, or against `rev`."""
    repo, light = opened.holding(ref)
    path, store = repo.file_of(light), repo.store
    if rev is None and store.head().commit is None:
        from ai_lessons.repository.history import unified

        return unified(path, None, store.read(path))
    return repo.history.diff(path, rev or "HEAD")


def change(opened: Library, ref: str, commit: str) -> str:
    """Unified diff of what one commit changed in the entry's file. Raises NotFound: no such commit, or not of it."""
    repo, light = opened.holding(ref)
    log = repo.history.log(repo.file_of(light))
    pair = next((pair for pair in zip_longest(log, log[1:]) if pair[0].commit == commit), None)
    if pair is None:
        raise NotFound(f"commit of {light.handle}", commit)
    from ai_lessons.repository.history import unified

    after, before = pair
    old = repo.history.text_at(before.commit, before.path) if before else None
    return unified(after.path, old, repo.history.text_at(after.commit, after.path))


def complete(opened: Library, prefix: str, what: str) -> Sequence[tuple[str, str]]:
    """Completions of `prefix` with a word of help each; `what` is id, project, tag or version."""
    return opened.reading.current().complete(what, prefix)


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


def contents_of(repo: RepositorySession, light: Light) -> tuple[Entry, str]:
    """The entry as its files are on disk (a rule as it is in force), and the text with its frontmatter or its only one.

    As `RepositorySession.load`, but without YAML, and without what the frontmatter says as values of their own.
    Raises NotFound: it is gone. InvalidEntry.
    """
    place = repo.catalog.locate(light.id)
    data, side = repo.files_of(place)
    texts = texts_of(place.path, data, side, script=light.kind is Kind.SCRIPT)
    main = data if side is None else side
    same = (place.hash is None or blob_id(data) == place.hash) and (side is None or blob_id(side) == place.side_hash)
    # parsed if a file was changed in the moment since the catalog looked
    fields = repo.catalog.fields(place.id) if same else repo.parse(place.path, data, side).fields
    bare = Entry(light.id, light.kind, light.title, light.path, light.project)
    return bare._replace(fields=fields, body=texts.body, code=texts.code), main.decode("utf-8", "replace")
