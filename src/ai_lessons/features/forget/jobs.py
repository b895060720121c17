"""Where a text still is (`plan`), and letting it go from what is ours (`forget`)."""

from __future__ import annotations

import shlex
from contextlib import suppress
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons import app
from ai_lessons.errors import AiLessonsError
from ai_lessons.features.forget import own_files, remedies, traces, vectors
from ai_lessons.features.forget.remedies import Rewrite, Step
from ai_lessons.git import plumbing
from ai_lessons.git.worktree import read_ref

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ai_lessons.app.workspace import Library
    from ai_lessons.features.forget.target import Target
    from ai_lessons.features.forget.traces import RepositoryTraces, Traces
    from ai_lessons.model import Where

# What removes it from a place: this command, the commands of a step, or a person who edits or
# deletes the file
OURS, COMMANDS, BY_HAND = "forget", "commands", "by hand"
# Names of files or branches that are listed
SHOWN = 5


class Place(NamedTuple):
    """A place where it stands, how often, what removes it, and the first names of what is there."""

    what: str
    where: str
    number: int
    removed_by: str
    names: tuple[str, ...] = ()


class Forgetting(NamedTuple):
    """Where it is (or still is), what a person runs, and what was `done` just now."""

    target: str
    places: tuple[Place, ...]
    steps: tuple[Step, ...]
    done: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def ours(self) -> tuple[Place, ...]:
        """The places that this command cleans."""
        return tuple(place for place in self.places if place.removed_by == OURS)


class Asked(NamedTuple):
    """What is to be forgotten, and where texts of other programs lie."""

    target: Target
    where: Where
    folders: tuple[Path, ...] = ()


NOT_LOOKED_AT = (
    "not looked at: other machines, back-ups, files exported elsewhere, an index pushed to an address "
    "(push it again)"
)


def plan(library: Library, asked: Asked) -> Forgetting:
    """Where it stands, and what removes it from there; changes nothing. Raises UnsupportedRepository."""
    marks = traces.look(library, asked.target, asked.where, asked.folders)
    return _answer(marks, asked.target)


def forget(library: Library, asked: Asked) -> Forgetting:
    """Let it go from what is ours, then look again.

    The library is closed. Raises UnsupportedRepository; StorageFailed: a file cannot be written.
    """
    library.options.refuse_agents("forget texts", "ai-lessons admin forget")
    for repo in traces.repositories(library)[0]:
        # what waits for a commit, such as a removal, is in the journal until then
        with suppress(AiLessonsError):
            repo.store.save()
    marks = traces.look(library, asked.target, asked.where, asked.folders)
    done = tuple(_clean(library, marks, asked.target))
    with _opened_anew(library) as fresh:
        _rebuild_indexes(fresh, marks)
    with _opened_anew(library) as fresh:
        again = traces.look(fresh, asked.target, asked.where, asked.folders)
    answer = _answer(again, asked.target)
    # what is gone here is on the remote and in the bucket as before
    steps = dict.fromkeys((*answer.steps, *_steps_elsewhere(marks)))
    return answer._replace(done=done, steps=tuple(steps))


def _opened_anew(library: Library) -> Library:
    return app.workspace.Library(library.primary.store.root, library.options)


def _clean(library: Library, marks: Traces, target: Target) -> Iterator[str]:
    """Remove what is derived or kept; a sentence on each."""
    # it has in memory what lies on the disk
    if app.daemon_client.helpers(library.options, stop=True):
        yield "stopped the helper"
    for part in marks.repositories:
        for packs in part.packs:
            vectors.forget_packs(part.repo, packs)
            yield f"removed {packs.number} packs of vectors that came from {packs.remote}"
        for message in part.words:
            message.unlink(missing_ok=True)
            yield f"removed {message}"
    library.close()
    for file in marks.files:
        if file.fate != own_files.WAITS:
            own_files.clean(file, target)
            yield f"{file.path}: {file.fate}"
    if marks.vectors:
        vectors.forget(library.options.cache_dir, marks.keys)
        yield f"removed {marks.vectors} vectors from the cache"
    for part in marks.repositories:
        for index in part.indexes:
            if index.in_use:
                yield f"made the index at {index.uri} anew, without its old versions"
            else:
                rmtree(index.uri, ignore_errors=True)
                yield f"removed an old index at {index.uri}"


def _rebuild_indexes(library: Library, marks: Traces) -> None:
    holding = {}
    for part in marks.repositories:
        holding[part.repo.store.root] = any(index.in_use for index in part.indexes)
    for repo in traces.repositories(library)[0]:
        if holding.get(repo.store.root):
            repo.current()
            repo.indexing.refresh(seconds=0, full=True, shared=True)


# --- in words ---


