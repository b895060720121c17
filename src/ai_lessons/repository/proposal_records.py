"""Closed proposals: the records of rejected ones, and those taken about other entries than rules."""

from __future__ import annotations

from itertools import islice, pairwise
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from ai_lessons.errors import InvalidEntry, UnsupportedRepository
from ai_lessons.knowledge import layout, markdown
from ai_lessons.knowledge.entries import Kind
from ai_lessons.knowledge.texts import decode
from ai_lessons.repository import git
from ai_lessons.repository.approval import rule_files
from ai_lessons.repository.approval.approval_branch import OTHERS
from ai_lessons.repository.approval.approval_types import Person, moment
from ai_lessons.repository.approval.rule_history import RawCommit, behind, commits
from ai_lessons.repository.filters import read_texts, text_of
from ai_lessons.repository.history import FIXED, LITERAL
from ai_lessons.repository.objects import opened
from ai_lessons.repository.proposal_files import blob_at

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ai_lessons.repository.approval.approval_history import Trunk
    from ai_lessons.repository.worktree import Worktree

REJECTION: Final = "rejection"
_REJECTED: Final = ("title", "reason", "path", "proposal", "commit", "suggested_by")
WHAT: Final = tuple(kind.value for kind in Kind)  # What a proposal may be about; the key that holds its id


class Rejection(NamedTuple):
    """A proposal rejected `at` (ISO 8601); `text` is its file, or all `files`, each below a line with its path."""

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
        fields = {"kind": REJECTION, self.what: self.entry, **{key: getattr(self, key) for key in _REJECTED}}
        fields |= {"rejected": self.at} | ({"files": list(self.files)} if self.files else {})
        return markdown.render(fields, self.text).encode()

    def texts(self) -> dict[str, str]:
        """What was proposed, by path; empty for a removal."""
        if not self.files:
            return {self.path: self.text} if self.text else {}
        texts, rest = {}, self.text.lstrip("\n").removeprefix(_heading(self.files[0]))
        for path, following in pairwise(self.files):
            texts[path], _, rest = rest.partition("\n" + _heading(following))
        return {**texts, self.files[-1]: rest}


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
    fields = {key: "" if value is None else str(value) for key, value in record.fields.items()}
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
    blobs = {blob: path for path, blob in sorted(trunk.view.files.items()) if path.startswith(rule_files.REJECTED)}
    contents = read_texts(trunk.worktree, blobs) if blobs else {}
    records = (read_rejection(contents[blob]) for blob in blobs if blob in contents)
    return [record for record in records if record is not None]


def file_at(worktree: Worktree, tip: str, path: str) -> bytes | None:
    """A plain file as it is in a commit; None if there is none. Raises UnsupportedRepository."""
    with opened(worktree) as repo:
        blob = blob_at(repo, tip, worktree.prefix + path)
        return text_of(worktree, repo, path, blob) if blob else None


OWN_COMMITS: Final = 100  # The most commits of a merged proposal that are read
How = Literal["merge", "commit"]


class TakenProposal(NamedTuple):
    """A proposal of no rule taken in `commit`, by a merge or as a commit; times are ISO 8601, people `Name <email>`.

    `id` may be the end of an id, or empty. `approved_by` is empty where a forge hides it. `title` is that of the commit
    which took it, else the proposal's name.
    """

    id: str
    title: str
    proposal: str
    how: How
    approved_by: str
    approved_at: str
    suggested_by: str
    commit: str


def taken(worktree: Worktree, tip: str, branch: str) -> list[TakenProposal]:
    """Every proposal of no rule that `branch` (short) took, newest first. Raises UnsupportedRepository."""
    history = {commit.id: commit for commit in reversed(commits(worktree, [tip]))}
    singles: dict[str, str] = {}
    for commit in history.values():
        trailers = dict(reversed(rule_files.trailers(commit.info.message))) if len(commit.parents) < 2 else {}
        if name := trailers.get(rule_files.PROPOSED_TRAILER):
            singles[commit.id] = name
    result: list[TakenProposal] = []
    merged: set[str] = set()
    for commit in history.values():
        if len(commit.parents) < 2:
            continue
        names = rule_files.merged_branches(commit.info.message, branch)
        if names is None:  # a message in the user's own words: the merged commits name their branches
            names = tuple(singles.get(side, "") for side in commit.parents[1:])
        for side, name in zip(commit.parents[1:], names, strict=False):
            line = list(islice(behind(history, side), OWN_COMMITS)) if name.startswith(OTHERS) else []
            if line:
                merged |= {source.id for source in line if singles.get(source.id) == name}
                result.append(_taken(name, commit, line[0], "merge"))
    return result + [
        _taken(name, history[single], history[single], "commit")
        for single, name in singles.items()
        if single not in merged
    ]


def _taken(name: str, commit: RawCommit, source: RawCommit, how: How) -> TakenProposal:
    trailers = dict(rule_files.trailers(source.info.message) + rule_files.trailers(commit.info.message))
    subject = commit.info.message.partition("\n")[0].strip()
    title = subject.partition(": ")[2] if subject.startswith(f"{rule_files.APPROVE} ") else name
    by: Person | None = commit.info.committer
    if commit.info.committer.email in rule_files.FORGES:
        # on a forge the author of a merge pressed the button; no other commit says who did
        by = commit.info.author if how == "merge" else None
    entry = trailers.get(rule_files.ENTRY_TRAILER) or rule_files.entry_end(name) or ""
    at, author = moment(commit.info.committed), str(source.info.author)
    return TakenProposal(entry, title, name, how, str(by or ""), at, author, commit.id)


def stood(worktree: Worktree, base: str, tip: str, path: str, blob: str) -> bool:
    """Whether any commit of `tip` that `base` lacks gave or took the file at `path` this content."""
    flags = ("--format=", "--raw", "--no-abbrev", "--no-renames", "--full-history", "--diff-merges=separate", *FIXED)
    done = git.run(worktree, "log", *flags, f"{base}..{tip}", "--", worktree.prefix + path, extra=LITERAL)
    if done.code:
        raise UnsupportedRepository(f"the history of {worktree.top} cannot be read")
    return any(blob in line.split()[2:4] for line in done.text.splitlines() if line.startswith(":"))
