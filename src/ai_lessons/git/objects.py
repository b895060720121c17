"""Git objects built and read with dulwich, and blobs through git's filters."""

from __future__ import annotations

import io
import os
import secrets
import stat
import sys
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from dulwich.errors import (
    ChecksumMismatch,
    FileFormatException,
    NotGitRepository,
    WrongObjectException,
)
from dulwich.objects import Blob, Commit, ObjectID, ShaFile, Tree
from dulwich.pack import write_pack_objects
from dulwich.repo import Repo, UnsupportedExtension, UnsupportedVersion

from ai_lessons.errors import (
    Conflict,
    InvalidEntry,
    NotFound,
    Refused,
    StorageFailed,
    UnsupportedRepository,
)
from ai_lessons.git import files, plumbing
from ai_lessons.git.commits import RawCommit, texts
from ai_lessons.git.files import translated, write_all
from ai_lessons.git.worktree import Worktree, as_hub, locate, read_head, read_settings
from ai_lessons.model import expression

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from dulwich.object_store import BaseObjectStore

    from ai_lessons.git.journal import PendingChange

_COMMIT: Final = expression(rb"tree [0-9a-f]{40}\n((?:parent [0-9a-f]{40}\n)*)")


def read_commit(store: BaseObjectStore, name: ObjectID) -> RawCommit:
    """A commit by its own lines: dulwich refuses some that git takes.

    Raises KeyError: there is no such commit.
    """
    hexed = name.decode()
    try:
        with open(f"{os.fspath(store.path)}/{hexed[:2]}/{hexed[2:]}", "rb") as file:  # type: ignore[attr-defined]  # it is a repository on the disk
            kind, _, data = zlib.decompress(file.read()).partition(b"\0")
    except FileNotFoundError:
        number, data = store.get_raw(name)
        if number == Commit.type_num:
            kind = b"commit"
        else:
            kind = b""
    start = _COMMIT.match(data)
    if start is None or not kind.startswith(b"commit"):
        raise KeyError(name)
    header, _, message = data.partition(b"\n\n")
    names = b" ".join([name, *(line[7:] for line in start[1].splitlines())])
    return RawCommit(b"%s\n%s\n\n    %s" % (names, header, message.replace(b"\n", b"\n    ")))


# What dulwich raises at an object that is missing, damaged, or another one than it has to be there.
DAMAGED: Final = (
    KeyError,
    EOFError,
    ChecksumMismatch,
    FileFormatException,
    WrongObjectException,
    zlib.error,
)

PLAIN, EXECUTABLE, FOLDER = 0o100644, 0o100755, 0o040000
# Mode and id of what lies in a tree
TreeEntry = tuple[int, ObjectID]
# None: no such file
Version = TreeEntry | None
# So many objects become a pack, which a disk syncs in a tenth of the time of as many files
PACK_FROM: Final = 100
PACK_SECONDS: Final = 600.0

# git gc removes what is left over under this name
_TEMPORARY = "tmp_obj_"


@contextmanager
def opened(worktree: Worktree) -> Iterator[Repo]:
    """The accepted repository as dulwich sees it.

    Raises UnsupportedRepository: not to be read, or damaged.
    """
    tree = None
    if worktree.top != worktree.git_dir:
        tree = os.fspath(worktree.top)
    try:
        with Repo(
            os.fspath(worktree.top), controldir=os.fspath(worktree.git_dir), worktree=tree
        ) as repo:
            yield repo
    except (NotGitRepository, UnsupportedExtension, UnsupportedVersion) as error:
        raise UnsupportedRepository(
            f"the repository at {worktree.top} cannot be read: {error}"
        ) from error
    except DAMAGED as error:
        raise UnsupportedRepository(
            f"an object of the repository at {worktree.top} is missing or damaged: {error}",
            hint=plumbing.missing_hint(worktree),
        ) from error


