"""Shares a repository: fetch, merge, push, and again if another clone was faster.

A rebase would flatten approvals.
"""

from __future__ import annotations

import os
import random
import re
import stat
import time
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache, partial
from pathlib import PurePosixPath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, NamedTuple

from dulwich.objects import Blob, ObjectID

from ai_lessons.errors import Conflict, InvalidEntry, NotFound, Refused, UnsupportedRepository
from ai_lessons.git import commit as git_commit
from ai_lessons.git import commits as git_commits
from ai_lessons.git import files, objects, plumbing
from ai_lessons.git.commit import FAST_FORWARD, Author, check_out, committing, unshared
from ai_lessons.git.files import READ_LIMIT, translated
from ai_lessons.git.objects import (
    EXECUTABLE,
    Draft,
    TreeEntry,
    Version,
    blob_of,
    changed,
    changed_each,
    opened,
    text_of,
    unified,
)
from ai_lessons.git.plumbing import Network
from ai_lessons.git.store import FOLDER, PROTECTED, BatchRecord
from ai_lessons.git.worktree import (
    HEADS,
    OTHERS,
    PROPOSALS,
    Worktree,
    branch_of,
    checked_out_at,
    cut_off,
    has_refs,
    proposal_refs,
    read_ref,
)
from ai_lessons.model import expression, layout
from ai_lessons.model.approval import stated_id
from ai_lessons.model.entries import HANDLE_LENGTH, Entry, handle, json_fields
from ai_lessons.model.frontmatter import read_entry
from ai_lessons.model.layout import is_markdown, slug
from ai_lessons.model.merge import WHOLE, merge_file

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from dulwich.repo import Repo

    from ai_lessons.git.store import Store

REMOVED: Final = "one side removed it, the other changed it"
IN_THE_WAY: Final = "a file on one side has the name of a folder on the other"
# of what both began with, of ours, of theirs
Trees = tuple[ObjectID, ...]
# of these three
Versions = tuple[Version, ...]


class MergeConflict(NamedTuple):
    """A file that cannot be merged.

    Its path, why, and what each side has (blob ids, None for no file).
    """

    path: str
    reasons: tuple[str, ...]
    base: str | None
    ours: str | None
    theirs: str | None


class MergePlan(NamedTuple):
    """The merged tree, None while a file conflicts.

    And the files that both sides changed and that were merged.
    """

    tree: ObjectID | None
    merged: tuple[str, ...]
    torn: tuple[MergeConflict, ...]


def plan(
    worktree: Worktree,
    repo: Repo,
    draft: Draft,
    trees: Trees,
    choose: Callable[[MergeConflict], str | None] = lambda _: None,
) -> MergePlan:
    """Merge trees. `choose` returns the side that a person chose for a conflict, or None.

    Raises StorageFailed.
    """
    trees, moved = _with_moves(worktree, repo, draft, trees)
    edits, unmerged = _merge_trees(worktree, trees)
    unmerged |= {path: versions for path, versions in moved.items() if None in versions}
    # where a file has the name of a folder, git's index has each of the two with no version of
    # another side
    alone = {
        path: theirs
        for path, (base, ours, theirs) in unmerged.items()
        if not base and not (ours and theirs)
    }
    changed_twice = {path: versions for path, versions in unmerged.items() if path not in alone}
    merged, reasons = _merge_files(worktree, repo, draft, changed_twice)
    edits |= merged
    conflicts = []
    for path, why in reasons.items():
        torn = MergeConflict(os.fsdecode(path), why, *map(blob_of, changed_twice[path]))
        take = choose(torn)
        edits[path] = changed_twice[path][1 if take == "ours" else 2]
        if take is None:
            conflicts += [torn]
    tree = draft.edit(trees[1], edits)
    for path, theirs in ((path, theirs) for path, theirs in alone.items() if theirs):
        in_the_way = MergeConflict(os.fsdecode(path), (IN_THE_WAY,), None, None, blob_of(theirs))
        if not _is_taken(draft, tree, path):
            edits[path] = theirs
        elif choose(in_the_way) != "ours":
            conflicts.append(in_the_way)
    result = None
    if not conflicts:
        result = draft.edit(trees[1], edits)
    names = {*merged, *moved} - reasons.keys()
    return MergePlan(result, tuple(sorted(map(os.fsdecode, names))), tuple(sorted(conflicts)))


def _merge_trees(
    worktree: Worktree, trees: Trees
) -> tuple[dict[bytes, Version], dict[bytes, Versions]]:
    """The changes from ours to the merge, and by path the versions (base, ours, theirs) that git cannot merge.

    By `read-tree` and not by `merge-tree`: docs/decisions.md, 9.
    """
    unmerged: dict[bytes, list[Version]] = {}
    with (
        translated("the index of a merge", writing=True),
        TemporaryDirectory(prefix="ai-lessons-merge-") as folder,
    ):
        index = {"GIT_INDEX_FILE": os.path.join(folder, "index")}
        flags = ("-i", "-m", "--aggressive", "--no-sparse-checkout")
        plumbing.output(worktree, "read-tree", *flags, *trees, extra=index)
        for row in plumbing.output(worktree, "ls-files", "--unmerged", "-z", extra=index).split(
            b"\0"
        )[:-1]:
            version, _, path = row.partition(b"\t")
            mode, blob, stage = version.split(b" ")
            unmerged.setdefault(path, [None, None, None])[int(stage) - 1] = (
                int(mode, 8),
                ObjectID(blob),
            )
        differing = changed(worktree, "--cached", trees[1], command="diff-index", extra=index)
    edits = {path: after for path, (_, after) in differing.items() if path not in unmerged}
    return edits, {path: tuple(versions) for path, versions in unmerged.items()}


