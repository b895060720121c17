"""The branch of a remote to share with: where git pulls and pushes, and how far the two are apart."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from dulwich.objects import ObjectID

from ai_lessons.errors import Conflict, NotFound, Refused
from ai_lessons.git import objects, plumbing
from ai_lessons.git.approval_branch import HEADS, cut_off
from ai_lessons.git.branch_move import check_out
from ai_lessons.model import expression

if TYPE_CHECKING:
    from ai_lessons.git.store import Store
    from ai_lessons.git.worktree import Worktree


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


def merge_bases(store: Store, commit: str, other: str) -> list[ObjectID]:
    """The common ancestors of two commits, of which a criss-cross history has several."""
    bases: list[ObjectID] = []
    for base in _bases_of(store.worktree, commit, other, cut_off(store.worktree)):
        bases.append(ObjectID(base))
    return bases


# A sync asks for the same two commits several times
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


def apart(store: Store, head: str | None, tip: str) -> tuple[int, int]:
    """How many commits `tip` has that `head` has not, and the other way round."""
    if head is None:
        return count(store, tip, None), 0
    ours, _, theirs = plumbing.run(
        store.worktree, "rev-list", "--left-right", "--count", f"{head}...{tip}"
    ).text.partition("\t")
    return int(theirs or 0), int(ours or 0)


def move_to(store: Store, place: RemoteBranch, target: str) -> None:
    """Let branch, index and files be those of any commit, with the same checks."""
    move = ("checkout", "--quiet", "--no-overwrite-ignore", "-B", branch(store), target)
    check_out(store.worktree, place.name, *move, log="sync")
