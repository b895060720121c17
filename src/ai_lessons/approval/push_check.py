"""What a hub refuses of a push.

Rules are judged there as every clone judges them, before and after the push.
"""

from __future__ import annotations

import os
import shutil
import unicodedata
from contextlib import contextmanager, suppress
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, NamedTuple

from ai_lessons.approval import inputs, state
from ai_lessons.approval.state import derive
from ai_lessons.errors import AiLessonsError, NoRepository, Refused, UnsupportedRepository
from ai_lessons.git import approval_branch, plumbing
from ai_lessons.git.approval_branch import branch_name
from ai_lessons.git.commits import EMPTY_TREE
from ai_lessons.git.objects import changed
from ai_lessons.git.worktree import Worktree, as_hub, read_ref
from ai_lessons.model import expression
from ai_lessons.model.approval import REJECTED, TEXT_LIMIT, Signature, is_rule
from ai_lessons.model.config import parse_config
from ai_lessons.model.entries import Kind
from ai_lessons.model.layout import CONFIG_PATH, check_path, place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ai_lessons.model.approval import BranchView, Evidence

# A git setting of the hub with which its administrator allows a weaker policy
ALLOW: Final = "ai-lessons.allowPolicyChange"
_LINE: Final = expression(r"([0-9a-f]{40,64}) ([0-9a-f]{40,64}) (\S+)")
_LINK, _SUBMODULE, _EXECUTABLE = 0o120000, 0o160000, 0o100755
_HEADS: Final = "refs/heads/"
_LOUD: Final = ("rewritten", "weakened", "settings")
_INSTEAD: Final = (
    "propose it and let a person approve that: ai-lessons contribute propose, admin approve-rule"
)


class Unverified:
    """Takes every signature, of whatever list, as good.

    Each clone verifies it by the list that is pinned there.
    """

    mandate = None
    digest = "unverified"
    name = None

    def verified(self, commits: Sequence[str]) -> dict[str, Signature]:
        """All commits, with no key."""
        return dict.fromkeys(commits, Signature("", ""))


class Update(NamedTuple):
    """One line of what `git push` asks for.

    None: the ref was not there before, or is to be deleted.
    """

    ref: str
    old: str | None
    new: str | None


def parse_updates(lines: Iterable[str]) -> tuple[Update, ...]:
    """The standard input of a `pre-receive` hook. Raises Refused."""
    rows = []
    for line in lines:
        if line.strip():
            rows.append(_LINE.fullmatch(line.strip()))
    if not rows or not all(rows):
        hint = "is there something before it in the hook that reads standard input?"
        raise Refused("this is not what git tells a pre-receive hook", hint=hint)
    updates = []
    for row in rows:
        if row:
            updates.append(Update(row[3], _commit_at(row[1]), _commit_at(row[2])))
    return tuple(updates)


def _commit_at(name: str) -> str | None:
    """The commit at an end of an update; git writes only zeros where there is none."""
    if name.strip("0"):
        return name
    return None


def refused_refs(
    updates: Sequence[Update], approval_ref: str, rewritten: Iterable[str]
) -> Iterator[str]:
    """Refs that may not be moved like that.

    `rewritten` are those whose old commit is not in the new one.
    """
    branch = branch_name(approval_ref)
    for update in updates:
        if update.ref == approval_ref and update.new is None:
            yield f"{branch} is the approval branch and cannot be deleted"
        elif update.ref == approval_ref and update.ref in rewritten:
            remedy = "bring in what others pushed and add to it: git pull --no-rebase"
            yield f"{branch} is the approval branch and cannot be rewritten; {remedy}"
        elif (
            update.ref != approval_ref
            and update.ref.casefold() == approval_ref.casefold()
            and update.new
        ):
            yield f"{branch_name(update.ref)!r} is {branch!r} on systems that do not tell capitals from small letters"
        elif update.ref.startswith("refs/replace/") and update.new:
            yield f"{update.ref} would make git show other commits than those that were approved"


def refused_files(
    ref: str, added: Iterable[tuple[int, str]], paths: Iterable[str]
) -> Iterator[str]:
    """Files that no clone should get.

    `paths` are all files of the new tip, `added` those of the push with modes.
    """

    def spellings(path: str) -> Iterator[tuple[str, str]]:
        """The path and its folders, and how a file system that ignores case compares them."""
        for name in accumulate(path.split("/"), "{}/{}".format):
            yield name, unicodedata.normalize("NFC", name).casefold()

    new = list(added)
    by_spelling: dict[str, set[str]] = {}
    if not new:
        # a tree has many paths, and only files that come can clash
        return
    for path in paths:
        for name, folded in spellings(path):
            by_spelling.setdefault(folded, set()).add(name)
    for mode, path in new:
        fault = _file_fault(mode, path)
        clashes = (by_spelling.get(folded, set()) - {name} for name, folded in spellings(path))
        clash = next((min(names) for names in clashes if names), "")
        if not fault and clash:
            fault = f"it is the same as {clash!r} on systems that do not tell capitals from small letters"
        if fault:
            yield f"{branch_name(ref)}: {path!r}: {fault}"


