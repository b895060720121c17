"""Jobs on the search index as a whole: its state, and sharing its vectors through a place that many can read."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.errors import NotFound, Unreachable, UsageError
from ai_lessons.index.rows import Shared
from ai_lessons.index.shared import SharedIndex

if TYPE_CHECKING:
    from ai_lessons.index.rows import IndexStatus
    from ai_lessons.library.opened import Library
    from ai_lessons.library.session import RepositorySession


class Pushed(NamedTuple):
    """What lies in the shared index after a push."""

    shared: Shared
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
    parts = library.primary
    parts.current()
    status = parts.index.status()
    if uri is None:
        return status
    place = _place(parts, uri)
    return status._replace(shared=_shared(parts, place, place.state()))


def index_push(library: Library, uri: str) -> Pushed:
    """Complete the index and make the shared one at `uri` equal to it.

    Raises Unreachable: it cannot be written. Conflict: another process is pushing.
    """
    parts = library.primary
    place = _place(parts, uri)
    parts.current()
    done = parts.indexing.refresh(seconds=None)
    table = parts.index.in_use()
    if table is None:
        raise NotFound("index of", str(parts.store.root), hint="add an entry first")
    place.push(table, parts.options.progress)
    return Pushed(_shared(parts, place, place.state()), done.notes)


def index_pull(library: Library, uri: str) -> Pulled:
    """Take the vectors of the shared index at `uri`; what it lacks is computed here.

    Raises NotFound: nothing is there. UsageError: it is of another model. Unreachable: it does not answer.
    """
    parts = library.primary
    place = _place(parts, uri)
    there = place.state()
    if not there.model:
        raise NotFound("shared index", place.uri, hint=f"make it: ai-lessons admin index push {place.uri}")
    if there.model != parts.index.model:
        raise UsageError(
            f"the shared index holds vectors of {there.model}, and this repository uses {parts.index.model}",
            hint=f"ai-lessons admin config set search.model {there.model}",
        )
    came = place.pull(there.model, parts.indexing.vectors, parts.options.progress)
    parts.current()
    done = parts.indexing.refresh(seconds=None)
    return Pulled(place.uri, came, done.embedded, parts.index.passages(), done.missing, done.notes)


def _place(parts: RepositorySession, uri: str) -> SharedIndex:
    if not uri.strip():
        raise UsageError("no address is given", hint="a folder, or what LanceDB takes: s3://bucket/path")
    if "://" not in uri:
        return SharedIndex(str(parts.options.cwd / uri))
    if parts.options.offline:
        raise Unreachable(f"{uri} is on the network, and offline was asked for", hint="unset AI_LESSONS_OFFLINE")
    return SharedIndex(uri)


def _shared(parts: RepositorySession, place: SharedIndex, there: IndexStatus) -> Shared:
    usable = there.model == parts.index.model
    table = parts.index.in_use()
    covers = place.covers(there.model, table.keys()) if usable and table else 0
    return Shared(place.uri, there.model, there.entries, there.passages, there.vectors, usable, covers)
