"""Reads a push before the hub takes it, and has `server_hook` decide.

Git runs `pre-receive` with the pushed objects in a quarantine folder and no ref moved yet. So the hub as it would be
is laid out beside it: a throw-away repository that has no objects of its own (it borrows those of the hub and of the
quarantine) and the refs as asked for. There the approval branch is judged as everywhere. What the judge remembers of
the hub is copied first, so only new commits are read, and a push that is refused leaves no trace.
"""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from ai_lessons.errors import AiLessonsError, NoRepository, StorageFailed, UnsupportedRepository
from ai_lessons.knowledge.config import parse_config
from ai_lessons.knowledge.layout import CONFIG_PATH, derived_id
from ai_lessons.repository import git
from ai_lessons.repository.approval import approval_branch, approval_stamp, approved
from ai_lessons.repository.approval import approval_memory as memory
from ai_lessons.repository.approval.derivation import derive
from ai_lessons.repository.approval.rule_files import is_rule, stated_id
from ai_lessons.repository.approval.rule_history import read_blobs
from ai_lessons.repository.githooks import server_hook
from ai_lessons.repository.githooks.server_hook import Added, Update
from ai_lessons.repository.worktree import Worktree, as_hub, read_ref

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ai_lessons.repository.approval.verdicts import BranchView

LISTED: Final = 20
"""So many reasons are named; who pushes reads them in a terminal."""

_EMPTY_TREE: Final = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
_HEADS: Final = "refs/heads/"


@dataclass(frozen=True, slots=True)
class Checked:
    """Why a push is refused; nothing: it is taken. `more` counts reasons beyond those listed."""

    refused: tuple[str, ...]
    more: int = 0


def git_dir_of(hub: Path) -> Path:
    """The git directory of a hub: the folder itself where it is bare.

    Raises:
        NoRepository: neither.
    """
    for place in (hub, hub / ".git"):
        if (place / "HEAD").is_file() and (place / "objects").is_dir():
            return Path(os.path.realpath(place))
    raise NoRepository(str(hub))


def check(hub: Path, updates: Sequence[Update]) -> Checked:
    """Decide about a push, inside the `pre-receive` hook of the repository at `hub`.

    Raises:
        NoRepository: no repository there. UnsupportedRepository: objects other than SHA-1,
        or a history that cannot be read. The hook refuses the push then, too.
    """
    now = as_hub(git_dir_of(hub))
    if any(len(commit) != 40 for update in updates for commit in (update.old, update.new) if commit):
        raise UnsupportedRepository(f"{hub} has other object ids than SHA-1")
    with _as_asked_for(now, updates) as then:
        found = list(_Push(now, then, updates).refusals())
    return Checked(tuple(found[:LISTED]), max(len(found) - LISTED, 0))


class _Push:
    """One push: the hub as it is, and as it would be."""

    def __init__(self, now: Worktree, then: Worktree, updates: Sequence[Update]) -> None:
        self._now, self._then, self._updates = now, then, updates
        self._ref = _approval_ref(now, then)
        self._allowed = git.setting(now, server_hook.ALLOW, kind="bool") == "true"

    def refusals(self) -> Iterator[str]:
        """Every reason to refuse it."""
        rewritten = [update.ref for update in self._updates if self._is_rewritten(update)]
        yield from server_hook.refused_refs(self._updates, self._ref, rewritten)
        for update in self._updates:
            if update.new:
                yield from server_hook.refused_files(update.ref, self._added(update), self._paths(update.new))
        before = self._before()
        if read_ref(self._then, self._ref) is None or self._ref in rewritten:
            return
        _copy_memory(self._now, self._then, policies=not self._allowed)
        after = derive(self._then, self._ref)
        refused = list(self._judged(before, after))
        yield from refused
        if self._allowed and not refused and before.tip and after.policy != before.policy:
            approved.acknowledge(self._now, before, said=after.policy)

    def _judged(self, before: BranchView, after: BranchView) -> Iterator[str]:
        yield from server_hook.refused_rules(before, after)
        yield from server_hook.refused_unsigned(before, after, self._rules(before, after))
        yield from server_hook.refused_records(before, after)
        yield from server_hook.refused_policy(before, after)

    def _before(self) -> BranchView:
        """The hub as it is. Where its folder cannot be written, judged in the throw-away copy."""
        try:
            return derive(self._now, self._ref)
        except StorageFailed:
            with _as_asked_for(self._now, ()) as copy:
                _copy_memory(self._now, copy, policies=True)
                return derive(copy, self._ref)

    def _is_rewritten(self, update: Update) -> bool:
        if not update.old or not update.new:
            return False
        return self._git("merge-base", "--is-ancestor", update.old, update.new).code != 0

    def _added(self, update: Update) -> Iterator[Added]:
        """What the new tip has and the old one (for a new branch: the approval branch) has not."""
        base = update.old or read_ref(self._now, self._ref) or _EMPTY_TREE
        new = self._tree(update.new or "")
        if new is None or (old := self._tree(base)) is None:
            return
        rows = self._demand("diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", old, new).split(b"\0")
        for row, name in zip(rows[::2], rows[1::2], strict=False):
            mode = int(row.split(b" ")[1], 8)
            if mode:
                yield Added(mode, os.fsdecode(name))

    def _paths(self, commit: str) -> tuple[str, ...]:
        tree = self._tree(commit)
        if tree is None:
            return ()
        names = self._demand("ls-tree", "-r", "-z", "--name-only", tree).split(b"\0")
        return tuple(os.fsdecode(name) for name in names if name)

    def _tree(self, name: str) -> str | None:
        """The tree behind a commit or a tag; None for a tag on something that has none."""
        done = self._git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{tree}}")
        return None if done.code else done.text

    def _rules(self, before: BranchView, after: BranchView) -> dict[str, str]:
        """Whose text the rule files that differ are, by blob."""
        if after.policy.require != "signed":
            return {}
        moved = {*before.files.items()} ^ {*after.files.items()}
        paths = {blob: path for path, blob in moved if is_rule(path)}
        texts = read_blobs(self._then, paths)
        return {blob: stated_id(texts.get(blob, b"")) or derived_id(path) for blob, path in paths.items()}

    def _git(self, *arguments: str) -> git.Done:
        return _run(self._then, *arguments)

    def _demand(self, *arguments: str) -> bytes:
        done = self._git(*arguments)
        if done.code:
            raise UnsupportedRepository(f"what was pushed cannot be read: {done.err or arguments[0]}")
        return done.out