def _with_moves(
    worktree: Worktree, repo: Repo, draft: Draft, trees: Trees
) -> tuple[Trees, dict[bytes, Versions]]:
    """The trees with each file at its new path that one side moved and the other touched, and the versions of these.

    A file that both moved is at the path of theirs.
    """
    # git reads from the disk
    draft.save()
    ours, theirs = changed_each(worktree, [(trees[0], side) for side in trees[1:]])
    our_moves, their_moves = (
        _moves(worktree, repo, ours, theirs),
        _moves(worktree, repo, theirs, ours),
    )
    edits: tuple[dict[bytes, Version], ...] = ({}, {}, {})
    moved = {}
    for path in sorted({*our_moves, *their_moves}):
        place = their_moves.get(path) or our_moves[path]
        names = (path, our_moves.get(path, path), their_moves.get(path, path))
        if any(
            name != place and _is_taken(draft, tree, place)
            for tree, name in zip(trees, names, strict=True)
        ):
            # then it is removed on one side and changed on the other
            continue
        moved[place] = tuple(
            draft.lookup(tree, name) for tree, name in zip(trees, names, strict=True)
        )
        for edit, name, version in zip(edits, names, moved[place], strict=True):
            if name != place and None not in moved[place]:
                edit.update({name: None, place: version})
    trees = tuple(
        draft.edit(tree, edit) if edit else tree for tree, edit in zip(trees, edits, strict=True)
    )
    draft.save()
    return trees, moved


def _moves(
    worktree: Worktree,
    repo: Repo,
    side: Mapping[bytes, tuple[Version, Version]],
    other: Mapping[bytes, tuple[Version, Version]],
) -> dict[bytes, bytes]:
    """The new paths of plain files that this side moved and the other touched.

    With the same id, or the same bytes.
    """
    inside = os.fsencode(worktree.prefix)
    gone = {}
    for path, (old, new) in side.items():
        if not new and path in other and path.startswith(inside):
            gone[path] = old
    if gone:
        added = {
            path: new for path, (old, new) in side.items() if not old and path.startswith(inside)
        }
    else:
        added = {}
    plain = {
        path: entry for path, entry in {**gone, **added}.items() if entry and stat.S_ISREG(entry[0])
    }
    texts = _texts(
        worktree,
        repo,
        ((path, entry) for path, entry in plain.items() if is_markdown(os.fsdecode(path))),
    )
    marks = {
        path: (blob in texts and stated_id(texts[blob])) or blob
        for path, (_, blob) in plain.items()
    }
    places = {marks[path]: path for path in added if path in marks}
    sources = {places.get(marks[path]): path for path in gone if path in marks}
    return {path: place for place, path in sources.items() if place}


def _texts(
    worktree: Worktree, repo: Repo, versions: Iterable[tuple[bytes, TreeEntry]]
) -> dict[ObjectID, bytes]:
    """The texts of files by blob, out of their filters.

    Without links, submodules and what is huge.
    """
    raw, paths = dict[str, bytes](), dict[str, str]()
    for path, (mode, blob) in versions:
        stored = None
        if stat.S_ISREG(mode):
            stored = repo.object_store[blob]
        if isinstance(stored, Blob) and len(stored.data) <= READ_LIMIT:
            raw[blob.decode()], paths[blob.decode()] = stored.data, _inside(worktree, path)
    return {
        ObjectID(blob.encode()): text
        for blob, text in git_commits.texts(worktree, paths, raw).items()
    }


def _inside(worktree: Worktree, path: bytes) -> str:
    return os.fsdecode(path).removeprefix(worktree.prefix)


def _merge_files(
    worktree: Worktree, repo: Repo, draft: Draft, changed_twice: Mapping[bytes, Versions]
) -> tuple[dict[bytes, TreeEntry], dict[bytes, tuple[str, ...]]]:
    """Files that both sides changed, merged, and the reasons of those that cannot be merged."""
    every = (
        (path, entry) for path, versions in changed_twice.items() for entry in versions if entry
    )
    texts = _texts(worktree, repo, every)
    made, reasons = dict[str, bytes](), dict[bytes, tuple[str, ...]]()
    for path, versions in changed_twice.items():
        base, ours, theirs = versions
        if ours is None or theirs is None:
            reasons[path] = (REMOVED,)
        elif any(
            entry and (not stat.S_ISREG(entry[0]) or entry[1] not in texts) for entry in versions
        ):
            reasons[path] = (WHOLE,)
        else:
            name = _inside(worktree, path)
            data, conflicts = merge_file(
                name, texts[base[1]] if base else None, texts[ours[1]], texts[theirs[1]]
            )
            if data is None:
                reasons[path] = conflicts
            else:
                made[name] = data
    blobs = objects.blobs(worktree, draft, made)
    merged = {
        path: (_mode(*versions), blobs[_inside(worktree, path)])
        for path, versions in changed_twice.items()
        if path not in reasons
    }
    return merged, reasons


def _mode(base: Version, ours: Version, theirs: Version) -> int:
    """The mode that one side changed; executable where neither is the base's."""
    modes = set()
    for entry in (ours, theirs):
        if entry and not (base and entry[0] == base[0]):
            modes.add(entry[0])
    if len(modes) == 1:
        return modes.pop()
    if base and not modes:
        return base[0]
    return EXECUTABLE


