"""The history of rules without the git program, by way of dulwich: slower, the same answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dulwich.objects import Blob, Commit, ObjectID, Tree

from ai_lessons.errors import UnsupportedRepository
from ai_lessons.repository.approval.rule_files import TEXT_LIMIT, is_rule, is_watched
from ai_lessons.repository.approval.rule_history import Details, FileChange, RawCommit, person

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from dulwich.object_store import BaseObjectStore
    from dulwich.repo import Repo

_FOLDER = 0o040000
_FILES = frozenset((0o100644, 0o100755, 0o100664))
_OURS = (b"rules", b".ai-lessons")
_SHELF = frozenset((b"approvals", b"rejected", b"allowed_signers", b"allowed_signers.sig", b"config.yaml"))

Level = dict[bytes, tuple[int, ObjectID]]


def read_alone(repo: Repo, prefix: str, tips: Sequence[str], without: Sequence[str]) -> Iterator[RawCommit]:
    """The same as `read_with_git`, from objects.

    Raises:
        UnsupportedRepository: a commit is missing.
    """
    reader = _Reader(repo.object_store, prefix, frozenset(commit.decode() for commit in repo.get_shallow()))
    return reader.read(tips, without)


def read_blobs_alone(repo: Repo, blobs: Iterable[str]) -> dict[str, bytes]:
    """The contents of blobs up to `TEXT_LIMIT` bytes; longer and missing ones are left out."""
    found = {}
    for name in blobs:
        try:
            blob = repo.object_store[ObjectID(name.encode())]
        except KeyError:
            continue
        if isinstance(blob, Blob) and len(blob.data) <= TEXT_LIMIT:
            found[name] = blob.data
    return found


class _Reader:
    """One walk. Folders that hold no rules are compared by id and never opened."""

    def __init__(self, store: BaseObjectStore, prefix: str, shallow: frozenset[str]) -> None:
        self._store, self._prefix, self._shallow = store, prefix, shallow
        self._commits: dict[str, Commit] = {}

    def read(self, tips: Sequence[str], without: Sequence[str]) -> Iterator[RawCommit]:
        """Parents first."""
        old = self._reachable(without) if without else frozenset()
        for name in self._ordered(tips, old):
            yield self._raw(name)

    def _commit(self, name: str) -> Commit:
        found = self._commits.get(name)
        if found is None:
            try:
                loaded = self._store[ObjectID(name.encode())]
            except KeyError as error:
                raise UnsupportedRepository(f"commit {name} is missing from the history") from error
            if not isinstance(loaded, Commit):
                raise UnsupportedRepository(f"{name} is no commit")
            found = self._commits[name] = loaded
        return found

    def _parents(self, name: str) -> tuple[str, ...]:
        return () if name in self._shallow else tuple(parent.decode() for parent in self._commit(name).parents)

    def _reachable(self, tips: Sequence[str]) -> frozenset[str]:
        met, waiting = set(tips), list(tips)
        while waiting:
            fresh = [parent for parent in self._parents(waiting.pop()) if parent not in met]
            met.update(fresh)
            waiting.extend(fresh)
        return frozenset(met)

    def _ordered(self, tips: Sequence[str], old: frozenset[str]) -> Iterator[str]:
        """Depth first, each commit after its parents, without recursion: histories are longer than the stack."""
        done, waiting = set(old), [(tip, False) for tip in reversed(tips)]
        while waiting:
            name, ready = waiting.pop()
            if name in done:
                continue
            if ready:
                done.add(name)
                yield name
            else:
                waiting.append((name, True))
                waiting.extend((parent, False) for parent in self._parents(name) if parent not in done)

    def _raw(self, name: str) -> RawCommit:
        commit, parents = self._commit(name), self._parents(name)
        root = self._root(commit)
        before = [self._root(self._commit(parent)) for parent in parents] or [{}]
        changes = tuple(tuple(self._compare(old, root)) for old in before)
        true_parents = tuple(parent.decode() for parent in commit.parents)
        if len(true_parents) < 2 and not any(changes):
            return RawCommit(name, true_parents, None)
        changes += ((),) * (len(true_parents) - len(changes))
        author, _ = person(commit.author + b" 0 +0000")
        committer, _ = person(commit.committer + b" 0 +0000")
        message = commit.message.decode(errors="replace").strip()
        return RawCommit(name, true_parents, Details(author, committer, commit.commit_time, message, changes))

    def _root(self, commit: Commit) -> Level:
        """The top folder of the knowledge repository in a commit."""
        level = self._level(commit.tree)
        for part in self._prefix.split("/")[:-1]:
            mode, name = level.get(part.encode(), (0, commit.tree))
            level = self._level(name) if mode == _FOLDER else {}
        return level

    def _level(self, name: ObjectID) -> Level:
        found = self._store[name]
        return {item.path: (item.mode, item.sha) for item in found.items()} if isinstance(found, Tree) else {}

    def _compare(self, old: Level, new: Level) -> Iterator[FileChange]:
        for name in _different(old, new):
            inner_old, inner_new = self._folder(old.get(name)), self._folder(new.get(name))
            if name == b"rules":
                yield from self._files(b"rules/", inner_old, inner_new)
                continue
            for inner in _different(inner_old, inner_new):
                if (name == b".ai-lessons" and inner in _SHELF) or inner == b"rules":
                    path = name + b"/" + inner
                    yield from self._files(
                        path,
                        {b"": inner_old[inner]} if inner in inner_old else {},
                        {b"": inner_new[inner]} if inner in inner_new else {},
                    )

    def _folder(self, item: tuple[int, ObjectID] | None) -> Level:
        return self._level(item[1]) if item is not None and item[0] == _FOLDER else {}

    def _files(self, path: bytes, old: Level, new: Level) -> Iterator[FileChange]:
        for name in _different(old, new):
            here, before, after = path + name, old.get(name), new.get(name)
            text = here.decode(errors="replace")
            if is_rule(text) or is_watched(text):
                change = FileChange(text, _file(before), _file(after))
                if change.old != change.new:
                    yield change
            yield from self._files(here + b"/", self._folder(before), self._folder(after))


def _different(old: Mapping[bytes, object], new: Mapping[bytes, object]) -> list[bytes]:
    return sorted(name for name in {*old, *new} if old.get(name) != new.get(name))


def _file(item: tuple[int, ObjectID] | None) -> str | None:
    return item[1].decode() if item is not None and item[0] in _FILES else None
