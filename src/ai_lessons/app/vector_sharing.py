"""Vectors that travel with git: the packs that came, and those that this clone shares of its own.

A vector tells of its text. So it is shared only where the very bytes that it was made of stand in
the commit that others have: never of what is in no commit, lies outside the repository, or goes
through a filter of git (git-crypt).
"""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ai_lessons.app.index_places import (
    SUFFIX,
    GitPacks,
    family_of,
    left_packs,
    model_of,
    notes_folder,
)
from ai_lessons.errors import AiLessonsError, Unreachable
from ai_lessons.git import commits, files, plumbing, side_ref
from ai_lessons.git.network import Network
from ai_lessons.model.layout import blob_id
from ai_lessons.search.database import RefreshState
from ai_lessons.search.pack_files import JUDGED_PACKS, Judgements

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from ai_lessons.app.workspace import RepositorySession
    from ai_lessons.search.vector_packs import VectorPack

# A setting of git: `false` where this clone shares none.
# It is set where a remote takes no such ref.
SWITCH: Final = "ai-lessons.shareVectors"

MESSAGE: Final = "Vectors of passages in 8 bits, for ai-lessons. They can be computed again: delete this ref at will."
# New vectors are sent when they are a hundredth of what is there: a clone computes fewer by itself
PART: Final = 100
# All packs are written anew when one in three vectors is of a text that is gone, and so many are.
STALE, FEWEST_STALE = 3, 256

# Vectors of a pack that are compared with those that are here
COMPARED: Final = 64
# How often another clone may share first
TRIES: Final = 5


def refspec(repo: RepositorySession, remote: str) -> str:
    """What to fetch of a remote beside its branches, so that its vectors come."""
    return side_ref.refspec(remote, family_of(model_of(repo)))


def _place(repo: RepositorySession) -> Any:
    return repo.store.state_dir / "sync" / "vectors.json"


def _noted(repo: RepositorySession) -> dict[str, Any]:
    return files.read_json(_place(repo)) or {}


def _note(repo: RepositorySession, **values: str) -> None:
    files.write_json(_place(repo), _noted(repo) | values)


# --- what came ---


def fetch(repo: RepositorySession, remote: str) -> tuple[str, ...]:
    """Fetch the vectors of a remote alone, after a clone; why that failed, if it did."""
    beside = [refspec(repo, remote)]
    network = Network(
        repo.store.worktree, remote, ask=False, progress=repo.options.progress, beside=beside
    )
    try:
        network.fetch_beside()
    except Unreachable as error:
        return (f"its vectors did not come: {error.message}",)
    return ()


def take_in(repo: RepositorySession) -> tuple[str, ...]:
    """Fill in what came with the last fetch; what a reader should know of it."""
    packs = GitPacks(repo.store.worktree, model_of(repo))
    state = packs.state()
    if not state or _noted(repo).get("seen") == state:
        return ()
    try:
        done = repo.indexing.refresh(seconds=0)
    except AiLessonsError as error:
        # the next search says more
        return (f"the vectors that came cannot be used yet: {error.message}",)
    _note(repo, seen=state)
    sentences = [*done.notes, *left_packs(repo)]
    if done.embedded:
        passages = f"{repo.indexing.passages():,} passages were without one"
        sentences.insert(0, f"vectors came with git: {done.embedded:,} of {passages}")
    return tuple(sentences)


# --- what is shared ---


class Shelf(NamedTuple):
    """What a remote has: the commit, the blobs of the files that stay, and which of them are packs.

    `packs` are all that can be read and are not left; `joinable` those of them that agree with what
    is here.
    """

    commit: str | None
    blobs: Mapping[str, str]
    packs: Mapping[str, VectorPack]
    joinable: frozenset[str]

    def keys(self) -> set[str]:
        """Of which texts it has a vector."""
        keys: set[str] = set()
        for pack in self.packs.values():
            keys.update(pack.names())
        return keys