def _is_taken(draft: Draft, tree: ObjectID, path: bytes) -> bool:
    """Whether a file or folder has this path, or a file that of one of its folders."""
    parts = path.split(b"/")
    folders = []
    for depth in range(1, len(parts)):
        folders.append(draft.lookup(tree, b"/".join(parts[:depth])))
    return draft.lookup(tree, path) is not None or any(
        entry and not stat.S_ISDIR(entry[0]) for entry in folders
    )


class Decisions:
    """The side that a person chose for each conflict, in the state folder of this clone."""

    def __init__(self, state_dir: Path) -> None:
        self._file = state_dir / "sync" / "decisions.json"
        self.made: dict[str, str] = files.read_json(self._file) or {}

    def choose(self, torn: MergeConflict) -> str | None:
        """The chosen side (`ours`, `theirs`).

        None: no choice was made, or one side has changed since.
        """
        return self.made.get(choice_key(torn.ours, torn.theirs, torn.path))

    def note(self, torn: MergeConflict, take: str) -> None:
        """Remember a choice. Raises StorageFailed: it cannot be written."""
        self.made[choice_key(torn.ours, torn.theirs, torn.path)] = take
        files.write_json(self._file, self.made, durable=True)

    def forget(self, merge: str = "") -> None:
        """Drop all choices after their `merge`, which an undo may ask for."""
        if merge and self.made:
            files.write_json(self._file.with_name("settled.json"), {merge: self.made})
        self.made = {}
        self._file.unlink(missing_ok=True)

    def settled(self) -> dict[str, dict[str, str]]:
        """The choices that made a merge, by its id; only of the last one that any did."""
        return files.read_json(self._file.with_name("settled.json")) or {}


def choice_key(ours: str | None, theirs: str | None, path: str) -> str:
    """What a choice is noted by: two versions of a file."""
    return f"{ours} {theirs} {path}"


AGAIN: Final = "ai-lessons admin sync"


class RemoteBranch(NamedTuple):
    """A branch of a remote."""

    remote: str
    branch: str

    @property
    def tracking(self) -> str:
        """The remote-tracking branch as a full ref."""
        return f"refs/remotes/{self.remote}/{self.branch}"

    @property
    def name(self) -> str:
        """As git prints it: `origin/main`."""
        return f"{self.remote}/{self.branch}"


class Brought(NamedTuple):
    """The received commits, the files that both sides had changed, `head` now.

    With `torn` files nothing moved.

    `ahead`: the commits that the branch lacks which was merged, -1 where they were not counted.
    `notes`: why the merge is not signed.
    """

    head: str | None
    received: int = 0
    merged: tuple[str, ...] = ()
    torn: tuple[MergeConflict, ...] = ()
    notes: tuple[str, ...] = ()
    ahead: int = -1


@json_fields(hidden=("our_diff", "their_diff"))
class EntryConflict(NamedTuple):
    """A file with a conflict; the diffs begin with the common text."""

    # a handle, else the path
    id: str
    title: str
    path: str
    reasons: tuple[str, ...]
    # None for no such file, or one that is no text
    ours: str | None
    theirs: str | None
    # empty where the side has no such file
    our_diff: str = ""
    their_diff: str = ""


def where(store: Store, remote: str | None = None) -> RemoteBranch:
    """The remote branch of the checked-out one.

    Raises Refused (in a bigger repository), Conflict, NotFound.
    """
    if store.is_folder_of_bigger_repo:
        raise Refused(
            (
                f"{store.root} is a folder of the repository at {store.worktree.top}, which "
                "is shared as a whole"
            ),
            hint=f"git pull, commit and push there: git -C {store.worktree.top} status",
        )
    worktree, name = store.worktree, branch(store)
    remotes = plumbing.remotes(worktree)
    configured = plumbing.setting(worktree, f"branch.{name}.remote")
    if remote is None and configured in remotes:
        remote = configured
    usual = plumbing.setting(worktree, "clone.defaultRemoteName")
    remote = remote or (
        remotes[0] if len(remotes) == 1 else usual if usual in remotes else "origin"
    )
    if remote not in remotes:
        add = f"git -C {worktree.root} remote add origin ADDRESS"
        if not remotes:
            hint = add
        else:
            hint = "--remote takes one of: " + ", ".join(remotes)
        raise NotFound("remote", remote, hint=hint)
    merge = None
    if remote == configured:
        merge = plumbing.setting(worktree, f"branch.{name}.merge")
    return RemoteBranch(remote, (merge or name).removeprefix("refs/heads/"))


_PUSHES: Final = expression(
    r"push\.default|remote\.pushdefault|remote\..*\.push|branch\..*\.pushremote"
)


def destination(store: Store, place: RemoteBranch) -> RemoteBranch:
    """Where git would push the checked-out branch (`pushRemote`, `remote.pushDefault`, `@{push}`)."""
    name = branch(store)
    if not any(_PUSHES.fullmatch(key) for key in plumbing.settings(store.worktree)):
        return place
    done = plumbing.run(
        store.worktree, "for-each-ref", "--format=%(push:remotename) %(push)", HEADS + name
    )
    remote, _, tracking = done.text.partition(" ")
    if remote == place.remote:
        usual = place.branch
    else:
        usual = name
    if remote:
        return RemoteBranch(remote, tracking.removeprefix(f"refs/remotes/{remote}/") or usual)
    return place


def branch(store: Store) -> str:
    """The branch that is checked out.

    Raises Conflict: none is, or a merge or the like is under way.
    """
    reason = objects.busy(store.worktree)
    if reason:
        raise Conflict(reason)
    ref = store.head().ref
    if ref is None:
        raise Conflict("HEAD is detached, so there is no branch to share", hint="git switch main")
    return ref.removeprefix(HEADS)


