"""What became of proposals: records of those turned down, and which ones about other things than rules were taken."""

from __future__ import annotations

from itertools import islice
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
    from collections.abc import Iterable, Iterator, Mapping

    from ai_lessons.repository.approval.approval_history import Trunk
    from ai_lessons.repository.worktree import Worktree

REJECTION: Final = "rejection"
_REJECTED: Final = ("title", "reason", "path", "proposal", "commit", "suggested_by")
WHAT: Final = tuple(kind.value for kind in Kind)  # What a proposal may be about; the key that holds its id


class Rejection(NamedTuple):
    """A proposal turned down `at` (ISO 8601); `text` is its file, or all `files`, each below a line with its path."""

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
        said = {key: getattr(self, key) for key in _REJECTED}
        fields = {"kind": REJECTION, self.what: self.entry, **said, "rejected": self.at}
        return markdown.render(fields | ({"files": list(self.files)} if self.files else {}), self.text).encode()

    def texts(self) -> dict[str, str]:
        """What was proposed, by path; empty for a removal."""
        if not self.files:
            return {self.path: self.text} if self.text else {}
        found, rest = {}, self.text.lstrip("\n")
        for path, following in zip(self.files, (*self.files[1:], None), strict=True):
            own = rest.removeprefix(_heading(path))
            found[path], _, rest = own.partition("\n" + _heading(following)) if following else (own, "", "")
        return found


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
        found = markdown.parse(decode(data, ""))
    except InvalidEntry:
        return None
    if found.fields.get("kind") != REJECTION:
        return None
    what = next((key for key in WHAT if key in found.fields), Kind.RULE.value)
    files = found.fields.get("files")
    return Rejection(
        **{key: _said(found.fields, key) for key in _REJECTED},
        entry=_said(found.fields, what),
        at=_said(found.fields, "rejected"),
        text=found.body,
        what=what,
        files=tuple(map(str, files)) if isinstance(files, list) else (),
    )


def rejected(trunk: Trunk) -> list[Rejection]:
    """Every record of a rejection on the approval branch; files that are none are passed over."""
    blobs = {blob: path for path, blob in sorted(trunk.view.files.items()) if path.startswith(rule_files.REJECTED)}
    contents = read_texts(trunk.worktree, blobs) if blobs else {}
    found = (read_rejection(contents[blob]) for blob in blobs if blob in contents)
    return [one for one in found if one is not None]


def _said(fields: Mapping[str, object], key: str) -> str:
    value = fields.get(key)
    return "" if value is None else str(value)


def file_at(worktree: Worktree, tip: str, path: str) -> bytes | None:
    """A plain file as it is in a commit; None if there is none. Raises UnsupportedRepository."""
    with opened(worktree) as repo:
        blob = blob_at(repo, tip, worktree.prefix + path)
        return text_of(worktree, repo, path, blob) if blob else None


OWN_COMMITS: Final = 100  # So many commits of a proposal are looked at behind its merge
How = Literal["merge", "commit"]


class TakenProposal(NamedTuple):
    """A proposal of no rule taken in `commit`, by a merge or as a commit; times are ISO 8601, people `Name <email>`.

    `id` may be the end of one or empty. `approved_by` is empty where a forge hides who it was. `title`: of the commit
    that took it, else the proposal.
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
    """Every proposal of no rule that was taken, newest first, by `branch` (short). Raises UnsupportedRepository."""
    return list(told(reversed(commits(worktree, [tip])), branch))


def told(history: Iterable[RawCommit], branch: str) -> Iterator[TakenProposal]:
    """The same from the commits themselves, newest first. Pure."""
    known = {commit.id: commit for commit in history}
    plain = [one for one in known.values() if len(one.parents) < 2]
    own = (
        (one.id, dict(reversed(rule_files.trailers(one.said.message))).get(rule_files.PROPOSED_TRAILER))
        for one in plain
    )
    singles = {commit: name for commit, name in own if name}
    brought: set[str] = set()
    for commit in known.values():
        if len(commit.parents) < 2:
            continue
        said = rule_files.merged_branches(commit.said.message, branch)  # else the words of what it brought
        names = [singles.get(side, "") for side in commit.parents[1:]] if said is None else said
        for side, name in zip(commit.parents[1:], names, strict=False):
            line = list(islice(behind(known, side), OWN_COMMITS)) if name.startswith(OTHERS) else []
            if line:
                brought |= {one.id for one in line if singles.get(one.id) == name}
                yield _taken(name, commit, line[0], "merge")
    for commit_id, name in singles.items():
        if commit_id not in brought:
            yield _taken(name, known[commit_id], known[commit_id], "commit")


def _taken(name: str, commit: RawCommit, source: RawCommit, how: How) -> TakenProposal:
    said = {key: value for one in (source, commit) for key, value in rule_files.trailers(one.said.message)}
    subject = commit.said.message.partition("\n")[0].strip()
    title = subject.partition(": ")[2] if subject.startswith(f"{rule_files.APPROVE} ") else name
    by: Person | None = commit.said.committer
    if commit.said.committer.email in rule_files.FORGES:
        # who pressed the button is the author of a merge, and of nothing else
        by = commit.said.author if how == "merge" else None
    entry = said.get(rule_files.ENTRY_TRAILER) or rule_files.entry_end(name) or ""
    at, by_whom = moment(commit.said.committed), str(by or "")
    return TakenProposal(entry, title, name, how, by_whom, at, str(source.said.author), commit.id)


def stood(worktree: Worktree, base: str, tip: str, path: str, blob: str) -> bool:
    """Whether any commit of `tip` that `base` lacks gave or took the file at `path` this content."""
    flags = ("--format=", "--raw", "--no-abbrev", "--no-renames", "--full-history", "--diff-merges=separate", *FIXED)
    done = git.run(worktree, "log", *flags, f"{base}..{tip}", "--", worktree.prefix + path, extra=LITERAL)
    if done.code:
        raise UnsupportedRepository(f"the history of {worktree.top} cannot be read")
    return any(blob in line.split()[2:4] for line in done.text.splitlines() if line.startswith(":"))