def _file_fault(mode: int, path: str) -> str:
    if mode == _LINK:
        return "symbolic links are not taken: they lead outside the repository"
    if mode == _SUBMODULE:
        return "submodules are not taken"
    try:
        check_path(path, hidden=True)
    except Refused as refused:
        return refused.message.partition(": ")[2] or refused.message
    if path.startswith(f"{CONFIG_PATH}/"):
        return "the settings are a file, not a folder"
    where = place(path)
    script = where is not None and where.kind is Kind.SCRIPT
    if mode == _EXECUTABLE and not script:
        return "only files below scripts/ may be executable"
    return ""


def refused_rules(before: BranchView, after: BranchView) -> Iterator[str]:
    """Rules that the push would leave on the approval branch without evidence.

    None on its first push.
    """
    if before.tip is None or after.tip is None:
        return
    old, same = _lacking(before), before.policy == after.policy
    for (rule, path, blob), evidence in sorted(
        _lacking(after).items(), key=lambda item: item[0][:2]
    ):
        # under a stricter policy an unchanged text may lack evidence, and the push did not bring
        # that
        if (rule, path, blob) not in old and (same or before.files.get(path) != blob):
            if blob:
                what = f"{path} (rule {rule})"
            else:
                what = f"the removal of {path} (rule {rule})"
            if evidence.commit:
                where = f" in commit {evidence.commit[:10]}"
            else:
                where = ""
            yield f"{what}: {evidence.reason}{where}; {_INSTEAD}"


def _lacking(view: BranchView) -> dict[tuple[str, str, str | None], Evidence]:
    """Texts (None: removals) without enough evidence, and what evidence they have."""
    unapproved: dict[tuple[str, str, str | None], Evidence] = {}
    for rule, verdict in view.verdicts.items():
        for change in verdict.unapproved:
            unapproved[(rule, change.path, change.blob)] = change.evidence
    return unapproved


def refused_records(before: BranchView, after: BranchView) -> Iterator[str]:
    """Changed or removed records; new alarms about the policy or a rewritten branch."""
    for path, blob in sorted(before.files.items()):
        if path.startswith(REJECTED) and after.files.get(path) != blob:
            if path in after.files:
                change = "changed"
            else:
                change = "removed"
            yield f"{path}: a record of what was decided is never {change}"
    earlier = {alarm.kind for alarm in before.alarms}
    for alarm in after.alarms:
        if alarm.kind in _LOUD and alarm.kind not in earlier:
            permit = f"; the administrator of the hub can permit it there: git config {ALLOW} true"
            yield alarm.message + (permit if alarm.kind == "weakened" else "")


def git_dir_of(hub: Path) -> Path:
    """The git directory of a hub: the folder itself where it is bare. Raises NoRepository."""
    for folder in (hub, hub / ".git"):
        if (folder / "HEAD").is_file() and (folder / "objects").is_dir():
            return Path(os.path.realpath(folder))
    raise NoRepository(str(hub))


def check(hub: Path, updates: Sequence[Update]) -> tuple[str, ...]:
    """Why the hub's `pre-receive` hook refuses a push, if it does.

    Raises NoRepository, UnsupportedRepository.
    """
    now = as_hub(git_dir_of(hub))
    for update in updates:
        for commit in (update.old, update.new):
            if commit and len(commit) != 40:
                raise UnsupportedRepository(f"{hub} has other object ids than SHA-1")
    with _after_push(now, updates) as then:
        ref, named = approval_branch.followed(now), _named_branch(now)
        if ref is None and named:
            ref = approval_branch.follow_first(now, named)
        ref = ref or approval_branch.followed(then)
        ref = ref or _HEADS + (_named_branch(then) or approval_branch.DEFAULT)
        rewritten = [
            update.ref
            for update in updates
            if update.old
            and update.new
            and _run(then, "merge-base", "--is-ancestor", update.old, update.new).code
        ]
        refused = list(refused_refs(updates, ref, rewritten))
        for update in updates:
            if not update.new:
                continue
            if (
                update.ref.startswith(_HEADS)
                and _run(then, "cat-file", "-t", update.new).text != "commit"
            ):
                refused.append(
                    f"{branch_name(update.ref)} would point to {update.new[:10]}, which "
                    "is no commit"
                )
            # a new branch is compared with the approval branch
            old = _tree(then, update.old or read_ref(now, ref) or EMPTY_TREE)
            if tree := _tree(then, update.new):
                names = _run(then, "ls-tree", "-r", "-z", "--name-only", tree, must=True).names
                if old:
                    changes = changed(then, old, tree)
                else:
                    changes = {}
                added = []
                for path, (_, new) in changes.items():
                    if new:
                        added.append((new[0], os.fsdecode(path)))
                refused += refused_files(update.ref, added, names)
                refused += _too_long(then, update.ref, tree, [path for _, path in added])
        if read_ref(then, ref) is not None and ref not in rewritten:
            refused += _refused_approvals(now, then, ref)
        return tuple(refused)