def bring(store: Store, place: RemoteBranch) -> Brought:
    """Merge the fetched branch, or nothing.

    Raises Conflict, UnsavedEdits, Refused, StorageFailed.
    """
    with committing(store), store.writing():
        branch(store)
        head, tip = store.head().commit, read_ref(store.worktree, place.tracking)
        if tip is None or tip == head:
            return Brought(head)
        if head:
            bases = _bases(store, head, tip)
        else:
            bases = []
        if head and ObjectID(tip.encode()) in bases:
            if (
                not store.protected
                or plumbing.run(store.worktree, "diff-tree", "--quiet", head, tip).code
            ):
                return Brought(head)
            _drop_ours(store, place, head, tip)
            return Brought(tip)
        decisions = Decisions(store.state_dir)
        if head is None or ObjectID(head.encode()) in bases:
            target, merged, notes = tip, tuple[str, ...](), tuple[str, ...]()
        else:
            with opened(store.worktree) as repo:
                draft = Draft(repo)
                made = _plan(store, repo, draft, place, head, tip, decisions, bases)
                if made.tree is None:
                    return Brought(head, torn=made.torn)
                if made.tree == draft.tree_of(ObjectID(tip.encode())) and _adds_nothing(
                    store, decisions, head, tip
                ):
                    received = count(store, tip, head)
                    # they came there as a squash or a rebase
                    _drop_ours(store, place, head, tip)
                    decisions.forget()
                    return Brought(tip, received)
                # approval reads this message: without "into BRANCH" it would claim a merge into the
                # approval branch
                message = f"Merge remote-tracking branch '{place.name}' into {branch(store)}\n"
                author = Author(store.worktree)
                target, merged = author.write(draft, made.tree, (head, tip), message), made.merged
                notes = author.notes
        received, ahead = _apart(store, head, tip)
        check_out(store.worktree, place.name, *FAST_FORWARD, target, log="sync")
        decisions.forget(target if target != tip else "")
        return Brought(target, received, merged, notes=notes, ahead=ahead + (target != tip))


def torn_now(store: Store, place: RemoteBranch) -> tuple[EntryConflict, ...]:
    """The files that conflict with the remote's branch as it was fetched last."""
    with opened(store.worktree) as repo:
        results = []
        for torn in _torn(store, repo, place):
            results.append(_entry(store, repo, torn))
        return tuple(results)


def _torn(store: Store, repo: Repo, place: RemoteBranch) -> tuple[MergeConflict, ...]:
    head, tip = store.head().commit, read_ref(store.worktree, place.tracking)
    if not (head and tip):
        return ()
    return _plan(
        store,
        repo,
        Draft(repo),
        place,
        head,
        tip,
        Decisions(store.state_dir),
        _bases(store, head, tip),
    ).torn


def _entry(store: Store, repo: Repo, torn: MergeConflict) -> EntryConflict:
    path, blobs = torn.path, (torn.base, torn.ours, torn.theirs)
    inside = path.removeprefix(store.prefix)
    base, ours, theirs = (
        text_of(store.worktree, repo, inside, blob) if blob else None for blob in blobs
    )
    entry = _read(path, ours) or _read(path, theirs)
    return EntryConflict(
        id=handle(entry.kind, entry.id, HANDLE_LENGTH) if entry and not entry.derived else path,
        title=entry.title if entry else path.rpartition("/")[2],
        path=path,
        reasons=torn.reasons,
        ours=_text(ours),
        theirs=_text(theirs),
        our_diff="" if ours is None else unified(path, base, ours),
        their_diff="" if theirs is None else unified(path, base, theirs),
    )


def _text(data: bytes | None) -> str | None:
    try:
        if data is None:
            return None
        return data.decode()
    except UnicodeDecodeError:
        return None


def _read(path: str, data: bytes | None) -> Entry | None:
    """The entry of a text at its path; None for no entry, or one that cannot be read."""
    try:
        return read_entry(path, data) if data is not None and layout.place(path) else None
    except InvalidEntry:
        return None


def decide(store: Store, place: RemoteBranch, path: str, take: str) -> Brought:
    """Note which side of a conflict to take (`ours`, `theirs`); after the last choice, merge.

    Raises as `bring`; NotFound: no conflict.
    """
    with opened(store.worktree) as repo:
        torn = next((torn for torn in _torn(store, repo, place) if torn.path == path), None)
    if torn is None:
        raise NotFound("conflict", path)
    Decisions(store.state_dir).note(torn, take)
    return bring(store, place)


def _plan(
    store: Store,
    repo: Repo,
    draft: Draft,
    place: RemoteBranch,
    head: str,
    tip: str,
    decisions: Decisions,
    bases: Sequence[ObjectID],
) -> MergePlan:
    if not bases:
        if (store.worktree.common_dir / "shallow").exists():
            raise UnsupportedRepository(
                (
                    "this clone is shallow: the commit that it has in common with "
                    f"{place.name} is not in it"
                ),
                hint=f"git fetch --unshallow {place.remote}, then: {AGAIN}",
            )
        raise Refused(
            (
                f"{place.name} and this branch have no commit in common: they are two "
                "different repositories"
            ),
            hint=f"if they belong together: git merge --allow-unrelated-histories {place.name}",
        )
    base = draft.tree_of(bases[0])
    for other in bases[1:]:
        # histories that cross: their base is the merge of both bases, as in git's own strategy
        older = _bases(store, bases[0].decode(), other.decode())
        sides = None
        if older:
            sides = (draft.tree_of(older[0]), base, draft.tree_of(other))
        common = None
        if sides:
            common = plan(store.worktree, repo, draft, sides)
        if common is None or common.tree is None:
            raise Conflict(
                (
                    f"the histories of {place.name} and this branch cross, and their common "
                    "ground is in conflict itself"
                ),
                hint=f"merge it by hand, once: git merge {place.name}",
            )
        base = common.tree
    ours, theirs = (draft.tree_of(ObjectID(commit.encode())) for commit in (head, tip))
    return plan(store.worktree, repo, draft, (base, ours, theirs), decisions.choose)


