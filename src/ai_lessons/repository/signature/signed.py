"""The policy `signed`: verdicts by signed records on the approval branch, on top of what history says.

A rule is in force if the end of its chain of records approves a text: that text, at that path, wherever the branch has
gone since. Who may sign is the caller's to say: keys come from outside the repository. Loads `cryptography`.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import astuple, dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from ai_lessons.errors import StorageFailed
from ai_lessons.repository.approval import approval_memory as memory
from ai_lessons.repository.approval import approved
from ai_lessons.repository.approval.rule_files import APPROVALS
from ai_lessons.repository.approval.rule_history import read_blobs
from ai_lessons.repository.approval.verdicts import (
    ON_BRANCH,
    SIGNED,
    Alarm,
    Evidence,
    Person,
    UnapprovedChange,
    Verdict,
)
from ai_lessons.repository.signature.records import (
    Signature,
    SignedRecord,
    Text,
    chains,
    judge,
    remember,
    seconds_of,
    text_digest,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from ai_lessons.repository.approval.approval_memory import Remembered
    from ai_lessons.repository.approval.verdicts import BranchView, RecordFile
    from ai_lessons.repository.signature.records import RecordFinding
    from ai_lessons.repository.signature.signers import Signer
    from ai_lessons.repository.worktree import Worktree

RECORD_SUFFIX: Final = ".json"
SIGNATURE_SUFFIX: Final = ".sig"


def record_paths(rule: str, name: str, signer: str) -> tuple[str, str]:
    """Where a record and one of its signatures go; `name` is a ULID, `signer` tells signatures of several people apart.

    Files of their own, because two people who sign the same record in two clones must not meet in one file.
    """
    stem = f"{APPROVALS}{rule}/{name}"
    return stem + RECORD_SUFFIX, f"{stem}.{signer}{SIGNATURE_SUFFIX}"


def with_signatures(
    worktree: Worktree, view: BranchView, signers: Sequence[Signer], *, repository: str, threshold: int = 1
) -> BranchView:
    """The view with verdicts by signed records; remembers the end of every chain, and raises an alarm if one is gone.

    `repository` is the name that records carry; `threshold` how many different people have to sign.

    Raises:
        StorageFailed: the state cannot be opened. UnsupportedRepository: objects cannot be read.
    """
    remembered = memory.load(worktree.state_dir)
    key = _key(view, signers, repository, threshold, remembered)
    noted = _noted(worktree, view.ref)
    if noted.get("key") != key:
        policy = _Signatures(signers, repository, threshold)
        verdicts, gone, records = policy.judge(worktree, view, remembered.records)
        remembered = _remember(worktree, remembered, records)
        key = _key(view, signers, repository, threshold, remembered)
        noted = {"key": key, "gone": gone, "verdicts": {rule: approved.pack(one) for rule, one in verdicts.items()}}
        with suppress(StorageFailed):  # where nothing can be written, they are judged every time
            memory.replace_file(_note_file(worktree, view.ref), json.dumps(noted))
    alarms = view.alarms
    if noted["gone"]:
        message = f"signed decisions seen here before are gone, about {', '.join(noted['gone'])}"
        alarms += (Alarm("rolled-back", message, "ask the others for the history as they have it: git log"),)
    verdicts = {rule: approved.unpack(rule, raw) for rule, raw in noted["verdicts"].items()}
    return replace(view, verdicts=verdicts, alarms=alarms)


def _note_file(worktree: Worktree, ref: str) -> Path:
    return approved.note_file(worktree, ref).with_suffix(".signed.json")


def _noted(worktree: Worktree, ref: str) -> dict[str, Any]:
    try:
        raw = json.loads(_note_file(worktree, ref).read_bytes())
        return raw if {"key", "gone", "verdicts"} == raw.keys() else {}
    except (OSError, ValueError, AttributeError):
        return {}


def _key(view: BranchView, signers: Sequence[Signer], repository: str, threshold: int, remembered: Remembered) -> str:
    """Everything that the verdicts depend on: not the tip, which moves with every lesson."""
    keys = [[repr(part) for part in astuple(signer)] for signer in signers]
    known = {rule: approved.pack(one) for rule, one in view.verdicts.items()}
    parts = (keys, repository, threshold, dict(remembered.records), dict(view.here), known)
    records = [astuple(one) for one in view.records]
    return sha256(json.dumps((parts, records), sort_keys=True).encode()).hexdigest()


def _remember(worktree: Worktree, remembered: Remembered, records: Mapping[str, str]) -> Remembered:
    if dict(remembered.records) != dict(records):
        with suppress(StorageFailed):  # where nothing can be written, nothing can be remembered
            memory.save(worktree.state_dir, replace(remembered, records=records))
    return memory.load(worktree.state_dir)


@dataclass(frozen=True, slots=True)
class _Signatures:
    """Whose signatures count, for which repository, and how many of them."""

    signers: Sequence[Signer]
    repository: str
    threshold: int

    def judge(
        self, worktree: Worktree, view: BranchView, remembered: Mapping[str, str]
    ) -> tuple[dict[str, Verdict], list[str], Mapping[str, str]]:
        """The verdicts, the rules whose decisions are gone, and what to remember."""
        here = view.here
        blobs = {blob for texts in here.values() for _, blob in texts}
        contents = read_blobs(worktree, blobs | {one.blob for one in view.records})
        records = signed_records(view.records, contents)
        judged = chains(records, self.signers, repository=self.repository, threshold=self.threshold)
        findings = judge(_texts(here, contents), judged, remembered=remembered)
        archive = _Archive(worktree, view, contents)
        verdicts = {rule: _verdict(rule, found, here.get(rule, ()), archive, view) for rule, found in findings.items()}
        gone = sorted(rule for rule, found in findings.items() if found.state == "rolled-back")
        return verdicts, gone, remember(remembered, judged)


def _texts(here: Mapping[str, Sequence[tuple[str, str]]], contents: Mapping[str, bytes]) -> dict[str, Text]:
    return {
        path: Text(rule, text_digest(contents[blob]))
        for rule, texts in here.items()
        for path, blob in texts
        if blob in contents
    }


def signed_records(files: Iterable[RecordFile], contents: Mapping[str, bytes]) -> list[SignedRecord]:
    """Records with the signatures whose names begin like theirs, from files and contents by blob."""
    there = [one for one in sorted(files, key=lambda one: one.path) if one.blob in contents]
    signatures: dict[str, list[Signature]] = {}
    for one in there:
        if one.path.endswith(SIGNATURE_SUFFIX):
            stem = one.path.rpartition("/")[0] + "/" + one.path.rpartition("/")[2].partition(".")[0]
            armoured = contents[one.blob].decode("utf-8", "replace")
            signatures.setdefault(stem, []).append(Signature(armoured, one.came, one.before))
    return [
        SignedRecord(contents[one.blob], tuple(signatures.get(one.path.removesuffix(RECORD_SUFFIX), ())))
        for one in there
        if one.path.endswith(RECORD_SUFFIX)
    ]


class _Archive:
    """Finds a text by its digest among those that a rule has or once had."""

    def __init__(self, worktree: Worktree, view: BranchView, contents: Mapping[str, bytes]) -> None:
        self._worktree, self._view, self._contents = worktree, view, contents

    def find(self, rule: str, here: Collection[str], digest: str) -> str | None:
        """Its blob id; None if the text is nowhere in the history."""
        for blob in sorted(here):
            if blob in self._contents and text_digest(self._contents[blob]) == digest:
                return blob
        past = read_blobs(self._worktree, self._view.texts.get(rule, ()))
        return min((blob for blob, data in past.items() if text_digest(data) == digest), default=None)


def _verdict(
    rule: str, found: RecordFinding, here: Sequence[tuple[str, str]], archive: _Archive, view: BranchView
) -> Verdict:
    known = view.verdicts.get(rule)
    before = known.evidence if known else Evidence(ON_BRANCH, "direct", None, 0, (), "", "")
    path, digest = found.approved_path, found.approved_digest
    blob = archive.find(rule, [blob for _, blob in here], digest) if digest else None
    if path is None or blob is None:
        evidence = replace(before, level=ON_BRANCH, reason=found.reason)
        waiting = tuple(UnapprovedChange(*text, evidence) for text in here)
        return Verdict(rule, in_force=False, path=None, blob=None, evidence=evidence, unapproved=waiting)
    by = Person(", ".join(found.by), next(iter(found.by), ""))
    at = int(seconds_of(found.at)) if found.at else 0
    evidence = Evidence(SIGNED, "signed", by, at, before.suggested_by, before.commit, found.reason)
    beside: list[tuple[str, str | None]] = [text for text in here if text != (path, blob)] if here else [(path, None)]
    seen = replace(before, level=ON_BRANCH, how="direct", by=None)
    others = tuple(UnapprovedChange(*text, seen) for text in beside)
    return Verdict(rule, in_force=True, path=path, blob=blob, evidence=evidence, unapproved=others)
