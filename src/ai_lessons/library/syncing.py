"""Sharing a repository through a remote: sync, the conflicts that it may leave, and taking back jobs of ours."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.errors import AiLessonsError, Conflict, InvalidEntry, NotFound, Refused, UsageError
from ai_lessons.knowledge import merging
from ai_lessons.knowledge.entries import HANDLE_LENGTH, handle, id_end
from ai_lessons.knowledge.frontmatter import read_entry
from ai_lessons.library import gate
from ai_lessons.library.proposal_context import desk, refuse_agents
from ai_lessons.repository import outside, sync_bring
from ai_lessons.repository import sync as syncing
from ai_lessons.repository import undo as reverts
from ai_lessons.repository.files import translated
from ai_lessons.repository.loose_files import loose, uncommitted
from ai_lessons.repository.recover import bring_back
from ai_lessons.repository.store import AS_IT_IS, Applied, Change
from ai_lessons.repository.sync_merge import IN_THE_WAY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from ai_lessons.library.opened import Library
    from ai_lessons.library.session import RepositorySession
    from ai_lessons.repository.journal import Intent

Synced = syncing.Synced
TornEntry = sync_bring.TornEntry
"""What the repository tells of a sync, and of a file in conflict; the doors show it as it is."""


class Conflicts(NamedTuple):
    """The files that need a person, and where the other side comes from."""

    theirs: str
    entries: tuple[TornEntry, ...]

    def as_json(self) -> tuple[TornEntry, ...]:
        """The files alone."""
        return self.entries


class Resolved(NamedTuple):
    """One conflict decided. `commit` is the merge, None while others are undecided: `left`, what they are called."""

    id: str
    path: str
    take: str
    left: tuple[str, ...]
    commit: str | None


class Undone(NamedTuple):
    """One job taken back: the commit that was, its subject, the files, and the new commit (None while it waits)."""

    undone: str
    subject: str
    paths: tuple[str, ...]
    commit: str | None
    notes: tuple[str, ...] = ()


def sync(library: Library, remote: str | None = None, *, ask: bool = False) -> Synced:
    """Fetch, merge and push the checked-out branch, and send proposals. What waits is committed first.

    `ask`: a person is at the terminal to type a password.
    Raises NotFound: no such remote. Conflict: no branch is checked out, a git command is half done, or others
    were faster too often. UnsavedEdits: an edit that is in no commit is in the way. Refused: the remote does not take
    pushes, or the histories have nothing in common. Unreachable: no answer.
    """
    repo = library.primary
    repo.refuse_other_formats()
    gate.refuse_waiting(repo)
    gate.refuse_sharing(repo, sync_bring.where(repo.store, remote).remote)
    _, event_notes = repo.usages.share(at_least=1)
    done = syncing.sync(
        repo.store,
        remote=remote,
        ask=ask,
        proposals=lambda: _own_proposals(repo),
        progress=repo.options.progress,
    )
    repo.current()
    return done._replace(notes=(*event_notes, *done.notes, *repo.notes()))


def _own_proposals(repo: RepositorySession) -> dict[str, str]:
    try:
        with desk(repo) as at:
            return {proposal.name: proposal.commit for proposal in at.local()}
    except NotFound:
        return {}  # no approval branch yet, so nothing is proposed


def merge_file(path: str, base: Path, ours: Path, theirs: Path) -> None:
    """Merge one file as git asks its merge driver to: what comes of it is written over `ours`.

    Raises Conflict: they have no merge. Those of `outside.read`; StorageFailed: it cannot be written.
    """
    texts = [outside.read(file)[0] for file in (base, ours, theirs)]
    merged = merging.merge_file(path, texts[0] or None, texts[1], texts[2])
    if merged.data is None:
        raise Conflict(f"{path}: both sides changed {', '.join(merged.conflicts)}", hint="git status tells what to do")
    with translated(str(ours), writing=True):
        ours.write_bytes(merged.data)


def conflicts(library: Library, ref: str | None = None, *, remote: str | None = None) -> Conflicts:
    """The files that both sides changed and that have no merge, or one of them, as of the last fetch.

    Raises NotFound, Conflict, Refused: as `sync`, and NotFound: no such conflict.
    """
    repo = library.primary
    here = sync_bring.where(repo.store, remote)
    torn = sync_bring.torn_now(repo.store, here)
    return Conflicts(here.name, torn if ref is None else (_find(repo, torn, ref),))


def resolve(library: Library, ref: str, take: str, *, remote: str | None = None) -> Resolved:
    """Choose whose becomes one file in conflict: `ours` or `theirs`.

    With the last of them decided the merge is made, here; the next sync shares it.
    Raises as `conflicts`; NotFound: no such conflict. UsageError: that cannot be chosen here. Refused: an agent would
    choose between two versions of a rule.
    """
    repo = library.primary
    repo.refuse_other_formats()
    here = sync_bring.where(repo.store, remote)
    entry = _find(repo, sync_bring.torn_now(repo.store, here), ref)
    if IN_THE_WAY in entry.reasons and take != "ours":
        raise UsageError(
            f"{entry.path} cannot be both a file and a folder", hint="rename yours and commit it, or --take ours"
        )
    if merging.RULE in entry.reasons:
        refuse_agents(repo, "choose between two versions of")
    brought = sync_bring.decide(repo.store, here, entry.path, take)
    left = [conflict.id for conflict in sync_bring.torn_now(repo.store, here)] if brought.torn else []
    repo.current()
    return Resolved(entry.id, entry.path, take, tuple(left), None if brought.torn else brought.head)


def _find(repo: RepositorySession, torn: Sequence[TornEntry], ref: str) -> TornEntry:
    names = {ref.strip(), repo.inside(ref) or ref}
    for entry in torn:
        if {entry.id, entry.path} & names or entry.id.casefold() == ref.strip().casefold():
            return entry
    ids = [entry.id for entry in torn]
    raise NotFound("conflict", ref, suggestions=ids[:5], hint="" if ids else "see: ai-lessons admin conflicts")


def undo(library: Library, count: int = 1) -> tuple[Undone, ...]:
    """Take back the last `count` jobs of ours, newest first, each by a commit of its own; all or none.

    Raises NotFound: there are not so many. Conflict: a file was changed again since. UnsavedEdits: a file has edits in
    no commit. Refused: the last thing was a decision about a rule, or changed a rule, or waits for its commit.
    """
    repo = library.primary
    repo.refuse_other_formats()
    repo.save_first()
    done = []
    for step in reverts.last(repo.store, count):
        applied = repo.write(f"Undo: {step.subject}", step.files, [(reverts.TRAILER, step.commit)])
        paths = tuple(file.path for file in step.files)
        done.append(Undone(step.commit, step.subject, paths, applied.commit, applied.messages))
    repo.current()
    return tuple(done)


class KeptFile(NamedTuple):
    """A file that was taken away before its commit. `when` it was written is ISO 8601 in UTC; `text` is what it held.

    `id` and `handle` are empty where the file is no entry, or another one beside an entry.
    """

    path: str
    id: str
    handle: str
    title: str
    when: str
    text: str


class Recovered(NamedTuple):
    """What is `kept`, what was `brought` back now, its commits, and what to know about it."""

    kept: tuple[KeptFile, ...]
    brought: tuple[KeptFile, ...] = ()
    commits: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def recover(library: Library, refs: Sequence[str] = (), *, only_list: bool = False) -> Recovered:
    """Bring back files that a git command took away before their commit: all, or those of these ids or paths.

    Their bytes are kept for 30 days. `only_list`: bring back nothing. Raises NotFound: nothing like that is kept.
    Conflict: another text is at its place now. StorageFailed: the disk said no.
    """
    repo = library.primary
    if not only_list:
        repo.refuse_other_formats()
    store = repo.store

    def kept() -> list[tuple[Intent, tuple[KeptFile, ...]]]:
        jobs = (*store.journal.swept(), *store.journal.missing(store.root))
        return [(job, tuple(_kept(repo, job))) for job in reversed(jobs)]

    swept = kept()
    for ref in refs:
        if not any(_is_meant(ref, file) for _, every in swept for file in every):
            raise NotFound("kept file", ref, hint="see what is kept: ai-lessons admin recover --list")
    chosen = [
        (job, every) for job, every in swept if not refs or any(_is_meant(r, file) for r in refs for file in every)
    ]
    if only_list:
        return Recovered(tuple(file for _, every in chosen for file in every))
    brought: list[KeptFile] = []
    for job, every in chosen:
        if not {file.path for file in every} & {file.path for file in brought}:  # of two versions the newer one
            bring_back(store, job)
            brought += every
    saved = store.save()
    return Recovered(
        tuple(file for _, every in kept() for file in every), tuple(brought), saved.commits, saved.messages
    )


def _kept(repo: RepositorySession, job: Intent) -> Iterator[KeptFile]:
    when = datetime.fromtimestamp(job.when, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    for noted in job.paths:
        data = repo.store.journal.content(job, noted.path) or b""
        text = data.decode("utf-8", "replace")
        try:
            entry = read_entry(noted.path, data)
        except AiLessonsError:
            yield KeptFile(noted.path, "", "", job.subject, when, text)
        else:
            yield KeptFile(noted.path, entry.id, handle(entry.kind, entry.id), entry.title, when, text)


def _is_meant(ref: str, file: KeptFile) -> bool:
    return ref == file.path or (bool(file.id) and len(id_end(ref)) >= HANDLE_LENGTH and file.id.endswith(id_end(ref)))


def save(
    library: Library, agreed: Callable[[Sequence[str]], bool] | None = None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Commit every write that waits, and recorded events where they are shared.

    `agreed`: edits of entries by hand are committed, too, once it says yes to their paths. Edited rules and what is
    staged in part are left alone. The commits made, and notes on what still waits and why.
    Raises InvalidEntry: an edit breaks the format or holds a secret. Refused: a no, or commits are the user's to make;
    then no edit is committed.
    """
    repo = library.primary
    repo.refuse_other_formats()
    gate.refuse_waiting(repo)
    store = repo.store
    edits = _commit_edits(library, agreed) if agreed else Applied()
    events, event_notes = repo.usages.share(at_least=1)
    saved = store.save()
    left, damaged = store.pending(), store.journal.damaged()
    notes = [*event_notes, *edits.notes, *saved.messages]
    notes += [f"{commit[:10]} holds recorded events, no entry" for commit in events]
    notes += [f"not committed yet: {intent.subject}" for intent in left]
    notes += loose(store)
    if damaged:
        notes.append(f"{len(damaged)} notes of writes cannot be read; their files are in place: git status")
    return (*edits.commits, *events, *saved.commits), tuple(notes)


def _commit_edits(library: Library, agreed: Callable[[Sequence[str]], bool]) -> Applied:
    """One commit of what the user did to files of entries; it may wait."""
    from ai_lessons.library.validating import validate

    repo = library.primary
    if not repo.store.commits(repo.config.autocommit):
        raise Refused("commits are yours to make here", hint=f"git -C {repo.store.root} commit")
    paths = uncommitted(repo.store).entries
    existing = [path for path in paths if repo.store.exists(path)]
    problems = [problem for problem in validate(library, existing).problems if not problem.fixable] if existing else []
    if problems:
        raise InvalidEntry(problems, hint="no edit was committed")
    if not paths:
        return Applied(notes=("no entry was edited by hand",))
    if not agreed(paths):
        raise Refused("no edit was committed")
    what = paths[0] if len(paths) == 1 else f"{len(paths)} files"
    return repo.write(f"Save edits: {what}", [Change(path, AS_IT_IS if path in existing else None) for path in paths])
