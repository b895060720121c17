"""What became of earlier proposals: those that were rejected, as records say, and those that were taken, as history says."""

from __future__ import annotations

from itertools import islice, pairwise
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from ai_lessons.errors import InvalidEntry
from ai_lessons.git.approval_branch import (
    OTHERS,
    short_name,
)
from ai_lessons.git.commits import RawCommit, behind, commits, read_texts
from ai_lessons.git.worktree import read_ref
from ai_lessons.model import approval, layout, markdown
from ai_lessons.model.approval import (
    Person,
    moment,
)
from ai_lessons.model.entries import Kind
from ai_lessons.model.texts import decode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ai_lessons.approval.state import Trunk
    from ai_lessons.git.worktree import Worktree


REJECTION: Final = "rejection"
_REJECTED: Final = ("title", "reason", "path", "proposal", "commit", "suggested_by")
# What a proposal may be about; the key that holds its id
WHAT: Final = tuple(kind.value for kind in Kind)


class Rejection(NamedTuple):
    """A proposal rejected `at` (ISO 8601).

    `text` is its file, or all `files`, each below a line with its path.
    """

    entry: str
    title: str
    reason: str
    proposal: str
    commit: str
    path: str
    suggested_by: str
    at: str
    text: str
    what: str = Kind.RULE.value
    files: tuple[str, ...] = ()

    def render(self) -> bytes:
        """The record's file."""
        fields: dict[str, str | list[str]] = {"kind": REJECTION, self.what: self.entry}
        for key in _REJECTED:
            fields[key] = getattr(self, key)
        fields["rejected"] = self.at
        if self.files:
            fields["files"] = list(self.files)
        return markdown.render(fields, self.text).encode()

    def texts(self) -> dict[str, str]:
        """What was proposed, by path; empty for a removal."""
        if not self.files:
            if self.text:
                return {self.path: self.text}
            return {}
        texts, remaining = {}, self.text.lstrip("\n").removeprefix(_heading(self.files[0]))
        for path, following in pairwise(self.files):
            texts[path], _, remaining = remaining.partition("\n" + _heading(following))
        return {**texts, self.files[-1]: remaining}


def joined(texts: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    """`text` and `files` of a record about these files."""
    if len(texts) < 2:
        return next(iter(texts.values()), ""), ()
    return "\n".join(_heading(path) + text for path, text in texts.items()), tuple(texts)


def _heading(path: str) -> str:
    return f"<!-- {path} -->\n"


def record_path(folder: str, name: str, title: str, at: str) -> str:
    """Where the record called `name` (a ULID) goes in `folder`; `at` is ISO 8601."""
    return f"{folder}{at[:4]}/{name}-{layout.slug(title)}.md"


def read_rejection(data: bytes) -> Rejection | None:
    """A record's file; None for one that is no record of ours."""
    try:
        record = markdown.parse(decode(data, ""))
    except InvalidEntry:
        return None
    if record.fields.get("kind") != REJECTION:
        return None
    what = next((key for key in WHAT if key in record.fields), Kind.RULE.value)
    files = record.fields.get("files")
    fields = {}
    for key, value in record.fields.items():
        if value is None:
            fields[key] = ""
        else:
            fields[key] = str(value)
    return Rejection(
        **{key: fields.get(key, "") for key in _REJECTED},
        entry=fields.get(what, ""),
        at=fields.get("rejected", ""),
        text=record.body,
        what=what,
        files=tuple(map(str, files)) if isinstance(files, list) else (),
    )


def rejected(trunk: Trunk) -> list[Rejection]:
    """Every record of a rejection on the approval branch; files that are none are passed over."""
    blobs = {}
    for path, blob in sorted(trunk.view.files.items()):
        if path.startswith(approval.REJECTED):
            blobs[blob] = path
    if blobs:
        contents = read_texts(trunk.worktree, blobs)
    else:
        contents = {}
    rejections: list[Rejection] = []
    for blob in blobs:
        record = None
        if blob in contents:
            record = read_rejection(contents[blob])
        if record is not None:
            rejections.append(record)
    return rejections


# The most commits of a merged proposal that are read
OWN_COMMITS: Final = 100


How = Literal["merge", "commit"]


class TakenProposal(NamedTuple):
    """A proposal of no rule taken in `commit`, by a merge or as a commit.

    Times are ISO 8601, people `Name <email>`.

    `id` may be the end of an id, or empty. `approved_by` is empty where a forge hides it. `title`
    is that of the commit which took it, else the proposal's name.
    """

    id: str
    title: str
    proposal: str
    how: How
    approved_by: str
    approved_at: str
    suggested_by: str
    commit: str


def taken_on(worktree: Worktree, ref: str | None, entry: str = "") -> list[TakenProposal]:
    """The proposals of anything but rules that came to an approval branch, newest first.

    Of one entry, if named.
    """
    tip = None
    if ref:
        tip = read_ref(worktree, ref)
    if ref is None or tip is None:
        return []
    every = taken(worktree, tip, short_name(ref))
    about_entry: list[TakenProposal] = []
    for proposal in every:
        # A branch names the end of an id
        if not entry or (proposal.id and entry.endswith(proposal.id)):
            about_entry.append(proposal)
    return about_entry


def taken(worktree: Worktree, tip: str, branch: str) -> list[TakenProposal]:
    """Every proposal of no rule that `branch` (short) took, newest first.

    Raises UnsupportedRepository.
    """
    history = {commit.id: commit for commit in reversed(commits(worktree, [tip]))}
    singles: dict[str, str] = {}
    for commit in history.values():
        if len(commit.parents) < 2:
            trailers = dict(reversed(approval.trailers(commit.info.message)))
        else:
            trailers = {}
        if name := trailers.get(approval.PROPOSED_TRAILER):
            singles[commit.id] = name
    result: list[TakenProposal] = []
    merged: set[str] = set()
    for commit in history.values():
        if len(commit.parents) < 2:
            continue
        names = approval.merged_branches(commit.info.message, branch)
        if names is None:
            # a message in the user's own words: the merged commits name their branches
            names = tuple(singles.get(side, "") for side in commit.parents[1:])
        for side, name in zip(commit.parents[1:], names, strict=False):
            if name.startswith(OTHERS):
                line = list(islice(behind(history, side), OWN_COMMITS))
            else:
                line = []
            if line:
                merged |= {source.id for source in line if singles.get(source.id) == name}
                result.append(_taken(name, commit, line[0], "merge"))
    for single, name in singles.items():
        # Squashed or rebased, it stands on the branch by itself
        if single not in merged:
            result.append(_taken(name, history[single], history[single], "commit"))
    return result


def _taken(name: str, commit: RawCommit, source: RawCommit, how: How) -> TakenProposal:
    trailers = dict(approval.trailers(source.info.message) + approval.trailers(commit.info.message))
    subject = commit.info.message.partition("\n")[0].strip()
    if subject.startswith(f"{approval.APPROVE} "):
        title = subject.partition(": ")[2]
    else:
        title = name
    by: Person | None = commit.info.committer
    if commit.info.committer.email in approval.FORGES:
        # on a forge the author of a merge pressed the button; no other commit says who did
        by = None
        if how == "merge":
            by = commit.info.author
    entry = trailers.get(approval.ENTRY_TRAILER) or approval.entry_end(name) or ""
    at, author = moment(commit.info.committed), str(source.info.author)
    return TakenProposal(entry, title, name, how, str(by or ""), at, author, commit.id)
