"""What a commit says of itself about approval: its request, its lines, that a forge squashed it.

Pure: no git, files, clock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.model.approval import (
    approval_lines,
    is_forge,
    made_by_agent,
    made_on,
    merges_tag_or_commit,
    names_request,
    names_squash,
    sides_of,
    takes_back,
)

if TYPE_CHECKING:
    from ai_lessons.git.commits import RawCommit
    from ai_lessons.model.approval import ApprovalPolicy


class CommitWords:
    """What a commit says of itself.

    `none`: why it proves nothing, whatever it brought; or empty.
    """

    def __init__(self, commit: RawCommit, policy: ApprovalPolicy, branch: str) -> None:
        info = commit.info
        author, committer = info.author, info.committer
        self.merge = len(commit.parents) > 1
        self.committer = committer
        self.none = _proves_nothing(commit)
        self.request = self.merge and not self.none and names_request(info.message)
        if self.merge:
            self.made_on = made_on(info.message)
        else:
            self.made_on = ""
        # the merged sides that are the approval branch itself; one that names a pull request took
        # that in
        self.trunk_sides: tuple[int, ...] = ()
        if self.merge and not self.none and not self.request:
            self.trunk_sides = sides_of(info.message, branch, len(commit.parents) - 1)
        # rebase, cherry-pick and amend keep the author and move the committer's time
        one_stroke = author == committer and info.authored == info.committed
        if self.merge and one_stroke and not self.none:
            self.lines = approval_lines(info.message)
        else:
            self.lines = ()
        self.like_squash = (
            not self.merge
            and not self.none
            and names_squash(info.message)
            and info.authored == info.committed
            and not author.same(committer)
        )
        self.squash = self.like_squash and is_forge(committer.email, policy.forges)


def _proves_nothing(commit: RawCommit) -> str:
    """Why neither the words of a commit nor what it brings approve anything.

    Empty where they may.
    """
    info = commit.info
    if info.odd:
        return f"the commit proves nothing: {info.odd}"
    if made_by_agent(info.message):
        if len(commit.parents) > 1:
            return "an agent made this merge"
        return "an agent made this commit"
    if len(commit.parents) < 2:
        return ""
    if info.of_tag or merges_tag_or_commit(info.message):
        return "this merges a tag or a commit, whose words are not those of the person who merged"
    # the subject of a request that takes something back ends with its number
    if takes_back(info.message) and not names_request(info.message):
        return "this merge takes something back"
    return ""
