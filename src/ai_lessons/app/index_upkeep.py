"""Jobs that people ask for about the index: make it anew, look at it, share it at an address."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ai_lessons import extensions
from ai_lessons.errors import NotFound, Unreachable, UsageError
from ai_lessons.model.entries import Filter

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ai_lessons.app.workspace import Library, RepositorySession
    from ai_lessons.model.entries import Kind
    from ai_lessons.search.index_tables import SharedIndex
    from ai_lessons.search.rows import IndexRefresh, IndexStatus


def reindex(
    library: Library,
    refs: Sequence[str] = (),
    *,
    full: bool = False,
    kinds: Collection[Kind] = (),
    seconds: float | None = None,
) -> IndexRefresh:
    """Bring the index up to date now.

    `refs`, `kinds`: write those entries anew, `full`: all (vectors are cached).
    """
    repo = library.primary
    catalog = repo.current()
    summaries = list(map(repo.resolve, refs))
    if kinds:
        summaries += catalog.select(Filter(kinds=frozenset(kinds), status=None))
    notes: list[str] = []
    if summaries:
        for _, reread in extensions.added("reread"):
            notes += reread(library, summaries, named=bool(refs))
    again = [summary.id for summary in summaries]
    repo.current()
    done = repo.indexing.refresh(seconds=seconds, full=full, again=again, shared=True)
    if seconds is None:
        done = repo.indexing.join(done, lambda: repo.indexing.refresh(seconds=None, shared=True))
    return done._replace(notes=(*done.notes, *notes))


class Pushed(NamedTuple):
    """What lies in the shared index after a push."""

    shared: IndexStatus
    notes: tuple[str, ...] = ()


class Pulled(NamedTuple):
    """Vectors that came, those that had to be computed here all the same, and passages still without one."""

    uri: str
    came: int
    embedded: int
    passages: int
    missing: int
    notes: tuple[str, ...] = ()


def index_status(library: Library, uri: str | None = None) -> IndexStatus:
    """The state of the index; with `uri`, that of a shared one.

    Raises Unreachable: the shared index does not answer.
    """
    repo = library.primary
    repo.current()
    status = repo.index.status()
    if uri is None:
        return status
    return status._replace(shared=_place(repo, uri).state())


def index_push(library: Library, uri: str) -> Pushed:
    """Complete the index and make the shared one at `uri` equal to it.

    Raises Unreachable: it cannot be written. Conflict: another process is pushing.
    """
    repo = library.primary
    place = _place(repo, uri)
    repo.current()
    done = repo.indexing.refresh(seconds=None)
    table = repo.index.query.newest()
    if table is None:
        raise NotFound("index of", str(repo.store.root), hint="add an entry first")
    place.push(table, repo.options.progress)
    return Pushed(place.state(), done.notes)


def index_pull(library: Library, uri: str) -> Pulled:
    """Take the vectors of the shared index at `uri`; what it lacks is computed here.

    Raises NotFound: nothing is there. UsageError: it is of another model. Unreachable: it does not
    answer.
    """
    repo = library.primary
    place = _place(repo, uri)
    state = place.state()
    if not state.model:
        raise NotFound(
            "shared index", place.uri, hint=f"make it: ai-lessons admin index push {place.uri}"
        )
    if state.model != repo.index.model:
        ours = f"this repository uses {repo.index.model}"
        raise UsageError(
            f"the shared index holds vectors of {state.model}, and {ours}",
            hint=f"ai-lessons admin config set search.model {state.model}",
        )
    vectors = place.pull(state.model, repo.indexing.vectors, repo.options.progress)
    repo.current()
    done = repo.indexing.refresh(seconds=None)
    return Pulled(
        place.uri, vectors, done.embedded, repo.indexing.passages(), done.missing, done.notes
    )


def _place(repo: RepositorySession, uri: str) -> SharedIndex:
    # LanceDB takes half a second, and `init` needs none
    from ai_lessons.search.index_tables import SharedIndex

    if not uri.strip():
        raise UsageError(
            "no address is given", hint="a folder, or what LanceDB takes: s3://bucket/path"
        )
    if "://" not in uri:
        return SharedIndex(str(repo.options.cwd / uri))
    if repo.options.offline:
        raise Unreachable(
            f"{uri} is on the network, and offline was asked for", hint="unset AI_LESSONS_OFFLINE"
        )
    return SharedIndex(uri)