def changed(
    worktree: Worktree,
    *trees: str | bytes,
    command: str = "diff-tree",
    extra: Mapping[str, str] | None = None,
) -> dict[bytes, tuple[Version, Version]]:
    """The versions before and after of files, by path from the top, where two trees on the disk differ.

    `command` may be `diff-index`, which takes one tree. Raises StorageFailed.
    """
    fields = iter(plumbing.output(worktree, command, *_RAW, *trees, extra=extra).split(b"\0")[:-1])
    return dict(_change(row, path) for row, path in zip(fields, fields, strict=True))


def changed_each(
    worktree: Worktree, pairs: Sequence[tuple[bytes, bytes]]
) -> list[dict[bytes, tuple[Version, Version]]]:
    """`changed` of each of these pairs of trees, asked together."""
    stdin = b"".join(b"%s %s\n" % pair for pair in pairs)
    fields = iter(
        plumbing.output(worktree, "diff-tree", "--stdin", *_RAW, stdin=stdin).split(b"\0")[:-1]
    )
    result = list[dict[bytes, tuple[Version, Version]]]()
    for row, path in zip(fields, fields, strict=True):
        # the trees stand before the first file of each pair
        named, newline, changes = row.rpartition(b"\n")
        for _ in named.splitlines() if newline else ():
            result.append({})
        result[-1].update([_change(changes, path)])
    # nothing stands behind the trees of the last ones
    return result + [{} for _ in pairs[len(result) :]]


_RAW: Final = ("-r", "--raw", "-z", "--no-renames", "--no-abbrev", "--ignore-submodules=none")


def _change(row: bytes, path: bytes) -> tuple[bytes, tuple[Version, Version]]:
    def version(mode: bytes, blob: bytes) -> Version:
        if int(mode, 8):
            return (int(mode, 8), ObjectID(blob))
        return None

    before, after, old, new, _ = row[1:].split(b" ")
    return path, (version(before, old), version(after, new))


def blob_of(version: Version) -> str | None:
    """The id of a version's blob."""
    if version:
        return version[1].decode()
    return None


def data_of(repo: Repo, blob: str) -> bytes:
    """The bytes of a blob."""
    stored = repo.object_store[ObjectID(blob.encode())]
    if isinstance(stored, Blob):
        return stored.data
    return b""


def below(repo: Repo, tree: str) -> Iterator[tuple[str, str]]:
    """Path and id of all that is below a tree, of trees in it, too."""
    # many other tools that read a repository need no walk
    from dulwich.object_store import iter_tree_contents

    name = ObjectID(tree.encode())
    for entry in iter_tree_contents(repo.object_store, name, include_trees=True):
        if entry.path and entry.sha:
            yield entry.path.decode("utf-8", "replace"), entry.sha.decode()


def repository(folder: Path) -> Worktree:
    """The repository that a folder lies in, or that it is, as on a server.

    Raises: see `worktree.locate`.
    """
    bare = all((folder / name).exists() for name in ("HEAD", "objects", "refs"))
    if bare:
        return as_hub(folder.resolve())
    return locate(folder)