def _bases(store: Store, commit: str, other: str) -> list[ObjectID]:
    bases: list[ObjectID] = []
    for base in _bases_of(store.worktree, commit, other, cut_off(store.worktree)):
        bases.append(ObjectID(base))
    return bases


@lru_cache(maxsize=4)
def _bases_of(worktree: Worktree, commit: str, other: str, _cut: str) -> tuple[bytes, ...]:
    done = plumbing.run(worktree, "merge-base", "--all", commit, other)
    if not done.code:
        return tuple(done.out.split())
    return ()


def count(store: Store, tip: str, without: str | None) -> int:
    """How many commits `tip` has that `without` has not."""
    done = plumbing.run(
        store.worktree, "rev-list", "--count", tip, *([f"^{without}"] if without else [])
    )
    if done.text.isdigit():
        return int(done.text)
    return 0


def _apart(store: Store, head: str | None, tip: str) -> tuple[int, int]:
    """How many commits `tip` has that `head` has not, and the other way round."""
    if head is None:
        return count(store, tip, None), 0
    ours, _, theirs = plumbing.run(
        store.worktree, "rev-list", "--left-right", "--count", f"{head}...{tip}"
    ).text.partition("\t")
    return int(theirs or 0), int(ours or 0)


def _adds_nothing(store: Store, decisions: Decisions, head: str, tip: str) -> bool:
    """Whether our commits, whose text the remote has, may be dropped for the remote's."""
    # A merge may be an approval, and a decided conflict shows what was not taken: both are kept and
    # sent, unless the branch is protected, so that they cannot be sent.
    merges = plumbing.run(store.worktree, "rev-list", "--merges", head, f"^{tip}").text
    return store.protected or not (decisions.made or merges)


def _move(store: Store, place: RemoteBranch, target: str) -> None:
    """Let branch, index and files be those of any commit, with the same checks."""
    move = ("checkout", "--quiet", "--no-overwrite-ignore", "-B", branch(store), target)
    check_out(store.worktree, place.name, *move, log="sync")


def _drop_ours(store: Store, place: RemoteBranch, head: str, tip: str) -> None:
    """Move the branch to the remote's, which has all that our commits say."""
    dropped = plumbing.run(store.worktree, "rev-list", head, f"^{tip}").text.split()
    _move(store, place, tip)
    store.journal.settle(BatchRecord(tip, {}))
    if store.dropped:
        # else approval would take this for a history that somebody rewrote
        store.dropped(HEADS + branch(store), dropped, tip)


# Our side of a conflict is a branch below this
CONFLICTS: Final = "conflict/"
_KEEP: Final = "sync: keep our side"

# How often another clone may push first
TRIES: Final = 50
# GitHub, GitLab, Bitbucket and Gitea, Azure, Gerrit
_PROTECTED_BRANCH: Final = expression(
    (
        r"protected|GH006|pull request|merge request|not allowed to push|not "
        r"permitted|restricted|prohibited"
    ),
    re.IGNORECASE,
)


class Synced(NamedTuple):
    """The result of a sync.

    With `conflicts` nothing was merged, and our side is on the branch `kept`.
    """

    remote: str
    branch: str
    # commits, as `sent`
    received: int = 0
    sent: int = 0
    # files that both sides had changed
    merged: tuple[str, ...] = ()
    # branches that were sent; `arrived` are new here
    proposals: tuple[str, ...] = ()
    arrived: tuple[str, ...] = ()
    # proposals that the remote or a hook refused
    unsent: tuple[str, ...] = ()
    commit: str | None = None
    conflicts: tuple[EntryConflict, ...] = ()
    kept: str = ""
    notes: tuple[str, ...] = ()

    @property
    def place(self) -> RemoteBranch:
        """The remote's branch."""
        return RemoteBranch(self.remote, self.branch)


@plumbing.online()
def sync(
    store: Store,
    *,
    remote: str | None = None,
    ask: bool = False,
    take: str = "",
    proposals: Callable[[], Mapping[str, str]] = dict,
    progress: Callable[[str, int, int], object] = lambda *_: None,
    beside: Callable[[str], Sequence[str]] = lambda _: (),
) -> Synced:
    """Fetch, merge and push, until both sides are the same or a file needs a person.

    `ask`: a person is at the terminal. `take`: `theirs`, where the remote's branch was rewritten or
    renamed; nothing is merged or pushed then without it. `proposals` returns the open proposal
    branches here, with their commits. `progress` gets the step, the amount done, and the whole
    amount (0: not known). `beside` names for a remote what to fetch beside its branches. Raises as
    `where` and `bring`; Unreachable; Refused: by the remote. Conflict: others pushed first too
    often.
    """
    place = where(store, remote)
    if remote:
        to = place
    else:
        to = destination(store, place)
    network_of = partial(Network, store.worktree, ask=ask, progress=progress)
    networks = []
    for name in {place.remote: 0, to.remote: 0}:
        networks.append(network_of(name, beside=beside(name)))
    so_far, upstream = Synced(*place, notes=store.save().messages), Upstream(store)
    upstream.look(place, to)
    for tries in range(1, TRIES + 1):
        for network in networks:
            network.fetch()
        source, followed = upstream.check(networks[0], place, take)
        place, to = source, source if to == place else upstream.check(networks[-1], to, take)[0]
        so_far, brought = _bring_each(store, (place, to), so_far)
        so_far = so_far._replace(arrived=upstream.arrived(), notes=(*so_far.notes, *followed))
        local_proposals = proposals()
        unpushed, diverged = _unpushed_proposals(store, to.remote, local_proposals, upstream)
        # each try looks anew at what diverged
        result = so_far._replace(notes=(*so_far.notes, *diverged))
        if brought.torn:
            return _keep(store, networks[-1], result, brought, unpushed)
        result = result._replace(remote=place.remote, branch=place.branch)
        synced = _push(
            store, networks[-1], result, to, unpushed, brought.ahead if to == place else -1
        )
        upstream.note(local_proposals, place, to)
        if synced is not None:
            return synced._replace(notes=(*synced.notes, *unshared(store)))
        time.sleep(random.random() * min(1.0, 0.1 * tries))  # noqa: S311 - only spreads the tries out
    raise Conflict(f"{to.name} moved {TRIES} times while we pushed", hint=f"try again: {AGAIN}")


