"""What was computed of a text: vectors in the cache of this user, and in the packs that clones share.

A vector tells of its text. It is known by the hash of the text that it was made of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.app.index_places import SUFFIX, model_of
from ai_lessons.errors import AiLessonsError
from ai_lessons.features.forget.own_files import VECTORS
from ai_lessons.git import plumbing, side_ref
from ai_lessons.model.chunks import split
from ai_lessons.search.missing_vectors import VectorCache
from ai_lessons.search.rows import embedded_text, vector_key
from ai_lessons.search.vector_packs import PackDamaged, read_pack

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from ai_lessons.app.workspace import RepositorySession
    from ai_lessons.features.forget.target import Target

_REFS = "refs/ai-lessons/remotes/"


class Packs(NamedTuple):
    """Packs of vectors of one model that came from a remote and hold such a vector."""

    remote: str
    family: str
    number: int

    @property
    def ref(self) -> str:
        """Where they are here."""
        return side_ref.local_ref(self.remote, self.family)

    @property
    def remote_ref(self) -> str:
        """Where they are on the remote."""
        return side_ref.remote_ref(self.family)


def texts_of(
    repo: RepositorySession, blobs: Mapping[str, tuple[str, ...]], target: Target
) -> set[str]:
    """What was embedded of the versions of files that hold it, as far as these are entries."""
    prefix = repo.store.worktree.prefix
    answers = plumbing.objects(repo.store.worktree, list(blobs), contents=True)
    texts: set[str] = set()
    for paths, (_, data) in zip(blobs.values(), answers, strict=True):
        for path in paths:
            if path.startswith(prefix):
                texts.update(_embedded(repo, path.removeprefix(prefix), data, target))
    return texts


def _embedded(repo: RepositorySession, path: str, data: bytes, target: Target) -> Iterator[str]:
    """The texts of an entry that are embedded; of another entry those alone that hold it."""
    try:
        entry = repo.parse(path, data)
    except AiLessonsError:
        return
    passages = split(entry, repo.reading_config.chunking)
    pieces = [(passage.heading, passage.text) for passage in passages] or [("", "")]
    for heading, text in pieces:
        whole = embedded_text(entry.title, heading, text)
        if target.is_stated(data) or target.is_in(whole.encode()):
            yield whole


def keys_of(repo: RepositorySession, texts: set[str], keys: frozenset[str]) -> set[str]:
    """The keys of these texts for the model of the settings, and further `keys`."""
    model = model_of(repo)
    return {vector_key(model, text) for text in texts} | keys


def in_cache(cache_dir: Path, keys: set[str]) -> int:
    """How many of these vectors the cache of this user has."""
    file = cache_dir / VECTORS
    if not keys or not file.exists():
        return 0
    cache = VectorCache(file)
    try:
        return len(cache.get(keys))
    finally:
        cache.close()


def forget(cache_dir: Path, keys: set[str]) -> None:
    """Remove these vectors from the cache of this user."""
    cache = VectorCache(cache_dir / VECTORS)
    try:
        cache.forget(keys)
    finally:
        cache.close()


def packs_holding(
    repo: RepositorySession, texts: set[str], keys: frozenset[str]
) -> Iterator[Packs]:
    """The packs that came with git and hold a vector of these texts, or of these keys."""
    worktree = repo.store.worktree
    refs = plumbing.run(worktree, "for-each-ref", "--format=%(refname)", _REFS)
    for ref in refs.text.splitlines():
        remote, family, _ = ref.removeprefix(_REFS).rsplit("/", 2)
        number = 0
        for file in side_ref.listed(worktree, remote, family).files:
            if file.name.endswith(SUFFIX) and file.size > 0:
                data = next(side_ref.contents(worktree, [file.blob]))
                number += _holds(data, texts, keys)
        if number:
            yield Packs(remote, family, number)


def _holds(data: bytes, texts: set[str], keys: frozenset[str]) -> bool:
    try:
        pack = read_pack(data)
    except PackDamaged:
        return False
    asked_for = {vector_key(pack.model, text) for text in texts} | keys
    return not asked_for.isdisjoint(pack.names())


def forget_packs(repo: RepositorySession, packs: Packs) -> None:
    """Let packs go that came from a remote. Those there stay, and come again with a fetch."""
    plumbing.run(repo.store.worktree, "update-ref", "-d", packs.ref)
