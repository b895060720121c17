"""Writes that wait are committed; what the user's git took away before its commit is listed, and brought back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ai_lessons.errors import AiLessonsError, NotFound
from ai_lessons.knowledge.entries import HANDLE_LENGTH, handle, id_end
from ai_lessons.knowledge.frontmatter import read_entry
from ai_lessons.library import secret_gate
from ai_lessons.repository.recover import bring_back

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ai_lessons.library.opened import Library
    from ai_lessons.library.session import Parts
    from ai_lessons.repository.journal import Intent


@dataclass(frozen=True, slots=True)
class Kept:
    """A file that was taken away before its commit. `when` it was written is ISO 8601 in UTC; `text` is what it held.

    `id` and `handle` are empty where the file is no entry, or another one beside an entry.
    """

    path: str
    id: str
    handle: str
    title: str
    when: str
    text: str


@dataclass(frozen=True, slots=True)
class Recovered:
    """What is `kept`, what was `brought` back now, its commits, and what to know about it."""

    kept: tuple[Kept, ...]
    brought: tuple[Kept, ...] = ()
    commits: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def recover(library: Library, refs: Sequence[str] = (), *, only_list: bool = False) -> Recovered:
    """Bring back files that a git command took away before their commit: all, or those of these ids or paths.

    Their bytes are kept for 30 days. `only_list`: bring back nothing.

    Raises:
        NotFound: nothing like that is kept. Conflict: another text is at its place now. StorageFailed: the disk
        said no.
    """
    parts = library.primary
    if not only_list:
        parts.refuse_other_formats()
    store = parts.store
    jobs = (*store.journal.swept(), *store.journal.missing(store.root))
    found = [(job, tuple(_kept(parts, job))) for job in reversed(jobs)]
    for ref in refs:
        if not any(_is_meant(ref, one) for _, every in found for one in every):
            raise NotFound("kept file", ref, hint="see what is kept: ai-lessons admin recover --list")
    wanted = [(job, every) for job, every in found if not refs or any(_is_meant(r, one) for r in refs for one in every)]
    if only_list:
        return Recovered(tuple(one for _, every in wanted for one in every))
    brought: list[Kept] = []
    for job, every in wanted:
        if not {one.path for one in every} & {one.path for one in brought}:  # of two versions the newer one
            bring_back(store, job)
            brought += every
    saved = store.save()
    notes = (*saved.notes, *([f"waiting: {saved.waiting}"] if saved.waiting else ()))
    left = tuple(
        one for job in (*store.journal.swept(), *store.journal.missing(store.root)) for one in _kept(parts, job)
    )
    return Recovered(left, tuple(brought), saved.commits, notes)


def _kept(parts: Parts, job: Intent) -> Iterator[Kept]:
    when = datetime.fromtimestamp(job.when, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    for one in job.paths:
        data = parts.store.journal.content(job, one.path) or b""
        text = data.decode("utf-8", "replace")
        try:
            entry = read_entry(one.path, data)
        except AiLessonsError:
            yield Kept(one.path, "", "", job.subject, when, text)
        else:
            yield Kept(one.path, entry.id, handle(entry.kind, entry.id), entry.title, when, text)


def _is_meant(ref: str, one: Kept) -> bool:
    return ref == one.path or (bool(one.id) and len(id_end(ref)) >= HANDLE_LENGTH and one.id.endswith(id_end(ref)))


SHOWN = 10
"""So many waiting jobs are named."""


def save(library: Library) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Commit every write that waits, and recorded events where they are shared.

    The commits made, and notes on what still waits and why.
    """
    parts = library.primary
    parts.refuse_other_formats()
    secret_gate.refuse_waiting(parts)
    store = parts.store
    events, said = parts.usages.share(at_least=1)
    saved = store.save()
    left, damaged = store.pending(), store.journal.damaged()
    notes = [*said, *saved.notes, *([f"waiting: {saved.waiting}"] if saved.waiting else ())]
    notes += [f"not committed yet: {intent.subject}" for intent in left[:SHOWN]]
    notes += [f"and {len(left) - SHOWN} more"] if len(left) > SHOWN else []
    if damaged:
        notes.append(f"{len(damaged)} notes of writes cannot be read; their files are in place: git status")
    return (*events, *saved.commits), tuple(notes)