def _run(repository: Worktree, *arguments: str) -> git.Done:
    return git.run(repository, "--no-replace-objects", *arguments)


@contextmanager
def _as_asked_for(now: Worktree, updates: Sequence[Update]) -> Iterator[Worktree]:
    """The repository as it will be once these refs have moved."""
    refs = _refs(now)
    for update in updates:
        refs.pop(update.ref, None)
        if update.new:
            refs[update.ref] = update.new
    with TemporaryDirectory(prefix="ai-lessons-push-") as name:
        folder = Path(name)
        for below in ("objects/info", "refs/heads"):
            (folder / below).mkdir(parents=True)
        (folder / "HEAD").write_bytes((now.git_dir / "HEAD").read_bytes())
        (folder / "config").write_text("[core]\n\trepositoryformatversion = 0\n\tbare = true\n")
        (folder / "objects" / "info" / "alternates").write_bytes(b"".join(os.fsencode(p) + b"\n" for p in _stores(now)))
        rows = "".join(f"{commit} {ref}\n" for ref, commit in sorted(refs.items()))
        (folder / "packed-refs").write_text(rows, encoding="utf-8", errors="surrogateescape")
        with suppress(FileNotFoundError):
            shutil.copyfile(now.common_dir / "shallow", folder / "shallow")
        yield as_hub(folder)


def _stores(now: Worktree) -> list[str]:
    """Where objects lie: the hub's own, and those of the push that git keeps apart until the hook has agreed."""
    quarantine = os.environ.get("GIT_QUARANTINE_PATH")
    return [str(now.common_dir / "objects"), *([os.path.abspath(quarantine)] if quarantine else [])]


def _refs(now: Worktree) -> dict[str, str]:
    done = _run(now, "for-each-ref", "--format=%(objectname) %(refname)")
    if done.code:
        raise UnsupportedRepository(f"the branches of {now.top} cannot be read: {done.err}")
    rows = (line.partition(" ") for line in done.text.splitlines())
    return {ref: commit for commit, _, ref in rows}


def _copy_memory(now: Worktree, then: Worktree, *, policies: bool) -> None:
    """What the judge remembers of the hub; without `policies` it does not miss a stricter policy than it finds."""
    source, target = approval_stamp.folder(now.state_dir), approval_stamp.folder(then.state_dir)
    target.mkdir(parents=True, exist_ok=True)
    with suppress(FileNotFoundError):
        shutil.copyfile(source / "proposals.jsonl", target / "proposals.jsonl")
    remembered = memory.load(now.state_dir)
    memory.save(then.state_dir, remembered if policies else replace(remembered, policies={}))


def _approval_ref(now: Worktree, then: Worktree) -> str:
    """The branch that the hub protects, by the rules of any other clone; for its first push, the one that comes."""
    followed = approval_branch.followed(now)
    if followed is None:
        named = _named_branch(now)
        followed = approval_branch.follow_first(now, named) if named else None
    if followed is None:
        followed = approval_branch.followed(then)
    return followed or _HEADS + (_named_branch(then) or approval_branch.DEFAULT)


def _named_branch(repository: Worktree) -> str | None:
    """The approval branch that the settings on the hub's main branch name; None if there is no such branch."""
    head = (repository.git_dir / "HEAD").read_text(errors="surrogateescape").strip().removeprefix("ref:").strip()
    if not head.startswith(_HEADS) or read_ref(repository, head) is None:
        return None
    done = _run(repository, "cat-file", "blob", f"{head}:{CONFIG_PATH}")
    try:
        return parse_config(done.out.decode("utf-8", "replace")).approval_branch if not done.code else _short(head)
    except AiLessonsError:
        return _short(head)


def _short(ref: str) -> str:
    return ref.removeprefix(_HEADS)