def share(
    repo: RepositorySession, remote: str, commit: str | None, *, ask: bool
) -> tuple[str, ...]:
    """Send the vectors that a remote lacks, which has this commit; what a reader should know of it.

    What does not get through is said, and stops nothing: vectors can be computed.
    """
    worktree = repo.store.worktree
    off = (plumbing.setting(worktree, SWITCH) or "").lower() in {"false", "no", "off", "0"}
    mark = RefreshState(notes_folder(repo)).mark()
    family = family_of(model_of(repo))
    if off or not mark or not commit:
        return ()
    now = f"{mark} {remote} {side_ref.tips(worktree, family).get(remote, '')}"
    noted = _noted(repo).get("shared", "")
    if noted in {now, f"{now} {commit}"}:
        return ()
    try:
        keys, held_back = _ours(repo, commit)
        beside = [refspec(repo, remote)]
        network = Network(worktree, remote, ask=ask, progress=repo.options.progress, beside=beside)
        sentences, tip = _send(repo, network, remote, keys) if keys else ((), "")
    except AiLessonsError as error:
        return (f"vectors were not sent: {error.message}",)
    end = tip or side_ref.tips(worktree, family).get(remote, "")
    # what is held back because it is in no commit yet is looked at again at the next one
    _note(repo, shared=f"{mark} {remote} {end}" + (f" {commit}" if held_back else ""))
    return sentences


def _ours(repo: RepositorySession, commit: str) -> tuple[set[str], bool]:
    """The keys of the vectors here that may be shared, and whether others are held back."""
    filled, _ = repo.index.keys()
    public = _public(repo, commit)
    keys = set()
    for entry, key in filled:
        if entry in public:
            keys.add(key)
    return keys, any(entry not in public for entry, _ in filled)


def _public(repo: RepositorySession, commit: str) -> set[str]:
    """The entries whose files stand in a commit byte for byte as they were read here, and in no filter."""
    worktree = repo.store.worktree
    stored = side_ref.files_at(worktree, commit)
    prefix, entries = worktree.prefix, dict[str, tuple[str, ...]]()
    for location in repo.catalog.locations():
        if location.hash is None:
            # its text lies outside the repository
            continue
        read = {location.path: location.hash}
        if location.side_path and location.side_hash:
            read[location.side_path] = location.side_hash
        if all(stored.get(prefix + path) == blob for path, blob in read.items()):
            entries[location.id] = tuple(read)
    hidden = commits.filtered(worktree, {path for paths in entries.values() for path in paths})
    results: set[str] = set()
    for entry, paths in entries.items():
        if hidden.isdisjoint(paths):
            results.add(entry)
    return results


def _send(
    repo: RepositorySession, network: Network, remote: str, keys: Collection[str]
) -> tuple[tuple[str, ...], str]:
    """Send what the remote lacks of these vectors.

    Sentences, and the commit that is there now (empty: not sent).
    """
    worktree, family = repo.store.worktree, family_of(model_of(repo))
    for tries in range(1, TRIES + 1):
        shelf = _shelf(repo, remote, keys)
        shared_keys = shelf.keys()
        new = repo.indexing.vectors.get(set(keys) - shared_keys)
        if not new or len(new) < len(shared_keys) // PART:
            return (), ""
        blobs, packs = _arranged(repo, shelf, new, _gone(repo, shared_keys))
        commit = side_ref.commit_of(worktree, blobs, packs, MESSAGE)
        network.progress(f"Sending vectors to {remote} ({len(new):,})", 0, 0)
        state, reason = network.replace(side_ref.remote_ref(family), commit, shelf.commit)
        if state == "done":
            judged = Judgements(notes_folder(repo) / JUDGED_PACKS)
            for data in packs.values():
                judged.note(blob_id(data), "")
            return ((f"vectors sent to {remote}: {len(new):,}",), commit)
        if state == "refused":
            plumbing.run(worktree, "config", SWITCH, "false")
            why = f"{remote} takes no vectors beside its branches, so each clone computes them: {reason}"
            return ((f"{why}; to try it again: git config --unset {SWITCH}",), "")
        time.sleep(random.random() * min(1.0, 0.1 * tries))  # noqa: S311 - only spreads the tries out
        network.fetch_beside()
    return ((f"vectors were not sent: others shared {TRIES} times meanwhile",), "")


