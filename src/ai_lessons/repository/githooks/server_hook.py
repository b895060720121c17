"""What a hub takes: the decision about a push, from values. Reads nothing; `pushed.py` reads and calls this.

The hub asks of every push what a clone would ask after pulling it: which rules would stand on the approval branch
without the evidence that the policy asks for? The judge is the same one (`approval.derive`), so a text that the hub
takes is one that clones serve. Whoever can write the hub's files is not stopped by this, and neither is somebody who
commits in another person's name.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ai_lessons.errors import Refused
from ai_lessons.knowledge.entries import Kind
from ai_lessons.knowledge.layout import check_path, place
from ai_lessons.repository.approval.rule_files import APPROVALS, REJECTED, is_rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ai_lessons.repository.approval.verdicts import BranchView, Evidence

ALLOW: Final = "ai-lessons.allowPolicyChange"
"""A git setting of the hub by which whoever runs it lets the policy become weaker."""

_LINE: Final = re.compile(r"([0-9a-f]{40,64}) ([0-9a-f]{40,64}) (\S+)")
_LINK, _SUBMODULE, _EXECUTABLE = 0o120000, 0o160000, 0o100755
_LOUD: Final = ("rewritten", "weakened", "settings")
_INSTEAD: Final = {
    "direct": "propose it instead: ai-lessons contribute propose",
    "evil-merge": "merge the proposal as it is, and propose what has to change",
    "self-merge": "somebody else has to approve it: ai-lessons admin review-rules",
}


@dataclass(frozen=True, slots=True)
class Update:
    """One line of what `git push` asks for. None: the ref was not there before, or is to be deleted."""

    ref: str
    old: str | None
    new: str | None


@dataclass(frozen=True, slots=True)
class Added:
    """A file that a push adds or changes: its mode in the tree, and its name (undecodable bytes as surrogates)."""

    mode: int
    path: str


def parse_updates(lines: Iterable[str]) -> tuple[Update, ...]:
    """The standard input of a `pre-receive` hook.

    Raises:
        Refused: a line is something else, or there is none: another part of the hook has read them.
    """
    found = [_LINE.fullmatch(line.strip()) for line in lines if line.strip()]
    if not found or not all(found):
        raise Refused(
            "this is not what git tells a pre-receive hook",
            hint="is there something before it in the hook that reads standard input?",
        )
    return tuple(Update(one[3], _commit(one[1]), _commit(one[2])) for one in found if one)


def _commit(name: str) -> str | None:
    return name if name.strip("0") else None


def refused_refs(updates: Sequence[Update], approval_ref: str, rewritten: Iterable[str]) -> Iterator[str]:
    """Refs that may not be moved like that. `rewritten` are those whose old commit is not in the new one."""
    branch = _short(approval_ref)
    for update in updates:
        if update.ref == approval_ref and update.new is None:
            yield f"{branch} is the approval branch and cannot be deleted"
        elif update.ref == approval_ref and update.ref in rewritten:
            yield (
                f"{branch} is the approval branch and cannot be rewritten; "
                "bring in what others pushed and add to it: git pull --no-rebase"
            )
        elif update.ref != approval_ref and update.ref.casefold() == approval_ref.casefold() and update.new:
            yield f"{_short(update.ref)!r} is {branch!r} on systems that do not tell capitals from small letters"
        elif update.ref.startswith("refs/replace/") and update.new:
            yield f"{update.ref} would make git show other commits than those that were approved"


def refused_files(ref: str, added: Iterable[Added], paths: Iterable[str]) -> Iterator[str]:
    """Files that no clone should be given. `paths` are all files of the new tip, `added` those that came."""
    came = list(added)
    spelled = _spellings(paths) if came else {}
    for one in came:
        fault = _file_fault(one)
        clash = next((other for other in _clashes(one.path, spelled)), None)
        if not fault and clash:
            fault = f"it is the same as {clash!r} on systems that do not tell capitals from small letters"
        if fault:
            yield f"{_short(ref)}: {one.path!r}: {fault}"


def _file_fault(one: Added) -> str:
    if one.mode == _LINK:
        return "symbolic links are not taken: they lead outside the repository"
    if one.mode == _SUBMODULE:
        return "submodules are not taken"
    try:
        check_path(one.path, hidden=True)
    except Refused as refused:
        return refused.message.partition(": ")[2] or refused.message
    if one.mode == _EXECUTABLE:
        where = place(one.path)
        if where is None or where.kind is not Kind.SCRIPT:
            return "only files below scripts/ may be executable"
    return ""


def _spellings(paths: Iterable[str]) -> dict[str, set[str]]:
    """Every file and folder as it is spelled, by what a forgiving file system takes it for."""
    found: dict[str, set[str]] = {}
    for path in paths:
        for name in _with_folders(path):
            found.setdefault(_forgiving(name), set()).add(name)
    return found


def _clashes(path: str, spelled: Mapping[str, set[str]]) -> Iterator[str]:
    for name in _with_folders(path):
        yield from sorted(spelled.get(_forgiving(name), set()) - {name})


def _with_folders(path: str) -> Iterator[str]:
    at = path.find("/")
    while at >= 0:
        yield path[:at]
        at = path.find("/", at + 1)
    yield path


def _forgiving(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def refused_rules(before: BranchView, after: BranchView) -> Iterator[str]:
    """Rules that the push would leave on the approval branch without the evidence that its policy asks for.

    What stood there before without evidence is not this push's doing, and the first push of the branch is taken as
    it is: there is nothing yet that it could go around.
    """
    if before.tip is None or after.tip is None:
        return
    old = _lacking(before)
    for (rule, path, blob), evidence in sorted(_lacking(after).items(), key=lambda item: item[0][:2]):
        if (rule, path, blob) not in old:
            what = f"{path} (rule {rule})" if blob else f"the removal of {path} (rule {rule})"
            yield f"{what}: {evidence.reason}{_where(evidence)}; {_INSTEAD.get(evidence.how, _INSTEAD['direct'])}"


def _where(evidence: Evidence) -> str:
    return f" in commit {evidence.commit[:10]}" if evidence.commit else ""


def _lacking(view: BranchView) -> dict[tuple[str, str, str | None], Evidence]:
    """Texts (None: removals) without enough evidence, and how they got there."""
    if view.policy.require == "signed":
        return {}  # whether a text has its record is asked in `refused_unsigned`
    found: dict[tuple[str, str, str | None], Evidence] = {}
    for rule, verdict in view.verdicts.items():
        for one in verdict.unapproved:
            found[rule, one.path, one.blob] = one.evidence
        # under `forge` everything on a protected branch counts, and this hook is the protection
        if view.policy.require == "forge" and verdict.in_force and verdict.path and not _taken(view, verdict.evidence):
            found[rule, verdict.path, verdict.blob] = verdict.evidence
    return found


def _taken(view: BranchView, evidence: Evidence) -> bool:
    """True if somebody who may has taken the text, as the judge under `merge` would say."""
    if evidence.how == "self-merge":
        return (
            evidence.by is not None and not view.policy.distinct and "an agent made this merge" not in evidence.reason
        )
    return evidence.how not in {"direct", "evil-merge"}


def refused_unsigned(before: BranchView, after: BranchView, rule_of: Mapping[str, str]) -> Iterator[str]:
    """Under `signed`: rule files that changed while no record about their rule came. `rule_of` gives rules by blob.

    Looks for a record and not into it: who may sign is pinned in the clones, and each of them verifies.
    """
    if before.tip is None or after.policy.require != "signed":
        return
    records = {path for path in after.files if path.startswith(APPROVALS) and path not in before.files}
    for path in sorted({*before.files, *after.files}):
        old, new = before.files.get(path), after.files.get(path)
        if old == new or not is_rule(path):
            continue
        rules = {rule_of[blob] for blob in (old, new) if blob is not None and blob in rule_of}
        if not rules or not any(one.startswith(f"{APPROVALS}{rule}/") for rule in rules for one in records):
            yield f"{path}: no signed record came with it; sign it: ai-lessons admin approve-rule --sign"


def refused_records(before: BranchView, after: BranchView) -> Iterator[str]:
    """Approval records and rejections are added, never changed or taken away."""
    for path, blob in sorted(before.files.items()):
        if path.startswith((APPROVALS, REJECTED)) and after.files.get(path) != blob:
            done = "changed" if path in after.files else "removed"
            yield f"{path}: a record of what was decided is never {done}; to take an approval back, revoke it"


def refused_policy(before: BranchView, after: BranchView) -> Iterator[str]:
    """A weaker policy, settings that cannot be read, a branch that lost what was seen on it before."""
    known = {alarm.kind for alarm in before.alarms}
    for alarm in after.alarms:
        if alarm.kind in _LOUD and alarm.kind not in known:
            permit = f"; whoever runs the hub permits it there: git config {ALLOW} true"
            yield alarm.message + (permit if alarm.kind == "weakened" else "")


def _short(ref: str) -> str:
    return ref.removeprefix("refs/heads/")
