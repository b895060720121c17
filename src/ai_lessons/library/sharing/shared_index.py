"""Jobs on the search index as a whole: its state, and sharing its vectors through a place that many can read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.errors import NotFound, Unreachable, UsageError
from ai_lessons.index.shared import SharedIndex
from ai_lessons.library.index_reports import IndexState, Pulled, Pushed, Shared

if TYPE_CHECKING:
    from ai_lessons.index.shared import SharedState
    from ai_lessons.library.opened import Library
    from ai_lessons.library.session import Parts

PROBES = 50
"""Passages whose own vectors are the questions, where recall is measured."""


def index_status(library: Library, uri: str | None = None, *, recall: bool = False) -> IndexState:
    """The state of the index; with `uri`, that of a shared one. `recall` compares with exact search.

    Raises:
        Unreachable: the shared index does not answer.
    """
    parts = library.primary
    parts.current()
    index = parts.index
    status, growing = index.status(), index.growing()
    shared = None
    if uri is not None:
        place = _place(parts, uri)
        shared = _shared(parts, place, place.state())
    return IndexState(
        model=status.model,
        entries=status.entries,
        passages=status.passages,
        vectors=status.vectors,
        bytes=status.bytes,
        unindexed=status.unindexed,
        indexed=index.vectors_indexed(),
        next_model=index.model if index.model != status.model else "",
        next_passages=growing.passages,
        next_vectors=growing.vectors,
        recall=index.recall(PROBES) if recall else None,
        shared=shared,
    )


def index_push(library: Library, uri: str) -> Pushed:
    """Complete the index and make the shared one at `uri` equal to it.

    Raises:
        Unreachable: it cannot be written. Conflict: somebody else is pushing.
    """
    parts = library.primary
    place = _place(parts, uri)
    parts.current()
    done = parts.indexing.refresh(seconds=None)
    table = parts.index.in_use()
    if table is None:
        raise NotFound("index of", str(parts.store.root), hint="add an entry first")
    sent = place.push(table, parts.options.progress)
    return Pushed(_shared(parts, place, sent.state), sent.entries, sent.removed, done.notes)


def index_pull(library: Library, uri: str) -> Pulled:
    """Take the vectors of the shared index at `uri`; what it lacks is computed here.

    Raises:
        NotFound: nothing is there. UsageError: it is of another model. Unreachable: it does not answer.
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


def _place(parts: Parts, uri: str) -> SharedIndex:
    if not uri.strip():
        raise UsageError("no address is given", hint="a folder, or what LanceDB takes: s3://bucket/path")
    if "://" not in uri:
        return SharedIndex(str(parts.options.cwd / uri))
    if parts.options.offline:
        raise Unreachable(f"{uri} is on the network, and offline was asked for", hint="unset AI_LESSONS_OFFLINE")
    return SharedIndex(uri)


def _shared(parts: Parts, place: SharedIndex, there: SharedState) -> Shared:
    usable = there.model == parts.index.model
    covers = place.covers(there.model, parts.index.keys()) if usable else 0
    return Shared(place.uri, there.model, there.entries, there.passages, there.vectors, usable, covers)
