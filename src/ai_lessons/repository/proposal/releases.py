"""Records of releases: files on an enterprise's approval branch, each saying that one text may go to one tier.

A record holds the whole text: what people read when they decide is what is compared later, never a hash alone. It
counts as far as it came to the branch as a rule in force does: by the merge of its proposal, or from a forge.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from dulwich.objects import Blob, ObjectID, Tree

from ai_lessons.errors import InvalidEntry
from ai_lessons.knowledge import layout, markdown
from ai_lessons.knowledge.texts import decode
from ai_lessons.repository.approval.rule_files import (
    FORGES,
    TEXT_LIMIT,
    entry_end,
    made_by_agent,
    merged_branches,
    names_pull_request,
    trailers,
)
from ai_lessons.repository.approval.rule_history import person
from ai_lessons.repository.objects import Draft, StoredCommit, opened, read_commit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dulwich.repo import Repo

    from ai_lessons.repository.approval.approval_types import ApprovalPolicy, Person
    from ai_lessons.repository.worktree import Worktree

KIND: Final = "release"
FOLDER: Final = ".ai-lessons/releases"


@dataclass(frozen=True, slots=True)
class Release:
    """What one record says. `entry` is a full id, `source` and `target` are tiers; `requested` is ISO 8601.

    `policy` is the setting that asked for it, `text` the text that may go, all files of the entry as one.
    """

    title: str
    entry: str
    source: str
    target: str
    requested_by: str
    requested: str
    policy: str
    text: str

    def covers(self, entry: str, target: str, text: str) -> bool:
        """Whether exactly this text of the entry may go there. Line ends and the end of the text do not matter."""
        return (self.entry, self.target) == (entry, target) and canonical(self.text) == canonical(text)

    def render(self) -> bytes:
        """The record's file."""
        text = canonical(self.text)
        fields = {
            "kind": KIND,
            "title": self.title,
            "entry": self.entry,
            "source": self.source,
            "target": self.target,
            "sha256": _hash(text),
            "requested_by": self.requested_by,
            "requested": self.requested,
            "policy": self.policy,
        }
        return markdown.render(fields, text).encode("utf-8", "replace")


def canonical(text: str) -> str:
    """A text without what differs from system to system: LF, and one at the end."""
    return text.replace("\r\n", "\n").replace("\r", "\n").rstrip() + "\n"


def _hash(text: str) -> str:
    return sha256(text.encode("utf-8", "replace")).hexdigest()


def place(name: str, title: str, year: int) -> str:
    """Where the record called `name` (a ULID) goes."""
    return f"{FOLDER}/{year:04d}/{name}-{layout.slug(title)}.md"


def read(data: bytes) -> Release | None:
    """A record's file; None for one that is no record of ours, or whose text is not the one that it was made for."""
    if len(data) > TEXT_LIMIT:
        return None
    try:
        found = markdown.parse(decode(data, ""))
    except InvalidEntry:
        return None
    if found.fields.get("kind") != KIND or found.fields.get("sha256") != _hash(canonical(found.body)):
        return None
    said = {key: _said(found.fields, key) for key in ("title", "entry", "source", "target", "requested_by")}
    return Release(
        **said, requested=_said(found.fields, "requested"), policy=_said(found.fields, "policy"), text=found.body
    )


def _said(fields: Mapping[str, object], key: str) -> str:
    value = fields.get(key)
    return "" if value is None else str(value)


def on_branch(worktree: Worktree, tip: str) -> list[tuple[str, Release]]:
    """Every record in the tree of a commit, with its path; files that are none are passed over.

    Raises:
        UnsupportedRepository: an object is missing or damaged.
    """
    with opened(worktree) as repo:
        draft = Draft(repo)
        top = draft.lookup(draft.tree_of(ObjectID(tip.encode())), os.fsencode(worktree.prefix + FOLDER))
        if top is None or not stat.S_ISDIR(top[0]):
            return []
        files = _below(repo, FOLDER, top[1])
        return [(path, record) for path, data in files if (record := read(data)) is not None]


def _below(repo: Repo, folder: str, tree: ObjectID) -> Iterator[tuple[str, bytes]]:
    found = repo.object_store[tree]
    for name, mode, sha in found.iteritems() if isinstance(found, Tree) else ():
        path = f"{folder}/{os.fsdecode(name)}"
        if stat.S_ISDIR(mode):
            yield from _below(repo, path, ObjectID(sha))
        elif stat.S_ISREG(mode) and isinstance(blob := repo.object_store[ObjectID(sha)], Blob):
            yield path, blob.data