def _refused_approvals(now: Worktree, then: Worktree, ref: str) -> list[str]:
    # under `forge` everything on a protected branch counts, and this hook is the protection
    before = derive(now, ref, Unverified(), merges_only=True)
    allowed = plumbing.setting(now, ALLOW, kind="bool") == "true"
    memory = inputs.load(now.state_dir)
    # without the remembered policies a weaker one raises no alarm
    inputs.save(then.state_dir, memory._replace(policies={}) if allowed else memory)
    after = derive(then, ref, Unverified(), merges_only=True)
    refused = [*refused_rules(before, after), *refused_records(before, after)]
    if allowed and not refused and before.tip and after.policy != before.policy:
        state.acknowledge(now, before, after.policy)
    return refused


def _too_long(then: Worktree, ref: str, tree: str, paths: Iterable[str]) -> Iterator[str]:
    """Rules and settings that are too long for a clone to read."""
    read = [path for path in paths if (is_rule(path) or path == CONFIG_PATH) and "\n" not in path]
    names = "".join(f"{tree}:{path}\n" for path in read)
    sizes = _run(
        then, "cat-file", "--batch-check=%(objectsize)", stdin=os.fsencode(names)
    ).out.split(b"\n")
    for path, size in zip(read, sizes, strict=False):
        if size.isdigit() and int(size) > TEXT_LIMIT:
            yield f"{branch_name(ref)}: {path!r}: it is longer than {TEXT_LIMIT:,} bytes, and no clone reads that"


def _tree(then: Worktree, name: str) -> str | None:
    done = _run(then, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{tree}}")
    if done.code:
        return None
    return done.text


def _run(
    repository: Worktree, *arguments: str, must: bool = False, stdin: bytes = b""
) -> plumbing.Done:
    done = plumbing.run(repository, "--no-replace-objects", *arguments, stdin=stdin)
    if done.code and must:
        raise UnsupportedRepository(f"{repository.top} cannot be read: {done.err or arguments[0]}")
    return done


@contextmanager
def _after_push(now: Worktree, updates: Sequence[Update]) -> Iterator[Worktree]:
    """The repository as it is after the push, in a temporary folder."""
    listed = os.fsdecode(
        _run(now, "for-each-ref", "--format=%(objectname) %(refname)", must=True).out
    )
    refs = {}
    for commit, _, ref in (line.partition(" ") for line in listed.splitlines()):
        refs[ref] = commit
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
        # the hub's own objects, and those of the push, which git keeps apart until the hook has
        # agreed
        stores = [
            str(now.common_dir / "objects"),
            *filter(None, [os.environ.get("GIT_QUARANTINE_PATH")]),
        ]
        lines = []
        for store in stores:
            lines.append(os.fsencode(os.path.abspath(store)) + b"\n")
        (folder / "objects" / "info" / "alternates").write_bytes(b"".join(lines))
        rows = "".join(f"{commit} {ref}\n" for ref, commit in sorted(refs.items()))
        (folder / "packed-refs").write_text(rows, encoding="utf-8", errors="surrogateescape")
        with suppress(FileNotFoundError):
            shutil.copyfile(now.common_dir / "shallow", folder / "shallow")
        yield as_hub(folder)


def _named_branch(repository: Worktree) -> str | None:
    """The approval branch that the settings on the hub's main branch name.

    None if there is no such branch.
    """
    head = (
        (repository.git_dir / "HEAD")
        .read_text(errors="surrogateescape")
        .strip()
        .removeprefix("ref:")
        .strip()
    )
    if not head.startswith(_HEADS) or read_ref(repository, head) is None:
        return None
    done = _run(repository, "cat-file", "blob", f"{head}:{CONFIG_PATH}")
    try:
        if not done.code:
            return parse_config(done.out.decode("utf-8", "replace")).approval_branch
        return branch_name(head)
    except AiLessonsError:
        return branch_name(head)