def _bring_each(
    store: Store, places: Iterable[RemoteBranch], so_far: Synced
) -> tuple[Synced, Brought]:
    """Merge these branches in turn, up to one that conflicts.

    All that came in so far, and the last of them.
    """
    for place in dict.fromkeys(places):
        brought = bring(store, place)
        merged = tuple(dict.fromkeys((*so_far.merged, *brought.merged)))
        received, notes = so_far.received + brought.received, (*so_far.notes, *brought.notes)
        so_far = Synced(*place, received, merged=merged, commit=brought.head, notes=notes)
        if brought.torn:
            break
    return so_far, brought


def _push(
    store: Store,
    network: Network,
    so_far: Synced,
    to: RemoteBranch,
    proposals: Mapping[str, str],
    ahead: int,
) -> Synced | None:
    """Push what the remote lacks (so many commits; -1: to be counted).

    None if another clone pushed first.
    """
    place, head = so_far.place, so_far.commit
    target = HEADS + to.branch
    remote_tip = read_ref(store.worktree, to.tracking)
    if head and head != remote_tip:
        ours = {target: head}
    else:
        ours = {}
    commits = 0
    if ours and head:
        if ahead >= 0:
            commits = ahead
        else:
            commits = count(store, head, remote_tip or read_ref(store.worktree, place.tracking))
    if ours or proposals:
        network.progress(
            f"Sending to {to.remote} (commits: {commits:,}, proposals: {len(proposals):,})", 0, 0
        )
    results = network.push({**ours, **proposals})
    state, reason = results.get(target, ("done", ""))
    refused = {}
    for ref, tip in proposals.items():
        if results[ref][0] == "refused":
            refused[ref] = tip
    if state == "refused" and refused:
        # a hook may have refused all because of one of them
        results |= network.push(ours) | network.push(refused)
        state, reason = results[target]
    if state == "late":
        return None
    name = branch(store)
    sent, unsent, failed = _names(proposals, results)
    so_far = so_far._replace(proposals=sent, unsent=unsent, notes=(*so_far.notes, *failed))
    if state == "refused":
        return _without_push(store, so_far, to, remote_tip, reason)
    notes = so_far.notes
    if ours:
        _protect(store, name, protected=False)
    # plain `git pull` and `git push` know it then
    if plumbing.setting(store.worktree, f"branch.{name}.remote") is None:
        plumbing.run(store.worktree, "config", f"branch.{name}.remote", place.remote)
        plumbing.run(store.worktree, "config", f"branch.{name}.merge", HEADS + place.branch)
    if to != place and ours:
        notes = (*notes, f"what was sent is on {to.name}")
    return so_far._replace(sent=commits, notes=(*notes, *_clear(store, network, to)))


def _without_push(
    store: Store, so_far: Synced, to: RemoteBranch, remote_tip: str | None, reason: str
) -> Synced:
    """The result where the remote takes no push to the branch and we have only events for it.

    Ours are dropped.

    Raises Refused: there is more, which a person has to bring there another way.
    """
    name, head = branch(store), so_far.commit
    only_events = to == so_far.place and remote_tip and _only_events(store, remote_tip)
    if only_events or _PROTECTED_BRANCH.search(reason.partition("; ")[0]):
        _protect(store, name, protected=True)
    if not (only_events and remote_tip and head):
        if so_far.proposals:
            sent = f"; proposals were sent: {', '.join(so_far.proposals)}"
        else:
            sent = ""
        if reason.startswith(plumbing.PRE_PUSH):
            raise Refused(f"{to.name} was not pushed: {reason}{sent}", hint=f"then again: {AGAIN}")
        raise Refused(
            f"{to.remote} does not take pushes to {to.branch}: {reason}{sent}",
            hint=f"push another branch and open a pull request: git push {to.remote}"
            f" {name}:refs/heads/from-{name}; proposals of rules have branches of their own",
        )
    with committing(store), store.writing():
        _drop_ours(store, to, head, remote_tip)
    note = (
        f"{to.name} takes no pushes: nothing is committed on {name} from now on, events stay here"
    )
    return so_far._replace(commit=remote_tip, notes=(*so_far.notes, note))


def _only_events(store: Store, remote_tip: str) -> bool:
    """Whether all that the branch has beyond the remote's are recorded events, which this clone keeps anyway."""
    paths = changed(store.worktree, remote_tip, "HEAD")
    return all(path.startswith(os.fsencode(f"{store.prefix}{FOLDER}/")) for path in paths)