def file_at(worktree: Worktree, tip: str, path: str) -> bytes | None:
    """A plain file as it is in a commit; None if there is none.

    Raises:
        UnsupportedRepository: an object is missing or damaged.
    """
    with opened(worktree) as repo:
        draft = Draft(repo)
        found = draft.lookup(draft.tree_of(ObjectID(tip.encode())), os.fsencode(worktree.prefix + path))
        blob = repo.object_store[found[1]] if found and stat.S_ISREG(found[0]) else None
        return blob.data if isinstance(blob, Blob) else None


def taken(worktree: Worktree, tip: str, path: str, branch: str, policy: ApprovalPolicy) -> str:
    """Who let the record at `path` onto the branch, as git writes people; empty if nobody who could.

    `branch` is the short name of the approval branch. Under the policy `forge` the caller gives the commit of the
    forge's branch, and what stands there counts.

    Raises:
        UnsupportedRepository: an object is missing or damaged.
    """
    with opened(worktree) as repo:
        merge, origin = _follow(repo, tip, os.fsencode(worktree.prefix + path))
        made = _ReleaseCommit(origin, entry_end_of(path))
        if policy.require == "forge":
            return _told(person(merge.committer if merge else origin.committer))
        by_merge = _merged(merge, made, branch, policy) if merge else ""
        return by_merge or _plain(made, policy)  # what was squashed may come here by a merge of something else


def entry_end_of(path: str) -> str:
    """The ULID that the record's file name begins with, in capitals."""
    return path.rpartition("/")[2][:26].upper()


@dataclass(frozen=True, slots=True)
class _ReleaseCommit:
    """The commit that a record was made in, and the record's name."""

    commit: StoredCommit
    name: str

    def is_proposed_on(self, branch: str) -> bool:
        end = entry_end(branch)
        return end is not None and self.name.endswith(end)

    @property
    def names_its_proposal(self) -> bool:
        return any(self.is_proposed_on(value) for _, value in trailers(_message(self.commit)))


def _follow(repo: Repo, tip: str, name: bytes) -> tuple[StoredCommit | None, StoredCommit]:
    """The way of a file back to where it was made: the merge that took it from another side, and the first commit.

    Of several merges the oldest counts: after a plain `git pull` the newest names whoever pulled.
    """
    draft = Draft(repo)
    at = _commit(repo, ObjectID(tip.encode()))
    here = draft.lookup(at.tree, name)
    merge = None
    while True:
        known = [parent for parent in at.parents if parent in repo.object_store]  # else: a shallow clone
        same = [parent for parent in known if draft.lookup(draft.tree_of(parent), name) == here]
        if not same:
            return merge, at
        if same[0] != at.parents[0]:
            merge = at
        at = _commit(repo, same[0])


def _commit(repo: Repo, name: ObjectID) -> StoredCommit:
    return read_commit(repo.object_store, name)


def _merged(merge: StoredCommit, made: _ReleaseCommit, branch: str, policy: ApprovalPolicy) -> str:
    message = _message(merge)
    branches = merged_branches(message, branch)
    named = made.names_its_proposal if branches is None else any(map(made.is_proposed_on, branches))
    committer, author = person(merge.committer), person(made.commit.author)
    by = person(merge.author) if committer.email in FORGES else committer
    if not named or made_by_agent(message) or (policy.distinct and by.same(author)):
        return ""
    return _told(by)


def _plain(made: _ReleaseCommit, policy: ApprovalPolicy) -> str:
    """A record that came without a merge: squashed or rebased by somebody else than its author, or by a forge."""
    message = _message(made.commit)
    committer, author = person(made.commit.committer), person(made.commit.author)
    if committer.email in FORGES:
        # a squashed pull request does not say who took it
        return "" if policy.distinct or not names_pull_request(message) else _told(committer)
    if made_by_agent(message) or not made.names_its_proposal or committer.same(author):
        return ""
    return _told(committer)


def _message(commit: StoredCommit) -> str:
    return commit.message.decode(errors="replace")


def _told(who: Person) -> str:
    return f"{who.name} <{who.email}>"
