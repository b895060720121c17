"""Looking for a text: in each known repository, and in files beside them. Changes nothing."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.app.index_places import cache_folder
from ai_lessons.errors import AiLessonsError, NotFound
from ai_lessons.features.forget import beside, history, own_files, vectors
from ai_lessons.features.forget.target import id_stated, of_entry, of_text
from ai_lessons.git import commits, external_files, plumbing
from ai_lessons.git.worktree import STATE_FOLDER, locate
from ai_lessons.model import expression
from ai_lessons.model.entries import Kind, id_end
from ai_lessons.model.entries import handle as handle_of
from ai_lessons.model.frontmatter import read_entry
from ai_lessons.search.index_versions import versions_holding

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from ai_lessons.app.workspace import Library, RepositorySession
    from ai_lessons.features.forget.beside import Beside
    from ai_lessons.features.forget.history import History
    from ai_lessons.features.forget.own_files import OwnFile
    from ai_lessons.features.forget.target import Target
    from ai_lessons.features.forget.vectors import Packs
    from ai_lessons.git.worktree import Worktree
    from ai_lessons.model import Where
    from ai_lessons.model.entries import Entry

# How a name looks that can be nothing but that of an entry
_HANDLE = expression(r"[A-Z]-[0-9A-Z]{6,26}|[0-9A-Z]{26}")
# What git keeps of the words of the last commits, beside its objects
_WORDS_OF_GIT = ("COMMIT_EDITMSG", "MERGE_MSG", "SQUASH_MSG", "TAG_EDITMSG")


class IndexTraces(NamedTuple):
    """A place of tables of passages; `in_use`: it is the index that is asked."""

    uri: str
    versions: int
    in_use: bool


class RepositoryTraces(NamedTuple):
    """Where it stands in one repository.

    Paths are from the top. `files`: now; `paths`: those of the entry in any commit; `copies`: other
    files with a line of it, now or in history. `names`: of branches, tags and files that are made
    of its title. `words`: files of git itself that hold messages.
    `keys`: of what vectors were made.
    """

    repo: RepositorySession
    files: tuple[str, ...]
    history: History
    paths: tuple[str, ...]
    copies: tuple[str, ...]
    names: tuple[str, ...]
    words: tuple[Path, ...]
    indexes: tuple[IndexTraces, ...]
    packs: tuple[Packs, ...]
    keys: frozenset[str]
    notes: tuple[str, ...] = ()

    @property
    def worktree(self) -> Worktree:
        """The git worktree around it."""
        return self.repo.store.worktree


class Traces(NamedTuple):
    """All places where it stands; `vectors` of it are in the cache, `project` files of the code around."""

    repositories: tuple[RepositoryTraces, ...]
    files: tuple[OwnFile, ...]
    vectors: int
    beside: Beside
    project: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def keys(self) -> set[str]:
        """The hashes by which vectors of it are known."""
        keys: set[str] = set()
        for part in self.repositories:
            keys |= part.keys
        return keys


# --- what is meant ---


def target_of(library: Library, name: str) -> Target:
    """The entry that a name means, here or in history; else the name is a text.

    Raises UsageError: the text is too short. AmbiguousName. NotFound: a handle of no entry.
    """
    try:
        repo, summary = library.holding(name)
    except NotFound as error:
        if type(error) is not NotFound:
            raise
        if _HANDLE.fullmatch(name.strip()):
            return _removed_entry(library, name.strip())
        return of_text(name)
    entry, _ = repo.load(summary.id)
    versions = [entry, *_versions(repo, summary.id)]
    return of_entry(summary.id, summary.handle, versions)


def _removed_entry(library: Library, name: str) -> Target:
    """An entry that is in history alone."""
    for repo in repositories(library)[0]:
        for entry in _versions(repo, id_end(name)):
            return of_entry(entry.id, handle_of(entry.kind, entry.id), _versions(repo, entry.id))
    hint = "git holds nothing that states this id; look for its words: ai-lessons admin forget -"
    raise NotFound("entry here or in any commit", name, hint=hint)


def _versions(repo: RepositorySession, end: str) -> Iterator[Entry]:
    """What the files with this end of an id were, in any commit."""
    worktree = repo.store.worktree
    objects, _ = history.objects_holding(
        worktree, lambda data: id_stated(end).search(data) is not None, repo.options.progress
    )
    paths = history.history_of(worktree, objects).paths
    answers = plumbing.objects(worktree, list(paths), contents=True)
    for names, (_, data) in zip(paths.values(), answers, strict=True):
        path = names[0].removeprefix(worktree.prefix)
        try:
            yield read_entry(path, data)
        except AiLessonsError:
            # of an older format, or broken: its lines tell all the same
            continue


def repositories(library: Library) -> tuple[list[RepositorySession], list[str]]:
    """Every repository that is known, each once, and why others cannot be looked into."""
    places = library.options.places
    repos, notes = {library.primary.store.root: library.primary}, []
    for place in (*places.reads, *places.known):
        if not place.root.exists():
            continue
        try:
            repo = library.open(place.name)
        except AiLessonsError as error:
            notes.append(f"without {place.name}: {error.message}")
            continue
        repos.setdefault(repo.store.root, repo)
    return list(repos.values()), notes


# --- where it stands ---


def look(library: Library, target: Target, where: Where, folders: Iterable[Path]) -> Traces:
    """Look everywhere that is known from here.

    `folders` of this user hold texts that other programs read. Raises UnsupportedRepository.
    """
    repos, notes = repositories(library)
    parts = tuple(_in_repository(repo, target) for repo in repos)
    keys: set[str] = set()
    for part in parts:
        keys |= part.keys
        notes += part.notes
    options = library.options
    places = [options.state_dir, options.cache_dir, *_state_folders(repos)]
    return Traces(
        parts,
        tuple(own_files.files_holding(dict.fromkeys(places), target)),
        vectors.in_cache(options.cache_dir, keys),
        beside.files_beside(where, folders, target),
        tuple(_project_files(options.cwd, repos, target)),
        tuple(notes),
    )


def _state_folders(repos: Sequence[RepositorySession]) -> Iterator[Path]:
    """Where clones keep what is derived, those of linked worktrees included."""
    for repo in repos:
        common = repo.store.worktree.common_dir
        yield common / STATE_FOLDER
        yield from common.glob(f"worktrees/*/{STATE_FOLDER}")


def _in_repository(repo: RepositorySession, target: Target) -> RepositoryTraces:
    worktree, notes = repo.store.worktree, []
    objects, too_large = history.objects_holding(worktree, target.is_in, repo.options.progress)
    in_history = history.history_of(worktree, objects, too_large)
    if too_large:
        notes.append(f"{too_large} objects of {worktree.top} are too large to be looked into")
    repo.current()
    hidden = commits.filtered(worktree, {place.path for place in repo.catalog.locations()})
    if hidden:
        notes.append(
            f"{len(hidden)} files of {worktree.top} go through a filter of git, such as git-crypt: "
            "what git keeps of them cannot be looked into"
        )
    indexes, keys = _in_indexes(repo, target, notes)
    texts = vectors.texts_of(repo, in_history.paths, target)
    files = _files_now(worktree, target)
    paths = _paths_of_entry(worktree, in_history, target)
    copies = set[str]()
    if target.entry:
        of_entry = {file for file in files if target.is_stated(_content(worktree, file))}
        copies = {*files, *in_history.files} - {*paths, *of_entry}
    return RepositoryTraces(
        repo,
        tuple(file for file in files if file not in copies),
        in_history.without(copies),
        paths,
        tuple(sorted(copies)),
        _names(worktree, target),
        tuple(_words_of_git(worktree, target)),
        indexes,
        tuple(vectors.packs_holding(repo, texts, keys)),
        frozenset(vectors.keys_of(repo, texts, keys)),
        tuple(notes),
    )


def _names(worktree: Worktree, target: Target) -> tuple[str, ...]:
    """The refs that are named after it and, of a text, the files: those of an entry go with it."""
    if not target.words:
        return ()
    names = history.refs_named(worktree, target.words)
    if not target.entry:
        names += history.files_named(worktree, target.words)
    return names


def _files_now(worktree: Worktree, target: Target) -> list[str]:
    needles = list(target.needles)
    if target.entry:
        needles.append(f"id: {target.entry}".encode())
    return history.files_holding(worktree, needles)


def _content(worktree: Worktree, file: str) -> bytes:
    try:
        return (worktree.top / file).read_bytes()
    except OSError:
        return b""


def _paths_of_entry(worktree: Worktree, past: History, target: Target) -> tuple[str, ...]:
    """The paths that the entry ever had, with the code of a script, and records of its rejection."""
    if not target.entry:
        return ()
    paths: dict[str, None] = {}
    answers = plumbing.objects(worktree, list(past.paths), contents=True)
    for names, (_, data) in zip(past.paths.values(), answers, strict=True):
        for name in names:
            record = name.startswith(f"{worktree.prefix}.ai-lessons/rejected/")
            if target.is_stated(data) or record:
                paths[name] = None
            if target.is_stated(data) and f"/{Kind.SCRIPT.folder}/" in name:
                paths[name.removesuffix(".md")] = None
    return tuple(sorted(paths))


def _words_of_git(worktree: Worktree, target: Target) -> Iterator[Path]:
    for folder in {worktree.git_dir, worktree.common_dir}:
        for name in _WORDS_OF_GIT:
            file = folder / name
            if file.is_file() and target.is_in(file.read_bytes()):
                yield file


def _in_indexes(
    repo: RepositorySession, target: Target, notes: list[str]
) -> tuple[tuple[IndexTraces, ...], frozenset[str]]:
    """The tables that hold it, where an index is or was, and the keys of its vectors."""
    state = repo.store.state_dir
    used = repo.index.uri
    elsewhere = cache_folder(repo.options, state) / "tables"
    places, keys = list[IndexTraces](), frozenset[str]()
    for uri in dict.fromkeys((used, str(state / "index"), str(elsewhere))):
        try:
            versions = versions_holding(uri, target.texts, target.entry)
        except AiLessonsError as error:
            notes.append(error.message)
            continue
        if versions.holding:
            places.append(IndexTraces(uri, versions.holding, uri == used))
        keys |= versions.keys
    return tuple(places), keys


def _project_files(cwd: Path, repos: Sequence[RepositorySession], target: Target) -> list[str]:
    """Files of the code project around, if it is none of the repositories."""
    top = external_files.top_of(cwd)
    if top is None or any(repo.store.worktree.top == top for repo in repos):
        return []
    try:
        worktree = locate(top)
        files = history.files_holding(worktree, list(target.needles))
    except AiLessonsError:
        return []
    return [os.fspath(top / file) for file in files]