def _answer(marks: Traces, target: Target) -> Forgetting:
    places = tuple(_places(marks))
    steps: list[Step] = []
    if any(file.fate == own_files.WAITS for file in marks.files):
        steps.append(Step("commit what waits for it", ("ai-lessons admin save",)))
    for part in marks.repositories:
        steps += _steps_in_files(part, target)
    if any(place.removed_by == OURS for place in places):
        name = target.name if target.entry else "-"
        title = (
            "then remove it from what is ours, before history: git still has the texts of vectors"
        )
        steps.append(Step(title, (f"ai-lessons admin forget {name}",)))
    for part in marks.repositories:
        steps += _steps_in_history(part, target)
    steps += _steps_elsewhere(marks)
    # two tiers may lie in one repository
    each = tuple(dict.fromkeys(steps))
    return Forgetting(target.name, places, each, notes=(*marks.notes, NOT_LOOKED_AT))


def _places(marks: Traces) -> Iterator[Place]:
    for part in marks.repositories:
        yield from _places_in(part)
    waiting = [file.path for file in marks.files if file.fate == own_files.WAITS]
    ours = [file.path for file in marks.files if file.fate != own_files.WAITS]
    for what, files, remedy in (
        ("writes without a commit", waiting, COMMANDS),
        ("caches, logs and records", ours, OURS),
        ("transcripts of agents", marks.beside.transcripts, BY_HAND),
        ("instructions for agents", marks.beside.instructions, BY_HAND),
        ("files of this project", marks.project, BY_HAND),
        ("histories of the shell", marks.beside.histories, BY_HAND),
    ):
        if files:
            yield _place(what, _folder(files), list(map(str, files)), remedy)
    if marks.vectors:
        yield Place("vectors in the cache", own_files.VECTORS, marks.vectors, OURS)


def _places_in(part: RepositoryTraces) -> Iterator[Place]:
    top = str(part.worktree.top)
    if part.files:
        yield _place("files now", top, part.files, COMMANDS)
    if part.history.versions:
        yield Place("history", top, part.history.versions, COMMANDS, _shown(part.history.refs))
    if part.history.loose:
        where = "reflog, stashes, index or what git has not dropped"
        yield Place(where, top, part.history.loose, COMMANDS)
    if part.words:
        yield _place("messages that git keeps", top, [file.name for file in part.words], OURS)
    if part.names:
        yield _place("names of branches and files", top, part.names, COMMANDS)
    if part.copies:
        yield _place("lines of it in other files", top, part.copies, BY_HAND)
    for index in part.indexes:
        yield Place("versions of the index", index.uri, index.versions, OURS)
    for packs in part.packs:
        yield Place("packs of vectors", f"{packs.remote} (as fetched)", packs.number, OURS)


def _place(what: str, where: str, names: Sequence[str], removed_by: str) -> Place:
    return Place(what, where, len(names), removed_by, _shown(names))


def _shown(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(names[:SHOWN])


def _folder(files: Iterable[Path | str]) -> str:
    first, *_ = files
    return str(Path(first).parent)


def _steps_in_files(part: RepositoryTraces, target: Target) -> Iterator[Step]:
    root, top = shlex.quote(str(part.repo.store.root)), part.worktree.top
    if part.files and target.entry:
        yield Step(
            "delete the entry; of a rule this is a proposal, to be approved",
            (f"ai-lessons --repo {root} delete {target.name} --yes",),
        )
    elif part.files:
        yield Step(
            f"take it out of the files of {top} that hold it, and save them",
            (f"ai-lessons --repo {root} admin save --edits",),
        )


def _steps_in_history(part: RepositoryTraces, target: Target) -> Iterator[Step]:
    top = part.worktree.top
    yield from remedies.steps(_rewrite(part), target)
    if part.names:
        yield remedies.other_names(top, part.names)
    if part.copies:
        yield Step(
            f"lines of it stand in other files of {top} or of its history: {_listed(part.copies)}; "
            "look at them, and forget each entry or line by itself"
        )


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:SHOWN])
    if len(names) > SHOWN:
        return f"{shown} and {len(names) - SHOWN} more"
    return shown


def _steps_elsewhere(marks: Traces) -> Iterator[Step]:
    for part in marks.repositories:
        steps = [remedies.without_packs(part.worktree.top, part.packs)]
        for index in part.indexes:
            steps.append(remedies.without_object_versions(index.uri))
        for step in steps:
            if step:
                yield step


def _rewrite(part: RepositoryTraces) -> Rewrite:
    worktree = part.worktree
    remotes = {}
    for name in plumbing.remotes(worktree):
        remotes[name] = plumbing.setting(worktree, f"remote.{name}.url") or ""
    holding = []
    for name in remotes:
        if any(ref.startswith(f"refs/remotes/{name}/") for ref in part.history.refs):
            holding.append(name)
    unsaved = 0
    for state, _ in plumbing.changed_files(worktree):
        # a new file stays where it is
        unsaved += state != "??"
    return Rewrite(
        part.repo.store.root,
        worktree.top,
        part.history,
        part.paths,
        remotes,
        holding,
        unsaved,
        read_ref(worktree, "refs/stash") is not None,
    )