class Draft:
    """New objects in the making, on top of those that the repository has.

    Nothing is on disk before `save`.
    """

    def __init__(self, repo: Repo) -> None:
        self._store = repo.object_store
        self._place, self._folder = (
            as_hub(Path(repo.controldir())),
            os.fspath(repo.object_store.path),
        )
        self._new: dict[ObjectID, ShaFile] = {}
        # as they were read: edits are made to copies
        self._trees: dict[ObjectID, Tree] = {}

    def blob(self, data: bytes) -> ObjectID:
        """A new content."""
        return self._add(Blob.from_string(data))

    def tree_of(self, commit: ObjectID | str) -> ObjectID:
        """The tree of a commit."""
        if isinstance(commit, str):
            commit = ObjectID(commit.encode())
        made = self._new.get(commit)
        return ObjectID(
            made.as_raw_string()[5:45] if made else read_commit(self._store, commit).tree.encode()
        )

    def lookup(self, tree: ObjectID | None, path: bytes) -> TreeEntry | None:
        """Mode and id of what lies at `path` in a tree."""
        mode = FOLDER
        for part in path.split(b"/"):
            if tree is None or not stat.S_ISDIR(mode):
                return None
            try:
                mode, tree = self._tree(tree)[part]
            except KeyError:
                return None
        if tree is None:
            return None
        return (mode, tree)

    def edit(self, tree: ObjectID | None, changes: Mapping[bytes, TreeEntry | None]) -> ObjectID:
        """The tree with these paths set or (None) removed.

        Raises Conflict: a path leads into a submodule.
        """
        return self._edit(tree, changes) or self._add(Tree())

    def _edit(
        self, tree: ObjectID | None, changes: Mapping[bytes, TreeEntry | None]
    ) -> ObjectID | None:
        edited = Tree()
        for name, mode, sha in self._tree(tree).iteritems() if tree else ():
            edited.add(name, mode, sha)
        below: dict[bytes, dict[bytes, TreeEntry | None]] = {}
        for path, value in changes.items():
            name, _, inner_path = path.partition(b"/")
            if inner_path:
                below.setdefault(name, {})[inner_path] = value
            elif value is not None:
                edited[name] = value
            elif name in edited:
                del edited[name]
        for name, inner in below.items():
            mode, old = edited[name] if name in edited else (FOLDER, None)  # noqa: SIM401 - a dulwich Tree has no get
            if stat.S_IFMT(mode) == 0o160000:
                raise Conflict(
                    f"{os.fsdecode(name)} is a repository of its own; nothing is committed into it"
                )
            made = self._edit(old if stat.S_ISDIR(mode) else None, inner)
            if made is not None:
                edited[name] = (FOLDER, made)
            elif name in edited and stat.S_ISDIR(mode):
                del edited[name]
        if len(edited):
            return self._add(edited)
        return None

    def commit(
        self,
        tree: ObjectID,
        parents: Sequence[ObjectID],
        message: str,
        *,
        author: tuple[str, int, int],
        committer: tuple[str, int, int],
    ) -> ObjectID:
        """A new commit; people are (`Name <email>`, seconds since 1970, seconds east of UTC)."""
        made = Commit()
        made.tree, made.parents, made.message = tree, list(parents), message.encode()
        made.author, made.author_time, made.author_timezone = (
            author[0].encode(),
            author[1],
            author[2],
        )
        made.committer, made.commit_time, made.commit_timezone = (
            committer[0].encode(),
            committer[1],
            committer[2],
        )
        return self._add(made)

    def save(self) -> None:
        """Bring every new object, whole, to the disk, surely there when this returns.

        Raises StorageFailed.
        """
        new = list(self._new.values())
        if len(new) >= PACK_FROM:
            self._save_pack(new)
        else:
            with translated(self._folder, writing=True):
                lacking = []
                for made in new:
                    if not self._is_loose(made.id):
                        lacking.append(made)
                # the file system brings files to the disk together: 30 at once take 15 ms, one by
                # one 100
                for start in range(0, len(lacking), 32):
                    _write_some(self._folder, lacking[start : start + 32])
        self._new.clear()

    def _save_pack(self, new: Sequence[ShaFile]) -> None:
        pack, rows = io.BytesIO(), [(made, None) for made in new]
        write_pack_objects(pack, rows, new[0].object_format, deltify=False, compression_level=1)
        durable = ("-c", "core.fsync=objects", "-c", "core.fsyncObjectFiles=true")
        done = plumbing.run(
            self._place,
            *durable,
            "index-pack",
            "--stdin",
            stdin=pack.getvalue(),
            timeout=PACK_SECONDS,
        )
        if done.code:
            raise StorageFailed(
                f"git could not store {len(new)} objects: {done.err}", hint="is the disk full?"
            )

    def _add(self, made: ShaFile) -> ObjectID:
        # as one piece: dulwich's trees come in a piece for each entry, which is slow to hash and to
        # compress
        whole = ShaFile.from_raw_string(made.type_num, made.as_raw_string())
        self._new[whole.id] = whole
        if isinstance(made, Tree):
            self._trees[whole.id] = made
        return whole.id

    def _tree(self, name: ObjectID) -> Tree:
        if name not in self._trees:
            tree = self._new.get(name) or self._store[name]
            if not isinstance(tree, Tree):
                raise KeyError(name)
            self._trees[name] = tree
        return self._trees[name]

    def _is_loose(self, name: ObjectID) -> bool:
        place = f"{self._folder}/{name.decode()[:2]}/{name.decode()[2:]}"
        with suppress(FileNotFoundError):
            # after a power cut git's own objects may be empty files, and writing them again is what
            # mends that
            if not os.stat(place).st_size:
                return False
            with suppress(PermissionError):
                # as git does: `git gc` removes what nothing points to and is two weeks old
                os.utime(place)
            return True
        return False


