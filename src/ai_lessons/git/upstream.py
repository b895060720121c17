"""The branches of remotes as this clone last saw them, and what a fetch shows of them: rewritten, renamed, deleted."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from ai_lessons.errors import Conflict
from ai_lessons.git import branch_move, files, plumbing
from ai_lessons.git.approval_branch import (
    HEADS,
    OTHERS,
    PROPOSALS,
    branch_of,
    cut_off,
    proposal_refs,
)
from ai_lessons.git.branch_move import committing
from ai_lessons.git.conflicts import CONFLICTS, KEEP, dated
from ai_lessons.git.remote_branch import (
    AGAIN,
    RemoteBranch,
    branch,
    merge_bases,
    move_to,
)
from ai_lessons.git.worktree import read_ref

if TYPE_CHECKING:
    from collections.abc import Collection

    from ai_lessons.git.network import Network
    from ai_lessons.git.store import Store


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
        if before - {tip} <= {base.decode() for base in merge_bases(self._store, head, tip)}:
            return place, ()
        gone = sorted(
            before & set(plumbing.run(worktree, "rev-list", head, f"^{tip}").text.split())
        )
        if not gone or (cut_off(worktree) and not merge_bases(self._store, gone[0], tip)):
            return place, ()
        what = f"{place.name} was rewritten: commit {gone[0][:10]}, which it had, is not in it any more"
        if take != "theirs":
            hint = f"{AGAIN} --take theirs keeps yours on a branch here; to see what went: git log {place.name}..{name}"
            raise Conflict(f"{what}; nothing was merged or sent", hint=hint)
        kept = f"{dated('kept/', name)}-{head[:7]}"
        with committing(self._store), self._store.writing():
            branch_move.point(worktree, HEADS + kept, None, head, KEEP)
            move_to(self._store, place, tip)
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