def _shelf(repo: RepositorySession, remote: str, keys: Collection[str]) -> Shelf:
    """What a remote has as of the last fetch. What is damaged, or no pack, does not stay."""
    from ai_lessons.search.vector_packs import PACK_BYTES, PackDamaged, read_pack

    worktree, model = repo.store.worktree, model_of(repo)
    listed = side_ref.listed(worktree, remote, family_of(model))
    judged = Judgements(notes_folder(repo) / JUDGED_PACKS)
    blobs: dict[str, str] = {}
    packs: dict[str, VectorPack] = {}
    joinable: set[str] = set()
    for file in listed.files:
        if not file.name.endswith(SUFFIX) or file.size > PACK_BYTES:
            continue
        blobs[file.name] = file.blob
        if file.size < 0:
            continue
        try:
            pack = read_pack(next(side_ref.contents(worktree, [file.blob])))
        except PackDamaged as error:
            judged.note(file.blob, error.message)
            del blobs[file.name]
            continue
        if judged.of(file.blob):
            # whoever computes other vectors may be right: it stays for others
            continue
        if _agrees(repo, file.blob, pack, keys, judged):
            joinable.add(file.name)
        if not judged.of(file.blob) and pack.model == model:
            packs[file.name] = pack
    return Shelf(listed.commit, blobs, packs, frozenset(joinable & packs.keys()))


def _agrees(
    repo: RepositorySession, blob: str, pack: VectorPack, keys: Collection[str], judged: Judgements
) -> bool:
    """Whether a pack that is not left holds what is here, of the texts that both have."""
    from ai_lessons.search.shared_vectors import SAMPLE, differing

    if judged.of(blob) is not None:
        return True
    common = sorted(set(pack.names()).intersection(keys))
    # by chance: who makes a pack must not know which of its vectors are looked at
    chosen = random.SystemRandom().sample(common, min(COMPARED, len(common)))
    different = differing(pack.find(chosen), repo.indexing.vectors.get(chosen))
    if different:
        judged.note(
            blob,
            f"{different} of {len(chosen)} vectors in it are not those that were computed here",
        )
    elif len(chosen) >= min(SAMPLE, len(pack)):
        judged.note(blob, "")
    return not different and bool(chosen)


def _gone(repo: RepositorySession, shared_keys: Collection[str]) -> set[str]:
    """The keys of texts that no entry here has any more.

    None where they are few, or where that is not sure.
    """
    if repo.index.current(repo.indexing.generation) is None:
        return set()
    filled, lacking = repo.index.keys()
    gone = set(shared_keys).difference(key for _, key in (*filled, *lacking))
    if len(gone) >= FEWEST_STALE and STALE * len(gone) >= len(shared_keys):
        return gone
    return set()


def _arranged(
    repo: RepositorySession, shelf: Shelf, new: Mapping[str, bytes], gone: Collection[str]
) -> tuple[dict[str, str], dict[str, bytes]]:
    """The files that stay, with their blobs, and the new packs, by name."""
    from ai_lessons.search.missing_vectors import slices
    from ai_lessons.search.vector_packs import most_in_a_pack, pack_of, to_join

    dimensions = repo.index.dimensions
    most = most_in_a_pack(dimensions)
    sizes = {name: len(shelf.packs[name]) for name in shelf.joinable}
    if gone:
        joined = list(sizes)
    else:
        joined = to_join(sizes, len(new), most)
    vectors = dict(new)
    for name in joined:
        vectors |= shelf.packs[name].everything()
    for key in gone:
        vectors.pop(key, None)
    packs = dict[str, bytes]()
    for part in slices(sorted(vectors), most):
        data = pack_of(model_of(repo), dimensions, {key: vectors[key] for key in part})
        packs[blob_id(data) + SUFFIX] = data
    return {name: blob for name, blob in shelf.blobs.items() if name not in joined}, packs
