"""The policy `signed`: verdicts by signed records on the approval branch, and new records. Loads `cryptography`."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from ai_lessons.errors import AiLessonsError, Refused, UnsupportedRepository
from ai_lessons.knowledge.layout import slug
from ai_lessons.repository import git
from ai_lessons.repository.approval import approval_memory, record_chain
from ai_lessons.repository.approval.approval_branch import NAMES, cut_off, folder, noted_names
from ai_lessons.repository.approval.approval_types import (
    ON_BRANCH,
    SIGNED,
    Alarm,
    Evidence,
    Person,
    UnapprovedChange,
    Verdict,
)
from ai_lessons.repository.approval.record_chain import RecordFinding, text_digest
from ai_lessons.repository.approval.rule_files import APPROVALS
from ai_lessons.repository.approval.rule_history import read_blobs
from ai_lessons.repository.approval.signers import NotVerified, Signer, principal
from ai_lessons.repository.approval.ssh_signatures import sign

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ai_lessons.repository.approval.approval_history import Trunk
    from ai_lessons.repository.approval.approval_memory import Remembered
    from ai_lessons.repository.approval.approval_types import BranchView, RecordFile
    from ai_lessons.repository.worktree import Worktree

RECORD_SUFFIX: Final = ".json"
SIGNATURE_SUFFIX: Final = ".sig"
KEY_SETTING: Final = "user.signingkey"


def repository_name(worktree: Worktree, ref: str, tip: str) -> str:
    """What the repository whose `ref` is at `tip` is called in records: the first commit, which every clone has.

    Raises Refused (a shallow clone), UnsupportedRepository.
    """
    known = noted_names(worktree)
    if known.get(ref, ("", ""))[0] == tip:
        return known[ref][1]
    if cut_off(worktree):
        raise Refused("a shallow clone cannot tell which repository this is", hint="git fetch --unshallow")
    done = git.run(worktree, "--no-replace-objects", "rev-list", "--first-parent", "--max-parents=0", tip, "--")
    if done.code or not done.text:
        raise UnsupportedRepository(f"the history of {worktree.top} cannot be read", hint="git fsck")
    name = done.text.split()[-1]
    with suppress(AiLessonsError):  # where nothing can be written it is looked for again next time
        approval_memory.write(folder(worktree.state_dir) / NAMES, {**known, ref: (tip, name)})
    return name


def record_paths(rule: str, name: str, signer: str) -> tuple[str, str]:
    """Where a record (`name`: a ULID) and one signature go: files of their own, lest two signers meet in one."""
    stem = f"{APPROVALS}{rule}/{name}"
    return stem + RECORD_SUFFIX, f"{stem}.{signer}{SIGNATURE_SUFFIX}"


def with_signatures(
    worktree: Worktree,
    view: BranchView,
    signers: Sequence[Signer],
    *,
    repository: str,
    now: float,
    threshold: int = 1,
) -> BranchView:
    """The view judged by what `threshold` people signed; remembers the ends of chains. Raises UnsupportedRepository."""
    keys = [[*map(repr, one), str(principal([one], one.key, record_chain.NAMESPACE, now))] for one in signers]
    remembered = approval_memory.load(worktree.state_dir)
    place = approval_memory.note_file(worktree, view.ref).with_suffix(".signed.json")
    noted = approval_memory.kept(place, _key(view, keys, repository, threshold, remembered))
    if noted is None:
        valid = partial(
            record_chain.chains,
            signers=signers,
            repository=repository,
            now=now,
            threshold=threshold,
            known=remembered.records.values(),
        )
        verdicts, gone, records = _judged(worktree, view, valid, remembered.records)
        noted = {"gone": gone, "verdicts": verdicts}
        with suppress(AiLessonsError):  # where nothing can be written, they are judged every time
            if dict(remembered.records) != dict(records):
                remembered = remembered._replace(records=records)
                approval_memory.save(worktree.state_dir, remembered)
            approval_memory.keep(place, _key(view, keys, repository, threshold, remembered), noted)
    alarms = view.alarms
    if noted["gone"]:
        message = f"signed decisions seen here before are gone, about {', '.join(noted['gone'])}"
        alarms += (Alarm("rolled-back", message, "ask the others for the history as they have it: git log"),)
    verdicts = {rule: approval_memory.unpack(raw) for rule, raw in noted["verdicts"].items()}
    return view._replace(verdicts=verdicts, alarms=alarms)


def _key(
    view: BranchView, keys: Sequence[Sequence[str]], repository: str, threshold: int, remembered: Remembered
) -> str:
    """Everything that the verdicts depend on: not the tip, which moves with every lesson."""
    parts = (keys, repository, threshold, dict(remembered.records), dict(view.here), dict(view.verdicts))
    return sha256(json.dumps((parts, view.records), sort_keys=True).encode()).hexdigest()


def _judged(
    worktree: Worktree,
    view: BranchView,
    valid: Callable[[Iterable[record_chain.SignedRecord]], Mapping[str, record_chain.Chain]],
    remembered: Mapping[str, str],
) -> tuple[dict[str, Verdict], list[str], Mapping[str, str]]:
    """The verdicts, the rules whose decisions are gone, and what to remember."""
    contents = read_blobs(
        worktree, {blob for texts in view.here.values() for _, blob in texts} | {one.blob for one in view.records}
    )
    judged = valid(signed_records(view.records, contents))
    findings = {}
    for rule in {*view.here, *judged, *remembered}:
        texts = {path: text_digest(contents[blob]) for path, blob in view.here.get(rule, ()) if blob in contents}
        findings[rule] = record_chain.judge(texts, judged.get(rule, record_chain.Chain()), remembered.get(rule))

    def blob_of(rule: str, digest: str) -> str | None:
        """The text with this digest among those that the rule has or once had."""
        here = {blob: contents[blob] for _, blob in view.here.get(rule, ()) if blob in contents}
        found = [blob for blob, data in here.items() if text_digest(data) == digest]
        if not found:
            past = read_blobs(worktree, view.texts.get(rule, ()))
            found = [blob for blob, data in past.items() if text_digest(data) == digest]
        return min(found, default=None)

    verdicts = {rule: _verdict(rule, found, view, blob_of) for rule, found in findings.items()}
    gone = sorted(rule for rule, found in findings.items() if found.gone)
    return verdicts, gone, record_chain.remember(remembered, judged)


def signed_records(files: Iterable[RecordFile], contents: Mapping[str, bytes]) -> list[record_chain.SignedRecord]:
    """Records with the signatures whose names begin like theirs, from files and contents by blob."""
    there = [one for one in sorted(files, key=lambda one: one.path) if one.blob in contents]
    signatures: dict[str, list[str]] = {}
    for one in there:
        if one.path.endswith(SIGNATURE_SUFFIX):
            folder, _, name = one.path.rpartition("/")
            stem = f"{folder}/{name.partition('.')[0]}"
            signatures.setdefault(stem, []).append(contents[one.blob].decode("utf-8", "replace"))
    return [
        record_chain.SignedRecord(contents[one.blob], tuple(signatures.get(one.path.removesuffix(RECORD_SUFFIX), ())))
        for one in there
        if one.path.endswith(RECORD_SUFFIX)
    ]


def _verdict(rule: str, found: RecordFinding, view: BranchView, blob_of: Callable[[str, str], str | None]) -> Verdict:
    known, here = view.verdicts.get(rule), view.here.get(rule, ())
    before = known.evidence if known else Evidence(ON_BRANCH, "direct", None, 0, (), "", "")
    path, digest = found.approved_path, found.approved_digest
    blob = blob_of(rule, digest) if digest else None
    if path is None or blob is None:
        evidence = before._replace(level=ON_BRANCH, reason=found.reason)
        waiting = tuple(UnapprovedChange(*text, evidence) for text in here)
        return Verdict(rule, in_force=False, path=None, blob=None, evidence=evidence, unapproved=waiting)
    by = Person(", ".join(found.by), next(iter(found.by), ""))
    at = int(record_chain.seconds_of(found.at)) if found.at else 0
    evidence = Evidence(SIGNED, "signed", by, at, before.suggested_by, before.commit, found.reason)
    beside: list[tuple[str, str | None]] = [text for text in here if text != (path, blob)] if here else [(path, None)]
    seen = before._replace(level=ON_BRANCH, how="direct", by=None)
    others = tuple(UnapprovedChange(*text, seen) for text in beside)
    return Verdict(rule, in_force=True, path=path, blob=blob, evidence=evidence, unapproved=others)


def decide(
    trunk: Trunk, wanted: record_chain.Record, name: str, *, signers: Sequence[Signer], interactive: bool
) -> Mapping[str, bytes]:
    """The files, by path, of a signed decision or one more signature; all count without `signers`. Raises Refused.

    What `wanted` follows is found here; a new one is called `name` (a ULID).
    """
    key = git.setting(trunk.worktree, KEY_SETTING)
    if not key:
        hint = f"git config --global {KEY_SETTING} ~/.ssh/id_ed25519.pub"
        raise Refused("git does not know which key signs for you", hint=hint)
    record, path = _fitting(trunk, wanted, signers)
    email = git.setting(trunk.worktree, "user.email") or "signer"
    known = path.rpartition("/")[2].removesuffix(RECORD_SUFFIX)
    record_path, signature_path = record_paths(wanted.rule, known or name, slug(email))
    if signature_path in trunk.view.files:
        hint = "now others have to: ai-lessons admin approve-rule --sign"
        raise Refused(f"{email} has signed this already", hint=hint)
    armoured = sign(record.canonical(), key, record_chain.NAMESPACE, interactive=interactive).encode()
    return {signature_path: armoured} if path else {record_path: record.canonical(), signature_path: armoured}


def _fitting(trunk: Trunk, wanted: record_chain.Record, signers: Sequence[Signer]) -> tuple[record_chain.Record, str]:
    """The decision to sign: as others made it and its path, or a new one and none. Raises Refused."""
    rule = wanted.rule
    files = [one for one in trunk.view.records if one.path.startswith(f"{APPROVALS}{rule}/")]
    contents = read_blobs(trunk.worktree, {one.blob for one in files})
    found = signed_records(files, contents)
    paths = {contents[one.blob]: one.path for one in files if one.blob in contents}
    if signers:
        known = approval_memory.load(trunk.worktree.state_dir).records.values()
        of = partial(record_chain.chains, found, signers, repository=wanted.repository, now=wanted.seconds, known=known)
        valid, signed = (of(threshold=n).get(rule) or record_chain.Chain() for n in (trunk.view.policy.threshold, 1))
    else:
        records = {}
        for one in found:
            with suppress(NotVerified):  # what cannot be read decides nothing, so nothing follows it
                record = record_chain.parse_record(one.data)
                records[record.digest] = record
        valid = signed = record_chain.Chain({name: one for name, one in records.items() if one.rule == rule})
    # what is signed next settles several that were made side by side
    end = record_chain.joined(valid.ends())
    last = valid.records.get(end or "")
    # the same decision in the same place, whenever it was made
    if last is not None and last._replace(at=wanted.at) == wanted._replace(previous=last.previous):
        if signers:
            raise Refused(f"this is decided and signed already, by {', '.join(valid.signed_by[end or ''])}")
        return last, paths[last.canonical()]
    new = wanted._replace(previous=end)
    waiting = (one for digest, one in signed.records.items() if digest not in valid.records)
    same = next((one for one in waiting if one._replace(at=new.at) == new), None)
    return (same, paths[same.canonical()]) if same else (new, "")