def _protect(store: Store, name: str, *, protected: bool) -> None:
    """Note in git's settings that the remote takes no pushes to a branch, or that it does."""
    names = dict.fromkeys((plumbing.setting(store.worktree, PROTECTED) or "").split())
    if protected and name not in names:
        plumbing.run(store.worktree, "config", PROTECTED, " ".join((*names, name)))
    elif not protected and names.pop(name, 0) is None:
        plumbing.run(
            store.worktree,
            "config",
            *((PROTECTED, " ".join(names)) if names else ("--unset", PROTECTED)),
        )


def _keep(
    store: Store, network: Network, so_far: Synced, brought: Brought, proposals: Mapping[str, str]
) -> Synced:
    """Keep our side of a conflict on a branch of its own, here and on the remote."""
    head = brought.head or ""
    name = keep(store.worktree, head, brought.torn)
    remote_tip = read_ref(store.worktree, f"refs/remotes/{so_far.place.remote}/{name}")
    if remote_tip == head:
        wishes = proposals
    else:
        wishes = {HEADS + name: head, **proposals}
    sent, unsent, failed = _names(wishes, network.push(wishes))
    return so_far._replace(
        conflicts=torn_now(store, so_far.place),
        kept=name,
        proposals=tuple(branch for branch in sent if branch != name),
        unsent=unsent,
        notes=(*so_far.notes, *failed),
    )


def _names(
    targets: Iterable[str], results: Mapping[str, tuple[str, str]]
) -> tuple[tuple[str, ...], ...]:
    """The branches that were pushed, those that were refused, and a sentence about each that was not pushed."""
    by_name = {}
    for target in targets:
        by_name[target.removeprefix(HEADS)] = results[target]
    pushed, refused = (
        tuple(n for n, (state, _) in by_name.items() if state == s) for s in ("done", "refused")
    )
    return (
        pushed,
        refused,
        tuple(f"{n} was not pushed: {why}" for n, (s, why) in by_name.items() if s != "done"),
    )


def _unpushed_proposals(
    store: Store, remote: str, proposals: Mapping[str, str], upstream: Upstream
) -> tuple[dict[str, str], list[str]]:
    """Open proposals that are newer than the remote's, and notes on diverged ones.

    Older local branches are moved.
    """
    wishes, notes = dict[str, str](), []
    for name, commit in proposals.items():
        remote_tip = read_ref(store.worktree, f"refs/remotes/{remote}/{name}")
        if remote_tip == commit:
            continue
        if remote_tip is None and upstream.had(RemoteBranch(remote, name)):
            notes.append(
                f"{name} was deleted on {remote} and is not sent again; to delete it "
                f"here: git branch -D {name}"
            )
        elif remote_tip is None or plumbing.is_ancestor(store.worktree, remote_tip, commit):
            wishes[HEADS + name] = commit
        elif not plumbing.is_ancestor(store.worktree, commit, remote_tip):
            notes.append(f"{name} says something else here than on {remote}")
        elif not checked_out_at(store.worktree, HEADS + name):
            plumbing.run(
                store.worktree, "update-ref", "-m", "sync", HEADS + name, remote_tip, commit
            )
    return wishes, notes


def _clear(store: Store, network: Network, place: RemoteBranch) -> tuple[str, ...]:
    """Delete the branches of conflicts that are settled and shared."""
    tip = read_ref(store.worktree, place.tracking)
    settled = {
        name: commit
        for name, commit in kept(store.worktree).items()
        if tip and plumbing.is_ancestor(store.worktree, commit, tip)
    }
    if settled:
        on_remote = kept(store.worktree, place.remote)
    else:
        on_remote = {}
    wishes = {HEADS + name: "" for name, commit in settled.items() if on_remote.get(name) == commit}
    results = network.push(wishes)
    for name, commit in settled.items():
        if not checked_out_at(store.worktree, HEADS + name):
            # git checks that it is still at that commit
            plumbing.run(store.worktree, "update-ref", "-d", HEADS + name, commit)
    return _names(wishes, results)[2]


def keep(worktree: Worktree, head: str, torn: Sequence[MergeConflict]) -> str:
    """The branch that keeps our side `head`: that of an earlier sync, moved on, or a new one.

    Raises Conflict.
    """
    for name, commit in kept(worktree).items():
        if commit == head:
            return name
        if plumbing.is_ancestor(worktree, commit, head) and not checked_out_at(
            worktree, HEADS + name
        ):
            git_commit.point(worktree, HEADS + name, commit, head, _KEEP)
            return name
    name = _dated(CONFLICTS, PurePosixPath(torn[0].path).stem)
    git_commit.point(worktree, HEADS + name, None, head, _KEEP)
    return name


def _dated(prefix: str, text: str) -> str:
    return f"{prefix}{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{slug(text)}"


def kept(worktree: Worktree, remote: str | None = None) -> dict[str, str]:
    """Branches that keep a side of a conflict, here or on a remote as of the last fetch, with their commits."""
    if remote:
        start = f"refs/remotes/{remote}/"
    else:
        start = HEADS
    if not has_refs(worktree, start + CONFLICTS):
        return {}
    done = plumbing.run(
        worktree, "for-each-ref", "--format=%(refname) %(objectname)", start + CONFLICTS
    )
    rows = []
    for line in done.text.splitlines():
        rows.append(line.split(" "))
    by_key: dict[str, str] = {}
    for ref, commit in rows:
        by_key[ref.removeprefix(start)] = commit
    return by_key