def _write_some(folder: str, objects: Sequence[ShaFile]) -> None:
    waiting: list[tuple[int, str, str]] = []
    try:
        for made in objects:
            hexed = made.id.decode()
            place = f"{folder}/{hexed[:2]}"
            if not os.path.isdir(place):
                with suppress(FileExistsError):
                    os.mkdir(place)
                    # a repository that a group shares says so by the mode of its folders
                    os.chmod(place, stat.S_IMODE(os.stat(folder).st_mode))
            temporary = f"{place}/{_TEMPORARY}{secrets.token_hex(8)}"
            fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o444)
            waiting.append((fd, temporary, f"{place}/{hexed[2:]}"))
            raw = made.as_raw_string()
            write_all(fd, zlib.compress(b"%s %d\0" % (made.type_name, len(raw)) + raw, 1))
        if len(waiting) > 1:
            with ThreadPoolExecutor(len(waiting)) as pool:
                list(pool.map(os.fsync, [fd for fd, _, _ in waiting]))
        else:
            os.fsync(waiting[0][0])
        for _, temporary, final in waiting:
            os.rename(temporary, final)
    finally:
        for fd, temporary, _ in waiting:
            os.close(fd)
            with suppress(FileNotFoundError):
                os.unlink(temporary)


def stored(
    worktree: Worktree, draft: Draft, contents: Mapping[str, bytes]
) -> tuple[dict[str, ObjectID], dict[str, StorageFailed]]:
    """Blobs of files by path (from the root), and why there is none.

    What no filter could change costs no program.

    They are the bytes of the files, as `git add` stores them where nothing but a filter and line
    ends is stated.
    """
    if contents:
        filtered = plumbing.attributes_of(worktree, contents, "filter")
    else:
        filtered = {}
    made: dict[str, ObjectID] = {}
    failed = {}
    for path, data in contents.items():
        if path not in filtered and b"\r\n" not in data:
            made[path] = draft.blob(data)
            continue
        done = plumbing.cleaned(worktree, path, data)
        if done.code:
            why = done.err.rpartition("\n")[2] or "git said no"
            hint = "what its filter would hide stays out of git: mend the filter (git config --get-regexp filter)"
            failed[path] = StorageFailed(
                f"{path} was not stored, because its git filter failed ({why})", hint=hint
            )
        else:
            made[path] = cast("ObjectID", done.out.strip())
    return made, failed


def blobs(worktree: Worktree, draft: Draft, contents: Mapping[str, bytes]) -> dict[str, ObjectID]:
    """Blobs of files by path (from the root), as `git add` would make them.

    Raises StorageFailed: a filter failed.
    """
    made, failed = stored(worktree, draft, contents)
    for fault in failed.values():
        raise fault
    return made


def text_of(worktree: Worktree, repo: Repo, path: str, blob: str) -> bytes:
    """The text of one blob at a path (from the root); see `texts`."""
    return texts(worktree, {blob: path}, {blob: data_of(repo, blob)})[blob]


class GitLocked(Conflict):
    """Git holds a lock, or moved the branch first.

    Nothing was changed, and the caller may try again.
    """