class Upstream:
    """The branches of remotes as this clone last saw them.

    What was erased or deleted there since stays so.
    """

    def __init__(self, store: Store) -> None:
        self._store, self._file = store, store.state_dir / "sync" / "seen.json"
        self._seen: dict[str, str] = files.read_json(self._file) or {}
        self._proposals = frozenset(proposal_refs(store.worktree))
        self._before: dict[RemoteBranch, set[str]] = {}

    def look(self, *places: RemoteBranch) -> None:
        """See, before a fetch, which commits the branches had."""
        for place in places:
            commits = {
                self._seen.get(place.name, ""),
                read_ref(self._store.worktree, place.tracking) or "",
            }
            if place.name not in self._seen:
                # somebody may have fetched by hand
                with suppress(OSError):
                    log = (self._store.worktree.common_dir / "logs" / place.tracking).read_text(
                        errors="replace"
                    )
                    commits |= {
                        commit for line in log.splitlines() for commit in line.split(" ")[:2]
                    }
            self._before[place] = {commit for commit in commits if commit.strip("0")}

    def had(self, place: RemoteBranch) -> bool:
        """Whether the remote had this branch of a proposal."""
        return place.name in self._seen or place.tracking in self._proposals

    def arrived(self) -> tuple[str, ...]:
        """The branches of proposals that are new here."""
        now = set()
        for ref in proposal_refs(self._store.worktree):
            now.add(branch_of(ref))
        return tuple(sorted(now.difference(map(branch_of, self._proposals))))

    def check(
        self, network: Network, place: RemoteBranch, take: str
    ) -> tuple[RemoteBranch, tuple[str, ...]]:
        """The branch to share with after a fetch, and notes.

        Raises Conflict: it was rewritten or deleted. With `theirs` ours is kept on a branch, and
        theirs is taken.
        """
        worktree, head, name = self._store.worktree, self._store.head().commit, branch(self._store)
        tip = read_ref(worktree, place.tracking)
        if tip is None:
            return self._follow(network, place, take)
        before, self._before[place] = self._before[place], self._before[place] | {tip}
        if head is None or not before - {tip}:
            return place, ()
        if before - {tip} <= {base.decode() for base in _bases(self._store, head, tip)}:
            return place, ()
        gone = sorted(
            before & set(plumbing.run(worktree, "rev-list", head, f"^{tip}").text.split())
        )
        if not gone or (cut_off(worktree) and not _bases(self._store, gone[0], tip)):
            return place, ()
        what = f"{place.name} was rewritten: commit {gone[0][:10]}, which it had, is not in it any more"
        if take != "theirs":
            hint = f"{AGAIN} --take theirs keeps yours on a branch here; to see what went: git log {place.name}..{name}"
            raise Conflict(f"{what}; nothing was merged or sent", hint=hint)
        kept = f"{_dated('kept/', name)}-{head[:7]}"
        with committing(self._store), self._store.writing():
            git_commit.point(worktree, HEADS + kept, None, head, _KEEP)
            _move(self._store, place, tip)
        return place, (
            f"{what}; yours is on {kept}, which is not sent; to delete it: git branch -D {kept}",
        )

    def _follow(
        self, network: Network, place: RemoteBranch, take: str
    ) -> tuple[RemoteBranch, tuple[str, ...]]:
        """The branch that a deleted one was renamed to.

        A first push deletes nothing: then it is `place`.
        """
        worktree, name, remote_branches = (
            self._store.worktree,
            branch(self._store),
            f"refs/remotes/{place.remote}/",
        )
        settings = []
        for key in ("remote", "merge"):
            settings.append(plumbing.setting(worktree, f"branch.{name}.{key}"))
        refs = plumbing.run(
            worktree, "for-each-ref", "--format=%(refname)", remote_branches
        ).text.split()
        families = ("HEAD", PROPOSALS, OTHERS, CONFLICTS)
        if all(ref.removeprefix(remote_branches).startswith(families) for ref in refs):
            return place, ()
        if not self._before[place] and settings != [place.remote, HEADS + place.branch]:
            return place, ()
        if self._before[place]:
            since = " any more"
        else:
            since = ""
        main, what = (
            network.main_branch(),
            f"{place.remote} has no branch {place.branch}{since}; nothing was sent",
        )
        again = f"to make it again: git push {place.remote} {name}:{place.branch}"
        if not main or read_ref(worktree, HEADS + main):
            raise Conflict(what, hint=f"git switch {main}; {again}" if main else again)
        if take != "theirs":
            raise Conflict(
                f"{what}; its main branch is {main}",
                hint=f"{AGAIN} --take theirs renames yours, too; {again}",
            )
        renamed = RemoteBranch(place.remote, main)
        plumbing.run(worktree, "branch", "-m", name, main)
        plumbing.run(worktree, "config", f"branch.{main}.remote", place.remote)
        plumbing.run(worktree, "config", f"branch.{main}.merge", HEADS + main)
        self._before[renamed] = self._before[place]
        place, notes = self.check(network, renamed, take)
        return place, (f"{name} is {main} now, as on {place.remote}", *notes)

    def note(self, proposals: Collection[str], *places: RemoteBranch) -> None:
        """Remember the branches as they are now, and of proposals those that are still open.

        Raises StorageFailed.
        """
        shared = [*places, *(RemoteBranch(places[-1].remote, name) for name in proposals)]
        seen = {}
        for key, commit in self._seen.items():
            if (branch_of(f"refs/remotes/{key}") or key) in {key, *proposals}:
                seen[key] = commit
        tips = {}
        for place in shared:
            tips[place.name] = read_ref(self._store.worktree, place.tracking)
        seen |= {key: tip for key, tip in tips.items() if tip}
        if seen != self._seen:
            files.write_json(self._file, seen)