class OnDisk(NamedTuple):
    """The state of paths: bytes and git's entry, no file, or an error.

    A link or folder is in none of these.
    """

    data: Mapping[str, bytes]
    files: Mapping[str, TreeEntry]
    gone: frozenset[str]
    unreadable: Mapping[str, StorageFailed]

    def entry_for(self, noted: PendingChange) -> tuple[bool, TreeEntry | None]:
        """(True, the entry for the commit), or (False, None).

        The latter where the user has removed or made the file since.
        """
        if noted.gone:
            return noted.path in self.gone, None
        return noted.path in self.files, self.files.get(noted.path)


def status_of(worktree: Worktree, draft: Draft, paths: Iterable[PendingChange]) -> OnDisk:
    """Read every path once and make its blob.

    Where git heeds no modes the first note says what is executable.

    Raises GitLocked: git is writing one of the files.
    """
    data, modes, gone, unreadable = dict[str, bytes](), dict[str, int](), set(), {}
    file_modes = (
        read_settings(worktree.common_dir / "config").get("core.filemode", "true") != "false"
    )
    for path, noted in {noted.path: noted for noted in reversed(list(paths))}.items():
        try:
            data[path], status = files.read_file(worktree.root, path, sys.maxsize - 1)
        except NotFound:
            gone.add(path)
        except (Refused, InvalidEntry):
            # a link, a folder: the user's, and not to be touched
            continue
        except StorageFailed as error:
            unreadable[path] = error
        else:
            # git truncates a file before it writes it: a shorter one is looked at again for .2
            # seconds
            if len(data[path]) < (noted.size or 0) and time.time() - status.st_mtime < 0.2:
                raise GitLocked(f"git is writing {path}")
            modes[path] = (
                EXECUTABLE
                if (status.st_mode & 0o100 if file_modes else noted.executable)
                else PLAIN
            )
    blob_ids, failed = stored(worktree, draft, data)
    made = {path: (modes[path], blob) for path, blob in blob_ids.items()}
    return OnDisk(data, made, frozenset(gone), {**unreadable, **failed})


# Seconds a git command counts as under way that has not moved HEAD yet, and that has
UNDER_WAY, SETTLE = 3.0, 1.0
_TRACES = (
    "FETCH_HEAD",
    "COMMIT_EDITMSG",
    "MERGE_MSG",
    "AUTO_MERGE",
    "ORIG_HEAD",
    "logs/refs/stash",
)
_UNDER_WAY = {
    "MERGE_HEAD": "a merge is under way; finish it (git commit) or give it up (git merge --abort)",
    "CHERRY_PICK_HEAD": "a cherry-pick is under way; finish it or give it up (git cherry-pick --abort)",
    "REVERT_HEAD": "a revert is under way; finish it or give it up (git revert --abort)",
    "BISECT_LOG": "a bisect is under way; end it with git bisect reset",
    "rebase-merge": "a rebase is under way; finish it or give it up (git rebase --abort)",
    "rebase-apply": "a rebase is under way; finish it or give it up (git rebase --abort)",
    "sequencer": "a cherry-pick or revert is under way; finish it or give it up",
}


def busy(worktree: Worktree) -> str:
    """The git operation under way that prevents a commit, or an empty string."""
    return next(
        (reason for name, reason in _UNDER_WAY.items() if (worktree.git_dir / name).exists()), ""
    )


def at_work(worktree: Worktree, ours: str | None) -> float:
    """For how many seconds the user's git still counts as under way.

    `ours` is the last commit that we made here.
    """
    # a git command fails if we move HEAD meanwhile, and people often run the next one right after
    # it
    now, head = time.time(), read_head(worktree)
    places = [worktree.git_dir / "logs" / "HEAD", worktree.git_dir / "HEAD"]
    moved = max(map(_mtime, [*places, worktree.common_dir / head.ref] if head.ref else places))
    trace = max(_mtime(worktree.git_dir / name) for name in _TRACES)
    if trace > moved:
        return max(UNDER_WAY - abs(now - trace), 0.0)
    if head.commit != ours:
        return max(SETTLE - abs(now - moved), 0.0)
    return 0.0


def _mtime(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


# --- the history of files: commits, contents then, differences ---
